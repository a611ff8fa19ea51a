//! LOAD DATA from files of the client and of the server, and files that SELECT writes.

use std::path::PathBuf;
use std::sync::Arc;

use super::{FileSource, Loading};
use crate::accounts::AccountName;
use crate::error::Result;
use crate::exec::rows::{BoxFuture, PageEnd, RowSink};
use crate::exec::testing;
use crate::kv::Engine;
use crate::kv::memory::Memory;
use crate::kv::testing::{Faults, Faulty};
use crate::session::{Client, OpenOptions, Reply, Session, Shared, Storage};
use crate::types::Value;

/// A file that comes in pieces of so many bytes.
struct Pieces<'a> {
    bytes: &'a [u8],
    piece: usize,
}

impl FileSource for Pieces<'_> {
    fn more<'a>(&'a mut self, out: &'a mut Vec<u8>) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let (piece, rest) = self.bytes.split_at(self.piece.min(self.bytes.len()));
            out.extend_from_slice(piece);
            self.bytes = rest;
            Ok(!piece.is_empty())
        })
    }
}

/// A server whose files lie in a directory of its own.
struct House {
    session: Session,
    dir: tempfile::TempDir,
}

struct Texts(Vec<String>);

impl RowSink for Texts {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        let texts = row.iter().map(|value| {
            if value.is_null() {
                return "NULL".to_owned();
            }
            value.to_text().into_owned()
        });
        self.0.push(texts.collect::<Vec<_>>().join(" "));
        Ok(())
    }
}

impl House {
    async fn start() -> House {
        House::with(tempfile::tempdir().unwrap(), testing::options()).await
    }

    async fn with(dir: tempfile::TempDir, options: OpenOptions) -> House {
        House::on(Arc::new(Memory::default()), dir, options).await
    }

