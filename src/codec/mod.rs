//! The codec room.
