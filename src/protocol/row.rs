//! Rows, as text and as binary, encoded straight into the output buffer.
//!
//! Hot: runs per cell. Must not be added: an allocation per row or cell, a lock, a log line, a
//! match on anything but the value and the column's cell kind.

use super::{calendar, number, wire};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::types::column_type::IntWidth;
use crate::types::temporal::zone::Zone;
use crate::types::value::text::write_fixed_f64;
use crate::types::{ColumnType, ResultColumn, Value};

/// The most bytes of one row of a result: of the largest packet that clients can ask for.
pub const ROW_BYTES_MAX: usize = 1 << 30;

/// Bytes of a row between two looks at how long it has become: a shorter one is not looked at.
const LOOK_BYTES: usize = 1 << 20;

/// Encodes the rows of one result.
#[derive(Debug, Clone)]
pub struct RowEncoder {
    form: Form,
    columns_count: usize,
    row_bytes_max: usize,
}

#[derive(Debug, Clone)]
enum Form {
    Text,
    /// Some columns are shown in ways of their own.
    Shown(Box<[Shown]>),
    Binary(Box<[Cell]>),
}

/// How a text row shows a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// As its values are.
    Plain,
    /// Doubles, with so many digits after the point.
    Fixed(u8),
    /// Values of any type, as texts.
    Dynamic,
}

/// How a binary row holds a column; it follows the type in the column's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Int8,
    Int16,
    Int32,
    Int64,
    Float,
    Double,
    Date,
    Moment,
    Time,
    /// Everything that is sent as its text or bytes.
    String,
    /// A text in any case.
    Dynamic,
}

impl RowEncoder {
    /// For the answer to a query: every value as text.
    pub fn text(columns_count: usize) -> RowEncoder {
        RowEncoder {
            form: Form::Text,
            columns_count,
            row_bytes_max: ROW_BYTES_MAX,
        }
    }

    /// As [`RowEncoder::text`], with the digits that the columns fix.
    pub fn text_of(columns: &[ResultColumn]) -> RowEncoder {
        let shown = |column: &ResultColumn| match (column.decimals, &column.ty) {
            (_, ColumnType::Dynamic) => Shown::Dynamic,
            (Some(decimals), _) => Shown::Fixed(decimals),
            (None, _) => Shown::Plain,
        };
        let shown: Box<[Shown]> = columns.iter().map(shown).collect();
        if shown.iter().all(|shown| *shown == Shown::Plain) {
            return RowEncoder::text(columns.len());
        }
        RowEncoder {
            columns_count: columns.len(),
            form: Form::Shown(shown),
            row_bytes_max: ROW_BYTES_MAX,
        }
    }

    /// For the answer to an EXECUTE.
    pub fn binary<'t>(types: impl Iterator<Item = &'t ColumnType>) -> RowEncoder {
        let cells: Box<[Cell]> = types.map(Cell::of).collect();
        RowEncoder {
            columns_count: cells.len(),
            form: Form::Binary(cells),
            row_bytes_max: ROW_BYTES_MAX,
        }
    }

    /// The same, for rows of at most so many bytes.
    #[cfg(test)]
    pub(crate) fn of_at_most(self, row_bytes_max: usize) -> RowEncoder {
        RowEncoder {
            row_bytes_max,
            ..self
        }
    }

    /// Appends a row's payload, TIMESTAMPs in the given zone. After an error the buffer holds a
    /// part of it.
    ///
    /// # Errors
    /// 1153 past [`ROW_BYTES_MAX`], 1041 when the process has no memory for it; an internal error when the
    /// values are not those of the columns.
    pub fn encode(&self, values: &[Value<'_>], zone: &Zone, out: &mut Vec<u8>) -> Result<()> {
        if values.len() != self.columns_count {
            let (values, columns) = (values.len(), self.columns_count);
            return Err(Error::internal(format!(
                "a row of {values} values for {columns} columns"
            )));
        }
        let mut growth = Growth::from(out.len(), self.row_bytes_max);
        match &self.form {
            Form::Text => {
                for value in values {
                    put_text(out, value, zone);
                    growth.look(out)?;
                }
            }
            Form::Shown(shown) => {
                for (value, shown) in values.iter().zip(shown) {
                    put_shown(out, (value, *shown), zone);
                    growth.look(out)?;
                }
            }
            Form::Binary(cells) => put_binary_row(out, (cells, values, &mut growth), zone)?,
        }
        growth.end(out)
    }
}

/// How long a row has become.
struct Growth {
    start: usize,
    /// What it had when it was last looked at.
    seen: usize,
    /// Where it is looked at next.
    next: usize,
    row_bytes_max: usize,
}

impl Growth {
    fn from(start: usize, row_bytes_max: usize) -> Growth {
        Growth {
            start,
            seen: start,
            next: start.saturating_add(LOOK_BYTES),
            row_bytes_max,
        }
    }

