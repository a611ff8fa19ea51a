//! GROUP BY: from expressions over the table's row to expressions over the aggregated row.
//!
//! A query is bound over a row of the table's columns with the aggregates behind them. When it
//! turns out to be aggregated, each expression is rewritten: what is a key becomes that key, an
//! aggregate its place, and any other column must be determined by the keys.

use super::same::same;
use super::scope::{Clause, Scope};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::bound::{Aggregate, AggregateKind, Aggregation};
use crate::sql::eval::fold;
use crate::sql::expr::{CompareOp, Expr, ExprKind};

/// Rewrites expressions for an aggregated query.
pub(super) struct Grouping {
    keys: Vec<Expr>,
    aggregates: Vec<Aggregate>,
    /// How many columns the table's row has.
    columns_count: usize,
    /// Positions of columns that have one value per group, or all of them when grouping is loose.
    determined: Determined,
    /// How the table is called in errors.
    qualifier: String,
    column_names: Vec<String>,
}

/// Which columns have one value per group.
enum Determined {
    All,
    Some(Vec<usize>),
}

impl Scope<'_> {
    /// Binds the keys of GROUP BY.
    ///
    /// # Errors
    /// 1056 for a key with an aggregate in it.
    pub(super) fn group_by(&mut self, keys: &[ast::Expr]) -> Result<()> {
        self.clause = Clause::GroupBy;
        for key in keys {
            let bound = self.referring(key)?;
            if has_column_from(&bound, self.columns_count()) {
                return Err(Error::new(
                    Code::WrongGroupKey,
                    format!("Can't group on '{key:?}'"),
                ));
            }
            self.keys.push(bound);
        }
        Ok(())
    }
}

/// Whether the expression reads a column at `first` or behind it.
fn has_column_from(expr: &Expr, first: usize) -> bool {
    let mut found = matches!(expr.kind, ExprKind::Column(idx) if first <= idx);
    fold::each_child(expr, &mut |child| found |= has_column_from(child, first));
    found
}

impl Grouping {
    /// The grouping of the query bound in `scope`, which is done with.
    pub(super) fn new(scope: Scope<'_>, filter: Option<&Expr>) -> Grouping {
        let table = scope.source.as_ref().map(|source| source.table.as_ref());
        let determined = if scope.names.mode.only_full_group_by {
            Determined::Some(determined_columns(&scope.keys, table, filter))
        } else {
            Determined::All
        };
        let columns = table.map_or(&[][..], |table| table.columns.as_slice());
        let qualifier = scope
            .source
            .as_ref()
            .map(|source| format!("{}.{}", source.table.database, source.alias));
        Grouping {
            determined,
            qualifier: qualifier.unwrap_or_default(),
            column_names: columns.iter().map(|column| column.name.clone()).collect(),
            columns_count: scope.columns_count(),
            keys: scope.keys,
            aggregates: scope.aggregates,
        }
    }

    /// Whether the whole input is one group.
    pub(super) fn is_implicit(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys and aggregates that the rewritten expressions stand on.
    pub(super) fn into_aggregation(self) -> Aggregation {
        Aggregation {
            keys: self.keys,
            aggregates: self.aggregates,
        }
    }

    /// Rewrites the expression that is number `position` (from 1) of a list.
    ///
    /// # Errors
    /// 1055, and 1140 when there is no GROUP BY, for a column that has no one value per group.
    pub(super) fn rewrite(&mut self, expr: &mut Expr, list: &str, position: usize) -> Result<()> {
        self.rewritten(expr)
            .map_err(|column_idx| self.refusal(column_idx, list, position))
    }

    /// Err: the position of a column without one value per group.
    fn rewritten(&mut self, expr: &mut Expr) -> std::result::Result<(), usize> {
        if let Some(idx) = self.keys.iter().position(|key| same(key, expr)) {
            expr.kind = ExprKind::Column(idx);
            return Ok(());
        }
        if let ExprKind::Column(idx) = expr.kind {
            let aggregate = match idx.checked_sub(self.columns_count) {
                Some(aggregate) => aggregate,
                None => self.any_value(idx, expr)?,
            };
            expr.kind = ExprKind::Column(self.keys.len() + aggregate);
            return Ok(());
        }
        let mut result = Ok(());
        fold::each_child_mut(expr, &mut |child| {
            if result.is_ok() {
                result = self.rewritten(child);
            }
        });
        result
    }

    /// The aggregate that gives the column's one value; a group of no rows has none.
    fn any_value(&mut self, idx: usize, expr: &mut Expr) -> std::result::Result<usize, usize> {
        let determined = match &self.determined {
            Determined::All => true,
            Determined::Some(columns) => columns.contains(&idx),
        };
        if !determined {
            return Err(idx);
        }
        expr.nullable |= self.keys.is_empty();
        let is_it = |aggregate: &Aggregate| {
            aggregate.kind == AggregateKind::AnyValue
                && aggregate.args.iter().all(|arg| same(arg, expr))
        };
        Ok(self.aggregates.iter().position(is_it).unwrap_or_else(|| {
            self.aggregates.push(Aggregate {
                kind: AggregateKind::AnyValue,
                args: vec![expr.clone()],
                distinct: false,
                ty: expr.ty.clone(),
            });
            self.aggregates.len() - 1
        }))
    }

    fn refusal(&self, column_idx: usize, list: &str, position: usize) -> Error {
        let name = self
            .column_names
            .get(column_idx)
            .map_or("?", String::as_str);
        let column = format!("{}.{name}", self.qualifier);
        if self.is_implicit() {
            return Error::new(
                Code::MixedGroup,
                format!(
                    "In aggregated query without GROUP BY, expression #{position} of {list} \
                     contains nonaggregated column '{column}'; this is incompatible with \
                     sql_mode=only_full_group_by"
                ),
            );
        }
        Error::new(
            Code::NotGrouped,
            format!(
                "Expression #{position} of {list} is not in GROUP BY clause and contains \
                 nonaggregated column '{column}' which is not functionally dependent on columns in \
                 GROUP BY clause; this is incompatible with sql_mode=only_full_group_by"
            ),
        )
    }
}

/// The columns that have one value per group: all of them when the primary key is grouped, else
/// those that the filter sets equal to a constant.
fn determined_columns(keys: &[Expr], table: Option<&Table>, filter: Option<&Expr>) -> Vec<usize> {
    let Some(table) = table else {
        return Vec::new();
    };
    let mut fixed = Vec::new();
    if let Some(filter) = filter {
        fixed_columns(filter, &mut fixed);
    }
    let grouped = |column_idx: usize| {
        fixed.contains(&column_idx)
            || keys
                .iter()
                .any(|key| matches!(key.kind, ExprKind::Column(idx) if idx == column_idx))
    };
    if table.key.iter().all(|part| grouped(part.column_idx)) {
        return (0..table.columns.len()).collect();
    }
    fixed
}

/// Columns set equal to a literal or parameter by a condition that every row meets.
fn fixed_columns(filter: &Expr, fixed: &mut Vec<usize>) {
    match &filter.kind {
        ExprKind::And(members) => members
            .iter()
            .for_each(|member| fixed_columns(member, fixed)),
        ExprKind::Compare(CompareOp::Equal, a, b) => {
            for (column, constant) in [(a, b), (b, a)] {
                if let (ExprKind::Column(idx), ExprKind::Literal(_) | ExprKind::Parameter(_)) =
                    (&column.kind, &constant.kind)
                {
                    fixed.push(*idx);
                }
            }
        }
        _ => {}
    }
}
