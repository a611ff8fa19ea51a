//! Another type for a column: how it reads the rows that are there, and which indexes are built again.

use super::super::form::{Form, reads_as};
use super::super::{check_part, indexes};
use super::Maker;
use crate::catalog::{Column, ComputedPart, Former, Index, IndexState, PartSource};
use crate::error::{Error, Result};
use crate::exec::ddl::ttl;
use crate::types::coerce::{self, StoreMode};
use crate::types::temporal::DateRules;
use crate::types::{ColumnType, Value};

impl Maker<'_> {
    /// What another type means for the rows that are there, and for the indexes.
    pub(super) fn retype(&mut self, (idx, old): (usize, &Column), new: &mut Column) -> Result<()> {
        let is_timestamp = |ty: &ColumnType| matches!(ty, ColumnType::Timestamp { .. });
        if is_timestamp(&old.ty) != is_timestamp(&new.ty) {
            let text = format!(
                "ALTER TABLE of column '{}' from {} to {}: it depends on the time zone of each \
                 session; add a column, UPDATE it, and drop this one",
                old.name, old.ty, new.ty
            );
            return Err(Error::unsupported(text));
        }
        indexes::check_no_text(self.table, idx)?;
        let form = reads_as(&old.ty, &new.ty);
        if self.table.key_position(idx).is_some() {
            if form != Form::Same {
                let text = format!(
                    "ALTER TABLE of primary key column '{}' from {} to {}: its keys are written \
                     otherwise; create another table and copy",
                    old.name, old.ty, new.ty
                );
                return Err(Error::unsupported(text));
            }
            check_part(new)?;
        }
        // What rows have of a former type is brought to each type since: that takes those between, too.
        let is_between = !old.past.former.is_empty() && old.ty != new.ty;
        if form == Form::Other || is_between {
            check_former(&new.past.former, old)?;
            new.past.former.push(Former {
                id: old.id,
                ty: old.ty.clone(),
            });
            new.id = self.table.next_column_id()?;
        }
        ttl::follow(self.table, old, new)?;
        new.past.absent = converted_absent(&old.past.absent, &new.ty);
        self.retype_in_indexes((idx, new), form)
    }

    /// Indexes with the column among their parts, checked for its new type.
    fn retype_in_indexes(&mut self, (idx, new): (usize, &Column), form: Form) -> Result<()> {
        let table = &*self.table;
        let mut rebuilt = Vec::new();
        for (position, index) in table.indexes.iter().enumerate() {
            if !indexes::has_column(table, index, idx) {
                continue;
            }
            if index.has_part(idx) {
                check_part(new)?;
            }
            for part in &index.computed.parts {
                if let PartSource::Prefix { column_idx, length } = part.source
                    && column_idx == idx
                    && ComputedPart::prefix((idx, new), length).is_none()
                {
                    let text = format!(
                        "ALTER TABLE of column '{}' to {}: index '{}' has its first {length} \
                         characters or bytes, which would be all; DROP INDEX {} first",
                        new.name, new.ty, index.name, index.name
                    );
                    return Err(Error::unsupported(text));
                }
            }
            if index.unique {
                check_unique(index, new, form)?;
            }
            if form != Form::Same {
                rebuilt.push(position);
            }
        }
        for position in rebuilt {
            if let Some(index) = self.table.indexes.get_mut(position) {
                indexes::build_again(index);
            }
        }
        Ok(())
    }
}

/// Most types that a column had which rows may still be read by: a row of the first passes all of them.
const FORMER_MAX: usize = 64;

fn check_former(former: &[Former], old: &Column) -> Result<()> {
    if former.len() < FORMER_MAX {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "ALTER TABLE of column '{}', which had {FORMER_MAX} other types, the most: create another table and copy",
        old.name
    )))
}

/// Refuses another type for a column of a unique index that would have to be built again: meanwhile
/// nobody would see to it that its values are unique.
///
/// # Errors
/// 1235.
fn check_unique(index: &Index, new: &Column, form: Form) -> Result<()> {
    let why = match form {
        Form::Same => return Ok(()),
        // It forbids nothing until it is built.
        Form::Row if index.state == IndexState::Disabled => return Ok(()),
        Form::Row => "the entries of unique index '{}' are written otherwise",
        Form::Other => "two values of unique index '{}' may become one",
    };
    Err(Error::unsupported(format!(
        "ALTER TABLE of column '{}' to {}: {}; DROP INDEX {} first, and ADD it behind",
        new.name,
        new.ty,
        why.replace("{}", &index.name),
        index.name
    )))
}

/// What rows without value have in a column of another type: `NULL` where that cannot hold what they
/// have now. No row is without value then: the look at the rows refuses the first one that is.
fn converted_absent(absent: &Value<'static>, ty: &ColumnType) -> Value<'static> {
    let mode = StoreMode {
        dates: DateRules::LENIENT,
        ..StoreMode::STRICT
    };
    let coerced = coerce::coerce(absent.clone(), ty, &mode);
    coerced.map_or(Value::Null, |coerced| coerced.value.into_owned())
}
