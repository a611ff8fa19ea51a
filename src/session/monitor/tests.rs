//! What is told of statements that were really run.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::slow::LOGGED_BYTES_MAX;
use super::verb::Verb;
use crate::error::{Code, Error};
use crate::exec::rows::{PageEnd, RowSink};
use crate::exec::testing::{options, session};
use crate::session::{OpenOptions, Reply, Session, Shared, Storage};
use crate::types::Value;

#[derive(Default)]
struct Texts(Vec<Vec<String>>);

impl RowSink for Texts {
    fn row(&mut self, row: &[Value<'_>]) -> Result<(), Error> {
        let texts = row.iter().map(|value| value.to_text().into_owned());
        self.0.push(texts.collect());
        Ok(())
    }
}

async fn rows_of(session: &mut Session, reply: Reply) -> Result<Vec<Vec<String>>, Error> {
    let Reply::Rows(mut set) = reply else {
        return Ok(Vec::new());
    };
    let mut texts = Texts::default();
    loop {
        match set.rows.next_page(&mut texts).await {
            Ok(PageEnd::More) => {}
            Ok(PageEnd::Last { .. }) => break,
            Err(error) => {
                drop(set);
                session.fail_rows(u64::try_from(texts.0.len()).unwrap(), &error);
                return Err(error);
            }
        }
    }
    drop(set);
    session.end_rows(u64::try_from(texts.0.len()).unwrap());
    Ok(texts.0)
}

async fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>, Error> {
    let answer = session.query(sql.as_bytes()).await?;
    rows_of(session, answer.reply).await
}

async fn execute(session: &mut Session, id: u32, parameter: i64) -> Vec<Vec<String>> {
    let reply = session.execute(id, vec![Value::Int(parameter)]).await;
    rows_of(session, reply.unwrap()).await.unwrap()
}

/// A server with a table `t (a, b)` of ten rows and an index on b.
async fn shared(storage: Storage) -> (Arc<Shared>, Session) {
    let options = OpenOptions {
        storage,
        ..options()
    };
    let shared = Shared::open(options).await.unwrap();
    let mut session = session(&shared, 7);
    for sql in [
        "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, KEY (b))",
        "INSERT INTO t VALUES (1,1,0),(2,1,0),(3,1,0),(4,2,0),(5,2,0),(6,2,0),(7,3,0),(8,3,0),(9,3,0),(10,3,0)",
        "TRUNCATE performance_schema.events_statements_summary_by_digest",
    ] {
        run(&mut session, sql).await.unwrap();
    }
    (shared, session)
}

async fn digest(session: &mut Session, text: &str, columns: &str) -> Vec<String> {
    let sql = format!(
        "SELECT {columns} FROM performance_schema.events_statements_summary_by_digest \
         WHERE SCHEMA_NAME = 'default' AND DIGEST_TEXT = '{text}'"
    );
    let mut rows = run(session, &sql).await.unwrap();
    assert_eq!(rows.len(), 1, "{text}");
    rows.remove(0)
}

const COUNTS: &str = "COUNT_STAR, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, SUM_ROWS_AFFECTED, SUM_ERRORS";

#[tokio::test]
async fn rows_are_counted_as_they_are_read_and_sent() {
    let (_shared, mut session) = shared(Storage::Memory).await;
    let cases = [
        (
            "SELECT * FROM t WHERE a = 1",
            "SELECT * FROM `t` WHERE `a` = ?",
            [1, 1, 1, 0, 0],
        ),
        (
            "SELECT * FROM t WHERE a IN (1, 2, 30)",
            "SELECT * FROM `t` WHERE `a` IN (...)",
            [1, 2, 2, 0, 0],
        ),
        (
            "SELECT a FROM t WHERE b = 1 AND c = 5",
            "SELECT `a` FROM `t` WHERE `b` = ? AND `c` = ?",
            [1, 0, 3, 0, 0],
        ),
        (
            "SELECT u.a FROM t u JOIN t v ON v.a = u.b WHERE u.b = 3",
            "SELECT `u` . `a` FROM `t` `u` JOIN `t` `v` ON `v` . `a` = `u` . `b` WHERE `u` . `b` = ?",
            [1, 4, 8, 0, 0],
        ),
        (
            "UPDATE t SET c = 1 WHERE b = 2",
            "UPDATE `t` SET `c` = ? WHERE `b` = ?",
            [1, 0, 3, 3, 0],
        ),
        (
            "DELETE FROM t WHERE a = 10",
            "DELETE FROM `t` WHERE `a` = ?",
            [1, 0, 1, 1, 0],
        ),
        (
            "INSERT INTO t VALUES (11, 4, 0), (12, 4, 0)",
            "INSERT INTO `t` VALUES (...) /* , ... */",
            [1, 0, 0, 2, 0],
        ),
    ];
    for (sql, text, expected) in cases {
        run(&mut session, sql).await.unwrap();
        let counted = digest(&mut session, text, COUNTS).await;
        let expected = expected.map(|count| count.to_string());
        assert_eq!(counted, expected, "{sql}");
    }
}

#[tokio::test]
async fn prepared_statements_are_counted_with_their_like() {
    let (_shared, mut session) = shared(Storage::Memory).await;
    let id = session.prepare(b"SELECT c FROM t WHERE a = ?").unwrap().id;
    execute(&mut session, id, 1).await;
    execute(&mut session, id, 99).await;
    run(&mut session, "SELECT c FROM t WHERE a = 3")
        .await
        .unwrap();
    let counted = digest(&mut session, "SELECT `c` FROM `t` WHERE `a` = ?", COUNTS).await;
    assert_eq!(counted, ["3", "2", "2", "0", "0"]);
}

#[tokio::test]
async fn execute_is_counted_with_what_it_executes() {
    let (shared, mut session) = shared(Storage::Memory).await;
    for sql in [
        "PREPARE s FROM 'SELECT c FROM t WHERE a = ?'",
        "SET @a = 1, SESSION long_query_time = 0",
        "EXECUTE s USING @a",
    ] {
        run(&mut session, sql).await.unwrap();
    }
    run(&mut session, "EXECUTE s").await.unwrap_err();
    run(&mut session, "EXECUTE nosuch").await.unwrap_err();
    let counted = digest(&mut session, "SELECT `c` FROM `t` WHERE `a` = ?", COUNTS).await;
    assert_eq!(counted, ["2", "1", "1", "0", "1"]);
    let counts = &shared.monitor().counts;
    assert_eq!(counts.of(Verb::Execute).statements, 1);
    let slow = shared.monitor().slow.newest();
    let texts = slow.iter().map(|entry| entry.text.as_str());
    let texts: Vec<&str> = texts.filter(|text| text.contains("WHERE a")).collect();
    assert_eq!(texts, ["SELECT c FROM t WHERE a = ?"; 2]);
}

/// The digest of a statement that changes how texts are read is that of how it was read itself.
#[tokio::test]
async fn a_changed_sql_mode_puts_no_literal_into_a_digest() {
    let (_shared, mut session) = shared(Storage::Memory).await;
    let id = session.prepare(b"SELECT \"geheim\"").unwrap().id;
    let set = "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'), @p = \"geheim\"";
    run(&mut session, set).await.unwrap();
    let reply = session.execute(id, Vec::new()).await.unwrap();
    rows_of(&mut session, reply).await.unwrap();
    run(&mut session, "SET sql_mode = DEFAULT").await.unwrap();
    let all = "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest";
    let texts = run(&mut session, all).await.unwrap().concat();
    assert!(!texts.concat().contains("geheim"), "{texts:?}");
    for text in [
        "SET `sql_mode` = `CONCAT` ( @@`sql_mode` , ? ) , @? = ?",
        "SELECT ?",
    ] {
        assert!(texts.iter().any(|known| known == text), "{texts:?}");
    }
}

#[tokio::test]
async fn rows_that_are_fetched_by_and_by_are_of_their_statement() {
    let (shared, mut session) = shared(Storage::Memory).await;
    run(&mut session, "SET SESSION long_query_time = 0")
        .await
        .unwrap();
    let id = session.prepare(b"SELECT a, b FROM t WHERE b = ?");
    let id = id.unwrap().id;
    let began = Instant::now();
    let reply = session.execute(id, vec![Value::Int(1)]).await.unwrap();
    let Reply::Rows(mut set) = reply else {
        panic!("no rows");
    };
    let mut fetching = session.open_rows();
    // The client thinks, and runs something else.
    let pause = Duration::from_millis(20);
    std::thread::sleep(pause);
    run(&mut session, "SELECT * FROM t WHERE b = 3")
        .await
        .unwrap();
    session.begin_fetch(&mut fetching);
    let mut texts = Texts::default();
    while let PageEnd::More = set.rows.next_page(&mut texts).await.unwrap() {}
    session.end_fetch(&mut fetching);
    drop(set);
    std::thread::sleep(pause);
    session.leave_rows(fetching, 3, None);
    let most = began.elapsed().saturating_sub(2 * pause);

    let of_text = "SELECT `a` , `b` FROM `t` WHERE `b` = ?";
    assert_eq!(
        digest(&mut session, of_text, COUNTS).await,
        ["1", "3", "3", "0", "0"]
    );
    let slow = shared.monitor().slow.newest();
    let slow = slow.iter().find(|entry| entry.digest == of_text).unwrap();
    assert_eq!((slow.event.rows_sent, slow.event.rows_examined), (3, 3));
    assert!(u128::from(slow.event.nanos) <= most.as_nanos());
}

/// What an error leaves is no warning.
#[tokio::test]
async fn an_error_is_not_among_the_warnings_that_are_counted() {
    let (_shared, mut session) = shared(Storage::Memory).await;
    for sql in [
        "SELECT nosuch FROM t WHERE a = 1",
        "SELECT a + 9223372036854775807 FROM t WHERE a = 1",
    ] {
        run(&mut session, sql).await.unwrap_err();
        let errors = run(&mut session, "SHOW ERRORS").await.unwrap();
        assert_eq!(errors.len(), 1, "{sql}");
    }
    for text in [
        "SELECT `nosuch` FROM `t` WHERE `a` = ?",
        "SELECT `a` + ? FROM `t` WHERE `a` = ?",
    ] {
        let counted = digest(&mut session, text, "SUM_ERRORS, SUM_WARNINGS").await;
        assert_eq!(counted, ["1", "0"], "{text}");
    }
}

async fn status(session: &mut Session, name: &str) -> u64 {
    let sql = format!("SHOW SESSION STATUS LIKE '{name}'");
    let rows = run(session, &sql).await.unwrap();
    rows[0][1].parse().unwrap()
}

#[tokio::test]
async fn commands_are_counted_as_what_they_are() {
    let (_shared, mut session) = shared(Storage::Memory).await;
    let names = [
        "Com_stmt_prepare",
        "Com_stmt_execute",
        "Com_stmt_close",
        "Com_dealloc_sql",
        "Com_change_db",
        "Com_select",
        "Questions",
        "Queries",
    ];
    let mut before = Vec::new();
    for name in names {
        before.push(status(&mut session, name).await);
    }
    let id = session.prepare(b"SELECT a FROM t WHERE a = ?").unwrap().id;
    execute(&mut session, id, 1).await;
    session.close_statement(id);
    for sql in [
        "PREPARE p FROM 'SELECT 1'",
        "EXECUTE p",
        "DEALLOCATE PREPARE p",
    ] {
        run(&mut session, sql).await.unwrap();
    }
    session.run_use("default").unwrap();
    session.run_use("nosuch").unwrap_err();
    let mut grown = Vec::new();
    for (name, before) in names.iter().zip(before) {
        grown.push(status(&mut session, name).await - before);
    }
    // Seven names were asked for before the eighth was, and the other way round: eight in between.
    assert_eq!(grown, [2, 2, 2, 1, 2, 2, 5 + 8, 7 + 8], "{names:?}");
}

#[tokio::test]
async fn what_its_client_did_not_wait_for_has_failed() {
    let (shared, mut session) = shared(Storage::Memory).await;
    let answer = session.query(b"SELECT * FROM t WHERE b = 1").await;
    drop(answer.unwrap());
    session.close().await;
    let errors = shared.monitor().counts.errors();
    assert_eq!(errors, [(Code::QueryInterrupted, 1)]);
}

/// Its digest is that of the whole text, also where only a part of the text is kept.
#[tokio::test]
async fn long_texts_have_the_digest_of_all_of_them() {
    let (shared, mut session) = shared(Storage::Memory).await;
    run(&mut session, "SET SESSION long_query_time = 0")
        .await
        .unwrap();
    let long = "x".repeat(LOGGED_BYTES_MAX);
    let sql = format!("SELECT '{long}', a FROM t WHERE a = 1");
    let text = "SELECT ? , `a` FROM `t` WHERE `a` = ?";
    for count in ["1", "2"] {
        run(&mut session, &sql).await.unwrap();
        assert_eq!(digest(&mut session, text, "COUNT_STAR").await, [count]);
    }
    let slow = shared.monitor().slow.newest();
    let found = slow.iter().filter(|entry| entry.digest == text);
    assert_eq!(found.count(), 2);
}

#[tokio::test]
async fn passwords_are_cut_by_kind_of_statement() {
    let (_shared, mut session) = shared(Storage::Memory).await;
    for (sql, shown) in [
        (
            "CHANGE MASTER TO MASTER_USER='u', MASTER_PASSWORD='geheim'",
            "CHANGE MASTER TO MASTER_USER='u', MASTER_PASSWORD <secret>",
        ),
        (
            "START REPLICA USER='u' PASSWORD='geheim'",
            "START REPLICA USER='u' PASSWORD <secret>",
        ),
        (
            "PREPARE s FROM 'CREATE USER v IDENTIFIED BY ''geheim'''",
            "PREPARE s FROM 'CREATE USER v IDENTIFIED <secret>",
        ),
        ("EXECUTE s", "CREATE USER v IDENTIFIED <secret>"),
        (
            "/* c */ SELECT 'a; set password' AS password_hash",
            "/* c */ SELECT 'a; set password' AS password_hash",
        ),
        (
            "CREATE TABLE u (a INT PRIMARY KEY, password TEXT)",
            "CREATE TABLE u (a INT PRIMARY KEY, password TEXT)",
        ),
    ] {
        let reset = "TRUNCATE performance_schema.events_statements_summary_by_digest";
        run(&mut session, reset).await.unwrap();
        let _ = run(&mut session, sql).await;
        let samples = "SELECT QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_summary_by_digest \
                       WHERE DIGEST_TEXT NOT LIKE 'TRUNCATE%'";
        assert_eq!(run(&mut session, samples).await.unwrap(), [[shown]]);
    }
}

#[tokio::test]
async fn refusals_are_errors_of_their_digest_and_counted_apart() {
    let (shared, mut session) = shared(Storage::Memory).await;
    for value in [1, 2] {
        let sql = format!("SELECT * FROM t WHERE c = {value}");
        let error = run(&mut session, &sql).await.unwrap_err();
        assert_eq!(error.code(), Code::TooBigSelect);
    }
    run(&mut session, "SELECT nosuch FROM t").await.unwrap_err();
    run(&mut session, "SELEC 1").await.unwrap_err();
    let text = "SELECT * FROM `t` WHERE `c` = ?";
    let columns = "COUNT_STAR, SUM_ERRORS, SUM_REFUSALS";
    assert_eq!(digest(&mut session, text, columns).await, ["2", "2", "2"]);
    let text = "SELECT `nosuch` FROM `t`";
    assert_eq!(digest(&mut session, text, columns).await, ["1", "1", "0"]);
    let errors = shared.monitor().counts.errors();
    let errors: Vec<_> = errors
        .iter()
        .map(|(code, count)| (code.errno(), *count))
        .collect();
    assert_eq!(errors, [(1054, 1), (1064, 1), (1104, 2)]);
}

#[tokio::test]
async fn times_samples_and_quantiles_are_told() {
    let (_shared, mut session) = shared(Storage::Memory).await;
    for seconds in ["0.03", "0.001"] {
        run(&mut session, &format!("SELECT SLEEP({seconds})"))
            .await
            .unwrap();
    }
    let told = digest(
        &mut session,
        "SELECT `SLEEP` (?)",
        "MIN_TIMER_WAIT >= 1000000000, MAX_TIMER_WAIT >= 30000000000, \
         SUM_TIMER_WAIT = MIN_TIMER_WAIT + MAX_TIMER_WAIT, AVG_TIMER_WAIT = SUM_TIMER_WAIT DIV 2, \
         QUANTILE_99 >= MAX_TIMER_WAIT AND QUANTILE_99 <= MAX_TIMER_WAIT * 1.2, \
         QUERY_SAMPLE_TEXT, QUERY_SAMPLE_TIMER_WAIT = MAX_TIMER_WAIT, \
         FIRST_SEEN <= LAST_SEEN, TIMESTAMPDIFF(SECOND, LAST_SEEN, NOW()) < 60, LENGTH(DIGEST)",
    )
    .await;
    assert_eq!(
        told,
        [
            "1",
            "1",
            "1",
            "1",
            "1",
            "SELECT SLEEP(0.03)",
            "1",
            "1",
            "1",
            "64"
        ]
    );
}

#[tokio::test]
async fn who_may_not_see_others_sees_no_digests() {
    let (shared, mut root) = shared(Storage::Memory).await;
    run(&mut root, "CREATE USER u IDENTIFIED BY 'geheim'")
        .await
        .unwrap();
    let sample = "SELECT QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_summary_by_digest \
                  WHERE DIGEST_TEXT LIKE 'CREATE USER%'";
    let rows = run(&mut root, sample).await.unwrap();
    assert_eq!(rows, [["CREATE USER u IDENTIFIED <secret>"]]);
    run(&mut root, "SET SESSION long_query_time = 0")
        .await
        .unwrap();
    run(&mut root, "ALTER USER u IDENTIFIED BY 'geheimer'")
        .await
        .unwrap();
    let slow = run(&mut root, "SHOW SLOW QUERIES").await.unwrap();
    assert!(!format!("{slow:?}").contains("geheim"), "{slow:?}");

    let client = crate::session::Client {
        user: "u".to_owned(),
        host: "localhost".to_owned(),
        account: crate::accounts::AccountName::new("u", "%"),
        expired: false,
        tls: None,
        connection_id: 8,
        found_rows: false,
        multi_statements: false,
        local_files: false,
        interactive: false,
        session_track: false,
        compression: None,
        progress: None,
    };
    let mut user = Session::new(&shared, client, &Arc::default()).unwrap();
    let all = "SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest";
    assert_eq!(run(&mut user, all).await.unwrap(), [["0"]]);
    let error = run(&mut user, "SHOW SLOW QUERIES").await.unwrap_err();
    assert_eq!(error.code(), Code::AccessNeeded);
    let reset = "TRUNCATE performance_schema.events_statements_summary_by_digest";
    let error = run(&mut user, reset).await.unwrap_err();
    assert_eq!(error.code(), Code::NoPermission);
    assert_ne!(run(&mut root, all).await.unwrap(), [["0"]]);
}

/// A statement in the file: its fields by name, its database if it was told, its text.
#[derive(Debug, PartialEq)]
struct Logged {
    rows_sent: u64,
    rows_examined: u64,
    seconds: f64,
    database: Option<String>,
    text: String,
}

/// Reads the file as pt-query-digest's grammar has it (its source names the form of each line).
fn read_log(path: &Path) -> Vec<Logged> {
    let text = std::fs::read_to_string(path).unwrap();
    let regex = |form: &str| regex::Regex::new(form).unwrap();
    let time = regex(r"^# Time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$");
    let user = regex(r"^# User@Host: root\[root\] @ localhost \[\]  Id: +7$");
    let times = regex(
        r"^# Query_time: (\d+\.\d{6})  Lock_time: \d+\.\d{6} Rows_sent: (\d+)  Rows_examined: (\d+)$",
    );
    let mut lines = text.lines().peekable();
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        if line.contains("Version: ") {
            assert!(line.ends_with("started with:"), "{line}");
            assert!(lines.next().unwrap().starts_with("Tcp port: "));
            let names = "Time                 Id Command    Argument";
            assert_eq!(lines.next(), Some(names));
            continue;
        }
        assert!(time.is_match(line), "{line}");
        let line = lines.next().unwrap();
        assert!(user.is_match(line), "{line}");
        let line = lines.next().unwrap();
        let fields = times.captures(line).unwrap_or_else(|| panic!("{line}"));
        let mut line = lines.next().unwrap();
        let mut database = None;
        if let Some(name) = line.strip_prefix("use ") {
            database = Some(name.strip_suffix(';').unwrap().to_owned());
            line = lines.next().unwrap();
        }
        assert!(
            line.starts_with("SET timestamp=") && line.ends_with(';'),
            "{line}"
        );
        let mut text = String::new();
        while lines.peek().is_some_and(|line| !line.starts_with("# Time")) {
            text.push_str(lines.next().unwrap());
        }
        all.push(Logged {
            seconds: fields[1].parse().unwrap(),
            rows_sent: fields[2].parse().unwrap(),
            rows_examined: fields[3].parse().unwrap(),
            database,
            text,
        });
    }
    all
}

