//! EXPLAIN: the only place that formats plans.
//!
//! What is shown comes in as data ([`Explained`]): the plan of the table's access, the steps behind
//! it, row estimates. `traditional` makes MySQL's twelve columns, `tree` a sentence and a tree,
//! `json` the shape of MySQL 8's `FORMAT=JSON`. Statements of several tables or queries are in `whole`.

mod json;
mod json_text;
mod steps;
mod traditional;
mod tree;
pub mod whole;

pub use steps::text_behind;

use std::borrow::Cow;

use super::access::{Access, Entries, IndexAccess, Merge, MergeBranch, MergeKind, Seek, TablePlan};
use super::paths;

use super::span::Span;
use super::stand_in::StandIns;
use super::verdict::Reason;
use crate::catalog::{Index, KeyPart, Table};
use crate::sql::bound::{Aggregate, OrderBy, Windowing};
use crate::sql::expr::Expr;
use crate::types::column_type::LobSize;
use crate::types::temporal::Zone;
use crate::types::{Attributes, ColumnType, ResultColumn};

/// Spans that are written out of one of several scans.
const BRANCH_SPANS_SHOWN_MAX: usize = 10;

/// Which rendering is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// MySQL's twelve columns.
    Traditional,
    /// A sentence and a tree.
    Tree,
    /// MySQL 8's JSON.
    Json,
}

/// A planned statement, as EXPLAIN sees it.
#[derive(Debug)]
pub struct Explained<'a> {
    /// Which statement it is.
    pub statement: Statement,
    /// The table that is read, and how; `None` when none is.
    pub source: Option<Source<'a>>,
    /// The table that is written, and how; `None` for SELECT.
    pub write: Option<Write<'a>>,
    /// What happens to the rows after the residual filter, in order.
    pub steps: Vec<Step<'a>>,
    /// The session's zone, for TIMESTAMP values.
    pub zone: &'a Zone,
    /// What a run of the statement took, for EXPLAIN ANALYZE.
    pub measured: Option<Measured>,
}

/// The kinds of statement that EXPLAIN takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// SELECT.
    Select,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// INSERT.
    Insert,
    /// REPLACE.
    Replace,
    /// UPSERT.
    Upsert,
}

/// A table that is read.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The table.
    pub table: &'a Table,
    /// The alias it goes by.
    pub alias: &'a str,
    /// How it is read.
    pub plan: &'a TablePlan,
    /// About how many rows the access reads, if anybody knows.
    pub rows_estimate: Option<u64>,
    /// What values in the plan stand for; `None` where each is itself.
    pub names: Option<&'a StandIns>,
}

/// A table that is written.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    /// The table.
    pub table: &'a Table,
    /// Whether old rows are read first; if not, it is a blind write.
    pub reads_old: bool,
    /// How many rows are given; `None` when the condition decides.
    pub rows_count: Option<u64>,
}

/// One step behind the residual filter.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// GROUP BY and aggregates; later steps see the group keys, then the aggregates.
    Aggregate {
        /// The keys, over the table's row.
        keys: &'a [Expr],
        /// The aggregates, over the table's row.
        aggregates: &'a [Aggregate],
        /// Whether groups come one after the other and are never held together.
        in_order: bool,
        /// `WITH ROLLUP`: then the last key counts those that are not rolled up.
        rollup: bool,
    },
    /// HAVING.
    Having(&'a Expr),
    /// Window functions; later steps see their values, then what they were computed from.
    Windows(&'a Windowing),
    /// DISTINCT.
    Distinct,
    /// A sort that the access path does not save.
    Sort {
        /// What is compared.
        keys: &'a [OrderBy],
        /// Rows that are kept, when a LIMIT makes it a top-N.
        rows_kept: Option<u64>,
    },
    /// LIMIT and OFFSET.
    Limit {
        /// Rows that are returned.
        limit: Option<u64>,
        /// Rows that are left out first.
        offset: u64,
    },
}

/// What a run of the statement took.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Rows that the access read.
    pub rows_read: u64,
    /// Rows that were returned or changed.
    pub rows_returned: u64,
    /// Time, in microseconds.
    pub micros: u64,
}

