//! Whether a session may run a statement.
//!
//! [`kind`](mod@kind) is the table of statements and privileges; [`needs`] makes of a statement what
//! it needs, with names resolved; here that is compared with what the session has. A session's
//! rights are worked out again when the accounts have changed, which is noticed by a number before
//! each statement; what a prepared statement needs is compared again only then.
//!
//! Source of the errors: MySQL 8.0 Reference Manual, "Access Control, Stage 2".

#[cfg(test)]
mod attacks;
mod kind;
mod names;
mod needs;
mod reads;
#[cfg(test)]
mod takeovers;
#[cfg(test)]
mod tests;
mod views;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Session;
use crate::accounts::privilege::Lowest;
use crate::accounts::{AccountName, Accounts, Privilege, Privileges, Rights};
use crate::error::{Code, Error, Result};
pub(super) use kind::{KILLERS, Kind, kind};
use needs::Need;
pub(super) use needs::Needs;

/// Who a session is, and what it may do.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// The account that the client was matched with.
    pub(super) account: AccountName,
    /// The roles that were made active.
    pub(super) roles: BTreeSet<AccountName>,
    /// The password must be changed first.
    pub(super) expired: bool,
    pub(super) rights: Arc<Rights>,
    /// Whether everything is allowed.
    omnipotent: bool,
    /// Of the accounts, when the rights were worked out.
    version: u64,
    /// Goes up whenever the rights are worked out: what was allowed at one stamp still is.
    pub(super) stamp: u64,
}

impl Identity {
    /// Of an account that has just logged in, with its default roles.
    pub(super) fn new(accounts: &Accounts, account: AccountName, expired: bool) -> Identity {
        let found = accounts.current().get(&account).map(Arc::clone);
        let mut identity = Identity {
            roles: found
                .map(|account| account.initial_roles())
                .unwrap_or_default(),
            account,
            expired,
            rights: Arc::default(),
            omnipotent: false,
            version: 0,
            stamp: 0,
        };
        identity.work_out(accounts);
        identity
    }

    /// Works the rights out again, when the accounts have changed; whether they have.
    fn renew(&mut self, accounts: &Accounts) -> bool {
        let is_old = accounts.version() != self.version;
        if is_old {
            self.work_out(accounts);
        }
        is_old
    }

    /// Makes other roles active.
    pub(super) fn set_roles(&mut self, roles: BTreeSet<AccountName>, accounts: &Accounts) {
        self.roles = roles;
        self.work_out(accounts);
    }

    fn work_out(&mut self, accounts: &Accounts) {
        self.version = accounts.version();
        let directory = accounts.current();
        self.rights = Rights::of(&directory, &self.account, &self.roles);
        let all = Privileges::all_of(Lowest::Dynamic);
        let all = all.with(Privileges::of(&[Privilege::GrantOption]));
        self.omnipotent = self.rights.global().has_all(all);
        self.stamp += 1;
    }
}

/// About what a [`Need`] takes, with its names.
const NEED_BYTES: usize = 128;

impl Needs {
    /// About what they take: there is one for each column that is read.
    pub(super) fn bytes(&self) -> usize {
        self.needs.len().saturating_mul(NEED_BYTES)
    }
}

impl Session {
    /// Works the session's rights out again, when the accounts have changed.
    pub(super) fn renew_rights(&mut self) {
        if self.identity.renew(&self.shared.accounts) {
            self.tell_rights();
        }
    }

    /// Tells the session's state what it may do.
    pub(super) fn tell_rights(&self) {
        self.state
            .set_rights(&self.identity.rights, &self.identity.roles);
    }

    /// Whether a statement may be run now.
    ///
    /// # Errors
    /// 1044, 1142, 1143, 1227 or 1820.
    pub(super) fn guard(&mut self, statement: &crate::sql::ast::Statement) -> Result<()> {
        self.renew_rights();
        if self.identity.omnipotent && !self.identity.expired {
            return Ok(());
        }
        let needs = self.needs(statement)?;
        self.allow(&needs)
    }

    /// Whether what is needed is there; [`Session::renew_rights`] comes first.
    ///
    /// # Errors
    /// 1044, 1142, 1143, 1227 or 1820.
    pub(super) fn allow(&self, needs: &Needs) -> Result<()> {
        if self.identity.expired && !needs.in_sandbox {
            let text = "You must reset your password using ALTER USER statement before executing \
                        this statement.";
            return Err(Error::new(Code::MustChangePassword, text));
        }
        if self.identity.omnipotent {
            return Ok(());
        }
        needs.needs.iter().try_for_each(|need| self.allow_one(need))
    }

