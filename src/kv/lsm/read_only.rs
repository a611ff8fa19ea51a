//! The state after a failed write: the engine reads on and takes no more writes, and says why.

use super::Shared;
use crate::kv::Error;

/// Why nothing is written any more.
pub(super) struct Failed {
    pub(super) cause: String,
    /// Whether that was a full disk.
    was_full: bool,
}

impl Shared {
    pub(super) fn read_only(&self) -> Option<Error> {
        let failed = self.read_only.read();
        let cause = failed.as_ref()?.cause.clone();
        Some(Error::ReadOnly { cause })
    }

    /// Ends writing after a failure, of which nobody knows what the disk has: nothing is cached any more, and compactions
    /// end.
    pub(super) fn give_up(&self, cause: &Error) {
        if let Some(base) = self.base.read().as_ref() {
            base.stop_caching();
        }
        self.floor.fail();
        self.set_read_only(cause);
    }

    /// Nothing is written from now on; the first cause stays.
    pub(super) fn set_read_only(&self, cause: &Error) {
        {
            let mut read_only = self.read_only.write();
            if read_only.is_some() {
                return;
            }
            *read_only = Some(Failed {
                cause: told(cause),
                was_full: matches!(cause, Error::DiskFull { .. }),
            });
        }
        // Without the lock: every commit and every look at the server's health takes it.
        tracing::error!(%cause, "the storage engine takes no more writes until a restart");
    }

    /// Whether a restart would help: it was a full disk that ended writing, and there is room again.
    pub(super) fn would_write_again(&self) -> bool {
        let was_full = |failed: &Failed| failed.was_full;
        if !self.read_only.read().as_ref().is_some_and(was_full) {
            return false;
        }
        self.check_room(0).is_ok()
    }
}

/// A cause, with what is to be done where a restart does not help: what met the damage is begun again then.
fn told(cause: &Error) -> String {
    if !matches!(cause, Error::Corrupt { .. }) {
        return cause.to_string();
    }
    format!(
        "{cause}; a restart does not mend that: `meseta check` with the data directory names the file, and a backup has \
         what was in it"
    )
}

#[cfg(test)]
mod tests {
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine as _, Error};

    #[tokio::test]
    async fn damage_is_told_to_stay() {
        for (what_ends_it, stays) in [
            (
                Error::Corrupt {
                    what: "file 7".to_owned(),
                },
                true,
            ),
            (
                Error::DiskFull {
                    doing: "compacting".to_owned(),
                },
                false,
            ),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let engine = Lsm::open(&Options::new(dir.path())).unwrap();
            engine.shared.give_up(&what_ends_it);
            let told = engine.read_only().unwrap();
            assert!(told.contains(&what_ends_it.to_string()), "{told}");
            assert_eq!(
                told.contains("a restart does not mend that"),
                stays,
                "{told}"
            );
        }
    }
}
