//! What a space holds: live keys, those that have ended, and those that are deleted and not gone yet.
//!
//! A small space is counted. Of a large one samples are counted, and the numbers come with the bounds
//! between which the number of live keys lies in about nineteen of twenty cases.

use super::guess::{float, float_of, whole};

/// Whether a value has ended.
pub type IsPast<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// What a space holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    /// Keys that readers see.
    pub live: u64,
    /// There are hardly fewer of those.
    pub low: u64,
    /// There are hardly more of those.
    pub high: u64,
    /// Keys whose values have ended and are not removed yet.
    pub expired: u64,
    /// Deleted keys that still take room.
    pub deleted: u64,
    /// Whether all were counted.
    pub is_exact: bool,
}

impl Census {
    /// An empty space, to be added to.
    pub fn nothing() -> Census {
        Census {
            live: 0,
            low: 0,
            high: 0,
            expired: 0,
            deleted: 0,
            is_exact: true,
        }
    }

    /// Counts the newest value of a key; `None` when the key is deleted.
    pub fn add(&mut self, value: Option<&[u8]>, is_past: IsPast<'_>) {
        match value {
            None => self.deleted += 1,
            Some(value) if is_past(value) => self.expired += 1,
            Some(_) => {
                self.live += 1;
                self.low += 1;
                self.high += 1;
            }
        }
    }

    /// The same where the number of live keys is known otherwise.
    pub fn with_live(self, live: u64) -> Census {
        Census {
            live,
            low: live,
            high: live,
            is_exact: true,
            ..self
        }
    }
}

/// A part of a space that was counted.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Entries that were passed and belong to what is known to be there in all.
    pub entries: u64,
    /// What they were.
    pub found: Census,
}

/// What a space with so many entries holds, by samples that each stand for as many of them.
pub fn estimated(entries_count: u64, samples: &[Sample]) -> Census {
    let count = float_of(samples.len());
    let seen = float(samples.iter().map(|sample| sample.entries).sum()).max(1.0);
    let share = |sample: &Sample, part: u64| float(part) / float(sample.entries.max(1));
    // Not the parts of all that was seen: a sample among what is in memory too has seen less of files.
    let mean = |part: fn(&Census) -> u64| {
        let shares = samples.iter().map(|one| share(one, part(&one.found)));
        shares.sum::<f64>() / count.max(1.0)
    };
    let all = float(entries_count);
    let live = mean(|found| found.live);
    let off = |sample: &Sample| (share(sample, sample.found.live) - live).powi(2);
    let variance = samples.iter().map(off).sum::<f64>() / (count - 1.0).max(1.0);
    // What no sample has met may still be three in all that was seen.
    let slack = STANDARD_ERRORS * (variance / count.max(1.0)).sqrt() + UNSEEN / seen;
    Census {
        live: whole(live * all),
        low: whole((live - slack).max(0.0) * all),
        high: whole((live + slack) * all),
        expired: whole(mean(|found| found.expired) * all),
        deleted: whole(mean(|found| found.deleted) * all),
        is_exact: false,
    }
}

/// Standard errors on either side that hold about nineteen of twenty.
const STANDARD_ERRORS: f64 = 2.0;

/// Of what was seen not once among many, there are fewer than so many among as many, in nineteen of
/// twenty cases.
const UNSEEN: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(entries: u64, live: u64, deleted: u64) -> Sample {
        let found = Census {
            live,
            deleted,
            ..Census::nothing()
        };
        Sample { entries, found }
    }

    #[test]
    fn what_is_alike_everywhere_is_known_well() {
        let samples = vec![sample(100, 100, 0); 32];
        let census = estimated(1_000_000, &samples);
        assert_eq!((census.live, census.deleted), (1_000_000, 0));
        assert!((999_000..1_000_000).contains(&census.low), "{census:?}");
        assert!((1_000_001..1_001_000).contains(&census.high), "{census:?}");
    }

    #[test]
    fn what_differs_from_place_to_place_has_wide_bounds() {
        let mut samples = vec![sample(100, 100, 0); 16];
        samples.extend(vec![sample(100, 0, 100); 16]);
        let census = estimated(1_000_000, &samples);
        assert_eq!((census.live, census.deleted), (500_000, 500_000));
        assert!(census.low < 350_000 && 650_000 < census.high, "{census:?}");
        assert!(!census.is_exact);
    }

    #[test]
    fn each_sample_counts_alike_however_much_it_saw() {
        let mut samples = vec![sample(20, 10, 10); 64];
        samples.extend(vec![sample(32, 32, 0); 64]);
        let census = estimated(1_000_000, &samples);
        assert_eq!((census.live, census.deleted), (750_000, 250_000));
    }

    #[test]
    fn nothing_seen_is_nothing_told() {
        let census = estimated(0, &[]);
        assert_eq!((census.live, census.low, census.high), (0, 0, 0));
    }
}
