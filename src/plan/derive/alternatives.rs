//! Alternatives: what a condition allows the columns, and how AND and OR put them together.
//!
//! A condition is true for a row only if one of its branches is: every constraint of the branch
//! allows the row's value. A *complete* branch says no less than the condition; another one leaves
//! something out, so the condition must still be checked.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::domain::Domain;
use super::super::verdict::Obstacle;
use super::BRANCHES_MAX;
use super::condition::Scope;
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};

/// What a condition allows: any of the branches. None at all: it is never true.
#[derive(Debug, Clone)]
pub struct Alternatives<'e> {
    /// The branches.
    pub branches: Vec<Branch>,
    /// Parts of the condition that allow anything, and why.
    pub blocked: Vec<Blocked<'e>>,
}

/// A list of column constraints, at most one per column.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The constraints; all must hold.
    pub constraints: Vec<Constraint>,
    /// Whether rows that satisfy the constraints satisfy the condition.
    pub complete: bool,
}

/// The values that one column may have.
#[derive(Debug, Clone)]
pub struct Constraint {
    /// Position in the table's columns.
    pub column_idx: usize,
    /// The values.
    pub domain: Rc<Domain>,
}

/// A condition that says nothing about a column that it names.
#[derive(Debug, Clone)]
pub struct Blocked<'e> {
    /// Position in the table's columns.
    pub column_idx: usize,
    /// Why.
    pub obstacle: Obstacle,
    /// The condition.
    pub condition: &'e Expr,
}

impl<'e> Alternatives<'e> {
    /// True for every row.
    pub(super) fn always() -> Alternatives<'e> {
        Alternatives {
            branches: vec![Branch {
                constraints: Vec::new(),
                complete: true,
            }],
            blocked: Vec::new(),
        }
    }

    /// True for no row.
    pub(super) fn never() -> Alternatives<'e> {
        Alternatives {
            branches: Vec::new(),
            blocked: Vec::new(),
        }
    }

    /// True for some rows, nobody knows which.
    pub(super) fn unknown(condition: &'e Expr, obstacle: &Obstacle) -> Alternatives<'e> {
        let mut columns = Vec::new();
        columns_of(condition, &mut columns);
        let blocked = columns.into_iter().map(|column_idx| Blocked {
            column_idx,
            obstacle: obstacle.clone(),
            condition,
        });
        Alternatives {
            branches: vec![Branch {
                constraints: Vec::new(),
                complete: false,
            }],
            blocked: blocked.collect(),
        }
    }

    /// True when the column has one of these values (if `tight`), and never when it has not.
    pub(super) fn column(
        column_idx: usize,
        (domain, tight): (Domain, bool),
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        if domain.is_empty() {
            return Alternatives::never();
        }
        if domain.is_everything() {
            let mut always = Alternatives::unknown(condition, &Obstacle::AlwaysTrue);
            always
                .branches
                .iter_mut()
                .for_each(|branch| branch.complete = tight);
            return always;
        }
        Alternatives {
            branches: vec![Branch {
                constraints: vec![Constraint {
                    column_idx,
                    domain: Rc::new(domain),
                }],
                complete: tight,
            }],
            blocked: Vec::new(),
        }
    }

    /// Whether nothing is known of the rows for which it is true.
    fn is_unbounded(&self) -> bool {
        let mut branches = self.branches.iter();
        branches.any(|branch| branch.constraints.is_empty())
    }
}

/// Each column that an expression names, once.
fn columns_of(expr: &Expr, columns: &mut Vec<usize>) {
    if let ExprKind::Column(idx) = expr.kind
        && !columns.contains(&idx)
    {
        columns.push(idx);
    }
    fold::each_child(expr, &mut |child| columns_of(child, columns));
}

