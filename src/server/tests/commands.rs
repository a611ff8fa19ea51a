//! Commands that have no other test of their own, and words that every answer carries.

use super::*;

impl Client {
    /// Status word and count of warnings of an OK.
    async fn status_of(&mut self, sql: &str) -> (u16, u16) {
        self.query(sql).await;
        let answer = self.receive().await;
        assert_eq!(answer[0], 0, "{sql}: {}", answer.escape_ascii());
        let number = |at: usize| u16::from(answer[at]) + 256 * u16::from(answer[at + 1]);
        (number(3), number(5))
    }

    async fn info_of(&mut self, sql: &str) -> String {
        self.query(sql).await;
        let answer = self.receive().await;
        assert_eq!(answer[0], 0, "{sql}: {}", answer.escape_ascii());
        String::from_utf8_lossy(answer.get(8..).unwrap_or(&[])).into_owned()
    }

    /// The types of the next definitions of columns.
    async fn types(&mut self, count: usize) -> Vec<u8> {
        let mut types = Vec::new();
        for _ in 0..count {
            let column = self.receive().await;
            assert!(column.starts_with(b"\x03def"), "{}", column.escape_ascii());
            // Before the flags, the decimals and two bytes that mean nothing.
            types.push(column[column.len() - 6]);
        }
        types
    }

    async fn login_again(&mut self, (plugin, database): (Plugin, &str), password: &str) {
        let mut change = b"\x11root\0\0".to_vec();
        change.extend_from_slice(database.as_bytes());
        change.extend_from_slice(b"\0\xff\0");
        change.extend_from_slice(plugin.name().as_bytes());
        change.push(0);
        self.command(&change).await;
        let switch = self.receive().await;
        assert_eq!(switch[0], 0xFE, "{}", switch.escape_ascii());
        let end = switch.len() - 1;
        let salt = Salt::fixed(switch[end - 20..end].try_into().unwrap());
        self.send(&auth::response(plugin, &salt, password)).await;
    }
}

#[tokio::test]
async fn field_lists_take_wildcards() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    client
        .query("CREATE TABLE `default`.f (id INT PRIMARY KEY, first_name INT, last_name INT, name INT, na_e INT)")
        .await;
    client.packets(1).await;
    for (name, code) in [(&b"\x02"[..], "ERR 1046"), (b"\x02nosuch", "ERR 1049")] {
        client.command(name).await;
        assert_eq!(client.packets(1).await, [code]);
    }
    client.command(b"\x02default").await;
    client.packets(1).await;
    for (wildcard, count) in [
        ("", 5),
        ("%", 5),
        ("%name", 3),
        ("NAME", 1),
        ("na_e", 2),
        ("na\\_e", 1),
        ("%\\_%", 3),
        ("x%", 0),
    ] {
        client
            .command(&[b"\x04f\0", wildcard.as_bytes()].concat())
            .await;
        let packets = client.packets(count + 1).await;
        assert_eq!(packets[count], "END 02", "{wildcard}");
        assert!(packets[..count].iter().all(|packet| packet == "column"));
    }
    server.stop().await;
}

#[tokio::test]
async fn lists_and_kills_of_connections() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    let mut other = Client::root(server.address, FLAGS).await;
    // SHOW PROCESSLIST: eight columns, two rows.
    client.command(b"\x0a").await;
    let packets = client.packets(1 + 8 + 1 + 2 + 1).await;
    assert_eq!(
        (packets[0].as_str(), packets[9].as_str()),
        ("\\x08", "EOF 02")
    );
    assert_eq!(packets[12], "EOF 02");
    client.command(b"\x0c\x02\0\0\0").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    assert_eq!(other.packets(1).await, ["closed"]);
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_answered_says_why() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    for (command, why) in [
        (0x08, "COM_SHUTDOWN: send the process SIGTERM"),
        (0x0D, "COM_DEBUG: there is no dump of its state"),
        (0x12, "COM_BINLOG_DUMP: there is no binary log"),
        (0x15, "COM_REGISTER_SLAVE: there is no replication"),
        (0x1E, "COM_BINLOG_DUMP_GTID: there is no binary log"),
    ] {
        client.command(&[command, 0, 0, 0, 0]).await;
        let answer = client.receive().await;
        assert_eq!(shown(&answer), "ERR 1047");
        let text = String::from_utf8_lossy(&answer);
        assert!(text.ends_with(why), "{text}");
    }
    client.command(b"\x0e").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    server.stop().await;
}