const TURN_OFF: &str = "SET GLOBAL slow_query_log = OFF";
const TURN_ON: &str = "SET GLOBAL slow_query_log = ON";

/// A rotation: moved away, then flushed. Another: turned off, moved away, turned on.
async fn rotate((shared, session): (&Shared, &mut Session), dir: &Path, path: &Path) {
    for (old, first, then, count) in [
        ("old", "DO 1", "FLUSH SLOW LOGS", 2),
        ("older", TURN_OFF, TURN_ON, 1),
    ] {
        run(session, first).await.unwrap();
        std::fs::rename(path, dir.join(old)).unwrap();
        run(session, then).await.unwrap();
        run(session, "SELECT * FROM t WHERE a = 1").await.unwrap();
        shared.monitor().slow.settled().await;
        assert_eq!(read_log(path).len(), 1);
        assert_eq!(read_log(&dir.join(old)).len(), count);
    }
}

#[tokio::test]
async fn slow_statements_are_logged_and_can_be_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::Lsm(dir.path().to_owned());
    let (shared, mut session) = shared(storage).await;
    run(&mut session, "SET GLOBAL slow_query_log = ON")
        .await
        .unwrap();
    run(
        &mut session,
        "SET SESSION long_query_time = 3600, min_examined_row_limit = 1",
    )
    .await
    .unwrap();
    run(&mut session, "SELECT * FROM t WHERE a = 1")
        .await
        .unwrap();
    run(&mut session, "SET SESSION long_query_time = 0")
        .await
        .unwrap();
    run(&mut session, "SELECT 1").await.unwrap();
    run(&mut session, "SELECT SLEEP(0.03),\n 'x' FROM t WHERE a = 1")
        .await
        .unwrap();
    run(&mut session, "SELECT * FROM t WHERE b = 1 AND a < 3;")
        .await
        .unwrap();
    let path = dir.path().join("meseta-slow.log");
    shared.monitor().slow.settled().await;
    let logged = read_log(&path);
    let texts: Vec<&str> = logged.iter().map(|one| one.text.as_str()).collect();
    let expected = [
        "SELECT SLEEP(0.03), 'x' FROM t WHERE a = 1;",
        "SELECT * FROM t WHERE b = 1 AND a < 3;",
    ];
    assert_eq!(texts, expected);
    assert_eq!((logged[1].rows_sent, logged[1].rows_examined), (2, 2));
    assert!(0.03 <= logged[0].seconds, "{logged:?}");
    let databases: Vec<_> = logged.iter().map(|one| one.database.as_deref()).collect();
    assert_eq!(databases, [Some("default"), None]);

    // The newest comes first, and texts are as they were.
    let shown = run(&mut session, "SHOW SLOW QUERIES LIMIT 1")
        .await
        .unwrap();
    assert_eq!(shown[0][1..3], ["root@localhost", "default"]);
    assert_eq!(shown[0][5..7], ["2", "2"]);
    assert_eq!(shown[0][11], "SELECT * FROM t WHERE b = 1 AND a < 3");
    let status = run(&mut session, "SHOW GLOBAL STATUS LIKE 'Slow_queries'")
        .await
        .unwrap();
    assert_eq!(status, [["Slow_queries", "2"]]);

    rotate((&shared, &mut session), dir.path(), &path).await;
    session.close().await;
    shared.close().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_opened_is_told_and_stays_off() {
    let dir = tempfile::tempdir().unwrap();
    let (_shared, mut session) = shared(Storage::Memory).await;
    for turned in ["0", "1"] {
        let old = run(&mut session, "SELECT @@slow_query_log_file")
            .await
            .unwrap();
        for name in ["/etc/my.cnf", "/no/such/directory/slow.log"] {
            let set = format!("SET GLOBAL slow_query_log_file = '{name}'");
            let both = format!("{set}, GLOBAL slow_query_log = 1");
            for set in [set, both] {
                let error = run(&mut session, &set).await.unwrap_err();
                assert_eq!(error.code(), Code::VariableValue);
            }
            let values = "SELECT @@slow_query_log_file, @@slow_query_log";
            let values = run(&mut session, values).await.unwrap();
            assert_eq!(values, [[old[0][0].as_str(), turned]]);
        }
        let path = dir.path().join("b.log");
        let set = format!(
            "SET GLOBAL slow_query_log_file = '{}', GLOBAL slow_query_log = 1",
            path.display()
        );
        run(&mut session, &set).await.unwrap();
    }
    run(&mut session, "SET GLOBAL slow_query_log = 0")
        .await
        .unwrap();
    let path = dir.path().join("a.log");
    let set = format!("SET GLOBAL slow_query_log_file = '{}'", path.display());
    run(&mut session, &set).await.unwrap();
    run(&mut session, "SET GLOBAL slow_query_log = 1")
        .await
        .unwrap();
    assert!(path.is_file());
}

