//! Groups are the same however little memory there is.

use std::collections::BTreeSet;

use super::*;
use crate::exec::budget::Pool;
use crate::exec::row::ValuesRow;
use crate::exec::testing::Server;
use crate::plan::testing::context;
use crate::sql::bound::{Aggregate, AggregateKind};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::{ColumnType, Value};

const TEXT: ColumnType = ColumnType::Varchar { chars_max: None };

fn column(idx: usize, ty: &ColumnType) -> Expr {
    Expr {
        kind: ExprKind::Column(idx),
        ty: ty.clone(),
        nullable: true,
    }
}

fn aggregate(kind: AggregateKind, arg: Option<Expr>, distinct: bool) -> Aggregate {
    let ty = arg
        .as_ref()
        .map_or(ColumnType::BIGINT, |arg| arg.ty.clone());
    Aggregate {
        kind,
        args: arg.into_iter().collect(),
        distinct,
        order_by: Vec::new(),
        separator: None,
        ty,
    }
}

/// `GROUP BY c0`, with `COUNT(*)`, `SUM(c1)` and what is given.
fn aggregation(more: Vec<Aggregate>) -> Aggregation {
    let number = || column(1, &ColumnType::BIGINT);
    let mut aggregates = vec![
        aggregate(AggregateKind::Count, None, false),
        aggregate(AggregateKind::Sum, Some(number()), false),
    ];
    aggregates.extend(more);
    Aggregation {
        rollup: false,
        keys: vec![column(0, &TEXT)],
        aggregates,
    }
}

fn growing() -> Vec<Aggregate> {
    let number = || Some(column(1, &ColumnType::BIGINT));
    let text = || Some(column(2, &TEXT));
    vec![
        aggregate(AggregateKind::Count, number(), true),
        aggregate(AggregateKind::Min, text(), false),
        aggregate(AggregateKind::GroupConcat, text(), false),
    ]
}

/// `rows_count` rows of `groups_count` groups.
fn row(number: u32, groups_count: u32) -> [Value<'static>; 3] {
    let mixed = number.wrapping_mul(2_654_435_761) >> 7;
    let group = mixed % groups_count;
    let long = "z".repeat(usize::try_from(mixed % 40).unwrap());
    [
        Value::Text(format!("group {group}").into()),
        Value::Int(i64::from(mixed % 97)),
        Value::Text(format!("{long}{number}").into()),
    ]
}

/// The groups as texts.
fn groups(
    aggregation: &Aggregation,
    (rows_count, groups_count): (u32, u32),
    memory: &Memory,
) -> Result<Vec<String>> {
    let ctx = context("+00:00", Vec::new());
    let mut groups = Groups::new(aggregation, memory);
    for number in 0..rows_count {
        let row = row(number, groups_count);
        groups.add(aggregation, &ValuesRow(&row), &ctx)?;
    }
    let mut rows = groups.finish()?;
    let mut found = Vec::new();
    loop {
        match rows.step(aggregation, &ctx)? {
            Step::Row(row) => {
                let texts: Vec<_> = row
                    .iter()
                    .map(|value| value.to_text().into_owned())
                    .collect();
                found.push(texts.join("|"));
            }
            Step::Working | Step::Part => {}
            Step::End => return Ok(found),
        }
    }
}

#[test]
fn groups_are_the_same_however_little_memory_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into(), 1 << 30);
    let server = Pool::new(usize::MAX);
    // Where states grow, each level of parts has half of the memory of the one before.
    for (what, size, least) in [
        (Vec::new(), (40_000, 7000), 8_000),
        (growing(), (20_000, 3000), 50_000),
    ] {
        let aggregation = aggregation(what);
        let wanted = groups(&aggregation, size, &Memory::alone(1 << 30)).unwrap();
        let sorted: BTreeSet<&String> = wanted.iter().collect();
        assert_eq!(sorted.len(), usize::try_from(size.1).unwrap());
        for bytes_max in [least, 100_000, 600_000] {
            let memory = Memory::new(&server, bytes_max, Some(&disk));
            let found = groups(&aggregation, size, &memory).unwrap();
            assert_eq!(found.len(), wanted.len());
            assert!(
                found.iter().collect::<BTreeSet<_>>() == sorted,
                "{bytes_max}"
            );
        }
    }
    assert_eq!((disk.used_bytes(), server.taken_bytes()), (0, 0));
}

#[test]
fn what_cannot_spill_is_an_error_that_names_the_operator() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into(), 1 << 30);
    let error = groups(
        &aggregation(Vec::new()),
        (9000, 9000),
        &Memory::alone(10_000),
    );
    let text = error.unwrap_err().message().to_owned();
    assert!(text.starts_with("group by needs"), "{text}");
    // One group that is larger than the memory.
    let memory = Memory::new(&Pool::new(usize::MAX), 10_000, Some(&disk));
    let error = groups(&aggregation(growing()), (9000, 3), &memory);
    let text = error.unwrap_err().message().to_owned();
    assert!(
        text.starts_with("count(distinct) of one group needs"),
        "{text}"
    );
    let little = Disk::new(dir.path().into(), 100_000);
    let memory = Memory::new(&Pool::new(usize::MAX), 10_000, Some(&little));
    let error = groups(&aggregation(Vec::new()), (9000, 9000), &memory);
    let text = error.unwrap_err().message().to_owned();
    assert!(text.starts_with("group by needs"), "{text}");
    assert!(text.contains("spill-quota"), "{text}");
}

