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
    /// `ALGORITHM`, if it is said.
    pub algorithm: Option<ViewAlgorithm>,
    /// `DEFINER`.
    pub definer: Definer,
    /// Whether it is `SQL SECURITY INVOKER` or `DEFINER`, if it is said.
    pub by_invoker: Option<bool>,
    /// Its name.
    pub view: TableName,
    /// The names of its columns, when given.
    pub columns: Vec<String>,
    /// Its query.
    pub select: Box<Select>,
    /// `WITH CHECK OPTION`: refused later.
    pub checks: bool,
}

/// In whose name a view reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definer {
    /// Not said: of `ALTER VIEW` the one that there is, else the current user.
    Unsaid,
    /// `CURRENT_USER`.
    CurrentUser,
    /// A user and a host.
    Account(String, String),
}

/// `DROP VIEW a, b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropView {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The views, at least one.
    pub views: Vec<TableName>,
}
