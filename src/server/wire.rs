//! One connection's socket: what it reads into and what it sends from.
//!
//! One read and one write per command: the reader takes what is there, the writer is flushed when
//! no complete command is left or a page is full. Waiting for a slow client happens in
//! [`Wire::flush`], which is what slows a scan down to the client's pace. TLS, where there is some, is a
//! [`Channel`] between the two buffers and the socket; without it there is one look at an `Option`
//! more.

use std::fmt;
use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::channel::Channel;
use crate::error::{Code, Error};
use crate::exec::cancel::{CancelToken, Stop};
use crate::protocol::capabilities::{Capabilities, Status};
use crate::protocol::packet::{Desync, PacketReader, PacketWriter};
use crate::protocol::reply::{self, Outcome, Progress};
use crate::session::Tls;
use crate::session::processes::Peer;

/// Answers to pipelined commands are gathered up to this many bytes before they are sent.
pub(super) const FLUSH_BYTES: usize = 64 * 1024;

/// How long a client may take to accept what is left to say when its connection ends.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);

/// Characters of a refusal that are logged.
const REFUSAL_CHARS_MAX: usize = 256;

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum Gone {
    /// The client has closed it.
    Closed,
    /// The network failed, or the client did not accept output in time.
    Failed(io::Error),
    /// The packets make no sense.
    Desync(Desync),
    /// It was asked to.
    Stopped(Stop),
    /// Login was refused; the client has been told why.
    Refused(Error),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gone::Closed => f.write_str("closed by the client"),
            Gone::Failed(error) => write!(f, "the network failed: {error}"),
            Gone::Desync(desync) => write!(f, "packets that make no sense: {desync:?}"),
            Gone::Stopped(stop) => write!(f, "stopped: {stop:?}"),
            Gone::Refused(error) => {
                let text = printable(&error.to_string());
                write!(f, "login refused: {text}")
            }
        }
    }
}

/// As it may stand in a log: names in it are the client's. One line, and not more characters than
/// [`REFUSAL_CHARS_MAX`] before they are escaped.
fn printable(text: &str) -> String {
    let mut shown = String::new();
    for one in text.chars().take(REFUSAL_CHARS_MAX) {
        if one == '\'' || one == '"' {
            shown.push(one);
        } else {
            shown.extend(one.escape_debug());
        }
    }
    shown
}

impl From<Desync> for Gone {
    fn from(desync: Desync) -> Gone {
        Gone::Desync(desync)
    }
}

/// The sending half, and what it must know.
pub(super) struct Wire {
    socket: Arc<TcpStream>,
    cancel: Arc<CancelToken>,
    pub(super) out: PacketWriter,
    /// Bytes of `out` that are sent already.
    sent: usize,
    pub(super) capabilities: Capabilities,
    pub(super) net_write_timeout: Duration,
    /// What encrypts it, if anything does.
    channel: Option<Box<Channel>>,
}

impl Wire {
    pub(super) fn new(socket: Arc<TcpStream>, cancel: Arc<CancelToken>) -> Wire {
        Wire {
            socket,
            cancel,
            out: PacketWriter::default(),
            sent: 0,
            capabilities: Capabilities::default(),
            net_write_timeout: LAST_WORDS_TIMEOUT,
            channel: None,
        }
    }

    /// Goes on behind TLS; `received` is what the client has sent of it. The handshake is over when
    /// this is.
    pub(super) async fn secure(
        &mut self,
        config: &Arc<ServerConfig>,
        received: &[u8],
    ) -> Result<(), Gone> {
        let mut channel = Box::new(Channel::new(config, received).map_err(Gone::Failed)?);
        loop {
            while channel.wants_write() {
                match channel.send(&self.socket) {
                    Ok(()) => {}
                    Err(error) if would_block(&error) => self.writable().await?,
                    Err(error) => return Err(Gone::Failed(error)),
                }
            }
            if !channel.is_handshaking() {
                self.channel = Some(channel);
                return Ok(());
            }
            self.readable().await?;
            match channel.receive(&self.socket) {
                Ok(0) => return Err(Gone::Closed),
                Ok(_) => {}
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(Gone::Failed(error)),
            }
        }
    }

