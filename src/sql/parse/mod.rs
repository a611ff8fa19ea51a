//! From the bytes of a statement to its [`Statement`]: MySQL's lexical rules and grammar.
//!
//! The text arrives as bytes, since `_binary'…'` literals carry bytes that are not UTF-8.

use super::ast::Statement;
use super::context::Mode;
use crate::error::{Error, Result};

/// One parsed statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// What it says.
    pub statement: Statement,
    /// How many `?` it has.
    pub parameters_count: usize,
    /// Where its own text ends: before the `;` or at the end.
    pub end_offset: usize,
    /// Where the next statement begins; the length of the text when nothing but blanks and
    /// comments follows.
    pub rest_offset: usize,
}

/// Parses the first statement of `sql`. To run several, go on with `&sql[rest_offset..]` until
/// `rest_offset == sql.len()`.
///
/// # Errors
/// `EmptyQuery` for a text without statement, `Parse` for what is not of the language, `TooDeep`,
/// `ParserCapacity` and `TooManyPlaceholders` for what passes a limit.
pub fn parse_first(sql: &[u8], mode: Mode) -> Result<Parsed> {
    let _ = (sql, mode);
    Err(Error::internal("the parser is being written"))
}
