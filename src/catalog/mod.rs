//! Definitions of databases and tables: what they are (`schema`), the shared immutable version of
//! all of them, and how they are kept on disk.

pub mod schema;

pub use schema::{Column, ColumnDefault, KeyPart, Table, TableId};
