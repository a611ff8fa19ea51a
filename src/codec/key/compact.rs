//! Integers of as few bytes as they need, in order: integers, and the digits of `DECIMAL`.
//!
//! The tag is there anyway (the storage contract forbids some first bytes), so that its room is
//! used for sign and length: the usual id takes 3 to 5 bytes rather than 9, which keeps more keys
//! in a block and in the cache and costs a shift when read. One form serves every width, signed
//! or not, so that a key column may be widened without rewriting keys.
//!
//! ```text
//!  number   tag           payload: the low n bytes, big-endian, two's complement
//!     0     zero
//!     7     zero + 1      07
//!   256     zero + 2      01 00
//!    -1     zero - 1
//!    -2     zero - 2      fe
//!  -257     zero - 3      fe ff
//! ```

use super::Corrupt;
use super::cursor::Cursor;
use super::tag::NumberTags;

/// Bytes of the widest number.
const WIDE_BYTES: usize = 16;

/// Appends tag and payload.
pub(super) fn encode(out: &mut Vec<u8>, number: i128, tags: NumberTags) {
    // A negative number needs the bytes in which it differs from -1, a positive one from 0.
    let significant = if number < 0 { !number } else { number };
    let bits = i128::BITS - significant.leading_zeros();
    let count = bits.div_ceil(8);
    let length = u8::try_from(count).unwrap_or(tags.payload_bytes_max);
    debug_assert!(length <= tags.payload_bytes_max);
    let tag = if number < 0 {
        tags.zero - 1 - length
    } else {
        tags.zero + length
    };
    out.push(tag);
    let bytes = number.to_be_bytes();
    out.extend_from_slice(
        bytes
            .get(WIDE_BYTES - usize::from(length)..)
            .unwrap_or_default(),
    );
}

/// How many payload bytes follow a tag of `tags`.
pub(super) fn payload_bytes(tag: u8, tags: NumberTags) -> usize {
    usize::from(match tag.checked_sub(tags.zero) {
        Some(length) => length,
        None => tags.zero.saturating_sub(1).saturating_sub(tag),
    })
}

/// As [`decode`], of a tag that need not be one of `tags`.
pub(super) fn decode_any(
    cursor: &mut Cursor<'_>,
    tag: u8,
    tags: NumberTags,
) -> Result<i128, Corrupt> {
    if tags.range().contains(&tag) {
        return decode(cursor, tag, tags);
    }
    Err(Corrupt::byte(
        cursor.at(),
        tag ^ cursor.mask(),
        "the tag of a number",
    ))
}

/// The number behind a tag of `tags`.
pub(super) fn decode(cursor: &mut Cursor<'_>, tag: u8, tags: NumberTags) -> Result<i128, Corrupt> {
    let is_negative = tag < tags.zero;
    let at = cursor.at();
    let mask = cursor.mask();
    let payload = cursor.stored(payload_bytes(tag, tags))?;
    let leading = if is_negative { 0xFF } else { 0x00 };
    if payload.first().is_some_and(|first| first ^ mask == leading) {
        return Err(Corrupt::byte(
            at,
            leading ^ mask,
            "the first byte of a number",
        ));
    }
    let mut bytes = [leading; WIDE_BYTES];
    if let Some(low) = bytes.get_mut(WIDE_BYTES.saturating_sub(payload.len())..) {
        for (byte, stored) in low.iter_mut().zip(payload) {
            *byte = stored ^ mask;
        }
    }
    let number = i128::from_be_bytes(bytes);
    if (number < 0) == is_negative {
        return Ok(number);
    }
    Err(Corrupt::bad(at, "a number with the other sign"))
}