impl Scope<'_> {
    /// All of the parts: every branch of one with every branch of the others.
    pub(super) fn all_of<'e>(
        self,
        parts: impl Iterator<Item = Alternatives<'e>>,
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        let mut all = Alternatives::always();
        for part in parts {
            all.blocked.extend(part.blocked);
            let product = all.branches.len().saturating_mul(part.branches.len());
            if BRANCHES_MAX < product {
                let lost = Alternatives::unknown(condition, &Obstacle::TooManyAlternatives);
                all.blocked.extend(lost.blocked);
                let branches = all.branches.iter_mut();
                branches.for_each(|branch| branch.complete = false);
                continue;
            }
            let mut branches = Vec::with_capacity(product);
            for left in &all.branches {
                let right = part.branches.iter();
                branches.extend(right.filter_map(|right| self.both(left, right)));
            }
            all.branches = branches;
        }
        all
    }

    /// Both branches; `None` when they contradict each other.
    fn both(self, left: &Branch, right: &Branch) -> Option<Branch> {
        let mut both = left.clone();
        both.complete &= right.complete;
        for constraint in &right.constraints {
            let column = self.columns.get(constraint.column_idx)?;
            let mut known = both.constraints.iter_mut();
            match known.find(|known| known.column_idx == constraint.column_idx) {
                Some(known) => {
                    let domain = known.domain.intersect(&constraint.domain, &column.ty);
                    if domain.is_empty() {
                        return None;
                    }
                    known.domain = Rc::new(domain);
                }
                None => both.constraints.push(constraint.clone()),
            }
        }
        Some(both)
    }

    /// Any of the parts.
    pub(super) fn any_of<'e>(
        self,
        parts: impl Iterator<Item = Alternatives<'e>>,
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        let mut any = Alternatives::never();
        let (mut unbounded, mut is_cut) = (false, false);
        for part in parts {
            unbounded |= part.is_unbounded();
            any.blocked.extend(part.blocked);
            if any.branches.len() <= BRANCHES_MAX {
                any.branches.extend(part.branches);
            } else {
                is_cut |= !part.branches.is_empty();
            }
        }
        let always = any.branches.iter().any(|branch| {
            // One side is true for every row.
            branch.complete && branch.constraints.is_empty()
        });
        if always {
            return Alternatives::always();
        }
        if unbounded {
            let mut lost = Alternatives::unknown(condition, &Obstacle::UnboundedOr);
            lost.blocked.splice(0..0, any.blocked);
            return lost;
        }
        any.branches = self.merge_single_columns(any.branches);
        // What was left out is allowed, too, however few branches the others come to.
        if is_cut || BRANCHES_MAX < any.branches.len() {
            return Alternatives::unknown(condition, &Obstacle::TooManyAlternatives);
        }
        match any.branches.as_slice() {
            // The sides together may allow everything: `a < 5 OR 5 <= a`.
            [branch] if allows_everything(branch) => {
                let complete = branch.complete;
                let mut all = Alternatives::unknown(condition, &Obstacle::AlwaysTrue);
                let branches = all.branches.iter_mut();
                branches.for_each(|branch| branch.complete = complete);
                all
            }
            _ => any,
        }
    }

    /// Branches that name one column only are one branch per column: `a = 1 OR a = 2` is a list.
    fn merge_single_columns(self, branches: Vec<Branch>) -> Vec<Branch> {
        if branches.len() < 2 {
            return branches;
        }
        let mut merged = Vec::new();
        let mut singles: BTreeMap<(usize, bool), Vec<Domain>> = BTreeMap::new();
        for branch in branches {
            match branch.constraints.as_slice() {
                [only] => singles
                    .entry((only.column_idx, branch.complete))
                    .or_default()
                    .push(Domain::clone(&only.domain)),
                _ => merged.push(branch),
            }
        }
        for ((column_idx, complete), domains) in singles {
            let Some(column) = self.columns.get(column_idx) else {
                continue;
            };
            let domain = Rc::new(Domain::union(domains, &column.ty));
            merged.push(Branch {
                constraints: vec![Constraint { column_idx, domain }],
                complete,
            });
        }
        merged
    }
}

fn allows_everything(branch: &Branch) -> bool {
    let mut constraints = branch.constraints.iter();
    constraints.all(|constraint| constraint.domain.is_everything())
}
