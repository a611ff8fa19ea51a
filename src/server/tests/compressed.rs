//! Compressed connections: both algorithms, both layers' numbers, and what makes no sense.

use super::*;
use crate::protocol::compression::{Algorithm, Expected, Unpacker, put_packed};

/// The client's side of compression, which is stricter than the server's: each packet of an answer has
/// the number after the one before.
pub(super) struct Squeezed {
    algorithm: Algorithm,
    pub(super) unpacker: Unpacker,
    /// Of the next packet, whoever sends it.
    sequence: u8,
}

impl Squeezed {
    fn new(algorithm: Algorithm) -> Squeezed {
        Squeezed {
            algorithm,
            unpacker: Unpacker::new(algorithm, Vec::new()),
            sequence: 0,
        }
    }

    pub(super) fn begin(&mut self) {
        self.sequence = 0;
    }

    pub(super) fn packed(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        self.sequence = put_packed(&mut packed, plain, (self.algorithm, self.sequence));
        packed
    }

    pub(super) fn unpack_to(&mut self, reader: &mut PacketReader) -> bool {
        let before = self.unpacker.sequence();
        let expected = Expected {
            after_answer: self.sequence,
            may_begin: false,
        };
        let given = self.unpacker.give(reader.spare(), expected).unwrap();
        reader.filled(given.unwrap_or(0));
        if self.unpacker.sequence() != before {
            self.sequence = self.unpacker.sequence().wrapping_add(1);
        }
        given.is_some()
    }
}

const WITH_ZLIB: u32 = WITH_DEPRECATE_EOF | 1 << 5;
const WITH_ZSTD: u32 = WITH_DEPRECATE_EOF | 1 << 26;
const BOTH: [(u32, Algorithm); 2] = [
    (WITH_ZLIB, Algorithm::Zlib),
    (WITH_ZSTD, Algorithm::Zstd(5)),
];

impl Client {
    async fn squeezed(address: std::net::SocketAddr, how: (u32, Algorithm)) -> Client {
        let mut client = Client::root(address, how.0).await;
        client.squeeze = Some(Squeezed::new(how.1));
        client
    }

    async fn text(&mut self, sql: &str) -> Vec<u8> {
        self.query(sql).await;
        assert_eq!(self.receive().await, [1], "{sql:.80}");
        self.packets(1).await;
        let row = self.receive().await;
        assert!(self.packets(1).await[0].starts_with("END"));
        row
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_as_without() {
    let server = Running::start("secret", 20).await;
    for how in BOTH {
        let mut client = Client::squeezed(server.address, how).await;
        client.query("DROP TABLE IF EXISTS `default`.seq").await;
        client.packets(1).await;
        client.make_seq(5000).await;
        let shown = client
            .text("SELECT GROUP_CONCAT(variable_value ORDER BY variable_name) FROM performance_schema.session_status WHERE variable_name LIKE 'compression%'")
            .await;
        let (name, level) = (how.1.name(), how.1.level());
        assert_eq!(&shown[1..], format!("ON,{name},{level}").as_bytes());
        client.query("SELECT a FROM `default`.seq").await;
        let packets = client.packets(5003).await;
        assert_eq!(packets[5002], "END 02");
        client
            .command(b"\x16SELECT a FROM `default`.seq WHERE a < ?")
            .await;
        client.packets(3).await;
        client
            .command(b"\x17\x01\0\0\0\x01\x01\0\0\0\0\x01\x08\0\x05\0\0\0\0\0\0\0")
            .await;
        client.packets(3).await;
        client.command(b"\x1c\x01\0\0\0\x64\0\0\0").await;
        assert_eq!(client.packets(6).await[5], "END 82");
        client.query("NONSENSE").await;
        assert_eq!(client.packets(1).await, ["ERR 1064"]);
        client.command(b"\x1f").await;
        assert_eq!(client.packets(1).await, ["OK 02"]);
        // Another login on the same connection goes on compressed.
        client
            .command(b"\x11root\0\0default\0\xff\0caching_sha2_password\0")
            .await;
        let switch = client.receive().await;
        let salt = Salt::fixed(switch[23..43].try_into().unwrap());
        client
            .send(&auth::response(Plugin::CachingSha2, &salt, "secret"))
            .await;
        assert_eq!(client.packets(2).await, ["\\x01\\x03", "OK 02"]);
        client.command(b"\x01").await;
        assert_eq!(client.packets(1).await, ["closed"]);
    }
    server.stop().await;
}

/// The numbers of both layers go on from the file's last packet.
#[tokio::test]
async fn a_file_comes_compressed() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.make_seq(3).await;
    root.query("SET GLOBAL local_infile = 1").await;
    assert_eq!(root.packets(1).await, ["OK 02"]);
    for (flags, algorithm) in BOTH {
        let mut client = Client::squeezed(server.address, (flags | 1 << 7, algorithm)).await;
        client
            .query("DELETE FROM `default`.seq WHERE a >= 100")
            .await;
        client.packets(1).await;
        client
            .query("LOAD DATA LOCAL INFILE 'f' INTO TABLE `default`.seq")
            .await;
        assert_eq!(client.receive().await, b"\xfbf");
        for piece in [&b"100\n101\n10"[..], &b"2\n"[..], b""] {
            client.send(piece).await;
        }
        let done = client.receive().await;
        assert_eq!(done[..2], [0, 3], "{}", done.escape_ascii());
        client.command(b"\x0e").await;
        assert_eq!(client.packets(1).await, ["OK 02"]);
    }
    server.stop().await;
}

/// 17 MB there and back: two packets of the inner layer, and many of the outer one; with bytes that
/// can be packed and with bytes that cannot.
#[tokio::test(flavor = "multi_thread")]
async fn packets_over_16_mib_in_both_layers() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.query("SET GLOBAL max_allowed_packet = 67108864").await;
    assert_eq!(root.packets(1).await, ["OK 02"]);
    let random: String = std::iter::repeat_with(|| char::from(rand::random_range(b'0'..=b'z')))
        .filter(|one| *one != '\\')
        .take(17 << 20)
        .collect();
    let mut plain = Client::root(server.address, WITH_DEPRECATE_EOF).await;
    for value in ["x".repeat(17 << 20), random] {
        let sql = format!("SELECT '{value}'");
        for how in BOTH {
            let mut client = Client::squeezed(server.address, how).await;
            let row = client.text(&sql).await;
            assert!(&row[9..] == value.as_bytes());
        }
        assert!(&plain.text(&sql).await[9..] == value.as_bytes());
    }
    server.stop().await;
}

