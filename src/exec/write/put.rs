//! What an INSERT puts in the place of an old row, or makes of it: dated, and with its end.

use std::borrow::Cow;

use super::duplicate_entry;
use super::expiry::Renewal;
use super::insert::{Counts, Inserter, Proposed};
use super::row::{self, Stored};
use super::versions::Before;
use crate::catalog::{ColumnPlace, Table};
use crate::error::Result;
use crate::exec::row::PairRow;
use crate::sql::bind;
use crate::sql::bound::InsertKind;
use crate::sql::eval::eval_exact;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::Value;

impl<'a> Inserter<'a> {
    /// Puts a row in the place of `old`, all of it or what is named; whether it is seen.
    pub(super) async fn write(
        &mut self,
        row: &Proposed,
        old: Option<&[Value<'static>]>,
    ) -> Result<bool> {
        let values = self.written(row, old)?;
        if let Some(values) = &values {
            self.changer.change(&row.key, old, Some(values)).await?;
        }
        Ok(values.is_some())
    }

    /// The row after `ON DUPLICATE KEY UPDATE`.
    pub(super) fn updated(
        &self,
        old: &[Value<'static>],
        proposed: &Proposed,
    ) -> Result<Vec<Value<'static>>> {
        let mut new = old.to_vec();
        for (column_idx, expr) in &self.insert.on_duplicate {
            let pair = PairRow {
                old: &new,
                new: &proposed.values,
            };
            let value = eval_exact(expr, &pair, &self.env().ctx)?.into_owned();
            let column = self.insert.changed_column(*column_idx);
            let Some(column) = column.filter(|_| !expr.is_column(*column_idx)) else {
                continue;
            };
            let at = Stored {
                ctx: &self.env().ctx,
                row_number: proposed.number,
                lenient: self.is_lenient() && !(value.is_null() && self.refuses_null()),
            };
            let value = at.coerce(value, column)?;
            if let Some(slot) = new.get_mut(*column_idx) {
                *slot = value;
            }
        }
        let is_same = row::same(&new, old);
        if !is_same {
            let is_assigned = |idx| self.insert.updates(idx);
            row::touch(&self.insert.table, &mut new, &is_assigned, &self.env().ctx)?;
        }
        if !is_same || self.changer.is_dated() {
            self.renewal().stamp(&self.insert.table, &mut new)?;
        }
        Ok(new)
    }

    /// `id = VALUES(id)` assigns another id where the row was met by another key than the primary one.
    pub(super) fn check_key_stays(
        &self,
        old: &[Value<'static>],
        proposed: &Proposed,
    ) -> Result<()> {
        let moves = |(idx, expr): &&(usize, Expr)| {
            let is_key = self.insert.changed_column(*idx).is_none();
            let is_proposed = matches!(expr.kind, ExprKind::Column(from) if from != *idx);
            let (stays, comes) = (old.get(*idx), proposed.values.get(*idx));
            let differs = |(a, b): (&Value<'_>, &Value<'_>)| a.total_cmp(b).is_ne();
            is_key && is_proposed && stays.zip(comes).is_some_and(differs)
        };
        match self.insert.on_duplicate.iter().find(moves) {
            Some((idx, _)) => Err(bind::key_assigned(&self.insert.table, *idx)),
            None => Ok(()),
        }
    }

    /// The row in the place of `old`, as it is dated; `None`, with a warning, when a deletion hides it.
    pub(super) fn written<'r>(
        &self,
        row: &'r Proposed,
        old: Option<&[Value<'static>]>,
    ) -> Result<Option<Cow<'r, [Value<'static>]>>> {
        if self.table().wide.versions.is_none() {
            return Ok(Some(Cow::Borrowed(&row.values)));
        }
        let before = Before {
            values: old,
            deletion: self.changer.deletions.get(&row.key).copied(),
        };
        let replaces = self.insert.kind == InsertKind::Replace;
        let names = |idx| replaces || self.insert.columns.contains(&idx);
        let written = self.changer.written(before, row.values.clone(), &names)?;
        Ok(written.map(Cow::Owned))
    }

    /// REPLACE, which removes the rows of all collisions; as a DELETE as of its time would, so that what
    /// was written since is in the way.
    pub(super) async fn replace(
        &mut self,
        row: &Proposed,
        old: Option<Vec<Value<'static>>>,
        counts: &mut Counts,
    ) -> Result<()> {
        self.given.note(&row.values);
        let keeps_versions = self.table().wide.versions.is_some();
        // Where versions are kept, equal values are one more.
        let is_same =
            !keeps_versions && old.as_ref().is_some_and(|old| row::same(&row.values, old));
        let Some(values) = self.written(row, old.as_deref())? else {
            return Ok(());
        };
        let mut deleted = 0;
        // What comes late may not be what the row has then, and stands in nobody's way.
        while let Some(met) = self.changer.collision(&row.key, &values).await? {
            let other = self.changer.row_of(&met).await?;
            if self.changer.is_written_since(&other)? {
                let (at, key) = (met.space, &met.entry_key);
                let zone = &self.changer.env.ctx.zone;
                return Err(duplicate_entry(self.table(), at, key, zone));
            }
            self.changer
                .change(&met.row_key, Some(&other), None)
                .await?;
            deleted += 1;
        }
        // Where the primary key is the only one, MySQL sees that the row stays as it is.
        if old.is_some() && (!is_same || has_unique_index(self.table())) {
            deleted += 1;
        }
        counts.duplicates += deleted;
        counts.affected += deleted + 1;
        counts.told.inserted(row.id);
        if is_same {
            return Ok(());
        }
        self.changer
            .change(&row.key, old.as_deref(), Some(&values))
            .await
    }

    /// The row after `ON DUPLICATE KEY UPDATE`, as it is dated; the old one when nothing changes.
    pub(super) fn dated(
        &self,
        old: &[Value<'static>],
        new: Vec<Value<'static>>,
    ) -> Result<Vec<Value<'static>>> {
        if !self.changer.is_dated() && row::same(&new, old) {
            return Ok(new);
        }
        let before = Before {
            values: Some(old),
            deletion: None,
        };
        let names = |idx| self.insert.updates(idx);
        let written = self.changer.written(before, new, &names)?;
        Ok(written.unwrap_or_else(|| old.to_vec()))
    }

    pub(super) fn renewal(&self) -> Renewal<'a> {
        Renewal {
            env: self.env(),
            ttl_ms: self.insert.ttl_ms,
            ts_ms: self.insert.ts_ms,
        }
    }
}

/// Whether a column holds what the server keeps of a row beside its values.
pub(super) fn is_kept_beside(place: ColumnPlace) -> bool {
    match place {
        ColumnPlace::Expiry | ColumnPlace::Versions | ColumnPlace::Stamp => true,
        ColumnPlace::Row | ColumnPlace::Named | ColumnPlace::Others => false,
    }
}

fn has_unique_index(table: &Table) -> bool {
    let mut indexes = table.indexes.iter();
    indexes.any(|index| index.unique && index.state.is_written())
}
