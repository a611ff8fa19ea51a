//! Queries of very many columns: the memory that their columns take while they run.

use crate::ceiling::{self, Held};
use crate::error::Result;
use crate::exec::rows::{BoxFuture, PageEnd, RowSink, RowStream};

/// Columns from which on it is asked for.
const COLUMNS_MIN: usize = 1024;

/// What a column takes: in what is run, in the row, in what the client is told of it.
const COLUMN_BYTES: usize = 600;

/// Asks for the memory of the columns of a result; `None` where they are few.
///
/// # Errors
/// 1041 when there is none.
pub(super) fn hold(columns_count: usize) -> Result<Option<Held>> {
    if columns_count < COLUMNS_MIN {
        return Ok(None);
    }
    let what = format!("a result of {columns_count} columns");
    ceiling::hold(&what, columns_count.saturating_mul(COLUMN_BYTES)).map(Some)
}

/// The rows of such a result, with its memory until they end.
pub(super) fn holding(rows: Box<dyn RowStream>, held: Option<Held>) -> Box<dyn RowStream> {
    match held {
        Some(held) => Box::new(Wide { rows, _held: held }),
        None => rows,
    }
}

struct Wide {
    rows: Box<dyn RowStream>,
    _held: Held,
}

impl RowStream for Wide {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        self.rows.next_page(sink)
    }
}
