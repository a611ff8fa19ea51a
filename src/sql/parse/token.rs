//! What the lexer hands to the parser.

use super::word::Word;

/// A piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: Kind,
    /// Its first byte.
    pub(super) start: u32,
    /// Behind its last byte.
    pub(super) end: u32,
}

/// What a [`Token`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The end of the statement: of the text, or `;`.
    End,
    /// Not of the language: an unclosed quote or comment, a stray character.
    Bad,
    /// An unquoted word of the grammar.
    Word(Word),
    /// Another unquoted name.
    Name,
    /// `` `name` ``, and `"name"` under `ANSI_QUOTES`.
    Quoted,
    /// `'text'`, `"text"`.
    Text,
    /// `N'text'`.
    NationalText,
    /// `_charset` before a literal.
    Introducer,
    /// `x'41'`, `0x41`.
    Hex,
    /// `b'01'`, `0b01`.
    Bit,
    /// `12`.
    Int,
    /// `1.2`.
    Decimal,
    /// `1e2`.
    Double,
    /// `?`.
    Parameter,
    /// `@name`.
    UserVariable,
    /// `/*+ … */` after a verb.
    Hint,
    /// `@@`.
    AtAt,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `=`
    Equal,
    /// `<=>`
    NullSafeEqual,
    /// `<>`, `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&`
    Ampersand,
    /// `&&`
    AndAnd,
    /// `|`
    Pipe,
    /// `||`
    PipePipe,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `!`
    Bang,
    /// `:=`
    Assign,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
}
