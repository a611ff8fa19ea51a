//! Calls: functions of the registry, aggregates, and what needs the table's definition.

use std::sync::Arc;

use super::expr::known_call;
use super::json_truth;
use super::literal;
use super::operands;
use super::regexp;
use super::scope::{AggregateRule, Scope};
use super::source::Source;
use crate::catalog::{Column, ColumnDefault};
use crate::error::{Code, Error, Result};
use crate::sql::aggregate::{self, names};
use crate::sql::ast::{self, Literal};
use crate::sql::bound::{Aggregate, AggregateKind, OrderBy};
use crate::sql::expr::{Expr, ExprKind, UnaryOp};
use crate::sql::functions::{self, Category, Function, catalogue, json};
use crate::types::{ColumnType, Value};

/// Functions of MySQL's grammar: another number of arguments is a syntax error.
const OF_GRAMMAR: &[&str] = &[
    "ASCII",
    "CHAR",
    "CHARSET",
    "COLLATION",
    "CURRENT_USER",
    "DATABASE",
    "DATE",
    "DAY",
    "FORMAT",
    "HOUR",
    "IF",
    "INSERT",
    "LEFT",
    "MICROSECOND",
    "MINUTE",
    "MONTH",
    "NOW",
    "QUARTER",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "RIGHT",
    "ROW_COUNT",
    "SECOND",
    "SUBSTRING",
    "SUBSTR",
    "SYSDATE",
    "TIME",
    "TIMESTAMP",
    "TRUNCATE",
    "USER",
    "WEEK",
    "YEAR",
];

