//! Queries as SQL text, spelled as MySQL spells them: what a view keeps, and `SHOW CREATE VIEW`.
//!
//! The text reads back as the same tree under the default `sql_mode`: names are quoted, operators stand
//! in parentheses, what has several spellings has one. What names are written as is the caller's
//! ([`Spelling`]). Queries are in `query`, expressions in `expr`, calls in `call`.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each function is about a few shapes of expression and hands the others on"
)]

mod call;
mod expr;
mod json_table;
mod query;

use super::{ColumnName, Expr, Select, SelectItem, TableName};
use crate::catalog::describe::quoted;

/// How names are written.
pub trait Spelling {
    /// What a column is written as.
    fn column(&self, name: &ColumnName) -> ColumnName {
        name.clone()
    }

    /// What a table is written as.
    fn table(&self, name: &TableName) -> TableName {
        name.clone()
    }

    /// The columns that a star is written as; `None` to leave it.
    fn star(&self, _star: &SelectItem) -> Option<Vec<ColumnName>> {
        None
    }

    /// Whether a text was read as the digits of bytes, which it is not wherever it is read back.
    fn gives_bytes(&self, _text: &Expr) -> bool {
        false
    }

    /// Whether a `LIKE` of these operands, written without `ESCAPE`, has no escape character.
    fn is_unescaped(&self, _operands: &(Expr, Expr)) -> bool {
        false
    }
}

/// The text of a query.
#[derive(Debug)]
pub struct QueryText {
    /// The text.
    pub text: String,
    /// Whether there is a variable or a parameter in it.
    pub has_variable: bool,
}

/// The text of a query, each member of its select list with a name behind `AS`. A name that no column
/// can have becomes `Name_exp_n`, as in MySQL.
pub fn query(select: &Select, spelling: &dyn Spelling) -> QueryText {
    let mut printer = Printer {
        text: String::new(),
        spelling,
        has_variable: false,
    };
    printer.select(select, true);
    QueryText {
        text: printer.text,
        has_variable: printer.has_variable,
    }
}

struct Printer<'s> {
    text: String,
    spelling: &'s dyn Spelling,
    has_variable: bool,
}

impl Printer<'_> {
    fn word(&mut self, word: &str) {
        self.text.push_str(word);
    }

    fn words(&mut self, words: &[&str]) {
        for word in words {
            self.word(word);
        }
    }

    fn name(&mut self, name: &str) {
        self.word(&quoted(name));
    }

    /// What `item` writes, for each, between commas.
    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (idx, one) in items.iter().enumerate() {
            if idx != 0 {
                self.word(",");
            }
            item(self, one);
        }
    }

    /// ` (a,b)`, when there is something.
    fn name_list(&mut self, names: &[String]) {
        if !names.is_empty() {
            self.word(" (");
            self.list(names, |printer, name| printer.name(name));
            self.word(")");
        }
    }

    fn table_name(&mut self, name: &TableName) {
        let name = self.spelling.table(name);
        if let Some(database) = &name.database {
            self.name(database);
            self.word(".");
        }
        self.name(&name.name);
    }

    fn column_name(&mut self, name: &ColumnName) {
        let name = self.spelling.column(name);
        self.spelled_column(&name);
    }

    fn spelled_column(&mut self, name: &ColumnName) {
        for part in [&name.database, &name.table].into_iter().flatten() {
            self.name(part);
            self.word(".");
        }
        self.name(&name.column);
    }
}

#[cfg(test)]
mod tests;
