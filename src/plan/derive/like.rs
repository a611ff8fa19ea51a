//! LIKE patterns as ranges of texts: `x LIKE 'ab%'` is `'ab' <= x AND x < 'ac'`.
//!
//! The one collation is `utf8mb4_bin`, in which texts are ordered by code point and so by byte.

use std::borrow::Cow;
use std::ops::Bound;

use super::super::domain::Domain;
use super::super::place;
use super::super::verdict::Obstacle;
use crate::catalog::Column;
use crate::types::{ColumnType, Value};

/// What follows the literal letters at the begin of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Nothing: the pattern is one text.
    Nothing,
    /// One `%`: any continuation.
    Anything,
    /// Something that must be checked per row.
    Pattern,
}

/// The texts that match `pattern`, and whether all of them do.
pub(super) fn domain(
    pattern: &Value<'static>,
    escape: Option<char>,
    column: &Column,
) -> Result<(Domain, bool), Obstacle> {
    match &column.ty {
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {}
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Boolean
        | ColumnType::Int { .. }
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Binary { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Blob(_)
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year
        | ColumnType::Json
        | ColumnType::Enum(_) => return Err(Obstacle::ComparesAsText),
    }
    let pattern = match pattern {
        Value::Null => return Ok((Domain::empty(), true)),
        Value::Text(text) => text.as_ref(),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => return Err(Obstacle::ComparesAsText),
    };
    match split(pattern, escape) {
        (text, Rest::Nothing) => Ok((Domain::point(owned(&text)), true)),
        (prefix, Rest::Anything) if prefix.is_empty() => {
            Ok((Domain::not_null(column.nullable), true))
        }
        (prefix, Rest::Pattern) if prefix.is_empty() => Err(Obstacle::LeadingWildcard),
        (prefix, rest) => Ok((with_prefix(&prefix, column), rest == Rest::Anything)),
    }
}

/// The literal letters at the begin of a pattern, and what follows them.
fn split(pattern: &str, escape: Option<char>) -> (String, Rest) {
    let mut prefix = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => match letters.next() {
                Some(escaped) => prefix.push(escaped),
                // An escape character with nothing behind it: left to the evaluator.
                None => return (prefix, Rest::Pattern),
            },
            '%' if letters.as_str().chars().all(|letter| letter == '%') => {
                // `escape '%'` never comes here.
                return (prefix, Rest::Anything);
            }
            '%' | '_' => return (prefix, Rest::Pattern),
            letter => prefix.push(letter),
        }
    }
    (prefix, Rest::Nothing)
}

fn with_prefix(prefix: &str, column: &Column) -> Domain {
    let high = behind(prefix).map_or(Bound::Unbounded, |text| Bound::Excluded(owned(&text)));
    place::between(Bound::Included(owned(prefix)), high, column)
}

/// The least text greater than all that begin with `prefix`; `None` when there is none.
fn behind(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        if let Some(next) = following(last) {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

/// The next code point that is a letter.
fn following(letter: char) -> Option<char> {
    (letter..=char::MAX).nth(1)
}

fn owned(text: &str) -> Value<'static> {
    Value::Text(Cow::Owned(text.to_owned()))
}
