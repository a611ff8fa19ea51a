//! How the files write what the server sent: cells as text, in the order a record asks for;
//! and writes that into a file.

use std::fmt::Write as _;
use std::path::Path;

use sqllogictest::{DefaultColumnType, SortMode};

use crate::client::Rows;

/// The cells as the files write them.
pub(crate) fn values_of(rows: &Rows, types: &[DefaultColumnType]) -> Vec<String> {
    let mut values = Vec::with_capacity(rows.cells.len());
    for row in rows.cells.chunks(types.len().max(1)) {
        for (cell, ty) in row.iter().zip(types) {
            values.push(match cell {
                None => "NULL".to_owned(),
                Some(bytes) if bytes.is_empty() => "(empty)".to_owned(),
                Some(bytes) => written(bytes, ty),
            });
        }
    }
    values
}

fn written(bytes: &[u8], ty: &DefaultColumnType) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!("x'{}'", hex(bytes));
    };
    match ty {
        DefaultColumnType::Integer if text.contains(['.', 'e']) => text.parse::<f64>().map_or_else(
            |_| text.to_owned(),
            |number| format!("{:.0}", number.trunc()),
        ),
        DefaultColumnType::FloatingPoint => text
            .parse::<f64>()
            .map_or_else(|_| text.to_owned(), |number| format!("{number:.3}")),
        // What `?` announces is read by people, over several lines: plans.
        DefaultColumnType::Any => text.to_owned(),
        // A value of several lines, or one that only a hex dump would show, stays on one line.
        DefaultColumnType::Integer | DefaultColumnType::Text => text
            .replace('\\', "\\\\")
            .replace('\n', "\\n")
            .replace('\0', "\\0"),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn sorted(values: Vec<String>, columns_count: usize, mode: SortMode) -> Vec<String> {
    match mode {
        SortMode::NoSort => values,
        SortMode::ValueSort => {
            let mut values = values;
            values.sort();
            values
        }
        SortMode::RowSort if columns_count < 2 => {
            let mut values = values;
            values.sort();
            values
        }
        SortMode::RowSort => {
            let mut rows: Vec<&[String]> = values.chunks(columns_count).collect();
            rows.sort();
            rows.concat()
        }
    }
}

/// Writes found results in place of the expected ones; to be read before it is committed.
pub(crate) fn rewrite(path: &Path, corrections: &[(usize, Vec<String>)]) -> std::io::Result<()> {
    let text = std::fs::read_to_string(path)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, results) in corrections.iter().rev() {
        let end_of = |from: usize, lines: &[String]| {
            (from..lines.len())
                .find(|&at| lines[at].is_empty())
                .unwrap_or(lines.len())
        };
        let end = end_of(*line, &lines);
        let dashes = (*line..end).find(|&at| lines[at] == "----");
        let from = dashes.map_or(end, |at| at + 1);
        let mut new = results.clone();
        if dashes.is_none() {
            new.insert(0, "----".to_owned());
        }
        lines.splice(from..end, new);
    }
    std::fs::write(path, lines.join("\n") + "\n")
}
