//! Which part of a journal belongs to a state: for a backup, while the journal is written to.

use super::{ZEROS, batch, is_zeros, next_batch};

/// The batches of a journal that are older than another.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::kv::lsm) struct Older {
    /// Where the last of them ends.
    pub(in crate::kv::lsm) end: usize,
    /// Whether something is behind it that is not only zeros.
    pub(in crate::kv::lsm) has_more: bool,
    /// … and an older batch of the run behind that.
    pub(in crate::kv::lsm) is_damaged: bool,
}

/// All but the zeros that a journal is made of before it is written to, which are most of it.
fn without_zeros(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_suffix(&ZEROS) {
        bytes = rest;
    }
    bytes
}

/// The batches older than `seqno`, of a journal that `run` may be writing to.
pub(in crate::kv::lsm) fn older_than(bytes: &[u8], seqno: u64, run: Option<u64>) -> Older {
    let mut end = 0;
    let stop = loop {
        match batch(bytes, end) {
            Ok(next) if next.seqno < seqno => end = next.end,
            stop => break stop,
        }
    };
    let has_more = !is_zeros(bytes.get(end..).unwrap_or_default());
    let bytes = without_zeros(bytes);
    // A number that is too large may itself be damage.
    let mut at = match stop {
        Ok(newer) => newer.end,
        Err(damage) => damage.resume,
    };
    let mut is_damaged = false;
    while has_more
        && !is_damaged
        && let Some(found) = next_batch((bytes, at), run)
    {
        is_damaged = found.seqno < seqno;
        at = found.end;
    }
    Older {
        end,
        has_more,
        is_damaged,
    }
}
