//! What OK packets say of the session, byte by byte; and what comes by name with a statement.

use super::*;

const WITH_TRACK: u32 = FLAGS | 1 << 23;
const WITH_TRACK_AND_END: u32 = WITH_DEPRECATE_EOF | 1 << 23;
/// What follows the first byte of a small BIGINT.
const SEVEN: &str = r"\x00\x00\x00\x00\x00\x00\x00";
const WITH_ATTRIBUTES: u32 = WITH_DEPRECATE_EOF | 1 << 27;

impl Client {
    /// The answer of a statement without rows, from its status on.
    async fn told(&mut self, sql: &str) -> String {
        self.query(sql).await;
        let answer = self.receive().await;
        assert_eq!(answer[0], 0, "{sql}: {}", answer.escape_ascii());
        answer[3..].escape_ascii().to_string()
    }

    /// The end of a result, from its status on.
    async fn told_after_rows(&mut self, sql: &str) -> String {
        self.query(sql).await;
        loop {
            let packet = self.receive().await;
            assert_ne!(packet[0], 0xFF, "{sql}: {}", packet.escape_ascii());
            if packet[0] == 0xFE {
                return packet[3..].escape_ascii().to_string();
            }
        }
    }
}

#[tokio::test]
async fn schema_variables_and_state() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_TRACK).await;
    assert_eq!(client.told("DO 1").await, "\\x02\\x00\\x00\\x00");
    // Status with 0x4000, no warnings, an empty text, 11 bytes: type 1, 9 bytes, the name.
    let schema = r"\x02@\x00\x00\x00\x0b\x01\t\x08meta_own";
    client.told("CREATE DATABASE meta_own").await;
    assert_eq!(client.told("USE meta_own").await, schema);
    assert_eq!(client.told("DO 1").await, r"\x02\x00\x00\x00");
    client.command(b"\x02meta_own").await;
    assert_eq!(
        client.receive().await[3..].escape_ascii().to_string(),
        schema
    );
    assert_eq!(
        client.told("SET autocommit = 0").await,
        r"\x00@\x00\x00\x00\x11\x00\x0f\nautocommit\x03OFF"
    );
    // Not among those that are told of, unless that is asked for.
    assert_eq!(
        client
            .told("SET sql_safe_updates = 1, autocommit = 1")
            .await,
        r"\x02@\x00\x00\x00\x10\x00\x0e\nautocommit\x02ON"
    );
    assert_eq!(
        client.told("SET sql_safe_updates = 1").await,
        r"\x02\x00\x00\x00"
    );
    client
        .told("SET session_track_system_variables = '*'")
        .await;
    assert_eq!(
        client.told("SET SQL_SAFE_UPDATES = 0").await,
        r"\x02@\x00\x00\x00\x17\x00\x15\x10sql_safe_updates\x03OFF"
    );
    client.told("SET session_track_system_variables = ''").await;
    assert_eq!(client.told("SET NAMES utf8mb4").await, r"\x02\x00\x00\x00");
    client.told("SET session_track_state_change = 1").await;
    let state = r"\x02@\x00\x00\x00\x04\x02\x02\x011";
    assert_eq!(client.told("SET @a = 1").await, state);
    assert_eq!(
        client.told("PREPARE p FROM 'DO 1'").await,
        r"\x02@\x00\x00\x12Statement prepared\x04\x02\x02\x011"
    );
    client
        .told("SET session_track_schema = 0, session_track_state_change = 0")
        .await;
    assert_eq!(client.told("USE `default`").await, r"\x02\x00\x00\x00");
    // An error says nothing, and what has changed is told by the next OK.
    client.told("SET session_track_schema = 1").await;
    client.query("USE meta_own; NONSENSE").await;
    assert_eq!(client.packets(2).await[1], "ERR 1064");
    assert_eq!(client.told("USE meta_own").await, schema);
    assert_eq!(
        client.told("DROP DATABASE meta_own").await,
        r"\x02@\x00\x00\x00\x03\x01\x01\x00"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_reset_tells_what_is_as_it_was() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_TRACK).await;
    client.told("SET autocommit = 0").await;
    client.command(b"\x1f").await;
    assert_eq!(
        client.receive().await[3..].escape_ascii().to_string(),
        r"\x02@\x00\x00\x00\x10\x00\x0e\nautocommit\x02ON"
    );
    // Nobody else is told anything.
    let mut other = Client::root(server.address, FLAGS).await;
    assert_eq!(other.told("SET autocommit = 0").await, r"\x00\x00\x00\x00");
    assert_eq!(other.told("USE `default`").await, r"\x00\x00\x00\x00");
    server.stop().await;
}