    async fn on(engine: Arc<dyn Engine>, dir: tempfile::TempDir, options: OpenOptions) -> House {
        let options = OpenOptions {
            allow_full_scan: true,
            secure_file_priv: Some(dir.path().to_owned()),
            ..options
        };
        let shared = Shared::over(engine, None, &options).await;
        let session = testing::session(&Arc::new(shared.unwrap()), 1);
        let mut house = House { session, dir };
        house.told("SET GLOBAL local_infile = ON").await;
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What a statement says; a file that it wants has these bytes.
    async fn ask(&mut self, sql: &str, (bytes, piece): (&[u8], usize)) -> Result<String> {
        let sql = sql.replace("DIR", &self.dir.path().display().to_string());
        match self.session.query(sql.as_bytes()).await?.reply {
            Reply::Done(done) if done.info.is_empty() => Ok(format!("ok {}", done.affected_rows)),
            Reply::Done(done) => Ok(done.info),
            Reply::Rows(mut set) => {
                let mut texts = Texts(Vec::new());
                while let PageEnd::More = set.rows.next_page(&mut texts).await? {}
                Ok(texts.0.join(" / "))
            }
            Reply::File(loading) => {
                let loading: &Loading = &loading;
                let mut file = Pieces { bytes, piece };
                Ok(self.session.load(loading, &mut file).await?.info)
            }
        }
    }

    async fn told_of(&mut self, sql: &str, bytes: &[u8], piece: usize) -> String {
        let told = self.ask(sql, (bytes, piece)).await;
        told.unwrap_or_else(|error| format!("{}: {}", error.code().errno(), error.message()))
    }

    async fn told(&mut self, sql: &str) -> String {
        self.told_of(sql, b"", 1).await
    }
}

/// A file, the statement behind `LOAD DATA INFILE …`, what it says, and the table then.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        "1\ta\t1.5\n2\t\\N\t-2\n",
        "INTO TABLE t",
        "Records: 2  Deleted: 0  Skipped: 0  Warnings: 0",
        "1 a 1.50 / 2 NULL -2.00",
    ),
    (
        "",
        "INTO TABLE t",
        "Records: 0  Deleted: 0  Skipped: 0  Warnings: 0",
        "",
    ),
    (
        "head\n1,\"a,b\",2\n",
        "INTO TABLE t FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' IGNORE 1 LINES",
        "Records: 1  Deleted: 0  Skipped: 0  Warnings: 0",
        "1 a,b 2.00",
    ),
    (
        "5;x\r\n",
        "INTO TABLE t COLUMNS TERMINATED BY x'3b' LINES TERMINATED BY '\\r\\n' (id, @v) SET name = CONCAT(@v, '!'), price = id * 2",
        "Records: 1  Deleted: 0  Skipped: 0  Warnings: 0",
        "5 x! 10.00",
    ),
    (
        "7\tn\t3\n",
        "INTO TABLE t (id, name, price) SET price = price + 1, name = DEFAULT",
        "Records: 1  Deleted: 0  Skipped: 0  Warnings: 0",
        "7 none 4.00",
    ),
    (
        "1\ta\t1\n1\tb\t2\n",
        "IGNORE INTO TABLE t",
        "Records: 2  Deleted: 0  Skipped: 1  Warnings: 1",
        "1 a 1.00",
    ),
    (
        "1\ta\t1\n1\tb\t2\n",
        "REPLACE INTO TABLE t",
        "Records: 2  Deleted: 1  Skipped: 0  Warnings: 0",
        "1 b 2.00",
    ),
    (
        "1\ta\t1\n1\tb\t2\n",
        "INTO TABLE t",
        "1062: Duplicate entry '1' for key 't.PRIMARY'",
        "",
    ),
    (
        "1\ta\n",
        "INTO TABLE t",
        "1261: Row 1 doesn't contain data for all columns",
        "",
    ),
    (
        "1\ta\t1\n2\ta\t1\tx\n",
        "INTO TABLE t",
        "1262: Row 2 was truncated; it contained more data than there were input columns",
        "",
    ),
    (
        "x\ta\t1\n",
        "INTO TABLE t",
        "1366: Incorrect integer value: 'x' for column 'id' at row 1",
        "",
    ),
    (
        "1\ta\t1\n2\ta\t12345.6\n",
        "INTO TABLE t",
        "1264: Out of range value for column 'price' at row 2",
        "",
    ),
    (
        "1\ta\t\\N\n",
        "INTO TABLE t",
        "1263: Column set to default value; NULL supplied to NOT NULL column 'price' at row 1",
        "",
    ),
    (
        "1\ta\n2\tb\t12345.6\tx\nx\tc\t\\N\n",
        "IGNORE INTO TABLE t",
        "Records: 3  Deleted: 0  Skipped: 0  Warnings: 5",
        "0 c 0.00 / 1 a 9.00 / 2 b 999.99",
    ),
];

/// Mechanism: a write that started over forgot all warnings, those of its lines too, which are not read again.
#[tokio::test]
async fn what_lines_were_warned_of_stays_when_their_write_starts_over() {
    let faulty = Arc::new(Faulty::new(Arc::new(Memory::default()), Faults::None));
    let dir = tempfile::tempdir().unwrap();
    let mut house = House::on(Arc::clone(&faulty) as _, dir, testing::options()).await;
    house
        .told("CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(5,2) NOT NULL)")
        .await;
    faulty.conflict_once();
    let load = "LOAD DATA LOCAL INFILE 'f' IGNORE INTO TABLE t";
    let told = house.told_of(load, b"1\t12345.6\n2\t1\tx\n1\t1\n", 100);
    assert_eq!(
        told.await,
        "Records: 3  Deleted: 0  Skipped: 1  Warnings: 3"
    );
    assert!(!faulty.will_conflict());
}

