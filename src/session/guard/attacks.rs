//! Ways around the guard, as somebody would try them who may log in and nothing else, or little else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::tests::{World, is_refusal, session};
use crate::exec::rows::{PageEnd, RowSink};
use crate::session::{Reply, Session};
use crate::types::Value;

/// What only `d.t` holds.
const SECRET: &str = "4711";

/// Ways to read `d.t`, nested in whatever takes a query or an expression.
const READS: &[&str] = &[
    "SELECT b FROM d.t",
    "SELECT 1 FROM d.t LIMIT 1",
    "SELECT COUNT(*) FROM d.t",
    "TABLE d.t",
    "SELECT (SELECT b FROM d.t)",
    "SELECT 1 WHERE EXISTS (SELECT * FROM d.t)",
    "SELECT 1 WHERE 1 IN (SELECT b FROM d.t)",
    "SELECT 1 WHERE 1 = ANY (SELECT b FROM d.t)",
    "SELECT 1 UNION SELECT b FROM d.t",
    "SELECT 1 EXCEPT SELECT b FROM d.t",
    "SELECT * FROM (SELECT b FROM d.t) x",
    "SELECT * FROM (d.t, d.u)",
    "SELECT * FROM d.mine m JOIN d.t ON m.a = t.a",
    "SELECT * FROM d.mine m LEFT JOIN (SELECT * FROM d.t) x ON m.a = x.a",
    "SELECT * FROM d.mine m JOIN d.mine n ON (SELECT b FROM d.t)",
    "WITH x AS (SELECT b FROM d.t) SELECT 1",
    "WITH t AS (SELECT 1) SELECT * FROM d.t",
    "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + (SELECT b FROM d.t) FROM x WHERE n < 9) SELECT * FROM x",
    "WITH x AS (WITH y AS (SELECT b FROM d.t) SELECT * FROM y) SELECT * FROM x",
    "SELECT a FROM d.mine ORDER BY (SELECT b FROM d.t)",
    "SELECT a FROM d.mine GROUP BY (SELECT b FROM d.t)",
    "SELECT COUNT(*) FROM d.mine HAVING COUNT(*) = (SELECT b FROM d.t)",
    "SELECT SUM(a) OVER (ORDER BY (SELECT b FROM d.t)) FROM d.mine",
    "SELECT SUM(a) OVER w FROM d.mine WINDOW w AS (PARTITION BY (SELECT b FROM d.t))",
    "SELECT GROUP_CONCAT(a ORDER BY (SELECT b FROM d.t)) FROM d.mine",
    "SELECT COALESCE(NULL, (SELECT b FROM d.t))",
    "SELECT CASE WHEN 1 THEN (SELECT b FROM d.t) END",
    "SELECT @x := (SELECT b FROM d.t)",
    "SELECT b INTO @x FROM d.t",
    "SELECT b FROM d.t FOR UPDATE",
    "SELECT b FROM d.t FOR SHARE",
    "SELECT * FROM JSON_TABLE((SELECT b FROM d.t), '$' COLUMNS (v INT PATH '$')) j",
    "VALUES ROW((SELECT b FROM d.t))",
    "INSERT INTO d.mine VALUES ((SELECT b FROM d.t), 1)",
    "INSERT INTO d.mine SET a = (SELECT b FROM d.t)",
    "INSERT INTO d.mine SELECT * FROM d.t",
    "INSERT INTO d.mine TABLE d.t",
    "INSERT INTO d.mine VALUES (1, 1) ON DUPLICATE KEY UPDATE b = (SELECT b FROM d.t)",
    "REPLACE INTO d.mine SELECT * FROM d.t",
    "UPSERT INTO d.mine SELECT * FROM d.t",
    "UPDATE d.mine SET b = (SELECT b FROM d.t)",
    "UPDATE d.mine SET b = 1 WHERE a IN (SELECT a FROM d.t)",
    "UPDATE d.mine SET b = 1 ORDER BY (SELECT b FROM d.t) LIMIT 1",
    "UPDATE d.mine m, d.t SET m.b = t.b WHERE m.a = t.a",
    "WITH x AS (SELECT b FROM d.t) UPDATE d.mine SET b = (SELECT b FROM x)",
    "WITH x AS (SELECT * FROM d.t) UPDATE d.mine m JOIN x ON m.a = x.a SET m.b = x.b",
    "WITH t AS (SELECT 1 AS b) UPDATE d.mine SET b = (SELECT b FROM d.t)",
    "WITH x AS (SELECT a FROM d.t) DELETE FROM d.mine WHERE a IN (SELECT a FROM x)",
    "WITH x AS (SELECT * FROM d.t) DELETE m FROM d.mine m JOIN x ON m.a = x.a",
    "UPDATE d.mine m JOIN (SELECT * FROM d.t) x ON m.a = x.a SET m.b = x.b",
    "DELETE FROM d.mine WHERE a = (SELECT b FROM d.t)",
    "DELETE m FROM d.mine m JOIN d.t ON m.a = t.a",
    "DELETE FROM m USING d.mine m, d.t WHERE m.a = t.a",
    "EXPLAIN ROW d.mine WHERE a = (SELECT b FROM d.t)",
    "EXPLAIN ROW d.mine WHERE a = (SELECT nosuch FROM d.t)",
    "EXPLAIN ROW d.mine WHERE a IN (SELECT b FROM d.nosuch)",
    "SELECT COUNT_ESTIMATE(d.t)",
    "SELECT a FROM d.mine WHERE a = COUNT_ESTIMATE_HIGH(d.t)",
    "CREATE VIEW d.stolen AS SELECT COUNT_ESTIMATE(d.t) AS n",
    "DO (SELECT b FROM d.t)",
    "SET @x = (SELECT b FROM d.t)",
    "SET SESSION wait_timeout = (SELECT b FROM d.t)",
    "SET @y = 1, @x = (SELECT b FROM d.t)",
    "KILL (SELECT b FROM d.t)",
    "SHOW DATABASES WHERE (SELECT b FROM d.t)",
    "SHOW TABLES FROM d WHERE (SELECT b FROM d.t)",
    "SHOW COLUMNS FROM d.mine WHERE (SELECT b FROM d.t)",
    "SHOW INDEX FROM d.mine WHERE (SELECT b FROM d.t)",
    "SHOW TABLE STATUS FROM d WHERE (SELECT b FROM d.t)",
    "SHOW VARIABLES WHERE (SELECT b FROM d.t)",
    "SHOW STATUS WHERE (SELECT b FROM d.t)",
    "SHOW COLLATION WHERE (SELECT b FROM d.t)",
    "SHOW CHARSET WHERE (SELECT b FROM d.t)",
    "SHOW TRASH WHERE (SELECT b FROM d.t)",
    "CREATE TABLE d.stolen (a INT PRIMARY KEY) AS SELECT b AS a FROM d.t",
    "CREATE TABLE d.stolen LIKE d.t",
    "CREATE TEMPORARY TABLE d.stolen LIKE d.t",
    "CREATE TEMPORARY TABLE d.stolen AS SELECT b FROM d.t",
    "CREATE VIEW d.stolen AS SELECT b FROM d.t",
    "CREATE OR REPLACE VIEW d.stolen AS SELECT b FROM d.mine WHERE a IN (SELECT a FROM d.t)",
    "CREATE SQL SECURITY INVOKER VIEW d.stolen AS SELECT b FROM d.t",
    "LOAD DATA LOCAL INFILE 'x' INTO TABLE d.mine (a) SET b = (SELECT b FROM d.t)",
    "SHOW DYNAMIC COLUMNS FROM d.t",
    "SHOW CREATE VIEW d.x",
    "CHECK TABLE d.t",
    "ADVISE TABLE d.t",
    "SELECT b FROM d.w",
    "SELECT b FROM d.x",
    "INSERT INTO d.mine SELECT * FROM d.w",
    "SELECT 1 FROM d.mine WHERE (SELECT COUNT(*) FROM d.x)",
];

