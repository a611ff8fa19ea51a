//! Every key that is written, in physical order, and the way back. No other file concatenates
//! key parts.
//!
//! ```text
//!  space of a table    the parts of the primary key
//!  system space        01 name of a database
//!                      02 id of a table (4 bytes, big-endian)
//!                      03 id of an index that is being built (likewise)
//!                      04 id of a table that was dropped and can come back (likewise)
//!                      05 name of a database, 00, name of a view in it
//!                      06 user of an account, a zero byte, its host
//!                      08 id of a table whose ids are counted (4 bytes, big-endian)
//!                      09 name of a system variable
//! ```
//!
//! Which space a key lies in is not in the key: the storage contract addresses spaces beside it.
//! The text of a key is made in [`mod@print`] and nowhere else.

#![expect(
    clippy::big_endian_bytes,
    reason = "system keys are big-endian, so that bytes order as numbers"
)]

pub mod print;

#[cfg(test)]
mod tests;

use super::key::{self, Direction};
use super::{Corrupt, EncodeError};
use crate::types::{ColumnType, Value};

pub use print::{format_key, format_part};

/// The key of a row: its parts in key order.
///
/// # Errors
/// Those of [`key::encode_part`].
pub fn row_key<'v>(
    parts: impl IntoIterator<Item = (&'v Value<'v>, &'v ColumnType, Direction)>,
) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::with_capacity(32);
    for (value, ty, direction) in parts {
        push_key_part(&mut out, value, ty, direction)?;
    }
    Ok(out)
}

/// Appends the next part to a key in the making.
///
/// # Errors
/// Those of [`key::encode_part`].
pub fn push_key_part(
    key: &mut Vec<u8>,
    value: &Value<'_>,
    ty: &ColumnType,
    direction: Direction,
) -> Result<(), EncodeError> {
    key::encode_part(key, value, ty, direction)
}

/// The values of a key's parts. All bytes must be used.
///
/// # Errors
/// [`Corrupt`] when the bytes are no key of these parts.
pub fn decode_row_key<'a>(
    key: &'a [u8],
    parts: impl IntoIterator<Item = (&'a ColumnType, Direction)>,
) -> Result<Vec<Value<'a>>, Corrupt> {
    let mut rest = key;
    let mut values = Vec::new();
    for (ty, direction) in parts {
        let at = key.len() - rest.len();
        let decoded = key::decode_part(rest, ty, direction);
        let (value, behind) = decoded.map_err(|corrupt| corrupt.shifted(at))?;
        values.push(value);
        rest = behind;
    }
    if rest.is_empty() {
        return Ok(values);
    }
    Err(Corrupt::bad(
        key.len() - rest.len(),
        "bytes behind the end of a key",
    ))
}

/// A key of the system space, where definitions are kept. Databases sort before tables and views.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SystemKey {
    /// The database of this name.
    Database(String),
    /// The table of this id.
    Table(u32),
    /// How far the index of this id is built.
    Build(u32),
    /// The dropped table of this id.
    Trash(u32),
    /// The account of this user at this host. A user has no zero byte.
    Account(String, String),
    /// How far the ids of the table of this id are given out.
    Counter(u32),
    /// The value that a system variable was given to keep.
    Variable(String),
    /// A view.
    View {
        /// The name of its database, without a zero character.
        database: String,
        /// Its own.
        name: String,
    },
}

/// The first byte of a system key.
const DATABASE: u8 = 0x01;
const TABLE: u8 = 0x02;
const BUILD: u8 = 0x03;
const TRASH: u8 = 0x04;
const ACCOUNT: u8 = 0x06;
const VIEW: u8 = 0x05;
const COUNTER: u8 = 0x08;
const VARIABLE: u8 = 0x09;

/// Ends the name of a view's database.
const NAME_END: u8 = 0x00;

impl SystemKey {
    /// The stored key.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            SystemKey::Database(name) => named(DATABASE, name),
            SystemKey::Variable(name) => named(VARIABLE, name),
            SystemKey::Table(id) => numbered(TABLE, *id),
            SystemKey::Build(id) => numbered(BUILD, *id),
            SystemKey::Counter(id) => numbered(COUNTER, *id),
            SystemKey::Trash(id) => numbered(TRASH, *id),
            SystemKey::Account(user, host) => {
                let mut key = vec![ACCOUNT];
                key.extend_from_slice(user.as_bytes());
                key.push(0);
                key.extend_from_slice(host.as_bytes());
                key
            }
            SystemKey::View { database, name } => {
                let mut key = vec![VIEW];
                key.extend_from_slice(database.as_bytes());
                key.push(NAME_END);
                key.extend_from_slice(name.as_bytes());
                key
            }
        }
    }

    /// The key of stored bytes.
    ///
    /// # Errors
    /// [`Corrupt`] for bytes that [`SystemKey::encode`] does not make.
    pub fn decode(bytes: &[u8]) -> Result<SystemKey, Corrupt> {
        let Some((kind, rest)) = bytes.split_first() else {
            return Err(Corrupt::missing(0));
        };
        match *kind {
            DATABASE => Ok(SystemKey::Database(text_at(1, rest)?)),
            TABLE => Ok(SystemKey::Table(number(rest)?)),
            BUILD => Ok(SystemKey::Build(number(rest)?)),
            TRASH => Ok(SystemKey::Trash(number(rest)?)),
            ACCOUNT => account(rest),
            COUNTER => Ok(SystemKey::Counter(number(rest)?)),
            VARIABLE => Ok(SystemKey::Variable(text_at(1, rest)?)),
            VIEW => {
                let end = rest.iter().position(|byte| *byte == NAME_END);
                let end = end.ok_or_else(|| Corrupt::missing(bytes.len()))?;
                let (database, name) = rest.split_at(end);
                Ok(SystemKey::View {
                    database: text_at(1, database)?,
                    name: text_at(end + 2, name.get(1..).unwrap_or_default())?,
                })
            }
            unknown => Err(Corrupt::byte(0, unknown, "the kind of a system key")),
        }
    }
}

/// The account named by what stands behind the kind.
fn account(rest: &[u8]) -> Result<SystemKey, Corrupt> {
    let text =
        std::str::from_utf8(rest).map_err(|_| Corrupt::bad(1, "a name that is not UTF-8"))?;
    let Some((user, host)) = text.split_once('\0') else {
        return Err(Corrupt::missing(1 + rest.len()));
    };
    Ok(SystemKey::Account(user.to_owned(), host.to_owned()))
}

fn named(kind: u8, name: &str) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(name.as_bytes());
    key
}

fn numbered(kind: u8, id: u32) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&id.to_be_bytes());
    key
}

/// A name, which begins at that byte of the key.
fn text_at(at: usize, bytes: &[u8]) -> Result<String, Corrupt> {
    match std::str::from_utf8(bytes) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(Corrupt::bad(at, "a name that is not UTF-8")),
    }
}

fn number(bytes: &[u8]) -> Result<u32, Corrupt> {
    match bytes.try_into() {
        Ok(id) => Ok(u32::from_be_bytes(id)),
        Err(_) => Err(Corrupt::bad(1, "an id that is not of four bytes")),
    }
}
