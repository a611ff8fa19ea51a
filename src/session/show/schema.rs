//! SHOW of databases, tables, columns and their definitions.

use std::sync::Arc;

use super::forms;
use crate::catalog::{Table, describe};
use crate::error::{Code, Error, Result};
use crate::exec::counters::Sequence;
use crate::session::Session;
use crate::session::compile::text;
use crate::session::listing::{LONG_TEXT, Listing, TEXT};
use crate::session::system::{self, Scene};
use crate::sql::ast::{ShowFilter, TableName};
use crate::sql::context::SessionFacts;
use crate::sql::expr::VariableScope;

impl Session {
    pub(super) fn show_databases(&mut self, filter: Option<&ShowFilter>) -> Result<Listing> {
        let mut listing = self.listed(&forms::DATABASES, &[])?;
        if let Some(ShowFilter::Like(pattern)) = filter {
            listing.rename_first(&format!("Database ({pattern})"));
        }
        self.filtered(listing, filter)
    }

    pub(super) fn show_tables(
        &mut self,
        full: bool,
        database: Option<&str>,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        let database = self.shown_database(database)?;
        let mut listing = self.listed(&forms::TABLES, &[("TABLE_SCHEMA", &database)])?;
        let mut name = format!("Tables_in_{database}");
        if let Some(ShowFilter::Like(pattern)) = filter {
            name = format!("{name} ({pattern})");
        }
        listing.rename_first(&name);
        // A condition may be on the type, shown or not.
        let mut listing = self.filtered_as_in(&database, listing, filter)?;
        if !full {
            listing.drop_last_column();
        }
        Ok(listing)
    }

    pub(super) fn show_table_status(
        &mut self,
        database: Option<&str>,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        let database = self.shown_database(database)?;
        let listing = self.listed(&forms::TABLE_STATUS, &[("TABLE_SCHEMA", &database)])?;
        self.filtered_as_in(&database, listing, filter)
    }

    /// Filters names of tables, which have no case in `information_schema` alone.
    fn filtered_as_in(
        &mut self,
        database: &str,
        listing: Listing,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        if database == system::INFORMATION_SCHEMA {
            self.filtered_in_any_case(listing, filter)
        } else {
            self.filtered(listing, filter)
        }
    }

    /// `SHOW [FULL] COLUMNS`, `DESCRIBE`.
    pub(super) fn show_columns(
        &mut self,
        table: &TableName,
        (full, filter): (bool, Option<&ShowFilter>),
    ) -> Result<Listing> {
        let mut unlisted = None;
        let (database, name) = if let Some(view) = self.named_view(table) {
            self.view_columns(&view)?;
            (view.database.clone(), view.name.clone())
        } else {
            let shown = self.shown_table(table.database.as_deref(), &table.name)?;
            let is_own = self.named_temporary(table).is_some();
            let named = (shown.database.clone(), shown.name.clone());
            // Of the databases of the system not all are listed.
            unlisted = Some(shown).filter(|_| is_own || system::canonical(&named.0).is_some());
            named
        };
        let form = if full {
            forms::FULL_COLUMNS
        } else {
            forms::COLUMNS
        };
        let only = [("TABLE_SCHEMA", &*database), ("TABLE_NAME", &*name)];
        let scene = Scene::new(&self.shared, &self.state).with_only(unlisted.as_ref());
        let listing = forms::listed_in(&scene, (&form, &only))?;
        self.filtered_in_any_case(listing, filter)
    }

    /// `SHOW CREATE TABLE`, of a view too.
    pub(super) fn show_create_table(&mut self, name: &TableName) -> Result<Listing> {
        if let Some(view) = self.named_view(name) {
            return self.create_view_listing(&view);
        }
        let is_temporary = self.named_temporary(name).is_some();
        let table = self.shown_table(name.database.as_deref(), &name.name)?;
        let modes = self
            .state
            .system_variable(VariableScope::Session, "sql_mode")?;
        let modes = modes.to_text();
        let has_mode = |mode| modes.split(',').any(|own| own == mode);
        let counters = &self.shared.ids.counters;
        let telling = describe::Telling {
            next_id: Sequence::of(&table).map_or(1, |sequence| counters.next(&sequence)),
            omits_table_options: has_mode("NO_TABLE_OPTIONS"),
            omits_column_options: has_mode("NO_FIELD_OPTIONS"),
            zone: &self.settings.zone,
        };
        let mut definition = describe::create_table_telling(&table, telling);
        if is_temporary {
            definition = definition.replacen("CREATE TABLE", "CREATE TEMPORARY TABLE", 1);
        }
        let mut listing = Listing::new(&[("Table", TEXT), ("Create Table", LONG_TEXT)]);
        listing.push(vec![text(Some(table.name.clone())), text(Some(definition))]);
        Ok(listing)
    }

    /// The given database, or the current one.
    ///
    /// # Errors
    /// 1046, 1049.
    fn shown_database(&self, database: Option<&str>) -> Result<String> {
        let database = self.database_or_current(database)?;
        if let Some(name) = system::canonical(&database) {
            return Ok(name.to_owned());
        }
        if !self.knows_database(&database) {
            let text = format!("Unknown database '{database}'");
            return Err(Error::new(Code::UnknownDatabase, text));
        }
        Ok(database)
    }

    /// A table, stored or of the system.
    ///
    /// # Errors
    /// 1046, 1049, 1109, 1146.
    pub(in crate::session) fn shown_table(
        &self,
        database: Option<&str>,
        name: &str,
    ) -> Result<Arc<Table>> {
        let database = self.database_or_current(database)?;
        if let Some(table) = self.temporary.find(&database, name) {
            return Ok(Arc::clone(table));
        }
        match system::canonical(&database) {
            Some(database) => system::described(database, name),
            None => self.table(Some(&database), name),
        }
    }
}

/// `SHOW CREATE DATABASE`.
pub(super) fn create_database(name: &str, if_not_exists: bool) -> Listing {
    let mut listing = Listing::new(&[("Database", TEXT), ("Create Database", LONG_TEXT)]);
    let guard = if if_not_exists {
        "/*!32312 IF NOT EXISTS*/ "
    } else {
        ""
    };
    let definition = format!(
        "CREATE DATABASE {guard}{} /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */",
        describe::quoted(name)
    );
    listing.push(vec![text(Some(name)), text(Some(definition))]);
    listing
}
