//! The text of a bound expression, close to what MySQL prints in errors and EXPLAIN.
//!
//! Columns are positions here: the caller tells their names, or gets `$1`, `$2`, ….
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::fmt::Write as _;

use super::super::expr::{CastType, Expr, ExprKind, UnaryOp, VariableScope};
use crate::sql::functions::{Function, assign};
use crate::types::Value;

/// The text of an expression whose columns' names are unknown.
pub fn text(expr: &Expr) -> String {
    text_with(expr, &|column_idx| format!("${}", column_idx + 1))
}

/// The text of an expression; `names` tells the text of the column at a position.
pub fn text_with(expr: &Expr, names: &dyn Fn(usize) -> String) -> String {
    let mut printer = Printer {
        text: String::new(),
        names,
    };
    printer.expr(expr);
    printer.text
}

/// The text of a value as a literal.
pub fn literal(value: &Value<'_>) -> String {
    match value {
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Decimal(_)
        | Value::Year(_) => value.to_text().into_owned(),
        Value::Double(_) => {
            let text = value.to_text().into_owned();
            if text.contains('e') {
                text
            } else {
                text + "e0"
            }
        }
        Value::Text(text) | Value::Json(text) => quoted(text),
        Value::Enum(member) => quoted(&member.label),
        Value::Bytes(bytes) => bytes
            .iter()
            .fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}")),
        Value::Date(date) => format!("DATE'{date}'"),
        Value::Time(time) => format!("TIME'{time}'"),
        Value::Datetime(at) => format!("TIMESTAMP'{at}'"),
        Value::Timestamp(at) => format!("TIMESTAMP'{at}'"),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

struct Printer<'n> {
    text: String,
    names: &'n dyn Fn(usize) -> String,
}

