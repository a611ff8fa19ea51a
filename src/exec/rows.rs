//! The seam between a running statement and whoever takes its rows.
//!
//! Crossed once per page ([`RowStream`]) and once per row ([`RowSink`]); nothing is kept in
//! between, so a slow client slows the scan and not the memory.

use std::future::Future;
use std::pin::Pin;

use crate::error::Result;
use crate::types::Value;

/// A future of an unnamed type.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The rows of one statement, a page at a time.
///
/// A stream owns all it reads from (snapshot, plan, schema), because a cursor may keep it open
/// while the session runs other statements. After [`PageEnd::Last`] or an error it is not asked
/// again. Dropping it ends the statement.
pub trait RowStream: Send {
    /// Pushes the next page of rows, in order. A page may be empty and not the last.
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>>;
}

/// What a page of rows ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageEnd {
    /// There may be more rows.
    More,
    /// These were the last rows.
    Last {
        /// How many warnings SHOW WARNINGS has.
        warnings_count: u16,
    },
}

/// Bytes of values from which on a sink that gathers rows for another operator is full: a page of sorted rows can have
/// come back from the disk.
pub const SINK_BYTES_MAX: usize = 1 << 20;

/// Takes rows.
pub trait RowSink {
    /// Takes one row; the values are those of the result's columns, in order.
    ///
    /// # Errors
    /// When the row cannot be sent; the statement ends with that error.
    fn row(&mut self, values: &[Value<'_>]) -> Result<()>;

    /// Whether so much waits to be sent that the page should end here. Asked after each row.
    fn is_full(&self) -> bool {
        false
    }
}
