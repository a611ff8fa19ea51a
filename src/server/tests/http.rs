//! The door for instruments, over real sockets: what it tells is read by a parser that takes nothing
//! but Prometheus' text format, and checks what `promtool check metrics` checks.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::error::Code;
use crate::kv::memory::Memory;
use crate::kv::testing::Recorder;
use crate::server::Http;
use crate::session::monitor::slow;
use crate::session::monitor::verb::Verb;

const LOOPBACK: &str = "127.0.0.1:0";

async fn ask(address: std::net::SocketAddr, request: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// Status line, fields of the head, body.
async fn get(address: std::net::SocketAddr, path: &str) -> (String, String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n");
    let answer = ask(address, request.as_bytes()).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let (status, fields) = head.split_once("\r\n").unwrap();
    let length = format!("Content-Length: {}\r\n", body.len());
    assert!(fields.contains(&length), "{fields}");
    (status.to_owned(), fields.to_owned(), body.to_owned())
}

/// The numbers of a page, by series.
type Series = BTreeMap<String, f64>;

/// A family's name and type, and its labels and numbers as they came.
#[derive(Debug, Default)]
struct Family {
    ty: String,
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

/// Reads a page and complains of everything that is not of the format, or against its conventions.
fn read(page: &str) -> (BTreeMap<String, Family>, Series) {
    assert!(page.ends_with('\n'));
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut series = Series::new();
    let mut current = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.trim().is_empty(), "{name} has no help");
            let next = lines.next().unwrap();
            let ty = next.strip_prefix(&format!("# TYPE {name} ")).unwrap();
            check_name(name, ty);
            let family = Family {
                ty: ty.to_owned(),
                ..Family::default()
            };
            let before = families.insert(name.to_owned(), family);
            assert!(before.is_none(), "{name} comes twice");
            name.clone_into(&mut current);
            continue;
        }
        let (name, labels, value) = sample(line);
        let family = families.get_mut(&current).unwrap();
        let part = name
            .strip_prefix(&current)
            .unwrap_or_else(|| panic!("{line}"));
        let parts: &[&str] = match family.ty.as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(parts.contains(&part), "{line}");
        assert_eq!(labels.contains_key("le"), part == "_bucket", "{line}");
        assert!(family.ty == "gauge" || 0.0 <= value, "{line}");
        let own = line.rsplit_once(' ').unwrap().0.to_owned();
        assert!(series.insert(own, value).is_none(), "{line} comes twice");
        family.samples.push((part.to_owned(), labels, value));
    }
    for (name, family) in &families {
        if family.ty == "histogram" {
            check_histogram(name, family);
        }
    }
    (families, series)
}

fn check_name(name: &str, ty: &str) {
    assert!(
        ["counter", "gauge", "histogram"].contains(&ty),
        "{name} {ty}"
    );
    assert!(is_name(name), "{name}");
    assert_eq!(name.ends_with("_total"), ty == "counter", "{name}");
    for end in ["_bucket", "_sum", "_count", "_info_total"] {
        assert!(!name.ends_with(end), "{name}");
    }
    for unit in [
        "_ms",
        "_milliseconds",
        "_us",
        "_ns",
        "_kb",
        "_mb",
        "_minutes",
        "_percent",
    ] {
        assert!(!name.ends_with(unit), "{name} is in no base unit");
    }
    let words: Vec<&str> = name.split('_').collect();
    assert!(!words.contains(&ty), "{name} has its type in its name");
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    let first = letters.next().unwrap();
    (first.is_ascii_lowercase() || first == '_')
        && letters.all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_')
}

/// A name with labels and a number.
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (left, value) = line.rsplit_once(' ').unwrap();
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
    assert!(value.is_finite(), "{line}");
    let Some((name, labels)) = left.split_once('{') else {
        assert!(is_name(left), "{line}");
        return (left.to_owned(), BTreeMap::new(), value);
    };
    let mut rest = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
    let mut found = BTreeMap::new();
    while !rest.is_empty() {
        let (label, quoted) = rest.split_once("=\"").unwrap();
        assert!(is_name(label) && !label.starts_with("__"), "{line}");
        // None of ours has anything to escape.
        let (text, after) = quoted.split_once('"').unwrap();
        assert!(!text.contains('\\'), "{line}");
        assert!(
            found.insert(label.to_owned(), text.to_owned()).is_none(),
            "{line}"
        );
        rest = after.strip_prefix(',').unwrap_or(after);
        assert!(after.is_empty() || after.starts_with(','), "{line}");
    }
    (name.to_owned(), found, value)
}

