//! Wrappers around any engine, for the tests of every room, and the contract suite.
//!
//! - [`Recorder`] writes down what an engine was asked to do, as text for goldens;
//! - [`Mirror`] asks two engines and complains when they differ;
//! - [`Faulty`] lets calls fail, the n-th, some chosen by a seed, or those that a full disk refuses.
//!
//! The contract suite is the scripts in `testdata/contract`, run by `contract` on every engine, and
//! the model checker in `model`.

mod faulty;
mod mirror;
mod recorder;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod model;

pub use faulty::{Fault, Faults, Faulty};
pub use mirror::Mirror;
pub use recorder::Recorder;
