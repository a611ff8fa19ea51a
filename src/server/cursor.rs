//! A cursor: a result whose rows the client asks for in portions. What waits between two of them is a page at
//! most, and its memory is asked for.

use std::collections::VecDeque;

use tokio::task::yield_now;

use super::rows;
use super::wire::{Gone, Wire};
use crate::ceiling;
use crate::error::{Error, Result};
use crate::exec::rows::{PageEnd, RowSink, RowStream};
use crate::protocol::row::RowEncoder;
use crate::session::{Fetching, ResultSet, Session};
use crate::types::Value;
use crate::types::temporal::zone::Zone;

/// An open cursor. It pins what its stream reads from, until it is read to its end, or the statement is
/// reset, closed or executed again.
pub(super) struct Cursor {
    rows: Box<dyn RowStream>,
    waiting: WaitingRows,
    /// The warnings' count once the stream has ended.
    end: Option<u16>,
    /// Its statement, as it is measured.
    pub(super) fetching: Fetching,
}

/// What a FETCH came to.
pub(super) enum Fetched {
    /// There may be more rows.
    More,
    /// There are no more.
    Last { warnings_count: u16 },
    /// Its cursor is to be closed.
    Failed(Error),
}

impl Cursor {
    /// A cursor none of whose rows were asked for.
    pub(super) fn new(set: ResultSet, fetching: Fetching) -> Cursor {
        let encoder = RowEncoder::binary(set.columns.iter().map(|column| &column.ty));
        Cursor {
            rows: set.rows,
            waiting: WaitingRows::new(encoder, set.zone),
            end: None,
            fetching,
        }
    }

    /// Its rows have ended, or are wanted no more; how many were sent.
    pub(super) fn end(self, session: &mut Session, error: Option<&Error>) -> u64 {
        let rows_count = self.waiting.rows_sent();
        // What they are read from is let go first.
        drop(self.rows);
        session.leave_rows(self.fetching, rows_count, error);
        rows_count
    }

    /// Sends up to `rows_max` rows.
    pub(super) async fn fetch(
        &mut self,
        wire: &mut Wire,
        rows_max: u32,
    ) -> std::result::Result<Fetched, Gone> {
        let mut sent = 0;
        while sent < rows_max {
            if let Some(row) = self.waiting.next() {
                wire.out.packet(|out| out.extend_from_slice(row));
                sent += 1;
                continue;
            }
            if self.end.is_some() {
                break;
            }
            if let Some(stopped) = wire.flush_if_full_unless_stopped().await? {
                return Ok(Fetched::Failed(stopped));
            }
            if let Err(error) = self.next_page(rows_max - sent).await {
                return Ok(Fetched::Failed(error));
            }
        }
        Ok(match self.end {
            Some(warnings_count) if self.waiting.is_empty() => Fetched::Last { warnings_count },
            Some(_) | None => Fetched::More,
        })
    }

    /// Waits for the next page, of which so many rows at most are sent at once.
    async fn next_page(&mut self, rows_wanted: u32) -> Result<()> {
        self.waiting.clear();
        match self.rows.next_page(&mut self.waiting).await? {
            // One whose client keeps up never waits; let others run on this thread.
            PageEnd::More => yield_now().await,
            PageEnd::Last { warnings_count } => {
                self.end = Some(warnings_count);
                if self.waiting.rows_count() <= u64::from(rows_wanted) {
                    // The cursor is closed before anything else is asked.
                    return Ok(());
                }
            }
        }
        // What they were read from is about as much, and kept, too.
        let bytes = self.waiting.held_bytes().saturating_mul(2);
        ceiling::drip("a page of a cursor", bytes)
    }
}

/// A page of encoded rows that were not yet asked for.
struct WaitingRows {
    encoder: RowEncoder,
    zone: Zone,
    bytes: Vec<u8>,
    /// Where each waiting row ends.
    ends: VecDeque<usize>,
    start: usize,
    rows_seen: u64,
}

impl WaitingRows {
    fn new(encoder: RowEncoder, zone: Zone) -> WaitingRows {
        WaitingRows {
            encoder,
            zone,
            bytes: Vec::new(),
            ends: VecDeque::new(),
            start: 0,
            rows_seen: 0,
        }
    }

    fn next(&mut self) -> Option<&[u8]> {
        let end = self.ends.pop_front()?;
        let row = self.bytes.get(self.start..end);
        self.start = end;
        row
    }

    fn rows_count(&self) -> u64 {
        u64::try_from(self.ends.len()).unwrap_or(u64::MAX)
    }

    /// How many of those seen wait no more.
    fn rows_sent(&self) -> u64 {
        self.rows_seen.saturating_sub(self.rows_count())
    }

    /// The memory that they take.
    fn held_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.start = 0;
    }
}

impl RowSink for WaitingRows {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        let start = self.bytes.len();
        if let Err(error) = self.encoder.encode(values, &self.zone, &mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error);
        }
        self.ends.push_back(self.bytes.len());
        self.rows_seen += 1;
        Ok(())
    }

    fn is_full(&self) -> bool {
        rows::PAGE_BYTES_MAX <= self.bytes.len()
    }
}
