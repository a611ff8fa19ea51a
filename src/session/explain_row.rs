//! `EXPLAIN ROW t WHERE key…`: why a row and each of its cells is seen or not.
//!
//! It is bound and planned as a DELETE with that condition would be, which must fix the whole primary
//! key; then what is stored under the keys is read with all that has ended.

use std::fmt::Write as _;
use std::sync::Arc;

use super::compile::Compiled;
use super::listing::{LONG_TEXT, Listing, TEXT};
use super::{Reply, Session};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::exec::pace::Pace;
use crate::exec::view::View;
use crate::exec::why::{self, Found, Line};
use crate::exec::write::change::Target;
use crate::exec::write::{Env, Write, space};
use crate::kv::{Key, Space};
use crate::plan::{Access, Estimates};
use crate::sql::ast::{Delete, Statement};
use crate::types::{ColumnType, Value, Zone};

impl Session {
    pub(super) async fn explain_row(
        &mut self,
        (whole, row): (&Statement, &Delete),
    ) -> Result<Reply> {
        let statement = Statement::Delete(Box::new(row.clone()));
        let Compiled::Write(program) = self.compile_allowed((whole, &statement), &[])? else {
            return Err(not_by_key());
        };
        let Write::Delete(delete) = &program.write else {
            return Err(not_by_key());
        };
        if !delete.subqueries.is_empty() {
            return Err(not_by_key());
        }
        let table = Arc::clone(&delete.table);
        let env = self.write_env(Arc::default(), (&table, false));
        let target = Target::of_delete(delete);
        let plan = target.plan(&env, Estimates::Offered).map_err(by_key)?;
        let keys = match plan.access {
            Access::PointGet(get) if plan.residual.is_none() => vec![get.key],
            Access::MultiGet(get) if plan.residual.is_none() => get.keys,
            Access::Nothing => Vec::new(),
            Access::PointGet(_)
            | Access::MultiGet(_)
            | Access::PrefixScan(_)
            | Access::Index(_)
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::Count(_)
            | Access::FullScan => return Err(not_by_key()),
        };
        let mut listing = Listing::new(&[
            ("Cell", TEXT),
            ("Timestamp", ColumnType::BIGINT_UNSIGNED),
            ("Value", LONG_TEXT),
            ("State", TEXT),
            ("Reason", LONG_TEXT),
        ]);
        let mut budget = env.memory.budget("EXPLAIN ROW");
        let mut pace = Pace::default();
        for key in keys {
            self.cancel.check()?;
            for line in self.why(&table, &key, &env).await? {
                let cells = cells_of(line, &env.ctx.zone);
                let cell = |cell: &Value<'_>| size_of_val(cell) + cell.memory_bytes();
                budget.take(cells.iter().map(cell).sum())?;
                listing.push(cells);
            }
            pace.keep().await;
        }
        Ok(listing.into_reply())
    }

    async fn why(&mut self, table: &Table, key: &Key, env: &Env) -> Result<Vec<Line>> {
        let row = self.with_past(space(table), key).await?;
        let deletion = match table.deletions_space() {
            Some(space) => self.with_past(Space(space), key).await?,
            None => None,
        };
        let expiry = self.shared.engine.expiry();
        let own_ms = u64::try_from(env.ctx.now.total_micros() / 1000).unwrap_or(0);
        let found = Found {
            key,
            row: row.as_deref(),
            deletion: deletion.as_deref(),
            now_ms: expiry.map_or(own_ms, |expiry| expiry.now_ms()),
        };
        why::lines(table, found)
    }

    /// What the open transaction has written under a key, or what is committed, ended or not.
    async fn with_past(&mut self, space: Space, key: &Key) -> Result<Option<bytes::Bytes>> {
        let view = self
            .current_transaction()
            .map(crate::exec::transaction::Transaction::view);
        if let Some(View { own: Some(own), .. }) = &view
            && let Some(written) = own.get(space, key)
        {
            return Ok(written);
        }
        Ok(self.shared.engine.get_with_past(space, key).await?)
    }
}

/// 1235 for what has no value for each column of the key, or what is not known before it is run.
fn not_by_key() -> Error {
    Error::unsupported(
        "EXPLAIN ROW without a value for each column of the primary key, or with conditions beyond them",
    )
}

/// A DELETE would be advised what EXPLAIN ROW cannot have.
fn by_key(error: Error) -> Error {
    if error.code() == Code::UnsafeUpdate {
        return not_by_key();
    }
    error
}

fn cells_of(line: Line, zone: &Zone) -> Vec<Value<'static>> {
    vec![
        Value::Text(line.cell.into()),
        line.ms.map_or(Value::Null, Value::UInt),
        shown(&line.value, zone),
        Value::Text(line.state.into()),
        Value::Text(line.reason.into()),
    ]
}

/// A value as a text, in the session's zone; bytes as hexadecimal digits, as some are no text.
fn shown(value: &Value<'static>, zone: &Zone) -> Value<'static> {
    if value.is_null() {
        return Value::Null;
    }
    if let Value::Bytes(bytes) = value {
        let mut digits = String::with_capacity(2 + 2 * bytes.len());
        digits.push_str("0x");
        for byte in bytes.iter() {
            // Writing to a String cannot fail.
            let _ = write!(digits, "{byte:02X}");
        }
        return Value::Text(digits.into());
    }
    let mut text = Vec::new();
    value.write_text_in(zone, &mut text);
    Value::Text(String::from_utf8_lossy(&text).into_owned().into())
}
