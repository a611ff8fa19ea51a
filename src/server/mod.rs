//! The server: it listens, limits how many connect, moves bytes between sockets and sessions, and
//! stops in an orderly way.
//!
//! Nothing here knows SQL or rows; what a packet means is in `protocol`, what to answer in
//! `session`. In reading order: [`listener`] (accept, limit, stop), `connection` (the
//! loop over commands), and what it stands on: `wire` (one socket's input and output), `source`, `peer`, `gone`, `channel` and
//! `tls` (encryption), `squeeze` (compression), `login` with `keys`, `throttle` and `seats`, `queries`, `prepared`, `cursor`,
//! `reports`, `rows`, `files`, `unaccepted`, `signals`, and [`again`]. [`http`] is a door of its own, for instruments.

pub mod again;
mod channel;
mod connection;
mod cursor;
mod files;
mod gone;
pub mod http;
mod keys;
pub mod listener;
mod local_file;
mod login;
mod long;
mod peer;
mod prepared;
mod queries;
mod reports;
mod rows;
mod seats;
mod signals;
mod source;
mod squeeze;
#[cfg(test)]
mod tests;
mod throttle;
mod tls;
mod unaccepted;
mod wire;

pub use files::raise_files_limit;
pub use http::Http;
pub use listener::{Options, Server, Stored, listen};
pub use signals::Signals;
