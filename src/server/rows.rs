//! Rows from a statement to the socket, page by page.
//!
//! Hot: [`PacketSink::row`] runs per row and encodes straight into the output buffer. After each
//! page the buffer is sent, waiting for the client if it is slow: memory stays at one page.

use tokio::task::yield_now;

use super::wire::{Gone, Wire};
use crate::error::Result;
use crate::exec::rows::{PageEnd, RowSink, RowStream};
use crate::protocol::column::{self, JsonAs};
use crate::protocol::packet::PacketWriter;
use crate::protocol::row::RowEncoder;
use crate::protocol::wire::put_lenenc;
use crate::types::temporal::zone::Zone;
use crate::types::{ResultColumn, Value};

/// A page ends when so many bytes wait to be sent; one row may be longer. Rows of stored values
/// are bounded by the pages of the engine, computed ones by this alone.
pub(super) const PAGE_BYTES_MAX: usize = 1 << 20;

/// How a result ended.
pub(super) struct Streamed {
    /// How many rows were sent.
    pub(super) rows_count: u64,
    /// The count of warnings, or what ended the rows early.
    pub(super) end: Result<u16>,
}

/// A result that the client did not wait for.
pub(super) struct Broken {
    pub(super) rows_count: u64,
    pub(super) gone: Gone,
}

/// Writes rows as packets.
struct PacketSink<'a> {
    out: &'a mut PacketWriter,
    encoder: &'a RowEncoder,
    zone: &'a Zone,
    rows_count: u64,
}

impl RowSink for PacketSink<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        let (encoder, zone) = (self.encoder, self.zone);
        self.out
            .try_packet(|out| encoder.encode(values, zone, out))?;
        self.rows_count += 1;
        Ok(())
    }

    fn is_full(&self) -> bool {
        PAGE_BYTES_MAX <= self.out.bytes_count()
    }
}

/// Appends the count and the definitions of the columns.
pub(super) fn put_definitions(out: &mut PacketWriter, columns: &[ResultColumn], json_as: JsonAs) {
    let count = u64::try_from(columns.len()).unwrap_or(u64::MAX);
    out.packet(|out| put_lenenc(out, count));
    for column in columns {
        out.packet(|out| column::put_column(out, column, json_as));
    }
}

/// Sends all rows; what ends them is left to be sent.
pub(super) async fn stream(
    wire: &mut Wire,
    (encoder, zone): (&RowEncoder, &Zone),
    rows: &mut dyn RowStream,
) -> std::result::Result<Streamed, Broken> {
    let mut rows_count = 0;
    loop {
        let mut sink = PacketSink {
            out: &mut wire.out,
            encoder,
            zone,
            rows_count,
        };
        let page = rows.next_page(&mut sink).await;
        rows_count = sink.rows_count;
        let end = match page {
            Ok(PageEnd::More) => match wire.flush_unless_stopped().await {
                Ok(None) => {
                    // A scan whose client keeps up never waits; let others run on this thread.
                    yield_now().await;
                    continue;
                }
                Ok(Some(stopped)) => Err(stopped),
                Err(gone) => return Err(Broken { rows_count, gone }),
            },
            Ok(PageEnd::Last { warnings_count }) => Ok(warnings_count),
            Err(error) => Err(error),
        };
        return Ok(Streamed { rows_count, end });
    }
}
