//! KILL: ends a statement or a connection, one's own too.

use super::guard::KILLERS;
use super::{Session, processes};
use crate::error::{Code, Error, Result};
use crate::exec::cancel::Stop;
use crate::sql::ast::Kill;

impl Session {
    pub(super) fn kill(&mut self, kill: &Kill) -> Result<()> {
        let id = self.constant(&kill.id)?.to_text().into_owned();
        let unknown = || {
            let text = format!("Unknown thread id: {id}");
            Error::new(Code::NoSuchThread, text)
        };
        let number = id.parse().map_err(|_| unknown())?;
        let what = if kill.query {
            processes::Kill::Query
        } else {
            processes::Kill::Connection
        };
        let processes = self.shared.processes();
        let owner = processes.user_of(number).ok_or_else(unknown)?;
        if owner != self.client.user && !self.holds_any(KILLERS) {
            let text = format!("You are not owner of thread {number}");
            return Err(Error::new(Code::KillDenied, text));
        }
        if number == self.client.connection_id {
            // Who ends itself is told so instead of an OK.
            if !kill.query {
                self.cancel.stop(Stop::Released);
            }
            return Err(Stop::Query.error());
        }
        processes.kill(number, what)
    }
}
