//! The options of the server: one table, from which `--help`, the README's section, the sample
//! file and the parser are made.
//!
//! A value comes from the first of these that has one: the command line, the environment
//! (`MESETA_…`), the file named by `--config`, the default. What is wrong with a value is said in
//! one line that names where it came from.

mod command;
mod logging;
mod options;
mod print;
mod strangers;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use tokio::runtime::Runtime;

use crate::ceiling;
use crate::leisure;
use crate::protocol::Password;
use crate::server::{self, Stored};
use crate::session::{OpenOptions, Storage};
use crate::upkeep::Task;
pub use logging::LogFormat;
pub use options::{ALL, Kind, Spec};
pub use print::{markdown, sample};

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Start the server.
    Serve(Box<Config>),
    /// Print a text and end.
    Print(String),
    /// Do something to a data directory or a backup, and end.
    Upkeep(Task),
}

/// The options, each checked.
#[derive(Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where to answer instruments; `None` for nowhere.
    pub http_listen: Option<SocketAddr>,
    /// Where rows are kept.
    pub storage: Storage,
    /// Whether a commit waits for the disk.
    pub durable: bool,
    /// Whether queries may read whole tables.
    pub allow_full_scan: bool,
    /// What the process may have.
    pub memory_limit_bytes: Option<u64>,
    /// The block cache; `None` lets the server choose.
    pub cache_bytes: Option<u64>,
    /// What the operators of all statements may hold; `None` lets the server choose.
    pub query_memory_total_bytes: Option<u64>,
    /// What they may spill.
    pub spill_quota_bytes: Option<u64>,
    /// Where statements may read and write files.
    pub secure_file_priv: Option<PathBuf>,
    /// Where backups may be made.
    pub backup_dir: Option<PathBuf>,
    /// What is logged.
    pub log: String,
    /// How it is logged.
    pub log_format: LogFormat,
    connections_max: u32,
    packet_bytes_max: u32,
    wait_timeout_s: u32,
    net_write_timeout_s: u32,
    connect_timeout_s: u32,
    shutdown_grace_s: u32,
    root_password: Option<Password>,
    /// Whether it stands on the command line.
    is_password_shown: bool,
    tls: Tls,
}

/// How clients may log in, and with what.
#[derive(Debug, Clone)]
struct Tls {
    /// A certificate and its key.
    given: Option<(PathBuf, PathBuf)>,
    is_required: bool,
}

/// A value as written, and where.
#[derive(Debug, Clone)]
struct Raw {
    text: String,
    origin: String,
}

/// Where values are looked up: tests bring their own.
pub struct Sources<'a> {
    /// The command line, with the program's name.
    pub arguments: Vec<OsString>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

/// What nobody but the server's user and group gets of the files that it makes, as with MySQL (`UMASK` 0640).
const MASK: u32 = 0o027;

/// From now on files are made for this process's user and group alone.
pub fn keep_files_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(MASK));
}

/// Reads the options of this process.
///
/// # Errors
/// One line for the operator.
pub fn load() -> Result<Request, String> {
    load_from(&Sources {
        arguments: std::env::args_os().collect(),
        variable: &|name| std::env::var_os(name),
    })
}

/// Reads the options from the given sources.
///
/// # Errors
/// One line for the operator.
pub fn load_from(sources: &Sources<'_>) -> Result<Request, String> {
    if let Some(request) = command::of(&sources.arguments) {
        return request;
    }
    let matches = match print::command().try_get_matches_from(&sources.arguments) {
        Ok(matches) => matches,
        Err(error) if is_answer(error.kind()) => return Ok(Request::Print(error.to_string())),
        Err(error) => return Err(first_line(&error.to_string())),
    };
    if matches.get_flag(options::PRINT_CONFIG_SAMPLE) {
        return Ok(Request::Print(sample()));
    }
    if matches.get_flag(options::PRINT_OPTIONS_MARKDOWN) {
        return Ok(Request::Print(markdown()));
    }
    let mut values = HashMap::new();
    for spec in ALL {
        if let Some(text) = matches.get_one::<String>(spec.name) {
            let origin = format!("--{}", spec.name);
            values.insert(
                spec.name,
                Raw {
                    text: text.clone(),
                    origin,
                },
            );
        } else if let Some(text) = (sources.variable)(&spec.variable())
            && !text.is_empty()
        {
            let origin = spec.variable();
            // It may be a secret.
            let text = text
                .into_string()
                .map_err(|_| format!("{origin}: it is not UTF-8"))?;
            values.insert(spec.name, Raw { text, origin });
        }
    }
    let file = match values.get(options::CONFIG) {
        Some(path) => read_file(&path.text)?,
        None => HashMap::new(),
    };
    for (name, raw) in file {
        values.entry(name).or_insert(raw);
    }
    values::Values(values)
        .check()
        .map(|config| Request::Serve(Box::new(config)))
}

