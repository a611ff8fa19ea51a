//! The sql room.
