//! GROUP BY: from expressions over the table's row to expressions over the aggregated row.
//!
//! A query is bound over a row of the table's columns with the aggregates behind them. When it
//! turns out to be aggregated, each expression is rewritten: what is a key becomes that key, an
//! aggregate its place, and any other column must be determined by the keys.

use super::aggregates::Aggregates;
use super::derived::is_volatile;
use super::determined;
use super::expr::truth;
use super::same::same;
use super::scope::{AggregateRule, Clause, Scope};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::bound::{Aggregate, AggregateKind, Aggregation, From, OrderBy, Relation, Stage};
use crate::sql::eval::fold;
use crate::sql::expr::{BinaryOp, CompareOp, Expr, ExprKind, Slot};
use crate::types::{ColumnType, Value};

/// Keys that one `GROUPING` takes: it gives a bit of 64 for each.
const GROUPING_ARGS_MAX: usize = 64;

/// Keys of a GROUP BY: as many as a table may have columns. Whatever is selected is compared with each.
const KEYS_MAX: usize = 4096;

/// Keys of one that is rolled up: a row belongs to as many groups, and for each of them all keys are evaluated.
const ROLLED_UP_KEYS_MAX: usize = 64;

/// Rewrites expressions for an aggregated query.
pub(super) struct Grouping {
    keys: Vec<Expr>,
    aggregates: Aggregates,
    /// How many columns the table's row has.
    columns_count: usize,
    /// Positions of columns that have one value per group, or all of them when grouping is loose.
    determined: Determined,
    /// How errors call the columns.
    column_names: Vec<String>,
    /// Whether `WITH ROLLUP`.
    rollup: bool,
    /// The calls of `GROUPING`: what stands for each, and which keys it asks about.
    groupings: Vec<(usize, Vec<usize>)>,
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
    /// 1056 for a key with an aggregate in it; 1117 for too many keys.
    pub(super) fn group_by(&mut self, keys: &[ast::Expr]) -> Result<()> {
        self.clause = Clause::GroupBy;
        check_count(keys.len(), self.from.rolls_up)?;
        for key in keys {
            let bound = self.referring(key)?;
            if self.has_window(&bound) {
                let mut items = self.items.iter();
                let item = items.find(|item| same(&item.expr, &bound));
                let name = item.map_or("in GROUP BY", |item| &item.name);
                return Err(super::window::misplaced(name));
            }
            let asks_groups = !self.ask_of_rows(&bound);
            if asks_groups || has_column_from(&bound, self.columns_count()) {
                return Err(Error::new(
                    Code::WrongGroupKey,
                    format!("Can't group on '{key:?}'"),
                ));
            }
            self.keys.push(bound);
        }
        Ok(())
    }

    /// A key may be what is selected: then its subqueries are answered for each row, and not for each group.
    /// `false` when one reads an aggregate of this query.
    fn ask_of_rows(&mut self, key: &Expr) -> bool {
        let columns_count = self.columns_count();
        let later = self.subqueries.iter_mut();
        let mut asked = later.filter(|one| one.stage == Stage::Group && has_slot(key, one.slot));
        asked.all(|subquery| {
            subquery.stage = Stage::Row;
            let mut captures = subquery.captures.iter();
            !captures.any(|capture| has_column_from(&capture.expr, columns_count))
        })
    }

    /// The order of groups that are rolled up: each behind those that it is the sum of.
    pub(super) fn rollup_order(&mut self) -> Vec<OrderBy> {
        let mut order_by = Vec::with_capacity(2 * self.keys.len());
        for key in self.keys.clone() {
            let is_rolled_up = self.grouping(vec![key.clone()]);
            order_by.extend([is_rolled_up, key].map(|expr| OrderBy {
                expr,
                descending: false,
            }));
        }
        order_by
    }

    /// `GROUPING(key, …)`: which of the keys are rolled up, a bit each.
    ///
    /// # Errors
    /// 1111 where there are no groups, and 1582.
    pub(super) fn grouping_call(&mut self, call: &ast::Call) -> Result<Expr> {
        if self.aggregate_rule != AggregateRule::Allowed {
            return Err(misused_grouping());
        }
        let is_call = !call.star && !call.distinct && !call.args.is_empty();
        if !is_call || GROUPING_ARGS_MAX < call.args.len() {
            return Err(Error::new(
                Code::WrongParameterCount,
                "Incorrect parameter count in the call to native function 'GROUPING'",
            ));
        }
        let args = self.values(&call.args)?;
        Ok(self.grouping(args))
    }

