//! ALTER TABLE, CREATE INDEX and DROP INDEX of a temporary table: another definition takes its place
//! over the same rows, once new indexes have been built. Nobody else writes it meanwhile, so that
//! nothing of ALTER TABLE's online steps is needed; what its rows are afterwards is as there.

use std::sync::Arc;

use crate::catalog::{Column, Pledger, Table};
use crate::error::{Code, Error, Result};
use crate::exec::backfill::own;
use crate::exec::counters::Sequence;
use crate::exec::ddl::alter::{self, Part};
use crate::exec::ddl::check_identifier;
use crate::session::Session;
use crate::session::define::{added_by, define_all, renamed_by};
use crate::sql::ast::{AlterAction, IndexDef, TableName};

impl Session {
    /// `CREATE INDEX`.
    ///
    /// # Errors
    /// As [`Session::alter_temporary`].
    pub(in crate::session) async fn index_temporary(
        &mut self,
        table: &Arc<Table>,
        declared: &IndexDef,
    ) -> Result<()> {
        let action = AlterAction::AddIndex(Box::new(declared.clone()));
        self.alter_temporary(table, &[action]).await
    }

    /// Commits what is open, as in MySQL. When it fails the table is as it was.
    ///
    /// # Errors
    /// Those of the definition, and of the rows in it.
    pub(in crate::session) async fn alter_temporary(
        &mut self,
        table: &Arc<Table>,
        actions: &[AlterAction],
    ) -> Result<()> {
        if alter::key::asked(actions)?.is_some() {
            let text = "ALTER TABLE … PRIMARY KEY of a temporary table";
            return Err(Error::unsupported(text));
        }
        self.commit_open().await?;
        let mut new = self.altered_temporary(table, actions).await?;
        let catalog = Arc::clone(&self.shared.catalog);
        catalog.give_index_storage(table, &mut new).await?;
        let built = own::build(&self.shared.engine, &new, &self.cancel).await;
        if let Err(error) = built {
            catalog.drop_lost_indexes((&new, table)).await;
            return Err(error);
        }
        own::activate(&mut new);
        if table.counted().is_none() {
            // What another column was at that was counted once.
            self.shared.ids.counters.forget(&[table.id]);
        }
        self.keep_ids(&new);
        let new = catalog.replace_temporary(table, new).await?;
        self.temporary.take(&table.database, &table.name);
        self.temporary.add(new);
        Ok(())
    }

    /// The definition as it is to be, and whether the rows fit it.
    async fn altered_temporary(
        &self,
        table: &Arc<Table>,
        actions: &[AlterAction],
    ) -> Result<Table> {
        alter::refuse(actions)?;
        if alter::key::asked(actions)?.is_some() {
            return Err(Error::unsupported(
                "ALTER TABLE of the primary key of a temporary table",
            ));
        }
        let ctx = self.context(Arc::default());
        let mut new = Table::clone(table);
        let outcome = alter::apply(&mut new, actions, (Part::All, &ctx))?;
        outcome.notes.iter().for_each(|note| self.note(note));
        let added: Vec<&IndexDef> = actions.iter().filter_map(added_by).collect();
        define_all(&mut new, &added, &ctx)?;
        new.check_indexes_count()?;
        let is_new = alter::settle_ids(&mut new, table, (actions, &ctx))?;
        if let Some(to) = actions.iter().rev().find_map(renamed_by) {
            (new.database, new.name) = self.new_temporary_name(to, table)?;
        }
        let engine = &self.shared.engine;
        if let Some(error) = outcome.needs_empty
            && alter::scan::has_rows(engine, table).await?
        {
            return Err(error);
        }
        let pledger = Pledger::default();
        let looked_at = pledged(table, outcome.pledges, &pledger);
        alter::scan::check_rows(engine, &looked_at, (&self.cancel, &|_| {})).await?;
        if let Some((column_idx, first)) = new.counted().filter(|_| is_new) {
            let greatest = alter::scan::greatest(engine, &new, (column_idx, &self.cancel));
            let behind = greatest.await?.saturating_add(1);
            new.count_from(first.max(behind));
        }
        Ok(new)
    }

    /// The ids of a temporary table are counted, and its counter is for this run of the server.
    pub(super) fn keep_ids(&self, table: &Table) {
        if let Some(sequence) = Sequence::of(table) {
            self.shared.ids.counters.keep_in_memory(&sequence);
        }
    }

    /// A name that a temporary table is to have.
    fn new_temporary_name(&self, to: &TableName, table: &Table) -> Result<(String, String)> {
        let database = self.database_or_current(to.database.as_deref())?;
        check_identifier(&to.name, Code::WrongTableName)?;
        if !self.knows_database(&database) {
            let text = format!("Unknown database '{database}'");
            return Err(Error::new(Code::UnknownDatabase, text));
        }
        let is_own = database == table.database && to.name == table.name;
        if !is_own && self.temporary.find(&database, &to.name).is_some() {
            let text = format!("Table '{}' already exists", to.name);
            return Err(Error::new(Code::TableExists, text));
        }
        Ok((database, to.name.clone()))
    }
}

/// A table with what its columns are to be.
fn pledged(table: &Table, columns: Vec<(String, Column)>, pledger: &Pledger) -> Table {
    let mut looked_at = Table::clone(table);
    for (name, column) in columns {
        let idx = looked_at.column_idx(&name);
        if let Some(old) = idx.and_then(|idx| looked_at.columns.get_mut(idx)) {
            old.pledge = Some(pledger.pledge(column));
        }
    }
    looked_at
}
