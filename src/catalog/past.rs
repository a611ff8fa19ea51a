//! What a row has in a column when it was written before the column was as it is now: before it was
//! added, or when it had another type. ALTER TABLE changes definitions and no rows; the reader of an
//! old row makes up for it here.
//!
//! ```text
//!  the row has the column's id          its value, or NULL
//!  it has the id of a former type       that value, as a value of the types since
//!  it has none of them                  what the column had when it was added
//! ```

use super::schema::Column;
use crate::codec::Corrupt;
use crate::codec::row::{Cell, ColumnId, RowView};
use crate::types::coerce::{self, StoreMode};
use crate::types::temporal::DateRules;
use crate::types::{ColumnType, Value};

/// The past of one column; that of most is empty.
#[derive(Debug, Clone)]
pub struct Past {
    /// The value of rows that have none under any id: the default when the column was added. The same
    /// value ([`Value::is_same`]) is not stored, so that a row has one form, whenever it was written.
    pub absent: Value<'static>,
    /// The types that the column had and whose bytes the present one does not read, and all since the first of them,
    /// oldest first.
    pub former: Vec<Former>,
}

/// A type that a column had.
#[derive(Debug, Clone)]
pub struct Former {
    /// The id under which rows have values of it.
    pub id: ColumnId,
    /// The type.
    pub ty: ColumnType,
}

impl Default for Past {
    fn default() -> Past {
        Past {
            absent: Value::Null,
            former: Vec::new(),
        }
    }
}

impl Past {
    /// Of a column that is added to a table with rows.
    pub fn of_added(absent: Value<'static>) -> Past {
        Past {
            absent,
            former: Vec::new(),
        }
    }

    /// Whether rows that have no value have `NULL`, as they always did.
    pub fn is_plain(&self) -> bool {
        self.former.is_empty() && self.absent.is_null()
    }

    /// The value of a row that has nothing under the column's own id; `ty` is the present type.
    ///
    /// # Errors
    /// [`Corrupt`] for stored bytes that are no value of the type they were written with.
    pub fn value<'a>(&'a self, row: &RowView<'a>, ty: &ColumnType) -> Result<Value<'a>, Corrupt> {
        for (at, former) in self.former.iter().enumerate().rev() {
            let mut value = match row.get(former.id, &former.ty)? {
                Cell::Absent => continue,
                Cell::Null => return Ok(Value::Null),
                Cell::Value(value) => value,
            };
            let since = self.former.iter().skip(at + 1).map(|later| &later.ty);
            for ty in since.chain([ty]) {
                value = converted(value, ty)
                    .ok_or_else(|| Corrupt::bad(0, "a value that its column cannot hold"))?;
            }
            return Ok(value);
        }
        Ok(self.absent.borrow())
    }
}

impl Column {
    /// The value of a row that is stored under the column's id, or what its past says.
    ///
    /// # Errors
    /// [`Corrupt`] for stored bytes that are no value of the type.
    pub fn value_in<'a>(&'a self, row: &RowView<'a>) -> Result<Value<'a>, Corrupt> {
        match row.get(self.id, &self.ty)? {
            Cell::Value(value) => Ok(value),
            Cell::Null => Ok(Value::Null),
            Cell::Absent => self.past.value(row, &self.ty),
        }
    }
}

/// A stored value as one of another type, as near as that has it; `None` when it has none.
fn converted<'v>(value: Value<'v>, ty: &ColumnType) -> Option<Value<'v>> {
    let mode = StoreMode {
        is_strict: false,
        dates: DateRules::LENIENT,
        ..StoreMode::STRICT
    };
    let coerced = coerce::coerce(value, ty, &mode).ok()?;
    Some(coerced.value)
}
