//! The exec room.
