//! Every form of statement, as a user who may and as one who may not.

use std::sync::Arc;

use super::kind::{Kind, Rule};
use crate::accounts::AccountName;
use crate::error::Error;
use crate::exec::cancel::CancelToken;
use crate::exec::testing;
use crate::session::processes::{Peer, Registration};
use crate::session::{Client, Session, Shared};

/// A statement of each form, with the grants that it takes: all of them, and no other. A form that
/// everybody may use has none.
const EXAMPLES: &[(Kind, &str, &[&str])] = &[
    (
        Kind::SelectRows,
        "SELECT * FROM d.t WHERE a = 1",
        &["SELECT ON d.t"],
    ),
    (
        Kind::InsertRows,
        "INSERT INTO d.t VALUES (1, 1)",
        &["INSERT ON d.t"],
    ),
    (
        Kind::UpdateRows,
        "UPDATE d.t SET b = 2 WHERE a = 1",
        &["UPDATE ON d.t", "SELECT ON d.t"],
    ),
    (
        Kind::DeleteRows,
        "DELETE FROM d.t WHERE a = 1",
        &["DELETE ON d.t", "SELECT ON d.t"],
    ),
    (
        Kind::LoadFile,
        "LOAD DATA INFILE '/none' INTO TABLE d.t",
        &["FILE ON *.*", "INSERT ON d.t"],
    ),
    (
        Kind::LoadLocal,
        "LOAD DATA LOCAL INFILE 'none' INTO TABLE d.t",
        &["INSERT ON d.t"],
    ),
    (
        Kind::Explain,
        "EXPLAIN SELECT * FROM d.t WHERE a = 1",
        &["SELECT ON d.t"],
    ),
    (
        Kind::ExplainRow,
        "EXPLAIN ROW d.t WHERE a = 1",
        &["SELECT ON d.t"],
    ),
    (
        Kind::Do,
        "DO (SELECT b FROM d.t WHERE a = 1)",
        &["SELECT ON d.t"],
    ),
    (
        Kind::CreateDatabase,
        "CREATE DATABASE d2",
        &["CREATE ON d2.*"],
    ),
    (Kind::DropDatabase, "DROP DATABASE d", &["DROP ON d.*"]),
    (
        Kind::CreateTable,
        "CREATE TABLE d.n (a INT PRIMARY KEY)",
        &["CREATE ON d.n"],
    ),
    (
        Kind::CreateTemporary,
        "CREATE TEMPORARY TABLE d.n LIKE d.t",
        &["CREATE TEMPORARY TABLES ON d.*", "SELECT ON d.t"],
    ),
    (
        Kind::DropTemporary,
        "DROP TEMPORARY TABLE IF EXISTS d.t",
        &[],
    ),
    (
        Kind::DropTable,
        "DROP TABLE d.t, d.u",
        &["DROP ON d.t", "DROP ON d.u"],
    ),
    (Kind::Truncate, "TRUNCATE d.t", &["DROP ON d.t"]),
    (
        Kind::CreateIndex,
        "CREATE INDEX j ON d.t (b)",
        &["INDEX ON d.t"],
    ),
    (Kind::DropIndex, "DROP INDEX i ON d.t", &["INDEX ON d.t"]),
    (
        Kind::AlterTable,
        "ALTER TABLE d.t ADD INDEX j (b)",
        &["ALTER ON d.t"],
    ),
    (
        Kind::Undrop,
        "UNDROP TABLE d.gone TO e.n",
        &["DROP ON d.*", "CREATE ON e.*", "INSERT ON e.*"],
    ),
    (Kind::PurgeTable, "PURGE TABLE d.gone", &["DROP ON d.*"]),
    (Kind::Advise, "ADVISE TABLE d.t", &["SELECT ON d.t"]),
    (Kind::PurgeTrash, "PURGE TRASH", &["SUPER ON *.*"]),
    (Kind::Backup, "BACKUP TO '/never'", &["RELOAD ON *.*"]),
    (Kind::ShowTrash, "SHOW TRASH", &[]),
    (
        Kind::RenameTables,
        "RENAME TABLE d.t TO e.n",
        &[
            "ALTER ON d.t",
            "DROP ON d.t",
            "CREATE ON e.*",
            "INSERT ON e.*",
        ],
    ),
    (
        Kind::AlterTable,
        "ALTER TABLE d.t RENAME TO e.n",
        &[
            "ALTER ON d.t",
            "DROP ON d.t",
            "CREATE ON e.*",
            "INSERT ON e.*",
        ],
    ),
    (
        Kind::AlterIndex,
        "ALTER INDEX i ON d.t INACTIVE",
        &["INDEX ON d.t"],
    ),
    (Kind::CheckTables, "CHECK TABLE d.t", &["SELECT ON d.t"]),
    (
        Kind::MaintainTables,
        "REPAIR TABLE d.t",
        &["INSERT ON d.t", "SELECT ON d.t"],
    ),
    (Kind::Describe, "DESCRIBE d.t", &["INDEX ON d.t"]),
    (Kind::Use, "USE d", &["UPDATE ON d.t"]),
    (
        Kind::Set,
        "SET @x = (SELECT b FROM d.t WHERE a = 1)",
        &["SELECT ON d.t"],
    ),
    (
        Kind::SetGlobal,
        "SET GLOBAL wait_timeout = 100",
        &["SYSTEM_VARIABLES_ADMIN ON *.*"],
    ),
    (
        Kind::SetGlobal,
        "SET GLOBAL TRANSACTION READ WRITE",
        &["SUPER ON *.*"],
    ),
    (
        Kind::SetGlobal,
        "SET debug_ttl_clock = 1700000000",
        &["SYSTEM_VARIABLES_ADMIN ON *.*"],
    ),
    (
        Kind::SetGlobal,
        "SET @x = 1, @@SESSION.Debug_TTL_Clock = DEFAULT",
        &["SUPER ON *.*"],
    ),
    (
        Kind::ResetPersist,
        "RESET PERSIST IF EXISTS wait_timeout",
        &["SYSTEM_VARIABLES_ADMIN ON *.*"],
    ),
    (
        Kind::SelectRows,
        "SELECT * FROM d.t WHERE a = 1 INTO OUTFILE '/none'",
        &["SELECT ON d.t", "FILE ON *.*"],
    ),
    (
        Kind::LoadFile,
        "LOAD DATA INFILE '/none' REPLACE INTO TABLE d.t",
        &["FILE ON *.*", "INSERT ON d.t", "DELETE ON d.t"],
    ),
    (
        Kind::SetGlobal,
        "SET GLOBAL wait_timeout = (SELECT 28800 + COUNT(*) FROM d.t)",
        &["SYSTEM_VARIABLES_ADMIN ON *.*", "SELECT ON d.t"],
    ),
    (Kind::SetTransaction, "SET TRANSACTION READ WRITE", &[]),
    (Kind::Begin, "BEGIN", &[]),
    (Kind::Commit, "COMMIT", &[]),
    (Kind::Rollback, "ROLLBACK", &[]),
    (Kind::Savepoint, "SAVEPOINT s", &[]),
    (Kind::RollbackTo, "ROLLBACK TO s", &[]),
    (Kind::ReleaseSavepoint, "RELEASE SAVEPOINT s", &[]),
    (
        Kind::Prepare,
        "PREPARE s FROM 'SELECT * FROM d.t WHERE a = 1'",
        &["SELECT ON d.t"],
    ),
    (Kind::Execute, "EXECUTE s", &[]),
    (Kind::Deallocate, "DEALLOCATE PREPARE s", &[]),
    (
        Kind::LockTables,
        "LOCK TABLES d.t READ",
        &["LOCK TABLES ON d.*", "SELECT ON d.t"],
    ),
    (Kind::UnlockTables, "UNLOCK TABLES", &[]),
    (Kind::Unsupported, "HANDLER t OPEN", &[]),
    (Kind::Kill, "KILL QUERY 1", &["CONNECTION_ADMIN ON *.*"]),
    (Kind::Flush, "FLUSH PRIVILEGES", &["RELOAD ON *.*"]),
    (Kind::CreateUser, "CREATE USER n", &["CREATE USER ON *.*"]),
    (
        Kind::AlterUser,
        "ALTER USER q IDENTIFIED BY 'x'",
        &["CREATE USER ON *.*"],
    ),
    (Kind::AlterUser, "ALTER USER p IDENTIFIED BY 'x'", &[]),
    (
        Kind::AlterUser,
        "ALTER USER p ACCOUNT UNLOCK",
        &["CREATE USER ON *.*"],
    ),
    (Kind::DropUser, "DROP USER q", &["CREATE USER ON *.*"]),
    (
        Kind::RenameUser,
        "RENAME USER q TO q2",
        &["CREATE USER ON *.*"],
    ),
    (
        Kind::SetPassword,
        "SET PASSWORD FOR q = 'x'",
        &["CREATE USER ON *.*"],
    ),
    (Kind::SetPassword, "SET PASSWORD = 'x'", &[]),
    (Kind::CreateRole, "CREATE ROLE r2", &["CREATE ROLE ON *.*"]),
    (Kind::DropRole, "DROP ROLE r", &["DROP ROLE ON *.*"]),
    (
        Kind::Grant,
        "GRANT SELECT ON d.t TO q",
        &["SELECT ON d.t", "GRANT OPTION ON d.t"],
    ),
    (
        Kind::Grant,
        "GRANT SELECT ON d.* TO q",
        &["SELECT ON d.*", "GRANT OPTION ON d.*"],
    ),
    (
        Kind::Grant,
        "GRANT SELECT ON *.* TO q",
        &["SELECT ON *.*", "GRANT OPTION ON *.*"],
    ),
    (
        Kind::Revoke,
        "REVOKE SELECT ON d.u FROM q",
        &["SELECT ON d.u", "GRANT OPTION ON d.u"],
    ),
    (
        Kind::RevokeAll,
        "REVOKE ALL, GRANT OPTION FROM q",
        &["CREATE USER ON *.*"],
    ),
    (Kind::GrantRoles, "GRANT r TO q", &["ROLE_ADMIN ON *.*"]),
    (Kind::RevokeRoles, "REVOKE r FROM q", &["ROLE_ADMIN ON *.*"]),
    (Kind::SetRole, "SET ROLE NONE", &[]),
    (
        Kind::SetDefaultRole,
        "SET DEFAULT ROLE NONE TO q",
        &["CREATE USER ON *.*"],
    ),
    (Kind::SetDefaultRole, "SET DEFAULT ROLE NONE TO p", &[]),
    (Kind::ShowDatabases, "SHOW DATABASES", &[]),
    (Kind::ShowTables, "SHOW TABLES FROM d", &["DROP ON d.t"]),
    (
        Kind::ShowTableStatus,
        "SHOW TABLE STATUS FROM d",
        &["DROP ON d.t"],
    ),
    (
        Kind::ShowColumns,
        "SHOW COLUMNS FROM d.t",
        &["INSERT ON d.t"],
    ),
    (Kind::ShowIndex, "SHOW INDEX FROM d.t", &["INSERT ON d.t"]),
    (
        Kind::ShowDynamicColumns,
        "SHOW DYNAMIC COLUMNS FROM d.t",
        &["SELECT ON d.t"],
    ),
    (
        Kind::ShowCreateTable,
        "SHOW CREATE TABLE d.t",
        &["INSERT ON d.t"],
    ),
    (
        Kind::ShowCreateDatabase,
        "SHOW CREATE DATABASE d",
        &["INSERT ON d.t"],
    ),
    (
        Kind::CreateView,
        "CREATE VIEW d.n AS SELECT * FROM d.t",
        &["CREATE VIEW ON d.*", "SELECT ON d.t"],
    ),
    (
        Kind::ReplaceView,
        "CREATE OR REPLACE VIEW d.w AS SELECT * FROM d.u",
        &["CREATE VIEW ON d.*", "DROP ON d.w", "SELECT ON d.u"],
    ),
    (
        Kind::CreateView,
        "CREATE DEFINER = q VIEW d.n AS SELECT * FROM d.t",
        &["CREATE VIEW ON d.*", "SELECT ON d.t", "SUPER ON *.*"],
    ),
    (Kind::DropView, "DROP VIEW d.w", &["DROP ON d.w"]),
    (
        Kind::ShowCreateView,
        "SHOW CREATE VIEW d.w",
        &["SHOW VIEW ON d.w", "SELECT ON d.w"],
    ),
    (
        Kind::ShowCreateTable,
        "SHOW CREATE TABLE d.w",
        &["SHOW VIEW ON d.w"],
    ),
    // A view is read by the rights of whom it was made for (root), or of who reads it.
    (
        Kind::SelectRows,
        "SELECT * FROM d.w WHERE a = 1",
        &["SELECT ON d.w"],
    ),
    (
        Kind::SelectRows,
        "SELECT * FROM d.x WHERE a = 1",
        &["SELECT ON d.x", "SELECT ON d.t"],
    ),
    (
        Kind::UpdateRows,
        "UPDATE d.x SET b = 1 WHERE a = 1",
        &[
            "SELECT ON d.x",
            "UPDATE ON d.x",
            "SELECT ON d.t",
            "UPDATE ON d.t",
        ],
    ),
    (
        Kind::Explain,
        "EXPLAIN SELECT * FROM d.w WHERE a = 1",
        &["SELECT ON d.w", "SHOW VIEW ON d.w", "SELECT ON d.t"],
    ),
    (Kind::ShowCreateOther, "SHOW CREATE TRIGGER d.x", &[]),
    (
        Kind::ShowCreateUser,
        "SHOW CREATE USER q",
        &["SELECT ON mysql.*"],
    ),
    (
        Kind::ShowGrants,
        "SHOW GRANTS FOR q",
        &["SELECT ON mysql.*"],
    ),
    (Kind::ShowGrants, "SHOW GRANTS", &[]),
    (Kind::ShowDiagnostics, "SHOW WARNINGS", &[]),
    (Kind::ShowVariables, "SHOW VARIABLES", &[]),
    (Kind::ShowStatus, "SHOW STATUS", &[]),
    (Kind::ShowProcesslist, "SHOW PROCESSLIST", &[]),
    (
        Kind::ShowSlowQueries,
        "SHOW SLOW QUERIES LIMIT 1",
        &["PROCESS ON *.*"],
    ),
    (Kind::ShowServer, "SHOW ENGINES", &[]),
    (
        Kind::ShowReplication,
        "SHOW REPLICA STATUS",
        &["REPLICATION CLIENT ON *.*"],
    ),
    (Kind::ShowLists, "SHOW COLLATION", &[]),
    // What statements on rows say of their tables.
    (Kind::SelectRows, "TABLE d.t LIMIT 1", &["SELECT ON d.t"]),
    (Kind::SelectRows, "SELECT 1", &[]),
    (
        Kind::SelectRows,
        "WITH u AS (SELECT * FROM d.t WHERE a = 1) SELECT * FROM u",
        &["SELECT ON d.t"],
    ),
    (
        Kind::SelectRows,
        "SELECT (SELECT b FROM d.u WHERE a = 1) FROM d.t WHERE a IN (SELECT a FROM d.v WHERE a = 1)",
        &["SELECT ON d.t", "SELECT ON d.u", "SELECT ON d.v"],
    ),
    (
        Kind::SelectRows,
        "SELECT * FROM d.t JOIN d.u ON t.a = u.a WHERE t.a = 1 UNION SELECT * FROM d.v JOIN d.v w \
         ON v.a = w.a WHERE v.a = 1",
        &["SELECT ON d.t", "SELECT ON d.u", "SELECT ON d.v"],
    ),
    (
        Kind::SelectRows,
        "SELECT * FROM d.t WHERE a = 1 FOR UPDATE",
        &["SELECT ON d.t", "DELETE ON d.t"],
    ),
    (
        Kind::InsertRows,
        "REPLACE INTO d.t VALUES (1, 1)",
        &["INSERT ON d.t", "DELETE ON d.t"],
    ),
    (
        Kind::InsertRows,
        "UPSERT INTO d.t (a) VALUES (1)",
        &["INSERT ON d.t", "UPDATE ON d.t"],
    ),
    (
        Kind::InsertRows,
        "INSERT INTO d.t VALUES (1, 1) ON DUPLICATE KEY UPDATE b = VALUES(b)",
        &["INSERT ON d.t", "UPDATE ON d.t"],
    ),
    (
        Kind::InsertRows,
        "INSERT INTO d.t VALUES (1, 1) ON DUPLICATE KEY UPDATE b = b + 1",
        &["INSERT ON d.t", "UPDATE ON d.t", "SELECT ON d.t"],
    ),
    (
        Kind::InsertRows,
        "INSERT INTO d.t SELECT * FROM d.u WHERE a = 1",
        &["INSERT ON d.t", "SELECT ON d.u"],
    ),
    (
        Kind::UpdateRows,
        "UPDATE d.t x JOIN d.u ON x.a = u.a SET x.b = u.b WHERE u.a = 1",
        &["UPDATE ON d.t", "SELECT ON d.t", "SELECT ON d.u"],
    ),
    (
        Kind::DeleteRows,
        "DELETE x FROM d.t x JOIN d.u ON x.a = u.a WHERE u.a = 1",
        &["DELETE ON d.t", "SELECT ON d.t", "SELECT ON d.u"],
    ),
    (
        Kind::CreateTable,
        "CREATE TABLE d.n LIKE d.t",
        &["CREATE ON d.n", "SELECT ON d.t"],
    ),
    (
        Kind::CreateTable,
        "CREATE TABLE d.n (a INT PRIMARY KEY) SELECT a FROM d.t WHERE a = 1",
        &["CREATE ON d.n", "INSERT ON d.*", "SELECT ON d.t"],
    ),
];

