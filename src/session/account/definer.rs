//! Accounts that views are made for: they cannot go while the views are there.

use crate::accounts::AccountName;
use crate::error::{Code, Error, Result};
use crate::session::Session;

impl Session {
    /// Accounts that views are made for stay: who had the name next would have those views.
    ///
    /// # Errors
    /// 4006.
    pub(super) fn make_no_views(&self, names: &[AccountName]) -> Result<()> {
        let catalog = self.shared.catalog.current();
        for database in catalog.databases() {
            for view in catalog.views(database)? {
                let (user, host) = &view.definer;
                if let Some(name) = names
                    .iter()
                    .find(|one| **one == AccountName::new(user, host))
                {
                    let quoted = name.quoted().replace('`', "'");
                    let text =
                        format!("User {quoted} is referenced as a definer account in a view.");
                    return Err(Error::new(Code::DefinerInUse, text));
                }
            }
        }
        Ok(())
    }
}
