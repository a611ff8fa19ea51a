//! Other names for tables: RENAME TABLE, and which name the RENAME of ALTER TABLE gives.

use super::alter::renamed_by;
use super::check_not_system;
use crate::error::{Code, Error, Result};
use crate::exec::ddl;
use crate::session::Session;
use crate::sql::ast::{self, AlterAction};

impl Session {
    /// `RENAME TABLE a TO b, …`.
    pub(in crate::session) async fn rename_tables(
        &mut self,
        rename: &ast::RenameTables,
    ) -> Result<()> {
        self.commit_open().await?;
        let mut names = Vec::with_capacity(rename.pairs.len());
        for (from, to) in &rename.pairs {
            let from = self.altered(from)?;
            // What is not there goes nowhere: whether that is there does not matter then.
            let to = if rename.if_exists {
                self.possible_name(to)?
            } else {
                self.new_name(to)?
            };
            names.push((from, to));
        }
        let catalog = &self.shared.catalog;
        let missing = catalog.rename_tables(&names, rename.if_exists).await?;
        for error in &missing {
            self.note(error);
        }
        Ok(())
    }

    /// The name that `RENAME` gives.
    pub(super) fn target_of(
        &self,
        name: &(String, String),
        actions: &[AlterAction],
    ) -> Result<Option<(String, String)>> {
        let Some(to) = actions.iter().rev().find_map(renamed_by) else {
            return Ok(None);
        };
        let target = self.new_name(to)?;
        if target == *name {
            return Ok(None);
        }
        if self.shared.catalog.current().has(&target.0, &target.1) {
            let text = format!("Table '{}' already exists", target.1);
            return Err(Error::new(Code::TableExists, text));
        }
        Ok(Some(target))
    }

    /// A name that a table is to have.
    fn new_name(&self, to: &ast::TableName) -> Result<(String, String)> {
        let (database, name) = self.possible_name(to)?;
        if !self.shared.catalog.current().has_database(&database) {
            let text = format!("Unknown database '{database}'");
            return Err(Error::new(Code::UnknownDatabase, text));
        }
        Ok((database, name))
    }

    /// A name that a table could have, if there were such a database.
    fn possible_name(&self, to: &ast::TableName) -> Result<(String, String)> {
        let database = self.database_or_current(to.database.as_deref())?;
        check_not_system(&database)?;
        ddl::check_identifier(&to.name, Code::WrongTableName)?;
        Ok((database, to.name.clone()))
    }
}
