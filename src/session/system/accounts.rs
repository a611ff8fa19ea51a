//! Accounts and what they may do, as tables.

use super::table::{Column, Give, Made, NAME, TEXT, Wants, YES_NO, column, text, varchar};
use super::{INFORMATION_SCHEMA, MYSQL, Scene};
use crate::error::Result;
use crate::types::{ColumnType, Value};

/// What the only account may do.
const PRIVILEGES: [&str; 14] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "PROCESS",
    "INDEX",
    "ALTER",
    "SUPER",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE USER",
];

/// A privilege of an account.
pub(super) struct Granted {
    grantee: String,
    database: String,
    table: String,
    privilege: &'static str,
}

fn each_global(_: &Scene, _: &Wants<'_>, give: Give<'_, Granted>) -> Result<()> {
    let granted = PRIVILEGES.into_iter().map(|privilege| Granted {
        grantee: "'root'@'%'".to_owned(),
        database: String::new(),
        table: String::new(),
        privilege,
    });
    granted.into_iter().try_for_each(give)
}

const GRANTEE: Column<Granted> = column("GRANTEE", varchar(292), |g| text(g.grantee.as_str()));
const CATALOG: Column<Granted> = column("TABLE_CATALOG", varchar(512), |_| {
    Value::text(super::schemata::CATALOG)
});
const DATABASE: Column<Granted> = column("TABLE_SCHEMA", NAME, |g| text(g.database.as_str()));
const TABLE: Column<Granted> = column("TABLE_NAME", NAME, |g| text(g.table.as_str()));
const PRIVILEGE: Column<Granted> = column("PRIVILEGE_TYPE", NAME, |g| Value::text(g.privilege));
const GRANTABLE: Column<Granted> = column("IS_GRANTABLE", YES_NO, |_| Value::text("YES"));

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
    each: |_, _, _| Ok(()),
    columns: &[GRANTEE, CATALOG, DATABASE, PRIVILEGE, GRANTABLE],
};

/// `information_schema.TABLE_PRIVILEGES`.
pub(super) static TABLE_PRIVILEGES: Made<Granted> = Made {
    database: INFORMATION_SCHEMA,
    name: "TABLE_PRIVILEGES",
    each: |_, _, _| Ok(()),
    columns: &[GRANTEE, CATALOG, DATABASE, TABLE, PRIVILEGE, GRANTABLE],
};

/// `mysql.user`: who there is. What they may do is in the tables of privileges.
pub(super) static USER: Made<()> = Made {
    database: MYSQL,
    name: "user",
    each: |_, _, give| give(()),
    columns: &[
        column("Host", ColumnType::Char { chars_max: 255 }, |()| {
            Value::text("%")
        }),
        column("User", ColumnType::Char { chars_max: 32 }, |()| {
            Value::text("root")
        }),
        column("plugin", ColumnType::Char { chars_max: 64 }, |()| {
            Value::text("caching_sha2_password")
        }),
        column("authentication_string", TEXT, |()| Value::text("")),
        column("password_expired", varchar(1), |()| Value::text("N")),
        column("account_locked", varchar(1), |()| Value::text("N")),
    ],
};
