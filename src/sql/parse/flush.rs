//! FLUSH.
//!
//! Source: MySQL manual, "FLUSH Statement".

use super::cursor::Parser;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::Statement;

/// Kinds of logs. Of these there is the slow one.
const LOG_KINDS: &[&str] = &["BINARY", "ENGINE", "ERROR", "GENERAL", "RELAY", "SLOW"];

/// What nothing is kept of here that could be out of date, or what every FLUSH does.
const NOTHING_KEPT: &[&str] = &["HOSTS", "OPTIMIZER_COSTS", "PRIVILEGES", "USER_RESOURCES"];

/// What one word of FLUSH asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flushed {
    Logs,
    Status,
    Nothing,
}

impl Parser<'_> {
    /// At `FLUSH`.
    pub(super) fn flush(&mut self) -> Result<Statement> {
        self.bump();
        self.eat_any(&[Word::NO_WRITE_TO_BINLOG, Word::LOCAL]);
        if self.eat_any(&[Word::TABLE, Word::TABLES]).is_some() {
            return self.flush_tables();
        }
        let all = self.comma_list(Parser::flushed)?;
        Ok(Statement::Flush {
            logs: all.contains(&Flushed::Logs),
            status: all.contains(&Flushed::Status),
        })
    }

    /// Behind `TABLES`: those that are named, or all. The forms that stop writers are not offered.
    fn flush_tables(&mut self) -> Result<Statement> {
        if !self.at_end() && !self.is_word(Word::WITH) && !self.is_word(Word::FOR) {
            self.comma_list(Parser::table_name)?;
        }
        if self.are_words(&[Word::WITH, Word::READ, Word::LOCK]) {
            return Ok(self.unsupported("FLUSH TABLES WITH READ LOCK"));
        }
        if self.is_word(Word::FOR) && self.verb(1) == "EXPORT" {
            return Ok(self.unsupported("FLUSH TABLES FOR EXPORT"));
        }
        Ok(Statement::Flush {
            logs: false,
            status: false,
        })
    }

    fn flushed(&mut self) -> Result<Flushed> {
        let what = self.verb(0);
        if LOG_KINDS.contains(&what.as_str()) {
            self.bump();
            self.expect_word(Word::LOGS)?;
            let is_there = what == "SLOW";
            return Ok(if is_there {
                Flushed::Logs
            } else {
                Flushed::Nothing
            });
        }
        if self.eat_word(Word::LOGS) {
            return Ok(Flushed::Logs);
        }
        if self.eat_word(Word::STATUS) {
            return Ok(Flushed::Status);
        }
        if what == "QUERY" {
            self.bump();
            return self.expect_verb("CACHE").map(|()| Flushed::Nothing);
        }
        if NOTHING_KEPT.contains(&what.as_str()) {
            self.bump();
            return Ok(Flushed::Nothing);
        }
        Err(self.syntax_error())
    }
}
