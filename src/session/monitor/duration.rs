//! Durations in buckets: how many statements took how long.
//!
//! A duration counts in whole microseconds, rounded up, less one: so the bucket that ends at 2^n
//! microseconds has those of exactly 2^n microseconds, as Prometheus' `le` wants it.
//!
//! - [`octave`]: powers of two, for metrics;
//! - [`Fine`]: each power of two in eight steps, for quantiles that are at most an eighth too high.

/// Powers of two: the last has what took longer than 2^[`OCTAVES`]−1 microseconds, 67 seconds.
pub const OCTAVES: usize = 28;

/// Steps of a power of two, as a power of two.
const STEP_BITS: u32 = 3;

/// Steps of a power of two.
const STEPS: u64 = 1 << STEP_BITS;

/// Powers of two that are told apart: 2^40 microseconds are twelve days.
const FINE_OCTAVES: u64 = 40;

/// Buckets of [`Fine`].
const FINE_BUCKETS: u64 = (FINE_OCTAVES - STEP_BITS as u64 + 1) * STEPS;

const NANOS_PER_MICRO: u64 = 1000;

fn micros(nanos: u64) -> u64 {
    nanos.saturating_sub(1) / NANOS_PER_MICRO
}

fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// The bucket of a duration, below [`OCTAVES`]: bucket `n` ends at 2^n microseconds.
pub fn octave(nanos: u64) -> usize {
    let bits = usize::try_from(bits(micros(nanos))).unwrap_or(OCTAVES);
    bits.min(OCTAVES - 1)
}

/// How many durations there were of each length.
#[derive(Debug, Clone, Default)]
pub struct Fine {
    /// Made with the first; grows with the longest.
    buckets: Vec<u64>,
}

impl Fine {
    /// Counts one.
    pub fn count(&mut self, nanos: u64) {
        let at = usize::try_from(bucket(micros(nanos))).unwrap_or(0);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, 0);
        }
        if let Some(bucket) = self.buckets.get_mut(at) {
            *bucket = bucket.saturating_add(1);
        }
    }

    /// How long all but a part took at most: `thousandths` 950 for 95 %. 0 when there are none.
    pub fn quantile_nanos(&self, thousandths: u64) -> u64 {
        let all: u64 = self.buckets.iter().sum();
        let wanted = all.saturating_mul(thousandths).div_ceil(1000);
        if all == 0 {
            return 0;
        }
        let mut seen = 0;
        for (count, at) in self.buckets.iter().zip(0..) {
            seen += *count;
            if wanted <= seen {
                return end_micros(at).saturating_mul(NANOS_PER_MICRO);
            }
        }
        0
    }
}

/// The bucket of a number of microseconds.
fn bucket(micros: u64) -> u64 {
    if micros < STEPS {
        return micros;
    }
    let octave = bits(micros) - STEP_BITS - 1;
    let step = (micros >> octave) & (STEPS - 1);
    (u64::from(octave + 1) * STEPS + step).min(FINE_BUCKETS - 1)
}

/// Where a bucket ends.
fn end_micros(bucket: u64) -> u64 {
    let next = bucket + 1;
    let (octave, step) = (next / STEPS, next % STEPS);
    match octave.checked_sub(1) {
        None => step,
        Some(shift) => (STEPS + step) << shift.min(u64::from(u64::BITS) / 2 + STEPS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octaves_end_where_they_say() {
        for (nanos, expected) in [
            (0, 0),
            (1, 0),
            (1000, 0),
            (1001, 1),
            (2000, 1),
            (2001, 2),
            (4000, 2),
            (1_000_000, 10),
            (1_024_000, 10),
            (1_024_001, 11),
            (u64::MAX, OCTAVES - 1),
        ] {
            assert_eq!(octave(nanos), expected, "{nanos}");
        }
    }

    #[test]
    fn buckets_follow_one_another_and_are_narrow() {
        for micros in (0..100_000).chain([1 << 20, 1 << 30, (1 << 40) - 1]) {
            let at = bucket(micros);
            assert!(at < FINE_BUCKETS);
            assert!(micros < end_micros(at), "{micros} in {at}");
            assert!(at == 0 || end_micros(at - 1) <= micros, "{micros} in {at}");
            assert!(
                end_micros(at) <= micros + 1 + micros / 8,
                "{micros} in {at}"
            );
        }
        assert_eq!(bucket(u64::MAX), FINE_BUCKETS - 1);
    }

    #[test]
    fn quantiles_lie_where_so_many_are() {
        let mut fine = Fine::default();
        assert_eq!(fine.quantile_nanos(990), 0);
        (0..90).for_each(|_| fine.count(10_000));
        (0..10).for_each(|_| fine.count(1_000_000));
        let near = |nanos: u64, expected: u64| {
            assert!(
                (expected..=expected + expected / 8).contains(&nanos),
                "{nanos}"
            );
        };
        near(fine.quantile_nanos(500), 10_000);
        near(fine.quantile_nanos(900), 10_000);
        near(fine.quantile_nanos(901), 1_000_000);
        near(fine.quantile_nanos(999), 1_000_000);
    }
}
