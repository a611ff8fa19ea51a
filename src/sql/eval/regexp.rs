//! `REGEXP` and its functions: patterns compiled once and kept, in linear time and bounded memory.
//!
//! Linear is not short: a pattern of many places takes as many steps for each byte of a text, and nothing
//! can stop a search. So the places of a pattern times the bytes of a text have a limit.

use std::borrow::Cow;
use std::cell::RefCell;

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use super::collation;
use super::convert;
use crate::error::{Code, Error, Result};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;
use crate::types::Value;

/// Bytes that one compiled pattern may take: a pattern past it is refused, not run.
const REGEX_BYTES_MAX: usize = 1 << 20;
/// Bytes of a pattern's text: longer ones would be too large when compiled, unless they are blanks or remarks, and
/// reading one takes some hundred bytes for each of its own.
const REGEX_TEXT_BYTES_MAX: usize = 64 << 10;
/// Compiled patterns that a thread keeps: a statement seldom has more.
const REGEX_KEPT_MAX: usize = 16;

/// Places of a pattern times bytes of a text: about ten seconds of one core, measured with
/// `a[ab]{1000}c` on a million random letters.
const STEPS_MAX: usize = 1 << 30;

thread_local! {
    /// The last used patterns, the latest at the end.
    static KEPT: RefCell<Vec<(String, Pattern)>> = const { RefCell::new(Vec::new()) };
}

/// What is searched for and in, and what comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// Texts.
    Characters,
    /// Bytes, each the character of its number: ISO 8859-1. A text beside them stays what it is.
    Bytes,
}

impl Alphabet {
    /// That of what is searched and of the pattern together.
    pub(crate) fn of(searched_and_pattern: [&Expr; 2]) -> Alphabet {
        if collation::are_bytes(searched_and_pattern.into_iter()) {
            Alphabet::Bytes
        } else {
            Alphabet::Characters
        }
    }

    /// A value as it is searched.
    pub(crate) fn text<'v>(self, value: &'v Value<'_>, ctx: &EvalContext) -> Cow<'v, str> {
        match (self, value) {
            (Alphabet::Bytes, Value::Bytes(bytes)) => characters(bytes),
            (Alphabet::Bytes | Alphabet::Characters, other) => convert::text(other, ctx),
        }
    }

    /// The value of what was found; a character that is no byte becomes `?`.
    pub(crate) fn value<'a>(self, found: String) -> Value<'a> {
        match self {
            Alphabet::Characters => Value::Text(Cow::Owned(found)),
            Alphabet::Bytes if found.is_ascii() => Value::Bytes(Cow::Owned(found.into_bytes())),
            Alphabet::Bytes => {
                let byte = |c| u8::try_from(c).unwrap_or(b'?');
                Value::Bytes(found.chars().map(byte).collect())
            }
        }
    }
}

/// Each byte as the character of its number.
fn characters(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        Ok(_) | Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    /// How many places of it a search may have to be in at once.
    places_count: usize,
}

impl Pattern {
    /// Whether it may be searched for in a text of so many bytes.
    ///
    /// # Errors
    /// 3699 when that may take too long.
    fn check(&self, text_bytes: usize) -> Result<()> {
        let steps = self.steps(text_bytes);
        if steps <= STEPS_MAX {
            return Ok(());
        }
        let text = format!(
            "Timeout exceeded in regular expression match: a pattern of {} places on a text of \
             {text_bytes} bytes may take {steps} steps, the most is {STEPS_MAX}",
            self.places_count
        );
        Err(Error::new(Code::RegexpTimeout, text))
    }

    /// What searching for it in a text of so many bytes takes.
    pub(crate) fn steps(&self, text_bytes: usize) -> usize {
        self.places_count.saturating_mul(text_bytes)
    }

    /// What is searched for.
    pub(crate) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Whether it is found in the text.
    ///
    /// # Errors
    /// 3699 when that may take too long.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool> {
        self.check(text.len())?;
        Ok(self.regex.is_match(text))
    }
}

/// Why a pattern is not compiled.
enum Refused {
    /// It is none to anybody, such as a bracket without its other one.
    None(Error),
    /// It is one elsewhere and none here, or too large when compiled.
    Here(Error),
}

