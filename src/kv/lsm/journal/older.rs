//! Which part of a journal belongs to a state: for a backup, while the journal is written to.
//!
//! The library makes its files 64 MiB of zeros long before it writes to them, and a backup of links is over
//! in the time that it takes to read one. So where the last batch of the state is known, nothing is read
//! behind it.

use std::io::{self, Read};

use super::{Marker, ZEROS, batch, is_zeros, next_batch};
use crate::leisure;

/// Bytes that are read at a time, or as many as there are of a batch that is not whole.
const PIECE_BYTES: usize = 64 << 10;

/// A batch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kv::lsm) struct BatchId {
    pub(super) run: u64,
    pub(super) number: u64,
}

/// What a state has of the journals.
#[derive(Debug, Clone, Copy)]
pub(in crate::kv::lsm) struct Until {
    /// The batches older than this one.
    pub(in crate::kv::lsm) seqno: u64,
    /// The run that may be writing to them.
    pub(in crate::kv::lsm) run: Option<u64>,
    /// The last batch of the state, if it was written in this run; its journal may be gone.
    pub(in crate::kv::lsm) last: Option<BatchId>,
}

/// The batches of a journal that belong to a state.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::kv::lsm) struct Older {
    /// They.
    pub(in crate::kv::lsm) bytes: Vec<u8>,
    /// Whether the last of the state is among them: no journal behind this one has any.
    pub(in crate::kv::lsm) has_last: bool,
    /// Whether something is behind them that is not only zeros; unless the last is there.
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

/// Reads on; false at the end. What is asked for doubles until a batch is whole, so that one is not looked at
/// often.
fn read_piece(journal: &mut impl Read, (bytes, end): (&mut Vec<u8>, usize)) -> io::Result<bool> {
    let piece_bytes = PIECE_BYTES.max(bytes.len() - end);
    let limit = u64::try_from(piece_bytes).unwrap_or(u64::MAX);
    let count = journal.take(limit).read_to_end(bytes)?;
    leisure::end_turn();
    Ok(count != 0)
}

/// Reads the batches of a journal that belong to a state.
///
/// # Errors
///
/// Those of reading.
pub(in crate::kv::lsm) fn older_than(journal: &mut impl Read, until: &Until) -> io::Result<Older> {
    let mut bytes = Vec::new();
    let mut end = 0;
    let stop = loop {
        match batch(&bytes, end) {
            Ok(next) if next.seqno < until.seqno => {
                end = next.end;
                let id = next.marker.map(Marker::batch);
                if until.last.is_some() && id == until.last {
                    bytes.truncate(end);
                    return Ok(Older {
                        bytes,
                        has_last: true,
                        has_more: false,
                        is_damaged: false,
                    });
                }
            }
            stop => {
                if !read_piece(journal, (&mut bytes, end))? {
                    break stop;
                }
            }
        }
    };
    let written = without_zeros(&bytes);
    let has_more = !is_zeros(written.get(end..).unwrap_or_default());
    // A number that is too large may itself be damage.
    let mut at = match stop {
        Ok(newer) => newer.end,
        Err(damage) => damage.resume,
    };
    let mut is_damaged = false;
    while has_more
        && !is_damaged
        && let Some(found) = next_batch((written, at), until.run)
    {
        is_damaged = found.seqno < until.seqno;
        at = found.end;
    }
    bytes.truncate(end);
    Ok(Older {
        bytes,
        has_last: false,
        has_more,
        is_damaged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine, Space, WriteSet};

    const COMMITS: u64 = 300;
    /// More than one piece.
    const VALUE_BYTES: usize = 1000;

    /// The journal of some commits, as the library makes it, and where its batches end.
    async fn journal() -> (Vec<u8>, Vec<(BatchId, usize)>) {
        let scratch = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&Options {
            cache_bytes: 1 << 20,
            ..Options::new(scratch.path().join("data"))
        });
        let engine = engine.unwrap();
        engine.create_space(Space(1)).await.unwrap();
        for number in 0..COMMITS {
            let mut writes = WriteSet::blind();
            // One that is many pieces long.
            let bytes = if number == 7 { 40 } else { 1 } * VALUE_BYTES * 10;
            writes.put(Space(1), format!("{number:03}"), vec![b'v'; bytes]);
            engine.commit(writes).await.unwrap();
        }
        let (_, data) = engine.shared.tree.lock().clone().unwrap();
        let engine_dir = data.path().ancestors().nth(2).unwrap().to_path_buf();
        let path = super::super::list(&engine_dir).unwrap().remove(0);
        let bytes = std::fs::read(path).unwrap();
        let mut ends = Vec::new();
        let mut end = 0;
        while let Ok(next) = batch(&bytes, end) {
            end = next.end;
            ends.push((next.marker.unwrap().batch(), end));
        }
        assert!(COMMITS < ends.len() as u64);
        assert!(end < bytes.len(), "there are zeros behind the last batch");
        engine.close().await.unwrap();
        (bytes, ends)
    }

    fn until(last: Option<BatchId>) -> Until {
        Until {
            seqno: u64::MAX,
            run: None,
            last,
        }
    }

    #[tokio::test]
    async fn what_is_behind_the_last_batch_of_the_state_is_not_read() {
        let (bytes, ends) = journal().await;
        for (last, end) in ends.iter().rev().step_by(50) {
            let mut unread = bytes.as_slice();
            let older = older_than(&mut unread, &until(Some(*last))).unwrap();
            assert_eq!(older.bytes, &bytes[..*end]);
            assert!(older.has_last && !older.has_more && !older.is_damaged);
            let read = bytes.len() - unread.len();
            let batch_bytes = 60 * VALUE_BYTES * 10;
            assert!(read < end + PIECE_BYTES + batch_bytes, "{read} of {end}");
        }
    }

    #[tokio::test]
    async fn where_the_last_batch_is_unknown_or_elsewhere_all_is_read() {
        let (bytes, ends) = journal().await;
        let (known, end) = *ends.last().unwrap();
        let elsewhere = BatchId {
            number: known.number + 1,
            ..known
        };
        let of_another_run = BatchId {
            run: !known.run,
            ..known
        };
        for last in [None, Some(elsewhere), Some(of_another_run)] {
            let mut unread = bytes.as_slice();
            let older = older_than(&mut unread, &until(last)).unwrap();
            assert_eq!(older.bytes, &bytes[..end]);
            assert!(!older.has_last && !older.has_more && !older.is_damaged);
            assert!(unread.is_empty());
        }
    }

    /// Nothing in front of the last batch may be left out without a word.
    #[tokio::test]
    async fn damage_in_front_of_the_last_batch_is_told() {
        let (mut bytes, ends) = journal().await;
        let (last, _) = *ends.last().unwrap();
        let (_, before) = ends[ends.len() / 2];
        bytes[before + 40] ^= 1;
        let older = older_than(&mut bytes.as_slice(), &until(Some(last))).unwrap();
        assert_eq!(older.bytes, &bytes[..before]);
        assert!(!older.has_last && older.has_more && older.is_damaged);
    }
}
