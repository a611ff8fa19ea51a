//! An ALTER TABLE that failed after its first part was published takes that part back.
//!
//! Others may have changed the table since, and written to it. So nothing is put back whole: what this
//! statement changed, and nobody after it, becomes what it was before; everything else stays.
//!
//! ```text
//!  before      made by it     now            after
//!  x           x              anything       now
//!  x           y              y              x
//!  x           y              z              z: somebody else has changed it since
//! ```

use super::{indexes, is_same};
use crate::catalog::{Column, ColumnDefault, ColumnPlace, Include, Table};
use crate::error::Result;
use crate::sql::computed;

/// Takes back what turned the definition `before` into the one that was `made`: columns, options and
/// comments. New indexes are the caller's, and gone already. Columns stay when one of them got another
/// type or takes no `NULL` any more: what was written since may be of the new form. But what the
/// statement declared beside the types goes even then: the key that a column is counted by may be one
/// of those that are gone. How long rows and versions stay is none of it: that is said when nothing can
/// fail any more.
///
/// # Errors
/// An internal error.
pub fn take_back(table: &mut Table, (before, made): (&Table, &Table)) -> Result<()> {
    undo(&mut table.comment, (&before.comment, &made.comment));
    undo_options(table, (before, made));
    // An undeclared name that no index said is no column that was changed.
    let mut declared = before.columns.iter();
    if declared.any(|column| column.place != ColumnPlace::Named && has_other_form(column, made)) {
        for column in &mut table.columns {
            let old = before.columns.iter().find(|old| is_same(old, column));
            if let (Some(old), Some(new)) = (old, find(made, column)) {
                undo_column(column, (old, new));
            }
        }
        return Ok(());
    }
    let mut placed = Vec::with_capacity(table.columns.len());
    for (idx, column) in table.columns.iter().enumerate() {
        let is_added = find(made, column).is_some() && find(before, column).is_none();
        if !is_added || is_needed(table, idx)? {
            placed.push((Some(idx), column.clone()));
        }
    }
    undo_names(&mut placed, table, (before, made))?;
    for (_, column) in &mut placed {
        if let (Some(old), Some(new)) = (find(before, column), find(made, column)) {
            undo_column(column, (old, new));
        }
    }
    undo_order(&mut placed, (before, made));
    table.reshape(placed)
}

/// A column of the list in the making, and its position in the table.
type Placed = (Option<usize>, Column);

fn find<'t>(table: &'t Table, column: &Column) -> Option<&'t Column> {
    table.columns.iter().find(|found| found.id == column.id)
}

/// Whether a column has become one that holds other values.
fn has_other_form(column: &Column, made: &Table) -> bool {
    find(made, column).is_none_or(|new| new.ty != column.ty || new.nullable != column.nullable)
}

/// Makes `now` what it was before, if it is what was made of that.
fn undo<T: PartialEq + Clone>(now: &mut T, (before, made): (&T, &T)) {
    if before != made && now == made {
        now.clone_from(before);
    }
}

fn undo_options(table: &mut Table, (before, made): (&Table, &Table)) {
    let value_in = |table: &Table, name: &str| {
        let mut options = table.options.iter();
        options.find_map(|(known, value)| (known == name).then(|| value.clone()))
    };
    let mut options = std::mem::take(&mut table.options);
    options.retain_mut(|(name, value)| {
        let mut now = Some(value.clone());
        undo(&mut now, (&value_in(before, name), &value_in(made, name)));
        now.map(|now| *value = now).is_some()
    });
    // Nobody takes options away but `DYNAMIC_COLUMNS`: that one comes back.
    for (name, value) in &before.options {
        let is_missing =
            |options: &[(String, String)]| options.iter().all(|(known, _)| known != name);
        if is_missing(&made.options) && is_missing(&options) {
            options.push((name.clone(), value.clone()));
        }
    }
    table.options = options;
}

