//! Damage to the small files that say what a directory is: it is told as any other, and the check goes on.

use std::fs;
use std::sync::Arc;

use super::{House, Outcome, fill, stop};

async fn filled() -> House {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    stop(server).await;
    house
}

/// The lines of a check that begin with `damaged`; and the last one.
async fn damaged(house: &House) -> (Vec<String>, String) {
    let (outcome, mut lines) = house.check("data").await;
    assert_eq!(outcome, Outcome::Damaged, "{lines:?}");
    let last = lines.pop().unwrap();
    lines.retain(|line| line.starts_with("damaged: "));
    (lines, last)
}

/// Mechanism: a check ended with "could not be looked at" where a file was damaged that it reads before all others, and
/// said nothing of the file that tells which run wrote last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_mark_is_told_and_the_rows_are_checked() {
    let house = filled().await;
    for (name, told) in [
        ("MESETA", "it does not tell the format of a data directory"),
        (
            "lsm/run",
            "it does not tell which run of a server wrote last; the next write makes it anew",
        ),
    ] {
        let path = house.path("data").join(name);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[3] ^= 1;
        fs::write(&path, bytes).unwrap();
        let (lines, last) = damaged(&house).await;
        assert_eq!(lines, [format!("damaged: /data/{name}: {told}")]);
        assert!(last.contains(" 4 tables, 4 indexes: 1 damages"), "{last}");
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(house.check("data").await.0, Outcome::Fine);
}

/// The storage library would make an empty tree of a directory without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_mark_of_the_library_is_damage() {
    let house = filled().await;
    fs::remove_file(house.path("data/lsm/version")).unwrap();
    let (lines, last) = damaged(&house).await;
    assert_eq!(
        lines,
        [
            "damaged: /data/lsm/version: it is missing",
            "damaged: the tables cannot be read: stored bytes are damaged: /data/lsm/version is missing",
        ]
    );
    assert!(last.ends_with(": 2 damages"), "{last}");
}

/// Mechanism: a table's restore told what the storage library says of a file that it reads while it opens a tree, and not
/// of which.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_named_where_a_table_is_restored() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    server.run("OPTIMIZE TABLE shop.orders").await.unwrap();
    let backup = house.path("backup");
    let made = server.engine().checkpoint(&backup, &Arc::default()).await;
    made.unwrap();
    stop(server).await;
    stop(house.server("other").await).await;
    let mut refused = 0;
    for tree in ["0", "1"] {
        let tables = backup.join("lsm/keyspaces").join(tree).join("tables");
        for file in fs::read_dir(tables).unwrap() {
            let file = file.unwrap().path();
            let whole = fs::read(&file).unwrap();
            for at in [100, whole.len() / 2, whole.len() - 50] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1;
                // The data has a link to the same file.
                fs::remove_file(&file).unwrap();
                fs::write(&file, bytes).unwrap();
                if let Err(told) = house.restore_table("shop.orders", "other").await {
                    let name = file.file_name().unwrap().to_str().unwrap();
                    let path = format!("keyspaces/{tree}/tables/{name}");
                    assert!(told.contains(&path), "byte {at} of {path}: {told}");
                    refused += 1;
                } else {
                    let server = house.server("other").await;
                    server.run("DROP TABLE shop.orders").await.unwrap();
                    stop(server).await;
                }
            }
            fs::write(&file, whole).unwrap();
        }
    }
    assert!(2 < refused, "{refused}");
}
