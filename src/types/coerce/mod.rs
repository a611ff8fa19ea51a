//! Storing a value in a column: MySQL's conversions on assignment, within the limits of docs/limits.md.
//!
//! In strict mode whatever does not fit is a [`Problem`], an error; else the nearest value is
//! stored and the problem is a warning. `NULL` passes: whether a column takes it is not asked here.
//! Conversions inside expressions are `sql/eval`'s.

mod hex;
mod number;
mod temporal;
mod text;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

pub use hex::{bytes_of_digits, leading_bytes};

use super::column_type::ColumnType;
use super::json;
use super::temporal::{DateRules, Timestamp, Zone};
use super::value::Value;
use crate::error::{Code, Error};

/// `max_value_bytes` unless set otherwise: 2 MiB (docs/limits.md).
pub const VALUE_BYTES_MAX_DEFAULT: usize = 2 << 20;

/// Characters of a value that an error text repeats, as in MySQL.
const SHOWN_CHARS_MAX: usize = 128;

/// What of the session a conversion depends on.
#[derive(Debug, Clone)]
pub struct StoreMode<'z> {
    /// Whether a value that does not fit is an error.
    pub is_strict: bool,
    /// Which zero dates are values.
    pub dates: DateRules,
    /// The session's `time_zone`.
    pub zone: &'z Zone,
    /// When the statement began: its date is that of a `TIME` stored in a `DATETIME`.
    pub now: Timestamp,
    /// `max_value_bytes`.
    pub value_bytes_max: usize,
}

impl StoreMode<'static> {
    /// Strict, in UTC, with the default limit.
    pub const STRICT: StoreMode<'static> = StoreMode {
        is_strict: true,
        dates: DateRules::STRICT,
        zone: &Zone::UTC,
        now: Timestamp::ZERO,
        value_bytes_max: VALUE_BYTES_MAX_DEFAULT,
    };
}

/// A value as its column holds it.
#[derive(Debug, Clone)]
pub struct Coerced<'a> {
    /// Of the column's type, or `NULL`.
    pub value: Value<'a>,
    /// What was lost, when something was.
    pub adjustment: Option<Box<Adjustment>>,
}

/// What was lost when a value was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adjustment {
    /// A note is never an error: digits rounded away, spaces cut off.
    pub is_note: bool,
    /// The text and code of the warning.
    pub problem: Problem,
}

/// Why a value does not fit its column. The caller knows column and row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// 1264: a number outside the range.
    OutOfRange,
    /// 1406: more characters or bytes than the column holds.
    TooLong,
    /// 1406: more bytes than `max_value_bytes`, whatever the mode.
    ValueTooLarge {
        /// Bytes of the value.
        bytes: usize,
        /// `max_value_bytes`.
        bytes_max: usize,
    },
    /// 1265: a part of the value is lost.
    Truncated,
    /// 1366: a text that is no number, or bytes that are no text.
    IncorrectValue {
        /// What it should have been: `integer`, `decimal`, `string`.
        wanted: &'static str,
        /// The value, cut where it is long.
        shown: String,
    },
    /// 1292: not a calendar value.
    IncorrectTime {
        /// What it should have been: `date`, `datetime`, `time`.
        wanted: &'static str,
        /// The value, cut where it is long.
        shown: String,
    },
    /// 3140: not JSON, whatever the mode.
    InvalidJson {
        /// What is wrong.
        reason: String,
        /// Where, in bytes.
        at: usize,
    },
    /// 3157: JSON of too many levels, whatever the mode.
    JsonTooDeep,
}

impl Problem {
    /// The errno of the error or warning.
    pub fn code(&self) -> Code {
        match self {
            Problem::OutOfRange => Code::OutOfRange,
            Problem::TooLong | Problem::ValueTooLarge { .. } => Code::DataTooLong,
            Problem::Truncated => Code::DataTruncated,
            Problem::IncorrectValue { .. } => Code::IncorrectValue,
            Problem::IncorrectTime { .. } => Code::IncorrectTypeValue,
            Problem::InvalidJson { .. } => Code::InvalidJson,
            Problem::JsonTooDeep => Code::JsonTooDeep,
        }
    }

    /// The text of the error or warning, with MySQL's wording; `row` counts from 1.
    pub fn message(&self, column: &str, row: u64) -> String {
        let place = format!("for column '{column}' at row {row}");
        match self {
            Problem::OutOfRange => format!("Out of range value {place}"),
            Problem::TooLong => format!("Data too long {place}"),
            Problem::ValueTooLarge { bytes, bytes_max } => {
                format!("Data too long {place}: {bytes} bytes, max_value_bytes is {bytes_max}")
            }
            Problem::Truncated => format!("Data truncated {place}"),
            Problem::IncorrectValue { wanted, shown }
            | Problem::IncorrectTime { wanted, shown } => {
                format!("Incorrect {wanted} value: '{shown}' {place}")
            }
            Problem::InvalidJson { reason, at } => format!(
                "Invalid JSON text: \"{reason}\" at position {at} in value for column '{column}'."
            ),
            Problem::JsonTooDeep => json::TOO_DEEP.to_owned(),
        }
    }

    /// The error of a statement.
    pub fn into_error(self, column: &str, row: u64) -> Error {
        Error::new(self.code(), self.message(column, row))
    }
}