/// What somebody hears who may not.
const REFUSALS: &[u16] = &[1044, 1045, 1095, 1142, 1143, 1227, 1345];

struct Nobody;

impl Peer for Nobody {
    fn is_gone(&self) -> bool {
        false
    }
}

pub(super) struct World {
    pub(super) shared: Arc<Shared>,
    root: Session,
    _other: Registration,
}

impl World {
    pub(super) async fn new() -> World {
        let mut options = testing::options();
        options.allow_full_scan = true;
        let shared = Shared::open(options).await.unwrap();
        let other = shared
            .processes()
            .register("localhost".to_owned(), Box::new(Nobody));
        other.set_user("root");
        let root = session(&shared, "root");
        World {
            shared,
            root,
            _other: other,
        }
    }

    pub(super) async fn run(&mut self, sql: &str) {
        if let Err(error) = self.root.query(sql.as_bytes()).await {
            panic!("{sql}: {error}");
        }
    }

    /// Everything as it was, and `p` with these grants.
    pub(super) async fn reset(&mut self, grants: &[&str]) {
        for database in ["d", "d2"] {
            self.run(&format!("DROP DATABASE IF EXISTS {database}"))
                .await;
        }
        self.run("CREATE DATABASE d").await;
        for table in ["t", "u", "v"] {
            self.run(&format!(
                "CREATE TABLE d.{table} (a INT PRIMARY KEY, b INT, INDEX i (b))"
            ))
            .await;
        }
        self.run("CREATE VIEW d.w AS SELECT * FROM d.t").await;
        self.run("CREATE SQL SECURITY INVOKER VIEW d.x AS SELECT * FROM d.t")
            .await;
        self.run("DROP USER IF EXISTS p, q, q2, n").await;
        self.run("DROP ROLE IF EXISTS r, r2").await;
        self.run("CREATE USER p, q").await;
        self.run("CREATE ROLE r").await;
        self.run("GRANT SELECT ON d.u TO q").await;
        for grant in grants {
            self.grant(grant).await;
        }
    }

