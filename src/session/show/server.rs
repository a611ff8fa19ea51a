//! SHOW of the server: variables, status, processes, and what it has only one or none of.

use crate::accounts::Privilege;
use crate::error::{Code, Error, Result};
use crate::protocol::compression::Algorithm;
use crate::session::Session;
use crate::session::Shared;
use crate::session::listing::{Listing, TEXT};
use crate::session::monitor::counts;
use crate::session::monitor::verb::Verb;
use crate::session::state::State;
use crate::session::variables::registry::{self, Kind};
use crate::sql::ast::Replication;
use crate::sql::expr::VariableScope;
use crate::sql::functions::catalogue;
use crate::types::{ColumnType, Value};

/// Characters of a statement that `SHOW PROCESSLIST` without FULL prints.
const INFO_CHARS_MAX: usize = 100;

/// Variables as texts: switches are shown as ON and OFF.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other value is shown as its text"
)]
pub(in crate::session) fn variables<N: AsRef<str>>(
    values: Vec<(N, Value<'static>)>,
) -> Vec<(String, String)> {
    let shown = values.into_iter().map(|(name, value)| {
        let name = name.as_ref();
        let shown = match value {
            Value::Null => String::new(),
            Value::Int(bit) if is_switch(name) => if bit == 1 { "ON" } else { "OFF" }.to_owned(),
            other => other.to_text().into_owned(),
        };
        (name.to_owned(), shown)
    });
    shown.collect()
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

/// The counters of the server and of a session, in order of name. Those of statements are the session's
/// own, unless the server's are asked for.
pub(in crate::session) fn status(
    (shared, state): (&Shared, &State),
    scope: VariableScope,
) -> Vec<(String, String)> {
    let is_global = scope == VariableScope::Global;
    let (processes, monitor) = (shared.processes(), &shared.monitor);
    let internal = crate::error::internal_errors_count();
    let running = processes.running_count();
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let uptime = processes.uptime().as_secs();
    let of = |verb: Verb| {
        if is_global {
            monitor.counts.of(verb).statements
        } else {
            state.own().of(verb)
        }
    };
    let (closed, executions) = if is_global {
        (monitor.counts.closed(), monitor.counts.executions())
    } else {
        (state.own().closed(), state.own().executions())
    };
    let queries = counts::queries(of);
    let rows = [
        ("Com_stmt_close", closed),
        ("Com_stmt_execute", executions),
        ("Connections", processes.connections_count()),
        // Tables are not opened before they are read, and so never closed: mycli and mysqladmin read these.
        ("Flush_commands", 0),
        ("Internal_errors", internal),
        ("Open_tables", 0),
        ("Opened_tables", 0),
        ("Queries", queries.all),
        ("Questions", queries.run),
        ("Slow_queries", monitor.slow.count()),
        ("Threads_connected", count(processes.count())),
        ("Threads_running", count(running)),
        ("Uptime", uptime),
        (
            "Uptime_since_flush_status",
            processes.since_status_flushed(),
        ),
    ];
    let rows = rows.map(|(name, value)| (name.to_owned(), value.to_string()));
    let verbs = Verb::ALL.iter().filter(|verb| !verb.status().is_empty());
    let verbs = verbs.map(|verb| (verb.status().to_owned(), of(*verb).to_string()));
    let mut all: Vec<_> = rows
        .into_iter()
        .chain(connection(state))
        .chain(verbs)
        .collect();
    all.sort();
    all
}

/// How the client is connected.
fn connection(state: &State) -> Vec<(String, String)> {
    let tls = state.tls();
    let cipher = tls.as_ref().map_or("", |tls| tls.cipher.as_str());
    let version = tls.as_ref().map_or("", |tls| tls.version);
    let compression = state.compression();
    let level = compression.map_or(0, Algorithm::level).to_string();
    let texts = [
        (
            "Compression",
            if compression.is_some() { "ON" } else { "OFF" },
        ),
        (
            "Compression_algorithm",
            compression.map_or("", Algorithm::name),
        ),
        ("Compression_level", &level),
        ("Ssl_cipher", cipher),
        ("Ssl_version", version),
    ];
    let texts = texts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    texts.to_vec()
}

/// Names and values: `SHOW VARIABLES`, `SHOW STATUS`.
pub(super) fn pairs(pairs: Vec<(String, String)>) -> Listing {
    let mut listing = Listing::of_texts(&["Variable_name", "Value"]);
    for (name, value) in pairs {
        listing.push_texts([&name, &value]);
    }
    listing
}

impl Session {
    /// `SHOW [FULL] PROCESSLIST`.
    pub(super) fn show_processlist(&self, full: bool) -> Result<Listing> {
        let mut listing = self.listed(&super::forms::PROCESSES, &[])?;
        if !full {
            listing.cut_last_column(INFO_CHARS_MAX);
        }
        Ok(listing)
    }
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

/// `SHOW PRIVILEGES`.
pub(super) fn privileges() -> Listing {
    let mut listing = Listing::of_texts(&["Privilege", "Context", "Comment"]);
    for privilege in Privilege::ALL {
        let (context, comment) = privilege.about();
        listing.push_texts([privilege.name(), context, comment]);
    }
    listing
}

/// `SHOW OPEN TABLES`: nothing is ever closed.
pub(super) fn open_tables() -> Listing {
    Listing::new(&[
        ("Database", TEXT),
        ("Table", TEXT),
        ("In_use", ColumnType::BIGINT),
        ("Name_locked", ColumnType::BIGINT),
    ])
}

/// `SHOW PROFILES`: there are none.
pub(super) fn profiles() -> Listing {
    Listing::of_texts(&["Query_ID", "Duration", "Query"])
}

/// The columns of `SHOW REPLICA STATUS`. Source: MySQL manual, "SHOW REPLICA STATUS Statement".
const REPLICA_COLUMNS: &[&str] = &[
    "Replica_IO_State",
    "Source_Host",
    "Source_User",
    "Source_Port",
    "Connect_Retry",
    "Source_Log_File",
    "Read_Source_Log_Pos",
    "Relay_Log_File",
    "Relay_Log_Pos",
    "Relay_Source_Log_File",
    "Replica_IO_Running",
    "Replica_SQL_Running",
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
    "Last_Errno",
    "Last_Error",
    "Skip_Counter",
    "Exec_Source_Log_Pos",
    "Relay_Log_Space",
    "Until_Condition",
    "Until_Log_File",
    "Until_Log_Pos",
    "Source_SSL_Allowed",
    "Source_SSL_CA_File",
    "Source_SSL_CA_Path",
    "Source_SSL_Cert",
    "Source_SSL_Cipher",
    "Source_SSL_Key",
    "Seconds_Behind_Source",
    "Source_SSL_Verify_Server_Cert",
    "Last_IO_Errno",
    "Last_IO_Error",
    "Last_SQL_Errno",
    "Last_SQL_Error",
    "Replicate_Ignore_Server_Ids",
    "Source_Server_Id",
    "Source_UUID",
    "Source_Info_File",
    "SQL_Delay",
    "SQL_Remaining_Delay",
    "Replica_SQL_Running_State",
    "Source_Retry_Count",
    "Source_Bind",
    "Last_IO_Error_Timestamp",
    "Last_SQL_Error_Timestamp",
    "Source_SSL_Crl",
    "Source_SSL_Crlpath",
    "Retrieved_Gtid_Set",
    "Executed_Gtid_Set",
    "Auto_Position",
    "Replicate_Rewrite_DB",
    "Channel_Name",
    "Source_TLS_Version",
    "Source_public_key_path",
    "Get_Source_public_key",
    "Network_Namespace",
];

/// There is no binary log, so that nobody replicates: what a server of MySQL without one answers.
///
/// # Errors
/// 1381 for the logs themselves.
pub(super) fn replication(what: Replication) -> Result<Listing> {
    match what {
        Replication::Source => Ok(Listing::of_texts(&[
            "File",
            "Position",
            "Binlog_Do_DB",
            "Binlog_Ignore_DB",
            "Executed_Gtid_Set",
        ])),
        Replication::Replica => Ok(Listing::of_texts(REPLICA_COLUMNS)),
        Replication::Slave => {
            let old_words = |name: &&str| {
                let name = name.replace("Get_Source_", "Get_master_");
                name.replace("Source", "Master")
                    .replace("Replica_", "Slave_")
            };
            let names: Vec<String> = REPLICA_COLUMNS.iter().map(old_words).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Ok(Listing::of_texts(&names))
        }
        Replication::Logs => Err(Error::new(
            Code::NoBinaryLogging,
            "You are not using binary logging",
        )),
    }
}
