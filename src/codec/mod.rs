//! Values to stored bytes and back; nothing else in the house does this.
//!
//! - [`key`]: one part of a key, so encoded that bytes are ordered as values are;
//! - [`row`]: the wide row, in which one column is found without decoding its neighbours;
//! - [`keyspace`]: whole keys, the keys of the system space, and their readable text;
//! - [`spread`]: what the first part of a spread key is;
//! - `FORMAT.md`, beside this file, is the system of record: every tag, flag and layout with
//!   vectors, which a test runs.
//!
//! Any bytes decode or are [`Corrupt`]: a decoder never panics, and never skips a tag, flag or
//! version that it does not know. Encoders refuse what they could not read back
//! ([`EncodeError`]). This room does no I/O and knows no table: callers pass the column types.

mod error;
pub mod key;
pub mod keyspace;
pub mod row;
pub mod spread;
mod stored;

#[cfg(test)]
mod format_tests;
#[cfg(test)]
pub(crate) mod test_values;

pub use error::{Corrupt, EncodeError, Found};
