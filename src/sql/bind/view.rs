//! Views in `FROM`: a view stands for its query, as a derived table does.
//!
//! Its text is read and bound by each statement that names it, with the names of its own database.

use std::sync::atomic::Ordering;

use super::derived::check_columns;
use super::from::Side;
use super::scope::Scope;
use super::{Names, Numbering, query};
use crate::catalog::{View, ViewAlgorithm};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{Select, Statement, TableName};
use crate::sql::context::Mode;
use crate::sql::parse;
use crate::types::ResultColumn;

/// How deep views may name each other. Each level binds a query within a query, on one stack.
const DEPTH_MAX: usize = 24;

/// Views that one statement may name, those within views counted each time. Views that name two views
/// double them with each level.
pub const VIEWS_MAX: usize = 1000;

/// The view of that name in the named or the current database.
pub(super) fn find(name: &TableName, names: &Names<'_>) -> Option<std::sync::Arc<View>> {
    let database = name.database.as_deref().or(names.database)?;
    names.definitions.find_view(database, &name.name)
}

/// The query of a view.
///
/// # Errors
/// 1712 when the stored text is none; 1436 when it is too deep, as it was spelled out.
pub fn query_of(view: &View) -> Result<Select> {
    let parsed = parse::parse_first(view.query.as_bytes(), crate::sql::computed::MODE);
    match parsed.map(|parsed| parsed.statement) {
        Ok(Statement::Select(select)) => return Ok(*select),
        Err(error) if error.code() == Code::TooDeep => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let text = format!("the query of view {}.{} is none", view.database, view.name);
    Err(Error::new(Code::StorageCorrupt, text))
}

/// The columns of a view.
///
/// # Errors
/// Those of its query and of the list of names.
pub fn columns_of_view(view: &View, names: &Names<'_>) -> Result<Vec<ResultColumn>> {
    let select = query_of(view)?;
    let query = query::query(&select, &inside(view, names), None)?;
    let columns = query.columns().into_iter().cloned().collect();
    let columns = query::renamed(columns, &view.columns)?;
    check_columns(&columns)?;
    Ok(columns)
}

/// The columns of a view that is there.
///
/// # Errors
/// 1356 when what it names is not there any more.
pub fn view_columns(view: &View, names: &Names<'_>) -> Result<Vec<ResultColumn>> {
    columns_of_view(view, names).map_err(|error| invalid(view, error))
}

/// What names mean in the query of a view. Its text is the server's own and says all that `sql_mode` made
/// of it when it was written: what would give it another meaning does not hold for it.
fn inside<'a>(view: &'a View, names: &Names<'a>) -> Names<'a> {
    Names {
        definitions: names
            .definitions
            .inside_views()
            .unwrap_or(names.definitions),
        database: Some(&view.database),
        parameters: &[],
        ctes: None,
        mode: Mode {
            no_backslash_escapes: false,
            lindorm: false,
            ..names.mode
        },
        depth: names.depth + 1,
        ..*names
    }
}

impl Scope<'_> {
    /// A view by its name.
    ///
    /// # Errors
    /// 1356 when what it names is not there any more; 1116 past [`VIEWS_MAX`], 1436 past
    /// [`DEPTH_MAX`].
    pub(super) fn view(
        &mut self,
        view: &View,
        alias: Option<&str>,
        is_optional: bool,
    ) -> Result<Side> {
        if let Some(trace) = self.names.trace {
            trace.view(&view.database, &view.name);
        }
        check_count(self.names.numbering)?;
        if DEPTH_MAX <= self.names.depth {
            let text = format!("views nest deeper than {DEPTH_MAX} levels, the most");
            return Err(Error::new(Code::TooDeep, text));
        }
        let select = query_of(view)?;
        let outside = inside(view, &self.names);
        let named = (alias.unwrap_or(&view.name), view.columns.as_slice());
        let merges = view.algorithm != ViewAlgorithm::TempTable;
        let parameters_count = self.parameters_count;
        let side = self.derived(&select, named, ((&outside, None), is_optional, merges));
        self.parameters_count = parameters_count;
        let side = side.map_err(|error| invalid(view, error))?;
        if let Some(source) = self.from.sources.last_mut() {
            source.is_of_view(view, alias.is_none());
        }
        Ok(side)
    }
}

fn check_count(numbering: &Numbering) -> Result<()> {
    if numbering.views.fetch_add(1, Ordering::Relaxed) < VIEWS_MAX {
        return Ok(());
    }
    Err(too_many_views())
}

/// 1116, for more than [`VIEWS_MAX`].
pub fn too_many_views() -> Error {
    let text = format!("Too many views; the most that one query can name is {VIEWS_MAX}");
    Error::new(Code::TooManyTables, text)
}

/// Error 1356 for names that are not there any more; others are told as they are.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the codes about names are a few of all"
)]
fn invalid(view: &View, error: Error) -> Error {
    match error.code() {
        Code::TableMissing
        | Code::UnknownDatabase
        | Code::UnknownColumn
        | Code::UnknownTableInQuery
        | Code::WrongObject
        | Code::AmbiguousColumn
        | Code::ViewColumnCount
        | Code::DuplicateColumn
        | Code::FunctionMissing => {
            let text = format!(
                "View '{}.{}' references invalid table(s) or column(s) or function(s) or \
                 definer/invoker of view lack rights to use them",
                view.database, view.name
            );
            Error::new(Code::ViewInvalid, text)
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests;
