//! The exec room.

pub mod cancel;
pub mod rows;