/// A rendered plan: a result set.
#[derive(Debug)]
pub struct Explanation {
    /// The columns.
    pub columns: Vec<ResultColumn>,
    /// The rows; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// Renders a plan.
pub fn explain(explained: &Explained<'_>, format: Format) -> Explanation {
    match format {
        Format::Traditional => Explanation {
            columns: traditional::columns(),
            rows: vec![traditional::row(explained)],
        },
        Format::Tree => one_text(tree::text(explained)),
        Format::Json => one_text(json::text(explained)),
    }
}

fn one_text(text: String) -> Explanation {
    Explanation {
        columns: vec![column("EXPLAIN", ColumnType::Text(LobSize::Long), false)],
        rows: vec![vec![Some(text)]],
    }
}

/// A column of an EXPLAIN result.
fn column(name: &str, ty: ColumnType, nullable: bool) -> ResultColumn {
    ResultColumn {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: name.to_owned(),
        org_name: String::new(),
        ty,
        nullable,
        is_field: false,
        attributes: Attributes::default(),
        display_chars: 0,
        decimals: None,
    }
}

impl Statement {
    /// The word in MySQL's `select_type`.
    fn select_type(self) -> &'static str {
        match self {
            Statement::Select => "SIMPLE",
            Statement::Update => "UPDATE",
            Statement::Delete => "DELETE",
            Statement::Insert | Statement::Upsert => "INSERT",
            Statement::Replace => "REPLACE",
        }
    }
}

impl Source<'_> {
    /// A span of its plan as text.
    fn span_text(&self, span: &Span, zone: &Zone) -> String {
        match self.names {
            Some(names) => span.text_of(&|value| names.text_of(value, zone)),
            None => span.text(zone),
        }
    }

    /// About how many rows the access reads; the keys are known without asking anybody.
    fn rows(&self) -> Option<u64> {
        match &self.plan.access {
            Access::Nothing | Access::Count(_) => Some(0),
            Access::PointGet(_) => Some(1),
            Access::MultiGet(gets) => u64::try_from(gets.keys.len()).ok(),
            Access::Index(index) => match &index.entries {
                Entries::Keys(keys) => u64::try_from(keys.len()).ok(),
                Entries::Ranges(_) => self.rows_estimate,
            },
            Access::Ends(ends) => u64::try_from(ends.seeks.len()).ok(),
            Access::PrefixScan(_) | Access::Merge(_) | Access::FullScan => self.rows_estimate,
        }
    }

    /// MySQL's word for the access.
    fn access_type(&self) -> Option<&'static str> {
        match &self.plan.access {
            Access::Nothing | Access::Count(_) | Access::Ends(_) => None,
            Access::PointGet(_) => Some("const"),
            Access::PrefixScan(scan) => Some(span_type(&scan.spans)),
            Access::Index(index) => Some(match &index.entries {
                Entries::Keys(keys) if keys.len() == 1 => "const",
                Entries::Keys(_) => "range",
                Entries::Ranges(_) => span_type(&index.spans),
            }),
            Access::MultiGet(_) => Some("range"),
            Access::Merge(_) => Some("index_merge"),
            Access::FullScan => Some("ALL"),
        }
    }

    /// The index that is read, if one is.
    fn index(&self) -> Option<(&IndexAccess, &Index)> {
        match &self.plan.access {
            Access::Index(access) => Some((access, self.table.indexes.get(access.position)?)),
            Access::Nothing
            | Access::PointGet(_)
            | Access::MultiGet(_)
            | Access::PrefixScan(_)
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::Count(_)
            | Access::FullScan => None,
        }
    }

    /// The name of the key that is read; of all of them, if there are several.
    fn key_name(&self) -> Cow<'_, str> {
        if let Access::Merge(merge) = &self.plan.access {
            return Cow::Owned(self.merged_names(merge));
        }
        Cow::Borrowed(self.index().map_or("PRIMARY", |(_, index)| &index.name))
    }

    /// The spans that are read of one key.
    fn spans(&self) -> Vec<Span> {
        match &self.plan.access {
            Access::PointGet(get) => vec![get.span()],
            Access::MultiGet(gets) => gets.spans.clone(),
            Access::PrefixScan(scan) => scan.spans.clone(),
            Access::Index(index) => index.spans.clone(),
            Access::Nothing
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::Count(_)
            | Access::FullScan => Vec::new(),
        }
    }

    /// The names of the keys that are united, each once.
    fn merged_names(&self, merge: &Merge) -> String {
        let mut names: Vec<String> = Vec::new();
        for branch in &merge.branches {
            let path = paths::of_key(self.table, branch.key);
            let name = path.key_name().unwrap_or_default().to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(",")
    }

    /// Whether the values of the first column were found and not given.
    fn is_skipping(&self) -> bool {
        let verdicts = self.plan.verdicts(self.table);
        let mut taken = verdicts.iter().filter(|verdict| verdict.is_taken);
        taken.any(|verdict| matches!(verdict.reason, Reason::Skip { .. }))
    }

    /// The names of the keys that bound what is read, the one that is read among them.
    fn possible_keys(&self) -> Vec<String> {
        let verdicts = self.plan.verdicts(self.table);
        let keyed = verdicts.iter().filter(|verdict| verdict.reason.is_keyed());
        let names = keyed.filter_map(|verdict| verdict.path.key_name());
        names.map(str::to_owned).collect()
    }

    /// The parts of the key that is read, as far as they bound it; all of one that is read whole.
    fn used_parts(&self) -> Vec<KeyPart> {
        let (parts, is_whole) = match self.index() {
            Some((access, index)) => (
                index.entry_parts(self.table),
                access
                    .spans
                    .iter()
                    .any(Span::is_all)
                    .then_some(index.parts.len()),
            ),
            None => (self.table.key.clone(), None),
        };
        let count = is_whole.unwrap_or(self.plan.parts_used.max(1));
        parts.into_iter().take(count).collect()
    }
}

