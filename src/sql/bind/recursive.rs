//! Recursive common table expressions: `WITH RECURSIVE c AS (first UNION [ALL] part …)`.
//!
//! Parts that do not name the query make the rows of the first round, those that do the rows of each later
//! one; the former come first. Source: MySQL manual, "Recursive Common Table Expressions".

use super::cte::CteScope;
use super::push::is_always_there;
use super::scope::{Clause, Scope};
use super::{Names, order, query};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, QueryBody, SetOperator};
use crate::sql::bound::{From, Query, Recursive, Relation, Select};
use crate::types::ResultColumn;

/// One part of a chain of `UNION`.
struct Part<'a> {
    /// Whether `ALL` stands before it.
    all: bool,
    /// All parts before it.
    before: &'a ast::Select,
    select: &'a ast::Select,
}

/// The parts of a query but the first, in order; none when it is no union.
fn parts(query: &ast::Select) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut here = query;
    while let QueryBody::SetOperation {
        operator: SetOperator::Union,
        all,
        sides,
    } = &here.body
    {
        let (before, select) = (&sides.0, &sides.1);
        found.push(Part {
            all: *all,
            before,
            select,
        });
        if !before.with.ctes.is_empty() || !before.order_by.is_empty() || before.limit.is_some() {
            break;
        }
        here = before;
    }
    found.reverse();
    found
}

/// The recursive query of that name; `None` when it does not refer to itself.
///
/// # Errors
/// Those of its parts; 3574 when a part that begins stands behind one that goes on, 3575 to 3577 for what a
/// part that goes on cannot have, 1235 for what is not offered.
pub(super) fn recursive(scope: &CteScope<'_>, names: &Names<'_>) -> Result<Option<Recursive>> {
    let select = &scope.cte.select;
    if !scope.is_recursive || !select.with.ctes.is_empty() {
        return Ok(None);
    }
    let parts = parts(select);
    let Some(first) = parts.first() else {
        return Ok(None);
    };
    query::refuse_lock(select)?;
    for part in &parts {
        query::refuse_lock(part.before)?;
    }
    let _level = names.numbering.deeper()?;
    let mut chain = Chain {
        scope,
        names,
        number: names.numbering.next(),
        columns: Vec::new(),
    };
    let mut first = chain.begin(first.before)?;
    let (begin_count, mut next) = chain.go_on(&parts)?;
    let (begin, go_on) = parts.split_at(begin_count);
    let Some(all) = all_of(select, go_on)? else {
        names.numbering.note_rebound()?;
        return Ok(None);
    };
    if let (Some(_), Some(part)) = (begin.last(), go_on.first()) {
        // Its columns are those of all that begin together.
        names.numbering.note_rebound()?;
        first = chain.begin(part.before)?;
        (_, next) = chain.go_on(go_on)?;
    }
    let Some(next) = next else {
        return Ok(None);
    };
    let mut limits = Scope::new(*names, None, Clause::OrderBy);
    limits.parameters_count = first.parameters_count().max(next.parameters_count());
    let (limit, offset) = order::limits(select.limit.as_ref(), &mut limits)?;
    Ok(Some(Recursive {
        number: chain.number,
        first,
        next,
        all,
        limit,
        offset,
        columns: chain.columns,
        parameters_count: limits.parameters_count,
    }))
}

