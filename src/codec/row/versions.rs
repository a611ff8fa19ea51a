//! The section of a row that keeps versions: when each cell was written, and what it held before.
//!
//! ```text
//!  head     epoch (4), ms of the newest write (8),
//!           deletion: 00, or 01, ms up to which it hides (8), ms until which it counts (8)
//!  cells    count (2), then each:
//!           01, id (4); or 02, length of the name (2), name
//!           ms of the newest version (8), count of older ones (2), then each, newest first:
//!           ms (8), length (4; 0 for NULL), tag of the type, value
//! ```
//!
//! The newest value of a cell is not here: it is the row's own, so that whoever reads rows and knows
//! nothing of versions reads the newest. Older values carry their type, as dynamic columns do, so
//! that a column may change its own. Milliseconds count from 1970. What an epoch is, is the
//! catalog's: which bounds of the number of versions a row has seen.

use super::sections::{self, Reader};
use super::value;
use super::{COLUMNS_MAX, ColumnId, Corrupt, EncodeError};
use crate::types::Value;

/// Which cell of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellName<'a> {
    /// A column by id.
    Id(ColumnId),
    /// A dynamic column.
    Name(&'a str),
}

/// That what was written up to some time was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// Writes that are dated up to this are not seen.
    pub ms: u64,
    /// Until when it counts.
    pub until_ms: u64,
}

/// What a row says about its versions as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VersionsHead {
    /// Which bound of the number of versions held when the row was written.
    pub epoch: u32,
    /// When it was written last.
    pub row_ms: u64,
    /// The deletion that it came behind.
    pub deletion: Option<Deletion>,
}

/// The versions of a row, read in place.
#[derive(Debug, Clone, Copy)]
pub struct VersionsView<'a> {
    /// Of the row as a whole.
    pub head: VersionsHead,
    count: u16,
    cells: &'a [u8],
}

/// The versions of one cell.
#[derive(Debug, Clone, Copy)]
pub struct CellVersions<'a> {
    /// Which cell.
    pub name: CellName<'a>,
    /// When its value, which the row has, was written.
    pub newest_ms: u64,
    count: u16,
    older: &'a [u8],
}

/// Tells the kinds of names of cells apart.
mod kind {
    pub(super) const ID: u8 = 0x01;
    pub(super) const NAME: u8 = 0x02;
}

fn reader(bytes: &[u8]) -> Reader<'_> {
    Reader {
        rest: bytes,
        until: bytes.len(),
    }
}

impl<'a> VersionsView<'a> {
    /// Reads the head; cells are read as they are asked for. Offsets in damage count from the
    /// section's own beginning.
    ///
    /// # Errors
    /// [`Corrupt`] for bytes that are no such section.
    pub fn parse(bytes: &'a [u8]) -> Result<VersionsView<'a>, Corrupt> {
        let mut reader = reader(bytes);
        let epoch = reader.u32()?;
        let row_ms = reader.u64()?;
        let at = reader.at();
        let deletion = match reader.u8()? {
            0 => None,
            1 => Some(Deletion {
                ms: reader.u64()?,
                until_ms: reader.u64()?,
            }),
            other => return Err(Corrupt::byte(at, other, "whether there was a deletion")),
        };
        let count = reader.u16()?;
        Ok(VersionsView {
            head: VersionsHead {
                epoch,
                row_ms,
                deletion,
            },
            count,
            cells: reader.rest,
        })
    }

    /// The cells, in order of id and then of name.
    pub fn cells(&self) -> impl Iterator<Item = Result<CellVersions<'a>, Corrupt>> + use<'a> {
        let mut reader = reader(self.cells);
        let mut left = self.count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let cell = cell(&mut reader);
            if cell.is_err() {
                left = 0;
            }
            Some(cell)
        })
    }

    /// When the value that the row has in a cell was written; `None` when nothing is known of it.
    ///
    /// # Errors
    /// [`Corrupt`] for damaged bytes before it.
    pub fn newest_ms(&self, name: CellName<'_>) -> Result<Option<u64>, Corrupt> {
        for cell in self.cells() {
            let cell = cell?;
            if cell.name == name {
                return Ok(Some(cell.newest_ms));
            }
        }
        Ok(None)
    }

    /// Checks all that is read late: order of cells and of versions, tags, and that the bytes end
    /// with the last cell.
    ///
    /// # Errors
    /// [`Corrupt`] at the first damage.
    pub fn verify(&self) -> Result<(), Corrupt> {
        let mut before: Option<CellName<'_>> = None;
        let mut used = 0;
        for cell in self.cells() {
            let cell = cell?;
            if before.is_some_and(|before| cell.name <= before) {
                return Err(Corrupt::bad(0, "cells out of order"));
            }
            before = Some(cell.name);
            let mut newer = cell.newest_ms;
            for version in cell.older() {
                let (ms, _) = version?;
                if newer <= ms {
                    return Err(Corrupt::bad(0, "versions out of order"));
                }
                newer = ms;
            }
            used += cell.bytes();
        }
        if used == self.cells.len() {
            return Ok(());
        }
        Err(Corrupt::bad(used, "bytes behind the last cell"))
    }
}