impl Printer<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(value) => self.word(&literal(value)),
            ExprKind::Column(column_idx) => {
                let name = (self.names)(*column_idx);
                self.word(&name);
            }
            ExprKind::Parameter(_) => self.word("?"),
            ExprKind::Slot(slot) => self.word(&slot.text),
            ExprKind::UserVariable(name) => self.words(&["@", name]),
            ExprKind::SystemVariable { scope, name } => self.words(&[scope_prefix(*scope), name]),
            ExprKind::Unary(UnaryOp::Negate, a) => self.wrapped("-(", a, ")"),
            ExprKind::Unary(UnaryOp::BitNot, a) => self.wrapped("~(", a, ")"),
            ExprKind::Binary(op, a, b) => self.infix(&[a, b], op.symbol()),
            ExprKind::Compare(op, a, b) => self.infix(&[a, b], op.symbol()),
            ExprKind::Xor(a, b) => self.infix(&[a, b], "xor"),
            ExprKind::And(parts) => self.infix(&parts.iter().collect::<Vec<_>>(), "and"),
            ExprKind::Or(parts) => self.infix(&parts.iter().collect::<Vec<_>>(), "or"),
            ExprKind::Not(a) => self.wrapped("(not(", a, "))"),
            ExprKind::Call(function, args) => self.call(function, args),
            ExprKind::Row(parts) => self.list(parts),
            ExprKind::IsNull { .. }
            | ExprKind::IsTruth { .. }
            | ExprKind::InList { .. }
            | ExprKind::InSet { .. }
            | ExprKind::Quantified { .. }
            | ExprKind::Between { .. }
            | ExprKind::Like { .. }
            | ExprKind::Regexp { .. } => self.predicate(expr),
            ExprKind::Case { .. } => self.case(expr),
            // Bound again it is one again.
            ExprKind::Cast(a, CastType::YearBeside | CastType::AsIs) => self.expr(a),
            ExprKind::Cast(a, CastType::BytesBeside) => self.wrapped("unhex(", a, ")"),
            ExprKind::Cast(a, target) => {
                self.wrapped("cast(", a, " as ");
                self.words(&[&cast_word(target), ")"]);
            }
            ExprKind::DateShift {
                date,
                amount,
                unit,
                negated,
            } => {
                self.wrapped(
                    "(",
                    date,
                    if *negated {
                        " - interval "
                    } else {
                        " + interval "
                    },
                );
                self.wrapped("", amount, " ");
                self.words(&[&unit.name().to_ascii_lowercase(), ")"]);
            }
        }
    }

    fn call(&mut self, function: &Function, args: &[Expr]) {
        if let Some(variable) = assign::text(function, args) {
            return match args.get(1) {
                Some(value) => self.wrapped(&format!("({variable}"), value, ")"),
                None => self.word(&variable),
            };
        }
        let name = function.name;
        self.word(&name.to_ascii_lowercase());
        match (name, args) {
            ("EXTRACT", [unit, date]) => {
                self.words(&["(", &unit_word(unit), " from "]);
                self.expr(date);
                self.word(")");
            }
            ("TIMESTAMPDIFF" | "TIMESTAMPADD", [unit, rest @ ..]) => {
                self.words(&["(", &unit_word(unit)]);
                for arg in rest {
                    self.wrapped(",", arg, "");
                }
                self.word(")");
            }
            _ => self.list(args),
        }
    }

    fn predicate(&mut self, expr: &Expr) {
        let not = |negated: bool| if negated { " not" } else { "" };
        match &expr.kind {
            ExprKind::IsNull { expr, negated } => {
                self.wrapped(
                    "(",
                    expr,
                    if *negated {
                        " is not null)"
                    } else {
                        " is null)"
                    },
                );
            }
            ExprKind::IsTruth {
                expr,
                truth,
                negated,
            } => {
                let truth = truth.map_or("unknown", |truth| if truth { "true" } else { "false" });
                self.wrapped("(", expr, " is");
                self.words(&[not(*negated), " ", truth, ")"]);
            }
            ExprKind::InList {
                expr,
                list,
                negated,
            } => {
                self.wrapped("(", expr, not(*negated));
                self.word(" in ");
                self.list(list);
                self.word(")");
            }
            ExprKind::InSet { expr, set, negated } => {
                self.wrapped("(", expr, not(*negated));
                self.words(&[" in ", &set.text, ")"]);
            }
            ExprKind::Quantified { expr, op, all, set } => {
                let word = if *all { " all " } else { " any " };
                self.wrapped("(", expr, " ");
                self.words(&[op.symbol(), word, &set.text, ")"]);
            }
            ExprKind::Between {
                expr,
                low,
                high,
                negated,
            } => {
                self.wrapped("(", expr, not(*negated));
                self.wrapped(" between ", low, " and ");
                self.wrapped("", high, ")");
            }
            _ => self.pattern_match(expr),
        }
    }

    fn pattern_match(&mut self, expr: &Expr) {
        let not = |negated: bool| if negated { " not" } else { "" };
        match &expr.kind {
            ExprKind::Like {
                expr,
                pattern,
                escape,
                negated,
            } => {
                self.wrapped("(", expr, not(*negated));
                self.wrapped(" like ", pattern, "");
                if *escape != Some('\\') {
                    let escape = escape.map_or(String::new(), String::from);
                    self.words(&[" escape ", &quoted(&escape)]);
                }
                self.word(")");
            }
            ExprKind::Regexp {
                expr,
                pattern,
                negated,
            } => {
                self.wrapped("(", expr, not(*negated));
                self.wrapped(" regexp ", pattern, ")");
            }
            _ => {}
        }
    }

    fn case(&mut self, expr: &Expr) {
        let ExprKind::Case {
            operand,
            branches,
            otherwise,
        } = &expr.kind
        else {
            return;
        };
        self.word("(case");
        if let Some(operand) = operand {
            self.wrapped(" ", operand, "");
        }
        for (condition, result) in branches {
            self.wrapped(" when ", condition, "");
            self.wrapped(" then ", result, "");
        }
        if let Some(otherwise) = otherwise {
            self.wrapped(" else ", otherwise, "");
        }
        self.word(" end)");
    }

    fn infix(&mut self, operands: &[&Expr], word: &str) {
        for (idx, operand) in operands.iter().enumerate() {
            if idx == 0 {
                self.word("(");
            } else {
                self.words(&[" ", word, " "]);
            }
            self.expr(operand);
        }
        self.word(")");
    }

    fn list(&mut self, exprs: &[Expr]) {
        self.word("(");
        for (idx, expr) in exprs.iter().enumerate() {
            if idx != 0 {
                self.word(",");
            }
            self.expr(expr);
        }
        self.word(")");
    }

    fn wrapped(&mut self, before: &str, expr: &Expr, after: &str) {
        self.word(before);
        self.expr(expr);
        self.word(after);
    }

    fn words(&mut self, words: &[&str]) {
        for word in words {
            self.word(word);
        }
    }

    fn word(&mut self, word: &str) {
        self.text.push_str(word);
    }
}

/// The unit of a call that takes one as its first argument.
fn unit_word(unit: &Expr) -> String {
    match &unit.kind {
        ExprKind::Literal(unit) => unit.to_text().to_ascii_lowercase(),
        _ => text(unit),
    }
}

pub(crate) fn scope_prefix(scope: VariableScope) -> &'static str {
    match scope {
        VariableScope::Any => "@@",
        VariableScope::Session => "@@session.",
        VariableScope::Global => "@@global.",
    }
}

pub(crate) fn cast_word(target: &CastType) -> String {
    let mut word = match target {
        CastType::Signed => "signed",
        CastType::Unsigned => "unsigned",
        CastType::Char(_) => "char",
        CastType::Binary(_) | CastType::BytesBeside => "binary",
        CastType::Decimal { .. } => "decimal",
        CastType::Float => "float",
        CastType::Double => "double",
        CastType::Date => "date",
        CastType::Time(_) => "time",
        CastType::Datetime(_) => "datetime",
        CastType::Year | CastType::YearBeside => "year",
        CastType::AsIs => "",
        CastType::Json => "json",
    }
    .to_owned();
    // Writing to a String cannot fail.
    let _ = match target {
        CastType::Char(Some(len)) | CastType::Binary(Some(len)) => write!(word, "({len})"),
        CastType::Decimal { precision, scale } => write!(word, "({precision},{scale})"),
        CastType::Time(fsp) | CastType::Datetime(fsp) if *fsp != 0 => write!(word, "({fsp})"),
        _ => Ok(()),
    };
    word
}
