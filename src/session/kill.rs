//! KILL: ends a statement or a connection, one's own too; and builds that no statement waits for.

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
        let not_owner = || {
            let text = format!("You are not owner of thread {number}");
            Error::new(Code::KillDenied, text)
        };
        if let Some(build) = self.shared.backfill.numbered(number) {
            // Nobody owns it.
            return if self.holds_any(KILLERS) {
                build.kill();
                Ok(())
            } else {
                Err(not_owner())
            };
        }
        let processes = self.shared.processes();
        let owner = processes.user_of(number).ok_or_else(unknown)?;
        if owner != self.client.user && !self.holds_any(KILLERS) {
            return Err(not_owner());
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
