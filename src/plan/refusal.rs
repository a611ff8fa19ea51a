//! Refusals of access paths: their data and their text.
//!
//! The text begins with Lindorm's sentence, because people search for it, then says what is missing
//! and what would help.

use std::fmt;

use super::access::{Purpose, Request, RowsKept};
use super::advice;
use super::derive::{Alternatives, Branch, Derived};
use super::domain::Domain;
use super::stand_in::StandIns;
use super::verdict::{Obstacle, Path, Reason, Verdict};
use super::{paths, text};
use crate::catalog::Table;
use crate::error::{Code, Error};
use crate::sql::expr::Expr;

/// Lindorm's sentence.
const SENTENCE: &str =
    "This query may be a full table scan and thus may have unpredictable performance";
/// Characters of a condition that a refusal quotes.
const CONDITION_CHARS_MAX: usize = 200;

/// A full scan that nothing permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    purpose: Purpose,
    /// The alias of the table, where it is one of several.
    joined_as: Option<String>,
    /// The parts of the primary key; empty when the table has a hidden one.
    key_columns: Vec<String>,
    /// The columns of which the first part is computed, all of whose values it needs; empty when it is
    /// a column, or a bucket.
    hashed: Vec<String>,
    /// The column that a condition would have to be on, where it is not the first part.
    first: Option<String>,
    reason: Reason,
    /// The indexes of the table, and why none is used.
    indexes: Vec<(Path, Reason)>,
    /// A `CREATE INDEX` that makes the same statement keyed.
    index: Option<String>,
    /// The most rows of a LIMIT that would do.
    limit_max: Option<u64>,
    /// The table whose number of rows would do.
    uncounted: Option<String>,
}

impl Refusal {
    /// `derived` and `verdicts` are those of the primary key and of all paths.
    pub(super) fn new(
        request: &Request<'_>,
        derived: &Derived<'_>,
        verdicts: &[Verdict],
    ) -> Refusal {
        let first = request.table.key.first().and_then(|part| {
            let column = request.table.columns.get(part.column_idx)?;
            Some((part.column_idx, column.name.clone()))
        });
        let of_primary = |verdict: &&Verdict| matches!(verdict.path, Path::PrimaryKey(_));
        let reason = verdicts.iter().find(of_primary);
        let reason = match reason.map(|verdict| &verdict.reason) {
            Some(reason @ Reason::Ignored) => reason.clone(),
            Some(_) | None => first_column(request, derived, first),
        };
        let indexes = verdicts.iter().filter_map(|verdict| match &verdict.path {
            path @ Path::Index { .. } => Some((path.clone(), verdict.reason.clone())),
            Path::PrimaryKey(_) | Path::FullScan => None,
        });
        let table = request.table;
        let is_plain = request.filter.is_none()
            && !table.leaves_rows_out()
            && request.grouping.is_none()
            && request.order_by.is_empty()
            && !request.wants_all
            && request.joined_as.is_none()
            && request.purpose == Purpose::Select;
        Refusal {
            purpose: request.purpose,
            joined_as: request.joined_as.map(str::to_owned),
            key_columns: if table.has_hidden_key() {
                Vec::new()
            } else {
                paths::columns(table, &table.key)
            },
            hashed: hashed(table)
                .iter()
                .map(|idx| text::column_name(table, *idx))
                .collect(),
            first: bucketed(table).map(|idx| text::column_name(table, idx)),
            reason,
            indexes: indexes.collect(),
            index: advice::index(request, derived),
            limit_max: is_plain.then_some(request.policy.full_scan_limit_max),
            uncounted: (request.rows_kept == RowsKept::Unknown)
                .then(|| text::quote_name(&table.name)),
        }
    }

    /// The `CREATE INDEX` that would make the statement keyed.
    pub fn index(&self) -> Option<&str> {
        self.index.as_deref()
    }

