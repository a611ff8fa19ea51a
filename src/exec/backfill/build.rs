//! One build: pages of the table from fresh snapshots, the entries of each page in one commit that
//! holds only if the rows are still as they were read.
//!
//! ```text
//!  a writer changes a row of the page     Conflict: the page is read again, smaller
//!  a writer takes a unique key first      Conflict or AlreadyExists: read again, and then a duplicate
//!  the server is killed                   the commit of each page says where the next one begins
//! ```
//!
//! The page behind the one that is being written is read at the same time, from a snapshot without
//! its entries. That is no harm: two rows with one unique value in two such pages are found by the
//! commit of the second, and a page that was not written takes the one behind it with it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::brake::{self, BRAKED_ROWS, Brake};
use super::progress::{Meter, Rows};
use super::record::Record;
use super::rows::{Made, Maker};
use super::{Backfill, Goal, Job, copy};
use crate::catalog::store::SYSTEM_SPACE;
use crate::catalog::{Index, IndexState, Table, TableId};
use crate::error::{Code, Error, Result};
use crate::index;
use crate::kv::page::successor;
use crate::kv::{self, CommitError, Key, KeyRange, Page, Scan, Snapshot, Space, WriteSet, expiry};
use crate::leisure;

/// Rows of a page. Each page is one commit, which waits for the disk once and writes its entries in
/// their order: the larger, the more of them are neighbours.
const PAGE_ROWS: usize = if cfg!(test) { 512 } else { 8192 };

/// Bytes of the rows of a page.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// A build that runs.
pub(super) struct Build<'a> {
    backfill: &'a Backfill,
    job: &'a Job,
    record: Record,
    meter: Meter,
    brake: Brake,
    page_rows: usize,
    /// Whether entries of a unique index are looked for before they are written: a writer has made
    /// some, or there is a duplicate. Until then the commit alone sees that there are none.
    is_careful: bool,
}

/// What came of the commit of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrote {
    Page,
    /// Nothing: a row was written meanwhile.
    Conflict,
    /// Nothing: there is an entry already.
    Exists,
}

/// What a build works on.
pub(super) struct Found {
    /// The definition of the table.
    pub(super) table: Arc<Table>,
    /// What of it is built.
    pub(super) piece: Piece,
}

/// What of a table is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// The index at a position.
    Index(usize),
    /// The shadow.
    Shadow,
}

/// The entries of a page, ready to be committed.
struct Prepared {
    writes: WriteSet,
    rows: usize,
    /// What the record says when they are.
    next: Record,
}

