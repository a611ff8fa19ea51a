//! Expressions, by precedence.
//!
//! ```text
//!   :=                                          binds least
//!   OR ||
//!   XOR
//!   AND &&
//!   NOT
//!   = <=> >= > <= < <> IS                       left to right: a < b < c is (a < b) < c
//!   IN BETWEEN LIKE REGEXP                      not twice in a row
//!   |    &    << >>    + -    * / DIV % MOD    ^
//!   || under PIPES_AS_CONCAT
//!   - + ~ ! BINARY                              before the operand
//!   COLLATE                                     binds most
//! ```

use super::cursor::Parser;
use super::operand::call;
use super::row;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::Expr;
use crate::sql::expr::{BinaryOp, CastType, CompareOp, IntervalUnit, UnaryOp};

/// How tightly an operator binds.
pub(super) type Power = u8;

const LOWEST: Power = 0;
const ASSIGN: Power = 1;
const OR: Power = 2;
const XOR: Power = 3;
const AND: Power = 4;
const NOT: Power = 5;
const COMPARE: Power = 6;
const PREDICATE: Power = 7;
const BIT_OR: Power = 8;
const BIT_AND: Power = 9;
const SHIFT: Power = 10;
pub(super) const ADD: Power = 11;
const MULTIPLY: Power = 12;
const BIT_XOR: Power = 13;
const CONCAT: Power = 14;
const PREFIX: Power = 15;
const COLLATE: Power = 16;

