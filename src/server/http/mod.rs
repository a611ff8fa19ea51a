//! The HTTP door, for instruments alone: `/metrics` in Prometheus' text format and `/health`.
//!
//! A responder of our own, some two hundred lines: it answers GET and HEAD of two paths and closes the
//! connection, and nothing else of HTTP is needed. The crates that speak HTTP bring routing, bodies,
//! keep-alive and HTTP/2 and were not in the tree. It knows no statement and holds no data: who reaches
//! it learns numbers. Everything is bounded: bytes of a request, its time, connections at a time.
//!
//! It shares its threads with statements, so nothing here waits on one of them: the page of `/metrics`,
//! which looks at files, is made beside, one at a time. `/health` asks for nothing that could wait.
//!
//! `/health` answers 200 while statements can be run, and 503 with the reason while the server starts,
//! stops, or takes no writes. In reading order: here (accept, answer), `places` (who gives way when there
//! are too many), `request` (what is asked), `metrics` (what is told) on `page` (how it is written) and
//! `process` (what the system knows).

mod metrics;
mod page;
mod places;
mod process;
mod request;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use self::places::{Place, Places, Stage};
use self::request::{HEAD_BYTES_MAX, Method, Request, Wrong};
use super::unaccepted::Unaccepted;
use crate::session::Shared;

/// Connections at a time; for the next one gives way that has asked for nothing yet. A few instruments
/// ask a few times a minute.
const CONNECTIONS_MAX: usize = 16;

/// How long a client may take, from connecting to having read the answer.
const TIME_MAX: Duration = Duration::from_secs(5);

/// How long the page of `/metrics` is waited for: less than [`TIME_MAX`], so that there is an answer.
const PAGE_TIME_MAX: Duration = Duration::from_secs(4);

/// How many may wait for the page of `/metrics`, each of whom has a place: the others are for `/health`,
/// which is asked for above all while the disk hangs.
const PAGE_WAITERS_MAX: usize = CONNECTIONS_MAX * 3 / 4;

/// How often what a client sends behind its request is read and thrown away.
const LINGER_READS_MAX: usize = 16;

/// Prometheus' text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const TEXT_TYPE: &str = "text/plain; charset=utf-8";

const UNAVAILABLE: &str = "503 Service Unavailable";

/// What the server is to those who ask.
struct Known {
    /// Set once the data is open.
    shared: OnceLock<Arc<Shared>>,
    is_stopping: AtomicBool,
    /// One page of `/metrics` is made at a time: a disk that hangs holds one thread, not one for each
    /// question.
    pages: Arc<Semaphore>,
    page_waiters: Arc<Semaphore>,
    page_time_max: Duration,
    /// Of the process, since the epoch.
    started_seconds: Option<u64>,
}

/// The door.
#[derive(Clone)]
pub struct Http {
    known: Arc<Known>,
    address: SocketAddr,
}

impl Http {
    /// Opens the door: from now on it is answered, first that the server starts.
    ///
    /// # Errors
    /// When the address cannot be taken, in words for the operator.
    pub fn open(address: SocketAddr) -> Result<Http, String> {
        Http::open_for(address, PAGE_TIME_MAX)
    }

    /// As [`Http::open`], with another time for a page.
    pub(super) fn open_for(address: SocketAddr, page_time_max: Duration) -> Result<Http, String> {
        let listener = super::listener::listen_for("--http-listen", address)?;
        let address = listener.local_addr();
        let address = address.map_err(|error| format!("cannot listen: {error}"))?;
        let known = Arc::new(Known {
            shared: OnceLock::new(),
            is_stopping: AtomicBool::new(false),
            pages: Arc::new(Semaphore::new(1)),
            page_waiters: Arc::new(Semaphore::new(PAGE_WAITERS_MAX)),
            page_time_max,
            started_seconds: process::started_seconds(),
        });
        tokio::spawn(accept(listener, Arc::clone(&known)));
        Ok(Http { known, address })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server has started.
    pub fn started(&self, shared: &Arc<Shared>) {
        let _ = self.known.shared.set(Arc::clone(shared));
    }

    /// The server stops.
    pub fn stopping(&self) {
        self.known.is_stopping.store(true, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, known: Arc<Known>) {
    let places = Places::new(CONNECTIONS_MAX);
    let mut unaccepted = Unaccepted::new("an HTTP connection");
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let Some(place) = places.take().await else {
                    continue;
                };
                let known = Arc::clone(&known);
                tokio::spawn(async move {
                    tokio::select! {
                        () = place.must_leave() => {}
                        // Whatever fails, the client is gone or late.
                        _ = timeout(TIME_MAX, serve(socket, &known, &place)) => {}
                    }
                });
            }
            Err(error) => unaccepted.pause(&error).await,
        }
    }
}

