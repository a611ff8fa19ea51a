//! The parameters of a prepared statement: what EXECUTE carries, and what is kept between.
//!
//! A client names the types when they change, which may be only the first time; so they are kept
//! per statement. Long data is kept until the next EXECUTE takes it.
//!
//! Layout of EXECUTE's body: NULL bitmap, one flag byte, the types if the flag is not 0, values. With
//! query attributes their number stands in front, each type is followed by a name, and what comes
//! after the statement's own parameters is an attribute. A query's attributes look the same, in
//! front of its text.

use std::borrow::Cow;

use super::calendar::{self, ClockFields, DateFields, MomentFields};
use super::wire::{self, Reader};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::types::Value;

/// The unsigned flag beside a parameter's type.
const UNSIGNED: u8 = 0x80;

/// How a parameter's value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Null,
    Int { bytes: u8, unsigned: bool },
    Float,
    Double,
    Decimal,
    Year,
    Date,
    Datetime,
    Time,
    Text,
    Bytes,
    Json,
}

impl Encoding {
    /// The encoding of MySQL's type number `code`; the numbers are those of `enum_field_types`.
    fn of(code: u8, flags: u8) -> Result<Encoding> {
        let unsigned = flags & UNSIGNED != 0;
        Ok(match code {
            0 | 246 => Encoding::Decimal,
            1 | 244 => Encoding::Int { bytes: 1, unsigned },
            2 => Encoding::Int { bytes: 2, unsigned },
            3 | 9 => Encoding::Int { bytes: 4, unsigned },
            4 => Encoding::Float,
            5 => Encoding::Double,
            6 => Encoding::Null,
            8 => Encoding::Int { bytes: 8, unsigned },
            7 | 12 => Encoding::Datetime,
            10 => Encoding::Date,
            11 => Encoding::Time,
            13 => Encoding::Year,
            15 | 247 | 248 | 253 | 254 => Encoding::Text,
            16 | 249..=252 | 255 => Encoding::Bytes,
            245 => Encoding::Json,
            _ => {
                let message = format!("Incorrect arguments to EXECUTE: parameter type {code}");
                return Err(Error::new(Code::WrongArguments, message));
            }
        })
    }
}

/// A named value that a client sent with a statement.
#[derive(Debug, Clone)]
pub struct Attribute<'a> {
    /// Its name, as sent.
    pub name: Cow<'a, [u8]>,
    /// Its value.
    pub value: Value<'a>,
}

/// What an EXECUTE carries.
#[derive(Debug, Clone, Default)]
pub struct Decoded<'a> {
    /// The values of the statement's parameters.
    pub values: Vec<Value<'a>>,
    /// What else was sent by name.
    pub attributes: Vec<Attribute<'a>>,
}

/// How the parameters of an EXECUTE are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As many as the statement has, without names.
    Plain,
    /// The client speaks [`QUERY_ATTRIBUTES`](super::Capabilities::QUERY_ATTRIBUTES).
    Named {
        /// Whether their number is there when the statement has no parameters.
        is_counted: bool,
    },
}

/// The most values with names that one packet carries.
const NAMED_MAX: u64 = 0xFFFF;

/// What is kept of a statement's parameters between its executions.
#[derive(Debug)]
pub struct Parameters {
    count: u16,
    /// One per parameter and attribute, or none until the first EXECUTE that says them.
    encodings: Vec<Encoding>,
    /// The names of the attributes among them.
    names: Vec<Box<[u8]>>,
    /// One per parameter, or none while no parameter has long data.
    long_data: Vec<Option<Vec<u8>>>,
    long_data_bytes: usize,
    /// `SEND_LONG_DATA` has no answer, so what is wrong with it is said by the next EXECUTE.
    long_data_error: Option<Error>,
}

impl Parameters {
    /// For a statement of `count` parameters.
    pub fn new(count: u16) -> Parameters {
        Parameters {
            count,
            encodings: Vec::new(),
            names: Vec::new(),
            long_data: Vec::new(),
            long_data_bytes: 0,
            long_data_error: None,
        }
    }

    /// Appends to a parameter; all parameters of the statement together hold at most `bytes_max`.
    pub fn append_long_data(&mut self, parameter: u16, data: &[u8], bytes_max: usize) {
        if self.long_data_error.is_none()
            && let Err(error) = self.try_append_long_data(parameter, data, bytes_max)
        {
            self.fail_long_data(error);
        }
    }

