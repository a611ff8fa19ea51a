//! Expressions and names as SQL text, for EXPLAIN and refusals.
//!
//! The text is MySQL's SQL with as few parentheses as its precedence needs. Column positions become
//! names through a [`Names`]; values are those of [`super::values::literal`].
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use std::fmt::Write as _;

use super::values;
use crate::catalog::Table;
use crate::sql::expr::{BinaryOp, CastType, Expr, ExprKind, UnaryOp, VariableScope};
use crate::sql::functions::assign;
use crate::types::Value;
use crate::types::temporal::Zone;

mod words;

pub use words::{quote_name, unit_word};

/// The names of the columns that an expression refers to by position, and the session's zone.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The name at a position.
    pub column: &'a dyn Fn(usize) -> String,
    /// For TIMESTAMP values.
    pub zone: &'a Zone,
}

/// The name of a table's column, in backticks where it needs them.
pub fn column_name(table: &Table, column_idx: usize) -> String {
    match table.columns.get(column_idx) {
        Some(column) => match &column.spread {
            Some(spread) => spread.text(&|idx| column_name(table, idx)),
            None => quote_name(&column.name),
        },
        None => format!("column {column_idx}"),
    }
}

/// An expression over the columns of a table.
pub fn over_table(expr: &Expr, table: &Table, zone: &Zone) -> String {
    let column = |idx| column_name(table, idx);
    let names = Names {
        column: &column,
        zone,
    };
    expression(expr, names)
}

/// An expression as SQL.
pub fn expression(expr: &Expr, names: Names<'_>) -> String {
    let mut writer = Writer {
        text: String::new(),
        names,
    };
    writer.expr(expr, Level::Or);
    writer.text
}

/// How tightly an operator binds, loosest first (MySQL manual, "Operator Precedence").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    Xor,
    And,
    Not,
    Predicate,
    BitOr,
    BitAnd,
    Shift,
    Sum,
    Product,
    BitXor,
    Unary,
    Operand,
}

struct Writer<'a> {
    text: String,
    names: Names<'a>,
}

