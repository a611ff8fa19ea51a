//! The statements on users, roles and passwords. Privileges are in [`grant`], SHOW in [`show`].
//!
//! Each changes all that it names or nothing, durably, and commits the open transaction first; the
//! next statement of every session sees the change.

mod definer;
mod grant;
mod show;

use std::collections::BTreeSet;

use super::guard::needed;
use super::{Reply, Session};
use crate::accounts::name::{HOST_CHARS_MAX, USER_CHARS_MAX};
use crate::accounts::store::ROOT;
use crate::accounts::{Account, AccountName, DefaultRoles, Draft, Privilege};
use crate::error::{Code, Error, Result};
use crate::protocol::Plugin;
use crate::protocol::auth::{Crypt, PASSWORD_BYTES_MAX, Password, Verifiers};
use crate::sql::ast::{
    AccountKind, AccountOptions, AccountStatement, Identified, RoleChoice, UserName, UserSpec,
};
use crate::sql::context::WarningLevel;

/// Accounts that a statement could not be done for, and those that it was done for all the same.
type Skipped = Vec<AccountName>;

impl Session {
    pub(super) async fn run_account(&mut self, statement: &AccountStatement) -> Result<Reply> {
        if let AccountStatement::SetRole(choice) = statement {
            self.set_role(choice)?;
            return Ok(self.nothing());
        }
        self.commit_open().await?;
        match statement {
            AccountStatement::CreateUser { .. } => self.create_users(statement).await?,
            AccountStatement::AlterUser { .. } => self.alter_users(statement).await?,
            AccountStatement::Drop { .. } => self.drop_accounts(statement).await?,
            AccountStatement::Rename(pairs) => self.rename_users(pairs).await?,
            AccountStatement::SetPassword { user, password } => {
                let identified = Identified::By(password.clone());
                self.set_password(user, &identified).await?;
            }
            AccountStatement::CreateRole { .. } => self.create_roles(statement).await?,
            AccountStatement::Grant {
                privileges,
                object,
                users,
            } => self.grant((privileges, object), users).await?,
            AccountStatement::Revoke {
                privileges,
                object,
                users,
            } => self.revoke((privileges, object), users).await?,
            AccountStatement::RevokeAll(users) => self.revoke_all(users).await?,
            AccountStatement::GrantRoles {
                roles,
                users,
                with_admin,
            } => self.grant_roles(roles, (users, *with_admin)).await?,
            AccountStatement::RevokeRoles { roles, users } => {
                self.revoke_roles(roles, users).await?;
            }
            AccountStatement::SetRole(_) => {}
            AccountStatement::SetDefaultRole { choice, users } => {
                self.set_default_role(choice, users).await?;
            }
        }
        Ok(self.nothing())
    }

    /// The account that a name stands for.
    pub(super) fn resolved(&self, name: &UserName) -> AccountName {
        match name {
            UserName::Current => self.identity.account.clone(),
            UserName::Named(name) => name.clone(),
        }
    }

    fn resolved_all(&self, names: &[UserName]) -> Result<Vec<AccountName>> {
        let names = names.iter().map(|name| {
            let name = self.resolved(name);
            check_name(&name).map(|()| name)
        });
        names.collect()
    }

    async fn create_users(&mut self, statement: &AccountStatement) -> Result<()> {
        let AccountStatement::CreateUser {
            if_not_exists,
            users,
            default_roles,
            options,
        } = statement
        else {
            return Err(Error::internal("another statement creates no user"));
        };
        let mut made = Vec::new();
        for user in users {
            let name = self.resolved(&user.name);
            check_name(&name)?;
            let mut account = Account::new(name);
            apply(&mut account, user, options)?;
            made.push(account);
        }
        if !default_roles.is_empty() {
            let known = self.shared.accounts.current();
            for role in default_roles {
                known.get(role).ok_or_else(|| unknown_role(role))?;
            }
            let granted = default_roles.iter().cloned().collect::<BTreeSet<_>>();
            self.may_grant_roles(default_roles)?;
            for account in &mut made {
                account.roles = granted.iter().cloned().map(|role| (role, false)).collect();
                account.default_roles = DefaultRoles::These(granted.clone());
            }
        }
        self.add_accounts(made, "CREATE USER", *if_not_exists).await
    }

