//! What is told of views: SHOW CREATE VIEW, their columns.

use std::cell::Cell;
use std::sync::Arc;

use crate::catalog::View;
use crate::catalog::describe::quoted;
use crate::error::Result;
use crate::session::Session;
use crate::session::compile::text;
use crate::session::define::not_view;
use crate::session::listing::{LONG_TEXT, Listing, TEXT};
use crate::session::system::Scene;
use crate::sql::ast::text::{self as spelled, Spelling};
use crate::sql::ast::{ColumnName, TableName};
use crate::sql::bind;
use crate::sql::context::SessionFacts;
use crate::types::{ResultColumn, Value};

impl Session {
    /// The view of that name, if it is one.
    pub(in crate::session) fn named_view(&self, name: &TableName) -> Option<Arc<View>> {
        let database = self.database_or_current(name.database.as_deref()).ok()?;
        if self.temporary.find(&database, &name.name).is_some() {
            return None;
        }
        let current = self.shared.catalog.current();
        current.view(&database, &name.name).map(Arc::clone)
    }

    /// The columns of a view, as statements that name it find them.
    ///
    /// # Errors
    /// 1356 when what the view names is not there any more.
    pub(in crate::session) fn view_columns(&self, view: &View) -> Result<Vec<ResultColumn>> {
        Scene::new(&self.shared, &self.state).view_columns(view)
    }

    /// `SHOW CREATE VIEW`.
    pub(super) fn show_create_view(&self, name: &TableName) -> Result<Listing> {
        let Some(view) = self.named_view(name) else {
            let table = self.named_table(name)?;
            return Err(not_view(&table.database, &table.name));
        };
        self.create_view_listing(&view)
    }

    pub(super) fn create_view_listing(&self, view: &View) -> Result<Listing> {
        let mut listing = Listing::new(&[
            ("View", TEXT),
            ("Create View", LONG_TEXT),
            ("character_set_client", TEXT),
            ("collation_connection", TEXT),
        ]);
        let is_current = self.state.database().as_deref() == Some(&view.database);
        listing.push(vec![
            text(Some(view.name.clone())),
            text(Some(definition(view, is_current)?)),
            Value::text("utf8mb4"),
            Value::text("utf8mb4_bin"),
        ]);
        Ok(listing)
    }
}

/// The statement that makes the view again. Its own database is left out when it is the current one
/// and all its tables are there, as in MySQL.
fn definition(view: &View, is_current: bool) -> Result<String> {
    let select = bind::query_of(view)?;
    let within = Within {
        database: &view.database,
        is_left: Cell::new(false),
    };
    let short = spelled::query(&select, &within).text;
    let query = if is_current && !within.is_left.get() {
        &short
    } else {
        &view.query
    };
    let database = if is_current {
        String::new()
    } else {
        format!("{}.", quoted(&view.database))
    };
    let columns: Vec<String> = view.columns.iter().map(|name| quoted(name)).collect();
    let columns = if columns.is_empty() {
        String::new()
    } else {
        format!(" ({})", columns.join(","))
    };
    let security = if view.by_invoker {
        "INVOKER"
    } else {
        "DEFINER"
    };
    let (user, host) = &view.definer;
    Ok(format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {security} VIEW {database}{}{columns} AS \
         {query}",
        view.algorithm.name(),
        quoted(user),
        quoted(host),
        quoted(&view.name)
    ))
}

/// Leaves one database out of names.
struct Within<'a> {
    database: &'a str,
    /// Whether another one was named.
    is_left: Cell<bool>,
}

impl Within<'_> {
    fn without(&self, database: Option<&String>) -> Option<String> {
        let other = database.filter(|database| *database != self.database);
        self.is_left.set(self.is_left.get() || other.is_some());
        other.cloned()
    }
}

impl Spelling for Within<'_> {
    fn column(&self, name: &ColumnName) -> ColumnName {
        ColumnName {
            database: self.without(name.database.as_ref()),
            ..name.clone()
        }
    }

    fn table(&self, name: &TableName) -> TableName {
        TableName {
            database: self.without(name.database.as_ref()),
            name: name.name.clone(),
        }
    }
}
