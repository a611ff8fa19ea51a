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
use crate::types::Value;

/// Puts an id wherever the counted column is `NULL`; the first of them, or 0.
///
/// # Errors
/// 1467 when there are not so many; those of the engine.
pub(super) async fn fill(
    table: &Table,
    rows: &mut [Vec<Value<'static>>],
    env: &Env,
) -> Result<u64> {
    let Some(sequence) = Sequence::of(table) else {
        return Ok(0);
    };
    let counters = &env.ids.counters;
    let in_row = rows.iter().filter_map(|row| row.get(sequence.column_idx));
    let missing = in_row.filter(|value| value.is_null()).count();
    let mut missing = u64::try_from(missing).unwrap_or(u64::MAX);
    let mut run = Range::<u64>::default();
    let (mut highest, mut first) = (0, 0);
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
        if first == 0 {
            first = run.start;
        }
        run.start += 1;
        missing -= 1;
    }
    counters
        .pass(env.engine.as_ref(), &sequence, highest)
        .await?;
    Ok(first)
}

/// Counts behind an id that an UPDATE has set: it may be one of an index, those of the primary key stay.
///
/// # Errors
/// Those of the engine.
pub(super) async fn pass_set(
    (table, env): (&Table, &Env),
    (old, new): (&[Value<'_>], &[Value<'_>]),
) -> Result<()> {
    let Some(sequence) = Sequence::of(table) else {
        return Ok(());
    };
    let (old, new) = (old.get(sequence.column_idx), new.get(sequence.column_idx));
    let id_of = |value: Option<&Value<'_>>| value.and_then(explicit).unwrap_or(0);
    let id = id_of(new);
    if id == id_of(old) {
        return Ok(());
    }
    let counters = &env.ids.counters;
    counters.pass(env.engine.as_ref(), &sequence, id).await
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
