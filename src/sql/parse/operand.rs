//! Operands: constants, names, parentheses, CASE, and what calls lead to.

use super::cursor::Parser;
use super::expr::ADD;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{Call, ColumnName, Expr, Literal};
use crate::sql::expr::VariableScope;

impl Parser<'_> {
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
        over: None,
    }))
}
