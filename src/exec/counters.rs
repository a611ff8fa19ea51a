//! `AUTO_INCREMENT` ids that are counted one by one, from a durable counter per table.
//!
//! Ids are set aside in blocks: the record of a counter says below which number ids may have been
//! given, and it is committed before the first id at or above the old number is used. So no id is given
//! twice, whatever happens; after a crash the rest of a block is a gap, after an orderly stop
//! ([`Counters::settle`]) there is none. Rolled-back statements leave gaps, as in MySQL.
//!
//! All counters are in memory from the start on ([`Counters::load`]), so that SHOW can look without
//! waiting. Ids that are spread are [`super::ids`].

#![expect(
    clippy::little_endian_bytes,
    reason = "the record of a counter is written here; see codec/FORMAT.md, section 3"
)]

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::catalog::store::{SYSTEM_SPACE, pass_without_writes};
use crate::catalog::{Column, Table, TableId};
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::{Engine, KeyRange, Page, Scan, Space, WriteSet};
use crate::types::Value;

/// Ids that are set aside at a time: what a crash may waste, and how many INSERTs share one more
/// commit.
const BLOCK_IDS_MAX: u64 = 1024;

/// The part of a type's ids that one block may be: a crash wastes nothing of TINYINT.
const BLOCK_DIVISOR: u64 = 256;

/// Counters that are kept in memory whether their tables are there or not.
const SWEPT_COUNTERS_MIN: usize = 1024;

/// The version of the record.
const VERSION: u8 = 1;

/// The counted ids of a table.
#[derive(Debug, Clone, Copy)]
pub struct Sequence {
    table: TableId,
    /// The position of the column.
    pub column_idx: usize,
    first: u64,
    /// The last id that the column's type has.
    last: u64,
    unsigned: bool,
}

impl Sequence {
    /// That of a table, if it has one.
    pub fn of(table: &Table) -> Option<Sequence> {
        let (column_idx, first) = table.counted()?;
        Sequence::new(
            table.id,
            (column_idx, table.columns.get(column_idx)?),
            first,
        )
    }

    /// That of a column that an ALTER TABLE is about to count: no ids are taken from it yet, and those
    /// that are given must be passed.
    pub fn pledged(table: &Table) -> Option<Sequence> {
        let mut columns = table.columns.iter().enumerate();
        let (column_idx, column, first) = columns.find_map(|(idx, column)| {
            let pledged = column.pledged()?;
            Some((idx, pledged, pledged.counted_from?))
        })?;
        Sequence::new(table.id, (column_idx, column), first)
    }

    fn new(table: TableId, (column_idx, column): (usize, &Column), first: u64) -> Option<Sequence> {
        let (least, most) = column.ty.int_range()?;
        Some(Sequence {
            table,
            column_idx,
            first,
            // The number behind the last one is needed, too.
            last: u64::try_from(most).ok()?.min(u64::MAX - 1),
            unsigned: least == 0,
        })
    }

    /// An id as a value of the column.
    pub fn value(&self, id: u64) -> Value<'static> {
        if self.unsigned {
            Value::UInt(id)
        } else {
            Value::Int(i64::try_from(id).unwrap_or(i64::MAX))
        }
    }

    /// The number behind the last id.
    fn end(&self) -> u64 {
        self.last.saturating_add(1)
    }

    fn block(&self) -> u64 {
        (self.last / BLOCK_DIVISOR).min(BLOCK_IDS_MAX)
    }
}

/// Where a counter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    /// The next id to be given.
    next: u64,
    /// The first that is not set aside; at or below `next` when none is.
    until: u64,
}

#[derive(Debug)]
struct Counter {
    position: Mutex<Position>,
    /// Held by the one that sets ids aside.
    growing: tokio::sync::Mutex<()>,
    /// Whether it is written down; that of a temporary table is not.
    is_kept: bool,
    /// The table that counts on with it, when the primary key of its table has changed.
    heir: Mutex<Option<TableId>>,
}

impl Counter {
    fn at(next: u64) -> Arc<Counter> {
        Arc::new(Counter {
            position: Mutex::new(Position { next, until: next }),
            growing: tokio::sync::Mutex::default(),
            is_kept: true,
            heir: Mutex::default(),
        })
    }
}

