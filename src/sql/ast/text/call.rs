//! Calls, those with a grammar of their own among them, and windows.

use super::Printer;
use crate::sql::ast::{Call, Distance, Expr, FrameBound, FrameUnit, Literal, Over, WindowSpec};
use crate::sql::eval::print::cast_word;
use crate::sql::expr::CastType;
use crate::types::literal::string_literal;

impl Printer<'_> {
    pub(super) fn call(&mut self, call: &Call) {
        let upper = call.name.to_ascii_uppercase();
        match (upper.as_str(), call.args.as_slice()) {
            ("EXTRACT", [unit, date]) => {
                self.words(&["extract(", &word_of(unit), " from "]);
                self.wrapped("", date, ")");
            }
            ("TIMESTAMPADD" | "TIMESTAMPDIFF" | "GET_FORMAT", [unit, rest @ ..]) => {
                self.words(&[&upper.to_ascii_lowercase(), "(", &word_of(unit)]);
                for arg in rest {
                    self.wrapped(",", arg, "");
                }
                self.word(")");
            }
            ("LTRIM" | "RTRIM" | "TRIM", [text, what]) => {
                let side = match upper.as_str() {
                    "LTRIM" => "trim(leading ",
                    "RTRIM" => "trim(trailing ",
                    _ => "trim(both ",
                };
                self.wrapped(side, what, " from ");
                self.wrapped("", text, ")");
            }
            ("WEIGHT_STRING", [text, kind, length]) => {
                self.wrapped("weight_string(", text, " as ");
                self.words(&[&word_of(kind), "("]);
                self.wrapped("", length, "))");
            }
            ("MEMBER_OF", [value, document]) => {
                self.wrapped("(", value, " member of(");
                self.wrapped("", document, "))");
            }
            _ => self.plain_call(call),
        }
    }

    fn plain_call(&mut self, call: &Call) {
        self.words(&[&call.name.to_ascii_lowercase(), "("]);
        if call.distinct {
            self.word("distinct ");
        }
        if call.star {
            self.word("*");
        }
        self.list(&call.args, Printer::expr);
        self.order_by(&call.order_by);
        if let Some(separator) = &call.separator {
            self.words(&[" separator ", &string_literal(separator)]);
        }
        self.word(")");
        match call.over.as_deref() {
            None => {}
            Some(Over::Name(name)) => {
                self.word(" OVER ");
                self.name(name);
            }
            Some(Over::Spec(spec)) => {
                self.word(" OVER ");
                self.window(spec);
            }
        }
    }

    /// `JSON_VALUE(doc, path RETURNING type … ON EMPTY … ON ERROR)`: document, path, and a word with a
    /// default for each of the two cases.
    pub(super) fn json_value(&mut self, call: &Call, target: &CastType) {
        let [document, path, on_empty, empty, on_error, error] = call.args.as_slice() else {
            return;
        };
        self.wrapped("json_value(", document, ", ");
        self.wrapped("", path, " returning ");
        self.word(&cast_word(target));
        for (word, default, on) in [
            (on_empty, empty, " on empty"),
            (on_error, error, " on error"),
        ] {
            let word = word_of(word);
            self.words(&[" ", &word]);
            if word == "default" {
                self.wrapped(" ", default, "");
            }
            self.word(on);
        }
        self.word(")");
    }

    /// `(base partition by … order by … rows between … and …)`.
    pub(super) fn window(&mut self, spec: &WindowSpec) {
        self.word("(");
        if let Some(base) = &spec.base {
            self.name(base);
        }
        if !spec.partition_by.is_empty() {
            self.word(" partition by ");
            self.list(&spec.partition_by, Printer::expr);
        }
        self.order_by(&spec.order_by);
        if let Some(frame) = &spec.frame {
            self.word(match frame.unit {
                FrameUnit::Rows => " rows between ",
                FrameUnit::Range => " range between ",
            });
            self.bound(&frame.start);
            self.word(" and ");
            self.bound(&frame.end);
        }
        self.word(")");
    }

    fn bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.word("unbounded preceding"),
            FrameBound::Preceding(distance) => self.distance(distance, " preceding"),
            FrameBound::CurrentRow => self.word("current row"),
            FrameBound::Following(distance) => self.distance(distance, " following"),
            FrameBound::UnboundedFollowing => self.word("unbounded following"),
        }
    }

    fn distance(&mut self, distance: &Distance, direction: &str) {
        match distance.unit {
            Some(unit) => {
                self.wrapped("interval ", &distance.amount, " ");
                self.word(&unit.name().to_ascii_lowercase());
            }
            None => self.expr(&distance.amount),
        }
        self.word(direction);
    }
}

/// The word that the grammar has where the tree has a text.
fn word_of(expr: &Expr) -> String {
    match expr {
        Expr::Literal(Literal::Text(word)) => word.to_ascii_lowercase(),
        _ => String::new(),
    }
}
