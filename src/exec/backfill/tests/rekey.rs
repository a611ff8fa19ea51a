//! Changes of the primary key: what writers do meanwhile is there in the end, whatever is in the way is
//! told, and a change that is stopped leaves the table as it was. A failure prints the seed of its
//! case.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use tokio::task::JoinHandle;

use super::*;
use crate::exec::testing::{options, session};
use crate::kv::memory::Memory;
use crate::session::{OpenOptions, Shared};

/// Key, unique number, group.
type Rows = BTreeMap<i64, (i64, Option<i64>)>;

const TABLE: &str = "CREATE TABLE t (a INT PRIMARY KEY, u INT NOT NULL, g INT, v VARCHAR(9) DEFAULT \
                     'v', UNIQUE KEY by_u (u), UNIQUE KEY by_a (a), KEY by_g (g DESC) INCLUDE (v), KEY (u, g) WHERE g > 1)";

/// Runs a statement in a session of its own, and waits until it waits for its turn.
async fn begun(server: &Server, sql: &str) -> JoinHandle<Result<Vec<Vec<String>>>> {
    let other = server.another();
    let text = sql.to_owned();
    let running = tokio::spawn(async move { other.run(&text).await });
    while server.backfill().jobs.lock().is_empty() && !running.is_finished() {
        tokio::task::yield_now().await;
    }
    running
}

async fn rows(server: &Server) -> Rows {
    let rows = server.run("SELECT a, u, g FROM t").await.unwrap();
    let row = |row: Vec<String>| {
        let number = |at: usize| row[at].parse::<i64>();
        (number(0).unwrap(), (number(1).unwrap(), number(2).ok()))
    };
    rows.into_iter().map(row).collect()
}

/// Everything agrees: rows, indexes, counts; and nothing is stored that belongs to nobody.
async fn check(server: &Server, expected: &Rows, told: &str) {
    assert_eq!(&rows(server).await, expected, "{told}");
    assert_eq!(server.check("t").await, ["status OK"], "{told}");
    let count = server.run("SELECT COUNT(*) FROM t").await.unwrap();
    assert_eq!(count[0][0], expected.len().to_string(), "{told}");
    for (a, (u, g)) in expected {
        let by_u = format!("SELECT a FROM t FORCE INDEX (by_u) WHERE u = {u}");
        assert_eq!(
            server.run(&by_u).await.unwrap(),
            [[a.to_string()]],
            "{told}"
        );
        if let Some(g) = g {
            let by_g = format!("SELECT a FROM t FORCE INDEX (by_g) WHERE g = {g} AND a = {a}");
            assert_eq!(server.run(&by_g).await.unwrap().len(), 1, "{told}");
        }
    }
    let table = server.table("t");
    assert!(table.shadow.is_none(), "{told}");
    let live = server.engine().spaces().live.len();
    assert_eq!(live, 2 + table.indexes.len(), "{told}");
    let system = server.rows_of(SYSTEM_SPACE).await;
    let is_record = |key: &Key| matches!(SystemKey::decode(key), Ok(SystemKey::Build(_)));
    assert!(!system.iter().any(|(key, _)| is_record(key)), "{told}");
}

/// A statement on rows, by their unique columns alone unless the key is `a`, and what it makes of the
/// model when it is done.
fn statement(
    rng: &mut StdRng,
    model: &Rows,
    ((low, high), by_key): ((i64, i64), bool),
) -> (String, Rows) {
    let mut after = model.clone();
    let a = rng.random_range(low..high);
    let u = rng.random_range(0..60) * 1000 + low;
    let g = rng.random_range(0..5);
    let text = match rng.random_range(0..9) {
        2 if by_key => {
            after.insert(a, (u, after.get(&a).and_then(|(_, g)| *g)));
            format!("UPSERT INTO t (a, u) VALUES ({a}, {u})")
        }
        0..=2 => {
            after.insert(a, (u, Some(g)));
            format!("INSERT INTO t (a, u, g) VALUES ({a}, {u}, {g})")
        }
        3 => {
            if let Some(row) = after.get_mut(&a) {
                row.0 = u;
            }
            format!("UPDATE t SET u = {u} WHERE a = {a}")
        }
        4 => {
            if let Some(row) = after.get_mut(&a) {
                row.1 = None;
            }
            format!("UPDATE t SET g = NULL WHERE a = {a}")
        }
        5 => {
            after.retain(|other, (_, of)| *of != Some(g) || *other < low || high <= *other);
            format!("DELETE FROM t WHERE g = {g} AND a >= {low} AND a < {high}")
        }
        6 => {
            after.remove(&a);
            format!("DELETE FROM t WHERE a = {a}")
        }
        7 => {
            after.retain(|other, (taken, _)| *other != a && *taken != u);
            after.insert(a, (u, Some(g)));
            format!("REPLACE INTO t (a, u, g) VALUES ({a}, {u}, {g})")
        }
        _ => {
            after.insert(a, (u, None));
            after.insert(a + 1, (u + 1, Some(g)));
            let next = format!("{}, {}", a + 1, u + 1);
            format!("INSERT INTO t (a, u, g) VALUES ({a}, {u}, NULL), ({next}, {g})")
        }
    };
    (text, after)
}

