//! The catalog room.
