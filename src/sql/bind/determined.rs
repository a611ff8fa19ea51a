//! Functional dependence: which columns have one value per group.
//!
//! A column has one if it is grouped, if a condition sets it equal to a constant or to a column that
//! has one, and if it is of a table whose whole primary key has one. Source: MySQL manual, "Detection
//! of Functional Dependence".

use std::collections::BTreeSet;

use crate::catalog::Table;
use crate::sql::bound::{From, JoinTree};
use crate::sql::expr::{CompareOp, Expr, ExprKind};

/// What is known of the columns of a row.
#[derive(Default)]
struct Known {
    /// Those that have one value per group.
    single: BTreeSet<usize>,
    /// Pairs that are equal.
    equal: Vec<(usize, usize)>,
}

/// The positions of the columns that have one value per group.
pub(super) fn columns(keys: &[Expr], from: &From, filter: Option<&Expr>) -> Vec<usize> {
    let mut known = Known::default();
    for key in keys {
        if let ExprKind::Column(idx) = key.kind {
            known.single.insert(idx);
        }
    }
    if let Some(filter) = filter {
        known.learn(filter);
    }
    let tables = match from {
        From::Nothing => Vec::new(),
        From::Table(table) => vec![(table.as_ref(), 0)],
        From::Joined(joined) => {
            known.learn_tree(&joined.tree);
            let tables = joined.sources.iter();
            let tables =
                tables.filter_map(|source| Some((source.table()?.as_ref(), source.first_column)));
            tables.collect()
        }
    };
    while known.grow(&tables) {}
    known.single.into_iter().collect()
}

impl Known {
    fn learn_tree(&mut self, tree: &JoinTree) {
        match tree {
            JoinTree::Source(_) => {}
            JoinTree::Inner {
                members,
                conditions,
            } => {
                for condition in conditions {
                    self.learn(condition);
                }
                for member in members {
                    self.learn_tree(member);
                }
            }
            JoinTree::Left { left, right, on } => {
                if let Some(on) = on {
                    self.learn(on);
                }
                self.learn_tree(left);
                self.learn_tree(right);
            }
        }
    }

    /// Learns from a condition that every row meets.
    fn learn(&mut self, condition: &Expr) {
        match &condition.kind {
            ExprKind::And(members) => {
                for member in members {
                    self.learn(member);
                }
            }
            ExprKind::Compare(CompareOp::Equal, a, b) => match (&a.kind, &b.kind) {
                (ExprKind::Column(a), ExprKind::Column(b)) => self.equal.push((*a, *b)),
                (ExprKind::Column(idx), other) | (other, ExprKind::Column(idx)) => {
                    let is_constant = match other {
                        ExprKind::Literal(_) | ExprKind::Parameter(_) => true,
                        ExprKind::Slot(slot) => !slot.per_row,
                        _ => false,
                    };
                    if is_constant {
                        self.single.insert(*idx);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Whether more columns were found to have one value.
    fn grow(&mut self, tables: &[(&Table, usize)]) -> bool {
        let before = self.single.len();
        for (a, b) in self.equal.clone() {
            if self.single.contains(&a) || self.single.contains(&b) {
                self.single.extend([a, b]);
            }
        }
        for (table, first) in tables {
            let mut key = table.declared_key().iter();
            if key.all(|part| self.single.contains(&(first + part.column_idx))) {
                self.single.extend(*first..first + table.columns.len());
            }
        }
        before < self.single.len()
    }
}
