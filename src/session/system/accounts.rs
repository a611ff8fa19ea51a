//! Accounts and what they may do, as tables.

use std::sync::Arc;

use super::table::{
    Column, Give, Made, NAME, TEXT, TIMESTAMP, Wants, YES_NO, column, text, varchar, yes_no,
};
use super::{INFORMATION_SCHEMA, MYSQL, Scene};
use crate::accounts::{Account, AccountName, Privilege, Privileges};
use crate::error::Result;
use crate::sql::context::SessionFacts;
use crate::types::{ColumnType, Value};

/// A privilege of an account.
pub(super) struct Granted {
    grantee: String,
    database: String,
    table: String,
    privilege: &'static str,
    is_grantable: bool,
}

impl Scene {
    /// The accounts that the session may look at: all, or its own.
    fn accounts(&self) -> Vec<Arc<Account>> {
        let rights = self.state.rights();
        let sees_all = rights.on_database(MYSQL).has(Privilege::Select);
        let own = self.state.current_user();
        let directory = self.shared.accounts.current();
        let seen = directory.iter();
        let seen = seen.filter(|account| sees_all || account.name.plain() == own);
        seen.map(Arc::clone).collect()
    }
}

/// Gives each privilege of a level; `USAGE` for none.
fn each_of(
    account: &Account,
    (database, table): (&str, &str),
    held: Privileges,
    give: Give<'_, Granted>,
) -> Result<()> {
    let option = Privileges::of(&[Privilege::GrantOption]);
    let mut names: Vec<&str> = held.without(option).iter().map(Privilege::name).collect();
    if names.is_empty() {
        names.push("USAGE");
    }
    names.into_iter().try_for_each(|privilege| {
        give(Granted {
            grantee: account.name.to_string(),
            database: database.to_owned(),
            table: table.to_owned(),
            privilege,
            is_grantable: held.has(Privilege::GrantOption),
        })
    })
}

fn each_global(scene: &Scene, _: &Wants<'_>, give: Give<'_, Granted>) -> Result<()> {
    for account in scene.accounts() {
        each_of(&account, ("", ""), account.grants.global, give)?;
    }
    Ok(())
}

fn each_of_database(scene: &Scene, _: &Wants<'_>, give: Give<'_, Granted>) -> Result<()> {
    for account in scene.accounts() {
        for (database, held) in &account.grants.databases {
            each_of(&account, (database, ""), *held, give)?;
        }
    }
    Ok(())
}

fn each_of_table(scene: &Scene, _: &Wants<'_>, give: Give<'_, Granted>) -> Result<()> {
    for account in scene.accounts() {
        for ((database, table), held) in &account.grants.tables {
            each_of(&account, (database, table), *held, give)?;
        }
    }
    Ok(())
}

const GRANTEE: Column<Granted> = column("GRANTEE", varchar(292), |g| text(g.grantee.as_str()));
const CATALOG: Column<Granted> = column("TABLE_CATALOG", varchar(512), |_| {
    Value::text(super::schemata::CATALOG)
});
const DATABASE: Column<Granted> = column("TABLE_SCHEMA", NAME, |g| text(g.database.as_str()));
const TABLE: Column<Granted> = column("TABLE_NAME", NAME, |g| text(g.table.as_str()));
const PRIVILEGE: Column<Granted> = column("PRIVILEGE_TYPE", NAME, |g| Value::text(g.privilege));
const GRANTABLE: Column<Granted> = column("IS_GRANTABLE", YES_NO, |g| yes_no(g.is_grantable));

/// `information_schema.USER_PRIVILEGES`.
pub(super) static USER_PRIVILEGES: Made<Granted> = Made {
    database: INFORMATION_SCHEMA,
    name: "USER_PRIVILEGES",
    each: each_global,
    columns: &[GRANTEE, CATALOG, PRIVILEGE, GRANTABLE],
};

/// `information_schema.SCHEMA_PRIVILEGES`.
pub(super) static SCHEMA_PRIVILEGES: Made<Granted> = Made {
    database: INFORMATION_SCHEMA,
    name: "SCHEMA_PRIVILEGES",
    each: each_of_database,
    columns: &[GRANTEE, CATALOG, DATABASE, PRIVILEGE, GRANTABLE],
};

/// `information_schema.TABLE_PRIVILEGES`.
pub(super) static TABLE_PRIVILEGES: Made<Granted> = Made {
    database: INFORMATION_SCHEMA,
    name: "TABLE_PRIVILEGES",
    each: each_of_table,
    columns: &[GRANTEE, CATALOG, DATABASE, TABLE, PRIVILEGE, GRANTABLE],
};