    /// As the client gets it.
    pub fn error(&self) -> Error {
        let code = match self.purpose {
            Purpose::Select => Code::TooBigSelect,
            Purpose::Update | Purpose::Delete => Code::UnsafeUpdate,
        };
        Error::new(code, self.to_string())
    }

    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key_columns.is_empty() {
            let table = self.joined_as.as_deref().unwrap_or("the table");
            return write!(
                f,
                "{table} has no primary key, so no condition can bound the rows"
            );
        }
        let key = self.key_columns.join(", ");
        let part = if self.hashed.is_empty() {
            format!("the first column of the primary key ({key})")
        } else {
            format!("of which the first part of the primary key ({key}) is computed")
        };
        if let Reason::Blocked {
            column,
            condition,
            obstacle,
        } = &self.reason
        {
            let column = self.named(column);
            write!(
                f,
                "the condition on \"{column}\", {part}, cannot use the key: {condition} {obstacle}"
            )
        } else if let Reason::NoCondition { column } = &self.reason {
            let column = self.named(column);
            write!(f, "no condition on \"{column}\", {part}")
        } else {
            write!(f, "primary key ({key}): {}", self.reason)
        }
    }

    /// A column's name, with the alias where there are several tables.
    fn named(&self, column: &str) -> String {
        match &self.joined_as {
            Some(alias) => format!("{alias}.{column}"),
            None => column.to_owned(),
        }
    }

    fn write_indexes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, reason) in &self.indexes {
            if let Reason::NoCondition { .. } = reason {
                write!(f, "; {path} does not match either")?;
            } else if let Reason::Blocked {
                condition,
                obstacle,
                ..
            } = reason
            {
                write!(f, "; {path} does not match either: {condition} {obstacle}")?;
            } else if let Reason::Ignored = reason {
                write!(f, "; {path} is ignored by a hint")?;
            } else if let Reason::NotNamed = reason {
                write!(f, "; {path} is not used, as a hint names others")?;
            } else {
                write!(f, "; {path} {reason}")?;
            }
        }
        Ok(())
    }

    fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if let Some(first) = self.first.as_ref().or_else(|| self.key_columns.first()) {
            advice.push(self.condition_advice(first));
        }
        if let Some(limit) = self.limit_max {
            advice.push(format!("add LIMIT {limit} or less"));
        }
        advice.extend(self.index.clone());
        let counted = self.uncounted.as_ref();
        advice.extend(
            counted.map(|table| format!("have the rows counted with ANALYZE TABLE {table}")),
        );
        let verb = match self.purpose {
            Purpose::Select => "SELECT",
            Purpose::Update => "UPDATE",
            Purpose::Delete => "DELETE",
        };
        advice.push(format!(
            "allow it once with /*+ _l_allow_filtering_ */ after {verb}"
        ));
        if let Some(first) = advice.first_mut() {
            capitalise(first);
        }
        advice
    }

    fn condition_advice(&self, first: &str) -> String {
        let first = self.named(first);
        if let Reason::Blocked {
            obstacle: Obstacle::ComparesAsNumbers,
            ..
        } = &self.reason
        {
            return format!("compare {first} with a value of its own type, a text in quotes");
        }
        if !self.hashed.is_empty() {
            let columns = self.hashed.iter().map(|column| self.named(column));
            let columns: Vec<String> = columns.collect();
            return format!("compare {} with = or IN", columns.join(" and "));
        }
        format!("add a condition on {first}")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SENTENCE}: ")?;
        self.write_cause(f)?;
        self.write_indexes(f)?;
        write!(f, ". {}", self.advice().join(", or "))
    }
}

fn capitalise(text: &mut str) {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
}

/// The refusal of a multi-get that was counted and not built.
pub(super) fn too_many_keys(count: u64, most: u64) -> Error {
    Error::new(
        Code::TooBigSelect,
        format!(
            "Multi Get Plan query too many rows in one select: {count} keys, the most is {most}; split the \
             list, or SET multi_get_max_rows"
        ),
    )
}

/// Why nothing bounds the first column of a key.
pub(super) fn first_column(
    request: &Request<'_>,
    derived: &Derived<'_>,
    first: Option<(usize, String)>,
) -> Reason {
    let Some((column_idx, column)) = first else {
        return Reason::NotNeeded;
    };
    let table = request.table;
    if table.is_spread(column_idx) {
        return spread_part(request, derived);
    }
    blocked_or_none(request, derived, (column_idx, column))
}

