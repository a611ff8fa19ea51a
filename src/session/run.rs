//! One statement, from its syntax tree to its reply.

use std::sync::Arc;
use std::time::Duration;

use super::compile::Compiled;
use super::prepared::is_on_rows;
use super::show::keeps_warnings;
use super::track::Access;
use super::{Done, Reply, Session};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::exec::transaction::{Transaction, definition_changed};
use crate::exec::write;
use crate::plan::Policy;
use crate::sql::ast::{AlterAction, AlterTable, Show, Statement, TableName};
use crate::sql::bind;
use crate::sql::bound::Hints;
use crate::sql::context::{Parameters, SessionFacts, WarningLevel};
use crate::types::Value;

/// How often an autocommit statement is bound when definitions change while it runs. Each time is a
/// whole DDL statement of somebody else.
pub(super) const BINDS_MAX: usize = 32;

/// What running a statement came to.
pub(super) enum Ran {
    /// It is done.
    Done(Reply),
    /// Nothing was done: a table has another definition now.
    Outdated,
}

impl Session {
    /// Runs a statement.
    pub(super) async fn run(
        &mut self,
        statement: &Statement,
        parameters: Vec<Value<'static>>,
    ) -> Result<Reply> {
        if !keeps_warnings(statement) {
            self.forget_warnings();
        }
        self.begin_statement();
        // Of several statements in one text each has a time of its own.
        self.cancel.clear_time_limit();
        if is_on_rows(statement) {
            let compiled = self.compile_allowed((statement, statement), &[])?;
            return self.run_compiled((statement, compiled), parameters).await;
        }
        // In memory of its own: what changes definitions is large, and would be moved with each statement on rows.
        Box::pin(self.run_apart(statement, parameters)).await
    }

