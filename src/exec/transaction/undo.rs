//! How a transaction goes back: what its writes have replaced, in order.
//!
//! Nothing is noted before there is something to go back to, and a place to go back to costs nothing but
//! what is written behind it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::exec::growth::Known;
use crate::exec::view::{Overlay, Written};
use crate::kv::{Key, Space};

/// A place to go back to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    steps_count: usize,
    overlay_bytes: usize,
}

/// One thing that was changed.
#[derive(Debug)]
enum Step {
    /// What the transaction had written to a key before: `None` nothing, `Some(None)` a delete.
    Row((Space, Key), Option<Written>),
    /// By how much a space had grown.
    Growth(Space, Option<Known>),
    /// A key that must be absent, and needed not be before.
    Absent((Space, Key)),
    /// A key that must be unchanged, and needed not be before.
    Unchanged((Space, Key)),
}

/// What a transaction has written so far, and how it goes back.
#[derive(Debug, Default)]
pub(super) struct Staged {
    pub(super) overlay: Arc<Overlay>,
    pub(super) absent: BTreeSet<(Space, Key)>,
    pub(super) unchanged: BTreeSet<(Space, Key)>,
    steps: Vec<Step>,
    notes: bool,
}

impl Staged {
    /// Where it is now. What is written from here on is noted until [`Staged::forget_marks`].
    pub(super) fn mark(&mut self) -> Mark {
        self.notes = true;
        Mark {
            steps_count: self.steps.len(),
            overlay_bytes: self.overlay.bytes(),
        }
    }

    /// Nobody goes back to any place that was marked.
    pub(super) fn forget_marks(&mut self) {
        self.notes = false;
        self.steps = Vec::new();
    }

    /// Takes in a statement's writes.
    pub(super) fn add(&mut self, statement: super::StatementWrites) {
        let notes = self.notes;
        let steps = &mut self.steps;
        let overlay = Arc::make_mut(&mut self.overlay);
        for ((space, key), value) in statement.rows {
            let place = notes.then(|| (space, key.clone()));
            let before = overlay.write(space, key, value);
            steps.extend(place.map(|place| Step::Row(place, before)));
        }
        for (space, by) in statement.growth.spaces() {
            if notes {
                steps.push(Step::Growth(space, overlay.growth.get(space)));
            }
            overlay.growth.add(space, by);
        }
        note_new(&mut self.absent, statement.absent, |place| {
            if notes {
                steps.push(Step::Absent(place.clone()));
            }
        });
        note_new(&mut self.unchanged, statement.unchanged, |place| {
            if notes {
                steps.push(Step::Unchanged(place.clone()));
            }
        });
    }

    /// Takes back what was written behind a mark.
    pub(super) fn back_to(&mut self, mark: Mark) {
        let overlay = Arc::make_mut(&mut self.overlay);
        while mark.steps_count < self.steps.len() {
            match self.steps.pop() {
                Some(Step::Row((space, key), before)) => overlay.restore((space, key), before),
                Some(Step::Growth(space, before)) => overlay.growth.restore(space, before),
                Some(Step::Absent(place)) => drop(self.absent.remove(&place)),
                Some(Step::Unchanged(place)) => drop(self.unchanged.remove(&place)),
                None => break,
            }
        }
        overlay.set_bytes(mark.overlay_bytes);
    }
}

/// Adds what is not there yet, and tells of it.
fn note_new(
    all: &mut BTreeSet<(Space, Key)>,
    more: impl IntoIterator<Item = (Space, Key)>,
    mut note: impl FnMut(&(Space, Key)),
) {
    for place in more {
        if !all.contains(&place) {
            note(&place);
            all.insert(place);
        }
    }
}