    /// On a table that does not exist everything but `CREATE` waits for it.
    async fn grant(&mut self, grant: &str) {
        let sql = format!("GRANT {grant} TO p");
        if let Err(error) = self.root.query(sql.as_bytes()).await {
            assert_eq!(error.code().errno(), 1146, "{sql}: {error}");
            let (privilege, object) = grant.split_once(" ON ").unwrap();
            self.run(&format!("GRANT {privilege}, CREATE ON {object} TO p"))
                .await;
        }
    }

    async fn try_as_p(&mut self, sql: &str) -> Result<(), Error> {
        let mut session = session(&self.shared, "p");
        session.query(sql.as_bytes()).await.map(drop)
    }
}

pub(super) fn session(shared: &Arc<Shared>, user: &str) -> Session {
    let client = Client {
        user: user.to_owned(),
        host: "localhost".to_owned(),
        account: AccountName::new(user, "%"),
        expired: false,
        tls: None,
        connection_id: 7,
        found_rows: false,
        multi_statements: false,
        local_files: true,
        interactive: false,
        session_track: false,
        compression: None,
        progress: None,
    };
    Session::new(shared, client, &Arc::new(CancelToken::default())).unwrap()
}

pub(super) fn is_refusal(tried: &Result<(), Error>) -> bool {
    matches!(tried, Err(error) if REFUSALS.contains(&error.code().errno()))
}

