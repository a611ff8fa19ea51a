//! The table of options.

use std::ops::RangeInclusive;

/// One option.
#[derive(Debug)]
pub struct Spec {
    /// On the command line `--name`, in the environment `MESETA_NAME`, in a file `name`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The value when nobody gives one; empty for none.
    pub default: &'static str,
    /// The heading it stands under.
    pub section: &'static str,
    /// One line for people.
    pub help: &'static str,
}

/// What values an option takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An address and a port.
    Address,
    /// A file or directory.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// On or off.
    Switch,
    /// A number; the unit is in the help.
    Number {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// A number of bytes, with or without unit.
    Bytes,
    /// A text that is not shown.
    Secret,
    /// Any text.
    Text,
}

impl Kind {
    /// What stands for the value in `--help`.
    pub fn placeholder(self) -> String {
        match self {
            Kind::Address => "HOST:PORT".to_owned(),
            Kind::Path => "PATH".to_owned(),
            Kind::Choice(choices) => choices.join("|"),
            Kind::Switch => "true|false".to_owned(),
            Kind::Number { .. } => "N".to_owned(),
            Kind::Bytes => "BYTES".to_owned(),
            Kind::Secret => "PASSWORD".to_owned(),
            Kind::Text => "LEVEL".to_owned(),
        }
    }

    /// Whether a file shows its values without quotes.
    pub fn is_bare(self) -> bool {
        match self {
            Kind::Switch | Kind::Number { .. } => true,
            Kind::Address
            | Kind::Path
            | Kind::Choice(_)
            | Kind::Bytes
            | Kind::Secret
            | Kind::Text => false,
        }
    }
}

impl Spec {
    /// Its environment variable.
    pub fn variable(&self) -> String {
        format!(
            "MESETA_{}",
            self.name.replace('-', "_").to_ascii_uppercase()
        )
    }
}

pub(super) const LISTEN: &str = "listen";
pub(super) const HTTP_LISTEN: &str = "http-listen";
pub(super) const MAX_CONNECTIONS: &str = "max-connections";
pub(super) const MAX_ALLOWED_PACKET: &str = "max-allowed-packet";
pub(super) const CONNECT_TIMEOUT: &str = "connect-timeout";
pub(super) const WAIT_TIMEOUT: &str = "wait-timeout";
pub(super) const NET_WRITE_TIMEOUT: &str = "net-write-timeout";
pub(super) const SHUTDOWN_GRACE: &str = "shutdown-grace";
pub(super) const ROOT_PASSWORD: &str = "root-password";
pub(super) const ROOT_PASSWORD_FILE: &str = "root-password-file";
pub(super) const TLS_CERT: &str = "tls-cert";
pub(super) const TLS_KEY: &str = "tls-key";
pub(super) const REQUIRE_SECURE_TRANSPORT: &str = "require-secure-transport";
pub(super) const DATA_DIR: &str = "data-dir";
pub(super) const ENGINE: &str = "engine";
pub(super) const DURABILITY: &str = "durability";
pub(super) const CACHE_BYTES: &str = "cache-bytes";
pub(super) const ALLOW_FULL_SCAN: &str = "allow-full-scan";
pub(super) const MEMORY_LIMIT: &str = "memory-limit";
pub(super) const QUERY_MEMORY_TOTAL: &str = "query-memory-total";
pub(super) const SPILL_QUOTA: &str = "spill-quota";
pub(super) const SECURE_FILE_PRIV: &str = "secure-file-priv";
pub(super) const BACKUP_DIR: &str = "backup-dir";
pub(super) const CONFIG: &str = "config";
pub(super) const LOG: &str = "log";
pub(super) const LOG_FORMAT: &str = "log-format";

/// Flags that print something and end; not options of the server.
pub(super) const PRINT_CONFIG_SAMPLE: &str = "print-config-sample";
pub(super) const PRINT_OPTIONS_MARKDOWN: &str = "print-options-markdown";

/// The least `memory-limit`: the program, memtables, and a cache and memory of statements that are worth it.
pub(super) const MEMORY_LIMIT_BYTES_MIN: u64 = 512 << 20;

/// MySQL's bounds of `max_allowed_packet`.
pub(super) const PACKET_BYTES: RangeInclusive<u32> = 1024..=1 << 30;

const NETWORK: &str = "Network";
const STORAGE: &str = "Storage";
const QUERIES: &str = "Queries";
const GENERAL: &str = "General";

const YEAR_S: u32 = 31_536_000;

const fn seconds(max: u32) -> Kind {
    Kind::Number { min: 1, max }
}

