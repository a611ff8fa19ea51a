//! Keys of bytes, each with a number: 0, 1, 2… in the order in which they are first met.
//!
//! Open addressing over slots of eight bytes, the keys side by side in segments: no allocation per
//! key, and a growing table does not move its keys. Nothing can be taken out. Hot.

/// Bytes of a segment of keys; a longer key has one of its own.
const SEGMENT_BYTES: usize = 64 * 1024;

/// Slots of the smallest table.
const SLOTS_MIN: usize = 16;

/// What a key costs beyond its bytes: its head and slots, with room to grow.
pub const KEY_OVERHEAD_BYTES: usize = 2 * size_of::<Head>() + 2 * size_of::<u64>();

/// The low half of a slot is a key's number plus one, the high half that of its hash.
const NUMBER_MASK: u64 = 0xFFFF_FFFF;

/// Keys and their numbers.
#[derive(Debug, Default)]
pub struct KeyTable {
    /// As many as a power of two; zero is free.
    slots: Vec<u64>,
    heads: Vec<Head>,
    segments: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Head {
    hash: u64,
    segment: u32,
    start: u32,
    bytes: u32,
}

impl KeyTable {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The number of a key.
    #[inline]
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = place(hash, mask);
        loop {
            let slot = *self.slots.get(at)?;
            if slot == 0 {
                return None;
            }
            if (slot ^ hash) & !NUMBER_MASK == 0 {
                let number = number_of(slot);
                if self.key(number) == Some(key) {
                    return Some(number);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a key that is not there; its number, or `None` when there are too many keys.
    pub fn insert(&mut self, hash: u64, key: &[u8]) -> Option<usize> {
        let number = self.heads.len();
        let stored = u64::try_from(number).ok()?.checked_add(1)?;
        if NUMBER_MASK < stored {
            return None;
        }
        // At most two of three slots are taken.
        if self.slots.len() * 2 <= (number + 1) * 3 {
            self.grow();
        }
        let (segment, start) = self.store(key)?;
        self.heads.push(Head {
            hash,
            segment,
            start,
            bytes: u32::try_from(key.len()).ok()?,
        });
        put(&mut self.slots, hash, stored);
        Some(number)
    }

    fn store(&mut self, key: &[u8]) -> Option<(u32, u32)> {
        let has_room = self
            .segments
            .last()
            .is_some_and(|last| last.len() + key.len() <= last.capacity());
        if !has_room {
            // A small table stays small.
            let bytes = self.segments.last().map_or(1024, Vec::capacity) * 2;
            let bytes = bytes.min(SEGMENT_BYTES).max(key.len());
            self.segments.push(Vec::with_capacity(bytes));
        }
        let segment_idx = u32::try_from(self.segments.len().checked_sub(1)?).ok()?;
        let segment = self.segments.last_mut()?;
        let start = u32::try_from(segment.len()).ok()?;
        segment.extend_from_slice(key);
        Some((segment_idx, start))
    }

    fn grow(&mut self) {
        let slots_count = (self.slots.len() * 2).max(SLOTS_MIN);
        let mut slots = vec![0; slots_count];
        for (head, stored) in self.heads.iter().zip(1_u64..) {
            put(&mut slots, head.hash, stored);
        }
        self.slots = slots;
    }

    /// The key of that number.
    #[inline]
    pub fn key(&self, number: usize) -> Option<&[u8]> {
        let head = self.heads.get(number)?;
        let start = usize::try_from(head.start).ok()?;
        let until = start + usize::try_from(head.bytes).ok()?;
        let segment = self.segments.get(usize::try_from(head.segment).ok()?)?;
        segment.get(start..until)
    }

    /// The hash that the key of that number was put in with.
    pub fn hash(&self, number: usize) -> Option<u64> {
        Some(self.heads.get(number)?.hash)
    }
}

fn put(slots: &mut [u64], hash: u64, stored: u64) {
    let Some(mask) = slots.len().checked_sub(1) else {
        return;
    };
    let mut at = place(hash, mask);
    while let Some(slot) = slots.get_mut(at) {
        if *slot == 0 {
            *slot = hash & !NUMBER_MASK | stored;
            return;
        }
        at = (at + 1) & mask;
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "only the low bits are wanted, on any machine"
)]
#[inline]
fn place(hash: u64, mask: usize) -> usize {
    hash as usize & mask
}

#[inline]
fn number_of(slot: u64) -> usize {
    usize::try_from((slot & NUMBER_MASK).wrapping_sub(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::partition::hash;

    #[test]
    fn keys_keep_their_numbers_while_the_table_grows() {
        let mut table = KeyTable::default();
        let key = |number: usize| {
            vec![b'k'; number % 300 + 1]
                .into_iter()
                .chain(number.to_string().into_bytes())
                .collect::<Vec<u8>>()
        };
        for number in 0..5000 {
            let key = key(number);
            let hash = hash(&key, 0);
            assert_eq!(table.find(hash, &key), None);
            assert_eq!(table.insert(hash, &key), Some(number));
        }
        for number in 0..5000 {
            let key = key(number);
            assert_eq!(table.find(hash(&key, 0), &key), Some(number));
            assert_eq!(table.key(number), Some(key.as_slice()));
        }
        // One hash for all.
        let mut table = KeyTable::default();
        for number in 0..100 {
            assert_eq!(table.insert(7, &key(number)), Some(number));
        }
        assert_eq!(table.find(7, &key(99)), Some(99));
        assert_eq!(table.find(7, b"other"), None);
    }
}