/// Ways to change what is not one's own.
const WRITES: &[&str] = &[
    "INSERT INTO d.t VALUES (2, 2)",
    "INSERT IGNORE INTO d.t VALUES (2, 2)",
    "REPLACE INTO d.t VALUES (1, 2)",
    "UPSERT INTO d.t (a) VALUES (1)",
    "UPDATE d.t SET b = 1",
    "UPDATE d.mine m, d.t SET t.b = 1",
    "UPDATE d.mine m, d.t x SET x.b = m.b",
    "DELETE FROM d.t",
    "DELETE t FROM d.t JOIN d.mine m ON m.a = t.a",
    "DELETE d.t, m FROM d.t, d.mine m",
    "DELETE FROM d.t USING d.mine m JOIN d.t",
    "INSERT INTO d.w VALUES (3, 3)",
    "UPDATE d.w SET b = 1",
    "DELETE FROM d.x",
    "TRUNCATE d.t",
    "TRUNCATE TABLE d.t",
    "DROP TABLE d.t",
    "DROP TABLE IF EXISTS d.t",
    "DROP TABLE d.mine, d.t",
    "DROP VIEW d.w",
    "DROP DATABASE d",
    "ALTER TABLE d.t ADD COLUMN c INT",
    "ALTER TABLE d.t DROP COLUMN b",
    "ALTER TABLE d.t RENAME TO d.mine2",
    "ALTER TABLE d.mine RENAME TO d.t2",
    "RENAME TABLE d.t TO d.t2",
    "RENAME TABLE d.mine TO d.t2",
    "ALTER TABLE d.t COMPACT",
    "ALTER INDEX i ON d.t INACTIVE",
    "CREATE INDEX j ON d.t (b)",
    "DROP INDEX i ON d.t",
    "REPAIR TABLE d.t",
    "ANALYZE TABLE d.t",
    "OPTIMIZE TABLE d.t",
    "UNDROP TABLE d.gone",
    "UNDROP TABLE d.gone TO d.mine2",
    "PURGE TABLE d.gone",
    "PURGE TRASH",
    "LOCK TABLES d.t WRITE",
    "LOAD DATA LOCAL INFILE 'x' INTO TABLE d.t",
    "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE d.w",
    "SET GLOBAL wait_timeout = 5",
    "SET @x = 1, GLOBAL wait_timeout = 5",
    "SET @@global.wait_timeout = 5",
    "SET PERSIST wait_timeout = 5",
    "SET PERSIST_ONLY wait_timeout = 5",
    "RESET PERSIST",
    "SET GLOBAL TRANSACTION READ ONLY",
    "GRANT ALL ON *.* TO p",
    "GRANT SELECT ON d.t TO p",
    "GRANT r TO p",
    "GRANT root TO p",
    "REVOKE SELECT ON d.u FROM q",
    "CREATE USER x",
    "ALTER USER root IDENTIFIED BY 'x'",
    "ALTER USER q ACCOUNT LOCK",
    "DROP USER q",
    "RENAME USER q TO x",
    "SET PASSWORD FOR root = 'x'",
    "SET DEFAULT ROLE ALL TO q",
    "CREATE ROLE x",
    "DROP ROLE r",
    "FLUSH PRIVILEGES",
    "KILL 1",
    "KILL QUERY 1",
    "CREATE DATABASE x",
    "CREATE TABLE d.x2 (a INT PRIMARY KEY)",
    "CREATE TEMPORARY TABLE d.x2 (a INT PRIMARY KEY)",
];

