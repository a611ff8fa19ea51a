//! Logins of other users than root: plug-ins, conditions, limits, TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::sync::Arc;

use rsa::pkcs8::DecodePublicKey;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned, version,
};

use super::*;

/// With `CAN_HANDLE_EXPIRED_PASSWORDS`.
const WITH_SANDBOX: u32 = FLAGS | 1 << 22;

/// `01 03`, then an OK: a login by sha2's fast path.
const FAST: [&str; 2] = ["\\x01\\x03", "OK 02"];

impl Client {
    /// Sends a hello; what comes then is still to be received.
    async fn hello(
        address: SocketAddr,
        who: (&str, &str),
        (plugin, flags): (Plugin, u32),
    ) -> Client {
        let (mut client, salt) = Client::greeted(address).await;
        let response = auth::response(plugin, &salt, who.1);
        let hello = hello_packet(who.0, &response, (plugin.name(), flags));
        client.send(&hello).await;
        client
    }

    async fn greeted(address: SocketAddr) -> (Client, Salt) {
        let mut client = Client::connect(address).await;
        let greeting = client.receive().await;
        assert_eq!(greeting[0], 10, "{}", greeting.escape_ascii());
        let salt = salt_of(&greeting);
        (client, salt)
    }

    async fn run(&mut self, sql: &str) {
        self.query(sql).await;
        let answer = self.receive().await;
        assert_eq!(answer[0], 0, "{sql}: {}", answer.escape_ascii());
    }

    async fn is_told(&mut self, sql: &str, errno: u16) {
        self.query(sql).await;
        assert_eq!(self.packets(1).await, [format!("ERR {errno}")], "{sql}");
    }

    async fn message(&mut self) -> String {
        String::from_utf8_lossy(&self.receive().await).into_owned()
    }

    async fn value(&mut self, sql: &str) -> String {
        self.query(sql).await;
        assert_eq!(self.receive().await, [1], "{sql}");
        self.packets(2).await;
        let row = self.receive().await;
        self.packets(1).await;
        String::from_utf8_lossy(&row[1..]).into_owned()
    }
}

fn hello_packet(user: &str, response: &[u8], (plugin, flags): (&str, u32)) -> Vec<u8> {
    let mut hello = Vec::new();
    put_u32(&mut hello, flags);
    hello.extend_from_slice(&[0; 28]);
    hello.extend_from_slice(user.as_bytes());
    hello.push(0);
    hello.push(u8::try_from(response.len()).unwrap());
    hello.extend_from_slice(response);
    hello.extend_from_slice(plugin.as_bytes());
    hello.push(0);
    hello
}

const SHA2: (Plugin, u32) = (Plugin::CachingSha2, FLAGS);
const NATIVE: (Plugin, u32) = (Plugin::Native, FLAGS);

#[tokio::test]
async fn each_account_has_its_plug_ins() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER twice IDENTIFIED BY 'pw'").await;
    root.run("CREATE USER old IDENTIFIED WITH mysql_native_password BY 'pw'")
        .await;
    root.run("CREATE USER none").await;
    let mut both = Client::hello(server.address, ("twice", "pw"), SHA2).await;
    assert_eq!(both.packets(2).await, FAST);
    assert_eq!(both.value("SELECT CURRENT_USER()").await, "twice@%");
    assert_eq!(both.value("SELECT USER()").await, "twice@localhost");
    let mut both = Client::hello(server.address, ("twice", "pw"), NATIVE).await;
    assert_eq!(both.packets(1).await, ["OK 02"]);
    let mut none = Client::hello(server.address, ("none", ""), SHA2).await;
    assert_eq!(none.packets(1).await, ["OK 02"]);
    // Asked for another answer.
    let mut old = Client::hello(server.address, ("old", "pw"), SHA2).await;
    let switch = old.receive().await;
    assert!(
        switch.starts_with(b"\xfemysql_native_password\0"),
        "{}",
        switch.escape_ascii()
    );
    let salt = Salt::fixed(switch[23..43].try_into().unwrap());
    old.send(&auth::response(Plugin::Native, &salt, "pw")).await;
    assert_eq!(old.packets(1).await, ["OK 02"]);
    // A changed password stays with the plug-in.
    root.run("ALTER USER old IDENTIFIED BY 'new'").await;
    let mut old = Client::hello(server.address, ("old", "new"), NATIVE).await;
    assert_eq!(old.packets(1).await, ["OK 02"]);
    server.stop().await;
}

