//! One statement to both servers, and their answers with the types of the columns.

use crate::ask::Ask;
use crate::client::{self, Bytes, Client, EndForm, Failure};
use crate::prepared;

/// The database of the test, on both.
const DATABASE: &str = "differential";

/// MySQL 8's default, but for what only generated statements could run into.
const SQL_MODE: &str = "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                        ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// A column of a result, as far as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) type_code: u8,
    pub(crate) is_unsigned: bool,
    /// Whether its character set is `binary`.
    pub(crate) is_binary: bool,
    pub(crate) decimals: u8,
}

/// A row of text values; `None` for NULL.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

/// What a server says to a query.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Rows {
        columns: Vec<Column>,
        rows: Vec<Row>,
    },
    Error {
        errno: u16,
        text: String,
    },
}

/// The answers of both.
pub(crate) struct Answers {
    pub(crate) reference: Answer,
    pub(crate) ours: Answer,
}

impl Answers {
    /// Whether both refused.
    pub(crate) fn are_errors(&self) -> bool {
        let is_error = |answer: &Answer| matches!(answer, Answer::Error { .. });
        is_error(&self.reference) && is_error(&self.ours)
    }
}

/// A connection to each server.
pub(crate) struct Pair {
    reference: Client,
    ours: Client,
}

impl Pair {
    /// Connects and makes the two as alike as they can be.
    pub(crate) fn connect(reference: &str, ours: &str) -> Result<Pair, String> {
        let connect = |address: &str| Client::connect(address, "", EndForm::Eof);
        let mut pair = Pair {
            reference: connect(reference).map_err(|error| format!("MariaDB: {error}"))?,
            ours: connect(ours).map_err(|error| format!("Meseta: {error}"))?,
        };
        let own = "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin";
        pair.reference.execute(own).map_err(|e| e.to_string())?;
        for sql in [
            &format!("CREATE DATABASE {DATABASE}"),
            &format!("USE {DATABASE}"),
            &format!("SET sql_mode = '{SQL_MODE}'"),
            "SET time_zone = '+00:00'",
            "SET group_concat_max_len = 1048576",
        ] {
            pair.execute(sql)?;
        }
        // Long texts that begin alike would come in any order.
        let sorts = "SET max_sort_length = 16384, sort_buffer_size = 67108864";
        pair.reference.execute(sorts).map_err(|e| e.to_string())?;
        // What MySQL always does.
        let rounds = "SET sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL')";
        pair.reference.execute(rounds).map_err(|e| e.to_string())?;
        Ok(pair)
    }

    /// Runs a statement without rows on both, which both must do.
    pub(crate) fn execute(&mut self, sql: &str) -> Result<(), String> {
        let reference = self.reference.execute(sql);
        let ours = self.ours.execute(sql);
        reference.map_err(|error| format!("MariaDB: {error}"))?;
        ours.map_err(|error| format!("Meseta: {error}"))?;
        Ok(())
    }

    /// Asks both.
    pub(crate) fn ask(&mut self, query: &Ask) -> Result<Answers, String> {
        let (reference, ours) = (query.for_reference(), query.to_string());
        let told = |who: &str, error: Failure| format!("{who}: {error}\n{ours}");
        let ask = |client: &mut Client, sql: &str| match query {
            Ask::Query(_) => answer(ask(client, sql)),
            Ask::Prepared(_) => answer(prepared::ask(client, sql)),
            Ask::Write(write) => changed(client, (sql, &write.table)),
        };
        let reference = ask(&mut self.reference, &reference).map_err(|e| told("MariaDB", e))?;
        let ours = ask(&mut self.ours, &ours).map_err(|e| told("Meseta", e))?;
        Ok(Answers { reference, ours })
    }
}

fn ask(client: &mut Client, sql: &str) -> Result<Answer, Failure> {
    client.command(client::COM_QUERY, sql.as_bytes())?;
    read(client)
}

/// What the server says is an answer too.
fn answer(answer: Result<Answer, Failure>) -> Result<Answer, Failure> {
    match answer {
        Err(Failure::Server { errno, text, .. }) => Ok(Answer::Error { errno, text }),
        answer => answer,
    }
}

/// The rows of a table after a statement; the statement is undone.
fn changed(client: &mut Client, (sql, table): (&str, &str)) -> Result<Answer, Failure> {
    client.execute("BEGIN")?;
    let rows = match client.execute(sql) {
        Ok(_) => ask(client, &format!("SELECT * FROM {table} ORDER BY c0")),
        Err(error) => Err(error),
    };
    client.execute("ROLLBACK")?;
    answer(rows)
}

fn read(client: &mut Client) -> Result<Answer, Failure> {
    let (_, first) = client.read_packet()?;
    client::check_error(&first)?;
    let count = Bytes(&first).length()?;
    let mut columns = Vec::new();
    for _ in 0..count {
        let (_, packet) = client.read_packet()?;
        columns.push(column(&packet)?);
    }
    let mut rows = Vec::new();
    if columns.is_empty() {
        return Ok(Answer::Rows { columns, rows });
    }
    // What ends the columns.
    client.read_packet()?;
    loop {
        let (_, packet) = client.read_packet()?;
        client::check_error(&packet)?;
        if client::is_end(&packet) {
            break;
        }
        let mut cells = Bytes(&packet);
        let row = columns.iter().map(|_| cells.text_cell());
        rows.push(row.collect::<Result<Row, Failure>>()?);
    }
    Ok(Answer::Rows { columns, rows })
}

/// A column as its definition tells it.
pub(crate) fn column(packet: &[u8]) -> Result<Column, Failure> {
    let mut bytes = Bytes(packet);
    // Catalog, schema, table, the table's own name, the name, the column's own name.
    let mut name = String::new();
    for place in 0..6 {
        let text = bytes.text_cell()?.unwrap_or_default();
        if place == 4 {
            name = String::from_utf8_lossy(&text).into_owned();
        }
    }
    bytes.skip(1)?;
    let is_binary = bytes.fixed_u16()? == 63;
    bytes.skip(4)?;
    let [type_code, flags] = bytes.fixed_u16()?.to_le_bytes();
    let [_, decimals] = bytes.fixed_u16()?.to_le_bytes();
    Ok(Column {
        name,
        type_code,
        is_unsigned: flags & 32 != 0,
        is_binary,
        decimals,
    })
}
