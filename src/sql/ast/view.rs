//! The statements on views.

use super::{Select, TableName};
use crate::catalog::ViewAlgorithm;

/// `CREATE VIEW`, `ALTER VIEW`.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one phrase that may be written or not"
)]
pub struct CreateView {
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// Whether it is `ALTER VIEW`: the view must be there.
    pub alter: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `ALGORITHM`.
    pub algorithm: ViewAlgorithm,
    /// `DEFINER`: user and host; `None` for the current user.
    pub definer: Option<(String, String)>,
    /// `SQL SECURITY INVOKER`.
    pub by_invoker: bool,
    /// Its name.
    pub view: TableName,
    /// The names of its columns, when given.
    pub columns: Vec<String>,
    /// Its query.
    pub select: Box<Select>,
    /// `WITH CHECK OPTION`: refused later.
    pub checks: bool,
}

/// `DROP VIEW a, b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropView {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The views, at least one.
    pub views: Vec<TableName>,
}
