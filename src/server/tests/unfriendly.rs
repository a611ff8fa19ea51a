//! Clients that send what they should not: each hears MySQL's number and state, and a connection
//! whose packets still make sense lives on.

use super::*;

impl Client {
    /// The next packet, which must be an ERR: errno, SQLSTATE and text.
    async fn error(&mut self) -> String {
        let packet = self.receive().await;
        assert_eq!(packet.first(), Some(&0xFF), "{}", packet.escape_ascii());
        let errno = u32::from(packet[1]) + u32::from(packet[2]) * 256;
        assert_eq!(packet[3], b'#', "{}", packet.escape_ascii());
        format!("{errno} {}", String::from_utf8_lossy(&packet[4..]))
    }

    /// Sends a command that must fail, and a ping that must not.
    async fn fails(&mut self, command: &[u8], wanted: &str) {
        self.command(command).await;
        let error = self.error().await;
        let shown = command.get(..80).unwrap_or(command).escape_ascii();
        assert!(
            error.starts_with(wanted),
            "{shown}: {error}, expected {wanted}"
        );
        self.command(b"\x0e").await;
        assert_eq!(self.packets(1).await, ["OK 02"], "{shown}");
    }

    async fn query_fails(&mut self, sql: &str, wanted: &str) {
        self.fails(&[b"\x03", sql.as_bytes()].concat(), wanted)
            .await;
    }
}

#[tokio::test]
async fn statements_that_are_none() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    for sql in ["", " ", "\n\t", ";", ";;", " ; ", "\0"] {
        client.query_fails(sql, "1065 42000Query was empty").await;
    }
    // Nothing but comments is a statement that does nothing, as in MySQL.
    for sql in [
        "-- nothing",
        "/* nothing */",
        "# nothing",
        "SELECT 1;;",
        "SELECT 1 \0",
    ] {
        client.query(sql).await;
        let packets_count = if sql.starts_with('S') { 5 } else { 1 };
        assert!(
            !client.packets(packets_count).await[0].starts_with("ERR"),
            "{sql}"
        );
    }
    for sql in [
        "SELECT",
        "SELECT 1 FROM",
        "SELECT 'never ended",
        "SELECT \"never ended",
        "SELECT `never ended",
        "SELECT (1",
        "SELECT 1)",
        "SELECT 1 +",
        "INSERT INTO t VALUES (1,",
        "SELECT $$",
        "\0\0",
        "SELECT 1 \0 ",
    ] {
        let wanted = "1064 42000You have an error in your SQL syntax";
        client.query_fails(sql, wanted).await;
    }
    client.fails(b"\x03SELECT \xff\xfe", "1300 HY000").await;
    client.fails(b"\x16", "1065 42000").await;
    client.fails(b"\x16SELECT ? FROM", "1064 42000").await;
    client.fails(b"\x03SELECT ?", "1064 42000").await;
    client
        .fails(b"\x02nosuch", "1049 42000Unknown database 'nosuch'")
        .await;
    client.fails(b"\x02\xff", "1300 HY000").await;
    server.stop().await;
}

#[tokio::test]
async fn statements_too_deep_too_long_too_many() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    for (open, close) in [
        ("(", ")"),
        ("NOT ", ""),
        ("-", ""),
        ("ABS(", ")"),
        ("CASE WHEN ", ""),
    ] {
        let sql = format!("SELECT {}1{}", open.repeat(50_000), close.repeat(50_000));
        client.command(&[b"\x03", sql.as_bytes()].concat()).await;
        let error = client.error().await;
        assert!(
            error.starts_with("1436 HY000") || error.starts_with("1064 42000"),
            "{error}"
        );
    }
    let long = format!("SELECT '{}'", "x".repeat(1 << 20));
    let wanted =
        "1153 08S01Got a packet bigger than 'max_allowed_packet' bytes: the most is 1048576";
    client.query_fails(&long, wanted).await;
    // 33 MB, in three packets of the protocol: skipped without being kept.
    let mut huge = vec![3_u8];
    huge.resize(33 << 20, b'x');
    client.fails(&huge, wanted).await;
    server.stop().await;
}

