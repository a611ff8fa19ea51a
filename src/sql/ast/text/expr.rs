//! Expressions: operators in parentheses, as MySQL writes them.

use super::Printer;
use crate::sql::ast::{Expr, Literal};
use crate::sql::eval::print::{cast_word, scope_prefix};
use crate::sql::expr::{BinaryOp, UnaryOp};
use crate::types::coerce::bytes_of_digits;
use crate::types::literal::string_literal;

impl Printer<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) {
        if self.spelling.gives_bytes(expr) {
            return self.bytes(expr);
        }
        self.as_written(expr);
    }

    /// A text that gives bytes, as these.
    fn bytes(&mut self, text: &Expr) {
        if let Expr::Literal(Literal::Text(digits)) = text
            && let Ok(bytes) = bytes_of_digits(digits)
        {
            return self.literal(&Literal::Bytes(bytes));
        }
        self.word("unhex(");
        self.as_written(text);
        self.word(")");
    }

    fn as_written(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Column(name) => self.column_name(name),
            Expr::Parameter(_) => self.variable("?"),
            Expr::UserVariable(name) => self.variable(&format!("@{}", super::quoted(name))),
            Expr::Assign(name, value) => {
                self.variable(&format!("(@{}:=", super::quoted(name)));
                self.wrapped("", value, ")");
            }
            Expr::SystemVariable(scope, name) => {
                self.variable(&format!("{}{name}", scope_prefix(*scope)));
            }
            Expr::Unary(UnaryOp::Negate, a) => self.wrapped("-(", a, ")"),
            Expr::Unary(UnaryOp::BitNot, a) => self.wrapped("~(", a, ")"),
            Expr::Binary(op, both) => self.arithmetic(*op, both),
            Expr::Compare(op, both) => self.infix(&[&both.0, &both.1], op.symbol()),
            Expr::And(parts) => self.infix(&parts.iter().collect::<Vec<_>>(), "and"),
            Expr::Or(parts) => self.infix(&parts.iter().collect::<Vec<_>>(), "or"),
            Expr::Xor(both) => self.infix(&[&both.0, &both.1], "xor"),
            Expr::Not(a) => self.wrapped("(not(", a, "))"),
            Expr::Cast(a, target) => self.cast(a, target),
            Expr::ConvertUsing(a, charset) => {
                self.wrapped("convert(", a, " using ");
                self.words(&[charset, ")"]);
            }
            Expr::Collate(a, collation) => {
                self.wrapped("(", a, " collate ");
                self.words(&[collation, ")"]);
            }
            Expr::Call(call) => self.call(call),
            Expr::Row(members) => {
                self.word("(");
                self.list(members, Printer::expr);
                self.word(")");
            }
            Expr::Values(name) => self.of_column("values(", name),
            Expr::DefaultOf(name) => self.of_column("default(", name),
            Expr::Unsupported(what) => self.words(&[what, "()"]),
            Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::InList { .. }
            | Expr::InSelect { .. }
            | Expr::Quantified { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::Regexp { .. }
            | Expr::Case { .. }
            | Expr::DateShift { .. }
            | Expr::Subquery(_)
            | Expr::Exists(_) => self.predicate(expr),
        }
    }

    fn variable(&mut self, text: &str) {
        self.has_variable = true;
        self.word(text);
    }

    fn of_column(&mut self, before: &str, name: &crate::sql::ast::ColumnName) {
        self.word(before);
        self.column_name(name);
        self.word(")");
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.word("NULL"),
            Literal::Bool(value) => self.word(if *value { "true" } else { "false" }),
            Literal::Int(value) => self.word(&value.to_string()),
            // Without its point it would be read as an integer: a position, in ORDER BY.
            Literal::Decimal(digits) if !digits.contains('.') => {
                self.word(&format!("{digits}."));
            }
            Literal::Decimal(digits) => self.word(digits),
            Literal::Double(value) => self.word(&format!("{value:e}")),
            Literal::Text(text) => self.word(&string_literal(text)),
            Literal::Bytes(bytes) => {
                self.word("x'");
                for byte in bytes {
                    self.word(&format!("{byte:02X}"));
                }
                self.word("'");
            }
            Literal::Date(text) => self.words(&["DATE", &string_literal(text)]),
            Literal::Time(text) => self.words(&["TIME", &string_literal(text)]),
            Literal::Timestamp(text) => self.words(&["TIMESTAMP", &string_literal(text)]),
        }
    }

    /// `(a + b - c)`: operators of one rank share the parentheses, so that a long sum does not nest.
    fn arithmetic(&mut self, op: BinaryOp, both: &(Expr, Expr)) {
        let mut chain = Vec::new();
        let (mut left, mut at) = (&both.0, (op, &both.1));
        loop {
            chain.push(at);
            match left {
                Expr::Binary(inner, sides) if rank(*inner) == rank(op) => {
                    at = (*inner, &sides.1);
                    left = &sides.0;
                }
                _ => break,
            }
        }
        self.wrapped("(", left, "");
        for (op, right) in chain.into_iter().rev() {
            self.words(&[" ", op.symbol(), " "]);
            self.expr(right);
        }
        self.word(")");
    }

    fn predicate(&mut self, expr: &Expr) {
        let not = |negated: bool| if negated { " not" } else { "" };
        match expr {
            Expr::IsNull { expr, negated } => {
                self.wrapped("(", expr, " is");
                self.words(&[not(*negated), " null)"]);
            }
            Expr::IsTruth {
                expr,
                truth,
                negated,
            } => {
                let truth = truth.map_or("unknown", |truth| if truth { "true" } else { "false" });
                self.wrapped("(", expr, " is");
                self.words(&[not(*negated), " ", truth, ")"]);
            }
            Expr::InList {
                expr,
                list,
                negated,
            } => {
                self.wrapped("(", expr, not(*negated));
                self.word(" in (");
                self.list(list, Printer::expr);
                self.word("))");
            }
            Expr::InSelect {
                expr,
                select,
                negated,
            } => {
                self.wrapped("(", expr, not(*negated));
                self.subquery(" in (", select, "))");
            }
            Expr::Quantified {
                expr,
                op,
                all,
                select,
            } => {
                self.wrapped("(", expr, " ");
                self.words(&[op.symbol(), if *all { " all " } else { " any " }]);
                self.subquery("(", select, "))");
            }
            Expr::Subquery(select) => self.subquery("(", select, ")"),
            Expr::Exists(select) => self.subquery("exists(", select, ")"),
            _ => self.pattern(expr),
        }
    }

    fn subquery(&mut self, before: &str, select: &crate::sql::ast::Select, after: &str) {
        self.word(before);
        self.select(select, false);
        self.word(after);
    }

    fn pattern(&mut self, expr: &Expr) {
        let not = |negated: bool| if negated { " not" } else { "" };
        match expr {
            Expr::Between {
                expr,
                bounds,
                negated,
            } => {
                self.wrapped("(", expr, not(*negated));
                self.wrapped(" between ", &bounds.0, " and ");
                self.wrapped("", &bounds.1, ")");
            }
            Expr::Like {
                operands,
                escape,
                negated,
            } => {
                self.wrapped("(", &operands.0, not(*negated));
                self.wrapped(" like ", &operands.1, "");
                if let Some(escape) = escape {
                    self.wrapped(" escape ", escape, "");
                } else if self.spelling.is_unescaped(operands) {
                    self.word(" escape ''");
                }
                self.word(")");
            }
            Expr::Regexp { operands, negated } => {
                self.wrapped("(", &operands.0, not(*negated));
                self.wrapped(" regexp ", &operands.1, ")");
            }
            Expr::DateShift {
                operands,
                unit,
                negated,
            } => {
                let sign = if *negated { " - " } else { " + " };
                self.wrapped("(", &operands.0, sign);
                self.wrapped("interval ", &operands.1, " ");
                self.words(&[&unit.name().to_ascii_lowercase(), ")"]);
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
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
            _ => {}
        }
    }

    fn cast(&mut self, a: &Expr, target: &crate::sql::expr::CastType) {
        if let Expr::Call(call) = a
            && call.name == "JSON_VALUE"
        {
            return self.json_value(call, target);
        }
        self.wrapped("cast(", a, " as ");
        self.words(&[&cast_word(target), ")"]);
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

    pub(super) fn wrapped(&mut self, before: &str, expr: &Expr, after: &str) {
        self.word(before);
        self.expr(expr);
        self.word(after);
    }
}

/// Operators that are read from left to right beside each other have one number.
fn rank(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::BitOr => 0,
        BinaryOp::BitAnd => 1,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => 2,
        BinaryOp::Add | BinaryOp::Subtract => 3,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Modulo => 4,
        BinaryOp::BitXor => 5,
    }
}
