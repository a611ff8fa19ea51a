//! The seam between a running statement and whoever takes its rows.
//!
//! Crossed once per page ([`RowStream`]) and once per row ([`RowSink`]); nothing is kept in
//! between, so a slow client slows the scan and not the memory.

use std::future::Future;
use std::pin::Pin;

use crate::ceiling;
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

/// Bytes of a row that an operator makes for itself without asking for them. A row may have thousands of columns, and
/// each the same large value.
pub(crate) const ROW_BYTES_UNASKED: usize = 1 << 20;

/// Copies of the values of one row, for who keeps it longer than the page that it was read from. What there is of them
/// beyond [`ROW_BYTES_UNASKED`] is asked for before it is made.
#[derive(Debug, Default)]
pub(crate) struct RowCopy {
    unasked_bytes: usize,
}

impl RowCopy {
    /// The value, independent of what it was borrowed from.
    ///
    /// # Errors
    /// 1041 when the process has no memory for it.
    #[inline]
    pub(crate) fn owned(&mut self, value: Value<'_>) -> Result<Value<'static>> {
        self.add(value.as_bytes().map_or(0, <[u8]>::len))?;
        Ok(value.into_owned())
    }

    /// All values of a row.
    ///
    /// # Errors
    /// As [`RowCopy::owned`].
    pub(crate) fn row(values: &[Value<'_>]) -> Result<Vec<Value<'static>>> {
        let mut row = Vec::with_capacity(values.len());
        let mut copy = RowCopy::default();
        for value in values {
            row.push(copy.owned(value.borrow())?);
        }
        Ok(row)
    }

    /// Counts bytes of a copy.
    ///
    /// # Errors
    /// 1041 when they are many, and the process has no memory for them.
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.unasked_bytes = self.unasked_bytes.saturating_add(bytes);
        if self.unasked_bytes <= ROW_BYTES_UNASKED {
            return Ok(());
        }
        self.ask()
    }

    #[cold]
    fn ask(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.unasked_bytes);
        // Filled at once, so it need not be counted any longer: of large rows one after the other those that are gone
        // would count for a while.
        ceiling::hold("a row", bytes).map(drop)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Mechanism: a row of thousands of copies of one large value was copied whole before anybody asked.
    #[test]
    fn what_a_row_copies_is_asked_for_when_it_is_much() {
        let text = "x".repeat(ROW_BYTES_UNASKED / 4);
        let value = Value::text(&text);
        let mut copy = RowCopy::default();
        for copies in [1, 2, 3, 4] {
            let owned = copy.owned(value.borrow()).unwrap();
            assert_eq!(owned.as_bytes(), value.as_bytes());
            assert_eq!(copy.unasked_bytes, copies * text.len());
        }
        copy.owned(Value::Int(1)).unwrap();
        assert_eq!(copy.unasked_bytes, ROW_BYTES_UNASKED);
        copy.owned(value.borrow()).unwrap();
        assert_eq!(copy.unasked_bytes, 0, "it has asked");
    }
}