fn check_histogram(name: &str, family: &Family) {
    let kinds: BTreeSet<_> = family
        .samples
        .iter()
        .map(|(_, labels, _)| &labels["kind"])
        .collect();
    for kind in kinds {
        let of = |part: &'static str| {
            let own = family.samples.iter();
            own.filter(move |(own, labels, _)| own == part && labels["kind"] == *kind)
        };
        let buckets = of("_bucket").map(|(_, labels, count)| {
            let end = match labels["le"].as_str() {
                "+Inf" => f64::INFINITY,
                end => end.parse::<f64>().unwrap(),
            };
            (end, *count)
        });
        let buckets: Vec<(f64, f64)> = buckets.collect();
        let grows = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        assert!(
            buckets.windows(2).all(grows),
            "{name} of {kind}: {buckets:?}"
        );
        let last = buckets.last().unwrap();
        assert!(last.0.is_infinite(), "{name} of {kind}");
        let counts: Vec<f64> = of("_count").map(|(_, _, count)| *count).collect();
        assert_eq!(counts, [last.1], "{name} of {kind}");
        assert_eq!(of("_sum").count(), 1, "{name} of {kind}");
    }
}

async fn metrics(http: &Http) -> Series {
    let (status, fields, page) = get(http.address(), "/metrics").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(fields.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
    read(&page).1
}

/// What is told after the statements of the test below.
const TOLD: &[(&str, f64)] = &[
    ("meseta_connections", 3.0),
    ("meseta_connections_max", 2.0),
    ("meseta_statements_total{kind=\"select\"}", 2.0),
    ("meseta_statement_errors_total{kind=\"select\"}", 1.0),
    ("meseta_statements_total{kind=\"create_table\"}", 1.0),
    ("meseta_statements_total{kind=\"invalid\"}", 2.0),
    ("meseta_rows_affected_total{kind=\"insert\"}", 10.0),
    ("meseta_rows_examined_total{kind=\"select\"}", 2.0),
    ("meseta_rows_returned_total{kind=\"select\"}", 2.0),
    (
        "meseta_errors_total{errno=\"1040\",sqlstate=\"08004\"}",
        1.0,
    ),
    (
        "meseta_errors_total{errno=\"1054\",sqlstate=\"42S22\"}",
        1.0,
    ),
    (
        "meseta_errors_total{errno=\"1064\",sqlstate=\"42000\"}",
        1.0,
    ),
    ("meseta_refusals_total{reason=\"size\"}", 1.0),
    ("meseta_refusals_total{reason=\"connections\"}", 1.0),
    ("meseta_refusals_total{reason=\"memory\"}", 0.0),
    (
        "meseta_statement_duration_seconds_count{kind=\"select\"}",
        2.0,
    ),
    ("meseta_info{version=\"0.1.0\",engine=\"memory\"}", 1.0),
    ("meseta_read_only", 0.0),
];

#[tokio::test]
async fn statements_errors_and_connections_are_told_in_prometheus_format() {
    let http = Http::open(LOOPBACK.parse().unwrap()).unwrap();
    let server = Running::start("secret", 2).await;
    http.started(&server.shared);
    let before = metrics(&http).await;
    assert_eq!(before.get("meseta_connections"), Some(&0.0));
    let mut client = Client::root(server.address, FLAGS).await;
    client.make_seq(10).await;
    client
        .query("SELECT a FROM `default`.seq WHERE a IN (1, 2, 30)")
        .await;
    client.packets(6).await;
    client.query("SELECT nosuch").await;
    assert_eq!(client.packets(1).await, ["ERR 1054"]);
    let deep = format!("SELECT {}1{}", "(".repeat(500), ")".repeat(500));
    client.query(&deep).await;
    assert_eq!(client.packets(1).await, ["ERR 1436"]);
    client.query("nonsense").await;
    assert_eq!(client.packets(1).await, ["ERR 1064"]);
    let mut second = Client::root(server.address, FLAGS).await;
    second.query("DO 1").await;
    second.packets(1).await;
    // The place of administrators.
    let _third = Client::root(server.address, FLAGS).await;
    let mut fourth = Client::connect(server.address).await;
    assert_eq!(fourth.packets(1).await, ["ERR 1040"]);

    let now = metrics(&http).await;
    for (series, expected) in TOLD {
        assert_eq!(now.get(*series), Some(expected), "{series}");
    }
    for series in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "meseta_digests",
    ] {
        assert!(0.0 < now[series], "{series}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_engine_tells_its_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let shared = Shared::open(OpenOptions {
        storage: Storage::Lsm(dir.path().to_owned()),
        ..crate::exec::testing::options()
    })
    .await
    .unwrap();
    let http = Http::open(LOOPBACK.parse().unwrap()).unwrap();
    http.started(&shared);
    let mut session = crate::exec::testing::session(&shared, 1);
    for sql in [
        "CREATE TABLE t (a INT PRIMARY KEY, b TEXT)",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        "UPDATE t SET b = 'z' WHERE a = 1",
        "UPDATE t SET b = 'u' WHERE a = 1",
    ] {
        session.query(sql.as_bytes()).await.unwrap();
    }
    let now = metrics(&http).await;
    for series in [
        "meseta_lsm_commits_total",
        "meseta_lsm_commit_groups_total",
        "meseta_lsm_commit_seconds_total",
        "meseta_lsm_journals",
        "meseta_lsm_memtable_bytes",
        "meseta_lsm_disk_bytes{part=\"journals\"}",
        "meseta_lsm_block_cache_max_bytes",
        "meseta_lsm_row_cache_lookups_total{found=\"no\"}",
    ] {
        assert!(0.0 < now[series], "{series}");
    }
    for series in [
        "meseta_lsm_disk_bytes{part=\"tables\"}",
        "meseta_lsm_tables{level=\"0\"}",
        "meseta_lsm_compactions_total",
        "meseta_lsm_flushes_waiting",
    ] {
        assert!(now.contains_key(series), "{series}");
    }
    // The guide has what this page has, and nothing else.
    let (_, _, page) = get(http.address(), "/metrics").await;
    let listed = listed();
    expect_listed(&page, &listed);
    let told = read(&page).0;
    let told: BTreeSet<&String> = told.keys().collect();
    assert_eq!(listed.keys().collect::<BTreeSet<_>>(), told);
    session.close().await;
    shared.close().await;
}

