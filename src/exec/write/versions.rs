//! When a write is dated, and what it does to a row that keeps versions (docs/wide.md).
//!
//! ```text
//!  without hint      by the session's clock, but behind all that the row and its deletion know: what
//!                    is written later is newer, whatever clocks and hints have said before
//!  _l_ts_(ms)        as given. Cells that have a newer version keep it; what a deletion has taken away
//!                    up to a later time is not seen
//! ```
//!
//! A write gives a version to the columns that it names and to those that it changes. A row that is
//! deleted leaves the time of its deletion in a space of the table's own, where no reader meets it; it
//! counts for [`DELETION_KEPT_MS`] and goes with compaction. A row that is written again meanwhile
//! takes it over. As long a dynamic column that was set to `NULL` hides what comes late: then its name
//! leaves the row.

use super::Env;
use super::changer::{Changer, unreadable_entry};
use crate::catalog::{ColumnPlace, Table};
use crate::codec::row::Deletion;
use crate::error::{Code, Error, Result};
use crate::exec::row;
use crate::exec::timeline::{self, CellId, Timeline, Version};
use crate::sql::context::{EvalContext, WarningLevel};
use crate::types::Value;

/// How long a deletion hides writes that are dated before it: late ones are expected within a day.
pub const DELETION_KEPT_MS: u64 = 24 * 3600 * 1000;

/// How a statement dates what it writes.
#[derive(Clone, Copy)]
pub struct Dating<'a> {
    /// The clock.
    pub ctx: &'a EvalContext,
    /// `_l_ts_(ms)`.
    pub ts_ms: Option<u64>,
    /// The present by the clock that readers judge by, in milliseconds since 1970: how long deletions
    /// count is no business of `SET timestamp`.
    clock_ms: u64,
}

/// A row before a write.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    /// Its values; `None` when there is none.
    pub(super) values: Option<&'a [Value<'static>]>,
    /// When a row that is not there was deleted.
    pub(super) deletion: Option<Deletion>,
}

/// What becomes of a row that is deleted.
pub(super) enum Deleted {
    /// It is gone.
    Gone,
    /// It was written since the time of the deletion, and keeps these values; whether it loses any.
    Kept(Vec<Value<'static>>, bool),
}

impl<'a> Dating<'a> {
    /// Checks the time that a hint gives.
    ///
    /// # Errors
    /// 1210 for one too far ahead of the clock.
    pub fn checked(env: &'a Env, ts_ms: Option<u64>) -> Result<Dating<'a>> {
        let mut dating = Dating {
            ctx: &env.ctx,
            ts_ms,
            clock_ms: 0,
        };
        let expiry = env.engine.expiry();
        dating.clock_ms = expiry.map_or_else(|| dating.now_ms(), |expiry| expiry.now_ms());
        let (now_ms, ahead_max) = (dating.now_ms(), env.policy.max_clock_skew_ms);
        match ts_ms {
            Some(ts_ms) if now_ms.saturating_add(ahead_max) < ts_ms => {
                let text = format!(
                    "Incorrect arguments to _l_ts_: {ts_ms} is {} ms ahead of the clock ({now_ms}), \
                     the most is max_clock_skew_ms = {ahead_max}. Until the clock is there, this \
                     version would win over every write that is dated by the clock, and deletions \
                     and later writes of the row would have to be dated ahead of the clock, too; \
                     the hint takes milliseconds since 1970",
                    ts_ms - now_ms
                );
                Err(Error::new(Code::WrongArguments, text))
            }
            Some(_) | None => Ok(dating),
        }
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.ctx.now.total_micros() / 1000).unwrap_or(0)
    }

    fn counts(&self, deletion: Deletion) -> bool {
        self.clock_ms < deletion.until_ms
    }

