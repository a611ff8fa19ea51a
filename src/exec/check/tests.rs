//! Damage done through the engine, found and mended.

use crate::codec::keyspace::SystemKey;
use crate::error::Code;
use crate::exec::testing::Server;
use crate::kv::{Space, WriteSet};

/// A table of four rows with a plain and a unique index.
async fn server() -> Server {
    let server = Server::start().await;
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(9))")
        .await
        .unwrap();
    server
        .run("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, 40, NULL)")
        .await
        .unwrap();
    server.run("CREATE INDEX i ON t (c)").await.unwrap();
    server
        .run("CREATE UNIQUE INDEX u ON t (b) INCLUDE (c)")
        .await
        .unwrap();
    assert_eq!(server.check("t").await, ["status OK"]);
    server
}

fn space(server: &Server, index: &str) -> Space {
    let table = server.table("t");
    Space(table.indexes[table.index_position(index).unwrap()].id.0)
}

async fn write(server: &Server, change: impl FnOnce(&mut WriteSet)) {
    let mut writes = WriteSet::blind();
    change(&mut writes);
    server.engine().commit(writes).await.unwrap();
}

/// What a check says, then what a repair says; then all must be well.
async fn mended(server: &Server) -> Vec<String> {
    let mut told = server.check("t").await;
    told.extend(server.maintain("REPAIR TABLE t").await);
    assert_eq!(server.check("t").await, ["status OK"]);
    told
}

#[tokio::test]
async fn a_missing_entry_is_found_and_made() {
    let server = server().await;
    let space = space(&server, "i");
    let whole = server.rows_of(space).await;
    write(&server, |writes| writes.delete(space, whole[2].0.clone())).await;
    assert_eq!(
        mended(&server).await,
        [
            "warning index i: row /2 has no entry",
            "warning index i: 1 differences",
            "error Corrupt",
            "warning index i: row /2 has no entry",
            "info index i: 1 of 1 differences mended",
            "status OK",
        ]
    );
    assert_eq!(server.rows_of(space).await, whole);
}

#[tokio::test]
async fn an_entry_without_row_is_found_and_goes() {
    let server = server().await;
    let rows = Space(server.table("t").id.0);
    let first = server.rows_of(rows).await.remove(0);
    write(&server, |writes| writes.delete(rows, first.0)).await;
    assert_eq!(
        mended(&server).await,
        [
            "warning index i: the entry /x has no row /1",
            "warning index i: 1 differences",
            "warning index u: the entry /10 has no row /1",
            "warning index u: 1 differences",
            "error Corrupt",
            "warning index i: the entry /x has no row /1",
            "info index i: 1 of 1 differences mended",
            "warning index u: the entry /10 has no row /1",
            "info index u: 1 of 1 differences mended",
            "status OK",
        ]
    );
}

#[tokio::test]
async fn an_entry_of_another_row_or_value_is_found_and_put_right() {
    let server = server().await;
    let space = space(&server, "u");
    let whole = server.rows_of(space).await;
    // Key of 10 (row 1) with the value of 20 (row 2), and a second entry for row 2.
    let (ten, twenty) = (&whole[1], &whole[2]);
    let stale = [&[0x19, 0x63][..]].concat();
    write(&server, |writes| {
        writes.put(space, ten.0.clone(), twenty.1.clone());
        writes.put(space, stale, twenty.1.clone());
    })
    .await;
    assert_eq!(
        mended(&server).await[..5],
        [
            "warning index u: the entry /10 of row /1 is that of row /2",
            "warning index u: the entry /10 is not that of its row /2",
            "warning index u: the entry /99 is not that of its row /2",
            "warning index u: 3 differences",
            "error Corrupt",
        ]
    );
    assert_eq!(server.rows_of(space).await, whole);
}

#[tokio::test]
async fn damaged_entries_are_found_and_put_right() {
    let server = server().await;
    let space = space(&server, "u");
    let whole = server.rows_of(space).await;
    write(&server, |writes| {
        writes.put(space, whole[1].0.clone(), vec![7]);
    })
    .await;
    let told = mended(&server).await;
    assert!(
        told[0].contains("the entry of row /1 is damaged"),
        "{told:?}"
    );
    assert_eq!(server.rows_of(space).await, whole);
}

#[tokio::test]
async fn two_rows_with_one_unique_value_cannot_be_mended() {
    let server = server().await;
    let rows = Space(server.table("t").id.0);
    let stored = server.rows_of(rows).await;
    // Row 4 gets the values of row 1 behind the back of the index.
    let (four, one) = (stored[3].0.clone(), stored[0].1.clone());
    write(&server, |writes| writes.put(rows, four, one)).await;
    let told = server.maintain("REPAIR TABLE t").await;
    assert_eq!(told.last().unwrap(), "error Corrupt");
    assert!(
        told.contains(&"warning index u: the entry /10 of row /4 is that of row /1".to_owned()),
        "{told:?}"
    );
    server.run("DELETE FROM t WHERE a = 4").await.unwrap();
    server.maintain("REPAIR TABLE t").await;
    assert_eq!(server.check("t").await, ["status OK"]);
}

