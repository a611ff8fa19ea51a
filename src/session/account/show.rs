//! SHOW GRANTS and SHOW CREATE USER: statements that make again what they show.

use std::collections::BTreeSet;

use super::not_granted;
use crate::accounts::name::quoted;
use crate::accounts::persist::hex;
use crate::accounts::privilege::Lowest;
use crate::accounts::{
    Account, AccountName, DefaultRoles, Grants, Level, Privilege, Privileges, Requirement,
};
use crate::error::{Code, Error, Result};
use crate::protocol::Plugin;
use crate::protocol::auth::{Crypt, Password};
use crate::session::Session;
use crate::session::compile::text;
use crate::session::listing::{LONG_TEXT, Listing};
use crate::sql::ast::UserName;

impl Session {
    /// `SHOW GRANTS`.
    pub(in crate::session) fn show_grants(
        &self,
        user: Option<&UserName>,
        using: &[AccountName],
    ) -> Result<Listing> {
        let name = self.resolved(user.unwrap_or(&UserName::Current));
        self.may_look_at(&name, self.identity.rights.roles())?;
        let directory = self.shared.accounts.current();
        let account = directory.get(&name).ok_or_else(|| no_such(&name))?;
        if let Some(role) = using.iter().find(|role| !account.roles.contains_key(*role)) {
            return Err(not_granted(role, &name));
        }
        let mut grants = account.grants.clone();
        let active = self.identity.rights.roles();
        let own = active.iter().filter(|_| user.is_none());
        for role in own.chain(using) {
            if let Some(role) = directory.get(role) {
                add(&mut grants, &role.grants);
            }
        }
        let heading = format!("Grants for {}", name.plain());
        let mut listing = Listing::new(&[(heading.as_str(), LONG_TEXT)]);
        for line in grant_lines(&name, &grants) {
            listing.push(vec![text(Some(line))]);
        }
        for (with_admin, end) in [(false, ""), (true, " WITH ADMIN OPTION")] {
            let roles = account.roles.iter();
            let roles = roles.filter(|(_, admin)| **admin == with_admin);
            let roles: Vec<String> = roles.map(|(role, _)| role.quoted()).collect();
            if !roles.is_empty() {
                let line = format!("GRANT {} TO {}{end}", roles.join(","), name.quoted());
                listing.push(vec![text(Some(line))]);
            }
        }
        Ok(listing)
    }

    /// `SHOW CREATE USER`.
    pub(in crate::session) fn show_create_user(&self, user: &UserName) -> Result<Listing> {
        let name = self.resolved(user);
        self.may_look_at(&name, &BTreeSet::new())?;
        let directory = self.shared.accounts.current();
        let account = directory.get(&name).ok_or_else(|| {
            let text = format!("Operation SHOW CREATE USER failed for {name}");
            Error::new(Code::AccountFailed, text)
        })?;
        let heading = format!("CREATE USER for {}", name.plain());
        let mut listing = Listing::new(&[(heading.as_str(), LONG_TEXT)]);
        listing.push(vec![text(Some(create_user(account)))]);
        Ok(listing)
    }

    /// One's own account and these roles may be looked at, others by those who may read them all.
    fn may_look_at(&self, name: &AccountName, roles: &BTreeSet<AccountName>) -> Result<()> {
        let rights = &self.identity.rights;
        let is_own = *name == self.identity.account || roles.contains(name);
        if is_own || rights.on_database("mysql").has(Privilege::Select) {
            return Ok(());
        }
        Err(self.denied_database("mysql"))
    }
}

fn no_such(name: &AccountName) -> Error {
    let (user, host) = (&name.user, &name.host);
    let text = format!("There is no such grant defined for user '{user}' on host '{host}'");
    Error::new(Code::NoSuchGrant, text)
}

fn add(sum: &mut Grants, other: &Grants) {
    let databases = other.databases.keys().cloned().map(Level::Database);
    let tables = other.tables.keys().cloned();
    let tables = tables.map(|(database, table)| Level::Table(database, table));
    for level in databases.chain(tables).chain([Level::Global]) {
        let held = sum.at(&level).with(other.at(&level));
        sum.set(&level, held);
    }
}

