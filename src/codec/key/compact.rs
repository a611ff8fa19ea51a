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

/// Bytes of a number of 64 bits.
const SHORT_BYTES: usize = 8;
/// Bytes of the widest number.
const WIDE_BYTES: usize = 16;

/// As [`encode`], of a number of 64 bits: bytes of a known count are put down and cut off behind the payload,
/// which is quicker than to copy as many as there are.
#[inline]
pub(super) fn encode_short(out: &mut Vec<u8>, number: i64, tags: NumberTags) {
    let significant = if number < 0 { !number } else { number };
    let bits = i64::BITS - significant.leading_zeros();
    let length = bits.div_ceil(8);
    let tag_distance = u8::try_from(length).unwrap_or(tags.payload_bytes_max);
    let tag = if number < 0 {
        tags.zero - 1 - tag_distance
    } else {
        tags.zero + tag_distance
    };
    let payload = number.checked_shl(i64::BITS - 8 * length).unwrap_or(0);
    let mut bytes = [tag; 1 + SHORT_BYTES];
    if let Some(behind) = bytes.last_chunk_mut::<SHORT_BYTES>() {
        *behind = payload.to_be_bytes();
    }
    let end = out.len() + 1 + usize::from(tag_distance);
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

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

/// A number of 64 bits at the front, with its tag, and what lies behind it; `None` for all else, of which [`decode`]
/// tells what it is. Hot: what sorts hold is mostly of this kind.
#[inline]
pub(super) fn decode_short(bytes: &[u8], mask: u8, tags: NumberTags) -> Option<(i64, &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let tag = tag ^ mask;
    if !tags.range().contains(&tag) {
        return None;
    }
    let (payload, rest) = rest.split_at_checked(payload_bytes(tag, tags))?;
    let is_negative = tag < tags.zero;
    let leading = if is_negative { 0xFF } else { 0x00 };
    if payload.first().is_some_and(|first| first ^ mask == leading) {
        return None;
    }
    let number = payload.iter().fold(-i64::from(is_negative), |high, byte| {
        high << 8 | i64::from(byte ^ mask)
    });
    ((number < 0) == is_negative).then_some((number, rest))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Direction;
    use super::super::tag::INTEGER;
    use super::*;

    /// Numbers of every length, and those beside a change of it.
    fn numbers() -> impl Strategy<Value = i64> {
        let beside = (0..64_u32, -2..=2_i64, any::<bool>()).prop_map(|(bit, more, negative)| {
            let number = 1_i64.wrapping_shl(bit).wrapping_add(more);
            if negative {
                number.wrapping_neg()
            } else {
                number
            }
        });
        prop_oneof![any::<i64>(), beside]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn short_numbers_are_written_as_wide_ones(number in numbers()) {
            let (mut short, mut wide) = (vec![7], vec![7]);
            encode_short(&mut short, number, INTEGER);
            encode(&mut wide, i128::from(number), INTEGER);
            prop_assert_eq!(short, wide);
        }

        #[test]
        fn what_is_read_the_short_way_is_what_the_long_way_reads(
            number in numbers(),
            // Another byte there, also the one that a first byte never is.
            (at, other) in (0..4_usize, prop_oneof![Just(0x00), Just(0xff), any::<u8>()]),
            (cut, more) in (0..12_usize, any::<[u8; 2]>()),
            is_descending in any::<bool>(),
        ) {
            let mut bytes = Vec::new();
            encode_short(&mut bytes, number, INTEGER);
            bytes.extend(more);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = other;
            }
            bytes.truncate(cut.max(1));
            let mask = Direction::of(is_descending).mask();
            let mut cursor = Cursor::new(&bytes, Direction::of(is_descending));
            let tag = cursor.byte().unwrap();
            let long = decode_any(&mut cursor, tag, INTEGER).ok();
            let long = long.and_then(|number| i64::try_from(number).ok());
            let short = decode_short(&bytes, mask, INTEGER);
            prop_assert_eq!(short, long.map(|number| (number, cursor.rest())));
        }
    }
}
