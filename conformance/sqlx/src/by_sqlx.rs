//! The checklist by sqlx, which prepares every statement with parameters.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlPoolOptions, MySqlSslMode};
use sqlx::types::chrono::{NaiveDate, NaiveDateTime};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Connection, Executor, Row, TypeInfo};

use crate::{check, equal, errors, Checked, Place};

fn options(place: &Place) -> MySqlConnectOptions {
    MySqlConnectOptions::new()
        .host(&place.host)
        .port(place.port)
        .username("root")
        .database(&place.database)
        .ssl_mode(MySqlSslMode::Disabled)
}

async fn open(place: &Place) -> Result<MySqlConnection, sqlx::Error> {
    options(place).connect().await
}

/// All checks; whether one failed.
pub async fn run(place: &Place) -> bool {
    println!("version sqlx 0.9.0");
    let mut failed = false;
    failed |= check("connect", connect(place)).await;
    failed |= check("connect-tls", connect_tls(place)).await;
    failed |= check("login-native", log_in(place, &place.native_user, false)).await;
    failed |= check("login-sha2", log_in(place, &place.sha2_user, true)).await;
    failed |= check("text", text(place)).await;
    failed |= check("prepared", prepared(place)).await;
    failed |= check("types-prepared", types(place)).await;
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
    let two: i64 = sqlx::query_scalar("SELECT 1 + 1").fetch_one(&mut open(place).await?).await?;
    equal(two, 2)
}

fn with_tls(place: &Place) -> MySqlConnectOptions {
    match &place.certificate {
        Some(path) => options(place).ssl_mode(MySqlSslMode::VerifyCa).ssl_ca(path),
        None => options(place).ssl_mode(MySqlSslMode::Required),
    }
}

async fn connect_tls(place: &Place) -> Checked {
    let mut connection = with_tls(place).connect().await?;
    let row = connection.fetch_one("SHOW STATUS LIKE 'Ssl_cipher'").await?;
    equal(row.try_get::<String, _>(1)?.is_empty(), false)
}

async fn log_in(place: &Place, user: &str, tls: bool) -> Checked {
    let base = if tls { with_tls(place) } else { options(place) };
    let mut connection = base.clone().username(user).password(&place.password).connect().await?;
    let found: String = sqlx::query_scalar("SELECT CURRENT_USER()").fetch_one(&mut connection).await?;
    equal(found, format!("{user}@%"))?;
    if tls {
        // The fast path, and the RSA key, without TLS.
        options(place).username(user).password(&place.password).connect().await?;
    }
    match base.username(user).password("wrong").connect().await {
        Err(sqlx::Error::Database(error)) => equal(error.code().as_deref(), Some("28000")),
        other => Err(format!("a wrong password: {:?}", other.map(drop)).into()),
    }
}

async fn text(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    connection.execute("CREATE TABLE texts (id INT PRIMARY KEY, v VARCHAR(100))").await?;
    let done = connection.execute("INSERT INTO texts VALUES (1, '日本語 😀'), (2, 'it''s') -- two").await?;
    equal(done.rows_affected(), 2)?;
    let rows = connection.fetch_all("/* c */ SELECT v FROM texts WHERE id IN (1, 2) # end").await?;
    let found: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    equal(found, vec!["日本語 😀".to_owned(), "it's".to_owned()])
}

async fn prepared(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    connection.execute("CREATE TABLE prepared (id INT PRIMARY KEY, n BIGINT, s VARCHAR(100))").await?;
    let rows = [(1, Some(1_i64 << 62), Some("one")), (2, Some(-5), Some("zwei 😀")), (3, None, None), (4, Some(0), Some(""))];
    for (id, n, s) in rows {
        let insert = sqlx::query("INSERT INTO prepared VALUES (?, ?, ?)").bind(id).bind(n).bind(s);
        insert.execute(&mut connection).await?;
    }
    for (id, n, s) in rows {
        let query = sqlx::query_as("SELECT n, s FROM prepared WHERE id = ?").bind(id);
        let found: (Option<i64>, Option<String>) = query.fetch_one(&mut connection).await?;
        equal(found, (n, s.map(str::to_owned)))?;
    }
    connection.close().await?;
    Ok(())
}