/// What is logged of a login is on one line, and not long, whatever name it came with.
#[tokio::test]
async fn a_strange_name_is_logged_as_text() {
    let server = Running::start("secret", 20).await;
    let name = format!("o'n\n\x1b[31m{}", "x".repeat(500));
    let mut client = Client::hello(server.address, (&name, "no"), NATIVE).await;
    let text = client.message().await;
    let name: String = name.chars().take(64).collect();
    assert!(
        text.contains(&format!("user '{name}'@'localhost'")),
        "{text}"
    );
    let text = text.trim_start_matches(|first| first != 'A');
    let error = crate::error::Error::new(crate::error::Code::AccessDenied, text);
    let logged = crate::server::wire::Gone::Refused(error).to_string();
    assert!(
        logged.contains("user 'o'n\\n\\u{1b}[31mxxx") && !logged.contains(char::is_control),
        "{logged}"
    );
    server.stop().await;
}

/// What MySQL stores of `secret`, as this server writes it: the hash is all that is known.
#[tokio::test]
async fn a_hash_from_elsewhere_takes_the_password_once() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER maker IDENTIFIED WITH caching_sha2_password BY 'pw'")
        .await;
    let made = root.value("SHOW CREATE USER maker").await;
    let hash = made.split(" AS ").nth(1).unwrap();
    let hash = hash.split(" REQUIRE").next().unwrap();
    root.run(&format!(
        "CREATE USER moved IDENTIFIED WITH 'caching_sha2_password' AS {hash}"
    ))
    .await;
    for (password, wanted) in [("wrong", "ERR 1045"), ("pw", "OK 02")] {
        let (mut client, salt) = Client::greeted(server.address).await;
        let response = auth::response(Plugin::CachingSha2, &salt, password);
        client
            .send(&hello_packet(
                "moved",
                &response,
                (Plugin::CachingSha2.name(), FLAGS),
            ))
            .await;
        assert_eq!(client.receive().await, [1, 4]);
        client.send(&[2]).await;
        let key = client.receive().await;
        assert_eq!(key[0], 1);
        let pem = String::from_utf8(key[1..].to_vec()).unwrap();
        let public = rsa::RsaPublicKey::from_public_key_pem(&pem).unwrap();
        let sent = auth::unsalted([password.as_bytes(), b"\0"].concat(), &salt);
        let padding = rsa::Oaep::new::<sha1::Sha1>();
        let sent = public
            .encrypt(&mut rsa::rand_core::OsRng, padding, &sent)
            .unwrap();
        client.send(&sent).await;
        assert_eq!(client.packets(1).await, [wanted]);
    }
    // From now on the fast path knows it.
    let mut again = Client::hello(server.address, ("moved", "pw"), SHA2).await;
    assert_eq!(again.packets(2).await, FAST);
    // Who is wrong is asked as if nobody had logged in, which is as users that do not exist are.
    let mut wrong = Client::hello(server.address, ("moved", "no"), SHA2).await;
    assert_eq!(wrong.receive().await, [1, 4]);
    // It is forgotten with the password, and by FLUSH.
    root.run("FLUSH PRIVILEGES").await;
    let mut slow = Client::hello(server.address, ("moved", "pw"), SHA2).await;
    assert_eq!(slow.receive().await, [1, 4]);
    // Something that is not encrypted at all.
    slow.send(b"pw\0").await;
    assert_eq!(slow.packets(1).await, ["ERR 1045"]);
    server.stop().await;
}

#[tokio::test]
async fn refusals_tell_nothing_to_strangers() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER a IDENTIFIED BY 'pw' ACCOUNT LOCK")
        .await;
    for user in ["a", "nobody"] {
        let mut client = Client::hello(server.address, (user, "no"), SHA2).await;
        let text = client.message().await;
        let wanted = format!("Access denied for user '{user}'@'localhost' (using password: YES)");
        assert!(text.ends_with(&wanted), "{text}");
    }
    let mut client = Client::hello(server.address, ("a", "pw"), SHA2).await;
    assert_eq!(client.receive().await, [1, 3]);
    let text = client.message().await;
    assert!(
        text.ends_with("Access denied for user 'a'@'localhost'. Account is locked."),
        "{text}"
    );
    server.stop().await;
}

