//! Connections that could not be accepted: most often there are no file descriptors left, for a while. The log
//! tells of the first at once, and then how many there were.

use std::io;
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// After a failed accept nothing is tried for this long.
const PAUSE: Duration = Duration::from_millis(100);

/// The log is told no more often.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// The failed accepts of one listener.
#[derive(Debug)]
pub(super) struct Unaccepted {
    /// What could not be accepted, as the log has it.
    what: &'static str,
    told_at: Option<Instant>,
    /// Failures that the log was not told of.
    untold: u64,
}

impl Unaccepted {
    pub(super) fn new(what: &'static str) -> Unaccepted {
        Unaccepted {
            what,
            told_at: None,
            untold: 0,
        }
    }

    /// An accept has failed: waits before the next may be tried.
    pub(super) async fn pause(&mut self, error: &io::Error) {
        if let Some(untold) = self.tells_of(Instant::now()) {
            tracing::warn!(%error, untold, "{} could not be accepted", self.what);
        }
        sleep(PAUSE).await;
    }

    /// How many failures the log was not told of before this one, if it is to be told of it.
    fn tells_of(&mut self, now: Instant) -> Option<u64> {
        let is_lately = |told: Instant| now.duration_since(told) < TOLD_EVERY;
        if self.told_at.is_some_and(is_lately) {
            self.untold += 1;
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_told_at_once_and_then_how_many_there_were() {
        let mut unaccepted = Unaccepted::new("a connection");
        let begin = Instant::now();
        let told: Vec<Option<u64>> = [0, 100, 200, 9_999, 10_000, 10_100, 60_000]
            .map(|ms| unaccepted.tells_of(begin + Duration::from_millis(ms)))
            .into();
        let expected = [Some(0), None, None, None, Some(3), None, Some(1)];
        assert_eq!(told, expected);
    }
}