impl Writer<'_> {
    /// Writes `expr`, in parentheses when it binds less than `least`.
    fn expr(&mut self, expr: &Expr, least: Level) {
        let is_loose = level_of(&expr.kind) < least;
        if is_loose {
            self.text.push('(');
        }
        self.kind(&expr.kind);
        if is_loose {
            self.text.push(')');
        }
    }

    fn kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Literal(value) => {
                let text = values::literal(value, self.names.zone);
                self.text.push_str(type_word(value));
                self.text.push_str(&text);
            }
            ExprKind::Column(idx) => {
                let name = (self.names.column)(*idx);
                self.text.push_str(&name);
            }
            ExprKind::Parameter(_) => self.text.push('?'),
            ExprKind::Slot(slot) => self.text.push_str(&slot.text),
            ExprKind::UserVariable(name) => self.put(format_args!("@{}", quote_name(name))),
            ExprKind::SystemVariable { scope, name } => self.system_variable(*scope, name),
            ExprKind::Unary(op, a) => {
                self.text.push(match op {
                    UnaryOp::Negate => '-',
                    UnaryOp::BitNot => '~',
                });
                self.expr(a, Level::Operand);
            }
            ExprKind::Binary(op, a, b) => self.infix(op.symbol(), (a, b), binary_level(*op)),
            ExprKind::Compare(op, a, b) => {
                self.expr(a, Level::BitOr);
                self.put(format_args!(" {} ", op.symbol()));
                self.expr(b, Level::BitOr);
            }
            ExprKind::And(parts) => self.joined(parts, " AND ", Level::Not),
            ExprKind::Or(parts) => self.joined(parts, " OR ", Level::Xor),
            ExprKind::Xor(a, b) => self.infix("XOR", (a, b), Level::Xor),
            ExprKind::Not(a) => {
                self.text.push_str("NOT ");
                self.expr(a, Level::Not);
            }
            ExprKind::IsNull { .. }
            | ExprKind::IsTruth { .. }
            | ExprKind::InList { .. }
            | ExprKind::InSet { .. }
            | ExprKind::Quantified { .. }
            | ExprKind::Between { .. }
            | ExprKind::Like { .. }
            | ExprKind::Regexp { .. } => self.predicate(kind),
            ExprKind::Case { .. }
            | ExprKind::Cast(..)
            | ExprKind::DateShift { .. }
            | ExprKind::Call(..)
            | ExprKind::Row(_) => self.operand(kind),
        }
    }

    fn predicate(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::IsNull { expr, negated } => {
                self.expr(expr, Level::BitOr);
                self.text
                    .push_str(pick(*negated, " IS NOT NULL", " IS NULL"));
            }
            ExprKind::IsTruth {
                expr,
                truth,
                negated,
            } => {
                self.expr(expr, Level::BitOr);
                self.text.push_str(pick(*negated, " IS NOT ", " IS "));
                self.text.push_str(truth_word(*truth));
            }
            ExprKind::InList {
                expr,
                list,
                negated,
            } => {
                self.expr(expr, Level::BitOr);
                self.text.push_str(pick(*negated, " NOT IN (", " IN ("));
                self.joined(list, ", ", Level::Or);
                self.text.push(')');
            }
            ExprKind::InSet { .. } | ExprKind::Quantified { .. } => self.of_set(kind),
            ExprKind::Between {
                expr,
                low,
                high,
                negated,
            } => {
                self.expr(expr, Level::BitOr);
                self.text
                    .push_str(pick(*negated, " NOT BETWEEN ", " BETWEEN "));
                self.expr(low, Level::BitOr);
                self.text.push_str(" AND ");
                self.expr(high, Level::BitOr);
            }
            ExprKind::Like {
                expr,
                pattern,
                escape,
                negated,
            } => {
                self.matched((expr, pattern), pick(*negated, " NOT LIKE ", " LIKE "));
                self.escape(*escape);
            }
            ExprKind::Regexp {
                expr,
                pattern,
                negated,
            } => self.matched((expr, pattern), pick(*negated, " NOT REGEXP ", " REGEXP ")),
            other => self.operand(other),
        }
    }

    /// Predicates on the rows of a subquery.
    fn of_set(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::InSet { expr, set, negated } => {
                self.expr(expr, Level::BitOr);
                self.text.push_str(pick(*negated, " NOT IN ", " IN "));
                self.text.push_str(&set.text);
            }
            ExprKind::Quantified { expr, op, all, set } => {
                self.expr(expr, Level::BitOr);
                let word = if *all { "ALL" } else { "ANY" };
                self.put(format_args!(" {} {word} {}", op.symbol(), set.text));
            }
            other => self.operand(other),
        }
    }

    fn matched(&mut self, (expr, pattern): (&Expr, &Expr), word: &str) {
        self.expr(expr, Level::BitOr);
        self.text.push_str(word);
        self.expr(pattern, Level::Operand);
    }

    /// MySQL's escape character unless told otherwise is the backslash.
    fn escape(&mut self, escape: Option<char>) {
        match escape {
            Some('\\') => {}
            Some('\'') => self.text.push_str(" ESCAPE ''''"),
            Some(other) => self.put(format_args!(" ESCAPE '{other}'")),
            None => self.text.push_str(" ESCAPE ''"),
        }
    }

    fn operand(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => self.case((operand.as_deref(), otherwise.as_deref()), branches),
            ExprKind::Cast(a, CastType::BytesBeside) => {
                self.text.push_str("UNHEX(");
                self.expr(a, Level::Or);
                self.text.push(')');
            }
            ExprKind::Cast(a, CastType::AsIs) => self.expr(a, Level::Or),
            ExprKind::Cast(a, target) => {
                self.text.push_str("CAST(");
                self.expr(a, Level::Or);
                self.put(format_args!(" AS {})", cast_word(target)));
            }
            ExprKind::DateShift {
                date,
                amount,
                unit,
                negated,
            } => {
                self.expr(date, Level::Sum);
                self.text
                    .push_str(pick(*negated, " - INTERVAL ", " + INTERVAL "));
                self.expr(amount, Level::Sum);
                self.put(format_args!(" {}", unit_word(*unit)));
            }
            ExprKind::Call(function, args) => {
                if let Some(text) = assign::text(function, args) {
                    self.text.push_str(&text);
                    return self.joined(args.get(1..).unwrap_or_default(), "", Level::Or);
                }
                self.put(format_args!("{}(", function.name));
                self.joined(args, ", ", Level::Or);
                self.text.push(')');
            }
            ExprKind::Row(parts) => {
                self.text.push('(');
                self.joined(parts, ", ", Level::Or);
                self.text.push(')');
            }
            // The other kinds are written by the callers.
            _ => {}
        }
    }

    fn case(
        &mut self,
        (operand, otherwise): (Option<&Expr>, Option<&Expr>),
        branches: &[(Expr, Expr)],
    ) {
        self.text.push_str("CASE");
        if let Some(operand) = operand {
            self.text.push(' ');
            self.expr(operand, Level::Or);
        }
        for (condition, result) in branches {
            self.text.push_str(" WHEN ");
            self.expr(condition, Level::Or);
            self.text.push_str(" THEN ");
            self.expr(result, Level::Or);
        }
        if let Some(otherwise) = otherwise {
            self.text.push_str(" ELSE ");
            self.expr(otherwise, Level::Or);
        }
        self.text.push_str(" END");
    }

    fn system_variable(&mut self, scope: VariableScope, name: &str) {
        let scope = match scope {
            VariableScope::Any => "",
            VariableScope::Session => "session.",
            VariableScope::Global => "global.",
        };
        self.put(format_args!("@@{scope}{name}"));
    }

    fn infix(&mut self, word: &str, (a, b): (&Expr, &Expr), level: Level) {
        self.expr(a, level);
        self.put(format_args!(" {word} "));
        self.expr(b, tighter(level));
    }

    fn joined(&mut self, parts: &[Expr], between: &str, least: Level) {
        for (at, part) in parts.iter().enumerate() {
            if 0 < at {
                self.text.push_str(between);
            }
            self.expr(part, least);
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.text.write_fmt(text);
    }
}

