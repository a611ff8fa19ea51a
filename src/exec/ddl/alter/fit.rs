//! Whether a value of a column fits the column as ALTER TABLE is to make it: of the values that are
//! there, and of those that others write meanwhile.

use super::form::{Form, reads_as};
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
    if is_made_zero(&coerced.value, value) {
        if matches!(value, Value::Time(_)) {
            let text = format!(
                "ALTER TABLE of column '{}' from {} to {}: a value would get the date of the day on \
                 which it is read; add a column, UPDATE it, and drop this one",
                old.name, old.ty, new.ty
            );
            return Err(Error::unsupported(text));
        }
        return Err(failed(Problem::IncorrectTime {
            wanted: if matches!(coerced.value, Value::Date(_)) {
                "date"
            } else {
                "datetime"
            },
            shown: value.to_text().into_owned(),
        }));
    }
    match coerced.adjustment {
        // A key would have spaces at its end that no value of the column has.
        None if !is_converted(old, new) && is_shorter(&coerced.value, value) => {
            let text = format!(
                "Data truncated for column '{}' at row {row_number}: it ends with spaces, which {} \
                 does not keep; UPDATE it with RTRIM first",
                new.name, new.ty
            );
            Err(Error::new(Code::DataTruncated, text))
        }
        None => Ok(()),
        // Values that are converted may be rounded; those that stay as they are must fit.
        Some(adjustment) if adjustment.is_note && is_converted(old, new) => Ok(()),
        Some(adjustment) => Err(failed(adjustment.problem)),
    }
}

/// Whether a date would be zero that has not been one: of a time of day, or of a number without a date.
fn is_made_zero(stored: &Value<'_>, given: &Value<'_>) -> bool {
    let zero_date = matches!(stored, Value::Date(date) if date.is_zero());
    let zero_moment = matches!(stored, Value::Datetime(at) if at.date().is_zero());
    let was_date = matches!(
        given,
        Value::Date(_)
            | Value::Datetime(_)
            | Value::Timestamp(_)
            | Value::Text(_)
            | Value::Bytes(_)
    );
    (zero_date || zero_moment) && !was_date
}

/// Whether a string has lost bytes: a `CHAR` is without spaces at its end.
fn is_shorter(stored: &Value<'_>, given: &Value<'_>) -> bool {
    let is_string = matches!(given, Value::Text(_) | Value::Bytes(_));
    let Value::Text(stored) = stored else {
        return false;
    };
    let given = given.as_bytes().filter(|_| is_string);
    given.is_some_and(|given| stored.len() < given.len())
}

/// Whether old rows may have another value as they are read.
fn is_converted(old: &Column, new: &Column) -> bool {
    reads_as(&old.ty, &new.ty) == Form::Other
}
