//! Dropped spaces of which nothing is left. When the engine opens, their records in the registry are put
//! together to ranges of ids: what stays of a space that comes and goes is that its id was used.

#![expect(
    clippy::big_endian_bytes,
    reason = "the record of the ranges is written here; its key is in `spaces`"
)]

use fjall::{Database, Keyspace, PersistMode, Readable};

use super::fault;
use super::id_ranges::IdRanges;
use super::spaces::{self, Registry, SpaceSet};
use crate::kv::{Error, KeyRange, Result, Space};

/// Records that are taken back in one batch.
const BATCH_RECORDS: usize = 10_000;

/// Ids that were used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Gone(IdRanges);

impl Gone {
    pub(super) fn contains(&self, space: Space) -> bool {
        self.0.contains(space)
    }

    fn add(&mut self, spaces: &[Space]) {
        for space in spaces {
            self.0.insert(*space);
        }
    }

    fn encode(&self) -> Vec<u8> {
        let ids = self.0.iter().flat_map(|(from, to)| [from, to]);
        ids.flat_map(u32::to_be_bytes).collect()
    }

    /// # Errors
    ///
    /// [`Error::Corrupt`] when these are not ranges.
    fn decode(bytes: &[u8]) -> Result<Gone> {
        let (ids, rest) = bytes.as_chunks::<4>();
        let ids: Vec<u32> = ids.iter().map(|id| u32::from_be_bytes(*id)).collect();
        let (pairs, odd) = ids.as_chunks::<2>();
        if !rest.is_empty() || !odd.is_empty() || !ids.is_sorted() {
            return Err(Error::Corrupt {
                what: "the record of used spaces".to_owned(),
            });
        }
        let mut ranges = IdRanges::default();
        for [from, to] in pairs {
            ranges.insert_range((*from, *to));
        }
        Ok(Gone(ranges))
    }
}

/// Reads the ranges.
///
/// # Errors
///
/// [`Error::Corrupt`], [`Error::Io`].
pub(super) fn read(db: &Database, data: &Keyspace) -> Result<Gone> {
    let stored = db.snapshot().get(data, spaces::GONE_KEY);
    let stored = stored.map_err(|cause| fault::error("reading the spaces", &cause))?;
    stored.map_or(Ok(Gone::default()), |stored| Gone::decode(&stored))
}

/// Takes the records of dropped spaces without keys out of the registry. Each batch is synced before
/// the next is written, as the journal has it that carry no marker.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn forget_empty(db: &Database, data: &Keyspace, registry: &mut Registry) -> Result<()> {
    let empty = empty_spaces(db, data, registry)?;
    let failed = |cause: fjall::Error| fault::error("writing the spaces", &cause);
    // In ascending order, and the ranges first: a crash in between leaves records that say the same.
    let mut gone = registry.gone.clone();
    gone.add(&empty);
    if gone != registry.gone {
        let mut batch = db.batch().durability(Some(PersistMode::SyncData));
        batch.insert(data, spaces::GONE_KEY, gone.encode());
        batch.commit().map_err(failed)?;
    }
    for some in empty.chunks(BATCH_RECORDS) {
        let mut batch = db.batch().durability(Some(PersistMode::SyncData));
        for space in some {
            let (key, _) = spaces::dead_record(*space);
            batch.remove(data, key);
            registry.dead.remove(space);
        }
        batch.commit().map_err(failed)?;
    }
    registry.gone = gone;
    Ok(())
}

/// The dropped spaces without keys, but the one with the greatest id: the next one is behind it. Looks
/// once for each space that has keys, not for each that is dropped.
fn empty_spaces(db: &Database, data: &Keyspace, registry: &Registry) -> Result<Vec<Space>> {
    let next = registry.set.spaces().next.0;
    let is_last = |space: &Space| space.0.checked_add(1).is_none_or(|behind| behind == next);
    let dead = registry.dead.iter().copied();
    let mut dead: Vec<Space> = dead.filter(|space| !is_last(space)).collect();
    dead.sort_unstable();
    let snapshot = db.snapshot();
    let mut empty = Vec::new();
    let mut rest = dead.as_slice();
    while let Some(first) = rest.first() {
        let (start, _) = spaces::physical_range(*first, &KeyRange::all());
        let found = snapshot.range(data, start..).next();
        let found = found.map(fjall::Guard::key).transpose();
        let found = found.map_err(|cause| fault::error("reading the spaces", &cause))?;
        let Some(space) = found.and_then(|key| spaces::space_of(&key)) else {
            empty.extend_from_slice(rest);
            break;
        };
        let (without, others) = rest.split_at(rest.partition_point(|dead| *dead < space));
        empty.extend_from_slice(without);
        rest = match others.split_first() {
            Some((same, behind)) if *same == space => behind,
            _ => others,
        };
    }
    Ok(empty)
}

/// What the registry says: the spaces there are, those that were dropped, and the ids of those of which
/// nothing is left.
///
/// # Errors
///
/// Those of the disk, and [`Error::Corrupt`].
pub(super) fn read_registry(db: &Database, data: &Keyspace) -> Result<Registry> {
    let failed = |cause: fjall::Error| fault::error("reading the spaces", &cause);
    let (start, until) = spaces::registry_range();
    let swept = db.snapshot().get(data, spaces::SWEPT_KEY).map_err(failed)?;
    let mut registry = Registry {
        gone: read(db, data)?,
        swept_ms: swept.map_or(Ok(0), |stored| spaces::read_swept(&stored))?,
        ..Registry::default()
    };
    let mut records = Vec::new();
    for record in db.snapshot().range(data, start..until) {
        let (key, value) = record.into_inner().map_err(failed)?;
        registry.read((&key, &value), &mut records)?;
    }
    registry.set = SpaceSet::of(records, &registry.dead);
    Ok(registry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_come_back() {
        let mut gone = Gone::default();
        gone.add(&[3, 4, 9, u32::MAX].map(Space));
        gone.add(&[1, 5, 8].map(Space));
        for (id, is_in) in [(0, false), (1, true), (2, false), (5, true), (6, false)] {
            assert_eq!(gone.contains(Space(id)), is_in, "{id}");
        }
        assert_eq!(Gone::decode(&gone.encode()), Ok(gone));
        for bytes in [&[0][..], &[0; 4], &[0, 0, 0, 2, 0, 0, 0, 1]] {
            assert!(Gone::decode(bytes).is_err());
        }
    }
}