impl<'a> Build<'a> {
    /// The record of a build, which is made if there is none: a start goes on with it.
    pub(super) async fn record(backfill: &Backfill, job: &Job) -> Result<Record> {
        let engine = &backfill.engine;
        let key = Record::key(job.target.index);
        if let Some(stored) = engine.get_newest(SYSTEM_SPACE, &key).await? {
            return Record::decode(&stored);
        }
        let record = Record {
            on_failure: job.target.on_failure,
            position: Key::new(),
        };
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, key, record.encode());
        engine.commit(writes).await?;
        Ok(record)
    }

    /// A build that goes on where its record says.
    pub(super) async fn begin(
        backfill: &'a Backfill,
        job: &'a Job,
        record: Record,
    ) -> Result<Build<'a>> {
        let engine = &backfill.engine;
        let table = job.definition(backfill)?.table;
        let snapshot = engine.snapshot();
        let space = Space(table.id.0);
        let first = end_of(snapshot.as_ref(), space, false).await?;
        let last = end_of(snapshot.as_ref(), space, true).await?;
        let rest = KeyRange {
            start: record.position.clone(),
            until: None,
        };
        let rows = Rows {
            in_all: engine.estimate(space, &KeyRange::all()).rows,
            left: engine.estimate(space, &rest).rows,
        };
        let rows = engine.capabilities().estimates.then_some(rows);
        let meter = Meter::new((first, last), &record.position, rows);
        // A build that goes on meets the entries of writers.
        let is_careful = !record.position.is_empty();
        Ok(Build {
            backfill,
            job,
            record,
            meter,
            brake: Brake::new(Arc::clone(&backfill.traffic)),
            page_rows: PAGE_ROWS,
            is_careful,
        })
    }

    /// Builds to the end. While a page is written the next one is read, unless others wait.
    pub(super) async fn run(mut self) -> Result<()> {
        let mut began = Instant::now();
        let mut prepared = self.prepare(&self.record.position).await?;
        while let Some(page) = prepared.take() {
            let (rows, next) = (page.rows, page.next);
            let is_braked = self.brake.is_on();
            let committed;
            if is_braked {
                committed = self.commit(page.writes).await;
                tokio::time::sleep(brake::rest(began.elapsed())).await;
                began = Instant::now();
            } else {
                let following;
                (committed, following) =
                    tokio::join!(self.commit(page.writes), self.prepare(&next.position));
                prepared = following?;
            }
            match committed? {
                Wrote::Page => {
                    self.record = next;
                    self.page_rows = (self.page_rows * 2).min(PAGE_ROWS);
                    let shown = &self.job.progress;
                    self.meter.advance(rows, &self.record.position, shown);
                }
                Wrote::Exists if !self.is_careful => {
                    self.is_careful = true;
                    prepared = None;
                }
                Wrote::Conflict | Wrote::Exists => {
                    self.page_rows = (self.page_rows / 4).max(1);
                    prepared = None;
                }
            }
            if is_braked {
                self.page_rows = self.page_rows.min(BRAKED_ROWS);
            }
            self.job.cancel.check()?;
            self.log();
            if prepared.is_none() {
                prepared = self.prepare(&self.record.position).await?;
            }
        }
        let pulse = self.meter.now(&self.record.position);
        let built = match self.job.target.goal {
            Goal::Index => "index is built",
            Goal::Key => "table is filled under its new primary key",
        };
        tracing::info!(
            index = %self.job.name,
            rows = pulse.rows,
            rows_per_s = pulse.rows_per_s.round(),
            "{built}"
        );
        Ok(())
    }

    /// Reads the page at a position and makes its entries; `None` when there is no row.
    async fn prepare(&self, position: &Key) -> Result<Option<Prepared>> {
        let Found { table, piece } = self.job.definition(self.backfill)?;
        let engine = &self.backfill.engine;
        let snapshot = engine.snapshot();
        let range = KeyRange {
            start: position.clone(),
            until: None,
        };
        let mut scan = Scan::new(Space(table.id.0), range);
        scan.options.max_rows = self.page_rows;
        scan.options.max_bytes = PAGE_BYTES;
        let mut page = Page::default();
        if !scan.first_page(snapshot.as_ref(), &mut page).await? {
            expiry::rely(engine.as_ref(), snapshot.as_ref());
            return Ok(None);
        }
        let Some((last, _)) = page.get(page.len().wrapping_sub(1)) else {
            return Ok(None);
        };
        let next = Record {
            on_failure: self.record.on_failure,
            position: successor(last),
        };
        let mut writes = WriteSet::from_snapshot(snapshot.ts());
        let rows = match piece {
            Piece::Index(position) => {
                let with = (&table, position);
                self.put_index(with, (snapshot.as_ref(), page), &mut writes)
                    .await?
            }
            Piece::Shadow => {
                let with = (snapshot.as_ref(), self.is_careful);
                copy::put_rows(&table, page, (with, &mut writes)).await?
            }
        };
        // A page may have no entry, so that its commit alone would not tell.
        expiry::rely(engine.as_ref(), snapshot.as_ref());
        let record_key = Record::key(self.job.target.index);
        writes.put(SYSTEM_SPACE, record_key, next.encode());
        Ok(Some(Prepared { writes, rows, next }))
    }

    /// Puts the entries of a page; of how many rows.
    async fn put_index(
        &self,
        (table, index_position): (&Arc<Table>, usize),
        (snapshot, page): (&dyn Snapshot, Page),
        writes: &mut WriteSet,
    ) -> Result<usize> {
        // Some ten thousand rows are made into entries: not on a thread that serves clients.
        let gone = self.job.gone();
        let table = Arc::clone(table);
        let work = leisure::long_blocking(move || {
            let index = table.indexes.get(index_position).ok_or(gone)?;
            let made = Maker::new(&table, index)?.of_page(&page)?;
            Ok::<_, Error>((table, page, made))
        });
        let stopped = || Error::internal("making the entries of a page was stopped");
        let (table, page, made) = work.await.ok_or_else(stopped)??;
        let index = table.indexes.get(index_position);
        let maker = Maker::new(&table, index.ok_or_else(|| self.job.gone())?)?;
        let rows = made.len();
        let row_keys = page
            .iter()
            .map(|(key, _)| (maker.rows_space(), key.to_vec()));
        writes.must_be_unchanged.extend(row_keys);
        if maker.index.unique && self.is_careful {
            put_unique(&maker, made, (snapshot, &page), writes).await?;
        } else {
            put_entries(&maker, made, writes)?;
        }
        Ok(rows)
    }

    async fn commit(&self, writes: WriteSet) -> Result<Wrote> {
        match self.backfill.engine.commit(writes).await {
            Ok(_) => Ok(Wrote::Page),
            Err(CommitError::Conflict { .. }) => Ok(Wrote::Conflict),
            Err(CommitError::AlreadyExists { .. }) => Ok(Wrote::Exists),
            Err(error) => Err(error.into()),
        }
    }

    fn log(&mut self) {
        if let Some(pulse) = self.meter.pulse(&self.record.position) {
            tracing::info!(
                index = %self.job.name,
                percent = self.job.percent(),
                rows = pulse.rows,
                rows_per_s = pulse.rows_per_s.round(),
                eta_s = pulse.eta_s.round(),
                "{}",
                self.job.activity()
            );
        }
    }
}

