//! Calls: functions of the registry, aggregates, and what needs the table's definition.

use super::expr::known_call;
use super::literal;
use super::same::same;
use super::scope::{AggregateRule, Scope};
use crate::catalog::{Column, ColumnDefault};
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::bound::{Aggregate, AggregateKind, OrderBy};
use crate::sql::eval::typing;
use crate::sql::expr::{Expr, ExprKind};
use crate::sql::functions;
use crate::types::{ColumnType, Value};

/// Names of aggregates that MySQL has and this server does not.
const AGGREGATES_UNSUPPORTED: &[&str] = &[
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

impl Scope<'_> {
    pub(super) fn call(&mut self, call: &ast::Call) -> Result<Expr> {
        if call.over.is_some() {
            return self.window_call(call);
        }
        if call.name.eq_ignore_ascii_case("GROUPING") {
            return self.grouping_call(call);
        }
        if let Some(kind) = aggregate_kind(&call.name) {
            return self.aggregate(call, kind);
        }
        if is_aggregate_unsupported(&call.name) {
            return Err(Error::unsupported(call.name.to_ascii_uppercase()));
        }
        if call.star || call.distinct {
            return Err(Error::new(
                Code::Parse,
                format!(
                    "You have an error in your SQL syntax: {} is no aggregate, so '*' and DISTINCT \
                     cannot be its arguments",
                    call.name
                ),
            ));
        }
        let args = self.values(&call.args)?;
        let Some(function) = functions::find(&call.name) else {
            return Err(self.unknown_function(&call.name));
        };
        if !function.accepts(args.len()) {
            return Err(Error::new(
                Code::WrongParameterCount,
                format!(
                    "Incorrect parameter count in the call to native function '{}'",
                    call.name
                ),
            ));
        }
        check_fraction(function.name, &args)?;
        known_call(function.name, args)
    }

    fn unknown_function(&self, name: &str) -> Error {
        let database = match self.names.database {
            Some(database) if !name.contains('.') => format!("{database}."),
            Some(_) | None => String::new(),
        };
        let nearest = functions::nearest(name);
        let help = if nearest.is_empty() {
            String::new()
        } else {
            format!("; the nearest name is {nearest}")
        };
        Error::new(
            Code::FunctionMissing,
            format!("FUNCTION {database}{name} does not exist{help}"),
        )
    }

    // Aggregates.

    /// An aggregate: a column behind those of the table.
    fn aggregate(&mut self, call: &ast::Call, kind: AggregateKind) -> Result<Expr> {
        if self.aggregate_rule != AggregateRule::Allowed {
            return Err(Error::new(
                Code::InvalidGroupFunction,
                "Invalid use of group function",
            ));
        }
        check_aggregate(call, kind)?;
        self.aggregate_rule = AggregateRule::Inside;
        let args = self.values(&call.args);
        let order_by = args
            .as_ref()
            .map(|args| self.aggregate_order(&call.order_by, args));
        self.aggregate_rule = AggregateRule::Allowed;
        let order_by = order_by.unwrap_or_else(|_| Ok(Vec::new()))?;
        let mut args = args?;
        let keys = order_by.iter().map(|key: &OrderBy| &key.expr);
        if args.iter().chain(keys).any(|arg| self.has_window(arg)) {
            return Err(super::window::misplaced(&call.name));
        }
        if kind == AggregateKind::GroupConcat && 1 < args.len() {
            args = vec![known_call("CONCAT", args)?];
        }
        let distinct = call.distinct && !matches!(kind, AggregateKind::Min | AggregateKind::Max);
        let ty = typing::aggregate_type(kind, &args);
        let nullable = kind != AggregateKind::Count;
        let aggregate = Aggregate {
            kind,
            args,
            distinct,
            order_by,
            separator: call.separator.clone(),
            ty: ty.clone(),
        };
        let position = self.aggregate_position(aggregate);
        Ok(Expr {
            kind: ExprKind::Column(self.columns_count() + position),
            ty,
            nullable,
        })
    }

    /// `ORDER BY` inside `GROUP_CONCAT`; a whole number stands for the argument of that position.
    fn aggregate_order(&mut self, items: &[ast::OrderItem], args: &[Expr]) -> Result<Vec<OrderBy>> {
        let mut order_by = Vec::with_capacity(items.len());
        for item in items {
            let expr = match &item.expr {
                ast::Expr::Literal(ast::Literal::Int(position)) => {
                    let idx = usize::try_from(*position)
                        .ok()
                        .and_then(|at| at.checked_sub(1));
                    idx.and_then(|idx| args.get(idx)).cloned().ok_or_else(|| {
                        let text = format!("Unknown column '{position}' in 'order clause'");
                        Error::new(Code::UnknownColumn, text)
                    })?
                }
                expr => self.value(expr)?,
            };
            order_by.push(OrderBy {
                expr,
                descending: item.descending,
            });
        }
        Ok(order_by)
    }

    /// The position of an aggregate among those collected; each is computed once.
    fn aggregate_position(&mut self, aggregate: Aggregate) -> usize {
        let equal = |other: &Aggregate| {
            other.kind == aggregate.kind
                && other.distinct == aggregate.distinct
                && other.args.len() == aggregate.args.len()
                && other
                    .args
                    .iter()
                    .zip(&aggregate.args)
                    .all(|(a, b)| same(a, b))
                && other.separator == aggregate.separator
                && other.order_by.is_empty()
                && aggregate.order_by.is_empty()
        };
        let found = self.aggregates.iter().position(equal);
        found.unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        })
    }

    // Columns by way of their table.

    /// `VALUES(c)`: the proposed row's column; outside `ON DUPLICATE KEY UPDATE` it is `NULL`.
    pub(super) fn proposed_value(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let source = self.source();
        let idx = source.and_then(|source| source.column_idx(&name.column));
        let (Some(source), Some(idx)) = (source, idx) else {
            return Err(self.unknown(&name.to_string()));
        };
        if self.proposed.is_none() {
            return Ok(literal::null());
        }
        let column = source.proposed_column(idx);
        column.ok_or_else(|| self.unknown(&name.to_string()))
    }

    /// `DEFAULT(c)`.
    pub(super) fn default_of(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let column = self.source().and_then(|source| {
            let idx = source.column_idx(&name.column)?;
            source.table()?.columns.get(idx)
        });
        match column {
            Some(column) => default_value(column),
            None => Err(self.unknown(&name.to_string())),
        }
    }
}

