//! Functional dependence: which columns have one value per group.
//!
//! A column has one if it is grouped, if a condition sets it equal to a constant or to a column that
//! has one, and if it is of a table whose whole primary key, or the whole of a unique key of columns that are not NULL,
//! has one. Source: MySQL manual, "Detection of Functional Dependence". As in MySQL an equality counts whatever types are
//! compared, so that of a text column that equals a number some value is shown.
//!
//! The `ON` of an outer join holds for no row without a match: it tells nothing of the side that is kept, and of
//! the other side what it is equal to as soon as all that `ON` reads of the kept side has one value.

use std::collections::BTreeSet;

use super::push;
use crate::catalog::{Index, IndexState, KeyPart, Table};
use crate::sql::bound::{From, JoinTree, Joined};
use crate::sql::eval::fold;
use crate::sql::expr::{CompareOp, Expr, ExprKind};

/// What is known of the columns of a row.
#[derive(Default)]
struct Known {
    /// Those that have one value per group.
    single: BTreeSet<usize>,
    /// Pairs that are equal.
    equal: Vec<(usize, usize)>,
    /// Columns that have one value as soon as all of the others have.
    follows: Vec<(usize, Vec<usize>)>,
    /// Columns that a condition keeps from being `NULL`.
    present: BTreeSet<usize>,
}

