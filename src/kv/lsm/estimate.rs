//! A guess about a range from what the engine's files say about themselves; nothing is read.
//!
//! A file of one space counts for the part of it that the range covers, as if its keys were evenly
//! spread. A file of several spaces counts for each of them alike. What was written lately and is
//! in no file yet is not counted.

use fjall::AbstractTree;

use super::snapshot::Base;
use super::spaces::{self, PREFIX_BYTES};
use crate::kv::page::position;
use crate::kv::{Estimate, KeyRange, Space};

/// The guess about one range.
pub(super) fn estimate(base: &Base, space: Space, range: &KeyRange) -> Estimate {
    let mut estimate = Estimate::default();
    if base.spaces.check(space).is_err() {
        return estimate;
    }
    let (start, until) = spaces::physical_range(space, range);
    for table in base.tree().current_version().iter_tables() {
        let table = &table.metadata;
        let (first, last) = (table.key_range.min(), table.key_range.max());
        if last.as_ref() < start.as_slice() || until.as_slice() <= first.as_ref() {
            continue;
        }
        let part = if first.get(..PREFIX_BYTES) == last.get(..PREFIX_BYTES) {
            position(&until, first, last) - position(&start, first, last)
        } else {
            share(base, first, last) * if *range == KeyRange::all() { 1.0 } else { 0.5 }
        };
        estimate.rows += portion(table.item_count, part);
        estimate.bytes += portion(table.file_size, part);
    }
    estimate
}

/// One of all the spaces between two physical keys.
fn share(base: &Base, first: &[u8], last: &[u8]) -> f64 {
    let spaces = base.spaces.spaces().live;
    let between = spaces.iter().filter(|space| {
        let (start, until) = spaces::physical_range(**space, &KeyRange::all());
        start.as_slice() <= last && first < until.as_slice()
    });
    let count = u32::try_from(between.count()).unwrap_or(u32::MAX);
    1.0 / f64::from(count.max(1))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an estimate between zero and a file's size"
)]
fn portion(whole: u64, part: f64) -> u64 {
    (whole as f64 * part).ceil() as u64
}