    async fn create_roles(&mut self, statement: &AccountStatement) -> Result<()> {
        let AccountStatement::CreateRole {
            if_not_exists,
            names,
        } = statement
        else {
            return Err(Error::internal("another statement creates no role"));
        };
        names.iter().try_for_each(check_name)?;
        let made = names.iter().cloned().map(Account::role).collect();
        self.add_accounts(made, "CREATE ROLE", *if_not_exists).await
    }

    async fn add_accounts(
        &mut self,
        made: Vec<Account>,
        what: &str,
        if_not_exists: bool,
    ) -> Result<()> {
        let add = |draft: &mut Draft| {
            let mut there = Skipped::new();
            for account in made {
                if draft.has(&account.name) {
                    there.push(account.name);
                } else {
                    draft.put(account);
                }
            }
            fail_unless(what, there, if_not_exists)
        };
        let there = self.shared.accounts.change(add).await?;
        self.note_each(&there, Code::UserExists, "already exists");
        Ok(())
    }

    async fn alter_users(&mut self, statement: &AccountStatement) -> Result<()> {
        let AccountStatement::AlterUser {
            if_exists,
            users,
            options,
        } = statement
        else {
            return Err(Error::internal("another statement alters no user"));
        };
        let mut altered = Vec::new();
        for user in users {
            altered.push((self.resolved(&user.name), user));
        }
        let names: Vec<AccountName> = altered.iter().map(|(name, _)| name.clone()).collect();
        self.may_change(&names)?;
        if options.locked == Some(true) {
            spare_root("ALTER USER", &names)?;
        }
        let changes_own = altered
            .iter()
            .any(|(name, user)| *name == self.identity.account && user.identified.is_some());
        let alter = |draft: &mut Draft| {
            let mut missing = Skipped::new();
            for (name, user) in altered {
                match draft.edit(&name) {
                    Some(account) => apply(account, user, options)?,
                    None => missing.push(name),
                }
            }
            fail_unless("ALTER USER", missing, *if_exists)
        };
        let missing = self.shared.accounts.change(alter).await?;
        self.note_each(&missing, Code::UserMissing, "does not exist");
        if changes_own {
            self.identity.expired = false;
        }
        Ok(())
    }

    async fn set_password(&mut self, user: &UserName, identified: &Identified) -> Result<()> {
        let name = self.resolved(user);
        self.may_change(std::slice::from_ref(&name))?;
        let (password, _) = password_of(identified)?;
        let set = |draft: &mut Draft| {
            let account = draft.edit(&name).ok_or_else(|| {
                let text = "Can't find any matching row in the user table";
                Error::new(Code::NoSuchUser, text)
            })?;
            account.password = restricted(account, password);
            account.expired = false;
            Ok(())
        };
        self.shared.accounts.change(set).await?;
        if self.is_self(user) {
            self.identity.expired = false;
        }
        Ok(())
    }

    async fn drop_accounts(&mut self, statement: &AccountStatement) -> Result<()> {
        let AccountStatement::Drop {
            kind,
            if_exists,
            names,
        } = statement
        else {
            return Err(Error::internal("another statement drops no account"));
        };
        let names = self.resolved_all(names)?;
        self.may_change(&names)?;
        let what = match kind {
            AccountKind::User => "DROP USER",
            AccountKind::Role => "DROP ROLE",
        };
        spare_root(what, &names)?;
        self.make_no_views(&names)?;
        // Who may drop roles and no users drops none: a role is an account that is locked.
        let only_roles =
            matches!(kind, AccountKind::Role) && !self.holds_any(&[Privilege::CreateUser]);
        let remove = |draft: &mut Draft| {
            let mut missing = Skipped::new();
            for name in names {
                let is_user = draft.get(&name).is_some_and(|account| !account.locked);
                if (only_roles && is_user) || draft.remove(&name).is_none() {
                    missing.push(name);
                }
            }
            fail_unless(what, missing, *if_exists)
        };
        let missing = self.shared.accounts.change(remove).await?;
        self.note_each(&missing, Code::UserMissing, "does not exist");
        Ok(())
    }

