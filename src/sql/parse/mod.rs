//! From the bytes of a statement to its [`Statement`]: MySQL's lexical rules and grammar.
//!
//! `lexer` makes tokens, `Parser` walks them by recursive descent, one method per rule of the
//! grammar, spread over the files below by kind of statement. A parser of our own, since names of
//! result columns, `near '…'` texts, `sql_mode`, MySQL's precedences and limits against hostile
//! input all live here. Names are not looked up: that is `bind`.
//!
//! The text arrives as bytes, since `_binary'…'` literals carry bytes that are not UTF-8.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule of the grammar names the tokens it takes; all others are one syntax error"
)]

mod account;
mod alter;
mod cast;
mod column_attribute;
mod column_type;
mod cursor;
mod ddl;
mod digest;
mod expr;
mod flush;
mod from;
mod function;
mod grant;
mod hint;
mod index;
mod json_table;
mod lexer;
mod literal;
mod load;
mod maintain;
mod operand;
mod query;
mod row;
mod session;
mod show;
mod statement;
#[cfg(test)]
pub(crate) mod tests;
mod token;
mod view;
mod window;
mod word;
mod write;

pub use self::digest::{DIGEST_BYTES_MAX, Digest, DigestKey, digest};
pub use self::lexer::VERSION;
pub use self::word::keywords;
use super::ast::{Expr, Statement};
use super::context::Mode;
use crate::ceiling::{self, Held};
use crate::error::{Code, Error, Result};

/// Words and signs one statement may have: 12 bytes each while it is parsed, so 96 MiB at most.
pub const TOKENS_MAX: usize = 8 << 20;

/// How deep expressions and queries may nest in parentheses, calls and prefix operators. Keeps the
/// parser and everything that later walks the tree within a thread's stack of 2 MiB.
pub const NESTING_MAX: u32 = 100;

/// How many operators may lie between the top of an expression and its deepest leaf; `a + b + …`
/// grows by one per sign, while `AND`, `OR` and lists are flat. Keeps whatever walks the tree within
/// a thread's stack of 2 MiB.
pub const HEIGHT_MAX: u32 = 400;

/// `?` one statement may have: the protocol counts them in 16 bits.
pub const PARAMETERS_MAX: usize = 65_535;

/// Words and signs from which on a statement's tree is asked for before it is made.
const LONG_TOKENS_MIN: usize = 8192;

/// Bytes that the trees of a long statement, as parsed and as bound, have for each word or sign:
/// what lists of numbers in a condition measure, with what the allocator has in pieces meanwhile.
pub const TREE_BYTES_PER_TOKEN: usize = 256;

/// MySQL's error 1064: where in the text the language ended.
pub fn syntax_error(near: &str, line: usize) -> Error {
    Error::new(
        Code::Parse,
        format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your \
             Meseta server version for the right syntax to use near '{near}' at line {line}"
        ),
    )
}

/// One parsed statement.
#[derive(Debug)]
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
    /// What it has in common with statements that differ in literals alone.
    pub digest: DigestKey,
    /// How many words and signs it has.
    pub tokens_count: usize,
    /// The memory of its trees, as parsed and as they will be bound; `None` when it is short.
    pub held: Option<Held>,
}

/// Asks for the memory of the trees of a statement of so many words and signs; `None` when it is short.
///
/// # Errors
/// 1041 when there is none.
fn hold_trees(tokens_count: usize) -> Result<Option<Held>> {
    if tokens_count < LONG_TOKENS_MIN {
        return Ok(None);
    }
    let what = format!("a statement of {tokens_count} words and signs");
    let bytes = tokens_count.saturating_mul(TREE_BYTES_PER_TOKEN);
    ceiling::hold(&what, bytes).map(Some)
}

/// Parses the first statement of `sql`. To run several, go on with `&sql[rest_offset..]` until
/// `rest_offset == sql.len()`. A text of comments alone is a `DO` of nothing: MySQL answers OK.
///
/// # Errors
/// `EmptyQuery` for a text without statement, `Parse` for what is not of the language, `TooDeep`,
/// `ParserCapacity` and `TooManyPlaceholders` for what passes a limit, `OutOfResources` when the
/// process has no memory for it.
pub fn parse_first(sql: &[u8], mode: Mode) -> Result<Parsed> {
    let lexed = lexer::Lexer::new(sql, mode).statement()?;
    let tokens_count = lexed.tokens.len();
    let held = hold_trees(tokens_count)?;
    let digest = digest::key(sql, &lexed.tokens);
    let mut parser = cursor::Parser::new(sql, mode, lexed.tokens);
    let statement = if parser.at_end() && lexed.has_comment {
        Statement::Do(Vec::new())
    } else {
        parser.whole_statement()?
    };
    Ok(Parsed {
        statement,
        parameters_count: parser.parameters_count(),
        end_offset: parser.start_offset(),
        rest_offset: lexed.rest_offset,
        digest,
        tokens_count,
        held,
    })
}

/// Parses a text that is one expression and nothing else.
///
/// # Errors
/// As [`parse_first`].
pub fn expression(sql: &[u8], mode: Mode) -> Result<Expr> {
    let lexed = lexer::Lexer::new(sql, mode).statement()?;
    let mut parser = cursor::Parser::new(sql, mode, lexed.tokens);
    let expr = parser.expr()?;
    if parser.at_end() {
        return Ok(expr);
    }
    Err(parser.syntax_error())
}
