//! UNDROP, PURGE, SHOW TRASH: tables that were dropped, and how long they are kept.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::check_not_system;
use crate::catalog::{Fate, Trashed, describe};
use crate::error::{Code, Result};
use crate::exec::ddl;
use crate::session::compile::text;
use crate::session::listing::{LONG_TEXT, Listing, TEXT};
use crate::session::shared::Shared;
use crate::session::{Session, now};
use crate::sql::ast::{Statement, TableName};
use crate::types::{ColumnType, Timestamp, Value};

/// How often tables are looked for whose time is over.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// Milliseconds of a second.
const MS: u64 = 1000;

/// The wall clock, in milliseconds since 1970.
fn now_ms() -> u64 {
    u64::try_from(now().total_micros() / 1000).unwrap_or(0)
}

impl Shared {
    /// What becomes of tables that are dropped now.
    pub(in crate::session) fn fate(&self) -> Fate {
        match self.global_number("trash_retention") {
            0 => Fate::Gone,
            _ => Fate::Trash { now_ms: now_ms() },
        }
    }

    /// Gives up the dropped tables whose time is over.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn sweep_trash(&self) -> Result<usize> {
        let kept_ms = self.global_number("trash_retention").saturating_mul(MS);
        let until = now_ms().saturating_sub(kept_ms);
        let purged = self
            .catalog
            .purge(|trashed| trashed.dropped_ms <= until)
            .await?;
        if 0 < purged {
            tracing::info!(tables = purged, "dropped tables are given up");
        }
        Ok(purged)
    }

    /// Sweeps now and then, for as long as the server is there.
    pub(in crate::session) fn keep_sweeping(shared: &Arc<Shared>) {
        let shared: Weak<Shared> = Arc::downgrade(shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_EVERY).await;
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                if let Err(error) = shared.sweep_trash().await {
                    tracing::warn!(%error, "dropped tables could not be given up");
                }
                shared.catalog.give_back_owed().await;
            }
        });
    }
}

impl Session {
    /// `UNDROP TABLE t [TO u]`.
    pub(in crate::session) async fn undrop(
        &mut self,
        table: &TableName,
        to: Option<&TableName>,
    ) -> Result<()> {
        self.commit_open().await?;
        let database = self.database_or_current(table.database.as_deref())?;
        check_not_system(&database)?;
        let target = match to {
            None => (database.clone(), table.name.clone()),
            Some(to) => {
                ddl::check_identifier(&to.name, Code::WrongTableName)?;
                let database = self.database_or_current(to.database.as_deref())?;
                check_not_system(&database)?;
                (database, to.name.clone())
            }
        };
        let from = (database.as_str(), table.name.as_str());
        self.shared.catalog.undrop(from, target).await.map(drop)
    }

    /// `PURGE TABLE t`: every dropped one of that name. `PURGE TRASH`: all.
    pub(in crate::session) async fn purge(&mut self, table: Option<&TableName>) -> Result<()> {
        self.commit_open().await?;
        let catalog = &self.shared.catalog;
        let Some(table) = table else {
            return catalog.purge(|_| true).await.map(drop);
        };
        let database = self.database_or_current(table.database.as_deref())?;
        catalog.current().trashed(&database, &table.name)?;
        let is_it = |trashed: &Trashed| {
            trashed.table.database == database && trashed.table.name == table.name
        };
        catalog.purge(is_it).await.map(drop)
    }

    /// `SHOW TRASH`: what the user may purge.
    pub(in crate::session) fn show_trash(&mut self) -> Result<Listing> {
        let number = ColumnType::BIGINT_UNSIGNED;
        let moment = ColumnType::Datetime { fsp: 0 };
        let mut listing = Listing::new(&[
            ("Database", TEXT),
            ("Table", TEXT),
            ("Dropped_at", moment.clone()),
            ("Kept_until", moment),
            ("Rows", number.clone()),
            ("Bytes", number),
            ("Create Table", LONG_TEXT),
        ]);
        let kept_ms = self
            .shared
            .global_number("trash_retention")
            .saturating_mul(MS);
        self.renew_rights();
        let definitions = self.shared.catalog.current();
        for trashed in definitions.trash() {
            let name = TableName {
                database: Some(trashed.table.database.clone()),
                name: trashed.table.name.clone(),
            };
            let needs = self.needs(&Statement::Purge(Some(name)))?;
            if self.allow(&needs).is_err() {
                continue;
            }
            let size = trashed.estimate(self.shared.engine.as_ref());
            let create = describe::create_table(&trashed.table, &self.settings.zone);
            listing.push(vec![
                text(Some(trashed.table.database.clone())),
                text(Some(trashed.table.name.clone())),
                self.moment(trashed.dropped_ms),
                self.moment(trashed.dropped_ms.saturating_add(kept_ms)),
                Value::UInt(size.rows),
                Value::UInt(size.bytes),
                text(Some(create)),
            ]);
        }
        Ok(listing)
    }

    /// A time in the session's zone.
    fn moment(&self, ms: u64) -> Value<'static> {
        let micros = i64::try_from(ms.saturating_mul(MS)).unwrap_or(i64::MAX);
        let at = Timestamp::from_micros(micros, 6).map(|at| at.truncate(0));
        let local = at.map(|at| self.settings.zone.to_datetime(at));
        local.map_or(Value::Null, Value::Datetime)
    }
}

#[cfg(test)]
mod tests;
