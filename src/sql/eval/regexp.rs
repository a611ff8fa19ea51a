//! `REGEXP` and its functions: patterns compiled once and kept, in linear time and bounded memory.
//!
//! Linear is not short: a pattern of many places takes as many steps for each byte of a text, and nothing
//! can stop a search. So the places of a pattern times the bytes of a text have a limit.

use std::borrow::Cow;
use std::cell::RefCell;

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

use crate::error::{Code, Error, Result};

/// Bytes that one compiled pattern may take: a pattern past it is refused, not run.
const REGEX_BYTES_MAX: usize = 1 << 20;
/// Compiled patterns that a thread keeps: a statement seldom has more.
const REGEX_KEPT_MAX: usize = 16;

/// Places of a pattern times bytes of a text: about ten seconds of one core, measured with
/// `a[ab]{1000}c` on a million random letters.
const STEPS_MAX: usize = 1 << 30;

thread_local! {
    /// The last used patterns, the latest at the end.
    static KEPT: RefCell<Vec<(String, Pattern)>> = const { RefCell::new(Vec::new()) };
}

/// A compiled pattern.
#[derive(Debug, Clone)]
struct Pattern {
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
        let steps = self.places_count.saturating_mul(text_bytes);
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
pub(crate) fn compiled(pattern: &str, flags: &str, text_bytes: usize) -> Result<Regex> {
    match kept_or_compiled(pattern, flags) {
        Ok(pattern) => {
            pattern.check(text_bytes)?;
            Ok(pattern.regex)
        }
        Err(Refused::None(error) | Refused::Here(error)) => Err(error),
    }
}

/// As [`compiled`], but `None` for what is no pattern to anybody.
///
/// # Errors
/// 3685 for what is a pattern elsewhere and none here, or too large when compiled; 3699.
pub(crate) fn compiled_if_pattern(pattern: &str, text_bytes: usize) -> Result<Option<Regex>> {
    match kept_or_compiled(pattern, "") {
        Ok(pattern) => {
            pattern.check(text_bytes)?;
            Ok(Some(pattern.regex))
        }
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
        let new = Pattern {
            regex: compile(pattern, flags)?,
            places_count: regex_syntax::parse(&with_unicode_classes(pattern))
                .map_or(0, |hir| places_count(&hir)),
        };
        if kept.len() == REGEX_KEPT_MAX {
            kept.remove(0);
        }
        kept.push((key, new.clone()));
        Ok(new)
    })
}

/// How many places of a pattern a search may have to be in at once: those of its classes, as often as
/// they are repeated. What is written out letter by letter soon fits or not.
fn places_count(hir: &Hir) -> usize {
    let sum = |parts: &[Hir]| {
        parts
            .iter()
            .map(places_count)
            .fold(0, usize::saturating_add)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) => 0,
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            places_count(&repetition.sub).max(1).saturating_mul(times)
        }
        HirKind::Capture(capture) => places_count(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

fn compile(pattern: &str, flags: &str) -> std::result::Result<Regex, Refused> {
    let illegal = |why: &str| {
        let text = format!("Illegal argument to a regular expression: {why}");
        Error::new(Code::InvalidRegexp, text)
    };
    if pattern.is_empty() {
        return Err(Refused::Here(illegal("the pattern is empty")));
    }
    let pattern = with_unicode_classes(pattern);
    let mut builder = RegexBuilder::new(&pattern);
    builder
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX);
    for flag in flags.chars() {
        match flag {
            'c' => builder.case_insensitive(false),
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            'n' => builder.dot_matches_new_line(true),
            'u' => builder.crlf(false),
            _ => {
                let why = "a match type is one of c, i, m, n, u";
                return Err(Refused::Here(illegal(why)));
            }
        };
    }
    builder.build().map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or("it does not parse");
        let told = illegal(last.trim_start_matches("error: "));
        if matches!(error, regex::Error::Syntax(_)) && !text.contains("not supported") {
            Refused::None(told)
        } else {
            Refused::Here(told)
        }
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
pub(crate) fn is_match(text: &str, pattern: &str) -> Result<bool> {
    KEPT.with_borrow(|kept| {
        // The pattern of a filter is the latest: no allocation per row.
        let latest = kept.last().filter(|(key, _)| is_key_of(key, pattern));
        latest.map(|(_, kept)| {
            kept.check(text.len())?;
            Ok(kept.regex.is_match(text))
        })
    })
    .unwrap_or_else(|| compiled(pattern, "", text.len()).map(|regex| regex.is_match(text)))
}
