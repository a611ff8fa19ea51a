//! Which keys were written lately, and by which commit: what conflicts are checked against.
//!
//! Keys are kept as 64-bit hashes. Two keys with one hash make a conflict where there is none,
//! which costs a retry once in longer than a server lives, and saves the keys' memory.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use crate::kv::{Space, Ts};

/// Writes that are remembered even when no open snapshot needs them, for transactions that let go
/// of their snapshot before they commit.
const REMEMBERED_MIN: usize = 1 << 16;

/// Writes that are remembered at most, about 48 bytes each. Past it the oldest are forgotten, and
/// a transaction that is older than they are gets a conflict.
const REMEMBERED_MAX: usize = 1 << 20;

/// The recent writes.
pub(super) struct Recent {
    hashing: RandomState,
    newest: ByHash<KeyHash, Ts>,
    /// The newest write of each space that was written.
    spaces: HashMap<u32, Ts>,
    log: VecDeque<(Ts, KeyHash)>,
    /// Writes up to here may be forgotten.
    horizon: Ts,
}

/// A map whose keys bring their hash along.
pub(super) type ByHash<K, V> = HashMap<K, V, BuildHasherDefault<HashedAlready>>;

/// The hash of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KeyHash(u64);

impl Recent {
    /// Knows nothing of what was written before `now`, and need not: no snapshot is older.
    pub(super) fn new(now: Ts) -> Recent {
        Recent {
            hashing: RandomState::new(),
            newest: HashMap::default(),
            spaces: HashMap::new(),
            log: VecDeque::new(),
            horizon: now,
        }
    }

    pub(super) fn hash(&self, physical: &[u8]) -> KeyHash {
        KeyHash(self.hashing.hash_one(physical))
    }

    /// Whether a key was, or may have been, written by a commit after `ts`.
    pub(super) fn is_changed_since(&self, key: KeyHash, ts: Ts) -> bool {
        ts < self.horizon || self.newest.get(&key).is_some_and(|changed| ts < *changed)
    }

    /// Whether any key of a space was, or may have been, written by a commit after `ts`.
    pub(super) fn is_space_changed_since(&self, space: Space, ts: Ts) -> bool {
        let newest = self.spaces.get(&space.0);
        ts < self.horizon || newest.is_some_and(|changed| ts < *changed)
    }

    /// Notes that a space is written; its keys are noted one by one.
    pub(super) fn note_space(&mut self, space: Space, ts: Ts) {
        self.spaces.insert(space.0, ts);
    }

    /// Forgets a space that will never be written again.
    pub(super) fn forget_space(&mut self, space: Space) {
        self.spaces.remove(&space.0);
    }

    /// Notes a write.
    pub(super) fn note(&mut self, key: KeyHash, ts: Ts) {
        self.newest.insert(key, ts);
        self.log.push_back((ts, key));
    }

    /// Forgets what no snapshot from `oldest` on can ask for, as far as memory asks for it.
    pub(super) fn prune(&mut self, oldest: Ts) {
        while REMEMBERED_MIN < self.log.len() {
            let is_over = REMEMBERED_MAX < self.log.len();
            let Some((ts, hash)) = self.log.front().copied() else {
                return;
            };
            if oldest < ts && !is_over {
                return;
            }
            self.log.pop_front();
            self.horizon = self.horizon.max(ts);
            if self.newest.get(&hash) == Some(&ts) {
                self.newest.remove(&hash);
            }
        }
    }
}

/// Passes a 64-bit hash through.
#[derive(Debug, Default)]
pub(super) struct HashedAlready(u64);

impl Hasher for HashedAlready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Hashes alone are hashed here; anything else would still be a valid, slow hash.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_a_change_for_older_readers_only() {
        let mut recent = Recent::new(Ts(5));
        let key = recent.hash(b"k");
        assert!(
            recent.is_changed_since(key, Ts(4)),
            "before the engine was opened"
        );
        assert!(!recent.is_changed_since(key, Ts(5)));
        recent.note(key, Ts(9));
        assert!(recent.is_changed_since(key, Ts(8)));
        assert!(!recent.is_changed_since(key, Ts(9)));
        assert!(!recent.is_changed_since(recent.hash(b"other"), Ts(8)));
    }

    #[test]
    fn a_space_is_changed_when_it_was_written() {
        let mut recent = Recent::new(Ts(5));
        assert!(recent.is_space_changed_since(Space(1), Ts(4)));
        assert!(!recent.is_space_changed_since(Space(1), Ts(5)));
        recent.note_space(Space(1), Ts(9));
        assert!(recent.is_space_changed_since(Space(1), Ts(8)));
        assert!(!recent.is_space_changed_since(Space(1), Ts(9)));
        assert!(!recent.is_space_changed_since(Space(2), Ts(8)));
        recent.forget_space(Space(1));
        assert!(!recent.is_space_changed_since(Space(1), Ts(8)));
    }

    #[test]
    fn memory_is_bounded_and_forgetting_means_conflict() {
        let mut recent = Recent::new(Ts(0));
        let key = recent.hash(b"k");
        let writes = REMEMBERED_MAX as u64 + 10;
        for ts in 1..=writes {
            recent.note(KeyHash(ts), Ts(ts));
        }
        recent.prune(Ts(0));
        assert_eq!(recent.log.len(), REMEMBERED_MAX);
        assert!(recent.is_changed_since(key, Ts(9)));
        assert!(!recent.is_changed_since(key, Ts(10)));
        recent.prune(Ts(writes));
        assert_eq!(recent.log.len(), REMEMBERED_MIN);
        assert_eq!(recent.newest.len(), REMEMBERED_MIN);
    }
}
