//! The state of now, for a backup.

use tokio::sync::oneshot;

use super::Committer;
use crate::kv::Result;
use crate::kv::lsm::backup::{self, Cut};

impl Committer {
    /// Syncs what is written, and takes the state between two batches.
    pub(super) fn cut(&mut self, answer: oneshot::Sender<Result<Cut>>) {
        let cut = self.sync();
        let cut = cut.and_then(|()| backup::take((self.base.ts, self.run.last()), &self.data));
        // Who asked may be gone.
        let _ = answer.send(cut);
    }
}
