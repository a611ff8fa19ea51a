//! What a commit wants to be absent, looked up before it waits in line.

use std::sync::Arc;

use super::snapshot::Base;
use crate::kv::{CommitError, Error, Key, Result, Space, Ts, WriteSet};
use crate::leisure;

/// Keys of `must_be_absent` that are looked up on the caller's thread.
const NOW_ABSENT_MAX: usize = 256;

/// Looks up what must be absent, before the line and beside the committer. What is absent now and
/// not written until the commit's turn is absent then.
pub(super) async fn look_for(
    base: Arc<Base>,
    writes: WriteSet,
) -> std::result::Result<(WriteSet, Option<Ts>), CommitError> {
    let ts = base.ts;
    let is_large = NOW_ABSENT_MAX < writes.must_be_absent.len();
    let look = move || {
        let present = first_present(&base, &writes.must_be_absent);
        (writes, present)
    };
    let (writes, present) = if is_large {
        let looked = leisure::blocking(look).await;
        looked.ok_or(CommitError::Failed(Error::Closed))?
    } else {
        look()
    };
    match present? {
        None => Ok((writes, Some(ts))),
        Some((space, key)) if writes.must_be_unchanged.is_empty() => {
            Err(CommitError::AlreadyExists { space, key })
        }
        // A conflict is told before a duplicate, and only the committer knows conflicts.
        Some(_) => Ok((writes, None)),
    }
}

fn first_present(base: &Base, keys: &[(Space, Key)]) -> Result<Option<(Space, Key)>> {
    for (space, key) in keys {
        if base.contains(*space, key)? {
            return Ok(Some((*space, key.clone())));
        }
    }
    Ok(None)
}
