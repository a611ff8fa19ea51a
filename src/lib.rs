//! Meseta: a SQL wide-table server that speaks the MySQL protocol.
//!
//! The rooms, in rank order; a room imports only from rooms above it in this list:
//! [`error`], [`types`], [`codec`] and [`kv`], [`catalog`] and [`protocol`], `index`, [`sql`],
//! [`plan`], [`exec`], [`session`], [`server`], [`config`], `main`.

pub mod catalog;
pub mod codec;
pub mod config;
pub mod error;
pub mod exec;
pub mod kv;
pub mod plan;
pub mod protocol;
pub mod server;
pub mod session;
pub mod sql;
pub mod types;