#[tokio::test]
async fn only_so_many_differences_are_described() {
    let server = server().await;
    let values: Vec<String> = (100..120).map(|a| format!("({a}, {a}, 'm')")).collect();
    server.run("DROP INDEX i ON t").await.unwrap();
    server.run("DROP INDEX u ON t").await.unwrap();
    let sql = format!("INSERT INTO t VALUES {}", values.join(", "));
    server.run(&sql).await.unwrap();
    server.run("CREATE INDEX i ON t (c)").await.unwrap();
    let space = space(&server, "i");
    let entries = server.rows_of(space).await;
    write(&server, |writes| {
        for (key, _) in entries {
            writes.delete(space, key);
        }
    })
    .await;
    let told = server.check("t").await;
    assert_eq!(told.len(), super::DIFFERENCES_SHOWN + 2);
    assert_eq!(
        told[super::DIFFERENCES_SHOWN],
        "warning index i: 24 differences"
    );
}

#[tokio::test]
async fn what_cannot_be_compared_is_said() {
    let server = server().await;
    assert_eq!(
        server.check("nosuch").await,
        [
            "Error Table 'default.nosuch' doesn't exist",
            "status Operation failed"
        ]
    );
    server.run("ALTER INDEX i ON t DISABLED").await.unwrap();
    assert_eq!(
        server.check("t").await,
        ["note index i is DISABLED: not compared", "status OK"]
    );
    let rows = Space(server.table("t").id.0);
    let first = server.rows_of(rows).await.remove(0);
    write(&server, |writes| writes.put(rows, first.0, vec![9])).await;
    let told = server.check("t").await;
    assert!(
        told[0].starts_with("Error stored bytes are damaged"),
        "{told:?}"
    );
    assert_eq!(told[1], "error Corrupt");
    let system = server.rows_of(Space(0)).await;
    assert!(system.iter().all(|(key, _)| SystemKey::decode(key).is_ok()));
    let error = server.run("CREATE INDEX j ON t (c)").await.unwrap_err();
    assert_eq!(error.code(), Code::StorageCorrupt);
}

#[tokio::test]
async fn entries_of_prefixes_expressions_and_some_rows_are_mended() {
    let server = server().await;
    for sql in [
        "CREATE INDEX p ON t (c(1), (b + 1)) WHERE b < 40",
        "CREATE UNIQUE INDEX e ON t ((b * 2)) WHERE c IS NOT NULL",
    ] {
        server.run(sql).await.unwrap();
    }
    let (p, e) = (space(&server, "p"), space(&server, "e"));
    let (of_p, of_e) = (server.rows_of(p).await, server.rows_of(e).await);
    // Rows 3 and 4 have no entry in p, row 4 has none in e.
    assert_eq!((of_p.len(), of_e.len()), (2, 3));
    write(&server, |writes| {
        writes.delete(p, of_p[0].0.clone());
        writes.put(e, vec![0x19, 0x50], of_e[1].1.clone());
    })
    .await;
    let told = mended(&server).await;
    assert_eq!(
        told[..5],
        [
            "warning index p: row /1 has no entry",
            "warning index p: 1 differences",
            "warning index e: the entry /80 is not that of its row /1",
            "warning index e: 1 differences",
            "error Corrupt",
        ]
    );
    assert_eq!(
        (server.rows_of(p).await, server.rows_of(e).await),
        (of_p, of_e)
    );
}

#[tokio::test]
async fn a_wrong_number_of_rows_is_found_and_counted_anew() {
    let server = server().await;
    let rows = Space(server.table("t").id.0);
    // The same row once more, by somebody who says that three have come.
    let row = server.rows_of(rows).await.remove(0);
    write(&server, |writes| {
        writes.put(rows, row.0, row.1);
        writes.growth.insert(rows, 3);
    })
    .await;
    assert_eq!(
        mended(&server).await,
        [
            "warning number of rows: 7 is kept, there are 4",
            "warning number of rows: 1 differences",
            "error Corrupt",
            "warning number of rows: 7 is kept, there are 4",
            "info number of rows: 1 of 1 differences mended",
            "status OK",
        ]
    );
    assert_eq!(server.engine().snapshot().count(rows).await, Ok(Some(4)));
}

/// Mechanism: rows were read for the sake of indexes, or where there are none. One that is not compared was an index, and
/// a table that had no other was called well without a look at its rows.
#[tokio::test]
async fn rows_are_read_where_no_index_is_compared() {
    let server = server().await;
    server.run("DROP INDEX u ON t").await.unwrap();
    server.run("ALTER INDEX i ON t DISABLED").await.unwrap();
    let note = "note index i is DISABLED: not compared";
    assert_eq!(server.check("t").await, [note, "status OK"]);
    let rows = Space(server.table("t").id.0);
    let second = server.rows_of(rows).await.remove(1);
    write(&server, |writes| writes.put(rows, second.0, vec![9])).await;
    let told = server.check("t").await;
    assert!(
        told[0].starts_with("Error stored bytes are damaged"),
        "{told:?}"
    );
    assert_eq!(told[1], "error Corrupt");
}
