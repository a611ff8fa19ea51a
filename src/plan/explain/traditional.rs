//! FORMAT=TRADITIONAL: MySQL's twelve columns, one row per table.
//!
//! `rows` and `filtered` are NULL where nobody knows: there are no statistics of conditions.

use std::borrow::Cow;

use super::{Explained, Source, Statement, Step, column, merge_name};
use crate::catalog::Table;
use crate::plan::access::Access;
use crate::plan::fan_out::FanOut;
use crate::plan::verdict::Reason;
use crate::types::column_type::IntWidth;
use crate::types::{ColumnType, ResultColumn};

/// What MySQL says when MIN and MAX are read off the ends of keys.
pub(super) const OPTIMIZED_AWAY: &str = "Select tables optimized away";
/// Bytes of the longest character.
const CHAR_BYTES: u32 = 4;
/// A percentage, shown as MySQL shows it: `100.00`.
const FILTERED: ColumnType = ColumnType::Decimal {
    precision: 5,
    scale: 2,
};
/// Bytes of the length of a text of varying length.
const LENGTH_BYTES: u32 = 2;

pub(super) fn columns() -> Vec<ResultColumn> {
    let text = |chars: u32| ColumnType::Varchar {
        chars_max: Some(chars),
    };
    vec![
        column("id", ColumnType::BIGINT_UNSIGNED, true),
        column("select_type", text(19), false),
        column("table", text(64), true),
        column("partitions", text(4096), true),
        column("type", text(10), true),
        column("possible_keys", text(4096), true),
        column("key", text(64), true),
        column("key_len", text(4096), true),
        column("ref", text(4096), true),
        column("rows", ColumnType::BIGINT_UNSIGNED, true),
        column("filtered", FILTERED, true),
        column("Extra", text(255), true),
    ]
}

pub(super) fn row(explained: &Explained<'_>) -> Vec<Option<String>> {
    let mut row = vec![None; columns().len()];
    let mut set = |at: usize, value: Option<String>| {
        if let Some(cell) = row.get_mut(at) {
            *cell = value;
        }
    };
    set(0, Some("1".to_owned()));
    set(1, Some(explained.statement.select_type().to_owned()));
    let extra = extra(explained);
    if !extra.is_empty() {
        set(11, Some(extra.join("; ")));
    }
    let Some(source) = &explained.source else {
        if let Some(write) = &explained.write {
            set(2, Some(write.table.name.clone()));
            set(4, Some("ALL".to_owned()));
        }
        return row;
    };
    let Some(access_type) = source.access_type() else {
        return row;
    };
    access_cells(source, access_type, &mut row);
    row
}

/// What is shown of the access of a table, in its cells.
pub(super) fn access_cells(source: &Source<'_>, access_type: &str, row: &mut [Option<String>]) {
    let mut set = |at: usize, value: Option<String>| {
        if let Some(cell) = row.get_mut(at) {
            *cell = value;
        }
    };
    set(2, Some(source.alias.to_owned()));
    set(4, Some(access_type.to_owned()));
    set(9, source.rows().map(|rows| rows.to_string()));
    let is_exact = source.plan.residual.is_none();
    set(10, is_exact.then(|| "100.00".to_owned()));
    if matches!(source.plan.access, Access::FullScan) {
        return;
    }
    let possible = source.possible_keys();
    set(5, (!possible.is_empty()).then(|| possible.join(",")));
    set(6, Some(source.key_name().into_owned()));
    set(7, key_len(source).map(|bytes| bytes.to_string()));
    if matches!(access_type, "const" | "eq_ref" | "ref") {
        set(8, Some(refs(source).join(",")));
    }
}

/// What the parts of the key are compared with.
fn refs(source: &Source<'_>) -> Vec<String> {
    let spans = source.spans();
    let values = spans.first().and_then(|span| span.point());
    let used = 0..source.plan.parts_used;
    let of = |position| match (values.and_then(|values| values.get(position)), source.names) {
        (Some(value), Some(names)) => names.name_of(value).map(ToString::to_string),
        (Some(_) | None, _) => None,
    };
    used.map(|position| of(position).unwrap_or_else(|| "const".to_owned()))
        .collect()
}