const fn spec(
    section: &'static str,
    (name, kind): (&'static str, Kind),
    default: &'static str,
    help: &'static str,
) -> Spec {
    Spec {
        name,
        kind,
        default,
        section,
        help,
    }
}

/// Every option, section by section.
#[rustfmt::skip]
pub const ALL: &[Spec] = &[
    spec(NETWORK, (LISTEN, Kind::Address), "127.0.0.1:3306", "Where to listen; beyond this machine only when root has a password"),
    spec(NETWORK, (HTTP_LISTEN, Kind::Address), "", "Where to answer /metrics (for Prometheus) and /health over HTTP, to everybody who asks; without it nowhere"),
    spec(NETWORK, (ROOT_PASSWORD, Kind::Secret), "", "The password of root while the server runs, instead of the stored one; on the command line other users of the machine can see it"),
    spec(NETWORK, (ROOT_PASSWORD_FILE, Kind::Path), "", "A file whose first line is the password of root"),
    spec(NETWORK, (TLS_CERT, Kind::Path), "", "A PEM file with the server's certificate and those that signed it; without it the server makes one"),
    spec(NETWORK, (TLS_KEY, Kind::Path), "", "A PEM file with the key of the certificate"),
    spec(NETWORK, (REQUIRE_SECURE_TRANSPORT, Kind::Switch), "false", "Refuse logins without TLS, with error 3159"),
    spec(NETWORK, (MAX_CONNECTIONS, Kind::Number { min: 1, max: 100_000 }), "1000", "Connections at a time, and one more for administrators; the next is refused with error 1040"),
    spec(NETWORK, (MAX_ALLOWED_PACKET, Kind::Bytes), "64MiB", "The most bytes of one statement or parameter from a client"),
    spec(NETWORK, (CONNECT_TIMEOUT, seconds(YEAR_S)), "10", "Seconds a login may take"),
    spec(NETWORK, (WAIT_TIMEOUT, seconds(YEAR_S)), "28800", "Seconds a connection may be idle"),
    spec(NETWORK, (NET_WRITE_TIMEOUT, seconds(YEAR_S)), "60", "Seconds a client may take to accept output"),
    spec(STORAGE, (DATA_DIR, Kind::Path), "./meseta-data", "The directory of the data; made when missing"),
    spec(STORAGE, (ENGINE, Kind::Choice(&["lsm", "memory"])), "lsm", "Keep rows in files, or in memory only"),
    spec(STORAGE, (DURABILITY, Kind::Choice(&["sync", "async"])), "sync", "Whether a commit waits for the disk"),
    spec(STORAGE, (CACHE_BYTES, Kind::Bytes), "auto", "Memory for stored blocks (three quarters) and single rows (a quarter); auto is a quarter of memory-limit"),
    spec(STORAGE, (SECURE_FILE_PRIV, Kind::Path), "", "The directory below which LOAD DATA may read files of the server and SELECT … INTO OUTFILE may write them; without it neither may"),
    spec(STORAGE, (BACKUP_DIR, Kind::Path), "", "The directory below which BACKUP TO may make its copies; best on the disk of the data, where a copy of a file is a link; without it there are no backups"),
    spec(QUERIES, (ALLOW_FULL_SCAN, Kind::Switch), "false", "Accept queries that read whole tables"),
    spec(QUERIES, (QUERY_MEMORY_TOTAL, Kind::Bytes), "auto", "Memory that sorts, groups and joins of all statements may hold together; past it they spill, or end with error 1038; auto is a quarter of memory-limit"),
    spec(QUERIES, (SPILL_QUOTA, Kind::Bytes), "64GiB", "Bytes in the data directory that all statements may spill together; past it one ends with error 1114"),
    spec(GENERAL, (MEMORY_LIMIT, Kind::Bytes), "auto", "Memory the process may have, all caches and buffers included; past it what asks for more ends with error 1041, or spills; auto is the machine's memory, or its container's, less a tenth; none for no limit"),
    spec(GENERAL, (CONFIG, Kind::Path), "", "A TOML file with any of these options"),
    spec(GENERAL, (LOG, Kind::Text), "info", "What is logged to standard error: error, warn, info, debug or trace"),
    spec(GENERAL, (LOG_FORMAT, Kind::Choice(&["text", "json"])), "text", "How it is logged: lines for people, or an object of JSON a line"),
    spec(GENERAL, (SHUTDOWN_GRACE, Kind::Number { min: 0, max: YEAR_S }), "10", "Seconds running statements may take to end when the server stops"),
];
