//! Window functions against a model, and with little memory.

use crate::exec::testing::Server;

/// Rows of the table in the model's tests.
const ROWS: i64 = 240;

/// A row: partition, key of the order, value.
type Line = (i64, i64, Option<i64>);

/// Some rows, with equal keys, `NULL` values and a partition of one.
fn lines() -> Vec<Line> {
    let line = |number: i64| {
        let mixed = number * 2_654_435_761 % 1_000_003;
        let value = (mixed % 11 != 0).then_some(mixed % 201 - 100);
        (if number == 7 { 9 } else { mixed % 3 }, mixed % 40, value)
    };
    (0..ROWS).map(line).collect()
}

async fn fill(server: &Server, lines: &[Line]) {
    server
        .run("CREATE TABLE t (id INT PRIMARY KEY, p INT, o INT, v INT)")
        .await
        .unwrap();
    let rows: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(id, (part, order, value))| {
            let value = value.map_or("NULL".to_owned(), |value| value.to_string());
            format!("({id}, {part}, {order}, {value})")
        })
        .collect();
    let sql = format!("INSERT INTO t VALUES {}", rows.join(","));
    server.run(&sql).await.unwrap();
}

/// The values in the frame of each row, in the order of ids: rows `from..=to` around it.
fn by_rows(lines: &[Line], (from, to): (i64, i64)) -> Vec<Vec<Option<i64>>> {
    let place = |id: usize| {
        let (part, order, _) = lines[id];
        let before = |other: usize| {
            let (other_part, other_order, _) = lines[other];
            other_part == part && (other_order, other) < (order, id)
        };
        i64::try_from((0..lines.len()).filter(|other| before(*other)).count()).unwrap()
    };
    let places: Vec<i64> = (0..lines.len()).map(place).collect();
    framed(lines, |id, other| {
        (from..=to).contains(&(places[other] - places[id]))
    })
}

/// As [`by_rows`], of the rows whose keys are so far from the row's.
fn by_range(lines: &[Line], (from, to): (i64, i64)) -> Vec<Vec<Option<i64>>> {
    framed(lines, |id, other| {
        (from..=to).contains(&(lines[other].1 - lines[id].1))
    })
}

fn framed(lines: &[Line], is_in: impl Fn(usize, usize) -> bool) -> Vec<Vec<Option<i64>>> {
    let frame = |id: usize| {
        let mut frame: Vec<usize> = (0..lines.len())
            .filter(|other| lines[*other].0 == lines[id].0 && is_in(id, *other))
            .collect();
        frame.sort_by_key(|other| (lines[*other].1, *other));
        frame.into_iter().map(|other| lines[other].2).collect()
    };
    (0..lines.len()).map(frame).collect()
}