/// The last column.
fn extra(explained: &Explained<'_>) -> Vec<Cow<'static, str>> {
    let Some(source) = &explained.source else {
        return match explained.statement {
            Statement::Select => vec![Cow::Borrowed("No tables used")],
            Statement::Update
            | Statement::Delete
            | Statement::Insert
            | Statement::Replace
            | Statement::Upsert => Vec::new(),
        };
    };
    let mut extra = table_extra(source);
    if source.access_type().is_none() {
        return extra;
    }
    let mut steps = explained.steps.iter();
    if steps.clone().any(is_held) {
        extra.push(Cow::Borrowed("Using temporary"));
    }
    if steps.any(|step| matches!(step, Step::Sort { .. })) {
        extra.push(Cow::Borrowed("Using filesort"));
    }
    extra
}

/// What is said of a table, whatever happens to its rows.
pub(super) fn table_extra(source: &Source<'_>) -> Vec<Cow<'static, str>> {
    if let Some(message) = empty_message(source) {
        return vec![Cow::Borrowed(message)];
    }
    if let Access::Ends(_) | Access::Count(_) = &source.plan.access {
        return vec![Cow::Borrowed(OPTIMIZED_AWAY)];
    }
    let mut extra = Vec::new();
    if let Access::Merge(merge) = &source.plan.access {
        let (name, keys) = (merge_name(merge), source.key_name());
        extra.push(Cow::Owned(format!("Using {name}({keys})")));
    }
    if source.plan.residual.is_some() {
        extra.push(Cow::Borrowed("Using where"));
    }
    if source.is_skipping() {
        extra.push(Cow::Borrowed("Using index for skip scan"));
    }
    let lanes = source.plan.fan_out.as_ref().and_then(FanOut::merged_count);
    if let Some(lanes) = lanes {
        extra.push(Cow::Owned(format!("Using ordered merge({lanes})")));
    }
    if source.plan.reverse {
        extra.push(Cow::Borrowed("Backward index scan"));
    }
    if source.index().is_some_and(|(access, _)| access.covering) {
        extra.push(Cow::Borrowed("Using index"));
    }
    extra
}

/// What MySQL says when nothing is read.
pub(super) fn empty_message(source: &Source<'_>) -> Option<&'static str> {
    if !matches!(source.plan.access, Access::Nothing) {
        return None;
    }
    let verdicts = source.plan.verdicts(source.table);
    let is_limit = verdicts
        .iter()
        .any(|verdict| verdict.reason == Reason::NoRowsWanted);
    Some(if is_limit {
        "Zero limit"
    } else {
        "Impossible WHERE"
    })
}

/// Whether a step holds rows together that it has seen.
pub(super) fn is_held(step: &Step<'_>) -> bool {
    match step {
        Step::Aggregate { keys, in_order, .. } => !keys.is_empty() && !in_order,
        Step::Distinct | Step::Windows(_) => true,
        Step::Having(_) | Step::Sort { .. } | Step::Limit { .. } => false,
    }
}

/// MySQL's length of the key parts that are used; `None` for a text without declared length.
pub(super) fn key_len(source: &Source<'_>) -> Option<u32> {
    let table: &Table = source.table;
    if let Access::Merge(_) = &source.plan.access {
        return None;
    }
    let index = source.index();
    let parts = source.used_parts().into_iter();
    parts
        .map(|part| {
            let column = match index {
                Some((_, index)) => index.column(table, part.column_idx)?,
                None => table.columns.get(part.column_idx)?,
            };
            // A column that may be NULL takes one byte more.
            Some(type_bytes(&column.ty)? + u32::from(column.nullable))
        })
        .sum()
}

fn type_bytes(ty: &ColumnType) -> Option<u32> {
    Some(match ty {
        ColumnType::Boolean | ColumnType::Year => 1,
        ColumnType::Int { width, .. } => match width {
            IntWidth::Tiny => 1,
            IntWidth::Small => 2,
            IntWidth::Medium => 3,
            IntWidth::Int => 4,
            IntWidth::Big => 8,
        },
        ColumnType::Float => 4,
        ColumnType::Double => 8,
        ColumnType::Decimal { precision, scale } => {
            digits_bytes(precision.saturating_sub(*scale)) + digits_bytes(*scale)
        }
        ColumnType::Char { chars_max } => chars_max.saturating_mul(CHAR_BYTES),
        ColumnType::Varchar { chars_max } => (*chars_max)?
            .saturating_mul(CHAR_BYTES)
            .saturating_add(LENGTH_BYTES),
        ColumnType::Binary { bytes } => *bytes,
        ColumnType::Varbinary { bytes_max } => (*bytes_max)?.saturating_add(LENGTH_BYTES),
        ColumnType::Date => 3,
        ColumnType::Time { fsp } => 3 + fraction_bytes(*fsp),
        ColumnType::Datetime { fsp } => 5 + fraction_bytes(*fsp),
        ColumnType::Timestamp { fsp } => 4 + fraction_bytes(*fsp),
        ColumnType::Enum(labels) => {
            if labels.len() < 256 {
                1
            } else {
                2
            }
        }
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Text(_)
        | ColumnType::Blob(_)
        | ColumnType::Json => {
            return None;
        }
    })
}

/// Nine digits take four bytes (MySQL manual, "Data Type Storage Requirements").
fn digits_bytes(digits: u8) -> u32 {
    let rest = u32::from(digits % 9).div_ceil(2);
    u32::from(digits / 9) * 4 + rest
}

fn fraction_bytes(fsp: u8) -> u32 {
    u32::from(fsp).div_ceil(2)
}
