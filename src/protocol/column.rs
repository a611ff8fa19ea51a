//! Column definitions: what a client learns of a column before the rows.
//!
//! Drivers choose their own types, buffers and conversions by these fields, so each is filled:
//! type, character set (63 for everything that is not text), length in bytes (four per
//! character), decimals and flags. Source: MySQL's `Item::init_make_field` and its answers.

use super::handshake::CHARSET_UTF8MB4;
use super::reply::clipped;
use super::wire;
use crate::types::column_type::{IntWidth, LobSize};
use crate::types::{ColumnType, ResultColumn};

/// Names longer than this are cut: a whole expression may be one, and clients have broken on it.
const NAME_BYTES_MAX: usize = 256;

/// What each character takes at most.
const BYTES_PER_CHAR: u32 = 4;

/// The length of `VARCHAR` and `VARBINARY` without one: the default of `max_value_bytes`.
const UNBOUNDED_BYTES: u32 = 2 << 20;

/// `binary`: numbers, dates and bytes.
const CHARSET_BINARY: u8 = 63;

/// "Not fixed", the decimals of FLOAT and DOUBLE.
const DECIMALS_FLOATING: u8 = 31;

const FLAG_NOT_NULL: u16 = 1;
const FLAG_BLOB: u16 = 16;
const FLAG_UNSIGNED: u16 = 32;
const FLAG_ZEROFILL: u16 = 64;
const FLAG_BINARY: u16 = 128;
const FLAG_ENUM: u16 = 256;

/// How JSON columns are described. MariaDB's ODBC driver fails on type 245.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JsonAs {
    /// Type 245, as MySQL; drivers parse it.
    #[default]
    Json,
    /// `LONGTEXT`, as MariaDB.
    LongText,
}

/// Type and shape of a column in the wire's words.
struct Shape {
    code: u8,
    charset: u8,
    length: u32,
    flags: u16,
    decimals: u8,
}

/// Appends a column definition's payload.
pub fn put_column(out: &mut Vec<u8>, column: &ResultColumn, json_as: JsonAs) {
    let mut shape = shape(&column.ty, column.display_chars, json_as);
    if let Some(decimals) = column.decimals {
        shape.decimals = decimals;
    }
    wire::put_lenenc_bytes(out, b"def");
    for name in [
        &column.database,
        &column.table,
        &column.org_table,
        &column.name,
        &column.org_name,
    ] {
        wire::put_lenenc_bytes(out, clipped(name, NAME_BYTES_MAX).as_bytes());
    }
    put_shape(out, &shape, flags(column, &shape));
}

/// Appends the definition of a parameter, of which only the place is known.
pub fn put_parameter(out: &mut Vec<u8>) {
    let shape = text(VAR_STRING, UNBOUNDED_BYTES);
    wire::put_lenenc_bytes(out, b"def");
    for name in [&b""[..], b"", b"", b"?", b""] {
        wire::put_lenenc_bytes(out, name);
    }
    put_shape(out, &shape, shape.flags);
}

fn put_shape(out: &mut Vec<u8>, shape: &Shape, flags: u16) {
    out.push(0x0C);
    wire::put_u16(out, u16::from(shape.charset));
    wire::put_u32(out, shape.length);
    out.push(shape.code);
    wire::put_u16(out, flags);
    out.push(shape.decimals);
    wire::put_u16(out, 0);
}

fn flags(column: &ResultColumn, shape: &Shape) -> u16 {
    let mut flags = shape.flags;
    if !column.nullable {
        flags |= FLAG_NOT_NULL;
    }
    // Of numbers MySQL says it of expressions alone.
    if column.is_field && column.ty.is_numeric() {
        flags &= !FLAG_BINARY;
    }
    flags | column.attributes.bits()
}

const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
const JSON: u8 = 245;
const NEWDECIMAL: u8 = 246;
const BLOB: u8 = 252;
const VAR_STRING: u8 = 253;
const STRING: u8 = 254;

