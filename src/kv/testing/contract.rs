//! The contract suite: scripts in `testdata/contract`, run on every engine, alone and mirrored.
//!
//! A script is blocks of commands, a line `----`, and what they print. The same text must come from
//! every engine. Regenerate with `UPDATE_GOLDENS=1 cargo test --lib kv::testing` and read the
//! difference.
//!
//! ```text
//! create 1 | drop 1 | spaces | compact 1 | sync | reopen
//! commit [from=A] put 1 k v; delete 1 k; absent 1 k; unchanged 1 k
//! snapshot A | release A
//! get A 1 k | get newest 1 k | multi-get A 1 k k k
//! scan A 1 [start=k] [until=k] [prefix=k] [rows=3] [bytes=9] [reverse] [keys] [page]
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::{Mirror, Recorder};
use crate::kv::lsm::{Lsm, Options};
use crate::kv::memory::Memory;
use crate::kv::page::PAGE_BYTES;
use crate::kv::{Engine, Key, KeyRange, Page, Scan, Snapshot, Space, WriteSet, multi_get_all};

/// Which engine a script runs on.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Memory,
    Lsm,
    /// With a row cache that holds a row or two.
    LsmTiny,
    Mirror,
}

struct Runner {
    kind: Kind,
    dir: tempfile::TempDir,
    engine: Arc<dyn Engine>,
    snapshots: BTreeMap<String, Arc<dyn Snapshot>>,
}

fn small_options(dir: &Path) -> Options {
    Options {
        cache_bytes: 1 << 20,
        row_cache_bytes: Some(512 << 10),
        ..Options::new(dir)
    }
}

fn open(kind: Kind, dir: &Path) -> Arc<dyn Engine> {
    match kind {
        Kind::Memory => Arc::new(Memory::new()),
        Kind::Lsm => Arc::new(Lsm::open(&small_options(dir)).unwrap()),
        Kind::LsmTiny => {
            let tiny = Options {
                row_cache_bytes: Some(2 << 10),
                ..small_options(dir)
            };
            Arc::new(Lsm::open(&tiny).unwrap())
        }
        Kind::Mirror => Arc::new(Mirror::new(open(Kind::Lsm, dir), open(Kind::Memory, dir))),
    }
}

impl Runner {
    fn new(kind: Kind) -> Runner {
        let dir = tempfile::tempdir().unwrap();
        Runner {
            kind,
            engine: open(kind, dir.path()),
            dir,
            snapshots: BTreeMap::new(),
        }
    }

    async fn run(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[0] {
            "create" => show(self.engine.create_space(space(words[1])).await),
            "drop" => show(self.engine.drop_space(space(words[1])).await),
            "compact" => show(self.engine.compact(&[space(words[1])]).await),
            "sync" => show(self.engine.sync().await),
            "close" => show(self.engine.close().await),
            "reopen" => self.reopen().await,
            "spaces" => format!("{:?}\n", self.engine.spaces()),
            "commit" => self.commit(command).await,
            "snapshot" => {
                let snapshot = self.engine.snapshot();
                self.snapshots.insert(words[1].to_owned(), snapshot);
                String::new()
            }
            "release" => {
                self.snapshots.remove(words[1]).unwrap();
                String::new()
            }
            "get" => self.get(&words).await,
            "multi-get" => self.multi_get(&words).await,
            "scan" => self.scan(&words).await,
            "count" => match self.snapshots[words[1]].count(space(words[2])).await {
                Ok(Some(count)) => format!("{count}\n"),
                Ok(None) => "unknown\n".to_owned(),
                Err(cause) => format!("{cause:?}\n"),
            },
            other => panic!("no command {other}"),
        }
    }

    /// Only an engine that persists is opened again.
    async fn reopen(&mut self) -> String {
        self.snapshots.clear();
        if let Kind::Lsm | Kind::LsmTiny = self.kind {
            self.engine.close().await.unwrap();
            self.engine = open(self.kind, self.dir.path());
        }
        String::new()
    }

    async fn commit(&mut self, command: &str) -> String {
        let mut writes = WriteSet::blind();
        for part in command.strip_prefix("commit").unwrap().split(';') {
            let mut words: Vec<&str> = part.split_whitespace().collect();
            if let Some(name) = words.first().and_then(|word| word.strip_prefix("from=")) {
                writes.start_ts = Some(self.snapshots[name].ts());
                words.remove(0);
            }
            match words.as_slice() {
                [] => {}
                ["put", s, k, v] => writes.put(space(s), *k, *v),
                ["put-big", s, k, bytes] => {
                    writes.put(space(s), *k, vec![b'x'; bytes.parse().unwrap()]);
                }
                ["put-long-key", s, bytes] => {
                    writes.put(space(s), vec![b'k'; bytes.parse().unwrap()], "v");
                }
                ["growth", s, by] => drop(writes.growth.insert(space(s), by.parse().unwrap())),
                ["counted", s, keys] => writes.counted = Some((space(s), keys.parse().unwrap())),
                ["delete", s, k] => writes.delete(space(s), *k),
                ["absent", s, k] => writes.must_be_absent.push((space(s), k.as_bytes().into())),
                ["unchanged", s, k] => {
                    writes
                        .must_be_unchanged
                        .push((space(s), k.as_bytes().into()));
                }
                other => panic!("no change {other:?}"),
            }
        }
        match self.engine.commit(writes).await {
            Ok(_) => "ok\n".to_owned(),
            Err(refused) => format!("{refused:?}\n"),
        }
    }

