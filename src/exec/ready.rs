//! Rows that are there already, as a stream: SHOW, EXPLAIN.

use super::rows::{BoxFuture, PageEnd, RowSink, RowStream};
use crate::error::Result;
use crate::types::Value;

/// Rows pushed per page.
const PAGE_ROWS: usize = 1024;

/// Rows in memory.
pub struct ReadyRows {
    rows: std::vec::IntoIter<Vec<Value<'static>>>,
}

impl ReadyRows {
    /// A stream of these rows.
    pub fn new(rows: Vec<Vec<Value<'static>>>) -> ReadyRows {
        ReadyRows {
            rows: rows.into_iter(),
        }
    }

    fn push_page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        for row in self.rows.by_ref().take(PAGE_ROWS) {
            sink.row(&row)?;
        }
        let is_last = self.rows.len() == 0;
        Ok(if is_last {
            PageEnd::Last { warnings_count: 0 }
        } else {
            PageEnd::More
        })
    }
}

impl RowStream for ReadyRows {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        let end = self.push_page(sink);
        Box::pin(std::future::ready(end))
    }
}
