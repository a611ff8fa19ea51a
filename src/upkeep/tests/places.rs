//! What a damaged file holds, in words.

use std::sync::Arc;

use super::super::locate::extent_text;
use crate::catalog::Table;
use crate::exec::testing::Server;
use crate::kv::lsm::Extent;
use crate::kv::{Key, Space};

/// The tables that there are, one of them on the way to another primary key; and a key in each part of its storage, in one
/// that is not there any more, and among the definitions.
async fn places() -> (Vec<Arc<Table>>, Vec<(Space, Key)>) {
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY by_v (v)) WITH (VERSIONS='3')",
        "CREATE TABLE other (id INT, v INT PRIMARY KEY, KEY by_id (id))",
        "INSERT INTO t VALUES (7, 8)",
        "INSERT INTO other VALUES (7, 8)",
    ] {
        server.run(sql).await.unwrap();
    }
    let (mut table, shadow) = (Table::clone(&server.table("t")), server.table("other"));
    let mut places = Vec::new();
    for id in [
        table.id.0,
        table.indexes[0].id.0,
        shadow.id.0,
        shadow.indexes[0].id.0,
    ] {
        let (key, _) = server.rows_of(Space(id)).await.remove(0);
        places.push((Space(id), key));
    }
    let deletions = Space(table.deletions_space().unwrap());
    places.insert(1, (deletions, places[0].1.clone()));
    places.extend([4000, 0].map(|id| (Space(id), vec![1, 0xab])));
    table.shadow = Some(shadow);
    (vec![Arc::new(table)], places)
}

fn text(tables: Option<&[Arc<Table>]>, place: &(Space, Key)) -> String {
    let extent = Extent {
        first: Some(place.clone()),
        last: Some(place.clone()),
        readable_to: None,
    };
    extent_text(tables, &extent)
}

/// Mechanism: keys of a table's deletions, and of what it is to be with another primary key, were told as those of a
/// dropped table; all keys were, where the definitions could not be read.
#[tokio::test]
async fn every_part_of_a_tables_storage_is_named() {
    let (tables, places) = places().await;
    let names = [
        "default.t /7",
        "deletions of default.t /7",
        "index by_v of default.t /8",
        "default.t under its new primary key /8",
        "index by_id of default.t under its new primary key /7",
        "a dropped table or index x'01ab'",
        "the definitions x'01ab'",
    ];
    assert_eq!(places.len(), names.len());
    let told = |name: &str| format!("; it holds {name} to {name}, and cannot be read");
    for (place, name) in places.iter().zip(names) {
        assert_eq!(text(Some(&tables), place), told(name));
    }
    let unknown = ["storage space 4000 x'01ab'", "the definitions x'01ab'"];
    for (place, name) in places[5..].iter().zip(unknown) {
        assert_eq!(text(None, place), told(name));
    }
}
