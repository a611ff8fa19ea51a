//! The rows of a scan of files are those of the storage library's own iterator.

use std::path::Path;
use std::sync::Arc;

use fjall::config::{BlockSizePolicy, PartitioningPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};
use lsm_tree::Table;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::merge::Merge;
use super::view::View;
use super::{Few, FileScan, is_vacant};
use crate::kv::lsm::compression::{Compression, stored};
use crate::kv::lsm::spaces;
use crate::kv::{KeyRange, Page, Scan, ScanOptions, Space, Ts};

const SPACE: Space = Space(7);

/// Keys in use: few, so that versions of one key meet.
const KEYS: u32 = 400;

/// Nothing is compressed.
fn plain() -> Arc<Compression> {
    Arc::new(Compression::open(Path::new("nowhere"), 0).unwrap())
}

/// A snapshot with its files.
type State = (Snapshot, View);

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

struct Tree {
    db: Database,
    data: Keyspace,
    rng: StdRng,
    _dir: tempfile::TempDir,
}

impl Tree {
    fn new(seed: u64) -> Tree {
        // As the library has it: in parts on the deepest levels.
        Tree::with_index(seed, &PartitioningPolicy::new([false, false, false, true]))
    }

    fn with_index(seed: u64, in_parts: &PartitioningPolicy) -> Tree {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::builder(dir.path()).open().unwrap();
        let options = || {
            KeyspaceCreateOptions::default()
                .data_block_size_policy(BlockSizePolicy::all(1024))
                .index_block_partitioning_policy(in_parts.clone())
        };
        let data = db.keyspace("data", options).unwrap();
        Tree {
            db,
            data,
            rng: StdRng::seed_from_u64(seed),
            _dir: dir,
        }
    }

    fn key(&mut self) -> Vec<u8> {
        let key = self.rng.random_range(0..KEYS);
        // Some shorter, some longer than what the library keeps in place.
        match key % 3 {
            0 => format!("{key:03}").into_bytes(),
            _ => format!("{key:03}-{}", "x".repeat(30)).into_bytes(),
        }
    }

    /// Writes, deletes, flushes or compacts something.
    fn step(&mut self) {
        match self.rng.random_range(0..40) {
            0 => self.data.rotate_memtable_and_wait().unwrap(),
            1 => self.data.major_compact().unwrap(),
            _ => self.write(),
        }
    }

    fn write(&mut self) {
        let mut batch = self.db.batch().durability(Some(PersistMode::Buffer));
        for _ in 0..self.rng.random_range(1..20) {
            let space = Space(self.rng.random_range(SPACE.0 - 1..=SPACE.0 + 1));
            let mut key = Vec::new();
            spaces::put_physical(space, &self.key(), &mut key);
            if self.rng.random_ratio(1, 3) {
                batch.remove(&self.data, key);
            } else {
                let mut value = vec![b'v'; self.rng.random_range(1..200)];
                // At times the first byte is one that is stored as two.
                value[0] = [b'v', 0xfe, 0xff][self.rng.random_range(0..3)];
                batch.insert(&self.data, key, stored(value.into()));
            }
        }
        batch.commit().unwrap();
    }

    fn range(&mut self) -> KeyRange {
        match self.rng.random_range(0..4) {
            0 => KeyRange::all(),
            1 => KeyRange {
                start: self.key(),
                until: None,
            },
            _ => {
                let mut ends = [self.key(), self.key()];
                ends.sort();
                let [start, until] = ends;
                KeyRange::between(start, until)
            }
        }
    }

    /// The rows as the library's iterator has them.
    fn expected(&self, snapshot: &Snapshot, scan: &Scan) -> Rows {
        let (start, until) = spaces::physical_range(scan.space, &scan.range);
        let rows = snapshot.range(&self.data, start..until);
        rows.map(|row| row.into_inner().unwrap())
            .map(|(key, value)| {
                let plain = plain().plain(scan.space, &value).unwrap().into_owned();
                (key[spaces::PREFIX_BYTES..].to_vec(), plain)
            })
            .collect()
    }

    fn state(&self) -> Option<State> {
        Some((
            self.db.snapshot(),
            View::take(&self.data.tree, &plain(), None)?,
        ))
    }

    /// The rows as they come in one page, and one by one.
    fn found_at_once((snapshot, view): &State, scan: &Scan) -> Rows {
        let bounds = spaces::physical_range(scan.space, &scan.range);
        let mut page = Page::default();
        let mut merge = Merge::new(view, bounds, snapshot.seqno());
        merge.fill(scan, &mut page).unwrap();
        let rows = page.iter();
        let rows: Rows = rows
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect();
        assert_eq!(
            Tree::found_one_by_one((snapshot, view), scan, rows.len() + 1),
            rows,
            "{scan:?}"
        );
        rows
    }

