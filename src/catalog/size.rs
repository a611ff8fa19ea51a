//! What definitions take of the memory of the process. Statements that make them ask for it; those that are
//! there when the server starts do not.

use super::schema::{Column, ColumnDefault, Index, KeyPart, Table};
use super::view::View;
use crate::ceiling;
use crate::error::Result;
use crate::types::{ColumnType, Value};

/// What the allocator takes beside a piece of memory of a few bytes.
const PIECE_BYTES: usize = 16;

/// Asks for the memory of a table.
///
/// # Errors
/// 1041 when there is none.
pub(super) fn ask(table: &Table) -> Result<()> {
    ceiling::drip("a table", bytes_of(table))
}

/// Asks for what a table is larger than it was. One that has become smaller may: it is a way out.
///
/// # Errors
/// 1041 when there is none.
pub(super) fn ask_growth((old, new): (&Table, &Table)) -> Result<()> {
    match bytes_of(new).saturating_sub(bytes_of(old)) {
        0 => Ok(()),
        grown => ceiling::drip("a table", grown),
    }
}

/// Asks for the memory of a view.
///
/// # Errors
/// 1041 when there is none.
pub(super) fn ask_view(view: &View) -> Result<()> {
    let columns = view.columns.iter();
    let columns: usize = columns.map(|name| piece(name) + size_of::<String>()).sum();
    ceiling::drip("a view", size_of::<View>() + piece(&view.query) + columns)
}

/// About how many bytes it takes.
fn bytes_of(table: &Table) -> usize {
    let columns: usize = table.columns.iter().map(bytes_of_column).sum();
    let indexes: usize = table.indexes.iter().map(bytes_of_index).sum();
    let parts = table.key.len() * size_of::<KeyPart>();
    size_of::<Table>() + piece(&table.name) + piece(&table.comment) + parts + columns + indexes
}

fn bytes_of_column(column: &Column) -> usize {
    let labels = if let ColumnType::Enum(labels) = &column.ty {
        let labels = labels.iter();
        labels
            .map(|label| piece(label) + size_of::<Box<str>>())
            .sum()
    } else {
        0
    };
    let default = match &column.default {
        ColumnDefault::Constant(value) => Value::memory_bytes(value),
        ColumnDefault::None | ColumnDefault::Now => 0,
    };
    size_of::<Column>() + piece(&column.name) + piece(&column.comment) + labels + default
}

fn bytes_of_index(index: &Index) -> usize {
    let parts = index.parts.len() * size_of::<KeyPart>();
    size_of::<Index>() + piece(&index.name) + piece(&index.comment) + parts
}

fn piece(text: &str) -> usize {
    match text.len() {
        0 => 0,
        bytes => bytes + PIECE_BYTES,
    }
}