impl Scope<'_> {
    pub(super) fn call(&mut self, call: &ast::Call) -> Result<Expr> {
        if call.over.is_some() {
            return self.window_call(call);
        }
        if call.name.eq_ignore_ascii_case("GROUPING") {
            return self.grouping_call(call);
        }
        if let Some(estimate) = self.estimate_call(call)? {
            return Ok(estimate);
        }
        if let Some(known) = names::find(&call.name) {
            return self.aggregate(call, known.kind);
        }
        if call.star || call.distinct {
            return Err(not_an_aggregate(&call.name));
        }
        let Some(function) = functions::find(&call.name) else {
            return Err(self.unknown_function(&call.name));
        };
        if function.name == "NAME_CONST" {
            check_name_const(&call.args)?;
        }
        // Calls nest deeply: what is large stays out of this frame.
        let args = self.values(&call.args)?;
        let args = self.digits_in_call(function, (args, call.args.as_slice()))?;
        let args = match function.name {
            "NULLIF" => operands::null_if(args, self.columns_count()),
            _ => args,
        };
        of_function(call, function, args)
    }

    fn unknown_function(&self, name: &str) -> Error {
        let database = match self.names.database {
            Some(database) if !name.contains('.') => format!("{database}."),
            Some(_) | None => String::new(),
        };
        let nearest = catalogue::nearest(name);
        let help = if nearest.is_empty() {
            String::new()
        } else {
            format!("; did you mean {nearest}?")
        };
        Error::new(
            Code::FunctionMissing,
            format!("FUNCTION {database}{name} does not exist{help}"),
        )
    }

    // Aggregates.

    /// An aggregate: a column behind those of the table; of a query around, what comes from there.
    pub(super) fn aggregate(&mut self, call: &ast::Call, kind: AggregateKind) -> Result<Expr> {
        if let Some(outer) = self.outer_aggregate(call, kind)? {
            return Ok(outer);
        }
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
        self.refuse_outer(&call.name, &args)?;
        let keys = order_by.iter().map(|key: &OrderBy| &key.expr);
        if args.iter().chain(keys).any(|arg| self.has_window(arg)) {
            return Err(super::window::misplaced(&call.name));
        }
        if matches!(kind, AggregateKind::JsonArray | AggregateKind::JsonObject)
            && let Some(value) = args.last_mut()
        {
            json_truth::keep_truth(value, call.args.last());
        }
        // Of several with DISTINCT two rows are equal when each argument is, not when their joined text is.
        if kind == AggregateKind::GroupConcat && 1 < args.len() && !call.distinct {
            args = vec![known_call("CONCAT", args)?];
        }
        let distinct = call.distinct && !matches!(kind, AggregateKind::Min | AggregateKind::Max);
        let ty = aggregate::aggregate_type(kind, &args);
        let nullable = is_nullable(kind);
        let aggregate = Aggregate {
            kind,
            args,
            distinct,
            order_by,
            separator: call.separator.as_deref().map(Arc::from),
            ty: ty.clone(),
        };
        let position = self.aggregates.named(aggregate)?;
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
                ast::Expr::Literal(Literal::Int(position)) => {
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

    // Columns by way of their table.

    /// `VALUES(c)`: the proposed row's column; outside `ON DUPLICATE KEY UPDATE` it is `NULL`.
    pub(super) fn proposed_value(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let source = self.source();
        let idx = source.and_then(|source| source.column_idx(&name.column));
        let idx = match (idx, source.and_then(Source::table)) {
            (None, Some(table)) => self.names.undeclared(table, &name.column)?,
            (idx, _) => idx,
        };
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
        let of_target = || {
            let target = self.target.as_ref()?;
            target.columns.get(target.column_idx(&name.column)?)
        };
        match column.or_else(of_target) {
            Some(column) => default_value(column),
            None => Err(self.unknown(&name.to_string())),
        }
    }
}

/// # Errors
/// 1210 unless both arguments of `NAME_CONST` are constants, 1382 for `NULL` as a name. How many there are
/// is looked at elsewhere.
fn check_name_const(args: &[ast::Expr]) -> Result<()> {
    let [name, constant] = args else {
        return Ok(());
    };
    let is_literal = |expr: &ast::Expr| matches!(expr, ast::Expr::Literal(_));
    let is_constant = match constant {
        ast::Expr::Unary(UnaryOp::Negate, of) | ast::Expr::Collate(of, _) => is_literal(of),
        expr => is_literal(expr),
    };
    if !is_literal(name) || !is_constant {
        let text = "Incorrect arguments to NAME_CONST";
        return Err(Error::new(Code::WrongArguments, text));
    }
    if matches!(name, ast::Expr::Literal(Literal::Null)) {
        let text = "The 'NAME_CONST' syntax is reserved for purposes internal to the MySQL server";
        return Err(Error::new(Code::ReservedSyntax, text));
    }
    Ok(())
}

/// The name that `NAME_CONST` gives to its column.
pub(super) fn const_name(expr: &ast::Expr) -> Option<String> {
    let ast::Expr::Call(call) = expr else {
        return None;
    };
    if !call.name.eq_ignore_ascii_case("NAME_CONST") {
        return None;
    }
    match call.args.first()? {
        ast::Expr::Literal(Literal::Text(name) | Literal::Decimal(name)) => Some(name.clone()),
        ast::Expr::Literal(Literal::Int(name)) => Some(name.to_string()),
        _ => None,
    }
}

fn not_an_aggregate(name: &str) -> Error {
    let text = format!(
        "You have an error in your SQL syntax: {name} is no aggregate, so '*' and DISTINCT cannot be \
         its arguments"
    );
    Error::new(Code::Parse, text)
}

/// The call of a function with bound arguments.
///
/// # Errors
/// 1582 for a wrong number of them, of a function of MySQL's grammar 1064; 1426.
fn of_function(call: &ast::Call, function: &'static Function, mut args: Vec<Expr>) -> Result<Expr> {
    if takes_numbers(function) {
        args = args.into_iter().map(literal::as_number).collect();
    }
    for (idx, arg) in args.iter_mut().enumerate() {
        if json::takes_value(function.name, idx) {
            json_truth::keep_truth(arg, call.args.get(idx));
        }
    }
    if !function.accepts(args.len()) {
        let (name, arguments) = (function.name, function.arguments);
        if OF_GRAMMAR.contains(&name) {
            let text = format!("You have an error in your SQL syntax: {name} takes ({arguments})");
            return Err(Error::new(Code::Parse, text));
        }
        let text = format!(
            "Incorrect parameter count in the call to native function '{}'",
            call.name
        );
        return Err(Error::new(Code::WrongParameterCount, text));
    }
    check_fraction(function.name, &args)?;
    regexp::check_call(function.name, &args)?;
    // Beside a number alone, as in a comparison: see `takes_numbers` for those that always take them.
    let args = if function.name == "FIELD" && args.iter().any(|arg| arg.ty.is_numeric()) {
        args.into_iter().map(literal::as_number).collect()
    } else {
        args
    };
    known_call(function.name, args)
}

/// Whether a literal in hexadecimal is a number among the function's arguments, and not bytes.
fn takes_numbers(function: &Function) -> bool {
    match function.category {
        Category::Numeric | Category::Bit => function.name != "CONV",
        Category::Comparison
        | Category::ControlFlow
        | Category::Text
        | Category::DateAndTime
        | Category::Cast
        | Category::Json
        | Category::Digest
        | Category::Information
        | Category::Locking
        | Category::Miscellaneous
        | Category::Aggregate => ["CHAR", "SPACE", "INET_NTOA", "FORMAT"].contains(&function.name),
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

/// Whether an aggregate of no rows is `NULL`.
pub(super) fn is_nullable(kind: AggregateKind) -> bool {
    !matches!(
        kind,
        AggregateKind::Count | AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor
    )
}

/// Whether an aggregate has that name.
pub(super) fn is_aggregate(name: &str) -> bool {
    names::find(name).is_some()
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
        | AggregateKind::BitAnd
        | AggregateKind::BitOr
        | AggregateKind::BitXor
        | AggregateKind::StddevPop
        | AggregateKind::StddevSamp
        | AggregateKind::VarPop
        | AggregateKind::VarSamp
        | AggregateKind::JsonArray
        | AggregateKind::AnyValue => call.args.len() == 1,
        AggregateKind::JsonObject => call.args.len() == 2,
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
