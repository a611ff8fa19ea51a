//! What a space holds, live and dead: counted when it is small, else guessed from samples that lie
//! where the entries of its files lie.

use std::fs::File;

use lsm_tree::table::{Block, IndexBlock};
use lsm_tree::{Result, Table};

use super::merge::Merge;
use super::view::View;
use crate::kv::Ts;
use crate::kv::census::{Census, IsPast, Sample, estimated};
use crate::kv::lsm::spaces::Bounds;

/// Entries of a space that are all looked at: about ten milliseconds.
const ENTRIES_COUNTED_MAX: u64 = 1 << 17;

/// Places of a larger one that are looked at, and entries at each: together some milliseconds. Many
/// places, because what is dead often lies together.
const SAMPLES: u64 = 128;
const SAMPLE_ENTRIES: u64 = 32;

/// Bytes of keys and values that are passed while a space is counted; beyond it samples are taken.
const BYTES_COUNTED_MAX: u64 = 8 << 20;

/// Bytes that all samples together pass: with values so large that it is reached there are fewer of
/// them. Each passes one entry at least.
const BYTES_SAMPLED_MAX: u64 = 8 << 20;

/// Samples are taken in this order of the places (each so many behind the last, around), so that the
/// first ones already lie everywhere. A prime above their number, so that each has its turn.
const STRIDE: usize = 163;

/// The part of a file that lies in a range.
struct Part {
    table: Table,
    /// Entries in it, about.
    entries: u64,
    /// Which of the keys of the file's index lie in the range: from, to. `None` for all.
    keys: Option<(usize, usize)>,
}

/// Counts a space, between two physical keys, as it was at `ts`.
pub(in crate::kv::lsm) fn census(
    view: &View,
    (ts, bounds): (Ts, Bounds),
    is_past: IsPast<'_>,
) -> Result<Census> {
    let mut merge = Merge::new(view, bounds.clone(), ts.0);
    let tally = merge.tally((ENTRIES_COUNTED_MAX, BYTES_COUNTED_MAX), is_past)?;
    if tally.is_whole {
        return Ok(tally.found);
    }
    drop(merge);
    let tables = view.tables().into_iter();
    let parts = tables.map(|table| Part::of(table, &bounds));
    let parts = parts.collect::<Result<Vec<Part>>>()?;
    let entries = parts.iter().map(|part| part.entries).sum();
    let samples = samples((view, ts), (places(&parts, entries)?, bounds), is_past)?;
    let census = estimated(entries, &samples);
    // What was counted is there, and what is in memory alone may be new.
    let unknown = u64::try_from(view.memtable.len()).unwrap_or(u64::MAX);
    Ok(Census {
        live: census.live.max(tally.found.live),
        low: census.low.max(tally.found.live),
        high: census.high.max(tally.found.live).saturating_add(unknown),
        ..census
    })
}

/// What lies behind some places.
fn samples(
    (view, ts): (&View, Ts),
    (places, (from, until)): (Vec<Vec<u8>>, Bounds),
    is_past: IsPast<'_>,
) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let mut bytes = 0_u64;
    for turn in 0..places.len() {
        let at = (turn * STRIDE).checked_rem(places.len()).unwrap_or(0);
        let Some(place) = places.get(at).filter(|_| bytes < BYTES_SAMPLED_MAX) else {
            break;
        };
        // The file that it is taken from may begin before the range.
        let start = place.max(&from).clone();
        let mut merge = Merge::of_few(view, (start, until.clone()), ts.0);
        let tally = merge.tally((SAMPLE_ENTRIES, BYTES_SAMPLED_MAX / SAMPLES), is_past)?;
        bytes = bytes.saturating_add(tally.bytes);
        // One that is in memory alone tells nothing of what is in files.
        if 0 < tally.in_files {
            samples.push(Sample {
                entries: tally.in_files,
                found: tally.found,
            });
        }
    }
    Ok(samples)
}

impl Part {
    fn of(table: Table, (start, until): &Bounds) -> Result<Part> {
        let entries = table.metadata.item_count;
        let range = &table.metadata.key_range;
        let (first, last) = (range.min().as_ref(), range.max().as_ref());
        let is_in = start.as_slice() <= first && last < until.as_slice();
        let is_beside = last < start.as_slice() || until.as_slice() <= first;
        if is_in || is_beside {
            return Ok(Part {
                entries: if is_in { entries } else { 0 },
                table,
                keys: None,
            });
        }
        let (mut from, mut to, mut all) = (0, 0, 0);
        each_key(&table, |key| {
            from += usize::from(key < start.as_slice());
            to += usize::from(key < until.as_slice());
            all += 1;
        })?;
        // A few rows may lie among others of one block, so that none of the keys is of them.
        let to = to.max((from + 1).min(all));
        Ok(Part {
            entries: part(entries, number(to - from), number(all)),
            table,
            keys: Some((from, to)),
        })
    }
}

