//! When rows end: what a write says about it (docs/wide.md).
//!
//! A row ends as a whole, at the earliest of what the table's option, the table's column and the
//! statement's hint say; the entries of its indexes end with it. A row that is written again counts
//! anew from then. Only where nothing says anything (a table whose option is `'0'`, no hint) does it
//! keep the end that it has; a row that REPLACE puts in its place is a new one, and has none then.

use super::Env;
use crate::catalog::wide::{ColumnPlace, Ttl, TtlColumn};
use crate::catalog::{Column, Table};
use crate::error::Result;
use crate::sql::computed::CONTEXT;
use crate::sql::eval::{eval_exact, moment};
use crate::sql::expr::{Expr, ExprKind, IntervalUnit, NoRow};
use crate::types::{ColumnType, Value};

/// Milliseconds of a second.
const MS: u64 = 1000;

/// What a write of rows counts from.
#[derive(Clone, Copy)]
pub struct Renewal<'a> {
    /// The engine and its clock.
    pub env: &'a Env,
    /// `_l_ttl_(ms)`.
    pub ttl_ms: Option<u64>,
    /// `_l_ts_(ms)`: what the end is counted from instead.
    pub ts_ms: Option<u64>,
}

impl Renewal<'_> {
    /// Gives a row that is written its end.
    ///
    /// # Errors
    /// Those of arithmetic on dates.
    pub fn stamp(&self, table: &Table, values: &mut [Value<'static>]) -> Result<()> {
        let Some(ttl) = &table.wide.ttl else {
            return Ok(());
        };
        let ends = [
            self.by_option(ttl),
            self.by_hint(),
            by_column(table, ttl, values)?,
        ];
        let Some(end_ms) = ends.into_iter().flatten().min() else {
            return Ok(());
        };
        let is_it = |column: &Column| column.place == ColumnPlace::Expiry;
        let idx = table.columns.iter().position(is_it);
        if let Some(slot) = idx.and_then(|idx| values.get_mut(idx)) {
            *slot = match end_ms {
                NEVER_MS => Value::Null,
                end_ms => Value::UInt(end_ms),
            };
        }
        Ok(())
    }

    /// What `_l_ts_` says, or the clock by which readers judge: `SET timestamp` of whoever writes makes
    /// no row end early, or never.
    fn now_ms(&self) -> u64 {
        let env = self.env;
        let session_ms = || u64::try_from(env.ctx.now.total_micros() / 1000).unwrap_or(0);
        let clock_ms = || {
            env.engine
                .expiry()
                .map_or_else(session_ms, |expiry| expiry.now_ms())
        };
        let from_ms = self.ts_ms.or(env.policy.ttl_from_ms);
        from_ms.unwrap_or_else(clock_ms)
    }

    fn by_option(&self, ttl: &Ttl) -> Option<u64> {
        let seconds = ttl.seconds.filter(|seconds| *seconds != 0)?;
        Some(self.now_ms().saturating_add(seconds.saturating_mul(MS)))
    }

    fn by_hint(&self) -> Option<u64> {
        Some(self.now_ms().saturating_add(self.ttl_ms?))
    }
}

/// An end that does not come. It is not the want of one, which leaves a row the end that it has.
const NEVER_MS: u64 = u64::MAX;

/// A date counts from its midnight, and dates and times are those of UTC. What lies beyond the
/// calendar does not end. `None` where the column says nothing.
fn by_column(table: &Table, ttl: &Ttl, values: &[Value<'static>]) -> Result<Option<u64>> {
    let Some(TtlColumn { id, amount, unit }) = &ttl.column else {
        return Ok(None);
    };
    let position = table.columns.iter().position(|column| column.id == *id);
    let value = position.and_then(|idx| values.get(idx));
    let (Some(value), Some(unit)) = (value, IntervalUnit::of_name(unit)) else {
        return Ok(None);
    };
    if value.is_null() {
        return Ok(None);
    }
    let literal = |value: Value<'static>, ty| Expr {
        kind: ExprKind::Literal(value),
        ty,
        nullable: false,
    };
    let at = literal(value.clone(), ColumnType::Datetime { fsp: 6 });
    let shifted = Expr {
        kind: ExprKind::DateShift {
            date: Box::new(at),
            amount: Box::new(literal(Value::Int(*amount), ColumnType::BIGINT)),
            unit,
            negated: false,
        },
        ty: ColumnType::Datetime { fsp: 6 },
        nullable: true,
    };
    let end = eval_exact(&shifted, &NoRow, &CONTEXT)?;
    let end = moment::timestamp(&end, &CONTEXT)?;
    let end_ms = end.map_or(NEVER_MS, |end| {
        u64::try_from(end.total_micros() / 1000).unwrap_or(0)
    });
    Ok(Some(end_ms))
}