/// Without column and row, for places that have none.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::OutOfRange => f.write_str("out of range value"),
            Problem::TooLong => f.write_str("data too long"),
            Problem::ValueTooLarge { bytes, bytes_max } => {
                write!(f, "value is {bytes} bytes, the most is {bytes_max}")
            }
            Problem::Truncated => f.write_str("data truncated"),
            Problem::IncorrectValue { wanted, shown }
            | Problem::IncorrectTime { wanted, shown } => {
                write!(f, "incorrect {wanted} value: '{shown}'")
            }
            Problem::InvalidJson { reason, at } => {
                write!(f, "invalid JSON text: {reason} at position {at}")
            }
            Problem::JsonTooDeep => f.write_str(json::TOO_DEEP),
        }
    }
}

impl std::error::Error for Problem {}

/// The value as a column of type `ty` holds it.
///
/// # Errors
/// In strict mode, a value that does not fit; in any mode, invalid JSON and a value longer than
/// `max_value_bytes`.
pub fn coerce<'a>(
    value: Value<'a>,
    ty: &ColumnType,
    mode: &StoreMode<'_>,
) -> Result<Coerced<'a>, Problem> {
    if value.is_null() {
        return Ok(exact(Value::Null));
    }
    let coerced = match ty {
        ColumnType::Null => exact(value),
        ColumnType::Dynamic => text::to_dynamic(value, mode),
        ColumnType::Boolean | ColumnType::Int { .. } => number::to_integer(&value, ty, mode),
        ColumnType::Float => number::to_float(&value, mode),
        ColumnType::Double => number::to_double(&value, mode),
        ColumnType::Decimal { precision, scale } => {
            number::to_decimal(&value, (*precision, *scale), mode)
        }
        ColumnType::Year => number::to_year(&value, mode),
        ColumnType::Char { chars_max } => text::to_fixed_chars(value, *chars_max, mode),
        ColumnType::Varchar { chars_max } => text::to_chars(value, *chars_max, mode),
        ColumnType::Text(size) => text::to_text_lob(value, *size, mode),
        ColumnType::Binary { bytes } => text::to_binary(value, *bytes, mode),
        ColumnType::Varbinary { bytes_max } => {
            text::to_bytes(value, bytes_max.map(u64::from), mode)
        }
        ColumnType::Blob(size) => text::to_bytes(value, Some(size.bytes_max()), mode),
        ColumnType::Date => temporal::to_date(&value, mode),
        ColumnType::Time { fsp } => temporal::to_time(&value, *fsp, mode),
        ColumnType::Datetime { fsp } => temporal::to_datetime(&value, *fsp, mode),
        ColumnType::Timestamp { fsp } => temporal::to_timestamp(&value, *fsp, mode),
        ColumnType::Json => text::to_json(value, mode)?,
        ColumnType::Enum(labels) => text::to_enum(&value, labels, mode),
    };
    judge(coerced, mode)
}

/// Whether the mode lets the value pass.
fn judge<'a>(coerced: Coerced<'a>, mode: &StoreMode<'_>) -> Result<Coerced<'a>, Problem> {
    if let Some(adjustment) = &coerced.adjustment {
        let is_fatal = matches!(adjustment.problem, Problem::ValueTooLarge { .. });
        if is_fatal || (mode.is_strict && !adjustment.is_note) {
            return Err(adjustment.problem.clone());
        }
    }
    Ok(coerced)
}

/// The text, in UTC, that is kept of a value in a stored definition: a column's default. A FLOAT is shown with
/// six digits; here it has those of the same number as a DOUBLE, which are all of them.
pub fn stored_text<'a>(value: &'a Value<'_>) -> Cow<'a, str> {
    if let Value::Float(number) = value {
        let text = Value::Double(f64::from(*number)).to_text().into_owned();
        return Cow::Owned(text);
    }
    value.to_text()
}

/// The value whose [`stored_text`] is kept.
///
/// # Errors
/// When the text is not a value of the type.
pub fn from_stored_text(text: Cow<'_, str>, ty: &ColumnType) -> Result<Value<'static>, Problem> {
    if *ty == ColumnType::Json {
        return stored_json(text);
    }
    let mode = StoreMode {
        dates: DateRules::LENIENT,
        ..StoreMode::STRICT
    };
    coerce(Value::Text(text), ty, &mode).map(|coerced| coerced.value.into_owned())
}

/// As it is: what a DECIMAL or a DATETIME has become may have another form than what is read from a text.
fn stored_json(text: Cow<'_, str>) -> Result<Value<'static>, Problem> {
    coerce(Value::text(&text), &ColumnType::Json, &StoreMode::STRICT)?;
    Ok(Value::Json(Cow::Owned(text.into_owned())))
}

fn exact(value: Value<'_>) -> Coerced<'_> {
    Coerced {
        value,
        adjustment: None,
    }
}

fn adjusted(value: Value<'_>, problem: Problem) -> Coerced<'_> {
    let adjustment = Some(Box::new(Adjustment {
        is_note: false,
        problem,
    }));
    Coerced { value, adjustment }
}

fn noted(value: Value<'_>, problem: Problem) -> Coerced<'_> {
    let adjustment = Some(Box::new(Adjustment {
        is_note: true,
        problem,
    }));
    Coerced { value, adjustment }
}

/// The text of a value for an error: unprintable bytes as `\xFF`, cut where it is long.
fn shown(value: &Value<'_>, mode: &StoreMode<'_>) -> String {
    let mut bytes = Vec::new();
    value.write_text_in(mode.zone, &mut bytes);
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error.into_bytes().escape_ascii().to_string(),
    };
    text.chars().take(SHOWN_CHARS_MAX).collect()
}
