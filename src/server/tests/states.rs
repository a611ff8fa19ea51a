//! A statement that writes reads the state that it changes.

use super::*;

/// Long enough for a statement to wait for a lock, whatever it has read before.
const WAITS_FOR: Duration = Duration::from_millis(150);

/// Mechanism: what a statement read was answered before its rows were locked, and not again when they had changed
/// meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waited_for_a_row_reads_again() {
    let server = Running::start("secret", 100).await;
    let mut holder = Client::root(server.address, FLAGS).await;
    let mut waiter = Client::root(server.address, FLAGS).await;
    for client in [&mut holder, &mut waiter] {
        client.done("USE `default`").await;
    }
    holder
        .done("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        .await;
    holder.done("INSERT INTO t VALUES (1, 0)").await;
    for sql in [
        "UPDATE t SET v = v + 1 WHERE id = 1",
        "UPDATE t SET v = (SELECT v FROM t WHERE id = 1) + 1 WHERE id = 1",
        "UPDATE t SET v = (SELECT MAX(v) FROM t WHERE id > 0) + 1 WHERE id = 1",
        "REPLACE INTO t SELECT id, v + 1 FROM t WHERE id = 1",
        "REPLACE INTO t VALUES (1, (SELECT v FROM t WHERE id = 1) + 1)",
        "UPSERT INTO t (id, v) SELECT id, v + 1 FROM t WHERE id = 1",
        "UPDATE t JOIN (SELECT id, v FROM t WHERE id = 1) o ON o.id = t.id SET t.v = o.v + 1 WHERE t.id = 1",
    ] {
        holder.done("UPDATE t SET v = 0 WHERE id = 1").await;
        holder.done("BEGIN").await;
        holder.done("UPDATE t SET v = v + 100 WHERE id = 1").await;
        waiter.query(sql).await;
        tokio::time::sleep(WAITS_FOR).await;
        holder.done("COMMIT").await;
        let told = waiter.packets(1).await;
        assert!(!told[0].starts_with("ERR"), "{sql}: {told:?}");
        holder.query("SELECT v FROM t WHERE id = 1").await;
        assert_eq!(holder.packets(5).await[3], "\\x03101", "{sql}");
    }
    server.stop().await;
}
