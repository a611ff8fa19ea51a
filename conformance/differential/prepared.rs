//! A query as a prepared statement, and its binary rows as the texts that they stand for.
//!
//! Numbers are written by this program for both servers, so that only their values are compared.

use crate::client::{self, Bytes, Client, Failure};
use crate::wire::{Answer, Column, Row, column};

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

/// Prepares a statement without parameters, executes it and closes it.
pub(crate) fn ask(client: &mut Client, sql: &str) -> Result<Answer, Failure> {
    client.command(COM_STMT_PREPARE, sql.as_bytes())?;
    let (_, packet) = client.read_packet()?;
    client::check_error(&packet)?;
    let mut bytes = Bytes(&packet);
    bytes.skip(1)?;
    let id = bytes.fixed_u32()?.to_le_bytes();
    let columns_count = bytes.fixed_u16()?;
    skip_columns(client, columns_count)?;
    // No cursor, once.
    let execute = [&id[..], &[0], &1_u32.to_le_bytes()].concat();
    client.command(COM_STMT_EXECUTE, &execute)?;
    let answer = read(client);
    client.command(COM_STMT_CLOSE, &id)?;
    answer
}

fn skip_columns(client: &mut Client, count: u16) -> Result<(), Failure> {
    if 0 < count {
        // The columns, and what ends them.
        for _ in 0..=count {
            client.read_packet()?;
        }
    }
    Ok(())
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
    client.read_packet()?;
    let mut rows = Vec::new();
    loop {
        let (_, packet) = client.read_packet()?;
        client::check_error(&packet)?;
        if client::is_end(&packet) {
            return Ok(Answer::Rows { columns, rows });
        }
        rows.push(row(&packet, &columns)?);
    }
}

fn row(packet: &[u8], columns: &[Column]) -> Result<Row, Failure> {
    // A zero, then a bit for each column from the third on.
    let nulls_count = (columns.len() + 9) / 8;
    let mut bytes = Bytes(packet);
    bytes.skip(1 + nulls_count)?;
    let is_null = |at: usize| packet[1 + (at + 2) / 8] >> ((at + 2) % 8) & 1 == 1;
    let cells = columns.iter().enumerate().map(|(at, column)| {
        if is_null(at) {
            return Ok(None);
        }
        cell(&mut bytes, column).map(Some)
    });
    cells.collect()
}

fn cell(bytes: &mut Bytes<'_>, column: &Column) -> Result<Vec<u8>, Failure> {
    let text = match column.type_code {
        1 => whole(bytes.fixed(1)?, column),
        2 | 13 => whole(bytes.fixed(2)?, column),
        3 | 9 => whole(bytes.fixed(4)?, column),
        8 => whole(bytes.fixed(8)?, column),
        4 => {
            let bits = bytes.fixed(4)?;
            f32::from_le_bytes([bits[0], bits[1], bits[2], bits[3]]).to_string()
        }
        5 => {
            let mut bits = [0; 8];
            bits.copy_from_slice(bytes.fixed(8)?);
            f64::from_le_bytes(bits).to_string()
        }
        7 | 10 | 12 => moment(bytes)?,
        11 => time(bytes)?,
        _ => return Ok(bytes.text_cell()?.unwrap_or_default()),
    };
    Ok(text.into_bytes())
}

fn whole(bytes: &[u8], column: &Column) -> String {
    let is_negative = !column.is_unsigned && bytes.last().is_some_and(|byte| 0x80 <= *byte);
    let mut wide = [if is_negative { 0xFF } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide).to_string()
}

fn number(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

fn moment(bytes: &mut Bytes<'_>) -> Result<String, Failure> {
    let length = usize::from(bytes.fixed(1)?[0]);
    let parts = bytes.fixed(length)?;
    let part = |from: usize, size: usize| parts.get(from..from + size).map_or(0, number);
    Ok(format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}",
        part(0, 2),
        part(2, 1),
        part(3, 1),
        part(4, 1),
        part(5, 1),
        part(6, 1),
        part(7, 4)
    ))
}

fn time(bytes: &mut Bytes<'_>) -> Result<String, Failure> {
    let length = usize::from(bytes.fixed(1)?[0]);
    let parts = bytes.fixed(length)?;
    let part = |from: usize, size: usize| parts.get(from..from + size).map_or(0, number);
    let sign = if part(0, 1) == 1 { "-" } else { "" };
    let hours = part(1, 4) * 24 + part(5, 1);
    Ok(format!(
        "{sign}{hours:02}:{:02}:{:02}.{:06}",
        part(6, 1),
        part(7, 1),
        part(8, 4)
    ))
}
