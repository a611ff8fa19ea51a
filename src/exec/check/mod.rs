//! CHECK TABLE and REPAIR TABLE: the rows of a table and the entries of its indexes, compared both
//! ways; and the number of rows (`count`, also for ANALYZE TABLE).
//!
//! ```text
//!  each row      has its entry in each index, with the value it must have
//!  each entry    belongs to a row, and is the one that this row has
//!  each row      of a spread key lies under the part that its columns give (`spread`)
//!  the number    that is kept is the number of rows
//! ```
//! A check reads one snapshot, page by page, and keeps no more than a page; writers go on. A repair
//! looks at each difference again in the newest state (`repair`) and mends it by a commit that
//! holds only if nobody has changed row or entry meanwhile.

pub mod count;
mod repair;
mod spread;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::backfill::rows::Maker;
use super::cancel::CancelToken;
use super::pace::Pace;
use crate::catalog::{Index, IndexState, Table};
use crate::error::Result;
use crate::index::{self, Entry};
use crate::kv::{self, Engine, Key, KeyRange, Page, Scan, Snapshot};

/// Differences of one index that are described; the others are counted.
const DIFFERENCES_SHOWN: usize = 5;

/// What a check or a repair found in one index, or in the number of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where, in words.
    pub place: String,
    /// Why it was not compared, if it was not.
    pub skipped: Option<String>,
    /// The first differences, in words.
    pub shown: Vec<String>,
    /// All differences.
    pub differences: u64,
    /// How many of them were mended.
    pub mended: u64,
}

impl Finding {
    fn new(place: String) -> Finding {
        Finding {
            place,
            skipped: None,
            shown: Vec::new(),
            differences: 0,
            mended: 0,
        }
    }

    fn add(&mut self, what: String) {
        self.differences += 1;
        if self.shown.len() < DIFFERENCES_SHOWN {
            self.shown.push(what);
        }
    }

    /// Whether it agrees with the rows now.
    pub fn is_clean(&self) -> bool {
        self.differences == self.mended
    }
}

/// Compares a table with its indexes.
pub struct Checker<'a> {
    /// The engine.
    pub engine: &'a Arc<dyn Engine>,
    /// What may end it early.
    pub cancel: &'a CancelToken,
    /// Whether differences are mended.
    pub repairs: bool,
    /// Told how many more keys were read, page by page.
    pub progress: &'a (dyn Fn(usize) + Sync),
}

/// For [`Checker::progress`] when nobody wants to know.
pub fn untold(_: usize) {}

/// How many keys a check of the table reads, roughly.
pub fn keys_to_read(engine: &dyn Engine, table: &Table) -> u64 {
    let keys = |space| engine.estimate(space, &KeyRange::all()).rows;
    let rows = keys(crate::exec::write::space(table));
    let compared = table.indexes.iter().filter(|index| is_compared(index));
    let entries: Vec<u64> = compared.map(|index| keys(index::space(index))).collect();
    let of_indexes = u64::try_from(entries.len()).unwrap_or(u64::MAX);
    let of_rows = u64::from(!has_compared(table)) + u64::from(table.spread().is_some());
    // And once to count them.
    let passes = of_indexes.saturating_add(of_rows + 1);
    rows.saturating_mul(passes)
        .saturating_add(entries.into_iter().sum())
}

fn is_compared(index: &Index) -> bool {
    match index.state {
        IndexState::Active | IndexState::Inactive => true,
        IndexState::Building | IndexState::Disabled => false,
    }
}

/// Whether an index is compared, for which each row is read.
fn has_compared(table: &Table) -> bool {
    table.indexes.iter().any(is_compared)
}

impl Checker<'_> {
    /// Compares `table` with each of its indexes.
    ///
    /// # Errors
    /// 1317 when killed, 1712 for a damaged row; those of the engine.
    pub async fn run(&self, table: &Table) -> Result<Vec<Finding>> {
        let snapshot = self.engine.snapshot();
        let mut findings = Vec::new();
        if !has_compared(table) {
            self.read_rows(table, snapshot.as_ref()).await?;
        }
        for index in &table.indexes {
            let mut finding = Finding::new(format!("index {}", index.name));
            if is_compared(index) {
                let side = Side {
                    checker: self,
                    snapshot: snapshot.as_ref(),
                    maker: Maker::new(table, index)?,
                };
                side.compare_rows(&mut finding).await?;
                side.compare_entries(&mut finding).await?;
            } else {
                let state = index.state.name();
                finding.skipped = Some(format!("index {} is {state}: not compared", index.name));
            }
            findings.push(finding);
        }
        if let Some(spread) = table.spread() {
            let at = (table, spread);
            findings.push(self.check_parts(at, snapshot.as_ref()).await?);
        }
        findings.push(self.check_count(table, snapshot.as_ref()).await?);
        Ok(findings)
    }

    /// Reads every row, so that damage shows.
    async fn read_rows(&self, table: &Table, snapshot: &dyn Snapshot) -> Result<()> {
        let layout = super::row::Layout::of(table);
        let mut scan = Scan::whole(crate::exec::write::space(table));
        let mut page = Page::default();
        let mut turns = Pace::default();
        loop {
            snapshot.scan(&scan, &mut page).await?;
            for (key, value) in page.iter() {
                turns.keep().await;
                super::row::StoredRow::parse(table, &layout, key, value)?.to_values()?;
            }
            if !self.next(&mut scan, &mut page).await? {
                return Ok(());
            }
        }
    }

    /// Between two pages.
    async fn next(&self, scan: &mut Scan, page: &mut Page) -> Result<bool> {
        (self.progress)(page.len());
        self.cancel.check()?;
        tokio::task::yield_now().await;
        Ok(scan.advance(page))
    }
}