#[tokio::test]
async fn conditions_of_accounts() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER tls IDENTIFIED BY 'pw' REQUIRE SSL")
        .await;
    root.run("CREATE USER elsewhere@'10.%' IDENTIFIED BY 'pw'")
        .await;
    for user in ["tls", "elsewhere"] {
        let mut client = Client::hello(server.address, (user, "pw"), NATIVE).await;
        assert_eq!(client.packets(1).await, ["ERR 1045"], "{user}");
    }
    root.run("CREATE USER old IDENTIFIED BY 'pw' PASSWORD EXPIRE")
        .await;
    let mut client = Client::hello(server.address, ("old", "pw"), NATIVE).await;
    assert_eq!(client.packets(1).await, ["ERR 1862"]);
    let mut client = Client::hello(
        server.address,
        ("old", "pw"),
        (Plugin::Native, WITH_SANDBOX),
    )
    .await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    client.is_told("SELECT 1", 1820).await;
    client.command(b"\x16SELECT 1").await;
    assert_eq!(client.packets(1).await, ["ERR 1820"]);
    client.run("ALTER USER USER() IDENTIFIED BY 'new'").await;
    assert_eq!(client.value("SELECT 1").await, "1");
    let mut client = Client::hello(server.address, ("old", "new"), NATIVE).await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    root.run("SET GLOBAL require_secure_transport = ON").await;
    let mut client = Client::hello(server.address, ("old", "new"), NATIVE).await;
    assert_eq!(client.packets(1).await, ["ERR 3159"]);
    server.stop().await;
}

#[tokio::test]
async fn connections_of_one_account_are_counted() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER few IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 1")
        .await;
    root.run("CREATE USER some IDENTIFIED BY 'pw'").await;
    let mut first = Client::hello(server.address, ("few", "pw"), NATIVE).await;
    assert_eq!(first.packets(1).await, ["OK 02"]);
    let mut second = Client::hello(server.address, ("few", "pw"), NATIVE).await;
    let text = second.message().await;
    let wanted = "User 'few' has exceeded the 'max_user_connections' resource (current value: 1)";
    assert!(text.ends_with(wanted), "{text}");
    // Changing to itself gives the seat back first.
    let mut change = b"\x11few\0\0\0".to_vec();
    change.extend_from_slice(&[45, 0]);
    change.extend_from_slice(b"mysql_native_password\0");
    first.command(&change).await;
    let switch = first.receive().await;
    let salt = Salt::fixed(switch[23..43].try_into().unwrap());
    first
        .send(&auth::response(Plugin::Native, &salt, "pw"))
        .await;
    assert_eq!(first.packets(1).await, ["OK 02"]);
    drop(first);
    while 1 < server.shared.processes().count() {
        tokio::task::yield_now().await;
    }
    root.run("SET GLOBAL max_user_connections = 2").await;
    let mut held = Vec::new();
    for wanted in ["OK 02", "OK 02", "ERR 1203"] {
        let mut client = Client::hello(server.address, ("some", "pw"), NATIVE).await;
        assert_eq!(client.packets(1).await, [wanted]);
        held.push(client);
    }
    server.stop().await;
}

#[tokio::test]
async fn the_last_place_is_for_administrators() {
    let server = Running::start("secret", 1).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER a IDENTIFIED BY 'pw'").await;
    let mut client = Client::hello(server.address, ("a", "pw"), NATIVE).await;
    assert_eq!(client.packets(1).await, ["ERR 1040"]);
    assert_eq!(client.packets(1).await, ["closed"]);
    while 1 < server.shared.processes().count() {
        tokio::task::yield_now().await;
    }
    root.run("GRANT CONNECTION_ADMIN ON *.* TO a").await;
    let mut client = Client::hello(server.address, ("a", "pw"), NATIVE).await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    let id = root.value("SELECT CONNECTION_ID()").await;
    client.run(&format!("KILL QUERY {id}")).await;
    server.stop().await;
}

#[tokio::test]
async fn refresh_asks_for_what_flush_asks_for() {
    let server = Running::start("secret", 10).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER a IDENTIFIED BY 'pw'").await;
    let mut a = Client::hello(server.address, ("a", "pw"), NATIVE).await;
    assert_eq!(a.packets(1).await, ["OK 02"]);
    // As `mysqladmin refresh`, `flush-tables`, `flush-privileges` and `flush-status` send it.
    for bits in [0x2E, 0x04, 0x01, 0x10] {
        root.command(&[0x07, bits]).await;
        assert_eq!(root.packets(1).await, ["OK 02"]);
        a.command(&[0x07, bits]).await;
        assert_eq!(a.packets(1).await, ["ERR 1227"]);
    }
    server.stop().await;
}

