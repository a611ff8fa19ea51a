//! Common table expressions: which names `WITH` gives to queries, and recursive ones.
//!
//! A common table expression is bound anew wherever it is named, with the names that it could see
//! where it was defined. Source: MySQL manual, "WITH (Common Table Expressions)".

use std::cell::Cell;
use std::sync::Arc;

use super::{Names, query};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{Cte, QueryBody, SetOperator, TableName};
use crate::sql::bound::{Recursive, Round};
use crate::types::ResultColumn;

/// One name of a `WITH`, and those that were given before it.
#[derive(Debug)]
pub struct CteScope<'a> {
    pub(super) cte: &'a Cte,
    /// Whether `RECURSIVE` was written.
    is_recursive: bool,
    pub(super) outer: Option<&'a CteScope<'a>>,
    /// While its own later rounds are bound: what its name means there.
    rounds: Option<Rounds>,
}

/// What the name of a recursive query means within itself.
#[derive(Debug)]
struct Rounds {
    round: Arc<Round>,
    columns: Vec<ResultColumn>,
    /// Whether it was named.
    is_used: Cell<bool>,
}

impl<'a> CteScope<'a> {
    /// A name after those of `outer`.
    pub(super) fn new(
        cte: &'a Cte,
        is_recursive: bool,
        outer: Option<&'a CteScope<'a>>,
    ) -> CteScope<'a> {
        CteScope {
            cte,
            is_recursive,
            outer,
            rounds: None,
        }
    }

    /// The rows of the last round, when this is the name of a recursive query within itself.
    pub(super) fn round(&self) -> Option<Arc<Round>> {
        let rounds = self.rounds.as_ref()?;
        rounds.is_used.set(true);
        Some(Arc::clone(&rounds.round))
    }

    /// The columns of such rows.
    pub(super) fn columns(&self) -> &[ResultColumn] {
        self.rounds.as_ref().map_or(&[], |rounds| &rounds.columns)
    }
}

/// The common table expression of that name.
pub(super) fn find<'a>(
    name: &TableName,
    mut scope: Option<&'a CteScope<'a>>,
) -> Option<&'a CteScope<'a>> {
    if name.database.is_some() {
        return None;
    }
    while let Some(here) = scope {
        if here.cte.name.eq_ignore_ascii_case(&name.name) {
            return Some(here);
        }
        scope = here.outer;
    }
    None
}

/// Whether one of the names means it.
pub(super) fn is_among(cte: &Cte, mut scope: Option<&CteScope<'_>>) -> bool {
    while let Some(here) = scope {
        if std::ptr::eq(here.cte, cte) {
            return true;
        }
        scope = here.outer;
    }
    false
}

/// The recursive query of that name; `None` when it does not refer to itself.
///
/// # Errors
/// Those of its two parts; 1235 for a recursion of another form.
pub(super) fn recursive(scope: &CteScope<'_>, names: &Names<'_>) -> Result<Option<Recursive>> {
    let cte = scope.cte;
    let QueryBody::SetOperation {
        operator: SetOperator::Union,
        all,
        sides,
    } = &cte.select.body
    else {
        return Ok(None);
    };
    if !scope.is_recursive || !cte.select.ctes.is_empty() {
        return Ok(None);
    }
    let outside = Names {
        ctes: scope.outer,
        ..*names
    };
    // A first part that names the query itself has no such table, and is told so.
    let first = query::query(&sides.0, &outside, None)?;
    let columns: Vec<ResultColumn> = first.columns().into_iter().cloned().collect();
    let mut columns = query::renamed(columns, &cte.columns)?;
    for column in &mut columns {
        column.nullable = true;
    }
    let number = names.numbering.next();
    let types = columns.iter().map(|column| column.ty.clone()).collect();
    let inside = CteScope {
        cte,
        is_recursive: true,
        outer: scope.outer,
        rounds: Some(Rounds {
            round: Arc::new(Round { number, types }),
            columns: columns.clone(),
            is_used: Cell::new(false),
        }),
    };
    let within = Names {
        ctes: Some(&inside),
        ..*names
    };
    let next = query::query(&sides.1, &within, None)?;
    let rounds = inside.rounds.as_ref();
    if !rounds.is_some_and(|rounds| rounds.is_used.get()) {
        return Ok(None);
    }
    if !cte.select.order_by.is_empty() || cte.select.limit.is_some() {
        return Err(Error::unsupported(
            "ORDER BY or LIMIT in a recursive common table expression",
        ));
    }
    if next.columns().len() != columns.len() {
        return Err(query::different_columns());
    }
    let parameters_count = first.parameters_count().max(next.parameters_count());
    Ok(Some(Recursive {
        number,
        first,
        next,
        all: *all,
        columns,
        parameters_count,
    }))
}

/// # Errors
/// 1066: two of one name.
pub(super) fn check_names(ctes: &[Cte]) -> Result<()> {
    for (position, cte) in ctes.iter().enumerate() {
        let is_same = |other: &Cte| other.name.eq_ignore_ascii_case(&cte.name);
        if ctes.iter().take(position).any(is_same) {
            let text = format!("Not unique table/alias: '{}'", cte.name);
            return Err(Error::new(Code::NonUniqueTable, text));
        }
    }
    Ok(())
}
