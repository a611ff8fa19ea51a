//! The codec room.
pub mod key;
pub mod row;
