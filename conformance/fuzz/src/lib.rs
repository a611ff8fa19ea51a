//! What the fuzz targets have in common: statements taken from their text as far as they go without
//! data ([`front`]), tables and values to do it with ([`tables`], [`samples`]), and the last input,
//! kept for crashes after which no code runs ([`remember`]).
//!
//! Each target is a file in `targets/`: any bytes in, no panic, no overflow, bounded time and
//! memory, and where two ways lead to one answer, the same answer. `seeds.rs` gathers the inputs
//! they start from; `scripts/fuzz` builds and runs all of it.

pub mod front;
pub mod remember;
pub mod samples;
pub mod tables;
