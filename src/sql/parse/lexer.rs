//! From bytes to tokens: MySQL's lexical structure.
//!
//! Comments vanish here, the contents of `/*! … */` do not. Tokens are positions in the text; what
//! literals mean is read later, in `literal`. Source: MySQL 8.0 Reference Manual, chapter
//! "Language Structure".

use super::TOKENS_MAX;
use super::token::{Kind, Token};
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::sql::context::Mode;

/// The version that `/*!NNNNN … */` is compared with: what the server calls itself.
pub const VERSION: u32 = 80_040;

/// Takes a text apart, up to the first `;`.
pub(super) struct Lexer<'a> {
    sql: &'a [u8],
    mode: Mode,
    at: usize,
    in_versioned: bool,
    has_comment: bool,
}

/// A statement in pieces.
pub(super) struct Lexed {
    /// Its tokens, [`Kind::End`] or [`Kind::Bad`] last.
    pub(super) tokens: Vec<Token>,
    /// Where the next statement begins.
    pub(super) rest_offset: usize,
    /// Whether there is a comment in it or in front of it.
    pub(super) has_comment: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(sql: &'a [u8], mode: Mode) -> Lexer<'a> {
        Lexer {
            sql,
            mode,
            at: 0,
            in_versioned: false,
            has_comment: false,
        }
    }

    /// The tokens of the first statement.
    pub(super) fn statement(mut self) -> Result<Lexed> {
        let mut tokens: Vec<Token> = Vec::with_capacity(self.sql.len() / 5 + 8);
        loop {
            let token = self.next(tokens.last().map(|token| token.kind))?;
            if tokens.len() >= TOKENS_MAX {
                return Err(Error::new(
                    Code::ParserCapacity,
                    format!("the statement has more than {TOKENS_MAX} words and signs"),
                ));
            }
            tokens.push(token);
            if matches!(token.kind, Kind::End | Kind::Bad) {
                break;
            }
        }
        let has_comment = self.has_comment;
        let is_bad = tokens.last().is_some_and(|token| token.kind == Kind::Bad);
        let nothing_more = is_bad || (self.skip_blanks(None) && self.at == self.sql.len());
        Ok(Lexed {
            tokens,
            rest_offset: if nothing_more {
                self.sql.len()
            } else {
                self.at
            },
            has_comment,
        })
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.sql.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        self.sql.get(self.at..).unwrap_or_default()
    }

    fn token(&self, kind: Kind, start: usize) -> Result<Token> {
        let offset = |at: usize| {
            u32::try_from(at).map_err(|_| {
                Error::new(
                    Code::ParserCapacity,
                    format!("the statement is longer than {} bytes", u32::MAX),
                )
            })
        };
        Ok(Token {
            kind,
            start: offset(start)?,
            end: offset(self.at)?,
        })
    }

    fn next(&mut self, previous: Option<Kind>) -> Result<Token> {
        let closed = self.skip_blanks(previous);
        let start = self.at;
        if !closed {
            return self.token(Kind::Bad, start);
        }
        if start >= self.sql.len() {
            let kind = if self.in_versioned {
                Kind::Bad
            } else {
                Kind::End
            };
            return self.token(kind, start);
        }
        let kind = match self.peek(0) {
            b';' => {
                let token = self.token(Kind::End, start);
                self.at += 1;
                return token;
            }
            b'\'' => self.quoted(b'\'', Kind::Text),
            b'"' if self.mode.ansi_quotes => self.quoted(b'"', Kind::Quoted),
            b'"' => self.quoted(b'"', Kind::Text),
            b'`' => self.quoted(b'`', Kind::Quoted),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() && !self.follows_name(previous) => self.number(),
            b'x' | b'X' if self.peek(1) == b'\'' => self.prefixed(Kind::Hex, u8::is_ascii_hexdigit),
            b'b' | b'B' if self.peek(1) == b'\'' => self.prefixed(Kind::Bit, is_bit),
            b'n' | b'N' if self.peek(1) == b'\'' => {
                self.at += 1;
                self.quoted(b'\'', Kind::NationalText)
            }
            b'\\' if self.peek(1) == b'N' => {
                self.at += 2;
                Kind::Word(Word::NULL)
            }
            b'@' => self.variable(),
            b'/' if self.peek(1) == b'*' => self.hint(),
            byte if is_name(byte) => self.word(previous),
            _ => self.sign(),
        };
        self.token(kind, start)
    }

    /// Whether the point here belongs to a qualified name: it touches the name before it.
    fn follows_name(&self, previous: Option<Kind>) -> bool {
        let touches = self
            .at
            .checked_sub(1)
            .and_then(|before| self.sql.get(before))
            .is_some_and(|byte| is_name(*byte) || *byte == b'`');
        touches && matches!(previous, Some(Kind::Name | Kind::Quoted | Kind::Word(_)))
    }

    /// Skips white space and comments; false when a comment is not closed.
    fn skip_blanks(&mut self, previous: Option<Kind>) -> bool {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && ends_dashes(self.sql.get(self.at + 2)) => {
                    self.skip_line();
                }
                b'*' if self.in_versioned && self.peek(1) == b'/' => {
                    self.in_versioned = false;
                    self.at += 2;
                }
                b'/' if self.peek(1) == b'*' => match self.peek(2) {
                    b'+' if previous.is_some_and(takes_hint) => return true,
                    b'!' if !self.in_versioned => {
                        if !self.enter_versioned() {
                            return false;
                        }
                    }
                    _ => {
                        if !self.skip_comment() {
                            return false;
                        }
                    }
                },
                _ => return true,
            }
        }
    }

    fn skip_line(&mut self) {
        self.has_comment = true;
        let line = self.rest().iter().position(|byte| *byte == b'\n');
        self.at += line.map_or(self.rest().len(), |length| length + 1);
    }

    fn skip_comment(&mut self) -> bool {
        self.has_comment = true;
        let body = self.rest().get(2..).unwrap_or_default();
        let Some(length) = body.windows(2).position(|two| two == b"*/") else {
            return false;
        };
        self.at += length + 4;
        true
    }

    /// At `/*!`: enters the comment if its version is ours or older, else skips it.
    fn enter_versioned(&mut self) -> bool {
        self.has_comment = true;
        let digits = self.rest().iter().skip(3).take(6);
        let digits: Vec<u8> = digits.copied().take_while(u8::is_ascii_digit).collect();
        let length = if digits.len() < 5 { 0 } else { digits.len() };
        let version = digits
            .iter()
            .take(length)
            .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        if VERSION < version {
            return self.skip_versioned();
        }
        self.at += 3 + length;
        self.in_versioned = true;
        true
    }

    /// Skips a versioned comment, within which ordinary comments may nest one level.
    fn skip_versioned(&mut self) -> bool {
        self.at += 3;
        loop {
            if self.rest().starts_with(b"*/") {
                self.at += 2;
                return true;
            }
            if self.rest().starts_with(b"/*") {
                if !self.skip_comment() {
                    return false;
                }
            } else if self.at < self.sql.len() {
                self.at += 1;
            } else {
                return false;
            }
        }
    }

    /// At an opening quote.
    fn quoted(&mut self, quote: u8, kind: Kind) -> Kind {
        let start = self.at;
        self.at += 1;
        let escapes = quote != b'`' && kind != Kind::Quoted && !self.mode.no_backslash_escapes;
        while self.at < self.sql.len() {
            let byte = self.peek(0);
            if byte == b'\\' && escapes {
                self.at += 2;
            } else if byte == quote {
                self.at += 1;
                if self.peek(0) != quote {
                    return kind;
                }
                self.at += 1;
            } else {
                self.at += 1;
            }
        }
        self.at = start;
        Kind::Bad
    }

    /// `x'…'`, `b'…'`.
    fn prefixed(&mut self, kind: Kind, allowed: impl Fn(&u8) -> bool) -> Kind {
        let digits = self
            .rest()
            .iter()
            .skip(2)
            .take_while(|byte| allowed(byte))
            .count();
        if self.peek(2 + digits) != b'\'' || (kind == Kind::Hex && digits % 2 == 1) {
            return Kind::Bad;
        }
        self.at += digits + 3;
        kind
    }

    /// At a digit, or at a point before one.
    fn number(&mut self) -> Kind {
        if let Some(kind) = self.prefixed_number() {
            return kind;
        }
        let whole = self.digits(0);
        let mut length = whole;
        let mut kind = Kind::Int;
        if self.peek(length) == b'.' {
            length += 1 + self.digits(length + 1);
            kind = Kind::Decimal;
        } else if is_name(self.peek(length)) && !self.has_exponent(length) {
            return self.plain_name();
        }
        if self.has_exponent(length) {
            length += 1 + usize::from(!self.peek(length + 1).is_ascii_digit());
            length += self.digits(length);
            kind = Kind::Double;
        }
        self.at += length;
        kind
    }

    /// `0x41`, `0b01`.
    fn prefixed_number(&mut self) -> Option<Kind> {
        let (kind, allowed): (Kind, fn(&u8) -> bool) = match (self.peek(0), self.peek(1)) {
            (b'0', b'x') => (Kind::Hex, u8::is_ascii_hexdigit),
            (b'0', b'b') => (Kind::Bit, is_bit),
            _ => return None,
        };
        let digits = self
            .rest()
            .iter()
            .skip(2)
            .take_while(|byte| allowed(byte))
            .count();
        if digits == 0 || is_name(self.peek(2 + digits)) {
            return None;
        }
        self.at += 2 + digits;
        Some(kind)
    }

    fn digits(&self, ahead: usize) -> usize {
        self.rest()
            .iter()
            .skip(ahead)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    }

    fn has_exponent(&self, ahead: usize) -> bool {
        let signed = matches!(self.peek(ahead + 1), b'+' | b'-');
        matches!(self.peek(ahead), b'e' | b'E')
            && self.peek(ahead + 1 + usize::from(signed)).is_ascii_digit()
    }

    fn plain_name(&mut self) -> Kind {
        self.at += self
            .rest()
            .iter()
            .take_while(|byte| is_name(**byte))
            .count();
        Kind::Name
    }

    fn word(&mut self, previous: Option<Kind>) -> Kind {
        if self.rest().starts_with(b"$$") {
            return Kind::Bad;
        }
        let start = self.at;
        self.plain_name();
        let text = self.sql.get(start..self.at).unwrap_or_default();
        if text.first() == Some(&b'_') && self.precedes_literal() {
            return Kind::Introducer;
        }
        if previous == Some(Kind::Dot) {
            return Kind::Name;
        }
        Word::find(text).map_or(Kind::Name, Kind::Word)
    }

    /// Whether a literal that may have an introducer comes next.
    fn precedes_literal(&self) -> bool {
        let mut rest = self.rest().trim_ascii_start().iter();
        let first = rest.next().copied().unwrap_or(0);
        let second = rest.next().copied().unwrap_or(0);
        match first {
            b'\'' => true,
            b'"' => !self.mode.ansi_quotes,
            b'x' | b'X' | b'b' | b'B' => second == b'\'',
            b'0' => matches!(second, b'x' | b'b'),
            _ => false,
        }
    }

    /// At `@`.
    fn variable(&mut self) -> Kind {
        self.at += 1;
        match self.peek(0) {
            b'@' => {
                self.at += 1;
                Kind::AtAt
            }
            quote @ (b'\'' | b'"' | b'`') => self.quoted(quote, Kind::UserVariable),
            _ => {
                let name = self.rest().iter();
                self.at += name
                    .take_while(|byte| is_name(**byte) || **byte == b'.')
                    .count();
                Kind::UserVariable
            }
        }
    }

    fn hint(&mut self) -> Kind {
        if self.skip_comment() {
            Kind::Hint
        } else {
            Kind::Bad
        }
    }

    fn sign(&mut self) -> Kind {
        const SIGNS: &[(&[u8], Kind)] = &[
            (b"<=>", Kind::NullSafeEqual),
            (b"->>", Kind::LongArrow),
            (b"->", Kind::Arrow),
            (b"<=", Kind::LessOrEqual),
            (b"<>", Kind::NotEqual),
            (b"!=", Kind::NotEqual),
            (b">=", Kind::GreaterOrEqual),
            (b"<<", Kind::ShiftLeft),
            (b">>", Kind::ShiftRight),
            (b"&&", Kind::AndAnd),
            (b"||", Kind::PipePipe),
            (b":=", Kind::Assign),
            (b",", Kind::Comma),
            (b"(", Kind::OpenParen),
            (b")", Kind::CloseParen),
            (b"{", Kind::OpenBrace),
            (b"}", Kind::CloseBrace),
            (b".", Kind::Dot),
            (b"?", Kind::Parameter),
            (b"+", Kind::Plus),
            (b"-", Kind::Minus),
            (b"*", Kind::Star),
            (b"/", Kind::Slash),
            (b"%", Kind::Percent),
            (b"=", Kind::Equal),
            (b"<", Kind::Less),
            (b">", Kind::Greater),
            (b"&", Kind::Ampersand),
            (b"|", Kind::Pipe),
            (b"^", Kind::Caret),
            (b"~", Kind::Tilde),
            (b"!", Kind::Bang),
        ];
        let rest = self.rest();
        let single = match rest.first() {
            Some(b',') => Some(Kind::Comma),
            Some(b'(') => Some(Kind::OpenParen),
            Some(b')') => Some(Kind::CloseParen),
            _ => None,
        };
        if let Some(kind) = single {
            self.at += 1;
            return kind;
        }
        let found = SIGNS.iter().find(|(text, _)| rest.starts_with(text));
        found.map_or(Kind::Bad, |(text, kind)| {
            self.at += text.len();
            *kind
        })
    }
}

/// Whether `/*+ … */` after such a token is a hint and not a comment.
fn takes_hint(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Word(
            Word::SELECT
                | Word::INSERT
                | Word::REPLACE
                | Word::UPDATE
                | Word::DELETE
                | Word::UPSERT
        ) | Kind::Hint
    )
}

/// Whether a byte may stand in an unquoted name.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || 0x80 <= byte
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "stands beside u8::is_ascii_hexdigit"
)]
fn is_bit(byte: &u8) -> bool {
    matches!(byte, b'0' | b'1')
}

/// Whether `--` before this byte begins a comment.
fn ends_dashes(byte: Option<&u8>) -> bool {
    byte.is_none_or(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}
