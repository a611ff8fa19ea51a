//! The places of connections, and who gives way when all are taken: first who has not asked yet, then who
//! has its answer and stays; of each the oldest. So a few silent clients do not close the door to the
//! others.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How far a connection is, in the order in which they give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Its request is not there yet.
    Asking,
    /// It has its answer.
    Leaving,
    /// It is being answered, and gives way to nobody.
    Answered,
}

/// All places.
pub(super) struct Places {
    permits: Arc<Semaphore>,
    present: Arc<Mutex<Present>>,
}

/// Who is there and may stay, by stage and in order of coming.
#[derive(Debug, Default)]
struct Present {
    came: u64,
    holders: BTreeMap<(Stage, u64), Arc<Notify>>,
}

impl Present {
    /// Sends the first away who gives way; `None` when nobody does.
    fn send_away(&mut self) -> Option<()> {
        let first = self.holders.first_entry()?;
        let (stage, _) = *first.key();
        if stage == Stage::Answered {
            return None;
        }
        first.remove().notify_one();
        Some(())
    }
}

/// A place that is taken, until it is dropped.
pub(super) struct Place {
    number: u64,
    stage: Mutex<Stage>,
    leave: Arc<Notify>,
    present: Arc<Mutex<Present>>,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(count: usize) -> Places {
        Places {
            permits: Arc::new(Semaphore::new(count)),
            present: Arc::default(),
        }
    }

    /// A place for one who comes; `None` when all are taken and nobody gives way.
    pub(super) async fn take(&self) -> Option<Place> {
        if self.permits.available_permits() == 0 {
            self.present.lock().send_away()?;
        }
        // Who was sent away waits for nothing else: this is soon.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        let leave = Arc::<Notify>::default();
        let mut present = self.present.lock();
        present.came += 1;
        let number = present.came;
        let holder = (Stage::Asking, number);
        present.holders.insert(holder, Arc::clone(&leave));
        Some(Place {
            number,
            stage: Mutex::new(Stage::Asking),
            leave,
            present: Arc::clone(&self.present),
            _permit: permit,
        })
    }
}

impl Place {
    /// Its holder is so far now.
    pub(super) fn enter(&self, next: Stage) {
        let mut stage = self.stage.lock();
        let mut present = self.present.lock();
        // Who was sent away stays so.
        if let Some(leave) = present.holders.remove(&(*stage, self.number)) {
            present.holders.insert((next, self.number), leave);
        }
        *stage = next;
    }

    /// Waits until its holder must give way.
    pub(super) async fn must_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let holder = (*self.stage.lock(), self.number);
        self.present.lock().holders.remove(&holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_has_not_asked_gives_way_first_and_who_is_answered_never() {
        let places = Places::new(3);
        let answered = places.take().await.unwrap();
        answered.enter(Stage::Answered);
        let leaving = places.take().await.unwrap();
        leaving.enter(Stage::Leaving);
        let asking = places.take().await.unwrap();

        let gone = async {
            asking.must_leave().await;
            drop(asking);
        };
        let (next, ()) = tokio::join!(places.take(), gone);
        let next = next.unwrap();
        next.enter(Stage::Answered);
        let gone = async {
            leaving.must_leave().await;
            drop(leaving);
        };
        let (last, ()) = tokio::join!(places.take(), gone);
        let last = last.unwrap();
        last.enter(Stage::Answered);
        assert!(places.take().await.is_none());
        drop(answered);
        assert!(places.take().await.is_some());
    }
}