/// As many as a tuple may have that can be compared; the others are in [`others`].
type Listed = (i8, u8, i16, u16, i32, u32, i64, u64, f64, String, Vec<u8>, NaiveDateTime);

async fn types(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let names = "c_tiny, c_utiny, c_small, c_usmall, c_int, c_uint, c_big, c_ubig, c_double, c_varchar, c_varbinary, c_datetime";
    let day = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).unwrap_or_default();
    let last = day(9999, 12, 31).and_hms_micro_opt(23, 59, 59, 999_999).unwrap_or_default();
    let lowest: Listed = (-128, 0, -32768, 0, i32::MIN, 0, i64::MIN, 0, -f64::MAX, String::new(), Vec::new(), day(1000, 1, 1).and_hms_opt(0, 0, 0).unwrap_or_default());
    let highest: Listed = (127, 255, 32767, 65535, i32::MAX, u32::MAX, i64::MAX, u64::MAX, f64::MIN_POSITIVE, "it's \"a\" \\ 日本語 😀".to_owned(), vec![0x00, 0xff, 0x27, 0x5c, 0x0a, 0x0d, 0x1a, 0x22], last);
    connection.execute("CREATE TABLE typed LIKE conformance.types").await?;
    let insert = format!("INSERT INTO typed (id, {names}) VALUES (?, {})", vec!["?"; 12].join(", "));
    for (id, v) in [(1, &lowest), (2, &highest)] {
        let query = sqlx::query(AssertSqlSafe(insert.clone())).bind(id).bind(v.0).bind(v.1).bind(v.2).bind(v.3).bind(v.4).bind(v.5).bind(v.6);
        let query = query.bind(v.7).bind(v.8).bind(&v.9).bind(&v.10).bind(v.11);
        query.execute(&mut connection).await?;
    }
    for table in ["typed", "conformance.types"] {
        for (id, expected) in [(1, &lowest), (2, &highest)] {
            let select = format!("SELECT {names} FROM {table} WHERE id = ?");
            let found: Listed = sqlx::query_as(AssertSqlSafe(select)).bind(id).fetch_one(&mut connection).await?;
            equal(&found, expected)?;
        }
    }
    others(&mut connection).await
}

async fn others(connection: &mut MySqlConnection) -> Checked {
    let query = "SELECT c_bool, c_date, c_json FROM conformance.types WHERE id = ?";
    let found: (bool, NaiveDate, sqlx::types::JsonValue) = sqlx::query_as(query).bind(2).fetch_one(connection).await?;
    let json = sqlx::types::JsonValue::from_iter([("a", 1)]);
    equal((found.0, found.1.to_string(), found.2 == json), (true, "9999-12-31".to_owned(), false))
}

async fn nulls(place: &Place) -> Checked {
    let query = sqlx::query_as("SELECT ? IS NULL, c_int, c_text, c_json FROM conformance.types WHERE id = 3");
    let row: (i64, Option<i32>, Option<String>, Option<sqlx::types::JsonValue>) =
        query.bind(None::<i32>).fetch_one(&mut open(place).await?).await?;
    equal(row, (1, None, None, None))
}

async fn empty_result(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let found = sqlx::query("SELECT id FROM conformance.types WHERE id = ?").bind(9).fetch_all(&mut connection).await?;
    equal(found.len(), 0)?;
    let row: (String, Option<String>) = sqlx::query_as("SELECT '', NULL").fetch_one(&mut connection).await?;
    equal(row, (String::new(), None))
}

async fn large_value(place: &Place) -> Checked {
    let value: Vec<u8> = (0..20_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut connection = open(place).await?;
    let found: Vec<u8> = sqlx::query_scalar("SELECT CAST(? AS BINARY)").bind(&value).fetch_one(&mut connection).await?;
    equal(found == value, true)
}

async fn multi_statement(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let rows: Vec<_> = sqlx::raw_sql("SELECT 1; SET @a = 5; SELECT @a").fetch_all(&mut connection).await?;
    equal(rows.len(), 2)?;
    let failed = sqlx::raw_sql("SELECT 1; SELECT nosuch; SELECT 3").fetch_all(&mut connection).await;
    equal(failed.is_err(), true)?;
    let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&mut connection).await?;
    equal(one, 1)
}

