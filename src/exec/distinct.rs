//! DISTINCT: which rows were met before.
//!
//! Rows are told apart by their bytes, [`RowBytes::identity`]; of equal ones the first is shown. When there
//! is no room for one more, rows that are not in memory go to files, parted by hash, and each part is looked
//! through when all rows are met: see [`LateRows`]. What was handed out before stays as it was; the late
//! rows follow.

use std::sync::Arc;

use super::budget::{Budget, Memory};
use super::key_table::{KEY_OVERHEAD_BYTES, KeyTable};
use super::partition::{self, DEPTH_MAX, Partitions};
use super::sort::Sorter;
use super::spill::{Disk, SpillFile, SpillReader};
use super::tuple::RowBytes;
use crate::error::{Code, Error, Result};
use crate::types::{ColumnType, Value};

/// What the errors call it.
const OPERATOR: &str = "distinct";

/// Spilled rows that one call looks at.
const STEP_ROWS: usize = 256;

/// Rows met so far.
pub struct Seen {
    /// The row that was looked at last.
    row: RowBytes,
    table: KeyTable,
    budget: Budget,
    disk: Option<Arc<Disk>>,
    /// How often the rows were parted.
    depth: u32,
    spilled: Option<Partitions>,
    rows_put_off: u64,
}

/// Whether a row was met before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// It was not.
    New,
    /// It was.
    Before,
    /// Nobody knows yet: it is to be put off.
    Unknown,
}

impl Seen {
    /// Nothing met yet.
    pub fn new(memory: &Memory) -> Seen {
        Seen::of_part((memory.budget(OPERATOR), memory.disk().cloned(), 0))
    }

    fn of_part((budget, disk, depth): (Budget, Option<Arc<Disk>>, u32)) -> Seen {
        Seen {
            row: RowBytes::default(),
            table: KeyTable::default(),
            budget,
            disk,
            depth,
            spilled: None,
            rows_put_off: 0,
        }
    }

    /// Whether this row was met; it is remembered if there is room for it.
    ///
    /// # Errors
    /// 1038 when there is neither room nor a disk; that a value is not of its type.
    pub fn meet<'a, 'v: 'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a Value<'v>, &'a ColumnType)>,
    ) -> Result<Met> {
        let mut row = std::mem::take(&mut self.row);
        let met = match row.set(values) {
            Ok(()) => self.meet_bytes(row.identity()),
            Err(error) => Err(error),
        };
        self.row = row;
        met
    }

    /// The row that was looked at last.
    pub fn row(&self) -> &RowBytes {
        &self.row
    }

    fn meet_bytes(&mut self, row: &[u8]) -> Result<Met> {
        let hash = partition::hash(row, self.depth);
        if self.table.find(hash, row).is_some() {
            return Ok(Met::Before);
        }
        // A row of which one was put off must not be new.
        if self.spilled.is_some() {
            return Ok(Met::Unknown);
        }
        let bytes = row.len() + KEY_OVERHEAD_BYTES;
        if !self.budget.try_take(bytes) {
            if self.disk.is_some() && self.depth < DEPTH_MAX {
                return Ok(Met::Unknown);
            }
            return Err(self.budget.refusal(OPERATOR, bytes));
        }
        Ok(match self.table.insert(hash, row) {
            Some(_) => Met::New,
            None => Met::Unknown,
        })
    }

    /// Puts off the row looked at last, which is [`Met::Unknown`]. If it turns out to be new it comes where
    /// `sort_key` says.
    ///
    /// # Errors
    /// 1114 past the disk's quota; those of the disk.
    pub fn put_off(&mut self, sort_key: &[u8]) -> Result<()> {
        let row = std::mem::take(&mut self.row);
        let behind = behind(sort_key, row.spelling());
        let put = self.put_off_bytes(row.identity(), &behind);
        self.row = row;
        put
    }

    fn put_off_bytes(&mut self, row: &[u8], behind: &[u8]) -> Result<()> {
        let Some(disk) = &self.disk else {
            return Err(self.budget.refusal(OPERATOR, row.len()));
        };
        let spilled = self
            .spilled
            .get_or_insert_with(|| Partitions::new(disk, OPERATOR));
        let hash = partition::hash(row, self.depth);
        spilled.write(hash, (row, behind))
    }

    /// As [`Seen::put_off`], to come in the order in which rows were put off.
    ///
    /// # Errors
    /// As [`Seen::put_off`].
    pub fn put_off_in_order(&mut self) -> Result<()> {
        self.rows_put_off += 1;
        self.put_off(&ordinal(self.rows_put_off))
    }

    /// The rows that were put off, if there are any.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn into_late(mut self) -> Result<Option<LateRows>> {
        let Some(spilled) = self.spilled.take() else {
            return Ok(None);
        };
        let mut late = LateRows {
            waiting: Vec::new(),
            looking: None,
            budget: None,
            disk: self.disk.clone(),
        };
        late.end_part(spilled, self)?;
        Ok(Some(late))
    }
}

#[expect(
    clippy::big_endian_bytes,
    reason = "numbers are to be ordered as the bytes they are made of"
)]
fn ordinal(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// What a file has behind the identity of a row: the length of its sort key, the sort key, and what is shown
/// of the row unless that is the identity.
#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn behind(sort_key: &[u8], spelling: &[u8]) -> Vec<u8> {
    let length = u64::try_from(sort_key.len()).unwrap_or(u64::MAX);
    [&length.to_le_bytes()[..], sort_key, spelling].concat()
}

