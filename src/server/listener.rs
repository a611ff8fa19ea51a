//! Accepting connections, limiting how many there are, and stopping.
//!
//! Stopping has two steps. First nobody new is let in and connections at rest end; those that run
//! a statement end after it. What still runs when the grace time is over is cancelled.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection;
use super::keys::Keys;
use super::seats::Seats;
use super::throttle::Throttle;
use super::tls;
use super::unaccepted::Unaccepted;
use crate::ceiling;
use crate::error::Error;
use crate::exec::cancel::Stop;
use crate::protocol::{PacketWriter, Password, reply};
use crate::session::Shared;
use crate::session::processes::{Processes, SWEEP_MS};
use crate::types::Value;

/// Connections that the system holds until they are accepted: a storm of a second. It takes fewer
/// when it permits fewer (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;

/// What was freed goes back to the system once a second.
const SWEEPS_PER_GIVING_BACK: u64 = 1000 / SWEEP_MS;

/// About what a connection takes that waits for its client.
const CONNECTION_BYTES: usize = 20_000;

/// How long cancelled statements may take to notice, when the server stops.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Takes an address. Clients may connect from now on; they wait until a server runs. To be called
/// within a runtime.
///
/// # Errors
/// When the address cannot be taken, in words for the operator.
pub fn listen(address: SocketAddr) -> Result<TcpListener, String> {
    listen_for("--listen", address)
}

/// As [`listen`], for an address that this option gives.
pub(super) fn listen_for(option: &str, address: SocketAddr) -> Result<TcpListener, String> {
    bound(address).map_err(|error| {
        let why = if error.kind() == io::ErrorKind::AddrInUse {
            format!("the port is taken; stop the other server or choose another port with {option}")
        } else if error.kind() == io::ErrorKind::PermissionDenied {
            format!("permission denied; choose a port above 1023 with {option}")
        } else {
            error.to_string()
        };
        format!("cannot listen on {address}: {why}")
    })
}

fn bound(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A server that starts again must not wait for old connections to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What the server must know beside its data.
#[derive(Debug)]
pub struct Options {
    /// Connections at a time.
    pub connections_max: u32,
    /// How long running statements may take to end when the server stops.
    pub shutdown_grace: Duration,
    /// The password that root has while the server runs; `None` leaves it the stored one.
    pub root_password: Option<Password>,
    /// A chain of certificates and the key of the first, both in PEM; `None` for one of its own.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Where what the server makes for itself is kept: certificate and keys.
    pub data_dir: Option<PathBuf>,
}

/// What the data say, of what is safe and what is not.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stored {
    /// Root has no password: everybody on this machine may do everything.
    pub is_open: bool,
    /// `SET PERSIST sql_big_selects = ON`: queries may read whole tables.
    pub full_scans: bool,
    /// Logins must be encrypted: `SET PERSIST require_secure_transport = ON`, or the option.
    pub requires_tls: bool,
}

/// What every connection shares.
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    pub(super) throttle: Arc<Throttle>,
    pub(super) keys: Arc<Keys>,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) seats: Arc<Seats>,
}

impl Context {
    /// How long a login may take: `@@connect_timeout`.
    pub(super) fn connect_timeout(&self) -> Duration {
        Duration::from_secs(self.shared.global_number("connect_timeout"))
    }
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    context: Arc<Context>,
    permits: Arc<Semaphore>,
    /// One place more, for those who can make room.
    admin_permits: Arc<Semaphore>,
    shutdown_grace: Duration,
}

