//! Connections over loopback sockets, to a server on the memory engine.

mod cancel;
mod commands;
mod compressed;
mod files;
mod guesses;
mod http;
mod reports;
mod states;
mod tracking;
mod unfriendly;
mod users;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Options, Server, listen};
use crate::protocol::auth;
use crate::protocol::handshake::HELLO_BYTES_MAX;
use crate::protocol::packet::{PacketReader, PacketWriter};
use crate::protocol::wire::put_u32;
use crate::protocol::{Capabilities, Password, Plugin, Salt};
use crate::session::{OpenOptions, Shared, Storage};

struct Running {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(password: &str, connections_max: u32) -> Running {
        Running::start_with(password, connections_max, 10).await
    }

    async fn start_with(password: &str, connections_max: u32, connect_timeout_s: u32) -> Running {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared::open(OpenOptions {
            storage: Storage::Memory,
            durable: true,
            allow_full_scan: true,
            memory_limit_bytes: None,
            cache_bytes: None,
            query_memory_total_bytes: None,
            spill_quota_bytes: None,
            secure_file_priv: None,
            backup_dir: None,
            port: address.port(),
            connections_max,
            packet_bytes_max: 1 << 20,
            wait_timeout_s: 60,
            net_write_timeout_s: 60,
            connect_timeout_s,
            requires_tls: false,
        })
        .await
        .unwrap();
        let options = Options {
            connections_max,
            shutdown_grace: Duration::from_mins(1),
            root_password: Some(Password::fast(password)).filter(|given| !given.is_empty()),
            certificate: None,
            data_dir: None,
        };
        let server = Server::new(listener, options, Arc::clone(&shared)).unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run(async move {
            let _ = stopped.await;
        }));
        Running {
            address,
            shared,
            stop,
            task,
        }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}

struct Client {
    socket: TcpStream,
    reader: PacketReader,
    sequence: u8,
    squeeze: Option<compressed::Squeezed>,
}

const FLAGS: u32 = 1 << 9 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 19;
const WITH_DEPRECATE_EOF: u32 = FLAGS | 1 << 24;

impl Client {
    async fn connect(address: std::net::SocketAddr) -> Client {
        Client {
            socket: TcpStream::connect(address).await.unwrap(),
            reader: PacketReader::new(64 << 20),
            sequence: 0,
            squeeze: None,
        }
    }

    async fn login(address: std::net::SocketAddr, plugin: Plugin, flags: u32) -> Client {
        let mut client = Client::connect(address).await;
        let greeting = client.receive().await;
        let salt = salt_of(&greeting);
        let mut hello = Vec::new();
        put_u32(&mut hello, flags);
        hello.extend_from_slice(&[0; 28]);
        hello.extend_from_slice(b"root\0");
        let response = auth::response(plugin, &salt, "secret");
        hello.push(u8::try_from(response.len()).unwrap());
        hello.extend_from_slice(&response);
        hello.extend_from_slice(plugin.name().as_bytes());
        hello.push(0);
        if flags & Capabilities::CONNECT_ATTRS.bits() != 0 {
            hello.extend_from_slice(b"\x18\x0c_client_name\x0alibmariadb");
        }
        if flags & Capabilities::ZSTD.bits() != 0 {
            hello.push(5);
        }
        client.send(&hello).await;
        client
    }

    async fn root(address: std::net::SocketAddr, flags: u32) -> Client {
        let mut client = Client::login(address, Plugin::CachingSha2, flags).await;
        assert_eq!(client.receive().await, [1, 3]);
        assert_eq!(client.receive().await, [0, 0, 0, 2, 0, 0, 0]);
        client
    }

    async fn send(&mut self, payload: &[u8]) {
        let mut writer = PacketWriter::default();
        writer.set_sequence(self.sequence);
        writer.packet(|out| out.extend_from_slice(payload));
        self.sequence = writer.sequence();
        self.write(writer.bytes()).await;
    }

    async fn write(&mut self, packets: &[u8]) {
        match &mut self.squeeze {
            None => self.socket.write_all(packets).await.unwrap(),
            Some(squeeze) => {
                let packed = squeeze.packed(packets);
                self.socket.write_all(&packed).await.unwrap();
            }
        }
    }

    async fn command(&mut self, payload: &[u8]) {
        self.sequence = 0;
        if let Some(squeeze) = &mut self.squeeze {
            squeeze.begin();
        }
        self.send(payload).await;
    }

