//! ORDER BY where the access path does not give the order: a bounded top-N with LIMIT, else an
//! external merge sort.
//!
//! A row is the bytes of its sort key (see [`super::tuple`]) and the bytes of its outputs. Rows are
//! compared by key bytes, then by arrival, so the sort is stable.
//!
//! ```text
//!   chunk    rows side by side, sorted when full: small enough for a processor's cache
//!   run      chunks merged into a file, when memory does not suffice: all of it the first time, then
//!            half of it by a thread of its own while the other half is filled
//!   merge    of all runs, oldest first, and the chunks that are left
//! ```
//! Many runs of one level are merged into one of the next, so that a sort of any size needs few
//! files at a time. Between two chunks, and while merging, the sort can be stopped. Hot: nothing is
//! allocated per row.

mod chunk;
mod merge;
#[cfg(test)]
mod tests;
mod writing;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use super::budget::{Budget, Memory};
use super::cancel::CancelToken;
use super::elsewhere;
use super::pace::Pace;
use super::spill::{Disk, SpillFile, SpillWriter};
use crate::ceiling;
use crate::error::Result;
use chunk::{Chunk, ROW_OVERHEAD_BYTES};
pub use merge::Sorted;
use merge::Source;
use writing::Writing;

/// Runs of one level that are merged into one of the next, where rows are not large.
const FAN_IN: usize = 32;

/// Bytes of the rows that runs stand on while those of one level are merged: of large rows, fewer runs are.
const MERGED_BYTES: usize = 8 << 20;

/// Bytes that are written to a run at once.
const RUN_BUFFER_BYTES: usize = 64 * 1024;

/// A top-N is kept in memory when it holds at most so many rows.
const TOP_ROWS_MAX: u64 = 100_000;

/// Values that [`sorted_by_key`] sorts in one go: some milliseconds.
const CHUNK_ROWS: usize = 16 * 1024;

/// A row of a top-N.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TopRow {
    key: Box<[u8]>,
    arrival: u64,
    outputs: Box<[u8]>,
}

/// Collects rows and gives them back in order.
pub struct Sorter {
    mode: Mode,
    budget: Budget,
    disk: Option<Arc<Disk>>,
    operator: &'static str,
    cancel: Arc<CancelToken>,
}

enum Mode {
    Top(Top),
    All(All),
}

/// The smallest rows so far.
struct Top {
    /// The greatest on top.
    heap: BinaryHeap<TopRow>,
    rows_max: usize,
    arrivals: u64,
}

/// All rows.
#[derive(Default)]
struct All {
    /// Not sorted yet.
    last: Chunk,
    /// Each sorted, oldest first.
    chunks: Vec<Chunk>,
    /// What all rows take that are not in a run and not on their way to one.
    bytes: usize,
    /// Newer than all runs, older than the chunks.
    writing: Option<Writing>,
    /// Oldest first; of the level of a run there is no greater one behind it.
    runs: Vec<Run>,
    /// What the largest row takes of those that are in no run.
    largest_bytes: usize,
}

/// A sorted run in a file.
struct Run {
    file: SpillFile,
    /// How often its rows were merged from files.
    level: u32,
    /// What its largest row takes, or more: who merges it stands on one of its rows.
    largest_bytes: usize,
}

