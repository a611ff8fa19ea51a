//! What becomes of tables that are dropped.

use std::sync::Arc;

use super::schema::Table;

/// Dropped tables that are kept; past them the oldest go. Each costs memory for its definition, and
/// programs that test something make and drop tables by the thousand.
pub const TRASH_TABLES_MAX: usize = 1000;

/// What becomes of a table that is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its storage is given back at once.
    Gone,
    /// It is kept for a while, and can be taken out again.
    Trash {
        /// The present, in milliseconds since 1970.
        now_ms: u64,
    },
}

/// A table that was dropped and is still there.
#[derive(Debug, Clone)]
pub struct Trashed {
    /// Its definition, with the database and the name that it had.
    pub table: Arc<Table>,
    /// When it was dropped, in milliseconds since 1970.
    pub dropped_ms: u64,
}
