//! Values of the server and of its sessions: a session keeps what it began with.

use crate::error::Code;
use crate::exec::testing::Server;
use crate::leisure;

#[tokio::test]
async fn open_sessions_keep_their_values_and_new_ones_have_the_new() {
    let server = Server::start().await;
    let other = server.another();
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY)")
        .await
        .unwrap();
    for set in [
        "SET GLOBAL autocommit = 0",
        "SET GLOBAL sql_mode = 'ANSI_QUOTES'",
        "SET GLOBAL time_zone = '+05:00'",
    ] {
        other.run(set).await.unwrap();
    }
    // A SET of something else reads all of them again.
    server.run("SET NAMES utf8mb4").await.unwrap();
    server.run("INSERT INTO t VALUES (1)").await.unwrap();
    assert_eq!(other.run("SELECT a FROM t").await.unwrap(), [["1"]]);
    let told = "SELECT @@autocommit, @@global.autocommit, @@sql_mode = 'ANSI_QUOTES', @@time_zone";
    let kept = server.run(told).await.unwrap();
    assert_eq!(kept, [["1", "0", "0", "SYSTEM"]]);
    let shown = server.run("SHOW VARIABLES LIKE 'time_zone'").await.unwrap();
    assert_eq!(shown, [["time_zone", "SYSTEM"]]);
    let new = server.another().run(told).await.unwrap();
    assert_eq!(new, [["0", "0", "1", "+05:00"]]);
}

#[tokio::test]
async fn a_default_is_the_server_s_value_of_now() {
    let server = Server::start().await;
    server
        .run("SET GLOBAL net_read_timeout = 41")
        .await
        .unwrap();
    let told = "SELECT @@net_read_timeout";
    assert_eq!(server.run(told).await.unwrap(), [["30"]]);
    let set = "SET net_read_timeout = DEFAULT";
    server.run(set).await.unwrap();
    assert_eq!(server.run(told).await.unwrap(), [["41"]]);
    server
        .run("SET GLOBAL net_read_timeout = 42")
        .await
        .unwrap();
    assert_eq!(server.run(told).await.unwrap(), [["41"]]);
    server.reset().await;
    assert_eq!(server.run(told).await.unwrap(), [["42"]]);
}

#[tokio::test]
async fn what_the_server_alone_has_is_of_now() {
    let server = Server::start().await;
    let other = server.another();
    other.run("SET GLOBAL trash_retention = 17").await.unwrap();
    let told = "SELECT @@trash_retention";
    assert_eq!(server.run(told).await.unwrap(), [["17"]]);
}

#[tokio::test]
async fn a_session_does_not_raise_the_bytes_of_its_packets() {
    let server = Server::start().await;
    let set = "max_allowed_packet = 1073741824";
    for scope in ["", "SESSION ", "@@session."] {
        let error = server.run(&format!("SET {scope}{set}")).await.unwrap_err();
        assert_eq!(error.code(), Code::SessionReadOnly, "{scope}");
    }
    server.run(&format!("SET GLOBAL {set}")).await.unwrap();
    let told = "SELECT @@max_allowed_packet";
    assert_eq!(server.run(told).await.unwrap(), [["1048576"]]);
    let new = server.another().run(told).await.unwrap();
    assert_eq!(new, [["1073741824"]]);
}

#[test]
fn the_stack_that_is_told_is_the_one_that_threads_have() {
    let told = super::find("thread_stack").unwrap().default;
    assert_eq!(told, leisure::STACK_BYTES.to_string());
}
