//! The index that would make a refused statement keyed, as a `CREATE INDEX` that runs as printed.
//!
//! Columns compared for equality come first, one with a range last (the rule of the leftmost
//! match). The index is proposed only when `derive`, given it, bounds the rows.

use super::access::Request;
use super::cut::KeyParts;
use super::derive::{self, Alternatives, Derived, Keys};
use super::span::Span;
use super::text::{self, quote_name};
use crate::catalog::{KeyPart, Table};
use crate::codec::key::Direction;
use crate::types::ColumnType;

/// Characters of an index name.
const NAME_CHARS_MAX: usize = 64;
/// Columns of an index that is proposed. More of them seldom narrow what is read.
const COLUMNS_MAX: usize = 4;

/// The `CREATE INDEX` that makes the statement keyed, if there is one.
pub(super) fn index(request: &Request<'_>, derived: &Derived<'_>) -> Option<String> {
    let table = request.table;
    let columns = candidates(&derived.conditions, table);
    let ascending = |column_idx: &usize| KeyPart {
        column_idx: *column_idx,
        direction: Direction::Asc,
    };
    let parts: Vec<KeyPart> = columns.iter().map(ascending).collect();
    let key = KeyParts {
        columns: &table.columns,
        parts: &parts,
    };
    let tried = derive::derive(key, derived.conjuncts, u64::MAX, request.ctx);
    let is_keyed = match &tried.keys {
        Keys::Nothing | Keys::TooMany(_) => false,
        Keys::Spans(spans) => !spans.iter().any(Span::is_all),
    };
    // An index with these columns that is there already is no advice: it cannot be read now.
    let mut whole = table
        .indexes
        .iter()
        .filter(|index| index.computed.filter.is_none());
    let is_there = whole.any(|index| {
        let parts = index.parts.iter().map(|part| part.column_idx);
        parts.take(columns.len()).eq(columns.iter().copied())
    });
    (is_keyed && !is_there).then(|| statement(request, &columns))
}

/// Columns of the index: those with equality, then one with a range.
fn candidates(conditions: &[Alternatives<'_>], table: &Table) -> Vec<usize> {
    let (mut equal, mut ranged) = (Vec::new(), Vec::new());
    for condition in conditions {
        let Some((first, rest)) = condition.branches.split_first() else {
            continue;
        };
        for constraint in &first.constraints {
            let column_idx = constraint.column_idx;
            let mut others = rest.iter().map(|branch| {
                let mut constraints = branch.constraints.iter();
                constraints.find(|other| other.column_idx == column_idx)
            });
            if others.clone().any(|other| other.is_none()) || !is_indexable(table, column_idx) {
                continue;
            }
            let is_range = constraint.domain.counts().1 != 0
                || others.any(|other| other.is_some_and(|other| other.domain.counts().1 != 0));
            let list = if is_range { &mut ranged } else { &mut equal };
            if !list.contains(&column_idx) {
                list.push(column_idx);
            }
        }
    }
    ranged.retain(|column_idx| !equal.contains(column_idx));
    equal.truncate(COLUMNS_MAX - 1);
    equal.extend(ranged.first());
    equal
}

/// The name, cut to its length, with a number behind it when an index has it.
fn free_name(table: &Table, name: &str) -> String {
    let cut = |end: &str| {
        let kept = NAME_CHARS_MAX.saturating_sub(end.chars().count());
        name.chars()
            .take(kept)
            .chain(end.chars())
            .collect::<String>()
    };
    let numbered = (2..).map(|number: u32| cut(&format!("_{number}")));
    let mut names = std::iter::once(cut("")).chain(numbered);
    let free = names.find(|name| table.index_position(name).is_none());
    free.unwrap_or_default()
}

fn is_indexable(table: &Table, column_idx: usize) -> bool {
    let column = table.columns.get(column_idx);
    column.is_some_and(|column| !column.hidden && column.ty != ColumnType::Json)
}

fn statement(request: &Request<'_>, columns: &[usize]) -> String {
    let table = request.table;
    let plain = |column_idx: &usize| {
        let column = table.columns.get(*column_idx);
        column.map_or(String::new(), |column| column.name.clone())
    };
    let words: Vec<String> = columns.iter().map(plain).collect();
    let name = free_name(table, &format!("idx_{}_{}", table.name, words.join("_")));
    let quoted: Vec<String> = columns
        .iter()
        .map(|column_idx| text::column_name(table, *column_idx))
        .collect();
    let is_current = request.ctx.facts.database().as_deref() == Some(table.database.as_str());
    let database = if is_current {
        String::new()
    } else {
        format!("{}.", quote_name(&table.database))
    };
    format!(
        "CREATE INDEX {} ON {database}{} ({})",
        quote_name(&name),
        quote_name(&table.name),
        quoted.join(", ")
    )
}