/// Whether the new key of the change can be.
fn fits(model: &Rows, key: &str) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    model.iter().all(|(a, (u, g))| match key {
        "g" => g.is_some() && seen.insert(*g),
        "g DESC, u" => g.is_some(),
        _ => {
            let _ = (a, u);
            true
        }
    })
}

/// Makes the state of a copy that has come to a row: those before it are written again, and so in the
/// shadow, and the record says that they are copied. Not where the copy could not have come so far.
async fn pretend_copied(server: &Server, (model, until): (&Rows, i64), key: &str) {
    let before: Rows = model.range(..until).map(|(a, row)| (*a, *row)).collect();
    if !fits(&before, key) {
        return;
    }
    for a in before.keys() {
        let text = format!("UPDATE t SET v = 'again' WHERE a = {a}");
        server.run(&text).await.unwrap();
    }
    let table = server.table("t");
    let shadow = table.shadow.as_ref().unwrap();
    assert_eq!(server.rows_of(Space(shadow.id.0)).await.len(), before.len());
    let rows = server.rows_of(Space(table.id.0)).await;
    let Some((position, _)) = rows.get(before.len()) else {
        return;
    };
    let record = Record {
        on_failure: OnFailure::Drop,
        position: position.clone(),
    };
    let mut writes = WriteSet::blind();
    let at = Record::key(IndexId(shadow.id.0));
    writes.put(SYSTEM_SPACE, at, record.encode());
    server.engine().commit(writes).await.unwrap();
}

/// One writer, and a change that begins before it writes and is done after: every interleaving of one
/// statement with rows that are not copied yet.
#[tokio::test]
async fn what_is_written_before_the_copy_is_there_after_it() {
    for seed in 0..200_u64 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let server = Server::start().await;
        server.run(TABLE).await.unwrap();
        let mut model = Rows::new();
        for a in 0..rng.random_range(0..12) {
            let (u, g) = (a * 1000, rng.random_range(0..5));
            let text = format!("INSERT INTO t (a, u, g) VALUES ({a}, {u}, {g})");
            server.run(&text).await.unwrap();
            model.insert(a, (u, Some(g)));
        }
        let key = ["u", "g", "g DESC, u", "u DESC, a", "g, a"]
            .choose(rng)
            .unwrap();
        let turn = server.backfill().hold().await;
        let change = begun(&server, &format!("ALTER TABLE t PRIMARY KEY ({key})")).await;
        let mut log = Vec::new();
        let copied = rng.random_range(0..12);
        if rng.random_bool(0.5) {
            pretend_copied(&server, (&model, copied), key).await;
            log.push(format!("copied up to {copied}"));
        }
        for _ in 0..rng.random_range(0..25) {
            let (text, after) = statement(rng, &model, ((0, 12), true));
            let outcome = server.run(&text).await;
            log.push(format!("{text}: {outcome:?}"));
            if outcome.is_ok() {
                model = after;
            }
        }
        drop(turn);
        let outcome = change.await.unwrap();
        let told = format!(
            "seed {seed}: PRIMARY KEY ({key}): {outcome:?}\n{}",
            log.join("\n")
        );
        assert_eq!(outcome.is_ok(), fits(&model, key), "{told}");
        if let Err(error) = &outcome {
            let expected = [Code::DuplicateEntry, Code::NullInvalid];
            assert!(expected.contains(&error.code()), "{told}");
        }
        let has_changed = server.table("t").key[0].column_idx != 0;
        assert_eq!(has_changed, outcome.is_ok(), "{told}");
        check(&server, &model, &told).await;
    }
}

