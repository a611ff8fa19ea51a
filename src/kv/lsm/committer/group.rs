//! A batch in the making: what its members write, of each key the last write.
//!
//! This file is hot: every write of every commit goes through it.

use std::hash::{Hash, Hasher};

use fjall::Slice;
use tokio::sync::oneshot;

use crate::kv::lsm::counts::Counted;
use crate::kv::lsm::queue::Outcome;
use crate::kv::lsm::recent::{ByHash, KeyHash};

/// A batch in the making.
#[derive(Default)]
pub(super) struct Group {
    pub(super) items: Items,
    pub(super) counted: Counted,
    pub(super) bytes: usize,
    pub(super) members: Vec<oneshot::Sender<Outcome>>,
}

/// What is written to each key: a value, or `None` to delete it.
#[derive(Default)]
pub(super) struct Items(ByHash<Hashed, Option<Slice>>);

/// A physical key with the hash that it has for [`super::Recent`], too: it is not worked out twice.
#[derive(PartialEq, Eq)]
struct Hashed {
    hash: KeyHash,
    key: Slice,
}

impl Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl Items {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// Writes to a key, over what was written before.
    pub(super) fn write(&mut self, (hash, key): (KeyHash, &[u8]), value: Option<Slice>) {
        let key = Slice::from(key);
        self.0.insert(Hashed { hash, key }, value);
    }

    /// Whether a key is there after the batch; `None` when the batch does not write it.
    pub(super) fn leaves(&self, (hash, key): (KeyHash, &[u8])) -> Option<bool> {
        let key = Slice::from(key);
        self.0.get(&Hashed { hash, key }).map(Option::is_some)
    }

    /// All of them in key order: the ways to neighbours in the memtable are the same for the most part, and are in the
    /// processor's cache for the next.
    pub(super) fn into_sorted(self) -> Vec<(Slice, Option<Slice>)> {
        let items = self.0.into_iter();
        let mut items: Vec<_> = items.map(|(item, value)| (item.key, value)).collect();
        items.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::Ts;
    use crate::kv::lsm::recent::Recent;

    #[test]
    fn of_each_key_the_last_write_counts() {
        let recent = Recent::new(Ts(0));
        let of = |key: &'static [u8]| (recent.hash(key), key);
        let mut items = Items::default();
        for (key, value) in [
            ("b", Some("1")),
            ("a", Some("2")),
            ("b", None),
            ("a", Some("3")),
        ] {
            items.write(of(key.as_bytes()), value.map(Slice::from));
        }
        assert_eq!(items.leaves(of(b"a")), Some(true));
        assert_eq!(items.leaves(of(b"b")), Some(false));
        assert_eq!(items.leaves(of(b"c")), None);
        // Keys are told apart though they had one hash.
        assert_eq!(items.leaves((recent.hash(b"a"), b"c")), None);
        let sorted = [("a", Some("3")), ("b", None)];
        let sorted = sorted.map(|(key, value)| (Slice::from(key), value.map(Slice::from)));
        assert_eq!(items.into_sorted(), sorted);
    }
}