    async fn rename_users(&mut self, pairs: &[(UserName, UserName)]) -> Result<()> {
        let mut resolved = Vec::new();
        for (from, to) in pairs {
            let (from, to) = (self.resolved(from), self.resolved(to));
            check_name(&to)?;
            self.may_change(std::slice::from_ref(&from))?;
            resolved.push((from, to));
        }
        let old: Vec<AccountName> = resolved.iter().map(|(from, _)| from.clone()).collect();
        spare_root("RENAME USER", &old)?;
        self.make_no_views(&old)?;
        let rename = |draft: &mut Draft| {
            for (from, to) in resolved {
                if !draft.has(&from) || draft.has(&to) {
                    return fail_unless("RENAME USER", vec![from], false).map(drop);
                }
                draft.rename(&from, &to);
            }
            Ok(())
        };
        self.shared.accounts.change(rename).await
    }

    fn set_role(&mut self, choice: &RoleChoice) -> Result<()> {
        let accounts = std::sync::Arc::clone(&self.shared.accounts);
        let directory = accounts.current();
        let account = directory.get(&self.identity.account);
        let account = account.ok_or_else(|| Error::internal("the session's account is gone"))?;
        let roles = match choice {
            RoleChoice::Default => account.initial_roles(),
            RoleChoice::None => BTreeSet::new(),
            RoleChoice::AllExcept(except) => {
                let granted = account.roles.keys();
                granted
                    .filter(|role| !except.contains(role))
                    .cloned()
                    .collect()
            }
            RoleChoice::These(these) => {
                for role in these {
                    if !account.roles.contains_key(role) {
                        return Err(not_granted(role, &account.name));
                    }
                }
                these.iter().cloned().collect()
            }
        };
        self.identity.set_roles(roles, &accounts);
        self.tell_rights();
        Ok(())
    }

    async fn set_default_role(&mut self, choice: &RoleChoice, users: &[UserName]) -> Result<()> {
        let names = self.resolved_all(users)?;
        self.may_change(&names)?;
        let set = |draft: &mut Draft| {
            for name in names {
                let Some(account) = draft.edit(&name) else {
                    return Err(unknown_role(&name));
                };
                account.default_roles = match choice {
                    RoleChoice::Default | RoleChoice::None => DefaultRoles::None,
                    RoleChoice::AllExcept(_) => DefaultRoles::All,
                    RoleChoice::These(these) => {
                        let missing = these.iter().find(|one| !account.roles.contains_key(*one));
                        if let Some(role) = missing {
                            return Err(not_granted(role, &name));
                        }
                        DefaultRoles::These(these.iter().cloned().collect())
                    }
                };
            }
            Ok(())
        };
        self.shared.accounts.change(set).await
    }

    /// A note for each account that `IF EXISTS` or `IF NOT EXISTS` passed over.
    fn note_each(&self, names: &[AccountName], code: Code, what: &str) {
        for name in names {
            self.warnings.add(WarningLevel::Note, code, || {
                format!("Authorization ID {name} {what}.")
            });
        }
    }
}

/// Passes the skipped accounts on where that is allowed.
///
/// # Errors
/// 1396 naming them.
fn fail_unless(what: &str, skipped: Skipped, is_allowed: bool) -> Result<Skipped> {
    if is_allowed || skipped.is_empty() {
        return Ok(skipped);
    }
    let names: Vec<String> = skipped.iter().map(ToString::to_string).collect();
    let text = format!("Operation {what} failed for {}", names.join(","));
    Err(Error::new(Code::AccountFailed, text))
}

fn unknown_role(role: &AccountName) -> Error {
    let text = format!("Unknown authorization ID {}", role.quoted());
    Error::new(Code::UnknownAuthorization, text)
}

fn not_granted(role: &AccountName, to: &AccountName) -> Error {
    let text = format!("{} is not granted to {}", role.quoted(), to.quoted());
    Error::new(Code::RoleNotGranted, text)
}

/// Root is there, may log in and may do everything: without it nobody could bring back what was lost.
///
/// # Errors
/// 1396 where it is among these.
fn spare_root(what: &str, names: &[AccountName]) -> Result<()> {
    let roots = names.iter().filter(|name| is_root(name));
    fail_unless(what, roots.cloned().collect(), false).map(drop)
}

/// Whether it is the account that is there from the start.
fn is_root(name: &AccountName) -> bool {
    name.user == ROOT && name.host == crate::accounts::name::ANY_HOST
}

