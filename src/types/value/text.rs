//! How values are shown: the text protocol, string functions and casts to text.
//!
//! Hot: runs per cell of a text result. No allocation for numbers and calendar values.

use std::borrow::Cow;
use std::io::Write;

use super::Value;
use crate::types::Zone;

impl Value<'_> {
    /// The text as MySQL shows it; `NULL` for null. A binary string that is not UTF-8 gets
    /// replacement characters here, and none in [`Value::write_text`]. TIMESTAMP in UTC: see
    /// [`Value::write_text_in`].
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Value::Text(text) | Value::Json(text) => Cow::Borrowed(text),
            Value::Enum(member) => Cow::Borrowed(&member.label),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
            Value::Null
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::Datetime(_)
            | Value::Timestamp(_)
            | Value::Year(_) => {
                let mut out = Vec::new();
                self.write_text(&mut out);
                Cow::Owned(String::from_utf8_lossy(&out).into_owned())
            }
        }
    }

    /// Appends the text as MySQL shows it; `NULL` for null; TIMESTAMP in UTC.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        self.write_text_in(&Zone::UTC, out);
    }

    /// Appends the text as MySQL shows it to a session in this zone.
    pub fn write_text_in(&self, zone: &Zone, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Int(number) => write_i64(*number, out),
            Value::UInt(number) => write_u64(*number, out),
            Value::Float(number) => write_f32(*number, out),
            Value::Double(number) => write_f64(*number, out),
            Value::Decimal(number) => shown(number, out),
            Value::Text(text) | Value::Json(text) => out.extend_from_slice(text.as_bytes()),
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
            Value::Date(date) => shown(date, out),
            Value::Time(time) => shown(time, out),
            Value::Datetime(datetime) => shown(datetime, out),
            Value::Timestamp(at) => shown(&zone.to_datetime(*at), out),
            Value::Year(year) => {
                let width = 4;
                shown(&format_args!("{year:0width$}"), out);
            }
            Value::Enum(member) => out.extend_from_slice(member.label.as_bytes()),
        }
    }
}

/// Writing to a vector does not fail.
fn shown(what: &impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{what}");
}

/// Appends a whole number.
pub fn write_i64(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    write_u64(number.unsigned_abs(), out);
}

/// Appends a whole number.
pub fn write_u64(number: u64, out: &mut Vec<u8>) {
    /// Digits of `u64::MAX`.
    const DIGITS_MAX: usize = 20;
    let mut digits = [0u8; DIGITS_MAX];
    let mut left = number;
    let mut used = 0;
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
        used += 1;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(DIGITS_MAX - used..).unwrap_or_default());
}

/// Appends a double as MySQL shows it: the shortest text that reads as the same number.
pub fn write_f64(number: f64, out: &mut Vec<u8>) {
    write_double(&format_args!("{number:e}"), out);
}

/// Appends a double with so many digits after the point: zeros where the shortest text that reads as
/// the same number has fewer. So does MariaDB, whose `dtoa.c` is MySQL's; the manual still shows
/// the exact digits that older versions gave (`PI()+0.000000000000000000`).
pub fn write_fixed_f64(number: f64, digits: u8, out: &mut Vec<u8>) {
    let digits = usize::from(digits);
    // Zero has no sign.
    let number = if number == 0.0 { 0.0 } else { number };
    let start = out.len();
    let _ = write!(out, "{number}");
    let text = out.get(start..).unwrap_or_default();
    let point = text.iter().position(|byte| *byte == b'.');
    let shown = point.map_or(0, |point| text.len() - point - 1);
    if digits < shown {
        out.truncate(start);
        let _ = write!(out, "{number:.digits$}");
    } else if shown < digits {
        if point.is_none() {
            out.push(b'.');
        }
        out.resize(out.len() + digits - shown, b'0');
    }
}

/// Appends a float as MySQL shows it: with 6 significant digits.
pub fn write_f32(number: f32, out: &mut Vec<u8>) {
    // The digit before the point is the sixth.
    write_double(&format_args!("{number:.5e}"), out);
}

/// Lays out a number in scientific notation MySQL's way: plain while the point stands within 15
/// places of the first digit or inside the digits, `1e20` and `1.5e-20` beyond.
fn write_double(scientific: &std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    /// MySQL's `MAX_DECPT_FOR_F_FORMAT`.
    const PLAIN_MAX: i32 = 15;
    /// Bytes of the longest double in scientific notation, and some.
    const TEXT_MAX: usize = 40;
    let mut text = [0u8; TEXT_MAX];
    let mut rest = text.as_mut_slice();
    let _ = write!(rest, "{scientific}");
    let used = TEXT_MAX - rest.len();
    let text = text.get(..used).unwrap_or_default();
    let Some(e) = text.iter().position(|&b| b == b'e') else {
        // Not a finite number: SQL has none.
        return out.extend_from_slice(text);
    };
    let (mantissa, exponent) = text.split_at(e);
    let exponent = std::str::from_utf8(exponent)
        .ok()
        .and_then(|e| e.get(1..)?.parse().ok());
    let exponent: i32 = exponent.unwrap_or(0);
    let mut digits = [0u8; TEXT_MAX];
    let mut len = 0;
    let only_digits = mantissa.iter().filter(|b| b.is_ascii_digit());
    for (slot, &digit) in digits.iter_mut().zip(only_digits) {
        *slot = digit;
        len += 1;
    }
    let digits = digits.get(..len).unwrap_or_default();
    let significant = digits
        .iter()
        .rposition(|&b| b != b'0')
        .map_or(1, |last| last + 1);
    let digits = digits.get(..significant).unwrap_or_default();
    if mantissa.first() == Some(&b'-') {
        out.push(b'-');
    }
    let point = exponent + 1;
    let count = i32::try_from(significant).unwrap_or(i32::MAX);
    if -PLAIN_MAX < point && (point <= PLAIN_MAX || point < count) {
        write_plain(digits, point, out);
    } else {
        let (first, fraction) = digits.split_at(1);
        out.extend_from_slice(first);
        if !fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        out.push(b'e');
        write_i64(i64::from(exponent), out);
    }
}

/// Digits with the point after the first `point` of them, zeros where there are none.
fn write_plain(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    let zeros = |count: usize| std::iter::repeat_n(b'0', count);
    match usize::try_from(point) {
        Ok(point) if point != 0 => {
            let (whole, fraction) = digits.split_at(point.min(digits.len()));
            out.extend_from_slice(whole);
            out.extend(zeros(point.saturating_sub(digits.len())));
            if !fraction.is_empty() {
                out.push(b'.');
                out.extend_from_slice(fraction);
            }
        }
        Ok(_) | Err(_) => {
            out.extend_from_slice(b"0.");
            out.extend(zeros(usize::try_from(point.unsigned_abs()).unwrap_or(0)));
            out.extend_from_slice(digits);
        }
    }
}
