//! Prepared statements for the load generator: prepare once, then build EXECUTE packets whose
//! parameters are 64-bit integers and short texts, and know when an answer has ended.

use crate::Outcome;
use crate::client::{Bytes, Client, Failure, check_error};

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
/// `MYSQL_TYPE_LONGLONG`, signed.
const TYPE_LONGLONG: [u8; 2] = [8, 0];
/// `MYSQL_TYPE_VAR_STRING`.
const TYPE_VAR_STRING: [u8; 2] = [253, 0];

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parameter<'a> {
    Integer(i64),
    /// At most 250 bytes.
    Text(&'a [u8]),
}

/// A statement that the server has prepared.
#[derive(Debug)]
pub(crate) struct Prepared {
    id: u32,
    types_sent: bool,
}

impl Prepared {
    pub(crate) fn new(client: &mut Client, sql: &str) -> Outcome<Prepared> {
        let fail = |e| format!("PREPARE {sql}: {e}");
        client
            .command(COM_STMT_PREPARE, sql.as_bytes())
            .map_err(fail)?;
        let (_, packet) = client.read_packet().map_err(fail)?;
        check_error(&packet).map_err(fail)?;
        let mut answer = Bytes(&packet);
        answer.skip(1).map_err(fail)?;
        let id = answer.fixed_u32().map_err(fail)?;
        let columns_count = answer.fixed_u16().map_err(fail)?;
        let parameters_count = answer.fixed_u16().map_err(fail)?;
        for count in [parameters_count, columns_count] {
            let has_end = 0 < count && !client.deprecates_eof();
            for _ in 0..(u32::from(count) + u32::from(has_end)) {
                client.read_packet().map_err(fail)?;
            }
        }
        Ok(Prepared {
            id,
            types_sent: false,
        })
    }

    /// Writes an EXECUTE packet into `packet`; the types go with the first one only.
    pub(crate) fn execute(&mut self, packet: &mut Vec<u8>, parameters: &[Parameter<'_>]) {
        let is_text = |parameter: &Parameter<'_>| matches!(parameter, Parameter::Text(_));
        self.begin(packet, parameters.iter().map(is_text));
        for parameter in parameters {
            match parameter {
                Parameter::Integer(value) => put_integer(packet, *value),
                Parameter::Text(text) => put_text(packet, text),
            }
        }
        finish(packet);
    }

    /// Begins an EXECUTE packet. As many values follow as `are_text` says whether they are texts, by
    /// [`put_integer`] and [`put_text`], and then [`finish`].
    pub(crate) fn begin(
        &mut self,
        packet: &mut Vec<u8>,
        are_text: impl ExactSizeIterator<Item = bool>,
    ) {
        packet.clear();
        packet.extend_from_slice(&[0; 4]);
        packet.push(COM_STMT_EXECUTE);
        packet.extend_from_slice(&self.id.to_le_bytes());
        packet.push(0);
        packet.extend_from_slice(&1_u32.to_le_bytes());
        packet.resize(packet.len() + are_text.len().div_ceil(8), 0);
        packet.push(u8::from(!self.types_sent));
        if !self.types_sent {
            for is_text in are_text {
                packet.extend_from_slice(&if is_text {
                    TYPE_VAR_STRING
                } else {
                    TYPE_LONGLONG
                });
            }
            self.types_sent = true;
        }
    }
}

pub(crate) fn put_integer(packet: &mut Vec<u8>, value: i64) {
    packet.extend_from_slice(&value.to_le_bytes());
}

/// At most 250 bytes.
pub(crate) fn put_text(packet: &mut Vec<u8>, text: &[u8]) {
    packet.push(u8::try_from(text.len()).unwrap_or(0));
    packet.extend_from_slice(text);
}

/// Writes the length of a packet into its head.
pub(crate) fn finish(packet: &mut [u8]) {
    let size = u32::try_from(packet.len() - 4).unwrap_or(0).to_le_bytes();
    packet[..3].copy_from_slice(&size[..3]);
}

/// Where in an answer the reader is. The answer may arrive in any pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading {
    /// Before the first packet.
    Start,
    /// Column definitions to come, with the old form's EOF packet counted.
    Columns(u64),
    /// Rows, or the end.
    Rows,
}

/// Errors that tell a client to try again: two statements met at one row.
const CONFLICTS: [u16; 3] = [1020, 1205, 1213];

/// Follows one answer through the bytes that arrive.
#[derive(Debug)]
pub(crate) struct AnswerReader {
    pub(crate) reading: Reading,
    /// Rows seen in this answer.
    pub(crate) rows: u64,
    /// Whether the answer was an error that tells to try again.
    pub(crate) conflict: bool,
    deprecate_eof: bool,
}

impl AnswerReader {
    pub(crate) fn new(deprecate_eof: bool) -> AnswerReader {
        AnswerReader {
            reading: Reading::Start,
            rows: 0,
            conflict: false,
            deprecate_eof,
        }
    }

    /// Takes whole packets from the front of `bytes`: how many bytes were used, and whether the
    /// answer has ended with them.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Outcome<(usize, bool)> {
        let mut used = 0;
        while let Some(packet) = whole_packet(&bytes[used..]) {
            used += 4 + packet.len();
            if self.packet(packet)? {
                return Ok((used, true));
            }
        }
        Ok((used, false))
    }

    /// Whether this packet ends the answer.
    fn packet(&mut self, packet: &[u8]) -> Outcome<bool> {
        match check_error(packet) {
            Ok(()) => self.conflict = false,
            Err(Failure::Server { errno, .. }) if CONFLICTS.contains(&errno) => {
                self.conflict = true;
                self.reading = Reading::Start;
                return Ok(true);
            }
            Err(failure) => return Err(failure.to_string()),
        }
        let first = packet.first().copied().unwrap_or(0);
        match self.reading {
            Reading::Start if first == 0 => {
                self.rows = 0;
                return Ok(true);
            }
            Reading::Start => {
                let columns = Bytes(packet).length().map_err(|e| e.to_string())?;
                self.rows = 0;
                self.reading = Reading::Columns(columns + u64::from(!self.deprecate_eof));
            }
            Reading::Columns(1) => self.reading = Reading::Rows,
            Reading::Columns(left) => self.reading = Reading::Columns(left - 1),
            Reading::Rows if first == 0xFE && packet.len() < 0xFF_FFFF => {
                self.reading = Reading::Start;
                return Ok(true);
            }
            Reading::Rows => self.rows += 1,
        }
        Ok(false)
    }
}

/// The payload of the first packet, when all of it is there.
fn whole_packet(bytes: &[u8]) -> Option<&[u8]> {
    let header = bytes.get(..3)?;
    let size = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
    bytes.get(4..4 + size)
}
