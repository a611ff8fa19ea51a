//! From a predicate to the reads that answer it: cuts, spans, access paths, verdicts, EXPLAIN.
//!
//! Nothing here reads data or waits. In the order of the work: `access` takes a request, `point`
//! answers the commonest shape at once, `candidates` compares the primary key and the indexes
//! (`computed` for those with prefixes, expressions or a condition) by their `merit`,
//! `stand_in` has values for what is not known yet,
//! `doubt` says what to count where that does not tell, `skip` reads keys without their first column,
//! `merge` unites several, `ends` finds `MIN` and `MAX` at the ends of spans, `fan_out` puts the parts of a spread key in order, `paths` tells what became of each, `derive` turns a predicate into spans (`place` and `domain`
//! know the values of one column, `cut` and `span` the keys), `residual` is what must still be
//! checked per row, `order` what the key's order saves, `refusal` and `advice` what a client is
//! told instead of a full scan, `verdict` why, and `explain` shows it all.

pub mod access;
mod advice;
mod candidates;
mod computed;
mod contradiction;
pub mod cut;
pub mod derive;
pub mod domain;
pub mod doubt;
mod ends;
pub mod explain;
pub mod fan_out;
pub mod join;
mod merge;
mod merit;
mod order;
mod paths;
mod place;
mod point;
mod points;
pub mod refusal;
mod request;
pub mod residual;
pub mod skip;
#[cfg(test)]
pub(crate) mod soundness;
pub mod span;
pub mod stand_in;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod values;
pub mod verdict;

pub use access::{
    Access, CLOCK_SKEW_MS_MAX, Ends, Entries, FullScans, IndexAccess, Merge, MergeBranch,
    MergeKind, MultiGet, PointGet, Policy, PrefixScan, Purpose, Request, RowsKept, Seek, TablePlan,
    explain_table, plan_table,
};
pub use cut::{Cut, KeyParts};
pub use doubt::{Counted, Crossing, Doubt, Estimate, Estimates};
pub use explain::{Explained, Format, explain};
pub use point::{may_be_point, point_key};
pub use skip::Distinct;
pub use span::Span;
