//! CREATE, DROP and ALTER INDEX, and how a session waits for builds. ALTER TABLE is in `alter`.

use std::sync::Arc;
use std::time::Duration;

use super::check_not_system;
use crate::catalog::{Index, IndexId, IndexState, Table};
use crate::error::{Code, Error, Result};
use crate::exec::backfill::{Audience, Goal, Job, OnFailure, Target};
use crate::exec::cancel::Stop;
use crate::exec::ddl::index::define_index;
use crate::exec::ddl::{alter, wide};
use crate::protocol::reply::Progress;
use crate::session::Session;
use crate::sql::ast::{self, IndexGoal, IndexMode};
use crate::sql::context::EvalContext;

/// How often a session that waits for a build tells SHOW PROCESSLIST and the client how far it is.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// Indexes that a statement has published and that are still to be built.
pub(super) struct Added {
    pub(super) table: Arc<Table>,
    pub(super) ids: Vec<IndexId>,
}

impl Session {
    pub(in crate::session) async fn create_index(
        &mut self,
        create: &ast::CreateIndex,
    ) -> Result<()> {
        if let Some(table) = self.named_temporary(&create.table).map(Arc::clone) {
            let indexed = self.index_temporary(&table, &create.index).await;
            return match indexed {
                Err(error) if error.code() == Code::DuplicateKeyName && create.if_not_exists => {
                    self.note(&error);
                    Ok(())
                }
                other => other,
            };
        }
        self.commit_open().await?;
        let name = self.altered(&create.table)?;
        let before = self.table(Some(&name.0), &name.1)?;
        let added = self.add_indexes(&name, &[&create.index]).await;
        let added = match added {
            Err(error) if error.code() == Code::DuplicateKeyName && create.if_not_exists => {
                self.note(&error);
                return Ok(());
            }
            other => other?,
        };
        self.warn_of_lints(&added.table, Some(&before));
        self.build(&name, &added, create.index.mode).await
    }

