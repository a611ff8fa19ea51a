//! `LIKE`: `%` is any run of characters, `_` any one, the escape character takes the next as it is.
//!
//! No allocation and no recursion: on a mismatch only the last `%` takes one character more, so
//! the cost is at most text × pattern. That can be hours for long ones, so the caller is asked every
//! [`STEPS_MAX`] steps whether to go on.

use crate::error::Result;

/// Steps between two questions: some microseconds.
const STEPS_MAX: u32 = 4096;

/// Whether the text matches the pattern, character by character.
///
/// # Errors
/// That of `go_on`.
pub(crate) fn is_like(
    text: &str,
    pattern: &str,
    escape: Option<char>,
    go_on: impl Fn() -> Result<()>,
) -> Result<bool> {
    let rule = Rule {
        escape,
        step: char_bytes,
    };
    rule.matches(text.as_bytes(), pattern.as_bytes(), go_on)
}

/// Whether the bytes match the pattern, byte by byte.
///
/// # Errors
/// That of `go_on`.
pub(crate) fn is_like_bytes(
    bytes: &[u8],
    pattern: &[u8],
    escape: Option<char>,
    go_on: impl Fn() -> Result<()>,
) -> Result<bool> {
    let rule = Rule {
        escape,
        step: |_| 1,
    };
    rule.matches(bytes, pattern, go_on)
}

struct Rule {
    escape: Option<char>,
    /// Bytes of the character that begins with this byte.
    step: fn(u8) -> usize,
}

/// What a pattern begins with.
enum Item<'p> {
    End,
    Any,
    One(&'p [u8]),
    /// Exactly these bytes, and what follows them.
    Exactly(&'p [u8], &'p [u8]),
}

impl Rule {
    fn matches(&self, text: &[u8], pattern: &[u8], go_on: impl Fn() -> Result<()>) -> Result<bool> {
        let (mut text, mut pattern) = (text, pattern);
        // After the last `%`: where the text was tried, and the pattern behind the `%`.
        let mut retry: Option<(&[u8], &[u8])> = None;
        let mut steps = 0;
        loop {
            steps += 1;
            if steps == STEPS_MAX {
                steps = 0;
                go_on()?;
            }
            let advanced = match self.item(pattern) {
                Item::End if text.is_empty() => return Ok(true),
                Item::End => None,
                Item::Any => {
                    let rest = pattern.get(1..).unwrap_or_default();
                    if rest.is_empty() {
                        return Ok(true);
                    }
                    retry = Some((text, rest));
                    Some((text, rest))
                }
                Item::One(rest) => self.skip_one(text).map(|after| (after, rest)),
                Item::Exactly(wanted, rest) => text.strip_prefix(wanted).map(|after| (after, rest)),
            };
            (text, pattern) = match (advanced, retry) {
                (Some(next), _) => next,
                (None, Some((tried, rest))) => {
                    let Some(after) = self.skip_one(tried) else {
                        return Ok(false);
                    };
                    retry = Some((after, rest));
                    (after, rest)
                }
                (None, None) => return Ok(false),
            };
        }
    }

    fn skip_one<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let step = (self.step)(*text.first()?);
        Some(text.get(step..).unwrap_or_default())
    }

    fn item<'p>(&self, pattern: &'p [u8]) -> Item<'p> {
        let Some(&first) = pattern.first() else {
            return Item::End;
        };
        if let Some(rest) = self.after_escape(pattern) {
            // An escape at the end stands for itself.
            let escaped = rest.first().map_or(pattern, |_| rest);
            return self.exactly(escaped);
        }
        match first {
            b'%' => Item::Any,
            b'_' => Item::One(pattern.get(1..).unwrap_or_default()),
            _ => self.exactly(pattern),
        }
    }

    fn after_escape<'p>(&self, pattern: &'p [u8]) -> Option<&'p [u8]> {
        let mut buffer = [0; 4];
        let escape = self.escape?.encode_utf8(&mut buffer);
        pattern.strip_prefix(escape.as_bytes())
    }

    fn exactly<'p>(&self, pattern: &'p [u8]) -> Item<'p> {
        let len = pattern
            .first()
            .map_or(0, |&first| (self.step)(first))
            .min(pattern.len());
        let (wanted, rest) = pattern.split_at(len);
        Item::Exactly(wanted, rest)
    }
}

/// Bytes of the UTF-8 character that begins with `first`.
fn char_bytes(first: u8) -> usize {
    match first {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}
