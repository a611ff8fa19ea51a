//! From SQL text to bound statements, and the evaluation of expressions.
//!
//! `parse` (a parser of our own) makes an `ast`; `bind` looks names up and
//! makes [`bound`] statements over [`expr`]; `eval` evaluates them with `functions`. `computed` is
//! what indexes compute.

pub mod aggregate;
pub mod ast;
pub mod bind;
pub mod bound;
pub mod computed;
pub mod context;
pub mod eval;
pub mod expr;
pub mod functions;
pub mod listed;
pub mod members;
pub mod parse;
pub mod used;