#[tokio::test]
async fn a_session_is_told_of_its_own_statements() {
    let (shared, _) = shared(Storage::Memory).await;
    let [mut session, mut other] = [8, 9].map(|id| session(&shared, id));
    let counts = async |session: &mut Session, scope: &str| {
        let mut counts = Vec::new();
        for name in ["Com_select", "Com_stmt_prepare", "Com_stmt_close"] {
            let sql = format!("SHOW {scope} STATUS LIKE '{name}'");
            counts.push(run(session, &sql).await.unwrap()[0][1].clone());
        }
        counts.join(" ")
    };
    assert_eq!(counts(&mut other, "GLOBAL").await, "0 0 0");
    let id = session.prepare(b"SELECT ?").unwrap().id;
    execute(&mut session, id, 1).await;
    session.close_statement(id);
    assert_eq!(counts(&mut session, "SESSION").await, "1 1 1");
    assert_eq!(counts(&mut other, "").await, "0 0 0");
    assert_eq!(counts(&mut other, "GLOBAL").await, "1 1 1");
    let sql = "SELECT variable_value FROM performance_schema.session_status \
               WHERE variable_name = 'Com_stmt_prepare'";
    assert_eq!(run(&mut other, sql).await.unwrap(), [["0"]]);
    session.reset().await.unwrap();
    assert_eq!(counts(&mut session, "SESSION").await, "0 0 0");
    assert_eq!(counts(&mut session, "GLOBAL").await, "2 1 1");
}
