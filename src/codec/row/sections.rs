//! What a row may carry besides its columns, each section with its own flag, in this order:
//!
//! ```text
//!  expiry      ms (8)
//!  versions    length (4), then what `versions` says
//!  dynamic     count (2), ends (4 each), then the entries, sorted by name:
//!              length of the name (2), name, tag of the type, value
//! ```
//!
//! Milliseconds count from 1970. Ends are offsets behind the last end.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::value;
use super::versions::VersionsView;
use super::{Corrupt, flag};
use crate::types::Value;

/// A dynamic column: the value keeps the type it was written with.
#[derive(Debug, Clone)]
pub struct DynamicColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value, never `NULL`: that is written as no column.
    pub value: Value<'a>,
}

/// The sections of one row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sections<'a> {
    pub(super) expiry_ms: Option<u64>,
    pub(super) versions: Option<&'a [u8]>,
    pub(super) dynamic: Dynamic<'a>,
}

/// Splits the bytes behind the values, which begin at `at` in the row; all of them must be used.
pub(super) fn parse(bytes: &[u8], flags: u8, at: usize) -> Result<Sections<'_>, Corrupt> {
    let mut sections = Sections::default();
    let mut reader = Reader {
        rest: bytes,
        until: at.saturating_add(bytes.len()),
    };
    if flags & flag::EXPIRY != 0 {
        sections.expiry_ms = Some(reader.u64()?);
    }
    if flags & flag::VERSIONS != 0 {
        let length = reader.u32()?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        sections.versions = Some(reader.take(length)?);
    }
    if flags & flag::DYNAMIC != 0 {
        let count = usize::from(reader.u16()?);
        let ends = reader.take(count * 4)?;
        let entries_bytes = match ends.last_chunk::<4>() {
            Some(end) => super::view::bytes_count(*end),
            None => 0,
        };
        let at = reader.at();
        let entries = reader.take(entries_bytes)?;
        sections.dynamic = Dynamic { ends, entries, at };
    }
    if reader.rest.is_empty() {
        return Ok(sections);
    }
    Err(Corrupt::bad(reader.at(), "bytes behind the end of a row"))
}

impl Sections<'_> {
    /// Checks order and tags, which [`parse`] leaves out.
    pub(super) fn verify(&self) -> Result<(), Corrupt> {
        let mut before: Option<&str> = None;
        for column in self.dynamic.iter() {
            let name = column?.name;
            if before.is_some_and(|before| name <= before) {
                return Err(Corrupt::bad(self.dynamic.at, "names out of order"));
            }
            before = Some(name);
        }
        match self.versions {
            Some(versions) => VersionsView::parse(versions)?.verify(),
            None => Ok(()),
        }
    }
}

/// The dynamic columns of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Dynamic<'a> {
    ends: &'a [u8],
    entries: &'a [u8],
    /// Where the entries begin in the row.
    at: usize,
}

/// A dynamic column as it is stored.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    name: &'a [u8],
    /// Tag and value.
    typed: &'a [u8],
    /// Where the tag is in the row.
    typed_at: usize,
}

impl<'a> Entry<'a> {
    fn value(&self) -> Result<Value<'a>, Corrupt> {
        decode_tagged(self.typed).map_err(|corrupt| corrupt.shifted(self.typed_at))
    }
}

impl<'a> Dynamic<'a> {
    pub(super) fn count(&self) -> usize {
        self.ends.len() / 4
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Value<'a>>, Corrupt> {
        match self.find(name)? {
            Some((_, entry)) => Ok(Some(entry.value()?)),
            None => Ok(None),
        }
    }

    pub(super) fn iter(
        &self,
    ) -> impl Iterator<Item = Result<DynamicColumn<'a>, Corrupt>> + use<'a> {
        let columns = *self;
        (0..self.count()).map(move |position| {
            let entry = columns.entry(position)?;
            let name = value::utf8(entry.name);
            let name = name.ok_or_else(|| Corrupt::bad(columns.at, "a name that is not UTF-8"))?;
            let value = entry.value()?;
            Ok(DynamicColumn { name, value })
        })
    }

    /// The column of that name and its position: names are sorted.
    fn find(&self, wanted: &str) -> Result<Option<(usize, Entry<'a>)>, Corrupt> {
        let (mut start, mut until) = (0, self.count());
        while start < until {
            let middle = start.midpoint(until);
            let entry = self.entry(middle)?;
            match entry.name.cmp(wanted.as_bytes()) {
                Ordering::Less => start = middle + 1,
                Ordering::Greater => until = middle,
                Ordering::Equal => return Ok(Some((middle, entry))),
            }
        }
        Ok(None)
    }

    /// The column at a position.
    fn entry(&self, position: usize) -> Result<Entry<'a>, Corrupt> {
        let ends = self.ends.as_chunks::<4>().0;
        let end = ends.get(position).map(|end| super::view::bytes_count(*end));
        let start = match position.checked_sub(1) {
            Some(before) => ends.get(before).map(|end| super::view::bytes_count(*end)),
            None => Some(0),
        };
        let parts = start.zip(end).and_then(|(start, end)| {
            let (length, rest) = self.entries.get(start..end)?.split_first_chunk::<2>()?;
            let (name, typed) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            let typed_at = self.at.saturating_add(end - typed.len());
            Some(Entry {
                name,
                typed,
                typed_at,
            })
        });
        parts.ok_or_else(|| Corrupt::bad(self.at, "a dynamic column that ends before it begins"))
    }
}

