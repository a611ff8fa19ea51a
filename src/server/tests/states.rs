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

/// Mechanism: a SELECT … FOR UPDATE found its rows, waited for who had locked them, and returned them as they had
/// been before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_for_update_that_waited_for_a_row_reads_again() {
    let server = Running::start("secret", 100).await;
    let mut holder = Client::root(server.address, FLAGS).await;
    let mut waiter = Client::root(server.address, FLAGS).await;
    for client in [&mut holder, &mut waiter] {
        client.done("USE `default`").await;
    }
    holder
        .done("CREATE TABLE job (id INT PRIMARY KEY, state INT, KEY (state))")
        .await;
    let take = "SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE";
    for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
        let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
        waiter.done(&set).await;
        for change in [
            "UPDATE job SET state = 1 WHERE id = 1",
            "DELETE FROM job WHERE id = 1",
        ] {
            holder
                .done("REPLACE INTO job VALUES (1, 0), (2, 0), (3, 0)")
                .await;
            holder.done("BEGIN").await;
            waiter.done("BEGIN").await;
            holder.query(take).await;
            assert_eq!(holder.packets(5).await[3], "\\x011", "{change}");
            waiter.query(take).await;
            tokio::time::sleep(WAITS_FOR).await;
            holder.done(change).await;
            holder.done("COMMIT").await;
            assert_eq!(waiter.packets(5).await[3], "\\x012", "{change}");
            waiter.done("UPDATE job SET state = 1 WHERE id = 2").await;
            waiter.done("COMMIT").await;
        }
    }
    server.stop().await;
}

/// Mechanism: a transaction waited for locks as long as was said when it began.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_long_a_lock_is_waited_for_is_said_at_any_time() {
    let server = Running::start("secret", 100).await;
    let mut holder = Client::root(server.address, FLAGS).await;
    let mut waiter = Client::root(server.address, FLAGS).await;
    for client in [&mut holder, &mut waiter] {
        client.done("USE `default`").await;
    }
    holder.done("CREATE TABLE t (id INT PRIMARY KEY)").await;
    holder.done("INSERT INTO t VALUES (1)").await;
    holder.done("BEGIN").await;
    holder.done("DELETE FROM t WHERE id = 1").await;
    waiter.done("BEGIN").await;
    waiter.done("INSERT INTO t VALUES (2)").await;
    waiter.done("SET innodb_lock_wait_timeout = 1").await;
    waiter.query("DELETE FROM t WHERE id = 1").await;
    let told = tokio::time::timeout(Duration::from_secs(20), waiter.packets(1)).await;
    assert_eq!(told.unwrap(), ["ERR 1205"]);
    server.stop().await;
}

/// Mechanism: a statement in autocommit that closed a circle of waits was told of it, though nobody would have been
/// kept from anything by its beginning anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_in_autocommit_that_closes_a_circle_starts_over() {
    let server = Running::start("secret", 100).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::root(server.address, FLAGS).await;
        client.done("USE `default`").await;
        clients.push(client);
    }
    let [mut statement, mut of_entry, mut of_row] = <[Client; 3]>::try_from(clients).ok().unwrap();
    of_row
        .done("CREATE TABLE cc (id INT PRIMARY KEY, n INT, u INT, UNIQUE (u))")
        .await;
    of_row.done("CREATE TABLE other (id INT PRIMARY KEY)").await;
    of_row.done("INSERT INTO other VALUES (500)").await;
    for sql in [
        "INSERT INTO cc VALUES (500, 1, 0) ON DUPLICATE KEY UPDATE n = n + 1",
        "INSERT INTO cc SELECT id, 1, 0 FROM other WHERE id = 500 ON DUPLICATE KEY UPDATE n = n + 1",
    ] {
        of_row.done("REPLACE INTO cc VALUES (1, 0, 0)").await;
        // An INSERT that fails keeps its locks: that of the entry, too.
        of_entry.done("BEGIN").await;
        of_entry.query("INSERT INTO cc VALUES (7, 0, 0)").await;
        assert_eq!(of_entry.packets(1).await, ["ERR 1062"]);
        of_row.done("BEGIN").await;
        of_row
            .query("SELECT n FROM cc WHERE id = 1 FOR UPDATE")
            .await;
        assert_eq!(of_row.packets(5).await[3], "\\x010");
        // It has the key 500 and waits for the entry, the transaction for the key 500.
        statement.query(sql).await;
        tokio::time::sleep(WAITS_FOR).await;
        of_row
            .query("SELECT n FROM cc WHERE id = 500 FOR UPDATE")
            .await;
        tokio::time::sleep(WAITS_FOR).await;
        // It gets the entry, and needs the row 1.
        of_entry.done("ROLLBACK").await;
        assert_eq!(of_row.packets(4).await[3], "EOF 03");
        of_row.done("COMMIT").await;
        let told = statement.packets(1).await;
        assert!(!told[0].starts_with("ERR"), "{sql}: {told:?}");
        of_row.query("SELECT n FROM cc WHERE id = 1").await;
        assert_eq!(of_row.packets(5).await[3], "\\x011", "{sql}");
    }
    server.stop().await;
}