#[tokio::test]
async fn every_statement_needs_what_its_line_says() {
    let mut world = World::new().await;
    for (kind, sql, grants) in EXAMPLES {
        world.reset(grants).await;
        let tried = world.try_as_p(sql).await;
        assert!(!is_refusal(&tried), "{kind:?}: {sql}: {tried:?}");
        for left_out in 0..grants.len() {
            let mut fewer = grants.to_vec();
            fewer.remove(left_out);
            world.reset(&fewer).await;
            let tried = world.try_as_p(sql).await;
            assert!(
                is_refusal(&tried),
                "{kind:?}: {sql} with {fewer:?}: {tried:?}"
            );
        }
    }
}

#[test]
fn every_form_has_an_example_that_is_of_that_form() {
    for kind in Kind::ALL {
        let mut examples = EXAMPLES.iter().filter(|(of, ..)| of == kind);
        let needs_something = examples.any(|(.., grants)| !grants.is_empty());
        assert!(
            EXAMPLES.iter().any(|(of, ..)| of == kind),
            "{kind:?} has no example"
        );
        // PREPARE needs what it prepares.
        let is_free = kind.rule() == Rule::Free && *kind != Kind::Prepare;
        assert_eq!(needs_something, !is_free, "{kind:?}");
    }
    for (kind, sql, _) in EXAMPLES {
        let mode = crate::session::settings::mode_of("");
        let parsed = crate::sql::parse::parse_first(sql.as_bytes(), mode).unwrap();
        assert_eq!(super::kind::kind(&parsed.statement), *kind, "{sql}");
    }
}

