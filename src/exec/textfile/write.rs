//! Lays a row out as a line.
//!
//! ```text
//!  value                 by default            FIELDS TERMINATED BY ',' ENCLOSED BY '"'
//!  NULL                  \N                    \N
//!  a\tb"c                a\\tb"c, tab escaped  "a\tb\"c", tab as it is
//!  1                     1                     "1"; bare with OPTIONALLY
//! ```

use crate::sql::ast::FileFormat;

/// Bytes that mean something else behind an escape: a text with one of them as its quote doubles it.
const ESCAPED_MEANINGS: &[u8] = b"ntrb0ZN";

/// One value of a row.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// Its text; `None` for NULL.
    pub text: Option<&'a [u8]>,
    /// Whether it is no number.
    pub is_text: bool,
}

/// Appends a line.
pub fn put_line<'a>(
    out: &mut Vec<u8>,
    format: &FileFormat,
    fields: impl IntoIterator<Item = Field<'a>>,
) {
    out.extend_from_slice(&format.lines_start);
    for (idx, field) in fields.into_iter().enumerate() {
        if 0 < idx {
            out.extend_from_slice(&format.fields_end);
        }
        put_field(out, format, field);
    }
    out.extend_from_slice(format.line_end());
}

fn put_field(out: &mut Vec<u8>, format: &FileFormat, field: Field<'_>) {
    let Some(text) = field.text else {
        match format.escaped_by {
            Some(escape) => out.extend_from_slice(&[escape, b'N']),
            None => out.extend_from_slice(b"NULL"),
        }
        return;
    };
    let encloses = field.is_text || !format.optionally;
    let quote = format.enclosed_by.filter(|_| encloses);
    out.extend(quote);
    match format.escaped_by {
        Some(escape) => put_escaped(out, (format, quote, escape), text),
        None => out.extend_from_slice(text),
    }
    out.extend(quote);
}

fn put_escaped(
    out: &mut Vec<u8>,
    (format, quote, escape): (&FileFormat, Option<u8>, u8),
    text: &[u8],
) {
    let line_end = format.line_end().first().copied();
    // What ends fields is an ordinary byte between quotes.
    let field_end = match quote {
        Some(_) => None,
        None => format.fields_end.first().copied(),
    };
    for byte in text.iter().copied() {
        let mark = Some(byte);
        if byte == 0 {
            out.extend_from_slice(&[escape, b'0']);
            continue;
        }
        if mark == quote && ESCAPED_MEANINGS.contains(&byte) {
            out.push(byte);
        } else if byte == escape || mark == quote || mark == field_end || mark == line_end {
            out.push(escape);
        }
        out.push(byte);
    }
}
