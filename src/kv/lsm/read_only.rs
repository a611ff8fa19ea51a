//! The state after a failed write: the engine reads on and takes no more writes, and says why.

use super::Shared;
use crate::kv::Error;

impl Shared {
    pub(super) fn read_only(&self) -> Option<Error> {
        let cause = self.read_only.read().clone()?;
        Some(Error::ReadOnly { cause })
    }

    /// Nothing is written from now on; the first cause stays.
    pub(super) fn set_read_only(&self, cause: &Error) {
        {
            let mut read_only = self.read_only.write();
            if read_only.is_some() {
                return;
            }
            *read_only = Some(cause.to_string());
        }
        // Without the lock: every commit and every look at the server's health takes it.
        tracing::error!(%cause, "the storage engine takes no more writes until a restart");
    }
}
