//! What connections keep between their commands, under `--memory-limit`: there is one more that is refused, the
//! process has little more than the limit, and the server works on.

use crate::client::{Client, Failure, check_error};
use crate::house::House;
use crate::many::{self, COM_STMT_EXECUTE, CURSORS_MAX};

const COM_STMT_FETCH: u8 = 0x1C;
const LIMIT_BYTES: u64 = 512 << 20;
pub(crate) const OPTIONS: &[&str] = &[
    "--allow-full-scan",
    "--durability=async",
    "--cache-bytes=16MiB",
    "--query-memory-total=16MiB",
    "--memory-limit=512MiB",
];
/// By how much the process may ever pass it, in percent.
const OVER_PERCENT_MAX: u64 = 10;
/// Connections for whose cursors there is no memory.
const CLIENTS: usize = 50;
/// More statements than there is memory for.
const STATEMENTS_MAX: usize = 4000;
/// Columns of the wide table.
const COLUMNS: u16 = 4001;

/// The number of an error, and its text.
type Refusal = (u16, String);

/// A row is asked for, and a page of them is kept.
pub(crate) fn cursors() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut house = House::open(scratch.path(), OPTIONS)?;
    house.run("CREATE TABLE c (id INT PRIMARY KEY, v VARCHAR(4000))")?;
    let rows: Vec<String> = (0..900)
        .map(|id| format!("({id}, REPEAT('x', 3000))"))
        .collect();
    house.run(&format!("INSERT INTO c VALUES {}", rows.join(", ")))?;
    let clients = (0..CLIENTS).map(|_| house.another());
    let mut clients = clients.collect::<Result<Vec<Client>, String>>()?;
    let ids = clients.iter_mut().map(opened);
    let ids = ids.collect::<Result<Vec<_>, String>>()?;
    let (refused, (at, id)) = fetched_until_refused(&mut clients, &ids)?;
    is_refusal(&refused, "a page of a cursor")?;
    // It is closed; the statement is there.
    let again = fetched(&mut clients[at], id)?;
    if again.as_ref().err().map(|(errno, _)| *errno) != Some(1421) {
        return Err(format!("FETCH after one that was refused: {again:?}"));
    }
    is_well(&mut house, "cursors")?;
    drop(clients);
    house.eventually("SELECT LENGTH(REPEAT('a', 60000000))")?;
    let mut client = house.another()?;
    let id = many::open(&mut client)?.map_err(|(errno, text)| format!("{errno} {text}"))?;
    fetched(&mut client, id)?.map_err(|(errno, text)| format!("{errno} {text}"))
}

/// A statement of a few words, and of thousands of columns.
pub(crate) fn wide_statements() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut house = House::open(scratch.path(), OPTIONS)?;
    let columns: Vec<String> = (1..COLUMNS).map(|n| format!("column_{n} INT")).collect();
    let columns = columns.join(", ");
    house.run(&format!("CREATE TABLE w (id INT PRIMARY KEY, {columns})"))?;
    house.run("INSERT INTO w (id, column_1) VALUES (1, 2)")?;
    for (sql, columns) in [
        ("SELECT * FROM w WHERE id = 1", COLUMNS),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM w WHERE id < 9 LIMIT 5) x",
            1,
        ),
        (
            "SELECT id IN (SELECT id FROM w) FROM w a JOIN w b USING (id) WHERE id = 1",
            1,
        ),
        (
            "SELECT * FROM w WHERE id = 1 UNION ALL SELECT * FROM w WHERE id = 2",
            COLUMNS,
        ),
    ] {
        let before = house.resident_bytes()?;
        let mut client = house.another()?;
        let mut count = 0;
        let (refused, of) = loop {
            many::send_prepare(&mut client, sql)?;
            let id = match many::prepared(&mut client, columns)? {
                Ok(id) => id,
                Err(refused) => break (refused, "a prepared statement"),
            };
            if columns == COLUMNS
                && let Err(refused) = execute(&mut client, id)?
            {
                break (refused, "a result of 4001 columns");
            }
            count += 1;
            if count == STATEMENTS_MAX {
                return Err(format!("{count} of {sql} are not too many"));
            }
        };
        if count == 0 {
            return Err(format!("not one of {sql} fits"));
        }
        let grown = house.resident_bytes()?.saturating_sub(before) / count as u64;
        println!("limits: {count} times {grown} bytes: {sql}");
        is_refusal(&refused, of)?;
        is_well(&mut house, sql)?;
        drop(client);
        house.eventually("SELECT LENGTH(REPEAT('a', 60000000))")?;
    }
    Ok(())
}

