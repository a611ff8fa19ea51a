//! The tree of joins taken apart into units and conditions.
//!
//! ```text
//!   a JOIN b ON p WHERE q          units a, b                    conditions p, q
//!   a LEFT JOIN b ON p WHERE q     a, then b (outer, if p)       q, after b
//!   a LEFT JOIN b ON p WHERE b.x=1 as the inner join: no row without b meets the condition
//!   a LEFT JOIN (b JOIN c ON r) ON p    a, then the unit (b, c: r) as a whole
//! ```

use super::refs::{Sources, is_late};
use super::strict::rejects_null;
use crate::error::{Error, Result};
use crate::plan::derive::shape;
use crate::sql::bound::{JoinTree, Joined};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// Units and the conditions between them.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    /// The units, in the order of `FROM`.
    pub units: Vec<Unit>,
    /// What every joined row must meet.
    pub conjuncts: Vec<Conjunct>,
    /// What waits for subqueries that are answered row by row.
    pub late: Vec<Expr>,
}

/// Something that is joined as a whole.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Its rows.
    pub rows: UnitRows,
    /// The sources in it.
    pub sources: Sources,
    /// For the optional side of an outer join: what makes a match.
    pub on: Option<Vec<Conjunct>>,
    /// What makes a match besides, once subqueries have been answered for the two rows.
    pub asked: Vec<Expr>,
    /// What must be joined before it.
    pub after: Sources,
}

/// The rows of a unit.
#[derive(Debug, Clone)]
pub enum UnitRows {
    /// Those of one source.
    Source(usize),
    /// Those of a join.
    Join(Box<Pool>),
}

/// A condition and the sources it reads.
#[derive(Debug, Clone)]
pub struct Conjunct {
    /// The condition.
    pub expr: Expr,
    /// The sources.
    pub sources: Sources,
}

/// Takes a join apart.
///
/// # Errors
/// What the folding of constants gives.
pub fn pool(joined: &Joined, filter: Option<&Expr>, ctx: &EvalContext) -> Result<Pool> {
    let mut builder = Builder {
        joined,
        ctx,
        pool: Pool::default(),
    };
    builder.filter(filter)?;
    builder.add(&joined.tree)?;
    Ok(builder.pool)
}

struct Builder<'a> {
    joined: &'a Joined,
    ctx: &'a EvalContext,
    pool: Pool,
}

impl Builder<'_> {
    fn filter(&mut self, filter: Option<&Expr>) -> Result<()> {
        let Some(filter) = filter else {
            return Ok(());
        };
        shape::check_dates(filter, self.ctx)?;
        for expr in shape::conjuncts(filter, self.ctx)? {
            if is_late(&expr) {
                self.pool.late.push(expr);
            } else {
                let conjunct = self.conjunct(expr);
                self.pool.conjuncts.push(conjunct);
            }
        }
        Ok(())
    }

    fn conjunct(&self, expr: Expr) -> Conjunct {
        let sources = Sources::of(&expr, self.joined);
        Conjunct { expr, sources }
    }

    /// The sources that a lateral one reads.
    fn read_by(&self, source_idx: usize) -> Sources {
        let source = self.joined.sources.get(source_idx);
        let captures = source.into_iter().flat_map(|source| &source.captures);
        captures.fold(Sources::default(), |all, capture| {
            all.and(Sources::of(&capture.expr, self.joined))
        })
    }

    /// Adds what is joined by inner joins. Conditions come first: they decide what outer joins are.
    fn add(&mut self, tree: &JoinTree) -> Result<()> {
        match tree {
            JoinTree::Source(idx) => {
                self.pool.units.push(Unit {
                    rows: UnitRows::Source(*idx),
                    sources: Sources::one(*idx),
                    on: None,
                    asked: Vec::new(),
                    after: self.read_by(*idx),
                });
                Ok(())
            }
            JoinTree::Inner {
                members,
                conditions,
            } => {
                for condition in conditions {
                    self.filter(Some(condition))?;
                }
                members.iter().try_for_each(|member| self.add(member))
            }
            JoinTree::Left { left, right, on } => self.add_outer(left, right, on.as_ref()),
        }
    }

    fn add_outer(&mut self, left: &JoinTree, right: &JoinTree, on: Option<&Expr>) -> Result<()> {
        let sources = sources_under(right);
        let at = (self.joined, sources);
        let mut conditions = self.pool.conjuncts.iter().map(|one| &one.expr);
        let mut later = self.pool.late.iter();
        if conditions.any(|expr| rejects_null(expr, at)) || later.any(|expr| rejects_null(expr, at))
        {
            self.filter(on)?;
            self.add(left)?;
            return self.add(right);
        }
        self.add(left)?;
        let mut inner = Builder {
            joined: self.joined,
            ctx: self.ctx,
            pool: Pool::default(),
        };
        inner.add(right)?;
        let (mut matches, mut asked) = (Vec::new(), Vec::new());
        if let Some(on) = on {
            shape::check_dates(on, self.ctx)?;
            for expr in shape::conjuncts(on, self.ctx)? {
                if is_late(&expr) {
                    asked.push(expr);
                } else {
                    matches.push(self.conjunct(expr));
                }
            }
        }
        let (rows, read) = optional_rows(inner.pool, sources, &mut matches)?;
        let mut after = sources_under(left).and(read);
        for conjunct in &matches {
            after = after.and(conjunct.sources.without(sources));
        }
        self.pool.units.push(Unit {
            rows,
            sources,
            on: Some(matches),
            asked,
            after,
        });
        Ok(())
    }
}

/// The rows of the optional side of an outer join, and what they read besides. Conditions on one
/// source alone become a matter of matching; those on a join alone are met within it.
///
/// # Errors
/// 1235 for a join of which a part reads what is outside.
fn optional_rows(
    mut pool: Pool,
    sources: Sources,
    matches: &mut Vec<Conjunct>,
) -> Result<(UnitRows, Sources)> {
    match pool.units.pop() {
        Some(Unit {
            rows: rows @ UnitRows::Source(_),
            on: None,
            after,
            ..
        }) if pool.units.is_empty() && pool.late.is_empty() => {
            matches.append(&mut pool.conjuncts);
            return Ok((rows, after));
        }
        last => pool.units.extend(last),
    }
    if pool.units.iter().any(|unit| !unit.after.are_in(sources)) {
        return Err(Error::unsupported(
            "LATERAL within a join that may have no row and reads what is outside it",
        ));
    }
    let is_local = |one: &Conjunct| !one.sources.is_empty() && one.sources.are_in(sources);
    let local = matches.iter().filter(|one| is_local(one)).cloned();
    pool.conjuncts.extend(local);
    Ok((UnitRows::Join(Box::new(pool)), Sources::default()))
}

/// The sources under a tree.
fn sources_under(tree: &JoinTree) -> Sources {
    match tree {
        JoinTree::Source(idx) => Sources::one(*idx),
        JoinTree::Inner { members, .. } => {
            members.iter().fold(Sources::default(), |all, member| {
                all.and(sources_under(member))
            })
        }
        JoinTree::Left { left, right, .. } => sources_under(left).and(sources_under(right)),
    }
}

/// The sources in the rows of a unit.
pub fn sources_of(rows: &UnitRows) -> Sources {
    match rows {
        UnitRows::Source(idx) => Sources::one(*idx),
        UnitRows::Join(pool) => {
            let units = pool.units.iter();
            units.fold(Sources::default(), |all, unit| all.and(unit.sources))
        }
    }
}
