//! SHOW of the server: variables, status, processes, and what it has only one or none of.

use std::borrow::Cow;

use crate::accounts::Privilege;
use crate::session::Tls;
use crate::session::compile::text;
use crate::session::listing::{LONG_TEXT, Listing, TEXT};
use crate::session::processes::Processes;
use crate::session::variables::registry::{self, Kind};
use crate::sql::functions::catalogue;
use crate::types::{ColumnType, Value};

/// Characters of a statement that `SHOW PROCESSLIST` without FULL prints.
const INFO_CHARS_MAX: usize = 100;

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other value is shown as its text"
)]
/// `SHOW VARIABLES`: switches are shown as ON and OFF.
pub(super) fn variables(values: Vec<(&'static str, Value<'static>)>) -> Listing {
    let mut listing = Listing::of_texts(&["Variable_name", "Value"]);
    for (name, value) in values {
        let shown = match value {
            Value::Null => String::new(),
            Value::Int(bit) if is_switch(name) => if bit == 1 { "ON" } else { "OFF" }.to_owned(),
            other => other.to_text().into_owned(),
        };
        listing.push_texts([name, &shown]);
    }
    listing
}

fn is_switch(name: &str) -> bool {
    let found = registry::ALL.iter().find(|variable| variable.name == name);
    found.is_some_and(|variable| {
        matches!(
            variable.kind,
            Kind::Bool | Kind::ReadOnlyBool | Kind::OnlyBool(_)
        )
    })
}

/// `SHOW STATUS`.
pub(super) fn status(processes: &Processes, tls: Option<&Tls>) -> Listing {
    let mut listing = Listing::of_texts(&["Variable_name", "Value"]);
    let internal = crate::error::internal_errors_count();
    let rows = [
        ("Connections", processes.connections_count()),
        ("Internal_errors", internal),
        ("Questions", processes.questions_count()),
        (
            "Threads_connected",
            u64::try_from(processes.count()).unwrap_or(u64::MAX),
        ),
        ("Uptime", processes.uptime().as_secs()),
    ];
    for (name, value) in rows {
        listing.push_texts([name, &value.to_string()]);
    }
    listing.push_texts(["Ssl_cipher", tls.map_or("", |tls| tls.cipher.as_str())]);
    listing.push_texts(["Ssl_version", tls.map_or("", |tls| tls.version)]);
    listing
}

/// `SHOW [FULL] PROCESSLIST`, of one user or of all.
pub(super) fn processlist(processes: &Processes, full: bool, user: Option<&str>) -> Listing {
    let mut listing = Listing::new(&[
        ("Id", ColumnType::BIGINT_UNSIGNED),
        ("User", TEXT),
        ("Host", TEXT),
        ("db", TEXT),
        ("Command", TEXT),
        ("Time", ColumnType::BIGINT),
        ("State", TEXT),
        ("Info", LONG_TEXT),
    ]);
    let all = processes.list().into_iter();
    for process in all.filter(|process| user.is_none_or(|user| user == process.user)) {
        let info = process.text.map(|info| {
            if full {
                info
            } else {
                info.chars().take(INFO_CHARS_MAX).collect()
            }
        });
        listing.push(vec![
            Value::UInt(u64::from(process.id)),
            text(Some(process.user)),
            text(Some(process.host)),
            text(process.database),
            Value::text(process.command),
            Value::Int(i64::try_from(process.seconds).unwrap_or(i64::MAX)),
            text(Some(process.state)),
            text(info),
        ]);
    }
    listing
}

/// `SHOW ENGINES`.
pub(super) fn engines() -> Listing {
    let names = [
        "Engine",
        "Support",
        "Comment",
        "Transactions",
        "XA",
        "Savepoints",
    ];
    let mut listing = Listing::of_texts(&names);
    let comment = "Wide tables: rows in key order on an LSM engine";
    listing.push_texts(["Meseta", "DEFAULT", comment, "YES", "NO", "YES"]);
    listing
}

