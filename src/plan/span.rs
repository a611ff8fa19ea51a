//! A range of keys: everything between two cuts; and its text, the same wherever it is shown.
//!
//! ```text
//!   [/'alipay'/'a0001']               the keys that begin with these values (or are them)
//!   [/'alipay'/'a1' - /'alipay'/'a3'] from the first key that begins so to the last that does
//!   (/'alipay'/'a1' - /'alipay']      behind all keys that begin with 'alipay', 'a1'
//!   [/'alipay'/'a1' - /'alipay'/'a3') up to the first key that begins with 'alipay', 'a3'
//!   [/5 - ]   [ - /5)   [ - ]         no bound on one side, or on either
//! ```
//! Values stand in key order: on a DESC part the greater value comes first. Texts, dates and times
//! are in quotes, numbers are not.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::cut::{Cut, KeyParts};
use super::values;
use crate::error::{Error, Result};
use crate::kv::KeyRange;
use crate::types::Value;
use crate::types::temporal::Zone;

/// A range of keys that is not empty by construction.
#[derive(Debug, Clone)]
pub struct Span {
    start: Cut,
    until: Cut,
}

impl Span {
    /// `None` when nothing lies between the cuts; so every `Span` holds some position.
    pub fn between(start: Cut, until: Cut, key: KeyParts<'_>) -> Option<Span> {
        (start.compare(&until, key) == Ordering::Less).then_some(Span { start, until })
    }

    /// The keys that begin with these values.
    pub fn of_prefix(prefix: Vec<Value<'static>>) -> Span {
        Span {
            start: Cut::Before(prefix.clone()),
            until: Cut::After(prefix),
        }
    }

    /// Every key.
    pub fn all() -> Span {
        Span::of_prefix(Vec::new())
    }

    /// Where it begins.
    pub fn start(&self) -> &Cut {
        &self.start
    }

    /// Where it ends.
    pub fn until(&self) -> &Cut {
        &self.until
    }

    /// Whether it is every key.
    pub fn is_all(&self) -> bool {
        let (start, until) = (&self.start, &self.until);
        start.values().is_empty() && until.values().is_empty()
    }

    /// The values that every key in it begins with.
    pub fn common_prefix(&self) -> &[Value<'static>] {
        let (start, until) = (self.start.values(), self.until.values());
        let count = shared_count(start, until);
        start.get(..count).unwrap_or(start)
    }

    /// Whether it is the keys that begin with one list of values, and that list.
    pub fn point(&self) -> Option<&[Value<'static>]> {
        let (start, until) = (self.start.values(), self.until.values());
        let is_point = !self.start.is_after()
            && self.until.is_after()
            && start.len() == until.len()
            && shared_count(start, until) == start.len();
        is_point.then_some(start)
    }

    /// What lies in both; `None` when nothing does.
    pub fn intersect(&self, other: &Span, key: KeyParts<'_>) -> Option<Span> {
        let start = later(&self.start, &other.start, key);
        let until = match self.until.compare(&other.until, key) {
            Ordering::Less | Ordering::Equal => &self.until,
            Ordering::Greater => &other.until,
        };
        Span::between(start.clone(), until.clone(), key)
    }

    /// The keys as the storage engine knows them.
    ///
    /// # Errors
    /// A value that does not fit its key part: a broken invariant of `derive`.
    pub fn encode(&self, key: KeyParts<'_>) -> Result<KeyRange> {
        match self.start.encode(key)? {
            Some(start) => Ok(KeyRange {
                start,
                until: self.until.encode(key)?,
            }),
            None => Err(Error::internal(
                "a span that begins at the end of the table",
            )),
        }
    }

    /// The text of the span; `zone` is for TIMESTAMP values.
    pub fn text(&self, zone: &Zone) -> String {
        self.text_of(&|value| values::literal(value, zone))
    }

    /// The text of the span with such texts of its values.
    pub fn text_of(&self, value_text: &dyn Fn(&Value<'static>) -> String) -> String {
        let mut text = String::new();
        match self.point() {
            Some(values) if !values.is_empty() => {
                text.push('[');
                write_values(&mut text, values, value_text);
                text.push(']');
            }
            Some(_) | None => self.write_range(&mut text, value_text),
        }
        text
    }

    fn write_range(&self, text: &mut String, value_text: &dyn Fn(&Value<'static>) -> String) {
        text.push(if self.start.is_after() { '(' } else { '[' });
        write_values(text, self.start.values(), value_text);
        text.push_str(" - ");
        write_values(text, self.until.values(), value_text);
        text.push(if self.until.is_after() { ']' } else { ')' });
    }
}

fn write_values(
    text: &mut String,
    list: &[Value<'static>],
    value_text: &dyn Fn(&Value<'static>) -> String,
) {
    for value in list {
        // Writing to a String cannot fail.
        let _ = write!(text, "/{}", value_text(value));
    }
}

fn shared_count(a: &[Value<'static>], b: &[Value<'static>]) -> usize {
    a.iter()
        .zip(b)
        .take_while(|(a, b)| values::compare(a, b) == Ordering::Equal)
        .count()
}

fn later<'c>(a: &'c Cut, b: &'c Cut, key: KeyParts<'_>) -> &'c Cut {
    match a.compare(b, key) {
        Ordering::Less => b,
        Ordering::Equal | Ordering::Greater => a,
    }
}

/// How many leading values all keys in all spans share.
pub fn shared_prefix_count(spans: &[Span]) -> usize {
    let Some((first, rest)) = spans.split_first() else {
        return 0;
    };
    let prefix = first.common_prefix();
    rest.iter().fold(prefix.len(), |count, span| {
        count.min(shared_count(prefix, span.common_prefix()))
    })
}

/// Sorts spans by key order and merges those that overlap or touch, so that no key is in two.
pub fn normalise(mut spans: Vec<Span>, key: KeyParts<'_>) -> Vec<Span> {
    if is_normal(&spans, key) {
        return spans;
    }
    spans.sort_by(|a, b| a.start.compare(&b.start, key));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if last.until.compare(&span.start, key) != Ordering::Less => {
                if last.until.compare(&span.until, key) == Ordering::Less {
                    last.until = span.until;
                }
            }
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

/// What lies in either list; both must be normal.
pub fn union(mut a: Vec<Span>, b: Vec<Span>, key: KeyParts<'_>) -> Vec<Span> {
    a.extend(b);
    normalise(a, key)
}

/// What lies in both lists; both must be normal.
pub fn intersect(a: &[Span], b: &[Span], key: KeyParts<'_>) -> Vec<Span> {
    let mut both = Vec::new();
    let (mut ours, mut theirs) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (ours.peek(), theirs.peek()) {
        both.extend(x.intersect(y, key));
        match x.until.compare(&y.until, key) {
            Ordering::Less => ours.next(),
            Ordering::Equal | Ordering::Greater => theirs.next(),
        };
    }
    both
}

fn is_normal(spans: &[Span], key: KeyParts<'_>) -> bool {
    spans.iter().zip(spans.iter().skip(1)).all(|(a, b)| {
        // Two points may touch in key order only when they are equal or nested.
        a.until.compare(&b.start, key) == Ordering::Less
    })
}

#[cfg(test)]
mod tests;
