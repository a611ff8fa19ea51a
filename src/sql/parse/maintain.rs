//! CHECK, REPAIR, ANALYZE and OPTIMIZE TABLE; BACKUP.

use super::cursor::Parser;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{Maintain, Maintenance, Statement};

/// Options behind the tables (MySQL manual, "Table Maintenance Statements"): of no consequence here.
const OPTIONS: &[&str] = &["CHANGED", "EXTENDED", "FAST", "MEDIUM", "QUICK", "USE_FRM"];

impl Parser<'_> {
    /// At the verb.
    pub(super) fn maintain(&mut self, kind: Maintenance) -> Result<Statement> {
        self.bump();
        if kind != Maintenance::Check {
            self.eat_any(&[Word::NO_WRITE_TO_BINLOG, Word::LOCAL]);
        }
        if !matches!(self.word(), Some(Word::TABLE | Word::TABLES)) {
            return Err(self.syntax_error());
        }
        self.bump();
        let tables = self.comma_list(Parser::table_name)?;
        if kind == Maintenance::Analyze && matches!(self.verb(0).as_str(), "UPDATE" | "DROP") {
            return Ok(self.unsupported("ANALYZE TABLE ... HISTOGRAM"));
        }
        while !self.at_end() {
            if self.eat_word(Word::FOR) {
                if self.verb(0) != "UPGRADE" {
                    return Err(self.syntax_error());
                }
            } else if !OPTIONS.contains(&self.verb(0).as_str()) {
                return Err(self.syntax_error());
            }
            self.bump();
        }
        Ok(Statement::Maintain(Maintain { kind, tables }))
    }

    /// At `BACKUP`.
    pub(super) fn backup(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_word(Word::TO)?;
        Ok(Statement::Backup(self.text()?))
    }
}
