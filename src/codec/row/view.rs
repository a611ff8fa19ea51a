//! A stored row, read in place. This file is hot: [`RowView::parse`] runs for every row of a scan,
//! [`RowView::get`] for every column that a statement asks for. No allocation, no loop over
//! columns in either.

use super::sections::{self, DynamicColumn, Sections};
use super::value::{decode_value, signed};
use super::versions::VersionsView;
use super::{COLUMNS_MAX, ColumnId, Corrupt, FORMAT, flag};
use crate::types::{ColumnType, Value};

/// Bytes before the ids in the small form: format, flags, two counts of one byte.
const SMALL_HEAD_BYTES: usize = 4;
/// Bytes before the ids in the large form: format, flags, two counts of two bytes.
const LARGE_HEAD_BYTES: usize = 6;

/// What a row says about one column.
#[derive(Debug, Clone)]
pub enum Cell<'a> {
    /// Nothing: the row was written before the column was added.
    Absent,
    /// `NULL`.
    Null,
    /// A value that is not `NULL`.
    Value(Value<'a>),
}

/// A stored row.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    flags: u8,
    /// Sorted; one byte each in the small form, four in the large one, as are `nulls`.
    ids: &'a [u8],
    nulls: &'a [u8],
    /// As many as ids; two bytes each in the small form, four in the large one.
    ends: &'a [u8],
    values: &'a [u8],
    /// Checked by [`sections::parse`], and split again by whoever asks: few do.
    sections: &'a [u8],
}