/// As clients that do not wait for answers: each answer has the numbers of its own command.
#[tokio::test]
async fn pipelined_commands_are_numbered_each_by_itself() {
    let server = Running::start("secret", 20).await;
    for how in BOTH {
        let mut client = Client::squeezed(server.address, how).await;
        let mut writer = PacketWriter::default();
        let mut packed = Vec::new();
        for number in 0..3 {
            writer.set_sequence(0);
            writer.packet(|out| out.extend_from_slice(format!("\x03SELECT {number}").as_bytes()));
            // One packet of the outer layer for each, and then one for two commands.
            if number == 0 {
                put_packed(&mut packed, writer.bytes(), (how.1, 0));
                writer.clear();
            }
        }
        put_packed(&mut packed, writer.bytes(), (how.1, 0));
        client.socket.write_all(&packed).await.unwrap();
        for number in 0..3 {
            client.sequence = 1;
            client.squeeze.as_mut().unwrap().sequence = 1;
            let packets = client.packets(4).await;
            assert_eq!(packets[2], format!("\\x01{number}"));
        }
        // A command in three pieces, each in a packet of its own.
        let command = b"\x0a\0\0\0\x03SELECT 7 ";
        let mut packed = Vec::new();
        for (piece, sequence) in command.chunks(5).zip(0..) {
            put_packed(&mut packed, piece, (how.1, sequence));
        }
        client.socket.write_all(&packed).await.unwrap();
        client.sequence = 1;
        client.squeeze.as_mut().unwrap().sequence = 3;
        assert_eq!(client.packets(4).await[2], "\\x017");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_that_makes_no_sense_ends_with_a_word() {
    let server = Running::start("secret", 20).await;
    // A number that is not the next; a length that is not that of the contents; no contents at all.
    for (packet, wanted) in [
        (&b"\x05\0\0\x03\0\0\0\x01\0\0\0\x0e"[..], "ERR 1156"),
        (b"\x05\0\0\0\x06\0\0\x01\0\0\0\x0e", "ERR 1157"),
        (b"\x05\0\0\0\xff\xff\xff\x01\0\0\0\x0e", "ERR 1157"),
        (b"\0\0\0\0\0\0\0", "ERR 1157"),
    ] {
        for how in BOTH {
            let mut client = Client::squeezed(server.address, how).await;
            client.socket.write_all(packet).await.unwrap();
            client.sequence = 0;
            client.squeeze.as_mut().unwrap().sequence = 0;
            assert_eq!(client.packets(2).await, [wanted, "closed"]);
        }
    }
    // As many nothings as a small packet can stand for.
    let mut client = Client::squeezed(server.address, BOTH[1]).await;
    let mut packed = Vec::new();
    put_packed(&mut packed, &vec![0; 1 << 16], (BOTH[1].1, 0));
    assert!(packed.len() < 1000, "{} bytes", packed.len());
    client.socket.write_all(&packed).await.unwrap();
    client.sequence = 1;
    client.squeeze.as_mut().unwrap().sequence = 1;
    assert_eq!(client.packets(1).await, ["ERR 1047"]);
    server.stop().await;
}

#[tokio::test]
async fn only_what_is_permitted_is_offered() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.query("SET GLOBAL protocol_compression_algorithms = 'zstd'")
        .await;
    assert_eq!(root.packets(1).await, ["OK 02"]);
    let mut client = Client::connect(server.address).await;
    let greeting = client.receive().await;
    let version_end = greeting.iter().position(|byte| *byte == 0).unwrap();
    let low = version_end + 1 + 4 + 9;
    assert_eq!(greeting[low] & 1 << 5, 0, "{}", greeting.escape_ascii());
    assert_eq!(
        greeting[low + 5 + 1] & 1 << 2,
        1 << 2,
        "{}",
        greeting.escape_ascii()
    );
    // One that sets it unasked is not compressed, and so refused.
    for flags in [WITH_DEPRECATE_EOF, WITH_ZLIB] {
        let mut client = Client::login(server.address, Plugin::CachingSha2, flags).await;
        assert_eq!(client.packets(2).await, ["ERR 3922", "closed"]);
    }
    let mut client = Client::squeezed(server.address, (WITH_ZLIB | WITH_ZSTD, BOTH[1].1)).await;
    client.command(b"\x0e").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    server.stop().await;
}
