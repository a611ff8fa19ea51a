//! The server itself: engines, plug-ins, character sets, connections, keywords.

use super::schemata::{CHARSET, COLLATION};
use super::table::{
    Column, Give, INT, LONGTEXT, Made, NAME, UBIGINT, UINT, Wants, YES_NO, column, maybe, text,
    varchar,
};
use super::{INFORMATION_SCHEMA, PERFORMANCE_SCHEMA, Scene};
use crate::accounts::Privilege;
use crate::error::Result;
use crate::session::processes::ProcessRow;
use crate::sql::context::SessionFacts;
use crate::sql::parse;
use crate::types::Value;

/// A storage engine: its name, how it is supported, and what it is.
pub(super) struct StorageEngine(&'static str, &'static str, &'static str);

/// `information_schema.ENGINES`: the one engine, and the name that clients ask for to learn whether
/// there are transactions.
pub(super) static ENGINES: Made<StorageEngine> = Made {
    database: INFORMATION_SCHEMA,
    name: "ENGINES",
    each: |_, _, give| {
        let what = "Wide tables: rows in key order on an LSM engine";
        give(StorageEngine("Meseta", "DEFAULT", what))?;
        give(StorageEngine("InnoDB", "YES", "Another name of Meseta"))
    },
    columns: &[
        column("ENGINE", NAME, |engine| Value::text(engine.0)),
        column("SUPPORT", varchar(8), |engine| Value::text(engine.1)),
        column("COMMENT", varchar(80), |engine| Value::text(engine.2)),
        column("TRANSACTIONS", YES_NO, |_| Value::text("YES")),
        column("XA", YES_NO, |_| Value::text("NO")),
        column("SAVEPOINTS", YES_NO, |_| Value::text("YES")),
    ],
};

/// A plug-in: its name, its type, and what it does.
pub(super) struct Plugin(&'static str, &'static str, &'static str);

/// `information_schema.PLUGINS`: what others have as plug-ins; here all of it is built in.
pub(super) static PLUGINS: Made<Plugin> = Made {
    database: INFORMATION_SCHEMA,
    name: "PLUGINS",
    each: |_, _, give| {
        let login = "AUTHENTICATION";
        give(Plugin(
            "caching_sha2_password",
            login,
            "Caching SHA-256 passwords",
        ))?;
        give(Plugin("mysql_native_password", login, "SHA-1 passwords"))?;
        give(Plugin("Meseta", "STORAGE ENGINE", "Wide tables"))
    },
    columns: &[
        column("PLUGIN_NAME", NAME, |p| Value::text(p.0)),
        column("PLUGIN_VERSION", varchar(20), |_| Value::text("1.0")),
        column("PLUGIN_STATUS", varchar(10), |_| Value::text("ACTIVE")),
        column("PLUGIN_TYPE", varchar(80), |p| Value::text(p.1)),
        column("PLUGIN_TYPE_VERSION", varchar(20), |_| Value::text("1.0")),
        column("PLUGIN_LIBRARY", NAME, |_| Value::Null),
        column("PLUGIN_LIBRARY_VERSION", varchar(20), |_| Value::Null),
        column("PLUGIN_AUTHOR", NAME, |_| Value::text("Meseta")),
        column("PLUGIN_DESCRIPTION", LONGTEXT, |p| Value::text(p.2)),
        column("PLUGIN_LICENSE", varchar(80), |_| Value::text("Apache-2.0")),
        column("LOAD_OPTION", NAME, |_| Value::text("FORCE")),
    ],
};

/// A character set with its only collation.
pub(super) struct Charset {
    name: &'static str,
    collation: &'static str,
    description: &'static str,
    char_bytes_max: u64,
    collation_id: u64,
}

/// The character sets.
const CHARSETS: [Charset; 2] = [
    Charset {
        name: "binary",
        collation: "binary",
        description: "Binary pseudo charset",
        char_bytes_max: 1,
        collation_id: 63,
    },
    Charset {
        name: CHARSET,
        collation: COLLATION,
        description: "UTF-8 Unicode",
        char_bytes_max: 4,
        collation_id: 46,
    },
];

fn each_charset(_: &Scene, _: &Wants<'_>, give: Give<'_, Charset>) -> Result<()> {
    CHARSETS.into_iter().try_for_each(give)
}

/// `information_schema.CHARACTER_SETS`.
pub(super) static CHARACTER_SETS: Made<Charset> = Made {
    database: INFORMATION_SCHEMA,
    name: "CHARACTER_SETS",
    each: each_charset,
    columns: &[
        column("CHARACTER_SET_NAME", NAME, |c| Value::text(c.name)),
        column("DEFAULT_COLLATE_NAME", NAME, |c| Value::text(c.collation)),
        column("DESCRIPTION", varchar(2048), |c| Value::text(c.description)),
        column("MAXLEN", UINT, |c| Value::UInt(c.char_bytes_max)),
    ],
};

/// `information_schema.COLLATIONS`.
pub(super) static COLLATIONS: Made<Charset> = Made {
    database: INFORMATION_SCHEMA,
    name: "COLLATIONS",
    each: each_charset,
    columns: &[
        column("COLLATION_NAME", NAME, |c| Value::text(c.collation)),
        column("CHARACTER_SET_NAME", NAME, |c| Value::text(c.name)),
        column("ID", UBIGINT, |c| Value::UInt(c.collation_id)),
        column("IS_DEFAULT", YES_NO, |_| Value::text("Yes")),
        column("IS_COMPILED", YES_NO, |_| Value::text("Yes")),
        column("SORTLEN", UINT, |_| Value::UInt(1)),
        column("PAD_ATTRIBUTE", varchar(9), |_| Value::text("NO PAD")),
    ],
};

/// `information_schema.COLLATION_CHARACTER_SET_APPLICABILITY`.
pub(super) static COLLATION_CHARACTER_SET_APPLICABILITY: Made<Charset> = Made {
    database: INFORMATION_SCHEMA,
    name: "COLLATION_CHARACTER_SET_APPLICABILITY",
    each: each_charset,
    columns: &[
        column("COLLATION_NAME", NAME, |c| Value::text(c.collation)),
        column("CHARACTER_SET_NAME", NAME, |c| Value::text(c.name)),
    ],
};

fn each_process(scene: &Scene, _: &Wants<'_>, give: Give<'_, ProcessRow>) -> Result<()> {
    let sees_all = scene.state.rights().global().has(Privilege::Process);
    let user = scene.state.user();
    let user = user
        .rsplit_once('@')
        .map_or(user.as_str(), |(user, _)| user);
    let mut processes = scene.shared.processes().list();
    processes.retain(|process| sees_all || process.user == user);
    if sees_all {
        let builds = scene.shared.backfill.unattended();
        processes.extend(builds.iter().map(|job| ProcessRow::of_build(job)));
        processes.sort_by_key(|process| process.id);
    }
    processes.into_iter().try_for_each(give)
}

const PROCESS_COLUMNS: &[Column<ProcessRow>] = &[
    column("ID", UBIGINT, |p| Value::UInt(u64::from(p.id))),
    column("USER", varchar(32), |p| text(p.user.as_str())),
    column("HOST", varchar(261), |p| text(p.host.as_str())),
    column("DB", NAME, |p| maybe(p.database.as_deref())),
    column("COMMAND", varchar(16), |p| Value::text(p.command)),
    column("TIME", INT, |p| {
        Value::Int(i64::try_from(p.seconds).unwrap_or(i64::MAX))
    }),
    column("STATE", NAME, |p| text(p.state.as_ref())),
    column("INFO", LONGTEXT, |p| maybe(p.text.as_deref())),
];

/// `information_schema.PROCESSLIST`.
pub(super) static PROCESSLIST: Made<ProcessRow> = Made {
    database: INFORMATION_SCHEMA,
    name: "PROCESSLIST",
    each: each_process,
    columns: PROCESS_COLUMNS,
};

/// `performance_schema.processlist`.
pub(super) static PROCESSLIST_OF_PERFORMANCE: Made<ProcessRow> = Made {
    database: PERFORMANCE_SCHEMA,
    name: "processlist",
    each: each_process,
    columns: PROCESS_COLUMNS,
};

/// `information_schema.KEYWORDS`: the words of the grammar.
pub(super) static KEYWORDS: Made<(&'static str, bool)> = Made {
    database: INFORMATION_SCHEMA,
    name: "KEYWORDS",
    each: |_, _, give| parse::keywords().try_for_each(give),
    columns: &[
        column("WORD", varchar(128), |(word, _)| Value::text(word)),
        column("RESERVED", INT, |(_, is_reserved)| {
            Value::Int(i64::from(*is_reserved))
        }),
    ],
};
