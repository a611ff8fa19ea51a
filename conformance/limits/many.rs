//! Many of something that a connection keeps, and large transactions.

use crate::client::{COM_QUERY, Client, Failure, check_error};
use crate::house::House;

const COM_STMT_PREPARE: u8 = 0x16;
pub(crate) const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_RESET_CONNECTION: u8 = 0x1F;
/// `CURSOR_TYPE_READ_ONLY`.
const WITH_CURSOR: u8 = 1;
/// `max_prepared_stmt_count`.
const STATEMENTS_MAX: u32 = 16_382;
/// Cursors of one connection.
pub(crate) const CURSORS_MAX: u32 = 32;
/// User variables of one session.
const VARIABLES_MAX: u32 = 10_000;
/// Temporary tables of one session.
const TABLES_MAX: u32 = 1000;
/// Commands that are sent before their answers are read.
const AT_ONCE: u32 = 256;

/// Asks for a statement to be prepared, and leaves the answer to be read.
pub(crate) fn send_prepare(client: &mut Client, sql: &str) -> Result<(), String> {
    client
        .command(COM_STMT_PREPARE, sql.as_bytes())
        .map_err(|error| error.to_string())
}

/// The id of a statement without parameters and columns of that many, or the errno.
pub(crate) fn prepared(
    client: &mut Client,
    columns: u16,
) -> Result<Result<u32, (u16, String)>, String> {
    let (_, packet) = client.read_packet().map_err(|error| error.to_string())?;
    if let Err(Failure::Server { errno, text, .. }) = check_error(&packet) {
        return Ok(Err((errno, text)));
    }
    for _ in 0..columns {
        client.read_packet().map_err(|error| error.to_string())?;
    }
    Ok(Ok(u32::from_le_bytes([
        packet[1], packet[2], packet[3], packet[4],
    ])))
}

fn refused(found: Result<u32, (u16, String)>, errno: u16, part: &str) -> Result<(), String> {
    match found {
        Err((told, text)) if told == errno && text.contains(part) => Ok(()),
        other => Err(format!("{other:?}, not {errno} with {part}")),
    }
}

/// As many prepared statements as there may be, and one more.
pub(crate) fn prepared_statements(house: &mut House) -> Result<(), String> {
    let mut client = house.another()?;
    let mut left = STATEMENTS_MAX;
    let mut last = 0;
    while 0 < left {
        let now = left.min(AT_ONCE);
        for _ in 0..now {
            send_prepare(&mut client, "DO 1 + 1")?;
        }
        for _ in 0..now {
            last = prepared(&mut client, 0)?.map_err(|(errno, text)| format!("{errno} {text}"))?;
        }
        left -= now;
    }
    send_prepare(&mut client, "DO 1 + 1")?;
    refused(prepared(&mut client, 0)?, 1461, "16382")?;
    let named = client.execute("PREPARE one_more FROM 'SELECT 1'");
    match named {
        Err(Failure::Server { errno: 1461, .. }) => {}
        other => return Err(format!("PREPARE of one more: {other:?}")),
    }
    // One that is closed makes room for another.
    client
        .command(COM_STMT_CLOSE, &last.to_le_bytes())
        .map_err(|error| error.to_string())?;
    send_prepare(&mut client, "DO 2")?;
    prepared(&mut client, 0)?.map_err(|(errno, text)| format!("{errno} {text}"))?;
    client
        .command(COM_RESET_CONNECTION, &[])
        .map_err(|error| error.to_string())?;
    client.read_packet().map_err(|error| error.to_string())?;
    send_prepare(&mut client, "DO 3")?;
    prepared(&mut client, 0)?.map_err(|(errno, text)| format!("{errno} {text}"))?;
    Ok(())
}

