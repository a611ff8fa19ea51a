//! The total order of values: what ORDER BY, GROUP BY, DISTINCT, `min`/`max` and keys agree on.
//!
//! It is made for values of one column: `NULL` first, numbers by number, text by bytes, an `ENUM`
//! by position. Values of unlike families order by family, so that any list can be sorted; what
//! MySQL's `=` and `<` do with unlike types is the business of `sql/eval`.
//!
//! Numbers of unlike types are compared by the double that is nearest to each, and among those of one
//! nearest double by their digits, those of a double being `digits_of` it. So `0.1` and `1e-1` are equal,
//! and yet there is an order, which two by two (as doubles here, exactly there) there is not.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use super::Value;
use crate::types::{Decimal, json};

/// The most digits that a double is written with, so that no other one reads the same.
const DOUBLE_DIGITS_MAX: u32 = 17;

/// Values that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Family {
    Null,
    Number,
    Calendar,
    Moment,
    Span,
    Bytes,
    Enum,
    Json,
}

/// A number of whichever type, exact where it can be.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Decimal(Decimal),
    Double(f64),
}

impl Value<'_> {
    /// The total order; see the head of this file. `-0.0` equals `0.0`, and `NaN` is the last
    /// number.
    pub fn total_cmp(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Double(a), Value::Double(b)) => cmp_doubles(*a, *b),
            (Value::Date(a), Value::Date(b)) => a.cmp(b),
            (Value::Datetime(a), Value::Datetime(b)) => a.cmp(b),
            (Value::Date(a), Value::Datetime(b)) => a.at_midnight().cmp(b),
            (Value::Datetime(a), Value::Date(b)) => a.cmp(&b.at_midnight()),
            (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
            (Value::Time(a), Value::Time(b)) => a.cmp(b),
            (Value::Enum(a), Value::Enum(b)) => a.index.cmp(&b.index),
            (Value::Json(a), Value::Json(b)) => json::compare(a, b),
            (a, b) => a.cmp_across(b),
        }
    }

    /// Whether one value of a column can stand for the other, and nobody sees it: of those that the total
    /// order has as equal, zeros may have different signs, JSON may have a number as `1` or as `1.0`, and a
    /// column without declaration keeps the type that a value was written with, and its digits.
    pub fn is_same(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
            (Value::Decimal(a), Value::Decimal(b)) => a.scale() == b.scale() && a == b,
            (Value::Json(a), Value::Json(b)) => a == b,
            (a, b) => discriminant(a) == discriminant(b) && a.total_cmp(b).is_eq(),
        }
    }

    /// Two types of one family, or two families.
    fn cmp_across(&self, other: &Value<'_>) -> Ordering {
        if let (Some(a), Some(b)) = (self.as_number(), other.as_number()) {
            return cmp_numbers(a, b);
        }
        let (a, b) = (self.family(), other.family());
        if a == Family::Bytes && b == Family::Bytes {
            return self.as_bytes().cmp(&other.as_bytes());
        }
        a.cmp(&b)
    }

    fn family(&self) -> Family {
        match self {
            Value::Null => Family::Null,
            Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Year(_) => Family::Number,
            Value::Date(_) | Value::Datetime(_) => Family::Calendar,
            Value::Timestamp(_) => Family::Moment,
            Value::Time(_) => Family::Span,
            Value::Text(_) | Value::Bytes(_) => Family::Bytes,
            Value::Enum(_) => Family::Enum,
            Value::Json(_) => Family::Json,
        }
    }

    fn as_number(&self) -> Option<Number> {
        match self {
            Value::Int(number) => Some(Number::Whole(i128::from(*number))),
            Value::UInt(number) => Some(Number::Whole(i128::from(*number))),
            Value::Year(year) => Some(Number::Whole(i128::from(*year))),
            Value::Decimal(number) => Some(Number::Decimal(*number)),
            Value::Float(number) => Some(Number::Double(f64::from(*number))),
            Value::Double(number) => Some(Number::Double(*number)),
            Value::Null
            | Value::Text(_)
            | Value::Bytes(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::Datetime(_)
            | Value::Timestamp(_)
            | Value::Json(_)
            | Value::Enum(_) => None,
        }
    }

    /// Feeds a hash so that values equal by [`Value::total_cmp`] feed the same.
    pub fn hash_group<H: Hasher>(&self, state: &mut H) {
        self.family().hash(state);
        match self {
            Value::Null => {}
            Value::Int(number) => i128::from(*number).hash(state),
            Value::UInt(number) => i128::from(*number).hash(state),
            Value::Year(year) => i128::from(*year).hash(state),
            Value::Float(number) => hash_double(f64::from(*number), state),
            Value::Double(number) => hash_double(*number, state),
            Value::Decimal(number) => hash_decimal(*number, state),
            Value::Text(text) => text.as_bytes().hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
            Value::Date(date) => date.at_midnight().hash(state),
            Value::Datetime(datetime) => datetime.hash(state),
            Value::Timestamp(at) => at.hash(state),
            Value::Time(time) => time.hash(state),
            Value::Json(text) => json::hash(text, state),
            Value::Enum(member) => member.index.hash(state),
        }
    }
}