#[tokio::test]
async fn lines_become_rows() {
    for (idx, (file, statement, said, rows)) in CASES.iter().enumerate() {
        for piece in [1, 7, 1000] {
            let mut house = House::start().await;
            house
                .told("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10) DEFAULT 'none', price DECIMAL(5,2) NOT NULL DEFAULT 9)")
                .await;
            std::fs::write(house.path("f"), file).unwrap();
            let told = house
                .told(&format!("LOAD DATA INFILE 'DIR/f' {statement}"))
                .await;
            assert_eq!(told, *said, "case {idx}");
            assert_eq!(house.told("SELECT * FROM t").await, *rows, "case {idx}");
            house.told("DELETE FROM t").await;
            // The client's file gives the same where nothing is wrong with it.
            if said.starts_with("Records") && said.ends_with("Skipped: 0  Warnings: 0") {
                let sql = format!("LOAD DATA LOCAL INFILE 'f' {statement}");
                assert_eq!(house.told_of(&sql, file.as_bytes(), piece).await, *said);
                assert_eq!(house.told("SELECT * FROM t").await, *rows, "case {idx}");
            }
        }
    }
}

#[tokio::test]
async fn a_local_file_ignores_what_is_wrong_with_it() {
    let mut house = House::start().await;
    house
        .told("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
        .await;
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t";
    let said = house.told_of(load, b"1\t1\n1\t2\nx\ty\n2\n", 3).await;
    assert_eq!(said, "Records: 4  Deleted: 0  Skipped: 1  Warnings: 4");
    assert_eq!(house.told("SELECT * FROM t").await, "0 0 / 1 1 / 2 0");
    house.told("SET GLOBAL local_infile = OFF").await;
    assert!(house.told_of(load, b"", 1).await.starts_with("3948: "));
}

#[tokio::test]
async fn a_statement_in_a_transaction_is_all_or_nothing() {
    let mut house = House::start().await;
    house.told("CREATE TABLE t (id INT PRIMARY KEY)").await;
    std::fs::write(house.path("bad"), "1\n2\nx\n").unwrap();
    std::fs::write(house.path("good"), "1\n2\n").unwrap();
    house.told("BEGIN").await;
    house.told("INSERT INTO t VALUES (9)").await;
    assert!(
        house
            .told("LOAD DATA INFILE 'DIR/bad' INTO TABLE t")
            .await
            .starts_with("1366")
    );
    assert_eq!(house.told("SELECT * FROM t").await, "9");
    house.told("LOAD DATA INFILE 'DIR/good' INTO TABLE t").await;
    house.told("ROLLBACK").await;
    assert_eq!(house.told("SELECT * FROM t").await, "");
}

#[tokio::test]
async fn what_is_written_is_loaded_again() {
    let mut house = House::start().await;
    house
        .told("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(40), b BLOB, d DOUBLE, at DATETIME(3), e ENUM('x','y'))")
        .await;
    house
        .told(r#"INSERT INTO t VALUES (1, 'tab\tquote"back\\slash\nline', x'00ff0a5c22', 1.5, '2024-01-02 03:04:05.678', 'y'), (2, NULL, NULL, NULL, NULL, NULL), (3, '', '', 0, NULL, 'x'), (4, '日本', 'NULL', -1e300, NULL, 'x')"#)
        .await;
    house.told("CREATE TABLE u LIKE t").await;
    let before = house.told("SELECT * FROM t").await;
    // What goes into a file does not go to the client.
    house.told("SET sql_select_limit = 1").await;
    let layouts = [
        "",
        "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'",
        "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '!' LINES STARTING BY '>' TERMINATED BY '\\r\\n'",
    ];
    for (idx, layout) in layouts.into_iter().enumerate() {
        let select = format!("SELECT * FROM t INTO OUTFILE 'DIR/{idx}' {layout}");
        assert_eq!(house.told(&select).await, "ok 4");
        assert!(house.told(&select).await.starts_with("1086: File '"));
        house.told("DELETE FROM u").await;
        let load = format!("LOAD DATA INFILE 'DIR/{idx}' INTO TABLE u {layout}");
        let said = house.told(&load).await;
        assert_eq!(
            said, "Records: 4  Deleted: 0  Skipped: 0  Warnings: 0",
            "{layout}"
        );
        let read_back = house.told("SELECT * FROM u LIMIT 9").await;
        assert_eq!(read_back, before, "{layout}");
    }
    let first = std::fs::read(house.path("0")).unwrap();
    let last = "3\t\t\t0\t\\N\tx\n4\t日本\tNULL\t-1e300\t\\N\tx\n";
    assert!(first.ends_with(last.as_bytes()));
}

#[tokio::test]
async fn one_value_is_written_bare_and_failures_leave_no_file() {
    let mut house = House::start().await;
    house.told("CREATE TABLE t (id INT PRIMARY KEY)").await;
    house.told("INSERT INTO t VALUES (1), (2)").await;
    let said = house
        .told("SELECT x'00\\n' , 'a', NULL INTO DUMPFILE 'DIR/none'")
        .await;
    assert!(said.starts_with("1064"));
    house
        .told("SELECT x'0009', 'a', NULL INTO DUMPFILE 'DIR/one'")
        .await;
    assert_eq!(std::fs::read(house.path("one")).unwrap(), b"\0\ta");
    assert!(
        house
            .told("SELECT id INTO DUMPFILE 'DIR/two' FROM t")
            .await
            .starts_with("1172")
    );
    let failing = "SELECT EXP(id * 600) INTO OUTFILE 'DIR/two' FROM t";
    assert!(house.told(failing).await.starts_with("1690"));
    assert!(!house.path("two").exists());
    assert!(
        house
            .told("SELECT 1 INTO OUTFILE '/tmp/x/y'")
            .await
            .starts_with("1290")
    );
}

#[tokio::test]
async fn no_statement_gets_a_file_of_the_data() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("CURRENT"), "1").unwrap();
    let options = OpenOptions {
        storage: Storage::Lsm(data.clone()),
        backup_dir: Some(dir.path().to_owned()),
        ..testing::options()
    };
    let mut house = House::with(dir, options).await;
    house.told("CREATE TABLE own (a INT PRIMARY KEY)").await;
    for (sql, file) in [
        (
            "LOAD DATA INFILE 'DIR/data/CURRENT' INTO TABLE own",
            "CURRENT",
        ),
        ("SELECT 1 INTO OUTFILE 'DIR/data/new'", "new"),
        ("SELECT 1 INTO DUMPFILE 'DIR/data/new'", "new"),
    ] {
        let told = house.told(sql).await;
        let end = format!("'{}' lies in the data directory", data.join(file).display());
        assert!(told.starts_with("1290") && told.ends_with(&end), "{told}");
    }
    assert!(!data.join("new").exists());
    let backups = house.dir.path().canonicalize().unwrap();
    let told = house.told("SELECT @@backup_dir").await;
    assert_eq!(told, backups.display().to_string());
}

