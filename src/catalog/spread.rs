//! Spread keys: a leading part of a primary key that the server computes from other columns of the
//! key, so that rows with rising keys do not all go to one place (docs/spread.md).
//!
//! ```text
//!   hash8(c, …)  hash32(c, …)  hash64(c, …)     the upper bits of a hash of the columns
//!   reverse(c)                                  the text of a column backwards
//!   bucket(c, n)                                a hash of the column modulo n
//! ```
//! The part is a column of the definition, hidden and the last of those that the key needs, whose values
//! are stored in the key and nowhere else. No statement names it. Not here: the hash (`codec::spread`),
//! and what a plan makes of it (`plan::fan_out`).

use super::describe::quoted;
use super::schema::{Column, KeyPart, Table};
use crate::codec::EncodeError;
use crate::codec::row::ColumnId;
use crate::codec::spread;
use crate::types::column_type::IntWidth;
use crate::types::{ColumnType, Value};

/// The name of the column; no identifier can be this.
const NAME: &str = "\0spread";

/// Buckets of one key. Each is a span of its own where all of them are read.
pub const BUCKETS_MAX: u16 = 1024;

/// How a part is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpreadKind {
    /// The upper 8 bits of the hash.
    Hash8,
    /// The upper 32 bits of the hash.
    Hash32,
    /// The hash.
    Hash64,
    /// The column's text from its end to its begin.
    Reverse,
    /// The hash modulo this number, from 1 to [`BUCKETS_MAX`].
    Bucket(u16),
}

/// A computed part of a primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// How it is computed.
    pub kind: SpreadKind,
    /// What from: positions in [`Table::columns`], all of them in the key behind the part.
    pub inputs: Vec<usize>,
}

impl SpreadKind {
    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            SpreadKind::Hash8 => "hash8",
            SpreadKind::Hash32 => "hash32",
            SpreadKind::Hash64 => "hash64",
            SpreadKind::Reverse => "reverse",
            SpreadKind::Bucket(_) => "bucket",
        }
    }

    /// The buckets, if it has some that can be listed.
    pub fn buckets(self) -> Option<u16> {
        match self {
            SpreadKind::Bucket(count) => Some(count),
            SpreadKind::Hash8 | SpreadKind::Hash32 | SpreadKind::Hash64 | SpreadKind::Reverse => {
                None
            }
        }
    }
}

impl Spread {
    /// The type of the part; of a column that is reversed, its own without a length.
    pub fn ty(&self, columns: &[Column]) -> ColumnType {
        let width = match self.kind {
            SpreadKind::Hash8 => IntWidth::Tiny,
            SpreadKind::Bucket(_) => IntWidth::Small,
            SpreadKind::Hash32 => IntWidth::Int,
            SpreadKind::Hash64 => IntWidth::Big,
            SpreadKind::Reverse => {
                let input = self.inputs.first().and_then(|idx| columns.get(*idx));
                return if input.is_some_and(|input| input.ty.is_binary()) {
                    ColumnType::Varbinary { bytes_max: None }
                } else {
                    ColumnType::VARCHAR
                };
            }
        };
        ColumnType::Int {
            width,
            unsigned: true,
        }
    }

    /// The part of a row whose columns have these values.
    ///
    /// # Errors
    /// A value that is not of its column's type.
    pub fn value<'v>(
        &self,
        columns: &[Column],
        value_of: impl Fn(usize) -> Option<&'v Value<'v>>,
    ) -> Result<Value<'static>, EncodeError> {
        let inputs = self.inputs.iter();
        let mut pairs = inputs.filter_map(|idx| Some((value_of(*idx)?, &columns.get(*idx)?.ty)));
        if self.kind == SpreadKind::Reverse {
            let value = pairs.next().map_or(&Value::Null, |(value, _)| value);
            return Ok(spread::reversed(value));
        }
        let hash = spread::hash(pairs)?;
        Ok(Value::UInt(match self.kind {
            SpreadKind::Hash8 => hash >> 56,
            SpreadKind::Hash32 => hash >> 32,
            SpreadKind::Hash64 | SpreadKind::Reverse => hash,
            SpreadKind::Bucket(count) => hash % u64::from(count.max(1)),
        }))
    }

    /// As in DDL, with such names of columns: ``bucket(`ts`, 16)``.
    pub fn text(&self, name: &dyn Fn(usize) -> String) -> String {
        let inputs: Vec<String> = self.inputs.iter().map(|idx| name(*idx)).collect();
        let count = match self.kind.buckets() {
            Some(count) => format!(", {count}"),
            None => String::new(),
        };
        format!("{}({}{count})", self.kind.name(), inputs.join(", "))
    }
}

impl Column {
    /// The hidden column of a spread part.
    pub fn of_spread(id: ColumnId, spread: Spread, columns: &[Column]) -> Column {
        let ty = spread.ty(columns);
        Column {
            nullable: false,
            hidden: true,
            spread: Some(Box::new(spread)),
            ..Column::new(id, NAME, ty)
        }
    }
}

impl Table {
    /// The spread part of the key, which is its first, if it has one.
    pub fn spread(&self) -> Option<&Spread> {
        let first = self.key.first()?;
        self.columns.get(first.column_idx)?.spread.as_deref()
    }

    /// The parts of the key that are declared columns.
    pub fn declared_key(&self) -> &[KeyPart] {
        let hidden = usize::from(self.spread().is_some());
        self.key.get(hidden..).unwrap_or_default()
    }

    /// Whether a column is the spread part of the key.
    pub fn is_spread(&self, column_idx: usize) -> bool {
        let column = self.columns.get(column_idx);
        column.is_some_and(|column| column.spread.is_some())
    }

    /// Gives a row its spread part, if the key has one.
    ///
    /// # Errors
    /// A value that is not of its column's type.
    pub fn fill_spread(&self, values: &mut [Value<'_>]) -> Result<(), EncodeError> {
        let (Some(spread), Some(part)) = (self.spread(), self.key.first()) else {
            return Ok(());
        };
        let value = spread.value(&self.columns, |idx| values.get(idx))?;
        if let Some(place) = values.get_mut(part.column_idx) {
            *place = value;
        }
        Ok(())
    }

    /// The spread part as in DDL.
    pub fn spread_text(&self, spread: &Spread) -> String {
        spread.text(&|idx| {
            let column = self.columns.get(idx);
            column.map_or(String::new(), |column| quoted(&column.name))
        })
    }
}