    async fn query(&mut self, text: &str) {
        self.command(&[b"\x03", text.as_bytes()].concat()).await;
    }

    /// The next packet; empty when the server has closed the connection.
    async fn receive(&mut self) -> Vec<u8> {
        loop {
            if let Some(packet) = self.reader.next(self.sequence).unwrap() {
                self.sequence = packet.sequence.wrapping_add(1);
                return self.reader.payload(&packet).unwrap().to_vec();
            }
            if !self.fill().await {
                return Vec::new();
            }
        }
    }

    /// Reads more; `false` when the server has closed the connection.
    async fn fill(&mut self) -> bool {
        let Some(squeeze) = &mut self.squeeze else {
            let count = self.socket.read(self.reader.spare()).await.unwrap_or(0);
            self.reader.filled(count);
            return 0 < count;
        };
        while !squeeze.unpack_to(&mut self.reader) {
            let spare = squeeze.unpacker.spare();
            let count = self.socket.read(spare).await.unwrap_or(0);
            squeeze.unpacker.filled(count);
            if count == 0 {
                return false;
            }
        }
        true
    }

    /// A table `seq` with the numbers from 0.
    async fn make_seq(&mut self, count: usize) {
        self.query("CREATE TABLE `default`.seq (a BIGINT PRIMARY KEY)")
            .await;
        assert_eq!(self.packets(1).await, ["OK 02"]);
        let numbers: Vec<String> = (0..count).map(|number| format!("({number})")).collect();
        self.query(&format!(
            "INSERT INTO `default`.seq VALUES {}",
            numbers.join(",")
        ))
        .await;
        let inserted = self.receive().await;
        assert_eq!(inserted[0], 0, "{}", inserted.escape_ascii());
    }

    async fn packets(&mut self, count: usize) -> Vec<String> {
        let mut packets = Vec::new();
        for _ in 0..count {
            packets.push(shown(&self.receive().await));
        }
        packets
    }
}

fn salt_of(greeting: &[u8]) -> Salt {
    let version_end = greeting.iter().position(|byte| *byte == 0).unwrap();
    let first = version_end + 5;
    let mut salt = greeting[first..first + 8].to_vec();
    let rest = first + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10;
    salt.extend_from_slice(&greeting[rest..rest + 12]);
    Salt::fixed(salt.try_into().unwrap())
}

fn shown(packet: &[u8]) -> String {
    match packet {
        [] => "closed".to_owned(),
        [0xFF, low, high, ..] => format!("ERR {}", u32::from(*low) + u32::from(*high) * 256),
        [0xFE, ..] if packet.len() == 5 => format!("EOF {:02x}", packet[3]),
        [0xFE, ..] => format!("END {:02x}", packet[3]),
        [0, ..] if packet.len() == 7 => format!("OK {:02x}", packet[3]),
        // With the text of what changes a table.
        [0, 0, 0, status, 0, _, 0, _, info @ ..] if info.starts_with(b"Records: ") => {
            format!("OK {status:02x}")
        }
        [3, b'd', b'e', b'f', ..] => "column".to_owned(),
        bytes => bytes.escape_ascii().to_string(),
    }
}

#[tokio::test]
async fn both_plugins_log_in_and_a_wrong_password_is_refused() {
    let server = Running::start("secret", 10).await;
    Client::root(server.address, FLAGS).await;
    let mut native = Client::login(server.address, Plugin::Native, FLAGS).await;
    assert_eq!(native.packets(1).await, ["OK 02"]);

    let mut wrong = Client::connect(server.address).await;
    let salt = salt_of(&wrong.receive().await);
    let mut hello = Vec::new();
    put_u32(&mut hello, FLAGS);
    hello.extend_from_slice(&[0; 28]);
    hello.extend_from_slice(b"root\0\0mysql_native_password\0");
    wrong.send(&hello).await;
    // A native client without an answer waits for a salt of its own plug-in.
    let switch = wrong.receive().await;
    assert_eq!(&switch[1..23], b"mysql_native_password\0");
    assert_eq!(&switch[23..43], salt.bytes());
    wrong
        .send(&auth::response(Plugin::Native, &salt, "wrong"))
        .await;
    assert_eq!(wrong.packets(2).await, ["ERR 1045", "closed"]);

    let mut garbage = Client::connect(server.address).await;
    garbage.receive().await;
    garbage.send(b"GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(garbage.packets(2).await, ["ERR 1043", "closed"]);
    let mut long = Client::connect(server.address).await;
    long.receive().await;
    long.send(&vec![0; HELLO_BYTES_MAX + 1]).await;
    assert_eq!(long.packets(1).await, ["ERR 1043"]);
    server.stop().await;
}

#[tokio::test]
async fn pipelined_commands_are_answered_in_order() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    client.make_seq(3).await;
    let mut writer = PacketWriter::default();
    let commands: [&[u8]; 7] = [
        b"\x0e",
        b"\x03SELECT a FROM `default`.seq WHERE a < 2",
        b"\x08\x02",
        b"\x03NONSENSE",
        b"\x03SET @a = 1;SELECT 1",
        b"\x18\x01\0\0\0\0\0long data is never answered",
        b"\x19\x09",
    ];
    for command in commands {
        writer.set_sequence(0);
        writer.packet(|out| out.extend_from_slice(command));
    }
    client.socket.write_all(writer.bytes()).await.unwrap();
    let expected: [&[&str]; 6] = [
        &["OK 02"],
        &["\\x01", "column", "EOF 02", "\\x010", "\\x011", "EOF 02"],
        &["ERR 1047"],
        &["ERR 1064"],
        &["OK 0a", "\\x01", "column", "EOF 02", "\\x011", "EOF 02"],
        &["ERR 1835"],
    ];
    for packets in expected {
        client.sequence = 1;
        assert_eq!(client.packets(packets.len()).await, *packets);
    }
    server.stop().await;
}

