//! Keys and indexes: in CREATE TABLE and in CREATE INDEX.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Error, Result};
use crate::sql::ast::{
    CreateIndex, Include, IndexDef, IndexKind, IndexMode, KeyPart, KeyPartSource, Statement,
};

impl Parser<'_> {
    /// `(a, b DESC, c(10), hash8(d), …)`.
    pub(super) fn key_parts(&mut self) -> Result<Vec<KeyPart>> {
        self.paren_list(Parser::key_part)
    }

    fn key_part(&mut self) -> Result<KeyPart> {
        let source = match (self.kind_ahead(1), self.kind_ahead(2), self.kind_ahead(3)) {
            (Kind::OpenParen, Kind::Int, Kind::CloseParen) if self.is_name() => {
                let name = self.name()?;
                let length = self.length()?.unwrap_or(0);
                KeyPartSource::Prefix(name, length)
            }
            _ if self.is(Kind::OpenParen) => {
                self.bump();
                let expr = self.expr()?;
                self.expect(Kind::CloseParen)?;
                KeyPartSource::Expression(expr)
            }
            (Kind::OpenParen, _, _) => KeyPartSource::Function(self.expr()?),
            _ => KeyPartSource::Column(self.name()?),
        };
        let descending = self.eat_word(Word::DESC);
        if !descending {
            self.eat_word(Word::ASC);
        }
        Ok(KeyPart { source, descending })
    }

    /// An index in the list of CREATE TABLE.
    pub(super) fn table_index(&mut self) -> Result<IndexDef> {
        let kind = self.index_kind();
        self.eat_any(&[Word::INDEX, Word::KEY]);
        let if_not_exists = self.if_not_exists()?;
        let name = if self.is_name() {
            Some(self.name()?)
        } else {
            None
        };
        let using = self.index_using()?;
        self.index_rest(IndexDef {
            if_not_exists,
            using,
            ..index(kind, name)
        })
    }

    /// At `CREATE`.
    pub(super) fn create_index(&mut self) -> Result<Statement> {
        self.bump();
        let kind = self.index_kind();
        self.expect_word(Word::INDEX)?;
        let if_not_exists = self.if_not_exists()?;
        let name = Some(self.name()?);
        let using = self.index_using()?;
        self.expect_word(Word::ON)?;
        let table = self.table_name()?;
        let index = self.index_rest(IndexDef {
            using,
            ..index(kind, name)
        })?;
        self.algorithm_and_lock()?;
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            if_not_exists,
            table,
            index,
        })))
    }

    fn index_kind(&mut self) -> IndexKind {
        match self.eat_any(&[Word::UNIQUE, Word::FULLTEXT, Word::SPATIAL]) {
            Some(Word::UNIQUE) => IndexKind::Unique,
            Some(Word::FULLTEXT) => IndexKind::Fulltext,
            Some(_) => IndexKind::Spatial,
            None => IndexKind::Plain,
        }
    }

    /// At `PRIMARY`: `PRIMARY KEY USING BTREE (a, b DESC)`.
    pub(super) fn primary_key(&mut self) -> Result<Vec<KeyPart>> {
        self.bump();
        self.expect_word(Word::KEY)?;
        self.index_using()?;
        let parts = self.key_parts()?;
        self.index_options()?;
        Ok(parts)
    }

    /// `USING KV`, if it is there.
    pub(super) fn index_using(&mut self) -> Result<Option<String>> {
        if !self.eat_word(Word::USING) {
            return Ok(None);
        }
        Ok(Some(self.name()?.to_ascii_uppercase()))
    }

    /// Columns, and the clauses behind them in any order.
    fn index_rest(&mut self, mut index: IndexDef) -> Result<IndexDef> {
        index.parts = self.key_parts()?;
        loop {
            match self.word() {
                Some(Word::INCLUDE) => {
                    self.bump();
                    index.include = if self.eat_word(Word::ALL) {
                        Include::All
                    } else {
                        Include::Columns(self.name_list()?)
                    };
                }
                Some(Word::WHERE) => index.filter = self.condition(Word::WHERE)?,
                Some(Word::ASYNC) => {
                    self.bump();
                    index.mode = Some(IndexMode::Async);
                }
                Some(Word::SYNC) => {
                    self.bump();
                    index.mode = Some(IndexMode::Sync);
                }
                Some(Word::WITH) if self.kind_ahead(1) == Kind::OpenParen => {
                    index.with.extend(self.with_options()?);
                }
                Some(Word::USING) => index.using = self.index_using()?,
                Some(Word::COMMENT) => {
                    self.bump();
                    index.comment = self.text()?;
                }
                _ => {
                    if !self.index_option()? {
                        return Ok(index);
                    }
                }
            }
        }
    }

    /// MySQL's options of an index that mean nothing here.
    pub(super) fn index_options(&mut self) -> Result<()> {
        loop {
            if self.is_word(Word::USING) {
                self.index_using()?;
            } else if self.eat_word(Word::COMMENT) {
                self.text()?;
            } else if !self.index_option()? {
                return Ok(());
            }
        }
    }

    fn index_option(&mut self) -> Result<bool> {
        if self.eat_word(Word::VISIBLE) {
            return Ok(true);
        }
        if self.is_word(Word::INVISIBLE) {
            let what = "INVISIBLE index; ALTER INDEX i ON t INACTIVE makes one that is not read";
            return Err(Error::unsupported(what));
        }
        if self.eat_word(Word::KEY_BLOCK_SIZE) {
            self.eat(Kind::Equal);
            self.whole_number::<u64>()?;
            return Ok(true);
        }
        if self.eat_words(&[Word::WITH, Word::PARSER]) {
            self.name()?;
            return Ok(true);
        }
        Ok(false)
    }
}

/// An index without columns.
pub(super) fn index(kind: IndexKind, name: Option<String>) -> IndexDef {
    IndexDef {
        name,
        if_not_exists: false,
        kind,
        using: None,
        parts: Vec::new(),
        include: Include::None,
        filter: None,
        mode: None,
        with: Vec::new(),
        comment: String::new(),
    }
}
