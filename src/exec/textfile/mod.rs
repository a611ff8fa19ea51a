//! Rows in text files: what LOAD DATA reads ([`read`]) and what `SELECT … INTO OUTFILE` writes
//! ([`mod@write`]), by the layout of `FIELDS` and `LINES`.
//!
//! Bytes in, fields out and back; nothing here knows of columns, types or where bytes come from.
//! Source: MySQL 8.0 Reference Manual, "LOAD DATA Statement", "Field and Line Handling".

pub mod read;
pub mod write;

#[cfg(test)]
mod tests;