    fn allow_one(&self, need: &Need) -> Result<()> {
        let rights = &self.identity.rights;
        match need {
            Need::OnTable {
                database,
                table,
                privileges,
                column,
            } => {
                let held = rights.on_table(database, table);
                match privileges.without(held).iter().next() {
                    None => Ok(()),
                    Some(missing) => Err(self.denied_on(missing.name(), table, column.as_deref())),
                }
            }
            Need::ToLock {
                database,
                table,
                any_of,
            } => {
                if rights.on_table(database, table).has_any(*any_of) {
                    return Ok(());
                }
                Err(self.denied_on("SELECT with locking clause", table, None))
            }
            Need::ToExplain {
                database,
                table,
                privileges,
            } => {
                if rights.on_table(database, table).has_all(*privileges) {
                    return Ok(());
                }
                Err(not_explained())
            }
            Need::AnyOnTable { database, table } if rights.sees_table(database, table) => Ok(()),
            Need::AnyOnTable { table, .. } => Err(self.denied_on("SELECT", table, None)),
            Need::OnDatabase {
                database,
                privilege,
            } => {
                if rights.on_database(database).has(*privilege) {
                    return Ok(());
                }
                Err(self.denied_database(database))
            }
            Need::AnyInDatabase(database) if rights.sees_database(database) => Ok(()),
            Need::AnyInDatabase(database) => Err(self.denied_database(database)),
            Need::Global(any_of) => self.require_any(any_of),
            Need::ByDefiner {
                definer,
                database,
                view,
                needs,
            } => {
                if self.definer_may(definer, needs) {
                    return Ok(());
                }
                Err(definer_lacks(database, view))
            }
        }
    }

    /// Whether an account, with the roles it logs in with, has what a view of its needs.
    fn definer_may(&self, definer: &AccountName, needs: &[Need]) -> bool {
        let directory = self.shared.accounts.current();
        let Some(account) = directory.get(definer) else {
            return false;
        };
        let rights = Rights::of(&directory, definer, &account.initial_roles());
        needs.iter().all(|need| match need {
            Need::OnTable {
                database,
                table,
                privileges,
                ..
            } => rights.on_table(database, table).has_all(*privileges),
            Need::ByDefiner { definer, needs, .. } => self.definer_may(definer, needs),
            Need::ToLock { .. }
            | Need::ToExplain { .. }
            | Need::AnyOnTable { .. }
            | Need::OnDatabase { .. }
            | Need::AnyInDatabase(_)
            | Need::Global(_) => false,
        })
    }

    /// One of these is held on everything.
    ///
    /// # Errors
    /// 1227.
    pub(super) fn require_any(&self, any_of: &[Privilege]) -> Result<()> {
        if self.holds_any(any_of) {
            return Ok(());
        }
        let names: Vec<&str> = any_of.iter().map(|one| one.name()).collect();
        Err(needed(&names.join(" or ")))
    }

    /// Whether one of these is held on everything.
    pub(super) fn holds_any(&self, any_of: &[Privilege]) -> bool {
        let held = self.identity.rights.global();
        held.has_any(Privileges::of(any_of))
    }

    /// 1142, or 1143 for a column.
    pub(super) fn denied_on(&self, command: &str, table: &str, column: Option<&str>) -> Error {
        let user = &self.identity.account.user;
        let who = format!("'{user}'@'{}'", self.client.host);
        match column {
            None => {
                let text = format!("{command} command denied to user {who} for table '{table}'");
                Error::new(Code::NoPermission, text)
            }
            Some(column) => {
                let text = format!(
                    "{command} command denied to user {who} for column '{column}' in table \
                     '{table}'"
                );
                Error::new(Code::ColumnDenied, text)
            }
        }
    }

    /// 1044.
    pub(super) fn denied_database(&self, database: &str) -> Error {
        let text = format!(
            "Access denied for user {} to database '{database}'",
            self.identity.account
        );
        Error::new(Code::DbAccessDenied, text)
    }
}

fn not_explained() -> Error {
    let text = "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
    Error::new(Code::ViewNotExplained, text)
}

fn definer_lacks(database: &str, view: &str) -> Error {
    let text = format!(
        "View '{database}.{view}' references invalid table(s) or column(s) or function(s) or \
         definer/invoker of view lack rights to use them"
    );
    Error::new(Code::ViewInvalid, text)
}

/// 1227.
pub(super) fn needed(privileges: &str) -> Error {
    let text = format!(
        "Access denied; you need (at least one of) the {privileges} privilege(s) for this operation"
    );
    Error::new(Code::AccessNeeded, text)
}
