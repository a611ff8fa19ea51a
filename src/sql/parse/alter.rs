//! ALTER TABLE and ALTER INDEX, as far as they are about indexes.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{AlterAction, AlterIndex, AlterTable, IndexGoal, Statement};

impl Parser<'_> {
    /// At `ALTER`.
    pub(super) fn alter(&mut self) -> Result<Statement> {
        match self.word_ahead(1) {
            Some(Word::TABLE) => self.alter_table(),
            Some(Word::INDEX) => self.alter_index(),
            Some(Word::USER) => self.alter_user(),
            _ if self.is_view_ahead() => self.view(),
            Some(_) => Ok(self.unsupported_phrase()),
            None => {
                self.bump();
                Err(self.syntax_error())
            }
        }
    }

    fn alter_table(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let table = self.table_name()?;
        let mut actions = Vec::new();
        self.algorithm_and_lock()?;
        self.eat(Kind::Comma);
        while !self.at_end() {
            if !self.is_option() {
                match self.alter_action()? {
                    Some(action) => actions.push(action),
                    None => return Ok(self.unsupported_action()),
                }
            }
            self.algorithm_and_lock()?;
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        Ok(Statement::AlterTable(Box::new(AlterTable {
            table,
            actions,
        })))
    }

    fn is_option(&self) -> bool {
        matches!(self.verb(0).as_str(), "ALGORITHM" | "LOCK")
    }

    /// One action; `None` when it is not about indexes, and nothing was read.
    fn alter_action(&mut self) -> Result<Option<AlterAction>> {
        match self.word() {
            Some(Word::ADD) => self.add_action(),
            Some(Word::DROP) if self.names_index(1) => {
                self.bump();
                self.bump();
                let if_exists = self.eat_words(&[Word::IF, Word::EXISTS]);
                let name = self.index_name()?;
                Ok(Some(AlterAction::DropIndex { name, if_exists }))
            }
            Some(Word::SET) => self.set_option().map(Some),
            Some(Word::DISABLE | Word::ENABLE) if self.word_ahead(1) == Some(Word::KEYS) => {
                self.bump();
                self.bump();
                Ok(Some(AlterAction::Keys))
            }
            Some(Word::RENAME) if self.names_index(1) => {
                self.bump();
                self.bump();
                let from = self.index_name()?;
                self.expect_word(Word::TO)?;
                let to = self.index_name()?;
                Ok(Some(AlterAction::RenameIndex { from, to }))
            }
            Some(_) => Ok(None),
            None => Err(self.syntax_error()),
        }
    }

    /// `SET 'NAME' = 'value'`.
    fn set_option(&mut self) -> Result<AlterAction> {
        self.bump();
        let (name, value) = self.option_pair()?;
        Ok(AlterAction::SetOption { name, value })
    }

    /// At `ADD`.
    fn add_action(&mut self) -> Result<Option<AlterAction>> {
        let mark = self.mark();
        self.bump();
        let symbol = self.eat_word(Word::CONSTRAINT);
        let symbol = if symbol && self.is_name() {
            Some(self.name()?)
        } else {
            None
        };
        let is_index = matches!(
            self.word(),
            Some(Word::INDEX | Word::KEY | Word::UNIQUE | Word::FULLTEXT | Word::SPATIAL)
        );
        if !is_index {
            self.reset(mark);
            return Ok(None);
        }
        let mut index = self.table_index()?;
        index.name = index.name.or(symbol);
        Ok(Some(AlterAction::AddIndex(Box::new(index))))
    }

    fn names_index(&self, ahead: usize) -> bool {
        matches!(self.word_ahead(ahead), Some(Word::INDEX | Word::KEY))
    }

    /// A name, or `PRIMARY`, which no index here has.
    fn index_name(&mut self) -> Result<String> {
        if self.is_word(Word::PRIMARY) {
            return self.any_name();
        }
        self.name()
    }

    /// An action that this server does not have, named by its verb and, where it says more, the
    /// reserved word behind it.
    fn unsupported_action(&mut self) -> Statement {
        let mut what = format!("ALTER TABLE {}", self.verb(0));
        if let Some(word) = self.word_ahead(1).filter(|word| word.is_reserved()) {
            what = format!("{what} {word:?}");
        }
        self.unsupported(&what)
    }

    /// `ALTER INDEX i ON t ACTIVE`.
    fn alter_index(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let name = self.index_name()?;
        self.expect_word(Word::ON)?;
        let table = self.table_name()?;
        let goal = match self.verb(0).as_str() {
            "ACTIVE" => IndexGoal::Active,
            "INACTIVE" => IndexGoal::Inactive,
            "DISABLED" => IndexGoal::Disabled,
            "REBUILD" => return Ok(self.unsupported("ALTER INDEX REBUILD")),
            _ => return Err(self.syntax_error()),
        };
        self.bump();
        Ok(Statement::AlterIndex(AlterIndex { name, table, goal }))
    }
}