/// The compiled pattern, for a text of so many bytes; `flags` are those of the third argument of
/// `REGEXP_LIKE`.
///
/// # Errors
/// 3685 for a pattern that is none, or too large when compiled; 3699 for one that may take too long.
pub(crate) fn compiled(pattern: &str, flags: &str, text_bytes: usize) -> Result<Pattern> {
    match kept_or_compiled(pattern, flags) {
        Ok(pattern) => {
            pattern.check(text_bytes)?;
            Ok(pattern)
        }
        Err(Refused::None(error) | Refused::Here(error)) => Err(error),
    }
}

/// The compiled pattern, for many texts; `None` for what is no pattern to anybody.
///
/// # Errors
/// 3685 for what is a pattern elsewhere and none here, or too large when compiled.
pub(crate) fn compiled_if_pattern(pattern: &str) -> Result<Option<Pattern>> {
    match kept_or_compiled(pattern, "") {
        Ok(pattern) => Ok(Some(pattern)),
        Err(Refused::None(_)) => Ok(None),
        Err(Refused::Here(error)) => Err(error),
    }
}

/// Whether this thread has the pattern compiled.
pub(crate) fn is_kept(pattern: &str) -> bool {
    KEPT.with_borrow(|kept| kept.iter().any(|(key, _)| is_key_of(key, pattern)))
}

/// Whether a pattern without flags is kept under this key.
fn is_key_of(key: &str, pattern: &str) -> bool {
    key.strip_prefix('/') == Some(pattern)
}

fn kept_or_compiled(pattern: &str, flags: &str) -> std::result::Result<Pattern, Refused> {
    let key = format!("{flags}/{pattern}");
    KEPT.with_borrow_mut(|kept| {
        if let Some(idx) = kept.iter().position(|(known, _)| *known == key) {
            let entry = kept.remove(idx);
            let found = entry.1.clone();
            kept.push(entry);
            return Ok(found);
        }
        let new = compile(pattern, flags)?;
        if kept.len() == REGEX_KEPT_MAX {
            kept.remove(0);
        }
        kept.push((key, new.clone()));
        Ok(new)
    })
}

/// How many places of a pattern a search may have to be in at once: its letters and classes, as often as
/// they are repeated, and its branches.
fn places_count(hir: &Hir) -> usize {
    let sum = |parts: &[Hir]| {
        parts
            .iter()
            .map(places_count)
            .fold(0, usize::saturating_add)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(letters) => letters.0.len(),
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            places_count(&repetition.sub).max(1).saturating_mul(times)
        }
        HirKind::Capture(capture) => places_count(&capture.sub),
        HirKind::Concat(parts) => sum(parts),
        HirKind::Alternation(branches) => sum(branches).max(branches.len()),
    }
}

/// What the third argument of `REGEXP_LIKE` asks for.
#[derive(Debug, Default, Clone, Copy)]
struct Flags {
    ignores_case: bool,
    multi_line: bool,
    dot_matches_new_line: bool,
}

impl Flags {
    /// `None` when there is a letter that says nothing.
    fn of(letters: &str) -> Option<Flags> {
        let mut flags = Flags::default();
        for letter in letters.chars() {
            match letter {
                'c' => flags.ignores_case = false,
                'i' => flags.ignores_case = true,
                'm' => flags.multi_line = true,
                'n' => flags.dot_matches_new_line = true,
                // Lines end with a line feed anyway.
                'u' => {}
                _ => return None,
            }
        }
        Some(flags)
    }

    /// The places of a pattern that was compiled with these flags.
    fn places_count(self, pattern: &str) -> usize {
        let mut parser = ParserBuilder::new();
        parser
            .case_insensitive(self.ignores_case)
            .multi_line(self.multi_line)
            .dot_matches_new_line(self.dot_matches_new_line);
        parser.build().parse(pattern).map_or(usize::MAX, |hir| {
            // A text that is searched for as any other has none.
            let is_plain = matches!(hir.kind(), HirKind::Literal(_));
            if is_plain { 0 } else { places_count(&hir) }
        })
    }
}