    fn try_append_long_data(
        &mut self,
        parameter: u16,
        data: &[u8],
        bytes_max: usize,
    ) -> Result<()> {
        if self.long_data.is_empty() {
            self.long_data.resize(usize::from(self.count), None);
        }
        let Some(slot) = self.long_data.get_mut(usize::from(parameter)) else {
            let message = format!("Incorrect arguments to SEND_LONG_DATA: parameter {parameter}");
            return Err(Error::new(Code::WrongArguments, message));
        };
        self.long_data_bytes = self.long_data_bytes.saturating_add(data.len());
        if bytes_max < self.long_data_bytes {
            let message = format!(
                "Got a packet bigger than 'max_allowed_packet' bytes: \
                 long data of more than {bytes_max} bytes"
            );
            return Err(Error::new(Code::PacketTooLarge, message));
        }
        ceiling::drip("long data of a parameter", data.len())?;
        slot.get_or_insert_default().extend_from_slice(data);
        Ok(())
    }

    /// A piece of long data is not there, so that the next EXECUTE cannot have what the client meant: it
    /// fails with the first of such errors. What comes in between is thrown away.
    pub fn fail_long_data(&mut self, error: Error) {
        self.long_data = Vec::new();
        self.long_data_bytes = 0;
        self.long_data_error.get_or_insert(error);
    }

    /// Forgets long data and errors of it.
    pub fn clear_long_data(&mut self) {
        self.long_data = Vec::new();
        self.long_data_bytes = 0;
        self.long_data_error = None;
    }

    /// The values of an EXECUTE, borrowed from its packet where they can be. Takes the long data.
    ///
    /// # Errors
    /// 1210 when a type is unknown, or was never named and the value is not NULL; 1835 when the packet
    /// ends early, 1292 or 1366 when a value is none of its type, 1153 when long data was too long,
    /// 1041 when there was no memory for it.
    pub fn decode<'a>(&mut self, body: &'a [u8], layout: Layout) -> Result<Decoded<'a>> {
        let mut long_data = std::mem::take(&mut self.long_data);
        let long_data_error = self.long_data_error.take();
        self.long_data_bytes = 0;
        if let Some(error) = long_data_error {
            return Err(error);
        }
        let own = usize::from(self.count);
        let mut reader = Reader::new(body);
        let count = match layout {
            Layout::Named { is_counted } if is_counted || 0 < own => read_count(&mut reader)?,
            Layout::Named { .. } | Layout::Plain => own,
        };
        if count < own {
            let message = format!("Incorrect arguments to EXECUTE: {count} given, {own} expected");
            return Err(Error::new(Code::WrongArguments, message));
        }
        if count == 0 {
            return Ok(Decoded::default());
        }
        let nulls = reader.bytes(count.div_ceil(8))?;
        // Kept types may be more: those of attributes that do not come this time.
        if reader.u8()? != 0 {
            self.read_types(&mut reader, (count, layout))?;
        }
        let mut values = Vec::with_capacity(own);
        let mut attributes = Vec::new();
        for idx in 0..count {
            let long = long_data.get_mut(idx).and_then(Option::take);
            let null_bits = nulls.get(idx / 8).copied().unwrap_or(0);
            let value = match (long, self.encodings.get(idx)) {
                (Some(data), Some(encoding)) => long_value(*encoding, data),
                // NULL needs no type: Connector/J names none while every parameter is NULL.
                (None, _) if null_bits >> (idx % 8) & 1 == 1 => Value::Null,
                (None, Some(encoding)) => read_value(*encoding, &mut reader)?,
                (_, None) => return Err(untyped()),
            };
            match idx.checked_sub(own) {
                None => values.push(value),
                Some(at) => attributes.push(Attribute {
                    name: Cow::Owned(
                        self.names
                            .get(at)
                            .map_or_else(Vec::new, |name| name.to_vec()),
                    ),
                    value,
                }),
            }
        }
        Ok(Decoded { values, attributes })
    }

    /// Keeps the types, all or none of them, and the names of attributes.
    fn read_types(
        &mut self,
        reader: &mut Reader<'_>,
        (count, layout): (usize, Layout),
    ) -> Result<()> {
        self.encodings.clear();
        self.names.clear();
        let mut encodings = Vec::new();
        for idx in 0..count {
            encodings.push(read_type(reader)?);
            if layout == Layout::Plain {
                continue;
            }
            let name = reader.lenenc_bytes()?;
            if usize::from(self.count) <= idx {
                self.names.push(name.into());
            }
        }
        self.encodings = encodings;
        Ok(())
    }
}

