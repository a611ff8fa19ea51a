//! Two pieces of bytes in one allocation together with the count of their users.
//!
//! [`Bytes`] of its own accord keeps that count in a second allocation; for a row that is looked
//! up by chance somewhere in memory this is one more wait for it.

use bytes::Bytes;

/// What [`Bytes::from_owner`] puts beside its owner, and the owner's own length.
const HEAD_BYTES: usize = 16 + size_of::<u16>();

/// The places: what allocators have, multiples of a cache line, ever further apart.
const PLACES: [usize; 8] = [64, 128, 192, 256, 384, 512, 768, 1024];

/// What [`Bytes`] allocates beside bytes that have no place.
const SHARED_BYTES: usize = 32;

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
    // In the order of `PLACES`.
    match key.len() + value.len() {
        0..=46 => inline::<{ PLACES[0] - HEAD_BYTES }>(key, value),
        47..=110 => inline::<{ PLACES[1] - HEAD_BYTES }>(key, value),
        111..=174 => inline::<{ PLACES[2] - HEAD_BYTES }>(key, value),
        175..=238 => inline::<{ PLACES[3] - HEAD_BYTES }>(key, value),
        239..=366 => inline::<{ PLACES[4] - HEAD_BYTES }>(key, value),
        367..=494 => inline::<{ PLACES[5] - HEAD_BYTES }>(key, value),
        495..=750 => inline::<{ PLACES[6] - HEAD_BYTES }>(key, value),
        751..=1006 => inline::<{ PLACES[7] - HEAD_BYTES }>(key, value),
        1007.. => Bytes::from([key, value].concat()),
    }
}

/// What [`joined`] takes of memory for so many bytes; more than a place has is guessed by the classes of
/// allocators, four for each power of two.
pub(super) fn allocated(len: usize) -> usize {
    let taken = len + HEAD_BYTES;
    if let Some(place) = PLACES.into_iter().find(|place| taken <= *place) {
        return place;
    }
    len.next_multiple_of(len.next_power_of_two() / 8) + SHARED_BYTES
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

    #[test]
    fn memory_is_that_of_the_next_place() {
        let told: [(usize, usize); 8] = [
            (0, 64),
            (46, 64),
            (47, 128),
            (302, 384),
            (1006, 1024),
            (1007, 1024 + 32),
            (1025, 1280 + 32),
            (8193, 10240 + 32),
        ];
        for (len, bytes) in told {
            assert_eq!(allocated(len), bytes, "{len} bytes");
        }
    }
}
