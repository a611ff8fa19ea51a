//! The packets that end things: OK, ERR, EOF, and what follows a PREPARE; and reports on the way there.

use super::capabilities::{Capabilities, Status};
use super::wire;
use crate::error::Error;

/// Clients cut error messages at this many bytes; so do we, at a character's end.
const MESSAGE_BYTES_MAX: usize = 2048;

/// What an OK packet says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome<'a> {
    /// Rows changed, or found under `FOUND_ROWS`.
    pub affected_rows: u64,
    /// The first `AUTO_INCREMENT` value that the statement made.
    pub last_insert_id: u64,
    /// The session's state.
    pub status: Status,
    /// How many warnings SHOW WARNINGS has.
    pub warnings_count: u16,
    /// A text for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`; may be empty.
    pub info: &'a str,
    /// Changes of the session, encoded by [`tracking`](super::tracking); empty for clients that do
    /// not read them.
    pub changes: &'a [u8],
}

/// Appends an OK packet's payload.
pub fn put_ok(out: &mut Vec<u8>, outcome: &Outcome<'_>) {
    put_outcome(out, 0x00, outcome);
}

fn put_outcome(out: &mut Vec<u8>, header: u8, outcome: &Outcome<'_>) {
    out.push(header);
    wire::put_lenenc(out, outcome.affected_rows);
    wire::put_lenenc(out, outcome.last_insert_id);
    let has_changes = !outcome.changes.is_empty();
    let status = outcome.status;
    let status = status.with_if(Status::SESSION_STATE_CHANGED, has_changes);
    wire::put_u16(out, status.bits());
    wire::put_u16(out, outcome.warnings_count);
    // Length-encoded whatever the client asked for, as real servers do.
    if has_changes || !outcome.info.is_empty() {
        wire::put_lenenc_bytes(out, outcome.info.as_bytes());
    }
    if has_changes {
        wire::put_lenenc_bytes(out, outcome.changes);
    }
}

/// Appends the payload that ends rows: an OK packet in an EOF's clothes, or an EOF packet.
pub fn put_end(out: &mut Vec<u8>, capabilities: Capabilities, outcome: &Outcome<'_>) {
    if capabilities.has(Capabilities::DEPRECATE_EOF) {
        put_outcome(out, 0xFE, outcome);
    } else {
        put_eof(out, outcome.status, outcome.warnings_count);
    }
}

/// Appends an EOF packet's payload.
pub fn put_eof(out: &mut Vec<u8>, status: Status, warnings_count: u16) {
    out.push(0xFE);
    wire::put_u16(out, warnings_count);
    wire::put_u16(out, status.bits());
}

/// Appends an ERR packet's payload.
pub fn put_error(out: &mut Vec<u8>, error: &Error) {
    out.push(0xFF);
    wire::put_u16(out, error.code().errno());
    out.push(b'#');
    out.extend_from_slice(error.code().sqlstate().as_bytes());
    out.extend_from_slice(clipped(error.message(), MESSAGE_BYTES_MAX).as_bytes());
}

/// Appends the payload of an ERR packet in the greeting's place: without a state, as MySQL and MariaDB send it.
/// `PROTOCOL_41`, which brings the state, has not been agreed upon, and some clients take one for a part of the text.
pub fn put_error_for_greeting(out: &mut Vec<u8>, error: &Error) {
    out.push(0xFF);
    wire::put_u16(out, error.code().errno());
    out.extend_from_slice(clipped(error.message(), MESSAGE_BYTES_MAX).as_bytes());
}

/// The error number that makes an ERR packet a report of progress.
const PROGRESS_ERRNO: u16 = 0xFFFF;

/// Thousandths of a percent in a percent.
const PROGRESS_PER_PERCENT: u32 = 1000;

/// How far a statement is that takes long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Which of [`stages_count`](Self::stages_count) it is at, from 1.
    pub stage: u8,
    /// How many stages there are.
    pub stages_count: u8,
    /// How much of the stage is done.
    pub percent: u8,
    /// What is being done.
    pub info: String,
}

/// Appends a report's payload: MariaDB's `ERR_Packet` with the error number 65535. The answer to the
/// statement follows.
pub fn put_progress(out: &mut Vec<u8>, progress: &Progress) {
    out.push(0xFF);
    wire::put_u16(out, PROGRESS_ERRNO);
    // How many texts there are.
    out.push(1);
    out.push(progress.stage);
    out.push(progress.stages_count);
    let thousandths = u32::from(progress.percent) * PROGRESS_PER_PERCENT;
    out.extend_from_slice(&wire::u24_bytes(thousandths));
    let info = clipped(&progress.info, MESSAGE_BYTES_MAX);
    wire::put_lenenc_bytes(out, info.as_bytes());
}

/// Appends the first packet of the answer to a PREPARE.
pub fn put_prepared(out: &mut Vec<u8>, id: u32, columns_count: u16, parameters_count: u16) {
    out.push(0x00);
    wire::put_u32(out, id);
    wire::put_u16(out, columns_count);
    wire::put_u16(out, parameters_count);
    out.push(0);
    wire::put_u16(out, 0);
}

/// The longest beginning of `text` of at most `bytes_max` bytes that ends with a character.
pub(super) fn clipped(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let end = text.floor_char_boundary(bytes_max);
    text.get(..end).unwrap_or("")
}
