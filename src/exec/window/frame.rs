//! The frame of a row: from which row of the partition to which a function looks.
//!
//! From one row to the next neither end of a frame moves back, so each is looked for from where it
//! was.

use std::cmp::Ordering;

use super::partition::Partition;
use crate::error::{Code, Error, Result};
use crate::exec::row::ValuesRow;
use crate::sql::bound::{self, FrameBound, OrderBy, Window};
use crate::sql::context::EvalContext;
use crate::sql::eval::{compare, eval_exact};
use crate::sql::expr::{Expr, ExprKind, NoRow};
use crate::types::Value;

/// One end of a frame, its distance known.
#[derive(Debug, Clone, Copy)]
enum End<'e> {
    Unbounded,
    RowsBefore(u64),
    CurrentRow,
    Peers,
    RowsBehind(u64),
    Value(&'e Expr),
}

/// Where the frame of a row is.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// Distances in rows, of start and end.
    rows: (u64, u64),
    /// The first row of the last frame.
    start: u64,
    /// The row behind the last frame.
    until: u64,
}

/// What a frame is looked for in.
pub(super) type Around<'a> = (&'a Partition, &'a bound::Frame, &'a Window);

impl Finder {
    /// # Errors
    /// 3586 for a parameter that is no number of rows.
    pub(super) fn new(frame: &bound::Frame, ctx: &EvalContext) -> Result<Finder> {
        Ok(Finder {
            rows: (rows_of(&frame.start, ctx)?, rows_of(&frame.end, ctx)?),
            start: 0,
            until: 0,
        })
    }

    /// The first row that a later frame may ask for. The values of a frame are not among them.
    pub(super) fn keeps_from(&self, frame: &bound::Frame) -> u64 {
        let start = match frame.start {
            FrameBound::Value(_) => self.start,
            FrameBound::Unbounded
            | FrameBound::RowsBefore(_)
            | FrameBound::CurrentRow
            | FrameBound::Peers
            | FrameBound::RowsBehind(_) => u64::MAX,
        };
        match frame.end {
            FrameBound::Value(_) => start.min(self.until),
            FrameBound::Unbounded
            | FrameBound::RowsBefore(_)
            | FrameBound::CurrentRow
            | FrameBound::Peers
            | FrameBound::RowsBehind(_) => start,
        }
    }

    /// The first row of the frame of a row, and the row behind it; `None` while it is not known.
    pub(super) fn find(
        &mut self,
        number: u64,
        around: Around<'_>,
        ctx: &EvalContext,
    ) -> Result<Option<(u64, u64)>> {
        let (partition, frame, _) = around;
        let start = match end_of(&frame.start, self.rows.0) {
            End::Unbounded => 0,
            End::RowsBefore(rows) => number.saturating_sub(rows),
            End::CurrentRow => number,
            End::Peers => partition.first_peer(number)?,
            End::RowsBehind(rows) => number.saturating_add(rows),
            End::Value(bound) => match self.start_by_value((number, bound), around, ctx)? {
                Some(start) => start,
                None => return Ok(None),
            },
        };
        let until = match end_of(&frame.end, self.rows.1) {
            End::Unbounded => partition.is_whole().then_some(partition.count()),
            End::RowsBefore(rows) => Some((number + 1).saturating_sub(rows)),
            End::CurrentRow => Some(number + 1),
            End::Peers => self.behind_peers(number, partition)?,
            End::RowsBehind(rows) => {
                let until = number.saturating_add(rows).saturating_add(1);
                let is_known = until <= partition.count() || partition.is_whole();
                is_known.then_some(until.min(partition.count()))
            }
            End::Value(bound) => self.until_by_value((number, bound), around, ctx)?,
        };
        let Some(until) = until else {
            return Ok(None);
        };
        self.start = self.start.max(start.min(number));
        self.until = self.until.max(until);
        Ok(Some((start.min(until), until)))
    }

    /// The first row of the last frame, if values are compared or it was found.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The row behind the last frame.
    pub(super) fn until(&self) -> u64 {
        self.until
    }

    /// The row behind the last that is equal in order.
    pub(super) fn behind_peers(
        &mut self,
        number: u64,
        partition: &Partition,
    ) -> Result<Option<u64>> {
        let first = partition.first_peer(number)?;
        self.until = self.until.max(number);
        while partition.has(self.until) && partition.first_peer(self.until)? == first {
            self.until += 1;
        }
        let is_known = partition.has(self.until) || partition.is_whole();
        Ok(is_known.then_some(self.until))
    }

