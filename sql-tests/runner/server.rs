//! Starts and stops a Meseta server for tests: a free port, a data directory of its own, the log
//! beside it. Shared by the slt runner and the crash test.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// How often the log is looked at while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// What the server prints before its address; part of its start-up text.
const LISTENING: &str = "listening on ";

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Mutex<Child>,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    log_path: PathBuf,
}

/// How a server is started.
pub(crate) struct Launch<'a> {
    pub(crate) binary: &'a Path,
    pub(crate) engine: &'a str,
    /// Holds the data and the log; the data stays when the server stops.
    pub(crate) directory: &'a Path,
    pub(crate) options: &'a [&'a str],
}

impl Server {
    /// Starts a server and waits until it listens.
    pub(crate) fn start(launch: &Launch<'_>) -> io::Result<Server> {
        Server::start_with(launch, &[])
    }

    /// Starts it with more in its environment.
    pub(crate) fn start_with(
        launch: &Launch<'_>,
        environment: &[(String, String)],
    ) -> io::Result<Server> {
        fs::create_dir_all(launch.directory)?;
        let log_path = launch.directory.join("server.log");
        let log = File::create(&log_path)?;
        let child = Command::new(launch.binary)
            .args(["--listen", "127.0.0.1:0", "--engine", launch.engine])
            .arg("--data-dir")
            .arg(launch.directory.join("data"))
            .args(launch.options)
            .envs(environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut server = Server {
            child: Mutex::new(child),
            address: String::new(),
            log_path,
        };
        server.address = server.wait_until_listening()?;
        Ok(server)
    }

    fn wait_until_listening(&mut self) -> io::Result<String> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            // The status first: the log of a server that has ended is whole, and one read before lacks its last words.
            let ended = self.child().try_wait()?;
            let log = fs::read_to_string(&self.log_path).unwrap_or_default();
            if let Some(address) = address_in(&log) {
                return Ok(address);
            }
            if let Some(status) = ended {
                let text = format!("the server ended with {status}: {log}");
                return Err(io::Error::other(text));
            }
            if deadline < Instant::now() {
                let text = format!("the server does not listen after {START_TIMEOUT:?}: {log}");
                return Err(io::Error::other(text));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills without warning (`SIGKILL`) and waits until the process is gone.
    pub(crate) fn kill(&self) -> io::Result<()> {
        let mut child = self.child();
        child.kill()?;
        child.wait().map(|_| ())
    }

    /// Waits until the process is gone, which was asked to end.
    pub(crate) fn wait(&self) -> io::Result<()> {
        self.child().wait().map(|_| ())
    }

    /// How the process ended, when it has.
    pub(crate) fn ended(&self) -> io::Result<Option<ExitStatus>> {
        self.child().try_wait()
    }

    /// The id of the server's process.
    pub(crate) fn process_id(&self) -> u32 {
        self.child().id()
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The address in the first whole line that tells one.
fn address_in(log: &str) -> Option<String> {
    addresses_in(log).into_iter().next()
}

/// The addresses in all whole lines that tell one: of a server that has started anew by itself there are two.
pub(crate) fn addresses_in(log: &str) -> Vec<String> {
    let after = log.split(LISTENING).skip(1);
    let addresses = after.filter_map(|after| {
        let end = after.find(char::is_whitespace)?;
        after.get(..end).filter(|address| address.contains(':'))
    });
    addresses.map(str::to_owned).collect()
}