    /// The row after a write that proposes `new` and names the columns of which `names` is true;
    /// `None` when a deletion hides the write.
    fn written(
        &self,
        (table, before): (&Table, Before<'_>),
        mut new: Vec<Value<'static>>,
        names: &dyn Fn(usize) -> bool,
    ) -> Result<Option<Vec<Value<'static>>>> {
        let Some(versions) = &table.wide.versions else {
            return Ok(Some(new));
        };
        let mut timeline = match before.values {
            Some(old) => Timeline::of(table, old)?,
            None => Timeline {
                deletion: before.deletion,
                ..Timeline::default()
            },
        };
        timeline.forget_names(self.clock_ms.saturating_sub(DELETION_KEPT_MS));
        let deletion = timeline.deletion.filter(|one| self.counts(*one));
        timeline.deletion = deletion;
        let hidden_ms = deletion.map_or(0, |deletion| deletion.ms);
        let behind = timeline.row_ms.max(hidden_ms).saturating_add(1);
        let ms = self.ts_ms.unwrap_or_else(|| self.now_ms().max(behind));
        if deletion.is_some() && ms <= hidden_ms {
            return Ok(None);
        }
        for (id, value) in Dating::cells((table, before.values, &timeline), &new, names)? {
            let version = Version { ms, value };
            timeline.put(id, version, versions.count());
        }
        if ms < timeline.row_ms {
            keep_end(table, before.values, &mut new);
        }
        timeline.row_ms = timeline.row_ms.max(ms);
        timeline.store(table, &mut new)?;
        Ok(Some(new))
    }