#[tokio::test]
async fn health_is_of_the_whole_life() {
    let http = Http::open(LOOPBACK.parse().unwrap()).unwrap();
    let health = || async {
        let (status, _, body) = get(http.address(), "/health").await;
        (status, body)
    };
    let unavailable = "HTTP/1.1 503 Service Unavailable".to_owned();
    assert_eq!(
        health().await,
        (unavailable.clone(), "starting\n".to_owned())
    );
    let (status, _, _) = get(http.address(), "/metrics").await;
    assert_eq!(status, unavailable);
    let server = Running::start("secret", 1).await;
    http.started(&server.shared);
    assert_eq!(
        health().await,
        ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned())
    );
    http.stopping();
    assert_eq!(health().await, (unavailable, "stopping\n".to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_question_is_told_so_and_nothing_is_endless() {
    let http = Http::open(LOOPBACK.parse().unwrap()).unwrap();
    let long = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(9000));
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "200"),
        ("GET /nosuch HTTP/1.1\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "405"),
        ("\x16\x03\x01 hello\r\n\r\n", "400"),
        (&long, "431"),
    ] {
        let answer = ask(http.address(), request.as_bytes()).await;
        let found = answer.split(' ').nth(1);
        assert_eq!(found, Some(status), "{answer}");
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
    let head = ask(http.address(), b"HEAD /health HTTP/1.1\r\n\r\n").await;
    assert!(
        head.contains("Content-Length: 9\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );

    // Silent clients take all places: the oldest of them gives way, again and again.
    let mut silent = Vec::new();
    for _ in 0..16 {
        let mut socket = TcpStream::connect(http.address()).await.unwrap();
        socket.write_all(b"GET / HTTP").await.unwrap();
        silent.push(socket);
    }
    for at in 0..20 {
        let answer = ask(http.address(), b"GET / HTTP/1.1\r\n\r\n").await;
        assert!(answer.contains("200"), "{at}: {answer}");
    }
    let mut rest = Vec::new();
    let _ = silent[0].read_to_end(&mut rest).await;
    assert_eq!(rest, b"", "the oldest is closed without an answer");
}

/// The test has one thread, as a server with one worker: what waits on it stops everybody.
#[tokio::test]
async fn numbers_that_wait_for_the_disk_stop_nobody() {
    let recorder = Arc::new(Recorder::new(Arc::new(Memory::default())));
    let options = crate::exec::testing::options();
    let shared = Shared::over(Arc::clone(&recorder) as _, None, &options).await;
    let shared = Arc::new(shared.unwrap());
    let patience = Duration::from_millis(200);
    let http = Http::open_for(LOOPBACK.parse().unwrap(), patience).unwrap();
    http.started(&shared);
    let until = recorder.stall_stats();
    // The second does not begin another page.
    for _ in 0..2 {
        let (status, _, body) = get(http.address(), "/metrics").await;
        assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
        assert_eq!(body, "the numbers wait for the disk\n");
    }
    let (status, _, _) = get(http.address(), "/health").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    let mut session = crate::exec::testing::session(&shared, 1);
    session.query(b"DO 1").await.unwrap();
    drop(until);
    let mut status = String::new();
    for _ in 0..150 {
        (status, _, _) = get(http.address(), "/metrics").await;
        if status == "HTTP/1.1 200 OK" {
            break;
        }
    }
    assert_eq!(status, "HTTP/1.1 200 OK");
}

/// Mechanism: who waits for the numbers holds a place and gives way to nobody. Sixteen of them, while the
/// disk hung, had every place, and `/health` was not answered.
#[tokio::test]
async fn health_is_answered_while_many_wait_for_numbers() {
    let recorder = Arc::new(Recorder::new(Arc::new(Memory::default())));
    let options = crate::exec::testing::options();
    let shared = Shared::over(Arc::clone(&recorder) as _, None, &options).await;
    let http = Http::open_for(LOOPBACK.parse().unwrap(), Duration::from_secs(4)).unwrap();
    http.started(&Arc::new(shared.unwrap()));
    let until = recorder.stall_stats();
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let address = http.address();
        asking.spawn(async move { get(address, "/metrics").await });
    }
    // Those that may not wait are told so, and all others have a place by then.
    for _ in 0..4 {
        let (status, _, body) = asking.join_next().await.unwrap().unwrap();
        assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
        assert_eq!(body, "many wait for the numbers\n");
    }
    let (status, _, body) = get(http.address(), "/health").await;
    assert_eq!(
        (status.as_str(), body.as_str()),
        ("HTTP/1.1 200 OK", "ok\n")
    );
    drop(until);
    while let Some(answered) = asking.join_next().await {
        assert_eq!(answered.unwrap().0, "HTTP/1.1 200 OK");
    }
}

/// What docs/metrics.md lists: name, type, labels.
fn listed() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, table) = guide.split_once("| metric | type | labels |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let mut found = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let quoted = |cell: &str| -> Vec<String> {
            let parts = cell.split('`').skip(1).step_by(2);
            parts.map(str::to_owned).collect()
        };
        let labels: BTreeSet<String> = quoted(cells[2]).into_iter().collect();
        for name in quoted(cells[0]) {
            let is_new = found.insert(name.clone(), (cells[1].to_owned(), labels.clone()));
            assert!(is_new.is_none(), "{name} is listed twice");
        }
    }
    found
}