/// Answers one request.
async fn serve(mut socket: TcpStream, known: &Known, place: &Place) -> std::io::Result<()> {
    let mut head = Vec::with_capacity(HEAD_BYTES_MAX);
    let answer = loop {
        match Request::parse(&head) {
            Ok(Some(request)) => {
                place.enter(Stage::Answered);
                break known.answer(&request).await;
            }
            Ok(None) if HEAD_BYTES_MAX <= head.len() => break Answer::to_wrong(Wrong::TooLong),
            Ok(None) => {}
            Err(wrong) => break Answer::to_wrong(wrong),
        }
        let room = HEAD_BYTES_MAX - head.len();
        let room = u64::try_from(room).unwrap_or(0);
        if (&mut socket).take(room).read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    };
    socket.write_all(&answer.bytes()).await?;
    socket.shutdown().await?;
    drop(answer.waiter);
    place.enter(Stage::Leaving);
    // A socket that is closed with something unread takes the answer back.
    let mut rest = Vec::with_capacity(HEAD_BYTES_MAX);
    for _ in 0..LINGER_READS_MAX {
        rest.clear();
        if socket.read_buf(&mut rest).await? == 0 {
            break;
        }
    }
    Ok(())
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: &'static str,
    media_type: &'static str,
    body: String,
    /// Whether the body is left out.
    is_head: bool,
    /// The place of one who waited for a page, until it is sent.
    waiter: Option<OwnedSemaphorePermit>,
}

impl Answer {
    fn text(status: &'static str, body: impl Into<String>) -> Answer {
        Answer {
            status,
            media_type: TEXT_TYPE,
            body: body.into(),
            is_head: false,
            waiter: None,
        }
    }

    fn to_wrong(wrong: Wrong) -> Answer {
        match wrong {
            Wrong::Request => Answer::text("400 Bad Request", "not a request of HTTP/1\n"),
            Wrong::Method => Answer::text("405 Method Not Allowed", "only GET and HEAD\n"),
            Wrong::TooLong => {
                let text = format!("the most is {HEAD_BYTES_MAX} bytes\n");
                Answer::text("431 Request Header Fields Too Large", text)
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let (status, media_type, length) = (self.status, self.media_type, self.body.len());
        let mut bytes = format!(
            "HTTP/1.1 {status}\r\n\
             Content-Type: {media_type}\r\n\
             Content-Length: {length}\r\n\
             Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\n\
             Connection: close\r\n\
             {}\r\n",
            if status.starts_with("405") {
                "Allow: GET, HEAD\r\n"
            } else {
                ""
            }
        )
        .into_bytes();
        if !self.is_head {
            bytes.extend_from_slice(self.body.as_bytes());
        }
        bytes
    }
}

impl Known {
    async fn answer(&self, request: &Request<'_>) -> Answer {
        let answer = match request.path {
            "/metrics" => self.metrics().await,
            "/health" => self.health(),
            "/" => Answer::text("200 OK", "meseta: /metrics /health\n"),
            _ => Answer::text("404 Not Found", "there are /metrics and /health\n"),
        };
        Answer {
            is_head: request.method == Method::Head,
            ..answer
        }
    }

    async fn metrics(&self) -> Answer {
        let Some(shared) = self.shared.get() else {
            return Answer::text(UNAVAILABLE, "starting\n");
        };
        let Ok(waiter) = Arc::clone(&self.page_waiters).try_acquire_owned() else {
            return Answer::text(UNAVAILABLE, "many wait for the numbers\n");
        };
        match timeout(self.page_time_max, self.page(Arc::clone(shared))).await {
            Ok(Some(page)) => Answer {
                media_type: METRICS_TYPE,
                waiter: Some(waiter),
                ..Answer::text("200 OK", page)
            },
            Ok(None) => Answer::text("500 Internal Server Error", "there is no page\n"),
            Err(_) => Answer::text(UNAVAILABLE, "the numbers wait for the disk\n"),
        }
    }

    /// The page of `/metrics`; `None` when making it failed. Who stops waiting does not stop the making.
    async fn page(&self, shared: Arc<Shared>) -> Option<String> {
        let permit = Arc::clone(&self.pages).acquire_owned().await.ok()?;
        let started_seconds = self.started_seconds;
        let making = spawn_blocking(move || {
            let page = metrics::text(&shared, started_seconds);
            drop(permit);
            page
        });
        making.await.ok()
    }

    fn health(&self) -> Answer {
        let why_not = match self.shared.get() {
            None => Some("starting".to_owned()),
            Some(_) if self.is_stopping.load(Ordering::Relaxed) => Some("stopping".to_owned()),
            Some(shared) => {
                let read_only = shared.read_only();
                read_only.map(|cause| format!("read-only: {cause}"))
            }
        };
        match why_not {
            None => Answer::text("200 OK", "ok\n"),
            Some(reason) => Answer::text(UNAVAILABLE, format!("{reason}\n")),
        }
    }
}
