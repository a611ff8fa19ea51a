//! Whether a value of a column fits the column as ALTER TABLE is to make it: of the values that are
//! there, and of those that others write meanwhile.

use crate::catalog::Column;
use crate::error::{Code, Error, Result};
use crate::types::Value;
use crate::types::coerce::{self, Problem, StoreMode};
use crate::types::temporal::DateRules;

/// Checks a value of the column `old` for the column `new`; `row_number` counts from 1.
///
/// # Errors
/// 1138 for `NULL` in a column that is to take none; those of storing a value in strict mode.
pub fn check((old, new): (&Column, &Column), value: &Value<'_>, row_number: u64) -> Result<()> {
    if value.is_null() {
        if new.nullable {
            return Ok(());
        }
        let text = format!(
            "Invalid use of NULL value: column '{}' has NULL at row {row_number}",
            new.name
        );
        return Err(Error::new(Code::NullInvalid, text));
    }
    if old.ty == new.ty {
        return Ok(());
    }
    let mode = StoreMode {
        dates: DateRules::LENIENT,
        ..StoreMode::STRICT
    };
    let failed = |problem: Problem| problem.into_error(&new.name, row_number);
    let coerced = coerce::coerce(value.borrow(), &new.ty, &mode).map_err(failed)?;
    match coerced.adjustment {
        None => Ok(()),
        // Values that are converted may be rounded; those that stay as they are must fit.
        Some(adjustment) if adjustment.is_note && is_converted(old, new) => Ok(()),
        Some(adjustment) => Err(failed(adjustment.problem)),
    }
}

/// Whether old rows are converted as they are read.
fn is_converted(old: &Column, new: &Column) -> bool {
    old.past.former.len() < new.past.former.len()
}
