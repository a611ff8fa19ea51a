//! A guess about a range from what the engine's files say about themselves; nothing is read.
//!
//! A file of one space counts for the part of it that the range covers, as if its keys were evenly
//! spread. A file of several spaces counts for each of them alike. What was written lately and is
//! in no file yet is not counted.

use fjall::AbstractTree;

use super::snapshot::Base;
use super::spaces::{self, PREFIX_BYTES};
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

/// Where a key lies between two others, from 0 to 1, as if the bytes behind their common prefix
/// were evenly spread.
fn position(key: &[u8], first: &[u8], last: &[u8]) -> f64 {
    if key <= first {
        return 0.0;
    }
    if last < key {
        return 1.0;
    }
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |bytes: &[u8]| {
        let digits = bytes
            .iter()
            .skip(common)
            .chain(std::iter::repeat(&0))
            .take(8);
        digits.fold(0.0, |number, byte| number * 256.0 + f64::from(*byte))
    };
    let (first, last) = (number(first), number(last));
    ((number(key) - first) / (last - first).max(1.0)).clamp(0.0, 1.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_between_the_ends() {
        let at = |key: &str| position(key.as_bytes(), b"k100", b"k200");
        assert!(at("a") <= 0.0 && 1.0 <= at("z"));
        assert!(at("k110") < at("k150") && at("k150") < at("k190"));
        assert!((0.0..=1.0).contains(&at("k1")));
    }
}
