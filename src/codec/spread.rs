//! The functions of spread keys: a hash of values, and a text backwards. `FORMAT.md` describes both, as
//! keys are stored with what they give.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::EncodeError;
use super::key::{Direction, encode_part};
use crate::types::{ColumnType, Value};

/// Room for the encoded values of most keys without growing.
const BYTES_FEW: usize = 64;

/// The hash of some values: XXH3 of 64 bits, seed 0 (Yann Collet, "xxHash fast digest algorithm", stable
/// since 0.8.0), of their encodings as ascending key parts, one behind the other.
///
/// # Errors
/// A value that is not of its type.
pub fn hash<'v>(
    values: impl Iterator<Item = (&'v Value<'v>, &'v ColumnType)>,
) -> Result<u64, EncodeError> {
    let mut bytes = Vec::with_capacity(BYTES_FEW);
    for (value, ty) in values {
        encode_part(&mut bytes, value, ty, Direction::Asc)?;
    }
    Ok(xxh3_64(&bytes))
}

/// A text, or the text of a number, by its characters backwards; a binary string by its bytes.
pub fn reversed(value: &Value<'_>) -> Value<'static> {
    if value.is_null() {
        return Value::Null;
    }
    if let Value::Bytes(bytes) = value {
        let bytes: Vec<u8> = bytes.iter().rev().copied().collect();
        return Value::Bytes(Cow::Owned(bytes));
    }
    let text: String = value.to_text().chars().rev().collect();
    Value::Text(Cow::Owned(text))
}