/// The sort key and the spelling that [`behind`] put together.
///
/// # Errors
/// 1712 when the bytes are not what was written.
#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn parted(behind: &[u8]) -> Result<(&[u8], &[u8])> {
    let parts = behind.split_first_chunk().and_then(|(length, rest)| {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        rest.split_at_checked(length)
    });
    parts.ok_or_else(|| {
        let text = "a spilled row is not what was written";
        Error::new(Code::StorageCorrupt, text)
    })
}

/// Rows that were put off.
pub struct LateRows {
    waiting: Vec<(SpillFile, u32)>,
    looking: Option<Box<(Seen, SpillReader)>>,
    /// Here unless it is with `looking`.
    budget: Option<Budget>,
    disk: Option<Arc<Disk>>,
}

impl LateRows {
    fn end_part(&mut self, spilled: Partitions, seen: Seen) -> Result<()> {
        let files = spilled.finish()?.into_iter().flatten();
        self.waiting
            .extend(files.map(|file| (file, seen.depth + 1)));
        self.end_looking(seen);
        Ok(())
    }

    fn end_looking(&mut self, mut seen: Seen) {
        seen.budget.reset();
        self.budget = Some(seen.budget);
    }

    /// Looks through some of the rows and gives the new ones to `sorter`. `false` when there are
    /// none left.
    ///
    /// # Errors
    /// As [`Seen::meet`], [`Seen::put_off`] and [`Sorter::push`].
    pub fn step(&mut self, sorter: &mut Sorter) -> Result<bool> {
        if let Some(mut looking) = self.looking.take() {
            let (seen, reader) = &mut *looking;
            if look(seen, reader, sorter)? {
                self.looking = Some(looking);
                return Ok(true);
            }
            let (mut ended, _) = *looking;
            match ended.spilled.take() {
                Some(spilled) => self.end_part(spilled, ended)?,
                None => self.end_looking(ended),
            }
        }
        let (Some((file, depth)), Some(budget)) = (self.waiting.pop(), self.budget.take()) else {
            return Ok(false);
        };
        let seen = Seen::of_part((budget, self.disk.clone(), depth));
        self.looking = Some(Box::new((seen, file.read()?)));
        Ok(true)
    }

    /// Whether a part begins, which needs memory.
    pub fn begins_part(&self) -> bool {
        self.looking.is_none()
    }
}

fn look(seen: &mut Seen, reader: &mut SpillReader, sorter: &mut Sorter) -> Result<bool> {
    for _ in 0..STEP_ROWS {
        if !reader.advance()? {
            return Ok(false);
        }
        match seen.meet_bytes(reader.key())? {
            Met::New => {
                let (sort_key, spelling) = parted(reader.payload())?;
                let is_spelled = !spelling.is_empty();
                sorter.push(sort_key, if is_spelled { spelling } else { reader.key() })?;
            }
            Met::Before => {}
            Met::Unknown => seen.put_off_bytes(reader.key(), reader.payload())?,
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::budget::Pool;

    /// The distinct ones of rows, in their order.
    fn distinct(numbers: &[u32], memory: &Memory) -> Vec<Vec<u8>> {
        let mut seen = Seen::new(memory);
        let mut found = Vec::new();
        for (row_idx, number) in numbers.iter().enumerate() {
            let values = [json(*number, row_idx)];
            let types = [ColumnType::Json];
            match seen.meet(values.iter().zip(&types)).unwrap() {
                Met::New => found.push(seen.row().shown().to_vec()),
                Met::Before => {}
                Met::Unknown => seen.put_off_in_order().unwrap(),
            }
        }
        if let Some(mut late) = seen.into_late().unwrap() {
            let mut sorter = Sorter::new(None, "sort", memory, &Arc::default());
            while late.step(&mut sorter).unwrap() {}
            let mut in_order = sorter.finish().unwrap();
            while let Some(row) = in_order.next_outputs().unwrap() {
                found.push(row.to_vec());
            }
        }
        found
    }

    /// A document of a number, which some rows have as a double.
    fn json(number: u32, row_idx: usize) -> Value<'static> {
        let behind = if row_idx.is_multiple_of(3) { ".0" } else { "" };
        Value::Json(format!("{number}{behind}").into())
    }

    #[test]
    fn each_row_comes_once_and_in_order_however_little_memory_there_is() {
        let numbers: Vec<u32> = (0..30_000_u32)
            .map(|number| number.wrapping_mul(2_654_435_761) % 9000)
            .collect();
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(dir.path().into(), 1 << 30);
        let server = Pool::new(usize::MAX);
        let wanted = distinct(&numbers, &Memory::alone(1 << 30));
        assert_eq!(wanted.len(), 9000);
        for bytes_max in [2000, 50_000, 500_000] {
            let memory = Memory::new(&server, bytes_max, Some(&disk));
            assert!(distinct(&numbers, &memory) == wanted, "{bytes_max}");
        }
        assert_eq!((disk.used_bytes(), server.taken_bytes()), (0, 0));
    }
}
