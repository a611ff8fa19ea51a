//! The text of a [`Decimal`], read and written.

use std::fmt;

use super::{COEFFICIENT_MAX, Decimal, SCALE_MAX, Wide, power};

/// Exponents beyond this are read as this: the result is zero or an overflow either way.
const EXPONENT_MAX: i64 = 1_000_000;

impl Decimal {
    /// Reads a whole text: sign, digits, point, digits, exponent. Digits past the 30th after the
    /// point are rounded; `None` when the text is anything else or the number has too many digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        match Decimal::parse_prefix(text) {
            (Some(number), "") => Some(number),
            (Some(_) | None, _) => None,
        }
    }

    /// As [`Decimal::parse`], for a text without exponent; white space about it is passed over.
    pub fn parse_plain(text: &str) -> Option<Decimal> {
        let text = text.trim_ascii();
        let is_plain = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.'));
        is_plain.then(|| Decimal::parse(text)).flatten()
    }

    /// Reads a number from the beginning of a text and hands back what follows it. `None` with a
    /// rest shorter than the text is a number that is too large; with the whole text, no number.
    pub fn parse_prefix(text: &str) -> (Option<Decimal>, &str) {
        let (is_negative, body) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or("")),
            Some(b'+') => (false, text.get(1..).unwrap_or("")),
            Some(_) | None => (false, text),
        };
        let (whole, rest) = split_digits(body);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return (None, text);
        }
        let (exponent, rest) = split_exponent(rest);
        (number(is_negative, whole, fraction, exponent), rest)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(len)
}

/// `e`, sign, digits; zero when that is not what follows.
fn split_exponent(text: &str) -> (i64, &str) {
    let Some(after) = text.strip_prefix(['e', 'E']) else {
        return (0, text);
    };
    let (is_negative, after) = match after.strip_prefix('-') {
        Some(after) => (true, after),
        None => (false, after.strip_prefix('+').unwrap_or(after)),
    };
    let (digits, rest) = split_digits(after);
    if digits.is_empty() {
        return (0, text);
    }
    let size = digits.parse().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    (if is_negative { -size } else { size }, rest)
}

/// `whole.fraction × 10^exponent`, rounded half away from zero to at most 30 digits after the
/// point and 38 in all.
fn number(is_negative: bool, whole: &str, fraction: &str, exponent: i64) -> Option<Decimal> {
    let mut magnitude: u128 = 0;
    let mut digits = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|b| u128::from(b - b'0'));
    while magnitude <= COEFFICIENT_MAX / 10 {
        let Some(digit) = digits.next() else { break };
        magnitude = magnitude * 10 + digit;
    }
    // One digit more than can be held is taken: it decides the rounding.
    let mut wide = Wide::new(magnitude);
    if let Some(digit) = digits.next() {
        wide = wide.scaled_up(1)?.add(Wide::new(digit))?;
    }
    let left = i64::try_from(digits.count()).ok()?;
    let scale = i64::try_from(fraction.len()).ok()?.saturating_sub(exponent) - left;
    if magnitude == 0 {
        let scale = u8::try_from(scale.max(0))
            .unwrap_or(SCALE_MAX)
            .min(SCALE_MAX);
        return Decimal::new(0, scale);
    }
    if scale < 0 {
        let zeros = u32::try_from(-scale).ok().filter(|&zeros| zeros <= 38)?;
        return Decimal::from_wide(is_negative, wide.scaled_up(zeros)?, 0);
    }
    match u32::try_from(scale) {
        Ok(scale) if scale <= 100 => Decimal::from_wide(is_negative, wide, scale),
        Ok(_) | Err(_) => Decimal::new(0, SCALE_MAX),
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.coefficient.unsigned_abs();
        let sign = if self.is_negative() { "-" } else { "" };
        if self.scale == 0 {
            return write!(f, "{sign}{magnitude}");
        }
        let unit = power(self.scale).unsigned_abs();
        let (whole, fraction) = (magnitude / unit, magnitude % unit);
        let width = usize::from(self.scale);
        write!(f, "{sign}{whole}.{fraction:0width$}")
    }
}