/// Reads the attributes in front of a query's text.
///
/// # Errors
/// As [`Parameters::decode`].
pub(super) fn read_attributes<'a>(reader: &mut Reader<'a>) -> Result<Vec<Attribute<'a>>> {
    let count = read_count(reader)?;
    let _sets_count = reader.lenenc()?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let nulls = reader.bytes(count.div_ceil(8))?;
    if reader.u8()? == 0 {
        let message = "Incorrect arguments to QUERY: the types of the attributes are missing";
        return Err(Error::new(Code::WrongArguments, message));
    }
    let mut named = Vec::new();
    for _ in 0..count {
        named.push((read_type(reader)?, reader.lenenc_bytes()?));
    }
    let mut attributes = Vec::with_capacity(count);
    for (idx, (encoding, name)) in named.into_iter().enumerate() {
        let null_bits = nulls.get(idx / 8).copied().unwrap_or(0);
        let value = if null_bits >> (idx % 8) & 1 == 1 {
            Value::Null
        } else {
            read_value(encoding, reader)?
        };
        let name = Cow::Borrowed(name);
        attributes.push(Attribute { name, value });
    }
    Ok(attributes)
}

/// How many values with names there are.
fn read_count(reader: &mut Reader<'_>) -> Result<usize> {
    let count = reader.lenenc()?;
    if NAMED_MAX < count {
        let message = format!("{count} parameters and attributes, the most are {NAMED_MAX}");
        return Err(Error::new(Code::WrongArguments, message));
    }
    usize::try_from(count).map_err(|_| wire::malformed())
}

fn read_type(reader: &mut Reader<'_>) -> Result<Encoding> {
    let (code, flags) = (reader.u8()?, reader.u8()?);
    Encoding::of(code, flags)
}

fn untyped() -> Error {
    let message = "Incorrect arguments to EXECUTE: the types of the parameters are missing";
    Error::new(Code::WrongArguments, message)
}

/// Long data of a character type is text when it is UTF-8; everything else is bytes.
fn long_value(encoding: Encoding, data: Vec<u8>) -> Value<'static> {
    match encoding {
        Encoding::Text | Encoding::Json => match String::from_utf8(data) {
            Ok(text) => Value::Text(Cow::Owned(text)),
            Err(error) => Value::Bytes(Cow::Owned(error.into_bytes())),
        },
        Encoding::Null
        | Encoding::Int { .. }
        | Encoding::Float
        | Encoding::Double
        | Encoding::Decimal
        | Encoding::Year
        | Encoding::Date
        | Encoding::Datetime
        | Encoding::Time
        | Encoding::Bytes => Value::Bytes(Cow::Owned(data)),
    }
}

/// There is no infinity in SQL, and nothing that is no number.
fn check_finite(number: f64) -> Result<()> {
    if number.is_finite() {
        return Ok(());
    }
    let text = format!("Illegal double '{number}' value found during parsing");
    Err(Error::new(Code::IllegalDouble, text))
}

fn read_value<'a>(encoding: Encoding, reader: &mut Reader<'a>) -> Result<Value<'a>> {
    Ok(match encoding {
        Encoding::Null => Value::Null,
        Encoding::Int { bytes, unsigned } => read_int(reader, bytes, unsigned)?,
        Encoding::Float => {
            let number = reader.f32()?;
            check_finite(f64::from(number))?;
            Value::Float(number)
        }
        Encoding::Double => {
            let number = reader.f64()?;
            check_finite(number)?;
            Value::Double(number)
        }
        Encoding::Decimal => read_decimal(reader)?,
        Encoding::Year => Value::UInt(u64::from(reader.u16()?)),
        Encoding::Date => read_date(reader)?,
        Encoding::Datetime => read_datetime(reader)?,
        Encoding::Time => read_time(reader)?,
        Encoding::Bytes => Value::Bytes(Cow::Borrowed(reader.lenenc_bytes()?)),
        Encoding::Text | Encoding::Json => {
            let bytes = reader.lenenc_bytes()?;
            match std::str::from_utf8(bytes) {
                Ok(text) => Value::Text(Cow::Borrowed(text)),
                Err(_) => Value::Bytes(Cow::Borrowed(bytes)),
            }
        }
    })
}

