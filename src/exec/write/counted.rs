//! The ids of the rows of an INSERT whose table counts them.
//!
//! Rows are gone through in their order, as MySQL does: ids that are made go on behind those that were
//! given before them in the same statement. Ids of one statement follow each other as far as
//! explicit ones let them, so that drivers can work out all of them from the first.

use std::ops::Range;

use super::Env;
use crate::catalog::Table;
use crate::error::Result;
use crate::exec::counters::Sequence;
use crate::types::coerce::{self, StoreMode};
use crate::types::{ColumnType, Value};

/// Puts an id wherever the counted column is `NULL`.
///
/// # Errors
/// 1467 when there are not so many; those of the engine.
pub(super) async fn fill(table: &Table, rows: &mut [Vec<Value<'static>>], env: &Env) -> Result<()> {
    let Some(sequence) = Sequence::of(table) else {
        return Ok(());
    };
    let counters = &env.ids.counters;
    let in_row = rows.iter().filter_map(|row| row.get(sequence.column_idx));
    let missing = in_row.filter(|value| value.is_null()).count();
    let mut missing = u64::try_from(missing).unwrap_or(u64::MAX);
    let mut run = Range::<u64>::default();
    let mut highest = 0;
    for row in rows {
        let Some(value) = row.get_mut(sequence.column_idx) else {
            continue;
        };
        if let Some(given) = explicit(value) {
            highest = given.max(highest);
            if run.start <= given {
                run.start = given.saturating_add(1).min(run.end);
            }
            continue;
        }
        if run.is_empty() {
            let wanted = (missing, highest);
            run = counters
                .take(env.engine.as_ref(), &sequence, wanted)
                .await?;
        }
        *value = sequence.value(run.start);
        run.start += 1;
        missing -= 1;
    }
    Ok(())
}

/// The ids that rows are written with, as far as a counter must pass them. What is not written does not
/// count: as in InnoDB, a row that is refused uses no ids up.
pub(super) struct Given {
    /// That of the table, and that which it is about to have.
    counts: Vec<Count>,
}

struct Count {
    sequence: Sequence,
    /// What values become first.
    becomes: Option<ColumnType>,
    highest: u64,
}

impl Given {
    /// None yet.
    pub(super) fn to(table: &Table) -> Given {
        let mut counts = Vec::new();
        let mut add = |sequence, becomes| {
            counts.push(Count {
                sequence,
                becomes,
                highest: 0,
            });
        };
        if let Some(sequence) = Sequence::of(table) {
            add(sequence, None);
        }
        if let Some(sequence) = Sequence::pledged(table) {
            let column = table.columns.get(sequence.column_idx);
            let pledged = column.and_then(|column| column.pledged());
            add(sequence, pledged.map(|pledged| pledged.ty.clone()));
        }
        Given { counts }
    }

    /// A row is written.
    pub(super) fn note(&mut self, row: &[Value<'_>]) {
        for count in &mut self.counts {
            count.highest = count.id_in(row).max(count.highest);
        }
    }

    /// Whether some counter is not behind these ids already.
    pub(super) fn is_news(&self, env: &Env) -> bool {
        let counters = &env.ids.counters;
        let mut counts = self.counts.iter();
        counts.any(|count| 0 < count.highest && counters.next(&count.sequence) <= count.highest)
    }

    /// Whether a row that meets another one in any of its keys has its id, too.
    pub(super) fn is_in_all_keys(&self, table: &Table) -> bool {
        let indexes = table.indexes.iter();
        let unique = indexes.filter(|index| index.unique && index.state.is_written());
        let mut keys = unique.map(|index| &index.parts).chain([&table.key]);
        keys.all(|parts| {
            let mut counts = self.counts.iter();
            counts.all(|count| {
                let mut parts = parts.iter();
                parts.any(|part| part.column_idx == count.sequence.column_idx)
            })
        })
    }

    /// Counts on behind the ids; to be done before the rows are committed.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) async fn pass(&self, env: &Env) -> Result<()> {
        for count in self.counts.iter().filter(|count| 0 < count.highest) {
            let counters = &env.ids.counters;
            let engine = env.engine.as_ref();
            counters
                .pass(engine, &count.sequence, count.highest)
                .await?;
        }
        Ok(())
    }
}

impl Count {
    /// 0 for what does not count.
    fn id_in(&self, row: &[Value<'_>]) -> u64 {
        let Some(value) = row.get(self.sequence.column_idx) else {
            return 0;
        };
        match &self.becomes {
            None => explicit(value).unwrap_or(0),
            Some(ty) => {
                let coerced = coerce::coerce(value.borrow(), ty, &StoreMode::STRICT);
                coerced.map_or(0, |coerced| explicit(&coerced.value).unwrap_or(0))
            }
        }
    }
}

/// Counts behind an id that an UPDATE has set: it may be one of an index, those of the primary key stay.
///
/// # Errors
/// Those of the engine.
pub(super) async fn pass_set(
    (table, env): (&Table, &Env),
    (old, new): (&[Value<'_>], &[Value<'_>]),
) -> Result<()> {
    let mut given = Given::to(table);
    for count in &mut given.counts {
        let id = count.id_in(new);
        if id != count.id_in(old) {
            count.highest = id;
        }
    }
    given.pass(env).await
}

/// What a proposed row has in the `AUTO_INCREMENT` column.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Id {
    /// 0 when there is no such column, or when it does not count.
    pub(super) number: u64,
    /// Whether it was made for the row.
    pub(super) is_made: bool,
}

/// The ids that a client is told of, which are those of rows that are there: one that was made for a row
/// that met another is nobody's. Source: MySQL manual, "Information Functions", `LAST_INSERT_ID()`, and
/// "Obtaining the Unique ID for the Last Inserted Row".
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The place of the column.
    column_idx: Option<usize>,
    /// The first id that was made for a row that was inserted, or 0.
    pub(super) first_made: u64,
    /// The id of the last row that was written with one that it was given or had, or 0.
    pub(super) last_other: u64,
}

impl Told {
    /// Of a table.
    pub(super) fn of(table: &Table) -> Told {
        let mut columns = table.columns.iter();
        Told {
            column_idx: columns.position(|column| column.auto_increment && !column.hidden),
            ..Told::default()
        }
    }

    /// The id in a row.
    pub(super) fn number(&self, row: &[Value<'_>]) -> u64 {
        let value = self.column_idx.and_then(|idx| row.get(idx));
        value.and_then(explicit).unwrap_or(0)
    }

    /// A row was inserted.
    pub(super) fn inserted(&mut self, id: Id) {
        if !id.is_made {
            self.last_other = id.number;
        } else if self.first_made == 0 {
            self.first_made = id.number;
        }
    }

    /// A proposed row was merged into one that was there: it has the id that was made for it only where
    /// the column is named.
    pub(super) fn merged(&mut self, id: Id, row: &[Value<'_>]) {
        if self.number(row) == id.number {
            self.inserted(id);
        } else {
            self.changed(row);
        }
    }

    /// A row that was there was changed to these values: as after an UPDATE, no id is a new one.
    pub(super) fn changed(&mut self, row: &[Value<'_>]) {
        self.last_other = self.number(row);
    }
}

/// The id that was given for a row, 0 when it does not count; `None` when one is to be made.
pub(super) fn explicit(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Null => None,
        Value::UInt(number) => Some(*number),
        Value::Int(number) => Some(u64::try_from(*number).unwrap_or(0)),
        Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => Some(0),
    }
}
