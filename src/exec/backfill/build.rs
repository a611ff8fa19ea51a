//! One build: pages of the table from fresh snapshots, the entries of each page in one commit that
//! holds only if the rows are still as they were read.
//!
//! ```text
//!  a writer changes a row of the page     Conflict: the page is read again, smaller
//!  a writer takes a unique key first      Conflict or AlreadyExists: read again, and then a duplicate
//!  the server is killed                   the commit of each page says where the next one begins
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use super::progress::Meter;
use super::record::Record;
use super::rows::{Made, Maker};
use super::{Backfill, Job};
use crate::catalog::store::SYSTEM_SPACE;
use crate::catalog::{Index, IndexState, Table};
use crate::error::{Code, Error, Result};
use crate::index;
use crate::kv::page::successor;
use crate::kv::{CommitError, Key, KeyRange, Page, Scan, Snapshot, Space, WriteSet};

/// Rows of a page. Each page is one commit and waits for the disk once; its entries are made
/// between two yields.
const PAGE_ROWS: usize = 2048;

/// Bytes of the rows of a page.
const PAGE_BYTES: usize = 2 << 20;

/// A build that runs.
pub(super) struct Build<'a> {
    backfill: &'a Backfill,
    job: &'a Job,
    record: Record,
    meter: Meter,
    page_rows: usize,
    page: Page,
}

impl<'a> Build<'a> {
    /// A build that goes on where its record says.
    pub(super) async fn begin(backfill: &'a Backfill, job: &'a Job) -> Result<Build<'a>> {
        let engine = &backfill.engine;
        let key = Record::key(job.target.index);
        let record = if let Some(stored) = engine.get_newest(SYSTEM_SPACE, &key).await? {
            Record::decode(&stored)?
        } else {
            let record = Record {
                on_failure: job.target.on_failure,
                position: Key::new(),
            };
            let mut writes = WriteSet::blind();
            writes.put(SYSTEM_SPACE, key, record.encode());
            engine.commit(writes).await?;
            record
        };
        let (table, _) = job.definition(backfill)?;
        let snapshot = engine.snapshot();
        let space = Space(table.id.0);
        let first = end_of(snapshot.as_ref(), space, false).await?;
        let last = end_of(snapshot.as_ref(), space, true).await?;
        let meter = Meter::new(first, last, &record.position);
        Ok(Build {
            backfill,
            job,
            record,
            meter,
            page_rows: PAGE_ROWS,
            page: Page::default(),
        })
    }

    /// Builds to the end.
    pub(super) async fn run(mut self) -> Result<()> {
        while self.step().await? {
            self.job.cancel.check()?;
            self.log();
            tokio::task::yield_now().await;
        }
        let pulse = self.meter.now(&self.record.position);
        tracing::info!(
            index = %self.job.name,
            rows = pulse.rows,
            rows_per_s = pulse.rows_per_s.round(),
            "index is built"
        );
        Ok(())
    }

    /// One page; `false` when there is none.
    async fn step(&mut self) -> Result<bool> {
        let (table, position) = self.job.definition(self.backfill)?;
        let index = table.indexes.get(position).ok_or_else(|| self.job.gone())?;
        let maker = Maker::new(&table, index)?;
        let snapshot = self.backfill.engine.snapshot();
        let mut scan = Scan::new(
            maker.rows_space(),
            KeyRange {
                start: self.record.position.clone(),
                until: None,
            },
        );
        scan.options.max_rows = self.page_rows;
        scan.options.max_bytes = PAGE_BYTES;
        snapshot.scan(&scan, &mut self.page).await?;
        let Some((last, _)) = self.page.get(self.page.len().wrapping_sub(1)) else {
            return Ok(false);
        };
        let next = Record {
            on_failure: self.record.on_failure,
            position: successor(last),
        };
        let made = maker.of_page(&self.page)?;
        let rows = made.len();
        let mut writes = WriteSet::from_snapshot(snapshot.ts());
        for (key, _) in self.page.iter() {
            writes
                .must_be_unchanged
                .push((maker.rows_space(), key.to_vec()));
        }
        put_entries(&maker, made, (snapshot.as_ref(), &self.page), &mut writes).await?;
        let record_key = Record::key(self.job.target.index);
        writes.put(SYSTEM_SPACE, record_key, next.encode());
        match self.backfill.engine.commit(writes).await {
            Ok(_) => {
                self.record = next;
                self.page_rows = (self.page_rows * 2).min(PAGE_ROWS);
                let shown = &self.job.progress;
                self.meter.advance(rows, &self.record.position, shown);
            }
            Err(CommitError::Conflict { .. } | CommitError::AlreadyExists { .. }) => {
                self.page_rows = (self.page_rows / 4).max(1);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    fn log(&mut self) {
        if let Some(pulse) = self.meter.pulse(&self.record.position) {
            tracing::info!(
                index = %self.job.name,
                percent = self.job.percent(),
                rows = pulse.rows,
                rows_per_s = pulse.rows_per_s.round(),
                eta_s = pulse.eta_s.round(),
                "building index"
            );
        }
    }
}

/// Puts the entries of a page that are not there yet.
///
/// # Errors
/// 1062 for two rows with the same values in a unique index.
async fn put_entries(
    maker: &Maker<'_>,
    made: Vec<Option<Made>>,
    (snapshot, page): (&dyn Snapshot, &Page),
    writes: &mut WriteSet,
) -> Result<()> {
    let space = maker.entries_space();
    if !maker.index.unique {
        for Made { entry, .. } in made.into_iter().flatten() {
            writes.put(space, entry.key, entry.value);
        }
        return Ok(());
    }
    let with_rows = made.into_iter().zip(page.iter());
    let made = with_rows.filter_map(|(made, (row_key, _))| Some((made?, row_key)));
    let made: Vec<(Made, &[u8])> = made.collect();
    let keys: Vec<Key> = made
        .iter()
        .map(|(made, _)| made.entry.key.clone())
        .collect();
    let found = snapshot.multi_get(space, &keys).await?;
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
            None => writes.must_be_absent.push((space, entry.key.clone())),
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
    snapshot.scan(&scan, &mut page).await?;
    Ok(page.get(0).map(|(key, _)| key.to_vec()).unwrap_or_default())
}

impl Job {
    /// The definition of now, and where the index stands in it.
    ///
    /// # Errors
    /// 1412 when the index is not being built any more.
    pub(super) fn definition(&self, backfill: &Backfill) -> Result<(Arc<Table>, usize)> {
        let target = &self.target;
        let definitions = backfill.catalog.current();
        let table = definitions.table(&target.database, &target.table);
        let table = table.map_err(|_| self.gone())?;
        let is_ours =
            |index: &Index| index.id == target.index && index.state == IndexState::Building;
        let position = table.indexes.iter().position(is_ours);
        let position = position.ok_or_else(|| self.gone())?;
        Ok((Arc::clone(table), position))
    }

    /// The error of a build whose index was dropped, or is new in a table that was emptied.
    pub(super) fn gone(&self) -> Error {
        let text = format!("index {} was changed while it was being built", self.name);
        Error::new(Code::TableDefinitionChanged, text)
    }
}