/// The keys of the index of a file: each the last one of as many entries as any other, about.
fn each_key(table: &Table, mut take: impl FnMut(&[u8])) -> Result<()> {
    let file = File::open(&*table.path)?;
    let compression = table.metadata.index_block_compression;
    let index = IndexBlock::new(Block::from_file(&file, table.regions.tli, compression)?);
    let bytes = index.as_slice();
    let mut key = Vec::new();
    for item in index.iter() {
        let prefix = item.prefix.and_then(|at| bytes.get(at.0..at.1));
        let rest = bytes.get(item.end_key.0..item.end_key.1);
        key.clear();
        key.extend_from_slice(prefix.unwrap_or_default());
        key.extend_from_slice(rest.unwrap_or_default());
        take(&key);
    }
    Ok(())
}

/// Keys at which samples begin: as often in a part of the range as entries are.
fn places(parts: &[Part], entries: u64) -> Result<Vec<Vec<u8>>> {
    let mut places = Vec::new();
    let mut passed = 0;
    for one in parts {
        // In the middle of each of so many parts of the entries.
        let middles = (0..SAMPLES).map(|sample| part(entries, 2 * sample + 1, 2 * SAMPLES));
        let is_here = |place: &u64| passed <= *place && *place < passed + one.entries;
        let here: Vec<u64> = middles
            .filter(is_here)
            .map(|place| place - passed)
            .collect();
        passed += one.entries;
        if here.is_empty() {
            continue;
        }
        let mut keys = vec![one.table.metadata.key_range.min().to_vec()];
        each_key(&one.table, |key| keys.push(key.to_vec()))?;
        let (from, to) = one.keys.unwrap_or((0, keys.len() - 1));
        let keys = keys.get(from..=to).unwrap_or_default();
        let gaps = number(keys.len()).saturating_sub(1);
        let key_at = |place: u64| {
            let at = part(gaps, place, one.entries);
            let (first, last) = (part(one.entries, at, gaps), part(one.entries, at + 1, gaps));
            let at = usize::try_from(at).ok()?;
            let share = (place.saturating_sub(first), last.saturating_sub(first));
            let ends = (keys.get(at)?.as_slice(), keys.get(at + 1)?.as_slice());
            Some(between(ends, share))
        };
        places.extend(here.into_iter().filter_map(key_at));
    }
    Ok(places)
}

/// The key at a part of the way between two neighbours of an index, as if the eight bytes behind what
/// they have in common were evenly spread.
#[expect(
    clippy::big_endian_bytes,
    reason = "digits of a key, as kv::page::position reads them"
)]
fn between((first, last): (&[u8], &[u8]), (number, of): (u64, u64)) -> Vec<u8> {
    let same = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let digits = |key: &[u8]| {
        let mut digits = [0; 8];
        let bytes = key.iter().skip(same);
        digits
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(digits)
    };
    let (low, high) = (digits(first), digits(last));
    let at = low.saturating_add(part(high.saturating_sub(low), number, of));
    let mut key = first.get(..same).unwrap_or_default().to_vec();
    key.extend_from_slice(&at.to_be_bytes());
    key
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// `count * number / of` without a detour through what does not fit.
fn part(count: u64, number: u64, of: u64) -> u64 {
    let part = u128::from(count) * u128::from(number) / u128::from(of.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// How many entries, dead ones included, are passed for so many live keys, and how many of those there
/// are.
#[cfg(test)]
pub(in crate::kv::lsm) fn passed(
    view: &View,
    (ts, bounds): (Ts, Bounds),
    rows_wanted: u64,
) -> (u64, u64) {
    let mut merge = Merge::new(view, bounds, ts.0);
    let (mut entries, mut rows) = (0, 0);
    while rows < rows_wanted {
        let tally = merge.tally((1, u64::MAX), &|_| false).unwrap();
        entries += tally.entries;
        rows += tally.found.live;
        if tally.is_whole {
            break;
        }
    }
    (entries, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_between_two_is_between_them() {
        let ends: (&[u8], &[u8]) = (b"12345a100", b"12345a900");
        let keys: Vec<Vec<u8>> = (0..10).map(|number| between(ends, (number, 10))).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        for key in keys {
            assert!(
                ends.0 <= key.as_slice() && key.as_slice() <= ends.1,
                "{key:?}"
            );
        }
    }
}
