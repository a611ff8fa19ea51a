//! kill -9 under concurrent writers, again and again on one directory.
//!
//! The test starts itself as another process, which writes and says what was acknowledged; kills it
//! at some moment; and looks into the directory: every acknowledged commit is there, and none is
//! there by half. The process it starts is [`writer`], which does nothing in an ordinary run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::{Lsm, Options};
use crate::kv::{Engine, KeyRange, Page, Scan, Space, WriteSet};

const DIR_VARIABLE: &str = "MESETA_CRASH_DIR";
const ROUNDS: usize = 12;
const WRITERS: u32 = 8;
const ROWS: u32 = 3;
const SPACE: Space = Space(1);

fn options(dir: &Path) -> Options {
    Options {
        cache_bytes: 1 << 20,
        // Small, so that flushes and compactions are cut off too.
        memtable_bytes: 128 << 10,
        ..Options::new(dir)
    }
}

fn key(writer: u32, number: u32, row: u32) -> String {
    format!("{writer:03}/{number:08}/{row}")
}

/// How many rows there are of each commit.
async fn found(engine: &Lsm) -> BTreeMap<(u32, u32), u32> {
    let mut found = BTreeMap::new();
    let snapshot = engine.snapshot();
    let mut scan = Scan::new(SPACE, KeyRange::all());
    let mut page = Page::default();
    loop {
        snapshot.scan(&scan, &mut page).await.unwrap();
        for (key, _) in page.iter() {
            let key = std::str::from_utf8(key).unwrap();
            let mut parts = key.split('/').map(|part| part.parse::<u32>().unwrap());
            let commit = (parts.next().unwrap(), parts.next().unwrap());
            *found.entry(commit).or_default() += 1;
        }
        if !scan.advance(&mut page) {
            return found;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writer() {
    let Some(dir) = std::env::var_os(DIR_VARIABLE) else {
        return;
    };
    let engine = Arc::new(Lsm::open(&options(Path::new(&dir))).unwrap());
    if engine.spaces().live.is_empty() {
        engine.create_space(SPACE).await.unwrap();
    }
    let first = found(&engine)
        .await
        .keys()
        .map(|(_, number)| number + 1)
        .max();
    let tasks = (0..WRITERS).map(|writer| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            for number in first.unwrap_or(0).. {
                let mut writes = WriteSet::blind();
                for row in 0..ROWS {
                    writes.put(SPACE, key(writer, number, row), vec![b'v'; 300]);
                }
                engine.commit(writes).await.unwrap();
                let acknowledged = format!("\nack {writer} {number}\n");
                std::io::stdout()
                    .write_all(acknowledged.as_bytes())
                    .unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

/// Lets a writer run until it has acknowledged so many commits, and kills it.
fn acknowledged_until_killed(dir: &Path, acks: usize) -> Vec<(u32, u32)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kv::lsm::crash::writer", "--nocapture"])
        .env(DIR_VARIABLE, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    for line in lines {
        let line = line.unwrap();
        let Some(commit) = line.strip_prefix("ack ") else {
            continue;
        };
        let (writer, number) = commit.split_once(' ').unwrap();
        acknowledged.push((writer.parse().unwrap(), number.parse().unwrap()));
        if acknowledged.len() == acks {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    acknowledged
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_there_by_half() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        let acks = 50 + 397 * round % 1000;
        let acks = acknowledged_until_killed(dir.path(), acks);
        assert!(!acks.is_empty());
        acknowledged.extend(acks);
        let engine = Lsm::open(&options(dir.path())).unwrap();
        let found = found(&engine).await;
        for (commit, rows) in &found {
            assert_eq!(*rows, ROWS, "round {round}: half of {commit:?}");
        }
        for commit in &acknowledged {
            assert!(
                found.contains_key(commit),
                "round {round}: {commit:?} is lost"
            );
        }
        engine.close().await.unwrap();
    }
}
