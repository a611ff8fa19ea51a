//! `JSON_TABLE`.

use super::Expr;
use crate::types::ColumnType;

/// `JSON_TABLE(document, path COLUMNS (…)) AS alias`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    /// The document.
    pub document: Expr,
    /// The path to what becomes rows.
    pub path: String,
    /// The columns.
    pub columns: Vec<JsonColumn>,
    /// Its alias; error 3664 without.
    pub alias: Option<String>,
}

/// A member of `COLUMNS`.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonColumn {
    /// `name FOR ORDINALITY`.
    Ordinality(String),
    /// `name type [EXISTS] PATH path …`.
    Value(Box<JsonValueColumn>),
    /// `NESTED [PATH] path COLUMNS (…)`.
    Nested {
        /// The path, from the row's value.
        path: String,
        /// The columns.
        columns: Vec<JsonColumn>,
    },
}

/// A column with a value of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValueColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// The path, from the row's value.
    pub path: String,
    /// Whether it tells if the path finds something.
    pub exists: bool,
    /// What it is when the path finds nothing.
    pub on_empty: JsonAction,
    /// What it is when what was found is no value of the type.
    pub on_error: JsonAction,
}

/// What a column is without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonAction {
    /// `NULL`.
    Null,
    /// An error.
    Error,
    /// `DEFAULT json`.
    Default(String),
}
