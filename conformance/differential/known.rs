//! The list of what MariaDB answers in another way than MySQL.
//!
//! A line of `known.txt` is `kind | what is in the small query | reason`; the kind is `type`, `value`,
//! `error` or `any`, and all of the texts between `&` must be there, in any case. `column:year` is a
//! column of a type that begins so.

use crate::compare::Difference;
use crate::query::Query;

/// The list.
pub(crate) struct Known(Vec<Line>);

struct Line {
    kind: String,
    needles: Vec<String>,
    reason: String,
}

impl Known {
    /// The list of this folder.
    pub(crate) fn read() -> Known {
        let lines = include_str!("known.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Known(lines.map(line).collect())
    }

    /// The reason why a difference is none of ours, if it is known.
    pub(crate) fn name_of(
        &self,
        (query, columns): (&Query, &str),
        difference: &Difference,
    ) -> Option<String> {
        let Difference {
            reference, ours, ..
        } = difference;
        let text = format!("{query} / {reference} / {ours}");
        let text = text.to_lowercase();
        let is_met = |line: &&Line| {
            let is_kind = line.kind == "any" || line.kind == difference.kind.word();
            let is_there = |needle: &String| match needle.strip_prefix("column:") {
                Some(ty) => columns.to_lowercase().contains(&format!(" {ty}")),
                None => text.contains(needle),
            };
            is_kind && line.needles.iter().all(is_there)
        };
        Some(self.0.iter().find(is_met)?.reason.clone())
    }
}

fn line(line: &str) -> Line {
    let mut parts = line.splitn(3, '|').map(str::trim);
    let mut part = || parts.next().unwrap_or_default().to_owned();
    let (kind, needles, reason) = (part(), part(), part());
    let needles = needles.split(" & ").map(|one| one.trim().to_lowercase());
    Line {
        kind,
        needles: needles.collect(),
        reason,
    }
}
