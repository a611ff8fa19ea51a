//! Calls, and the functions that have a grammar of their own.

use super::cursor::Parser;

use super::operand::call;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::aggregate::names;
use crate::sql::ast::{Call, Expr, Literal};
use crate::sql::bound::AggregateKind;
use crate::sql::expr::{BinaryOp, CastType, IntervalUnit};

/// Reserved words that are names of functions before `(`.
const CALLABLE: &[Word] = &[
    Word::CHAR,
    Word::CUME_DIST,
    Word::CURRENT_DATE,
    Word::CURRENT_TIME,
    Word::CURRENT_TIMESTAMP,
    Word::CURRENT_USER,
    Word::DATABASE,
    Word::DENSE_RANK,
    Word::FIRST_VALUE,
    Word::GROUPING,
    Word::IF,
    Word::INSERT,
    Word::LAG,
    Word::LAST_VALUE,
    Word::LEAD,
    Word::LEFT,
    Word::LOCALTIME,
    Word::LOCALTIMESTAMP,
    Word::NTH_VALUE,
    Word::NTILE,
    Word::PERCENT_RANK,
    Word::RANK,
    Word::REPEAT,
    Word::REPLACE,
    Word::RIGHT,
    Word::ROW_NUMBER,
    Word::SCHEMA,
    Word::UTC_DATE,
    Word::UTC_TIME,
    Word::UTC_TIMESTAMP,
];

/// Words that are calls without parentheses.
const CALLED_BARE: &[Word] = &[
    Word::CURRENT_DATE,
    Word::CURRENT_TIME,
    Word::CURRENT_TIMESTAMP,
    Word::CURRENT_USER,
    Word::LOCALTIME,
    Word::LOCALTIMESTAMP,
    Word::UTC_DATE,
    Word::UTC_TIME,
    Word::UTC_TIMESTAMP,
];

/// Whether it is the grammar that gives the function its one argument: of an aggregate, MySQL calls
/// another number of arguments a syntax error.
fn takes_one(name: &str) -> bool {
    let known = names::find(name);
    known.is_some_and(|known| match known.kind {
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
        | AggregateKind::JsonArray => true,
        AggregateKind::GroupConcat | AggregateKind::JsonObject | AggregateKind::AnyValue => false,
    })
}

