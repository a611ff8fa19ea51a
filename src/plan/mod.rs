//! From a predicate to the reads that answer it: cuts, spans, access paths, verdicts, EXPLAIN.
//!
//! Nothing here reads data or waits. `cut` is a position between keys, `span` a range of keys,
//! `derive` turns a predicate into spans, `residual` is what must still be checked per row,
//! `access` chooses how a table is read (and writes down why), `refusal` and `explain` tell it.

pub mod access;
pub mod cut;
pub mod span;

pub use access::{Access, Policy, Purpose, Request, TablePlan, plan_table};
pub use cut::{Cut, KeyParts};
pub use span::Span;