/// Puts the entries of a page; those of a unique index must not be there yet.
///
/// # Errors
/// 1062 for two rows with the same values in a unique index.
pub(super) fn put_entries(
    maker: &Maker<'_>,
    made: Vec<Option<Made>>,
    writes: &mut WriteSet,
) -> Result<()> {
    let space = maker.entries_space();
    let made: Vec<Made> = made.into_iter().flatten().collect();
    if maker.index.unique {
        let mut seen = HashSet::with_capacity(made.len());
        let mut exclusive = made.iter().filter(|made| made.is_exclusive);
        if let Some(twice) = exclusive.find(|made| !seen.insert(&made.entry.key)) {
            return Err(maker.duplicate(&twice.entry.key));
        }
        let keys = made.iter().map(|made| (space, made.entry.key.clone()));
        writes.must_be_absent.extend(keys);
    }
    for Made { entry, .. } in made {
        writes.put(space, entry.key, entry.value);
    }
    Ok(())
}

/// Puts the entries of a page of a unique index that are not there yet.
///
/// # Errors
/// 1062 for two rows with the same values.
async fn put_unique(
    maker: &Maker<'_>,
    made: Vec<Option<Made>>,
    (snapshot, page): (&dyn Snapshot, &Page),
    writes: &mut WriteSet,
) -> Result<()> {
    let space = maker.entries_space();
    let with_rows = made.into_iter().zip(page.iter());
    let made = with_rows.filter_map(|(made, (row_key, _))| Some((made?, row_key)));
    let made: Vec<(Made, &[u8])> = made.collect();
    let keys: Vec<Key> = made
        .iter()
        .map(|(made, _)| made.entry.key.clone())
        .collect();
    let found = kv::multi_get_all(snapshot, space, &keys).await?;
    let mut seen = HashSet::with_capacity(keys.len());
    for ((made, row_key), found) in made.into_iter().zip(found) {
        let Made {
            entry,
            is_exclusive,
        } = made;
        if is_exclusive && !seen.insert(entry.key.clone()) {
            return Err(maker.duplicate(&entry.key));
        }
        match found {
            Some(value) if value.as_ref() == entry.value.as_slice() => continue,
            Some(value) => {
                let pair = (entry.key.as_slice(), value.as_ref());
                if index::primary_key(maker.table, maker.index, pair)? != row_key {
                    return Err(maker.duplicate(&entry.key));
                }
                writes.must_be_unchanged.push((space, entry.key.clone()));
            }
            // Of a row that has ended there may be an entry that nobody sees.
            None => writes.must_be_unchanged.push((space, entry.key.clone())),
        }
        writes.put(space, entry.key, entry.value);
    }
    Ok(())
}

/// The first or the last key of a space; empty when there is none.
async fn end_of(snapshot: &dyn Snapshot, space: Space, reverse: bool) -> Result<Key> {
    let mut scan = Scan::new(space, KeyRange::all());
    scan.options.max_rows = 1;
    scan.options.reverse = reverse;
    scan.options.keys_only = true;
    let mut page = Page::default();
    scan.first_page(snapshot, &mut page).await?;
    Ok(page.get(0).map(|(key, _)| key.to_vec()).unwrap_or_default())
}

impl Job {
    /// The definition of now, and what of it is built.
    ///
    /// # Errors
    /// 1412 when it is not being built any more.
    pub(super) fn definition(&self, backfill: &Backfill) -> Result<Found> {
        let target = &self.target;
        let definitions = backfill.catalog.current();
        if target.goal == Goal::Key {
            let table = definitions.rekeyed(TableId(target.index.0));
            return Ok(Found {
                table: Arc::clone(table.ok_or_else(|| self.gone())?),
                piece: Piece::Shadow,
            });
        }
        let is_ours =
            |index: &Index| index.id == target.index && index.state == IndexState::Building;
        let position_in = |table: &Arc<Table>| table.indexes.iter().position(is_ours);
        if let Ok(table) = definitions.table(&target.database, &target.table)
            && let Some(position) = position_in(table)
        {
            return Ok(Found {
                table: Arc::clone(table),
                piece: Piece::Index(position),
            });
        }
        // The table may have another name by now.
        let table = definitions.owner(target.index).ok_or_else(|| self.gone())?;
        let position = position_in(table).ok_or_else(|| self.gone())?;
        Ok(Found {
            table: Arc::clone(table),
            piece: Piece::Index(position),
        })
    }

    /// The error of a build whose index was dropped, or is new in a table that was emptied.
    pub(super) fn gone(&self) -> Error {
        let what = match self.target.goal {
            Goal::Index => "index",
            Goal::Key => "table",
        };
        let text = format!("{what} {} was changed while it was being built", self.name);
        Error::new(Code::TableDefinitionChanged, text)
    }
}