/// What stands before a literal that would else be a text.
fn type_word(value: &Value<'_>) -> &'static str {
    match value {
        Value::Date(_) => "DATE ",
        Value::Time(_) => "TIME ",
        Value::Datetime(_) | Value::Timestamp(_) => "TIMESTAMP ",
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => "",
    }
}

fn truth_word(truth: Option<bool>) -> &'static str {
    match truth {
        Some(true) => "TRUE",
        Some(false) => "FALSE",
        None => "UNKNOWN",
    }
}

fn pick<'t>(negated: bool, with: &'t str, without: &'t str) -> &'t str {
    if negated { with } else { without }
}

fn level_of(kind: &ExprKind) -> Level {
    match kind {
        ExprKind::Or(_) => Level::Or,
        ExprKind::Xor(..) => Level::Xor,
        ExprKind::And(_) => Level::And,
        ExprKind::Not(_) => Level::Not,
        ExprKind::Compare(..)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSet { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. } => Level::Predicate,
        ExprKind::Binary(op, ..) => binary_level(*op),
        ExprKind::DateShift { .. } => Level::Sum,
        ExprKind::Unary(..) => Level::Unary,
        ExprKind::Literal(_)
        | ExprKind::Column(_)
        | ExprKind::Parameter(_)
        | ExprKind::Slot(_)
        | ExprKind::UserVariable(_)
        | ExprKind::SystemVariable { .. }
        | ExprKind::Case { .. }
        | ExprKind::Cast(..)
        | ExprKind::Call(..)
        | ExprKind::Row(_) => Level::Operand,
    }
}

fn tighter(level: Level) -> Level {
    match level {
        Level::Or => Level::Xor,
        Level::Xor => Level::And,
        Level::And => Level::Not,
        Level::Not => Level::Predicate,
        Level::Predicate => Level::BitOr,
        Level::BitOr => Level::BitAnd,
        Level::BitAnd => Level::Shift,
        Level::Shift => Level::Sum,
        Level::Sum => Level::Product,
        Level::Product => Level::BitXor,
        Level::BitXor => Level::Unary,
        Level::Unary | Level::Operand => Level::Operand,
    }
}

fn binary_level(op: BinaryOp) -> Level {
    match op {
        BinaryOp::Add | BinaryOp::Subtract => Level::Sum,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Modulo => {
            Level::Product
        }
        BinaryOp::BitAnd => Level::BitAnd,
        BinaryOp::BitOr => Level::BitOr,
        BinaryOp::BitXor => Level::BitXor,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => Level::Shift,
    }
}

fn cast_word(target: &CastType) -> String {
    match target {
        CastType::Signed => "SIGNED".to_owned(),
        CastType::Unsigned => "UNSIGNED".to_owned(),
        CastType::Char(None) => "CHAR".to_owned(),
        CastType::Char(Some(chars)) => format!("CHAR({chars})"),
        CastType::Binary(None) | CastType::BytesBeside => "BINARY".to_owned(),
        CastType::Binary(Some(bytes)) => format!("BINARY({bytes})"),
        CastType::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        CastType::Float => "FLOAT".to_owned(),
        CastType::Double => "DOUBLE".to_owned(),
        CastType::Date => "DATE".to_owned(),
        CastType::Time(0) => "TIME".to_owned(),
        CastType::Time(fsp) => format!("TIME({fsp})"),
        CastType::Datetime(0) => "DATETIME".to_owned(),
        CastType::Datetime(fsp) => format!("DATETIME({fsp})"),
        CastType::Year | CastType::YearBeside => "YEAR".to_owned(),
        CastType::AsIs => String::new(),
        CastType::Json => "JSON".to_owned(),
    }
}
