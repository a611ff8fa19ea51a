//! Guessing passwords: on many connections, with hanging up, of users that are there and that are not.

use std::time::Instant;

use super::*;

impl Client {
    /// Sends a login with a wrong password.
    async fn guess(address: std::net::SocketAddr, user: &str) -> Client {
        let mut client = Client::connect(address).await;
        let salt = salt_of(&client.receive().await);
        let mut hello = Vec::new();
        put_u32(&mut hello, FLAGS);
        hello.extend_from_slice(&[0; 28]);
        hello.extend_from_slice(user.as_bytes());
        let response = auth::response(Plugin::CachingSha2, &salt, "wrong");
        hello.push(0);
        hello.push(u8::try_from(response.len()).unwrap());
        hello.extend_from_slice(&response);
        hello.extend_from_slice(b"caching_sha2_password\0");
        client.send(&hello).await;
        client
    }
}

/// 60 guesses at once, of which every second hangs up: in the first second about eight are answered,
/// and those that wait are not more than a few.
#[tokio::test]
async fn many_at_once_are_answered_slowly() {
    let server = Running::start("secret", 200).await;
    let start = Instant::now();
    let mut guesses = Vec::new();
    for number in 0..60 {
        let user = if number % 3 == 0 { "root" } else { "nobody" };
        let guess = Client::guess(server.address, user).await;
        if number % 2 == 0 {
            guesses.push(guess);
        }
    }
    let answers = guesses.into_iter().map(|mut guess| {
        tokio::spawn(async move {
            let answer = tokio::time::timeout(Duration::from_secs(1), guess.packets(1)).await;
            answer.map_or_else(|_| "waits".to_owned(), |packets| packets[0].clone())
        })
    });
    let answers: Vec<_> = answers.collect();
    let (mut looked_at, mut turned_away, mut waiting) = (0, 0, 0);
    for answer in answers {
        match answer.await.unwrap().as_str() {
            "ERR 1045" => looked_at += 1,
            "ERR 1129" => turned_away += 1,
            "waits" => waiting += 1,
            other => panic!("{other}"),
        }
    }
    // Doubling from 100 ms after five: 5, and then at 0.1, 0.3, 0.7, 1.5, 3.1 s.
    let seconds = start.elapsed().as_secs_f64();
    let most = if seconds < 1.5 { 8 } else { 11 };
    assert!(looked_at <= most, "{looked_at} looks in {seconds} s");
    assert!(0 < turned_away, "{looked_at} {turned_away} {waiting}");
    assert!(waiting <= 17, "{looked_at} {turned_away} {waiting}");
    server.stop().await;
}

/// The right password waits for what is owed too: else who knows the answer's delay knows the answer.
#[tokio::test]
async fn the_right_password_waits_as_long() {
    let server = Running::start("secret", 200).await;
    for _ in 0..7 {
        let mut guess = Client::guess(server.address, "nobody").await;
        assert_eq!(guess.packets(1).await, ["ERR 1045"]);
    }
    // Two delays, of 100 and 200 ms, are over; 400 ms are owed.
    let start = Instant::now();
    Client::root(server.address, FLAGS).await;
    assert!(Duration::from_millis(350) < start.elapsed());
    // Paid.
    let start = Instant::now();
    Client::root(server.address, FLAGS).await;
    assert!(start.elapsed() < Duration::from_millis(350));
    server.stop().await;
}