#[tokio::test]
async fn prepared_statements_keep_types_and_definitions() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    client.make_seq(10).await;
    client
        .command(b"\x16SELECT a FROM `default`.seq WHERE a = ?")
        .await;
    assert_eq!(client.receive().await, [0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(client.packets(2).await, ["column", "column"]);
    let answer = ["\\x01", "column", &row_of(5), "END 02"];
    client
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\x05\0\0\0\0\0\0\0")
        .await;
    assert_eq!(client.packets(4).await, answer);
    // The last statement by MariaDB's number, with the types of the first time.
    client
        .command(b"\x17\xff\xff\xff\xff\0\x01\0\0\0\0\0\x05\0\0\0\0\0\0\0")
        .await;
    assert_eq!(client.packets(4).await, answer);
    client.command(b"\x18\x01\0\0\0\0\x005").await;
    client
        .command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0")
        .await;
    assert_eq!(client.packets(4).await, answer);
    client.command(b"\x17\x09\0\0\0\0\x01\0\0\0").await;
    assert_eq!(client.packets(1).await, ["ERR 1243"]);
    client.command(b"\x1a\x01\0\0\0").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    client.command(b"\x19\x01\0\0\0").await;
    client.command(b"\x1a\x01\0\0\0").await;
    assert_eq!(client.packets(1).await, ["ERR 1243"]);
    server.stop().await;
}

#[tokio::test]
async fn the_smaller_commands_are_answered() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    client.make_seq(1).await;
    client.command(b"\x1b\x01\0").await;
    assert_eq!(client.packets(1).await, ["END 02"]);
    client.query("SELECT 1;SELECT 1").await;
    assert_eq!(client.packets(1).await, ["ERR 1064"]);
    client.command(b"\x1f").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    client.command(b"\x09").await;
    assert!(client.packets(1).await[0].starts_with("Uptime: "));
    client.command(b"\x02nosuch").await;
    assert_eq!(client.packets(1).await, ["ERR 1049"]);
    client.command(b"\x02default").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    client.command(b"\x04seq\0").await;
    assert_eq!(client.packets(2).await, ["column", "END 02"]);
    client.command(b"\x04nosuch\0").await;
    assert_eq!(client.packets(1).await, ["ERR 1146"]);
    server.stop().await;
}

/// A binary row of one BIGINT, as [`shown`] shows it.
fn row_of(number: u8) -> String {
    shown(&[0, 0, number, 0, 0, 0, 0, 0, 0, 0])
}

#[tokio::test]
async fn cursors_give_rows_in_portions() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    client.make_seq(300).await;
    client.command(b"\x16SELECT a FROM `default`.seq").await;
    client.packets(3).await;
    client.command(b"\x17\x01\0\0\0\x01\x01\0\0\0").await;
    assert_eq!(client.packets(3).await, ["\\x01", "column", "EOF 42"]);
    client.command(b"\x1c\x01\0\0\0\xc9\0\0\0").await;
    let packets = client.packets(202).await;
    assert_eq!(packets[200], row_of(200));
    assert_eq!(packets[201], "EOF 42");
    client.command(b"\x1c\x01\0\0\0\xff\0\0\0").await;
    assert_eq!(client.packets(100).await[99], "EOF 82");
    client.command(b"\x1c\x01\0\0\0\x64\0\0\0").await;
    assert_eq!(client.packets(1).await, ["ERR 1421"]);
    server.stop().await;
}

