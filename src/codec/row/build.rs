//! Writes wide rows. One builder serves many rows: [`RowBuilder::finish`] empties it and keeps
//! its memory.

use std::ops::Range;

use super::value::encode_value;
use super::{COLUMNS_MAX, ColumnId, EncodeError, FORMAT, ROW_BYTES_MAX, flag, sections};
use crate::types::{ColumnType, Value};

/// Columns that room is made for beforehand: in a wider row most are likely to be `NULL`.
const ROOM_COLUMNS_MAX: usize = 64;

/// What a value takes that is no text.
const NUMBER_BYTES: usize = 8;

/// A row in the making. Columns may come in any order, each once.
#[derive(Debug, Default)]
pub struct RowBuilder {
    columns: Vec<(ColumnId, Range<usize>)>,
    nulls: Vec<ColumnId>,
    /// The values in the order in which they came.
    values: Vec<u8>,
    expiry_ms: Option<u64>,
    versions: Option<Vec<u8>>,
    dynamic: Vec<Named>,
}

/// A dynamic column.
#[derive(Debug)]
struct Named {
    name: String,
    /// Tag and value.
    typed: Vec<u8>,
}

impl RowBuilder {
    /// An empty row.
    #[must_use]
    pub fn new() -> RowBuilder {
        RowBuilder::default()
    }

    /// An empty row that need not grow for so many columns, up to some dozens, with so many bytes of texts.
    #[must_use]
    pub fn with_room(columns_count: usize, texts_bytes: usize) -> RowBuilder {
        let columns_count = columns_count.min(ROOM_COLUMNS_MAX);
        RowBuilder {
            columns: Vec::with_capacity(columns_count),
            values: Vec::with_capacity(texts_bytes + columns_count * NUMBER_BYTES),
            ..RowBuilder::default()
        }
    }

    /// Gives a column a value, or `NULL`.
    ///
    /// # Errors
    /// [`EncodeError::Misfit`] when the value is not of the type, [`EncodeError::TooManyDigits`].
    pub fn set(
        &mut self,
        id: ColumnId,
        value: &Value<'_>,
        ty: &ColumnType,
    ) -> Result<(), EncodeError> {
        let start = self.values.len();
        if encode_value(&mut self.values, value, ty)? {
            self.columns.push((id, start..self.values.len()));
        } else {
            self.nulls.push(id);
        }
        Ok(())
    }

    /// Makes a column `NULL`.
    pub fn set_null(&mut self, id: ColumnId) {
        self.nulls.push(id);
    }

    /// Gives a column the bytes it has in another row: see [`super::RowView::columns`].
    pub fn set_stored(&mut self, id: ColumnId, stored: Option<&[u8]>) {
        let Some(bytes) = stored else {
            return self.set_null(id);
        };
        let start = self.values.len();
        self.values.extend_from_slice(bytes);
        self.columns.push((id, start..self.values.len()));
    }

    /// Gives a dynamic column a value; `NULL` is written as no column.
    ///
    /// # Errors
    /// [`EncodeError::Dynamic`] when the name is longer than a name can be.
    pub fn dynamic(&mut self, name: &str, value: &Value<'_>) -> Result<(), EncodeError> {
        if COLUMNS_MAX < name.len() {
            return Err(EncodeError::Dynamic(name.to_owned()));
        }
        let mut typed = Vec::new();
        if sections::encode_tagged(&mut typed, value) {
            let name = name.to_owned();
            self.dynamic.push(Named { name, typed });
        }
        Ok(())
    }

    /// Lets the row expire, in milliseconds since 1970.
    pub fn expiry(&mut self, ms: u64) {
        self.expiry_ms = Some(ms);
    }

    /// Gives the row its versions: what a [`super::VersionsBuilder`] made.
    pub fn versions(&mut self, section: &[u8]) {
        self.versions = Some(section.to_vec());
    }

    /// The bytes of the row, never empty. The builder is empty afterwards, after an error too.
    ///
    /// # Errors
    /// [`EncodeError::SetTwice`], [`EncodeError::Dynamic`], [`EncodeError::TooManyColumns`],
    /// [`EncodeError::RowTooLong`].
    pub fn finish(&mut self) -> Result<Vec<u8>, EncodeError> {
        let row = self.encode();
        self.clear();
        row
    }

    fn clear(&mut self) {
        self.columns.clear();
        self.nulls.clear();
        self.values.clear();
        self.expiry_ms = None;
        self.versions = None;
        self.dynamic.clear();
    }

    fn encode(&mut self) -> Result<Vec<u8>, EncodeError> {
        let was_sorted = self.columns.is_sorted_by_key(|(id, _)| *id);
        if !was_sorted {
            self.columns.sort_unstable_by_key(|(id, _)| *id);
        }
        self.nulls.sort_unstable();
        self.dynamic.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        self.check()?;
        let is_large = self.is_large();
        let flags = self.flags() | if is_large { flag::LARGE } else { 0 };
        let id_bytes = if is_large { 8 } else { 3 };
        let capacity = (self.columns.len() + self.nulls.len()) * id_bytes + self.values.len() + 8;
        let mut out = Vec::with_capacity(capacity);
        out.extend_from_slice(&[FORMAT, flags]);
        if is_large {
            self.put_large_head(&mut out);
        } else {
            self.put_small_head(&mut out);
        }
        if was_sorted {
            out.extend_from_slice(&self.values);
        } else {
            for (_, range) in &self.columns {
                out.extend_from_slice(self.values.get(range.clone()).unwrap_or_default());
            }
        }
        self.put_sections(&mut out);
        if ROW_BYTES_MAX < out.len() {
            return Err(EncodeError::RowTooLong {
                row_bytes: out.len(),
                row_bytes_max: ROW_BYTES_MAX,
            });
        }
        Ok(out)
    }

