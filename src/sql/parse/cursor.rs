//! The parser's position in the tokens, what it can ask there, and its errors.

use super::literal;
use super::token::{Kind, Token};
use super::word::Word;
use super::{HEIGHT_MAX, NESTING_MAX, PARAMETERS_MAX};
use crate::error::{Code, Error, Result};
use crate::sql::ast::TableName;
use crate::sql::context::Mode;

/// Bytes of the text that an error of syntax shows, as MySQL does.
const NEAR_BYTES_MAX: usize = 80;

/// Walks the tokens of one statement.
pub(super) struct Parser<'a> {
    sql: &'a [u8],
    pub(super) mode: Mode,
    tokens: Vec<Token>,
    at: usize,
    parameters_count: usize,
    /// Whether a user variable was assigned in an expression so far.
    pub(super) assigns: bool,
    nesting: u32,
    /// The height of the expression parsed last, see [`HEIGHT_MAX`].
    height: u32,
    /// The largest height within the query that is being parsed.
    tallest: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn new(sql: &'a [u8], mode: Mode, tokens: Vec<Token>) -> Parser<'a> {
        Parser {
            sql,
            mode,
            tokens,
            at: 0,
            parameters_count: 0,
            assigns: false,
            nesting: 0,
            height: 0,
            tallest: 0,
        }
    }

    // What is here.

    pub(super) fn token(&self) -> Token {
        self.token_ahead(0)
    }

    pub(super) fn token_ahead(&self, ahead: usize) -> Token {
        let last = || self.tokens.last().copied();
        let token = self.tokens.get(self.at + ahead).copied().or_else(last);
        token.unwrap_or(Token {
            kind: Kind::End,
            start: 0,
            end: 0,
        })
    }

    pub(super) fn kind(&self) -> Kind {
        self.token().kind
    }

    pub(super) fn kind_ahead(&self, ahead: usize) -> Kind {
        self.token_ahead(ahead).kind
    }

    /// The word here, if it is one of the grammar.
    pub(super) fn word(&self) -> Option<Word> {
        self.word_ahead(0)
    }

    pub(super) fn word_ahead(&self, ahead: usize) -> Option<Word> {
        match self.kind_ahead(ahead) {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn is(&self, kind: Kind) -> bool {
        self.kind() == kind
    }

    pub(super) fn is_word(&self, word: Word) -> bool {
        self.is(Kind::Word(word))
    }

    pub(super) fn are_words(&self, words: &[Word]) -> bool {
        let mut expected = words.iter().enumerate();
        expected.all(|(ahead, word)| self.kind_ahead(ahead) == Kind::Word(*word))
    }

    /// Whether the statement ends here.
    pub(super) fn at_end(&self) -> bool {
        self.is(Kind::End)
    }

    // Going on.

    pub(super) fn bump(&mut self) -> Token {
        let token = self.token();
        if !matches!(token.kind, Kind::End | Kind::Bad) {
            self.at += 1;
        }
        token
    }

    pub(super) fn eat(&mut self, kind: Kind) -> bool {
        let found = self.is(kind);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: Word) -> bool {
        self.eat(Kind::Word(word))
    }

    /// Eats all of `words` or nothing.
    pub(super) fn eat_words(&mut self, words: &[Word]) -> bool {
        let found = self.are_words(words);
        if found {
            self.at += words.len();
        }
        found
    }

    /// Eats one of `words`.
    pub(super) fn eat_any(&mut self, words: &[Word]) -> Option<Word> {
        let word = self.word().filter(|word| words.contains(word))?;
        self.bump();
        Some(word)
    }

    pub(super) fn expect(&mut self, kind: Kind) -> Result<Token> {
        if self.is(kind) {
            Ok(self.bump())
        } else {
            Err(self.syntax_error())
        }
    }

    pub(super) fn expect_word(&mut self, word: Word) -> Result<()> {
        self.expect(Kind::Word(word)).map(|_| ())
    }

    pub(super) fn expect_words(&mut self, words: &[Word]) -> Result<()> {
        words.iter().try_for_each(|word| self.expect_word(*word))
    }

    /// A place to come back to.
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.at, self.parameters_count)
    }

    pub(super) fn reset(&mut self, mark: (usize, usize)) {
        (self.at, self.parameters_count) = mark;
    }

    /// Goes to the end of the statement.
    pub(super) fn skip_rest(&mut self) {
        while !matches!(self.kind(), Kind::End | Kind::Bad) {
            self.at += 1;
        }
    }

    /// After `(`: goes behind the matching `)`.
    pub(super) fn skip_parens(&mut self) -> Result<()> {
        let mut open = 1_usize;
        while 0 < open {
            match self.kind() {
                Kind::OpenParen => open += 1,
                Kind::CloseParen => open -= 1,
                Kind::End | Kind::Bad => return Err(self.syntax_error()),
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }

    /// One or more of `item`, between commas.
    pub(super) fn comma_list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = vec![item(self)?];
        while self.eat(Kind::Comma) {
            all.push(item(self)?);
        }
        Ok(all)
    }

    /// `(item, …)`.
    pub(super) fn paren_list<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(Kind::OpenParen)?;
        let all = self.comma_list(item)?;
        self.expect(Kind::CloseParen)?;
        Ok(all)
    }

    // Text.

    pub(super) fn bytes(&self, token: Token) -> &'a [u8] {
        self.slice(token.start, token.end)
    }

    fn slice(&self, start: u32, end: u32) -> &'a [u8] {
        let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        self.sql.get(range).unwrap_or_default()
    }

    /// The text from `start` to the end of the token before this place.
    pub(super) fn text_since(&self, start: u32) -> &'a [u8] {
        let before = self.at.checked_sub(1).and_then(|idx| self.tokens.get(idx));
        self.slice(start, before.map_or(start, |token| token.end))
    }

    /// Where the token here begins.
    pub(super) fn start_offset(&self) -> usize {
        usize::try_from(self.token().start).unwrap_or(usize::MAX)
    }

    // Names.

    /// Whether a name may begin here.
    pub(super) fn is_name(&self) -> bool {
        self.is_name_ahead(0)
    }

    pub(super) fn is_name_ahead(&self, ahead: usize) -> bool {
        match self.kind_ahead(ahead) {
            Kind::Name | Kind::Quoted | Kind::Introducer => true,
            Kind::Word(word) => !word.is_reserved(),
            _ => false,
        }
    }

    /// A name: quoted, or no reserved word.
    pub(super) fn name(&mut self) -> Result<String> {
        if self.is_name() {
            self.any_name()
        } else {
            Err(self.syntax_error())
        }
    }

    /// A name where reserved words are names too: after a point.
    pub(super) fn any_name(&mut self) -> Result<String> {
        let token = self.token();
        let bytes = self.bytes(token);
        let name = match token.kind {
            Kind::Name | Kind::Introducer | Kind::Word(_) => bytes.to_vec(),
            Kind::Quoted => literal::unquoted_name(bytes),
            _ => return Err(self.syntax_error()),
        };
        let name = literal::utf8(name)?;
        if name.contains('\0') || (name.is_empty() && token.kind != Kind::Quoted) {
            return Err(self.syntax_error());
        }
        self.bump();
        Ok(name)
    }

    /// An alias: a name or, as MySQL allows, a text literal.
    pub(super) fn alias(&mut self) -> Result<String> {
        if self.is(Kind::Text) {
            self.text()
        } else {
            self.name()
        }
    }

    /// `[database.]table`.
    pub(super) fn table_name(&mut self) -> Result<TableName> {
        if self.eat(Kind::Dot) {
            let name = self.any_name()?;
            return Ok(TableName {
                database: None,
                name,
            });
        }
        let first = self.name()?;
        if !self.eat(Kind::Dot) {
            return Ok(TableName {
                database: None,
                name: first,
            });
        }
        Ok(TableName {
            database: Some(first),
            name: self.any_name()?,
        })
    }

    /// `(name, …)`.
    pub(super) fn name_list(&mut self) -> Result<Vec<String>> {
        self.paren_list(Parser::name)
    }

    /// `(name, …)`, or none when no parenthesis follows.
    pub(super) fn optional_name_list(&mut self) -> Result<Vec<String>> {
        if self.is(Kind::OpenParen) {
            self.name_list()
        } else {
            Ok(Vec::new())
        }
    }

    /// `'text'`.
    pub(super) fn text(&mut self) -> Result<String> {
        let token = self.expect(Kind::Text)?;
        literal::utf8(literal::unescaped(self.bytes(token), self.mode))
    }

    /// A name or a text literal.
    pub(super) fn name_or_text(&mut self) -> Result<String> {
        if self.is(Kind::Text) {
            self.text()
        } else {
            self.name()
        }
    }

    /// A charset's or collation's name, lower case; `BINARY` is a word.
    pub(super) fn charset_name(&mut self) -> Result<String> {
        let name = if self.is_word(Word::BINARY) {
            self.any_name()?
        } else {
            self.name_or_text()?
        };
        Ok(name.to_ascii_lowercase())
    }

    /// `@name`, lower case.
    pub(super) fn user_variable(&mut self) -> Result<String> {
        let token = self.expect(Kind::UserVariable)?;
        let name = self.bytes(token).get(1..).unwrap_or_default();
        let name = match name.first() {
            Some(b'`') => literal::unquoted_name(name),
            Some(b'\'' | b'"') => literal::unescaped(name, self.mode),
            _ => name.to_vec(),
        };
        Ok(literal::utf8(name)?.to_lowercase())
    }

    /// A whole number that fits.
    pub(super) fn whole_number<T: TryFrom<u64>>(&mut self) -> Result<T> {
        let token = self.token();
        let number = std::str::from_utf8(self.bytes(token))
            .ok()
            .and_then(|text| text.parse().ok());
        match number
            .filter(|_| token.kind == Kind::Int)
            .and_then(|n: u64| T::try_from(n).ok())
        {
            Some(number) => {
                self.bump();
                Ok(number)
            }
            None => Err(self.syntax_error()),
        }
    }

    /// `?`: its position.
    pub(super) fn parameter(&mut self) -> Result<usize> {
        self.expect(Kind::Parameter)?;
        let position = self.parameters_count;
        if PARAMETERS_MAX <= position {
            return Err(Error::new(
                Code::TooManyPlaceholders,
                "Prepared statement contains too many placeholders",
            ));
        }
        self.parameters_count += 1;
        Ok(position)
    }

    pub(super) fn parameters_count(&self) -> usize {
        self.parameters_count
    }

    // Limits.

    /// Runs a rule that may contain itself.
    pub(super) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if NESTING_MAX <= self.nesting {
            return Err(Error::new(
                Code::TooDeep,
                format!("expression or query nests deeper than {NESTING_MAX} levels, the most"),
            ));
        }
        self.nesting += 1;
        let result = rule(self);
        self.nesting -= 1;
        result
    }

    /// The height of the expression parsed last.
    pub(super) fn height(&self) -> u32 {
        self.height
    }

    pub(super) fn set_height(&mut self, height: u32) -> Result<()> {
        if HEIGHT_MAX < height {
            return Err(Error::new(
                Code::TooDeep,
                format!("expression has more than {HEIGHT_MAX} operators in a chain, the most"),
            ));
        }
        self.height = height;
        self.tallest = self.tallest.max(height);
        Ok(())
    }

    /// Counts one more level above all that the query being parsed has so far.
    pub(super) fn raise(&mut self) -> Result<()> {
        self.set_height(self.tallest + 1)
    }

    /// Runs the rule of a query: afterwards the height is one more than that of anything in it.
    pub(super) fn scoped<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::take(&mut self.tallest);
        let result = self.nested(rule)?;
        let height = self.tallest + 1;
        self.tallest = outer;
        self.set_height(height)?;
        Ok(result)
    }

    // Errors.

    /// MySQL's error 1064 at the token here.
    pub(super) fn syntax_error(&self) -> Error {
        self.syntax_error_at(self.token())
    }

    pub(super) fn syntax_error_at(&self, token: Token) -> Error {
        let start = usize::try_from(token.start).unwrap_or(0);
        let (before, rest) = self.sql.split_at_checked(start).unwrap_or((self.sql, &[]));
        let line = before.split(|byte| *byte == b'\n').count();
        let near = String::from_utf8_lossy(rest.get(..NEAR_BYTES_MAX).unwrap_or(rest));
        super::syntax_error(near.trim_end_matches(char::REPLACEMENT_CHARACTER), line)
    }
}