#[tokio::test]
async fn people_may_think_for_longer() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("SET GLOBAL interactive_timeout = 123").await;
    let mut program = Client::root(server.address, FLAGS).await;
    assert_eq!(program.value("SELECT @@wait_timeout").await, "60");
    let mut person = Client::root(server.address, FLAGS | 1 << 10).await;
    assert_eq!(person.value("SELECT @@wait_timeout").await, "123");
    server.stop().await;
}

#[tokio::test]
async fn only_what_one_may_see_is_shown() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE DATABASE seen").await;
    root.run("CREATE DATABASE unseen").await;
    root.run("CREATE TABLE seen.t (a INT PRIMARY KEY)").await;
    root.run("CREATE TABLE seen.u (a INT PRIMARY KEY)").await;
    root.run("CREATE USER a IDENTIFIED BY 'pw'").await;
    root.run("GRANT SELECT ON seen.t TO a").await;
    root.run("CREATE VIEW seen.v AS SELECT * FROM seen.u").await;
    root.run("CREATE VIEW seen.w AS SELECT * FROM seen.u").await;
    root.run("GRANT SELECT ON seen.v TO a").await;
    let mut a = Client::hello(server.address, ("a", "pw"), NATIVE).await;
    assert_eq!(a.packets(1).await, ["OK 02"]);
    for (sql, wanted) in [
        (
            "SELECT GROUP_CONCAT(SCHEMA_NAME ORDER BY 1) FROM information_schema.SCHEMATA",
            "information_schema,performance_schema,seen",
        ),
        (
            "SELECT GROUP_CONCAT(TABLE_NAME ORDER BY 1) FROM information_schema.TABLES WHERE TABLE_SCHEMA = \
             'seen'",
            "t,v",
        ),
        ("SELECT VIEW_DEFINITION FROM information_schema.VIEWS", ""),
        (
            "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_NAME = 'u'",
            "0",
        ),
        (
            "SELECT GROUP_CONCAT(USER) FROM information_schema.PROCESSLIST",
            "a",
        ),
        (
            "SELECT GROUP_CONCAT(DISTINCT GRANTEE) FROM information_schema.TABLE_PRIVILEGES",
            "'a'@'%'",
        ),
        (
            "SELECT COUNT(*) FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Uptime'",
            "1",
        ),
    ] {
        assert_eq!(a.value(sql).await, wanted, "{sql}");
    }
    a.is_told("SELECT * FROM mysql.user", 1142).await;
    a.run("USE seen").await;
    a.is_told("USE unseen", 1044).await;
    assert_eq!(a.value("SHOW TABLES LIKE 't'").await, "t");
    // The database of a login is looked at, too.
    a.command(b"\x02unseen").await;
    assert_eq!(a.packets(1).await, ["ERR 1044"]);
    a.command(b"\x04u\0").await;
    assert_eq!(a.packets(1).await, ["ERR 1142"]);
    server.stop().await;
}

/// A client that takes any certificate.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A blocking client over TLS.
struct Encrypted {
    stream: StreamOwned<ClientConnection, StdTcpStream>,
    sequence: u8,
}

impl Encrypted {
    /// Up to the hello, which is sent behind TLS.
    fn connect(
        address: SocketAddr,
        tls: &'static rustls::SupportedProtocolVersion,
    ) -> (Encrypted, Salt) {
        let (socket, connection, salt) = Encrypted::request(address, tls);
        let stream = StreamOwned::new(connection, socket);
        (
            Encrypted {
                stream,
                sequence: 2,
            },
            salt,
        )
    }

