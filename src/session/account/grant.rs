//! GRANT and REVOKE, of privileges and of roles.

use super::{spare_root, unknown_role};
use crate::accounts::privilege::Lowest;
use crate::accounts::{AccountName, Directory, Draft, Level, Privilege, Privileges, Rights};
use crate::error::{Code, Error, Result};
use crate::session::Session;
use crate::sql::ast::{GrantObject, PrivilegeList, UserName};

const OPTION: Privilege = Privilege::GrantOption;

impl Session {
    pub(super) async fn grant(
        &mut self,
        (privileges, object): (&PrivilegeList, &GrantObject),
        users: &[UserName],
    ) -> Result<()> {
        let level = self.level(object)?;
        let privileges = privileges_on(privileges, &level)?;
        self.may_grant(&level, privileges)?;
        self.check_target(&level, privileges)?;
        let names = self.resolved_all(users)?;
        let add = |draft: &mut Draft| {
            for name in names {
                let account = draft.edit(&name).ok_or_else(|| {
                    let text = "You are not allowed to create a user with GRANT";
                    Error::new(Code::CreateByGrant, text)
                })?;
                let held = account.grants.at(&level);
                account.grants.set(&level, held.with(privileges));
            }
            Ok(())
        };
        self.shared.accounts.change(add).await
    }

    pub(super) async fn revoke(
        &mut self,
        (privileges, object): (&PrivilegeList, &GrantObject),
        users: &[UserName],
    ) -> Result<()> {
        let level = self.level(object)?;
        let privileges = privileges_on(privileges, &level)?;
        self.may_grant(&level, privileges)?;
        let names = self.resolved_all(users)?;
        self.may_change(&names)?;
        if level == Level::Global {
            spare_root("REVOKE", &names)?;
        }
        let take = |draft: &mut Draft| {
            for name in names {
                let account = draft
                    .edit(&name)
                    .ok_or_else(|| no_such_grant(&name, &level))?;
                let held = account.grants.at(&level);
                if held.is_empty() && level != Level::Global {
                    return Err(no_such_grant(&name, &level));
                }
                account.grants.set(&level, held.without(privileges));
            }
            Ok(())
        };
        self.shared.accounts.change(take).await
    }

    pub(super) async fn revoke_all(&mut self, users: &[UserName]) -> Result<()> {
        let names = self.resolved_all(users)?;
        self.may_change(&names)?;
        spare_root("REVOKE", &names)?;
        let take = |draft: &mut Draft| {
            for name in names {
                let account = draft.edit(&name).ok_or_else(|| {
                    let text = "Can't revoke all privileges for one or more of the requested users";
                    Error::new(Code::RevokeGrants, text)
                })?;
                account.grants = crate::accounts::Grants::default();
            }
            Ok(())
        };
        self.shared.accounts.change(take).await
    }

    pub(super) async fn grant_roles(
        &mut self,
        roles: &[AccountName],
        (users, with_admin): (&[UserName], bool),
    ) -> Result<()> {
        self.may_grant_roles(roles)?;
        let names = self.resolved_all(users)?;
        self.may_change(&names)?;
        let add = |draft: &mut Draft| {
            for role in roles {
                if !draft.has(role) {
                    return Err(unknown_role(role));
                }
                for name in &names {
                    if reaches(draft, role, name) {
                        let (role, name) = (role.quoted(), name.quoted());
                        let text = format!(
                            "User account {name} is directly or indirectly granted to the role \
                             {role}. The GRANT would create a loop"
                        );
                        return Err(Error::new(Code::RoleLoop, text));
                    }
                    let account = draft.edit(name).ok_or_else(|| unknown_role(name))?;
                    let admin = account.roles.entry(role.clone()).or_default();
                    *admin |= with_admin;
                }
            }
            Ok(())
        };
        self.shared.accounts.change(add).await
    }

    pub(super) async fn revoke_roles(
        &mut self,
        roles: &[AccountName],
        users: &[UserName],
    ) -> Result<()> {
        self.may_grant_roles(roles)?;
        let names = self.resolved_all(users)?;
        self.may_change(&names)?;
        let take = |draft: &mut Draft| {
            for role in roles {
                if !draft.has(role) {
                    return Err(unknown_role(role));
                }
                for name in &names {
                    let account = draft.edit(name).ok_or_else(|| unknown_role(name))?;
                    account.roles.remove(role);
                }
            }
            Ok(())
        };
        self.shared.accounts.change(take).await
    }

    /// Accounts that can have `SUPER`, by a role even, are changed by those who have it alone: else the
    /// right to make users would be the right to everything. MySQL has `SYSTEM_USER` for that.
    ///
    /// # Errors
    /// 1227.
    pub(super) fn may_change(&self, names: &[AccountName]) -> Result<()> {
        let directory = self.shared.accounts.current();
        let own = &self.identity.account;
        let mut others = names.iter().filter(|name| *name != own);
        if !self.holds_any(&[Privilege::Super]) && others.any(|name| can_be_super(&directory, name))
        {
            return Err(super::needed("SYSTEM_USER"));
        }
        Ok(())
    }

