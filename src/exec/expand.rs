//! Rows of other versions than the newest, out of stored rows: a page of them at a time.
//!
//! One stored row may be read as a thousand. So they are made one after the other, and no more of them
//! than a page takes lie in memory, besides the versions of the one row that is at work: those are taken
//! from what the statement may use. What the versions of a row are is `exec::timeline`.

use std::sync::Arc;

use bytes::Bytes;

use super::budget::Budget;
use super::cancel::CancelToken;
use super::merge::Means;
use super::pace::Pace;
use super::row::{Layout, StoredRow};
use super::timeline::{Timeline, Unfolding};
use super::view::Batch;
use super::write::row;
use crate::catalog::Table;
use crate::catalog::versions::Reading;
use crate::error::Result;
use crate::kv::Key;
use crate::kv::page::{PAGE_BYTES, PAGE_ROWS};

/// Reads the versions that a definition asks for out of batches of stored rows.
pub(super) struct Expander {
    table: Arc<Table>,
    layout: Layout,
    reading: Reading,
    cancel: Arc<CancelToken>,
    /// What the versions of the row at work take.
    budget: Budget,
    batch: Batch,
    /// The row of the batch that comes next.
    next_idx: usize,
    at_work: Option<(Key, Unfolding)>,
}

impl Expander {
    /// Of a definition that reads other versions than the newest; `None` of all others.
    pub(super) fn of(table: &Arc<Table>, means: &Means<'_>) -> Option<Expander> {
        Some(Expander {
            reading: table.wide.reading?,
            layout: Layout::of(table),
            table: Arc::clone(table),
            cancel: Arc::clone(means.cancel),
            budget: means.memory.budget("the versions of a row"),
            batch: Batch::Rows(Vec::new()),
            next_idx: 0,
            at_work: None,
        })
    }

    /// Begins with another batch of stored rows.
    pub(super) fn begin(&mut self, batch: Batch) {
        self.batch = batch;
        self.next_idx = 0;
    }

    /// Whether the batch has nothing left.
    pub(super) fn is_done(&self) -> bool {
        self.at_work.is_none() && self.batch.len() <= self.next_idx
    }

    /// The next rows, as many as a page takes or a turn has time for; there may be none and more later.
    ///
    /// # Errors
    /// 1712 for damaged bytes; 1038 when the versions of a row are too many; what ends the statement.
    pub(super) fn next_rows(&mut self) -> Result<Batch> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let mut pace = Pace::default();
        while !self.is_done() && rows.len() < PAGE_ROWS && bytes < PAGE_BYTES {
            self.cancel.check()?;
            if let Some((key, value)) = self.next_row()? {
                bytes += key.len() + value.len();
                rows.push((key, value));
            }
            if pace.is_over() {
                break;
            }
        }
        if self.is_done() {
            self.batch = Batch::Rows(Vec::new());
        }
        Ok(Batch::Rows(rows))
    }

    /// The next version of the row at work, or of the one behind it; `None` when it has no more.
    fn next_row(&mut self) -> Result<Option<(Key, Bytes)>> {
        if self.at_work.is_none() {
            self.at_work = self.next_stored()?;
        }
        let Some((key, versions)) = &mut self.at_work else {
            return Ok(None);
        };
        let Some(values) = versions.next_row(&self.table)? else {
            self.at_work = None;
            self.budget.reset();
            return Ok(None);
        };
        let value = row::value(&self.table, &values)?;
        Ok(Some((key.clone(), Bytes::from(value))))
    }

    fn next_stored(&mut self) -> Result<Option<(Key, Unfolding)>> {
        let Some((key, value)) = self.batch.get(self.next_idx) else {
            return Ok(None);
        };
        self.next_idx += 1;
        let values = StoredRow::parse(&self.table, &self.layout, key, value)?.to_values()?;
        let timeline = Timeline::of(&self.table, &values)?;
        let versions = timeline.unfold((&self.table, self.reading), &values);
        self.budget.take(versions.memory_bytes())?;
        Ok(Some((key.to_vec(), versions)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::versions;
    use crate::exec::budget::Memory;
    use crate::exec::testing::Server;
    use crate::kv::Space;

    const VERSIONS: u32 = 100;
    const KEY_BYTES: usize = 10_000;

    async fn expander(memory: Memory) -> Expander {
        let server = Server::start().await;
        let parts: Vec<String> = (0..5).map(|part| format!("k{part}")).collect();
        let columns = parts.iter().map(|part| format!("{part} VARCHAR(2000)"));
        let sql = format!(
            "CREATE TABLE t (n INT, {}, a INT, PRIMARY KEY (n, {})) WITH (VERSIONS='{VERSIONS}')",
            columns.collect::<Vec<_>>().join(", "),
            parts.join(", ")
        );
        server.run(&sql).await.unwrap();
        let key = format!("'{}'", "k".repeat(KEY_BYTES / parts.len()));
        let key = vec![key.as_str(); parts.len()].join(", ");
        for n in 0..3 {
            for ms in 1..=VERSIONS {
                let sql = format!("UPSERT /*+ _l_ts_({ms}) */ INTO t VALUES ({n}, {key}, 1)");
                server.run(&sql).await.unwrap();
            }
        }
        let table = server.table("t");
        let rows = server.rows_of(Space(table.id.0)).await;
        let rows = rows.into_iter().map(|(key, value)| (key, value.into()));
        let reading = Reading {
            versions: VERSIONS,
            min_ms: 0,
            until_ms: None,
        };
        let table = versions::reading(&table, reading);
        let means = Means {
            memory,
            cancel: &Arc::default(),
        };
        let mut expander = Expander::of(&table, &means).unwrap();
        expander.begin(Batch::Rows(rows.collect()));
        expander
    }

    /// All versions of all rows of a batch were made at once, each with a key of its own: a thousand
    /// versions of a dozen long keys took 335 MB, whatever the statement might use.
    #[tokio::test]
    async fn no_more_lies_in_memory_than_a_page_takes() {
        let mut expander = expander(Memory::alone(1 << 20)).await;
        let mut rows_count = 0;
        while !expander.is_done() {
            let rows = expander.next_rows().unwrap();
            let bytes = (0..rows.len()).filter_map(|idx| rows.get(idx));
            let bytes: usize = bytes.map(|(key, value)| key.len() + value.len()).sum();
            assert!(bytes < PAGE_BYTES + 2 * KEY_BYTES, "{bytes}");
            rows_count += rows.len();
        }
        assert_eq!(rows_count, 3 * VERSIONS as usize);
    }

    #[tokio::test]
    async fn versions_of_one_row_count_for_the_statement() {
        let mut expander = expander(Memory::alone(1000)).await;
        let error = expander.next_rows().unwrap_err();
        assert!(
            error.message().starts_with("the versions of a row needs"),
            "{error}"
        );
    }
}
