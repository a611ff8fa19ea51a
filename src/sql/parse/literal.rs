//! What the bytes of a literal mean.

use super::cursor::Parser;
use super::token::{Kind, Token};
use crate::error::{Code, Error, Result};
use crate::sql::ast::Literal;
use crate::sql::context::Mode;

impl Parser<'_> {
    /// A constant, if one begins here.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>> {
        let token = self.token();
        let bytes = self.bytes(token);
        let literal = match token.kind {
            Kind::Text | Kind::NationalText => return Ok(Some(self.texts())),
            Kind::Int => whole(&ascii(bytes)),
            Kind::Decimal => decimal(&ascii(bytes)),
            Kind::Double => double(&ascii(bytes))?,
            Kind::Hex => Literal::Bytes(hex(bytes)),
            Kind::Bit => Literal::Bytes(bits(bytes)),
            Kind::Introducer => return self.introduced(),
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(literal))
    }

    /// A text, or its bytes as a number writes them (`text_string` in MySQL's grammar).
    pub(super) fn text_string(&mut self) -> Result<String> {
        if !matches!(self.token().kind, Kind::Hex | Kind::Bit) {
            return self.text();
        }
        match self.literal()? {
            Some(Literal::Bytes(bytes)) => utf8(bytes),
            Some(_) | None => Err(self.syntax_error()),
        }
    }

    /// `'a' 'b'`: one text.
    fn texts(&mut self) -> Literal {
        let token = self.bump();
        let mut text = self.text_bytes(token);
        while self.is(Kind::Text) {
            let token = self.bump();
            text.extend(self.text_bytes(token));
        }
        // What is not UTF-8 is kept for binary columns; a text column refuses it when written.
        match String::from_utf8(text) {
            Ok(text) => Literal::Text(text),
            Err(error) => Literal::Bytes(error.into_bytes()),
        }
    }

    /// What a token that is a text says.
    pub(super) fn text_bytes(&self, token: Token) -> Vec<u8> {
        let bytes = self.bytes(token);
        let skipped = usize::from(token.kind == Kind::NationalText);
        unescaped(bytes.get(skipped..).unwrap_or_default(), self.mode)
    }

    /// `_charset literal`; not a literal when the name is that of no charset: a column.
    fn introduced(&mut self) -> Result<Option<Literal>> {
        let introducer = self.token();
        let charset = ascii(self.bytes(introducer)).to_ascii_lowercase();
        let is_binary = charset == "_binary";
        if !is_binary && !INTRODUCERS.contains(&charset.as_str()) {
            return Ok(None);
        }
        self.bump();
        let literal = match self.literal()? {
            Some(Literal::Text(text)) => text.into_bytes(),
            Some(Literal::Bytes(bytes)) => bytes,
            _ => return Err(self.syntax_error()),
        };
        if is_binary {
            return Ok(Some(Literal::Bytes(literal)));
        }
        if matches!(charset.as_str(), "_latin1" | "_ascii") && !literal.is_ascii() {
            return Err(Error::new(
                Code::UnknownCharset,
                format!(
                    "{charset} before a text beyond ASCII: the only character set here is utf8mb4"
                ),
            ));
        }
        Ok(Some(Literal::Text(utf8(literal)?)))
    }
}

/// Introducers besides `_binary`. Single-byte ones are taken as long as they say ASCII.
const INTRODUCERS: &[&str] = &["_utf8mb4", "_utf8", "_utf8mb3", "_latin1", "_ascii"];

/// Text of a token that can only be ASCII.
fn ascii(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn whole(digits: &str) -> Literal {
    match digits.parse() {
        Ok(number) => Literal::Int(number),
        Err(_) => decimal(digits),
    }
}

/// Digits without needless zeroes in front, always one before the point.
fn decimal(digits: &str) -> Literal {
    let digits = digits.trim_start_matches('0').trim_end_matches('.');
    let zero = if digits.is_empty() || digits.starts_with('.') {
        "0"
    } else {
        ""
    };
    Literal::Decimal(format!("{zero}{digits}"))
}

fn double(text: &str) -> Result<Literal> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Literal::Double(number)),
        _ => Err(Error::new(
            Code::IllegalDouble,
            format!("Illegal double '{text}' value found during parsing"),
        )),
    }
}

