//! What a client that asked for it is told of changes of its session: its variables, its database,
//! its transaction. Drivers trust it instead of asking.
//!
//! What it is told of is up to the variables `session_track_…`. Changes are gathered here while a
//! statement runs, and taken when an OK packet can say them. Clients that did not ask have no
//! [`Track`].
//!
//! Source: MySQL 8.0 Reference Manual, "Server Tracking of Client Session State".

use super::set::isolation_name;
use super::transaction::Next;
use super::{Reply, Session, show};
use crate::protocol::tracking::Change;
use crate::sql::ast::{AccessMode, Begin};
use crate::sql::context::SessionFacts;
use crate::sql::expr::VariableScope;
use crate::types::Value;

/// What was not told yet, and what of the transaction was told last.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// System variables that were set, by name.
    variables: Vec<String>,
    schema: bool,
    state: bool,
    info: Info,
    open: Open,
    /// What was told of the transaction: its characteristics and its state. `None` before.
    told: Option<(String, String)>,
}

/// `session_track_transaction_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Info {
    #[default]
    Off,
    State,
    Characteristics,
}

/// The open transaction.
#[derive(Debug, Default)]
struct Open {
    /// Whether it was begun by a statement, and if so, whether its snapshot was to be taken at once.
    begun: Option<bool>,
    reads: bool,
    writes: bool,
    rows: bool,
}

/// What a statement did in its transaction.
#[derive(Debug, Clone, Copy)]
pub(super) enum Access {
    /// It read tables.
    Reads,
    /// It wrote rows.
    Writes,
    /// It gave rows.
    Rows,
}

impl Open {
    /// A letter at each thing's place: begun, read, written, rows given. The places of tables
    /// without transactions, of unsafe statements and of locked tables stay empty: there are none.
    fn state(&self, is_open: bool) -> String {
        if !is_open {
            return "________".to_owned();
        }
        let letter = |holds: bool, letter: char| if holds { letter } else { '_' };
        let begun = if self.begun.is_some() { 'T' } else { 'I' };
        [
            begun,
            '_',
            letter(self.reads, 'R'),
            '_',
            letter(self.writes, 'W'),
            '_',
            letter(self.rows, 'S'),
            '_',
        ]
        .into_iter()
        .collect()
    }
}

/// What would have to be sent again to begin such a transaction: that was begun by a statement
/// (`Some` with whether its snapshot was to be taken at once), or is to come.
fn characteristics(next: Next, begun: Option<bool>) -> String {
    let mut statements = Vec::new();
    if let Some(isolation) = next.isolation {
        let level = isolation_name(isolation).replace('-', " ");
        statements.push(format!("SET TRANSACTION ISOLATION LEVEL {level};"));
    }
    let access = next.access.map(|access| match access {
        AccessMode::ReadOnly => "READ ONLY",
        AccessMode::ReadWrite => "READ WRITE",
    });
    if let Some(has_snapshot) = begun {
        let snapshot = has_snapshot.then_some("WITH CONSISTENT SNAPSHOT");
        let words: Vec<&str> = snapshot.into_iter().chain(access).collect();
        let space = if words.is_empty() { "" } else { " " };
        statements.push(format!("START TRANSACTION{space}{};", words.join(", ")));
    } else if let Some(access) = access {
        statements.push(format!("SET TRANSACTION {access};"));
    }
    statements.join(" ")
}