#[tokio::test]
async fn refusals_have_mysqls_words() {
    let cases = [
        (
            "SELECT * FROM d.t",
            "SELECT command denied to user 'p'@'localhost' for table 't'",
        ),
        (
            "DROP TABLE d.t",
            "DROP command denied to user 'p'@'localhost' for table 't'",
        ),
        (
            "CREATE DATABASE d2",
            "Access denied for user 'p'@'%' to database 'd2'",
        ),
        ("USE d2", "Access denied for user 'p'@'%' to database 'd2'"),
        (
            "CREATE USER n",
            "Access denied; you need (at least one of) the CREATE USER privilege(s) for this \
             operation",
        ),
        (
            "SET GLOBAL wait_timeout = 1",
            "Access denied; you need (at least one of) the SYSTEM_VARIABLES_ADMIN or SUPER \
             privilege(s) for this operation",
        ),
        ("KILL 1", "You are not owner of thread 1"),
        (
            "GRANT SELECT ON *.* TO p",
            "Access denied for user 'p'@'localhost' (using password: YES)",
        ),
        (
            "UPDATE d.v SET b = a",
            "SELECT command denied to user 'p'@'localhost' for column 'a' in table 'v'",
        ),
    ];
    let mut world = World::new().await;
    world.reset(&["UPDATE ON d.v"]).await;
    for (sql, wanted) in cases {
        let error = world.try_as_p(sql).await.unwrap_err();
        assert_eq!(error.message(), wanted, "{sql}");
    }
}

