//! What a session may do: the grants of its account and of its active roles, summed up.
//!
//! Within one account the grant on the most specific pattern that fits a database counts, and no
//! other, as in MySQL; what different accounts (the user, its roles) have is added up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::account::Grants;
use super::name::{self, AccountName};
use super::privilege::{Lowest, Privilege, Privileges};
use super::store::Directory;

/// The databases that everybody may read: what they show is what the reader may see.
const READABLE: [&str; 2] = ["information_schema", "performance_schema"];

/// The sum of grants that a session has.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    global: Privileges,
    /// For each account that adds to it: patterns of databases, the most specific first.
    databases: Vec<Vec<(String, Privileges)>>,
    /// By database and table.
    tables: HashMap<String, BTreeMap<String, Privileges>>,
    /// The roles that are active, with those granted to them.
    roles: BTreeSet<AccountName>,
}

impl Rights {
    /// Of an account with these active roles; nothing when the account is no more.
    pub fn of(
        directory: &Directory,
        name: &AccountName,
        roles: &BTreeSet<AccountName>,
    ) -> Arc<Rights> {
        let mut rights = Rights::default();
        let Some(account) = directory.get(name) else {
            return Arc::new(rights);
        };
        rights.add(&account.grants);
        // A role that was revoked in the meantime is active no more.
        let granted = roles
            .iter()
            .filter(|role| account.roles.contains_key(*role));
        let mut waiting: Vec<&AccountName> = granted.collect();
        while let Some(role) = waiting.pop() {
            let Some(account) = directory.get(role) else {
                continue;
            };
            if rights.roles.insert(role.clone()) {
                rights.add(&account.grants);
                waiting.extend(account.roles.keys());
            }
        }
        Arc::new(rights)
    }

    fn add(&mut self, grants: &Grants) {
        self.global = self.global.with(grants.global);
        let databases = grants.databases.iter();
        let mut databases: Vec<_> = databases
            .map(|(name, held)| (name.clone(), *held))
            .collect();
        databases.sort_by_key(|(pattern, _)| {
            let wildcard_at = pattern.find(['%', '_']);
            std::cmp::Reverse(wildcard_at.unwrap_or(usize::MAX))
        });
        if !databases.is_empty() {
            self.databases.push(databases);
        }
        for ((database, table), held) in &grants.tables {
            let tables = self.tables.entry(database.clone()).or_default();
            let sum = tables.entry(table.clone()).or_default();
            *sum = sum.with(*held);
        }
    }

    /// What is held everywhere.
    pub fn global(&self) -> Privileges {
        self.global
    }

    /// What is held on all of a database.
    pub fn on_database(&self, database: &str) -> Privileges {
        let mut sum = self.global;
        for patterns in &self.databases {
            let mut patterns = patterns.iter();
            let first = patterns.find(|(pattern, _)| name::is_like_exactly(database, pattern));
            if let Some((_, held)) = first {
                sum = sum.with(*held);
            }
        }
        if READABLE
            .iter()
            .any(|name| name.eq_ignore_ascii_case(database))
        {
            sum = sum.with(Privileges::of(&[Privilege::Select]));
        }
        sum
    }

    /// What is held on every database that a pattern means: on the one that it names, or by a grant on
    /// this very pattern.
    pub fn on_pattern(&self, pattern: &str) -> Privileges {
        if let Some(database) = name::named_by(pattern) {
            return self.on_database(&database);
        }
        let own = self.databases.iter().flatten();
        let own = own.filter(|(held_on, _)| held_on == pattern);
        own.fold(self.global, |sum, (_, held)| sum.with(*held))
    }

    /// What is held on a table.
    pub fn on_table(&self, database: &str, table: &str) -> Privileges {
        let tables = self.tables.get(database);
        let own = tables.and_then(|tables| tables.get(table)).copied();
        self.on_database(database).with(own.unwrap_or_default())
    }

    /// Whether the database may be known to exist: something is held on it or on one of its tables.
    pub fn sees_database(&self, database: &str) -> bool {
        self.global.has(Privilege::ShowDatabases)
            || !visible(self.on_database(database)).is_empty()
            || self.tables.contains_key(database)
    }

    /// Whether the table may be known to exist: something is held on it that can be held on tables.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        let of_tables = Privileges::all_of(Lowest::Table);
        self.on_table(database, table).has_any(of_tables)
    }

    /// The active roles, with those granted to them.
    pub fn roles(&self) -> &BTreeSet<AccountName> {
        &self.roles
    }
}

/// Those that let something be seen: what concerns tables and databases.
fn visible(held: Privileges) -> Privileges {
    let relevant = Privileges::all_of(Lowest::Database);
    relevant.without(relevant.without(held))
}
