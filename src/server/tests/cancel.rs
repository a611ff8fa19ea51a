//! KILL and lost clients, timed: whatever a statement is at, it stops at once.
//!
//! Every statement here would run for many times [`STOPS_WITHIN`] if it were left alone, and each
//! case sees it running before it is stopped.

use std::time::Instant;

use super::*;

/// How soon a statement stops. A build without optimization takes longer for each row.
const STOPS_WITHIN: Duration = if cfg!(debug_assertions) {
    Duration::from_millis(500)
} else {
    Duration::from_millis(100)
};

/// How long a statement runs before it is stopped: past what comes before its rows.
const RUNS_FOR: Duration = Duration::from_millis(60);

/// A busy machine may be late, but not each time: each attempt is given as long again as the one
/// before it. Even the last one is far below what the statements take when they are left alone.
const ATTEMPTS_MAX: u32 = 6;

const ROWS_COUNT: usize = 3000;

/// One of these tests at a time: each keeps the machine busy and looks at the clock.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// 200 patterns that match nothing, over a text of a kilobyte: milliseconds for each row.
fn dear_condition() -> String {
    let likes = (0..200).map(|n| format!("CONCAT(REPEAT('ab', 500), a) LIKE '%b{n}c%'"));
    likes.collect::<Vec<_>>().join(" OR ")
}

/// An expression that takes a millisecond and is not known before the row is.
const DEAR: &str = "SHA2(REPEAT(CONCAT(a, 'x'), 40000), 512)";

/// Statements that are busy for seconds.
fn busy_statements() -> Vec<String> {
    let condition = dear_condition();
    vec![
        format!("SELECT a FROM `default`.busy WHERE {condition}"),
        format!("SELECT COUNT(*) FROM `default`.busy WHERE {condition}"),
        format!("SELECT a FROM `default`.busy ORDER BY {DEAR}"),
        format!("SELECT a FROM `default`.busy ORDER BY {DEAR} LIMIT 3"),
        format!("SELECT {DEAR}, COUNT(*) FROM `default`.busy GROUP BY {DEAR}"),
        format!("SELECT DISTINCT {DEAR} = 'x' FROM `default`.busy"),
        format!("SELECT SUM(CRC32({DEAR})) FROM `default`.busy"),
        format!("SELECT a FROM `default`.busy WHERE {condition} FOR UPDATE"),
        format!("UPDATE `default`.busy SET b = {DEAR} WHERE 0 <= a"),
        format!("UPDATE `default`.busy SET b = 'b' WHERE {condition}"),
        format!("UPDATE `default`.busy SET b = 'b' WHERE 0 <= a ORDER BY {DEAR}"),
        format!("DELETE FROM `default`.busy WHERE {condition}"),
        format!("INSERT INTO `default`.busy VALUES {}", dear_rows()),
        // One evaluation, of 10^11 steps.
        "SELECT CONCAT(REPEAT('a', 900000), CONNECTION_ID()) \
         LIKE CONCAT('%', REPEAT('a', 100000), 'b')"
            .to_owned(),
        "SELECT a FROM `default`.busy WHERE SLEEP(100) = 0".to_owned(),
        "UPDATE `default`.busy SET b = SLEEP(100) WHERE a = 7".to_owned(),
        // Behind a row lock.
        "UPDATE `default`.busy SET b = 'b' WHERE a = 5".to_owned(),
        "DELETE FROM `default`.busy WHERE 0 <= a".to_owned(),
        "SELECT a FROM `default`.busy WHERE a = 5 FOR UPDATE".to_owned(),
        "INSERT INTO `default`.busy VALUES (5, 'b') ON DUPLICATE KEY UPDATE b = 'c'".to_owned(),
        format!("SELECT SLEEP(0); SELECT a FROM `default`.busy WHERE {condition}"),
    ]
}

fn dear_rows() -> String {
    let dear = "SHA2(REPEAT(CONNECTION_ID(), 500000), 512)";
    let rows = (0..ROWS_COUNT).map(|a| format!("({a} + 1000000, {dear})"));
    rows.collect::<Vec<_>>().join(",")
}