#[tokio::test]
async fn transactions() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_TRACK_AND_END).await;
    client.make_seq(3).await;
    assert_eq!(
        client
            .told("SET session_track_transaction_info = 'STATE'")
            .await,
        r"\x02@\x00\x00\x00\x0b\x05\t\x08________"
    );
    assert_eq!(
        client.told("START TRANSACTION").await,
        r"\x03@\x00\x00\x00\x0b\x05\t\x08T_______"
    );
    assert_eq!(
        client
            .told_after_rows("SELECT a FROM `default`.seq WHERE a = 1")
            .await,
        r"\x03@\x00\x00\x00\x0b\x05\t\x08T_R___S_"
    );
    assert_eq!(
        client
            .told_after_rows("SELECT a FROM `default`.seq WHERE a = 1")
            .await,
        r"\x03\x00\x00\x00"
    );
    assert_eq!(
        client.told("DELETE FROM `default`.seq WHERE a = 1").await,
        r"\x03@\x00\x00\x00\x0b\x05\t\x08T_R_W_S_"
    );
    assert_eq!(
        client.told("COMMIT").await,
        r"\x02@\x00\x00\x00\x0b\x05\t\x08________"
    );
    client.told("SET autocommit = 0").await;
    assert_eq!(
        client.told("INSERT INTO `default`.seq VALUES (9)").await,
        r"\x01@\x00\x00\x00\x0b\x05\t\x08I___W___"
    );
    client.told("ROLLBACK").await;
    client
        .told("SET autocommit = 1, session_track_transaction_info = 'CHARACTERISTICS'")
        .await;
    assert_eq!(
        client
            .told("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            .await,
        "\\x03`\\x00\\x00\\x00D\\x047\
         6START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;\\x05\\t\\x08T_______"
    );
    assert_eq!(
        client.told("COMMIT").await,
        r"\x02@\x00\x00\x00\x0e\x04\x01\x00\x05\t\x08________"
    );
    server.stop().await;
}

/// What the server's variable says holds for who comes later.
#[tokio::test]
async fn transactions_of_sessions_that_begin_with_it() {
    let server = Running::start("secret", 10).await;
    let mut before = Client::root(server.address, WITH_TRACK_AND_END).await;
    before
        .told("SET GLOBAL session_track_transaction_info = 'STATE'")
        .await;
    let mut after = Client::login(server.address, Plugin::CachingSha2, WITH_TRACK_AND_END).await;
    assert_eq!(after.receive().await, [1, 3]);
    // That it is told begins with the login.
    let welcome = after.receive().await;
    assert!(welcome.ends_with(b"\x0b\x05\t\x08________"), "{welcome:?}");
    after.sequence = 0;
    let begun = r"\x03@\x00\x00\x00\x0b\x05\t\x08T_______";
    assert_eq!(after.told("START TRANSACTION").await, begun);
    assert_ne!(before.told("START TRANSACTION").await, begun);
    server.stop().await;
}

/// A client that hears of changes in OK packets alone is told once of what many answers could not say.
#[tokio::test]
async fn what_could_not_be_told_does_not_pile_up() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_TRACK).await;
    client.make_seq(3).await;
    client.told("SET session_track_state_change = 1").await;
    for _ in 0..100 {
        client.command(b"\x16DO 1").await;
        assert_eq!(client.receive().await[0], 0);
        client
            .query("SELECT a FROM `default`.seq WHERE a = 1")
            .await;
        assert_eq!(client.packets(5).await[4], "EOF 02");
    }
    client.command(b"\x0e").await;
    assert_eq!(
        client.receive().await[3..].escape_ascii().to_string(),
        r"\x02@\x00\x00\x00\x04\x02\x02\x011"
    );
    assert_eq!(client.told("DO 1").await, r"\x02\x00\x00\x00");
    server.stop().await;
}

/// What was told of the transaction's characteristics; empty when nothing was.
fn characteristics(told: &str) -> String {
    let Some(at) = told.find("SET TRANSACTION").or_else(|| told.find("START ")) else {
        return String::new();
    };
    let end = told.rfind(';').unwrap();
    told[at..=end].to_owned()
}