/// # Errors
/// 1426 for `NOW(7)` and the like.
fn check_fraction(name: &str, args: &[Expr]) -> Result<()> {
    const CLOCKS: [&str; 9] = [
        "NOW",
        "CURRENT_TIMESTAMP",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "SYSDATE",
        "CURTIME",
        "CURRENT_TIME",
        "UTC_TIME",
        "UTC_TIMESTAMP",
    ];
    match args.first().map(|arg| &arg.kind) {
        Some(ExprKind::Literal(Value::Int(digits @ 7..))) if CLOCKS.contains(&name) => {
            let name = name.to_ascii_lowercase();
            let text = format!("Too-big precision {digits} specified for '{name}'. Maximum is 6.");
            Err(Error::new(Code::TooBigPrecision, text))
        }
        _ => Ok(()),
    }
}

/// The default of a column as an expression.
///
/// # Errors
/// 1364 when there is none.
pub(super) fn default_value(column: &Column) -> Result<Expr> {
    match &column.default {
        ColumnDefault::Constant(constant) => {
            Ok(literal::value(constant.clone(), column.ty.clone()))
        }
        ColumnDefault::Now => {
            let fsp = literal::value(Value::Int(i64::from(column.ty.fsp())), ColumnType::BIGINT);
            known_call("NOW", vec![fsp])
        }
        ColumnDefault::None if column.nullable => Ok(literal::null()),
        ColumnDefault::None => Err(Error::new(
            Code::NoDefault,
            format!("Field '{}' doesn't have a default value", column.name),
        )),
    }
}

/// Whether an aggregate has that name.
pub(super) fn is_aggregate(name: &str) -> bool {
    aggregate_kind(name).is_some()
}

/// Whether MySQL has an aggregate of that name, and this server has not.
pub(super) fn is_aggregate_unsupported(name: &str) -> bool {
    let mut names = AGGREGATES_UNSUPPORTED.iter();
    names.any(|other| other.eq_ignore_ascii_case(name))
}

/// The aggregate of that name.
pub(super) fn aggregate_kind(name: &str) -> Option<AggregateKind> {
    const KINDS: &[(&str, AggregateKind)] = &[
        ("COUNT", AggregateKind::Count),
        ("SUM", AggregateKind::Sum),
        ("MIN", AggregateKind::Min),
        ("MAX", AggregateKind::Max),
        ("AVG", AggregateKind::Avg),
        ("GROUP_CONCAT", AggregateKind::GroupConcat),
        ("ANY_VALUE", AggregateKind::AnyValue),
    ];
    let found = KINDS
        .iter()
        .find(|(other, _)| other.eq_ignore_ascii_case(name));
    found.map(|(_, kind)| *kind)
}

/// # Errors
/// 1582 for a wrong number of arguments.
pub(super) fn check_aggregate(call: &ast::Call, kind: AggregateKind) -> Result<()> {
    let fits = match kind {
        AggregateKind::Count if call.star => true,
        AggregateKind::Count if call.distinct => !call.args.is_empty(),
        AggregateKind::GroupConcat => !call.args.is_empty(),
        AggregateKind::Count
        | AggregateKind::Sum
        | AggregateKind::Min
        | AggregateKind::Max
        | AggregateKind::Avg
        | AggregateKind::AnyValue => call.args.len() == 1,
    };
    if fits {
        return Ok(());
    }
    Err(Error::new(
        Code::WrongParameterCount,
        format!(
            "Incorrect parameter count in the call to native function '{}'",
            call.name
        ),
    ))
}