    async fn get(&self, words: &[&str]) -> String {
        let key = words[3].as_bytes();
        let found = match words[1] {
            "newest" => self.engine.get_newest(space(words[2]), key).await,
            name => self.snapshots[name].get(space(words[2]), key).await,
        };
        match found {
            Ok(Some(value)) => format!("{}\n", value.escape_ascii()),
            Ok(None) => "none\n".to_owned(),
            Err(cause) => format!("{cause:?}\n"),
        }
    }

    async fn multi_get(&self, words: &[&str]) -> String {
        let keys: Vec<_> = words[3..]
            .iter()
            .map(|key| key.as_bytes().to_vec())
            .collect();
        match self.snapshots[words[1]]
            .multi_get(space(words[2]), &keys)
            .await
        {
            Ok(values) => {
                let values = values.into_iter().map(|value| match value {
                    Some(value) => value.escape_ascii().to_string(),
                    None => "none".to_owned(),
                });
                values.collect::<Vec<_>>().join(", ") + "\n"
            }
            Err(cause) => format!("{cause:?}\n"),
        }
    }

    async fn scan(&self, words: &[&str]) -> String {
        let mut scan = Scan::new(space(words[2]), KeyRange::all());
        let mut one_page = false;
        for word in &words[3..] {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match name {
                "start" => scan.range.start = value.into(),
                "until" => scan.range.until = Some(value.into()),
                "prefix" => scan.range = KeyRange::prefix(value.as_bytes()),
                "rows" => scan.options.max_rows = value.parse().unwrap(),
                "bytes" => scan.options.max_bytes = value.parse().unwrap(),
                "reverse" => scan.options.reverse = true,
                "keys" => scan.options.keys_only = true,
                "page" => one_page = true,
                other => panic!("no option {other}"),
            }
        }
        let mut page = Page::default();
        let mut out = String::new();
        loop {
            if let Err(cause) = self.snapshots[words[1]].scan(&scan, &mut page).await {
                return out + &format!("{cause:?}\n");
            }
            for (key, value) in page.iter() {
                let (key, value) = (key.escape_ascii(), value.escape_ascii());
                writeln!(out, "{key} = {value}").unwrap();
            }
            if !scan.advance(&mut page) {
                return out + "end\n";
            }
            let start = scan.range.start.escape_ascii();
            let until = scan
                .range
                .until
                .as_deref()
                .map(|until| until.escape_ascii().to_string());
            let until = until.unwrap_or_else(|| "end".to_owned());
            writeln!(out, "-- rest [{start} .. {until})").unwrap();
            if one_page {
                return out;
            }
        }
    }
}

fn space(word: &str) -> Space {
    Space(word.parse().unwrap())
}

fn show(done: crate::kv::Result<()>) -> String {
    match done {
        Ok(()) => "ok\n".to_owned(),
        Err(cause) => format!("{cause:?}\n"),
    }
}

/// Runs the commands of a script and puts what they print in their place.
async fn replay(kind: Kind, script: &str) -> String {
    let mut runner = Runner::new(kind);
    let mut out = String::new();
    for block in script.trim_end().split("\n\n") {
        let commands = block.split("\n----").next().unwrap();
        if !out.is_empty() {
            out.push('\n');
        }
        out += commands;
        out.push('\n');
        let commands = commands.lines().filter(|line| !line.starts_with('#'));
        let mut printed = String::new();
        for command in commands.filter(|line| !line.is_empty()) {
            printed += &runner.run(command).await;
        }
        if !printed.is_empty() {
            out += "----\n";
            out += &printed;
        }
    }
    runner.snapshots.clear();
    runner.engine.close().await.unwrap();
    out
}

fn scripts() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kv/testdata/contract");
    let mut scripts: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty());
    scripts
}

async fn check_all(kind: Kind) {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    for path in scripts() {
        let script = fs::read_to_string(&path).unwrap();
        let out = replay(kind, &script).await;
        if update {
            if let Kind::Memory = kind {
                fs::write(&path, &out).unwrap();
            }
            continue;
        }
        assert_eq!(script, out, "{} on {kind:?}", path.display());
    }
}