/// An operator between or behind operands.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    Xor,
    And,
    Compare(CompareOp),
    Is,
    /// `IN`, `BETWEEN`, `LIKE`, `REGEXP`, `SOUNDS LIKE`, `MEMBER OF`.
    Predicate,
    Binary(BinaryOp),
    Concat,
    Collate,
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.operators(LOWEST)
    }

    /// An operand of bit operators: what stands between `BETWEEN` and `AND`.
    pub(super) fn bit_expr(&mut self) -> Result<Expr> {
        self.operators(BIT_OR)
    }

    /// An expression whose operators all bind at least as tightly as `least`.
    pub(super) fn operators(&mut self, least: Power) -> Result<Expr> {
        self.nested(|parser| {
            let mut left = parser.prefix(least)?;
            // What may follow binds no tighter than what was just made.
            let mut most = Power::MAX;
            while let Some((infix, power)) = parser.infix() {
                if power < least || most < power {
                    break;
                }
                left = parser.infix_operand(left, infix)?;
                most = if power == PREDICATE { COMPARE } else { power };
            }
            Ok(left)
        })
    }

    fn infix(&self) -> Option<(Infix, Power)> {
        let binary = |op, power| Some((Infix::Binary(op), power));
        let compare = |op| Some((Infix::Compare(op), COMPARE));
        match self.kind() {
            Kind::Word(word) => self.infix_word(word),
            Kind::PipePipe if self.mode.pipes_as_concat => Some((Infix::Concat, CONCAT)),
            Kind::PipePipe => Some((Infix::Or, OR)),
            Kind::AndAnd => Some((Infix::And, AND)),
            Kind::Equal => compare(CompareOp::Equal),
            Kind::NullSafeEqual => compare(CompareOp::NullSafeEqual),
            Kind::NotEqual => compare(CompareOp::NotEqual),
            Kind::Less => compare(CompareOp::Less),
            Kind::LessOrEqual => compare(CompareOp::LessOrEqual),
            Kind::Greater => compare(CompareOp::Greater),
            Kind::GreaterOrEqual => compare(CompareOp::GreaterOrEqual),
            Kind::Pipe => binary(BinaryOp::BitOr, BIT_OR),
            Kind::Ampersand => binary(BinaryOp::BitAnd, BIT_AND),
            Kind::ShiftLeft => binary(BinaryOp::ShiftLeft, SHIFT),
            Kind::ShiftRight => binary(BinaryOp::ShiftRight, SHIFT),
            Kind::Plus => binary(BinaryOp::Add, ADD),
            Kind::Minus => binary(BinaryOp::Subtract, ADD),
            Kind::Star => binary(BinaryOp::Multiply, MULTIPLY),
            Kind::Slash => binary(BinaryOp::Divide, MULTIPLY),
            Kind::Percent => binary(BinaryOp::Modulo, MULTIPLY),
            Kind::Caret => binary(BinaryOp::BitXor, BIT_XOR),
            _ => None,
        }
    }

    fn infix_word(&self, word: Word) -> Option<(Infix, Power)> {
        match word {
            Word::OR => Some((Infix::Or, OR)),
            Word::XOR => Some((Infix::Xor, XOR)),
            Word::AND => Some((Infix::And, AND)),
            Word::IS => Some((Infix::Is, COMPARE)),
            Word::IN | Word::BETWEEN | Word::LIKE | Word::REGEXP | Word::RLIKE => {
                Some((Infix::Predicate, PREDICATE))
            }
            Word::NOT => matches!(
                self.word_ahead(1),
                Some(Word::IN | Word::BETWEEN | Word::LIKE | Word::REGEXP | Word::RLIKE)
            )
            .then_some((Infix::Predicate, PREDICATE)),
            Word::SOUNDS => {
                (self.word_ahead(1) == Some(Word::LIKE)).then_some((Infix::Predicate, PREDICATE))
            }
            Word::MEMBER => matches!(self.kind_ahead(1), Kind::Word(Word::OF) | Kind::OpenParen)
                .then_some((Infix::Predicate, PREDICATE)),
            Word::DIV => Some((Infix::Binary(BinaryOp::IntegerDivide), MULTIPLY)),
            Word::MOD => Some((Infix::Binary(BinaryOp::Modulo), MULTIPLY)),
            Word::COLLATE => Some((Infix::Collate, COLLATE)),
            _ => None,
        }
    }

    /// At the operator: what it makes of `left` and what follows.
    fn infix_operand(&mut self, left: Expr, infix: Infix) -> Result<Expr> {
        match infix {
            Infix::Or => self.flat(left, OR),
            Infix::And => self.flat(left, AND),
            Infix::Xor => {
                let both = self.right_operand(left, XOR + 1)?;
                Ok(Expr::Xor(both))
            }
            Infix::Compare(op) => self.comparison(left, op),
            Infix::Is => self.is_operand(left),
            Infix::Predicate => self.predicate(left),
            Infix::Binary(op) => self.arithmetic(left, op),
            Infix::Concat => {
                let both = self.right_operand(left, CONCAT + 1)?;
                Ok(call("CONCAT", vec![both.0, both.1]))
            }
            Infix::Collate => {
                self.bump();
                let collation = self.charset_name()?;
                self.set_height(self.height() + 1)?;
                Ok(Expr::Collate(Box::new(left), collation))
            }
        }
    }

    /// At an operator: eats it and pairs `left` with an operand that binds at least as `least`.
    fn right_operand(&mut self, left: Expr, least: Power) -> Result<Box<(Expr, Expr)>> {
        self.bump();
        let left_height = self.height();
        let right = self.operators(least)?;
        self.set_height(left_height.max(self.height()) + 1)?;
        Ok(Box::new((left, right)))
    }

    /// At `AND` or `OR`: the whole chain becomes one list.
    fn flat(&mut self, left: Expr, power: Power) -> Result<Expr> {
        let mut height = self.height();
        let mut members = match left {
            Expr::And(members) if power == AND => members,
            Expr::Or(members) if power == OR => members,
            other => {
                height += 1;
                vec![other]
            }
        };
        while self.infix().is_some_and(|(_, next)| next == power) {
            self.bump();
            let member = self.operators(power + 1)?;
            height = height.max(self.height() + 1);
            match member {
                Expr::And(inner) if power == AND => members.extend(inner),
                Expr::Or(inner) if power == OR => members.extend(inner),
                other => members.push(other),
            }
        }
        self.set_height(height)?;
        Ok(if power == AND {
            Expr::And(members)
        } else {
            Expr::Or(members)
        })
    }

    fn comparison(&mut self, left: Expr, op: CompareOp) -> Result<Expr> {
        let quantifier = matches!(self.word_ahead(1), Some(Word::ALL | Word::ANY | Word::SOME));
        if quantifier && self.kind_ahead(2) == Kind::OpenParen {
            self.bump();
            let all = self.is_word(Word::ALL);
            self.bump();
            self.expect(Kind::OpenParen)?;
            let select = Box::new(self.subquery_rest()?);
            self.set_height(self.height() + 1)?;
            return Ok(Expr::Quantified {
                expr: Box::new(left),
                op,
                all,
                select,
            });
        }
        let both = self.right_operand(left, COMPARE + 1)?;
        Ok(Expr::Compare(op, Box::new(row::flat_both(*both))))
    }

    /// At `IS`.
    fn is_operand(&mut self, left: Expr) -> Result<Expr> {
        self.bump();
        self.set_height(self.height() + 1)?;
        let negated = self.eat_word(Word::NOT);
        let expr = Box::new(left);
        let truth = match self.word() {
            Some(Word::NULL) => {
                self.bump();
                return Ok(Expr::IsNull { expr, negated });
            }
            Some(Word::TRUE) => Some(true),
            Some(Word::FALSE) => Some(false),
            Some(Word::UNKNOWN) => None,
            _ => return Err(self.syntax_error()),
        };
        self.bump();
        Ok(Expr::IsTruth {
            expr,
            truth,
            negated,
        })
    }

    /// At `[NOT] IN` and kin.
    fn predicate(&mut self, left: Expr) -> Result<Expr> {
        let negated = self.eat_word(Word::NOT);
        match self.word() {
            Some(Word::IN) => self.in_list(left, negated),
            Some(Word::BETWEEN) => self.between(left, negated),
            Some(Word::LIKE) => self.like(left, negated),
            Some(Word::SOUNDS) => {
                self.bump();
                let both = self.right_operand(left, BIT_OR)?;
                let sounds = |expr| call("SOUNDEX", vec![expr]);
                let both = (sounds(both.0), sounds(both.1));
                Ok(Expr::Compare(CompareOp::Equal, Box::new(both)))
            }
            Some(Word::MEMBER) => {
                self.bump();
                self.eat_word(Word::OF);
                let height = self.height();
                self.expect(Kind::OpenParen)?;
                let document = self.expr()?;
                let height = height.max(self.height());
                self.close(height)?;
                Ok(call("MEMBER_OF", vec![left, document]))
            }
            _ => {
                let operands = self.right_operand(left, BIT_OR)?;
                Ok(Expr::Regexp { operands, negated })
            }
        }
    }

    fn in_list(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        self.bump();
        let left_height = self.height();
        self.expect(Kind::OpenParen)?;
        if self.begins_query() {
            let select = Box::new(self.subquery_rest()?);
            self.set_height(left_height.max(self.height()) + 1)?;
            return Ok(Expr::InSelect {
                expr: Box::new(left),
                select,
                negated,
            });
        }
        let list = self.exprs()?;
        self.expect(Kind::CloseParen)?;
        self.set_height(left_height.max(self.height()) + 1)?;
        let (expr, list) = row::flat_list(left, list);
        Ok(Expr::InList {
            expr: Box::new(expr),
            list,
            negated,
        })
    }

    fn between(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        self.bump();
        let left_height = self.height();
        let low = self.bit_expr()?;
        let low_height = self.height();
        self.expect_word(Word::AND)?;
        let high = self.operators(PREDICATE)?;
        self.set_height(left_height.max(low_height).max(self.height()) + 1)?;
        Ok(Expr::Between {
            expr: Box::new(left),
            bounds: Box::new((low, high)),
            negated,
        })
    }

    fn like(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        let operands = self.right_operand(left, CONCAT)?;
        let escape = if self.eat_word(Word::ESCAPE) {
            let height = self.height();
            let escape = self.operators(CONCAT)?;
            self.set_height(height)?;
            Some(Box::new(escape))
        } else {
            None
        };
        Ok(Expr::Like {
            operands,
            escape,
            negated,
        })
    }

    fn arithmetic(&mut self, left: Expr, op: BinaryOp) -> Result<Expr> {
        let power = match op {
            BinaryOp::BitOr => BIT_OR,
            BinaryOp::BitAnd => BIT_AND,
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => SHIFT,
            BinaryOp::Add | BinaryOp::Subtract => ADD,
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Modulo => {
                MULTIPLY
            }
            BinaryOp::BitXor => BIT_XOR,
        };
        let shifts = matches!(op, BinaryOp::Add | BinaryOp::Subtract);
        if shifts && self.word_ahead(1) == Some(Word::INTERVAL) {
            let mark = self.mark();
            let height = self.height();
            self.bump();
            if let Some((amount, unit)) = self.interval()? {
                self.set_height(height.max(self.height()) + 1)?;
                return Ok(Expr::DateShift {
                    operands: Box::new((left, amount)),
                    unit,
                    negated: op == BinaryOp::Subtract,
                });
            }
            self.reset(mark);
            self.set_height(height)?;
        }
        let both = self.right_operand(left, power + 1)?;
        Ok(Expr::Binary(op, both))
    }

    /// At `INTERVAL`: `INTERVAL amount unit`; `None`, and no step made, when it is the function.
    pub(super) fn interval(&mut self) -> Result<Option<(Expr, IntervalUnit)>> {
        let mark = self.mark();
        self.expect_word(Word::INTERVAL)?;
        if self.is(Kind::OpenParen) {
            let first = self.nested(Parser::primary)?;
            if matches!(first, Expr::Row(_)) && self.unit().is_none() {
                self.reset(mark);
                return Ok(None);
            }
            self.reset(mark);
            self.bump();
        }
        let amount = self.expr()?;
        let Some(unit) = self.unit() else {
            return Err(self.syntax_error());
        };
        self.bump();
        Ok(Some((amount, unit)))
    }

    /// Operators before an operand, and the operand.
    fn prefix(&mut self, least: Power) -> Result<Expr> {
        let operand = match self.kind() {
            Kind::Word(Word::NOT) if least <= NOT => {
                self.bump();
                Expr::Not(Box::new(self.operators(NOT)?))
            }
            Kind::Bang => {
                self.bump();
                Expr::Not(Box::new(self.operators(PREFIX)?))
            }
            Kind::Plus => {
                self.bump();
                return self.operators(PREFIX);
            }
            Kind::Minus => {
                self.bump();
                Expr::Unary(UnaryOp::Negate, Box::new(self.operators(PREFIX)?))
            }
            Kind::Tilde => {
                self.bump();
                Expr::Unary(UnaryOp::BitNot, Box::new(self.operators(PREFIX)?))
            }
            Kind::Word(Word::BINARY) => {
                self.bump();
                let operand = self.operators(PREFIX)?;
                Expr::Cast(Box::new(operand), CastType::Binary(None))
            }
            Kind::UserVariable if self.kind_ahead(1) == Kind::Assign => {
                if ASSIGN < least {
                    return Err(self.syntax_error());
                }
                self.assigns = true;
                let name = self.user_variable()?;
                self.bump();
                Expr::Assign(name, Box::new(self.operators(ASSIGN)?))
            }
            _ => return self.primary(),
        };
        self.set_height(self.height() + 1)?;
        Ok(operand)
    }

    /// One or more expressions between commas; the height is that of the tallest.
    pub(super) fn exprs(&mut self) -> Result<Vec<Expr>> {
        let mut height = 0;
        let all = self.comma_list(|parser| {
            let expr = parser.expr()?;
            height = height.max(parser.height());
            Ok(expr)
        })?;
        self.set_height(height)?;
        Ok(all)
    }
}