#[tokio::test]
async fn a_grant_holds_from_the_next_statement_on() {
    let mut world = World::new().await;
    world.reset(&["SELECT ON d.t"]).await;
    let mut session = session(&world.shared, "p");
    let prepared = session.prepare(b"SELECT * FROM d.t WHERE a = 1").unwrap();
    session.execute(prepared.id, Vec::new()).await.unwrap();
    world.run("REVOKE SELECT ON d.t FROM p").await;
    let refused = session.execute(prepared.id, Vec::new()).await;
    assert_eq!(refused.err().unwrap().code().errno(), 1142);
    world.run("GRANT r TO p").await;
    world.run("GRANT SELECT ON d.* TO r").await;
    assert!(session.execute(prepared.id, Vec::new()).await.is_err());
    session.query(b"SET ROLE r").await.unwrap();
    session.execute(prepared.id, Vec::new()).await.unwrap();
    world.run("DROP ROLE r").await;
    assert!(session.execute(prepared.id, Vec::new()).await.is_err());
    world.run("GRANT SELECT ON *.* TO p").await;
    session.execute(prepared.id, Vec::new()).await.unwrap();
    world.run("DROP USER p").await;
    assert!(session.execute(prepared.id, Vec::new()).await.is_err());
}

/// A statement that was prepared where its names meant one table is not run by the right to the table
/// that they mean elsewhere.
#[tokio::test]
async fn a_prepared_statement_keeps_the_database_it_was_allowed_in() {
    let mut world = World::new().await;
    world.reset(&["SELECT ON d.t", "ALL ON d2.*"]).await;
    world.run("CREATE DATABASE d2").await;
    world.run("CREATE TABLE d2.t (a INT PRIMARY KEY)").await;
    let mut session = session(&world.shared, "p");
    session.query(b"USE d").await.unwrap();
    let prepared = session.prepare(b"SELECT * FROM t WHERE a = 1").unwrap();
    session.query(b"USE d2").await.unwrap();
    session.execute(prepared.id, Vec::new()).await.unwrap();
    world.run("REVOKE SELECT ON d.t FROM p").await;
    let refused = session.execute(prepared.id, Vec::new()).await;
    assert_eq!(refused.err().unwrap().code().errno(), 1142);
}