impl Session {
    /// What has changed since this was last asked, as far as the client wants to know.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let is_open = self.transaction.is_some();
        let next = self.next;
        let Some(track) = &mut self.track else {
            return Vec::new();
        };
        if !is_open {
            track.open = Open::default();
        }
        let mut changes = Vec::new();
        if !track.variables.is_empty() {
            let set = std::mem::take(&mut track.variables);
            changes = self.changed_variables(&set);
        }
        let Some(track) = &mut self.track else {
            return changes;
        };
        if std::mem::take(&mut track.schema) && is_on(&*self.state, "session_track_schema") {
            let database = self.state.database().unwrap_or_default();
            changes.push(Change::Schema(database));
        }
        if std::mem::take(&mut track.state) && is_on(&*self.state, "session_track_state_change") {
            changes.push(Change::State);
        }
        track.tell_transaction((is_open, next), &mut changes);
        changes
    }

    /// The variables that are told of, of those that were set.
    fn changed_variables(&self, set: &[String]) -> Vec<Change> {
        let told = self
            .state
            .system_variable(VariableScope::Any, "session_track_system_variables");
        let told = told.map(|words| words.to_text().into_owned());
        let told = told.unwrap_or_default();
        let is_told = |name: &str| {
            let mut words = told.split(',').map(str::trim);
            words.any(|word| word == "*" || word.eq_ignore_ascii_case(name))
        };
        let values = self.state.variables(VariableScope::Session).into_iter();
        let of_interest =
            values.filter(|(name, _)| is_told(name) && set.iter().any(|one| one == name));
        let of_interest: Vec<(&'static str, Value<'static>)> = of_interest.collect();
        let names: Vec<&'static str> = of_interest.iter().map(|(name, _)| *name).collect();
        let shown = show::variables(of_interest).into_iter();
        let shown = names.into_iter().zip(shown);
        shown
            .map(|(name, (_, value))| Change::Variable { name, value })
            .collect()
    }

    /// A system variable of the session was set.
    pub(super) fn track_variable(&mut self, name: &str) {
        let Some(track) = &mut self.track else {
            return;
        };
        let name = name.to_ascii_lowercase();
        if !track.variables.contains(&name) {
            track.variables.push(name);
        }
        track.state = true;
    }

    /// Another database may be current.
    pub(super) fn track_schema(&mut self) {
        if let Some(track) = &mut self.track {
            track.schema = true;
            track.state = true;
        }
    }

    /// Something has changed that a new session would not have.
    pub(super) fn track_state(&mut self) {
        if let Some(track) = &mut self.track {
            track.state = true;
        }
    }

    /// Variables were set: what is told of transactions may be another thing.
    pub(super) fn track_settings(&mut self) {
        let Some(track) = &mut self.track else {
            return;
        };
        let info = self
            .state
            .system_variable(VariableScope::Any, "session_track_transaction_info");
        let info = info.map(|word| word.to_text().into_owned());
        let info = match info.as_deref() {
            Ok("STATE") => Info::State,
            Ok("CHARACTERISTICS") => Info::Characteristics,
            Ok(_) | Err(_) => Info::Off,
        };
        if info != track.info {
            track.info = info;
            track.told = None;
        }
    }

    /// A statement has begun a transaction.
    pub(super) fn track_begin(&mut self, begin: &Begin) {
        if let Some(track) = &mut self.track {
            track.open = Open {
                begun: Some(begin.consistent_snapshot),
                ..Open::default()
            };
        }
    }

    /// A statement has this answer.
    pub(super) fn track_reply(&mut self, reply: &Reply) {
        match reply {
            Reply::Rows(_) => self.track_access(Access::Rows),
            // A file tells when its rows are written.
            Reply::Done(_) | Reply::File(_) => {}
        }
    }

    /// A statement that succeeded did something.
    pub(super) fn track_access(&mut self, access: Access) {
        let Some(track) = &mut self.track else {
            return;
        };
        match access {
            Access::Reads => track.open.reads = true,
            Access::Writes => track.open.writes = true,
            Access::Rows => track.open.rows = true,
        }
    }

    /// `COM_RESET_CONNECTION`: the variables that had been set are as they were.
    pub(super) fn track_reset(&mut self, variables: &[&'static str]) {
        for name in variables {
            self.track_variable(name);
        }
        self.track_settings();
    }
}

impl Track {
    fn tell_transaction(&mut self, (is_open, next): (bool, Next), changes: &mut Vec<Change>) {
        if self.info == Info::Off {
            return;
        }
        let begun = characteristics(next, self.open.begun);
        let state = self.open.state(is_open);
        let (told_begun, told_state) = match &self.told {
            Some((begun, state)) => (Some(begun), Some(state)),
            None => (None, None),
        };
        if self.info == Info::Characteristics && told_begun != Some(&begun) {
            changes.push(Change::Characteristics(begun.clone()));
        }
        if told_state != Some(&state) {
            changes.push(Change::Transaction(state.clone()));
        }
        self.told = Some((begun, state));
    }
}

fn is_on(state: &dyn SessionFacts, name: &str) -> bool {
    let value = state.system_variable(VariableScope::Any, name);
    matches!(value, Ok(Value::Int(1)))
}