    /// Runs any other statement than those on rows.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the match it hands on to is exhaustive"
    )]
    async fn run_apart(
        &mut self,
        statement: &Statement,
        parameters: Vec<Value<'static>>,
    ) -> Result<Reply> {
        self.guard(statement)?;
        self.check_may_define(statement).await?;
        match statement {
            Statement::Explain(explain) => self.explain((statement, explain), parameters).await,
            Statement::ExplainRow(row) => self.explain_row((statement, row)).await,
            Statement::Describe(describe) => self.describe(describe),
            Statement::Show(Show::DynamicColumns { table, limit }) => {
                self.show_dynamic_columns((table, *limit)).await
            }
            Statement::Show(show) => self.show(show),
            Statement::Account(statement) => self.run_account(statement).await,
            Statement::Prepare(prepare) => {
                self.prepare_named(prepare)?;
                Ok(self.told("Statement prepared"))
            }
            Statement::Execute(execute) => self.execute_named(execute).await,
            Statement::Maintain(maintain) => self.maintain(maintain).await,
            Statement::Backup(path) => Box::pin(self.backup(path)).await,
            Statement::Load(load) => self.load_data(load).await,
            Statement::Advise(table) => self.advise(table).await,
            Statement::Do(exprs) => {
                let parameters = Arc::new(parameters);
                for expr in exprs {
                    self.value_of(expr, &parameters).await?;
                }
                Ok(self.nothing())
            }
            Statement::Set(items) => {
                self.set(items, &Arc::new(parameters)).await?;
                Ok(self.nothing())
            }
            Statement::CreateTable(create) if create.query.is_some() => {
                Box::pin(self.create_table_of(create, parameters)).await
            }
            other => self.run_without_rows(other).await,
        }
    }

    /// Statements whose only answer is OK.
    async fn run_without_rows(&mut self, statement: &Statement) -> Result<Reply> {
        match statement {
            Statement::CreateDatabase(create) => return self.create_database(create).await,
            Statement::DropDatabase { name, if_exists } => {
                return self.drop_database(name, *if_exists).await;
            }
            Statement::CreateTable(create) => {
                self.create_table(create).await?;
            }
            Statement::DropTable(drop) => self.drop_tables(drop).await?,
            Statement::CreateView(create) => self.create_view(create).await?,
            Statement::DropView(drop) => self.drop_views(drop).await?,
            Statement::Truncate(table) => self.truncate(table).await?,
            Statement::Use(name) => self.use_database(name)?,
            Statement::SetTransaction(set) => self.set_transaction(set)?,
            Statement::ResetPersist(reset) => self.reset_persist(reset).await?,
            Statement::Begin(begin) => self.begin(begin).await?,
            Statement::Commit(end) => self.commit(end).await?,
            Statement::Rollback(end) => self.rollback(end).await,
            Statement::Savepoint(name) => self.savepoint(name)?,
            Statement::RollbackTo(name) => self.rollback_to(name)?,
            Statement::ReleaseSavepoint(name) => self.release_savepoint(name)?,
            Statement::Kill(kill) => self.kill(kill)?,
            Statement::Deallocate(deallocate) => self.deallocate(&deallocate.name)?,
            Statement::Flush { logs, status } => self.flush((*logs, *status)).await?,
            Statement::UnlockTables => {}
            Statement::LockTables(tables) => self.lock_tables(tables).await?,
            Statement::CreateIndex(create) => self.create_index(create).await?,
            Statement::DropIndex(drop) => self.drop_index(drop).await?,
            Statement::AlterTable(alter) => self.alter_table(alter).await?,
            Statement::AlterIndex(alter) => self.alter_index(alter).await?,
            Statement::Undrop { table, to } => self.undrop(table, to.as_ref()).await?,
            Statement::Purge(table) => self.purge(table.as_ref()).await?,
            Statement::RenameTables(rename) => self.rename_tables(rename).await?,
            Statement::Unsupported { what } => return Err(Error::unsupported(what)),
            Statement::Select(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Explain(_)
            | Statement::ExplainRow(_)
            | Statement::Describe(_)
            | Statement::Show(_)
            | Statement::Account(_)
            | Statement::Prepare(_)
            | Statement::Execute(_)
            | Statement::Maintain(_)
            | Statement::Backup(_)
            | Statement::Set(_)
            | Statement::Load(_)
            | Statement::Advise(_)
            | Statement::Do(_) => return Err(Error::internal("a statement with rows has none")),
        }
        Ok(self.told_of_rows(statement))
    }

    /// `LOCK TABLES`: looks for the tables, and says that nothing is locked.
    async fn lock_tables(&mut self, tables: &[TableName]) -> Result<()> {
        self.commit_open().await?;
        for table in tables {
            if self.named_view(table).is_none() {
                self.shown_table(table.database.as_deref(), &table.name)?;
            }
        }
        let text = "LOCK TABLES locks nothing here: statements are atomic, and BEGIN … COMMIT holds \
                    several together";
        let level = WarningLevel::Warning;
        self.warnings
            .add(level, Code::FeatureIgnored, || text.to_owned());
        Ok(())
    }

    /// OK, with the warnings there are.
    pub(super) fn nothing(&mut self) -> Reply {
        self.state.wrote(0, 0);
        let warnings_count = self.warnings.count();
        self.state.set_warnings_count(warnings_count);
        Reply::Done(Done {
            warnings_count,
            ..Done::default()
        })
    }

    /// As [`Session::nothing`], with a text for people.
    fn told(&mut self, info: &str) -> Reply {
        match self.nothing() {
            Reply::Done(done) => Reply::Done(Done {
                info: info.to_owned(),
                ..done
            }),
            other @ (Reply::Rows(_) | Reply::File(_)) => other,
        }
    }

    /// As [`Session::nothing`]; where MySQL tells of the rows that were copied, with its text for none.
    fn told_of_rows(&mut self, statement: &Statement) -> Reply {
        let renames = |alter: &AlterTable| matches!(*alter.actions, [AlterAction::Rename(_)]);
        let tells = matches!(statement, Statement::AlterTable(alter) if !renames(alter))
            || matches!(
                statement,
                Statement::CreateIndex(_) | Statement::DropIndex(_)
            );
        if !tells {
            return self.nothing();
        }
        let warnings_count = self.warnings.count();
        self.told(&format!(
            "Records: 0  Duplicates: 0  Warnings: {warnings_count}"
        ))
    }

    /// Runs a statement on rows.
    pub(super) async fn run_compiled(
        &mut self,
        (statement, compiled): (&Statement, Compiled),
        parameters: Vec<Value<'static>>,
    ) -> Result<Reply> {
        let is_on_tables = compiled.is_on_tables();
        let ran = self.run_until_current((statement, compiled), parameters);
        let reply = ran.await;
        // One that may not write has begun none, as in MySQL.
        let has_begun = !matches!(&reply, Err(error) if error.code() == Code::ReadOnlyTransaction);
        if is_on_tables && has_begun {
            self.spend_next();
        }
        reply
    }

    /// Runs a statement on rows. One that was bound with a definition that changed before its commit,
    /// or before its snapshot, is bound again and run again.
    async fn run_until_current(
        &mut self,
        (statement, mut compiled): (&Statement, Compiled),
        parameters: Vec<Value<'static>>,
    ) -> Result<Reply> {
        let parameters = Arc::new(parameters);
        // A query has evaluated nothing when it is bound again.
        let is_query = matches!(compiled, Compiled::Query(..));
        let assigned = (!is_query).then(|| self.state.assigned()).flatten();
        for _ in 0..BINDS_MAX {
            self.begin_statement();
            if let (Statement::Select(select), Some(stars)) = (statement, compiled.stars()) {
                compiled = self.with_met(select, &stars, &parameters).await?;
            }
            let ran = match &compiled {
                Compiled::Query(program, asked) => {
                    let ran = self.run_query(program, asked, Arc::clone(&parameters));
                    ran.await?
                }
                Compiled::Write(program) => {
                    Box::pin(self.run_write(program, Arc::clone(&parameters))).await?
                }
                Compiled::Change(program) => {
                    let parameters = Arc::clone(&parameters);
                    match Box::pin(self.change_rows_of(program, parameters)).await? {
                        Some(outcome) => self.wrote(outcome),
                        None => Ran::Outdated,
                    }
                }
            };
            match ran {
                Ran::Done(reply) => return Ok(reply),
                Ran::Outdated => {}
            }
            self.state.go_back(assigned.as_deref());
            self.warnings.take();
            let types: Vec<_> = if compiled.depends_on_parameters() {
                parameters.iter().map(bind::parameter_type).collect()
            } else {
                Vec::new()
            };
            // The names may lead elsewhere by now.
            compiled = self.compile_allowed((statement, statement), &types)?;
        }
        Err(definition_changed())
    }

    /// What a write that begins now runs with; one that says `IGNORE` warns of what is lost.
    pub(super) fn write_env(
        &mut self,
        parameters: Parameters,
        (table, ignores): (&Arc<Table>, bool),
    ) -> write::Env {
        let use_indexes = self.may_use_indexes(Some(table));
        let mut ctx = self.context(parameters);
        ctx.strict_write = self.settings.mode.strict && !ignores;
        write::Env {
            engine: Arc::clone(&self.shared.engine),
            ctx,
            policy: Policy {
                use_indexes,
                max_clock_skew_ms: self.clock_skew_ms_max(table),
                ..self.settings.policy
            },
            uses: Arc::clone(&self.shared.uses),
            cancel: Arc::clone(&self.cancel),
            ids: Arc::clone(&self.shared.ids),
            memory: self.shared.memory(self.settings.memory_bytes_max),
            found_rows: self.client.found_rows,
            autocommit: self.settings.autocommit && self.transaction.is_none(),
            given_rows: Arc::default(),
            given_before: 0,
        }
    }

    async fn run_write(
        &mut self,
        program: &Arc<write::Program>,
        parameters: Parameters,
    ) -> Result<Ran> {
        self.check_all_seen(program)?;
        match &program.write {
            write::Write::Update(update) => self.heed(&update.hints),
            write::Write::Delete(delete) => self.heed(&delete.hints),
            write::Write::Insert(insert) => self.heed(&insert.hints),
        }
        let outcome = if let Some(query) = &program.query {
            if !query.tables().is_empty() {
                self.track_access(Access::Reads);
            }
            self.insert_rows_of((program, query), parameters).await?
        } else if program.reads_itself() && self.current_transaction().is_none() {
            self.run_asking(program, parameters).await?
        } else {
            let mut env = self.write_env(parameters, program.write.target());
            let _held = self.answer_for_write(program, (&mut env, None)).await?;
            self.run_once(program, env).await?
        };
        let Some(outcome) = outcome else {
            return Ok(Ran::Outdated);
        };
        Ok(self.wrote(outcome))
    }

    /// OK, with what a write did.
    fn wrote(&mut self, outcome: write::Outcome) -> Ran {
        Ran::Done(Reply::Done(self.done_writing(outcome)))
    }

    /// What a write did.
    pub(super) fn done_writing(&mut self, outcome: write::Outcome) -> Done {
        self.track_access(Access::Writes);
        let told = self
            .state
            .wrote(outcome.affected_rows, outcome.last_insert_id);
        let last_insert_id = match (outcome.last_insert_id, told) {
            (0, 0) => outcome.other_id,
            (0, told) => told,
            (made, _) => made,
        };
        let warnings_count = self.warnings.count();
        self.state.set_warnings_count(warnings_count);
        Done {
            affected_rows: outcome.affected_rows,
            last_insert_id,
            warnings_count,
            info: outcome.info,
        }
    }

    /// Runs a write in the open transaction, or in one of its own; `None` when it was bound with a
    /// definition that has changed.
    pub(super) async fn run_once(
        &mut self,
        program: &Arc<write::Program>,
        env: write::Env,
    ) -> Result<Option<write::Outcome>> {
        let tables = std::slice::from_ref(program.write.table());
        if let Some(transaction) = self.current_transaction() {
            let written = write::run(program, &env, transaction).await;
            return match written {
                Err(error) if self.has_gone(tables, &error) => Ok(None),
                outcome => outcome.map(Some),
            };
        }
        let mut transaction = self.statement_transaction();
        match write::run(program, &env, &mut transaction).await {
            Err(error) if self.is_outdated(tables, &error) => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// As [`Session::run_once`] in autocommit, of a write whose subqueries read the table that it changes: they are
    /// answered from the state that is changed, and again each time that it starts over. Its locks it keeps then, so that
    /// it need not again.
    async fn run_asking(
        &mut self,
        program: &Arc<write::Program>,
        parameters: Parameters,
    ) -> Result<Option<write::Outcome>> {
        let mut own = self.statement_transaction();
        let (assigned, told) = (self.state.assigned(), self.warnings.mark());
        for _ in 0..write::CONFLICT_ATTEMPTS_MAX {
            self.state.go_back(assigned.as_deref());
            self.warnings.back_to(told);
            let mut env = self.write_env(Arc::clone(&parameters), program.write.target());
            let view = own.view();
            let answered = self.answer_for_write(program, (&mut env, Some(view))).await;
            let tables = std::slice::from_ref(program.write.table());
            let _held = match answered {
                Err(error) if self.has_gone(&program.tables_read(), &error) => return Ok(None),
                held => held?,
            };
            match write::attempt(program, &env, &mut own).await {
                Err(error) if self.is_outdated(tables, &error) => return Ok(None),
                Ok(None) => {}
                done => return done,
            }
        }
        Err(write::too_many_conflicts())
    }

    /// The transaction of one statement in autocommit.
    pub(super) fn statement_transaction(&self) -> Transaction {
        let mut own = self.new_transaction();
        own.read_only = self.is_read_only();
        own
    }

    /// Whether what was bound is what there is: asked once there is a snapshot, which has what the
    /// tables had when they were bound, or has not.
    pub(super) fn are_current(&mut self, tables: &[Arc<Table>]) -> bool {
        let is_current = |table: &Arc<Table>| self.shared.catalog.is_current(table);
        let keeps_snapshot = self
            .transaction
            .as_ref()
            .is_some_and(|open| !open.reads_anew && self.had_snapshot);
        keeps_snapshot
            || self.shared.catalog.version() == self.bound_at
            || tables.iter().all(is_current)
    }

    /// Warns of hints that nobody knows, and sets the time limit that one of them may give.
    pub(super) fn heed(&self, hints: &Hints) {
        for name in &hints.unknown {
            let text = || format!("Optimizer hint {name} is not known here; it has no effect");
            self.warnings.add(WarningLevel::Warning, Code::Parse, text);
        }
        if let Some(timeout_ms) = hints.timeout_ms {
            self.cancel
                .set_time_limit(Duration::from_millis(timeout_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::testing::{options, session};
    use crate::session::Shared;

    #[tokio::test]
    async fn what_changes_a_table_tells_of_rows_and_warnings() {
        let shared = Shared::open(options()).await.unwrap();
        let mut session = session(&shared, 1);
        let none = "Records: 0  Duplicates: 0  Warnings: 0";
        for (sql, told) in [
            ("SET schema_lints = OFF", ""),
            ("CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)", ""),
            ("ALTER TABLE t ADD d INT", none),
            ("CREATE INDEX i ON t (b, c)", none),
            ("DROP INDEX i ON t", none),
            (
                "ALTER TABLE t ORDER BY b",
                "Records: 0  Duplicates: 0  Warnings: 1",
            ),
            ("ALTER TABLE t RENAME u", ""),
            ("RENAME TABLE u TO t", ""),
            ("CREATE TEMPORARY TABLE w (a INT PRIMARY KEY)", ""),
            ("ALTER TABLE w ADD b INT", none),
        ] {
            let reply = session.query(sql.as_bytes()).await.unwrap().reply;
            let Reply::Done(done) = reply else {
                panic!("{sql}")
            };
            assert_eq!(done.info, told, "{sql}");
            assert_eq!(done.affected_rows, 0, "{sql}");
        }
    }
}