#[tokio::test]
async fn persisted_values_are_there_after_a_restart() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::default());
    let options = testing::options();
    let open = || Shared::over(Arc::clone(&engine), None, &options);
    let mut session = testing::session(&Arc::new(open().await.unwrap()), 1);
    let statements = "SET PERSIST wait_timeout = 77; SET PERSIST_ONLY sql_mode = 'ANSI_QUOTES'; \
                      SET PERSIST sql_big_selects = ON; SET PERSIST net_read_timeout = 5; \
                      RESET PERSIST net_read_timeout";
    for sql in statements.split("; ") {
        session.query(sql.as_bytes()).await.unwrap();
    }
    let shared = open().await.unwrap();
    for (name, value) in [
        ("wait_timeout", 77),
        ("sql_big_selects", 1),
        ("net_read_timeout", 30),
    ] {
        assert_eq!(shared.global_number(name), value, "{name}");
    }
    let mode = shared.globals.get("sql_mode").unwrap();
    assert_eq!(mode.to_text(), "ANSI_QUOTES");
}

/// What is read and made of a file counts as the statement's memory: of a line there is no more than
/// that, and rows are written in pieces that fit.
#[tokio::test]
async fn files_are_read_within_the_memory_of_a_statement() {
    let mut house = House::start().await;
    house
        .told("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
        .await;
    house.told("SET query_memory_bytes = 1048576").await;
    let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t";
    let junk = vec![b'j'; 4 << 20];
    let said = house
        .told_of(&format!("{load} LINES STARTING BY 'row:'"), &junk, 65_536)
        .await;
    assert_eq!(said, "Records: 0  Deleted: 0  Skipped: 0  Warnings: 0");
    let said = house.told_of(load, &junk, 65_536).await;
    assert!(said.starts_with("1038: LOAD DATA"), "{said}");
    let row = |id| format!("{id}\t{}\n", "v".repeat(100_000));
    let rows: String = (0..40).map(row).collect();
    let said = house.told_of(load, rows.as_bytes(), 65_536).await;
    assert!(said.starts_with("Records: 40 "), "{said}");
    assert_eq!(
        house.told("SELECT COUNT(*), SUM(LENGTH(v)) FROM t").await,
        "40 4000000"
    );
    assert_eq!(house.session.shared.held_bytes().0, 0);
}

#[tokio::test]
async fn a_file_is_a_value_where_it_may_be_read() {
    let mut house = House::start().await;
    std::fs::write(house.path("a.txt"), b"one\ntwo").unwrap();
    std::fs::write(house.path("b.bin"), [0, 255, b'x']).unwrap();
    let large = std::fs::File::create(house.path("large")).unwrap();
    large.set_len(64 << 20).unwrap();
    let cases = [
        ("SELECT LOAD_FILE('DIR/a.txt')", "one\ntwo"),
        ("SELECT HEX(LOAD_FILE('DIR/b.bin'))", "00FF78"),
        (
            "SELECT LENGTH(LOAD_FILE(CONCAT('DIR/', 'large')))",
            "67108864",
        ),
        ("SELECT LOAD_FILE('DIR/none')", "NULL"),
        ("SELECT LOAD_FILE('a.txt')", "NULL"),
        ("SELECT LOAD_FILE('DIR')", "NULL"),
        ("SELECT LOAD_FILE('DIR/../../etc/passwd')", "NULL"),
        ("SELECT LOAD_FILE('/etc/passwd')", "NULL"),
        ("SELECT LOAD_FILE(NULL)", "NULL"),
    ];
    for (sql, expected) in cases {
        assert_eq!(house.told(sql).await, expected, "{sql}");
        assert_eq!(house.told("SHOW COUNT(*) WARNINGS").await, "0", "{sql}");
    }
    large.set_len((64 << 20) + 1).unwrap();
    assert_eq!(house.told("SELECT LOAD_FILE('DIR/large')").await, "NULL");
    let warning = house.told("SHOW WARNINGS").await;
    assert!(
        warning.starts_with("Warning 1301 Result of load_file()"),
        "{warning}"
    );
    // Only for who may read files, and as soon as that is so.
    assert_eq!(house.told("CREATE USER reader").await, "ok 0");
    let client = Client {
        user: "reader".to_owned(),
        account: AccountName::new("reader", "%"),
        connection_id: 2,
        ..house.session.client.clone()
    };
    let reader = Session::new(&house.session.shared, client, &Arc::default()).unwrap();
    let root = std::mem::replace(&mut house.session, reader);
    let load = "SELECT LOAD_FILE('DIR/a.txt')";
    assert_eq!(house.told(load).await, "NULL");
    let reader = std::mem::replace(&mut house.session, root);
    assert_eq!(house.told("GRANT FILE ON *.* TO reader").await, "ok 0");
    house.session = reader;
    assert_eq!(house.told(load).await, "one\ntwo");
}
