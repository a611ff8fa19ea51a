//! SHOW INDEX, and what indexes make of the column `Key` of SHOW COLUMNS.

use crate::catalog::{Column, ComputedPart, Index, IndexState, KeyPart, PartSource, Table};
use crate::codec::key::Direction;
use crate::index;
use crate::kv::{KeyRange, Space};
use crate::session::Shared;
use crate::session::compile::text;
use crate::session::listing::{Listing, TEXT};
use crate::types::temporal::zone::Zone;
use crate::types::{Attributes, ColumnType, Value};

/// Bytes on disk from which the engine's estimate of one index is told. Smaller ones lie in files
/// together with others, or still in memory, and would be told more or less by chance.
const SIZE_BYTES_MIN: u64 = 1 << 20;

/// `SHOW INDEX` of what has none.
pub(super) fn none() -> Listing {
    let number = ColumnType::BIGINT;
    Listing::new(&[
        ("Table", TEXT),
        ("Non_unique", number.clone()),
        ("Key_name", TEXT),
        ("Seq_in_index", number.clone()),
        ("Column_name", TEXT),
        ("Collation", TEXT),
        ("Cardinality", number.clone()),
        ("Sub_part", number),
        ("Packed", TEXT),
        ("Null", TEXT),
        ("Index_type", TEXT),
        ("Comment", TEXT),
        ("Index_comment", TEXT),
        ("Visible", TEXT),
        ("Expression", TEXT),
        ("INDEX_STATE", TEXT),
        ("INDEX_PROGRESS", TEXT),
        ("INDEX_SIZE", ColumnType::BIGINT_UNSIGNED),
        ("INDEX_ENTRIES", ColumnType::BIGINT_UNSIGNED),
        ("INDEX_LAST_USED", ColumnType::Datetime { fsp: 0 }),
    ])
}

/// `SHOW INDEX`: MySQL's columns, then state and progress, then size, entries (both
/// estimates) and last use.
pub(super) fn index(table: &Table, shared: &Shared, zone: &Zone) -> Listing {
    let mut listing = none();
    if !table.has_hidden_key() {
        let primary = Shown {
            name: "PRIMARY",
            unique: true,
            comment: "",
            state: IndexState::Active,
            percent: 100,
            index: None,
            told: Told::of(Space(table.id.0), shared),
        };
        primary.push(&mut listing, table, table.declared_key());
    }
    for index in &table.indexes {
        Shown::of(index, shared, zone).push(&mut listing, table, &index.parts);
    }
    listing
}

/// What the rows of one index have in common.
struct Shown<'a> {
    name: &'a str,
    unique: bool,
    comment: &'a str,
    state: IndexState,
    percent: u8,
    /// `None` for the primary key.
    index: Option<&'a Index>,
    told: Told,
}

/// The columns behind the progress.
struct Told {
    size: Value<'static>,
    entries: Value<'static>,
    /// The primary key is the table: its uses are not noted.
    last_used: Value<'static>,
}

impl Told {
    fn of(space: Space, shared: &Shared) -> Told {
        let estimate = shared.engine.estimate(space, &KeyRange::all());
        let is_told = shared.engine.capabilities().estimates && SIZE_BYTES_MIN <= estimate.bytes;
        let (size, entries) = if is_told {
            (Value::UInt(estimate.bytes), Value::UInt(estimate.rows))
        } else {
            (Value::UInt(0), Value::Null)
        };
        Told {
            size,
            entries,
            last_used: Value::Null,
        }
    }
}

impl<'a> Shown<'a> {
    fn of(index: &'a Index, shared: &Shared, zone: &Zone) -> Shown<'a> {
        let last_used = shared.uses.last(index.id);
        let last_used = last_used.map(|at| Value::Datetime(zone.to_datetime(at)));
        Shown {
            name: &index.name,
            unique: index.unique,
            comment: &index.comment,
            state: index.state,
            index: Some(index),
            percent: match index.state {
                IndexState::Active | IndexState::Inactive => 100,
                IndexState::Building => shared.backfill.percent(index.id).unwrap_or(0),
                IndexState::Disabled => 0,
            },
            told: Told {
                last_used: last_used.unwrap_or(Value::Null),
                ..Told::of(index::space(index), shared)
            },
        }
    }

    fn column<'t>(&self, table: &'t Table, column_idx: usize) -> Option<&'t Column>
    where
        'a: 't,
    {
        match self.index {
            Some(index) => index.column(table, column_idx),
            None => table.columns.get(column_idx),
        }
    }

    fn push(&self, listing: &mut Listing, table: &Table, parts: &[KeyPart]) {
        for (position, part) in parts.iter().enumerate() {
            let Some(column) = self.column(table, part.column_idx) else {
                continue;
            };
            let computed = self
                .index
                .and_then(|index| index.computed_part(table, part.column_idx));
            let (length, expression) = computed.map_or((None, None), described);
            let direction = match part.direction {
                Direction::Asc => "A",
                Direction::Desc => "D",
            };
            let disabled = self.state == IndexState::Disabled;
            listing.push(vec![
                text(Some(table.name.as_str())),
                Value::Int(i64::from(!self.unique)),
                text(Some(self.name)),
                Value::Int(i64::try_from(position + 1).unwrap_or(i64::MAX)),
                text(expression.is_none().then_some(column.name.as_str())),
                Value::text(direction),
                Value::Null,
                length.map_or(Value::Null, |length| Value::Int(i64::from(length))),
                Value::Null,
                Value::text(if column.nullable { "YES" } else { "" }),
                Value::text("KV"),
                Value::text(if disabled { "disabled" } else { "" }),
                text(Some(self.comment)),
                Value::text(if self.state.is_read() { "YES" } else { "NO" }),
                text(expression),
                Value::text(self.state.name()),
                text(Some(format!("{}%", self.percent))),
                self.told.size.clone(),
                self.told.entries.clone(),
                self.told.last_used.clone(),
            ]);
        }
    }
}

/// `Sub_part` and `Expression`.
fn described(part: &ComputedPart) -> (Option<u32>, Option<&str>) {
    match &part.source {
        PartSource::Prefix { length, .. } => (Some(*length), None),
        PartSource::Expression(text) => (None, Some(text)),
    }
}

/// MySQL's word for the part a column has in keys (manual, "SHOW COLUMNS Statement"): in a table
/// without primary key the first unique index without `NULL` stands for one.
pub(in crate::session) fn key_word(table: &Table, column_idx: usize) -> &'static str {
    let attributes = table.attributes(column_idx);
    if attributes.has(Attributes::PRIMARY_KEY) {
        "PRI"
    } else if attributes.has(Attributes::UNIQUE_KEY) {
        "UNI"
    } else if attributes.has(Attributes::MULTIPLE_KEY) {
        "MUL"
    } else {
        ""
    }
}
