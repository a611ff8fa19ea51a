//! ALTER TABLE, CREATE INDEX and DROP INDEX of a temporary table: another one takes its place, with its
//! rows. Nobody else writes it meanwhile, so that nothing of ALTER TABLE's online steps is needed.
//!
//! Not of a table with TTL or with columns that nobody declared: copying its rows by their columns
//! would lose when they end, or what they have besides.

use std::sync::Arc;

use crate::catalog::describe::quoted;
use crate::catalog::{Column, Table};
use crate::error::{Code, Error, Result};
use crate::exec::ddl::alter::{self, Part};
use crate::exec::ddl::check_identifier;
use crate::session::Session;
use crate::session::define::{added_by, define_all, renamed_by};
use crate::sql::ast::{AlterAction, IndexDef, TableName};
use crate::sql::parse;

/// What a table goes by while its rows are copied.
const BEFORE: &str = "#before_alter";

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
    /// Those of the definition, and of the rows in it; 1235 for a table whose rows cannot be copied.
    pub(in crate::session) async fn alter_temporary(
        &mut self,
        table: &Arc<Table>,
        actions: &[AlterAction],
    ) -> Result<()> {
        self.commit_open().await?;
        if table.takes_names() || table.expires() {
            let text =
                "ALTER TABLE or CREATE INDEX of a temporary table with TTL or undeclared columns";
            return Err(Error::unsupported(text));
        }
        let mut new = self.altered_temporary(table, actions).await?;
        // What is stored, read as the columns are to be.
        let mut old = Table::clone(&new);
        old.id = table.id;
        old.indexes.clear();
        table.database.clone_into(&mut old.database);
        BEFORE.clone_into(&mut old.name);
        new.forget_past();
        let name = (new.database.clone(), new.name.clone());
        let new = self.shared.catalog.create_temporary(new).await?;
        self.temporary.replace(table, Arc::clone(&new));
        let before = (old.database.clone(), old.name.clone());
        self.temporary.add(Arc::new(old));
        let copied = self.copy_rows(&before, &name).await;
        self.temporary.forget(&before.0, &before.1);
        if copied.is_ok() {
            self.temporary.dropped.push(Arc::clone(table));
        } else {
            self.temporary.replace(&new, Arc::clone(table));
            self.temporary.dropped.push(new);
        }
        self.sweep_temporary().await?;
        copied
    }

    /// The definition as it is to be, and whether the rows fit it.
    async fn altered_temporary(
        &self,
        table: &Arc<Table>,
        actions: &[AlterAction],
    ) -> Result<Table> {
        alter::refuse(actions)?;
        let ctx = self.context(Arc::default());
        let mut new = Table::clone(table);
        let outcome = alter::apply(&mut new, actions, (Part::All, &ctx))?;
        outcome.notes.iter().for_each(|note| self.note(note));
        let added: Vec<&IndexDef> = actions.iter().filter_map(added_by).collect();
        define_all(&mut new, &added, &ctx)?;
        new.check_indexes_count()?;
        alter::settle_ids(&mut new, table, (actions, &ctx))?;
        if let Some(to) = actions.iter().rev().find_map(renamed_by) {
            (new.database, new.name) = self.new_temporary_name(to, table)?;
        }
        let engine = &self.shared.engine;
        if let Some(error) = outcome.needs_empty
            && alter::scan::has_rows(engine, table).await?
        {
            return Err(error);
        }
        let pledged = pledged(table, outcome.pledges);
        alter::scan::check_rows(engine, &pledged, (&self.cancel, &|_| {})).await?;
        Ok(new)
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

    /// Copies all rows, and commits them. Ids stay what they are, also 0.
    async fn copy_rows(&mut self, from: &(String, String), to: &(String, String)) -> Result<()> {
        let name =
            |(database, name): &(String, String)| format!("{}.{}", quoted(database), quoted(name));
        let sql = format!(
            "INSERT INTO {} SELECT /*+ _l_allow_filtering_ */ * FROM {}",
            name(to),
            name(from)
        );
        let zero_is_new = !self.settings.mode.no_auto_value_on_zero;
        self.settings.mode.no_auto_value_on_zero = true;
        let copied = self.run_text(&sql).await;
        self.settings.mode.no_auto_value_on_zero = !zero_is_new;
        copied
    }

    /// Runs a statement on rows of the server's own, and commits it.
    async fn run_text(&mut self, sql: &str) -> Result<()> {
        let statement = parse::parse_first(sql.as_bytes(), self.settings.mode)?.statement;
        let compiled = self.compile(&statement, &[])?;
        Box::pin(self.run_compiled((&statement, compiled), Vec::new())).await?;
        self.commit_open().await
    }
}

/// A table with what its columns are to be.
fn pledged(table: &Table, pledges: Vec<(String, Column)>) -> Table {
    let mut looked_at = Table::clone(table);
    for (name, column) in pledges {
        let idx = looked_at.column_idx(&name);
        if let Some(old) = idx.and_then(|idx| looked_at.columns.get_mut(idx)) {
            old.pledge = Some(Box::new(column));
        }
    }
    looked_at
}