/// `0x4` and `x'41'`: an odd digit stands alone in front.
pub(super) fn hex(bytes: &[u8]) -> Vec<u8> {
    grouped(bytes, |byte| byte.is_ascii_hexdigit(), 2, 16)
}

/// `0b1` and `b'1'`.
fn bits(bytes: &[u8]) -> Vec<u8> {
    grouped(bytes, |byte| matches!(byte, b'0' | b'1'), 8, 2)
}

/// The bytes that the digits of a literal make, `size` of them to a byte, aligned at the end.
fn grouped(bytes: &[u8], is_digit: impl Fn(u8) -> bool, size: usize, radix: u32) -> Vec<u8> {
    let body = bytes.get(2..).unwrap_or_default();
    let digits: Vec<u8> = body
        .iter()
        .copied()
        .filter(|byte| is_digit(*byte))
        .collect();
    let value = |group: &[u8]| {
        let digits = group
            .iter()
            .filter_map(|digit| char::from(*digit).to_digit(radix));
        let number = digits.fold(0, |sum, digit| sum * radix + digit);
        u8::try_from(number).unwrap_or(u8::MAX)
    };
    let mut result: Vec<u8> = digits.rchunks(size).map(value).collect();
    result.reverse();
    result
}

/// The text between quotes, escapes resolved.
pub(super) fn unescaped(bytes: &[u8], mode: Mode) -> Vec<u8> {
    let (quote, inside) = body(bytes);
    let escapes = !mode.no_backslash_escapes;
    if !inside
        .iter()
        .any(|byte| *byte == quote || (*byte == b'\\' && escapes))
    {
        return inside.to_vec();
    }
    let mut text = Vec::with_capacity(inside.len());
    let mut rest = inside.iter().copied();
    while let Some(byte) = rest.next() {
        if byte == b'\\' && escapes {
            match rest.next() {
                Some(behind) => unescape(behind, &mut text),
                None => text.push(byte),
            }
        } else {
            text.push(byte);
            if byte == quote {
                rest.next();
            }
        }
    }
    text
}

/// The character behind a backslash. `\%` and `\_` stay as they are, for LIKE.
fn unescape(byte: u8, text: &mut Vec<u8>) {
    match byte {
        b'0' => text.push(0),
        b'b' => text.push(0x08),
        b'n' => text.push(b'\n'),
        b'r' => text.push(b'\r'),
        b't' => text.push(b'\t'),
        b'Z' => text.push(0x1a),
        b'%' | b'_' => text.extend([b'\\', byte]),
        other => text.push(other),
    }
}

/// A quoted name: only doubled quotes are special.
pub(super) fn unquoted_name(bytes: &[u8]) -> Vec<u8> {
    let (quote, body) = body(bytes);
    let mut name = Vec::with_capacity(body.len());
    let mut rest = body.iter().copied();
    while let Some(byte) = rest.next() {
        name.push(byte);
        if byte == quote {
            rest.next();
        }
    }
    name
}

/// The quote, and what is between the quotes.
fn body(bytes: &[u8]) -> (u8, &[u8]) {
    match bytes {
        [quote, body @ .., _] => (*quote, body),
        _ => (b'\'', &[]),
    }
}

/// # Errors
/// 1300 for bytes that are not UTF-8.
pub(super) fn utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let bad = error.as_bytes().iter().skip(start).take(6);
        let bad = bad.fold(String::new(), |text, byte| text + &format!("{byte:02X}"));
        Error::new(
            Code::InvalidCharacterString,
            format!("Invalid utf8mb4 character string: '{bad}'"),
        )
    })
}