    fn start_by_value(
        &mut self,
        (number, bound): (u64, &Expr),
        (partition, _, window): Around<'_>,
        ctx: &EvalContext,
    ) -> Result<Option<u64>> {
        let Some(key) = window.order_by.first() else {
            return Ok(Some(0));
        };
        let row = partition.row(number)?;
        if key_of(key, row, ctx)?.is_null() {
            self.start = partition.first_peer(number)?;
            return Ok(Some(self.start));
        }
        let row = ValuesRow(row);
        let bound = eval_exact(bound, &row, ctx)?;
        while partition.has(self.start) {
            let other = key_of(key, partition.row(self.start)?, ctx)?;
            if order(&other, &bound, (key, Ordering::Greater), ctx)? != Ordering::Less {
                return Ok(Some(self.start));
            }
            self.start += 1;
        }
        Ok(partition.is_whole().then_some(self.start))
    }

    fn until_by_value(
        &mut self,
        (number, bound): (u64, &Expr),
        (partition, _, window): Around<'_>,
        ctx: &EvalContext,
    ) -> Result<Option<u64>> {
        let Some(key) = window.order_by.first() else {
            return Ok(partition.is_whole().then_some(partition.count()));
        };
        let row = partition.row(number)?;
        if key_of(key, row, ctx)?.is_null() {
            return self.behind_peers(number, partition);
        }
        let row = ValuesRow(row);
        let bound = eval_exact(bound, &row, ctx)?;
        while partition.has(self.until) {
            let other = key_of(key, partition.row(self.until)?, ctx)?;
            if order(&other, &bound, (key, Ordering::Less), ctx)? == Ordering::Greater {
                return Ok(Some(self.until));
            }
            self.until += 1;
        }
        Ok(partition.is_whole().then_some(self.until))
    }
}

fn end_of(bound: &FrameBound, rows: u64) -> End<'_> {
    match bound {
        FrameBound::Unbounded => End::Unbounded,
        FrameBound::RowsBefore(_) => End::RowsBefore(rows),
        FrameBound::CurrentRow => End::CurrentRow,
        FrameBound::Peers => End::Peers,
        FrameBound::RowsBehind(_) => End::RowsBehind(rows),
        FrameBound::Value(bound) => End::Value(bound),
    }
}

fn key_of<'a>(
    key: &'a OrderBy,
    row: &'a [Value<'static>],
    ctx: &'a EvalContext,
) -> Result<Value<'a>> {
    if let ExprKind::Column(idx) = key.expr.kind {
        let value = row.get(idx);
        let value = value.ok_or_else(|| Error::internal(format!("value {idx} of a row")))?;
        return Ok(value.borrow());
    }
    Ok(eval_exact(&key.expr, &NoRow, ctx)?.into_owned())
}

/// How a value lies to the bound of a frame, in the order of the window. A bound past all values is
/// `NULL`: then `beyond` is the answer.
fn order(
    value: &Value<'_>,
    bound: &Value<'_>,
    (key, beyond): (&OrderBy, Ordering),
    ctx: &EvalContext,
) -> Result<Ordering> {
    let order = match (value.is_null(), bound.is_null()) {
        (true, _) => Ordering::Less,
        (false, true) => return Ok(beyond),
        (false, false) => compare::order(value, bound, ctx)?.unwrap_or(Ordering::Equal),
    };
    Ok(if key.descending {
        order.reverse()
    } else {
        order
    })
}

/// The distance in rows of one end; 0 where there is none.
fn rows_of(bound: &FrameBound, ctx: &EvalContext) -> Result<u64> {
    let expr = match bound {
        FrameBound::RowsBefore(expr) | FrameBound::RowsBehind(expr) => expr,
        FrameBound::Unbounded
        | FrameBound::CurrentRow
        | FrameBound::Peers
        | FrameBound::Value(_) => return Ok(0),
    };
    let rows = count_of(expr, ctx)?;
    rows.ok_or_else(|| {
        Error::new(
            Code::FrameBounds,
            "Window '<unnamed window>': frame start or end is negative, NULL or of non-integral \
             type",
        )
    })
}

/// A number that is not negative, from an expression without row.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "nothing else is a number of rows"
)]
pub(super) fn count_of(expr: &Expr, ctx: &EvalContext) -> Result<Option<u64>> {
    Ok(match eval_exact(expr, &NoRow, ctx)? {
        Value::UInt(count) => Some(count),
        Value::Int(count) => u64::try_from(count).ok(),
        _ => None,
    })
}
