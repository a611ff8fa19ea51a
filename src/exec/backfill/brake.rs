//! How a build makes room for the statements of clients.
//!
//! **The rule.** The build counts the statements that clients begin. Below [`CALM_PER_S`] it goes on
//! as fast as it can: large pages, the next one read while the last one is written. Above, it is
//! braked: pages of [`BRAKED_ROWS`], one after the other, and after each a rest of [`REST_FACTOR`]
//! times the time that it took. So a statement waits at most for one short page, and the build
//! leaves most of a core and of the disk to others.
//!
//! It looks at the number of statements, not at how long they take: that is known before anybody
//! has waited, and cannot be mistaken for the build's own weight.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Statements that clients have begun so far.
pub type Traffic = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Statements per second up to which nobody is disturbed: those of a person, of a monitor, or of
/// who looks at the progress.
const CALM_PER_S: u32 = 20;

/// How long statements are counted before the rule is applied to their number. No time in tests.
const WINDOW: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 50 });

/// Rows of a page under the brake: about a millisecond's work.
pub(super) const BRAKED_ROWS: usize = 256;

/// How much longer than a page the rest behind it is.
const REST_FACTOR: u32 = 3;

/// The longest rest: a page that waited for something else does not stop the build.
const REST_MAX: Duration = Duration::from_millis(100);

/// The brake of one build.
pub(super) struct Brake {
    traffic: Traffic,
    /// When the window began, and the statements until then.
    began: Instant,
    begun_count: u64,
    is_on: bool,
}

impl Brake {
    pub(super) fn new(traffic: Traffic) -> Brake {
        Brake {
            began: Instant::now(),
            begun_count: traffic(),
            is_on: false,
            traffic,
        }
    }

    /// Whether the build is to make room now. To be called once per page.
    pub(super) fn is_on(&mut self) -> bool {
        let elapsed = self.began.elapsed();
        if WINDOW <= elapsed {
            let count = (self.traffic)();
            self.is_on = is_busy(count.saturating_sub(self.begun_count), elapsed);
            (self.began, self.begun_count) = (Instant::now(), count);
        }
        self.is_on
    }
}

/// Whether so many statements in this time are more than [`CALM_PER_S`].
fn is_busy(statements: u64, elapsed: Duration) -> bool {
    let statements = u32::try_from(statements).unwrap_or(u32::MAX);
    f64::from(CALM_PER_S) * elapsed.as_secs_f64() < f64::from(statements)
        // One statement in a window is no rate.
        && 1 < statements
}

/// How long the build rests after a page under the brake.
pub(super) fn rest(took: Duration) -> Duration {
    took.saturating_mul(REST_FACTOR).min(REST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_a_matter_of_rate() {
        assert!(!is_busy(0, Duration::from_millis(50)));
        assert!(!is_busy(1, Duration::from_millis(50)));
        assert!(is_busy(2, Duration::from_millis(50)));
        assert!(!is_busy(20, Duration::from_secs(1)));
        assert!(is_busy(21, Duration::from_secs(1)));
    }

    #[test]
    fn a_rest_is_longer_than_its_page_and_ends() {
        assert_eq!(rest(Duration::from_millis(2)), Duration::from_millis(6));
        assert_eq!(rest(Duration::from_secs(9)), REST_MAX);
    }
}
