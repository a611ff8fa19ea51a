//! The files of dropped spaces: those that hold nothing else are unlinked at once, with a new list that is without them.
//!
//! A list that cannot be written ends all writing ([`super::lists`]), so that on a full disk they wait until there is
//! room for one.

use std::ops::Bound;
use std::path::Path;
use std::sync::Weak;

use fjall::{AbstractTree, Keyspace};
use lsm_tree::Table;

use super::{check_writes, let_go, lists};
use crate::kv::lsm::{Shared, fault, room, spaces};
use crate::kv::{KeyRange, Space};

/// Dropped spaces on each side of one that is dropped that are looked at: more than a table has indexes.
const BESIDE_MAX: u32 = 100;

/// Dropped spaces that wait for room; the files of more are left to compactions, and to the next start.
const WAITING_MAX: usize = 10_000;

/// Unlinks the files of dropped spaces.
pub(super) struct Unlinking {
    /// Those that wait for room.
    waiting: Vec<Space>,
    takes_list: fn(&Path) -> bool,
}

impl Default for Unlinking {
    fn default() -> Unlinking {
        Unlinking {
            waiting: Vec::new(),
            takes_list: room::takes_list,
        }
    }
}

impl Unlinking {
    /// Unlinks those of a space, now or later.
    pub(super) fn of(&mut self, (shared, data): (&Weak<Shared>, &Keyspace), space: Space) {
        if check_writes(shared).is_err() {
            // The next start drops them.
            return;
        }
        if (self.takes_list)(data.path()) {
            drop_tables((shared, data), space);
            return;
        }
        if self.waiting.is_empty() {
            tracing::warn!(
                "files of dropped tables are removed when there is room to write a list without them"
            );
        }
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push(space);
        }
    }

    /// Those that wait, if there is room by now.
    pub(super) fn try_again(&mut self, (shared, data): (&Weak<Shared>, &Keyspace)) {
        if self.waiting.is_empty() || !(self.takes_list)(data.path()) {
            return;
        }
        let replaced = data.tree.current_version();
        for space in std::mem::take(&mut self.waiting) {
            self.of((shared, data), space);
        }
        let_go(shared, data);
        drop(replaced);
    }
}

/// Unlinks the tables that hold nothing but keys of a dropped space, and of those beside it that were dropped, too.
fn drop_tables((shared, data): (&Weak<Shared>, &Keyspace), space: Space) {
    let (first, last) = shared.upgrade().map_or((space, space), |shared| {
        let is_gone = |space: &Space| shared.gone.contains(*space);
        with_those_beside(space, |space| {
            shared.dead.contains(*space) || is_gone(space)
        })
    });
    let (start, _) = spaces::physical_range(first, &KeyRange::all());
    let (_, until) = spaces::physical_range(last, &KeyRange::all());
    if !has_table_within(data, (&start, &until)) {
        return;
    }
    let bounds = (Bound::Included(start), Bound::Excluded(until));
    if let Err(cause) = data.tree.drop_range::<Vec<u8>, _>(bounds) {
        let cause = fault::error("removing tables of a dropped space", &cause.into());
        tracing::warn!(%cause, %space, "tables of a dropped space were not removed");
        if let Some(shared) = shared.upgrade() {
            lists::end_writing_if_begun((&shared, data), &cause);
        }
    }
}

/// Whether a table has nothing but keys within the bounds. Where none has, a list without them would say what the present
/// one says.
fn has_table_within(data: &Keyspace, (start, until): (&[u8], &[u8])) -> bool {
    let version = data.tree.current_version();
    let is_within = |table: &Table| {
        let keys = &table.metadata.key_range;
        start <= keys.min().as_ref() && keys.max().as_ref() < until
    };
    version.iter_tables().any(is_within)
}

/// The first and the last of the dropped spaces around one, with none between that may be alive, and not too far.
fn with_those_beside(space: Space, is_dropped: impl Fn(&Space) -> bool) -> (Space, Space) {
    let furthest = |step: fn(u32, u32) -> Option<u32>| {
        let beside = (1..=BESIDE_MAX).map_while(|far| step(space.0, far).map(Space));
        beside.take_while(&is_dropped).last().unwrap_or(space)
    };
    (furthest(u32::checked_sub), furthest(u32::checked_add))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kv::lsm::compaction::Rules;
    use crate::kv::lsm::compression::Compression;
    use crate::kv::lsm::room::pause::Floor;
    use crate::kv::lsm::spaces::DeadSpaces;
    use crate::kv::lsm::{Options, tree};

    #[test]
    fn a_file_of_several_dropped_spaces_goes_as_a_whole() {
        let dropped = [0, 2, 3, 4, 6, u32::MAX - 1, u32::MAX];
        let around = |space| with_those_beside(Space(space), |space| dropped.contains(&space.0));
        for (space, first, last) in [(3, 2, 4), (0, 0, 0), (6, 6, 6)] {
            assert_eq!(around(space), (Space(first), Space(last)));
        }
        assert_eq!(around(u32::MAX), (Space(u32::MAX - 1), Space(u32::MAX)));
    }

    /// A list that is begun and not ended would end all writing, in a start on a full disk, too.
    #[test]
    fn files_wait_where_there_is_no_room_for_a_list() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::new(dir.path());
        let rules = Rules {
            dead: DeadSpaces::default(),
            expiry: None,
            compression: Arc::new(Compression::open(dir.path(), options.memtable_bytes).unwrap()),
            floor: Arc::new(Floor::new(dir.path(), 0)),
        };
        let (_db, data) = tree::open(dir.path(), &options, rules).unwrap();
        let mut key = Vec::new();
        spaces::put_physical(Space(3), b"key", &mut key);
        data.insert(key, "value").unwrap();
        data.rotate_memtable_and_wait().unwrap();
        let engine = (&Weak::new(), &data);
        let mut unlinking = Unlinking {
            takes_list: |_| false,
            ..Unlinking::default()
        };
        unlinking.of(engine, Space(3));
        unlinking.try_again(engine);
        assert_eq!(data.tree.table_count(), 1);
        unlinking.takes_list = room::takes_list;
        unlinking.try_again(engine);
        assert_eq!(data.tree.table_count(), 0);
        assert!(unlinking.waiting.is_empty());
    }
}