fn is_answer(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

/// clap says more than one line; the first has the essence, and those below it that are indented what it is about.
fn first_line(text: &str) -> String {
    let mut lines = text.lines();
    let line = lines.next().unwrap_or("wrong arguments");
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let about = lines.map_while(|line| line.strip_prefix("  ").map(str::trim));
    let line = about.fold(line.to_owned(), |line, about| format!("{line} {about}"));
    format!("{line}; see --help")
}

fn read_file(path: &str) -> Result<HashMap<&'static str, Raw>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("--config {path}: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| {
            1 + text.get(..span.start).unwrap_or("").matches('\n').count()
        });
        let hint = unquoted(text.lines().nth(line - 1).unwrap_or_default());
        let what = error.message().replace('\n', " ");
        format!("{path}, line {line}: {what}{hint}")
    })?;
    let mut values = HashMap::new();
    for (key, value) in table {
        let name = key.replace('_', "-");
        let spec = ALL
            .iter()
            .find(|spec| spec.name == name && name != options::CONFIG);
        let spec = spec.ok_or_else(|| format!("{path}: unknown option '{key}'; see --help"))?;
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(switch) => switch.to_string(),
            toml::Value::Float(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => {
                return Err(format!(
                    "{path}: {key} must be a string, a number or a boolean"
                ));
            }
        };
        let origin = format!("{key} in {path}");
        values.insert(spec.name, Raw { text, origin });
    }
    Ok(values)
}

/// What is said of a line that is no TOML, where its value is a text without quotes. The value may be a secret.
fn unquoted(line: &str) -> String {
    let Some((key, value)) = line.split_once('=') else {
        return String::new();
    };
    match value.trim_start().chars().next() {
        None | Some('"' | '\'' | '[' | '{' | '#') => String::new(),
        Some(_) if is_bare(value) => String::new(),
        Some(_) => format!("; a text stands in quotes: {} = \"...\"", key.trim()),
    }
}

/// Whether a value begins with a number or a boolean.
fn is_bare(value: &str) -> bool {
    let word = value.split_whitespace().next().unwrap_or_default();
    word.parse::<i64>().is_ok() || word.parse::<bool>().is_ok()
}

/// Threads that read many rows at a time, or write them; as many as tokio has by default.
const READING_THREADS_MAX: usize = 512;

impl Config {
    /// Begins to log.
    pub fn start_log(&self) {
        logging::start(&self.log, self.log_format);
        strangers::warn();
    }

    /// Logs each option that is unsafe, and what is as unsafe in the data.
    pub fn log_unsafe(&self, stored: Stored) {
        for warning in self.warnings(stored) {
            tracing::warn!(
                unsafe_option = warning,
                "the server runs with an unsafe option"
            );
        }
    }

    /// What the server opens.
    pub fn open_options(&self, port: u16) -> OpenOptions {
        OpenOptions {
            storage: self.storage.clone(),
            durable: self.durable,
            allow_full_scan: self.allow_full_scan,
            memory_limit_bytes: self.memory_limit_bytes,
            cache_bytes: self.cache_bytes,
            query_memory_total_bytes: self.query_memory_total_bytes,
            spill_quota_bytes: self.spill_quota_bytes,
            secure_file_priv: self.secure_file_priv.clone(),
            backup_dir: self.backup_dir.clone(),
            port,
            connections_max: self.connections_max,
            packet_bytes_max: self.packet_bytes_max,
            wait_timeout_s: self.wait_timeout_s,
            net_write_timeout_s: self.net_write_timeout_s,
            connect_timeout_s: self.connect_timeout_s,
            requires_tls: self.tls.is_required,
        }
    }

    /// How the server serves.
    pub fn server_options(&self) -> server::Options {
        server::Options {
            connections_max: self.connections_max,
            shutdown_grace: Duration::from_secs(u64::from(self.shutdown_grace_s)),
            root_password: self.root_password.clone(),
            certificate: self.tls.given.clone(),
            data_dir: match &self.storage {
                Storage::Lsm(dir) => Some(dir.clone()),
                Storage::Memory => None,
            },
        }
    }

