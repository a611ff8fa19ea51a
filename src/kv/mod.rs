//! The kv room.
