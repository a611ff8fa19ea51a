//! Reports of progress: who gets them, and how they look.

use super::*;

const NAMED: u32 = FLAGS | 1 << 20;
const WITH_PROGRESS: u32 = NAMED | 1 << 29;

/// The first report of a build that waits for another one.
const WAITS: &[u8] =
    b"\xff\xff\xff\x01\x01\x01\0\0\0\x2ewaiting for another index build: default.seq.i";

impl Client {
    /// Skips reports; how many there were, and what came then.
    async fn answer_after_reports(&mut self) -> (usize, String) {
        let mut reports_count = 0;
        loop {
            match shown(&self.receive().await) {
                report if report == "ERR 65535" => reports_count += 1,
                answer => return (reports_count, answer),
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_asked_is_told_how_far_a_build_is() {
    let server = Running::start("secret", 10).await;
    let mut client = Client::root(server.address, WITH_PROGRESS).await;
    client.make_seq(300).await;
    let turn = server.shared.backfill().hold().await;
    client.query("CREATE INDEX i ON `default`.seq (a)").await;
    let report = client.receive().await;
    assert_eq!(report, WAITS, "{}", report.escape_ascii());
    drop(turn);
    assert_eq!(client.answer_after_reports().await.1, "OK 02");

    // A prepared statement, and an error as its answer.
    client.query("DROP INDEX i ON `default`.seq").await;
    client.packets(1).await;
    client
        .command(b"\x16ALTER TABLE `default`.seq ADD INDEX i (a), ADD INDEX j (a)")
        .await;
    assert_eq!(client.receive().await[0], 0);
    let turn = server.shared.backfill().hold().await;
    client.command(b"\x17\x01\0\0\0\0\x01\0\0\0").await;
    let report = client.receive().await;
    assert_eq!(report[3..9], [1, 1, 2, 0, 0, 0]);
    let mut other = Client::root(server.address, FLAGS).await;
    other.query("KILL QUERY 1").await;
    assert_eq!(other.packets(1).await, ["OK 02"]);
    assert_eq!(client.answer_after_reports().await.1, "ERR 1317");
    drop(turn);
    client.command(b"\x0e").await;
    assert_eq!(client.packets(1).await, ["OK 02"]);
    server.stop().await;
}

#[tokio::test]
async fn other_clients_are_told_nothing() {
    let server = Running::start("secret", 10).await;
    // Bit 29 without the name of the library that knows it, and the name without the bit.
    for flags in [FLAGS | 1 << 29, NAMED] {
        let mut client = Client::root(server.address, flags).await;
        client.query("DROP TABLE IF EXISTS `default`.seq").await;
        client.packets(1).await;
        client.make_seq(300).await;
        let turn = server.shared.backfill().hold().await;
        client.query("CREATE INDEX i ON `default`.seq (a)").await;
        // It is waiting when others can see that it does.
        let processes = server.shared.processes();
        let waits = || {
            processes
                .list()
                .iter()
                .any(|row| row.state.starts_with("waiting"))
        };
        while !waits() {
            tokio::task::yield_now().await;
        }
        drop(turn);
        assert_eq!(client.packets(1).await, ["OK 02"]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_waited_for_by_nobody() {
    let server = Running::start("secret", 10).await;
    let socket = Arc::new(TcpStream::connect(server.address).await.unwrap());
    let mut wire = crate::server::wire::Wire::new(socket, Arc::default());
    let report = crate::protocol::reply::Progress {
        info: "x".repeat(2000),
        ..Default::default()
    };
    // More than any socket holds: the server at the other end waits for a hello.
    for _ in 0..20_000 {
        wire.report(&report);
    }
    assert!(
        wire.out.bytes_count() < 5000,
        "only what was half sent is kept"
    );
    server.stop().await;
}