    pub(in crate::session) async fn drop_index(&mut self, drop: &ast::DropIndex) -> Result<()> {
        let action = |if_exists| ast::AlterAction::DropIndex {
            name: drop.name.clone(),
            if_exists,
        };
        if let Some(table) = self.named_temporary(&drop.table).map(Arc::clone) {
            let actions = [action(drop.if_exists)];
            return self.alter_temporary(&table, &actions).await;
        }
        self.commit_open().await?;
        let (database, table) = self.altered(&drop.table)?;
        let ctx = self.context(Arc::default());
        // An error when it is missing, so that the table is not published again without any change.
        let actions = [action(false)];
        let catalog = &self.shared.catalog;
        let dropped = catalog.change_table((&database, &table), |table| {
            let before = table.clone();
            alter::apply(table, &actions, (alter::Part::All, &ctx))?;
            alter::settle_ids(table, &before, (&actions, &ctx)).map(|_| ())
        });
        match dropped.await {
            Err(error) if error.code() == Code::CantDropFieldOrKey && drop.if_exists => {
                self.note(&error);
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    pub(in crate::session) async fn alter_index(&mut self, alter: &ast::AlterIndex) -> Result<()> {
        self.commit_open().await?;
        let name = self.altered(&alter.table)?;
        let mut to_build = false;
        let table = self
            .shared
            .catalog
            .change_table((&name.0, &name.1), |table| {
                to_build = switch(table, &alter.name, alter.goal)?;
                Ok(())
            });
        let table = table.await?;
        if !to_build {
            return Ok(());
        }
        let position = table.index_position(&alter.name);
        let index = position.and_then(|position| table.indexes.get(position));
        let ids: Vec<IndexId> = index.map(|index| index.id).into_iter().collect();
        let jobs = self.start(&name, &Added { table, ids }, OnFailure::Disable);
        self.await_builds(&jobs).await
    }

    /// The database and the name of a table that DDL may change.
    pub(super) fn altered(&self, table: &ast::TableName) -> Result<(String, String)> {
        self.refuse_temporary(table, "RENAME TABLE or ALTER INDEX")?;
        let database = self.database_or_current(table.database.as_deref())?;
        check_not_system(&database)?;
        Ok((database, table.name.clone()))
    }

    /// Publishes new indexes as `BUILDING`.
    async fn add_indexes(
        &mut self,
        name: &(String, String),
        declared: &[&ast::IndexDef],
    ) -> Result<Added> {
        let ctx = self.context(Arc::default());
        let mut names = Vec::new();
        let table = self
            .shared
            .catalog
            .change_table((&name.0, &name.1), |table| {
                names = define_all(table, declared, &ctx)?;
                Ok(())
            });
        let table = table.await?;
        let is_new = |index: &&Index| names.contains(&index.name);
        let ids = table.indexes.iter().filter(is_new).map(|index| index.id);
        let ids = ids.collect();
        Ok(Added { table, ids })
    }

    /// Builds new indexes, and waits for that unless the statement is `ASYNC`.
    async fn build(
        &mut self,
        name: &(String, String),
        added: &Added,
        mode: Option<IndexMode>,
    ) -> Result<()> {
        let jobs = self.start(name, added, OnFailure::Drop);
        match mode {
            Some(IndexMode::Async) => Ok(()),
            Some(IndexMode::Sync) | None => {
                let built = self.await_builds(&jobs).await;
                if built.is_err() {
                    self.take_back(name, &added.ids).await?;
                }
                built
            }
        }
    }

    /// Drops what a failed statement has built already.
    async fn take_back(&self, name: &(String, String), ids: &[IndexId]) -> Result<()> {
        if self.cancel.reason() == Some(Stop::ShuttingDown) || ids.len() < 2 {
            return Ok(());
        }
        let dropped = self
            .shared
            .catalog
            .change_table((&name.0, &name.1), |table| {
                table.indexes.retain(|index| !ids.contains(&index.id));
                Ok(())
            });
        dropped.await.map(drop)
    }

    pub(super) fn start(
        &self,
        name: &(String, String),
        added: &Added,
        on_failure: OnFailure,
    ) -> Vec<Arc<Job>> {
        let target = |id: &IndexId| Target {
            database: name.0.clone(),
            table: name.1.clone(),
            goal: Goal::Index,
            index: *id,
            on_failure,
        };
        let backfill = &self.shared.backfill;
        let started = added
            .ids
            .iter()
            .map(|id| backfill.start(target(id), &added.table));
        started.collect()
    }

    /// Waits for builds, telling how far they are; a KILL ends them.
    pub(super) async fn await_builds(&self, jobs: &[Arc<Job>]) -> Result<()> {
        let _told: Vec<Audience> = jobs.iter().map(|job| job.attend()).collect();
        let mut failed: Option<Error> = None;
        // Those that the end of the server interrupts go on at the next start.
        let ends_all = |failed: &Error| failed.code() != Code::ShuttingDown;
        let stages_count = u8::try_from(jobs.len()).unwrap_or(u8::MAX);
        for (stage, job) in (1..=stages_count).zip(jobs) {
            if failed.as_ref().is_some_and(ends_all) {
                job.kill();
            }
            if let Err(error) = self.await_build(job, (stage, stages_count)).await {
                failed.get_or_insert(error);
            }
        }
        match failed {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    async fn await_build(&self, job: &Job, stage: (u8, u8)) -> Result<()> {
        let processes = self.shared.processes();
        loop {
            processes.set_state(self.client.connection_id, job.state());
            self.tell_client(job, stage);
            tokio::select! {
                ended = job.ended() => return ended,
                error = self.cancel.stopped() => {
                    if self.cancel.reason() == Some(Stop::ShuttingDown) {
                        return Err(error);
                    }
                    job.kill();
                    // It may have ended otherwise before it saw that.
                    return match job.ended().await {
                        Err(killed) if killed.code() == Code::QueryInterrupted => Err(error),
                        ended => ended,
                    };
                }
                () = tokio::time::sleep(TELL_EVERY) => {}
            }
        }
    }
}

impl Session {
    /// Tells the client how far a build is, if it can be told and it is not what it knows already.
    fn tell_client(&self, job: &Job, (stage, stages_count): (u8, u8)) {
        let Some(progress) = &self.client.progress else {
            return;
        };
        let now = Progress {
            stage,
            stages_count,
            percent: job.percent(),
            info: job.activity(),
        };
        progress.send_if_modified(|told| {
            let is_news = *told != now;
            *told = now;
            is_news
        });
    }
}

/// Adds the declared indexes to a definition, to be built; their names.
pub(in crate::session) fn define_all(
    table: &mut Table,
    declared: &[&ast::IndexDef],
    ctx: &EvalContext,
) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for index in declared {
        wide::add_names(table, index)?;
        let index = Index {
            state: IndexState::Building,
            ..define_index(table, index, ctx)?
        };
        names.push(index.name.clone());
        table.indexes.push(index);
    }
    Ok(names)
}

/// `ALTER INDEX`; whether the index must be built now.
fn switch(table: &mut Table, name: &str, goal: IndexGoal) -> Result<bool> {
    let position = table.index_position(name);
    let Some(index) = position.and_then(|position| table.indexes.get_mut(position)) else {
        let text = format!("Key '{name}' doesn't exist in table '{}'", table.name);
        return Err(Error::new(Code::KeyMissing, text));
    };
    match (index.state, goal) {
        (IndexState::Building, _) => {
            let text = format!("index '{name}' is being built: wait for it, or DROP INDEX");
            Err(Error::new(Code::WrongUsage, text))
        }
        (IndexState::Active | IndexState::Inactive, IndexGoal::Active) => {
            index.state = IndexState::Active;
            Ok(false)
        }
        (IndexState::Active | IndexState::Inactive, IndexGoal::Inactive) => {
            index.state = IndexState::Inactive;
            Ok(false)
        }
        (IndexState::Active | IndexState::Inactive, IndexGoal::Disabled) => {
            let id = index.id;
            table.disable_index(id);
            Ok(false)
        }
        (IndexState::Disabled, IndexGoal::Disabled) => Ok(false),
        (IndexState::Disabled, IndexGoal::Inactive) => {
            let text = format!("index '{name}' is DISABLED: ALTER INDEX … ACTIVE builds it again");
            Err(Error::new(Code::WrongUsage, text))
        }
        (IndexState::Disabled, IndexGoal::Active) => {
            index.state = IndexState::Building;
            Ok(true)
        }
    }
}