/// `the first of [/1] by index i, then its row`
fn seek_text(seek: &Seek, source: &Source<'_>, zone: &Zone) -> String {
    let end = if seek.is_last { "last" } else { "first" };
    let by = paths::of_key(source.table, seek.key);
    let then = if seek.covering { "" } else { ", then its row" };
    let span = source.span_text(&seek.span, zone);
    format!("the {end} of {span} by {by}{then}")
}

/// What MySQL calls the union: of keys that come in order, or that are sorted first.
fn merge_name(merge: &Merge) -> &'static str {
    let mut branches = merge.branches.iter();
    if merge.kind == MergeKind::Intersection {
        "intersect"
    } else if branches.all(|branch| branch.in_key_order) {
        "union"
    } else {
        "sort_union"
    }
}

/// `[/1], [/3] by index i`
fn branch_text(branch: &MergeBranch, source: &Source<'_>, zone: &Zone) -> String {
    let shown = branch.spans.iter().take(BRANCH_SPANS_SHOWN_MAX);
    let mut texts: Vec<String> = shown.map(|span| source.span_text(span, zone)).collect();
    let hidden = branch.spans.len().saturating_sub(BRANCH_SPANS_SHOWN_MAX);
    if 0 < hidden {
        texts.push(format!("… and {hidden} more"));
    }
    let by = paths::of_key(source.table, branch.key);
    format!("{} by {by}", texts.join(", "))
}

/// MySQL's word for a scan of these spans.
fn span_type(spans: &[Span]) -> &'static str {
    match spans {
        [only] if only.is_all() => "index",
        [only] if only.point().is_some() => "ref",
        _ => "range",
    }
}

#[cfg(test)]
mod tests;