impl Sorter {
    /// A sorter of which only the first `rows_wanted` rows will be taken, if that is known.
    pub fn new(
        rows_wanted: Option<u64>,
        operator: &'static str,
        memory: &Memory,
        cancel: &Arc<CancelToken>,
    ) -> Sorter {
        let top = rows_wanted.filter(|rows| *rows <= TOP_ROWS_MAX);
        let mode = match top.and_then(|rows| usize::try_from(rows).ok()) {
            Some(rows_max) => Mode::Top(Top {
                heap: BinaryHeap::new(),
                rows_max,
                arrivals: 0,
            }),
            None => Mode::All(All::default()),
        };
        Sorter {
            mode,
            budget: memory.budget(operator),
            disk: memory.disk().cloned(),
            operator,
            cancel: Arc::clone(cancel),
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 1038 when memory does not suffice and there is no disk, 1114 past the disk's quota.
    pub fn push(&mut self, key: &[u8], outputs: &[u8]) -> Result<()> {
        if let Mode::Top(top) = &mut self.mode {
            if top.push((key, outputs), &mut self.budget) {
                return Ok(());
            }
            self.leave_top()?;
        }
        self.push_to_all(key, outputs)
    }

    /// The rows so far do not fit: from now on as if all rows were wanted.
    fn leave_top(&mut self) -> Result<()> {
        let mode = std::mem::replace(&mut self.mode, Mode::All(All::default()));
        let Mode::Top(top) = mode else {
            return Ok(());
        };
        self.budget.reset();
        let mut rows = top.heap.into_vec();
        rows.sort_unstable_by_key(|row| row.arrival);
        for row in rows {
            self.push_to_all(&row.key, &row.outputs)?;
        }
        Ok(())
    }

    fn push_to_all(&mut self, key: &[u8], outputs: &[u8]) -> Result<()> {
        let bytes = key.len() + outputs.len() + ROW_OVERHEAD_BYTES;
        if !self.budget.try_take(bytes) {
            self.make_room(bytes)?;
        }
        let Mode::All(all) = &mut self.mode else {
            return Ok(());
        };
        all.bytes += bytes;
        all.largest_bytes = all.largest_bytes.max(bytes);
        if all.last.has_room(key.len() + outputs.len()) {
            return all.last.push(key, outputs);
        }
        let next = all.last.like();
        all.end_chunk();
        all.last = next;
        all.last.push(key, outputs)?;
        self.cancel.check()?;
        self.write_beside(bytes)
    }

    /// Takes `bytes` where there are too few: of what is being written when that is done, or else of
    /// all that is here.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        self.end_writing()?;
        if self.budget.try_take(bytes) {
            return Ok(());
        }
        self.spill()?;
        self.budget.take(bytes)
    }

    /// Hands what is sorted to a thread that writes it, once that is half of the memory and no other is
    /// at it; not before the memory was full once, since most sorts need no disk. `rest` is what the chunk
    /// that was begun takes.
    fn write_beside(&mut self, rest: usize) -> Result<()> {
        let Mode::All(all) = &mut self.mode else {
            return Ok(());
        };
        let is_writing = all
            .writing
            .as_ref()
            .is_some_and(|writing| !writing.is_over());
        let is_small = all.runs.is_empty() && all.writing.is_none();
        if is_small || is_writing || self.budget.used_bytes() < self.budget.left_bytes() {
            return Ok(());
        }
        let Some(writer) = self.writer() else {
            return Ok(());
        };
        self.end_writing()?;
        let Mode::All(all) = &mut self.mode else {
            return Ok(());
        };
        let bytes = all.bytes.saturating_sub(rest);
        all.bytes = rest;
        let chunks = std::mem::take(&mut all.chunks);
        // The chunk that was begun stays, and may have it too.
        all.writing = Some(Writing::begin((chunks, bytes), all.largest_bytes, writer)?);
        Ok(())
    }

    /// Waits for the run that is being written, if there is one.
    fn end_writing(&mut self) -> Result<()> {
        let Mode::All(all) = &mut self.mode else {
            return Ok(());
        };
        if let Some(writing) = all.writing.take() {
            let (run, bytes) = writing.end()?;
            self.budget.give_back(bytes);
            all.runs.push(run);
            self.merge_runs()?;
        }
        Ok(())
    }

    /// Merges runs while there are many of one level.
    fn merge_runs(&mut self) -> Result<()> {
        let writer = self.writer();
        let (Mode::All(all), Some(writer)) = (&mut self.mode, writer) else {
            return Ok(());
        };
        while let Some(run) = all.take_runs() {
            let (sources, level, largest_bytes) = run?;
            let file = elsewhere::at_leisure(|| writer.write_run(sources, || false))?;
            all.runs.push(Run {
                file,
                level,
                largest_bytes,
            });
        }
        Ok(())
    }

    /// What writes runs, if there is a disk.
    fn writer(&self) -> Option<Writer> {
        let disk = self.disk.as_ref()?;
        Some(Writer {
            disk: Arc::clone(disk),
            operator: self.operator,
            cancel: Arc::clone(&self.cancel),
        })
    }

    /// Writes what is in memory to the disk, if there is one, so that others have the memory.
    ///
    /// # Errors
    /// 1114 past the disk's quota; those of the disk.
    pub fn spill(&mut self) -> Result<()> {
        self.end_writing()?;
        let writer = self.writer();
        let (Mode::All(all), Some(writer)) = (&mut self.mode, writer) else {
            return Ok(());
        };
        all.end_chunk();
        if all.chunks.is_empty() {
            return Ok(());
        }
        let sources = all.chunks.drain(..).map(Source::of_chunk).collect();
        let file = elsewhere::at_leisure(|| writer.write_run(sources, || false))?;
        all.runs.push(Run {
            file,
            level: 0,
            largest_bytes: std::mem::take(&mut all.largest_bytes),
        });
        all.bytes = 0;
        self.budget.reset();
        self.merge_runs()
    }

    /// The rows in order.
    ///
    /// # Errors
    /// I/O errors of the spill files.
    pub fn finish(mut self) -> Result<Sorted> {
        self.end_writing()?;
        match self.mode {
            Mode::Top(top) => {
                let rows = top.heap.into_sorted_vec().into_iter();
                let mut chunk = Chunk::default();
                for row in rows {
                    chunk.push(&row.key, &row.outputs)?;
                }
                Sorted::new(vec![Source::of_chunk(chunk)], self.budget)
            }
            Mode::All(mut all) => {
                all.end_chunk();
                if !all.runs.is_empty() {
                    let rows_bytes = all.runs.iter().map(|run| run.largest_bytes).sum();
                    ceiling::drip(self.operator, rows_bytes)?;
                }
                let runs = all.runs.into_iter().map(|run| Source::of_file(run.file));
                let mut sources = runs.collect::<Result<Vec<_>>>()?;
                sources.extend(all.chunks.into_iter().map(Source::of_chunk));
                Sorted::new(sources, self.budget)
            }
        }
    }
}

/// Where runs are written, and for whom.
struct Writer {
    disk: Arc<Disk>,
    operator: &'static str,
    cancel: Arc<CancelToken>,
}

impl Writer {
    /// Merges sorted rows into a new file, unless nobody wants it any more.
    fn write_run(&self, sources: Vec<Source>, is_given_up: impl Fn() -> bool) -> Result<SpillFile> {
        let mut merged = Sorted::new(sources, Budget::new(self.operator, 0))?;
        let mut writer = SpillWriter::new(&self.disk, self.operator, RUN_BUFFER_BYTES)?;
        let mut rows_count = 0;
        let mut pace = Pace::default();
        while merged.advance()? {
            pace.end_if_over();
            self.cancel.check_row(rows_count)?;
            if is_given_up() {
                break;
            }
            rows_count += 1;
            let (key, outputs) = merged.row();
            writer.write(key, outputs)?;
        }
        writer.finish()
    }
}

impl Top {
    /// Takes in a row, or not if it is not among the first. `false` when there is no memory for it.
    fn push(&mut self, (key, outputs): (&[u8], &[u8]), budget: &mut Budget) -> bool {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let row = || TopRow {
            key: key.into(),
            arrival,
            outputs: outputs.into(),
        };
        let bytes = key.len() + outputs.len() + size_of::<TopRow>();
        if self.rows_max == 0 {
            return true;
        }
        if self.heap.len() < self.rows_max {
            let fits = budget.try_take(bytes);
            if fits {
                self.heap.push(row());
            }
            return fits;
        }
        let Some(mut greatest) = self.heap.peek_mut() else {
            return true;
        };
        if *greatest.key <= *key {
            return true;
        }
        budget.give_back(greatest.key.len() + greatest.outputs.len() + size_of::<TopRow>());
        if !budget.try_take(bytes) {
            PeekMut::pop(greatest);
            return false;
        }
        *greatest = row();
        true
    }
}

impl All {
    fn end_chunk(&mut self) {
        if !self.last.is_empty() {
            let mut chunk = std::mem::take(&mut self.last);
            if chunk.is_short() {
                chunk.sort();
            } else {
                elsewhere::for_long(|| chunk.sort());
            }
            self.chunks.push(chunk);
        }
    }

    /// The last runs, when there are many of one level, the level of what they are merged to, and the largest row.
    fn take_runs(&mut self) -> Option<Result<(Vec<Source>, u32, usize)>> {
        let level = self.runs.last()?.level;
        let runs = self.runs.iter().rev();
        let runs = runs.take_while(|run| run.level == level);
        let (mut count, mut largest_bytes) = (0, 0);
        for run in runs {
            count += 1;
            largest_bytes = run.largest_bytes.max(largest_bytes);
        }
        let fan_in = (MERGED_BYTES / largest_bytes.max(1)).clamp(2, FAN_IN);
        if count < fan_in {
            return None;
        }
        let runs = self.runs.split_off(self.runs.len() - count).into_iter();
        let sources: Result<Vec<Source>> = runs.map(|run| Source::of_file(run.file)).collect();
        Some(sources.map(|sources| (sources, level + 1, largest_bytes)))
    }
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
