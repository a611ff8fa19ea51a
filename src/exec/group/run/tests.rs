//! Runs end where their rows do, and what is taken in together is what is taken in row by row.

use bytes::Bytes;

use crate::exec::testing::Server;
use crate::exec::view::Batch;

use super::*;
use crate::plan::testing::table;

#[test]
fn a_run_ends_where_another_prefix_begins() {
    let table = table("CREATE TABLE t (a INT PRIMARY KEY)");
    let layout = Layout::of(&table);
    for run in (0..40).chain([RUN_ROWS_MAX - 1, RUN_ROWS_MAX, RUN_ROWS_MAX + 1]) {
        for others in [0, 1, 30] {
            let key =
                |prefix: &str, idx: usize| (format!("{prefix}{idx:09}").into_bytes(), Bytes::new());
            let before = (0..3).map(|idx| key("a", idx));
            let inside = (0..run).map(|idx| key("b", idx));
            let after = (0..others).map(|idx| key("c", idx));
            let rows = before.chain(inside).chain(after).collect();
            let rows = StoredRows {
                table: &table,
                layout: &layout,
                batch: &Batch::Rows(rows),
            };
            assert_eq!(rows.run(3, b"b"), run.min(RUN_ROWS_MAX));
            assert_eq!(rows.run(2, b"b"), 0);
            assert_eq!(rows.run(3 + run + others, b"c"), 0);
        }
    }
}

/// Sizes of groups: shorter and longer than what is looked at at once, than a batch, and of one row.
const SIZES: [usize; 12] = [1, 1, 2, 3, 1, 64, 65, 1023, 1, 1025, 5000, 2];

#[tokio::test]
async fn groups_are_the_same_row_by_row_and_in_runs() {
    let server = Server::start().await;
    for order in ["", " DESC"] {
        fill(&server, order).await;
        for (rest, keys) in [
            ("GROUP BY k", "k"),
            ("GROUP BY k, l", "k, l"),
            ("WHERE k > 'aaa' GROUP BY k", "k"),
            ("GROUP BY k HAVING COUNT(*) > 2", "k"),
            ("GROUP BY k LIMIT 3 OFFSET 6", "k"),
            ("", "1"),
            ("WHERE k = 'none'", "1"),
        ] {
            let runs = format!(
                "SELECT {keys}, COUNT(*), COUNT(v), SUM(v), AVG(v), SUM(d), SUM(f), SUM(id), SUM(u) \
                 FROM t {rest}"
            );
            // What is computed is taken in row by row.
            let rows = format!(
                "SELECT {keys}, COUNT(*), COUNT(v + 0), SUM(v + 0), AVG(v + 0), SUM(d + 0), \
                 SUM(f + 0), SUM(id + 0), SUM(u + 0) FROM t {rest}"
            );
            let [runs, rows] = [
                server.run(&runs).await.unwrap(),
                server.run(&rows).await.unwrap(),
            ];
            assert_eq!(runs, rows, "{rest} of keys{order}");
        }
        server.run("DROP TABLE t").await.unwrap();
    }
}

/// Rows that say different things of a column: written before it was added or widened, `NULL`, beside one
/// that was dropped, and in an index that covers the statement.
#[tokio::test]
async fn sums_are_the_same_whatever_a_row_says_of_its_columns() {
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE t (k INT, id INT, gone INT, v TINYINT, b BOOLEAN, PRIMARY KEY (k, id))",
        "INSERT INTO t VALUES (1, 1, 7, -128, TRUE), (1, 2, 7, NULL, FALSE), (1, 3, NULL, 127, NULL)",
        "ALTER TABLE t DROP COLUMN gone",
        "ALTER TABLE t ADD COLUMN w BIGINT NOT NULL DEFAULT -9223372036854775808",
        "ALTER TABLE t MODIFY COLUMN v BIGINT",
        "INSERT INTO t VALUES (1, 4, 9223372036854775807, TRUE, 9223372036854775807), \
         (1, 5, 32767, TRUE, -1), (2, 1, -2147483648, FALSE, 0)",
        "CREATE INDEX covering ON t (k, b) INCLUDE (v, w) SYNC",
    ] {
        server.run(sql).await.unwrap();
    }
    for from in ["t", "t FORCE INDEX (covering)"] {
        let of = |more: &str| {
            let aggregates = ["SUM", "AVG", "COUNT"].map(|name| {
                format!(
                    "{name}(v{more}), {name}(b{more}), {name}(w{more}), {name}(DISTINCT b{more})"
                )
            });
            let aggregates = aggregates.join(", ");
            format!("SELECT k, {aggregates} FROM {from} WHERE k > 0 GROUP BY k")
        };
        // What is computed is taken in row by row.
        let [runs, rows] = [
            server.run(&of("")).await.unwrap(),
            server.run(&of(" + 0")).await.unwrap(),
        ];
        assert_eq!(runs, rows, "{from}");
        let [first, second] = runs.as_slice() else {
            panic!("{runs:?}");
        };
        assert_eq!(first[1], "9223372036854808573", "{from}");
        assert_eq!(first[3], "-18446744073709551618", "{from}");
        assert_eq!(second[1], "-2147483648", "{from}");
    }
}

/// Groups `a`, `aa`, … : each key begins with the one before.
async fn fill(server: &Server, order: &str) {
    let create = format!(
        "CREATE TABLE t (k VARCHAR(20), l INT, id INT, v INT, d DECIMAL(10,2), f FLOAT, \
         u BIGINT UNSIGNED, PRIMARY KEY (k{order}, l, id))"
    );
    server.run(&create).await.unwrap();
    for (group, size) in SIZES.iter().enumerate() {
        let key = "a".repeat(group + 1);
        let rows: Vec<String> = (0..*size)
            .map(|id| match id % 7 {
                3 => format!("('{key}', {}, {id}, NULL, NULL, NULL, NULL)", id / 100),
                _ => format!(
                    "('{key}', {}, {id}, {}, {id}.25, {id}.5, 18446744073709551615)",
                    id / 100,
                    i64::try_from(id).unwrap() - 40
                ),
            })
            .collect();
        for rows in rows.chunks(1000) {
            let sql = format!("INSERT INTO t VALUES {}", rows.join(", "));
            server.run(&sql).await.unwrap();
        }
    }
}
