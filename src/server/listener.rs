//! Accepting connections, limiting how many there are, and stopping.
//!
//! Stopping has two steps. First nobody new is let in and connections at rest end; those that run
//! a statement end after it. What still runs when the grace time is over is cancelled.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::accounts::Accounts;
use super::connection;
use crate::error::{Code, Error};
use crate::exec::cancel::Stop;
use crate::protocol::{PacketWriter, reply};
use crate::session::Shared;
use crate::session::processes::{Processes, SWEEP_MS};

/// After a failed accept (no file descriptors left, mostly) nothing is tried for this long.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long cancelled statements may take to notice, when the server stops.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Takes an address. Clients may connect from now on; they wait until a server runs.
///
/// # Errors
/// When the address cannot be taken, in words for the operator.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| {
        let why = if error.kind() == io::ErrorKind::AddrInUse {
            "the port is taken; stop the other server or choose another port with --listen".into()
        } else if error.kind() == io::ErrorKind::PermissionDenied {
            "permission denied; choose a port above 1023 with --listen".into()
        } else {
            error.to_string()
        };
        format!("cannot listen on {address}: {why}")
    })
}

/// What the server must know beside its data.
#[derive(Debug)]
pub struct Options {
    /// Connections at a time.
    pub connections_max: u32,
    /// How long a login may take.
    pub connect_timeout: Duration,
    /// How long running statements may take to end when the server stops.
    pub shutdown_grace: Duration,
    /// Who may log in.
    pub accounts: Accounts,
}

/// What every connection shares.
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    pub(super) accounts: Accounts,
    pub(super) connect_timeout: Duration,
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    context: Arc<Context>,
    permits: Arc<Semaphore>,
    shutdown_grace: Duration,
}

impl Server {
    /// A server on an address that [`listen`] has taken.
    pub fn new(listener: TcpListener, options: Options, shared: Arc<Shared>) -> Server {
        let connections_max = usize::try_from(options.connections_max).unwrap_or(usize::MAX);
        Server {
            listener,
            permits: Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS))),
            shutdown_grace: options.shutdown_grace,
            context: Arc::new(Context {
                shared,
                accounts: options.accounts,
                connect_timeout: options.connect_timeout,
            }),
        }
    }

    /// Serves clients until `stop` is done, then ends every connection and the session's data.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let sweeper = Sweeper::start(Arc::clone(self.context.shared.processes()));
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((socket, address)) => self.admit(&mut connections, socket, address),
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        sleep(ACCEPT_PAUSE).await;
                    }
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
            let _ = timeout(CANCEL_GRACE, all_ended(&mut connections)).await;
        }
        connections.shutdown().await;
        sweeper.stop();
        self.context.shared.close().await;
    }

    fn admit(&self, connections: &mut JoinSet<()>, socket: TcpStream, address: SocketAddr) {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => {
                let context = Arc::clone(&self.context);
                connections.spawn(serve_with(permit, context, socket, address));
            }
            Err(_) => turn_away(&socket),
        }
    }
}

async fn serve_with(
    permit: OwnedSemaphorePermit,
    context: Arc<Context>,
    socket: TcpStream,
    address: SocketAddr,
) {
    connection::serve(context, socket, address).await;
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

/// Says 1040 in the greeting's place. A fresh socket's buffer takes that without waiting.
fn turn_away(socket: &TcpStream) {
    let mut out = PacketWriter::default();
    let error = Error::new(Code::TooManyConnections, "Too many connections");
    out.packet(|out| reply::put_error(out, &error));
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
            while !seen.load(Ordering::Relaxed) {
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