#[tokio::test]
async fn a_user_changes_on_the_same_connection() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    let change = b"\x11root\0\0default\0\xff\0caching_sha2_password\0";
    client.command(change).await;
    let switch = client.receive().await;
    let salt = Salt::fixed(switch[23..43].try_into().unwrap());
    client
        .send(&auth::response(Plugin::CachingSha2, &salt, "secret"))
        .await;
    assert_eq!(client.packets(2).await, ["\\x01\\x03", "OK 02"]);
    client.command(b"\x0e").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    client.command(change).await;
    client.receive().await;
    client.send(b"").await;
    assert_eq!(client.packets(2).await, ["ERR 1045", "closed"]);
    server.stop().await;
}

#[tokio::test]
async fn connections_are_limited_and_too_long_packets_told() {
    let server = Running::start("secret", 1).await;
    let mut client = Client::root(server.address, FLAGS).await;
    let _admin = Client::root(server.address, FLAGS).await;
    let mut second = Client::connect(server.address).await;
    // No state before the greeting.
    assert_eq!(second.receive().await, b"\xff\x10\x04Too many connections");
    assert_eq!(second.packets(1).await, ["closed"]);
    client.command(&vec![3; (1 << 20) + 1]).await;
    assert_eq!(client.packets(1).await, ["ERR 1153"]);
    client.command(b"\x0e").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    // Out of order: the stream is lost.
    client.sequence = 9;
    client.send(b"\x0e").await;
    client.sequence = 0;
    assert_eq!(client.packets(2).await, ["ERR 1156", "closed"]);
    server.stop().await;
}

/// A row of 1 MB for each number: no socket's buffers hold 300 of them.
fn large_result() -> String {
    format!("SELECT '{}' FROM `default`.seq", "x".repeat(1_000_000))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_whose_client_stalls_can_be_killed() {
    let server = Running::start("secret", 10).await;
    let mut first = Client::root(server.address, FLAGS).await;
    let mut other = Client::root(server.address, FLAGS).await;
    first.make_seq(300).await;
    first.query(&large_result()).await;
    // The first row has come, so the statement runs.
    first.packets(4).await;
    other.query("KILL QUERY 1").await;
    assert_eq!(other.packets(1).await, ["OK 02"]);
    let mut rows_count = 1;
    let end = loop {
        match shown(&first.receive().await) {
            row if row.starts_with("\\xfd") => rows_count += 1,
            end => break end,
        }
    };
    assert_eq!(end, "ERR 1317");
    assert!(rows_count < 300, "{rows_count}");

    first.query(&large_result()).await;
    first.packets(4).await;
    other.query("KILL 1").await;
    assert_eq!(other.packets(1).await, ["OK 02"]);
    while shown(&first.receive().await).starts_with("\\xfd") {}
    assert_eq!(first.packets(1).await, ["closed"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_connections_at_rest_and_those_that_stall() {
    let server = Running::start("secret", 10).await;
    let mut idle = Client::root(server.address, FLAGS).await;
    let mut lost = Client::root(server.address, FLAGS).await;
    idle.make_seq(300).await;
    lost.query(&large_result()).await;
    lost.packets(4).await;
    drop(lost);
    let before = std::time::Instant::now();
    server.stop().await;
    assert!(
        before.elapsed() < Duration::from_secs(20),
        "{:?}",
        before.elapsed()
    );
    idle.sequence = 0;
    assert_eq!(idle.packets(2).await, ["ERR 1053", "closed"]);
}

#[tokio::test]
async fn a_large_result_arrives_whole() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, FLAGS).await;
    client.make_seq(20_000).await;
    client.query("SELECT a FROM `default`.seq").await;
    client.packets(3).await;
    for number in 0..20_000 {
        let digits = number.to_string();
        let packet = client.receive().await;
        assert_eq!(&packet[1..], digits.as_bytes());
    }
    assert_eq!(client.packets(1).await, ["EOF 02"]);
    server.stop().await;
}

#[test]
fn capabilities_of_the_tests_are_offered() {
    assert_eq!(
        Capabilities::agreed(WITH_DEPRECATE_EOF).bits(),
        WITH_DEPRECATE_EOF
    );
}
