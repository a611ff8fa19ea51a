//! The first words of a statement choose its rule.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{Delete, Describe, Explain, ExplainFormat, Maintenance, Statement, With};

/// Verbs that MySQL or Lindorm has and this server does not, with one more word where it says more.
const UNSUPPORTED: &[&str] = &[
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECKSUM",
    "CLONE",
    "DECLARE",
    "GET",
    "HANDLER",
    "HELP",
    "IMPORT",
    "INSTALL",
    "PURGE",
    "RENAME",
    "RESIGNAL",
    "RESTART",
    "SHUTDOWN",
    "SIGNAL",
    "STOP",
    "UNINSTALL",
    "XA",
];

/// Verbs of the list above behind which a word of the grammar must stand.
const WITH_OBJECT: &[&str] = &["CHECKSUM", "RENAME"];

impl Parser<'_> {
    /// The whole statement.
    ///
    /// # Errors
    /// `EmptyQuery` when there is none; `Parse`.
    pub(super) fn whole_statement(&mut self) -> Result<Statement> {
        if self.at_end() {
            return Err(Error::new(Code::EmptyQuery, "Query was empty"));
        }
        let statement = self.statement()?;
        if self.at_end() {
            Ok(statement)
        } else {
            Err(self.syntax_error())
        }
    }

    fn statement(&mut self) -> Result<Statement> {
        let Some(word) = self.word() else {
            if self.is(Kind::OpenParen) {
                return self.select_statement();
            }
            return Err(self.syntax_error());
        };
        match word {
            Word::SELECT | Word::WITH | Word::VALUES | Word::TABLE => self.select_statement(),
            Word::INSERT | Word::REPLACE | Word::UPSERT => self.insert(),
            Word::UPDATE => self.update(With::default()),
            Word::DELETE => self.delete(With::default()),
            Word::EXPLAIN | Word::DESCRIBE | Word::DESC => self.explain(),
            Word::CREATE => self.create(),
            Word::DROP => self.drop(),
            Word::ALTER => self.alter(),
            Word::TRUNCATE => self.truncate(),
            Word::CHECK => self.maintain(Maintenance::Check),
            Word::REPAIR => self.maintain(Maintenance::Repair),
            Word::ANALYZE => self.maintain(Maintenance::Analyze),
            Word::OPTIMIZE => self.maintain(Maintenance::Optimize),
            Word::SHOW => self.show(),
            _ => self.session_statement(word),
        }
    }

    fn session_statement(&mut self, word: Word) -> Result<Statement> {
        match word {
            Word::SET => self.set(),
            Word::LOAD => self.load(),
            Word::RESET => self.reset_persist(),
            Word::USE => self.use_database(),
            Word::BEGIN => Ok(self.begin()),
            Word::START => self.start(),
            Word::COMMIT | Word::ROLLBACK => self.end_transaction(word),
            Word::SAVEPOINT => self.savepoint(),
            Word::RELEASE => self.release(),
            Word::KILL => self.kill(),
            Word::PREPARE => self.prepare(),
            Word::EXECUTE => self.execute(),
            Word::DEALLOCATE => self.deallocate(),
            Word::DO => {
                self.bump();
                Ok(Statement::Do(self.exprs()?))
            }
            Word::FLUSH => self.flush(),
            Word::LOCK | Word::UNLOCK => self.lock_tables(),
            Word::UNDROP => self.undrop(),
            Word::BACKUP => self.backup(),
            Word::ADVISE => {
                self.bump();
                self.expect_word(Word::TABLE)?;
                Ok(Statement::Advise(self.table_name()?))
            }
            Word::PURGE if matches!(self.word_ahead(1), Some(Word::TABLE | Word::TRASH)) => {
                self.purge()
            }
            Word::GRANT => self.grant(),
            Word::REVOKE => self.revoke(),
            Word::RENAME if self.word_ahead(1) == Some(Word::USER) => self.rename_user(),
            Word::RENAME if matches!(self.word_ahead(1), Some(Word::TABLE | Word::TABLES)) => {
                self.rename_tables()
            }
            _ => self.unsupported_verb(),
        }
    }

    fn select_statement(&mut self) -> Result<Statement> {
        if !self.is_word(Word::WITH) {
            return Ok(Statement::Select(Box::new(self.select()?)));
        }
        let with = self.scoped(Parser::with)?;
        match self.word() {
            Some(Word::UPDATE) => self.update(with),
            Some(Word::DELETE) => self.delete(with),
            _ => {
                let select = self.scoped(|parser| parser.select_after(with))?;
                Ok(Statement::Select(Box::new(select)))
            }
        }
    }

    fn unsupported_verb(&mut self) -> Result<Statement> {
        let verb = self.verb(0);
        if !UNSUPPORTED.contains(&verb.as_str()) {
            return Err(self.syntax_error());
        }
        if WITH_OBJECT.contains(&verb.as_str()) && self.word_ahead(1).is_none() {
            self.bump();
            return Err(self.syntax_error());
        }
        if verb == "SHUTDOWN" {
            return Ok(self.unsupported("SHUTDOWN; send the process SIGTERM"));
        }
        if verb == "PURGE" && self.word_ahead(2) == Some(Word::LOGS) {
            let what = format!("PURGE {} LOGS", self.verb(1));
            return Ok(self.unsupported(&what));
        }
        Ok(self.unsupported_phrase())
    }

    /// The word so many tokens ahead, upper case; empty when there is none.
    pub(super) fn verb(&self, ahead: usize) -> String {
        let token = self.token_ahead(ahead);
        match token.kind {
            Kind::Word(_) | Kind::Name => {
                String::from_utf8_lossy(self.bytes(token)).to_ascii_uppercase()
            }
            _ => String::new(),
        }
    }

    /// A statement named by its first two words, the second only if the grammar knows it.
    pub(super) fn unsupported_phrase(&mut self) -> Statement {
        let mut what = self.verb(0);
        if let Some(word) = self.word_ahead(1) {
            what = format!("{what} {word:?}");
        }
        self.unsupported(&what)
    }

    pub(super) fn unsupported(&mut self, what: &str) -> Statement {
        self.skip_rest();
        Statement::Unsupported {
            what: what.to_owned(),
        }
    }

    /// At `EXPLAIN`, `DESCRIBE` or `DESC`, which mean the same.
    fn explain(&mut self) -> Result<Statement> {
        self.bump();
        let mut analyze = false;
        let mut format = None;
        loop {
            match self.word() {
                Some(Word::ANALYZE) => {
                    self.bump();
                    analyze = true;
                }
                Some(Word::FORMAT) if self.kind_ahead(1) == Kind::Equal => {
                    self.bump();
                    self.bump();
                    format = Some(self.explain_format()?);
                }
                Some(Word::EXTENDED | Word::PARTITIONS) if self.word_ahead(1).is_some() => {
                    self.bump();
                }
                _ => break,
            }
        }
        // `DESC row` alone is about a table of that name.
        let is_row = self.word() == Some(Word::ROW) && self.kind_ahead(1) != Kind::End;
        if is_row && !analyze && format.is_none() {
            return self.explain_row();
        }
        if !self.explains() {
            if analyze || format.is_some() {
                return Err(self.syntax_error());
            }
            return self.describe();
        }
        // EXPLAIN ANALYZE speaks TREE unless told otherwise.
        let default = if analyze {
            ExplainFormat::Tree
        } else {
            ExplainFormat::Traditional
        };
        let statement = match self.word() {
            Some(Word::FOR) => return Ok(self.unsupported("EXPLAIN FOR CONNECTION")),
            _ => self.nested(Parser::statement)?,
        };
        Ok(Statement::Explain(Box::new(Explain {
            format: format.unwrap_or(default),
            analyze,
            statement,
        })))
    }

    /// At `ROW` in `EXPLAIN ROW t WHERE …`.
    fn explain_row(&mut self) -> Result<Statement> {
        self.bump();
        let table = self.table_name()?;
        let Some(filter) = self.condition(Word::WHERE)? else {
            return Err(self.syntax_error());
        };
        Ok(Statement::ExplainRow(Box::new(Delete {
            with: With::default(),
            several: None,
            hints: Vec::new(),
            ignore: false,
            table,
            alias: None,
            filter: Some(filter),
            order_by: Vec::new(),
            limit: None,
        })))
    }

    fn explains(&self) -> bool {
        let verbs = [
            Word::SELECT,
            Word::WITH,
            Word::VALUES,
            Word::TABLE,
            Word::INSERT,
            Word::REPLACE,
            Word::UPSERT,
            Word::UPDATE,
            Word::DELETE,
            Word::FOR,
        ];
        // `DESC upsert` may be about a table of that name.
        let named = self.word() == Some(Word::UPSERT) && self.kind_ahead(1) == Kind::End;
        !named
            && (self.is(Kind::OpenParen) || self.word().is_some_and(|word| verbs.contains(&word)))
    }

    fn explain_format(&mut self) -> Result<ExplainFormat> {
        let name = self.name_or_text()?;
        match name.to_ascii_uppercase().as_str() {
            "TRADITIONAL" | "DEFAULT" => Ok(ExplainFormat::Traditional),
            "TREE" => Ok(ExplainFormat::Tree),
            "JSON" => Ok(ExplainFormat::Json),
            _ => Err(Error::new(
                Code::UnknownExplainFormat,
                format!("Unknown EXPLAIN format name: '{name}'"),
            )),
        }
    }

    fn describe(&mut self) -> Result<Statement> {
        let table = self.table_name()?;
        let column = if self.at_end() {
            None
        } else {
            Some(self.name_or_text()?)
        };
        Ok(Statement::Describe(Describe { table, column }))
    }
}