/// The counters of all tables that have given ids.
#[derive(Debug, Default)]
pub struct Counters {
    all: RwLock<HashMap<TableId, Arc<Counter>>>,
}

impl Counters {
    /// Reads the counters of an engine, and deletes those whose table has no storage any more. To be
    /// called when the catalog has given back what belongs to no table.
    ///
    /// # Errors
    /// Those of the engine; 1712 for a record that cannot be read.
    pub async fn load(&self, engine: &dyn Engine) -> Result<()> {
        let live: HashSet<Space> = engine.spaces().live.into_iter().collect();
        let snapshot = engine.snapshot();
        let mut scan = Scan::new(SYSTEM_SPACE, KeyRange::all());
        let mut page = Page::default();
        let mut orphans = WriteSet::blind();
        loop {
            snapshot.scan(&scan, &mut page).await?;
            for (key, value) in page.iter() {
                let SystemKey::Counter(id) = SystemKey::decode(key)? else {
                    continue;
                };
                let table = TableId(id);
                if live.contains(&Space(id)) {
                    let counter = Counter::at(decode(value)?);
                    self.all.write().insert(table, counter);
                } else {
                    orphans.delete(SYSTEM_SPACE, key);
                }
            }
            if !scan.advance(&mut page) {
                break;
            }
        }
        if orphans.is_empty() {
            return Ok(());
        }
        let deleted = engine.commit(orphans).await;
        let deleted = deleted.map(drop).map_err(Error::from);
        pass_without_writes(engine, ("deleting counters of no table", deleted))
    }

    /// Writes down how far each counter is, so that the next start goes on there.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn settle(&self, engine: &dyn Engine) -> Result<()> {
        let mut writes = WriteSet::blind();
        for (table, counter) in self.all.read().iter() {
            let Position { next, until } = *counter.position.lock();
            if counter.is_kept && next < until {
                writes.put(SYSTEM_SPACE, key(*table), encode(next));
            }
        }
        if !writes.is_empty() {
            engine.commit(writes).await?;
        }
        Ok(())
    }

    /// The next id, for SHOW.
    pub fn next(&self, sequence: &Sequence) -> u64 {
        let all = self.all.read();
        let next = all
            .get(&sequence.table)
            .map(|counter| counter.position.lock().next);
        next.unwrap_or(sequence.first).max(sequence.first)
    }

    /// Counts for a table of which nothing is found after a crash: nothing is written.
    pub fn keep_in_memory(&self, sequence: &Sequence) {
        let mut all = self.all.write();
        all.entry(sequence.table).or_insert_with(|| {
            let position = Position {
                next: sequence.first,
                until: u64::MAX,
            };
            Arc::new(Counter {
                position: Mutex::new(position),
                growing: tokio::sync::Mutex::default(),
                is_kept: false,
                heir: Mutex::default(),
            })
        });
    }

    /// Writes down where a counter is that was begun anew, in the place of what another one of the same
    /// table has left.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn write_down(&self, engine: &dyn Engine, sequence: &Sequence) -> Result<()> {
        let counter = self.counter(sequence);
        let _one_at_a_time = counter.growing.lock().await;
        let Position { next, until } = *counter.position.lock();
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, key(sequence.table), encode(next.max(until)));
        engine.commit(writes).await?;
        Ok(())
    }

    /// Forgets the counters of tables that count no more. Of tables that are no more nothing is written.
    pub fn forget(&self, tables: &[TableId]) {
        let mut all = self.all.write();
        for table in tables {
            all.remove(table);
        }
    }

    /// Forgets the counters of tables without storage, when there may be many.
    pub fn sweep(&self, engine: &dyn Engine) {
        self.sweep_all_but(|| engine.spaces().live);
    }

    /// `live` is asked while nobody can add a counter: one of a table that was made since would not be
    /// among the living, and count from the beginning once more.
    fn sweep_all_but(&self, live: impl FnOnce() -> Vec<Space>) {
        if self.all.read().len() < SWEPT_COUNTERS_MIN {
            return;
        }
        let mut all = self.all.write();
        let live: HashSet<Space> = live().into_iter().collect();
        if 2 * live.len() < all.len() {
            all.retain(|table, _| live.contains(&Space(table.0)));
        }
    }

    /// So many ids in a row, all behind `passed`.
    ///
    /// # Errors
    /// 1467 when the type has not so many; those of the engine.
    pub async fn take(
        &self,
        engine: &dyn Engine,
        sequence: &Sequence,
        (wanted, passed): (u64, u64),
    ) -> Result<Range<u64>> {
        let counter = self.counter(sequence);
        loop {
            let end = {
                let mut position = counter.position.lock();
                // ALTER TABLE … AUTO_INCREMENT = n raises the first.
                let least = passed.saturating_add(1).max(sequence.first);
                let start = position.next.max(least);
                let end = start.checked_add(wanted);
                let Some(end) = end.filter(|end| *end <= sequence.end()) else {
                    let text = "Failed to read auto-increment value from storage engine";
                    return Err(Error::new(Code::AutoIncrementEnd, text));
                };
                if end <= position.until {
                    position.next = end;
                    return Ok(start..end);
                }
                end
            };
            set_aside(&counter, engine, (sequence, end)).await?;
        }
    }

    /// Ids up to this one are taken: by a statement that gave them itself.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn pass(&self, engine: &dyn Engine, sequence: &Sequence, given: u64) -> Result<()> {
        if given < sequence.first {
            return Ok(());
        }
        let counter = self.counter(sequence);
        let end = {
            let mut position = counter.position.lock();
            position.next = position.next.max(given.saturating_add(1));
            if position.next <= position.until {
                return Ok(());
            }
            position.next
        };
        set_aside(&counter, engine, (sequence, end)).await
    }

    /// Lets another table count on where this one is. Until the one has taken the other's place both
    /// may count, and no id is given twice.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn inherit(
        &self,
        engine: &dyn Engine,
        (sequence, heir): (&Sequence, TableId),
    ) -> Result<()> {
        let counter = self.counter(sequence);
        let _one_at_a_time = counter.growing.lock().await;
        let Position { next, until } = *counter.position.lock();
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, key(heir), encode(next.max(until)));
        engine.commit(writes).await?;
        *counter.heir.lock() = Some(heir);
        self.all.write().insert(heir, Arc::clone(&counter));
        Ok(())
    }

    fn counter(&self, sequence: &Sequence) -> Arc<Counter> {
        if let Some(counter) = self.all.read().get(&sequence.table) {
            return Arc::clone(counter);
        }
        let mut all = self.all.write();
        let counter = all
            .entry(sequence.table)
            .or_insert_with(|| Counter::at(sequence.first));
        Arc::clone(counter)
    }
}

