//! LOAD DATA.

use std::sync::Arc;

use super::scope::{Clause, Scope};
use super::source::Source;
use super::{Names, from, versions, view, write};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, LoadDuplicates};
use crate::sql::bound::{Hints, Insert, InsertKind, InsertSource, Load, LoadTarget};

pub(super) fn load(load: &ast::LoadData, names: &Names<'_>) -> Result<Load> {
    if view::find(&load.table, names).is_some() {
        return Err(Error::unsupported("LOAD DATA into a view"));
    }
    let table = from::find(&load.table, names)?;
    let mut columns = Vec::new();
    let source = Source::new(Arc::clone(&table), None);
    let given = load
        .targets
        .iter()
        .flatten()
        .filter_map(|target| match target {
            ast::LoadTarget::Column(name) => Some(name),
            ast::LoadTarget::Variable(_) => None,
        });
    let assigned = load.assignments.iter().map(|one| &one.column.column);
    write::meet_all(given.chain(assigned), (&source, &table), names)?;
    let targets = if let Some(targets) = &load.targets {
        bound_targets(targets, (&source, &mut columns), names)?
    } else {
        columns = source.shown();
        (0..columns.len()).map(LoadTarget::Column).collect()
    };
    let mut scope = Scope::new(*names, Some(source), Clause::FieldList);
    let mut assignments = Vec::with_capacity(load.assignments.len());
    for assignment in &load.assignments {
        let column_idx = write::assigned_column(&assignment.column, &scope)?;
        let value = write::assigned_value(assignment, column_idx, &mut scope)?;
        assignments.push((place_of(column_idx, &mut columns), value));
    }
    if !scope.subqueries.is_empty() {
        return Err(Error::unsupported("a subquery in LOAD DATA … SET"));
    }
    let kind = kind(load, names);
    if kind == InsertKind::Upsert {
        write::check_keys_named(&table, &columns)?;
    }
    Ok(Load {
        insert: Insert {
            table,
            kind,
            columns,
            source: InsertSource::Given,
            on_duplicate: Vec::new(),
            ttl_ms: None,
            ts_ms: None,
            hints: Hints::default(),
            subqueries: Vec::new(),
            parameters_count: 0,
        },
        targets,
        assignments,
    })
}

fn kind(load: &ast::LoadData, names: &Names<'_>) -> InsertKind {
    match load.on_duplicate {
        LoadDuplicates::Replace => InsertKind::Replace,
        LoadDuplicates::Ignore => InsertKind::InsertIgnore,
        // The client cannot be stopped in the middle of its file.
        LoadDuplicates::Error if load.local => InsertKind::InsertIgnore,
        LoadDuplicates::Error if names.mode.lindorm => InsertKind::Upsert,
        LoadDuplicates::Error => InsertKind::Insert,
    }
}

fn bound_targets(
    targets: &[ast::LoadTarget],
    (source, columns): (&Source, &mut Vec<usize>),
    names: &Names<'_>,
) -> Result<Vec<LoadTarget>> {
    let target = |target: &ast::LoadTarget| match target {
        ast::LoadTarget::Variable(name) => Ok(LoadTarget::Variable(name.clone())),
        ast::LoadTarget::Column(name) => {
            let undeclared = || source.table().and_then(|table| table.named_idx(name));
            let Some(column_idx) = source.column_idx(name).or_else(undeclared) else {
                return Err(Scope::new(*names, None, Clause::FieldList).unknown(name));
            };
            if let Some(table) = source.table() {
                versions::check_writable(table, column_idx)?;
            }
            if columns.contains(&column_idx) {
                let text = format!("Column '{name}' specified twice");
                return Err(Error::new(Code::ColumnSpecifiedTwice, text));
            }
            Ok(LoadTarget::Column(place_of(column_idx, columns)))
        }
    };
    targets.iter().map(target).collect()
}

/// Where the values of a column are in a row, which it joins if need be.
fn place_of(column_idx: usize, columns: &mut Vec<usize>) -> usize {
    let place = columns.iter().position(|one| *one == column_idx);
    place.unwrap_or_else(|| {
        columns.push(column_idx);
        columns.len() - 1
    })
}