/// The columns of which the first part of the key is computed, if it needs the values of all.
fn hashed(table: &Table) -> &[usize] {
    match table.spread() {
        Some(spread) if spread.kind.buckets().is_none() => &spread.inputs,
        Some(_) | None => &[],
    }
}

/// The column behind the first part of the key, if that is a bucket.
fn bucketed(table: &Table) -> Option<usize> {
    table.spread()?.kind.buckets()?;
    table.declared_key().first().map(|part| part.column_idx)
}

/// Why nothing bounds a key whose first part is computed.
fn spread_part(request: &Request<'_>, derived: &Derived<'_>) -> Reason {
    let table = request.table;
    let named = |idx: usize| (idx, text::column_name(table, idx));
    if let Some(idx) = bucketed(table) {
        return blocked_or_none(request, derived, named(idx));
    }
    let Some(spread) = table.spread() else {
        return Reason::NotNeeded;
    };
    let mut inputs = spread.inputs.iter().copied();
    let without_value = inputs.find(|idx| !has_values(*idx, derived));
    let Some(idx) = without_value.or_else(|| spread.inputs.first().copied()) else {
        return Reason::NotNeeded;
    };
    let bounding = derived.conjuncts.iter().zip(derived.conditions.iter());
    let mut bounding = bounding.filter(|(_, condition)| bounds(condition, idx, |_| true));
    match bounding.next() {
        Some((conjunct, _)) if without_value.is_some() => Reason::Blocked {
            column: named(idx).1,
            condition: shortened(condition_text(conjunct, request)),
            obstacle: Obstacle::NeedsValue(spread.kind.name()),
        },
        Some(_) | None => blocked_or_none(request, derived, named(idx)),
    }
}

/// Whether some condition lists the values of a column.
fn has_values(column_idx: usize, derived: &Derived<'_>) -> bool {
    let is_list = |domain: &Domain| domain.counts().1 == 0;
    let mut conditions = derived.conditions.iter();
    conditions.any(|condition| bounds(condition, column_idx, is_list))
}

/// Whether every way to satisfy a condition bounds a column, and so.
fn bounds(
    condition: &Alternatives<'_>,
    column_idx: usize,
    is_so: impl Fn(&Domain) -> bool,
) -> bool {
    let bounds_it = |branch: &Branch| {
        let mut constraints = branch.constraints.iter();
        constraints.any(|one| one.column_idx == column_idx && is_so(&one.domain))
    };
    !condition.branches.is_empty() && condition.branches.iter().all(bounds_it)
}

fn blocked_or_none(
    request: &Request<'_>,
    derived: &Derived<'_>,
    (column_idx, column): (usize, String),
) -> Reason {
    match obstacle_on(column_idx, derived) {
        Some((condition, obstacle)) => Reason::Blocked {
            column,
            condition: shortened(condition_text(condition, request)),
            obstacle,
        },
        None => Reason::NoCondition { column },
    }
}

/// The first condition that names a column and does not bound it, and why.
fn obstacle_on<'e>(column_idx: usize, derived: &Derived<'e>) -> Option<(&'e Expr, Obstacle)> {
    let mut all = derived.conditions.iter().flat_map(|one| &one.blocked);
    if let Some(blocked) = all.find(|blocked| blocked.column_idx == column_idx) {
        return Some((blocked.condition, blocked.obstacle.clone()));
    }
    let pairs = derived.conjuncts.iter().zip(derived.conditions.iter());
    for (conjunct, condition) in pairs {
        let names_it = |branch: &Branch| {
            let mut constraints = branch.constraints.iter();
            constraints.any(|constraint| constraint.column_idx == column_idx)
        };
        if condition.branches.iter().all(names_it) && !condition.branches.is_empty() {
            return Some((conjunct, Obstacle::TooManyAlternatives));
        }
        if condition.branches.iter().any(names_it) {
            return Some((conjunct, Obstacle::UnboundedOr));
        }
    }
    None
}

/// A condition as SQL, with the names of what values stand for.
fn condition_text(condition: &Expr, request: &Request<'_>) -> String {
    let named = StandIns::of(None, request.ctx).named(condition);
    text::over_table(&named, request.table, &request.ctx.zone)
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(CONDITION_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
