//! SET, USE, transactions, KILL, PREPARE and kin.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{
    AccessMode, Begin, Deallocate, EndTransaction, Execute, IsolationLevel, Kill, Prepare,
    PrepareSource, ResetPersist, SetItem, SetScope, SetTransaction, SetValue, Statement,
};

const SCOPES: &[Word] = &[
    Word::GLOBAL,
    Word::SESSION,
    Word::LOCAL,
    Word::PERSIST,
    Word::PERSIST_ONLY,
];

/// What `SET TRANSACTION` sets, as variables.
const CHARACTERISTICS: &[&str] = &[
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
];

fn scope_of(word: Option<Word>) -> SetScope {
    match word {
        Some(Word::GLOBAL) => SetScope::Global,
        Some(Word::PERSIST) => SetScope::Persist,
        Some(Word::PERSIST_ONLY) => SetScope::PersistOnly,
        _ => SetScope::Session,
    }
}

impl Parser<'_> {
    /// At `SET`.
    pub(super) fn set(&mut self) -> Result<Statement> {
        self.bump();
        match self.word() {
            Some(Word::TRANSACTION) => return self.set_transaction(None),
            Some(Word::SESSION | Word::LOCAL) if self.word_ahead(1) == Some(Word::TRANSACTION) => {
                self.bump();
                return self.set_transaction(Some(SetScope::Session));
            }
            Some(Word::GLOBAL) if self.word_ahead(1) == Some(Word::TRANSACTION) => {
                self.bump();
                return self.set_transaction(Some(SetScope::Global));
            }
            Some(Word::STATEMENT) if !self.assigns_ahead(1) => {
                return Ok(self.unsupported("SET STATEMENT"));
            }
            Some(Word::ROLE) if !self.assigns_ahead(1) => return self.set_role(),
            Some(Word::DEFAULT) => return self.set_default_role(),
            _ => {}
        }
        if self.is_word(Word::PASSWORD) {
            return self.set_password();
        }
        Ok(Statement::Set(self.comma_list(Parser::set_item)?))
    }

    fn assigns_ahead(&self, ahead: usize) -> bool {
        matches!(self.kind_ahead(ahead), Kind::Equal | Kind::Assign)
    }

    fn set_item(&mut self) -> Result<SetItem> {
        match self.kind() {
            Kind::UserVariable => {
                let name = self.user_variable()?;
                self.set_sign()?;
                let value = self.expr()?;
                return Ok(SetItem::UserVariable { name, value });
            }
            Kind::AtAt => {
                let (scope, name) = self.system_variable_name()?;
                let scope = match scope {
                    None if CHARACTERISTICS.contains(&name.as_str()) => SetScope::Next,
                    scope => scope_of(scope),
                };
                return self.set_variable(scope, name);
            }
            Kind::Word(Word::NAMES) if !self.assigns_ahead(1) => return self.set_names(),
            Kind::Word(Word::CHARSET) if !self.assigns_ahead(1) => {
                self.bump();
                return self.set_charset();
            }
            Kind::Word(Word::CHARACTER) => {
                self.bump();
                self.expect_word(Word::SET)?;
                return self.set_charset();
            }
            _ => {}
        }
        let scope = if self.is_name_ahead(1) {
            self.eat_any(SCOPES)
        } else {
            None
        };
        let mut name = self.name()?.to_ascii_lowercase();
        if self.eat(Kind::Dot) {
            name = format!("{name}.{}", self.any_name()?.to_ascii_lowercase());
        }
        self.set_variable(scope_of(scope), name)
    }

    fn set_sign(&mut self) -> Result<()> {
        if !self.eat(Kind::Assign) {
            self.expect(Kind::Equal)?;
        }
        Ok(())
    }

    /// Behind a variable's name.
    fn set_variable(&mut self, scope: SetScope, name: String) -> Result<SetItem> {
        self.set_sign()?;
        let value = self.set_value()?;
        Ok(SetItem::Variable { scope, name, value })
    }

    fn set_value(&mut self) -> Result<SetValue> {
        const BARE: &[Word] = &[Word::ON, Word::ALL, Word::BINARY, Word::ROW, Word::SYSTEM];
        if !matches!(self.kind_ahead(1), Kind::Comma | Kind::End) {
            return self.expr().map(SetValue::Expr);
        }
        if self.eat_word(Word::DEFAULT) {
            return Ok(SetValue::Default);
        }
        if self.is_name() || self.word().is_some_and(|word| BARE.contains(&word)) {
            return self.any_name().map(SetValue::Word);
        }
        self.expr().map(SetValue::Expr)
    }

    fn set_names(&mut self) -> Result<SetItem> {
        self.bump();
        if self.eat_word(Word::DEFAULT) {
            return Ok(SetItem::Names {
                charset: None,
                collation: None,
            });
        }
        let charset = Some(self.charset_name()?);
        let collation = match self.eat_word(Word::COLLATE) {
            true if self.eat_word(Word::DEFAULT) => None,
            true => Some(self.charset_name()?),
            false => None,
        };
        Ok(SetItem::Names { charset, collation })
    }

    fn set_charset(&mut self) -> Result<SetItem> {
        let default = self.eat_word(Word::DEFAULT);
        let charset = if default {
            None
        } else {
            Some(self.charset_name()?)
        };
        Ok(SetItem::CharacterSet(charset))
    }

    /// At `TRANSACTION`.
    fn set_transaction(&mut self, scope: Option<SetScope>) -> Result<Statement> {
        self.bump();
        let mut transaction = SetTransaction {
            scope,
            isolation: None,
            access: None,
        };
        loop {
            if self.eat_words(&[Word::ISOLATION, Word::LEVEL]) {
                if transaction.isolation.is_some() {
                    return Err(self.syntax_error());
                }
                transaction.isolation = Some(self.isolation_level()?);
            } else if transaction.access.is_none() && self.is_word(Word::READ) {
                transaction.access = Some(self.access_mode()?);
            } else {
                return Err(self.syntax_error());
            }
            if !self.eat(Kind::Comma) {
                return Ok(Statement::SetTransaction(transaction));
            }
        }
    }

    fn isolation_level(&mut self) -> Result<IsolationLevel> {
        if self.eat_word(Word::SERIALIZABLE) {
            Ok(IsolationLevel::Serializable)
        } else if self.eat_words(&[Word::REPEATABLE, Word::READ]) {
            Ok(IsolationLevel::RepeatableRead)
        } else if self.eat_words(&[Word::READ, Word::COMMITTED]) {
            Ok(IsolationLevel::ReadCommitted)
        } else if self.eat_words(&[Word::READ, Word::UNCOMMITTED]) {
            Ok(IsolationLevel::ReadUncommitted)
        } else {
            Err(self.syntax_error())
        }
    }

    /// At `READ`.
    fn access_mode(&mut self) -> Result<AccessMode> {
        self.bump();
        match self.eat_any(&[Word::ONLY, Word::WRITE]) {
            Some(Word::ONLY) => Ok(AccessMode::ReadOnly),
            Some(_) => Ok(AccessMode::ReadWrite),
            None => Err(self.syntax_error()),
        }
    }

    /// At `USE`.
    pub(super) fn use_database(&mut self) -> Result<Statement> {
        self.bump();
        Ok(Statement::Use(self.name()?))
    }

    /// At `BEGIN`.
    pub(super) fn begin(&mut self) -> Statement {
        self.bump();
        self.eat_word(Word::WORK);
        Statement::Begin(Begin::default())
    }

    /// At `START`.
    pub(super) fn start(&mut self) -> Result<Statement> {
        if self.word_ahead(1) != Some(Word::TRANSACTION) {
            return Ok(self.unsupported_phrase());
        }
        self.bump();
        self.bump();
        let mut begin = Begin::default();
        if self.at_end() {
            return Ok(Statement::Begin(begin));
        }
        self.comma_list(|parser| {
            if parser.eat_words(&[Word::WITH, Word::CONSISTENT, Word::SNAPSHOT]) {
                begin.consistent_snapshot = true;
            } else if parser.is_word(Word::READ) && begin.access.is_none() {
                begin.access = Some(parser.access_mode()?);
            } else {
                return Err(parser.syntax_error());
            }
            Ok(())
        })?;
        Ok(Statement::Begin(begin))
    }

    /// At `COMMIT` or `ROLLBACK`.
    pub(super) fn end_transaction(&mut self, verb: Word) -> Result<Statement> {
        self.bump();
        self.eat_word(Word::WORK);
        if verb == Word::ROLLBACK && self.eat_word(Word::TO) {
            self.eat_word(Word::SAVEPOINT);
            return Ok(Statement::RollbackTo(self.name()?));
        }
        let mut end = EndTransaction::default();
        if self.eat_word(Word::AND) {
            end.chain = !self.eat_word(Word::NO);
            self.expect_word(Word::CHAIN)?;
        }
        if self.eat_word(Word::NO) {
            self.expect_word(Word::RELEASE)?;
        } else {
            end.release = self.eat_word(Word::RELEASE);
        }
        Ok(match verb {
            Word::COMMIT => Statement::Commit(end),
            _ => Statement::Rollback(end),
        })
    }

    /// At `SAVEPOINT`.
    pub(super) fn savepoint(&mut self) -> Result<Statement> {
        self.bump();
        Ok(Statement::Savepoint(self.name()?))
    }

    /// At `RELEASE`.
    pub(super) fn release(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_word(Word::SAVEPOINT)?;
        Ok(Statement::ReleaseSavepoint(self.name()?))
    }

    /// At `KILL`.
    pub(super) fn kill(&mut self) -> Result<Statement> {
        self.bump();
        let query = self.eat_word(Word::QUERY);
        if !query {
            self.eat_word(Word::CONNECTION);
        }
        let id = self.expr()?;
        Ok(Statement::Kill(Kill { query, id }))
    }

    /// At `PREPARE`.
    pub(super) fn prepare(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.name()?.to_lowercase();
        self.expect_word(Word::FROM)?;
        let source = if self.is(Kind::UserVariable) {
            PrepareSource::UserVariable(self.user_variable()?)
        } else {
            PrepareSource::Text(self.text()?)
        };
        Ok(Statement::Prepare(Prepare { name, source }))
    }

    /// At `EXECUTE`.
    pub(super) fn execute(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.name()?.to_lowercase();
        let using = if self.eat_word(Word::USING) {
            self.comma_list(Parser::user_variable)?
        } else {
            Vec::new()
        };
        Ok(Statement::Execute(Execute { name, using }))
    }

    /// At `DEALLOCATE`, or at the `DROP` of `DROP PREPARE`.
    pub(super) fn deallocate(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_word(Word::PREPARE)?;
        let name = self.name()?.to_lowercase();
        Ok(Statement::Deallocate(Deallocate { name }))
    }

    /// At `LOCK` or `UNLOCK`.
    pub(super) fn lock_tables(&mut self) -> Result<Statement> {
        let locks = self.is_word(Word::LOCK);
        if !matches!(self.word_ahead(1), Some(Word::TABLE | Word::TABLES)) {
            return Ok(self.unsupported_phrase());
        }
        self.bump();
        self.bump();
        if !locks {
            return Ok(Statement::UnlockTables);
        }
        let tables = self.comma_list(|parser| {
            let table = parser.table_name()?;
            parser.table_alias()?;
            parser.eat_word(Word::LOW_PRIORITY);
            match parser.eat_any(&[Word::READ, Word::WRITE]) {
                Some(Word::READ) => {
                    parser.eat_word(Word::LOCAL);
                    Ok(table)
                }
                Some(_) => Ok(table),
                None => Err(parser.syntax_error()),
            }
        })?;
        Ok(Statement::LockTables(tables))
    }

    /// At `RESET`: `PERSIST [[IF EXISTS] name]`.
    pub(super) fn reset_persist(&mut self) -> Result<Statement> {
        if self.word_ahead(1) != Some(Word::PERSIST) {
            return Ok(self.unsupported_phrase());
        }
        self.bump();
        self.bump();
        let if_exists = self.if_exists()?;
        let name = if self.at_end() && !if_exists {
            None
        } else {
            Some(self.name()?.to_lowercase())
        };
        Ok(Statement::ResetPersist(ResetPersist { name, if_exists }))
    }
}