/// # Errors
/// 1470 for a name that is too long, 1396 for one that cannot be stored.
fn check_name(name: &AccountName) -> Result<()> {
    for (text, what, chars_max) in [
        (&name.user, "user name", USER_CHARS_MAX),
        (&name.host, "host name", HOST_CHARS_MAX),
    ] {
        if chars_max < text.chars().count() {
            let text = format!(
                "String '{text}' is too long for {what} (should be no longer than {chars_max})"
            );
            return Err(Error::new(Code::NameTooLong, text));
        }
        if text.contains('\0') {
            return fail_unless("CREATE USER", vec![name.clone()], false).map(drop);
        }
    }
    Ok(())
}

/// Puts into an account what a statement says of it.
fn apply(account: &mut Account, user: &UserSpec, options: &AccountOptions) -> Result<()> {
    if let Some(identified) = &user.identified {
        let (password, plugin) = password_of(identified)?;
        if let Some(plugin) = plugin {
            account.plugin = plugin;
            account.password = password;
        } else {
            account.password = restricted(account, password);
        }
        // A plug-in without password leaves none: it is to be set first.
        account.expired =
            matches!(identified, Identified::With(_)) && !account.name.user.is_empty();
    }
    if let Some(requirement) = options.requirement {
        account.requirement = requirement;
    }
    if let Some(connections_max) = options.connections_max {
        account.connections_max = connections_max;
    }
    if let Some(expired) = options.expired {
        account.expired = expired;
    }
    if let Some(locked) = options.locked {
        account.locked = locked;
    }
    Ok(())
}

/// The verifiers that a clause gives, and the plug-in when it names one.
///
/// # Errors
/// 1827 for a hash that is none, 1819 for a password of more than [`PASSWORD_BYTES_MAX`].
fn password_of(identified: &Identified) -> Result<(Password, Option<Plugin>)> {
    if let Identified::By(clear) | Identified::WithBy(_, clear) = identified
        && PASSWORD_BYTES_MAX < clear.0.len()
    {
        let text = format!("The password is longer than {PASSWORD_BYTES_MAX} bytes, the most");
        return Err(Error::new(Code::PasswordPolicy, text));
    }
    Ok(match identified {
        Identified::By(clear) => (Password::of(&clear.0), None),
        Identified::With(plugin) => (Password::Empty, Some(*plugin)),
        Identified::WithBy(plugin, clear) => (Password::only(*plugin, &clear.0), Some(*plugin)),
        Identified::WithAs(plugin, hash) => (password_of_hash(*plugin, hash)?, Some(*plugin)),
    })
}

/// A password that is set for an account keeps to the plug-in that the account was made for, where it
/// was made for one alone.
fn restricted(account: &Account, password: Password) -> Password {
    let (Password::Set(old), Password::Set(new)) = (&account.password, &password) else {
        return password;
    };
    match (account.plugin, old) {
        (Plugin::CachingSha2, Verifiers { native: None, .. }) => Password::Set(Verifiers {
            crypt: new.crypt.clone(),
            ..Verifiers::default()
        }),
        (
            Plugin::Native,
            Verifiers {
                sha2: None,
                crypt: None,
                ..
            },
        ) => Password::Set(Verifiers {
            native: new.native,
            ..Verifiers::default()
        }),
        (Plugin::CachingSha2 | Plugin::Native, _) => password,
    }
}

fn password_of_hash(plugin: Plugin, hash: &[u8]) -> Result<Password> {
    if hash.is_empty() {
        return Ok(Password::Empty);
    }
    let verifiers = match plugin {
        Plugin::Native => {
            let digits = hash
                .strip_prefix(b"*")
                .and_then(|digits| std::str::from_utf8(digits).ok());
            let bytes = digits.and_then(crate::accounts::persist::unhex);
            bytes
                .and_then(|bytes| bytes.try_into().ok())
                .map(|native| Verifiers {
                    native: Some(native),
                    ..Verifiers::default()
                })
        }
        Plugin::CachingSha2 => Crypt::parse(hash).map(|crypt| Verifiers {
            crypt: Some(crypt),
            ..Verifiers::default()
        }),
    };
    let verifiers = verifiers.ok_or_else(|| {
        let text = "The password hash doesn't have the expected format.";
        Error::new(Code::PasswordHashFormat, text)
    })?;
    Ok(verifiers.into_password())
}
