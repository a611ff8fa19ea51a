//! The storage library's errors in this room's words.

use std::io;

use fjall::LsmError;

use crate::kv::Error;

/// An error of this room on its way through the storage library, out of which [`error`] takes it.
pub(super) fn carried(error: Error) -> LsmError {
    LsmError::Io(io::Error::other(error))
}

fn carried_in(cause: &io::Error) -> Option<Error> {
    let inner = cause.get_ref()?;
    inner.downcast_ref().cloned()
}

/// Whether an error was this room's before the library handed it on.
pub(super) fn is_carried(cause: &fjall::Error) -> bool {
    let fjall::Error::Storage(LsmError::Io(cause)) = cause else {
        return false;
    };
    carried_in(cause).is_some()
}

/// What a failed call of the storage library means, met while `doing` something.
pub(super) fn error(doing: &str, cause: &fjall::Error) -> Error {
    if let fjall::Error::Io(cause) | fjall::Error::Storage(LsmError::Io(cause)) = cause {
        return carried_in(cause).unwrap_or_else(|| Error::io(doing, cause));
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
