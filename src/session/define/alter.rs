//! ALTER TABLE: which changes of the definition are published, in which order, and what is looked
//! at and built in between. Other names for tables are in `rename`.
//!
//! ```text
//!  pledge     announced, not stored: from now on writes fit the new columns, too
//!  look       at the rows that are there; the first that does not fit ends it all
//!  publish    columns, and the new indexes as BUILDING: one change, one commit
//!  build      new indexes, and those whose parts have changed
//!  publish    what drops something; how long rows and their versions stay
//!  build      indexes that have lost a column
//! ```
//! A crash before the first publishing leaves nothing; one behind it leaves the new columns, builds
//! that go on at the next start, and what was to be dropped. No failure leaves fewer versions of a row:
//! what is beyond their number is never seen again.

use std::sync::Arc;

use super::index::{Added, added_to, define_all};
use super::room;
use crate::catalog::{Column, Index, IndexId, IndexState, Pledger, Table};
use crate::error::{Code, Error, Result};
use crate::exec::backfill::{Job, OnFailure};
use crate::exec::counters::Sequence;
use crate::exec::ddl::alter;
use crate::exec::transaction::definition_changed;
use crate::session::Session;
use crate::sql::ast::{self, AlterAction, IndexMode};
use crate::sql::context::{EvalContext, WarningLevel};

/// Changes of the primary key that may end while one statement is planned.
const ATTEMPTS_MAX: u32 = 8;

/// A statement that was tried on a copy of the definition.
struct Plan<'a> {
    name: (String, String),
    actions: &'a [AlterAction],
    added: Vec<&'a ast::IndexDef>,
    /// The table as it was.
    old: Arc<Table>,
    /// Where it goes, if it does.
    target: Option<(String, String)>,
    is_changed: bool,
    /// What is published before indexes are built; what drops waits for new ones if it can.
    first: alter::Part,
    pledges: Vec<(String, Column)>,
    /// They stand as long as the plan.
    pledger: Pledger,
    /// Whether values may not fit.
    has_to_fit: bool,
    /// The table as it is to be and the position of the column, when one is counted from now on.
    counting: Option<(Table, usize)>,
    /// From where that is counted at least.
    count_from: u64,
}

impl Plan<'_> {
    /// Whether the second part has nothing to do.
    fn leaves_nothing(&self, published: &Published) -> bool {
        self.target.is_none()
            && published.targets.is_empty()
            && !alter::says_what_stays(self.actions)
    }

    /// Gives the table its name to be.
    fn rename(&self, table: &mut Table) {
        if let Some((database, name)) = &self.target {
            database.clone_into(&mut table.database);
            name.clone_into(&mut table.name);
        }
    }
}

/// The first part of a statement, as it was published.
struct Published {
    before: Table,
    table: Arc<Table>,
    /// Of the new indexes.
    names: Vec<String>,
    /// What is left to be dropped and renamed, if that waits.
    targets: alter::Targets,
}

impl Session {
    /// New indexes are built before anything is dropped, so that a build that fails leaves the table
    /// as it was; the other way round only where that would come to something else ([`room`]).
    pub(in crate::session) async fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<()> {
        if let Some(table) = self.named_temporary(&alter.table).map(Arc::clone) {
            return self.alter_temporary(&table, &alter.actions).await;
        }
        self.commit_open().await?;
        let name = self.altered(&alter.table)?;
        if alter.if_exists && self.note_if_missing(&name) {
            return Ok(());
        }
        alter::refuse(&alter.actions)?;
        if let Some(asked) = alter::key::asked(&alter.actions)? {
            return self.alter_key(&name, asked).await;
        }
        let (plan, published) = self.begin_change(name, &alter.actions).await?;
        if let Some(published) = &published {
            self.carry_out(&plan, published).await?;
            let (database, name) = plan.target.as_ref().unwrap_or(&plan.name);
            self.warn_of_lints_of((database, name), Some(&plan.old));
        }
        if alter.actions.contains(&AlterAction::Compact) {
            let (database, name) = plan.target.as_ref().unwrap_or(&plan.name);
            let table = self.table(Some(database), name)?;
            self.compact(&[table]).await?;
        }
        Ok(())
    }