/// `SET TRANSACTION` without a scope is about one transaction, and is told as what would begin such a
/// one again.
#[tokio::test]
async fn characteristics_of_the_next_transaction() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_TRACK_AND_END).await;
    client.make_seq(3).await;
    client
        .told("SET session_track_transaction_info = 'CHARACTERISTICS'")
        .await;
    let read_only = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ ONLY;";
    let begun = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ ONLY;";
    for (sql, wanted) in [
        (
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;",
        ),
        ("SET TRANSACTION READ ONLY", read_only),
        ("START TRANSACTION", begun),
        ("COMMIT AND CHAIN", ""),
        ("COMMIT", ""),
        ("BEGIN", "START TRANSACTION;"),
        ("ROLLBACK", ""),
        ("SET TRANSACTION READ ONLY", "SET TRANSACTION READ ONLY;"),
        (
            "START TRANSACTION READ WRITE",
            "START TRANSACTION READ WRITE;",
        ),
        ("COMMIT", ""),
        ("SET SESSION TRANSACTION READ ONLY", ""),
    ] {
        assert_eq!(characteristics(&client.told(sql).await), wanted, "{sql}");
    }
    server.stop().await;
}

const ASK: &str = "SELECT mysql_query_attribute_string('n'), \
    mysql_query_attribute_string('t'), mysql_query_attribute_string('none')";

/// The number of attributes, one set, no NULL among them, types with names, values, the text.
#[tokio::test]
async fn attributes_of_queries_and_executions() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_ATTRIBUTES).await;
    let sent = b"\x03\x03\x01\x04\x01\x08\0\x01n\xfe\0\x01t\x06\0\x04none\x07\0\0\0\0\0\0\0\x02ab";
    client.command(&[sent, ASK.as_bytes()].concat()).await;
    assert_eq!(client.packets(5).await[4], "\\x017\\x02ab\\xfb");
    client.packets(1).await;
    // Gone with the statement.
    client
        .command(&[b"\x03\0\x01", ASK.as_bytes()].concat())
        .await;
    assert_eq!(client.packets(5).await[4], "\\xfb\\xfb\\xfb");
    client.packets(1).await;

    let prepare = [
        b"\x16",
        "SELECT ?, mysql_query_attribute_string('t')".as_bytes(),
    ]
    .concat();
    client.command(&prepare).await;
    client.packets(4).await;
    // Two values: the parameter, whose name means nothing, and one more. Then kept types.
    let run = b"\x17\x01\0\0\0\x08\x01\0\0\0\x02\0\x01\x01\0\0\xfe\0\x01t\x05\x02ab";
    client.command(run).await;
    assert_eq!(
        client.packets(4).await[3],
        format!("\\x00\\x00\\x05{SEVEN}\\x02ab")
    );
    client.packets(1).await;
    client
        .command(b"\x17\x01\0\0\0\x08\x01\0\0\0\x02\0\0\x06\x02cd")
        .await;
    assert_eq!(
        client.packets(4).await[3],
        format!("\\x00\\x00\\x06{SEVEN}\\x02cd")
    );
    client.packets(1).await;
    // Without attributes the number is there all the same.
    client
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0\x01\0\x01\x01\0\0\x07")
        .await;
    assert_eq!(
        client.packets(4).await[3],
        format!("\\x00\\x08\\x07{SEVEN}")
    );
    client.packets(1).await;
    // As before, but for the types: those of an attribute that came once are not missed.
    client.command(run).await;
    client.packets(5).await;
    client
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0\x01\0\0\x07")
        .await;
    assert_eq!(
        client.packets(4).await[3],
        format!("\\x00\\x08\\x07{SEVEN}")
    );
    client.packets(1).await;
    // Fewer than the statement has; more than there can be; no types.
    client.command(b"\x17\x01\0\0\0\x08\x01\0\0\0\0").await;
    assert_eq!(client.packets(1).await, ["ERR 1210"]);
    client.command(b"\x03\xfd\0\0\x01\x01SELECT 1").await;
    assert_eq!(client.packets(1).await, ["ERR 1210"]);
    client.command(b"\x03\x01\x01\0\0SELECT 1").await;
    assert_eq!(client.packets(1).await, ["ERR 1210"]);
    client.command(b"\x0e").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    server.stop().await;
}

#[tokio::test]
async fn a_statement_without_parameters_may_have_attributes() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_ATTRIBUTES).await;
    client.command(&[b"\x16", ASK.as_bytes()].concat()).await;
    client.packets(4).await;
    // A flag says that a number follows.
    client
        .command(b"\x17\x01\0\0\0\x08\x01\0\0\0\x01\0\x01\xfe\0\x01t\x02ef")
        .await;
    assert_eq!(client.packets(5).await[4], "\\x00\\x14\\x02ef");
    client.packets(1).await;
    client.command(b"\x17\x01\0\0\0\0\x01\0\0\0").await;
    assert_eq!(client.packets(5).await[4], "\\x00\\x1c");
    server.stop().await;
}