impl Running {
    /// A server with a table to be busy on; its row 5 is locked by the client.
    async fn with_busy_table() -> (Running, Client) {
        let server = Running::start("secret", 100).await;
        let mut holder = Client::root(server.address, FLAGS).await;
        holder
            .done("CREATE TABLE `default`.busy (a BIGINT PRIMARY KEY, b VARCHAR(200))")
            .await;
        let rows = (0..ROWS_COUNT).map(|a| format!("({a},'')"));
        let rows = rows.collect::<Vec<_>>().join(",");
        holder
            .done(&format!("INSERT INTO `default`.busy VALUES {rows}"))
            .await;
        holder.done("SET wait_timeout = 100000").await;
        holder.done("BEGIN").await;
        holder
            .done("UPDATE `default`.busy SET b = 'held' WHERE a = 5")
            .await;
        (server, holder)
    }

    async fn killer(&self) -> Killer {
        let mut client = Client::root(self.address, FLAGS).await;
        client.done("SET wait_timeout = 100000").await;
        Killer(tokio::sync::Mutex::new(client))
    }

    fn newest_id(&self) -> u32 {
        self.shared.processes().list().last().unwrap().id
    }

    fn command(&self, id: u32) -> Option<&'static str> {
        let rows = self.shared.processes().list();
        rows.iter().find(|row| row.id == id).map(|row| row.command)
    }

    /// Waits until connection `id` is at `command`, `None` for gone.
    async fn reaches(&self, id: u32, command: Option<&str>) {
        let before = Instant::now();
        while self.command(id) != command {
            assert!(
                before.elapsed() < Duration::from_secs(20),
                "connection {id} is at {:?}, not at {command:?}",
                self.command(id)
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// A client that runs `sql`, and its number.
    async fn victim(&self, sql: &str) -> (Client, u32) {
        let mut victim = Client::root(self.address, FLAGS).await;
        let id = self.newest_id();
        victim.done("SET innodb_lock_wait_timeout = 1000").await;
        victim.done("BEGIN").await;
        victim.query(sql).await;
        self.reaches(id, Some("Query")).await;
        tokio::time::sleep(RUNS_FOR).await;
        assert_eq!(self.command(id), Some("Query"), "{sql:.80} ended by itself");
        (victim, id)
    }
}

/// A connection that kills others.
struct Killer(tokio::sync::Mutex<Client>);

impl Killer {
    async fn kill(&self, sql: &str) {
        self.0.lock().await.done(sql).await;
    }
}

impl Client {
    /// Runs a statement that has no rows.
    pub(super) async fn done(&mut self, sql: &str) {
        self.query(sql).await;
        let answer = self.receive().await;
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
    }

    /// What ends the answer to a statement: the first ERR or end of the connection.
    async fn failure(&mut self) -> String {
        loop {
            let packet = shown(&self.receive().await);
            if packet.starts_with("ERR") || packet == "closed" {
                return packet;
            }
        }
    }
}

/// Runs `case` until what it measures is less than [`STOPS_WITHIN`], times the attempts.
async fn in_time(what: &str, case: impl AsyncFn() -> Duration) {
    let mut took = Vec::new();
    for attempt in 1..=ATTEMPTS_MAX {
        let stopped_after = case().await;
        took.push(stopped_after);
        if stopped_after < STOPS_WITHIN * attempt {
            println!("{took:>9.1?}: {what:.70}");
            return;
        }
    }
    panic!("{what:.100} took {took:?}, the most is {STOPS_WITHIN:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_query_stops_whatever_runs() {
    let _alone = ALONE.lock().await;
    let (server, _holder) = Running::with_busy_table().await;
    let killer = server.killer().await;
    for sql in busy_statements() {
        in_time(&sql, async || {
            let (mut victim, id) = server.victim(&sql).await;
            let stopped = Instant::now();
            killer.kill(&format!("KILL QUERY {id}")).await;
            assert_eq!(victim.failure().await, "ERR 1317", "{sql:.100}");
            let took = stopped.elapsed();
            victim.done("ROLLBACK").await;
            took
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_ends_the_connection_whatever_runs() {
    let _alone = ALONE.lock().await;
    let (server, _holder) = Running::with_busy_table().await;
    let killer = server.killer().await;
    for sql in busy_statements() {
        in_time(&sql, async || {
            let (_victim, id) = server.victim(&sql).await;
            let stopped = Instant::now();
            killer.kill(&format!("KILL {id}")).await;
            server.reaches(id, None).await;
            stopped.elapsed()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_client_stops_whatever_runs() {
    let _alone = ALONE.lock().await;
    let (server, _holder) = Running::with_busy_table().await;
    let mut statements = busy_statements();
    statements.push("SELECT SLEEP(100)".to_owned());
    statements.push("DO SLEEP(100)".to_owned());
    for sql in statements {
        in_time(&sql, async || {
            let (victim, id) = server.victim(&sql).await;
            let stopped = Instant::now();
            drop(victim);
            server.reaches(id, None).await;
            stopped.elapsed()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_may_be_lost_in_any_way() {
    let _alone = ALONE.lock().await;
    let (server, _holder) = Running::with_busy_table().await;
    let sql = format!("SELECT a FROM `default`.busy WHERE {}", dear_condition());
    in_time("a reset", async || {
        let (victim, id) = server.victim(&sql).await;
        let stopped = Instant::now();
        victim.socket.set_zero_linger().unwrap();
        drop(victim);
        server.reaches(id, None).await;
        stopped.elapsed()
    })
    .await;
    in_time("COM_QUIT in mid-statement", async || {
        let (mut victim, id) = server.victim(&sql).await;
        let stopped = Instant::now();
        victim.command(b"\x01").await;
        drop(victim);
        server.reaches(id, None).await;
        stopped.elapsed()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_whose_client_does_not_read_is_stopped() {
    let _alone = ALONE.lock().await;
    let server = Running::start("secret", 100).await;
    let mut maker = Client::root(server.address, FLAGS).await;
    maker.make_seq(300).await;
    let killer = server.killer().await;
    let sql = large_result();
    in_time("KILL QUERY", async || {
        let (mut victim, id) = server.victim(&sql).await;
        let stopped = Instant::now();
        killer.kill(&format!("KILL QUERY {id}")).await;
        // Its rows and locks are given up though nothing more could be sent.
        server.reaches(id, Some("Sleep")).await;
        let took = stopped.elapsed();
        assert_eq!(victim.failure().await, "ERR 1317");
        victim.done("ROLLBACK").await;
        took
    })
    .await;
    in_time("KILL", async || {
        let (_victim, id) = server.victim(&sql).await;
        let stopped = Instant::now();
        killer.kill(&format!("KILL {id}")).await;
        server.reaches(id, None).await;
        stopped.elapsed()
    })
    .await;
    in_time("a lost client", async || {
        let (victim, id) = server.victim(&sql).await;
        let stopped = Instant::now();
        drop(victim);
        server.reaches(id, None).await;
        stopped.elapsed()
    })
    .await;
    in_time("max_execution_time", async || {
        let mut victim = Client::root(server.address, FLAGS).await;
        let id = server.newest_id();
        victim.done("SET max_execution_time = 50").await;
        let began = Instant::now();
        victim.query(&sql).await;
        // What has been answered has begun.
        victim.receive().await;
        server.reaches(id, Some("Sleep")).await;
        let took = began.elapsed().saturating_sub(Duration::from_millis(50));
        assert_eq!(victim.failure().await, "ERR 3024");
        took
    })
    .await;
}

/// The same for rows that are fetched: one FETCH asks for more than the sockets hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_whose_client_does_not_read_is_stopped() {
    let _alone = ALONE.lock().await;
    let server = Running::start("secret", 100).await;
    let mut maker = Client::root(server.address, FLAGS).await;
    maker.make_seq(300).await;
    let killer = server.killer().await;
    let prepare = [b"\x16", large_result().as_bytes()].concat();
    in_time("KILL QUERY", async || {
        let mut victim = Client::root(server.address, FLAGS).await;
        let id = server.newest_id();
        victim.command(&prepare).await;
        victim.packets(3).await;
        victim.command(b"\x17\x01\0\0\0\x01\x01\0\0\0").await;
        assert_eq!(victim.packets(3).await[2], "EOF 42");
        victim.command(b"\x1c\x01\0\0\0\xff\xff\0\0").await;
        // A row has come, so the rest is on its way.
        victim.receive().await;
        tokio::time::sleep(RUNS_FOR).await;
        let stopped = Instant::now();
        killer.kill(&format!("KILL QUERY {id}")).await;
        server.reaches(id, Some("Sleep")).await;
        let took = stopped.elapsed();
        assert_eq!(victim.failure().await, "ERR 1317");
        // The cursor is closed with it.
        victim.command(b"\x1c\x01\0\0\0\x01\0\0\0").await;
        assert_eq!(victim.failure().await, "ERR 1421");
        took
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sleep_waits_and_tells_when_it_was_interrupted() {
    let _alone = ALONE.lock().await;
    let server = Running::start("secret", 100).await;
    let killer = server.killer().await;
    let mut client = Client::root(server.address, FLAGS).await;
    let answer = |digit: &str| {
        [
            "\\x01",
            "column",
            "EOF 02",
            &format!("\\x01{digit}"),
            "EOF 02",
        ]
        .map(str::to_owned)
    };
    let before = Instant::now();
    client.query("SELECT SLEEP(0.2)").await;
    assert_eq!(client.packets(5).await, answer("0"));
    assert!(Duration::from_millis(200) <= before.elapsed());
    for sql in ["SELECT SLEEP(100)", "SELECT SLEEP('1e300')"] {
        in_time(sql, async || {
            let mut victim = Client::root(server.address, FLAGS).await;
            let id = server.newest_id();
            victim.query(sql).await;
            server.reaches(id, Some("Query")).await;
            tokio::time::sleep(RUNS_FOR).await;
            let stopped = Instant::now();
            killer.kill(&format!("KILL QUERY {id}")).await;
            assert_eq!(victim.packets(5).await, answer("1"));
            let took = stopped.elapsed();
            victim.done("DO SLEEP(0)").await;
            took
        })
        .await;
    }
    // KILL of the connection is no answer of SLEEP's, nor of the statement: there is none.
    let mut victim = Client::root(server.address, FLAGS).await;
    let id = server.newest_id();
    victim.query("SELECT SLEEP(100)").await;
    server.reaches(id, Some("Query")).await;
    tokio::time::sleep(RUNS_FOR).await;
    killer.kill(&format!("KILL {id}")).await;
    assert_eq!(victim.packets(4).await[3], "closed");
    for sql in ["SELECT SLEEP(-1)", "SELECT SLEEP(NULL)", "DO SLEEP(-0.1)"] {
        client.query(sql).await;
        assert_eq!(client.failure().await, "ERR 1210", "{sql}");
    }
    client.done("SET sql_mode = ''").await;
    client.query("SELECT SLEEP(-1)").await;
    assert_eq!(client.packets(5).await[3], "\\x010");
    client.done("SET max_execution_time = 50").await;
    client.query("SELECT SLEEP(100)").await;
    client.packets(3).await;
    assert_eq!(
        client.packets(2).await,
        ["\\x011", "EOF 02"].map(str::to_owned)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sleepers_take_no_thread_from_others() {
    let _alone = ALONE.lock().await;
    let server = Running::start("secret", 100).await;
    let killer = server.killer().await;
    let mut sleepers = Vec::new();
    for _ in 0..20 {
        let mut sleeper = Client::root(server.address, FLAGS).await;
        let id = server.newest_id();
        sleeper.query("SELECT SLEEP(100)").await;
        server.reaches(id, Some("Query")).await;
        sleepers.push((sleeper, id));
    }
    in_time("a statement beside 20 that sleep", async || {
        let mut client = Client::root(server.address, FLAGS).await;
        let started = Instant::now();
        client.done("SET @a = 1").await;
        started.elapsed()
    })
    .await;
    for (mut sleeper, id) in sleepers {
        killer.kill(&format!("KILL QUERY {id}")).await;
        assert_eq!(sleeper.packets(4).await[3], "\\x011");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_busy_statements_than_threads_leave_room_for_a_kill() {
    let _alone = ALONE.lock().await;
    let (server, _holder) = Running::with_busy_table().await;
    let killer = server.killer().await;
    let sql = format!("SELECT a FROM `default`.busy WHERE {}", dear_condition());
    let mut others = Vec::new();
    for _ in 0..5 {
        others.push(server.victim(&sql).await);
    }
    in_time("KILL QUERY beside five busy statements", async || {
        let (mut victim, id) = server.victim(&sql).await;
        let stopped = Instant::now();
        killer.kill(&format!("KILL QUERY {id}")).await;
        assert_eq!(victim.failure().await, "ERR 1317");
        stopped.elapsed()
    })
    .await;
    for (_, id) in &others {
        killer.kill(&format!("KILL {id}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_take_turns_lose_no_row() {
    let _alone = ALONE.lock().await;
    let server = Running::start("secret", 100).await;
    let mut client = Client::root(server.address, FLAGS).await;
    // One page and a short last one; a turn ends within both.
    for rows_count in [100, 300] {
        client.done("DROP TABLE IF EXISTS `default`.seq").await;
        client.make_seq(rows_count).await;
        client
            .query(&format!("SELECT a FROM `default`.seq WHERE {DEAR} <> ''"))
            .await;
        let packets = client.packets(3 + rows_count + 1).await;
        for (number, packet) in packets[3..3 + rows_count].iter().enumerate() {
            assert!(
                packet.ends_with(&number.to_string()),
                "{packet}, not {number}"
            );
        }
        assert_eq!(packets[3 + rows_count], "EOF 02");
        for sql in [
            format!("SELECT COUNT(*) FROM `default`.seq WHERE {DEAR} <> ''"),
            format!("SELECT COUNT(DISTINCT {DEAR}) FROM `default`.seq"),
        ] {
            client.query(&sql).await;
            let wanted = format!("\\x03{rows_count}");
            assert_eq!(client.packets(5).await[3], wanted, "{sql}");
        }
        client
            .query(&format!(
                "DELETE FROM `default`.seq WHERE {DEAR} <> '' ORDER BY {DEAR}"
            ))
            .await;
        client.receive().await;
        client.query("SELECT COUNT(*) FROM `default`.seq").await;
        assert_eq!(client.packets(5).await[3], "\\x010");
    }
}

/// A client that reads nothing is cut after `net_write_timeout`; one that is only slow is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_is_cut() {
    let _alone = ALONE.lock().await;
    let server = Running::start("secret", 100).await;
    let mut maker = Client::root(server.address, FLAGS).await;
    maker.make_seq(300).await;
    let mut clients = Vec::new();
    for _ in 0..2 {
        let mut client = Client::root(server.address, FLAGS).await;
        client.done("SET net_write_timeout = 1").await;
        clients.push((client, server.newest_id()));
    }
    let [(mut slow, slow_id), (mut stalled, stalled_id)] = clients.try_into().ok().unwrap();
    let begun = Instant::now();
    stalled.query(&large_result()).await;
    slow.query(&large_result()).await;
    server.reaches(stalled_id, Some("Query")).await;
    let reading = async {
        // Less than there is, in pieces that let the server write again each time.
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            for _ in 0..8 {
                slow.receive().await;
            }
        }
    };
    let cut = async {
        server.reaches(stalled_id, None).await;
        begun.elapsed()
    };
    let ((), took) = tokio::join!(reading, cut);
    assert!(Duration::from_millis(900) < took, "{took:?}");
    server.reaches(slow_id, Some("Query")).await;
    // What was sent before is there, and then the end.
    while !stalled.receive().await.is_empty() {}
}

/// Past `wait_timeout` a client hears why, without having asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_idle_for_too_long_is_told() {
    let server = Running::start("secret", 10).await;
    let mut idle = Client::root(server.address, FLAGS).await;
    let begun = Instant::now();
    idle.done("SET wait_timeout = 1").await;
    idle.sequence = 0;
    assert_eq!(idle.packets(2).await, ["ERR 4031", "closed"]);
    assert!(Duration::from_millis(900) < begun.elapsed());
    let told = || server.shared.monitor().counts.errors();
    while told().iter().all(|(code, _)| code.errno() != 4031) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", told());
        tokio::task::yield_now().await;
    }
}
