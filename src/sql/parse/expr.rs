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
use super::lexer::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{Call, ColumnName, Expr, Literal};
use crate::sql::expr::{BinaryOp, CastType, CompareOp, IntervalUnit, UnaryOp, VariableScope};

/// How tightly an operator binds.
type Power = u8;

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
const ADD: Power = 11;
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
    fn operators(&mut self, least: Power) -> Result<Expr> {
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
            self.bump();
            self.expect(Kind::OpenParen)?;
            self.subquery_rest()?;
            return Ok(Expr::Unsupported("ALL, ANY and SOME subqueries".into()));
        }
        let both = self.right_operand(left, COMPARE + 1)?;
        Ok(Expr::Compare(op, both))
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
                self.expect(Kind::OpenParen)?;
                self.expr()?;
                self.expect(Kind::CloseParen)?;
                Ok(Expr::Unsupported("MEMBER OF".into()))
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
        let expr = Box::new(left);
        if self.begins_query() {
            let select = Box::new(self.subquery_rest()?);
            self.set_height(left_height.max(self.height()) + 1)?;
            return Ok(Expr::InSelect {
                expr,
                select,
                negated,
            });
        }
        let list = self.exprs()?;
        self.expect(Kind::CloseParen)?;
        self.set_height(left_height.max(self.height()) + 1)?;
        Ok(Expr::InList {
            expr,
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
                let name = self.user_variable()?;
                self.bump();
                Expr::Assign(name, Box::new(self.operators(ASSIGN)?))
            }
            _ => return self.primary(),
        };
        self.set_height(self.height() + 1)?;
        Ok(operand)
    }

    /// What operators stand between.
    pub(super) fn primary(&mut self) -> Result<Expr> {
        self.set_height(1)?;
        if let Some(literal) = self.literal()? {
            return Ok(Expr::Literal(literal));
        }
        match self.kind() {
            Kind::OpenParen => self.parenthesised(),
            Kind::Parameter => self.parameter().map(Expr::Parameter),
            Kind::UserVariable => self.user_variable().map(Expr::UserVariable),
            Kind::AtAt => self.system_variable(),
            Kind::OpenBrace => self.odbc_escape(),
            Kind::Word(word) => self.primary_word(word),
            Kind::Name | Kind::Quoted | Kind::Introducer => self.named(),
            Kind::Dot => {
                self.bump();
                self.column_rest()
            }
            _ => Err(self.syntax_error()),
        }
    }

    fn parenthesised(&mut self) -> Result<Expr> {
        self.bump();
        if self.begins_query() {
            let select = self.subquery_rest()?;
            return Ok(Expr::Subquery(Box::new(select)));
        }
        let first = self.expr()?;
        if !self.is(Kind::Comma) {
            self.expect(Kind::CloseParen)?;
            return Ok(first);
        }
        let mut height = self.height();
        let mut members = vec![first];
        while self.eat(Kind::Comma) {
            members.push(self.expr()?);
            height = height.max(self.height());
        }
        self.expect(Kind::CloseParen)?;
        self.set_height(height + 1)?;
        Ok(Expr::Row(members))
    }

    /// `{d 'date'}`, `{fn f()}`: ODBC's escapes; the word in front is of no consequence but for dates.
    fn odbc_escape(&mut self) -> Result<Expr> {
        self.bump();
        let word = self.any_name()?.to_ascii_lowercase();
        let inner = self.expr()?;
        self.expect(Kind::CloseBrace)?;
        let Expr::Literal(Literal::Text(text)) = inner else {
            return Ok(inner);
        };
        Ok(Expr::Literal(match word.as_str() {
            "d" => Literal::Date(text),
            "t" => Literal::Time(text),
            "ts" => Literal::Timestamp(text),
            _ => Literal::Text(text),
        }))
    }

    fn primary_word(&mut self, word: Word) -> Result<Expr> {
        let literal = match word {
            Word::NULL => Some(Literal::Null),
            Word::TRUE => Some(Literal::Bool(true)),
            Word::FALSE => Some(Literal::Bool(false)),
            _ => None,
        };
        if let Some(literal) = literal {
            self.bump();
            return Ok(Expr::Literal(literal));
        }
        match word {
            Word::CASE => self.case(),
            Word::EXISTS if self.kind_ahead(1) == Kind::OpenParen => self.exists(),
            Word::INTERVAL => self.interval_first(),
            _ => match self.special_function(word)? {
                Some(expr) => Ok(expr),
                None => self.named(),
            },
        }
    }

    /// `INTERVAL 1 DAY + date`, or the function `INTERVAL(n, a, …)`.
    fn interval_first(&mut self) -> Result<Expr> {
        let Some((amount, unit)) = self.interval()? else {
            self.bump();
            let args = self.paren_list(Parser::expr)?;
            return Ok(call("INTERVAL", args));
        };
        let height = self.height();
        self.expect(Kind::Plus)?;
        let date = self.operators(ADD + 1)?;
        self.set_height(height.max(self.height()) + 1)?;
        Ok(Expr::DateShift {
            operands: Box::new((date, amount)),
            unit,
            negated: false,
        })
    }

    fn exists(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(Kind::OpenParen)?;
        if !self.begins_query() {
            return Err(self.syntax_error());
        }
        let select = self.subquery_rest()?;
        Ok(Expr::Exists(Box::new(select)))
    }

    fn case(&mut self) -> Result<Expr> {
        self.bump();
        let mut height = 0;
        let mut member = |parser: &mut Self| -> Result<Expr> {
            let expr = parser.expr()?;
            height = height.max(parser.height());
            Ok(expr)
        };
        let operand = if self.is_word(Word::WHEN) {
            None
        } else {
            Some(member(self)?)
        };
        let mut branches = Vec::new();
        while self.eat_word(Word::WHEN) {
            let condition = member(self)?;
            self.expect_word(Word::THEN)?;
            branches.push((condition, member(self)?));
        }
        if branches.is_empty() {
            return Err(self.syntax_error());
        }
        let otherwise = if self.eat_word(Word::ELSE) {
            Some(member(self)?)
        } else {
            None
        };
        self.expect_word(Word::END)?;
        self.set_height(height + 1)?;
        Ok(Expr::Case {
            operand: operand.map(Box::new),
            branches,
            otherwise: otherwise.map(Box::new),
        })
    }

    /// `@@name`, `@@session.name`.
    pub(super) fn system_variable(&mut self) -> Result<Expr> {
        let (scope, name) = self.system_variable_name()?;
        let scope = match scope {
            None => VariableScope::Any,
            Some(Word::GLOBAL) => VariableScope::Global,
            Some(Word::SESSION | Word::LOCAL) => VariableScope::Session,
            Some(_) => return Err(self.syntax_error()),
        };
        Ok(Expr::SystemVariable(scope, name))
    }

    /// At `@@`: the scope's word, and the name, lower case.
    pub(super) fn system_variable_name(&mut self) -> Result<(Option<Word>, String)> {
        const SCOPES: &[Word] = &[
            Word::GLOBAL,
            Word::SESSION,
            Word::LOCAL,
            Word::PERSIST,
            Word::PERSIST_ONLY,
        ];
        self.expect(Kind::AtAt)?;
        let mut scope = None;
        if self.kind_ahead(1) == Kind::Dot {
            scope = self.eat_any(SCOPES);
            if scope.is_some() {
                self.bump();
            }
        }
        let mut name = self.any_name()?.to_ascii_lowercase();
        while self.eat(Kind::Dot) {
            name.push('.');
            name.push_str(&self.any_name()?.to_ascii_lowercase());
        }
        Ok((scope, name))
    }

    /// A column or the call of a function.
    fn named(&mut self) -> Result<Expr> {
        if self.kind_ahead(1) == Kind::OpenParen && self.may_be_called() {
            let name = self.any_name()?;
            return self.call_rest(name);
        }
        if !self.is_name() {
            return Err(self.syntax_error());
        }
        self.column_rest()
    }

    /// At the first part of a column's name.
    fn column_rest(&mut self) -> Result<Expr> {
        let first = self.any_name()?;
        if self.is(Kind::Dot) && self.kind_ahead(2) == Kind::OpenParen {
            // `database.function(…)`: there are no stored functions.
            self.bump();
            let name = self.any_name()?;
            return self.call_rest(format!("{first}.{name}"));
        }
        let name = self.column_name_rest(first)?;
        let column = Expr::Column(Box::new(name));
        match self.kind() {
            Kind::Arrow | Kind::LongArrow => self.json_path(column),
            _ => Ok(column),
        }
    }

    /// Behind the first part of a column's name.
    fn column_name_rest(&mut self, first: String) -> Result<ColumnName> {
        let mut parts = vec![first];
        while parts.len() < 3 && self.eat(Kind::Dot) {
            parts.push(self.any_name()?);
        }
        let column = parts.pop().unwrap_or_default();
        Ok(ColumnName {
            column,
            table: parts.pop(),
            database: parts.pop(),
        })
    }

    /// `column`, `table.column`, `database.table.column`.
    pub(super) fn column_name(&mut self) -> Result<ColumnName> {
        self.eat(Kind::Dot);
        let first = self.name()?;
        self.column_name_rest(first)
    }

    /// At `->` or `->>` behind a column.
    fn json_path(&mut self, column: Expr) -> Result<Expr> {
        let unquotes = self.bump().kind == Kind::LongArrow;
        let path = Expr::Literal(Literal::Text(self.text()?));
        self.set_height(3)?;
        let extract = call("JSON_EXTRACT", vec![column, path]);
        Ok(if unquotes {
            call("JSON_UNQUOTE", vec![extract])
        } else {
            extract
        })
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

/// A call of a function with plain arguments.
pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call(Box::new(Call {
        name: name.to_owned(),
        args,
        distinct: false,
        star: false,
        order_by: Vec::new(),
        separator: None,
        over: false,
    }))
}