    /// That no column is set twice, and that counts and ends can be written.
    fn check(&self) -> Result<(), EncodeError> {
        let mut nulls = self.nulls.iter().peekable();
        let mut before = None;
        for (id, _) in &self.columns {
            while nulls.next_if(|null| *null < id).is_some() {}
            if before == Some(id) || nulls.peek() == Some(&id) {
                return Err(EncodeError::SetTwice(*id));
            }
            before = Some(id);
        }
        for pair in self.nulls.windows(2) {
            if let [a, b] = pair
                && a == b
            {
                return Err(EncodeError::SetTwice(*a));
            }
        }
        for pair in self.dynamic.windows(2) {
            if let [a, b] = pair
                && a.name == b.name
            {
                return Err(EncodeError::Dynamic(a.name.clone()));
            }
        }
        let counts = [self.columns.len(), self.nulls.len(), self.dynamic.len()];
        let columns_count = counts.into_iter().max().unwrap_or(0);
        if COLUMNS_MAX < columns_count {
            return Err(EncodeError::TooManyColumns {
                columns_count,
                columns_max: COLUMNS_MAX,
            });
        }
        let values_bytes = self.values.len();
        if ROW_BYTES_MAX < values_bytes {
            return Err(EncodeError::RowTooLong {
                row_bytes: values_bytes,
                row_bytes_max: ROW_BYTES_MAX,
            });
        }
        Ok(())
    }

    fn flags(&self) -> u8 {
        let section = |is_there, flag| if is_there { flag } else { 0 };
        section(self.expiry_ms.is_some(), flag::EXPIRY)
            | section(self.versions.is_some(), flag::VERSIONS)
            | section(!self.dynamic.is_empty(), flag::DYNAMIC)
    }

    /// Whether an id, a count or an end is too large for the small form.
    fn is_large(&self) -> bool {
        let small_max = usize::from(u8::MAX);
        let last_id = self.columns.last().map(|(id, _)| id).max(self.nulls.last());
        last_id.is_some_and(|ColumnId(id)| u32::from(u8::MAX) < *id)
            || small_max < self.columns.len()
            || small_max < self.nulls.len()
            || usize::from(u16::MAX) < self.values.len()
    }

    fn put_small_head(&self, out: &mut Vec<u8>) {
        // `is_large` has seen that all of these fit.
        let small = |ColumnId(id): &ColumnId| u8::try_from(*id).unwrap_or(u8::MAX);
        let count = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        out.extend_from_slice(&[count(self.columns.len()), count(self.nulls.len())]);
        out.extend(self.columns.iter().map(|(id, _)| small(id)));
        out.extend(self.nulls.iter().map(small));
        let mut end = 0u16;
        for (_, range) in &self.columns {
            end = end.saturating_add(u16::try_from(range.len()).unwrap_or(u16::MAX));
            out.extend_from_slice(&end.to_le_bytes());
        }
    }

    fn put_large_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&count16(self.columns.len()));
        out.extend_from_slice(&count16(self.nulls.len()));
        for (ColumnId(id), _) in &self.columns {
            out.extend_from_slice(&id.to_le_bytes());
        }
        for ColumnId(id) in &self.nulls {
            out.extend_from_slice(&id.to_le_bytes());
        }
        put_ends(out, self.columns.iter().map(|(_, range)| range.len()));
    }

    fn put_sections(&self, out: &mut Vec<u8>) {
        if let Some(ms) = self.expiry_ms {
            out.extend_from_slice(&ms.to_le_bytes());
        }
        if let Some(versions) = &self.versions {
            // What is too long for a length is too long for a row, which is seen last.
            let length = u32::try_from(versions.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(versions);
        }
        if self.dynamic.is_empty() {
            return;
        }
        out.extend_from_slice(&count16(self.dynamic.len()));
        put_ends(
            out,
            self.dynamic
                .iter()
                .map(|named| 2 + named.name.len() + named.typed.len()),
        );
        for named in &self.dynamic {
            out.extend_from_slice(&count16(named.name.len()));
            out.extend_from_slice(named.name.as_bytes());
            out.extend_from_slice(&named.typed);
        }
    }
}

/// A count or length of which [`RowBuilder::check`] has seen that it fits.
fn count16(count: usize) -> [u8; 2] {
    u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes()
}

/// Appends the ends of pieces of these lengths. Where they do not fit, the row as a whole is too
/// long and refused.
fn put_ends(out: &mut Vec<u8>, lengths: impl Iterator<Item = usize>) {
    let mut end = 0u32;
    for length in lengths {
        end = end.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        out.extend_from_slice(&end.to_le_bytes());
    }
}