/// The types of dynamic columns, told by the first byte of the value.
mod tag {
    pub(super) const SIGNED: u8 = 0x01;
    pub(super) const UNSIGNED: u8 = 0x02;
    pub(super) const FLOAT: u8 = 0x03;
    pub(super) const DOUBLE: u8 = 0x04;
    pub(super) const DECIMAL: u8 = 0x05;
    pub(super) const TEXT: u8 = 0x06;
    pub(super) const BYTES: u8 = 0x07;
    pub(super) const DATE: u8 = 0x08;
    pub(super) const TIME: u8 = 0x09;
    pub(super) const DATETIME: u8 = 0x0A;
    pub(super) const TIMESTAMP: u8 = 0x0B;
    pub(super) const YEAR: u8 = 0x0C;
    pub(super) const JSON: u8 = 0x0D;
}

/// Appends tag and value; calendar values have their digits after the second between the two.
/// A member of an `ENUM` is written as its label, for a dynamic column has no declaration.
/// Says `false` for `NULL`, which is not written.
pub(super) fn encode_tagged(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    match value {
        Value::Null => return false,
        Value::Int(number) => {
            out.push(tag::SIGNED);
            value::put_signed(out, i128::from(*number));
        }
        Value::UInt(number) => {
            out.push(tag::UNSIGNED);
            value::put_unsigned(out, *number);
        }
        Value::Float(number) => put(out, tag::FLOAT, &number.to_bits().to_le_bytes()),
        Value::Double(number) => put(out, tag::DOUBLE, &number.to_bits().to_le_bytes()),
        Value::Decimal(number) => {
            out.push(tag::DECIMAL);
            value::put_decimal(out, number.coefficient(), number.scale());
        }
        Value::Text(text) => put(out, tag::TEXT, text.as_bytes()),
        Value::Bytes(bytes) => put(out, tag::BYTES, bytes),
        Value::Date(date) => {
            out.push(tag::DATE);
            value::put_date(out, date.packed());
        }
        Value::Time(time) => {
            put(out, tag::TIME, &[time.fsp()]);
            out.extend_from_slice(&time.total_micros().to_le_bytes());
        }
        Value::Datetime(datetime) => {
            put(out, tag::DATETIME, &[datetime.fsp()]);
            out.extend_from_slice(&datetime.packed().to_le_bytes());
        }
        Value::Timestamp(timestamp) => {
            put(out, tag::TIMESTAMP, &[timestamp.fsp()]);
            out.extend_from_slice(&timestamp.total_micros().to_le_bytes());
        }
        Value::Year(year) => {
            out.push(tag::YEAR);
            value::put_unsigned(out, u64::from(*year));
        }
        Value::Json(text) => put(out, tag::JSON, text.as_bytes()),
        Value::Enum(member) => put(out, tag::TEXT, member.label.as_bytes()),
    }
    true
}

fn put(out: &mut Vec<u8>, tag: u8, payload: &[u8]) {
    out.push(tag);
    out.extend_from_slice(payload);
}

pub(super) fn decode_tagged(bytes: &[u8]) -> Result<Value<'_>, Corrupt> {
    let Some((tag, payload)) = bytes.split_first() else {
        return Err(Corrupt::missing(0));
    };
    let value = match *tag {
        tag::SIGNED => value::signed(payload).map(Value::Int),
        tag::UNSIGNED => value::unsigned(payload).map(Value::UInt),
        tag::FLOAT => value::float(payload).map(Value::Float),
        tag::DOUBLE => value::double(payload).map(Value::Double),
        tag::DECIMAL => value::decimal(payload).map(Value::Decimal),
        tag::TEXT => value::utf8(payload).map(|text| Value::Text(Cow::Borrowed(text))),
        tag::BYTES => Some(Value::Bytes(Cow::Borrowed(payload))),
        tag::DATE => value::date(payload).map(Value::Date),
        tag::TIME => with_fsp(payload, value::time).map(Value::Time),
        tag::DATETIME => with_fsp(payload, value::datetime).map(Value::Datetime),
        tag::TIMESTAMP => with_fsp(payload, value::timestamp).map(Value::Timestamp),
        tag::YEAR => value::unsigned(payload).and_then(super::super::stored::year_of),
        tag::JSON => value::utf8(payload).map(|text| Value::Json(Cow::Borrowed(text))),
        unknown => return Err(Corrupt::byte(0, unknown, "the type of a dynamic column")),
    };
    value.ok_or_else(|| Corrupt::bad(0, "bytes that are no value of the dynamic column's type"))
}

fn with_fsp<T>(payload: &[u8], decode: impl Fn(&[u8], u8) -> Option<T>) -> Option<T> {
    let (fsp, payload) = payload.split_first()?;
    decode(payload, *fsp)
}

/// Takes bytes apart from the front.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
    /// Where the rest ends in the row.
    pub(super) until: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn at(&self) -> usize {
        self.until.saturating_sub(self.rest.len())
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Corrupt> {
        let Some((head, rest)) = self.rest.split_at_checked(count) else {
            return Err(Corrupt::missing(self.until));
        };
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Corrupt> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Corrupt::missing(self.until));
        };
        self.rest = rest;
        Ok(*head)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Corrupt> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16, Corrupt> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Corrupt> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Corrupt> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}
