//! DDL. Each statement commits the open transaction first, as in MySQL.

mod advise;
mod alter;
mod index;
mod key;
mod rename;
mod room;
mod table_query;
#[cfg(test)]
mod tests;
mod trash;
mod view;

use std::sync::Arc;

use super::{Done, Reply, Session, system};
use crate::catalog::store::no_table;
use crate::catalog::{IndexState, Table};
use crate::error::{Code, Error, Result};
use crate::exec::ddl;
use crate::sql::ast;
use crate::sql::context::{SessionFacts, WarningLevel};

pub(super) use alter::{added_by, renamed_by};
pub(super) use index::define_all;
pub(super) use table_query::stored;
pub(super) use view::not_view;

impl Session {
    pub(super) async fn create_database(&mut self, create: &ast::CreateDatabase) -> Result<Reply> {
        self.commit_open().await?;
        if !is_ordinary_system(&create.name) {
            check_not_system(&create.name)?;
        }
        ddl::check_identifier(&create.name, Code::WrongDatabaseName)?;
        let options = &create.options;
        let ctx = self.context(Arc::default());
        ddl::check_charset(
            options.charset.as_deref(),
            options.collation.as_deref(),
            &ctx,
        )?;
        let created = if is_ordinary_system(&create.name) {
            let text = format!("Can't create database '{}'; database exists", create.name);
            Err(Error::new(Code::DbCreateExists, text))
        } else {
            self.shared.catalog.create_database(&create.name).await
        };
        match created {
            Err(error) if error.code() == Code::DbCreateExists && create.if_not_exists => {
                self.note(&error);
            }
            other => other?,
        }
        Ok(self.changed(1))
    }

    pub(super) async fn drop_database(&mut self, name: &str, if_exists: bool) -> Result<Reply> {
        self.commit_open().await?;
        check_not_system(name)?;
        let fate = self.shared.fate();
        let dropped = match self.shared.catalog.drop_database(name, fate).await {
            Err(error) if error.code() == Code::DbDropMissing && if_exists => {
                self.note(&error);
                0
            }
            other => other?,
        };
        if self.state.database().as_deref() == Some(name) {
            self.state.set_database(None);
            self.track_schema();
        }
        Ok(self.changed(u64::try_from(dropped).unwrap_or(u64::MAX)))
    }

    fn changed(&mut self, affected_rows: u64) -> Reply {
        self.state.wrote(affected_rows, 0);
        let warnings_count = self.warnings.count();
        self.state.set_warnings_count(warnings_count);
        Reply::Done(Done {
            affected_rows,
            warnings_count,
            ..Done::default()
        })
    }

    /// Turns an error into a note: `IF EXISTS`, `IF NOT EXISTS`.
    pub(super) fn note(&self, error: &Error) {
        let text = error.message().to_owned();
        self.warnings.add(WarningLevel::Note, error.code(), || text);
    }

    /// Whether no table or view has the name: that is noted then, for `IF EXISTS`.
    fn note_if_missing(&self, (database, name): &(String, String)) -> bool {
        let is_missing = !self.shared.catalog.current().has(database, name);
        if is_missing {
            self.note(&no_table(database, name));
        }
        is_missing
    }

    /// Whether the table was created: it was not if it is there, and `IF NOT EXISTS` is written.
    pub(super) async fn create_table(&mut self, create: &ast::CreateTable) -> Result<bool> {
        if create.temporary {
            return self.create_temporary(create).await;
        }
        let Some(table) = self.defined(create).await? else {
            return Ok(false);
        };
        let database = table.database.clone();
        if self.shared.catalog.create_table(table).await? {
            self.warn_of_lints_of((&database, &create.table.name), None);
            return Ok(true);
        }
        self.note_there(create, &exists(create)).map(|()| false)
    }

    /// The table that is to be made; `None` where it is there, and `IF NOT EXISTS` is written.
    async fn defined(&mut self, create: &ast::CreateTable) -> Result<Option<Table>> {
        self.commit_open().await?;
        let database = self.database_or_current(create.table.database.as_deref())?;
        check_not_system(&database)?;
        let current = self.shared.catalog.current();
        if create.if_not_exists && current.has(&database, &create.table.name) {
            self.note(&exists(create));
            return Ok(None);
        }
        self.new_definition(create, &database).map(Some)
    }