fn compile(pattern: &str, flags: &str) -> std::result::Result<Pattern, Refused> {
    let illegal = |why: &str| {
        let text = format!("Illegal argument to a regular expression: {why}");
        Error::new(Code::InvalidRegexp, text)
    };
    if pattern.is_empty() {
        return Err(Refused::Here(illegal("the pattern is empty")));
    }
    if REGEX_TEXT_BYTES_MAX < pattern.len() {
        let why = format!(
            "the pattern has {} bytes, the most is {REGEX_TEXT_BYTES_MAX}",
            pattern.len()
        );
        return Err(Refused::Here(illegal(&why)));
    }
    let pattern = with_unicode_classes(pattern);
    let mut builder = RegexBuilder::new(&pattern);
    builder
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX);
    let Some(flags) = Flags::of(flags) else {
        let why = "a match type is one of c, i, m, n, u";
        return Err(Refused::Here(illegal(why)));
    };
    builder
        .case_insensitive(flags.ignores_case)
        .multi_line(flags.multi_line)
        .dot_matches_new_line(flags.dot_matches_new_line);
    let regex = builder.build().map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or("it does not parse");
        let told = illegal(last.trim_start_matches("error: "));
        if matches!(error, regex::Error::Syntax(_)) && !text.contains("not supported") {
            Refused::None(told)
        } else {
            Refused::Here(told)
        }
    })?;
    Ok(Pattern {
        regex,
        places_count: flags.places_count(&pattern),
    })
}

/// POSIX names of classes, and what they are of all characters: MySQL's ICU does not stop at ASCII.
const CLASSES: &[(&str, &str)] = &[
    ("[:alpha:]", r"\p{Alphabetic}"),
    ("[:alnum:]", r"\p{Alphabetic}\p{Nd}"),
    ("[:digit:]", r"\p{Nd}"),
    ("[:lower:]", r"\p{Lowercase}"),
    ("[:upper:]", r"\p{Uppercase}"),
    ("[:punct:]", r"\p{P}"),
    ("[:space:]", r"\p{White_Space}"),
    ("[:blank:]", r"\p{Zs}\t"),
    ("[:cntrl:]", r"\p{Cc}"),
    ("[:word:]", r"\w"),
];

/// The pattern with the classes of [`CLASSES`] spelled out.
fn with_unicode_classes(pattern: &str) -> Cow<'_, str> {
    let mut pattern = Cow::Borrowed(pattern);
    if pattern.contains("[:") {
        for (name, class) in CLASSES {
            pattern = Cow::Owned(pattern.replace(name, class));
        }
    }
    pattern
}

/// Whether the pattern is found in the text.
///
/// # Errors
/// As [`compiled`].
pub(crate) fn is_match(text: &str, pattern: &str, ctx: &EvalContext) -> Result<bool> {
    let found = KEPT.with_borrow(|kept| {
        // The pattern of a filter is the latest: no allocation per row.
        let latest = kept.last().filter(|(key, _)| is_key_of(key, pattern));
        latest.map(|(_, kept)| {
            let steps = kept.steps(text.len());
            ctx.at_length(steps, || kept.is_match(text))
        })
    });
    found.unwrap_or_else(|| {
        let compiled = compiled(pattern, "", text.len())?;
        let steps = compiled.steps(text.len());
        ctx.at_length(steps, || compiled.is_match(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(pattern: &str, flags: &str) -> usize {
        kept_or_compiled(pattern, flags).map_or(0, |pattern| pattern.places_count)
    }

    #[test]
    fn places_are_letters_classes_and_branches() {
        for (pattern, flags, expected) in [
            ("abc", "", 0),
            ("abc", "i", 3),
            ("a[ab]{2000}c", "", 2002),
            ("(abc){100}", "", 300),
            ("x.*abc", "", 5),
            ("(ab|cd|ef)+", "", 6),
            ("(a*|b*|)x", "", 4),
            ("[[:alpha:]]{10}", "", 10),
        ] {
            assert_eq!(places(pattern, flags), expected, "{pattern} {flags}");
        }
    }

    #[test]
    fn each_text_is_measured() {
        let pattern = compiled_if_pattern("a[ab]{2000}c").unwrap().unwrap();
        assert!(!pattern.is_match("ab").unwrap());
        let error = pattern.is_match(&"ab".repeat(1_000_000)).unwrap_err();
        assert_eq!(error.code(), Code::RegexpTimeout);
        let ctx = super::super::tests::context();
        assert!(!is_match("ab", "a[ab]{2000}c", &ctx).unwrap());
        is_match(&"ab".repeat(1_000_000), "a[ab]{2000}c", &ctx).unwrap_err();
    }
}
