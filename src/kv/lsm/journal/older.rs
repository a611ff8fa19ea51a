//! Which part of a journal belongs to a state: for a backup, while the journal is written to.
//!
//! A new journal of the library is 64 MiB of zeros. To read them takes longer than all else of a backup of
//! links. So where the last batch of the state is known, and found, nothing is read behind it.

use std::io::{self, Read};

use super::{Marker, ZEROS, batch, follows, is_zeros, next_batch};
use crate::leisure;

/// Bytes that are read in one turn.
const PIECE_BYTES: u64 = 64 << 10;

/// Which batch of which run: see [`Marker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kv::lsm) struct BatchId {
    pub(super) run: u64,
    pub(super) number: u64,
}

/// What a state has of the journals.
#[derive(Debug, Clone, Copy)]
pub(in crate::kv::lsm) struct Until {
    /// Its batches have lesser sequence numbers than this.
    pub(in crate::kv::lsm) seqno: u64,
    /// The run that may be writing to them.
    pub(in crate::kv::lsm) run: Option<u64>,
    /// Its last batch, if it was written in this run; the journal that had it may be gone.
    pub(in crate::kv::lsm) last: Option<BatchId>,
}

/// The batches of a journal that belong to a state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::kv::lsm) struct Older {
    /// What is to be copied.
    pub(in crate::kv::lsm) bytes: Vec<u8>,
    /// Whether there are some of the run of the state's last batch.
    pub(in crate::kv::lsm) has_run: bool,
    /// Whether that batch is there: behind it nothing belongs to the state, and nothing was looked at.
    pub(in crate::kv::lsm) has_last: bool,
    /// What is behind them, as far as it was looked at.
    pub(in crate::kv::lsm) behind: Behind,
}

/// What is behind the batches of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::kv::lsm) enum Behind {
    /// Nothing, or zeros.
    #[default]
    Nothing,
    /// What does not belong to the state, or is damaged.
    Other,
    /// … and behind that a batch of the run that belongs to the state: it is damaged.
    Older,
}

/// All but the zeros that a journal is made of before it is written to, which are most of it.
fn without_zeros(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_suffix(&ZEROS) {
        bytes = rest;
    }
    bytes
}

/// Reads on; false when nothing was left. As much as there is behind `end`, where no whole batch begins, is read once
/// more, so that what is there is not looked at often.
fn read_on(journal: &mut impl Read, (bytes, end): (&mut Vec<u8>, usize)) -> io::Result<bool> {
    let before = bytes.len();
    let enough = bytes.len().saturating_mul(2).saturating_sub(end);
    loop {
        let mut piece = journal.take(PIECE_BYTES);
        let count = piece.read_to_end(bytes)?;
        leisure::end_turn();
        if count == 0 || enough <= bytes.len() {
            return Ok(before < bytes.len());
        }
    }
}

/// Reads the batches of a journal that belong to a state.
///
/// # Errors
///
/// Those of reading.
pub(in crate::kv::lsm) fn older_than(journal: &mut impl Read, until: &Until) -> io::Result<Older> {
    let mut bytes = Vec::new();
    let mut older = Older::default();
    let (mut end, mut last) = (0, None);
    let stop = loop {
        match batch(&bytes, end) {
            Ok(next) if next.seqno < until.seqno && follows(next, last) => {
                end = next.end;
                last = Some(next);
                older.note(next.marker.map(Marker::batch), until);
                if older.has_last {
                    bytes.truncate(end);
                    return Ok(Older { bytes, ..older });
                }
            }
            stop => {
                if !read_on(journal, (&mut bytes, end))? {
                    break stop;
                }
            }
        }
    };
    let written = without_zeros(&bytes);
    if !is_zeros(written.get(end..).unwrap_or_default()) {
        older.behind = Behind::Other;
    }
    // A number that is too large may itself be damage.
    let mut at = match stop {
        Ok(newer) => newer.end,
        Err(damage) => damage.resume,
    };
    while older.behind == Behind::Other
        && let Some(found) = next_batch((written, at), until.run)
    {
        if found.seqno < until.seqno {
            older.behind = Behind::Older;
        }
        at = found.end;
    }
    bytes.truncate(end);
    Ok(Older { bytes, ..older })
}

impl Older {
    fn note(&mut self, batch: Option<BatchId>, until: &Until) {
        let (Some(batch), Some(last)) = (batch, until.last) else {
            return;
        };
        self.has_run |= batch.run == last.run;
        self.has_last |= batch == last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine, Space, WriteSet};

    const COMMITS: u64 = 300;
    const VALUE_BYTES: usize = 10_000;
    /// Many pieces.
    const LARGE_BYTES: usize = 400_000;

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
            let bytes = if number == 7 {
                LARGE_BYTES
            } else {
                VALUE_BYTES
            };
            // Bytes that do not compress.
            let value: Vec<u8> = (0..bytes).map(|_| rand::random()).collect();
            writes.put(Space(1), format!("{number:03}"), value);
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
        assert!(usize::try_from(COMMITS).unwrap() * VALUE_BYTES < end);
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
            assert_eq!((older.has_last, older.behind), (true, Behind::Nothing));
            let read = bytes.len() - unread.len();
            assert!(read < end + 2 * LARGE_BYTES, "{read} of {end}");
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
            let is_of_run = last.is_some_and(|last| last.run == known.run);
            assert_eq!((older.has_run, older.has_last), (is_of_run, false));
            assert_eq!(older.behind, Behind::Nothing);
            assert!(unread.is_empty());
        }
    }

    /// Mechanism: where the end of the file came in the midst of a large batch, what had been read of it was not
    /// looked at again. A backup was refused for damage that was none.
    #[tokio::test]
    async fn a_journal_that_ends_with_a_batch_is_read_whole() {
        let (bytes, ends) = journal().await;
        for (last, end) in &ends {
            let sealed = &bytes[..*end];
            for last in [None, Some(*last)] {
                let older = older_than(&mut &*sealed, &until(last)).unwrap();
                assert!(older.bytes == sealed, "{end}");
                assert_eq!(older.has_last, last.is_some());
                assert_eq!(older.behind, Behind::Nothing);
            }
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
        assert_eq!((older.has_last, older.behind), (false, Behind::Older));
    }
}