/// A row that is not copied yet has the key of one that is: whatever it does, the other stays whole.
#[tokio::test]
async fn a_row_with_a_taken_key_leaves_the_owner_alone() {
    let ends = [
        (&["DELETE FROM t WHERE a = 3"][..], None),
        (
            &[
                "UPDATE t SET u = 31 WHERE a = 3",
                "DELETE FROM t WHERE a = 3",
            ],
            None,
        ),
        (
            &[
                "UPDATE t SET u = 31 WHERE a = 3",
                "UPDATE t SET g = 3 WHERE a = 3",
            ],
            Some((31, Some(3))),
        ),
        (
            &["REPLACE INTO t (a, u, g) VALUES (3, 32, 4)"],
            Some((32, Some(4))),
        ),
        (
            &["UPSERT INTO t (a, u, g) VALUES (3, 30, 5)"],
            Some((30, Some(5))),
        ),
    ];
    for (statements, left) in ends {
        let server = Server::start().await;
        server.run(TABLE).await.unwrap();
        let text = "INSERT INTO t (a, u, g) VALUES (1, 10, 1), (2, 20, 2), (3, 30, 1)";
        server.run(text).await.unwrap();
        let mut model = rows(&server).await;
        let turn = server.backfill().hold().await;
        let change = begun(&server, "ALTER TABLE t PRIMARY KEY (g)").await;
        pretend_copied(&server, (&model, 3), "g").await;
        for text in statements {
            server.run(text).await.unwrap();
        }
        model.remove(&3);
        model.extend(left.map(|row| (3, row)));
        drop(turn);
        change.await.unwrap().unwrap();
        check(&server, &model, &statements.join("; ")).await;
    }
}

/// Writers at the same time, each with rows of its own, while the key changes again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_lose_nothing_while_the_key_changes() {
    const WRITERS: i64 = 4;
    const KEYS: [&str; 6] = ["u", "a DESC", "u DESC, a", "a, u", "v, a", "a"];
    for seed in 0..2_u64 {
        let engine: Arc<dyn Engine> = Arc::new(Memory::default());
        let server = Server::on(engine).await;
        server.run(TABLE).await.unwrap();
        let filler: Vec<String> = (0..1200)
            .map(|at| format!("({}, {}, {})", -1 - at, -1000 * at - 7, at % 5))
            .collect();
        let text = format!("INSERT INTO t (a, u, g) VALUES {}", filler.join(", "));
        server.run(&text).await.unwrap();
        let mut expected = rows(&server).await;
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let rng = StdRng::seed_from_u64(seed * 100 + writer.unsigned_abs());
                let rows = (writer * 50, writer * 50 + 40);
                tokio::spawn(write((server.another(), Arc::clone(&stop)), rng, rows))
            })
            .collect();
        for key in KEYS {
            let changed = server
                .run(&format!("ALTER TABLE t PRIMARY KEY ({key})"))
                .await;
            assert!(changed.is_ok(), "seed {seed}: {key}: {changed:?}");
        }
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            expected.extend(writer.await.unwrap());
        }
        check(&server, &expected, &format!("seed {seed}")).await;
    }
}

/// Writes rows with these numbers until it is told to stop; what they are then.
async fn write(
    (server, stop): (Server, Arc<AtomicBool>),
    mut rng: StdRng,
    (low, high): (i64, i64),
) -> Rows {
    let mut model = Rows::new();
    while !stop.load(Ordering::Relaxed) {
        let (text, after) = statement(&mut rng, &model, ((low, high), false));
        let in_transaction = rng.random_bool(0.3);
        if in_transaction {
            server.run("BEGIN").await.unwrap();
        }
        let mut outcome = server.run(&text).await;
        if in_transaction {
            let ended = match &outcome {
                Ok(_) => server.run("COMMIT").await,
                Err(_) => server.run("ROLLBACK").await,
            };
            outcome = outcome.and(ended);
        }
        match outcome {
            Ok(_) => model = after,
            Err(error) => {
                let known = [
                    Code::DuplicateEntry,
                    Code::TableDefinitionChanged,
                    Code::Deadlock,
                    Code::NotSupportedYet,
                    Code::LockWaitTimeout,
                ];
                assert!(known.contains(&error.code()), "{text}: {error:?}");
            }
        }
    }
    model
}

async fn small() -> (Server, Rows) {
    let server = Server::start().await;
    server.run(TABLE).await.unwrap();
    let text = "INSERT INTO t (a, u, g) VALUES (1, 10, 1), (2, 20, 2), (3, 30, 3)";
    server.run(text).await.unwrap();
    let model = rows(&server).await;
    (server, model)
}