    fn grouping(&mut self, args: Vec<Expr>) -> Expr {
        let idx = self.names.numbering.next();
        self.groupings.push((idx, args));
        let (per_row, text) = (true, "grouping()".into());
        Expr {
            kind: ExprKind::Slot(Slot {
                idx,
                per_row,
                text,
                is_column: false,
                decimals: None,
            }),
            ty: ColumnType::BIGINT,
            nullable: false,
        }
    }
}

fn check_count(keys_count: usize, rolls_up: bool) -> Result<()> {
    let (name, most) = if rolls_up {
        ("GROUP BY WITH ROLLUP", ROLLED_UP_KEYS_MAX)
    } else {
        ("GROUP BY", KEYS_MAX)
    };
    if keys_count <= most {
        return Ok(());
    }
    let text = format!("{name} has {keys_count} keys, the most is {most}");
    Err(Error::new(Code::TooManyColumns, text))
}

/// Error 1111.
pub(super) fn misused_grouping() -> Error {
    Error::new(Code::InvalidGroupFunction, "Invalid use of group function")
}

/// Whether the expression reads a column at `first` or behind it.
fn has_column_from(expr: &Expr, first: usize) -> bool {
    let mut found = matches!(expr.kind, ExprKind::Column(idx) if first <= idx);
    fold::each_child(expr, &mut |child| found |= has_column_from(child, first));
    found
}

/// Whether the expression reads what a subquery answers.
fn has_slot(expr: &Expr, idx: usize) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Slot(slot)
        | ExprKind::InSet { set: slot, .. }
        | ExprKind::Quantified { set: slot, .. } => slot.idx == idx,
        _ => false,
    };
    fold::each_child(expr, &mut |child| found = found || has_slot(child, idx));
    found
}

impl Grouping {
    /// The grouping of the query bound in `scope`, which is done with.
    pub(super) fn new(
        scope: Scope<'_>,
        (filter, rollup): (Option<&Expr>, bool),
        from: &From,
    ) -> Result<Grouping> {
        let groupings = scope.groupings.iter();
        let groupings = groupings.map(|(slot, args)| Ok((*slot, grouped(args, &scope.keys)?)));
        let groupings = groupings.collect::<Result<Vec<_>>>()?;
        let determined = match scope.names.mode.only_full_group_by {
            // In a row of a total the keys that it sums over are NULL.
            true if rollup => Determined::Some(Vec::new()),
            true => Determined::Some(determined::columns(&scope.keys, from, filter)),
            false => Determined::All,
        };
        Ok(Grouping {
            determined,
            column_names: names_of(from, scope.source().map(|source| source.alias.as_str())),
            columns_count: scope.columns_count(),
            keys: scope.keys,
            aggregates: scope.aggregates,
            rollup,
            groupings,
        })
    }