    /// Looks behind a cell, if the row has grown much since.
    fn look(&mut self, out: &[u8]) -> Result<()> {
        if out.len() < self.next {
            return Ok(());
        }
        self.grown(out.len())
    }

    /// Looks behind the last cell.
    fn end(&self, out: &[u8]) -> Result<()> {
        if out.len() - self.start <= self.row_bytes_max {
            return Ok(());
        }
        Err(self.too_large(out.len()))
    }

    #[cold]
    fn grown(&mut self, len: usize) -> Result<()> {
        if self.row_bytes_max < len - self.start {
            return Err(self.too_large(len));
        }
        ceiling::drip("a row of the result", len - self.seen)?;
        self.seen = len;
        self.next = len.saturating_add(LOOK_BYTES);
        Ok(())
    }

    #[cold]
    fn too_large(&self, len: usize) -> Error {
        let text = format!(
            "Got a packet bigger than 'max_allowed_packet' bytes: a row of the result has more than \
             {} bytes, the most is {}",
            len - self.start,
            self.row_bytes_max
        );
        Error::new(Code::PacketTooLarge, text)
    }
}

fn put_shown(out: &mut Vec<u8>, (value, shown): (&Value<'_>, Shown), zone: &Zone) {
    match (value, shown) {
        (Value::Double(number), Shown::Fixed(decimals)) => put_fixed(out, *number, decimals),
        (_, Shown::Dynamic) => put_dynamic(out, value, zone),
        (_, Shown::Plain | Shown::Fixed(_)) => put_text(out, value, zone),
    }
}

/// Appends a value as text, with its length.
pub fn put_text(out: &mut Vec<u8>, value: &Value<'_>, zone: &Zone) {
    match value {
        Value::Null => out.push(wire::NULL_LENGTH),
        Value::Int(number) => number::put_text_i64(out, *number),
        Value::UInt(number) => number::put_text_u64(out, *number),
        Value::Text(text) | Value::Json(text) => wire::put_lenenc_bytes(out, text.as_bytes()),
        Value::Bytes(bytes) => wire::put_lenenc_bytes(out, bytes),
        Value::Enum(member) => wire::put_lenenc_bytes(out, member.label.as_bytes()),
        Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_) => put_short_text(out, value, zone),
    }
}

/// A value of a dynamic column: the client is told of a text, so that bytes are sent as their
/// hexadecimal digits.
fn put_dynamic(out: &mut Vec<u8>, value: &Value<'_>, zone: &Zone) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let Value::Bytes(bytes) = value else {
        return put_text(out, value, zone);
    };
    let digit = |four_bits: u8| DIGITS.get(usize::from(four_bits)).copied();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0F]);
    let text: Vec<u8> = digits.filter_map(digit).collect();
    wire::put_lenenc_bytes(out, &text);
}

fn put_fixed(out: &mut Vec<u8>, number: f64, decimals: u8) {
    let mut text = Vec::new();
    write_fixed_f64(number, decimals, &mut text);
    wire::put_lenenc_bytes(out, &text);
}

/// Texts of numbers and dates are short: their length byte is written last.
fn put_short_text(out: &mut Vec<u8>, value: &Value<'_>, zone: &Zone) {
    let start = out.len();
    out.push(0);
    calendar::put_value_text(out, value, zone);
    let bytes = out.len() - start - 1;
    match u8::try_from(bytes) {
        Ok(short) if short <= wire::SHORT_LENGTH_MAX => {
            if let Some(place) = out.get_mut(start) {
                *place = short;
            }
        }
        Ok(_) | Err(_) => {
            let text = out.split_off(start + 1);
            out.truncate(start);
            wire::put_lenenc_bytes(out, &text);
        }
    }
}