#[tokio::test]
async fn a_change_goes_on_after_a_restart() {
    let (server, mut model) = small().await;
    let turn = server.backfill().hold().await;
    let change = begun(&server, "ALTER TABLE t PRIMARY KEY (u DESC)").await;
    server
        .run("INSERT INTO t (a, u, g) VALUES (4, 40, 4)")
        .await
        .unwrap();
    server.run("DELETE FROM t WHERE a = 1").await.unwrap();
    model.insert(4, (40, Some(4)));
    model.remove(&1);
    change.abort();
    let _ = change.await;
    let engine = Arc::clone(server.engine());
    // The turn is kept: the server that was killed does nothing more.
    drop(server);
    let server = Server::on(engine).await;
    server.builds_ended().await;
    assert_eq!(server.table("t").key[0].column_idx, 1);
    check(&server, &model, "resumed").await;
    drop(turn);
    let shown = server.run("SHOW CREATE TABLE t").await.unwrap();
    assert!(shown[0][1].contains("PRIMARY KEY (`u` DESC)"), "{shown:?}");
}

/// What SHOW PROCESSLIST tells of the build that no statement waits for: its number and its state.
async fn listed(server: &Server) -> Option<(String, String)> {
    let rows = server.run("SHOW PROCESSLIST").await.unwrap();
    let mut builds = rows.into_iter().filter(|row| row[4] == "Daemon");
    let row = builds.next()?;
    assert_eq!(
        (row[1].as_str(), row[3].as_str()),
        ("system user", "default")
    );
    assert_eq!(builds.next(), None, "one build");
    Some((row[0].clone(), row[6].clone()))
}

/// A server that was started while a change went on, which has several pages before it.
async fn resuming() -> (Server, Rows) {
    let server = Server::start().await;
    server.run(TABLE).await.unwrap();
    let values: Vec<String> = (0..4000).map(|a| format!("({a}, {}, 1)", a * 10)).collect();
    let text = format!("INSERT INTO t (a, u, g) VALUES {}", values.join(", "));
    server.run(&text).await.unwrap();
    let model = rows(&server).await;
    // Never given back: the server that was killed does nothing more.
    std::mem::forget(server.backfill().hold().await);
    let change = begun(&server, "ALTER TABLE t PRIMARY KEY (u DESC)").await;
    assert_eq!(listed(&server).await, None, "its statement tells of it");
    change.abort();
    let _ = change.await;
    (server.restart().await, model)
}

#[tokio::test]
async fn a_change_that_goes_on_is_a_process_with_its_progress() {
    let (server, model) = resuming().await;
    // The test and the build take turns in one thread.
    loop {
        let (_, state) = listed(&server).await.unwrap();
        if state.starts_with("changing the primary key of default.t: ") {
            assert!(state.ends_with(" rows"), "{state}");
            break;
        }
        assert_eq!(state, "waiting for another index build: default.t");
        tokio::task::yield_now().await;
    }
    server.builds_ended().await;
    assert_eq!(listed(&server).await, None);
    assert_eq!(server.table("t").key[0].column_idx, 1);
    assert_eq!(rows(&server).await, model);
}

#[tokio::test]
async fn a_change_that_goes_on_is_killed_by_its_number() {
    let (server, model) = resuming().await;
    let (number, _) = listed(&server).await.unwrap();
    server.run(&format!("KILL {number}")).await.unwrap();
    server.builds_ended().await;
    assert_eq!(listed(&server).await, None);
    assert_eq!(server.table("t").key[0].column_idx, 0);
    check_kept(&server, &model).await;
    let error = server.run(&format!("KILL {number}1")).await.unwrap_err();
    assert_eq!(error.code(), Code::NoSuchThread);
}

/// The table is as it was, and nothing of the change is left.
async fn check_kept(server: &Server, expected: &Rows) {
    assert_eq!(&rows(server).await, expected);
    assert_eq!(server.check("t").await, ["status OK"]);
    let table = server.table("t");
    assert!(table.shadow.is_none());
    let live = server.engine().spaces().live.len();
    assert_eq!(live, 2 + table.indexes.len());
}