/// `SHOW FUNCTIONS`.
pub(super) fn functions() -> Listing {
    let mut listing = Listing::of_texts(&["Function", "Category", "Arguments", "Description"]);
    for entry in catalogue::entries() {
        listing.push_texts([
            entry.name,
            entry.category.title(),
            entry.arguments,
            entry.doc,
        ]);
    }
    listing
}

/// `SHOW CHARACTER SET`.
pub(super) fn charsets() -> Listing {
    let mut listing = Listing::new(&[
        ("Charset", TEXT),
        ("Description", TEXT),
        ("Default collation", TEXT),
        ("Maxlen", ColumnType::BIGINT),
    ]);
    for (name, description, collation, bytes) in [
        ("binary", "Bytes", "binary", 1),
        ("utf8mb4", "UTF-8 Unicode", "utf8mb4_bin", 4),
    ] {
        let mut row: Vec<Value<'static>> = [name, description, collation]
            .into_iter()
            .map(|t| Value::Text(Cow::Borrowed(t)))
            .collect();
        row.push(Value::Int(bytes));
        listing.push(row);
    }
    listing
}

/// `SHOW COLLATION`.
pub(super) fn collations() -> Listing {
    let mut listing = Listing::new(&[
        ("Collation", TEXT),
        ("Charset", TEXT),
        ("Id", ColumnType::BIGINT),
        ("Default", TEXT),
        ("Compiled", TEXT),
        ("Sortlen", ColumnType::BIGINT),
        ("Pad_attribute", TEXT),
    ]);
    for (name, charset, id) in [("binary", "binary", 63), ("utf8mb4_bin", "utf8mb4", 46)] {
        listing.push(vec![
            Value::text(name),
            Value::text(charset),
            Value::Int(id),
            Value::text("Yes"),
            Value::text("Yes"),
            Value::Int(1),
            Value::text("NO PAD"),
        ]);
    }
    listing
}

/// `SHOW PLUGINS`.
pub(super) fn plugins() -> Listing {
    let mut listing = Listing::of_texts(&["Name", "Status", "Type", "Library", "License"]);
    for (name, kind) in [
        ("caching_sha2_password", "AUTHENTICATION"),
        ("mysql_native_password", "AUTHENTICATION"),
        ("Meseta", "STORAGE ENGINE"),
    ] {
        listing.push(vec![
            Value::text(name),
            Value::text("ACTIVE"),
            Value::text(kind),
            Value::Null,
            Value::text("Apache-2.0"),
        ]);
    }
    listing
}

/// `SHOW PRIVILEGES`.
pub(super) fn privileges() -> Listing {
    let mut listing = Listing::of_texts(&["Privilege", "Context", "Comment"]);
    for privilege in Privilege::ALL {
        let (context, comment) = privilege.about();
        listing.push_texts([privilege.name(), context, comment]);
    }
    listing
}

/// `SHOW TRIGGERS`: there are none.
pub(super) fn triggers() -> Listing {
    Listing::of_texts(&[
        "Trigger",
        "Event",
        "Table",
        "Statement",
        "Timing",
        "Created",
        "sql_mode",
        "Definer",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

/// `SHOW EVENTS`: there are none.
pub(super) fn events() -> Listing {
    Listing::of_texts(&[
        "Db",
        "Name",
        "Definer",
        "Time zone",
        "Type",
        "Execute at",
        "Interval value",
        "Interval field",
        "Starts",
        "Ends",
        "Status",
        "Originator",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

/// `SHOW PROCEDURE STATUS`, `SHOW FUNCTION STATUS`: there are none.
pub(super) fn routines() -> Listing {
    Listing::of_texts(&[
        "Db",
        "Name",
        "Type",
        "Definer",
        "Modified",
        "Created",
        "Security_type",
        "Comment",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

/// `SHOW OPEN TABLES`: nothing is ever closed.
pub(super) fn open_tables() -> Listing {
    Listing::of_texts(&["Database", "Table", "In_use", "Name_locked"])
}

/// `SHOW PROFILES`: there are none.
pub(super) fn profiles() -> Listing {
    Listing::of_texts(&["Query_ID", "Duration", "Query"])
}
