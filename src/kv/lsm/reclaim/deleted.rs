//! What deleted rows have in files: where there is little room on the disk it is given back as soon as nobody reads
//! the rows any more, and not when compactions come by. Else who deletes rows to make room would not get any.

use std::sync::Weak;

use fjall::{AbstractTree, Keyspace, Readable};
use tokio::sync::oneshot;

use super::{GIVEN_BYTES_MIN, REWRITTEN_BYTES_MAX, check_writes, flush, rewrite};
use crate::kv::lsm::queue::Request;
use crate::kv::lsm::snapshot::Base;
use crate::kv::lsm::{Shared, damage, fault};
use crate::kv::{Result, Ts};

/// What is known of deleted rows in files.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    /// Deleted keys in files that were found not worth it, or too much for the room.
    left: u64,
    /// Bytes that stay, where there was too little room for them.
    lacks: Option<u64>,
}

impl Deleted {
    /// Where there is little room: rewrites the files without what was deleted. Asks for the room that what stays takes,
    /// and for what flushes need; nothing is put meanwhile.
    pub(super) fn give_back(&mut self, (shared, data): (&Weak<Shared>, &Keyspace)) -> Result<()> {
        let Some(engine) = shared.upgrade() else {
            return Ok(());
        };
        let is_asked = engine.check_room(0).is_err() && data.disk_space() <= REWRITTEN_BYTES_MAX;
        if !is_asked || engine.check_compaction(0).is_err() {
            return Ok(());
        }
        check_writes(shared)?;
        let Some(base) = engine.base.read().clone() else {
            return Ok(());
        };
        if !is_read_by_nobody_before(base.ts, &engine) {
            return Ok(());
        }
        // Of what is in memory nothing is known.
        flush(shared, data)?;
        let count = data.tree.tombstone_count();
        let fits_now = self
            .lacks
            .is_some_and(|kept| engine.check_compaction(kept).is_ok());
        if count <= self.left && !fits_now {
            return Ok(());
        }
        *self = Deleted {
            left: count,
            lacks: None,
        };
        let (files, kept) = (data.disk_space(), kept_bytes(&engine, &base)?);
        // It would be one who reads it.
        drop(base);
        if files < kept.saturating_add(GIVEN_BYTES_MIN) {
            return Ok(());
        }
        if let Err(cause) = engine.check_compaction(kept) {
            tracing::warn!(%cause, "the room of deleted rows is given back when there is some for what is kept");
            self.lacks = Some(kept);
            return Ok(());
        }
        drop(engine);
        tracing::info!(
            files,
            kept,
            "there is little room: files are rewritten without deleted rows"
        );
        rewrite(shared, data)?;
        self.left = data.tree.tombstone_count();
        Ok(())
    }
}

/// Whether there is no snapshot before `ts`: compactions keep what one may read, and no room was asked for that.
fn is_read_by_nobody_before(ts: Ts, shared: &Shared) -> bool {
    let (sender, answer) = oneshot::channel();
    if shared.queue.push(Request::LetGo(sender)).is_err() {
        return false;
    }
    matches!(answer.blocking_recv(), Ok(Ok(oldest)) if ts <= oldest)
}

/// The bytes of all keys and values that a state has, without those of dropped spaces. On the disk they may be less:
/// files are packed.
fn kept_bytes(shared: &Shared, base: &Base) -> Result<u64> {
    let mut kept = 0_u64;
    for item in base.snapshot.iter(&base.data) {
        let (key, value) = item.into_inner().map_err(|cause| {
            let cause = fault::error("reading what compactions keep", &cause);
            damage::in_compaction(&shared.engine_dir, cause)
        })?;
        let is_dead = |space| shared.dead.contains(space);
        if !super::spaces::space_of(&key).is_some_and(is_dead) {
            let bytes = u64::try_from(key.len() + value.len()).unwrap_or(u64::MAX);
            kept = kept.saturating_add(bytes);
        }
    }
    Ok(kept)
}
