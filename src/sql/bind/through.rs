//! INSERT through a view: which table and columns the view's columns are.
//!
//! Source: MySQL manual, "Updatable and Insertable Views".

use std::sync::Arc;

use super::Names;
use super::scope::{Clause, Scope};
use crate::catalog::{Table, View};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, OnDuplicate};

/// A view that takes rows: each of its columns is another one of one table.
#[derive(Debug)]
pub(super) struct Insertable {
    pub(super) table: Arc<Table>,
    /// The names of the view's columns, and the table's columns that they are.
    columns: Vec<(String, usize)>,
}

impl Insertable {
    /// The table's columns that an INSERT without a list gives values for.
    pub(super) fn shown(&self) -> Vec<usize> {
        self.columns.iter().map(|(_, idx)| *idx).collect()
    }

    /// The table's column that a column of the view is.
    pub(super) fn column_idx(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter();
        let found = columns.find(|(column, _)| column.eq_ignore_ascii_case(name));
        found.map(|(_, idx)| *idx)
    }
}

/// The table that an INSERT into a view is into.
///
/// # Errors
/// 1471 when the view takes no rows, those of the view.
pub(super) fn insertable(
    view: &View,
    insert: &ast::Insert,
    names: &Names<'_>,
) -> Result<Insertable> {
    if let OnDuplicate::Update(_) = insert.on_duplicate {
        return Err(Error::unsupported(
            "ON DUPLICATE KEY UPDATE of an INSERT into a view",
        ));
    }
    let mut scope = Scope::new(*names, None, Clause::FieldList);
    scope.view(view, None, false)?;
    let from = &scope.from;
    let refused = || {
        let text = format!(
            "The target table {} of the INSERT is not insertable-into",
            view.name
        );
        Error::new(Code::NotInsertable, text)
    };
    let [read] = from.relations.as_slice() else {
        return Err(refused());
    };
    let table = read.table().map(Arc::clone).ok_or_else(refused)?;
    let mut columns: Vec<(String, usize)> = Vec::new();
    for place in from.shown(0) {
        let column = from.result_column(place).ok_or_else(refused)?;
        let (_, idx) = from.base(place).ok_or_else(refused)?;
        if columns.iter().any(|(_, other)| *other == idx) {
            return Err(refused());
        }
        columns.push((column.name, idx));
    }
    Ok(Insertable { table, columns })
}