/// Fetches a row of each cursor until that is refused: why, and of which client and statement.
fn fetched_until_refused(
    clients: &mut [Client],
    ids: &[Vec<u32>],
) -> Result<(Refusal, (usize, u32)), String> {
    for (at, (client, ids)) in clients.iter_mut().zip(ids).enumerate() {
        for id in ids {
            if let Err(refused) = fetched(client, *id)? {
                return Ok((refused, (at, *id)));
            }
        }
    }
    let count = clients.len() * CURSORS_MAX as usize;
    Err(format!("{count} cursors are not too many"))
}

/// Opens as many cursors as one may have.
fn opened(client: &mut Client) -> Result<Vec<u32>, String> {
    let open = |_| many::open(client)?.map_err(|(errno, text)| format!("{errno} {text}"));
    (0..CURSORS_MAX).map(open).collect()
}

/// Fetches a row; its errno if that is refused.
fn fetched(client: &mut Client, id: u32) -> Result<Result<(), Refusal>, String> {
    let fetch = [id.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let told = |error: Failure| error.to_string();
    client.command(COM_STMT_FETCH, &fetch).map_err(told)?;
    // The row and its end.
    for _ in 0..2 {
        let (_, packet) = client.read_packet().map_err(told)?;
        if let Err(Failure::Server { errno, text, .. }) = check_error(&packet) {
            return Ok(Err((errno, text)));
        }
    }
    Ok(Ok(()))
}

/// Runs a statement, whose columns are kept from then on; why not, if there is no memory for its result.
fn execute(client: &mut Client, id: u32) -> Result<Result<(), Refusal>, String> {
    let mut execute = id.to_le_bytes().to_vec();
    execute.push(0);
    execute.extend_from_slice(&1_u32.to_le_bytes());
    let told = |error: Failure| error.to_string();
    client.command(COM_STMT_EXECUTE, &execute).map_err(told)?;
    loop {
        let (_, packet) = client.read_packet().map_err(told)?;
        if let Err(Failure::Server { errno, text, .. }) = check_error(&packet) {
            return Ok(Err((errno, text)));
        }
        if crate::client::is_end(&packet) {
            return Ok(Ok(()));
        }
    }
}

fn is_refusal((errno, text): &Refusal, of: &str) -> Result<(), String> {
    if *errno == 1041 && text.contains(of) && text.contains("memory-limit") {
        return Ok(());
    }
    Err(format!("{errno} {text}, not 1041 with {of}"))
}

/// Others are served, and the process never had much more than the limit.
pub(crate) fn is_well(house: &mut House, what: &str) -> Result<(), String> {
    if house.value("SELECT 1 + 1")? != "2" {
        return Err("others are not served".to_owned());
    }
    let (peak, most) = (
        house.peak_bytes()?,
        LIMIT_BYTES + LIMIT_BYTES * OVER_PERCENT_MAX / 100,
    );
    println!(
        "limits: {what}: at most {} MiB of {}",
        peak >> 20,
        LIMIT_BYTES >> 20
    );
    if peak <= most {
        return Ok(());
    }
    Err(format!(
        "{what}: the process had {peak} bytes, the most is {most}"
    ))
}