fn shape(ty: &ColumnType, display_chars: u32, json_as: JsonAs) -> Shape {
    let chars = |chars: u32| {
        if display_chars == 0 {
            chars
        } else {
            display_chars
        }
    };
    match ty {
        ColumnType::Null => binary(NULL, 0),
        ColumnType::Dynamic => text(VAR_STRING, UNBOUNDED_BYTES),
        ColumnType::Boolean => binary(TINY, 1),
        ColumnType::Int { width, unsigned } => int(*width, *unsigned, display_chars),
        ColumnType::Float => floating(FLOAT, 12),
        ColumnType::Double => floating(DOUBLE, 22),
        ColumnType::Decimal { precision, scale } => Shape {
            decimals: *scale,
            ..binary(
                NEWDECIMAL,
                u32::from(*precision) + 1 + u32::from(0 < *scale),
            )
        },
        ColumnType::Char { chars_max } => text(STRING, bytes_of(chars(*chars_max))),
        ColumnType::Varchar { chars_max: None } if display_chars == 0 => {
            text(VAR_STRING, UNBOUNDED_BYTES)
        }
        ColumnType::Varchar { chars_max } => {
            text(VAR_STRING, bytes_of(chars(chars_max.unwrap_or(0))))
        }
        ColumnType::Text(size) => Shape {
            flags: FLAG_BLOB,
            ..text(BLOB, lob_bytes(*size).saturating_mul(text_factor(*size)))
        },
        ColumnType::Binary { bytes } => binary(STRING, chars(*bytes)),
        ColumnType::Varbinary { bytes_max } => {
            binary(VAR_STRING, chars(bytes_max.unwrap_or(UNBOUNDED_BYTES)))
        }
        ColumnType::Blob(size) => blob(lob_bytes(*size)),
        ColumnType::Date => binary(DATE, 10),
        ColumnType::Time { fsp } => with_fraction(TIME, 10, *fsp),
        ColumnType::Datetime { fsp } => with_fraction(DATETIME, 19, *fsp),
        ColumnType::Timestamp { fsp } => with_fraction(TIMESTAMP, 19, *fsp),
        ColumnType::Year => Shape {
            flags: FLAG_UNSIGNED | FLAG_ZEROFILL | FLAG_BINARY,
            ..binary(YEAR, 4)
        },
        ColumnType::Json => json(json_as),
        ColumnType::Enum(labels) => {
            let longest = labels.iter().map(|label| label.chars().count()).max();
            let longest = u32::try_from(longest.unwrap_or(0)).unwrap_or(u32::MAX);
            Shape {
                flags: FLAG_ENUM,
                ..text(STRING, bytes_of(chars(longest)))
            }
        }
    }
}

fn int(width: IntWidth, unsigned: bool, display_chars: u32) -> Shape {
    let (code, signed_chars, unsigned_chars) = match width {
        IntWidth::Tiny => (TINY, 4, 3),
        IntWidth::Small => (SHORT, 6, 5),
        IntWidth::Medium => (INT24, 9, 8),
        IntWidth::Int => (LONG, 11, 10),
        IntWidth::Big => (LONGLONG, 20, 20),
    };
    let chars = if unsigned {
        unsigned_chars
    } else {
        signed_chars
    };
    // A TINYINT of length 1 is a boolean to drivers; a literal `1` must not become one.
    let chars = if display_chars < 2 {
        chars
    } else {
        display_chars
    };
    let mut shape = binary(code, chars);
    if unsigned {
        shape.flags |= FLAG_UNSIGNED;
    }
    shape
}

fn json(json_as: JsonAs) -> Shape {
    match json_as {
        JsonAs::Json => Shape {
            code: JSON,
            ..blob(u32::MAX)
        },
        JsonAs::LongText => Shape {
            flags: FLAG_BLOB,
            ..text(BLOB, u32::MAX)
        },
    }
}

fn binary(code: u8, length: u32) -> Shape {
    Shape {
        code,
        charset: CHARSET_BINARY,
        length,
        flags: FLAG_BINARY,
        decimals: 0,
    }
}

fn floating(code: u8, length: u32) -> Shape {
    Shape {
        decimals: DECIMALS_FLOATING,
        ..binary(code, length)
    }
}

fn with_fraction(code: u8, length: u32, fsp: u8) -> Shape {
    let fraction = if fsp == 0 { 0 } else { u32::from(fsp) + 1 };
    Shape {
        decimals: fsp,
        ..binary(code, length + fraction)
    }
}

fn text(code: u8, length: u32) -> Shape {
    Shape {
        code,
        charset: CHARSET_UTF8MB4,
        length,
        flags: 0,
        decimals: 0,
    }
}

fn blob(length: u32) -> Shape {
    Shape {
        flags: FLAG_BLOB | FLAG_BINARY,
        ..binary(BLOB, length)
    }
}

fn bytes_of(chars: u32) -> u32 {
    chars.saturating_mul(BYTES_PER_CHAR)
}

fn lob_bytes(size: LobSize) -> u32 {
    match size {
        LobSize::Tiny => 0xFF,
        LobSize::Regular => 0xFFFF,
        LobSize::Medium => 0xFF_FFFF,
        LobSize::Long => u32::MAX,
    }
}

/// MySQL multiplies the lengths of all TEXT types but the longest, which is at its end already.
fn text_factor(size: LobSize) -> u32 {
    match size {
        LobSize::Tiny | LobSize::Regular | LobSize::Medium => BYTES_PER_CHAR,
        LobSize::Long => 1,
    }
}
