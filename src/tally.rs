//! Counters that many threads count in at once: each thread adds to a place of its own, so that no
//! two cores write to one line of memory, and whoever reads adds the places up.
//!
//! Hot: an addition is one relaxed atomic on a line that the core has already.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Places of a counter: threads share one when there are more of them. A worker of the runtime stands on
/// a core each, and few machines have so many that two in one place matter.
pub const PLACES: usize = 8;

thread_local! {
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The place of this thread, below [`PLACES`].
pub fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    PLACE.with(|place| {
        if let Some(known) = place.get() {
            return known;
        }
        let new = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
        place.set(Some(new));
        new
    })
}

/// What lies on lines of memory of its own. Two lines: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter {
    places: [Apart<AtomicU64>; PLACES],
}

impl Counter {
    /// Adds to it.
    pub fn add(&self, more: u64) {
        if let Some(Apart(place)) = self.places.get(place()) {
            place.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// What was added until now.
    pub fn sum(&self) -> u64 {
        let places = self.places.iter();
        places
            .map(|Apart(place)| place.load(Ordering::Relaxed))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn nothing_that_many_threads_add_is_lost() {
        let counter = Arc::new(Counter::default());
        let threads = (0..20).map(|_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || (0..1000).for_each(|_| counter.add(3)))
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().unwrap();
        }
        assert_eq!(counter.sum(), 60_000);
        assert!(place() < PLACES);
    }
}