    /// Plans, looks and publishes the first part, if there is anything to publish. Once more from the
    /// start where the table got another primary key, and with it another id, meanwhile.
    async fn begin_change<'a>(
        &mut self,
        name: (String, String),
        actions: &'a [AlterAction],
    ) -> Result<(Plan<'a>, Option<Published>)> {
        for _ in 0..ATTEMPTS_MAX {
            let mut plan = self.plan_of(name.clone(), actions).await?;
            match self.begin_plan(&mut plan).await {
                Err(error) if self.is_rekeyed(&plan, &error) => drop(self.warnings.take()),
                published => return Ok((plan, published?)),
            }
        }
        Err(definition_changed())
    }

    async fn begin_plan(&mut self, plan: &mut Plan<'_>) -> Result<Option<Published>> {
        self.look_at_rows(plan).await?;
        if !plan.is_changed && plan.added.is_empty() {
            return Ok(None);
        }
        self.publish(plan).await.map(Some)
    }

    /// Whether a plan failed because its name stands for a table of another id now.
    fn is_rekeyed(&self, plan: &Plan<'_>, error: &Error) -> bool {
        let is_about_it = matches!(
            error.code(),
            Code::TableDefinitionChanged | Code::TableMissing
        );
        let now = self.table(Some(&plan.name.0), &plan.name.1);
        is_about_it && now.is_ok_and(|now| now.id != plan.old.id)
    }

    /// Tries all actions on copies of the definition, to know in which order they can be done.
    async fn plan_of<'a>(
        &mut self,
        name: (String, String),
        actions: &'a [AlterAction],
    ) -> Result<Plan<'a>> {
        let old = self.table(Some(&name.0), &name.1)?;
        if actions.contains(&AlterAction::Keys) {
            let text = format!(
                "Table storage engine for '{}' doesn't have this option",
                name.1
            );
            self.note(&Error::new(Code::NoSuchOption, text));
        }
        if actions.contains(&AlterAction::OrderBy) {
            let text = format!(
                "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
                name.1
            );
            self.warnings
                .add(WarningLevel::Warning, Code::Unknown, || text);
        }
        let target = self.target_of(&name, actions)?;
        let mut changed = Table::clone(&old);
        let ctx = self.context(Arc::default());
        let mut outcome = alter::apply(&mut changed, actions, (alter::Part::All, &ctx))?;
        outcome.notes.iter().for_each(|note| self.note(note));
        let added = added_to(&changed, actions, &ctx);
        define_all(&mut changed, &added, &self.quiet())?;
        changed.check_indexes_count()?;
        let builds = has_new_index(&old, &changed);
        let has_to_fit = !outcome.pledges.is_empty();
        let counting = self.counted_anew((&old, &mut changed), actions)?;
        if let Some(column) = counting.and_then(|idx| changed.columns.get(idx)) {
            alter::pledge_ids(&mut outcome.pledges, &old, column);
        }
        if let Some(error) = outcome.needs_empty
            && alter::scan::has_rows(&self.shared.engine, &old).await?
        {
            return Err(error);
        }
        let has_room = room::left(&old, (actions, &added), &self.quiet()).is_some();
        Ok(Plan {
            name,
            actions,
            added,
            old,
            is_changed: outcome.is_changed || target.is_some(),
            target,
            first: alter::Part::first(actions, (has_room, builds)),
            pledges: outcome.pledges,
            pledger: Pledger::default(),
            has_to_fit,
            counting: counting.map(|idx| (changed, idx)),
            count_from: 0,
        })
    }

    /// The position of the column that is counted from now on, and was not before.
    fn counted_anew(
        &self,
        (old, changed): (&Table, &mut Table),
        actions: &[AlterAction],
    ) -> Result<Option<usize>> {
        let ctx = self.context(Arc::default());
        let is_new = alter::settle_ids(changed, old, (actions, &ctx))?;
        let counted = changed.counted().filter(|_| is_new);
        Ok(counted.map(|(column_idx, _)| column_idx))
    }

    /// A context whose warnings nobody sees.
    fn quiet(&self) -> EvalContext {
        EvalContext {
            warnings: Arc::default(),
            ..self.context(Arc::default())
        }
    }

    /// Looks whether the values that are there fit the columns as they are to be, and which ids there
    /// are. Both hold for what others write from the announcement on.
    async fn look_at_rows(&self, plan: &mut Plan<'_>) -> Result<()> {
        if plan.pledges.is_empty() {
            return Ok(());
        }
        let catalog = &self.shared.catalog;
        let counters = &self.shared.ids.counters;
        let name = (plan.name.0.as_str(), plan.name.1.as_str());
        let pledged = catalog
            .announce(name, |table| {
                if table.id != plan.old.id {
                    return Err(definition_changed());
                }
                if table.is_pledged() {
                    let text = format!(
                        "Lock wait timeout exceeded; try restarting transaction: another ALTER \
                         TABLE of '{}' looks at its rows",
                        table.name
                    );
                    return Err(Error::new(Code::LockWaitTimeout, text));
                }
                if plan.counting.is_some() && table.counted().is_none() {
                    // What another column was at that was counted once. Nobody counts now.
                    counters.forget(&[table.id]);
                }
                for (name, new) in &plan.pledges {
                    let idx = table.column_idx(name).ok_or_else(definition_changed)?;
                    let column = table.columns.get_mut(idx);
                    let pledge = plan.pledger.pledge(new.clone());
                    column.ok_or_else(definition_changed)?.pledge = Some(pledge);
                }
                Ok(())
            })
            .await?;
        let processes = self.shared.processes();
        let told = |rows: u64| {
            let state = format!("checking rows of {}: {rows} rows", plan.name.1);
            processes.set_state(self.client.connection_id, state);
        };
        let engine = &self.shared.engine;
        if plan.has_to_fit {
            alter::scan::check_rows(engine, &pledged, (&self.cancel, &told)).await?;
        }
        if let Some((changed, column_idx)) = &plan.counting {
            if let Some(sequence) = Sequence::pledged(&pledged) {
                counters.write_down(engine.as_ref(), &sequence).await?;
            }
            // Read with the new definition, which reads what is there.
            let greatest = alter::scan::greatest(engine, changed, (*column_idx, &self.cancel));
            plan.count_from = greatest.await?.saturating_add(1);
        }
        Ok(())
    }

    /// Builds what the first part has published, and publishes the second.
    async fn carry_out(&mut self, plan: &Plan<'_>, published: &Published) -> Result<()> {
        let Published { table, names, .. } = published;
        let builds = to_build(&published.before, table);
        let is_added = |index: &Index| names.contains(&index.name);
        let ids = |added: bool| {
            let builds = builds.iter().filter(|index| is_added(index) == added);
            builds.map(|index| index.id).collect::<Vec<IndexId>>()
        };
        let (added, again) = (ids(true), ids(false));
        self.build_all(plan, (published, &added, &again)).await?;
        if !plan.first.leaves_some() {
            return Ok(());
        }
        let completed = self.publish_rest(plan, published).await;
        if completed.is_err() && plan.first == alter::Part::Before {
            self.undo(plan, (published, &added)).await?;
        }
        self.build_rest(completed?).await
    }

    /// Publishes the first part of the statement, and with it the new indexes. The table may have
    /// another name by now.
    async fn publish(&self, plan: &Plan<'_>) -> Result<Published> {
        let ctx = self.context(Arc::default());
        let quiet = self.quiet();
        let mut names = Vec::new();
        let mut targets = alter::Targets::default();
        let mut before = Table::clone(&plan.old);
        let changed = self.shared.catalog.change_table_of(plan.old.id, |table| {
            check_pledges(table, plan)?;
            plan.pledger.withdraw(table);
            before.clone_from(table);
            let outcome = alter::apply(table, plan.actions, (plan.first, &quiet))?;
            check_looked_at(&outcome, plan)?;
            names = define_all(table, &plan.added, &ctx)?;
            let is_new = alter::settle_ids(table, &before, (plan.actions, &quiet))?;
            if let Some((_, first)) = table.counted().filter(|_| is_new) {
                table.count_from(first.max(plan.count_from));
            }
            if let Some(sequence) = Sequence::of(&before).filter(|_| table.counted().is_none()) {
                // If this is taken back it counts on, though its counter may be forgotten by then.
                before.count_from(self.shared.ids.counters.next(&sequence));
            }
            if plan.first.has_drops() {
                plan.rename(table);
            } else {
                // Others may have changed the table since it was planned.
                let left = room::left(&before, (plan.actions, &plan.added), &quiet);
                targets = left.ok_or_else(definition_changed)?;
            }
            Ok(())
        });
        let table = changed.await?.ok_or_else(definition_changed)?;
        Ok(Published {
            before,
            table,
            names,
            targets,
        })
    }

    /// Publishes what is left; the table before and after it.
    async fn publish_rest(
        &self,
        plan: &Plan<'_>,
        published: &Published,
    ) -> Result<(Table, Arc<Table>)> {
        let quiet = self.quiet();
        let mut before = Table::clone(&published.table);
        let changed = self.shared.catalog.change_table_of(plan.old.id, |table| {
            before.clone_from(table);
            alter::complete(table, plan.actions, (&published.targets, &quiet))?;
            // Others may have dropped other keys of a column that counts.
            alter::settle_ids(table, &before, (plan.actions, &quiet))?;
            if !plan.first.has_drops() {
                plan.rename(table);
            }
            Ok(())
        });
        match changed.await? {
            Some(table) => Ok((before, table)),
            // Others have emptied the table since, and it has another id by now, or dropped it.
            None if plan.leaves_nothing(published) => Ok((before, Arc::clone(&published.table))),
            None => Err(definition_changed()),
        }
    }

    /// Builds indexes again that have lost a column.
    async fn build_rest(&self, (before, table): (Table, Arc<Table>)) -> Result<()> {
        let name = (table.database.clone(), table.name.clone());
        let builds = to_build(&before, &table).into_iter();
        let ids = builds.map(|index| index.id).collect();
        let jobs = self.start(&name, &Added { table, ids }, OnFailure::Disable);
        self.await_builds(&jobs).await
    }

    /// Builds new indexes, and those to be built again, and waits for them unless the statement is
    /// `ASYNC`. When a new one fails, the others and new columns are taken back as far as they can be.
    async fn build_all(
        &mut self,
        plan: &Plan<'_>,
        (published, added, again): (&Published, &[IndexId], &[IndexId]),
    ) -> Result<()> {
        let table = &published.table;
        if added.is_empty() && again.is_empty() {
            return Ok(());
        }
        let name = (table.database.clone(), table.name.clone());
        let start = |ids: &[IndexId], on_failure| {
            let added = Added {
                table: Arc::clone(table),
                ids: ids.to_vec(),
            };
            self.start(&name, &added, on_failure)
        };
        let mut jobs: Vec<Arc<Job>> = start(added, OnFailure::Drop);
        jobs.extend(start(again, OnFailure::Disable));
        let mode = plan.added.iter().find_map(|index| index.mode);
        if mode == Some(IndexMode::Async) && plan.first != alter::Part::Before {
            return Ok(());
        }
        let ours = Added {
            table: Arc::clone(table),
            ids: [added, again].concat(),
        };
        let built = self.await_indexes((&name, &ours), &jobs).await;
        if built.is_err() && !added.is_empty() {
            self.undo(plan, (published, added)).await?;
        }
        built
    }

    /// Takes back what a failed statement has published, unless the table is gone.
    async fn undo(
        &self,
        plan: &Plan<'_>,
        (published, added): (&Published, &[IndexId]),
    ) -> Result<()> {
        if self.cancel.reason() == Some(crate::exec::cancel::Stop::ShuttingDown) {
            return Ok(());
        }
        let Published { before, table, .. } = published;
        let undone = self.shared.catalog.change_table_of(table.id, |now| {
            now.indexes.retain(|index| !added.contains(&index.id));
            if plan.first == alter::Part::Before {
                alter::take_back(now, (before, table))?;
            }
            Ok(())
        });
        undone.await.map(drop)
    }
}

