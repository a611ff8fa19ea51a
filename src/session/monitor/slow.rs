//! Statements that took longer than `long_query_time`: the newest in memory for SHOW SLOW QUERIES, and
//! all in a file while `slow_query_log` is on.
//!
//! The file is in the form of MySQL's (manual, "The Slow Query Log"), which mysqldumpslow and
//! pt-query-digest read. It only grows; FLUSH LOGS closes it and opens what is at its path, so that a
//! rotation moves it away first. No statement waits for the file or fails of it: a thread writes it
//! (`writer`). What is not written is counted, and told once for as long as that lasts.

mod writer;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use self::writer::{Order, Target, Writer};
use super::Event;
use crate::types::Timestamp;

/// Statements that are kept in memory.
pub const KEPT_MAX: usize = 256;

/// Bytes of a statement's text that are kept in memory.
pub const KEPT_BYTES_MAX: usize = 4096;

/// Bytes of a statement's text that are written to the file.
pub const LOGGED_BYTES_MAX: usize = 64 << 10;

/// What the path must end with, so that nothing but a log is written to by SET GLOBAL.
const SUFFIX: &str = ".log";

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_MICRO: u64 = 1000;

/// Where slow statements go.
#[derive(Debug)]
pub struct Slow {
    kept: Mutex<VecDeque<Entry>>,
    count: AtomicU64,
    writer: Writer,
    data_dir: Option<PathBuf>,
}

/// A slow statement.
#[derive(Debug, Clone)]
pub struct Entry {
    /// When it began.
    pub began: Timestamp,
    /// Who ran it: name and host.
    pub user: String,
    /// From where.
    pub host: String,
    /// On which connection.
    pub connection_id: u32,
    /// In which database.
    pub database: Option<String>,
    /// What came of it.
    pub event: Event,
    /// Its text, without secrets.
    pub text: String,
    /// Its digest's text.
    pub digest: String,
}

/// What the head of the file tells of the server.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// `@@version`.
    pub version: &'static str,
    /// `@@port`.
    pub port: u64,
}

impl Slow {
    pub(super) fn new(data_dir: Option<PathBuf>) -> Slow {
        Slow::with(data_dir, Arc::new(writer::open_file))
    }

    fn with(data_dir: Option<PathBuf>, opener: writer::Opener) -> Slow {
        Slow {
            kept: Mutex::default(),
            count: AtomicU64::new(0),
            writer: Writer::new(opener),
            data_dir,
        }
    }

    /// How many statements were slow.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How many of them are not in the file although they were to be.
    pub fn failures_count(&self) -> u64 {
        self.writer.failures_count()
    }

    /// The newest, the last first.
    pub fn newest(&self) -> Vec<Entry> {
        self.kept.lock().iter().rev().cloned().collect()
    }

    /// Keeps a statement; has it written to the file of that name, if there is to be one.
    pub(in crate::session) fn note(&self, mut entry: Entry, file: Option<(&str, Server)>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if let Some((name, server)) = file {
            match self.target(name, server) {
                Ok(target) => self.writer.put(Box::new(entry.clone()), target),
                Err(error) => self.writer.refuse(name, error),
            }
        }
        cut(&mut entry.text, KEPT_BYTES_MAX);
        let mut kept = self.kept.lock();
        while KEPT_MAX <= kept.len() {
            kept.pop_front();
        }
        kept.push_back(entry);
    }

    /// Opens the file of that name, as the next statement will find it.
    ///
    /// # Errors
    /// When that cannot be done, or the name is no log's.
    pub(in crate::session) async fn open(&self, name: &str, server: Server) -> io::Result<()> {
        let target = self.target(name, server)?;
        self.writer.order(Order::Open(target)).await
    }

    /// Closes the file: the next statement opens what is at its path then.
    ///
    /// # Errors
    /// When too many wait for that.
    pub(in crate::session) async fn reopen(&self) -> io::Result<()> {
        self.writer.order(Order::Close).await
    }