#[tokio::test]
async fn another_login_by_each_plug_in() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    client.make_seq(3).await;
    client.query("SET autocommit = 0").await;
    client.packets(1).await;
    client.command(b"\x16SELECT 1").await;
    client.packets(3).await;
    client
        .login_again((Plugin::Native, "default"), "secret")
        .await;
    // A new session, in the database that was asked for.
    assert_eq!(client.packets(1).await, ["OK 02"]);
    client.command(b"\x17\x01\0\0\0\0\x01\0\0\0").await;
    assert_eq!(client.packets(1).await, ["ERR 1243"]);
    client.query("SELECT a FROM seq WHERE a = 1").await;
    assert_eq!(client.packets(5).await[3], "\\x011");
    client
        .login_again((Plugin::CachingSha2, ""), "secret")
        .await;
    assert_eq!(client.packets(2).await, ["\\x01\\x03", "OK 02"]);
    client.query("SELECT a FROM seq WHERE a = 1").await;
    assert_eq!(client.packets(1).await, ["ERR 1046"]);
    client
        .login_again((Plugin::CachingSha2, "nosuch"), "secret")
        .await;
    assert_eq!(
        client.packets(3).await,
        ["\\x01\\x03", "ERR 1049", "closed"]
    );
    server.stop().await;
}

#[tokio::test]
async fn every_answer_tells_status_warnings_and_text() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    client.make_seq(3).await;
    client
        .status_of("CREATE TABLE `default`.two (a INT PRIMARY KEY, b INT)")
        .await;
    client
        .status_of("INSERT INTO `default`.two VALUES (2, 2)")
        .await;
    assert_eq!(client.status_of("DO 1").await, (2, 0));
    assert_eq!(client.status_of("BEGIN").await, (3, 0));
    assert_eq!(
        client
            .status_of("DROP TABLE IF EXISTS `default`.nosuch")
            .await,
        (2, 1)
    );
    assert_eq!(client.status_of("DO 1").await, (2, 0));
    let read_only = "START TRANSACTION READ ONLY";
    assert_eq!(client.status_of(read_only).await, (0x2003, 0));
    assert_eq!(client.status_of("COMMIT").await, (2, 0));
    assert_eq!(client.status_of("SET autocommit = 0").await, (0, 0));
    let words = "SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')";
    assert_eq!(client.status_of(words).await.0, 0x200);
    assert_eq!(
        client
            .status_of("SET sql_mode = DEFAULT, autocommit = 1")
            .await,
        (2, 0)
    );
    assert_eq!(
        client
            .info_of("UPDATE `default`.two SET b = 7 WHERE a = 2")
            .await,
        "Rows matched: 1  Changed: 1  Warnings: 0"
    );
    assert_eq!(
        client
            .info_of("INSERT INTO `default`.two VALUES (8, 1), (9, 1)")
            .await,
        "Records: 2  Duplicates: 0  Warnings: 0"
    );
    server.stop().await;
}

/// Each definition ends with the default, as text with its length.
#[tokio::test]
async fn field_lists_tell_defaults() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    client
        .query(
            "CREATE TABLE `default`.g (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(9) DEFAULT 'it', \
             n INT, e INT NOT NULL, z VARCHAR(9) NOT NULL DEFAULT '', d DECIMAL(4,2) DEFAULT 1.5, \
             t DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, b VARBINARY(3) DEFAULT x'00ff')",
        )
        .await;
    client.packets(1).await;
    client.command(b"\x02default").await;
    client.packets(1).await;
    client.command(b"\x04g\0").await;
    let wanted: [&[u8]; 8] = [
        b"\x010",
        b"\x02it",
        b"\xfb",
        b"\x010",
        b"\0",
        b"\x041.50",
        b"\x130000-00-00 00:00:00",
        b"\x02\0\xff",
    ];
    for default in wanted {
        let packet = client.receive().await;
        // Behind the decimals, and two bytes that mean nothing.
        let ending = [b"\0\0", default].concat();
        assert!(packet.ends_with(&ending), "{}", packet.escape_ascii());
    }
    assert_eq!(client.packets(1).await, ["END 02"]);
    server.stop().await;
}

