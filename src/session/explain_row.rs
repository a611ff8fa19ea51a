//! `EXPLAIN ROW t WHERE key…`: why a row and each of its cells is seen or not.
//!
//! It is bound and planned as a DELETE with that condition would be, which must fix the whole primary
//! key; then what is stored under the keys is read with all that has ended.

use std::sync::Arc;

use super::compile::Compiled;
use super::listing::{LONG_TEXT, Listing, TEXT};
use super::{Reply, Session};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::view::View;
use crate::exec::why::{self, Found, Line};
use crate::exec::write::change::Target;
use crate::exec::write::{Env, Write, space};
use crate::kv::{Key, Space};
use crate::plan::{Access, Estimates};
use crate::sql::ast::{Delete, Statement};
use crate::types::{ColumnType, Value};

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
        let table = Arc::clone(&delete.table);
        let env = self.write_env(Arc::default(), &table);
        let target = Target::of_delete(delete);
        let plan = target.plan(&env, Estimates::Offered)?;
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
        for key in keys {
            for line in self.why(&table, &key, &env).await? {
                listing.push(cells_of(line));
            }
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

fn not_by_key() -> Error {
    Error::unsupported(
        "EXPLAIN ROW without a value for each column of the primary key, or with conditions beyond them",
    )
}

fn cells_of(line: Line) -> Vec<Value<'static>> {
    let shown = if line.value.is_null() {
        Value::Null
    } else {
        Value::text(&line.value.to_text()).into_owned()
    };
    vec![
        Value::Text(line.cell.into()),
        line.ms.map_or(Value::Null, Value::UInt),
        shown,
        Value::Text(line.state.into()),
        Value::Text(line.reason.into()),
    ]
}