fn read_int(reader: &mut Reader<'_>, bytes: u8, unsigned: bool) -> Result<Value<'static>> {
    Ok(match (bytes, unsigned) {
        (1, false) => Value::Int(i64::from(reader.u8()?.cast_signed())),
        (1, true) => Value::UInt(u64::from(reader.u8()?)),
        (2, false) => Value::Int(i64::from(reader.u16()?.cast_signed())),
        (2, true) => Value::UInt(u64::from(reader.u16()?)),
        (4, false) => Value::Int(i64::from(reader.u32()?.cast_signed())),
        (4, true) => Value::UInt(u64::from(reader.u32()?)),
        (_, false) => Value::Int(reader.u64()?.cast_signed()),
        (_, true) => Value::UInt(reader.u64()?),
    })
}

fn read_decimal(reader: &mut Reader<'_>) -> Result<Value<'static>> {
    let bytes = reader.lenenc_bytes()?;
    let text = std::str::from_utf8(bytes).ok();
    // Some clients send their whole buffer, as MySQL's own tests do.
    let text = text.map(|text| text.trim_end_matches('\0'));
    text.and_then(calendar::decimal).ok_or_else(|| {
        let shown = String::from_utf8_lossy(bytes.get(..64).unwrap_or(bytes));
        let message = format!("Incorrect DECIMAL value: '{shown}' for a parameter");
        Error::new(Code::IncorrectValue, message)
    })
}

/// Dates have 0 bytes (the zero date), 4 (a date), 7 (with time) or 11 (with microseconds).
fn read_moment(reader: &mut Reader<'_>) -> Result<(MomentFields, u8)> {
    let length = reader.u8()?;
    let mut moment = MomentFields::default();
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(wire::malformed());
    }
    if 4 <= length {
        let (year, month, day) = (reader.u16()?, reader.u8()?, reader.u8()?);
        moment.date = DateFields { year, month, day };
    }
    if 7 <= length {
        let (hour, minute, second) = (reader.u8()?, reader.u8()?, reader.u8()?);
        let micros = if length == 11 { reader.u32()? } else { 0 };
        moment.clock = ClockFields {
            hour,
            minute,
            second,
            micros,
        };
    }
    Ok((moment, length))
}

fn read_date(reader: &mut Reader<'_>) -> Result<Value<'static>> {
    let (moment, _) = read_moment(reader)?;
    let date = moment.date;
    calendar::date(date).ok_or_else(|| incorrect("DATE", &date))
}

fn read_datetime(reader: &mut Reader<'_>) -> Result<Value<'static>> {
    let (moment, length) = read_moment(reader)?;
    let fsp = if length == 11 { 6 } else { 0 };
    calendar::datetime(moment, fsp).ok_or_else(|| incorrect("DATETIME", &moment))
}

/// Times have 0 bytes (zero), 8, or 12 (with microseconds).
fn read_time(reader: &mut Reader<'_>) -> Result<Value<'static>> {
    let length = reader.u8()?;
    if length == 0 {
        let zero = calendar::time(false, 0, ClockFields::default(), 0);
        return zero.ok_or_else(|| Error::internal("the zero time is a time"));
    }
    if !matches!(length, 8 | 12) {
        return Err(wire::malformed());
    }
    let negative = reader.u8()? != 0;
    let days = reader.u32()?;
    let (hour, minute, second) = (reader.u8()?, reader.u8()?, reader.u8()?);
    let (micros, fsp) = if length == 12 {
        (reader.u32()?, 6)
    } else {
        (0, 0)
    };
    let clock = ClockFields {
        hour,
        minute,
        second,
        micros,
    };
    calendar::time(negative, days, clock, fsp)
        .ok_or_else(|| incorrect("TIME", &format!("{days} days {clock}")))
}

fn incorrect(ty: &str, value: &dyn std::fmt::Display) -> Error {
    let message = format!("Incorrect {ty} value: '{value}' for a parameter");
    Error::new(Code::IncorrectTypeValue, message)
}
