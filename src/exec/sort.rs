//! ORDER BY where the access path does not give the order: a bounded top-N with LIMIT, else an
//! external merge sort.
//!
//! A row is a [`Record`]: the bytes of its sort key (see [`super::tuple`]) and the bytes of its
//! outputs. Records are compared by key bytes, then by arrival, so the sort is stable. Past the
//! statement's memory, sorted runs go to a file without name in the data directory, which is gone
//! when the statement ends or the server dies, and are merged from there.
//!
//! Rows are sorted in chunks, which are merged: between two chunks, and while merging, the sort can
//! be stopped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::budget::Budget;
use super::cancel::CancelToken;
use super::pace::Pace;
use crate::error::{Code, Error, Result};

/// Runs that are merged at once; each has a buffer of [`RUN_BUFFER_BYTES`].
const RUNS_MAX: usize = 512;

/// Read buffer of one run while merging.
const RUN_BUFFER_BYTES: usize = 64 * 1024;

/// A top-N is kept in memory when it holds at most so many rows.
const TOP_ROWS_MAX: u64 = 100_000;

/// Rows that are sorted in one go: some milliseconds.
const CHUNK_ROWS: usize = 16 * 1024;

/// What a record costs beyond its bytes.
const RECORD_OVERHEAD_BYTES: usize = 64;

/// One row to be sorted.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    key: Box<[u8]>,
    arrival: u64,
    outputs: Box<[u8]>,
}

/// Collects rows and gives them back in order.
pub struct Sorter {
    mode: Mode,
    arrivals: u64,
    budget: Budget,
    spill_dir: Option<PathBuf>,
    cancel: Arc<CancelToken>,
}

enum Mode {
    /// The `usize` smallest so far, the greatest on top.
    Top(BinaryHeap<Record>, usize),
    All {
        rows: Vec<Record>,
        /// Each sorted, of [`CHUNK_ROWS`].
        chunks: Vec<Vec<Record>>,
        runs: Vec<Run>,
    },
}

/// A sorted run in a file.
struct Run {
    file: File,
    records_count: u64,
}