impl Parser<'_> {
    /// Whether the name here, before `(`, is that of a function.
    pub(super) fn may_be_called(&self) -> bool {
        match self.word() {
            Some(word) => !word.is_reserved() || CALLABLE.contains(&word),
            None => matches!(self.kind(), Kind::Name | Kind::Quoted | Kind::Introducer),
        }
    }

    /// At a word: the function with a grammar of its own that it begins, if it does.
    pub(super) fn special_function(&mut self, word: Word) -> Result<Option<Expr>> {
        let called = self.kind_ahead(1) == Kind::OpenParen;
        if CALLED_BARE.contains(&word) && !called {
            let name = self.any_name()?;
            return Ok(Some(call(&name, Vec::new())));
        }
        if self.kind_ahead(1) == Kind::Text {
            return self.typed_text(word);
        }
        if !called {
            return Ok(None);
        }
        let rule: fn(&mut Self) -> Result<Expr> = match word {
            Word::CAST => Parser::cast,
            Word::CONVERT => Parser::convert,
            Word::EXTRACT => Parser::extract,
            Word::TRIM => Parser::trim,
            Word::SUBSTRING | Word::SUBSTR | Word::MID => Parser::substring,
            Word::POSITION => Parser::position,
            Word::MOD => Parser::remainder,
            Word::DATE_ADD | Word::ADDDATE | Word::DATE_SUB | Word::SUBDATE => Parser::date_shift,
            Word::TIMESTAMPADD => Parser::timestamp_add,
            Word::TIMESTAMPDIFF => Parser::timestamp_diff,
            Word::GET_FORMAT => Parser::get_format,
            Word::VALUES => Parser::values_of,
            Word::DEFAULT => Parser::default_of,
            Word::ROW => Parser::row,
            Word::WEIGHT_STRING => Parser::weight_string,
            Word::JSON_VALUE => Parser::json_value,
            Word::MATCH => Parser::unsupported_call,
            _ => return Ok(None),
        };
        self.nested(rule).map(Some)
    }

    /// `DATE 'text'` and kin.
    fn typed_text(&mut self, word: Word) -> Result<Option<Expr>> {
        let make = match word {
            Word::DATE => Literal::Date,
            Word::TIME => Literal::Time,
            Word::TIMESTAMP => Literal::Timestamp,
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(Expr::Literal(make(self.text()?))))
    }

    /// At `(` behind a function's name.
    pub(super) fn call_rest(&mut self, name: String) -> Result<Expr> {
        self.nested(|parser| {
            parser.expect(Kind::OpenParen)?;
            let mut call = Call {
                name,
                args: Vec::new(),
                distinct: false,
                star: false,
                order_by: Vec::new(),
                separator: None,
                over: None,
            };
            parser.set_height(0)?;
            if parser.is(Kind::Star) && parser.kind_ahead(1) == Kind::CloseParen {
                parser.bump();
                call.star = true;
            } else if !parser.is(Kind::CloseParen) || takes_one(&call.name) {
                parser.arguments(&mut call)?;
            }
            if call.name.eq_ignore_ascii_case("CHAR") && parser.eat_word(Word::USING) {
                parser.charset_name()?;
                let height = parser.height();
                parser.close(height + 1)?;
                let bytes = Expr::Call(Box::new(call));
                return Ok(Expr::Cast(Box::new(bytes), CastType::Char(None)));
            }
            parser.expect(Kind::CloseParen)?;
            call.over = parser.over(&call.name)?;
            parser.set_height(parser.height() + 1)?;
            Ok(Expr::Call(Box::new(call)))
        })
    }

    fn arguments(&mut self, call: &mut Call) -> Result<()> {
        let takes_distinct = names::find(&call.name).is_none_or(|known| known.takes_distinct);
        call.distinct =
            takes_distinct && self.eat_any(&[Word::DISTINCT, Word::DISTINCTROW]).is_some();
        if !call.distinct {
            self.eat_word(Word::ALL);
        }
        call.args = if takes_one(&call.name) && !call.distinct {
            vec![self.expr()?]
        } else {
            self.exprs()?
        };
        if call.name.eq_ignore_ascii_case("GROUP_CONCAT") {
            let height = self.height();
            call.order_by = self.order_by()?;
            if self.eat_word(Word::SEPARATOR) {
                call.separator = Some(self.text_string()?);
            }
            self.set_height(height.max(self.height()))?;
        }
        Ok(())
    }

    /// At the name of a call that is parsed but not offered.
    fn unsupported_call(&mut self) -> Result<Expr> {
        let name = self.any_name()?.to_ascii_uppercase();
        self.expect(Kind::OpenParen)?;
        self.skip_parens()?;
        if self.is_word(Word::AGAINST) {
            self.bump();
            self.expect(Kind::OpenParen)?;
            self.skip_parens()?;
        }
        self.set_height(1)?;
        Ok(Expr::Unsupported(name))
    }

    /// At a function's name: eats it and the `(`.
    pub(super) fn open(&mut self) -> Result<()> {
        self.bump();
        self.expect(Kind::OpenParen)?;
        Ok(())
    }

    /// Eats the `)`; the call is one higher than `height`.
    pub(super) fn close(&mut self, height: u32) -> Result<()> {
        self.expect(Kind::CloseParen)?;
        self.set_height(height + 1)
    }

    fn extract(&mut self) -> Result<Expr> {
        self.open()?;
        let unit = self.unit_text()?;
        self.expect_word(Word::FROM)?;
        let date = self.expr()?;
        let height = self.height();
        self.close(height)?;
        Ok(call("EXTRACT", vec![unit, date]))
    }

    fn trim(&mut self) -> Result<Expr> {
        self.open()?;
        let side = self.eat_any(&[Word::LEADING, Word::TRAILING, Word::BOTH]);
        let mut args = Vec::with_capacity(2);
        let mut height = 0;
        if !(side.is_some() && self.is_word(Word::FROM)) {
            args.push(self.expr()?);
            height = self.height();
        }
        if self.eat_word(Word::FROM) {
            args.insert(0, self.expr()?);
            height = height.max(self.height());
        } else if side.is_some() {
            return Err(self.syntax_error());
        }
        self.close(height)?;
        let name = match side {
            Some(Word::LEADING) => "LTRIM",
            Some(Word::TRAILING) => "RTRIM",
            _ => "TRIM",
        };
        Ok(call(name, args))
    }

    fn substring(&mut self) -> Result<Expr> {
        self.open()?;
        let mut args = vec![self.expr()?];
        let mut height = self.height();
        let more: &[Kind] = if self.is_word(Word::FROM) {
            &[Kind::Word(Word::FROM), Kind::Word(Word::FOR)]
        } else {
            &[Kind::Comma, Kind::Comma]
        };
        for separator in more {
            if self.eat(*separator) {
                args.push(self.expr()?);
                height = height.max(self.height());
            }
        }
        self.close(height)?;
        Ok(call("SUBSTRING", args))
    }

    fn position(&mut self) -> Result<Expr> {
        self.open()?;
        let part = self.bit_expr()?;
        let height = self.height();
        self.expect_word(Word::IN)?;
        let whole = self.expr()?;
        let height = height.max(self.height());
        self.close(height)?;
        Ok(call("LOCATE", vec![part, whole]))
    }

    /// `MOD(a, b)`: the operator `%`, as in MySQL's grammar.
    fn remainder(&mut self) -> Result<Expr> {
        self.open()?;
        let a = self.expr()?;
        let height = self.height();
        self.expect(Kind::Comma)?;
        let b = self.expr()?;
        let height = height.max(self.height());
        self.close(height)?;
        Ok(Expr::Binary(BinaryOp::Modulo, Box::new((a, b))))
    }

    /// `DATE_ADD(d, INTERVAL n unit)` and kin; `ADDDATE(d, n)` is a plain call.
    fn date_shift(&mut self) -> Result<Expr> {
        let name = self.word();
        let negated = matches!(name, Some(Word::DATE_SUB | Word::SUBDATE));
        let plain = matches!(name, Some(Word::ADDDATE | Word::SUBDATE));
        self.open()?;
        let date = self.expr()?;
        let height = self.height();
        self.expect(Kind::Comma)?;
        let interval = if self.is_word(Word::INTERVAL) {
            self.interval()?
        } else {
            None
        };
        if let Some((amount, unit)) = interval {
            let height = height.max(self.height());
            self.close(height)?;
            return Ok(Expr::DateShift {
                operands: Box::new((date, amount)),
                unit,
                negated,
            });
        }
        if !plain {
            return Err(self.syntax_error());
        }
        let days = self.expr()?;
        let height = height.max(self.height());
        self.close(height)?;
        Ok(call(
            if negated { "SUBDATE" } else { "ADDDATE" },
            vec![date, days],
        ))
    }

    fn timestamp_add(&mut self) -> Result<Expr> {
        self.timestamp_call("TIMESTAMPADD")
    }

    fn timestamp_diff(&mut self) -> Result<Expr> {
        self.timestamp_call("TIMESTAMPDIFF")
    }

    /// `NAME(unit, a, b)`.
    fn timestamp_call(&mut self, name: &str) -> Result<Expr> {
        self.open()?;
        let unit = self.unit_text()?;
        self.expect(Kind::Comma)?;
        let first = self.expr()?;
        let height = self.height();
        self.expect(Kind::Comma)?;
        let second = self.expr()?;
        let height = height.max(self.height());
        self.close(height)?;
        Ok(call(name, vec![unit, first, second]))
    }

    fn get_format(&mut self) -> Result<Expr> {
        self.open()?;
        let kinds = [Word::DATE, Word::TIME, Word::DATETIME, Word::TIMESTAMP];
        let Some(kind) = self.eat_any(&kinds) else {
            return Err(self.syntax_error());
        };
        let kind = Expr::Literal(Literal::Text(format!("{kind:?}")));
        self.expect(Kind::Comma)?;
        let style = self.expr()?;
        let height = self.height();
        self.close(height)?;
        Ok(call("GET_FORMAT", vec![kind, style]))
    }

    /// `WEIGHT_STRING(str [AS {CHAR | BINARY}(n)])`.
    fn weight_string(&mut self) -> Result<Expr> {
        self.open()?;
        let mut args = vec![self.expr()?];
        let height = self.height();
        if self.eat_word(Word::AS) {
            let Some(kind) = self.eat_any(&[Word::CHAR, Word::BINARY]) else {
                return Err(self.syntax_error());
            };
            args.push(Expr::Literal(Literal::Text(format!("{kind:?}"))));
            self.expect(Kind::OpenParen)?;
            args.push(self.expr()?);
            self.expect(Kind::CloseParen)?;
        }
        self.close(height)?;
        Ok(call("WEIGHT_STRING", args))
    }

    /// `JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`.
    fn json_value(&mut self) -> Result<Expr> {
        self.open()?;
        let document = self.expr()?;
        let height = self.height();
        self.expect(Kind::Comma)?;
        let path = self.expr()?;
        let height = height.max(self.height());
        let target = if self.eat_word(Word::RETURNING) {
            self.cast_type()?
        } else {
            CastType::Char(None)
        };
        let text = |text: &str| Expr::Literal(Literal::Text(text.to_owned()));
        let mut args = vec![document, path];
        let mut actions = [const { None }; 2];
        while !self.is(Kind::CloseParen) {
            let (action, is_error) = self.json_action()?;
            let [on_empty, on_error] = &mut actions;
            let slot = if is_error { on_error } else { on_empty };
            if slot.replace(action).is_some() {
                return Err(self.syntax_error());
            }
        }
        for action in actions {
            let (word, default) = action.unwrap_or(("NULL", Expr::Literal(Literal::Null)));
            args.extend([text(word), default]);
        }
        self.close(height + 1)?;
        Ok(Expr::Cast(Box::new(call("JSON_VALUE", args)), target))
    }

    /// `{NULL | ERROR | DEFAULT literal} ON {EMPTY | ERROR}`, and whether it is `ON ERROR`.
    pub(super) fn json_action(&mut self) -> Result<((&'static str, Expr), bool)> {
        let null = Expr::Literal(Literal::Null);
        let action = if self.eat_word(Word::NULL) {
            ("NULL", null)
        } else if self.eat_word(Word::DEFAULT) {
            ("DEFAULT", self.bit_expr()?)
        } else if self.eat_word(Word::ERROR) {
            ("ERROR", null)
        } else {
            return Err(self.syntax_error());
        };
        self.expect_word(Word::ON)?;
        if self.eat_word(Word::EMPTY) {
            return Ok((action, false));
        }
        if !self.eat_word(Word::ERROR) {
            return Err(self.syntax_error());
        }
        Ok((action, true))
    }

    fn values_of(&mut self) -> Result<Expr> {
        self.open()?;
        let name = self.column_name()?;
        self.close(0)?;
        Ok(Expr::Values(Box::new(name)))
    }

    fn default_of(&mut self) -> Result<Expr> {
        self.open()?;
        let name = self.column_name()?;
        self.close(0)?;
        Ok(Expr::DefaultOf(Box::new(name)))
    }

    fn row(&mut self) -> Result<Expr> {
        self.open()?;
        let mut members = self.exprs()?;
        let height = self.height();
        self.close(height)?;
        match members.pop() {
            Some(only) if members.is_empty() => Ok(only),
            Some(last) => {
                members.push(last);
                Ok(Expr::Row(members))
            }
            None => Err(self.syntax_error()),
        }
    }

    /// A unit of time as the text that functions take; `SQL_TSI_` may stand in front.
    fn unit_text(&mut self) -> Result<Expr> {
        let Some(unit) = self.unit() else {
            return Err(self.syntax_error());
        };
        self.bump();
        Ok(Expr::Literal(Literal::Text(unit.name().to_owned())))
    }

    /// The unit of time here, not eaten.
    pub(super) fn unit(&self) -> Option<IntervalUnit> {
        if !matches!(self.kind(), Kind::Word(_) | Kind::Name) {
            return None;
        }
        let name = std::str::from_utf8(self.bytes(self.token())).ok()?;
        IntervalUnit::of_name(name)
    }
}