/// For which rows a condition holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// For every row.
    Always,
    /// But for rows in which all that it reads is `NULL`.
    WhereThere,
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
        known.learn(filter, Holds::Always);
    }
    let tables = match from {
        From::Nothing => Vec::new(),
        From::Table(table) => vec![(table.as_ref(), 0)],
        From::Joined(joined) => {
            known.learn_tree((&joined.tree, joined), Holds::Always);
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
    fn learn_tree(&mut self, (tree, joined): (&JoinTree, &Joined), holds: Holds) {
        match tree {
            JoinTree::Source(_) => {}
            JoinTree::Inner {
                members,
                conditions,
            } => {
                for condition in conditions {
                    self.learn(condition, holds);
                }
                for member in members {
                    self.learn_tree((member, joined), holds);
                }
            }
            JoinTree::Left { left, right, on } => {
                self.learn_tree((left, joined), holds);
                let right_columns = columns_of_tree(right, joined);
                let is_inner = right_columns.iter().any(|idx| self.present.contains(idx));
                let of_right = if is_inner { holds } else { Holds::WhereThere };
                self.learn_tree((right, joined), of_right);
                match on {
                    Some(on) if is_inner => self.learn(on, holds),
                    Some(on) => self.learn_outer(on, &right_columns, holds),
                    None => {}
                }
            }
        }
    }

    /// Learns from a condition; constants only from one that every row meets.
    fn learn(&mut self, condition: &Expr, holds: Holds) {
        if holds == Holds::Always {
            self.note_present(condition);
        }
        for (idx, other) in equalities(condition) {
            match other.kind {
                ExprKind::Column(other) => self.equal.push((idx, other)),
                _ if holds == Holds::Always && fold::is_statement_constant(other) => {
                    self.single.insert(idx);
                }
                _ => {}
            }
        }
    }

    /// Learns from the `ON` of an outer join.
    fn learn_outer(&mut self, on: &Expr, right: &BTreeSet<usize>, holds: Holds) {
        if !push::is_of_the_row(on) {
            return;
        }
        let mut kept = BTreeSet::new();
        add_columns_read(on, &mut kept);
        kept.retain(|idx| !right.contains(idx));
        let kept: Vec<usize> = kept.into_iter().collect();
        let of_right = equalities(on).into_iter();
        for (idx, other) in of_right.filter(|(idx, _)| right.contains(idx)) {
            match other.kind {
                ExprKind::Column(other) if right.contains(&other) => self.equal.push((idx, other)),
                ExprKind::Column(_) => self.follows.push((idx, kept.clone())),
                _ if holds == Holds::Always && fold::is_statement_constant(other) => {
                    self.follows.push((idx, kept.clone()));
                }
                _ => {}
            }
        }
    }

    /// Notes columns that are not `NULL` where the condition is true.
    fn note_present(&mut self, condition: &Expr) {
        match &condition.kind {
            ExprKind::And(members) => members.iter().for_each(|member| self.note_present(member)),
            ExprKind::Compare(op, a, b) if *op != CompareOp::NullSafeEqual => {
                self.present
                    .extend([a, b].into_iter().filter_map(|side| column(side)));
            }
            ExprKind::IsNull {
                expr,
                negated: true,
            }
            | ExprKind::InList { expr, .. }
            | ExprKind::Between { expr, .. }
            | ExprKind::Like { expr, .. } => self.present.extend(column(expr)),
            _ => {}
        }
    }

    /// Whether a part of a unique key is not NULL.
    fn is_there(&self, (table, first): (&Table, usize), part: &KeyPart) -> bool {
        let column = table.columns.get(part.column_idx);
        let is_declared = column.is_some_and(|column| !column.nullable);
        is_declared || self.present.contains(&(first + part.column_idx))
    }

    /// Whether more columns were found to have one value.
    fn grow(&mut self, tables: &[(&Table, usize)]) -> bool {
        let before = self.single.len();
        for (a, b) in self.equal.clone() {
            if self.single.contains(&a) || self.single.contains(&b) {
                self.single.extend([a, b]);
            }
        }
        for (idx, of) in &self.follows {
            if of.iter().all(|idx| self.single.contains(idx)) {
                self.single.insert(*idx);
            }
        }
        for (table, first) in tables {
            let is_single = |part: &KeyPart| self.single.contains(&(first + part.column_idx));
            let mut indexes = table.indexes.iter().filter(|index| tells_rows_apart(index));
            let is_one_row = table.declared_key().iter().all(is_single)
                || indexes.any(|index| {
                    let is_there = |part: &KeyPart| self.is_there((table, *first), part);
                    index
                        .parts
                        .iter()
                        .all(|part| is_single(part) && is_there(part))
                });
            if is_one_row {
                self.single.extend(*first..first + table.columns.len());
            }
        }
        before < self.single.len()
    }
}

/// Whether no two rows have the same values in it, as far as these are not NULL.
fn tells_rows_apart(index: &Index) -> bool {
    index.unique && index.state == IndexState::Active && index.computed.is_empty()
}

/// The columns that a condition sets equal to something, and to what; both ways for two columns.
fn equalities(condition: &Expr) -> Vec<(usize, &Expr)> {
    match &condition.kind {
        ExprKind::And(members) => members.iter().flat_map(equalities).collect(),
        ExprKind::Compare(CompareOp::Equal, a, b) => {
            let ways = [(a, b), (b, a)].into_iter();
            ways.filter_map(|(side, other)| Some((column(side)?, &**other)))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn column(expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Column(idx) => Some(idx),
        _ => None,
    }
}

fn add_columns_read(expr: &Expr, read: &mut BTreeSet<usize>) {
    read.extend(column(expr));
    fold::each_child(expr, &mut |child| add_columns_read(child, read));
}

/// The columns of the sources of a tree.
fn columns_of_tree(tree: &JoinTree, joined: &Joined) -> BTreeSet<usize> {
    match tree {
        JoinTree::Source(source_idx) => {
            let source = joined.sources.get(*source_idx);
            let columns = source
                .map(|source| source.first_column..source.first_column + source.columns_count());
            columns.into_iter().flatten().collect()
        }
        JoinTree::Inner { members, .. } => {
            let members = members.iter();
            members
                .flat_map(|member| columns_of_tree(member, joined))
                .collect()
        }
        JoinTree::Left { left, right, .. } => {
            let sides = [left, right].into_iter();
            sides
                .flat_map(|side| columns_of_tree(side, joined))
                .collect()
        }
    }
}