async fn stream(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let mut rows = sqlx::query("SELECT id, name FROM conformance.million WHERE id > ?").bind(0).fetch(&mut connection);
    let (mut count, mut sum) = (0_u64, 0_i64);
    while let Some(row) = rows.try_next().await? {
        count += 1;
        sum += i64::from(row.try_get::<i32, _>(0)?);
    }
    equal((count, sum), (1_000_000, 500_000_500_000))
}

async fn all_errors(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    for (errno, state, sql) in errors() {
        let Err(sqlx::Error::Database(error)) = connection.execute(AssertSqlSafe(sql.clone())).await else {
            return Err(format!("no error, expected {errno}: {sql}").into());
        };
        let error = error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>();
        equal((error.number(), error.code()), (errno, Some(state.as_str())))?;
        connection.ping().await?;
    }
    Ok(())
}

async fn kill(place: &Place) -> Checked {
    let (mut victim, mut killer) = (open(place).await?, open(place).await?);
    let id: u64 = sqlx::query_scalar("SELECT CONNECTION_ID()").fetch_one(&mut victim).await?;
    let began = Instant::now();
    let sleeping = tokio::spawn(async move {
        let slept = victim.execute("SELECT SLEEP(30)").await.map(drop);
        (victim, slept)
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    killer.execute(AssertSqlSafe(format!("KILL QUERY {id}"))).await?;
    let (mut victim, _) = sleeping.await?;
    equal(began.elapsed() < Duration::from_secs(10), true)?;
    victim.ping().await?;
    killer.execute(AssertSqlSafe(format!("KILL {id}"))).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    equal(victim.ping().await.is_err(), true)
}

async fn transaction(place: &Place) -> Checked {
    let (mut own, mut other) = (open(place).await?, open(place).await?);
    other.execute("CREATE TABLE moved (id INT PRIMARY KEY)").await?;
    let count = "SELECT COUNT(*) FROM moved WHERE id > 0";
    let mut begun = own.begin().await?;
    begun.execute("INSERT INTO moved VALUES (1)").await?;
    equal(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut other).await?, 0)?;
    begun.rollback().await?;
    let mut begun = own.begin().await?;
    begun.execute("INSERT INTO moved VALUES (2)").await?;
    begun.commit().await?;
    equal(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut other).await?, 1)
}

async fn batch_insert(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    connection.execute("CREATE TABLE batch (id INT PRIMARY KEY, v VARCHAR(40))").await?;
    let mut affected = 0;
    for start in (0..10_000).step_by(1000) {
        let mut many = sqlx::QueryBuilder::new("INSERT INTO batch (id, v) ");
        many.push_values(start..start + 1000, |mut row, n| {
            row.push_bind(n).push_bind(format!("row {n}"));
        });
        affected += many.build().execute(&mut connection).await?.rows_affected();
    }
    equal(affected, 10_000)?;
    let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM batch WHERE id >= 0").fetch_one(&mut connection).await?;
    equal(count, 10_000)
}

async fn metadata(place: &Place) -> Checked {
    let mut connection = open(place).await?;
    let row = sqlx::query("SELECT id, c_ubig AS u, c_varchar, c_json, c_bool FROM conformance.types WHERE id = 1").fetch_one(&mut connection).await?;
    let found: Vec<_> = row.columns().iter().map(|column| (column.name(), column.type_info().name())).collect();
    equal(found, vec![("id", "INT"), ("u", "BIGINT UNSIGNED"), ("c_varchar", "VARCHAR"), ("c_json", "JSON"), ("c_bool", "BOOLEAN")])
}

async fn reconnect(place: &Place) -> Checked {
    let pool = MySqlPoolOptions::new().max_connections(1).connect_with(options(place)).await?;
    sqlx::query("SET SESSION wait_timeout = 1").execute(&pool).await?;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&pool).await?;
    equal(one, 1)
}
