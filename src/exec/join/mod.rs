//! Joins: the rows of several sources, a batch at a time.
//!
//! A joined row is one [`Piece`] per source: the values of those of its columns that the statement
//! uses. `shape` says where in the pieces a column of the row is, `unit` reads the rows of one
//! source or of a join within the join, `lookup` finds them by keys for a batch of rows (`probes`, `probed`), `hash` keeps
//! them by their values, in files where they are too many (`parted`), `asked` has subqueries answered that tell what a
//! match is, and `rows` goes from step to step of the plan, each of which is `running`.

mod asked;
mod each;
mod facts;
mod hash;
mod listed;
mod lookup;
mod parted;
mod probed;
mod probes;
mod rows;
mod running;
mod shape;
mod unit;

pub use facts::{Planned, plan_pool, planned};
pub use rows::JoinRows;
pub use shape::{Batch, JoinedRow, Kind, Piece, Row, Shape};
