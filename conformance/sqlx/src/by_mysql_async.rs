//! The checklist by mysql_async.

use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts, OptsBuilder, Pool, SslOpts, TxOpts, Value};

use crate::{check, equal, errors, Checked, Place};

fn options(place: &Place) -> OptsBuilder {
    OptsBuilder::default()
        .ip_or_hostname(place.host.clone())
        .tcp_port(place.port)
        .user(Some("root"))
        .db_name(Some(place.database.clone()))
        .prefer_socket(Some(false))
}

async fn open(place: &Place) -> Result<Conn, Error> {
    Conn::new(options(place)).await
}

/// All checks; whether one failed.
pub async fn run(place: &Place) -> bool {
    println!("version mysql_async 0.37.1");
    let mut failed = false;
    failed |= check("connect", connect(place)).await;
    failed |= check("connect-tls", connect_tls(place)).await;
    failed |= check("login-native", log_in(place, &place.native_user)).await;
    failed |= check("login-sha2", log_in(place, &place.sha2_user)).await;
    failed |= check("text", text(place)).await;
    failed |= check("prepared", prepared(place)).await;
    failed |= check("nulls", nulls(place)).await;
    failed |= check("empty-result", empty_result(place)).await;
    failed |= check("value-20mb", large_value(place)).await;
    failed |= check("multi-statement", multi_statement(place)).await;
    failed |= check("stream-1m", stream(place)).await;
    failed |= check("errors", all_errors(place)).await;
    failed |= check("kill", kill(place)).await;
    failed |= check("transaction", transaction(place)).await;
    failed |= check("batch-insert", batch_insert(place)).await;
    failed |= check("metadata", metadata(place)).await;
    failed |= check("reconnect", reconnect(place)).await;
    failed
}

async fn connect(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    equal(connection.query_first("SELECT 1 + 1").await?, Some(2))?;
    equal(connection.server_version(), (8, 0, 40))
}

async fn connect_tls(place: &Place) -> Checked {
    let tls = match &place.certificate {
        Some(path) => SslOpts::default().with_root_certs(vec![std::path::PathBuf::from(path).into()]),
        None => SslOpts::default().with_danger_accept_invalid_certs(true),
    };
    let mut connection = Conn::new(options(place).ssl_opts(Some(tls))).await?;
    let row: Option<(String, String)> = connection.query_first("SHOW STATUS LIKE 'Ssl_cipher'").await?;
    equal(row.is_some_and(|(_, cipher)| !cipher.is_empty()), true)
}

async fn log_in(place: &Place, user: &str) -> Checked {
    // Without TLS: the RSA key, then the fast path.
    for _ in 0..2 {
        let with = options(place).user(Some(user)).pass(Some(place.password.clone()));
        let mut connection = Conn::new(with).await?;
        equal(connection.query_first("SELECT CURRENT_USER()").await?, Some(format!("{user}@%")))?;
        connection.disconnect().await?;
    }
    match Conn::new(options(place).user(Some(user)).pass(Some("wrong"))).await {
        Err(Error::Server(error)) => equal(error.code, 1045),
        other => Err(format!("a wrong password: {:?}", other.map(drop)).into()),
    }
}

async fn text(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    connection.query_drop("CREATE TABLE texts (id INT PRIMARY KEY, v VARCHAR(100))").await?;
    connection.query_drop("INSERT INTO texts VALUES (1, '日本語 😀'), (2, 'it''s') -- two").await?;
    equal(connection.affected_rows(), 2)?;
    let found: Vec<String> = connection.query("/* c */ SELECT v FROM texts WHERE id IN (1, 2) # end").await?;
    equal(found, vec!["日本語 😀".to_owned(), "it's".to_owned()])
}

async fn prepared(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    connection.query_drop("CREATE TABLE prepared (id INT PRIMARY KEY, n BIGINT, s VARCHAR(100))").await?;
    let rows = [(1, Some(1_i64 << 62), Some("one")), (2, Some(-5), Some("zwei 😀")), (3, None, None), (4, Some(0), Some(""))];
    let insert = connection.prep("INSERT INTO prepared VALUES (?, ?, ?)").await?;
    for row in rows {
        connection.exec_drop(&insert, row).await?;
    }
    connection.close(insert).await?;
    for (id, n, s) in rows {
        let found: Option<(Option<i64>, Option<String>)> = connection.exec_first("SELECT n, s FROM prepared WHERE id = ?", (id,)).await?;
        equal(found, Some((n, s.map(str::to_owned))))?;
    }
    Ok(())
}

async fn nulls(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let query = "SELECT * FROM conformance.types WHERE id = ?";
    let row: Option<mysql_async::Row> = connection.exec_first(query, (3,)).await?;
    let values = row.map(mysql_async::Row::unwrap).unwrap_or_default();
    equal(values.iter().skip(1).all(|value| *value == Value::NULL), true)?;
    equal(connection.exec_first("SELECT ? IS NULL", (None::<i32>,)).await?, Some(1))
}

