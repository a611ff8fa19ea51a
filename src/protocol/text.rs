//! The text of a statement, out of the bytes that a client sent.
//!
//! Statements are UTF-8. Yet several drivers (PyMySQL, mysqlclient, PHP, mariadb-dump) put
//! binary parameters into the text as they are: `_binary'…'` around any bytes. Such literals are
//! rewritten as `X'…'`, which says the same in ASCII. Statements that are UTF-8 are not touched.

use std::borrow::Cow;

use crate::error::{Code, Error, Result};

/// How much of a wrong text an error shows.
const SHOWN_BYTES_MAX: usize = 6;

/// The statement as text.
///
/// # Errors
/// 1300 when bytes outside of string literals are not UTF-8.
pub fn statement_text(bytes: &[u8], backslash_escapes: bool) -> Result<Cow<'_, str>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    let rewritten = Rewriter {
        rest: bytes,
        out: Vec::with_capacity(bytes.len() * 2),
        backslash_escapes,
    }
    .run();
    String::from_utf8(rewritten)
        .map(Cow::Owned)
        .map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let wrong = error.as_bytes().get(at..).unwrap_or(&[]);
            let wrong = wrong.get(..SHOWN_BYTES_MAX).unwrap_or(wrong);
            let shown = wrong.escape_ascii();
            let message = format!("Invalid utf8mb4 character string: '{shown}'");
            Error::new(Code::InvalidCharacterString, message)
        })
}

struct Rewriter<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    backslash_escapes: bool,
}

impl<'a> Rewriter<'a> {
    fn run(mut self) -> Vec<u8> {
        while let Some(&byte) = self.rest.first() {
            match byte {
                b'\'' | b'"' => self.literal(byte),
                b'`' => self.copy_until(b"`"),
                b'#' => self.copy_until(b"\n"),
                b'-' if self.rest.starts_with(b"-- ") => self.copy_until(b"\n"),
                b'/' if self.rest.starts_with(b"/*") => self.copy_until(b"*/"),
                _ => self.copy(1),
            }
        }
        self.out
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    fn copy(&mut self, count: usize) {
        let taken = self.take(count);
        self.out.extend_from_slice(taken);
    }

    /// Copies the opening byte and everything up to and with `end`.
    fn copy_until(&mut self, end: &[u8]) {
        self.copy(1);
        let at = self
            .rest
            .windows(end.len())
            .position(|window| window == end);
        self.copy(at.map_or(self.rest.len(), |at| at + end.len()));
    }

    fn literal(&mut self, quote: u8) {
        let (source, content) = self.scan_literal(quote);
        if std::str::from_utf8(source).is_ok() {
            self.out.extend_from_slice(source);
            return;
        }
        self.drop_introducer();
        self.out.extend_from_slice(b"X'");
        for byte in content {
            for digit in [byte >> 4, byte & 15] {
                let base = if digit < 10 { b'0' } else { b'A' - 10 };
                self.out.push(base + digit);
            }
        }
        self.out.push(b'\'');
    }

    /// The literal as written with its quotes, and what it means.
    fn scan_literal(&mut self, quote: u8) -> (&'a [u8], Vec<u8>) {
        let whole = self.rest;
        let mut content = Vec::new();
        self.take(1);
        while let [byte, ..] = *self.take(1) {
            let next = self.rest.first().copied();
            if byte == quote {
                if next != Some(quote) {
                    break;
                }
                self.take(1);
                content.push(quote);
            } else if byte == b'\\' && self.backslash_escapes {
                self.take(1);
                unescape(&mut content, next);
            } else {
                content.push(byte);
            }
        }
        let source_bytes = whole.len() - self.rest.len();
        (whole.get(..source_bytes).unwrap_or(whole), content)
    }

    /// Takes a `_binary` or `_utf8mb4` that was copied just before the literal away again.
    fn drop_introducer(&mut self) {
        let trimmed = self.out.trim_ascii_end();
        for introducer in [&b"_binary"[..], b"_utf8mb4", b"_utf8"] {
            let Some(at) = trimmed.len().checked_sub(introducer.len()) else {
                continue;
            };
            let (before, word) = trimmed.split_at_checked(at).unwrap_or((trimmed, &[]));
            let is_word = before.last().is_none_or(|byte| !is_word_byte(*byte));
            if is_word && word.eq_ignore_ascii_case(introducer) {
                self.out.truncate(at);
                return;
            }
        }
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || 128 <= byte
}

/// What a backslash and a character mean. Source: MySQL manual, "String Literals".
fn unescape(content: &mut Vec<u8>, escaped: Option<u8>) {
    match escaped {
        Some(b'0') => content.push(0),
        Some(b'b') => content.push(8),
        Some(b'n') => content.push(b'\n'),
        Some(b'r') => content.push(b'\r'),
        Some(b't') => content.push(b'\t'),
        Some(b'Z') => content.push(26),
        Some(wildcard @ (b'%' | b'_')) => content.extend_from_slice(&[b'\\', wildcard]),
        Some(other) => content.push(other),
        None => {}
    }
}
