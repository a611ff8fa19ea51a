//! A snapshot that also knows spaces made after it: nothing was in them then.
//!
//! For a transaction that makes a table of its own (`CREATE TEMPORARY TABLE`) and goes on reading what
//! it read before. What it writes there itself is above this room.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

use super::{Answer, Key, Page, Result, Scan, Snapshot, Space, Ts};

/// A snapshot, and spaces that are empty in it.
pub struct Later {
    base: Arc<dyn Snapshot>,
    spaces: RwLock<BTreeSet<Space>>,
}

impl Later {
    /// Over a snapshot, without any.
    pub fn over(base: Arc<dyn Snapshot>) -> Later {
        Later {
            base,
            spaces: RwLock::default(),
        }
    }

    /// A space was made that is not in the snapshot.
    pub fn add(&self, space: Space) {
        self.spaces.write().insert(space);
    }

    /// Whether a space was made after the snapshot.
    pub fn is_later(&self, space: Space) -> bool {
        self.spaces.read().contains(&space)
    }
}

impl Snapshot for Later {
    fn ts(&self) -> Ts {
        self.base.ts()
    }

    fn judged_ms(&self) -> Option<u64> {
        self.base.judged_ms()
    }

    fn has_ended(&self, space: Space, value: &[u8]) -> bool {
        self.base.has_ended(space, value)
    }

    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        if self.is_later(space) {
            return Answer::Now(Ok(None));
        }
        self.base.get(space, key)
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        if self.is_later(space) {
            return Answer::Now(Ok(vec![None; keys.len()]));
        }
        self.base.multi_get(space, keys)
    }

    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        if self.is_later(scan.space) {
            page.clear();
            return Answer::Now(Ok(()));
        }
        self.base.scan(scan, page)
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        if self.is_later(space) {
            return Answer::Now(Ok(Some(0)));
        }
        self.base.count(space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::memory::Memory;
    use crate::kv::{Engine, KeyRange, Put, WriteSet};

    #[tokio::test]
    async fn spaces_made_later_are_empty_and_others_as_they_were() {
        let engine = Memory::default();
        engine.create_space(Space(1)).await.unwrap();
        let put = |space: u32| WriteSet {
            puts: vec![Put {
                space: Space(space),
                key: b"k".to_vec(),
                value: b"v".to_vec(),
            }],
            ..WriteSet::default()
        };
        engine.commit(put(1)).await.unwrap();
        let later = Later::over(engine.snapshot());
        engine.create_space(Space(2)).await.unwrap();
        engine.commit(put(2)).await.unwrap();
        assert!(later.get(Space(2), b"k").await.is_err());
        later.add(Space(2));
        assert_eq!(later.get(Space(2), b"k").await.unwrap(), None);
        assert!(later.get(Space(1), b"k").await.unwrap().is_some());
        let keys = [b"k".to_vec(), b"l".to_vec()];
        assert_eq!(
            later.multi_get(Space(2), &keys).await.unwrap(),
            [None, None]
        );
        let mut page = Page::default();
        let scan = Scan::new(Space(2), KeyRange::all());
        later.scan(&scan, &mut page).await.unwrap();
        assert!(page.get(0).is_none());
        assert_eq!(later.count(Space(2)).await.unwrap(), Some(0));
    }
}
