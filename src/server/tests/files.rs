//! Files that clients send in the middle of a statement.

use super::*;

const WITH_FILES: u32 = FLAGS | 1 << 7;

impl Client {
    /// A client that is asked for a file, behind the text of a statement that wants it.
    async fn asked_for_file(server: &Running, sql: &str) -> Client {
        let mut client = Client::root(server.address, WITH_FILES).await;
        client.make_seq(3).await;
        client.query("SET GLOBAL local_infile = 1").await;
        assert_eq!(client.packets(1).await, ["OK 02"]);
        client.query(sql).await;
        assert_eq!(client.receive().await, b"\xfbf");
        client
    }
}

/// A server that stops lets statements end, those too that wait for their client.
#[tokio::test]
async fn a_server_that_stops_waits_for_a_file() {
    let server = Running::start("secret", 10).await;
    let sql = "LOAD DATA LOCAL INFILE 'f' INTO TABLE `default`.seq";
    let mut client = Client::asked_for_file(&server, sql).await;
    let mut idle = Client::root(server.address, FLAGS).await;
    client.send(b"100\n").await;
    let stopping = tokio::spawn(server.stop());
    // Whoever is at rest is told, so the server is at it.
    idle.sequence = 0;
    assert_eq!(idle.packets(2).await, ["ERR 1053", "closed"]);
    client.send(b"101\n").await;
    client.send(b"").await;
    let done = client.receive().await;
    assert_eq!(done[..2], [0, 2], "{}", done.escape_ascii());
    client.sequence = 0;
    assert_eq!(client.packets(2).await, ["ERR 1053", "closed"]);
    stopping.await.unwrap();
}