/// Sets the ids below `end` aside, and a block.
async fn set_aside(
    counter: &Counter,
    engine: &dyn Engine,
    (sequence, end): (&Sequence, u64),
) -> Result<()> {
    let _one_at_a_time = counter.growing.lock().await;
    let Position { next, until } = *counter.position.lock();
    let needed = next.max(end);
    if needed <= until {
        return Ok(());
    }
    // A full type needs no more than the number behind its last id.
    let most = sequence.end().max(needed);
    let until = needed.saturating_add(sequence.block()).min(most);
    let mut writes = WriteSet::blind();
    writes.put(SYSTEM_SPACE, key(sequence.table), encode(until));
    let heir = *counter.heir.lock();
    if let Some(heir) = heir.filter(|heir| *heir != sequence.table) {
        writes.put(SYSTEM_SPACE, key(heir), encode(until));
    }
    engine.commit(writes).await?;
    let mut position = counter.position.lock();
    position.until = position.until.max(until);
    Ok(())
}

fn key(table: TableId) -> Vec<u8> {
    SystemKey::Counter(table.0).encode()
}

fn encode(until: u64) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&until.to_le_bytes());
    bytes
}

/// # Errors
/// 1712 for bytes that [`encode`] does not make.
fn decode(bytes: &[u8]) -> Result<u64> {
    let number = match bytes {
        [VERSION, number @ ..] => number.try_into().ok().map(u64::from_le_bytes),
        _ => None,
    };
    number.ok_or_else(|| {
        let text = "the record of an AUTO_INCREMENT counter is damaged";
        Error::new(Code::StorageCorrupt, text)
    })
}

#[cfg(test)]
mod tests;