/// Whether the table cannot be without a column, as somebody else relies on it by now.
fn is_needed(table: &Table, column_idx: usize) -> Result<bool> {
    let Some(column) = table.columns.get(column_idx) else {
        return Ok(false);
    };
    let ttl = table.wide.ttl.as_ref();
    let ttl_column = ttl.and_then(|ttl| ttl.column.as_ref());
    if matches!(column.place, ColumnPlace::Expiry | ColumnPlace::Versions)
        || ttl_column.is_some_and(|ttl| ttl.id == column.id)
        || table.key_position(column_idx).is_some()
    {
        return Ok(true);
    }
    for index in &table.indexes {
        let is_included =
            matches!(&index.include, Include::Columns(columns) if columns.contains(&column_idx));
        if is_included
            || indexes::has_column(table, index, column_idx)
            || computed::columns_in_text(table, index)?.contains(&column_idx)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives columns back their names: all, or none when one of them is taken or an index names the column
/// in an expression by now.
fn undo_names(
    placed: &mut [Placed],
    table: &Table,
    (before, made): (&Table, &Table),
) -> Result<()> {
    let mut names: Vec<String> = Vec::with_capacity(placed.len());
    for (origin, column) in &*placed {
        let mut name = column.name.clone();
        if let (Some(old), Some(new)) = (find(before, column), find(made, column)) {
            undo(&mut name, (&old.name, &new.name));
        }
        let is_other = name != column.name;
        if is_other && let Some(idx) = origin {
            for index in &table.indexes {
                if computed::columns_in_text(table, index)?.contains(idx) {
                    return Ok(());
                }
            }
        }
        if names.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
            return Ok(());
        }
        names.push(name);
    }
    for ((_, column), name) in placed.iter_mut().zip(names) {
        column.name = name;
    }
    Ok(())
}

/// Gives a column back what is declared beside its type; of another type it takes no more than its
/// comment.
fn undo_column(now: &mut Column, (before, made): (&Column, &Column)) {
    undo(&mut now.comment, (&before.comment, &made.comment));
    if before.auto_increment {
        undo_counting(now, (before, made));
    } else if made.auto_increment {
        (now.auto_increment, now.counted_from) = (false, None);
    }
    if before.ty != now.ty {
        return;
    }
    undo(
        &mut now.on_update_now,
        (&before.on_update_now, &made.on_update_now),
    );
    if !same_default(&before.default, &made.default) && same_default(&now.default, &made.default) {
        now.default.clone_from(&before.default);
    }
}

fn undo_counting(now: &mut Column, (before, made): (&Column, &Column)) {
    if before.ty != now.ty {
        return;
    }
    let counts = |column: &Column| (column.auto_increment, column.counted_from);
    let mut counting = counts(now);
    undo(&mut counting, (&counts(before), &counts(made)));
    (now.auto_increment, now.counted_from) = counting;
}

fn same_default(left: &ColumnDefault, right: &ColumnDefault) -> bool {
    match (left, right) {
        (ColumnDefault::None, ColumnDefault::None) | (ColumnDefault::Now, ColumnDefault::Now) => {
            true
        }
        (ColumnDefault::Constant(left), ColumnDefault::Constant(right)) => {
            left.total_cmp(right).is_eq()
        }
        (ColumnDefault::None | ColumnDefault::Now | ColumnDefault::Constant(_), _) => false,
    }
}

/// Puts columns that were moved back in their order, if nobody has moved them since: the places of the
/// others stay as they are.
fn undo_order(placed: &mut Vec<Placed>, (before, made): (&Table, &Table)) {
    let is_old = |column: &Column| find(before, column).is_some();
    let is_there = |column: &&Column| placed.iter().any(|(_, now)| now.id == column.id);
    let old_ids = |columns: &[Column]| {
        let old = columns.iter().filter(|column| is_old(column));
        old.filter(is_there)
            .map(|column| column.id)
            .collect::<Vec<_>>()
    };
    let (before_ids, made_ids) = (old_ids(&before.columns), old_ids(&made.columns));
    let now_ids = placed.iter().map(|(_, column)| column);
    let now_ids: Vec<_> = now_ids
        .filter(|column| is_old(column))
        .map(|column| column.id)
        .collect();
    if before_ids == made_ids || now_ids != made_ids {
        return;
    }
    let (old, others): (Vec<Placed>, Vec<Placed>) = placed
        .iter()
        .cloned()
        .partition(|(_, column)| is_old(column));
    let mut others = others.into_iter();
    let mut wanted = before_ids.into_iter();
    let mut next_old = || {
        let id = wanted.next()?;
        old.iter().find(|(_, column)| column.id == id).cloned()
    };
    let slots: Vec<bool> = placed.iter().map(|(_, column)| is_old(column)).collect();
    let ordered = slots
        .into_iter()
        .filter_map(|is_old| if is_old { next_old() } else { others.next() });
    *placed = ordered.collect();
}
