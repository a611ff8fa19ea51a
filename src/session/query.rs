//! A query: from its program to the stream of its rows, and where these go.

use std::sync::Arc;

use super::compile::{Asked, Destination};
use super::found::Counted;
use super::run::Ran;
use super::track::Access;
use super::{Reply, ResultSet, Session, wide};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::query::{self, Opened};
use crate::exec::rows::RowStream;
use crate::exec::select::{self, PointRow, Source};
use crate::exec::transaction::Transaction;
use crate::exec::write;
use crate::kv::Key;
use crate::plan::Policy;
use crate::sql::context::Parameters;

impl Session {
    /// Runs a query.
    pub(super) async fn run_query(
        &mut self,
        program: &Arc<query::Program>,
        asked: &Asked,
        parameters: Parameters,
    ) -> Result<Ran> {
        self.check_seen(program.tables())?;
        let held = wide::hold(program.columns_count())?;
        // Rows are found and locked within it, too.
        self.limit_time();
        self.heed(program.hints());
        let locked = match program.select() {
            Some(select) if select.for_update => self.lock_selected(program, &parameters).await?,
            Some(_) | None => None,
        };
        let begun = self.begun_rows((program, locked), asked, parameters);
        let rows = match begun.await {
            Err(error) if self.has_gone(program.tables(), &error) => return Ok(Ran::Outdated),
            other => wide::holding(other?, held),
        };
        if !self.are_current(program.tables()) {
            return Ok(Ran::Outdated);
        }
        if !program.tables().is_empty() {
            self.track_access(Access::Reads);
        }
        match &asked.into {
            Some(Destination::Variables(variables)) => {
                return self.put_into(variables, rows).await.map(Ran::Done);
            }
            Some(Destination::File(file)) => {
                let columns = program.columns();
                let written = self.put_into_file(file, &columns, rows).await;
                return written.map(Ran::Done);
            }
            None => {}
        }
        let zone = self.settings.zone.clone();
        Ok(Ran::Done(Reply::Rows(ResultSet {
            columns: program.columns(),
            zone,
            rows,
        })))
    }

    /// Begins a query; of one whose rows are locked, of those.
    async fn begun_rows(
        &mut self,
        (program, locked): (&Arc<query::Program>, Option<Vec<Key>>),
        asked: &Asked,
        parameters: Parameters,
    ) -> Result<Box<dyn RowStream>> {
        if let Some(row) = self.point_row(program, asked, &parameters).await? {
            return Ok(Box::new(row));
        }
        let mut env = self.select_env(parameters, program.tables());
        let limits = self.limit_rows(asked, &mut env)?;
        let opened = match locked {
            Some(keys) => query::open_found(program, env, keys),
            None => query::open(program, env),
        };
        let stream = match opened? {
            later @ Opened::Later(_) => later.stream().await?,
            Opened::Ready(stream) => stream,
        };
        let rows = stream.into_rows();
        Ok(match limits {
            Some(limits) => Box::new(Counted::new(rows, limits, &self.state)),
            None => rows,
        })
    }

    /// The row of a query that asks for one by its key, on the short way; `None` of all others.
    async fn point_row(
        &mut self,
        program: &query::Program,
        asked: &Asked,
        parameters: &Parameters,
    ) -> Result<Option<PointRow>> {
        let query::Body::Select(select) = &program.body else {
            return Ok(None);
        };
        let is_limited = asked.counted.is_some() || self.select_limit(asked).is_some();
        if is_limited || !select.may_be_point() {
            return Ok(None);
        }
        let ctx = self.context(Arc::clone(parameters));
        let Some(key) = select.point_key(&ctx)? else {
            return Ok(None);
        };
        let view = self.current_transaction().map(Transaction::view);
        let source = view.map_or_else(|| Source::Newest(&*self.shared.engine), Source::View);
        let row = PointRow::read(select, (ctx, &self.cancel), (source, key)).await?;
        Ok(Some(row))
    }

    /// The running statement reads, and may take as long as the session says. One that writes is not stopped
    /// between two of its pieces, unless its hints say so.
    pub(super) fn limit_time(&self) {
        if let Some(limit) = self.settings.time_limit {
            self.cancel.set_time_limit(limit);
        }
    }

    /// What a query that begins now runs with.
    pub(super) fn select_env(
        &mut self,
        parameters: Parameters,
        tables: &[Arc<Table>],
    ) -> select::Env {
        let mut each = tables.iter();
        let use_indexes = each.all(|table| self.may_use_indexes(Some(table)));
        // What reads no table begins no transaction, and is not what the snapshot of one is taken at.
        let transaction = if tables.is_empty() {
            None
        } else {
            self.current_transaction()
        };
        let view = transaction.map(Transaction::view);
        select::Env {
            engine: Arc::clone(&self.shared.engine),
            view,
            ctx: self.context(parameters),
            policy: Policy {
                use_indexes,
                ..self.settings.policy
            },
            uses: Arc::clone(&self.shared.uses),
            cancel: Arc::clone(&self.cancel),
            memory: self.shared.memory(self.settings.memory_bytes_max),
            select_limit: None,
            rounds: Vec::new(),
            meter: None,
        }
    }

    /// `FOR UPDATE`: in autocommit there is nothing to hold the locks, as in MySQL. Returns the keys of the rows
    /// that the query is to read, where they are not all that meet its condition.
    async fn lock_selected(
        &mut self,
        program: &query::Program,
        parameters: &Parameters,
    ) -> Result<Option<Vec<Key>>> {
        let Some(select) = program.select() else {
            return Ok(None);
        };
        let Some(table) = select.table() else {
            if program.tables().is_empty() {
                return Ok(None);
            }
            return Err(Error::unsupported(
                "FOR UPDATE of a join or a derived table",
            ));
        };
        if !select.subqueries.is_empty() {
            return Err(Error::unsupported("FOR UPDATE with subqueries"));
        }
        // It loses nothing, as it only reads.
        let env = self.write_env(Arc::clone(parameters), (table, true));
        let Some(transaction) = self.current_transaction() else {
            return Ok(None);
        };
        Box::pin(write::for_update::lock_rows(
            (select, table),
            &env,
            transaction,
        ))
        .await
    }
}