fn shown(value: Option<i64>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

/// `COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(v), FIRST_VALUE(v), LAST_VALUE(v), NTH_VALUE(v, 2)`.
fn computed(frame: &[Option<i64>]) -> Vec<String> {
    let values: Vec<i64> = frame.iter().copied().flatten().collect();
    let sum = (!values.is_empty()).then(|| values.iter().sum());
    vec![
        frame.len().to_string(),
        values.len().to_string(),
        shown(sum),
        shown(values.iter().min().copied()),
        shown(values.iter().max().copied()),
        shown(frame.first().copied().flatten()),
        shown(frame.last().copied().flatten()),
        shown(frame.get(1).copied().flatten()),
    ]
}

fn bound(distance: i64) -> String {
    match distance {
        -1000 => "UNBOUNDED PRECEDING".to_owned(),
        1000 => "UNBOUNDED FOLLOWING".to_owned(),
        0 => "CURRENT ROW".to_owned(),
        before if before < 0 => format!("{} PRECEDING", -before),
        behind => format!("{behind} FOLLOWING"),
    }
}

#[tokio::test]
async fn frames_are_those_of_the_model() {
    let server = Server::start().await;
    let lines = lines();
    fill(&server, &lines).await;
    let ends = [-1000, -5, -1, 0, 2, 6, 1000];
    for unit in ["ROWS", "RANGE"] {
        for from in ends.into_iter().filter(|from| *from != 1000) {
            for to in ends.into_iter().filter(|to| from <= *to && *to != -1000) {
                let tie = if unit == "ROWS" { ", id" } else { "" };
                let sql = format!(
                    "SELECT COUNT(*) OVER w, COUNT(v) OVER w, SUM(v) OVER w, MIN(v) OVER w, MAX(v) \
                     OVER w, FIRST_VALUE(v) OVER w, LAST_VALUE(v) OVER w, NTH_VALUE(v, 2) OVER w, \
                     AVG(v + 0e0) OVER w FROM t WINDOW w AS (PARTITION BY p ORDER BY o{tie} {unit} \
                     BETWEEN {} AND {}) ORDER BY id",
                    bound(from),
                    bound(to),
                );
                let frames = match unit {
                    "ROWS" => by_rows(&lines, (from, to)),
                    _ => by_range(&lines, (from, to)),
                };
                let found = server.run(&sql).await.unwrap();
                assert_eq!(found.len(), frames.len());
                for (id, (row, frame)) in found.iter().zip(&frames).enumerate() {
                    assert_eq!(row[..8], computed(frame), "{sql}, row {id}");
                    let values: Vec<i64> = frame.iter().copied().flatten().collect();
                    if !values.is_empty() {
                        let average: f64 = row[8].parse().unwrap();
                        let sum: i64 = values.iter().sum();
                        let number = |number: i64| f64::from(i32::try_from(number).unwrap());
                        let count = i64::try_from(values.len()).unwrap();
                        let wanted = number(sum) / number(count);
                        assert!((average - wanted).abs() < 1e-6, "{sql}, row {id}");
                    }
                }
            }
        }
    }
}

/// Rows of the table in the tests of memory.
const MANY: usize = 30_000;

async fn fill_many(server: &Server) {
    server
        .run("CREATE TABLE m (a INT PRIMARY KEY, b INT, c VARCHAR(40))")
        .await
        .unwrap();
    for first in (0..MANY).step_by(5000) {
        let rows: Vec<String> = (first..first + 5000)
            .map(|number| {
                let mixed = number * 7919 % 30_011;
                format!("({number}, {mixed}, '{mixed:030}')")
            })
            .collect();
        let sql = format!("INSERT INTO m VALUES {}", rows.join(","));
        server.run(&sql).await.unwrap();
    }
}

#[tokio::test]
async fn windows_of_any_size_are_sorted_on_disk_and_large_frames_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (small, large) = (
        Server::spilling(dir.path(), 1 << 30).await,
        Server::start().await,
    );
    for server in [&small, &large] {
        fill_many(server).await;
    }
    small.run("SET query_memory_bytes = 1048576").await.unwrap();
    for sql in [
        "SELECT a, ROW_NUMBER() OVER (ORDER BY b), RANK() OVER (ORDER BY c DESC) FROM m ORDER BY a",
        "SELECT a, SUM(a) OVER (ORDER BY b), LAG(c, 3) OVER (ORDER BY b DESC) FROM m ORDER BY a",
        "SELECT a, MAX(c) OVER (ORDER BY b ROWS 20 PRECEDING), LEAD(a) OVER (ORDER BY b) FROM m \
         ORDER BY a",
        "SELECT a, NTILE(3) OVER (PARTITION BY b DIV 100 ORDER BY a) FROM m ORDER BY a",
        "SELECT b DIV 1000 AS k, b % 7 AS l, COUNT(*), MIN(c) FROM m GROUP BY k, l WITH ROLLUP",
        "SELECT b, COUNT(*), MIN(c) FROM m GROUP BY b WITH ROLLUP",
    ] {
        let wanted = large.run(sql).await.unwrap();
        let found = small.run(sql).await.unwrap();
        assert_eq!(found.len(), wanted.len(), "{sql}");
        assert!(found == wanted, "{sql}");
    }
    let whole = "SELECT a, c, NTILE(3) OVER (ORDER BY b) FROM m";
    let error = small.run(whole).await.unwrap_err();
    assert!(error.message().starts_with("window needs"), "{error}");
    assert_eq!(large.run(whole).await.unwrap().len(), MANY);
    assert_eq!(small.held_bytes(), (0, 0));
}