async fn empty_result(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let mut result = connection.query_iter("SELECT id, c_text FROM conformance.types WHERE id = 9").await?;
    let names: Vec<_> = result.columns_ref().iter().map(|column| column.name_str().into_owned()).collect();
    equal(names, vec!["id".to_owned(), "c_text".to_owned()])?;
    let rows: Vec<mysql_async::Row> = result.collect().await?;
    equal(rows.len(), 0)
}

async fn large_value(place: &Place) -> Checked {
    let value: Vec<u8> = (0..20_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut connection = open(place).await?;
    let found: Option<Vec<u8>> = connection.exec_first("SELECT ?", (value.clone(),)).await?;
    equal(found == Some(value), true)
}

async fn multi_statement(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let mut result = connection.query_iter("SELECT 1; SET @a = 5; SELECT @a").await?;
    let first: Vec<i64> = result.collect().await?;
    let second: Vec<i64> = result.collect().await?;
    let third: Vec<i64> = result.collect().await?;
    drop(result);
    equal((first, second, third), (vec![1], vec![], vec![5]))?;
    let failed = connection.query_drop("SELECT 1; SELECT nosuch; SELECT 3").await;
    equal(failed.is_err(), true)?;
    equal(connection.query_first("SELECT 1").await?, Some(1))
}

async fn stream(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let result = connection.exec_iter("SELECT id FROM conformance.million WHERE id > ?", (0,)).await?;
    let sum = result.reduce_and_drop((0_u64, 0_i64), |(count, sum), id: i64| (count + 1, sum + id)).await?;
    equal(sum, (1_000_000, 500_000_500_000))
}

async fn all_errors(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    for (errno, state, sql) in errors() {
        let Err(Error::Server(error)) = connection.query_drop(sql.as_str()).await else {
            return Err(format!("no error, expected {errno}: {sql}").into());
        };
        equal((error.code, error.state), (errno, state))?;
        connection.ping().await?;
    }
    Ok(())
}

async fn kill(place: &Place) -> Checked {
    let (mut victim, mut killer) = (open(place).await?, open(place).await?);
    let id = victim.id();
    let began = Instant::now();
    let sleeping = tokio::spawn(async move {
        let slept = victim.query_drop("SELECT SLEEP(30)").await;
        (victim, slept)
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    killer.query_drop(format!("KILL QUERY {id}")).await?;
    let (mut victim, _) = sleeping.await?;
    equal(began.elapsed() < Duration::from_secs(10), true)?;
    victim.ping().await?;
    killer.query_drop(format!("KILL {id}")).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    equal(victim.ping().await.is_err(), true)
}

async fn transaction(place: &Place) -> Checked {
    let (mut own, mut other) = (open(place).await?, open(place).await?);
    other.query_drop("CREATE TABLE moved (id INT PRIMARY KEY)").await?;
    let count = "SELECT COUNT(*) FROM moved WHERE id > 0";
    let mut begun = own.start_transaction(TxOpts::default()).await?;
    begun.query_drop("INSERT INTO moved VALUES (1)").await?;
    equal(other.query_first(count).await?, Some(0))?;
    begun.rollback().await?;
    let mut begun = own.start_transaction(TxOpts::default()).await?;
    begun.query_drop("INSERT INTO moved VALUES (2)").await?;
    begun.commit().await?;
    equal(other.query_first(count).await?, Some(1))
}

async fn batch_insert(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    connection.query_drop("CREATE TABLE batch (id INT PRIMARY KEY, v VARCHAR(40))").await?;
    let mut begun = connection.start_transaction(TxOpts::default()).await?;
    let rows = (0..10_000).map(|n| (n, format!("row {n}")));
    begun.exec_batch("INSERT INTO batch (id, v) VALUES (?, ?)", rows).await?;
    begun.commit().await?;
    equal(connection.query_first("SELECT COUNT(*) FROM batch WHERE id >= 0").await?, Some(10_000))
}

async fn metadata(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let statement = connection.prep("SELECT t.id AS n, c_ubig FROM conformance.types t WHERE id = ?").await?;
    let found: Vec<_> = statement.columns().iter().map(|column| {
        let names = [column.name_str(), column.org_name_str(), column.table_str(), column.org_table_str(), column.schema_str()];
        names.map(|name| name.into_owned()).join(".")
    }).collect();
    equal(found, vec!["n.id.t.types.conformance".to_owned(), "c_ubig.c_ubig.t.types.conformance".to_owned()])
}

async fn reconnect(place: &Place) -> Checked {
    let pool = Pool::new(Opts::from(options(place)));
    let mut connection = pool.get_conn().await?;
    connection.query_drop("SET SESSION wait_timeout = 1").await?;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    equal(connection.ping().await.is_err(), true)?;
    drop(connection);
    let mut connection = pool.get_conn().await?;
    equal(connection.query_first("SELECT 1").await?, Some(1))?;
    drop(connection);
    pool.disconnect().await?;
    Ok(())
}
