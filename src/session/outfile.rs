//! `SELECT … INTO OUTFILE` and `INTO DUMPFILE`: the rows of a query in a file of the server.
//!
//! Values are written as clients get them as text. The file is there for others from its first byte; it is
//! taken away when the statement fails.

use std::sync::Arc;

use super::files::{CHUNK_BYTES, NewFile};
use super::{Done, Reply, Session};
use crate::error::{Code, Error, Result};
use crate::exec::rows::{PageEnd, RowSink, RowStream};
use crate::exec::textfile::write::{Field, put_line};
use crate::kv::Engine;
use crate::protocol::row::RowEncoder;
use crate::protocol::wire::{NULL_LENGTH, Reader};
use crate::sql::ast::{FileFormat, IntoFile};
use crate::types::temporal::zone::Zone;
use crate::types::{ResultColumn, Value};

/// Gathers rows as they stand in the file.
struct Written<'a> {
    out: Vec<u8>,
    /// The row as a client would get it.
    payload: Vec<u8>,
    encoder: RowEncoder,
    zone: Zone,
    /// Which columns are no numbers.
    are_texts: Vec<bool>,
    /// `None` for a single row of bare values.
    format: Option<&'a FileFormat>,
    rows_count: u64,
}

impl RowSink for Written<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.payload.clear();
        self.encoder.encode(values, &self.zone, &mut self.payload)?;
        let mut payload = Reader::new(&self.payload);
        let mut fields = Vec::with_capacity(self.are_texts.len());
        for is_text in self.are_texts.iter().copied() {
            let text = text(&mut payload)?;
            fields.push(Field { text, is_text });
        }
        self.rows_count += 1;
        match self.format {
            Some(format) => put_line(&mut self.out, format, fields),
            None if 1 < self.rows_count => {
                let text = "Result consisted of more than one row";
                return Err(Error::new(Code::TooManyRows, text));
            }
            None => {
                for field in fields {
                    self.out.extend_from_slice(field.text.unwrap_or_default());
                }
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        CHUNK_BYTES <= self.out.len()
    }
}

/// The next value of a row as it is sent; `None` for NULL.
fn text<'a>(payload: &mut Reader<'a>) -> Result<Option<&'a [u8]>> {
    if payload.peek() == Some(NULL_LENGTH) {
        payload.u8()?;
        return Ok(None);
    }
    payload.lenenc_bytes().map(Some)
}

impl Session {
    /// Writes all rows to a new file.
    ///
    /// # Errors
    /// 1290, 1086, 1, 3; 1172 for a second row in a DUMPFILE; those of the rows.
    pub(super) async fn put_into_file(
        &mut self,
        into: &IntoFile,
        columns: &[ResultColumn],
        mut rows: Box<dyn RowStream>,
    ) -> Result<Reply> {
        let mut file = self.shared.files.create(&into.path)?;
        let mut sink = Written {
            out: Vec::new(),
            payload: Vec::new(),
            encoder: RowEncoder::text_of(columns),
            zone: self.settings.zone.clone(),
            are_texts: columns.iter().map(|column| !is_number(column)).collect(),
            format: into.format.as_ref(),
            rows_count: 0,
        };
        let engine = Arc::clone(&self.shared.engine);
        if let Err(error) = drain(rows.as_mut(), &mut sink, (&mut file, &*engine)).await {
            file.discard();
            return Err(error);
        }
        drop(rows);
        let affected_rows = sink.rows_count;
        self.state.returned(affected_rows);
        self.state.wrote(affected_rows, 0);
        let warnings_count = self.warnings.count();
        self.state.set_warnings_count(warnings_count);
        Ok(Reply::Done(Done {
            affected_rows,
            warnings_count,
            ..Done::default()
        }))
    }
}

fn is_number(column: &ResultColumn) -> bool {
    column.ty.is_numeric()
}

async fn drain(
    rows: &mut dyn RowStream,
    sink: &mut Written<'_>,
    (file, engine): (&mut NewFile, &dyn Engine),
) -> Result<()> {
    loop {
        let end = rows.next_page(sink).await?;
        if end != PageEnd::More || sink.is_full() {
            file.append(engine, std::mem::take(&mut sink.out)).await?;
        }
        if end != PageEnd::More {
            return Ok(());
        }
    }
}
