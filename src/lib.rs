//! Meseta: a SQL wide-table server that speaks the MySQL protocol.
//!
//! # The rooms
//!
//! In rank order; a file imports only from its own room and from rooms of lower rank (a test,
//! `tidy`, holds this list).
//!
//! | rank | room | what it knows, and alone knows |
//! |---|---|---|
//! | 0 | [`error`] | errno, SQLSTATE and who must act |
//! | 0 | [`tally`] | counters that many threads count in |
//! | 0 | [`program`] | how this program begins anew in its own place |
//! | 0 | [`leisure`] | which threads give way to short statements, and how |
//! | 1 | [`ceiling`] | how much memory the process has, and the most it may have |
//! | 1 | [`types`] | values, their order, MySQL's conversions |
//! | 2 | [`codec`] | how values become stored bytes (`codec/FORMAT.md`) |
//! | 2 | [`kv`] | ordered bytes to bytes: the contract, and the engines behind it |
//! | 3 | [`catalog`] | definitions of tables, their versions, their text |
//! | 3 | [`protocol`] | packets; never sessions |
//! | 4 | [`accounts`] | users, roles, privileges; never statements |
//! | 5 | [`index`] | what an index entry is, and which entries the change of a row changes |
//! | 6 | [`sql`] | text to syntax tree to bound statement; evaluation |
//! | 7 | [`plan`] | predicate to spans to access path, with reasons; never data |
//! | 8 | [`exec`] | runs what was planned; never chooses |
//! | 9 | [`advisor`] | what is worth a word about a table; it changes nothing |
//! | 9 | [`upkeep`] | what is done to a data directory or a backup that no server has open |
//! | 10 | [`session`] | one connection's transaction, variables, prepared statements |
//! | 11 | [`server`] | accepts, limits, stops |
//! | 12 | [`config`] | one table of options |
//!
//! # The life of a SELECT
//!
//! `SELECT name FROM users WHERE tenant = 7 AND id IN (3, 5) AND age > 30`, key `(tenant, id)`.
//!
//! 1. [`server`] reads a packet, [`protocol`] makes a command of it.
//! 2. [`session`] picks the definitions of now; `sql::parse` makes a tree, `sql::bind` turns names
//!    into positions (1054 ends here).
//! 3. `plan::derive` turns the predicate into spans `[/7/3]` and `[/7/5]` and the residual filter
//!    `age > 30`; `plan::access` sees that both are full keys: a multi-get.
//! 4. `exec::read` fetches the encoded rows of one snapshot, page by page; `exec::select`
//!    evaluates the filter on the bytes, touching `age` alone.
//! 5. [`protocol`] copies `name` from the row's bytes into the packet; the connection flushes per
//!    page, so a slow client slows the scan and not the memory.
//!
//! # The life of an UPSERT
//!
//! 1. Parsed and bound as above; each value is converted to its column's type (`types::coerce`).
//! 2. `exec::write` reads old rows only if something needs them; a write that gives every column
//!    is blind, unless an index has an entry of the old row. Rows that are read are locked first
//!    (`exec::locks`).
//! 3. [`index`] says which entries go, come or change with each row; a new entry of a unique index must
//!    be free (1062 ends here).
//! 4. The statement's writes, entries included, become one [`kv::WriteSet`] that says what must be
//!    unchanged. It passes the gate of the [`catalog`], so that it is not written with a definition
//!    that has changed meanwhile; the engine's committer checks it, writes it with others in one
//!    batch, syncs once, and answers.
//! 5. A conflict starts an autocommit statement over from a newer snapshot, a changed definition has
//!    it bound again; a transaction gets 1213 or 1412.

pub mod accounts;
pub mod advisor;
pub mod catalog;
pub mod ceiling;
pub mod codec;
pub mod config;
pub mod error;
pub mod exec;
pub mod index;
pub mod kv;
pub mod leisure;
pub mod plan;
pub mod program;
pub mod protocol;
pub mod server;
pub mod session;
pub mod sql;
pub mod tally;
mod tidy;
pub mod types;
pub mod upkeep;