/// What somebody who may do all with `d.mine` alone is answered instead of a refusal.
async fn answer(session: &mut Session, sql: &str) -> Option<String> {
    match session.query(sql.as_bytes()).await {
        Ok(_) => Some("OK".to_owned()),
        Err(error) if is_refusal(&Err(crate::error::Error::new(error.code(), String::new()))) => {
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

async fn world() -> World {
    let mut world = World::new().await;
    world.reset(&[]).await;
    for sql in [
        "CREATE TABLE d.mine (a INT PRIMARY KEY, b INT, INDEX k (b))",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON d.mine TO p",
        "CREATE TABLE d.gone (a INT PRIMARY KEY)",
        "DROP TABLE d.gone",
    ] {
        world.run(sql).await;
    }
    world
        .run(&format!("INSERT INTO d.t VALUES (1, {SECRET})"))
        .await;
    world
}

#[tokio::test]
async fn nothing_is_read_or_changed_without_the_right() {
    let mut world = world().await;
    let mut p = session(&world.shared, "p");
    let mut open = Vec::new();
    for sql in READS.iter().chain(WRITES) {
        let mut forms = vec![(*sql).to_owned()];
        if ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"]
            .iter()
            .any(|verb| sql.starts_with(verb))
        {
            forms.push(format!("EXPLAIN {sql}"));
            forms.push(format!("EXPLAIN ANALYZE {sql}"));
        }
        for form in forms {
            if let Some(answer) = answer(&mut p, &form).await {
                open.push(format!("{form}: {answer}"));
            }
            let quoted = form.replace('\'', "''");
            let prepared = answer(&mut p, &format!("PREPARE s FROM '{quoted}'")).await;
            if prepared.is_some()
                && let Some(answer) = answer(&mut p, "EXECUTE s").await
                && !answer.contains("prepared statement")
            {
                open.push(format!("PREPARE {form}: {answer}"));
            }
        }
    }
    assert!(open.is_empty(), "{}", open.join("\n"));
    world.run("SELECT * FROM d.t WHERE a = 1").await;
}

/// Where the name means a table of one's own when it is looked at, and another one when it is run.
#[tokio::test]
async fn a_temporary_table_lends_its_rights_to_nothing_else() {
    let mut world = world().await;
    world.run("GRANT CREATE TEMPORARY TABLES ON d.* TO p").await;
    let mut p = session(&world.shared, "p");
    let own = "CREATE TEMPORARY TABLE d.t (a INT PRIMARY KEY, b INT)";
    for sql in [
        "SELECT * FROM d.t WHERE a = 1",
        "INSERT INTO d.t VALUES (5, 5)",
        "UPDATE d.t SET b = 1 WHERE a = 1",
        "DELETE FROM d.t WHERE a = 1",
        "SELECT * FROM d.t WHERE a = ?",
    ] {
        p.query(own.as_bytes()).await.unwrap();
        let parameters = if sql.contains('?') {
            vec![Value::Int(1)]
        } else {
            Vec::new()
        };
        let prepared = p.prepare(sql.as_bytes()).unwrap();
        let quoted = sql.replace('?', "1");
        p.query(format!("PREPARE s FROM '{quoted}'").as_bytes())
            .await
            .unwrap();
        p.execute(prepared.id, parameters.clone()).await.unwrap();
        p.query(b"DROP TEMPORARY TABLE d.t").await.unwrap();
        let refused = p.execute(prepared.id, parameters).await;
        assert_eq!(refused.err().unwrap().code().errno(), 1142, "{sql}");
        assert_eq!(answer(&mut p, "EXECUTE s").await, None, "{sql}");
    }
    // Twice the same name: the second time it would be the other table.
    for sql in [
        "DROP TABLE d.t, d.t",
        "DROP TABLE d.t",
        "TRUNCATE d.t",
        "ALTER TABLE d.t ADD COLUMN c INT",
        "CREATE INDEX j ON d.t (b)",
        "DROP INDEX j ON d.t",
        "ALTER TABLE d.t RENAME TO d.v",
    ] {
        let _ = p.query(own.as_bytes()).await;
        let _ = p.query(sql.as_bytes()).await;
        let _ = p.query(b"DROP TEMPORARY TABLE IF EXISTS d.t, d.v").await;
        assert_eq!(answer(&mut p, sql).await, None, "{sql}");
    }
    // A view is made of what is stored.
    world.run("GRANT CREATE VIEW ON d.* TO p").await;
    p.query(own.as_bytes()).await.unwrap();
    let view = "CREATE VIEW d.stolen AS SELECT * FROM d.t";
    assert_eq!(answer(&mut p, view).await, None);
    p.query(b"DROP TEMPORARY TABLE d.t").await.unwrap();
    let secret = format!("SELECT a FROM d.t WHERE b = {SECRET}");
    world.run(&secret).await;
}

/// What a name leads to changes while it is looked at: the rights that were looked at are those to what
/// is read.
/// Of whom it was made for; and no name that hides a table hides it from the guard.
#[tokio::test]
async fn a_view_tells_the_estimate_that_its_maker_may_know() {
    let mut world = world().await;
    for sql in [
        "CREATE VIEW d.sizes AS SELECT COUNT_ESTIMATE(d.t) AS n",
        "CREATE SQL SECURITY INVOKER VIEW d.own AS SELECT COUNT_ESTIMATE(d.t) AS n",
        "GRANT SELECT ON d.sizes TO p",
        "GRANT SELECT ON d.own TO p",
    ] {
        world.run(sql).await;
    }
    let mut p = session(&world.shared, "p");
    assert_eq!(all_text(&mut p, "SELECT n FROM d.sizes").await, ["1"]);
    p.query(b"USE d").await.unwrap();
    for sql in [
        "SELECT n FROM d.own",
        "WITH t AS (SELECT 1) SELECT COUNT_ESTIMATE(t) FROM t",
    ] {
        assert_eq!(answer(&mut p, sql).await, None, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_name_that_changes_hands_is_read_by_nobody_else() {
    let mut world = world().await;
    let over = |table: &str| {
        format!("CREATE OR REPLACE SQL SECURITY INVOKER VIEW d.y AS SELECT a, b FROM d.{table}")
    };
    world.run(&over("mine")).await;
    world.run("GRANT SELECT ON d.y TO p").await;
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|reader| {
            let (shared, is_over) = (Arc::clone(&world.shared), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut p = session(&shared, "p");
                let mut read_count = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let sql = ["SELECT b FROM d.y", "EXECUTE s"][reader % 2];
                    if sql == "EXECUTE s" {
                        let _ = p.query(b"PREPARE s FROM 'SELECT b FROM d.y'").await;
                    }
                    if let Ok(answered) = p.query(sql.as_bytes()).await {
                        let cells = cells_of(answered.reply).await.unwrap_or_default();
                        assert!(!cells.iter().any(|cell| cell == SECRET), "{sql}: {cells:?}");
                        read_count += 1;
                    }
                    tokio::task::yield_now().await;
                }
                read_count
            })
        })
        .collect();
    for _ in 0..200 {
        for table in ["t", "mine"] {
            world.run(&over(table)).await;
            tokio::task::yield_now().await;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(0 < reader.await.unwrap());
    }
}

/// The rows that somebody is shown who sees `d.mine` alone, of all tables of the system.
#[tokio::test]
async fn tables_of_the_system_show_what_may_be_seen() {
    let world = world().await;
    let mut p = session(&world.shared, "p");
    for sql in [
        "SELECT * FROM information_schema.TABLES",
        "SELECT * FROM INFORMATION_SCHEMA.tables",
        "SELECT * FROM information_schema.COLUMNS",
        "SELECT * FROM information_schema.STATISTICS",
        "SELECT * FROM information_schema.KEY_COLUMN_USAGE",
        "SELECT * FROM information_schema.TABLE_CONSTRAINTS",
        "SELECT * FROM information_schema.PARTITIONS",
        "SELECT * FROM information_schema.VIEWS",
        "SELECT * FROM information_schema.TABLE_PRIVILEGES",
        "SELECT * FROM information_schema.SCHEMA_PRIVILEGES",
        "SHOW TABLES FROM d",
        "SHOW FULL TABLES FROM d",
        "SHOW TABLE STATUS FROM d",
        "SHOW TRASH",
    ] {
        let shown = all_text(&mut p, sql).await;
        for name in ["t", "u", "v", "w", "x", "gone"] {
            assert!(
                !shown.iter().any(|cell| cell == name),
                "{sql} shows {name}: {shown:?}"
            );
        }
        let has_mine = shown.iter().any(|cell| cell == "mine");
        let may_have =
            !sql.contains("VIEWS") && !sql.contains("SCHEMA_PRIV") && sql != "SHOW TRASH";
        assert_eq!(has_mine, may_have, "{sql}: {shown:?}");
    }
    for sql in [
        "SELECT USER FROM information_schema.PROCESSLIST",
        "SHOW PROCESSLIST",
        "SELECT GRANTEE FROM information_schema.USER_PRIVILEGES",
    ] {
        let shown = all_text(&mut p, sql).await;
        assert!(
            !shown.iter().any(|cell| cell.contains("root")),
            "{sql}: {shown:?}"
        );
    }
    for sql in [
        "SELECT * FROM mysql.user",
        "SELECT * FROM mysql.tables_priv",
        "SELECT * FROM mysql.role_edges",
    ] {
        assert_eq!(answer(&mut p, sql).await, None, "{sql}");
    }
    assert!(p.list_fields("t", "").is_err());
}

/// All cells of an answer.
#[derive(Default)]
struct Cells(Vec<String>);

impl RowSink for Cells {
    fn row(&mut self, values: &[Value<'_>]) -> crate::error::Result<()> {
        let texts = values.iter().map(|value| value.to_text().into_owned());
        self.0.extend(texts);
        Ok(())
    }

    fn is_full(&self) -> bool {
        false
    }
}

async fn all_text(session: &mut Session, sql: &str) -> Vec<String> {
    let answered = session.query(sql.as_bytes()).await;
    let answered = answered.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let cells = cells_of(answered.reply).await;
    cells.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

async fn cells_of(reply: Reply) -> crate::error::Result<Vec<String>> {
    let Reply::Rows(mut set) = reply else {
        panic!("an answer without rows");
    };
    let mut cells = Cells::default();
    loop {
        match set.rows.next_page(&mut cells).await? {
            PageEnd::More => {}
            PageEnd::Last { .. } => return Ok(cells.0),
        }
    }
}

/// Who may make temporary tables may do all on them.
#[tokio::test]
async fn ones_own_temporary_table_needs_no_other_right() {
    let mut world = world().await;
    world.run("GRANT CREATE TEMPORARY TABLES ON d.* TO p").await;
    let mut p = session(&world.shared, "p");
    p.use_database("d").unwrap();
    for sql in [
        "CREATE TEMPORARY TABLE d.t (a INT PRIMARY KEY, b INT)",
        "CREATE INDEX j ON d.t (b)",
        "INSERT INTO t VALUES (1, 2)",
        "DROP INDEX j ON t",
        "ALTER TABLE d.t ADD COLUMN c INT, ADD INDEX j (b, c)",
        "CREATE TEMPORARY TABLE u AS SELECT b FROM t WHERE a = 1",
        "ALTER TABLE u RENAME TO w",
        "TRUNCATE d.t",
        "DESCRIBE t",
        "SHOW CREATE TABLE t",
    ] {
        let answered = p.query(sql.as_bytes()).await.map(drop);
        assert!(answered.is_ok(), "{sql}: {answered:?}");
    }
    assert_eq!(p.list_fields("t", "").unwrap().len(), 3);
    p.query(b"DROP TEMPORARY TABLE t").await.unwrap();
    assert!(p.list_fields("t", "").is_err());
}