/// `mysql.user`: who there is, without what proves them. What they may do is in the tables of
/// privileges.
pub(super) static USER: Made<Arc<Account>> = Made {
    database: MYSQL,
    name: "user",
    each: |scene, _, give| scene.accounts().into_iter().try_for_each(give),
    columns: &[
        column("Host", ColumnType::Char { chars_max: 255 }, |a| {
            text(a.name.host.as_str())
        }),
        column("User", ColumnType::Char { chars_max: 32 }, |a| {
            text(a.name.user.as_str())
        }),
        column("plugin", ColumnType::Char { chars_max: 64 }, |a| {
            Value::text(a.plugin.name())
        }),
        column("authentication_string", TEXT, |_| Value::text("")),
        column("password_expired", varchar(1), |a| letter(a.expired)),
        column("account_locked", varchar(1), |a| letter(a.locked)),
    ],
};

/// A role that was granted to an account.
pub(super) struct Edge {
    role: AccountName,
    to: Arc<Account>,
    is_grantable: bool,
}

fn each_edge(scene: &Scene, _: &Wants<'_>, give: Give<'_, Edge>) -> Result<()> {
    for account in scene.accounts() {
        for (role, is_grantable) in &account.roles {
            give(Edge {
                role: role.clone(),
                to: Arc::clone(&account),
                is_grantable: *is_grantable,
            })?;
        }
    }
    Ok(())
}

/// `mysql.role_edges`: which roles were granted to whom.
pub(super) static ROLE_EDGES: Made<Edge> = Made {
    database: MYSQL,
    name: "role_edges",
    each: each_edge,
    columns: &[
        column("FROM_HOST", ColumnType::Char { chars_max: 255 }, |edge| {
            text(edge.role.host.as_str())
        }),
        column("FROM_USER", ColumnType::Char { chars_max: 32 }, |edge| {
            text(edge.role.user.as_str())
        }),
        column("TO_HOST", ColumnType::Char { chars_max: 255 }, |edge| {
            text(edge.to.name.host.as_str())
        }),
        column("TO_USER", ColumnType::Char { chars_max: 32 }, |edge| {
            text(edge.to.name.user.as_str())
        }),
        column("WITH_ADMIN_OPTION", varchar(1), |edge| {
            letter(edge.is_grantable)
        }),
    ],
};

/// What an account holds on a table, as the rows of the tables of grants have it.
pub(super) struct OnTable {
    account: Arc<Account>,
    database: String,
    table: String,
    held: Privileges,
}

fn each_table_once(scene: &Scene, _: &Wants<'_>, give: Give<'_, OnTable>) -> Result<()> {
    for account in scene.accounts() {
        for ((database, table), held) in &account.grants.tables {
            give(OnTable {
                account: Arc::clone(&account),
                database: database.clone(),
                table: table.clone(),
                held: *held,
            })?;
        }
    }
    Ok(())
}

/// The privileges in the words of a SET column: `Select,Create View`.
fn as_set(held: Privileges) -> String {
    let names = held.iter().map(|privilege| {
        if privilege == Privilege::GrantOption {
            "Grant".to_owned()
        } else {
            capitalised(privilege.name())
        }
    });
    names.collect::<Vec<_>>().join(",")
}

fn capitalised(words: &str) -> String {
    let words = words.split(' ').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        format!("{first}{}", rest.to_lowercase())
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `mysql.tables_priv`: what is granted on tables. Connector/J 8 reads it; who granted what is not kept.
pub(super) static TABLES_PRIV: Made<OnTable> = Made {
    database: MYSQL,
    name: "tables_priv",
    each: each_table_once,
    columns: &[
        column("Host", ColumnType::Char { chars_max: 255 }, |on| {
            text(on.account.name.host.as_str())
        }),
        column("Db", ColumnType::Char { chars_max: 64 }, |on| {
            text(on.database.as_str())
        }),
        column("User", ColumnType::Char { chars_max: 32 }, |on| {
            text(on.account.name.user.as_str())
        }),
        column("Table_name", ColumnType::Char { chars_max: 64 }, |on| {
            text(on.table.as_str())
        }),
        column("Grantor", varchar(288), |_| Value::text("")),
        column("Timestamp", TIMESTAMP, |_| Value::Null),
        column("Table_priv", varchar(255), |on| text(as_set(on.held))),
        column("Column_priv", varchar(255), |_| Value::text("")),
    ],
};

fn letter(is_so: bool) -> Value<'static> {
    Value::text(if is_so { "Y" } else { "N" })
}
