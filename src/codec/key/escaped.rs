//! Strings of any bytes, in order and self-delimiting.
//!
//! ```text
//!  byte 00   is written 00 ff
//!  the end   is written 00 01
//! ```
//!
//! The end sorts before every byte that could follow, so that `a` lies before `a\0` and `ab`; and
//! no string's bytes begin another's, so that `host1` and `host12` never mix.

use std::borrow::Cow;

use memchr::memchr;

use super::Corrupt;
use super::cursor::Cursor;

const ZERO: u8 = 0x00;
const ESCAPED_ZERO: u8 = 0xFF;
const END: u8 = 0x01;

/// Appends tag, bytes and end.
pub(super) fn encode(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.reserve(bytes.len() + 3);
    out.push(tag);
    if memchr(ZERO, bytes).is_none() {
        // Nearly all strings.
        out.extend_from_slice(bytes);
        out.extend_from_slice(&[ZERO, END]);
        return;
    }
    for (position, piece) in bytes.split(|byte| *byte == ZERO).enumerate() {
        if 0 < position {
            out.extend_from_slice(&[ZERO, ESCAPED_ZERO]);
        }
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(&[ZERO, END]);
}

/// The string ahead of the cursor; borrowed when it is stored as it is.
pub(super) fn decode<'a>(cursor: &mut Cursor<'a>) -> Result<Cow<'a, [u8]>, Corrupt> {
    let mask = cursor.mask();
    let (mut piece, mut is_last) = next_piece(cursor)?;
    if is_last && mask == 0 {
        return Ok(Cow::Borrowed(piece));
    }
    let mut bytes = Vec::with_capacity(piece.len());
    loop {
        bytes.extend(piece.iter().map(|byte| byte ^ mask));
        if is_last {
            return Ok(Cow::Owned(bytes));
        }
        bytes.push(ZERO);
        (piece, is_last) = next_piece(cursor)?;
    }
}

/// Passes the string ahead of the cursor.
pub(super) fn skip(cursor: &mut Cursor<'_>) -> Result<(), Corrupt> {
    loop {
        let (_, is_last) = next_piece(cursor)?;
        if is_last {
            return Ok(());
        }
    }
}

/// The bytes up to the next zero, as stored, and whether the string ends there.
fn next_piece<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a [u8], bool), Corrupt> {
    let zero = ZERO ^ cursor.mask();
    let ahead = cursor.rest();
    let Some(count) = memchr(zero, ahead) else {
        return Err(Corrupt::missing(cursor.at() + ahead.len()));
    };
    let piece = cursor.stored(count)?;
    cursor.skip(1)?;
    let at = cursor.at();
    match cursor.byte()? {
        END => Ok((piece, true)),
        ESCAPED_ZERO => Ok((piece, false)),
        other => {
            let stored = other ^ cursor.mask();
            Err(Corrupt::byte(
                at,
                stored,
                "what follows a zero byte in a string",
            ))
        }
    }
}