/// One index against its table.
struct Side<'a> {
    checker: &'a Checker<'a>,
    snapshot: &'a dyn Snapshot,
    maker: Maker<'a>,
}

impl Side<'_> {
    /// Every row has its entry.
    async fn compare_rows(&self, finding: &mut Finding) -> Result<()> {
        let maker = &self.maker;
        let mut scan = Scan::whole(maker.rows_space());
        let mut page = Page::default();
        let mut turns = Pace::default();
        loop {
            self.snapshot.scan(&scan, &mut page).await?;
            let made = maker.of_page(&page)?;
            let rows = page.iter().zip(made);
            let made = rows.filter_map(|((row_key, _), made)| Some((row_key, made?.entry)));
            let made: Vec<(&[u8], Entry)> = made.collect();
            let keys: Vec<Key> = made.iter().map(|(_, entry)| entry.key.clone()).collect();
            let found = kv::multi_get_all(self.snapshot, maker.entries_space(), &keys).await?;
            for ((row_key, entry), found) in made.iter().zip(found) {
                turns.keep().await;
                let what = match found.as_deref() {
                    Some(value) if maker.is_value((&entry.value, value)) => continue,
                    Some(value) => self.other_owner(row_key, (&entry.key, value)),
                    None => format!("row {} has no entry", maker.row_text(row_key)),
                };
                finding.add(what);
                if self.checker.repairs && self.mend_row(row_key).await? {
                    finding.mended += 1;
                }
            }
            if !self.checker.next(&mut scan, &mut page).await? {
                return Ok(());
            }
        }
    }

    fn other_owner(&self, row_key: &[u8], (entry_key, value): (&[u8], &[u8])) -> String {
        let maker = &self.maker;
        let row = maker.row_text(row_key);
        match index::primary_key(maker.table, maker.index, (entry_key, value)) {
            Ok(owner) if owner != row_key => format!(
                "the entry {} of row {row} is that of row {}",
                maker.entry_text(entry_key),
                maker.row_text(&owner)
            ),
            Ok(_) => format!("the entry of row {row} has another value"),
            Err(corrupt) => format!("the entry of row {row} is damaged: {corrupt}"),
        }
    }

    /// Every entry is that of a row.
    async fn compare_entries(&self, finding: &mut Finding) -> Result<()> {
        let maker = &self.maker;
        let mut scan = Scan::whole(maker.entries_space());
        let mut page = Page::default();
        let mut turns = Pace::default();
        loop {
            self.snapshot.scan(&scan, &mut page).await?;
            let owners = page
                .iter()
                .map(|pair| index::primary_key(maker.table, maker.index, pair).unwrap_or_default());
            // A damaged entry has no owner: the empty key, which no row has.
            let owners: Vec<Key> = owners.collect();
            let mut rows = Vec::new().into_iter();
            for (entry_idx, ((entry_key, _), owner)) in page.iter().zip(&owners).enumerate() {
                turns.keep().await;
                if rows.len() == 0 {
                    // Some of them: all could be much more than a page.
                    let ahead = owners.get(entry_idx..).unwrap_or_default();
                    let found = self.snapshot.multi_get(maker.rows_space(), ahead).await?;
                    rows = found.into_iter();
                }
                let row = rows.next().flatten();
                let text = || maker.entry_text(entry_key);
                let what = match &row {
                    Some(row) if maker.has_entry((owner, row), entry_key)? => continue,
                    Some(_) => {
                        let row = maker.row_text(owner);
                        format!("the entry {} is not that of its row {row}", text())
                    }
                    None if owner.is_empty() => format!("the entry {} is damaged", text()),
                    None => {
                        let row = maker.row_text(owner);
                        format!("the entry {} has no row {row}", text())
                    }
                };
                finding.add(what);
                if self.checker.repairs && self.mend_entry(entry_key).await? {
                    finding.mended += 1;
                }
            }
            if !self.checker.next(&mut scan, &mut page).await? {
                return Ok(());
            }
        }
    }
}
