//! What is worth a word about a table: by its definition ([`lints`]), and by its rows as they are now
//! ([`evidence`]). It looks and tells; it changes nothing, and refuses nothing.

pub mod evidence;
pub mod lints;

pub use evidence::Sample;
pub use lints::{Advice, Lint, of_definition};
