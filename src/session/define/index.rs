//! CREATE, DROP and ALTER INDEX, and how a session waits for builds. ALTER TABLE is in `alter`.

use std::sync::Arc;
use std::time::Duration;

use super::alter::added_by;
use super::check_not_system;
use crate::catalog::{Index, IndexId, IndexState, Table};
use crate::error::{Code, Error, Result};
use crate::exec::backfill::{Audience, Goal, Job, OnFailure, Target};
use crate::exec::cancel::Stop;
use crate::exec::ddl::index::{define_index, duplicate_name};
use crate::exec::ddl::{alter, wide};
use crate::exec::transaction::definition_changed;
use crate::protocol::reply::Progress;
use crate::session::Session;
use crate::sql::ast::{self, IndexGoal, IndexMode};
use crate::sql::context::{EvalContext, WarningLevel};

/// How often a session that waits for a build tells SHOW PROCESSLIST and the client how far it is.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// How often indexes may get other storage while one statement waits for them: more often than anybody
/// changes a table, and not for ever.
const FOLLOWED_MAX: u32 = 100;

/// Indexes that a statement has published and that are still to be built.
pub(super) struct Added {
    pub(super) table: Arc<Table>,
    pub(super) ids: Vec<IndexId>,
}

impl Added {
    /// Their names.
    fn names(&self) -> impl Iterator<Item = &str> {
        let is_new = |index: &&Index| self.ids.contains(&index.id);
        let indexes = self.table.indexes.iter().filter(is_new);
        indexes.map(|index| index.name.as_str())
    }
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
            wide::forget_names(table)?;
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
                wide::forget_names(table)?;
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
                let built = self.await_indexes((name, added), &jobs).await;
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

    /// Waits until these indexes are built. Where one of them gets other storage meanwhile, since others
    /// empty the table or give a column another type, what becomes of that is waited for: to whoever asked
    /// for an index it is the one of that name, as if they had come first.
    pub(super) async fn await_indexes(
        &self,
        (name, added): (&(String, String), &Added),
        jobs: &[Arc<Job>],
    ) -> Result<()> {
        let mut built = self.await_builds(jobs).await;
        for _ in 0..FOLLOWED_MAX {
            let error = match built {
                Err(error) if error.code() == Code::TableDefinitionChanged => error,
                ended => return ended,
            };
            let Ok(table) = self.table(Some(&name.0), &name.1) else {
                return Err(error);
            };
            let mut ids = Vec::new();
            for index in added.names() {
                let position = table.index_position(index);
                let found = position.and_then(|position| table.indexes.get(position));
                match found.map(|index| (index.state, index.id)) {
                    Some((IndexState::Active, _)) => {}
                    Some((IndexState::Building, id)) => ids.push(id),
                    Some((IndexState::Inactive | IndexState::Disabled, _)) | None => {
                        return Err(error);
                    }
                }
            }
            let others = self.start(name, &Added { table, ids }, OnFailure::Disable);
            built = self.follow(&others).await;
        }
        Err(definition_changed())
    }

    /// Waits for builds that others have begun: a KILL ends the waiting alone.
    async fn follow(&self, jobs: &[Arc<Job>]) -> Result<()> {
        for job in jobs {
            tokio::select! {
                ended = job.ended() => ended?,
                error = self.cancel.stopped() => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for builds, telling how far they are; a KILL ends them.
    pub(super) async fn await_builds(&self, jobs: &[Arc<Job>]) -> Result<()> {
        let _told: Vec<Audience> = jobs.iter().map(|job| job.attend()).collect();
        let mut failed: Option<Error> = None;
        // Those that the end of the server interrupts go on at the next start, and one that others have
        // begun anew says nothing of the next.
        let is_moved = |failed: &Error| failed.code() == Code::TableDefinitionChanged;
        let ends_all = |failed: &Error| failed.code() != Code::ShuttingDown && !is_moved(failed);
        let stages_count = u8::try_from(jobs.len()).unwrap_or(u8::MAX);
        for (stage, job) in (1..=stages_count).zip(jobs) {
            if failed.as_ref().is_some_and(ends_all) {
                job.kill();
            }
            if let Err(error) = self.await_build(job, (stage, stages_count)).await
                && failed.as_ref().is_none_or(is_moved)
            {
                failed = Some(error);
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

/// The indexes that actions add to a definition: with `IF NOT EXISTS` none whose name it has.
pub(super) fn added_to<'a>(
    table: &Table,
    actions: &'a [ast::AlterAction],
    ctx: &EvalContext,
) -> Vec<&'a ast::IndexDef> {
    let added = actions.iter().filter_map(added_by);
    added
        .filter(|index| !note_if_there(table, index, ctx))
        .collect()
}

/// Whether an index has `IF NOT EXISTS`, and the definition one of its name: that is noted then.
fn note_if_there(table: &Table, index: &ast::IndexDef, ctx: &EvalContext) -> bool {
    let name = asked_name(index).filter(|name| table.index_position(name).is_some());
    let Some(name) = name.filter(|_| index.if_not_exists) else {
        return false;
    };
    let error = duplicate_name(name);
    let text = || error.message().to_owned();
    ctx.warnings.add(WarningLevel::Note, error.code(), text);
    true
}

/// The name of an index that is declared; without one that of its first column, as in MariaDB.
fn asked_name(index: &ast::IndexDef) -> Option<&str> {
    let first = index.parts.first();
    let column = first.and_then(|part| match &part.source {
        ast::KeyPartSource::Column(name) | ast::KeyPartSource::Prefix(name, _) => {
            Some(name.as_str())
        }
        ast::KeyPartSource::Function(_) | ast::KeyPartSource::Expression(_) => None,
    });
    index.name.as_deref().or(column)
}

/// Adds the declared indexes to a definition, to be built; their names. One that `IF NOT EXISTS` is
/// written of may be there by now, by others or by the same statement.
pub(in crate::session) fn define_all(
    table: &mut Table,
    declared: &[&ast::IndexDef],
    ctx: &EvalContext,
) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for index in declared {
        if note_if_there(table, index, ctx) {
            continue;
        }
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