    /// Up to the request for TLS, which is sent together with what begins the handshake.
    fn request(
        address: SocketAddr,
        tls: &'static rustls::SupportedProtocolVersion,
    ) -> (StdTcpStream, ClientConnection, Salt) {
        let mut socket = StdTcpStream::connect(address).unwrap();
        let mut header = [0; 4];
        socket.read_exact(&mut header).unwrap();
        let mut greeting = vec![0; usize::from(header[0])];
        socket.read_exact(&mut greeting).unwrap();
        let salt = salt_of(&greeting);
        let mut request = vec![32, 0, 0, 1];
        put_u32(&mut request, FLAGS | 1 << 11);
        request.extend_from_slice(&[0; 28]);
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[tls])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Trusting))
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
        // The first record may come in one piece with the request.
        connection.write_tls(&mut request).unwrap();
        socket.write_all(&request).unwrap();
        (socket, connection, salt)
    }

    fn send(&mut self, payload: &[u8]) {
        let mut writer = PacketWriter::default();
        writer.set_sequence(self.sequence);
        writer.packet(|out| out.extend_from_slice(payload));
        self.stream.write_all(writer.bytes()).unwrap();
        self.stream.flush().unwrap();
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).unwrap();
        self.sequence = header[3].wrapping_add(1);
        let [low, middle, high, _] = header.map(usize::from);
        let mut payload = vec![0; low | middle << 8 | high << 16];
        self.stream.read_exact(&mut payload).unwrap();
        payload
    }

    fn value(&mut self, sql: &str) -> Vec<u8> {
        self.sequence = 0;
        self.send(&[b"\x03", sql.as_bytes()].concat());
        let first = self.receive();
        assert!(first.len() == 1, "{sql}: {}", first.escape_ascii());
        for _ in 0..=first[0] {
            self.receive();
        }
        let row = self.receive();
        self.receive();
        row
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_tls_everything_is_as_without() {
    let server = Running::start("secret", 20).await;
    let mut root = Client::root(server.address, FLAGS).await;
    root.run("CREATE USER tls IDENTIFIED WITH caching_sha2_password BY 'pw' REQUIRE SSL")
        .await;
    root.run("SET GLOBAL require_secure_transport = ON").await;
    let address = server.address;
    let talk = move || {
        for (wanted, tls) in [("TLSv1.2", &version::TLS12), ("TLSv1.3", &version::TLS13)] {
            let (mut client, salt) = Encrypted::connect(address, tls);
            let response = auth::response(Plugin::CachingSha2, &salt, "pw");
            client.send(&hello_packet(
                "tls",
                &response,
                ("caching_sha2_password", FLAGS | 1 << 11),
            ));
            if wanted == "TLSv1.2" {
                // The slow way, in clear behind TLS.
                assert_eq!(client.receive(), [1, 4]);
                client.send(b"pw\0");
            } else {
                assert_eq!(client.receive(), [1, 3]);
            }
            assert_eq!(shown(&client.receive()), "OK 02");
            let version = client.value("SHOW STATUS LIKE 'Ssl_version'");
            assert!(
                version.ends_with(wanted.as_bytes()),
                "{}",
                version.escape_ascii()
            );
            let cipher = client.value("SHOW STATUS LIKE 'Ssl_cipher'");
            let cipher = String::from_utf8_lossy(&cipher[1..]).into_owned();
            assert!(
                cipher.contains("AES") || cipher.contains("CHACHA"),
                "{cipher}"
            );
            // Much in both directions.
            let text = "x".repeat(900_000);
            let echoed = client.value(&format!("SELECT '{text}'"));
            assert!(echoed.ends_with(text.as_bytes()));
        }
        // A hello in clear behind the request for TLS.
        let mut socket = StdTcpStream::connect(address).unwrap();
        let mut request = vec![32, 0, 0, 1];
        put_u32(&mut request, FLAGS | 1 << 11);
        request.extend_from_slice(&[0; 28]);
        request.extend_from_slice(b"\x20\0\0\x02no handshake");
        socket.write_all(&request).unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
    };
    tokio::task::spawn_blocking(talk).await.unwrap();
    server.stop().await;
}

/// It would take a packet for a part of the handshake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_in_a_handshake_is_told_nothing_when_the_server_stops() {
    let server = Running::start("secret", 20).await;
    let address = server.address;
    let begin = move || {
        let (mut socket, ..) = Encrypted::request(address, &version::TLS12);
        let mut first = [0; 1];
        // The server answers the handshake, so it is in it.
        socket.read_exact(&mut first).unwrap();
        socket
    };
    let mut socket = tokio::task::spawn_blocking(begin).await.unwrap();
    server.stop().await;
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    let shows = |text: &[u8]| rest.windows(text.len()).any(|bytes| bytes == text);
    assert!(!shows(b"shutdown"), "{}", rest.escape_ascii());
}