#[tokio::test]
async fn commands_that_are_none() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    let known = [
        0x00, 0x05, 0x06, 0x08, 0x0B, 0x0D, 0x0F, 0x10, 0x12, 0x13, 0x14, 0x15, 0x1D, 0x1E,
    ];
    for number in (0x20..=0xFF_u8).chain(known) {
        client.fails(&[number], "1047 08S01Unknown command").await;
        client.fails(&[number, 1, 2, 3], "1047 08S01").await;
    }
    // Too short for what they are.
    for command in [0x0C_u8, 0x17, 0x1A, 0x1B, 0x1C] {
        for length in 0..4 {
            let mut body = vec![command];
            body.resize(1 + length, 0);
            if command == 0x1B && 2 <= length {
                continue;
            }
            client
                .fails(&body, "1835 HY000Malformed communication packet")
                .await;
        }
    }
    client.fails(b"\x07", "1835 HY000Malformed").await;
    client.fails(b"\x07\x80", "1047 08S01Unknown command").await;
    client.fails(b"", "1047 08S01").await;
    client.fails(b"\x1b\x07\0", "1047 08S01").await;
    client
        .fails(
            b"\x0c\xff\xff\xff\x7f",
            "1094 HY000Unknown thread id: 2147483647",
        )
        .await;
    server.stop().await;
}

#[tokio::test]
async fn statements_of_others_and_half_executions() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    let unknown = "1243 HY000Unknown prepared statement handler (77) given to ";
    client.fails(b"\x17\x4d\0\0\0\0\x01\0\0\0", unknown).await;
    client.fails(b"\x1a\x4d\0\0\0", unknown).await;
    client.fails(b"\x1c\x4d\0\0\0\x01\0\0\0", unknown).await;
    // Not answered, whatever is wrong with them.
    client.command(b"\x19\x4d\0\0\0").await;
    client.command(b"\x18\x4d\0\0\0\0\0x").await;
    client.command(b"\x16SELECT ?, ?").await;
    client.packets(7).await;
    let whole = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfd\0\x07\0\0\0\0\0\0\0\x02ab";
    for length in 1..whole.len() {
        client.command(&whole[..length]).await;
        let error = client.error().await;
        assert!(
            error.starts_with("1835 HY000") || error.starts_with("1210 HY000"),
            "{error}"
        );
    }
    client
        .fails(
            b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x63\0\x63\0",
            "1210 HY000",
        )
        .await;
    // A length that reaches past the packet, and past everything.
    for length in [
        &b"\xfc\xff\xff"[..],
        b"\xfd\xff\xff\xff",
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xff",
    ] {
        let body = [&whole[..24], length].concat();
        client.fails(&body, "1835 HY000").await;
    }
    client.command(b"\x18\x01\0\0\0\x09\0x").await;
    client
        .fails(whole, "1210 HY000Incorrect arguments to SEND_LONG_DATA")
        .await;
    let piece = [b"\x18\x01\0\0\0\0\0".as_slice(), &vec![b'x'; 600_000]].concat();
    client.command(&piece).await;
    client.command(&piece).await;
    client.fails(whole, "1153 08S01").await;
    // A piece that is not read is not answered either, and not left out.
    let skipped = [b"\x18\x01\0\0\0\0\0".as_slice(), &vec![b'x'; 1_100_000]].concat();
    for piece in [&b"\x18\x01\0\0\0\0\0good"[..], &skipped, &piece] {
        client.command(piece).await;
    }
    client.fails(whole, "1153 08S01").await;
    client.command(whole).await;
    assert_eq!(client.packets(6).await[5], "EOF 02");
    // All were counted.
    let errors = server.shared.monitor().counts.errors();
    let count_of = |errno| {
        let mut errors = errors.iter();
        let found = errors.find(|(code, _)| code.errno() == errno);
        found.map_or(0, |(_, count)| *count)
    };
    assert_eq!((count_of(1243), count_of(1153)), (3, 2));
    assert!(4 < count_of(1835) && 2 <= count_of(1210), "{errors:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_stream_that_makes_no_sense_ends() {
    let server = Running::start("secret", 10).await;
    for sequence in [1, 2, 255] {
        let mut client = Client::root(server.address, FLAGS).await;
        client.sequence = sequence;
        client.send(b"\x0e").await;
        client.sequence = 0;
        assert_eq!(client.error().await, "1156 08S01Got packets out of order");
        assert_eq!(client.packets(1).await, ["closed"]);
    }
    // Half a packet, and then nothing.
    let mut client = Client::root(server.address, FLAGS).await;
    client.socket.write_all(b"\x20\0\0\0\x03SEL").await.unwrap();
    drop(client);
    Client::root(server.address, FLAGS).await;
    server.stop().await;
}

