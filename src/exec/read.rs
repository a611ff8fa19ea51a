//! Rows of one table, batch by batch, along the access path the planner chose.
//!
//! What a batch costs is bounded: a page of a scan, or so many keys of a multi-get. Whoever drives
//! a [`Reader`] checks its [`super::cancel::CancelToken`] once per batch. An index is read like a
//! table, in its own space; its entries are the rows when they cover the statement, else each
//! batch of them is looked up at once (`lookup`).

use std::collections::VecDeque;
use std::sync::Arc;

use super::ahead::{self, PageAhead, Read};
use super::cancel::CancelToken;
use super::ends::EndReader;
use super::expand::Expander;
use super::fan::{Fan, Fanned};
use super::lookup::{self, Lookup};
use super::merge::{Means, Merger};
use super::row::Layout;
use super::view::{Batch, View};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::index;
use crate::kv::page::PAGE_ROWS;
use crate::kv::{Key, KeyRange, Page, Scan, ScanOptions, Space};
use crate::plan::{Access, Entries, IndexAccess, TablePlan};

/// Keys fetched by one multi-get call; a batch of them is as long as a page takes.
const MULTI_GET_BATCH_KEYS: usize = 512;

/// Rows of the first page of a scan: the first row arrives at once, and a short scan pays for
/// what it reads.
const FIRST_PAGE_ROWS: usize = 128;

/// Rows of a page of a long scan: what a page costs beside its rows is little then.
const LONG_PAGE_ROWS: usize = 4 * PAGE_ROWS;

/// How much longer each page of a scan is than the one before.
const PAGE_GROWTH: usize = 8;

/// Batches without a row that are passed over in one go; then the driver looks whether to stop.
const EMPTY_BATCHES_MAX: usize = 64;

/// Ranges of an index at most whose entries are looked up together.
const RANGES_PER_LOOKUP: usize = 64;

/// Reads the rows of one table.
pub struct Reader {
    view: View,
    space: Space,
    work: Work,
    batch: Batch,
    /// For an index that does not cover the statement.
    lookup: Option<Lookup>,
    /// The entries that were looked up last; their memory is used again.
    entries: Batch,
    /// The keys of rows that are looked up next: those of a batch of entries, which may be too many to be
    /// looked up at once.
    owed: VecDeque<Key>,
    /// For an index that covers the statement.
    layout: Option<Layout>,
    next_page_rows: usize,
    page_rows: usize,
    /// Whether scans leave the values out.
    keys_only: bool,
    /// The next page of the scan that is at work, when it is being read already.
    ahead: Option<PageAhead>,
    /// Whether pages are read ahead: not where few rows are wanted.
    may_read_ahead: bool,
    /// For a definition that reads other versions than the newest.
    expander: Option<Expander>,
    rows_read: u64,
    /// The statement's, which counts what all its readers read.
    cancel: Arc<CancelToken>,
}

enum Work {
    Get(Key),
    MultiGet(VecDeque<Key>),
    Scan {
        current: Option<Scan>,
        ranges: VecDeque<KeyRange>,
        reverse: bool,
    },
    Ends(EndReader),
    Fan(Fanned),
    Merge(Box<Merger>),
    Finished,
}

impl Reader {
    /// A reader along the path of `plan`, which it takes out of it.
    ///
    /// # Errors
    /// An internal error when the plan is not of this table.
    pub fn new(
        view: View,
        table: &Arc<Table>,
        plan: &mut TablePlan,
        means: &Means<'_>,
    ) -> Result<Reader> {
        let may_read_ahead = plan.rows_wanted.is_none();
        let wanted = plan.rows_wanted.filter(|_| plan.residual.is_none());
        let wanted = wanted
            .and_then(|rows| usize::try_from(rows).ok())
            .unwrap_or(PAGE_ROWS);
        let mut reader = Reader {
            view,
            space: Space(table.id.0),
            work: Work::Finished,
            batch: Batch::Page(Page::default()),
            lookup: None,
            entries: Batch::Page(Page::default()),
            owed: VecDeque::new(),
            layout: None,
            next_page_rows: wanted.clamp(1, FIRST_PAGE_ROWS),
            page_rows: LONG_PAGE_ROWS,
            keys_only: false,
            ahead: None,
            may_read_ahead,
            expander: Expander::of(table, means),
            rows_read: 0,
            cancel: Arc::clone(means.cancel),
        };
        if let Access::Index(access) = &plan.access {
            reader.read_index(table, access)?;
        }
        reader.work = match plan.fan_out.take() {
            Some(fan_out) => {
                let wanted = (!may_read_ahead).then_some(wanted);
                let fan = Fan::new((reader.space, plan.reverse), fan_out, wanted);
                Work::Fan(Fanned::Here(Box::new(fan)))
            }
            None => Work::of(table, plan, means),
        };
        Ok(reader)
    }