/// As above, of many at once: `(1, 1, 0)` has the row and needs the entry, the other the other way round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_in_autocommit_that_lock_in_different_orders_all_succeed() {
    const CLIENTS: usize = 6;
    const ROUNDS: usize = 50;
    let server = Running::start("secret", 100).await;
    let mut reader = Client::root(server.address, FLAGS).await;
    reader.done("USE `default`").await;
    reader
        .done("CREATE TABLE cc (id INT PRIMARY KEY, n INT, u INT, UNIQUE (u))")
        .await;
    reader.done("INSERT INTO cc VALUES (1, 0, 0)").await;
    let mut writers = Vec::new();
    for number in 0..CLIENTS {
        let mut client = Client::root(server.address, FLAGS).await;
        writers.push(tokio::spawn(async move {
            client.done("USE `default`").await;
            for round in 0..ROUNDS {
                for id in [1, 500 * (1 + number * ROUNDS + round)] {
                    let insert = format!("INSERT INTO cc VALUES ({id}, 1, 0)");
                    let sql = format!("{insert} ON DUPLICATE KEY UPDATE n = n + 1");
                    client.done(&sql).await;
                }
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    reader.query("SELECT n FROM cc WHERE id = 1").await;
    assert_eq!(reader.packets(5).await[3], "\\x03600");
    server.stop().await;
}

impl Running {
    /// The state of the connection of this number as SHOW PROCESSLIST tells it, once it is none of those that last no
    /// time.
    async fn waits_as(&self, id: u32) -> String {
        let begun = std::time::Instant::now();
        loop {
            let rows = self.shared.processes().list();
            let row = rows.iter().find(|row| row.id == id).unwrap();
            if row.command == "Query" && row.state != "executing" {
                return row.state.clone().into_owned();
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{row:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn newest(&self) -> u32 {
        self.shared.processes().list().last().unwrap().id
    }
}

/// Mechanism: whoever waited was `executing`, as one that keeps a core busy, and of 1205 nobody could tell whom to
/// kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_tells_what_for_and_what_it_does_then() {
    let server = Running::start("secret", 100).await;
    let mut holder = Client::root(server.address, FLAGS).await;
    let holder_id = server.newest();
    let mut waiter = Client::root(server.address, FLAGS).await;
    let id = server.newest();
    let mut killer = Client::root(server.address, FLAGS).await;
    holder.done("USE `default`").await;
    holder
        .done("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
        .await;
    holder.done("INSERT INTO t VALUES (1, 1)").await;
    holder.done("BEGIN").await;
    holder.done("DELETE FROM t WHERE id = 1").await;
    holder.query("SELECT GET_LOCK('a', 0)").await;
    holder.packets(5).await;
    let row_lock = format!("Waiting for row lock held by connection {holder_id}");
    let again = "INSERT INTO `default`.t VALUES (1, 1) ON DUPLICATE KEY UPDATE n = 2";
    let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                 WHERE STATE LIKE 'User%' OR STATE LIKE '%row lock%'";
    for (sql, state) in [
        ("DELETE FROM `default`.t WHERE id = 1", row_lock.as_str()),
        (again, row_lock.as_str()),
        ("DO SLEEP(100)", "User sleep"),
        ("DO GET_LOCK('a', 100)", "User lock"),
    ] {
        waiter.query(sql).await;
        assert_eq!(server.waits_as(id).await, state, "{sql}");
        // A lock of GET_LOCK is looked for now and then, and one that looks does not wait.
        if state != "User lock" {
            killer.query(count).await;
            assert_eq!(killer.packets(5).await[3], "\\x011", "{sql}");
        }
        killer.done(&format!("KILL QUERY {id}")).await;
        // OK or ERR, whatever is sent before it.
        while !matches!(waiter.receive().await.first(), Some(0 | 0xFF)) {}
        killer.query(count).await;
        assert_eq!(killer.packets(5).await[3], "\\x010", "{sql}");
    }
    server.stop().await;
}

/// Mechanism: the statements of one text were one to a server that drains; or what said that there will be no more of
/// them was numbered as if nobody waited for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_drains_ends_between_two_statements_of_a_text() {
    let server = Running::start("secret", 100).await;
    let mut holder = Client::root(server.address, FLAGS).await;
    let mut waiter = Client::root(server.address, FLAGS).await;
    let id = server.newest();
    holder.query("SELECT GET_LOCK('a', 0)").await;
    holder.packets(5).await;
    waiter.query("DO GET_LOCK('a', 100); DO 1").await;
    assert_eq!(server.waits_as(id).await, "User lock");
    // That it is at rest ends the holder, and with it the lock.
    let stopping = tokio::spawn(server.stop());
    assert_eq!(waiter.packets(2).await, ["OK 0a", "ERR 1053"]);
    drop((holder, waiter));
    stopping.await.unwrap();
}