#[tokio::test]
async fn a_view_is_no_way_around_what_its_maker_lost() {
    let mut world = World::new().await;
    world.reset(&["CREATE VIEW ON d.*", "SELECT ON d.t"]).await;
    world
        .try_as_p("CREATE VIEW d.mine AS SELECT * FROM d.t")
        .await
        .unwrap();
    world.run("GRANT SELECT ON d.mine TO p, q").await;
    for user in ["p", "q"] {
        let mut session = session(&world.shared, user);
        session
            .query(b"SELECT * FROM d.mine WHERE a = 1")
            .await
            .unwrap();
    }
    world.run("REVOKE SELECT ON d.t FROM p").await;
    for user in ["p", "q"] {
        let mut session = session(&world.shared, user);
        let refused = session.query(b"SELECT * FROM d.mine WHERE a = 1").await;
        assert_eq!(refused.err().unwrap().code().errno(), 1356);
    }
}

#[tokio::test]
async fn who_may_make_users_does_not_get_to_be_root() {
    let mut world = World::new().await;
    world.reset(&["CREATE USER ON *.*"]).await;
    for sql in [
        "ALTER USER root IDENTIFIED BY 'x'",
        "SET PASSWORD FOR root = 'x'",
        "RENAME USER root TO r2",
        "DROP USER root",
        "REVOKE ALL, GRANT OPTION FROM root",
    ] {
        let error = world.try_as_p(sql).await.unwrap_err();
        assert_eq!(error.code().errno(), 1227, "{sql}");
    }
}

/// A role with everything makes its members as strong as root, whether it is active or not.
#[tokio::test]
async fn a_role_is_no_way_to_be_root() {
    let mut world = World::new().await;
    world
        .reset(&["CREATE USER ON *.*", "ROLE_ADMIN ON *.*"])
        .await;
    world.run("CREATE ROLE r2").await;
    world.run("GRANT SUPER ON *.* TO r2").await;
    world.run("GRANT r2 TO r").await;
    world.run("GRANT r TO q").await;
    for sql in [
        "GRANT r TO p",
        "GRANT root TO p",
        "GRANT q TO p",
        "CREATE USER n DEFAULT ROLE r",
        "REVOKE r FROM q",
        "REVOKE r2 FROM r",
        "SET DEFAULT ROLE ALL TO q",
        "SET DEFAULT ROLE NONE TO root",
        "ALTER USER q IDENTIFIED BY 'x'",
        "SET PASSWORD FOR q = 'x'",
        "DROP USER q",
        "DROP ROLE r",
        "RENAME USER q TO q2",
    ] {
        let error = world.try_as_p(sql).await.err();
        assert_eq!(error.unwrap().code().errno(), 1227, "{sql}");
    }
    world.run("GRANT r2 TO p WITH ADMIN OPTION").await;
    let mut p = session(&world.shared, "p");
    for sql in ["SET DEFAULT ROLE ALL TO p", "SET ROLE r2", "GRANT r TO p"] {
        p.query(sql.as_bytes()).await.map(drop).unwrap();
    }
}

/// Views that name two views double with each level; they are counted before anything is looked up.
#[tokio::test]
async fn views_of_views_are_counted() {
    let mut world = World::new().await;
    world.reset(&[]).await;
    world.run("CREATE VIEW d.v0 AS SELECT a FROM d.t").await;
    for level in 1..9 {
        let under = level - 1;
        world
            .run(&format!(
                "CREATE VIEW d.v{level} AS SELECT a FROM d.v{under} UNION SELECT a FROM d.v{under}"
            ))
            .await;
    }
    let needs = |sql: &str| {
        let mode = crate::session::settings::mode_of("");
        let parsed = crate::sql::parse::parse_first(sql.as_bytes(), mode);
        world.root.needs(&parsed.unwrap().statement)
    };
    assert!(needs("SELECT * FROM d.v8").is_ok());
    let refused = needs("SELECT * FROM d.v8 x, d.v8 y").unwrap_err();
    assert_eq!(refused.code().errno(), 1116);
}

