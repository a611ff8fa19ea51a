//! One column of CREATE TABLE: its attributes. Its type is in `column_type`.

use super::cursor::Parser;
use super::ddl::TableList;
use super::index;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{ColumnDef, DefaultValue, Expr, IndexKind, KeyPart, KeyPartSource, Literal};
use crate::types::ColumnType;
use crate::types::column_type::LobSize;

/// What MariaDB makes of `JSON`.
const LONGTEXT: ColumnType = ColumnType::Text(LobSize::Long);

impl Parser<'_> {
    /// `name type attributes`.
    pub(super) fn column_def(&mut self, list: &mut TableList) -> Result<()> {
        let name = self.name()?;
        let serial = self.is_word(Word::SERIAL);
        let ty = self.column_type(&name)?;
        let mut column = ColumnDef {
            name,
            ty,
            nullable: serial.then_some(false),
            default: None,
            on_update_now: false,
            auto_increment: serial,
            checks_sign: false,
            comment: String::new(),
            charset: None,
            collation: None,
            unsupported: None,
        };
        let mut unique = serial;
        while self.column_attribute(&mut column)? || self.column_key(&column, list, &mut unique)? {}
        if unique {
            let mut unique = index::index(IndexKind::Unique, None);
            unique.parts.push(part(&column.name));
            list.indexes.push(unique);
        }
        list.columns.push(column);
        Ok(())
    }

    /// `PRIMARY KEY`, `KEY`, `UNIQUE [KEY]` behind a column.
    fn column_key(
        &mut self,
        column: &ColumnDef,
        list: &mut TableList,
        unique: &mut bool,
    ) -> Result<bool> {
        match self.word() {
            Some(Word::PRIMARY) => {
                self.bump();
                self.expect_word(Word::KEY)?;
            }
            Some(Word::KEY) => {
                self.bump();
            }
            Some(Word::UNIQUE) => {
                self.bump();
                self.eat_word(Word::KEY);
                *unique = true;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        let mut key = part(&column.name);
        key.descending = self.eat_word(Word::DESC);
        if !key.descending {
            self.eat_word(Word::ASC);
        }
        list.set_primary_key(vec![key])?;
        Ok(true)
    }

    fn column_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        match self.word() {
            Some(Word::NULL) => {
                self.bump();
                column.nullable = Some(true);
            }
            Some(Word::NOT) => {
                self.bump();
                self.expect_word(Word::NULL)?;
                column.nullable = Some(false);
            }
            Some(Word::DEFAULT) => {
                self.bump();
                column.default = Some(self.default_value()?);
            }
            Some(Word::ON) => {
                self.bump();
                self.expect_word(Word::UPDATE)?;
                if self.now()?.is_none() {
                    return Err(self.syntax_error());
                }
                column.on_update_now = true;
            }
            Some(Word::AUTO_INCREMENT) => {
                self.bump();
                column.auto_increment = true;
            }
            Some(Word::COMMENT) => {
                self.bump();
                column.comment = self.text()?;
            }
            Some(Word::COLLATE) => {
                self.bump();
                column.collation = Some(self.charset_name()?);
            }
            Some(Word::CHARACTER | Word::CHARSET) => {
                if !self.eat_charset_words() {
                    return Err(self.syntax_error());
                }
                column.charset = Some(self.charset_name()?);
            }
            _ => return self.rare_attribute(column),
        }
        Ok(true)
    }

    /// Attributes that are refused later, or mean nothing here.
    fn rare_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        match self.word() {
            Some(Word::VISIBLE) => {
                self.bump();
            }
            Some(Word::COLUMN_FORMAT | Word::STORAGE) => {
                self.bump();
                self.any_name()?;
            }
            Some(word @ (Word::GENERATED | Word::AS | Word::REFERENCES | Word::INVISIBLE)) => {
                column.unsupported = Some(format!("{word:?}"));
                self.skip_attributes()?;
            }
            Some(Word::CHECK) if column.ty == LONGTEXT && self.checks_json(&column.name)? => {
                column.ty = ColumnType::Json;
            }
            Some(Word::CHECK | Word::CONSTRAINT) if self.checks_sign(column)? => {
                column.checks_sign = true;
            }
            Some(Word::CHECK | Word::CONSTRAINT) => {
                column.unsupported = Some("CHECK".into());
                self.skip_attributes()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// At `CHECK`: eats `CHECK (json_valid(column))`. MariaDB's dumps spell `JSON` as `LONGTEXT` with
    /// this condition.
    fn checks_json(&mut self, column: &str) -> Result<bool> {
        let mark = self.mark();
        self.bump();
        let is_it = self.eat(Kind::OpenParen)
            && self.verb(0) == "JSON_VALID"
            && self.kind_ahead(1) == Kind::OpenParen;
        if is_it {
            self.bump();
            self.bump();
            let is_own = self.is_name() && self.name()?.eq_ignore_ascii_case(column);
            if is_own && self.eat(Kind::CloseParen) && self.eat(Kind::CloseParen) {
                return Ok(true);
            }
        }
        self.reset(mark);
        Ok(false)
    }

    /// At `[CONSTRAINT [name]] CHECK`: eats it where it says of an `UNSIGNED` column what its type says
    /// (Django).
    fn checks_sign(&mut self, column: &ColumnDef) -> Result<bool> {
        let mark = self.mark();
        if self.eat_word(Word::CONSTRAINT) && !self.is_word(Word::CHECK) && self.is_name() {
            self.name()?;
        }
        let is_it = self.is_word(Word::CHECK) && {
            let checked = self.sign_checked()?;
            checked.is_some_and(|name| is_unsigned(column, &name))
        };
        if !is_it {
            self.reset(mark);
        }
        Ok(is_it)
    }

    /// At `CHECK`: eats `CHECK (column >= 0) [[NOT] ENFORCED]`, if it is that, and gives the column.
    pub(super) fn sign_checked(&mut self) -> Result<Option<String>> {
        let mark = self.mark();
        self.bump();
        if self.eat(Kind::OpenParen) && self.is_name() {
            let name = self.name()?;
            if self.eat(Kind::GreaterOrEqual) && self.is_zero() {
                self.bump();
                if self.eat(Kind::CloseParen) {
                    self.eat_enforced();
                    return Ok(Some(name));
                }
            }
        }
        self.reset(mark);
        Ok(None)
    }

    /// `[NOT] ENFORCED`.
    fn eat_enforced(&mut self) {
        if self.is_word(Word::NOT) && self.verb(1) == "ENFORCED" {
            self.bump();
        }
        if self.verb(0) == "ENFORCED" {
            self.bump();
        }
    }

    fn is_zero(&self) -> bool {
        self.is(Kind::Int) && self.bytes(self.token()) == b"0"
    }

    fn skip_attributes(&mut self) -> Result<()> {
        while !matches!(
            self.kind(),
            Kind::Comma | Kind::CloseParen | Kind::End | Kind::Bad
        ) {
            if self.bump().kind == Kind::OpenParen {
                self.skip_parens()?;
            }
        }
        Ok(())
    }

    pub(super) fn default_value(&mut self) -> Result<DefaultValue> {
        if !self.is(Kind::OpenParen) {
            return self.simple_default();
        }
        self.bump();
        // MySQL takes any expression here; what is none is written so by SQLAlchemy and in dumps.
        let mark = self.mark();
        if let Ok(simple) = self.simple_default()
            && self.eat(Kind::CloseParen)
        {
            return Ok(simple);
        }
        self.reset(mark);
        let expr = self.expr()?;
        self.expect(Kind::CloseParen)?;
        Ok(DefaultValue::Expression(Box::new(expr)))
    }

    /// A constant or the time, without parentheses.
    fn simple_default(&mut self) -> Result<DefaultValue> {
        if let Some(fsp) = self.now()? {
            return Ok(DefaultValue::Now { fsp });
        }
        let negative = self.eat(Kind::Minus);
        if !negative {
            self.eat(Kind::Plus);
        }
        let Expr::Literal(literal) = self.primary()? else {
            return Err(self.syntax_error());
        };
        // A sign is of a number alone (`signed_literal` in MySQL's grammar).
        let is_number = matches!(
            literal,
            Literal::Int(_) | Literal::Decimal(_) | Literal::Double(_)
        );
        if negative && !is_number {
            return Err(self.syntax_error());
        }
        Ok(DefaultValue::Literal { literal, negative })
    }

    /// `CURRENT_TIMESTAMP[(f)]` and its synonyms: the digits of its fraction.
    fn now(&mut self) -> Result<Option<u8>> {
        let words = [
            Word::CURRENT_TIMESTAMP,
            Word::LOCALTIME,
            Word::LOCALTIMESTAMP,
            Word::NOW,
        ];
        if self.eat_any(&words).is_none() {
            return Ok(None);
        }
        if self.is(Kind::OpenParen) && self.kind_ahead(1) == Kind::CloseParen {
            self.bump();
            self.bump();
            return Ok(Some(0));
        }
        self.fsp("now").map(Some)
    }
}

/// Whether this is a column of the name which no negative number fits.
pub(super) fn is_unsigned(column: &ColumnDef, name: &str) -> bool {
    column.name.eq_ignore_ascii_case(name)
        && matches!(column.ty, ColumnType::Int { unsigned: true, .. })
}

/// A key part that is a column, ascending.
fn part(column: &str) -> KeyPart {
    KeyPart {
        source: KeyPartSource::Column(column.to_owned()),
        descending: false,
    }
}
