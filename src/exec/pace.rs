//! Turns of a long statement: how long it keeps its thread before it lets others run.
//!
//! A page of cheap rows takes less than a millisecond and a page of dear ones seconds; a KILL that
//! nobody reads from its socket stops nothing. So loops over rows ask [`Pace::is_over`] after each
//! row and yield when it says so. Hot: the clock is looked at as seldom as the rows are cheap.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::leisure;

/// How long a turn is. A worker of the runtime that goes idle just while another looks for what sockets
/// bring leaves that to the other until its turn is over, so this is how long a short statement may have
/// to wait.
const TURN: Duration = Duration::from_micros(250);

/// The most rows between two looks at the clock.
const STRIDE_MAX: u32 = 64;

/// Rows before the first look: a short statement never looks.
const STRIDE_FIRST: u32 = 4;

/// Rows that together take longer than this are dear: the clock is looked at after each.
const DEAR: Duration = Duration::from_micros(50);

thread_local! {
    /// Turns that have ended on this thread.
    static TURNS: Cell<u32> = const { Cell::new(0) };
    /// When a statement was last polled again on this thread.
    static POLLED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A statement that had let others run is polled again on this thread: its turn begins with that, whatever they did
/// meanwhile.
pub fn note_polled_again() {
    POLLED.set(Some(Instant::now()));
}

/// How many turns have ended on this thread, modulo 2^32: what polls a statement learns from the
/// difference whether that is a long one.
pub fn turns() -> u32 {
    TURNS.get()
}

/// Lets others run if a turn has ended on this thread since [`turns`] told this: behind work that did not wait.
pub async fn keep_since(before: u32) {
    if turns() != before {
        tokio::task::yield_now().await;
    }
}

/// Counts rows, and now and then looks at the clock.
#[derive(Debug)]
pub struct Pace {
    /// Since when this turn lasts, and the last look.
    began_and_looked: Option<(Instant, Instant)>,
    stride: u32,
    rows_left: u32,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            began_and_looked: None,
            stride: STRIDE_FIRST,
            rows_left: STRIDE_FIRST,
        }
    }
}

impl Pace {
    /// To be called after each row: whether the turn is over. Then the next begins.
    #[inline]
    pub fn is_over(&mut self) -> bool {
        self.rows_left = self.rows_left.saturating_sub(1);
        self.rows_left == 0 && self.look()
    }

    fn look(&mut self) -> bool {
        let now = Instant::now();
        // Nobody has looked when the first turn began: it began about now.
        let Some((began, looked)) = self.began_and_looked else {
            self.began_and_looked = Some((now, now));
            self.rows_left = self.stride;
            return false;
        };
        let polled = POLLED.get();
        let [began, looked] = [began, looked].map(|then| polled.map_or(then, |at| at.max(then)));
        self.stride = if DEAR < now.duration_since(looked) {
            1
        } else {
            self.stride.saturating_mul(2).min(STRIDE_MAX)
        };
        self.rows_left = self.stride;
        let is_over = TURN < now.duration_since(began);
        self.began_and_looked = Some((began, now));
        if is_over {
            TURNS.set(TURNS.get().wrapping_add(1));
            leisure::end_turn();
            // Others may have had the processor meanwhile.
            let now = Instant::now();
            self.began_and_looked = Some((now, now));
        }
        is_over
    }

    /// As [`Pace::is_over`], for work on a thread of its own.
    pub fn end_if_over(&mut self) {
        let _ = self.is_over();
    }

    /// As [`Pace::is_over`], and lets others run then.
    pub async fn keep(&mut self) {
        if self.is_over() {
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mechanism: what others did between two turns was taken for a part of the second, which ended with its first look;
    /// beside others a statement had so many turns that it was long.
    #[test]
    fn what_others_do_between_two_turns_is_no_part_of_either() {
        let mut pace = Pace::default();
        while !pace.is_over() {}
        std::thread::sleep(2 * TURN);
        note_polled_again();
        let begin = Instant::now();
        while !pace.is_over() {}
        assert!(TURN < begin.elapsed() + Duration::from_micros(10));
    }

    /// Mechanism: who only noted that it was polled, and not when, had no turn that ended where each poll had fewer rows than
    /// a stride.
    #[test]
    fn few_dear_rows_in_each_poll_are_turns() {
        let (mut pace, before) = (Pace::default(), turns());
        for _ in 0..20 {
            note_polled_again();
            for _ in 0..2 {
                std::thread::sleep(TURN);
                let _ = pace.is_over();
            }
        }
        assert!(10 < turns() - before, "{}", turns() - before);
    }

    #[test]
    fn dear_rows_end_a_turn_soon_and_cheap_ones_seldom() {
        let mut pace = Pace::default();
        let mut rows_count = 0;
        while !pace.is_over() {
            std::thread::sleep(Duration::from_millis(1));
            rows_count += 1;
        }
        assert!(rows_count < 3 * STRIDE_FIRST, "{rows_count}");
        let mut pace = Pace::default();
        assert!((0..STRIDE_FIRST).all(|_| !pace.is_over()));
    }
}
