//! Why a row and each of its cells is seen or not: EXPLAIN ROW.
//!
//! Looks at what is stored under one key, what has ended or lies beyond the number of versions
//! included. Says what readers would see now; changes nothing.

use super::row::{Layout, StoredRow};
use super::timeline::{self, CellId, Timeline, Version};
use crate::catalog::{Column, ColumnPlace, Table};
use crate::codec::row::Deletion;
use crate::error::Result;
use crate::types::Value;

/// What is stored under one key.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The row, ended or not.
    pub row: Option<&'a [u8]>,
    /// The record of its deletion, ended or not.
    pub deletion: Option<&'a [u8]>,
    /// The present, in milliseconds since 1970.
    pub now_ms: u64,
}

/// One line of the answer: a row, its deletion, or one version of a cell.
#[derive(Debug, Clone)]
pub struct Line {
    /// What it is about: `(row)`, `(deletion)`, or the name of a column.
    pub cell: String,
    /// When it was written, in milliseconds since 1970.
    pub ms: Option<u64>,
    /// What it holds.
    pub value: Value<'static>,
    /// One word.
    pub state: &'static str,
    /// Why.
    pub reason: String,
}

impl Line {
    fn about(cell: &str, state: &'static str, reason: impl Into<String>) -> Line {
        Line {
            cell: cell.to_owned(),
            ms: None,
            value: Value::Null,
            state,
            reason: reason.into(),
        }
    }

    fn dated(self, ms: u64) -> Line {
        Line {
            ms: Some(ms),
            ..self
        }
    }

    fn of(self, value: &Value<'static>) -> Line {
        Line {
            value: value.clone(),
            ..self
        }
    }
}

/// The lines about one key.
///
/// # Errors
/// 1712 for damaged bytes.
pub fn lines(table: &Table, found: Found<'_>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    if let Some(row) = found.row {
        let layout = Layout::of(table);
        let values = StoredRow::parse(table, &layout, found.key, row)?.to_values()?;
        of_row((table, &values), found.now_ms, &mut lines)?;
    } else {
        let reason = "nothing is stored under this key";
        lines.push(Line::about("(row)", "absent", reason));
    }
    if let Some(record) = found.deletion {
        lines.push(of_deletion(timeline::deletion_of(record)?, found.now_ms));
    }
    Ok(lines)
}

fn of_deletion(deletion: Deletion, now_ms: u64) -> Line {
    let until_ms = deletion.until_ms;
    let (state, reason) = if now_ms < until_ms {
        (
            "hides",
            format!(
                "what is dated up to then is gone, and late writes of it are not seen until {until_ms}"
            ),
        )
    } else {
        (
            "past",
            format!("it has not counted since {until_ms}: late writes are seen"),
        )
    };
    Line::about("(deletion)", state, reason).dated(deletion.ms)
}

fn of_row(
    (table, values): (&Table, &[Value<'static>]),
    now_ms: u64,
    lines: &mut Vec<Line>,
) -> Result<()> {
    let mut columns = table.columns.iter().zip(values);
    let end = columns.find(|(column, _)| column.place == ColumnPlace::Expiry);
    let end_ms = match end {
        Some((_, Value::UInt(end_ms))) => Some(*end_ms),
        Some(_) | None => None,
    };
    let is_past = end_ms.is_some_and(|end_ms| end_ms <= now_ms);
    let (state, ends) = match end_ms {
        Some(end_ms) if is_past => (
            "expired",
            format!("it ended at {end_ms} (TTL); compaction removes it"),
        ),
        Some(end_ms) => ("visible", format!("it is there and ends at {end_ms} (TTL)")),
        None => ("visible", "it is there and does not end".to_owned()),
    };
    let row = Line::about("(row)", state, ends);
    let Some(versions) = &table.wide.versions else {
        lines.push(row);
        let shown = if is_past { "expired" } else { "visible" };
        of_values((table, values), shown, lines);
        return Ok(());
    };
    let timeline = Timeline::whole(table, values)?;
    lines.push(row.dated(timeline.row_ms));
    if let Some(deletion) = timeline.deletion {
        lines.push(of_deletion(deletion, now_ms));
    }
    let shown = timeline.shown.min(versions.count());
    for (id, all) in &timeline.cells {
        for (at, version) in all.iter().enumerate() {
            lines.push(of_version((table, id), (at, version), (shown, is_past)));
        }
    }
    for (id, value) in &timeline.unwritten {
        let reason = if is_past {
            "the row has ended"
        } else if is_default((table, id), value) {
            "the default: nobody has written it"
        } else {
            "no version: a DELETE as of a time took those away and left it, as each row needs its own"
        };
        let state = if is_past { "expired" } else { "visible" };
        let line = Line::about(&name_of(table, id), state, reason);
        lines.push(line.of(value));
    }
    for (id, value) in timeline::values_of(table, values) {
        if value.is_null() && !timeline.cells.contains_key(&id) {
            let reason = "the row has no version of it: NULL";
            lines.push(Line::about(&name_of(table, &id), "absent", reason));
        }
    }
    Ok(())
}

/// Whether a value that is no version is what a column has had since it was declared, or has when a
/// deletion empties it.
fn is_default((table, id): (&Table, &CellId), value: &Value<'static>) -> bool {
    let is_it =
        |column: &&Column| column.place == ColumnPlace::Row && *id == CellId::Column(column.id);
    let column = table.columns.iter().find(is_it);
    column.is_none_or(|column| {
        let defaults = [&column.past.absent, &timeline::none_of(column)];
        defaults
            .iter()
            .any(|default| default.total_cmp(value).is_eq())
    })
}

/// Of a table that keeps no versions: what the row has.
fn of_values(
    (table, values): (&Table, &[Value<'static>]),
    state: &'static str,
    lines: &mut Vec<Line>,
) {
    for (id, value) in timeline::values_of(table, values) {
        let reason = "the table keeps no versions: this is the value of the row";
        lines.push(Line::about(&name_of(table, &id), state, reason).of(value));
    }
}

fn of_version(
    (table, id): (&Table, &CellId),
    (at, version): (usize, &Version),
    (shown, is_past): (usize, bool),
) -> Line {
    let (state, mut reason) = if is_past {
        ("expired", "the row has ended".to_owned())
    } else if shown <= at {
        (
            "hidden",
            format!(
                "version {} of a row that may show {shown}: it is never seen again, and goes when the \
                 row is written",
                at + 1
            ),
        )
    } else if at == 0 {
        ("visible", "the newest version".to_owned())
    } else {
        (
            "kept",
            format!("version {} of {shown}: hints read it", at + 1),
        )
    };
    if version.ms == 0 {
        reason.push_str("; it is not known when it was written");
    }
    Line::about(&name_of(table, id), state, reason)
        .dated(version.ms)
        .of(&version.value)
}

fn name_of(table: &Table, id: &CellId) -> String {
    match id {
        CellId::Column(id) => {
            let mut columns = table.columns.iter();
            let column =
                columns.find(|column| column.id == *id && column.place == ColumnPlace::Row);
            column.map_or_else(String::new, |column| column.name.clone())
        }
        CellId::Name(name) => name.clone(),
    }
}
