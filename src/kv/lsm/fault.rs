//! The storage library's errors in this room's words.

use fjall::LsmError;

use crate::kv::Error;

/// What a failed call of the storage library means, met while `doing` something.
pub(super) fn error(doing: &str, cause: &fjall::Error) -> Error {
    if let fjall::Error::Io(cause) | fjall::Error::Storage(LsmError::Io(cause)) = cause {
        return Error::io(doing, cause);
    }
    if let fjall::Error::Poisoned = cause {
        return Error::ReadOnly {
            cause: "an earlier write or sync failed".to_owned(),
        };
    }
    Error::Corrupt {
        what: format!("{cause}, met while {doing}"),
    }
}
