//! Failed logins make the next failures of the same source slower: guessing takes long, a slip of
//! the finger does not.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Sources that are remembered; past it those that failed longest ago are forgotten.
const SOURCES_MAX: usize = 10_000;

/// Failures of a source that cost nothing.
const FREE_FAILURES: u32 = 5;

/// How long the first failure after those takes; each next one takes twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// The longest delay: shorter than a login may take, so that the client still hears why.
const DELAY_MAX: Duration = Duration::from_secs(5);

/// A source that has not failed for so long starts anew.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// The failures of each source.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    sources: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Throttle {
    /// A login has failed: how long the refusal is to wait.
    pub(super) fn failed(&self, address: IpAddr, now: Instant) -> Duration {
        let mut sources = self.sources.lock();
        let source = source_of(address);
        if SOURCES_MAX <= sources.len() && !sources.contains_key(&source) {
            make_room(&mut sources, now);
        }
        let failures = sources.entry(source).or_insert(Failures {
            count: 0,
            last: now,
        });
        if FORGOTTEN_AFTER < now.saturating_duration_since(failures.last) {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        delay(failures.count)
    }

    /// A login has succeeded.
    pub(super) fn succeeded(&self, address: IpAddr) {
        self.sources.lock().remove(&source_of(address));
    }
}

fn delay(count: u32) -> Duration {
    match count.checked_sub(FREE_FAILURES + 1) {
        None => Duration::ZERO,
        Some(doublings) => {
            let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
            FIRST_DELAY.saturating_mul(factor).min(DELAY_MAX)
        }
    }
}

fn make_room(sources: &mut HashMap<IpAddr, Failures>, now: Instant) {
    sources.retain(|_, failures| now.saturating_duration_since(failures.last) <= FORGOTTEN_AFTER);
    if SOURCES_MAX <= sources.len() {
        let mut times: Vec<Instant> = sources.values().map(|failures| failures.last).collect();
        times.sort_unstable();
        if let Some(median) = times.get(times.len() / 2).copied() {
            sources.retain(|_, failures| median < failures.last);
        }
    }
}

/// One who has an IPv6 address mostly has the 2^64 of its network.
fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::MAX << 64;
            IpAddr::V6((address.to_bits() & network).into())
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_grows_and_is_forgotten() {
        let throttle = Throttle::default();
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let start = Instant::now();
        let fail = |address, after_s| {
            let now = start + Duration::from_secs(after_s);
            throttle.failed(address, now).as_millis()
        };
        let delays: Vec<u128> = (0..13).map(|second| fail(here, second)).collect();
        let wanted = [0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000];
        assert_eq!(delays, wanted);
        assert_eq!(fail(there, 13), 0);
        assert_eq!(fail(here, 700), 0);
        for _ in 0..9 {
            fail(here, 701);
        }
        throttle.succeeded(here);
        assert_eq!(fail(here, 702), 0);
    }

    #[test]
    fn it_remembers_a_bounded_number_of_sources() {
        let throttle = Throttle::default();
        let start = Instant::now();
        for number in 0..3 * u32::try_from(SOURCES_MAX).unwrap() {
            let now = start + Duration::from_micros(u64::from(number));
            throttle.failed(IpAddr::V4(number.into()), now);
            assert!(throttle.sources.lock().len() <= SOURCES_MAX);
        }
        let same_network = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
        assert_eq!(source_of(same_network[0]), source_of(same_network[1]));
    }
}
