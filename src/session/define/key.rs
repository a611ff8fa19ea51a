//! `ALTER TABLE t PRIMARY KEY (…)`: the shadow is announced, filled while others read and write, and
//! put in the place of the table.

use std::sync::Arc;

use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::backfill::Job;
use crate::exec::ddl::alter::key::{self, Asked};
use crate::session::Session;

impl Session {
    /// Waits until the rows lie in the order of the new key. A KILL leaves the table as it was.
    pub(super) async fn alter_key(
        &mut self,
        (database, name): &(String, String),
        asked: Asked<'_>,
    ) -> Result<()> {
        let ctx = self.context(Arc::default());
        let old = self.table(Some(database), name)?;
        let Some(wanted) = key::define(&old, asked, &ctx)? else {
            return Ok(());
        };
        let job = match &old.shadow {
            // It goes on since the server was started; who asks for the same waits for it.
            Some(shadow) if shadow.key == wanted.key => self.shared.backfill.rekey(&old, shadow.id),
            Some(_) | None => self.begin_rekey((database, name), asked).await?,
        };
        self.await_builds(&[job]).await?;
        self.warn_of_lints_of((database, name), Some(&old));
        Ok(())
    }

    async fn begin_rekey(
        &self,
        (database, name): (&str, &str),
        asked: Asked<'_>,
    ) -> Result<Arc<Job>> {
        let ctx = self.context(Arc::default());
        let define = |table: &Table| {
            let wanted = key::define(table, asked, &ctx)?;
            wanted.ok_or_else(crate::exec::transaction::definition_changed)
        };
        let catalog = &self.shared.catalog;
        let table = catalog.begin_rekey((database, name), define).await?;
        let shadow = table.shadow.as_ref();
        let shadow = shadow.ok_or_else(|| Error::internal("a shadow was not announced"))?;
        Ok(self.shared.backfill.rekey(&table, shadow.id))
    }
}
