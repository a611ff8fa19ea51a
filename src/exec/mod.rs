//! Running bound statements: reads as streams of pages, writes as one atomic write set.
//!
//! `exec` never chooses an access path; it asks `plan` and does what it says. `read` fetches rows,
//! `select` makes a result of them, `join` and `query` put those of several tables and queries
//! together, `ask` answers subqueries, `explain` shows plans and `meter` what they took, `write` changes them, `locks` and `view` are what a
//! transaction is made of.

mod ahead;
pub mod ask;
pub mod backfill;
pub mod budget;
pub mod cancel;
pub mod check;
pub mod counters;
pub mod ddl;
pub mod distinct;
pub mod elsewhere;
mod ends;
pub mod exact;
mod expand;
pub mod explain;
mod fan;
mod gather;
pub mod group;
mod growth;
mod heads;
pub mod ids;
pub mod join;
pub mod key_table;
pub mod locks;
mod lookup;
pub mod merge;
pub mod meter;
mod named;
pub mod nest;
pub mod pace;
pub mod partition;
pub mod probe;
pub mod query;
pub mod read;
pub mod ready;
pub mod row;
pub mod rows;
pub mod sample;
pub mod select;
pub mod sort;
pub mod spill;
pub(crate) mod testing;
pub mod textfile;
pub mod timeline;
pub mod transaction;
pub mod tuple;
pub mod uses;
pub mod view;
pub mod waits;
pub mod why;
pub mod window;
mod woven;
pub mod write;

#[cfg(test)]
mod access_tests;
#[cfg(test)]
mod advice_tests;
#[cfg(test)]
mod spread_tests;
