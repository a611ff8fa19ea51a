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

    /// What it is about: its kind, and the variable.
    fn thing(&self) -> (u8, &'static str) {
        let name = match self {
            Change::Variable { name, .. } => name,
            Change::Schema(_)
            | Change::State
            | Change::Characteristics(_)
            | Change::Transaction(_) => "",
        };
        (self.kind(), name)
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

/// Changes that were not told yet: the last one about each thing. Many statements may run before there is
/// an OK packet to tell them, so there are no more of them than there are things that change.
#[derive(Debug, Default)]
pub struct Untold {
    /// In the order in which they are told.
    changes: Vec<Change>,
}

impl Untold {
    /// One more, in place of the one about the same thing.
    pub fn add(&mut self, change: Change) {
        let thing = change.thing();
        match self.changes.binary_search_by(|old| old.thing().cmp(&thing)) {
            Ok(at) => {
                if let Some(old) = self.changes.get_mut(at) {
                    *old = change;
                }
            }
            Err(at) => self.changes.insert(at, change),
        }
    }

    /// All, in the form that an OK packet carries behind their length; from now on there are none. Hot:
    /// nothing is allocated when there are none.
    pub fn told(&mut self) -> Vec<u8> {
        let (mut out, mut data) = (Vec::new(), Vec::new());
        for change in std::mem::take(&mut self.changes) {
            data.clear();
            change.put_data(&mut data);
            out.push(change.kind());
            put_lenenc(&mut out, u64::try_from(data.len()).unwrap_or(u64::MAX));
            out.extend_from_slice(&data);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(changes: &[Change]) -> String {
        let mut untold = Untold::default();
        for change in changes {
            untold.add(change.clone());
        }
        let told = untold.told().escape_ascii().to_string();
        assert!(untold.told().is_empty(), "they are told once");
        told
    }

    fn autocommit(value: &str) -> Change {
        Change::Variable {
            name: "autocommit",
            value: value.to_owned(),
        }
    }

    #[test]
    fn changes_are_encoded_as_mysql_does() {
        let told = told(&[
            autocommit("OFF"),
            Change::Schema("test".to_owned()),
            Change::State,
            Change::Characteristics(String::new()),
            Change::Transaction("T_______".to_owned()),
        ]);
        let wanted = b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04test\x02\x02\x011\x04\x01\0\
                       \x05\x09\x08T_______";
        assert_eq!(told, wanted.escape_ascii().to_string());
    }

    #[test]
    fn of_each_thing_the_last_change_is_told() {
        let many = [
            Change::State,
            autocommit("OFF"),
            Change::Schema("a".to_owned()),
            Change::State,
            Change::Schema("b".to_owned()),
            autocommit("ON"),
        ];
        let once = [
            autocommit("ON"),
            Change::Schema("b".to_owned()),
            Change::State,
        ];
        assert_eq!(told(&many), told(&once));
    }
}