/// Whether the parts that go on keep duplicates; `None` when there are none. The last `UNION DISTINCT` is
/// one for all parts before it.
///
/// # Errors
/// 1235 when that is none for the last ones, and for `ORDER BY` behind them.
fn all_of(select: &ast::Select, go_on: &[Part<'_>]) -> Result<Option<bool>> {
    let Some(last) = go_on.last() else {
        return Ok(None);
    };
    if !select.order_by.is_empty() {
        return Err(Error::unsupported(
            "ORDER BY over UNION in recursive Common Table Expression",
        ));
    }
    if last.all && go_on.iter().any(|part| !part.all) {
        return Err(Error::unsupported(
            "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
        ));
    }
    Ok(Some(last.all))
}

/// The parts of a recursive query while they are bound.
struct Chain<'c, 'n> {
    scope: &'c CteScope<'n>,
    names: &'c Names<'n>,
    number: usize,
    /// Those of the parts that begin.
    columns: Vec<ResultColumn>,
}

impl Chain<'_, '_> {
    /// Binds what makes the rows of the first round.
    fn begin(&mut self, select: &ast::Select) -> Result<Query> {
        let beginning = self.scope.beginning();
        let first = self.bind(select, &beginning)?;
        let columns = first.columns().into_iter().cloned().collect();
        self.columns = query::renamed(columns, &self.scope.cte.columns)?;
        for column in &mut self.columns {
            column.nullable = true;
        }
        Ok(first)
    }

    fn bind(&self, select: &ast::Select, scope: &CteScope<'_>) -> Result<Query> {
        let names = Names {
            ctes: Some(scope),
            ..*self.names
        };
        query::query(select, &names, None)
    }

    /// Binds what makes the rows of each later round: how many parts stand before it, and it.
    fn go_on(&self, parts: &[Part<'_>]) -> Result<(usize, Option<Query>)> {
        let (mut begin_count, mut next) = (0, None);
        for part in parts {
            let scope = self.scope.going_on(self.number, &self.columns);
            let query = self.bind(part.select, &scope)?;
            if scope.is_used() {
                self.check(&query)?;
                next = Some(match next {
                    None => query,
                    Some(before) => query::union_all(before, query, self.names)?,
                });
            } else if next.is_none() {
                begin_count += 1;
            } else {
                return Err(without_beginning(&self.scope.cte.name));
            }
        }
        Ok((begin_count, next))
    }

    /// # Errors
    /// 1222, and those of what a part that goes on cannot have.
    fn check(&self, part: &Query) -> Result<()> {
        if part.columns().len() != self.columns.len() {
            return Err(query::different_columns());
        }
        let Query::Select(part) = part else {
            return Err(Error::unsupported(
                "right nested recursive query blocks, in Common Table Expression",
            ));
        };
        let name = &self.scope.cte.name;
        if part.aggregation.is_some() || part.windowing.is_some() {
            return Err(aggregates(name));
        }
        if part.distinct || !part.order_by.is_empty() || part.limit.is_some() {
            return Err(Error::unsupported(
                "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
            ));
        }
        self.check_place(part)
    }

    /// Its own rows are read once, and by each row of the join.
    fn check_place(&self, part: &Select) -> Result<()> {
        let name = &self.scope.cte.name;
        let From::Joined(joined) = &part.from else {
            return Err(not_once(name));
        };
        let sources = joined.sources.iter().enumerate();
        let mut places = sources.filter(|(_, source)| self.is_own(&source.relation));
        let Some((place, _)) = places.next() else {
            return Err(not_once(name));
        };
        if self.uses(part) != 1 {
            return Err(not_once(name));
        }
        if !is_always_there(&joined.tree, place) {
            return Err(outer_joined(name));
        }
        Ok(())
    }

    fn is_own(&self, relation: &Relation) -> bool {
        match relation {
            Relation::Round(round) => round.number == self.number,
            Relation::Table(_) | Relation::Query(_) | Relation::Listed(_) => false,
        }
    }

    /// How often a block reads the rows of the last round, in its subqueries and derived tables too.
    fn uses(&self, block: &Select) -> usize {
        let subqueries = block.subqueries.iter();
        let subqueries = subqueries.map(|subquery| self.uses_in(&subquery.query));
        let sources = match &block.from {
            From::Joined(joined) => joined.sources.as_slice(),
            From::Nothing | From::Table(_) => &[],
        };
        let sources = sources.iter().map(|source| match &source.relation {
            Relation::Query(query) => self.uses_in(query),
            own @ (Relation::Round(_) | Relation::Table(_) | Relation::Listed(_)) => {
                usize::from(self.is_own(own))
            }
        });
        subqueries.chain(sources).sum()
    }

    fn uses_in(&self, query: &Query) -> usize {
        match query {
            Query::Select(block) => self.uses(block),
            Query::Set(set) => self.uses_in(&set.sides.0) + self.uses_in(&set.sides.1),
            Query::Recursive(other) => self.uses_in(&other.first) + self.uses_in(&other.next),
            Query::Json(_) => 0,
        }
    }
}

/// Error 3573, or 1235 where there may be a union behind a `WITH`.
pub(super) fn without_union(cte: &ast::Cte) -> Error {
    if !cte.select.with.ctes.is_empty() {
        return Error::unsupported("WITH in a recursive Common Table Expression");
    }
    let text = format!(
        "Recursive Common Table Expression '{}' should contain a UNION",
        cte.name
    );
    Error::new(Code::RecursionWithoutUnion, text)
}

/// Error 3574.
pub(super) fn without_beginning(name: &str) -> Error {
    let text = format!(
        "Recursive Common Table Expression '{name}' should have one or more non-recursive query blocks \
         followed by one or more recursive ones"
    );
    Error::new(Code::RecursionWithoutBeginning, text)
}

/// Error 3575.
fn aggregates(name: &str) -> Error {
    let text = format!(
        "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions \
         in recursive query block"
    );
    Error::new(Code::RecursionAggregates, text)
}

/// Error 3576.
fn outer_joined(name: &str) -> Error {
    let text = format!(
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must \
         neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order \
         hints"
    );
    Error::new(Code::RecursionOuterJoined, text)
}

/// Error 3577.
fn not_once(name: &str) -> Error {
    let text = format!(
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must \
         be referenced only once, and not in any subquery"
    );
    Error::new(Code::RecursionNotOnce, text)
}