    /// What it means that there is a table of that name: nothing but a note, where `IF NOT EXISTS` is written.
    fn note_there(&self, create: &ast::CreateTable, error: &Error) -> Result<()> {
        if create.if_not_exists && error.code() == Code::TableExists {
            self.note(error);
            return Ok(());
        }
        Err(error.clone())
    }

    pub(super) fn new_definition(
        &mut self,
        create: &ast::CreateTable,
        database: &str,
    ) -> Result<Table> {
        let ctx = self.context(Arc::default());
        let ast::TableSource::Like(model) = &create.source else {
            return ddl::define(create, database, &ctx);
        };
        ddl::check_identifier(&create.table.name, Code::WrongTableName)?;
        let mut table = Table::clone(self.named_table(model)?.as_ref());
        table.forget_past();
        // Without rows every index is whole.
        for index in &mut table.indexes {
            if index.state == IndexState::Disabled {
                index.state = IndexState::Active;
            }
        }
        database.clone_into(&mut table.database);
        table.name.clone_from(&create.table.name);
        table.count_from(1);
        Ok(table)
    }

    pub(super) async fn drop_tables(&mut self, drop: &ast::DropTable) -> Result<()> {
        if drop.temporary {
            return self.drop_temporary(drop).await;
        }
        self.commit_open().await?;
        let (mut names, mut temporary) = (Vec::new(), Vec::new());
        for table in &drop.tables {
            let database = self.database_or_current(table.database.as_deref())?;
            if self.temporary.find(&database, &table.name).is_some() {
                temporary.push((database, table.name.clone()));
                continue;
            }
            check_not_system(&database)?;
            let is_there = self.table(Some(&database), &table.name).is_ok();
            if !is_there && drop.if_exists {
                let text = format!("Unknown table '{database}.{}'", table.name);
                self.note(&Error::new(Code::UnknownTable, text));
                continue;
            }
            let name = (database, table.name.clone());
            if names.contains(&name) {
                let text = format!("Not unique table/alias: '{}'", table.name);
                return Err(Error::new(Code::NonUniqueTable, text));
            }
            names.push(name);
        }
        if !names.is_empty() || temporary.is_empty() {
            let fate = self.shared.fate();
            self.shared.catalog.drop_tables(&names, fate).await?;
        }
        let counters = &self.shared.ids.counters;
        counters.sweep(self.shared.engine.as_ref());
        self.remove_temporary(&temporary).await
    }

    pub(super) async fn truncate(&mut self, table: &ast::TableName) -> Result<()> {
        self.commit_open().await?;
        if let Some(table) = self.named_temporary(table).map(Arc::clone) {
            return self.truncate_temporary(&table).await;
        }
        let database = self.database_or_current(table.database.as_deref())?;
        if system::is_of_digests(&database, &table.name) {
            self.shared.monitor.digests.reset();
            return Ok(());
        }
        check_not_system(&database)?;
        self.shared.catalog.truncate(&database, &table.name).await?;
        // The ids of what was in it were counted by its old storage.
        let counters = &self.shared.ids.counters;
        counters.sweep(self.shared.engine.as_ref());
        Ok(())
    }
}

fn exists(create: &ast::CreateTable) -> Error {
    let text = format!("Table '{}' already exists", create.table.name);
    Error::new(Code::TableExists, text)
}

/// Whether it is a database of the system that MySQL takes for one like others: creating it tells
/// that it exists, where the other two deny access.
fn is_ordinary_system(database: &str) -> bool {
    ["mysql", "sys"].contains(&database)
}

fn check_not_system(database: &str) -> Result<()> {
    if system::DATABASES
        .iter()
        .any(|system| system.eq_ignore_ascii_case(database))
    {
        let text = format!("Access denied for user to database '{database}'");
        return Err(Error::new(Code::DbAccessDenied, text));
    }
    Ok(())
}
