//! One value of a row or an expression.

use std::borrow::Cow;

use super::{Date, Datetime, Decimal, Time, Timestamp};

/// A value: borrowed from a stored row, a packet or a literal where it can be, owned where it was
/// computed. `Value<'static>` is the owned form; see `Value::into_owned`.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// SQL `NULL`.
    Null,
    /// Signed integers and booleans.
    Int(i64),
    /// Unsigned integers.
    UInt(u64),
    /// `FLOAT`; computed with as a double, shown with its own precision.
    Float(f32),
    /// `DOUBLE`.
    Double(f64),
    /// `DECIMAL`.
    Decimal(Decimal),
    /// Character strings, `ENUM` included (its label).
    Text(Cow<'a, str>),
    /// Binary strings.
    Bytes(Cow<'a, [u8]>),
    /// `DATE`.
    Date(Date),
    /// `TIME`.
    Time(Time),
    /// `DATETIME`.
    Datetime(Datetime),
    /// `TIMESTAMP`: UTC.
    Timestamp(Timestamp),
    /// `YEAR`: 0 or 1901 to 2155.
    Year(u16),
    /// `JSON`, as its normalised text (MySQL's: keys sorted by length then bytes, `", "` and `": "`).
    Json(Cow<'a, str>),
    /// A member of an `ENUM`: compares with text by its label, with numbers by its index.
    Enum(EnumValue<'a>),
}

/// A member of an `ENUM` column.
#[derive(Debug, Clone)]
pub struct EnumValue<'a> {
    /// Position in the declaration, from 1; 0 is the error member `''`.
    pub index: u16,
    /// The label.
    pub label: Cow<'a, str>,
}