/// A zero byte, a bitmap of the NULLs that begins at bit 2, the values that are not NULL.
fn put_binary_row(
    out: &mut Vec<u8>,
    (cells, values, growth): (&[Cell], &[Value<'_>], &mut Growth),
    zone: &Zone,
) -> Result<()> {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (cells.len() + 2).div_ceil(8), 0);
    for (idx, (cell, value)) in cells.iter().zip(values).enumerate() {
        if matches!(value, Value::Null) {
            if let Some(bits) = out.get_mut(bitmap + (idx + 2) / 8) {
                *bits |= 1 << ((idx + 2) % 8);
            }
        } else if !cell.put(out, value, zone) {
            return Err(mismatch(idx, *cell, value));
        }
        growth.look(out)?;
    }
    Ok(())
}

#[cold]
fn mismatch(idx: usize, cell: Cell, value: &Value<'_>) -> Error {
    Error::internal(format!(
        "column {idx} is sent as {cell:?} but holds {value:?}"
    ))
}

impl Cell {
    fn of(ty: &ColumnType) -> Cell {
        match ty {
            ColumnType::Boolean => Cell::Int8,
            ColumnType::Int { width, .. } => match width {
                IntWidth::Tiny => Cell::Int8,
                IntWidth::Small => Cell::Int16,
                IntWidth::Medium | IntWidth::Int => Cell::Int32,
                IntWidth::Big => Cell::Int64,
            },
            ColumnType::Year => Cell::Int16,
            ColumnType::Float => Cell::Float,
            ColumnType::Double => Cell::Double,
            ColumnType::Date => Cell::Date,
            ColumnType::Datetime { .. } | ColumnType::Timestamp { .. } => Cell::Moment,
            ColumnType::Time { .. } => Cell::Time,
            ColumnType::Dynamic => Cell::Dynamic,
            ColumnType::Null
            | ColumnType::Decimal { .. }
            | ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Binary { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob(_)
            | ColumnType::Json
            | ColumnType::Enum(_) => Cell::String,
        }
    }

    /// Appends a value that is not NULL; `false` when it does not go with the column's type.
    fn put(self, out: &mut Vec<u8>, value: &Value<'_>, zone: &Zone) -> bool {
        match self {
            Cell::Int64 => put_int64(out, value),
            Cell::String => {
                put_text(out, value, zone);
                true
            }
            Cell::Dynamic => {
                put_dynamic(out, value, zone);
                true
            }
            Cell::Int8 | Cell::Int16 | Cell::Int32 => put_narrow_int(out, self, value),
            Cell::Float => put_float(out, value),
            Cell::Double => put_double(out, value),
            Cell::Date => calendar::put_binary_date(out, value),
            Cell::Moment => calendar::put_binary_datetime(out, value, zone),
            Cell::Time => calendar::put_binary_time(out, value),
        }
    }
}

fn put_int64(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    match wide_int(value) {
        Some(Wide::Signed(number)) => wire::put_i64(out, number),
        Some(Wide::Unsigned(number)) => wire::put_u64(out, number),
        None => return false,
    }
    true
}

enum Wide {
    Signed(i64),
    Unsigned(u64),
}

fn wide_int(value: &Value<'_>) -> Option<Wide> {
    match value {
        Value::Int(number) => Some(Wide::Signed(*number)),
        Value::UInt(number) => Some(Wide::Unsigned(*number)),
        Value::Year(year) => Some(Wide::Unsigned(u64::from(*year))),
        Value::Enum(member) => Some(Wide::Unsigned(u64::from(member.index))),
        Value::Null
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Json(_) => None,
    }
}

/// The same bits hold a signed and an unsigned number; the column's flags tell which it is.
fn put_narrow_int(out: &mut Vec<u8>, cell: Cell, value: &Value<'_>) -> bool {
    let number = match wide_int(value) {
        Some(Wide::Signed(number)) => number,
        Some(Wide::Unsigned(number)) => match i64::try_from(number) {
            Ok(number) => number,
            Err(_) => return false,
        },
        None => return false,
    };
    match cell {
        Cell::Int8 => match (i8::try_from(number), u8::try_from(number)) {
            (Ok(signed), _) => wire::put_i8(out, signed),
            (_, Ok(unsigned)) => out.push(unsigned),
            (Err(_), Err(_)) => return false,
        },
        Cell::Int16 => match (i16::try_from(number), u16::try_from(number)) {
            (Ok(signed), _) => wire::put_i16(out, signed),
            (_, Ok(unsigned)) => wire::put_u16(out, unsigned),
            (Err(_), Err(_)) => return false,
        },
        Cell::Int32
        | Cell::Int64
        | Cell::Float
        | Cell::Double
        | Cell::Date
        | Cell::Moment
        | Cell::Time
        | Cell::String
        | Cell::Dynamic => match (i32::try_from(number), u32::try_from(number)) {
            (Ok(signed), _) => wire::put_i32(out, signed),
            (_, Ok(unsigned)) => wire::put_u32(out, unsigned),
            (Err(_), Err(_)) => return false,
        },
    }
    true
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "an expression typed as floating may come as an integer or a double; MySQL rounds"
)]
fn put_float(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    match (value, wide_int(value)) {
        (Value::Float(number), _) => wire::put_f32(out, *number),
        (Value::Double(number), _) => wire::put_f32(out, *number as f32),
        (_, Some(Wide::Signed(number))) => wire::put_f32(out, number as f32),
        (_, Some(Wide::Unsigned(number))) => wire::put_f32(out, number as f32),
        (_, None) => return false,
    }
    true
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an expression typed as DOUBLE may come as an integer; MySQL rounds to the nearest"
)]
fn put_double(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    match (value, wide_int(value)) {
        (Value::Double(number), _) => wire::put_f64(out, *number),
        (Value::Float(number), _) => wire::put_f64(out, f64::from(*number)),
        (_, Some(Wide::Signed(number))) => wire::put_f64(out, number as f64),
        (_, Some(Wide::Unsigned(number))) => wire::put_f64(out, number as f64),
        (_, None) => return false,
    }
    true
}
