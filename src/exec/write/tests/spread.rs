//! Spread keys: the guide, whose examples are run, and damage that CHECK TABLE tells.

use super::wide::run_examples;
use crate::exec::testing::Server;
use crate::exec::write::space;
use crate::kv::WriteSet;

const GUIDE: &str = include_str!("../../../../docs/spread.md");

#[tokio::test]
async fn the_examples_of_the_guide_answer_what_it_says() {
    let server = Server::refusing().await;
    run_examples(&server, GUIDE).await;
}

#[tokio::test]
async fn a_row_under_another_part_is_told() {
    let server = Server::start().await;
    let run = async |sql: &str| server.run(sql).await.unwrap();
    run("CREATE TABLE t (a INT, b INT, PRIMARY KEY (hash8(a), a))").await;
    run("INSERT INTO t VALUES (1, 1), (2, 2)").await;
    assert_eq!(server.check("t").await, ["status OK"]);
    let at = space(&server.table("t"));
    let rows = server.rows_of(at).await;
    let (key, value) = rows.first().unwrap().clone();
    let mut moved = key.clone();
    // A TINYINT UNSIGNED above 0: its tag, then the number.
    moved[1] ^= 1;
    let mut writes = WriteSet::blind();
    writes.delete(at, key);
    writes.put(at, moved, value);
    server.engine().commit(writes).await.unwrap();
    let told = server.check("t").await;
    assert!(
        told[0].contains("lies under another hash8(`a`)"),
        "{told:?}"
    );
}
