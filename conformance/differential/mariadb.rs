//! Starts a MariaDB server of its own, in a directory that goes away with the test.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take until it listens.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// How often that is tried while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The server, and what makes its data directory.
const PROGRAMS: [&str; 2] = ["mariadbd", "mariadb-install-db"];

/// Whether it is installed.
pub(crate) fn is_there() -> bool {
    PROGRAMS.iter().all(|program| find(program).is_some())
}

/// A running server; killed when dropped.
pub(crate) struct MariaDb {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
}

impl MariaDb {
    /// Starts one.
    pub(crate) fn start(directory: &Path) -> Result<MariaDb, String> {
        let [daemon, install] = PROGRAMS
            .map(|program| find(program).ok_or_else(|| format!("{program} is not installed")));
        let (daemon, install) = (daemon?, install?);
        let io = |error: std::io::Error| format!("MariaDB: {error}");
        fs::create_dir_all(directory).map_err(io)?;
        let data = directory.join("data");
        // As root it must be told that this is meant; as anybody else it takes no such option.
        let is_root = fs::metadata("/proc/self").is_ok_and(|meta| {
            use std::os::unix::fs::MetadataExt as _;
            meta.uid() == 0
        });
        let user: &[&str] = if is_root { &["--user=root"] } else { &[] };
        let installed = Command::new(install)
            .args(["--no-defaults", "--skip-test-db"])
            .args(user)
            .arg("--auth-root-authentication-method=normal")
            .arg(format!("--datadir={}", data.display()))
            .output()
            .map_err(io)?;
        if !installed.status.success() {
            let text = String::from_utf8_lossy(&installed.stderr);
            return Err(format!("mariadb-install-db: {text}"));
        }
        let port = free_port().map_err(io)?;
        let log = File::create(directory.join("log")).map_err(io)?;
        let child = Command::new(daemon)
            .arg("--no-defaults")
            .args(user)
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", directory.join("socket").display()))
            .arg(format!("--port={port}"))
            .args([
                "--bind-address=127.0.0.1",
                "--skip-log-bin",
                "--skip-name-resolve",
            ])
            .args([
                "--performance-schema=OFF",
                "--innodb-flush-log-at-trx-commit=0",
            ])
            .args([
                "--character-set-server=utf8mb4",
                "--collation-server=utf8mb4_nopad_bin",
            ])
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(io)?)
            .stderr(log)
            .spawn()
            .map_err(io)?;
        let mut server = MariaDb {
            child,
            address: format!("127.0.0.1:{port}"),
        };
        server.wait_until_listening()?;
        Ok(server)
    }

    fn wait_until_listening(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(&self.address).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("mariadbd ended with {status}"));
            }
            if deadline < Instant::now() {
                return Err(format!("mariadbd does not listen after {START_TIMEOUT:?}"));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut found = places.map(|place| place.join(program));
    found.find(|file| file.is_file())
}