    /// Waits until all that was noted is in the file, or was not to be written.
    pub(in crate::session) async fn settled(&self) {
        // Where nothing can be waited for, nothing is written.
        let _ = self.writer.order(Order::Settle).await;
    }

    /// The file of a name: in the data directory, unless it is absolute.
    fn target(&self, name: &str, server: Server) -> io::Result<Target> {
        let path = Path::new(name);
        let file_name = path.file_name().and_then(|name| name.to_str());
        if !file_name.is_some_and(|name| name.ends_with(SUFFIX) && name != SUFFIX) {
            let text = format!("'{name}' does not end with {SUFFIX}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let path = match &self.data_dir {
            Some(dir) => dir.join(path),
            None => path.to_path_buf(),
        };
        Ok(Target { path, server })
    }
}

impl Entry {
    /// Memory it takes, nearly.
    fn bytes(&self) -> usize {
        let database = self.database.as_ref().map_or(0, String::len);
        let texts = self.text.len() + self.digest.len() + self.user.len() + self.host.len();
        size_of::<Entry>() + texts + database
    }
}

/// The lines of a statement.
fn lines(entry: &Entry, database: Option<&str>) -> String {
    let event = &entry.event;
    let mut text = String::with_capacity(entry.text.len() + 256);
    let shown = entry.began.to_string();
    let (date, time) = shown.split_once(' ').unwrap_or((&shown, ""));
    let is_address = entry.host.parse::<IpAddr>().is_ok();
    let (name, address) = if is_address {
        ("", entry.host.as_str())
    } else {
        (entry.host.as_str(), "")
    };
    let user = one_line(&entry.user);
    let _ = write!(
        text,
        "# Time: {date}T{time}Z\n\
         # User@Host: {user}[{user}] @ {name} [{address}]  Id: {:>5}\n\
         # Query_time: {}  Lock_time: {} Rows_sent: {}  Rows_examined: {}\n",
        entry.connection_id,
        seconds(event.nanos),
        seconds(event.lock_nanos),
        event.rows_sent,
        event.rows_examined,
    );
    if let Some(name) = &entry.database
        && Some(name.as_str()) != database
    {
        let _ = writeln!(text, "use {};", one_line(name));
    }
    let _ = writeln!(
        text,
        "SET timestamp={};",
        entry.began.total_micros() / 1_000_000
    );
    text.push_str(entry.text.trim_end_matches([';', ' ', '\n', '\r', '\t']));
    text.push_str(";\n");
    text
}

/// A name that cannot end its line.
fn one_line(name: &str) -> String {
    name.chars().filter(|one| !one.is_control()).collect()
}

/// Nanoseconds as seconds with six digits behind the point.
pub(in crate::session) fn seconds(nanos: u64) -> String {
    let micros = nanos % NANOS_PER_SECOND / NANOS_PER_MICRO;
    format!("{}.{micros:06}", nanos / NANOS_PER_SECOND)
}

/// Cuts a text after so many bytes, at a character.
pub(in crate::session) fn cut(text: &mut String, bytes_max: usize) {
    if text.len() <= bytes_max {
        return;
    }
    let end = (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    text.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::monitor::verb::Verb;

    pub(in crate::session::monitor) const SERVER: Server = Server {
        version: "8.0.40-Meseta-0.1.0",
        port: 3306,
    };

    pub(in crate::session::monitor) fn entry(text: &str, database: Option<&str>) -> Entry {
        Entry {
            began: Timestamp::from_micros(1_704_067_200_123_456, 6).unwrap(),
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            connection_id: 8,
            database: database.map(str::to_owned),
            event: Event {
                nanos: 1_000_123_456,
                lock_nanos: 2_000,
                rows_sent: 1,
                rows_examined: 100,
                ..Event::of(Verb::Select)
            },
            text: text.to_owned(),
            digest: String::new(),
        }
    }

    #[tokio::test]
    async fn the_file_has_mysqls_form() {
        let dir = tempfile::tempdir().unwrap();
        let slow = Slow::new(Some(dir.path().to_owned()));
        let log = Some(("a.log", SERVER));
        slow.note(entry("SELECT 1;\n", Some("d")), log);
        slow.note(entry("SELECT 2", Some("d")), log);
        let mut far = entry("SELECT 3", None);
        far.host = "192.0.2.1".to_owned();
        slow.note(far, log);
        slow.settled().await;
        let text = std::fs::read_to_string(dir.path().join("a.log")).unwrap();
        let expected = "\
/meseta, Version: 8.0.40-Meseta-0.1.0 (Meseta). started with:
Tcp port: 3306  Unix socket: (none)
Time                 Id Command    Argument
# Time: 2024-01-01T00:00:00.123456Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 1.000123  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 100
use d;
SET timestamp=1704067200;
SELECT 1;
# Time: 2024-01-01T00:00:00.123456Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 1.000123  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 100
SET timestamp=1704067200;
SELECT 2;
# Time: 2024-01-01T00:00:00.123456Z
# User@Host: root[root] @  [192.0.2.1]  Id:     8
# Query_time: 1.000123  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 100
SET timestamp=1704067200;
SELECT 3;
";
        assert_eq!(text, expected);
        assert_eq!(slow.count(), 3);
        assert_eq!(slow.newest()[0].text, "SELECT 3");
    }

    #[tokio::test]
    async fn a_moved_file_is_written_until_it_is_flushed() {
        let dir = tempfile::tempdir().unwrap();
        let slow = Slow::new(Some(dir.path().to_owned()));
        let log = Some(("a.log", SERVER));
        slow.note(entry("SELECT 1", None), log);
        slow.settled().await;
        let (old, moved) = (dir.path().join("a.log"), dir.path().join("a.log.1"));
        std::fs::rename(&old, &moved).unwrap();
        slow.note(entry("SELECT 2", None), log);
        slow.reopen().await.unwrap();
        slow.note(entry("SELECT 3", None), log);
        slow.settled().await;
        let has = |path: &Path, what: &str| std::fs::read_to_string(path).unwrap().contains(what);
        assert!(has(&moved, "SELECT 2") && !has(&moved, "SELECT 3"));
        assert!(has(&old, "SELECT 3") && has(&old, "Tcp port"));
    }

    #[tokio::test]
    async fn what_is_no_log_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let slow = Slow::new(Some(dir.path().to_owned()));
        for name in ["", "a", "a.cnf", ".log", "no/such/dir/a.log"] {
            assert!(slow.open(name, SERVER).await.is_err(), "{name}");
        }
        std::fs::create_dir(dir.path().join("d.log")).unwrap();
        assert!(slow.open("d.log", SERVER).await.is_err());
        // Among the engine's files it would keep the next server from its start.
        std::fs::create_dir(dir.path().join("lsm")).unwrap();
        std::fs::write(dir.path().join("MESETA"), "").unwrap();
        let refused = slow.open("lsm/a.log", SERVER).await.unwrap_err();
        assert!(refused.to_string().contains("lsm/a.log"), "{refused}");
        assert!(!dir.path().join("lsm/a.log").exists());
        slow.note(entry("SELECT 1", None), Some(("a.cnf", SERVER)));
        slow.settled().await;
        assert_eq!((slow.count(), slow.failures_count()), (1, 1));
    }

    #[test]
    fn memory_keeps_a_bounded_number_of_bounded_texts() {
        let slow = Slow::new(None);
        for at in 0..KEPT_MAX + 5 {
            let text = format!("SELECT {at} '{}'", "é".repeat(KEPT_BYTES_MAX));
            slow.note(entry(&text, None), None);
        }
        let newest = slow.newest();
        assert_eq!(newest.len(), KEPT_MAX);
        assert!(
            newest[0]
                .text
                .starts_with(&format!("SELECT {} ", KEPT_MAX + 4))
        );
        assert!(
            newest
                .iter()
                .all(|entry| entry.text.len() <= KEPT_BYTES_MAX)
        );
    }
}
