//! Tables whose rows the server makes up when they are read: `information_schema` and its like.
//!
//! To the binder such a table is a definition like any other; to the evaluator it is a list of rows.
//! What the rows are is known by whoever finds the table (`session::system`).

use std::fmt::Debug;
use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::types::Value;

/// A table whose rows are made up.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its definition; it has no storage. A hidden column comes last, which stands for its key.
    pub table: Arc<Table>,
    /// The columns whose texts are compared without case.
    pub caseless: Vec<usize>,
    /// What makes its rows.
    pub rows: Arc<dyn ListRows>,
}

/// Makes rows.
pub trait ListRows: Debug + Send + Sync {
    /// Hands each row to `take`: the values of the asked columns, in their order. Rows that do not
    /// meet the conditions may be among them.
    ///
    /// # Errors
    /// Those of `take`, and of what the rows are made from.
    fn list(&self, asked: &Asked<'_>, take: Take<'_>) -> Result<()>;
}

/// What takes a row.
pub type Take<'a> = &'a mut dyn FnMut(Vec<Value<'static>>) -> Result<()>;

/// What is asked of a list of rows.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The columns that are used, as positions in [`Listed::table`].
    pub columns: &'a [usize],
    /// Columns of which only certain texts are wanted, and these texts.
    pub only: &'a [(usize, Vec<String>)],
}

impl Asked<'_> {
    /// Whether rows with this text in a column are wanted.
    pub fn wants(&self, column_idx: usize, text: &str) -> bool {
        let mut about = self.only.iter().filter(|(idx, _)| *idx == column_idx);
        about.all(|(_, texts)| texts.iter().any(|one| one == text))
    }
}