/// Numeric order; equal zeros whatever their sign; `NaN` last.
pub fn cmp_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn cmp_numbers(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
        (Number::Decimal(a), Number::Decimal(b)) => a.cmp(&b),
        (Number::Double(a), Number::Double(b)) => cmp_doubles(a, b),
        (Number::Whole(a), Number::Double(b)) => cmp_whole_double(a, b),
        (Number::Double(a), Number::Whole(b)) => cmp_whole_double(b, a).reverse(),
        (Number::Whole(a), Number::Decimal(b)) => cmp_whole_decimal(a, b),
        (Number::Decimal(a), Number::Whole(b)) => cmp_whole_decimal(b, a).reverse(),
        (Number::Decimal(a), Number::Double(b)) => cmp_decimal_double(a, b),
        (Number::Double(a), Number::Decimal(b)) => cmp_decimal_double(b, a).reverse(),
    }
}

/// By the nearest double, and then by the digits; a double that has none in a `DECIMAL` comes first.
fn cmp_decimal_double(a: Decimal, b: f64) -> Ordering {
    cmp_doubles(a.to_f64(), b).then_with(|| digits_of(b).map_or(Ordering::Greater, |b| a.cmp(&b)))
}

/// What a double is worth beside exact numbers it is the nearest double of: a whole number of 64 bits
/// exactly that, any other the fewest digits that tell it from its neighbours. `None` where a `DECIMAL`
/// has no room for them.
pub(crate) fn digits_of(number: f64) -> Option<Decimal> {
    if let Some(whole) = whole_64(number) {
        return Decimal::new(whole, 0);
    }
    // A small fraction that no DECIMAL has would come out as another number.
    Decimal::from_f64(number).filter(|digits| cmp_doubles(digits.to_f64(), number).is_eq())
}

/// The double as a whole number, if it is one and about as long as an integer can be.
fn whole_64(number: f64) -> Option<i128> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    whole_part(number).filter(|_| number.fract() == 0.0 && number.abs() <= LIMIT)
}

fn cmp_whole_decimal(a: i128, b: Decimal) -> Ordering {
    // Whole numbers here have 64 bits, 20 digits at most.
    Decimal::new(a, 0).unwrap_or(Decimal::ZERO).cmp(&b)
}

/// Exact: no rounding of the whole number to a double.
fn cmp_whole_double(a: i128, b: f64) -> Ordering {
    match whole_part(b) {
        Some(whole) => a.cmp(&whole).then_with(|| cmp_doubles(0.0, b.fract())),
        None if b < 0.0 => Ordering::Greater,
        None => Ordering::Less,
    }
}

/// The whole part of a double, where an `i128` holds it.
fn whole_part(number: f64) -> Option<i128> {
    const LIMIT: f64 = 1.7e38;
    #[expect(clippy::cast_possible_truncation, reason = "inside the range of i128")]
    (number.abs() < LIMIT).then_some(number.trunc() as i128)
}

fn hash_double<H: Hasher>(number: f64, state: &mut H) {
    if let Some(whole) = whole_64(number) {
        return whole.hash(state);
    }
    if number.fract() == 0.0
        && let Some(digits) = digits_of(number)
    {
        return digits.trunc_to_i128().hash(state);
    }
    let number = if number.is_nan() { f64::NAN } else { number };
    number.to_bits().hash(state);
}

/// A fraction that may be a double's digits is hashed as that double.
fn hash_decimal<H: Hasher>(number: Decimal, state: &mut H) {
    if number.is_integer() {
        return number.trunc_to_i128().hash(state);
    }
    let number = number.normalized();
    if number.coefficient().unsigned_abs() < 10u128.pow(DOUBLE_DIGITS_MAX) {
        return number.to_f64().to_bits().hash(state);
    }
    number.hash(state);
}

/// A value as the key of a map: equality, order and hash of the total order.
#[derive(Debug, Clone)]
pub struct GroupKey<'a>(pub Value<'a>);

impl PartialEq for GroupKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.total_cmp(&other.0) == Ordering::Equal
    }
}

impl Eq for GroupKey<'_> {}

impl PartialOrd for GroupKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GroupKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for GroupKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash_group(state);
    }
}
