//! Window functions against a model, with little memory, and stopped.

use super::aggregate::Sliding;
use super::partition::Partition;
use crate::error::Code;
use crate::exec::budget::Budget;
use crate::exec::exact;
use crate::exec::testing::Server;
use crate::plan::testing::context;
use crate::sql::bound::{Aggregate, AggregateKind, Frame, FrameBound};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::{ColumnType, Value};

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

/// A partition of ascending numbers.
fn ascending(rows: i64) -> Partition {
    let mut partition = Partition::new(Budget::new("window", 1 << 20));
    for number in 0..rows {
        let mut payload = Vec::new();
        exact::push(&mut payload, &Value::Int(number));
        partition.push(&payload, false).unwrap();
    }
    partition
}

/// An aggregate of these numbers.
fn of_numbers(kind: AggregateKind) -> Aggregate {
    let number = Expr {
        kind: ExprKind::Column(0),
        ty: ColumnType::BIGINT,
        nullable: true,
    };
    Aggregate {
        kind,
        args: vec![number],
        distinct: false,
        order_by: Vec::new(),
        separator: None,
        ty: ColumnType::BIGINT,
    }
}

/// From the row itself on.
fn rest() -> Frame {
    Frame {
        start: FrameBound::CurrentRow,
        end: FrameBound::Unbounded,
    }
}

/// Mechanism: a frame was gone over from one end to the other, and anew for each row, without a look whether
/// the statement was killed.
#[test]
fn a_long_frame_can_be_stopped() {
    let partition = ascending(200);
    // Here everything that takes long is stopped at once.
    let ctx = crate::sql::eval::tests::context();
    for kind in [AggregateKind::Sum, AggregateKind::Min] {
        let mut kept = Budget::new("window", 1 << 20);
        let mut sliding = Sliding::new(&of_numbers(kind), &rest(), &ctx);
        let few = sliding.value((0, 10), (&partition, &mut kept), &ctx);
        few.unwrap();
        let all = sliding.value((0, 200), (&partition, &mut kept), &ctx);
        assert_eq!(all.unwrap_err().code(), Code::QueryInterrupted);
    }
}

/// Mechanism: the values that may be the least of a later frame were in no budget; with values in order they are all
/// of the frame, once for each function.
#[test]
fn what_may_yet_be_the_least_is_counted_as_long_as_it_may() {
    let partition = ascending(200);
    let ctx = context("+00:00", Vec::new());
    let each = size_of::<u64>() + Value::Int(0).memory_bytes();
    let mut kept = Budget::new("window", 1 << 20);
    let mut least = Sliding::new(&of_numbers(AggregateKind::Min), &rest(), &ctx);
    for (frame, candidates) in [((0, 100), 100), ((50, 100), 50), ((150, 200), 50)] {
        let value = least.value(frame, (&partition, &mut kept), &ctx);
        assert_eq!(value.unwrap().to_text(), frame.0.to_string());
        assert_eq!(kept.used_bytes(), candidates * each, "{frame:?}");
    }
    kept.reset();
    let mut greatest = Sliding::new(&of_numbers(AggregateKind::Max), &rest(), &ctx);
    let value = greatest.value((0, 200), (&partition, &mut kept), &ctx);
    assert_eq!(value.unwrap().to_text(), "199");
    assert_eq!(kept.used_bytes(), each);
    let mut little = Budget::new("window", 10 * each);
    let mut least = Sliding::new(&of_numbers(AggregateKind::Min), &rest(), &ctx);
    let error = least.value((0, 11), (&partition, &mut little), &ctx);
    assert_eq!(error.unwrap_err().code(), Code::CapacityExceeded);
}

#[tokio::test]
async fn all_functions_of_a_window_keep_no_more_than_the_statement_may_have() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::spilling(dir.path(), 1 << 30).await;
    server
        .run("CREATE TABLE c (id INT PRIMARY KEY, v VARCHAR(2000))")
        .await
        .unwrap();
    let rows: Vec<String> = (0..200)
        .map(|id| format!("({id}, LPAD({id}, 2000, '0'))"))
        .collect();
    let sql = format!("INSERT INTO c VALUES {}", rows.join(", "));
    server.run(&sql).await.unwrap();
    server
        .run("SET query_memory_bytes = 1048576")
        .await
        .unwrap();
    let each = |name: &str, by: &str| {
        let frames = 31..=50;
        let functions = frames
            .map(|rows| format!("LENGTH({name}(v) OVER ({by} ORDER BY id ROWS {rows} PRECEDING))"));
        let functions: Vec<String> = functions.collect();
        format!("SELECT {} FROM c", functions.join(", "))
    };
    // One candidate at a time, and those of one partition after the other.
    for sql in [each("MAX", ""), each("MIN", "PARTITION BY id DIV 5")] {
        let found = server.run(&sql).await.unwrap();
        assert_eq!(found, vec![vec!["2000".to_owned(); 20]; 200]);
    }
    let error = server.run(&each("MIN", "")).await.unwrap_err();
    assert_eq!(error.code(), Code::CapacityExceeded);
    assert!(error.message().starts_with("window needs"), "{error}");
}
