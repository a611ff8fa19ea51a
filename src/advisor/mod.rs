//! What is worth a word about a table: by its definition ([`lints`]), by its rows as they are now
//! ([`evidence`]), and by the statements that were run ([`uses`]). It looks and tells; it changes nothing, and refuses nothing.

pub mod evidence;
pub mod lints;
pub mod uses;

pub use evidence::Sample;
pub use lints::{Advice, Lint, of_definition, of_growth};
pub use uses::of_uses;