/// The index that an action adds.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others add none")]
pub(in crate::session) fn added_by(action: &AlterAction) -> Option<&ast::IndexDef> {
    match action {
        AlterAction::AddIndex(index) => Some(index.as_ref()),
        _ => None,
    }
}

/// The name that an action gives.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others give none")]
pub(in crate::session) fn renamed_by(action: &AlterAction) -> Option<&ast::TableName> {
    match action {
        AlterAction::Rename(to) => Some(to),
        _ => None,
    }
}

/// The indexes that a change has left to be built.
fn to_build<'t>(before: &Table, table: &'t Table) -> Vec<&'t Index> {
    let was_there = |id: IndexId| before.indexes.iter().any(|old| old.id == id);
    let is_new = |index: &&Index| index.state == IndexState::Building && !was_there(index.id);
    table.indexes.iter().filter(is_new).collect()
}

/// Whether a definition has an index that is to be built.
fn has_new_index(old: &Table, changed: &Table) -> bool {
    let is_old = |index: &Index| {
        let mut old = old.indexes.iter();
        old.any(|old| (old.id, old.state) == (index.id, index.state))
    };
    !changed.indexes.iter().all(is_old)
}

/// Others may have changed the columns while the rows were looked at.
fn check_pledges(table: &Table, plan: &Plan<'_>) -> Result<()> {
    for (name, _) in &plan.pledges {
        let column = table
            .column_idx(name)
            .and_then(|idx| table.columns.get(idx));
        if column.is_none_or(|column| !plan.pledger.has_pledged(column)) {
            return Err(definition_changed());
        }
    }
    Ok(())
}

/// Others may have made a column wider since the plan, and put values there that nobody has looked at.
fn check_looked_at(outcome: &alter::Outcome, plan: &Plan<'_>) -> Result<()> {
    let is_planned = |name: &String| plan.pledges.iter().any(|(planned, _)| planned == name);
    let mut columns = outcome.pledges.iter();
    if columns.all(|(name, _)| is_planned(name)) {
        return Ok(());
    }
    Err(definition_changed())
}