fn cell<'a>(reader: &mut Reader<'a>) -> Result<CellVersions<'a>, Corrupt> {
    let at = reader.at();
    let name = match reader.u8()? {
        kind::ID => CellName::Id(ColumnId(reader.u32()?)),
        kind::NAME => {
            let length = reader.u16()?;
            let name = value::utf8(reader.take(usize::from(length))?);
            CellName::Name(name.ok_or_else(|| Corrupt::bad(at, "a name that is not UTF-8"))?)
        }
        other => return Err(Corrupt::byte(at, other, "the kind of a cell")),
    };
    let newest_ms = reader.u64()?;
    let count = reader.u16()?;
    let rest = reader.rest;
    for _ in 0..count {
        reader.u64()?;
        let length = reader.u32()?;
        reader.take(usize::try_from(length).unwrap_or(usize::MAX))?;
    }
    let older = rest.get(..rest.len() - reader.rest.len());
    Ok(CellVersions {
        name,
        newest_ms,
        count,
        older: older.unwrap_or_default(),
    })
}

impl<'a> CellVersions<'a> {
    /// The versions before the newest, newest first.
    pub fn older(&self) -> impl Iterator<Item = Result<(u64, Value<'a>), Corrupt>> + use<'a> {
        let mut reader = reader(self.older);
        (0..self.count).map(move |_| {
            let ms = reader.u64()?;
            let length = reader.u32()?;
            let bytes = reader.take(usize::try_from(length).unwrap_or(usize::MAX))?;
            if bytes.is_empty() {
                return Ok((ms, Value::Null));
            }
            Ok((ms, sections::decode_tagged(bytes)?))
        })
    }

    /// Bytes of the cell in the section.
    fn bytes(&self) -> usize {
        let name = match self.name {
            CellName::Id(_) => 4,
            CellName::Name(name) => 2 + name.len(),
        };
        1 + name + 8 + 2 + self.older.len()
    }
}

/// The section in the making.
#[derive(Debug)]
pub struct VersionsBuilder {
    out: Vec<u8>,
    count_at: usize,
    count: usize,
}

impl VersionsBuilder {
    /// Begins with what is said of the row as a whole.
    pub fn new(head: VersionsHead) -> VersionsBuilder {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&head.epoch.to_le_bytes());
        out.extend_from_slice(&head.row_ms.to_le_bytes());
        out.push(u8::from(head.deletion.is_some()));
        if let Some(deletion) = head.deletion {
            out.extend_from_slice(&deletion.ms.to_le_bytes());
            out.extend_from_slice(&deletion.until_ms.to_le_bytes());
        }
        let count_at = out.len();
        out.extend_from_slice(&[0, 0]);
        VersionsBuilder {
            out,
            count_at,
            count: 0,
        }
    }

    /// Adds a cell: when its value was written, and the versions before, newest first. Cells come in
    /// order of id and then of name.
    ///
    /// # Errors
    /// [`EncodeError::TooManyColumns`] when there are too many versions.
    pub fn cell<'v>(
        &mut self,
        name: CellName<'_>,
        newest_ms: u64,
        older: impl ExactSizeIterator<Item = (u64, &'v Value<'v>)>,
    ) -> Result<(), EncodeError> {
        let Ok(count) = u16::try_from(older.len()) else {
            return Err(EncodeError::TooManyColumns {
                columns_count: older.len(),
                columns_max: COLUMNS_MAX,
            });
        };
        match name {
            CellName::Id(ColumnId(id)) => {
                self.out.push(kind::ID);
                self.out.extend_from_slice(&id.to_le_bytes());
            }
            CellName::Name(name) => {
                let Ok(length) = u16::try_from(name.len()) else {
                    return Err(EncodeError::Dynamic(name.to_owned()));
                };
                self.out.push(kind::NAME);
                self.out.extend_from_slice(&length.to_le_bytes());
                self.out.extend_from_slice(name.as_bytes());
            }
        }
        self.out.extend_from_slice(&newest_ms.to_le_bytes());
        self.out.extend_from_slice(&count.to_le_bytes());
        for (ms, value) in older {
            self.out.extend_from_slice(&ms.to_le_bytes());
            let length_at = self.out.len();
            self.out.extend_from_slice(&[0; 4]);
            sections::encode_tagged(&mut self.out, value);
            let length = self.out.len() - length_at - 4;
            // A value fits a row, and a row is at most 64 MiB: longer ones are refused there.
            let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
            if let Some(place) = self.out.get_mut(length_at..length_at + 4) {
                place.copy_from_slice(&length);
            }
        }
        self.count += 1;
        Ok(())
    }

    /// The bytes of the section.
    ///
    /// # Errors
    /// [`EncodeError::TooManyColumns`].
    pub fn finish(mut self) -> Result<Vec<u8>, EncodeError> {
        let Ok(count) = u16::try_from(self.count) else {
            return Err(EncodeError::TooManyColumns {
                columns_count: self.count,
                columns_max: COLUMNS_MAX,
            });
        };
        if let Some(place) = self.out.get_mut(self.count_at..self.count_at + 2) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        Ok(self.out)
    }
}