    /// What the server runs on. Beside its workers there are threads for work that blocks: reads of
    /// many rows, and one for each connection, which may sit in `SLEEP()`.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn runtime(&self) -> std::io::Result<Runtime> {
        let connections_max = usize::try_from(self.connections_max).unwrap_or(usize::MAX);
        tokio::runtime::Builder::new_multi_thread()
            .thread_stack_size(leisure::STACK_BYTES)
            .enable_all()
            .max_blocking_threads(connections_max.saturating_add(READING_THREADS_MAX))
            .build()
    }

    /// What is said when the server listens: where, how to connect, and what is unsafe; `is_open` says
    /// that root has no password. Without `--comments` the mariadb command drops hints such as `/*+ _l_allow_filtering_ */`.
    pub fn welcome(
        &self,
        (address, http): (SocketAddr, Option<SocketAddr>),
        stored: Stored,
    ) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let (ip, port) = (address.ip(), address.port());
        let loopback = if ip.is_ipv4() { "127.0.0.1" } else { "::1" };
        let host = if ip.is_unspecified() {
            loopback.to_owned()
        } else {
            ip.to_string()
        };
        let data = match &self.storage {
            Storage::Lsm(dir) => format!("data in {}", dir.display()),
            Storage::Memory => "data in memory".to_owned(),
        };
        let password = if stored.is_open { "" } else { " -p" };
        let mut text = format!(
            "Meseta {version} is listening on {address} with {data}.\n\
             Connect:  mariadb --comments -h {host} -P {port} -u root{password}\n"
        );
        if let Some(http) = http {
            let _ = writeln!(text, "Metrics:  http://{http}/metrics and /health");
        }
        for warning in self.warnings(stored) {
            text.push_str("Unsafe:   ");
            text.push_str(warning);
            text.push('\n');
        }
        text
    }

    /// Whether the directory of files contains that of the data.
    fn is_data_among_files(&self) -> bool {
        let (Some(files), Storage::Lsm(data)) = (&self.secure_file_priv, &self.storage) else {
            return false;
        };
        without_links(data).starts_with(without_links(files))
    }

    fn warnings(&self, stored: Stored) -> Vec<&'static str> {
        let in_memory = self.storage == Storage::Memory;
        [
            (
                in_memory,
                "engine=memory: everything is lost when the server stops",
            ),
            (
                !self.durable && !in_memory,
                "durability=async: a power cut may lose the last acknowledged commits",
            ),
            (
                self.allow_full_scan,
                "allow-full-scan: one query may read a whole table",
            ),
            (
                // With the option in it, over which what is persisted wins.
                !self.listen.ip().is_loopback() && !stored.requires_tls,
                "listen: others on the network can read what clients send that log in without TLS",
            ),
            (
                self.http_listen.is_some_and(|at| !at.ip().is_loopback()),
                "http-listen: other machines can read the metrics",
            ),
            (
                self.memory_limit_bytes.is_none(),
                "memory-limit: there is none, and the system may end the server for lack of memory",
            ),
            (
                self.memory_limit_bytes.is_some_and(is_beyond_machine),
                "memory-limit: it is more than the machine has, and the system may end the server for lack of memory",
            ),
            (
                self.is_data_among_files(),
                "secure-file-priv: it contains the data directory: files of statements and of the server should lie apart",
            ),
            (
                self.is_password_shown,
                "root-password: everybody on this machine can read it in the list of processes",
            ),
            (
                stored.full_scans && !self.allow_full_scan,
                "sql_big_selects is persisted: one query may read a whole table",
            ),
            (
                stored.is_open,
                "root has no password: everybody on this machine may do everything",
            ),
        ]
        .into_iter()
        .filter_map(|(applies, text)| applies.then_some(text))
        .collect()
    }
}

/// A path that can be compared; one that is not there, as it is written.
fn without_links(path: &Path) -> PathBuf {
    let found = path.canonicalize();
    let found = found.or_else(|_| std::path::absolute(path));
    found.unwrap_or_else(|_| path.to_path_buf())
}

fn is_beyond_machine(bytes: u64) -> bool {
    ceiling::memory_bytes().is_some_and(|machine_bytes| machine_bytes < bytes)
}