/// Mechanism: each row was taken into the groups of all levels, and nobody looked whether the statement was killed.
#[test]
fn the_levels_of_a_rollup_can_be_stopped() {
    let mut aggregation = aggregation(Vec::new());
    aggregation.rollup = true;
    aggregation.keys.push(column(1, &ColumnType::BIGINT));
    let mut groups = Groups::new(&aggregation, &Memory::alone(1 << 20));
    let row = row(1, 1);
    let ctx = context("+00:00", Vec::new());
    groups.add(&aggregation, &ValuesRow(&row), &ctx).unwrap();
    // Here everything that takes long is stopped at once.
    let ctx = crate::sql::eval::tests::context();
    let stopped = groups.add(&aggregation, &ValuesRow(&row), &ctx);
    assert_eq!(stopped.unwrap_err().code().errno(), 1317);
}

/// Rows of the table in the tests of whole statements.
const ROWS: usize = 30_000;

#[tokio::test]
async fn statements_give_the_same_rows_whether_they_spill_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let (small, large) = (
        Server::spilling(dir.path(), 1 << 30).await,
        Server::start().await,
    );
    for server in [&small, &large] {
        fill(server).await;
    }
    small.run("SET query_memory_bytes = 1048576").await.unwrap();
    for sql in [
        "SELECT b, COUNT(*), SUM(a), MIN(c), AVG(a / 7) FROM t GROUP BY b ORDER BY b",
        "SELECT b, COUNT(*) n FROM t GROUP BY b HAVING n = 1 ORDER BY 0 - b LIMIT 5",
        "SELECT b, COUNT(DISTINCT a), GROUP_CONCAT(c) FROM t GROUP BY b ORDER BY b DESC",
        "SELECT DISTINCT b, c FROM t ORDER BY c, b",
        "SELECT DISTINCT b, c FROM t",
        "SELECT DISTINCT b, c FROM t LIMIT 20000 OFFSET 12345",
        "SELECT DISTINCT a, b FROM t ORDER BY a DESC",
        "SELECT DISTINCT COUNT(*), b FROM t GROUP BY b, c ORDER BY 2",
        "SELECT a, c FROM t ORDER BY c DESC, a",
        "SELECT a, c FROM t ORDER BY c LIMIT 25000",
        "SELECT a, COUNT(*), MAX(c) FROM t GROUP BY a",
        "SELECT a, COUNT(*) FROM t GROUP BY a HAVING a > 29990",
        "SELECT COUNT(*), SUM(b) FROM t",
        "SELECT COUNT(*) FROM t WHERE a < 0",
        "SELECT a FROM t WHERE a < 0 GROUP BY a",
    ] {
        let wanted = large.run(sql).await.unwrap();
        let found = small.run(sql).await.unwrap();
        assert_eq!(found.len(), wanted.len(), "{sql}");
        assert!(found == wanted, "{sql}");
    }
    let unordered = "SELECT b, COUNT(*), MIN(c) FROM t GROUP BY b";
    let [mut wanted, mut found] = [
        large.run(unordered).await.unwrap(),
        small.run(unordered).await.unwrap(),
    ];
    wanted.sort();
    found.sort();
    assert!(found == wanted);
    holds_nothing(&small).await;
}

/// What a large statement held is freed on another thread.
async fn holds_nothing(server: &Server) {
    while server.held_bytes() != (0, 0) {
        tokio::task::yield_now().await;
    }
}

async fn fill(server: &Server) {
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(100))")
        .await
        .unwrap();
    let rows: Vec<String> = (0..ROWS)
        .map(|a| {
            let b = a * 7919 % 20_011;
            format!("({a}, {b}, 'a text of some length {}')", b % 911)
        })
        .collect();
    for rows in rows.chunks(1000) {
        let sql = format!("INSERT INTO t VALUES {}", rows.join(", "));
        server.run(&sql).await.unwrap();
    }
}

#[tokio::test]
async fn the_quota_ends_a_statement_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::spilling(dir.path(), 100_000).await;
    fill(&server).await;
    server
        .run("SET query_memory_bytes = 1048576")
        .await
        .unwrap();
    for (sql, operator) in [
        ("SELECT a, c FROM t ORDER BY c", "sort"),
        ("SELECT b, c, COUNT(*) FROM t GROUP BY b, c", "group by"),
        ("SELECT DISTINCT b, c FROM t", "distinct"),
    ] {
        let error = server.run(sql).await.err().unwrap();
        assert_eq!(error.code(), crate::error::Code::TableFull, "{error}");
        assert!(error.message().starts_with(operator), "{error}");
        holds_nothing(&server).await;
    }
}