    /// How it is encrypted; `None` when it is not.
    pub(super) fn tls(&self) -> Option<Tls> {
        self.channel.as_ref().map(|channel| channel.tls())
    }

    /// Reads what is there, waiting for at least one byte.
    pub(super) async fn fill(&mut self, reader: &mut PacketReader) -> Result<(), Gone> {
        if self.channel.is_some() {
            return self.fill_behind_tls(reader).await;
        }
        loop {
            self.readable().await?;
            match self.socket.try_read(reader.spare()) {
                Ok(0) => return Err(Gone::Closed),
                Ok(count) => {
                    reader.filled(count);
                    return Ok(());
                }
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(Gone::Failed(error)),
            }
        }
    }

    async fn fill_behind_tls(&mut self, reader: &mut PacketReader) -> Result<(), Gone> {
        loop {
            let Some(channel) = &mut self.channel else {
                return Err(Gone::Closed);
            };
            match channel.read(reader.spare()) {
                Ok(0) => return Err(Gone::Closed),
                Ok(count) => {
                    reader.filled(count);
                    return Ok(());
                }
                Err(error) if would_block(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(Gone::Closed);
                }
                Err(error) => return Err(Gone::Failed(error)),
            }
            self.readable().await?;
            if let Some(channel) = &mut self.channel {
                match channel.receive(&self.socket) {
                    Ok(0) => return Err(Gone::Closed),
                    Ok(_) => {}
                    Err(error) if would_block(&error) => {}
                    Err(error) => return Err(Gone::Failed(error)),
                }
            }
        }
    }

    async fn readable(&self) -> Result<(), Gone> {
        tokio::select! {
            biased;
            readable = self.socket.readable() => readable.map_err(Gone::Failed),
            stop = self.cancel.connection_ended() => Err(Gone::Stopped(stop)),
        }
    }

