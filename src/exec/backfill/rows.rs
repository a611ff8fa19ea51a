//! From the stored rows of a page to their entries in one index. Hot when an index is built: only
//! the columns that the entries need are decoded.

use crate::catalog::{Index, Table};
use crate::codec::keyspace::{self, format_key};
use crate::error::{Code, Error, Result};
use crate::exec::pace::Pace;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::write::duplicate_text;
use crate::exec::write::row::{KEY_BYTES_MAX, KEY_COLUMN_BYTES_MAX};
use crate::index::{self, Entry};
use crate::kv::{Page, Space};
use crate::sql::computed;
use crate::types::{Value, Zone};

/// Makes the entries of one index.
pub(crate) struct Maker<'t> {
    pub(crate) table: &'t Table,
    pub(crate) index: &'t Index,
    layout: Layout,
    /// The columns that entries are made of.
    columns: Vec<usize>,
}

/// An entry, and what the row is to others.
pub(crate) struct Made {
    pub(crate) entry: Entry,
    /// Whether no other row may have an entry under this key.
    pub(crate) is_exclusive: bool,
}

impl<'t> Maker<'t> {
    /// # Errors
    /// 1712 for a definition whose expressions cannot be read.
    pub(crate) fn new(table: &'t Table, index: &'t Index) -> Result<Maker<'t>> {
        Ok(Maker {
            table,
            index,
            layout: Layout::of(table),
            columns: computed::columns_needed(table, index)?,
        })
    }

    /// The space of the table.
    pub(crate) fn rows_space(&self) -> Space {
        Space(self.table.id.0)
    }

    /// The space of the index.
    pub(crate) fn entries_space(&self) -> Space {
        index::space(self.index)
    }

    /// The entries of all rows of a page, in their order; `None` for a row that has none.
    ///
    /// # Errors
    /// 1712 for a damaged row, 1071 for one whose values are too long for the index; what an
    /// expression makes of its values.
    pub(crate) fn of_page(&self, page: &Page) -> Result<Vec<Option<Made>>> {
        let mut values = vec![Value::Null; self.table.columns.len()];
        let mut made = Vec::with_capacity(page.len());
        let mut turns = Pace::default();
        for (key, value) in page.iter() {
            turns.end_if_over();
            self.fill(&mut values, (key, value))?;
            made.push(self.made(key, &values)?);
        }
        Ok(made)
    }

    /// The entry of one row.
    ///
    /// # Errors
    /// As [`Maker::of_page`].
    pub(crate) fn of_row(&self, (key, value): (&[u8], &[u8])) -> Result<Option<Made>> {
        let mut values = vec![Value::Null; self.table.columns.len()];
        self.fill(&mut values, (key, value))?;
        self.made(key, &values)
    }

    /// Whether a stored value of an entry says what it should.
    pub(crate) fn is_value(&self, (made, stored): (&[u8], &[u8])) -> bool {
        index::entry::same_value(self.table, self.index, (made, stored)).unwrap_or(false)
    }

    /// Whether a row has an entry with this key.
    ///
    /// # Errors
    /// As [`Maker::of_page`].
    pub(crate) fn has_entry(&self, row: (&[u8], &[u8]), entry_key: &[u8]) -> Result<bool> {
        let made = self.of_row(row)?;
        Ok(made.is_some_and(|made| made.entry.key == entry_key))
    }

    fn fill<'p>(
        &'p self,
        values: &mut [Value<'p>],
        (key, value): (&'p [u8], &'p [u8]),
    ) -> Result<()> {
        let row = StoredRow::parse(self.table, &self.layout, key, value)?;
        for column_idx in &self.columns {
            if let Some(place) = values.get_mut(*column_idx) {
                *place = row.value(*column_idx)?;
            }
        }
        Ok(())
    }

    fn made(&self, key: &[u8], values: &[Value<'_>]) -> Result<Option<Made>> {
        let Some(values) = computed::image(self.table, self.index, values)? else {
            return Ok(None);
        };
        let values: &[Value<'_>] = &values;
        self.check_lengths(key, values)?;
        let entry = index::entry(self.table, self.index, values)?;
        if KEY_BYTES_MAX < entry.key.len() {
            let text = format!(
                "Specified key was too long: the key of row {} in index '{}' is {} bytes, max key \
                 length is {KEY_BYTES_MAX} bytes",
                self.row_text(key),
                self.index.name,
                entry.key.len()
            );
            return Err(Error::new(Code::KeyTooLong, text));
        }
        Ok(Some(Made {
            entry,
            is_exclusive: self.index.unique && !index::entry::has_null(self.index, values),
        }))
    }

    fn check_lengths(&self, key: &[u8], values: &[Value<'_>]) -> Result<()> {
        for part in &self.index.parts {
            let value = values.get(part.column_idx);
            let bytes = value.and_then(Value::as_bytes).map_or(0, <[u8]>::len);
            if bytes <= KEY_COLUMN_BYTES_MAX {
                continue;
            }
            let column = self.index.column(self.table, part.column_idx);
            let text = format!(
                "Specified key was too long: column '{}' is {bytes} bytes in row {}, max key \
                 length is {KEY_COLUMN_BYTES_MAX} bytes",
                column.map_or("", |column| &column.name),
                self.row_text(key)
            );
            return Err(Error::new(Code::KeyTooLong, text));
        }
        Ok(())
    }

    /// The primary key of a row, for people.
    pub(crate) fn row_text(&self, key: &[u8]) -> String {
        key_text(self.table, key)
    }

    /// The indexed values under an entry's key, for people.
    fn entry_values(&self, entry_key: &[u8]) -> Vec<String> {
        let mut rest = entry_key;
        let mut texts = Vec::new();
        for part in &self.index.parts {
            let Some(column) = self.index.column(self.table, part.column_idx) else {
                break;
            };
            match crate::codec::key::decode_part(rest, &column.ty, part.direction) {
                Ok((value, behind)) => {
                    texts.push(duplicate_text(&value, &column.ty, &Zone::UTC));
                    rest = behind;
                }
                Err(_) => break,
            }
        }
        texts
    }

    /// An entry's key, for people.
    pub(crate) fn entry_text(&self, entry_key: &[u8]) -> String {
        format!("/{}", self.entry_values(entry_key).join("/"))
    }

    /// Error 1062 for a second row with these values.
    pub(crate) fn duplicate(&self, entry_key: &[u8]) -> Error {
        let text = format!(
            "Duplicate entry '{}' for key '{}.{}'",
            self.entry_values(entry_key).join("-"),
            self.table.name,
            self.index.name
        );
        Error::new(Code::DuplicateEntry, text)
    }
}

/// The primary key of a row, for people.
pub(crate) fn key_text(table: &Table, key: &[u8]) -> String {
    let parts = table.key.iter();
    let parts = parts.filter_map(|part| {
        let column = table.columns.get(part.column_idx)?;
        Some((&column.ty, part.direction))
    });
    match keyspace::decode_row_key(key, parts) {
        Ok(values) => format_key(&values),
        Err(_) => key.escape_ascii().to_string(),
    }
}