    /// The cells that a write gives a version.
    fn cells(
        (table, old, timeline): (&Table, Option<&[Value<'static>]>, &Timeline),
        new: &[Value<'static>],
        names: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<(CellId, Value<'static>)>> {
        let mut cells = Vec::new();
        for (idx, value) in new.iter().enumerate() {
            let before = old.and_then(|old| old.get(idx)).unwrap_or(&Value::Null);
            if let Some(id) = CellId::of(table, idx)
                && (names(idx) || !before.is_same(value))
            {
                cells.push((id, value.clone()));
            }
        }
        let Some(idx) = table.others_idx() else {
            return Ok(cells);
        };
        let others = |values: &[Value<'static>]| -> Result<Vec<(String, Value<'static>)>> {
            let cells = row::others(values.get(idx).unwrap_or(&Value::Null))?;
            let owned = cells
                .into_iter()
                .map(|cell| (cell.name.to_owned(), cell.value.into_owned()));
            Ok(owned.collect())
        };
        let (old, new) = (others(old.unwrap_or_default())?, others(new)?);
        // What replaces a row names all that it ever had, also what is NULL now.
        let stored = table.stored_names();
        for id in timeline.cells.keys().filter(|_| names(idx)) {
            if let CellId::Name(name) = id
                && stored.idx(name).is_none()
                && find(&new, name).is_none()
            {
                cells.push((id.clone(), Value::Null));
            }
        }
        // Both are in order of their names.
        for (name, _) in &old {
            if find(&new, name).is_none() {
                cells.push((CellId::Name(name.clone()), Value::Null));
            }
        }
        for (name, value) in new {
            let known = find(&old, &name);
            if known.is_none_or(|known| !known.is_same(&value)) {
                cells.push((CellId::Name(name), value));
            }
        }
        Ok(cells)
    }

    /// What a DELETE leaves of a row.
    fn deleted(&self, table: &Table, old: &[Value<'static>]) -> Result<Deleted> {
        let Some(ms) = self.ts_ms.filter(|_| table.wide.versions.is_some()) else {
            return Ok(Deleted::Gone);
        };
        let mut timeline = Timeline::of(table, old)?;
        if timeline.row_ms <= ms {
            return Ok(Deleted::Gone);
        }
        let before = timeline.deletion.filter(|one| self.counts(*one));
        timeline.deletion = Some(self.deletion(ms, before));
        let loses_any = timeline.forget_until(ms);
        let mut kept = old.to_vec();
        timeline.store(table, &mut kept)?;
        Ok(Deleted::Kept(kept, loses_any))
    }

    /// A deletion as of a time, which may come behind another one.
    fn deletion(&self, ms: u64, before: Option<Deletion>) -> Deletion {
        let until_ms = self.clock_ms.saturating_add(DELETION_KEPT_MS);
        match before {
            Some(before) => Deletion {
                ms: ms.max(before.ms),
                until_ms: until_ms.max(before.until_ms),
            },
            None => Deletion { ms, until_ms },
        }
    }

    /// The deletion that a row leaves which is gone.
    pub(super) fn deletion_of(&self, table: &Table, old: &[Value<'static>]) -> Result<Deletion> {
        let timeline = Timeline::of(table, old)?;
        let before = timeline.deletion.filter(|one| self.counts(*one));
        let ms = self.ts_ms.unwrap_or_else(|| self.now_ms());
        Ok(self.deletion(ms.max(timeline.row_ms), before))
    }
}

/// The value under a name, in order of names.
fn find<'c>(cells: &'c [(String, Value<'static>)], name: &str) -> Option<&'c Value<'static>> {
    let at = cells.binary_search_by(|(known, _)| known.as_str().cmp(name));
    cells.get(at.ok()?).map(|(_, value)| value)
}

/// A write that is not the newest of its row does not change when the row ends.
fn keep_end(table: &Table, old: Option<&[Value<'static>]>, new: &mut [Value<'static>]) {
    let mut columns = table.columns.iter();
    let idx = columns.position(|column| column.place == ColumnPlace::Expiry);
    if let (Some(idx), Some(old)) = (idx, old)
        && let (Some(slot), Some(end)) = (new.get_mut(idx), old.get(idx))
    {
        *slot = end.clone();
    }
}

impl Changer<'_> {
    /// The row after a write: see [`Dating::written`]. `None`, with a warning, when a deletion hides
    /// it.
    pub(super) fn written(
        &self,
        before: Before<'_>,
        new: Vec<Value<'static>>,
        names: &dyn Fn(usize) -> bool,
    ) -> Result<Option<Vec<Value<'static>>>> {
        let written = self.dating.written((self.table, before), new, names)?;
        if written.is_none() {
            let warnings = &self.env.ctx.warnings;
            let name = &self.table.name;
            warnings.add(WarningLevel::Warning, Code::HiddenWrite, || {
                format!(
                    "A row of table '{name}' was deleted as of a later time than the statement's: \
                     nothing of it is seen, and nothing was written"
                )
            });
        }
        Ok(written)
    }

    /// Whether a write is dated by a hint: then it is one even if no value changes.
    pub(super) fn is_dated(&self) -> bool {
        self.dating.ts_ms.is_some()
    }

    /// Whether a row was written behind the time that a hint gives the statement.
    pub(super) fn is_written_since(&self, old: &[Value<'static>]) -> Result<bool> {
        match self.dating.ts_ms {
            Some(ms) if self.table.wide.versions.is_some() => {
                Ok(ms < Timeline::of(self.table, old)?.row_ms)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Deletes a row as far as it was written up to the time of the statement; whether that changed
    /// anything.
    pub(super) async fn delete_row(
        &mut self,
        key: &crate::kv::Key,
        old: &[Value<'static>],
    ) -> Result<bool> {
        match self.dating.deleted(self.table, old)? {
            Deleted::Gone => self.change(key, Some(old), None).await.map(|()| true),
            Deleted::Kept(kept, loses_any) => {
                self.change(key, Some(old), Some(&kept)).await?;
                Ok(loses_any)
            }
        }
    }

    /// Reads the deletions of rows that may not be there.
    pub(super) async fn read_deletions(&mut self, keys: &[crate::kv::Key]) -> Result<()> {
        let Some(space) = self.table.deletions_space().map(crate::kv::Space) else {
            return Ok(());
        };
        let records = self.transaction.view().multi_get(space, keys).await;
        let records = records.map_err(unreadable_entry)?;
        for (key, record) in keys.iter().zip(records) {
            if let Some(record) = record {
                let deletion = timeline::deletion_of(&record)?;
                self.deletions.insert(key.clone(), deletion);
            }
        }
        Ok(())
    }

    /// Keeps the deletion of a row in step with its change.
    pub(super) fn note_deletion(
        &mut self,
        key: &crate::kv::Key,
        (old, is_there): (Option<&[Value<'static>]>, bool),
    ) -> Result<()> {
        let Some(space) = self.table.deletions_space().map(crate::kv::Space) else {
            return Ok(());
        };
        match (old, is_there) {
            (Some(old), false) => {
                let deletion = self.dating.deletion_of(self.table, old)?;
                let record = timeline::record_of(deletion)?;
                self.writes.put(space, key.clone(), record);
                self.deletions.insert(key.clone(), deletion);
            }
            (None, true) => {
                // The row has it from now on.
                if self.deletions.remove(key).is_some() {
                    self.writes.delete(space, key.clone());
                }
            }
            (Some(_), true) | (None, false) => {}
        }
        Ok(())
    }
}
