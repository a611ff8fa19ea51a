//! What the committer does for sparse stretches: it notes what is written while somebody looks for them,
//! keeps them, and has ranges looked at where small commits delete much.

use std::sync::Arc;

use super::Committer;
use crate::kv::lsm::spaces::{self, PREFIX_BYTES};
use crate::kv::lsm::sparse::Stretch;
use crate::kv::lsm::thin::{self, Deleted, Found, Suspect, Watch, Watching};
use crate::kv::{Key, Space};

/// Keys that small commits delete of a space before they are looked at.
const DELETED_MAX: usize = 2 * thin::DELETES_MIN;

/// Spaces of which it is noted what small commits delete; of more, that with the fewest is forgotten.
const SPACES_MAX: usize = 64;

impl Committer {
    /// Notes from now on what is written to a range.
    pub(super) fn watch(&mut self, watching: Watching) {
        if self.base.view.is_none() {
            // By now the files may be written that were being written then.
            self.publish(Arc::clone(&self.base.spaces));
        }
        self.watches.retain(Watch::is_wanted);
        self.watches.push(watching.watch());
        let _ = watching.answer.send(Ok(Arc::clone(&self.base)));
    }

    /// Keeps sparse stretches that are true of the present state.
    pub(super) fn keep(&mut self, found: Found) {
        let Found {
            walker,
            stretches,
            answer,
        } = found;
        let mut watches = self.watches.iter_mut();
        let watch = watches.find(|watch| watch.is_of(&walker));
        let mut stretches = watch.map_or_else(Vec::new, |watch| watch.unchanged(stretches));
        self.watches.retain(|watch| !watch.is_of(&walker));
        // The space may have been dropped meanwhile.
        stretches.retain(|stretch| self.is_of_live_space(stretch));
        if !stretches.is_empty() {
            let expiry = self.shared.expiry.as_ref();
            let past_ms = expiry.map_or(0, |expiry| expiry.now_ms());
            self.sparse = Arc::new(self.sparse.with(stretches, past_ms));
            self.publish(Arc::clone(&self.base.spaces));
        }
        let _ = answer.send(Ok(()));
    }

    fn is_of_live_space(&self, stretch: &Stretch) -> bool {
        let space = stretch.from.get(..PREFIX_BYTES).and_then(spaces::space_of);
        space.is_some_and(|space| self.base.spaces.check(space).is_ok())
    }

    /// Notes keys that a commit deletes, of spaces of which it deletes few; many of them are looked at
    /// together.
    pub(super) fn note_deleted(&mut self, deletes: &[(Space, Key)]) {
        let counts = thin::counts_of(deletes);
        for (space, key) in deletes {
            if counts
                .get(space)
                .is_some_and(|count| *count < thin::DELETES_MIN)
            {
                self.deleted.entry(*space).or_default().note(key);
            }
        }
        for space in counts.into_keys() {
            let is_much = |deleted: &Deleted| DELETED_MAX <= deleted.count();
            if self.deleted.get(&space).is_some_and(is_much) {
                let much = self.deleted.remove(&space);
                let suspect = much.and_then(|much| Suspect::of_deleted(space, much));
                if let Some(suspect) = suspect {
                    self.shared.reclaim.look(suspect);
                }
            }
        }
        while SPACES_MAX < self.deleted.len() {
            let fewest = self
                .deleted
                .iter()
                .min_by_key(|(_, deleted)| deleted.count());
            let Some(space) = fewest.map(|(space, _)| *space) else {
                return;
            };
            self.deleted.remove(&space);
        }
    }
}