impl Server {
    /// A server on an address that [`listen`] has taken.
    ///
    /// # Errors
    /// One line for the operator: without a password of root's it serves this machine alone; and
    /// what is wrong with the certificate.
    pub fn new(
        listener: TcpListener,
        options: Options,
        shared: Arc<Shared>,
    ) -> Result<Server, String> {
        if let Some(password) = options.root_password {
            shared.accounts().set_root_password(password);
        }
        let address = listener.local_addr();
        let address = address.map_err(|error| format!("cannot listen: {error}"))?;
        if shared.accounts().is_open() && !address.ip().is_loopback() {
            return Err(format!(
                "refusing to listen on {address}, which other machines can reach, while root has no \
                 password: set MESETA_ROOT_PASSWORD or --root-password-file"
            ));
        }
        let tls = tls::config(options.certificate.as_ref(), options.data_dir.as_deref())?;
        tell(&shared).map_err(|error| error.to_string())?;
        let connections_max = usize::try_from(options.connections_max).unwrap_or(usize::MAX);
        Ok(Server {
            listener,
            admin_permits: Arc::new(Semaphore::new(1)),
            permits: Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS))),
            shutdown_grace: options.shutdown_grace,
            context: Arc::new(Context {
                shared,
                throttle: Arc::default(),
                keys: Keys::new(options.data_dir),
                tls: Some(tls),
                seats: Arc::default(),
            }),
        })
    }

    /// What is unsafe of what the data say.
    pub fn stored(&self) -> Stored {
        let shared = &self.context.shared;
        Stored {
            is_open: shared.accounts().is_open(),
            full_scans: shared.global_number("sql_big_selects") == 1,
            requires_tls: shared.global_number("require_secure_transport") == 1,
        }
    }

    /// Serves clients until `stop` is done, then ends every connection and the session's data.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let sweeper = Sweeper::start(Arc::clone(self.context.shared.processes()));
        let mut connections = JoinSet::new();
        let mut unaccepted = Unaccepted::new("a connection");
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((socket, address)) => self.admit(&mut connections, socket, address),
                    Err(error) => unaccepted.pause(&error).await,
                },
                Some(ended) = connections.join_next(), if !connections.is_empty() => note(&ended),
            }
        }
        drop(self.listener);
        let processes = self.context.shared.processes();
        processes.stop_all(Stop::Drain);
        tracing::info!(connections = processes.count(), "stopping");
        if timeout(self.shutdown_grace, all_ended(&mut connections))
            .await
            .is_err()
        {
            processes.stop_all(Stop::ShuttingDown);
            // A commit that has begun ends; it may wait for a pass over all files.
            self.context.shared.hurry();
            let _ = timeout(CANCEL_GRACE, all_ended(&mut connections)).await;
        }
        connections.shutdown().await;
        sweeper.stop();
        self.context.shared.close().await;
    }

    fn admit(&self, connections: &mut JoinSet<()>, socket: TcpStream, address: SocketAddr) {
        let memory = ceiling::drip("a connection", CONNECTION_BYTES);
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let full = match (&permit, memory) {
            (Ok(_), Ok(())) => None,
            (Ok(_), Err(error)) => Some(error),
            (Err(_), _) => Some(connection::too_many_connections()),
        };
        let permit = match &full {
            None => permit,
            Some(_) => Arc::clone(&self.admin_permits).try_acquire_owned(),
        };
        if let Ok(permit) = permit {
            let context = Arc::clone(&self.context);
            let serving = serve_with(permit, context, socket, (address, full));
            tracing::trace!(bytes = size_of_val(&serving), "a connection begins");
            connections.spawn(serving);
        } else {
            let error = full.unwrap_or_else(connection::too_many_connections);
            let counts = &self.context.shared.monitor().counts;
            counts.note_error(error.code());
            turn_away(&socket, &error);
        }
    }
}

/// Tells the variables what is spoken here: none of them can be set, or have been kept for this start.
fn tell(shared: &Shared) -> Result<(), Error> {
    for (name, value) in [
        ("have_ssl", "YES"),
        ("have_openssl", "YES"),
        ("tls_version", tls::VERSIONS),
    ] {
        shared.install(name, Value::text(value))?;
    }
    Ok(())
}

async fn serve_with(
    permit: OwnedSemaphorePermit,
    context: Arc<Context>,
    socket: TcpStream,
    arrival: (SocketAddr, Option<Error>),
) {
    connection::serve(context, socket, arrival).await;
    drop(permit);
}

async fn all_ended(connections: &mut JoinSet<()>) {
    while let Some(ended) = connections.join_next().await {
        note(&ended);
    }
}

/// A connection's task that panicked takes only its own connection with it.
fn note(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        let error = Error::internal(error);
        tracing::error!(%error, "a connection ended by a panic");
    }
}

/// Says 1040 or 1041 in the greeting's place. A fresh socket's buffer takes that without waiting.
fn turn_away(socket: &TcpStream, error: &Error) {
    let mut out = PacketWriter::default();
    out.packet(|out| reply::put_error_for_greeting(out, error));
    let _ = socket.try_write(out.bytes());
}

/// A thread of its own, so that busy runtime threads cannot keep lost clients unseen.
struct Sweeper {
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Sweeper {
    fn start(processes: Arc<Processes>) -> Sweeper {
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let runtime = Handle::current();
        let sweep = move || {
            let mut sweeps: u64 = 0;
            while !seen.load(Ordering::Relaxed) {
                sweeps += 1;
                if sweeps.is_multiple_of(SWEEPS_PER_GIVING_BACK) {
                    ceiling::give_back();
                    ceiling::heed_huge_pages();
                }
                if processes.sweep() {
                    // A worker that has nothing to do may wait beside the sockets while the one that
                    // watched them is busy with a statement: this wakes it, and it watches them.
                    runtime.spawn(async {});
                }
                thread::sleep(Duration::from_millis(SWEEP_MS));
            }
        };
        let spawned = thread::Builder::new()
            .name("meseta-sweep".to_owned())
            .spawn(sweep);
        if let Err(error) = &spawned {
            tracing::error!(%error, "lost clients and idle connections will not be noticed");
        }
        Sweeper {
            ends,
            thread: spawned.ok(),
        }
    }

    fn stop(self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}