/// Who ends itself is told: 1317 of both KILLs, as MySQL; then the connection ends without a word.
#[tokio::test]
async fn who_ends_itself() {
    let server = Running::start("secret", 10).await;
    for (sql, wanted) in [
        ("KILL CONNECTION_ID()", "ERR 1317"),
        ("COMMIT RELEASE", "OK 02"),
        ("ROLLBACK AND NO CHAIN RELEASE", "OK 02"),
    ] {
        let mut client = Client::root(server.address, FLAGS).await;
        client.query("KILL QUERY CONNECTION_ID()").await;
        assert_eq!(client.packets(1).await, ["ERR 1317"]);
        client.query(sql).await;
        assert_eq!(client.packets(2).await, [wanted, "closed"], "{sql}");
    }
    // Nothing behind it is run.
    let mut client = Client::root(server.address, FLAGS).await;
    let texts = "SET @a = 1; COMMIT RELEASE; CREATE TABLE `default`.behind (id INT PRIMARY KEY)";
    client.query(texts).await;
    assert_eq!(client.packets(3).await, ["OK 0a", "OK 0a", "closed"]);
    let mut client = Client::root(server.address, FLAGS).await;
    client.query("DROP TABLE `default`.behind").await;
    assert_eq!(client.packets(1).await, ["ERR 1051"]);
    // By the command, too.
    client.query("SELECT CONNECTION_ID()").await;
    let row = client.packets(5).await[3].clone();
    let mut kill = vec![0x0C];
    put_u32(&mut kill, row[4..].parse().unwrap());
    client.command(&kill).await;
    assert_eq!(client.packets(2).await, ["ERR 1317", "closed"]);
    server.stop().await;
}

/// The number that stands for the last statement is that of none, once a PREPARE was not carried out.
#[tokio::test]
async fn no_statement_is_the_last_after_one_that_failed() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    let run = b"\x17\xff\xff\xff\xff\0\x01\0\0\0";
    client.command(b"\x16DO 1").await;
    client.packets(1).await;
    client.command(run).await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    client.command(b"\x16DO").await;
    assert_eq!(client.packets(1).await, ["ERR 1064"]);
    client.command(run).await;
    assert_eq!(client.packets(1).await, ["ERR 1243"]);
    // Nor after one that was too long to be read.
    client.command(b"\x16DO 1").await;
    client.packets(1).await;
    let too_long = [b"\x16DO 1".as_slice(), &vec![b' '; 1 << 20]].concat();
    client.command(&too_long).await;
    assert_eq!(client.packets(1).await, ["ERR 1153"]);
    client.command(run).await;
    assert_eq!(client.packets(1).await, ["ERR 1243"]);
    server.stop().await;
}

/// Drivers that prepare all statements ask for warnings so, too.
#[tokio::test]
async fn warnings_are_there_for_a_prepared_show_warnings() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    client.query("DO 1/0").await;
    client.packets(1).await;
    client.command(b"\x16SHOW COUNT(*) WARNINGS").await;
    client.packets(2).await;
    client.command(b"\x17\x01\0\0\0\0\x01\0\0\0").await;
    let packets = client.packets(4).await;
    assert_eq!(
        packets[2],
        "\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00"
    );
    server.stop().await;
}

/// Mechanism: a statement kept the types that variables had when it was prepared: a text instead of a number was 1105,
/// a number instead of a text was sent as one.
#[tokio::test]
async fn variables_may_have_any_value_when_what_was_prepared_is_run() {
    const BIGINT: u8 = 0x08;
    const DECIMAL: u8 = 0xF6;
    const VARCHAR: u8 = 0xFD;
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    for (id, value, ty) in [(1, "NULL", VARCHAR), (2, "1", BIGINT)] {
        client.done(&format!("SET @a = {value}")).await;
        client.command(b"\x16SELECT @a, 7").await;
        let prepared = client.receive().await;
        assert_eq!(prepared[..7], [0, id, 0, 0, 0, 2, 0]);
        assert_eq!(client.types(2).await, [ty, BIGINT], "{value}");
    }
    let seven = r"\x07\x00\x00\x00\x00\x00\x00\x00";
    for (value, ty, row) in [
        ("NULL", VARCHAR, r"\x00\x04"),
        ("'x'", VARCHAR, r"\x00\x00\x01x"),
        ("1", BIGINT, r"\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"),
        ("2.5", DECIMAL, r"\x00\x00\x032.5"),
    ] {
        client.done(&format!("SET @a = {value}")).await;
        for id in [1, 2] {
            client.command(&[0x17, id, 0, 0, 0, 0, 1, 0, 0, 0]).await;
            assert_eq!(client.packets(1).await, [r"\x02"], "{value}");
            assert_eq!(client.types(2).await, [ty, BIGINT], "{value}");
            let rows = client.packets(2).await;
            assert_eq!(
                rows,
                [format!("{row}{seven}").as_str(), "END 02"],
                "{value}"
            );
        }
    }
    server.stop().await;
}
