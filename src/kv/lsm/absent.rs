//! What a commit wants to be absent, looked up before it waits in line.

use std::sync::Arc;

use super::snapshot::Base;
use crate::kv::{CommitError, Error, Key, Result, Space, Ts, WriteSet};
use crate::leisure;

/// Keys of `must_be_absent` that are looked up on the caller's thread.
const NOW_ABSENT_MAX: usize = 256;

/// Keys of a space from which on it is looked first whether there is anything at all between them: that takes about as
/// long as to look for some of them one by one.
const STRETCH_KEYS_MIN: usize = 16;

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
    let vacant = vacant(base, keys)?;
    for (space, key) in keys {
        if !vacant.contains(space) && base.contains(*space, key)? {
            return Ok(Some((*space, key.clone())));
        }
    }
    Ok(None)
}

/// The spaces in which nothing lies from the least of these keys to the greatest: rows that are put in behind all
/// others, as those of a counted id or of a load in key order, need one look instead of one each.
fn vacant(base: &Base, keys: &[(Space, Key)]) -> Result<Vec<Space>> {
    let mut vacant = Vec::new();
    if keys.len() < STRETCH_KEYS_MIN {
        return Ok(vacant);
    }
    for stretch in stretches(keys) {
        if STRETCH_KEYS_MIN <= stretch.keys_count && base.is_vacant(&stretch)? {
            vacant.push(stretch.space);
        }
    }
    Ok(vacant)
}

/// Where keys of one space lie.
pub(super) struct Stretch<'k> {
    pub(super) space: Space,
    pub(super) least: &'k Key,
    pub(super) greatest: &'k Key,
    keys_count: usize,
}

/// Where the keys of each space lie; a table has few indexes.
fn stretches(keys: &[(Space, Key)]) -> Vec<Stretch<'_>> {
    let mut stretches: Vec<Stretch<'_>> = Vec::new();
    for (space, key) in keys {
        match stretches.iter_mut().find(|found| found.space == *space) {
            Some(found) => {
                found.least = found.least.min(key);
                found.greatest = found.greatest.max(key);
                found.keys_count += 1;
            }
            None => stretches.push(Stretch {
                space: *space,
                least: key,
                greatest: key,
                keys_count: 1,
            }),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::rngs::StdRng;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;
    use crate::kv::Engine;
    use crate::kv::lsm::{Durability, Lsm, Options};

    const SPACES: [Space; 2] = [Space(1), Space(2)];

    /// Keys side by side behind most others, or from everywhere; of one space, or of both by turns.
    fn wanted(rng: &mut StdRng, round: u16) -> Vec<(Space, Key)> {
        let count = rng.random_range(1..40_u16);
        let (is_behind, both): (bool, bool) = (rng.random(), rng.random());
        let mut keys: Vec<(Space, Key)> = (0..count)
            .map(|at| {
                let number = if is_behind {
                    round.saturating_mul(40) + at
                } else {
                    rng.random_range(0..20_000)
                };
                let space = SPACES[usize::from(at % 2) * usize::from(both)];
                (space, format!("{number:05}").into_bytes())
            })
            .collect();
        keys.sort();
        keys.dedup();
        if rng.random() {
            keys.reverse();
        }
        keys
    }

    /// Property: what must be absent is looked up key by key or all at once, and is refused where one of it is there,
    /// in the memtable or in files.
    #[tokio::test]
    async fn what_is_there_is_found_among_many() {
        let seed: u64 = rand::random();
        println!("seed {seed}");
        let mut rng = StdRng::seed_from_u64(seed);
        let dir = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&Options {
            memtable_bytes: 64 << 10,
            durability: Durability::Async,
            ..Options::new(dir.path())
        })
        .unwrap();
        for space in SPACES {
            engine.create_space(space).await.unwrap();
        }
        let mut there = BTreeSet::new();
        let (mut refused_count, mut taken_count) = (0, 0);
        for round in 0..400 {
            let wanted = wanted(&mut rng, round);
            let mut writes = WriteSet::blind();
            for (space, key) in &wanted {
                writes.put(*space, key.clone(), vec![b'v'; 200]);
            }
            writes.must_be_absent.clone_from(&wanted);
            let present = wanted.iter().find(|place| there.contains(*place));
            match (engine.commit(writes).await, present) {
                (Ok(_), None) => {
                    there.extend(wanted);
                    taken_count += 1;
                }
                (Err(CommitError::AlreadyExists { space, key }), Some(present)) => {
                    assert_eq!((space, key), *present, "seed {seed}, round {round}");
                    refused_count += 1;
                }
                (answer, present) => {
                    panic!("seed {seed}, round {round}: {answer:?} with {present:?}")
                }
            }
        }
        assert!(50 < refused_count && 50 < taken_count);
        engine.close().await.unwrap();
    }
}