#[tokio::test]
async fn who_asks_for_the_same_waits_for_the_change_that_goes_on() {
    let (server, model) = small().await;
    let turn = server.backfill().hold().await;
    let change = begun(&server, "ALTER TABLE t PRIMARY KEY (u)").await;
    let other = server.another();
    let same = tokio::spawn(async move { other.run("ALTER TABLE t PRIMARY KEY (u)").await });
    let others = [
        "ALTER TABLE t PRIMARY KEY (g, a)",
        "ALTER TABLE t ADD COLUMN n INT",
        "ALTER TABLE t MODIFY u BIGINT NOT NULL",
        "ALTER TABLE t RENAME TO w",
        "RENAME TABLE t TO w",
        "CREATE INDEX i ON t (v)",
        "DROP INDEX by_g ON t",
        "ALTER INDEX by_g ON t DISABLED",
        "ALTER TABLE t MODIFY v VARCHAR(2)",
    ];
    for text in others {
        let error = server.run(text).await.unwrap_err();
        assert_eq!(error.code(), Code::LockWaitTimeout, "{text}: {error}");
        assert!(error.message().contains("primary key of 't'"), "{error}");
    }
    server.run("CREATE TABLE copy LIKE t").await.unwrap();
    assert!(server.table("copy").shadow.is_none());
    server.run("SET trash_retention = 0").await.ok();
    drop(turn);
    change.await.unwrap().unwrap();
    same.await.unwrap().unwrap();
    server
        .run("INSERT INTO copy (a, u) VALUES (1, 1)")
        .await
        .unwrap();
    server.run("SET GLOBAL trash_retention = 0").await.unwrap();
    server.run("DROP TABLE copy").await.unwrap();
    check(&server, &model, "the same twice").await;
}

#[tokio::test]
async fn a_killed_change_leaves_the_table_as_it_was() {
    let (server, model) = small().await;
    let before = server.run("SHOW CREATE TABLE t").await.unwrap();
    let turn = server.backfill().hold().await;
    let change = begun(&server, "ALTER TABLE t PRIMARY KEY (u)").await;
    let job = server
        .backfill()
        .jobs
        .lock()
        .values()
        .next()
        .cloned()
        .unwrap();
    assert_eq!(job.state(), "waiting for another index build: default.t");
    job.kill();
    let error = change.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::QueryInterrupted);
    drop(turn);
    assert_eq!(server.run("SHOW CREATE TABLE t").await.unwrap(), before);
    check(&server, &model, "killed").await;
}

#[tokio::test]
async fn a_table_that_goes_ends_the_change() {
    for (sql, code) in [
        ("DROP TABLE t", Code::TableDefinitionChanged),
        ("TRUNCATE TABLE t", Code::TableDefinitionChanged),
    ] {
        let (server, model) = small().await;
        let turn = server.backfill().hold().await;
        let change = begun(&server, "ALTER TABLE t PRIMARY KEY (u)").await;
        server.run("UPDATE t SET g = 5 WHERE a = 1").await.unwrap();
        server.run(sql).await.unwrap();
        drop(turn);
        let error = change.await.unwrap().unwrap_err();
        assert_eq!(error.code(), code, "{sql}");
        if sql.starts_with("DROP") {
            server.run("UNDROP TABLE t").await.unwrap();
            let mut model = model;
            model.insert(1, (10, Some(5)));
            check(&server, &model, sql).await;
        } else {
            check(&server, &Rows::new(), sql).await;
        }
    }
}

#[tokio::test]
async fn a_value_that_the_new_key_cannot_have_is_refused_to_writers() {
    let (server, mut model) = small().await;
    let turn = server.backfill().hold().await;
    let change = begun(&server, "ALTER TABLE t PRIMARY KEY (g)").await;
    let refused = [
        (
            "INSERT INTO t (a, u, g) VALUES (9, 90, NULL)",
            Code::ColumnNotNull,
        ),
        ("UPDATE t SET g = NULL WHERE a = 1", Code::ColumnNotNull),
    ];
    for (text, code) in refused {
        assert_eq!(server.run(text).await.unwrap_err().code(), code, "{text}");
    }
    // What is copied already, or written since, is known.
    server
        .run("INSERT INTO t (a, u, g) VALUES (8, 80, 8)")
        .await
        .unwrap();
    // The change may fail yet: IGNORE leaves out no row for a key that the table has not.
    for text in [
        "INSERT INTO t (a, u, g) VALUES (9, 90, 8)",
        "INSERT IGNORE INTO t (a, u, g) VALUES (9, 90, 8), (7, 70, 7)",
        "UPDATE IGNORE t SET g = 8 WHERE a = 1",
    ] {
        let error = server.run(text).await.unwrap_err();
        let taken = "Duplicate entry '8' for key 't.PRIMARY'";
        assert_eq!(error.message(), taken, "{text}");
    }
    // For one that it has, it does.
    server
        .run("INSERT IGNORE INTO t (a, u, g) VALUES (8, 81, 9), (6, 80, 10), (7, 70, 7)")
        .await
        .unwrap();
    model.extend([(8, (80, Some(8))), (7, (70, Some(7)))]);
    drop(turn);
    change.await.unwrap().unwrap();
    check(&server, &model, "refused").await;
}