/// Prepares a query of two columns and opens a cursor for it; its errno if it is refused.
pub(crate) fn open(client: &mut Client) -> Result<Result<u32, (u16, String)>, String> {
    send_prepare(client, "SELECT * FROM c")?;
    let id = prepared(client, 2)?.map_err(|(errno, text)| format!("{errno} {text}"))?;
    let mut execute = id.to_le_bytes().to_vec();
    execute.push(WITH_CURSOR);
    execute.extend_from_slice(&1_u32.to_le_bytes());
    client
        .command(COM_STMT_EXECUTE, &execute)
        .map_err(|error| error.to_string())?;
    let (_, first) = client.read_packet().map_err(|error| error.to_string())?;
    if let Err(Failure::Server { errno, text, .. }) = check_error(&first) {
        return Ok(Err((errno, text)));
    }
    // Two columns, and the packet that says that a cursor is open.
    for _ in 0..3 {
        client.read_packet().map_err(|error| error.to_string())?;
    }
    Ok(Ok(id))
}

/// As many open cursors as there may be, and one more.
pub(crate) fn cursors(house: &mut House) -> Result<(), String> {
    house.run("CREATE TABLE c (id INT PRIMARY KEY, v LONGTEXT)")?;
    house.run("INSERT INTO c VALUES (1, REPEAT('x', 1000000)), (2, REPEAT('y', 1000000))")?;
    let mut client = house.another()?;
    for _ in 0..CURSORS_MAX {
        open(&mut client)?.map_err(|(errno, text)| format!("{errno} {text}"))?;
    }
    refused(open(&mut client)?, 1461, "32")?;
    client
        .command(COM_QUERY, b"SELECT 1")
        .map_err(|error| error.to_string())?;
    client.read_answer().map_err(|error| error.to_string())?;
    Ok(())
}

/// As many user variables as there may be, and one more; large ones.
pub(crate) fn user_variables(house: &mut House) -> Result<(), String> {
    let set = |range: std::ops::Range<u32>| {
        let items: Vec<String> = range.map(|n| format!("@v{n} = {n}")).collect();
        format!("SET {}", items.join(", "))
    };
    for start in (0..VARIABLES_MAX).step_by(2000) {
        house.run(&set(start..start + 2000))?;
    }
    house.refused(&set(VARIABLES_MAX..VARIABLES_MAX + 1), 1041, &["10000"])?;
    house.run("SET @v0 = REPEAT('x', 10000000), @v1 = REPEAT('x', 10000000)")?;
    if house.value("SELECT @v9999")? != "9999" {
        return Err("a variable is not what it was set to".to_owned());
    }
    house.client = house.another()?;
    Ok(())
}

/// As many temporary tables as there may be, and one more.
pub(crate) fn temporary_tables(house: &mut House) -> Result<(), String> {
    for n in 0..TABLES_MAX {
        house.run(&format!(
            "CREATE TEMPORARY TABLE t{n} (id INT PRIMARY KEY, v INT)"
        ))?;
    }
    let more = "CREATE TEMPORARY TABLE more (id INT PRIMARY KEY)";
    house.refused(more, 1041, &["1000"])?;
    house.run("INSERT INTO t999 VALUES (1, 2)")?;
    if house.value("SELECT v FROM t999")? != "2" {
        return Err("a row of a temporary table is not there".to_owned());
    }
    house.client = house.another()?;
    Ok(())
}

/// A transaction that becomes too large, savepoints, a large one that is rolled back.
pub(crate) fn transactions(house: &mut House) -> Result<(), String> {
    house.run("CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT)")?;
    house.run("BEGIN")?;
    let rows = |start: u32| {
        let rows: Vec<String> = (start..start + 10)
            .map(|id| format!("({id}, REPEAT('x', 2000000))"))
            .collect();
        format!("INSERT INTO big VALUES {}", rows.join(", "))
    };
    let mut start = 0;
    while start < 130 {
        house.run(&rows(start))?;
        start += 10;
    }
    house.refused(&rows(start), 1197, &["268435456"])?;
    for n in 0..1000 {
        house.run(&format!("SAVEPOINT s{n}"))?;
    }
    house.refused("SAVEPOINT more", 1041, &["1000"])?;
    if house.value("SELECT COUNT(*) FROM big")? != "130" {
        return Err("what was refused left rows in the transaction".to_owned());
    }
    house.run("ROLLBACK")?;
    if house.value("SELECT COUNT(*) FROM big")? != "0" {
        return Err("a rolled back transaction left rows".to_owned());
    }
    Ok(())
}