impl Sorter {
    /// A sorter of which only the first `rows_wanted` rows will be taken, if that is known. With
    /// a `spill_dir` it may use the disk; without, it must fit into the budget.
    pub fn new(
        rows_wanted: Option<u64>,
        budget: Budget,
        spill_dir: Option<PathBuf>,
        cancel: &Arc<CancelToken>,
    ) -> Sorter {
        let top = rows_wanted.filter(|rows| *rows <= TOP_ROWS_MAX);
        let mode = match top.and_then(|rows| usize::try_from(rows).ok()) {
            Some(rows) => Mode::Top(BinaryHeap::new(), rows),
            None => Mode::All {
                rows: Vec::new(),
                chunks: Vec::new(),
                runs: Vec::new(),
            },
        };
        Sorter {
            mode,
            arrivals: 0,
            budget,
            spill_dir,
            cancel: Arc::clone(cancel),
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 1038 when memory and disk do not suffice; I/O errors of the spill file.
    pub fn push(&mut self, key: &[u8], outputs: &[u8]) -> Result<()> {
        self.arrivals += 1;
        let record = || Record {
            key: key.into(),
            arrival: self.arrivals,
            outputs: outputs.into(),
        };
        let bytes = key.len() + outputs.len() + RECORD_OVERHEAD_BYTES;
        match &mut self.mode {
            Mode::Top(_, 0) => Ok(()),
            Mode::Top(heap, rows_max) if heap.len() < *rows_max => {
                self.budget.take(bytes)?;
                heap.push(record());
                Ok(())
            }
            Mode::Top(heap, _) => {
                if let Some(mut greatest) = heap.peek_mut()
                    && key < &*greatest.key
                {
                    self.budget.give_back(
                        greatest.key.len() + greatest.outputs.len() + RECORD_OVERHEAD_BYTES,
                    );
                    self.budget.take(bytes)?;
                    *greatest = record();
                }
                Ok(())
            }
            Mode::All { rows, chunks, runs } => {
                if !self.budget.fits(bytes)
                    && let Some(dir) = &self.spill_dir
                {
                    let sources = sorted_chunks(rows, chunks);
                    runs.push(Run::write(dir, sources, &self.cancel)?);
                    self.budget.reset();
                }
                self.budget.take(bytes)?;
                rows.push(record());
                if rows.len() == CHUNK_ROWS {
                    rows.sort_unstable();
                    chunks.push(std::mem::take(rows));
                    self.cancel.check()?;
                }
                check_runs(runs.len())
            }
        }
    }

    /// The rows in order.
    ///
    /// # Errors
    /// I/O errors of the spill file.
    pub fn finish(self) -> Result<Sorted> {
        match self.mode {
            Mode::Top(heap, _) => Ok(Sorted::Memory(heap.into_sorted_vec().into_iter())),
            Mode::All {
                mut rows,
                chunks,
                runs,
            } if runs.is_empty() && chunks.is_empty() => {
                rows.sort_unstable();
                Ok(Sorted::Memory(rows.into_iter()))
            }
            Mode::All {
                mut rows,
                mut chunks,
                runs,
            } => {
                let mut sources = sorted_chunks(&mut rows, &mut chunks);
                for run in runs {
                    sources.push(Source::File(run.open()?));
                }
                Merge::new(sources).map(Sorted::Merge)
            }
        }
    }
}

/// The chunks, and `rows` as the last of them; both are empty then.
fn sorted_chunks(rows: &mut Vec<Record>, chunks: &mut Vec<Vec<Record>>) -> Vec<Source> {
    rows.sort_unstable();
    chunks.push(std::mem::take(rows));
    let sources = chunks
        .drain(..)
        .map(|chunk| Source::Memory(chunk.into_iter()));
    sources.collect()
}

/// The values in the order of their keys, stably. Takes turns and can be stopped.
///
/// # Errors
/// Those of [`CancelToken::check`].
pub async fn sorted_by_key<T>(keyed: Vec<(Vec<u8>, T)>, cancel: &CancelToken) -> Result<Vec<T>> {
    let mut sorted = Vec::with_capacity(keyed.len());
    let mut keyed = keyed.into_iter();
    let mut chunks = Vec::new();
    while keyed.len() > 0 {
        cancel.check()?;
        let mut chunk: Vec<(Vec<u8>, T)> = keyed.by_ref().take(CHUNK_ROWS).collect();
        chunk.sort_by(|left, right| left.0.cmp(&right.0));
        chunks.push(chunk.into_iter());
        tokio::task::yield_now().await;
    }
    // The smallest key of each chunk that is not merged yet, smallest on top, and its value.
    let mut heads = BinaryHeap::new();
    let mut values = Vec::new();
    for (chunk_idx, chunk) in chunks.iter_mut().enumerate() {
        let (key, value) = chunk.next().unzip();
        heads.extend(key.map(|key| Reverse((key, chunk_idx))));
        values.push(value);
    }
    let mut pace = Pace::default();
    while let Some(Reverse((_, chunk_idx))) = heads.pop() {
        cancel.check_row(sorted.len())?;
        pace.keep().await;
        let next = chunks.get_mut(chunk_idx).and_then(Iterator::next);
        let (key, value) = next.unzip();
        heads.extend(key.map(|key| Reverse((key, chunk_idx))));
        if let Some(slot) = values.get_mut(chunk_idx) {
            sorted.extend(std::mem::replace(slot, value));
        }
    }
    Ok(sorted)
}

fn check_runs(runs_count: usize) -> Result<()> {
    if runs_count <= RUNS_MAX {
        return Ok(());
    }
    let text =
        format!("sort spilled {runs_count} runs, the most is {RUNS_MAX}: raise query_memory_bytes");
    Err(Error::new(Code::CapacityExceeded, text))
}

/// Sorted rows, one at a time.
pub enum Sorted {
    /// All in memory.
    Memory(std::vec::IntoIter<Record>),
    /// Merged from runs.
    Merge(Merge),
}

impl Sorted {
    /// The outputs of the next row.
    ///
    /// # Errors
    /// I/O errors of the spill file.
    pub fn next_outputs(&mut self) -> Result<Option<Box<[u8]>>> {
        match self {
            Sorted::Memory(rows) => Ok(rows.next().map(|record| record.outputs)),
            Sorted::Merge(merge) => merge.next_outputs(),
        }
    }
}

/// Merges sorted sources.
pub struct Merge {
    sources: Vec<Source>,
    /// The next record of each source, smallest on top.
    heads: BinaryHeap<Reverse<(Record, usize)>>,
}

enum Source {
    Memory(std::vec::IntoIter<Record>),
    File(RunReader),
}

impl Source {
    fn next(&mut self) -> Result<Option<Record>> {
        match self {
            Source::Memory(rows) => Ok(rows.next()),
            Source::File(reader) => reader.next(),
        }
    }
}

impl Merge {
    fn new(sources: Vec<Source>) -> Result<Merge> {
        let mut merge = Merge {
            sources,
            heads: BinaryHeap::new(),
        };
        for source_idx in 0..merge.sources.len() {
            merge.refill(source_idx)?;
        }
        Ok(merge)
    }

    fn refill(&mut self, source_idx: usize) -> Result<()> {
        if let Some(source) = self.sources.get_mut(source_idx)
            && let Some(record) = source.next()?
        {
            self.heads.push(Reverse((record, source_idx)));
        }
        Ok(())
    }

    fn next_outputs(&mut self) -> Result<Option<Box<[u8]>>> {
        Ok(self.next()?.map(|record| record.outputs))
    }

    fn next(&mut self) -> Result<Option<Record>> {
        let Some(mut head) = self.heads.peek_mut() else {
            return Ok(None);
        };
        let Reverse((_, source_idx)) = *head;
        let following = match self.sources.get_mut(source_idx) {
            Some(source) => source.next()?,
            None => None,
        };
        let Reverse((record, _)) = match following {
            Some(following) => std::mem::replace(&mut *head, Reverse((following, source_idx))),
            None => PeekMut::pop(head),
        };
        Ok(Some(record))
    }
}

impl Run {
    /// Merges sorted rows into a new file.
    fn write(dir: &PathBuf, sources: Vec<Source>, cancel: &CancelToken) -> Result<Run> {
        let mut merge = Merge::new(sources)?;
        let file = tempfile::tempfile_in(dir).map_err(|error| spill_failed("making", &error))?;
        let mut writer = BufWriter::with_capacity(RUN_BUFFER_BYTES, file);
        let mut records_count = 0;
        while let Some(record) = merge.next()? {
            cancel.check()?;
            records_count += 1;
            record
                .write(&mut writer)
                .map_err(|error| spill_failed("writing", &error))?;
        }
        let file = writer
            .into_inner()
            .map_err(|error| spill_failed("writing", error.error()))?;
        Ok(Run {
            file,
            records_count,
        })
    }

    fn open(mut self) -> Result<RunReader> {
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(|error| spill_failed("reading", &error))?;
        let reader = BufReader::with_capacity(RUN_BUFFER_BYTES, self.file);
        Ok(RunReader {
            reader,
            left_count: self.records_count,
        })
    }
}

struct RunReader {
    reader: BufReader<File>,
    left_count: u64,
}

impl RunReader {
    fn next(&mut self) -> Result<Option<Record>> {
        let Some(left) = self.left_count.checked_sub(1) else {
            return Ok(None);
        };
        self.left_count = left;
        let record = Record::read(&mut self.reader);
        record
            .map(Some)
            .map_err(|error| spill_failed("reading", &error))
    }
}

impl Record {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        write_number(out, self.arrival)?;
        for part in [&self.key, &self.outputs] {
            write_number(out, u64::try_from(part.len()).unwrap_or(u64::MAX))?;
            out.write_all(part)?;
        }
        Ok(())
    }

    fn read(input: &mut impl Read) -> std::io::Result<Record> {
        let arrival = read_number(input)?;
        let key = read_bytes(input)?;
        let outputs = read_bytes(input)?;
        Ok(Record {
            key,
            arrival,
            outputs,
        })
    }
}

#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn write_number(out: &mut impl Write, number: u64) -> std::io::Result<()> {
    out.write_all(&number.to_le_bytes())
}