/// Ids go on, also when the server is started again.
#[tokio::test]
async fn ids_are_counted_on_behind_a_change() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::default());
    let server = Server::on(Arc::clone(&engine)).await;
    server
        .run("CREATE TABLE c (id INT AUTO_INCREMENT, k INT NOT NULL, PRIMARY KEY (id), KEY (id))")
        .await
        .unwrap();
    server
        .run("INSERT INTO c (k) VALUES (1), (2), (3)")
        .await
        .unwrap();
    server.run("DELETE FROM c WHERE id = 3").await.unwrap();
    server.run("ALTER TABLE c PRIMARY KEY (k)").await.unwrap();
    server.run("INSERT INTO c (k) VALUES (4)").await.unwrap();
    let id = |rows: Vec<Vec<String>>| rows[0][0].parse::<u32>().unwrap();
    assert_eq!(
        id(server.run("SELECT id FROM c WHERE k = 4").await.unwrap()),
        4
    );
    drop(server);
    let server = Server::on(engine).await;
    server.run("INSERT INTO c (k) VALUES (5)").await.unwrap();
    let next = id(server.run("SELECT id FROM c WHERE k = 5").await.unwrap());
    assert!(4 < next, "{next}");
}

/// A reader that has begun ends with the rows that were there, and the next statement is bound again.
#[tokio::test]
async fn statements_in_flight_end_with_the_rows_they_began_with() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::default());
    let with_scans = OpenOptions {
        allow_full_scan: true,
        ..options()
    };
    let shared = Shared::over(engine, None, &with_scans).await;
    let shared = Arc::new(shared.unwrap());
    let mut writer = session(&shared, 1);
    let mut reader = session(&shared, 2);
    writer
        .query(b"CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL)")
        .await
        .unwrap();
    let values: Vec<String> = (0..3000).map(|a| format!("({a}, {})", 3000 - a)).collect();
    let text = format!("INSERT INTO t VALUES {}", values.join(", "));
    writer.query(text.as_bytes()).await.unwrap();
    let answer = reader.query(b"SELECT a FROM t").await.unwrap();
    let crate::session::Reply::Rows(mut set) = answer.reply else {
        panic!("rows");
    };
    writer
        .query(b"ALTER TABLE t PRIMARY KEY (b)")
        .await
        .unwrap();
    writer.query(b"DELETE FROM t WHERE b < 2000").await.unwrap();
    let mut count = Count(0);
    while let crate::exec::rows::PageEnd::More = set.rows.next_page(&mut count).await.unwrap() {}
    assert_eq!(count.0, 3000);
}

struct Count(u32);

impl crate::exec::rows::RowSink for Count {
    fn row(&mut self, _: &[crate::types::Value<'_>]) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}

const GUIDE: &str = include_str!("../../../../docs/altering.md");

/// Statements of the guide end in `;`, and what they answer stands behind them as comments.
#[tokio::test]
async fn the_examples_of_the_guide_answer_what_it_says() {
    let server = Server::refusing().await;
    let parts = GUIDE.split("```");
    let examples: Vec<&str> = parts
        .filter_map(|part| part.strip_prefix("sql\n"))
        .collect();
    let lines: Vec<&str> = examples
        .iter()
        .flat_map(|example| example.lines())
        .collect();
    let mut asked = 0;
    let mut lines = lines.into_iter().peekable();
    while let Some(sql) = lines.next() {
        let mut told = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("-- ")) {
            told.push(line[3..].to_owned());
        }
        let found: Vec<String> = match server.run(sql.trim_end_matches(';')).await {
            Ok(rows) => rows.iter().map(|row| row.join(" | ")).collect(),
            Err(error) => vec![format!("ERROR {}", error.code().errno())],
        };
        assert_eq!(found, told, "{sql}");
        asked += 1;
    }
    assert!(10 < asked, "{asked} statements");
}