    /// Whether the whole input is one group.
    pub(super) fn is_implicit(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys and aggregates that the rewritten expressions stand on.
    pub(super) fn into_aggregation(mut self) -> Aggregation {
        if self.rollup {
            self.keys.push(number(0));
        }
        Aggregation {
            keys: self.keys,
            rollup: self.rollup,
            aggregates: self.aggregates.into_vec(),
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
            self.put_key(idx, expr);
            return Ok(());
        }
        if let Some(answer) = self.rolled_up(expr) {
            *expr = answer;
            return Ok(());
        }
        if let ExprKind::Column(idx) = expr.kind {
            let aggregate = match idx.checked_sub(self.columns_count) {
                Some(aggregate) => aggregate,
                None => self.any_value(idx, expr)?,
            };
            expr.kind = ExprKind::Column(self.aggregated_keys_count() + aggregate);
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

    /// Puts a key in place of what it is. Documents that are equal are one group, though they need not be
    /// written alike (`1`, `1.0`): shown is the first of them, not the key. Of what is another each time it is
    /// evaluated the key is shown.
    fn put_key(&mut self, idx: usize, expr: &mut Expr) {
        let is_first_shown = expr.ty == ColumnType::Json && !is_volatile(expr);
        let whole = is_first_shown.then(|| expr.clone());
        expr.kind = ExprKind::Column(idx);
        expr.nullable |= self.rollup;
        let Some(whole) = whole else {
            return;
        };
        let first = ExprKind::Column(self.aggregated_keys_count() + self.first_value(&whole));
        let key = std::mem::replace(&mut expr.kind, first);
        if !self.rollup {
            return;
        }
        let (ty, nullable) = (expr.ty.clone(), true);
        let of = |kind| Expr {
            kind,
            ty: ty.clone(),
            nullable,
        };
        // Of what is rolled up there is no key.
        let is_null = ExprKind::IsNull {
            expr: Box::new(of(key)),
            negated: false,
        };
        let first = std::mem::replace(&mut expr.kind, ExprKind::Literal(Value::Null));
        expr.kind = ExprKind::Case {
            operand: None,
            branches: vec![(truth(is_null, false), of(ExprKind::Literal(Value::Null)))],
            otherwise: Some(Box::new(of(first))),
        };
    }

    /// Keys of the aggregated row.
    fn aggregated_keys_count(&self) -> usize {
        self.keys.len() + usize::from(self.rollup)
    }

    /// The answer of a call of `GROUPING`, from the number of keys that are not rolled up.
    fn rolled_up(&self, expr: &Expr) -> Option<Expr> {
        let ExprKind::Slot(slot) = &expr.kind else {
            return None;
        };
        let mut calls = self.groupings.iter();
        let (_, keys) = calls.find(|(other, _)| *other == slot.idx)?;
        let level = || Expr {
            kind: ExprKind::Column(self.keys.len()),
            ..number(0)
        };
        let bits = keys.iter().map(|key| {
            let (level, key) = (Box::new(level()), Box::new(number(*key)));
            truth(ExprKind::Compare(CompareOp::LessOrEqual, level, key), false)
        });
        bits.reduce(|bits, bit| {
            let doubled = binary(BinaryOp::Multiply, bits, number(2));
            binary(BinaryOp::Add, doubled, bit)
        })
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
        Ok(self.first_value(expr))
    }

    /// The aggregate that gives the first value of an expression.
    fn first_value(&mut self, expr: &Expr) -> usize {
        self.aggregates.position(Aggregate {
            kind: AggregateKind::AnyValue,
            args: vec![expr.clone()],
            distinct: false,
            order_by: Vec::new(),
            separator: None,
            ty: expr.ty.clone(),
        })
    }

    fn refusal(&self, column_idx: usize, list: &str, position: usize) -> Error {
        let names = &self.column_names;
        let column = names.get(column_idx).map_or("?", String::as_str);
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

/// Which keys the arguments of `GROUPING` are.
///
/// # Errors
/// 3602.
fn grouped(args: &[Expr], keys: &[Expr]) -> Result<Vec<usize>> {
    let args = args.iter().enumerate();
    args.map(|(arg_idx, arg)| {
        let position = keys.iter().position(|key| same(key, arg));
        position.ok_or_else(|| {
            let number = arg_idx + 1;
            let text = format!("Argument #{number} of GROUPING function is not in GROUP BY");
            Error::new(Code::GroupingArgument, text)
        })
    })
    .collect()
}

fn number(number: usize) -> Expr {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    Expr {
        kind: ExprKind::Literal(Value::Int(number)),
        ty: ColumnType::BIGINT,
        nullable: false,
    }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr {
        kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
        ty: ColumnType::BIGINT,
        nullable: false,
    }
}

/// How errors call the columns of the row.
fn names_of(from: &From, alias: Option<&str>) -> Vec<String> {
    let of_table = |table: &Table, alias: &str| -> Vec<String> {
        let columns = table.columns.iter();
        let named = columns.map(|column| format!("{}.{alias}.{}", table.database, column.name));
        named.collect()
    };
    match from {
        From::Nothing => Vec::new(),
        From::Table(table) => of_table(table, alias.unwrap_or(&table.name)),
        From::Joined(joined) => {
            let sources = joined.sources.iter();
            let names = sources.flat_map(|source| match &source.relation {
                Relation::Table(table) => of_table(table, &source.alias),
                Relation::Query(query) => {
                    let columns = query.columns().into_iter();
                    let named = columns.map(|column| format!("{}.{}", source.alias, column.name));
                    named.collect()
                }
                Relation::Listed(listed) => of_table(&listed.table, &source.alias),
                Relation::Round(round) => {
                    vec![source.alias.clone(); round.types.len()]
                }
            });
            names.collect()
        }
    }
}