impl<'a> RowView<'a> {
    /// Checks the head of a row, and that its parts fill the bytes exactly. Ids, ends and values
    /// are not looked at before somebody asks: see [`RowView::verify`].
    ///
    /// # Errors
    /// [`Corrupt`] when this is no row of this version.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<RowView<'a>, Corrupt> {
        let [format, flags, present, nulls, ..] = *bytes else {
            return Err(Corrupt::missing(bytes.len()));
        };
        if format != FORMAT {
            return Err(Corrupt::byte(0, format, "the version of the row format"));
        }
        if flags & !flag::KNOWN != 0 {
            return Err(Corrupt::byte(1, flags, "the flags of a row"));
        }
        if flags & flag::LARGE != 0 {
            return RowView::parse_large(bytes, flags);
        }
        let (ids_bytes, nulls_bytes) = (usize::from(present), usize::from(nulls));
        let parts = Parts::split(
            bytes,
            [SMALL_HEAD_BYTES, ids_bytes, nulls_bytes, ids_bytes * 2],
        )?;
        let values_bytes = match parts.ends.last_chunk::<2>() {
            Some(end) => usize::from(u16::from_le_bytes(*end)),
            None => 0,
        };
        parts.finish(flags, values_bytes)
    }

    fn parse_large(bytes: &'a [u8], flags: u8) -> Result<RowView<'a>, Corrupt> {
        let Some([_, _, a, b, c, d]) = bytes.first_chunk::<LARGE_HEAD_BYTES>() else {
            return Err(Corrupt::missing(bytes.len()));
        };
        let ids_bytes = usize::from(u16::from_le_bytes([*a, *b])) * 4;
        let nulls_bytes = usize::from(u16::from_le_bytes([*c, *d])) * 4;
        let parts = Parts::split(bytes, [LARGE_HEAD_BYTES, ids_bytes, nulls_bytes, ids_bytes])?;
        let values_bytes = match parts.ends.last_chunk::<4>() {
            Some(end) => bytes_count(*end),
            None => 0,
        };
        parts.finish(flags, values_bytes)
    }

    /// Where the values begin in the row.
    fn values_at(&self) -> usize {
        let head = if self.is_large() {
            LARGE_HEAD_BYTES
        } else {
            SMALL_HEAD_BYTES
        };
        head + self.ids.len() + self.nulls.len() + self.ends.len()
    }

    fn sections(&self) -> Result<Sections<'a>, Corrupt> {
        let at = self.values_at().saturating_add(self.values.len());
        sections::parse(self.sections, self.flags, at)
    }

    fn is_large(&self) -> bool {
        self.flags & flag::LARGE != 0
    }

    /// What the row says about a column.
    ///
    /// # Errors
    /// [`Corrupt`] when the stored bytes are no value of the type.
    #[inline]
    pub fn get(&self, id: ColumnId, ty: &'a ColumnType) -> Result<Cell<'a>, Corrupt> {
        let Some(position) = self.position(self.ids, id) else {
            let is_null = self.position(self.nulls, id).is_some();
            return Ok(if is_null { Cell::Null } else { Cell::Absent });
        };
        let (at, bytes) = self.value_bytes(position)?;
        match decode_value(bytes, ty) {
            Ok(value) => Ok(Cell::Value(value)),
            Err(corrupt) => Err(corrupt.shifted(at)),
        }
    }

    /// The number of a column whose values are signed whole ones. `None` for a row that says anything else
    /// about it, and for a damaged one: [`RowView::get`] tells.
    #[must_use]
    #[inline]
    pub fn signed(&self, id: ColumnId) -> Option<i64> {
        let position = self.position(self.ids, id)?;
        signed(self.value_bytes(position).ok()?.1)
    }

    /// Where an id stands in sorted ids.
    #[inline]
    fn position(&self, ids: &[u8], ColumnId(id): ColumnId) -> Option<usize> {
        if self.is_large() {
            let ids = ids.as_chunks::<4>().0;
            return ids
                .binary_search_by_key(&id, |bytes| u32::from_le_bytes(*bytes))
                .ok();
        }
        let id = u8::try_from(id).ok()?;
        // Ids of a table without dropped columns follow each other: then the place is known.
        let guess = usize::from(id.checked_sub(*ids.first()?)?);
        if ids.get(guess) == Some(&id) {
            return Some(guess);
        }
        ids.binary_search(&id).ok()
    }

    /// Where the value at a position begins in the row, and its bytes.
    #[inline]
    fn value_bytes(&self, position: usize) -> Result<(usize, &'a [u8]), Corrupt> {
        let start = match position.checked_sub(1) {
            Some(before) => self.end(before),
            None => Some(0),
        };
        let range = start.zip(self.end(position));
        let (start, end) = range.ok_or_else(|| Corrupt::missing(self.values_at()))?;
        match self.values.get(start..end) {
            Some(bytes) => Ok((self.values_at().saturating_add(start), bytes)),
            None => Err(Corrupt::bad(
                self.values_at(),
                "a value that ends before it begins",
            )),
        }
    }

    /// The end of the value at a position.
    #[inline]
    fn end(&self, position: usize) -> Option<usize> {
        if self.is_large() {
            return self
                .ends
                .as_chunks::<4>()
                .0
                .get(position)
                .map(|end| bytes_count(*end));
        }
        let end = self.ends.as_chunks::<2>().0.get(position)?;
        Some(usize::from(u16::from_le_bytes(*end)))
    }

    /// How many columns the row has, those that are `NULL` included and dynamic ones not.
    #[must_use]
    pub fn columns_count(&self) -> usize {
        let id_bytes = if self.is_large() { 4 } else { 1 };
        (self.ids.len() + self.nulls.len()) / id_bytes
    }

    /// The columns of the row in order of their ids, as stored: see [`decode_value`].
    #[must_use]
    pub fn columns(&self) -> Columns<'a> {
        Columns {
            row: *self,
            present: 0,
            nulls: 0,
            least_id: 0,
        }
    }

    fn id_at(&self, ids: &[u8], position: usize) -> Option<u32> {
        if self.is_large() {
            return ids
                .as_chunks::<4>()
                .0
                .get(position)
                .map(|id| u32::from_le_bytes(*id));
        }
        ids.get(position).copied().map(u32::from)
    }

    /// When the row expires, in milliseconds since 1970; `None` when it does not.
    #[must_use]
    pub fn expiry_ms(&self) -> Option<u64> {
        // The expiry is the first section, so that rows of a table with TTL are judged cheaply.
        let is_there = self.flags & flag::EXPIRY != 0;
        let bytes = self.sections.first_chunk().filter(|_| is_there)?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The versions of the row; `None` when it keeps none.
    ///
    /// # Errors
    /// [`Corrupt`] when the sections cannot be read.
    pub fn versions(&self) -> Result<Option<VersionsView<'a>>, Corrupt> {
        self.versions_bytes()?.map(VersionsView::parse).transpose()
    }

    /// The section of the versions as it is stored; `None` when the row keeps none.
    ///
    /// # Errors
    /// [`Corrupt`] when the sections cannot be read.
    pub fn versions_bytes(&self) -> Result<Option<&'a [u8]>, Corrupt> {
        if self.flags & flag::VERSIONS == 0 {
            return Ok(None);
        }
        Ok(self.sections()?.versions)
    }

    /// A dynamic column; `None` when the row has none of that name.
    ///
    /// # Errors
    /// [`Corrupt`] when the section cannot be read.
    pub fn dynamic(&self, name: &str) -> Result<Option<Value<'a>>, Corrupt> {
        self.sections()?.dynamic.get(name)
    }

    /// The dynamic columns in order of their names.
    ///
    /// # Errors
    /// [`Corrupt`] when the sections cannot be read; each item has its own.
    pub fn dynamic_columns(
        &self,
    ) -> Result<impl Iterator<Item = Result<DynamicColumn<'a>, Corrupt>> + use<'a>, Corrupt> {
        Ok(self.sections()?.dynamic.iter())
    }

    /// Checks all that [`RowView::parse`] leaves out: ids sorted and in one list only, ends that
    /// rise, names sorted, tags known. For `CHECK TABLE` and tests.
    ///
    /// # Errors
    /// [`Corrupt`] at the first damage.
    pub fn verify(&self) -> Result<(), Corrupt> {
        for column in self.columns() {
            column?;
        }
        self.sections()?.verify()
    }
}

