//! What definitions take of the memory of the process. Statements that make them ask for it; those that are
//! there when the server starts do not.

use super::computed::{Computed, ComputedPart, PartSource};
use super::schema::{Column, ColumnDefault, Include, Index, KeyPart, Table};
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
    let options = table.options.iter();
    let options: usize = options
        .map(|(name, value)| size_of::<(String, String)>() + piece(name) + piece(value))
        .sum();
    let texts = piece(&table.name) + piece(&table.comment) + options;
    let shadow = table.shadow.as_deref().map_or(0, bytes_of);
    size_of::<Table>() + texts + parts + columns + indexes + shadow
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
    let include = match &index.include {
        Include::Columns(columns) => columns.len() * size_of::<usize>(),
        Include::None | Include::All => 0,
    };
    let texts = piece(&index.name) + piece(&index.comment);
    size_of::<Index>() + texts + parts + include + bytes_of_computed(&index.computed)
}

/// The texts of the expressions. What is made of them when they are first used is not counted.
fn bytes_of_computed(computed: &Computed) -> usize {
    let of_part = |part: &ComputedPart| {
        let source = match &part.source {
            PartSource::Expression(text) => piece(text),
            PartSource::Prefix { .. } => 0,
        };
        size_of::<PartSource>() + source + bytes_of_column(&part.column)
    };
    let parts: usize = computed.parts.iter().map(of_part).sum();
    parts + computed.filter.as_deref().map_or(0, piece)
}

fn piece(text: &str) -> usize {
    match text.len() {
        0 => 0,
        bytes => bytes + PIECE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::{IndexId, IndexState};
    use crate::types::ColumnType;

    use super::*;

    const TEXT_BYTES: usize = 50_000;

    /// Mechanism: a thousand indexes of large expressions were counted as a thousand small structures.
    #[test]
    fn texts_of_indexes_and_options_count() {
        let text = "x".repeat(TEXT_BYTES);
        let source = PartSource::Expression(text.clone());
        let index = |computed: Computed| Index {
            id: IndexId::NEW,
            name: "i".to_owned(),
            unique: false,
            parts: Vec::new(),
            computed,
            include: Include::None,
            state: IndexState::Active,
            comment: String::new(),
        };
        let plain = bytes_of_index(&index(Computed::default()));
        let grown = |computed: Computed| bytes_of_index(&index(computed)) - plain;
        let part = ComputedPart::new(source, ("e", ColumnType::Double, true));
        let parts = Computed {
            parts: vec![part],
            ..Computed::default()
        };
        assert!(TEXT_BYTES <= grown(parts));
        let filter = Computed {
            filter: Some(text.clone()),
            ..Computed::default()
        };
        assert!(TEXT_BYTES <= grown(filter));
        let mut table = crate::plan::testing::table("CREATE TABLE t (a INT PRIMARY KEY)");
        let before = bytes_of(&table);
        table.options.push(("STARTKEY".to_owned(), text));
        assert!(TEXT_BYTES <= bytes_of(&table) - before);
    }
}