#[tokio::test]
async fn scripts_on_memory() {
    check_all(Kind::Memory).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_on_lsm() {
    check_all(Kind::Lsm).await;
    check_all(Kind::LsmTiny).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_on_the_mirror_of_both() {
    check_all(Kind::Mirror).await;
}

/// A constant of a statement may be longer than any key that is stored, and than the storage library takes.
async fn check_long_keys(kind: Kind) {
    const S: Space = Space(1);
    let dir = tempfile::tempdir().unwrap();
    let engine = open(kind, dir.path());
    engine.create_space(S).await.unwrap();
    let longest = vec![b'k'; engine.limits().key_bytes_max];
    let stored = [b"k".to_vec(), longest.clone(), b"l".to_vec()];
    let mut writes = WriteSet::blind();
    for key in &stored {
        writes.put(S, key.clone(), "v");
    }
    let mut asked = [longest.len() + 1, 70_000].map(|bytes| vec![b'k'; bytes]);
    for key in &asked {
        writes.must_be_absent.push((S, key.clone()));
    }
    engine.commit(writes).await.unwrap();
    asked[1].splice(longest.len().., vec![b'a'; 70_000 - longest.len()]);
    let snapshot = engine.snapshot();
    for key in asked {
        assert_eq!(snapshot.get(S, &key).await.unwrap(), None);
        let keys = [longest.clone(), key.clone(), b"l".to_vec()];
        let found = snapshot.multi_get(S, &keys).await.unwrap();
        let found: Vec<bool> = found.iter().map(Option::is_some).collect();
        assert_eq!(found, [true, false, true]);
        let ranges = [
            (KeyRange::between(Key::new(), key.clone()), &stored[..2]),
            (KeyRange::between(key.clone(), b"m"), &stored[2..]),
            (KeyRange::only(&key), &[]),
        ];
        for (range, expected) in ranges {
            for reverse in [false, true] {
                let mut scan = Scan::new(S, range.clone());
                scan.options.reverse = reverse;
                let mut page = Page::default();
                snapshot.scan(&scan, &mut page).await.unwrap();
                let mut found: Vec<&[u8]> = page.iter().map(|(key, _)| key).collect();
                found.sort_unstable();
                assert_eq!(found, expected, "{kind:?}");
            }
        }
    }
    drop(snapshot);
    engine.close().await.unwrap();
}

#[tokio::test]
async fn keys_longer_than_any_that_is_stored_are_asked_for() {
    for kind in [Kind::Memory, Kind::Lsm] {
        check_long_keys(kind).await;
    }
}

/// Values of half a page, asked for in any order, some of them twice, among small ones and keys that are not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_large_values_ends_early_and_goes_on() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    for kind in [Kind::Memory, Kind::Lsm, Kind::LsmTiny, Kind::Mirror] {
        let mut rng = StdRng::seed_from_u64(seed);
        let dir = tempfile::tempdir().unwrap();
        let engine = open(kind, dir.path());
        engine.create_space(Space(1)).await.unwrap();
        let key = |number: u8| vec![b'k', number];
        let value = |number: u8| {
            let bytes = if number.is_multiple_of(3) {
                PAGE_BYTES / 2
            } else {
                10
            };
            Bytes::from(vec![number; bytes])
        };
        for number in (0..40).filter(|number| number % 7 != 0) {
            let mut writes = WriteSet::blind();
            writes.put(Space(1), key(number), value(number));
            engine.commit(writes).await.unwrap();
        }
        for _ in 0..4 {
            let numbers: Vec<u8> = (0..60).map(|_| rng.random_range(0..40)).collect();
            let keys: Vec<Key> = numbers.iter().map(|number| key(*number)).collect();
            let expected = numbers
                .iter()
                .map(|number| (number % 7 != 0).then(|| value(*number)));
            let expected: Vec<Option<Bytes>> = expected.collect();
            let snapshot = engine.snapshot();
            let first = snapshot.multi_get(Space(1), &keys).await.unwrap();
            assert_eq!(first, expected[..first.len()], "on {kind:?}");
            let bytes: usize = first.iter().flatten().map(Bytes::len).sum();
            // What a cache has is there anyway.
            let cached = 512 << 10;
            assert!(bytes <= 2 * PAGE_BYTES + cached, "{bytes} on {kind:?}");
            assert!(!first.is_empty(), "on {kind:?}");
            let all = multi_get_all(&*snapshot, Space(1), &keys).await.unwrap();
            assert!(all == expected, "on {kind:?}");
        }
    }
}

#[tokio::test]
async fn the_recorder_tells_reads_and_writes() {
    let recorder = Recorder::new(Arc::new(Memory::new()));
    recorder.create_space(Space(1)).await.unwrap();
    let mut writes = WriteSet::blind();
    writes.put(Space(1), "a", "1");
    writes.delete(Space(1), "b");
    writes.must_be_absent.push((Space(1), b"a".to_vec()));
    recorder.commit(writes.clone()).await.unwrap();
    recorder.commit(writes).await.unwrap_err();
    let snapshot = recorder.snapshot();
    snapshot
        .multi_get(Space(1), &[b"a".to_vec(), b"\0".to_vec()])
        .await
        .unwrap();
    let scan = Scan::new(Space(1), KeyRange::between("a", "c"));
    snapshot.scan(&scan, &mut Page::default()).await.unwrap();
    let told = recorder.take().join("\n");
    let expected = "create space s1\n\
        commit\n  absent s1 a\n  delete s1 b\n  put s1 a = 1\n  -> committed\n\
        commit\n  absent s1 a\n  delete s1 b\n  put s1 a = 1\n  -> already exists\n\
        multi-get s1 [a, \\x00]\nscan s1 [a .. c)";
    assert_eq!(told, expected);
}
