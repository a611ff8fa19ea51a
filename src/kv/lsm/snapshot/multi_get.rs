//! The values of many keys: those that the row cache has at once, the others from the tree, of which an answer has
//! some at a time.

use std::sync::Arc;

use bytes::Bytes;

use super::{Base, stopped};
use crate::kv::lsm::rows::{Place, Row};
use crate::kv::lsm::spaces::PhysicalKey;
use crate::kv::page::PAGE_BYTES;
use crate::kv::{Answer, Key, Result, Space};
use crate::leisure;

/// Keys of a multi-get that are read from the tree on the caller's thread.
const NOW_KEYS_MAX: usize = 128;

/// Keys of a multi-get that are looked for in the row cache on the caller's thread: about the time
/// of [`NOW_KEYS_MAX`] in the tree.
const NOW_LOOKUPS_MAX: usize = 4096;

/// Keys of a multi-get that are read first in their own order, whatever that of the answer is: neighbours are in
/// one block.
const FIRST_STRETCH_KEYS: usize = 8;

/// A multi-get of which the row cache has answered a part.
struct Begun<K> {
    found: Vec<Option<Bytes>>,
    /// What is to be read yet, and its place in `found`.
    misses: Vec<(usize, K)>,
}

impl Begun<&Key> {
    fn into_owned(self) -> Begun<Key> {
        let misses = self.misses.into_iter();
        Begun {
            found: self.found,
            misses: misses.map(|(idx, key)| (idx, key.clone())).collect(),
        }
    }
}

/// The values of the first of these keys.
pub(super) fn answer<'a>(
    base: &Arc<Base>,
    space: Space,
    keys: &'a [Key],
) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
    if let [key] = keys {
        // What is done so that waits overlap costs more than it brings.
        return Answer::Now(base.get(space, key.as_ref()).map(|found| vec![found]));
    }
    let begun = base.begin_multi_get(space, keys);
    let is_long = NOW_KEYS_MAX < begun.misses.len();
    match leisure::pool() {
        Some(pool) if is_long => {
            let (base, begun) = (Arc::clone(base), begun.into_owned());
            let work = pool.spawn_blocking(move || base.end_multi_get(space, begun));
            Answer::later(async move { work.await.unwrap_or_else(|_| Err(stopped())) })
        }
        _ => Answer::Now(base.end_multi_get(space, begun)),
    }
}

impl Base {
    /// Answers a multi-get from the row cache, as far as that goes and does not take long.
    fn begin_multi_get<'a>(&self, space: Space, keys: &'a [Key]) -> Begun<&'a Key> {
        let mut found = Vec::with_capacity(keys.len());
        let mut misses = Vec::new();
        let (now, later) = keys.split_at(keys.len().min(NOW_LOOKUPS_MAX));
        let mut told = |key, row: Option<Row>| {
            if row.is_none() {
                misses.push((found.len(), key));
            }
            found.push(row.and_then(Row::into_value));
        };
        let physical = now.iter().map(|key| PhysicalKey::new(space, key));
        let physical: Vec<PhysicalKey> = physical.collect();
        let places = physical.iter().map(|key| self.rows.place(key.as_ref()));
        let places: Vec<Place<'_>> = places.collect();
        let mut asked = now.iter();
        self.rows.get_all(&places, self.ts, |row| {
            if let Some(key) = asked.next() {
                told(key, row);
            }
        });
        for key in later {
            told(key, None);
        }
        debug_assert_eq!(found.len(), keys.len(), "one answer for each key");
        Begun { found, misses }
    }

    /// Reads the rest of a multi-get; the answer ends where it has bytes enough. It is read stretch by stretch, each in
    /// the order of its keys, and twice as long as the one before unless that would be too much: what was read of
    /// the last one may be in vain.
    fn end_multi_get<K: AsRef<[u8]>>(
        &self,
        space: Space,
        begun: Begun<K>,
    ) -> Result<Vec<Option<Bytes>>> {
        let Begun {
            mut found,
            mut misses,
        } = begun;
        // What the cache has is there anyway.
        let mut bytes = 0;
        let (mut rest, mut length, mut read) = (misses.as_mut_slice(), FIRST_STRETCH_KEYS, 0);
        while !rest.is_empty() {
            let (stretch, behind) = rest.split_at_mut(length.min(rest.len()));
            stretch.sort_unstable_by(|(_, one), (_, other)| one.as_ref().cmp(other.as_ref()));
            let mut unread = stretch.iter();
            while bytes <= PAGE_BYTES
                && let Some((key_idx, key)) = unread.next()
            {
                let value = self.get(space, key.as_ref())?;
                bytes += value.as_ref().map_or(0, Bytes::len);
                if let Some(slot) = found.get_mut(*key_idx) {
                    *slot = value;
                }
            }
            if let Some((key_idx, key)) = unread.min_by_key(|(key_idx, _)| key_idx) {
                found.truncate(*key_idx);
                if found.is_empty() {
                    found.push(self.get(space, key.as_ref())?);
                }
                break;
            }
            read += stretch.len();
            let fitting = PAGE_BYTES.saturating_sub(bytes) / bytes.div_ceil(read).max(1);
            length = (2 * length).min(fitting).max(1);
            rest = behind;
        }
        Ok(found)
    }
}
