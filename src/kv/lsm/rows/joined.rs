//! Two pieces of bytes in one allocation together with the count of their users.
//!
//! [`Bytes`] of its own accord keeps that count in a second allocation; for a row that is looked
//! up by chance somewhere in memory this is one more wait for it.

use bytes::Bytes;

/// What [`Bytes::from_owner`] puts beside its owner, and the owner's own length.
const HEAD_BYTES: usize = 16 + size_of::<u16>();

/// What places are multiples of.
const PLACE_BYTES: usize = 64;

/// Bytes in a place of fixed size.
struct Inline<const SIZE: usize> {
    len: u16,
    bytes: [u8; SIZE],
}

impl<const SIZE: usize> AsRef<[u8]> for Inline<SIZE> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// `key`, then `value`.
pub(super) fn joined(key: &[u8], value: &[u8]) -> Bytes {
    // The places are what allocators have: multiples of a cache line, ever further apart.
    match key.len() + value.len() {
        0..=46 => inline::<{ 64 - HEAD_BYTES }>(key, value),
        47..=110 => inline::<{ 128 - HEAD_BYTES }>(key, value),
        111..=174 => inline::<{ 192 - HEAD_BYTES }>(key, value),
        175..=238 => inline::<{ 256 - HEAD_BYTES }>(key, value),
        239..=366 => inline::<{ 384 - HEAD_BYTES }>(key, value),
        367..=494 => inline::<{ 512 - HEAD_BYTES }>(key, value),
        495..=750 => inline::<{ 768 - HEAD_BYTES }>(key, value),
        751..=1006 => inline::<{ 1024 - HEAD_BYTES }>(key, value),
        1007.. => Bytes::from([key, value].concat()),
    }
}

/// About what [`joined`] takes of memory for so many bytes.
pub(super) fn allocated(len: usize) -> usize {
    (len + HEAD_BYTES).next_multiple_of(PLACE_BYTES)
}

fn inline<const SIZE: usize>(key: &[u8], value: &[u8]) -> Bytes {
    let mut inline = Inline {
        len: 0,
        bytes: [0; SIZE],
    };
    let len = key.len() + value.len();
    let places = inline.bytes.get_mut(..len);
    let places = places.and_then(|places| places.split_at_mut_checked(key.len()));
    if let (Some((key_place, value_place)), Ok(len)) = (places, u16::try_from(len)) {
        key_place.copy_from_slice(key);
        value_place.copy_from_slice(value);
        inline.len = len;
        return Bytes::from_owner(inline);
    }
    Bytes::from([key, value].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_at_any_length() {
        let bytes: Vec<u8> = (0..2100_u32)
            .map(|n| u8::try_from(n % 251).unwrap())
            .collect();
        for len in 0..bytes.len() {
            let (key, value) = bytes[..len].split_at(len / 3);
            assert_eq!(joined(key, value), bytes[..len], "{len} bytes");
        }
    }
}
