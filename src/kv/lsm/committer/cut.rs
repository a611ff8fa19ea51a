//! The state of now, for a backup.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Committer;
use crate::kv::Result;
use crate::kv::lsm::backup::{self, Cut};

impl Committer {
    /// Syncs what is written, shows it, and takes the state between two batches. What is written without a
    /// commit, as the time by which values had ended, would else be shown behind this one, and the last
    /// batch would be none of the state's.
    pub(super) fn cut(&mut self, answer: oneshot::Sender<Result<Cut>>) {
        let cut = self.sync();
        if cut.is_ok() {
            self.publish(Arc::clone(&self.base.spaces));
        }
        let cut = cut.and_then(|()| backup::take((self.base.ts, self.run.last()), &self.data));
        // Who asked may be gone.
        let _ = answer.send(cut);
    }
}
