//! Which types read the stored bytes of which others, and which values may not fit.
//! The bytes are described in `codec/FORMAT.md`.

use crate::types::ColumnType;
use crate::types::column_type::{IntWidth, LobSize};

/// How a column of another type reads what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is, in rows and in keys.
    Same,
    /// As it is in rows; in keys it is written otherwise.
    Row,
    /// Not: values are converted.
    Other,
}

/// How a column of type `new` reads values of type `old`, as far as they fit.
pub(super) fn reads_as(old: &ColumnType, new: &ColumnType) -> Form {
    use ColumnType as T;
    match (old, new) {
        (old, new) if old == new => Form::Same,
        (old, new) if old.is_integer() && new.is_integer() => {
            // A small number without sign has the bytes of a negative one.
            if is_unsigned(old) && !is_unsigned(new) {
                Form::Other
            } else {
                Form::Same
            }
        }
        (T::Decimal { scale: old, .. }, T::Decimal { scale: new, .. }) if old == new => Form::Same,
        (T::Decimal { scale: old, .. }, T::Decimal { scale: new, .. }) if old < new => Form::Row,
        (old, new) if old.is_text() && new.is_text() => Form::Same,
        (T::Binary { .. } | T::Varbinary { .. } | T::Blob(_), T::Varbinary { .. } | T::Blob(_)) => {
            Form::Same
        }
        (T::Char { .. } | T::Varchar { .. } | T::Text(_), T::Varbinary { .. } | T::Blob(_))
        | (T::Varbinary { .. } | T::Blob(_), T::Char { .. } | T::Varchar { .. } | T::Text(_))
        | (T::Json, T::Text(_))
        | (T::Float, T::Double) => Form::Row,
        (T::Time { fsp: old }, T::Time { fsp: new })
        | (T::Datetime { fsp: old }, T::Datetime { fsp: new })
        | (T::Timestamp { fsp: old }, T::Timestamp { fsp: new })
            if old <= new =>
        {
            Form::Same
        }
        (T::Enum(old), T::Enum(new)) if new.starts_with(old) => Form::Same,
        _ => Form::Other,
    }
}

/// Whether some value of type `old` does not fit a column of type `new` that reads its bytes.
pub(super) fn may_not_fit(old: &ColumnType, new: &ColumnType) -> bool {
    use ColumnType as T;
    match (old, new) {
        (old, new) if old == new => false,
        (old, new) if old.is_integer() && new.is_integer() => {
            let (old_min, old_max) = integer_range(old);
            let (new_min, new_max) = integer_range(new);
            old_min < new_min || new_max < old_max
        }
        (
            T::Decimal { precision, scale },
            T::Decimal {
                precision: new_precision,
                scale: new_scale,
            },
        ) => {
            let whole = precision.saturating_sub(*scale);
            new_precision.saturating_sub(*new_scale) < whole || new_scale < scale
        }
        (old, new) if is_string(old) && is_string(new) => {
            let is_padded = |ty: &ColumnType| matches!(ty, T::Char { .. });
            let gains_padding = is_padded(new) && !is_padded(old);
            let (old, new) = (Room::of(old), Room::of(new));
            let is_smaller = new.bytes < old.bytes || new.chars < old.chars;
            is_smaller || new.is_text && !old.is_text || gains_padding
        }
        (T::Time { .. }, T::Time { .. })
        | (T::Datetime { .. }, T::Datetime { .. })
        | (T::Timestamp { .. }, T::Timestamp { .. })
        | (T::Enum(_), T::Enum(_)) => reads_as(old, new) != Form::Same,
        (T::Json, T::Text(LobSize::Long)) | (T::Float, T::Double) => false,
        _ => true,
    }
}

fn is_unsigned(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Int { unsigned: true, .. })
}

fn is_string(ty: &ColumnType) -> bool {
    ty.is_text() || ty.is_binary()
}

/// The least and the greatest value of an integer type.
fn integer_range(ty: &ColumnType) -> (i128, i128) {
    let bits = match ty {
        ColumnType::Int { width, .. } => match width {
            IntWidth::Tiny => 8,
            IntWidth::Small => 16,
            IntWidth::Medium => 24,
            IntWidth::Int => 32,
            IntWidth::Big => 64,
        },
        // BOOLEAN; nobody asks for another.
        ColumnType::Boolean
        | ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_)
        | ColumnType::Binary { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Blob(_)
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year
        | ColumnType::Json
        | ColumnType::Enum(_) => 8,
    };
    if is_unsigned(ty) {
        return (0, (1_i128 << bits) - 1);
    }
    let half = 1_i128 << (bits - 1);
    (-half, half - 1)
}

/// Bytes of one character of utf8mb4, at most.
const CHAR_BYTES_MAX: u64 = 4;

/// What a string column holds at most.
struct Room {
    is_text: bool,
    chars: u64,
    bytes: u64,
}

impl Room {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are no strings")]
    fn of(ty: &ColumnType) -> Room {
        let text = |chars: u64| Room {
            is_text: true,
            chars,
            bytes: chars.saturating_mul(CHAR_BYTES_MAX),
        };
        let bytes = |is_text: bool, bytes: u64| Room {
            is_text,
            chars: bytes,
            bytes,
        };
        match ty {
            ColumnType::Char { chars_max } => text(u64::from(*chars_max)),
            ColumnType::Varchar { chars_max } => text(chars_max.map_or(u64::MAX, u64::from)),
            ColumnType::Text(size) => bytes(true, lob_bytes(*size)),
            ColumnType::Binary { bytes: most } => bytes(false, u64::from(*most)),
            ColumnType::Varbinary { bytes_max } => {
                bytes(false, bytes_max.map_or(u64::MAX, u64::from))
            }
            ColumnType::Blob(size) => bytes(false, lob_bytes(*size)),
            _ => bytes(false, u64::MAX),
        }
    }
}

/// Nothing is longer than `max_value_bytes`, so the two largest are without limit.
fn lob_bytes(size: LobSize) -> u64 {
    match size {
        LobSize::Tiny => 255,
        LobSize::Regular => 65_535,
        LobSize::Medium | LobSize::Long => u64::MAX,
    }
}
