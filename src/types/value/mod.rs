//! One value of a row or an expression.
//!
//! [`order`] compares, [`number`] reads values as numbers, [`text`] shows them. Storing a value in
//! a column is [`super::coerce`].

pub mod number;
pub mod order;
pub mod text;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::{Date, Datetime, Decimal, Time, Timestamp};

pub use order::GroupKey;
pub(crate) use order::digits_of;

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

impl<'a> Value<'a> {
    /// `1` or `0`, as MySQL answers questions.
    pub fn boolean(is_true: bool) -> Value<'static> {
        Value::Int(i64::from(is_true))
    }

    /// A borrowed text.
    pub fn text(text: &'a str) -> Value<'a> {
        Value::Text(Cow::Borrowed(text))
    }

    /// A borrowed binary string.
    pub fn bytes(bytes: &'a [u8]) -> Value<'a> {
        Value::Bytes(Cow::Borrowed(bytes))
    }

    /// Whether this is `NULL`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether it is a number; a year is one.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            Value::Int(_)
                | Value::UInt(_)
                | Value::Float(_)
                | Value::Double(_)
                | Value::Decimal(_)
                | Value::Year(_)
        )
    }

    /// The same value, independent of what it was borrowed from.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Value::Json(json) => Value::Json(Cow::Owned(json.into_owned())),
            Value::Enum(EnumValue { index, label }) => {
                let label = Cow::Owned(label.into_owned());
                Value::Enum(EnumValue { index, label })
            }
            Value::Null => Value::Null,
            Value::Int(number) => Value::Int(number),
            Value::UInt(number) => Value::UInt(number),
            Value::Float(number) => Value::Float(number),
            Value::Double(number) => Value::Double(number),
            Value::Decimal(number) => Value::Decimal(number),
            Value::Date(date) => Value::Date(date),
            Value::Time(time) => Value::Time(time),
            Value::Datetime(datetime) => Value::Datetime(datetime),
            Value::Timestamp(at) => Value::Timestamp(at),
            Value::Year(year) => Value::Year(year),
        }
    }

    /// A view of this value that copies no text.
    pub fn borrow(&self) -> Value<'_> {
        match self {
            Value::Text(text) => Value::Text(Cow::Borrowed(text)),
            Value::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
            Value::Json(json) => Value::Json(Cow::Borrowed(json)),
            Value::Enum(EnumValue { index, label }) => {
                let label = Cow::Borrowed(label.as_ref());
                Value::Enum(EnumValue {
                    index: *index,
                    label,
                })
            }
            Value::Null => Value::Null,
            Value::Int(number) => Value::Int(*number),
            Value::UInt(number) => Value::UInt(*number),
            Value::Float(number) => Value::Float(*number),
            Value::Double(number) => Value::Double(*number),
            Value::Decimal(number) => Value::Decimal(*number),
            Value::Date(date) => Value::Date(*date),
            Value::Time(time) => Value::Time(*time),
            Value::Datetime(datetime) => Value::Datetime(*datetime),
            Value::Timestamp(at) => Value::Timestamp(*at),
            Value::Year(year) => Value::Year(*year),
        }
    }

    /// The bytes of a text, a binary string, an `ENUM`'s label or `JSON`; of nothing else.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Text(text) | Value::Json(text) => Some(text.as_bytes()),
            Value::Bytes(bytes) => Some(bytes),
            Value::Enum(member) => Some(member.label.as_bytes()),
            Value::Null
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::Datetime(_)
            | Value::Timestamp(_)
            | Value::Year(_) => None,
        }
    }

    /// About how many bytes of memory the value takes, for limits.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Value<'_>>() + self.as_bytes().map_or(0, <[u8]>::len)
    }
}
