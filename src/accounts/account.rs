//! One account: what proves it, what it may do, and under which conditions it may log in.

use std::collections::{BTreeMap, BTreeSet};

use super::name::AccountName;
use super::privilege::{Lowest, Privilege, Privileges};
use crate::protocol::auth::{Password, Plugin};

/// A user or a role. A role is an account that is locked and has no password, as in MySQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: AccountName,
    /// What proves it.
    pub password: Password,
    /// The plug-in that SHOW CREATE USER names. Every plug-in that [`Account::password`] has a
    /// verifier of may be used.
    pub plugin: Plugin,
    /// The password must be changed before anything else.
    pub expired: bool,
    /// Nobody may log in.
    pub locked: bool,
    /// What the connection must be.
    pub requirement: Requirement,
    /// Connections at a time; 0 leaves it to `max_user_connections`.
    pub connections_max: u32,
    /// What it may do itself.
    pub grants: Grants,
    /// The roles granted to it, and whether it may grant them on.
    pub roles: BTreeMap<AccountName, bool>,
    /// The roles that are active after login.
    pub default_roles: DefaultRoles,
}

/// What a connection must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requirement {
    /// Anything.
    #[default]
    None,
    /// Encrypted.
    Ssl,
}

/// The roles that are active after login.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DefaultRoles {
    /// None of them.
    #[default]
    None,
    /// All that are granted.
    All,
    /// These, as far as they are granted.
    These(BTreeSet<AccountName>),
}

impl DefaultRoles {
    /// Whether a role is one of these.
    pub fn names(&self, role: &AccountName) -> bool {
        matches!(self, DefaultRoles::These(these) if these.contains(role))
    }

    /// Another role in the place of one of these, or none.
    pub fn replace(&mut self, role: &AccountName, by: Option<&AccountName>) {
        if let DefaultRoles::These(these) = self
            && these.remove(role)
        {
            these.extend(by.cloned());
        }
    }
}

/// What is granted on each level; a level with no privilege has no entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// `ON *.*`.
    pub global: Privileges,
    /// `ON d.*`, by the pattern of the database's name.
    pub databases: BTreeMap<String, Privileges>,
    /// `ON d.t`.
    pub tables: BTreeMap<(String, String), Privileges>,
}

/// What privileges are granted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    /// `*.*`.
    Global,
    /// `d.*`: a pattern.
    Database(String),
    /// `d.t`.
    Table(String, String),
}

impl Level {
    /// Which privileges can be granted on it.
    pub fn lowest(&self) -> Lowest {
        match self {
            Level::Global => Lowest::Dynamic,
            Level::Database(_) => Lowest::Database,
            Level::Table(..) => Lowest::Table,
        }
    }
}

impl Account {
    /// An account that may do nothing, and needs no password to do it.
    pub fn new(name: AccountName) -> Account {
        Account {
            name,
            password: Password::Empty,
            plugin: Plugin::DEFAULT,
            expired: false,
            locked: false,
            requirement: Requirement::None,
            connections_max: 0,
            grants: Grants::default(),
            roles: BTreeMap::new(),
            default_roles: DefaultRoles::None,
        }
    }

    /// A role.
    pub fn role(name: AccountName) -> Account {
        Account {
            locked: true,
            ..Account::new(name)
        }
    }

    /// An account that may do everything.
    pub fn omnipotent(name: AccountName, password: Password) -> Account {
        let all = Privileges::all_of(Lowest::Dynamic);
        Account {
            password,
            grants: Grants {
                global: all.with(Privileges::of(&[Privilege::GrantOption])),
                ..Grants::default()
            },
            ..Account::new(name)
        }
    }

    /// The roles that a session begins with.
    pub fn initial_roles(&self) -> BTreeSet<AccountName> {
        let granted = self.roles.keys();
        match &self.default_roles {
            DefaultRoles::None => BTreeSet::new(),
            DefaultRoles::All => granted.cloned().collect(),
            DefaultRoles::These(these) => granted
                .filter(|role| these.contains(*role))
                .cloned()
                .collect(),
        }
    }
}

impl Grants {
    /// What is granted on exactly this level.
    pub fn at(&self, level: &Level) -> Privileges {
        match level {
            Level::Global => self.global,
            Level::Database(database) => self.databases.get(database).copied().unwrap_or_default(),
            Level::Table(database, table) => {
                let key = (database.clone(), table.clone());
                self.tables.get(&key).copied().unwrap_or_default()
            }
        }
    }

    /// Sets what is granted on exactly this level.
    pub fn set(&mut self, level: &Level, privileges: Privileges) {
        match level {
            Level::Global => self.global = privileges,
            Level::Database(database) => put(&mut self.databases, database.clone(), privileges),
            Level::Table(database, table) => {
                put(
                    &mut self.tables,
                    (database.clone(), table.clone()),
                    privileges,
                );
            }
        }
    }
}

fn put<K: Ord>(map: &mut BTreeMap<K, Privileges>, key: K, privileges: Privileges) {
    if privileges.is_empty() {
        map.remove(&key);
    } else {
        map.insert(key, privileges);
    }
}