    /// The first rows, read through the cache.
    fn found_one_by_one(
        (snapshot, view): (&Snapshot, &View),
        scan: &Scan,
        rows_max: usize,
    ) -> Rows {
        let bounds = spaces::physical_range(scan.space, &scan.range);
        let mut few = Few::begin(view, (Ts(snapshot.seqno()), bounds), false);
        let mut rows = Rows::new();
        while rows.len() < rows_max && few.next().unwrap() {
            let (key, value) = few.row();
            rows.push((key[spaces::PREFIX_BYTES..].to_vec(), value.to_vec()));
        }
        rows
    }

    /// The rows as they come page by page.
    fn found(&mut self, (snapshot, view): &State, mut scan: Scan) -> Rows {
        let bounds = spaces::physical_range(scan.space, &scan.range);
        let mut merge = Merge::new(view, bounds, snapshot.seqno());
        let mut rows = Rows::new();
        let mut page = Page::default();
        loop {
            page.clear();
            scan.options.max_rows = self.rng.random_range(1..50);
            merge.fill(&scan, &mut page).unwrap();
            let copied = page
                .iter()
                .map(|(key, value)| (key.to_vec(), value.to_vec()));
            rows.extend(copied);
            if !scan.advance(&mut page) {
                return rows;
            }
            // What is written meanwhile is not seen.
            self.step();
        }
    }
}

#[test]
fn rows_are_those_of_the_librarys_iterator() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut compared = 0;
    for round in 0..6_u64 {
        let mut tree = Tree::new(seed ^ round);
        let mut states = Vec::new();
        for _ in 0..120 {
            tree.step();
            if tree.rng.random_ratio(1, 10) {
                states.extend(tree.state());
            }
            if 4 < states.len() {
                let one = tree.rng.random_range(0..states.len());
                states.swap_remove(one);
            }
            let range = tree.range();
            let scan = Scan::new(SPACE, range);
            for state in &states {
                let expected = tree.expected(&state.0, &scan);
                let few = tree.rng.random_range(0..=expected.len() + 1);
                let first = Tree::found_one_by_one((&state.0, &state.1), &scan, few);
                let wanted = &expected[..few.min(expected.len())];
                assert_eq!(first, wanted, "seed {seed}, {few} of {scan:?}");
                let found = tree.found(state, scan.clone());
                assert_eq!(found, expected, "seed {seed}, {scan:?}");
                compared += 1;
            }
        }
    }
    assert!(100 < compared, "only {compared} scans were compared");
}

/// Property: where the library finds a row nothing is vacant; behind all rows it is, wherever they lie.
#[test]
fn what_is_vacant_has_no_rows() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let (mut vacant_count, mut other_count) = (0, 0);
    for round in 0..40_u64 {
        let mut tree = Tree::new(seed ^ round);
        for _ in 0..10 {
            tree.step();
            let Some(state) = tree.state() else {
                continue;
            };
            let behind = KeyRange::between(*b"998", *b"999");
            for range in [tree.range(), tree.range(), behind.clone()] {
                let bounds = spaces::physical_range(SPACE, &range);
                let is_vacant = is_vacant(&state.1, bounds).unwrap();
                let is_empty = tree
                    .expected(&state.0, &Scan::new(SPACE, range.clone()))
                    .is_empty();
                assert!(is_empty || !is_vacant, "seed {seed}, {range:?}");
                assert!(is_vacant || range != behind, "seed {seed}, behind all rows");
                vacant_count += u32::from(is_vacant);
                other_count += u32::from(!is_vacant);
            }
        }
    }
    assert!(100 < vacant_count.min(other_count));
}

#[test]
fn a_part_of_a_file_begins_at_its_block() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    for in_parts in [false, true] {
        let mut tree = Tree::with_index(seed, &PartitioningPolicy::all(in_parts));
        let key = |number: u32| format!("{number:06}").into_bytes();
        // A thousand blocks, whose index is several blocks where it is in parts. Some keys have two
        // versions, and the second batch lies in a file of its own.
        for numbers in [(0..40_000).step_by(2), (0..4_000).step_by(8)] {
            let mut batch = tree.db.batch().durability(Some(PersistMode::Buffer));
            for number in numbers {
                let mut physical = Vec::new();
                spaces::put_physical(SPACE, &key(number), &mut physical);
                batch.insert(&tree.data, physical, vec![b'v'; 40]);
            }
            batch.commit().unwrap();
            tree.data.rotate_memtable_and_wait().unwrap();
        }
        let state = tree.state().unwrap();
        let tables = state.1.tables();
        let parts = tables.iter().filter(|table| table.regions.index.is_some());
        assert_eq!(0 < parts.count(), in_parts);
        for _ in 0..300 {
            let start = tree.rng.random_range(0..41_000);
            let rows = tree.rng.random_range(0..200);
            let scan = Scan::new(SPACE, KeyRange::between(key(start), key(start + rows)));
            let expected = tree.expected(&state.0, &scan);
            let found = Tree::found_at_once(&state, &scan);
            assert_eq!(found, expected, "seed {seed}, {start} and {rows} behind it");
        }
    }
}

