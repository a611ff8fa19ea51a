//! Secondary indexes: what an entry is ([`mod@entry`]) and what the change of a row changes in them
//! ([`mod@changes`]). Pure: nothing here reads or writes storage.

pub mod changes;
pub mod entry;

pub use changes::{Change, change};
pub use entry::{Entry, entry, primary_key, unique_key};

use crate::catalog::Index;
use crate::kv::Space;

/// The storage space of an index.
pub fn space(index: &Index) -> Space {
    Space(index.id.0)
}