/// The grants of one's roles are told; what proves another account is not, and of roles that somebody
/// has not nothing.
#[tokio::test]
async fn who_is_shown() {
    let mut world = World::new().await;
    world.reset(&[]).await;
    world.run("CREATE ROLE r2").await;
    world.run("GRANT r, q TO p").await;
    let mut p = session(&world.shared, "p");
    p.query(b"SET ROLE ALL").await.unwrap();
    for (sql, wanted) in [
        ("SHOW GRANTS FOR q", None),
        ("SHOW GRANTS FOR p USING r", None),
        ("SHOW GRANTS FOR p USING r2", Some(3530)),
        ("SHOW GRANTS FOR p USING root", Some(3530)),
        ("SHOW GRANTS FOR r2", Some(1044)),
        ("SHOW CREATE USER p", None),
        ("SHOW CREATE USER q", Some(1044)),
        ("SHOW CREATE USER root", Some(1044)),
    ] {
        let error = p.query(sql.as_bytes()).await.err();
        assert_eq!(error.map(|error| error.code().errno()), wanted, "{sql}");
    }
    world.run("GRANT SELECT ON mysql.* TO p").await;
    p.query(b"SHOW CREATE USER q").await.unwrap();
}

#[tokio::test]
async fn passwords_have_a_longest_length() {
    let mut world = World::new().await;
    world.reset(&[]).await;
    let longest = "x".repeat(256);
    world
        .run(&format!("ALTER USER p IDENTIFIED BY '{longest}'"))
        .await;
    for sql in [
        format!("ALTER USER p IDENTIFIED BY 'x{longest}'"),
        format!("CREATE USER n IDENTIFIED WITH caching_sha2_password BY 'x{longest}'"),
        format!("SET PASSWORD FOR p = 'x{longest}'"),
    ] {
        let error = world.root.query(sql.as_bytes()).await.err().unwrap();
        assert_eq!(error.code().errno(), 1819, "{sql}");
    }
}

#[tokio::test]
async fn an_expired_password_is_changed_first() {
    let mut world = World::new().await;
    world.reset(&["ALL ON *.*"]).await;
    let mut p = session(&world.shared, "p");
    p.identity.expired = true;
    for sql in [
        "SELECT 1",
        "ALTER USER p ACCOUNT UNLOCK",
        "SET GLOBAL wait_timeout = 1",
    ] {
        let error = p.query(sql.as_bytes()).await.err().unwrap();
        assert_eq!(error.code().errno(), 1820, "{sql}");
    }
    p.query(b"SET autocommit = 1").await.unwrap();
    p.query(b"ALTER USER USER() IDENTIFIED BY 'new'")
        .await
        .unwrap();
    p.query(b"SELECT 1").await.unwrap();
}

/// Names that mean one table to the guard and another one to the binder.
#[tokio::test]
async fn no_name_leads_around_the_guard() {
    let mut world = World::new().await;
    world.reset(&["SELECT, UPDATE, DELETE ON d.u"]).await;
    for sql in [
        "CREATE DATABASE d2",
        "CREATE TABLE d2.u (a INT PRIMARY KEY, b INT)",
        "CREATE TABLE d.U (a INT PRIMARY KEY, b INT)",
        "CREATE VIEW d.y AS SELECT a, b AS c FROM d.t",
        "GRANT SELECT ON d2.u TO p",
        "GRANT SELECT ON d.U TO p",
        "GRANT SELECT ON d.y TO p",
    ] {
        world.run(sql).await;
    }
    let mut session = session(&world.shared, "p");
    session.query(b"USE d").await.map(drop).unwrap();
    for (sql, is_denied) in [
        (
            "WITH RECURSIVE t AS (SELECT * FROM t) SELECT * FROM t",
            true,
        ),
        (
            "WITH RECURSIVE t AS (SELECT a FROM t UNION ALL SELECT a + 1 FROM t WHERE a < 3) \
             SELECT * FROM t",
            true,
        ),
        (
            "WITH RECURSIVE c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c WHERE a < 3) \
             SELECT * FROM c",
            false,
        ),
        (
            "WITH RECURSIVE c AS (SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT a + 2 FROM c WHERE a < 5 \
             UNION ALL SELECT a + 9 FROM c WHERE a < 3) SELECT * FROM c",
            false,
        ),
        ("UPDATE u JOIN y ON u.a = y.a SET c = 1", true),
        ("UPDATE u JOIN y ON u.a = y.a SET b = 1", false),
        ("DELETE d2.u FROM d.u JOIN d2.u ON d.u.a = d2.u.a", true),
        ("DELETE U FROM u JOIN U ON u.a = U.a", true),
        ("DELETE u FROM u JOIN U ON u.a = U.a", false),
    ] {
        let tried = session.query(sql.as_bytes()).await.map(drop);
        assert_eq!(is_refusal(&tried), is_denied, "{sql}: {tried:?}");
    }
}