#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn read_number(input: &mut impl Read) -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn read_bytes(input: &mut impl Read) -> std::io::Result<Box<[u8]>> {
    let length = usize::try_from(read_number(input)?).map_err(std::io::Error::other)?;
    let mut bytes = Vec::new();
    input
        .by_ref()
        .take(u64::try_from(length).unwrap_or(u64::MAX))
        .read_to_end(&mut bytes)?;
    if bytes.len() == length {
        Ok(bytes.into())
    } else {
        Err(std::io::ErrorKind::UnexpectedEof.into())
    }
}

fn spill_failed(doing: &str, cause: &std::io::Error) -> Error {
    let is_full = cause.kind() == std::io::ErrorKind::StorageFull;
    let code = if is_full {
        Code::DiskFull
    } else {
        Code::StorageFailure
    };
    Error::new(
        code,
        format!("sort: {doing} its temporary file failed: {cause}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs_of(mut sorter: Sorter, rows: &[(u8, u8)]) -> Vec<u8> {
        for (key, output) in rows {
            sorter.push(&[*key], &[*output]).unwrap();
        }
        let mut in_order = sorter.finish().unwrap();
        std::iter::from_fn(|| in_order.next_outputs().unwrap())
            .map(|outputs| outputs[0])
            .collect()
    }

    #[test]
    fn equal_keys_keep_their_order_in_memory_on_disk_and_in_a_top_n() {
        let rows: Vec<(u8, u8)> = (0..200).map(|n| (200 - n / 10, n)).collect();
        let mut wanted = rows.clone();
        wanted.sort_by_key(|row| row.0);
        let wanted: Vec<u8> = wanted.into_iter().map(|row| row.1).collect();
        let dir = tempfile::tempdir().unwrap();
        let cancel = Arc::default();
        let memory = Sorter::new(None, Budget::new("sort", 1 << 20), None, &cancel);
        assert_eq!(outputs_of(memory, &rows), wanted);
        let disk = Sorter::new(
            None,
            Budget::new("sort", 700),
            Some(dir.path().into()),
            &cancel,
        );
        assert_eq!(outputs_of(disk, &rows), wanted);
        let top = Sorter::new(Some(15), Budget::new("sort", 1 << 20), None, &cancel);
        assert_eq!(outputs_of(top, &rows), wanted[..15]);
    }

    #[tokio::test]
    async fn many_rows_are_sorted_in_chunks_that_can_be_stopped() {
        let rows_count = u32::try_from(CHUNK_ROWS).unwrap() * 3 + 5;
        let mixed = |number: u32| number.wrapping_mul(2_654_435_761) % 1000;
        let cancel = Arc::<CancelToken>::default();
        let fill = || {
            let mut sorter = Sorter::new(None, Budget::new("sort", 1 << 30), None, &cancel);
            for number in 0..rows_count {
                let bytes = |number: u32| format!("{number:08}").into_bytes();
                sorter.push(&bytes(mixed(number)), &bytes(number))?;
            }
            sorter.finish()
        };
        let mut in_order = fill().unwrap();
        let found = std::iter::from_fn(|| in_order.next_outputs().unwrap());
        let found = found.map(|bytes| std::str::from_utf8(&bytes).unwrap().parse().unwrap());
        let found: Vec<u32> = found.collect();
        let mut wanted: Vec<u32> = (0..rows_count).collect();
        wanted.sort_by_key(|number| mixed(*number));
        assert!(found == wanted);
        let keyed = (0..rows_count).map(|number| (format!("{:08}", mixed(number)).into(), number));
        let keyed: Vec<(Vec<u8>, u32)> = keyed.collect();
        let found = sorted_by_key(keyed.clone(), &cancel).await.unwrap();
        assert!(found == wanted);
        cancel.stop(super::super::cancel::Stop::Query);
        assert!(fill().is_err());
        assert!(sorted_by_key(keyed, &cancel).await.is_err());
    }

    #[test]
    fn without_a_disk_the_budget_is_an_error_that_names_the_operator() {
        let mut sorter = Sorter::new(None, Budget::new("sort", 100), None, &Arc::default());
        sorter.push(b"a", b"a").unwrap();
        let error = sorter.push(b"b", b"b").unwrap_err();
        assert_eq!(error.code(), Code::CapacityExceeded);
        assert!(error.message().starts_with("sort needs"), "{error}");
    }
}
