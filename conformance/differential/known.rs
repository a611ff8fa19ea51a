//! The list of what MariaDB answers in another way than MySQL.
//!
//! A line of `known.txt` is `kind | conditions | reason`; the kind is `type`, `value` or `error`, and
//! all conditions, with ` & ` between, must hold for the small query and how its answers differ:
//!
//! ```text
//!   avg, sum .. / .. #null   a word of the query, one within its reach, one within the reach of that;
//!                            `,` stands between alternatives. What a word reaches is told in `words`
//!   = .. #text with #hex     both within the reach of the first
//!   theirs:text ours:text    MariaDB's answer, ours, begins or goes on so
//!   close                    both are rows with the same texts and nearly the same numbers
//!   rounded                  MariaDB's row has whole numbers where ours has fractions
//!   cut                      MariaDB's row has the beginnings of our texts
//!   wide                     MariaDB's row has a number of more digits than there are here
//! ```

use crate::compare::{self, Difference};
use crate::words::{Step, Words};

/// The list.
pub(crate) struct Known(Vec<Line>);

struct Line {
    kind: String,
    conditions: Vec<Condition>,
    reason: String,
}

enum Condition {
    /// Words within each other.
    Path(Vec<Step>),
    Theirs(String),
    Ours(String),
    Close,
    Rounded,
    Cut,
    Wide,
}

impl Known {
    /// The list of this folder.
    pub(crate) fn read() -> Known {
        let lines = include_str!("known.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Known(lines.map(line).collect())
    }

    /// The line that says why a difference is none of ours, if there is one.
    pub(crate) fn name_of(&self, words: &Words, difference: &Difference) -> Option<String> {
        let is_met = |line: &&Line| {
            let mut conditions = line.conditions.iter();
            line.kind == difference.kind.word()
                && conditions.all(|condition| condition.is_met(words, difference))
        };
        Some(self.0.iter().find(is_met)?.reason.clone())
    }
}

impl Condition {
    fn read(text: &str) -> Condition {
        let rest = |prefix| Some(text.strip_prefix(prefix)?.to_lowercase());
        if let Some(text) = rest("theirs:") {
            return Condition::Theirs(text);
        }
        if let Some(text) = rest("ours:") {
            return Condition::Ours(text);
        }
        match text {
            "close" => Condition::Close,
            "rounded" => Condition::Rounded,
            "cut" => Condition::Cut,
            "wide" => Condition::Wide,
            _ => {
                let alternatives = |one: &str| one.split(", ").map(str::to_owned).collect();
                let step = |step: &str| Step(step.split(" with ").map(alternatives).collect());
                Condition::Path(text.split(" .. ").map(step).collect())
            }
        }
    }

    fn is_met(&self, words: &Words, difference: &Difference) -> bool {
        match self {
            Condition::Path(steps) => words.have(steps),
            Condition::Theirs(text) => difference.reference.to_lowercase().contains(text),
            Condition::Ours(text) => difference.ours.to_lowercase().contains(text),
            Condition::Close => (difference.rows.as_ref())
                .is_some_and(|(theirs, ours)| compare::are_close(theirs, ours)),
            Condition::Rounded => (difference.rows.as_ref())
                .is_some_and(|(theirs, ours)| compare::is_rounded(theirs, ours)),
            Condition::Cut => (difference.rows.as_ref())
                .is_some_and(|(theirs, ours)| compare::is_cut(theirs, ours)),
            Condition::Wide => (difference.rows.as_ref()).is_some_and(|(theirs, _)| {
                theirs.iter().any(|cell| compare::is_wide(cell.as_deref()))
            }),
        }
    }
}

fn line(line: &str) -> Line {
    let mut parts = line.splitn(3, " | ").map(str::trim);
    let mut part = || parts.next().unwrap_or_default().to_owned();
    let (kind, conditions, reason) = (part(), part(), part());
    assert!(
        !reason.is_empty(),
        "a line of known.txt has three parts: {line}"
    );
    let conditions = conditions.split(" & ").map(str::trim);
    Line {
        kind,
        conditions: conditions.map(Condition::read).collect(),
        reason,
    }
}
