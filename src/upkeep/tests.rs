//! Checks and restored tables, over data that statements have written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::codec::row::expiry_of;
use crate::exec::cancel::Stop;
use crate::exec::testing::Server;
use crate::index;
use crate::kv::expiry::{Expiry, Living};
use crate::kv::lsm::{Lsm, Options};
use crate::kv::{Space, WriteSet};

mod ended;
mod marks;
mod places;

struct House {
    base: tempfile::TempDir,
}

impl House {
    fn new() -> House {
        let base = tempfile::tempdir().unwrap();
        House { base }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// A server over the data directory of this name.
    async fn server(&self, name: &str) -> Server {
        self.server_with(name, Expiry::new(expiry_of)).await
    }

    async fn server_with(&self, name: &str, expiry: Expiry) -> Server {
        let expiry = Arc::new(expiry);
        let options = Options {
            cache_bytes: 1 << 20,
            expiry: Some(Arc::clone(&expiry)),
            ..Options::new(self.path(name))
        };
        let engine = Arc::new(Lsm::open(&options).unwrap());
        Server::on(Arc::new(Living::new(engine, expiry))).await
    }

    /// What a task says, and how it ends.
    async fn told(&self, task: Task) -> Result<(Outcome, Vec<String>), String> {
        self.told_until(task, &CancelToken::default()).await
    }

    async fn told_until(
        &self,
        task: Task,
        cancel: &CancelToken,
    ) -> Result<(Outcome, Vec<String>), String> {
        let mut out = Vec::new();
        let outcome = done(&task, (cancel, &mut out)).await?;
        let base = self.base.path().display().to_string();
        let text = String::from_utf8(out).unwrap().replace(&base, "");
        Ok((outcome, text.lines().map(str::to_owned).collect()))
    }

    async fn check(&self, name: &str) -> (Outcome, Vec<String>) {
        let dir = self.path(name);
        self.told(Task::Check { dir }).await.unwrap()
    }

    async fn restore_table(
        &self,
        table: &str,
        name: &str,
    ) -> Result<(Outcome, Vec<String>), String> {
        let (database, table) = table.split_once('.').unwrap();
        let task = Task::RestoreTable {
            backup: self.path("backup"),
            data_dir: self.path(name),
            table: (database.to_owned(), table.to_owned()),
        };
        self.told(task).await
    }
}

async fn stop(server: Server) {
    server.shared().close().await;
}

/// Two tables with indexes of every kind, a counter, rows that end, and a dropped table.
async fn fill(server: &Server) {
    for sql in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (tenant INT, id INT, note VARCHAR(40), price DECIMAL(9,2), \
         PRIMARY KEY (tenant, id DESC), KEY by_note (note), UNIQUE KEY by_price (price, id) INCLUDE (note))",
        "CREATE TABLE shop.tickets (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "ALTER TABLE shop.orders ADD COLUMN later INT DEFAULT 7",
        "ALTER TABLE shop.orders DROP COLUMN later",
        "ALTER TABLE shop.orders ADD COLUMN later VARCHAR(9) DEFAULT 'x'",
        "CREATE TABLE passing (id INT PRIMARY KEY, v INT, KEY (v)) WITH (TTL='3600')",
        "INSERT INTO passing VALUES (1, 1), (2, 2)",
        "CREATE TABLE gone (id INT PRIMARY KEY, v INT, KEY (v))",
        "INSERT INTO gone VALUES (1, 1), (2, 2)",
        "DROP TABLE gone",
        "INSERT INTO shop.tickets (v) VALUES (1), (2), (3)",
    ] {
        server.run(sql).await.unwrap();
    }
    for tenant in 0..20 {
        let rows = (0..50).map(|id| format!("({tenant}, {id}, 'n{}', {tenant}.5)", id % 7));
        let rows: Vec<String> = rows.collect();
        let sql = format!(
            "INSERT INTO shop.orders (tenant, id, note, price) VALUES {}",
            rows.join(", ")
        );
        // The price is unique with the id within a tenant alone.
        server.run(&sql).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_well_is_said_to_be() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    server
        .engine()
        .checkpoint(&house.path("backup"), &Arc::default())
        .await
        .unwrap();
    stop(server).await;
    for name in ["data", "backup"] {
        let (outcome, lines) = house.check(name).await;
        assert_eq!(outcome, Outcome::Fine, "{lines:?}");
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("nothing is damaged"), "{lines:?}");
    }
    let wrong = house
        .told(Task::Check {
            dir: house.path(""),
        })
        .await;
    assert!(wrong.unwrap_err().contains("is no backup"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_not_like_its_table_and_a_damaged_row_are_named() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    let definitions = server.catalog().current();
    let table = definitions.table("shop", "orders").unwrap();
    let entries = index::space(&table.indexes[0]);
    let (first, _) = server.rows_of(entries).await.remove(0);
    let rows = Space(definitions.table("shop", "tickets").unwrap().id.0);
    let (ticket, _) = server.rows_of(rows).await.remove(1);
    let mut writes = WriteSet::blind();
    writes.delete(entries, first);
    writes.put(rows, ticket, vec![99]);
    server.engine().commit(writes).await.unwrap();
    stop(server).await;
    let (outcome, lines) = house.check("data").await;
    assert_eq!(outcome, Outcome::Damaged);
    let lines = lines.join("\n");
    assert!(
        lines.contains("table shop.orders, index by_note: row /0/49 has no entry"),
        "{lines}"
    );
    assert!(
        lines.contains("damaged: table shop.orders, index by_note: 1 differences"),
        "{lines}"
    );
    assert!(
        lines.contains("damaged: table shop.tickets at row /2: "),
        "{lines}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_named_with_what_it_holds() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    server.run("OPTIMIZE TABLE shop.orders").await.unwrap();
    stop(server).await;
    let tables = house.path("data/lsm/keyspaces/1/tables");
    let files = fs::read_dir(&tables)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = files
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (outcome, lines) = house.check("data").await;
    assert_eq!(outcome, Outcome::Damaged);
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let told = format!("damaged: /data/lsm/keyspaces/1/tables/{name}: its checksum is ");
    assert!(lines[0].starts_with(&told), "{lines:?}");
    assert!(lines[0].contains("and can be read to "), "{lines:?}");
    let of_table = lines
        .iter()
        .filter(|line| line.starts_with("damaged: table "));
    assert!(of_table.count() != 0, "{lines:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_table_comes_back_with_its_indexes() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    server
        .engine()
        .checkpoint(&house.path("backup"), &Arc::default())
        .await
        .unwrap();
    let orders = server.run("SELECT * FROM shop.orders").await.unwrap();
    let create = server.run("SHOW CREATE TABLE shop.orders").await.unwrap();
    stop(server).await;
    // Into another server, and into the same one after a mishap.
    let other = house.server("other").await;
    other
        .run("CREATE TABLE t (a INT PRIMARY KEY)")
        .await
        .unwrap();
    stop(other).await;
    let server = house.server("data").await;
    for sql in [
        "DROP TABLE shop.orders",
        "DELETE FROM shop.tickets WHERE id = 3",
    ] {
        server.run(sql).await.unwrap();
    }
    stop(server).await;
    for name in ["data", "other"] {
        let (_, lines) = house.restore_table("shop.orders", name).await.unwrap();
        assert!(
            lines[0].starts_with("restored shop.orders, 1000 rows, "),
            "{lines:?}"
        );
        let server = house.server(name).await;
        assert_eq!(
            server.run("SELECT * FROM shop.orders").await.unwrap(),
            orders
        );
        assert_eq!(
            server.run("SHOW CREATE TABLE shop.orders").await.unwrap(),
            create
        );
        assert_eq!(server.check("shop.orders").await, ["status OK"]);
        let found = server
            .run("SELECT COUNT(*) FROM shop.orders WHERE note = 'n3'")
            .await;
        assert_eq!(found.unwrap(), [["140"]]);
        server
            .run("UPDATE shop.orders SET note = 'new' WHERE tenant = 3")
            .await
            .unwrap();
        assert_eq!(server.check("shop.orders").await, ["status OK"]);
        stop(server).await;
        assert_eq!(house.check(name).await.0, Outcome::Fine);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_is_restored_with_its_counter_into_what_has_none_of_its_name() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    server
        .engine()
        .checkpoint(&house.path("backup"), &Arc::default())
        .await
        .unwrap();
    stop(server).await;
    stop(house.server("other").await).await;
    let exists = house
        .restore_table("shop.tickets", "data")
        .await
        .unwrap_err();
    assert_eq!(
        exists,
        "the data directory has a table or view shop.tickets: start the server, rename it (RENAME TABLE) or \
         drop it, and stop the server again"
    );
    house.restore_table("shop.tickets", "other").await.unwrap();
    let other = house.server("other").await;
    other
        .run("INSERT INTO shop.tickets (v) VALUES (9)")
        .await
        .unwrap();
    let ids = other
        .run("SELECT id FROM shop.tickets WHERE v = 9")
        .await
        .unwrap();
    assert!(3 < ids[0][0].parse::<u64>().unwrap(), "{ids:?}");
    let running = house
        .restore_table("shop.orders", "other")
        .await
        .unwrap_err();
    assert!(
        running.contains("is in use: a server runs on it, which must be stopped"),
        "{running}"
    );
    let dir = house.path("other");
    let checked = house.told(Task::Check { dir }).await.unwrap_err();
    assert_eq!(checked, running);
    stop(other).await;
    refuses_what_is_not_there(&house).await;
}

/// Of a backup with a shop, and a data directory `other`.
async fn refuses_what_is_not_there(house: &House) {
    for (table, text) in [
        ("shop.nosuch", "the backup has no table shop.nosuch"),
        ("nosuch.t", "the backup has no database nosuch"),
    ] {
        assert_eq!(house.restore_table(table, "other").await.unwrap_err(), text);
    }
    let nowhere = house
        .restore_table("shop.orders", "nosuch")
        .await
        .unwrap_err();
    assert!(
        nowhere.contains("is no data directory: it does not exist; "),
        "{nowhere}"
    );
    fs::create_dir(house.path("half")).unwrap();
    fs::write(house.path("half/RESTORING"), "").unwrap();
    let half = house
        .restore_table("shop.orders", "half")
        .await
        .unwrap_err();
    assert!(
        half.contains("was not finished: unless it is under way, remove the directory"),
        "{half}"
    );
    assert!(!Path::new(&house.path("nosuch")).exists());
}

/// Tables whose storage is not a table's and its indexes' alone, or is not plain: with a space of deletions,
/// with rows that end, under a computed part of the key, compressed by a dictionary; and all of it in one.
const WIDE: &[&str] = &[
    "CREATE TABLE aged (id INT PRIMARY KEY, x INT, v VARCHAR(150), KEY by_x (x)) WITH (VERSIONS='3')",
    "CREATE TABLE ends (id INT PRIMARY KEY, x INT, v VARCHAR(150), KEY by_x (x)) WITH (TTL='3600')",
    "CREATE TABLE apart (id INT, x INT, v VARCHAR(150), PRIMARY KEY (bucket(id, 4), id), KEY by_x (x))",
    "CREATE TABLE packed (id INT PRIMARY KEY, x INT, v VARCHAR(150), KEY by_x (x)) \
     WITH (COMPRESSION='ZSTD')",
    "CREATE TABLE wide (id INT, x INT, v VARCHAR(150), PRIMARY KEY (bucket(id, 4), id), KEY by_x (x)) \
     WITH (VERSIONS='3', TTL='3600', COMPRESSION='ZSTD')",
];

/// The name of a table of [`WIDE`].
fn name_of(create: &str) -> &str {
    create.split(' ').nth(2).unwrap()
}

async fn fill_wide(server: &Server, create: &str) {
    let name = name_of(create);
    server.run(create).await.unwrap();
    for block in 0..12 {
        let row = |id| format!("({id}, {}, REPEAT('row {id} of {name}, ', 6))", id % 10);
        let rows: Vec<String> = (block * 500..(block + 1) * 500).map(row).collect();
        let sql = format!("INSERT INTO {name} (id, x, v) VALUES {}", rows.join(", "));
        server.run(&sql).await.unwrap();
    }
    for sql in [
        "DELETE FROM {} WHERE id = 7",
        "UPDATE {} SET x = 99 WHERE id = 8",
    ] {
        server.run(&sql.replace("{}", name)).await.unwrap();
    }
    server.run(&format!("OPTIMIZE TABLE {name}")).await.unwrap();
}

/// All that is stored of a table, space by space: rows, deletions, indexes.
async fn stored(server: &Server, name: &str) -> Vec<Vec<(Vec<u8>, Vec<u8>)>> {
    let table = server.table(name);
    let deletions = table.deletions_space().map(Space);
    let indexes = table.indexes.iter().map(index::space);
    let mut all = Vec::new();
    for space in [Space(table.id.0)]
        .into_iter()
        .chain(deletions)
        .chain(indexes)
    {
        all.push(server.rows_of(space).await);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_with_versions_ends_spread_keys_and_compression_come_back() {
    let house = House::new();
    let server = house.server("data").await;
    let mut before = Vec::new();
    for create in WIDE {
        fill_wide(&server, create).await;
        let show = format!("SHOW CREATE TABLE {}", name_of(create));
        let shown = server.run(&show).await.unwrap();
        before.push((stored(&server, name_of(create)).await, shown));
    }
    let backup = house.path("backup");
    let made = server.engine().checkpoint(&backup, &Arc::default()).await;
    made.unwrap();
    stop(server).await;
    // What is compressed is read by a dictionary of the backup's.
    assert!(
        fs::read_dir(backup.join("lsm/dictionaries"))
            .unwrap()
            .count()
            != 0
    );
    stop(house.server("other").await).await;
    for create in WIDE {
        let table = format!("default.{}", name_of(create));
        let (_, lines) = house.restore_table(&table, "other").await.unwrap();
        let told = format!("restored {table}, 5999 rows, ");
        assert!(lines[0].starts_with(&told), "{lines:?}");
    }
    let (outcome, lines) = house.check("other").await;
    assert_eq!(outcome, Outcome::Fine, "{lines:?}");
    let server = house.server("other").await;
    for (create, (rows, shown)) in WIDE.iter().zip(&before) {
        let name = name_of(create);
        assert!(stored(&server, name).await == *rows, "{name}");
        let show = format!("SHOW CREATE TABLE {name}");
        assert_eq!(server.run(&show).await.unwrap(), *shown);
        assert_eq!(server.check(name).await, ["status OK"], "{name}");
        let sql = format!("SELECT v FROM {name} WHERE id IN (6, 7, 8)");
        assert_eq!(server.run(&sql).await.unwrap().len(), 2, "{name}");
    }
    // The deletion came with its table: it hides what is older.
    for name in ["aged", "wide"] {
        let late = format!("UPSERT /*+ _l_ts_(1000) */ INTO {name} (id, x) VALUES (7, 1)");
        server.run(&late).await.unwrap();
        let sql = format!("SELECT x FROM {name} WHERE id = 7");
        assert_eq!(server.run(&sql).await.unwrap(), [[""; 1]; 0], "{name}");
    }
    for create in WIDE {
        let sql = format!("UPDATE {} SET x = 5 WHERE id = 6", name_of(create));
        server.run(&sql).await.unwrap();
        assert_eq!(server.check(name_of(create)).await, ["status OK"]);
    }
    stop(server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_was_being_built_comes_back_disabled() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    let at = ("shop", "orders");
    let definitions = server.catalog().current();
    let id = definitions.table(at.0, at.1).unwrap().indexes[0].id;
    let building = crate::catalog::IndexState::Building;
    server
        .catalog()
        .set_index_state((id, building))
        .await
        .unwrap();
    server
        .engine()
        .checkpoint(&house.path("backup"), &Arc::default())
        .await
        .unwrap();
    stop(server).await;
    let other = house.server("other").await;
    stop(other).await;
    house.restore_table("shop.orders", "other").await.unwrap();
    let other = house.server("other").await;
    assert_eq!(
        other.check("shop.orders").await,
        ["note index by_note is DISABLED: not compared", "status OK"]
    );
    stop(other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_backup_becomes_a_server() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    server
        .engine()
        .checkpoint(&house.path("backup"), &Arc::default())
        .await
        .unwrap();
    stop(server).await;
    let task = Task::Restore {
        backup: house.path("backup"),
        data_dir: house.path("new"),
    };
    let (_, lines) = house.told(task.clone()).await.unwrap();
    assert_eq!(lines[1], "start: meseta --data-dir /new");
    assert!(house.told(task).await.unwrap_err().contains("is not empty"));
    let inside = Task::Restore {
        backup: house.path("backup"),
        data_dir: house.path("backup/new"),
    };
    let refused = house.told(inside).await.unwrap_err();
    assert!(refused.contains("lies in the backup"), "{refused}");
    let server = house.server("new").await;
    assert_eq!(server.check("shop.orders").await, ["status OK"]);
    server.run("UNDROP TABLE gone").await.unwrap();
    assert_eq!(server.check("gone").await, ["status OK"]);
    stop(server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_interrupted_says_so_and_leaves_nothing() {
    let house = House::new();
    let server = house.server("data").await;
    fill(&server).await;
    let backup = house.path("backup");
    let made = server.engine().checkpoint(&backup, &Arc::default()).await;
    made.unwrap();
    stop(server).await;
    stop(house.server("other").await).await;
    let cancel = CancelToken::default();
    cancel.stop(Stop::ShuttingDown);
    let table = ("shop".to_owned(), "orders".to_owned());
    for task in [
        Task::Check {
            dir: house.path("data"),
        },
        Task::Restore {
            backup: backup.clone(),
            data_dir: house.path("new"),
        },
        Task::RestoreTable {
            backup,
            data_dir: house.path("other"),
            table,
        },
    ] {
        let ended = house.told_until(task, &cancel).await;
        assert_eq!(ended.unwrap_err(), "interrupted");
    }
    assert!(!house.path("new").exists());
    let other = house.server("other").await;
    let shops = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'";
    assert_eq!(other.run(shops).await.unwrap(), [["0"]]);
    stop(other).await;
    house.restore_table("shop.orders", "other").await.unwrap();
}

#[test]
fn a_path_in_a_command_is_quoted_where_it_must_be() {
    for (path, word) in [
        ("/var/lib/meseta-2_a.b", "/var/lib/meseta-2_a.b"),
        ("d 8", "'d 8'"),
        ("", "''"),
        ("it's $HOME", r"'it'\''s $HOME'"),
        ("~/d", "'~/d'"),
        ("日", "日"),
    ] {
        assert_eq!(shell_word(Path::new(path)), word);
    }
}