#[tokio::test]
async fn logins_that_take_too_long() {
    let server = Running::start_with("secret", 10, 1).await;
    // Says nothing.
    let mut silent = Client::connect(server.address).await;
    silent.receive().await;
    assert_eq!(silent.packets(1).await, ["closed"]);
    // Says half of its hello.
    let mut half = Client::connect(server.address).await;
    half.receive().await;
    // It may be too late to say anything.
    let _ = half.socket.write_all(b"\x50\0\0\x01\x00").await;
    assert_eq!(half.packets(1).await, ["closed"]);
    server.stop().await;
}

#[tokio::test]
async fn logins_that_fail() {
    let server = Running::start("secret", 100).await;
    // A wrong sequence number.
    let mut wrong = Client::connect(server.address).await;
    wrong.receive().await;
    wrong.sequence = 7;
    wrong.send(&[0; 40]).await;
    wrong.sequence = 1;
    assert!(wrong.error().await.starts_with("1156 08S01"));
    for length in 0..40 {
        let mut short = Client::connect(server.address).await;
        short.receive().await;
        let mut hello = Vec::new();
        put_u32(&mut hello, FLAGS);
        hello.resize(40, 0);
        short.send(&hello[..length]).await;
        let error = short.receive().await;
        assert!(["ERR 1043", "ERR 1045"].contains(&shown(&error).as_str()) || error[0] == 0xFE);
    }
    let mut wrong = Client::connect(server.address).await;
    let salt = salt_of(&wrong.receive().await);
    for (user, password, given) in [
        ("root", "wrong", "YES"),
        ("root", "", "NO"),
        ("nobody", "secret", "YES"),
    ] {
        let mut client = Client::connect(server.address).await;
        let own = salt_of(&client.receive().await);
        assert_ne!(own.bytes(), salt.bytes());
        let mut hello = Vec::new();
        put_u32(&mut hello, FLAGS);
        hello.extend_from_slice(&[0; 28]);
        hello.extend_from_slice(user.as_bytes());
        let response = match password {
            "" => Vec::new(),
            password => auth::response(Plugin::CachingSha2, &own, password),
        };
        hello.push(0);
        hello.push(u8::try_from(response.len()).unwrap());
        hello.extend_from_slice(&response);
        hello.extend_from_slice(b"caching_sha2_password\0");
        client.send(&hello).await;
        let wanted = format!(
            "1045 28000Access denied for user '{user}'@'localhost' (using password: {given})"
        );
        assert_eq!(client.error().await, wanted);
        assert_eq!(client.packets(1).await, ["closed"]);
    }
    drop(wrong);
    // Each has given its place back, when its task is over.
    while 0 < server.shared.processes().count() {
        tokio::task::yield_now().await;
    }
    server.stop().await;
}

#[tokio::test]
async fn one_connection_too_many_hears_why() {
    let server = Running::start("secret", 1).await;
    let mut first = Client::root(server.address, FLAGS).await;
    // The place for administrators.
    let mut admin = Client::root(server.address, FLAGS).await;
    for _ in 0..20 {
        let mut second = Client::connect(server.address).await;
        // Without a state: what is spoken has not been agreed upon.
        assert_eq!(second.receive().await, b"\xff\x10\x04Too many connections");
        assert_eq!(second.packets(1).await, ["closed"]);
    }
    for client in [&mut first, &mut admin] {
        client.command(b"\x0e").await;
        assert_eq!(client.packets(1).await, ["OK 02"]);
    }
    server.stop().await;
}
