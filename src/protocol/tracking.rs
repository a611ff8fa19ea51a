//! What an OK packet says of changes of the session, to clients with
//! [`SESSION_TRACK`](super::Capabilities::SESSION_TRACK).
//!
//! Not here: what has changed, and who wants to know of it (`session::track`).
//!
//! Source: MySQL Server Doxygen documentation, "`OK_Packet`", Session State Information.

use super::wire::{put_lenenc, put_lenenc_bytes};

/// One change of a session's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A system variable was set.
    Variable {
        /// Its name.
        name: &'static str,
        /// Its value, as `SHOW VARIABLES` shows it.
        value: String,
    },
    /// Another database is current; empty for none.
    Schema(String),
    /// Something has changed that a new connection would not have.
    State,
    /// The statements that begin a transaction like the open one; empty for none.
    Characteristics(String),
    /// What the open transaction has done, a letter or `_` for each thing that it can have done.
    Transaction(String),
}

impl Change {
    /// The number of `enum_session_state_type`.
    fn kind(&self) -> u8 {
        match self {
            Change::Variable { .. } => 0,
            Change::Schema(_) => 1,
            Change::State => 2,
            Change::Characteristics(_) => 4,
            Change::Transaction(_) => 5,
        }
    }

    fn put_data(&self, out: &mut Vec<u8>) {
        match self {
            Change::Variable { name, value } => {
                put_lenenc_bytes(out, name.as_bytes());
                put_lenenc_bytes(out, value.as_bytes());
            }
            Change::Schema(text) | Change::Characteristics(text) | Change::Transaction(text) => {
                put_lenenc_bytes(out, text.as_bytes());
            }
            Change::State => put_lenenc_bytes(out, b"1"),
        }
    }
}

/// Appends changes, in the form that an OK packet carries behind their length.
pub fn put_changes(out: &mut Vec<u8>, changes: &[Change]) {
    let mut data = Vec::new();
    for change in changes {
        data.clear();
        change.put_data(&mut data);
        out.push(change.kind());
        put_lenenc(out, u64::try_from(data.len()).unwrap_or(u64::MAX));
        out.extend_from_slice(&data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_encoded_as_mysql_does() {
        let mut out = Vec::new();
        put_changes(
            &mut out,
            &[
                Change::Variable {
                    name: "autocommit",
                    value: "OFF".to_owned(),
                },
                Change::Schema("test".to_owned()),
                Change::State,
                Change::Characteristics(String::new()),
                Change::Transaction("T_______".to_owned()),
            ],
        );
        let wanted = b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04test\x02\x02\x011\x04\x01\0\
                       \x05\x09\x08T_______";
        assert_eq!(
            out.escape_ascii().to_string(),
            wanted.escape_ascii().to_string()
        );
    }
}