fn expect_listed(page: &str, listed: &BTreeMap<String, (String, BTreeSet<String>)>) {
    for (name, family) in &read(page).0 {
        let (ty, labels) = listed
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not listed"));
        assert_eq!(*ty, family.ty, "{name}");
        for (_, found, _) in &family.samples {
            let found = found.keys().filter(|label| *label != "le").cloned();
            assert_eq!(found.collect::<BTreeSet<_>>(), *labels, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_not_read_to_their_end_are_measured() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    client.make_seq(300).await;
    let slow = &server.shared.monitor().slow;
    // The client of a cursor closes it before its last row.
    client.query("SET long_query_time = 0").await;
    client.packets(1).await;
    client.command(b"\x16SELECT a FROM `default`.seq").await;
    client.packets(3).await;
    client.command(b"\x17\x01\0\0\0\x01\x01\0\0\0").await;
    client.packets(3).await;
    client.command(b"\x1c\x01\0\0\0\xc9\0\0\0").await;
    client.packets(202).await;
    client.command(b"\x19\x01\0\0\0").await;
    client.query("DO 1").await;
    client.packets(1).await;
    let newest = slow.newest();
    let select = |entry: &&slow::Entry| entry.event.verb == Verb::Select;
    let cursor = newest.iter().find(select).unwrap().event;
    assert_eq!((cursor.rows_sent, cursor.error), (201, None));

    // A client is lost in the middle of a result.
    let mut lost = Client::root(server.address, FLAGS).await;
    lost.query("SET long_query_time = 0").await;
    lost.packets(1).await;
    lost.query(&large_result()).await;
    lost.packets(4).await;
    drop(lost);
    let before = std::time::Instant::now();
    let event = loop {
        let newest = slow.newest();
        if newest.iter().filter(select).count() == 2 {
            break newest.iter().find(select).unwrap().event;
        }
        assert!(before.elapsed() < Duration::from_mins(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(event.error, Some(Code::QueryInterrupted));
    assert!(0 < event.rows_sent && event.rows_sent < 300, "{event:?}");
    server.stop().await;
}
