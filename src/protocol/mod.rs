//! MySQL's client/server protocol, as bytes and nothing else.
//!
//! This room turns bytes into packets and commands, and results into packets. It does no I/O,
//! waits for nothing, and knows no session, table or statement: `server` moves the bytes and
//! `session` gives the answers. It is the only room that knows what a packet looks like.
//!
//! In reading order: [`wire`] (integers and strings), [`packet`] (framing in both directions),
//! [`compression`], [`capabilities`], [`auth`], [`handshake`], [`command`], [`parameters`] (of EXECUTE), [`reply`]
//! (OK, ERR, EOF), [`tracking`] (what an OK says of the session), [`mod@column`], [`row`], [`fuzz`].
//!
//! Source: MySQL Server Doxygen documentation, "Client/Server Protocol".

pub mod auth;
mod calendar;
pub mod capabilities;
pub mod column;
pub mod command;
pub mod compression;
mod crypt;
pub mod fuzz;
pub mod handshake;
mod number;
pub mod packet;
pub mod parameters;
pub mod reply;
pub mod row;
#[cfg(test)]
mod tests;
pub mod tracking;
pub mod wire;

pub use auth::{Password, Plugin, Salt};
pub use capabilities::{Capabilities, Status};
pub use command::Command;
pub use packet::{PacketReader, PacketWriter};
pub use row::RowEncoder;
