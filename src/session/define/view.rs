//! CREATE VIEW, ALTER VIEW, DROP VIEW.
//!
//! What is kept is the query's text as the server spells it. It is read back and bound at once, and
//! refused should it not give the same columns: a view that is kept can be read.

use std::sync::Arc;

use super::check_not_system;
use crate::catalog::{View, ViewAlgorithm};
use crate::error::{Code, Error, Result};
use crate::exec::ddl;
use crate::session::Session;
use crate::sql::ast::{CreateView, Definer, DropView, text};
use crate::sql::bind::{self, Names, Trace};
use crate::sql::context::WarningLevel;

impl Session {
    pub(in crate::session) async fn create_view(&mut self, create: &CreateView) -> Result<()> {
        self.commit_open().await?;
        let name = &create.view.name;
        let database = self.database_or_current(create.view.database.as_deref())?;
        check_not_system(&database)?;
        ddl::check_identifier(name, Code::WrongTableName)?;
        let replaces = create.or_replace || create.alter;
        let current = self.shared.catalog.current();
        if replaces && current.table(&database, name).is_ok() {
            return Err(not_view(&database, name));
        }
        if create.alter && current.view(&database, name).is_none() {
            // Says that there is none.
            current.table(&database, name)?;
        }
        if !replaces && current.has(&database, name) {
            return self.view_exists(create);
        }
        let view = self.view_of(create, &database)?;
        if self.shared.catalog.create_view(view, replaces).await? {
            return Ok(());
        }
        self.view_exists(create)
    }

    /// Error 1050, or a note.
    fn view_exists(&self, create: &CreateView) -> Result<()> {
        let text = format!("Table '{}' already exists", create.view.name);
        let error = Error::new(Code::TableExists, text);
        if create.if_not_exists {
            self.note(&error);
            return Ok(());
        }
        Err(error)
    }

    fn view_of(&self, create: &CreateView, database: &str) -> Result<View> {
        let name = &create.view.name;
        if create.select.into.is_some() {
            let text = "View's SELECT contains a 'INTO' clause";
            return Err(Error::new(Code::ViewSelectInto, text));
        }
        if create.checks {
            return Err(Error::unsupported("WITH CHECK OPTION"));
        }
        let trace = Trace::default();
        let bound = self.bound(&[], |names| {
            let names = &Names {
                definitions: names
                    .definitions
                    .inside_views()
                    .unwrap_or(names.definitions),
                trace: Some(&trace),
                ..*names
            };
            bind::query(&create.select, names)
        })?;
        if trace.has_view(database, name) {
            // A view does not see itself, not even the definition that it is to replace.
            let text = format!("Table '{database}.{name}' doesn't exist");
            return Err(Error::new(Code::TableMissing, text));
        }
        let query = text::query(&create.select, &trace);
        if query.has_variable {
            let text = "View's SELECT contains a variable or parameter";
            return Err(Error::new(Code::ViewSelectVariable, text));
        }
        let view = View {
            database: database.to_owned(),
            name: name.clone(),
            columns: create.columns.clone(),
            algorithm: self.algorithm(create),
            definer: self.definer(create),
            by_invoker: self.by_invoker(create),
            query: query.text,
        };
        for column in &create.columns {
            ddl::check_identifier(column, Code::WrongFieldSpecifier)?;
        }
        let columns = self.bound(&[], |names| bind::columns_of_view(&view, names))?;
        let types = columns.iter().map(|column| &column.ty);
        if !types.eq(bound.columns().into_iter().map(|column| &column.ty)) {
            return Err(Error::internal(format!(
                "the query of a view does not read back: {}",
                view.query
            )));
        }
        Ok(view)
    }

    /// The view that an ALTER is about: what is not said stays as it is.
    fn view_altered_by(&self, create: &CreateView) -> Option<Arc<View>> {
        let view = create.alter.then(|| self.named_view(&create.view));
        view.flatten()
    }

    /// In whose name it reads.
    pub(in crate::session) fn definer(&self, create: &CreateView) -> (String, String) {
        let kept = match &create.definer {
            Definer::Account(user, host) => return (user.clone(), host.clone()),
            Definer::CurrentUser => None,
            Definer::Unsaid => self.view_altered_by(create),
        };
        let account = &self.identity.account;
        let current_user = || (account.user.clone(), account.host.clone());
        kept.map_or_else(current_user, |view| view.definer.clone())
    }

    fn by_invoker(&self, create: &CreateView) -> bool {
        let kept = || {
            self.view_altered_by(create)
                .is_some_and(|view| view.by_invoker)
        };
        create.by_invoker.unwrap_or_else(kept)
    }

    /// The algorithm; a view that cannot be merged is told so, and is not to be.
    fn algorithm(&self, create: &CreateView) -> ViewAlgorithm {
        let kept = || self.view_altered_by(create).map(|view| view.algorithm);
        let algorithm = create.algorithm.or_else(kept);
        let algorithm = algorithm.unwrap_or(ViewAlgorithm::Undefined);
        if algorithm == ViewAlgorithm::Merge && !bind::may_merge(&create.select) {
            let text = "View merge algorithm can't be used here for now (assumed undefined \
                        algorithm)";
            self.warnings
                .add(WarningLevel::Warning, Code::ViewNotMerged, || {
                    text.to_owned()
                });
            return ViewAlgorithm::Undefined;
        }
        algorithm
    }

    pub(in crate::session) async fn drop_views(&mut self, drop: &DropView) -> Result<()> {
        self.commit_open().await?;
        let mut names = Vec::new();
        for view in &drop.views {
            let database = self.database_or_current(view.database.as_deref())?;
            check_not_system(&database)?;
            let is_there = self.shared.catalog.current().has(&database, &view.name);
            if !is_there && drop.if_exists {
                let text = format!("Unknown table '{database}.{}'", view.name);
                self.note(&Error::new(Code::UnknownTable, text));
                continue;
            }
            let name = (database, view.name.clone());
            if names.contains(&name) {
                let text = format!("Not unique table/alias: '{}'", view.name);
                return Err(Error::new(Code::NonUniqueTable, text));
            }
            names.push(name);
        }
        self.shared.catalog.drop_views(&names).await
    }
}

/// Error 1347.
pub(in crate::session) fn not_view(database: &str, name: &str) -> Error {
    let text = format!("'{database}.{name}' is not VIEW");
    Error::new(Code::WrongObject, text)
}