/// One line for each level, from the widest to the narrowest.
fn grant_lines(name: &AccountName, grants: &Grants) -> Vec<String> {
    let everything = grants.global.has_all(Privileges::all_of(Lowest::Dynamic));
    let statics = Privileges::all_of(Lowest::Global).with(option());
    let dynamics = grants.global.without(statics);
    let global = if everything {
        grants.global
    } else {
        grants.global.without(dynamics)
    };
    let mut lines = vec![grant_line(name, (global, Lowest::Dynamic), "*.*")];
    if !dynamics.is_empty() && !everything {
        let names: Vec<&str> = dynamics.iter().map(Privilege::name).collect();
        let end = option_text(grants.global);
        let line = format!("GRANT {} ON *.* TO {}{end}", names.join(","), name.quoted());
        lines.push(line);
    }
    for (database, held) in &grants.databases {
        let object = format!("{}.*", quoted(database));
        lines.push(grant_line(name, (*held, Lowest::Database), &object));
    }
    for ((database, table), held) in &grants.tables {
        let object = format!("{}.{}", quoted(database), quoted(table));
        lines.push(grant_line(name, (*held, Lowest::Table), &object));
    }
    lines
}

fn option() -> Privileges {
    Privileges::of(&[Privilege::GrantOption])
}

fn option_text(held: Privileges) -> &'static str {
    if held.has(Privilege::GrantOption) {
        " WITH GRANT OPTION"
    } else {
        ""
    }
}

fn grant_line(name: &AccountName, (held, lowest): (Privileges, Lowest), object: &str) -> String {
    let all = Privileges::all_of(lowest);
    let names = match held.without(option()) {
        none if none.is_empty() => "USAGE".to_owned(),
        held if held.has_all(all) => "ALL PRIVILEGES".to_owned(),
        held => {
            let names: Vec<&str> = held.iter().map(Privilege::name).collect();
            names.join(", ")
        }
    };
    let end = option_text(held);
    format!("GRANT {names} ON {object} TO {}{end}", name.quoted())
}

/// The statement that makes an account again. Of several verifiers the one of its plug-in is shown.
fn create_user(account: &Account) -> String {
    let (plugin, hash) = shown_hash(account);
    let mut parts = vec![
        format!("CREATE USER {}", account.name.quoted()),
        format!("IDENTIFIED WITH '{}'", plugin.name()),
    ];
    parts.extend(hash.map(|hash| format!("AS {hash}")));
    let roles = match &account.default_roles {
        DefaultRoles::None => Vec::new(),
        DefaultRoles::All | DefaultRoles::These(_) => {
            let roles = account.initial_roles();
            roles.iter().map(AccountName::quoted).collect()
        }
    };
    if !roles.is_empty() {
        parts.push(format!("DEFAULT ROLE {}", roles.join(",")));
    }
    let requirement = match account.requirement {
        Requirement::None => "NONE",
        Requirement::Ssl => "SSL",
    };
    parts.push(format!("REQUIRE {requirement}"));
    if 0 < account.connections_max {
        let most = account.connections_max;
        parts.push(format!("WITH MAX_USER_CONNECTIONS {most}"));
    }
    let expire = if account.expired { "" } else { " DEFAULT" };
    let lock = if account.locked { "LOCK" } else { "UNLOCK" };
    parts.push(format!(
        "PASSWORD EXPIRE{expire} ACCOUNT {lock} {UNUSED_OPTIONS}"
    ));
    parts.join(" ")
}

/// What MySQL shows of options that have no effect.
const UNUSED_OPTIONS: &str = "PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD \
                              REQUIRE CURRENT DEFAULT";

/// The plug-in and the hash as SQL; no hash without password.
fn shown_hash(account: &Account) -> (Plugin, Option<String>) {
    let Password::Set(verifiers) = &account.password else {
        return (account.plugin, None);
    };
    let native = verifiers
        .native
        .map(|native| format!("'*{}'", hex(&native)));
    let crypt = verifiers.crypt.as_ref().map(crypt_literal);
    match (account.plugin, native, crypt) {
        (Plugin::CachingSha2, _, Some(crypt)) | (Plugin::Native, None, Some(crypt)) => {
            (Plugin::CachingSha2, Some(crypt))
        }
        (_, Some(native), _) => (Plugin::Native, Some(native)),
        (plugin, None, None) => (plugin, None),
    }
}

/// As text where every byte can be seen, else in hexadecimal digits.
fn crypt_literal(crypt: &Crypt) -> String {
    let bytes = crypt.text();
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"'\\`\"".contains(byte);
    match std::str::from_utf8(&bytes) {
        Ok(text) if bytes.iter().all(is_plain) => format!("'{text}'"),
        Ok(_) | Err(_) => format!("0x{}", hex(&bytes)),
    }
}