/// When a stored row ends, in milliseconds since 1970; `None` for one that does not, and for bytes that
/// are no row.
#[must_use]
pub fn expiry_of(bytes: &[u8]) -> Option<u64> {
    match bytes {
        [FORMAT, flags, ..] if flags & flag::EXPIRY != 0 => RowView::parse(bytes).ok()?.expiry_ms(),
        _ => None,
    }
}

/// The parts of a row's bytes in their order.
struct Parts<'a> {
    ids: &'a [u8],
    nulls: &'a [u8],
    ends: &'a [u8],
    rest: &'a [u8],
    values_at: usize,
}

impl<'a> Parts<'a> {
    /// Cuts off the head, the ids, the ids of `NULL`s and the ends, of these lengths.
    fn split(bytes: &'a [u8], lengths: [usize; 4]) -> Result<Parts<'a>, Corrupt> {
        let [head, ids, nulls, ends] = lengths;
        let cut = || {
            let (_, rest) = bytes.split_at_checked(head)?;
            let (ids, rest) = rest.split_at_checked(ids)?;
            let (nulls, rest) = rest.split_at_checked(nulls)?;
            let (ends, rest) = rest.split_at_checked(ends)?;
            Some(Parts {
                ids,
                nulls,
                ends,
                rest,
                values_at: bytes.len() - rest.len(),
            })
        };
        cut().ok_or_else(|| Corrupt::missing(bytes.len()))
    }

    #[inline]
    fn finish(self, flags: u8, values_bytes: usize) -> Result<RowView<'a>, Corrupt> {
        let Some((values, rest)) = self.rest.split_at_checked(values_bytes) else {
            return Err(Corrupt::missing(
                self.values_at.saturating_add(self.rest.len()),
            ));
        };
        let sections_at = self.values_at.saturating_add(values_bytes);
        if flags & flag::SECTIONS != 0 {
            sections::parse(rest, flags, sections_at)?;
        } else if !rest.is_empty() {
            return Err(Corrupt::bad(sections_at, "bytes behind the end of a row"));
        }
        Ok(RowView {
            flags,
            ids: self.ids,
            nulls: self.nulls,
            ends: self.ends,
            values,
            sections: rest,
        })
    }
}

/// A stored 32-bit length. What does not fit the address space is longer than any row.
pub(super) fn bytes_count(bytes: [u8; 4]) -> usize {
    usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
}

/// The columns of a row in order of their ids: see [`RowView::columns`].
#[derive(Debug, Clone)]
pub struct Columns<'a> {
    row: RowView<'a>,
    /// Positions in the two lists of ids.
    present: usize,
    nulls: usize,
    /// The least id that may come next.
    least_id: u64,
}

impl<'a> Iterator for Columns<'a> {
    /// The id and the bytes of its value; `None` for `NULL`.
    type Item = Result<(ColumnId, Option<&'a [u8]>), Corrupt>;

    fn next(&mut self) -> Option<Self::Item> {
        let present = self.row.id_at(self.row.ids, self.present);
        let null = self.row.id_at(self.row.nulls, self.nulls);
        let is_present = match (present, null) {
            (None, None) => return None,
            (Some(present), Some(null)) => present <= null,
            (present, _) => present.is_some(),
        };
        let id = if is_present { present } else { null }?;
        if u64::from(id) < self.least_id {
            self.stop();
            return Some(Err(Corrupt::bad(self.row.values_at(), "ids out of order")));
        }
        self.least_id = u64::from(id) + 1;
        if !is_present {
            self.nulls += 1;
            return Some(Ok((ColumnId(id), None)));
        }
        self.present += 1;
        match self.row.value_bytes(self.present - 1) {
            Ok((_, bytes)) => Some(Ok((ColumnId(id), Some(bytes)))),
            Err(corrupt) => {
                self.stop();
                Some(Err(corrupt))
            }
        }
    }
}

impl Columns<'_> {
    /// After damage nothing more is told.
    fn stop(&mut self) {
        self.present = COLUMNS_MAX;
        self.nulls = COLUMNS_MAX;
    }
}
