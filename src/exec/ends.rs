//! The first or last row of each of a few spans, one after the other.
//!
//! A seek is a scan of one row. Only where an open transaction has deleted rows does it go on.

use std::collections::VecDeque;
use std::sync::Arc;

use super::lookup::Lookup;
use super::row::Layout;
use super::view::{Batch, View};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::index;
use crate::kv::page::PAGE_ROWS;
use crate::kv::{Page, Scan, Space};
use crate::plan::Seek;
use crate::sql::bound::KeyRef;

/// The seeks that are left.
pub(super) struct EndReader {
    table: Arc<Table>,
    seeks: VecDeque<Seek>,
}

/// A row that was found, or none, and where its columns are when it is an entry.
pub(super) type Found = (Batch, Option<Layout>);

impl EndReader {
    /// Of rows of a table.
    pub(super) fn new(table: &Arc<Table>, seeks: Vec<Seek>) -> EndReader {
        EndReader {
            table: Arc::clone(table),
            seeks: VecDeque::from(seeks),
        }
    }

    /// Whether no seek is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.seeks.is_empty()
    }

    /// What the next seek finds; `None` when there is none.
    ///
    /// # Errors
    /// Those of the engine; 1712 for an entry without row.
    pub(super) async fn next(&mut self, view: &View) -> Result<Option<Found>> {
        let Some(seek) = self.seeks.pop_front() else {
            return Ok(None);
        };
        let table = &self.table;
        let position = match seek.key {
            KeyRef::Primary => return Ok(Some((end(view, Space(table.id.0), seek).await?, None))),
            KeyRef::Index(position) => position,
        };
        let Some(index) = table.indexes.get(position) else {
            let text = "a plan that names an index of another table";
            return Err(Error::internal(text));
        };
        let covering = seek.covering;
        let entry = end(view, index::space(index), seek).await?;
        if covering {
            return Ok(Some((entry, Some(Layout::of_entry(table, index)))));
        }
        let row = Lookup::new(table, position).rows(view, &entry).await?;
        Ok(Some((row, None)))
    }
}

/// The first or last row of a range.
async fn end(view: &View, space: Space, seek: Seek) -> Result<Batch> {
    let mut scan = Scan::new(space, seek.range);
    scan.options.reverse = seek.is_last;
    scan.options.max_rows = 1;
    loop {
        let (batch, more) = view.scan(&mut scan, Batch::Page(Page::default())).await?;
        if let Some((key, value)) = batch.get(0) {
            let row = (key.to_vec(), bytes::Bytes::copy_from_slice(value));
            return Ok(Batch::Rows(vec![row]));
        }
        if !more {
            return Ok(Batch::Rows(Vec::new()));
        }
        scan.options.max_rows = PAGE_ROWS;
    }
}