    fn read_index(&mut self, table: &Arc<Table>, access: &IndexAccess) -> Result<()> {
        let Some(index) = table.indexes.get(access.position) else {
            return Err(Error::internal(
                "a plan that names an index of another table",
            ));
        };
        self.space = index::space(index);
        if access.covering {
            self.layout = Some(Layout::of_entry(table, index));
        } else {
            self.lookup = Some(Lookup::new(table, access.position));
            self.page_rows = MULTI_GET_BATCH_KEYS;
        }
        Ok(())
    }

    /// Only counts rows: their values are not looked at.
    pub fn leave_values_out(&mut self) {
        // Versions are in the values, and the key of the row that an entry of a unique index leads to.
        self.keys_only = self.expander.is_none() && self.lookup.is_none();
        if let Work::Fan(Fanned::Here(fan)) = &mut self.work
            && self.keys_only
        {
            fan.leave_values_out();
        }
    }

    /// Fetches the next batch, which may be empty. `false` when there is none.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn advance(&mut self) -> Result<bool> {
        for _ in 0..EMPTY_BATCHES_MAX {
            if self.is_expanded() && !self.fetch().await? {
                return Ok(false);
            }
            if let Some(expander) = &mut self.expander {
                if expander.is_done() {
                    let nothing = Batch::Rows(Vec::new());
                    expander.begin(std::mem::replace(&mut self.batch, nothing));
                }
                self.batch = expander.next_rows()?;
            }
            self.rows_read += u64::try_from(self.batch.len()).unwrap_or(u64::MAX);
            self.cancel.count_rows(self.batch.len());
            if !self.batch.is_empty() || !self.is_expanded() {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Whether all versions of what was fetched were given out.
    fn is_expanded(&self) -> bool {
        let expander = self.expander.as_ref();
        expander.is_none_or(Expander::is_done)
    }

    /// Fetches the next batch of rows, or of entries that cover the statement.
    async fn fetch(&mut self) -> Result<bool> {
        if self.owed.is_empty() {
            let Some(lookup) = self.lookup.take() else {
                return Ok(self.fetch_stored().await? && self.fetch_owed().await?);
            };
            std::mem::swap(&mut self.batch, &mut self.entries);
            let found = self.fetch_entries(&lookup).await;
            self.lookup = Some(lookup);
            if !found? {
                return Ok(false);
            }
            self.entries = std::mem::replace(&mut self.batch, Batch::Rows(Vec::new()));
        }
        self.fetch_owed().await
    }

    /// Fetches the next entries, whose rows are owed then. Where all rows are wanted, those of several short ranges
    /// are looked up together: ten lookups of one row each cost more than one of ten.
    async fn fetch_entries(&mut self, lookup: &Lookup) -> Result<bool> {
        for _ in 0..RANGES_PER_LOOKUP {
            if !self.fetch_stored().await? {
                return Ok(false);
            }
            lookup.add_keys(&self.batch, &mut self.owed)?;
            let is_full = MULTI_GET_BATCH_KEYS < self.owed.len() + self.next_page_rows;
            if is_full || !self.may_read_ahead || !self.is_between_ranges() {
                break;
            }
            self.cancel.check()?;
        }
        Ok(true)
    }

    /// Fetches the first of the rows that are owed, if any are.
    async fn fetch_owed(&mut self) -> Result<bool> {
        if !self.owed.is_empty() {
            self.batch = Batch::Rows(match &self.lookup {
                Some(lookup) => lookup.first_rows(&self.view, &mut self.owed).await?,
                None => lookup::first_of_several(&self.view, self.space, &mut self.owed).await?,
            });
        }
        Ok(true)
    }

    /// Fetches the next batch of what is stored in the space that is read.
    async fn fetch_stored(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.work, Work::Finished) {
            Work::Finished => return Ok(false),
            Work::Get(key) => {
                let value = self.view.get(self.space, &key).await?;
                self.batch = Batch::Rows(value.map(|value| (key, value)).into_iter().collect());
            }
            Work::MultiGet(keys) => self.multi_get(keys).await?,
            Work::Merge(merger) => self.merge(merger).await?,
            Work::Ends(ends) => self.end(ends).await?,
            Work::Fan(fan) => {
                if !self.fan(fan).await? {
                    return Ok(false);
                }
            }
            Work::Scan {
                current,
                ranges,
                reverse,
            } => {
                if !self.scan(current, ranges, reverse).await? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    async fn multi_get(&mut self, mut keys: VecDeque<Key>) -> Result<()> {
        let together = keys.make_contiguous();
        let together = together.get(..MULTI_GET_BATCH_KEYS).unwrap_or(together);
        let values = self.view.first_rows(self.space, together).await?;
        let found = keys.drain(..values.len().min(keys.len()));
        let rows = found.zip(values);
        self.batch = Batch::Rows(
            rows.filter_map(|(key, value)| Some((key, value?)))
                .collect(),
        );
        if !keys.is_empty() {
            self.work = Work::MultiGet(keys);
        }
        Ok(())
    }

    async fn merge(&mut self, mut merger: Box<Merger>) -> Result<()> {
        let keys_max = self.next_page_rows.min(MULTI_GET_BATCH_KEYS);
        self.batch = Batch::Rows(Vec::new());
        let Some(keys) = merger.next_keys(&self.view, keys_max).await? else {
            return Ok(());
        };
        self.work = Work::Merge(merger);
        if !keys.is_empty() {
            self.next_page_rows = self.page_rows;
            self.owed = keys.into();
        }
        Ok(())
    }

    async fn fan(&mut self, fan: Fanned) -> Result<bool> {
        let mut spare = std::mem::replace(&mut self.batch, Batch::Rows(Vec::new()));
        let rows_max = self.next_page_rows;
        self.next_page_rows = rows_after(rows_max, true).min(self.page_rows);
        let (fan, batch) = fan.next(&self.view, rows_max, &mut spare).await?;
        let Some(batch) = batch else {
            return Ok(false);
        };
        self.batch = batch;
        let is_long = self.may_read_ahead && rows_max == self.page_rows;
        self.work = Work::Fan(if is_long {
            fan.ahead(&self.view, rows_max, spare)
        } else {
            Fanned::Here(fan)
        });
        Ok(true)
    }

    async fn end(&mut self, mut ends: EndReader) -> Result<()> {
        let found = ends.next(&self.view).await?;
        let (batch, layout) = found.unwrap_or((Batch::Rows(Vec::new()), None));
        self.batch = batch;
        self.layout = layout;
        if !ends.is_at_end() {
            self.work = Work::Ends(ends);
        }
        Ok(())
    }

    async fn scan(
        &mut self,
        current: Option<Scan>,
        mut ranges: VecDeque<KeyRange>,
        reverse: bool,
    ) -> Result<bool> {
        let spare = std::mem::replace(&mut self.batch, Batch::Rows(Vec::new()));
        let (read, spare) = if let Some(ahead) = self.ahead.take() {
            (ahead.end().await?, spare)
        } else {
            let current = current.or_else(|| {
                let range = if reverse {
                    ranges.pop_back()
                } else {
                    ranges.pop_front()
                };
                range.map(|range| Scan::new(self.space, range))
            });
            let Some(mut scan) = current else {
                return Ok(false);
            };
            scan.options = self.page_options(reverse);
            let nothing = Batch::Page(Page::default());
            (ahead::read(&self.view, scan, spare).await?, nothing)
        };
        let Read { batch, scan, more } = read;
        self.batch = batch;
        self.next_page_rows = rows_after(scan.options.max_rows, more).min(self.page_rows);
        if more || !ranges.is_empty() {
            self.work = Work::Scan {
                current: more.then(|| self.begun_ahead(scan, spare)).flatten(),
                ranges,
                reverse,
            };
        }
        Ok(true)
    }

    /// Whether a range was read to its end, and there is another.
    pub fn is_between_ranges(&self) -> bool {
        let Work::Scan {
            current, ranges, ..
        } = &self.work
        else {
            return false;
        };
        current.is_none() && self.ahead.is_none() && !ranges.is_empty()
    }

    /// How the next page is read.
    fn page_options(&self, reverse: bool) -> ScanOptions {
        ScanOptions {
            reverse,
            max_rows: self.next_page_rows,
            keys_only: self.keys_only,
            ..ScanOptions::default()
        }
    }

    /// Begins to read the next page of a long scan; gives the scan back when it is not long yet.
    fn begun_ahead(&mut self, mut scan: Scan, spare: Batch) -> Option<Scan> {
        let is_long = scan.options.max_rows == self.page_rows;
        if !is_long || !self.may_read_ahead {
            return Some(scan);
        }
        scan.options = self.page_options(scan.options.reverse);
        self.ahead = Some(PageAhead::page(self.view.clone(), scan, spare));
        None
    }

    /// Whether the batch fetched last is known to be the last one.
    pub fn is_at_end(&self) -> bool {
        matches!(self.work, Work::Finished) && self.owed.is_empty() && self.is_expanded()
    }

    /// The rows of the batch fetched last.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Where the columns are in what is read, when it is not rows but entries of an index.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Rows fetched so far, returned or not.
    pub fn rows_read(&self) -> u64 {
        let held = match &self.work {
            Work::Fan(fan) => fan.rows_held(),
            Work::Finished
            | Work::Get(_)
            | Work::MultiGet(_)
            | Work::Scan { .. }
            | Work::Ends(_)
            | Work::Merge(_) => 0,
        };
        self.rows_read + u64::try_from(held).unwrap_or(u64::MAX)
    }
}

/// Rows of the page that follows one of so many, in the same range or, if nothing is left of that, in the
/// next one: a range that was long does not tell that the next one is, and one that was short tells nothing.
fn rows_after(rows: usize, has_more: bool) -> usize {
    if has_more {
        rows.saturating_mul(PAGE_GROWTH)
    } else {
        rows.min(PAGE_ROWS)
    }
}

impl Work {
    fn of(table: &Arc<Table>, plan: &mut TablePlan, means: &Means<'_>) -> Work {
        let reverse = plan.reverse;
        let scan = |ranges| Work::Scan {
            current: None,
            ranges: VecDeque::from(ranges),
            reverse,
        };
        let gets = |mut keys: Vec<Key>| {
            if reverse {
                keys.reverse();
            }
            Work::MultiGet(VecDeque::from(keys))
        };
        match std::mem::replace(&mut plan.access, Access::Nothing) {
            Access::Nothing | Access::Count(_) => Work::Finished,
            Access::PointGet(get) => Work::Get(get.key),
            Access::MultiGet(get) => gets(get.keys),
            Access::Index(access) => match access.entries {
                Entries::Keys(keys) => gets(keys),
                Entries::Ranges(ranges) => scan(ranges),
            },
            Access::PrefixScan(prefix) => scan(prefix.ranges),
            Access::Merge(merge) => {
                Work::Merge(Box::new(Merger::new((table, reverse), merge, means)))
            }
            Access::Ends(ends) => Work::Ends(EndReader::new(table, ends.seeks)),
            Access::FullScan => scan(vec![KeyRange::all()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mechanism: pages grew from range to range, and from the third on a range of five rows was read as a
    /// long one, from files that were opened for it.
    #[test]
    fn pages_grow_within_a_range_and_not_from_range_to_range() {
        let mut rows = FIRST_PAGE_ROWS;
        for _ in 0..10 {
            rows = rows_after(rows, false);
        }
        assert_eq!(rows, FIRST_PAGE_ROWS);
        while rows < LONG_PAGE_ROWS {
            let grown = rows_after(rows, true);
            assert!(rows < grown);
            rows = grown;
        }
        assert_eq!(rows_after(LONG_PAGE_ROWS, false), PAGE_ROWS);
    }
}