#[test]
fn all_versions_of_a_key_are_met_where_they_fill_several_blocks() {
    let tree = Tree::new(3);
    let key = |number: u32| format!("{number:06}").into_bytes();
    let mut states = Vec::new();
    for version in 0..300_u32 {
        let mut batch = tree.db.batch().durability(Some(PersistMode::Buffer));
        for number in [1, 5, 900_000 + version] {
            let mut physical = Vec::new();
            spaces::put_physical(SPACE, &key(number), &mut physical);
            batch.insert(
                &tree.data,
                physical,
                version.to_string().repeat(10).as_bytes(),
            );
        }
        batch.commit().unwrap();
        // What a snapshot sees stays in the files.
        states.extend(tree.state().filter(|_| version % 7 == 0));
    }
    let seen: Vec<Snapshot> = states.into_iter().map(|(snapshot, _)| snapshot).collect();
    tree.data.rotate_memtable_and_wait().unwrap();
    for snapshot in seen {
        let scan = Scan::new(SPACE, KeyRange::between(key(5), key(900_000)));
        let expected = tree.expected(&snapshot, &scan);
        assert_eq!(expected.len(), 1);
        let state = (
            snapshot,
            View::take(&tree.data.tree, &plain(), None).unwrap(),
        );
        assert_eq!(Tree::found_at_once(&state, &scan), expected);
    }
}

#[test]
fn short_pages_are_read_from_files_where_their_scan_is_long() {
    let tree = Tree::new(3);
    let view = View::take(&tree.data.tree, &plain(), None).unwrap();
    let begins = |is_long, reverse| {
        let mut scan = Scan::new(SPACE, KeyRange::all());
        scan.options.max_rows = 16;
        (scan.options.is_long, scan.options.reverse) = (is_long, reverse);
        FileScan::begin((&view, &tree.data), Ts(1), &scan).is_some()
    };
    assert!(begins(true, false));
    assert!(!begins(false, false) && !begins(true, true));
}

#[test]
fn files_are_listed_anew_when_there_are_others() {
    let mut tree = Tree::new(5);
    let take =
        |tree: &Tree, before: Option<&View>| View::take(&tree.data.tree, &plain(), before).unwrap();
    tree.write();
    let empty = take(&tree, None);
    tree.write();
    let same = take(&tree, Some(&empty));
    assert!(Arc::ptr_eq(&empty.files, &same.files));
    tree.data.rotate_memtable_and_wait().unwrap();
    let flushed = take(&tree, Some(&same));
    assert_eq!((same.tables().len(), flushed.tables().len()), (0, 1));
    tree.write();
    tree.data.rotate_memtable_and_wait().unwrap();
    tree.data.major_compact().unwrap();
    let compacted = take(&tree, Some(&flushed));
    let ids = |view: &View| view.tables().iter().map(Table::id).collect::<Vec<_>>();
    assert_ne!(ids(&compacted), ids(&flushed));
}

#[test]
fn keys_alone_come_without_values() {
    let mut tree = Tree::new(1);
    for _ in 0..30 {
        tree.write();
    }
    tree.data.rotate_memtable_and_wait().unwrap();
    let scan = Scan {
        options: ScanOptions {
            keys_only: true,
            ..ScanOptions::default()
        },
        ..Scan::new(SPACE, KeyRange::all())
    };
    let state = tree.state().unwrap();
    let expected = tree.expected(&state.0, &scan);
    let found = tree.found(&state, scan);
    assert!(found.iter().all(|(_, value)| value.is_empty()));
    let keys = |rows: &Rows| rows.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(&expected));
}

#[test]
fn a_flipped_bit_is_damage_and_no_row() {
    let mut tree = Tree::new(2);
    for _ in 0..60 {
        tree.write();
    }
    tree.data.rotate_memtable_and_wait().unwrap();
    let state = tree.state().unwrap();
    let table = state.1.tables().pop().unwrap();
    let whole = std::fs::read(&*table.path).unwrap();
    let scan = Scan::new(SPACE, KeyRange::all());
    // Some bit of the first block of rows.
    for at in [8, 60, 300] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&*table.path, &damaged).unwrap();
        let bounds = || (vec![0], vec![9]);
        let mut merge = Merge::new(&state.1, bounds(), u64::MAX);
        let filled = merge.fill(&scan, &mut Page::default());
        assert!(filled.is_err(), "the bit at byte {at} was not noticed");
        let mut few = Few::begin(&state.1, (Ts(u64::MAX), bounds()), false);
        assert!(
            few.next().is_err(),
            "the bit at byte {at} came from the cache"
        );
    }
}