    /// Sends everything. May be dropped while it waits: the next call goes on from there.
    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        loop {
            match self.send_some() {
                Ok(()) => break,
                Err(error) if would_block(&error) => self.writable().await?,
                Err(error) => return Err(Gone::Failed(error)),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Sends what the socket takes now. When that is not all, the error is `WouldBlock`.
    fn send_some(&mut self) -> io::Result<()> {
        loop {
            let rest = self.out.bytes().get(self.sent..).unwrap_or(&[]);
            match &mut self.channel {
                None if rest.is_empty() => return Ok(()),
                None => self.sent += self.socket.try_write(rest)?,
                Some(channel) => {
                    let is_all = rest.is_empty();
                    self.sent += channel.take(rest)?;
                    channel.send(&self.socket)?;
                    if is_all {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Sends everything, unless the statement is to stop while the client does not read: then says
    /// why, and what is left is sent with what comes after it.
    pub(super) async fn flush_unless_stopped(&mut self) -> Result<Option<Error>, Gone> {
        let cancel = Arc::clone(&self.cancel);
        tokio::select! {
            biased;
            flushed = self.flush() => flushed.map(|()| None),
            error = cancel.stopped() => Ok(Some(error)),
        }
    }

    async fn writable(&self) -> Result<(), Gone> {
        let writable = async {
            tokio::select! {
                biased;
                writable = self.socket.writable() => writable.map_err(Gone::Failed),
                stop = self.cancel.connection_broken() => Err(Gone::Stopped(stop)),
            }
        };
        let timed_out = || Gone::Failed(io::Error::from(io::ErrorKind::TimedOut));
        timeout(self.net_write_timeout, writable)
            .await
            .map_err(|_| timed_out())?
    }

    /// Sends what is gathered, when it is much.
    pub(super) async fn flush_if_full(&mut self) -> Result<(), Gone> {
        if FLUSH_BYTES <= self.out.bytes_count() {
            self.flush().await?;
        }
        Ok(())
    }

    /// Sends a report while a statement runs, unless the client is behind in reading: nobody waits
    /// for it, and what does not fit into the socket goes out in front of the answer.
    pub(super) fn report(&mut self, progress: &Progress) {
        if self.has_sent_all() {
            self.out.packet(|out| reply::put_progress(out, progress));
            self.has_sent_all();
        }
    }

    /// Sends what can be sent without waiting; whether that is all. Errors are left to
    /// [`flush`](Self::flush).
    fn has_sent_all(&mut self) -> bool {
        if self.send_some().is_err() {
            return false;
        }
        self.out.clear();
        self.sent = 0;
        true
    }

    /// Appends an OK packet.
    pub(super) fn ok(&mut self, outcome: &Outcome<'_>) {
        self.out.packet(|out| reply::put_ok(out, outcome));
    }

    /// Appends an ERR packet.
    pub(super) fn error(&mut self, error: &Error) {
        self.out.packet(|out| reply::put_error(out, error));
    }

    /// Tells the client no; the connection is to end.
    pub(super) async fn refuse(&mut self, error: Error) -> Gone {
        self.error(&error);
        match self.flush().await {
            Ok(()) => Gone::Refused(error),
            Err(gone) => gone,
        }
    }

    /// Appends the packet between columns and rows, which newer clients do without.
    pub(super) fn end_of_columns(&mut self, status: Status) {
        if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.out.packet(|out| reply::put_eof(out, status, 0));
        }
    }

    /// Appends the packet that ends rows.
    pub(super) fn end_of_rows(&mut self, status: Status, warnings_count: u16) {
        let capabilities = self.capabilities;
        let outcome = Outcome {
            status,
            warnings_count,
            ..Outcome::default()
        };
        self.out
            .packet(|out| reply::put_end(out, capabilities, &outcome));
    }

    /// Tells the client why its connection ends, where it can be told without waiting.
    pub(super) fn last_words(&mut self, gone: &Gone) {
        if let Some(error) = gone.last_words() {
            self.error(&error);
            let _ = self.send_some();
        }
    }
}

fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

impl Gone {
    fn last_words(&self) -> Option<Error> {
        match self {
            Gone::Desync(Desync::OutOfOrder) => Some(Error::new(
                Code::NetPacketsOutOfOrder,
                "Got packets out of order",
            )),
            Gone::Desync(Desync::Endless) => Some(Error::new(
                Code::PacketTooLarge,
                "Got a packet bigger than 'max_allowed_packet' bytes",
            )),
            Gone::Stopped(stop @ (Stop::Drain | Stop::IdleTooLong | Stop::ShuttingDown)) => {
                Some(stop.error())
            }
            Gone::Closed
            | Gone::Failed(_)
            | Gone::Refused(_)
            | Gone::Stopped(Stop::ClientLost | Stop::Query | Stop::Connection) => None,
        }
    }
}

/// The same socket, for the sweep that looks for lost clients.
pub(super) struct SocketPeer(pub(super) Arc<TcpStream>);

impl Peer for SocketPeer {
    /// Asks the system, because the runtime's threads may all be too busy to notice; and the runtime,
    /// because the system tells of a client that has sent more and then closed (`COM_QUIT`, say)
    /// only when that has been read.
    fn is_gone(&self) -> bool {
        let mut ready = std::pin::pin!(self.0.ready(Interest::READABLE));
        let mut looks = task::Context::from_waker(task::Waker::noop());
        if let task::Poll::Ready(Ok(ready)) = ready.as_mut().poll(&mut looks)
            && ready.is_read_closed()
        {
            return true;
        }
        let Ok(descriptor) = self.0.as_fd().try_clone_to_owned() else {
            return false;
        };
        match StdTcpStream::from(descriptor).peek(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}