    /// Roles are granted by those who administer all of them, or these; roles with `SUPER` by those
    /// alone who have it.
    ///
    /// # Errors
    /// 1227.
    pub(super) fn may_grant_roles(&self, roles: &[AccountName]) -> Result<()> {
        let directory = self.shared.accounts.current();
        let mut reached = roles.iter();
        if !self.holds_any(&[Privilege::Super])
            && reached.any(|role| can_be_super(&directory, role))
        {
            return Err(super::needed("SUPER"));
        }
        let own = directory.get(&self.identity.account);
        let administers = |role: &AccountName| {
            own.is_some_and(|own| own.roles.get(role).copied().unwrap_or(false))
        };
        if roles.iter().all(administers) {
            return Ok(());
        }
        let any_of = [Privilege::RoleAdmin, Privilege::Super];
        if self.holds_any(&any_of) {
            return Ok(());
        }
        Err(super::needed("WITH ADMIN, ROLE_ADMIN, SUPER"))
    }

    fn level(&self, object: &GrantObject) -> Result<Level> {
        Ok(match object {
            GrantObject::Level(level) => level.clone(),
            GrantObject::CurrentDatabase => Level::Database(self.database_or_current(None)?),
            GrantObject::CurrentTable(table) => {
                Level::Table(self.database_or_current(None)?, table.clone())
            }
        })
    }

    /// One grants what one has and may pass on.
    ///
    /// # Errors
    /// 1045, 1044 or 1142, by the level.
    fn may_grant(&self, level: &Level, privileges: Privileges) -> Result<()> {
        let rights = &self.identity.rights;
        let held = match level {
            Level::Global => rights.global(),
            Level::Database(pattern) => rights.on_pattern(pattern),
            Level::Table(database, table) => rights.on_table(database, table),
        };
        if held.has_all(privileges.with(Privileges::of(&[OPTION]))) {
            return Ok(());
        }
        Err(match level {
            Level::Global => {
                let user = &self.identity.account.user;
                let host = &self.client.host;
                let text =
                    format!("Access denied for user '{user}'@'{host}' (using password: YES)");
                Error::new(Code::AccessDenied, text)
            }
            Level::Database(database) => self.denied_database(database),
            Level::Table(_, table) => self.denied_on("GRANT", table, None),
        })
    }

    /// A table must exist, unless it is granted to make it.
    ///
    /// # Errors
    /// 1049 or 1146.
    fn check_target(&self, level: &Level, privileges: Privileges) -> Result<()> {
        match level {
            Level::Table(database, table) if !privileges.has(Privilege::Create) => {
                if self.shared.catalog.current().has(database, table) {
                    return Ok(());
                }
                self.table(Some(database), table).map(drop)
            }
            Level::Global | Level::Database(_) | Level::Table(..) => Ok(()),
        }
    }
}

/// Whether an account has `SUPER` when all its roles are active.
fn can_be_super(directory: &Directory, name: &AccountName) -> bool {
    directory.get(name).is_some_and(|account| {
        let roles = account.roles.keys().cloned().collect();
        let rights = Rights::of(directory, name, &roles);
        rights.global().has(Privilege::Super)
    })
}

/// Whether a role is, or has, the other account.
fn reaches(draft: &Draft, role: &AccountName, wanted: &AccountName) -> bool {
    let mut waiting = vec![role.clone()];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if name == *wanted {
            return true;
        }
        if let Some(account) = draft.get(&name)
            && seen.insert(name)
        {
            waiting.extend(account.roles.keys().cloned());
        }
    }
    false
}

/// The privileges that a list means on a level.
///
/// # Errors
/// 1144 or 1221 for one that cannot be granted there.
fn privileges_on(list: &PrivilegeList, level: &Level) -> Result<Privileges> {
    let all = Privileges::all_of(level.lowest());
    let option = Privileges::of(&[OPTION]);
    let these = match list {
        PrivilegeList::All(true) => return Ok(all.with(option)),
        PrivilegeList::All(false) => return Ok(all),
        PrivilegeList::These(these) => *these,
    };
    if these.without(all.with(option)).is_empty() {
        return Ok(these);
    }
    Err(match level.lowest() {
        Lowest::Table => Error::new(
            Code::IllegalGrant,
            "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be \
             used",
        ),
        Lowest::Database | Lowest::Global | Lowest::Dynamic => Error::new(
            Code::WrongUsage,
            "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES",
        ),
    })
}

fn no_such_grant(name: &AccountName, level: &Level) -> Error {
    let (user, host) = (&name.user, &name.host);
    let text = format!("There is no such grant defined for user '{user}' on host '{host}'");
    match level {
        Level::Global | Level::Database(_) => Error::new(Code::NoSuchGrant, text),
        Level::Table(_, table) => {
            Error::new(Code::NoSuchTableGrant, format!("{text} on table '{table}'"))
        }
    }
}
