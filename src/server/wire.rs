//! One connection's socket: what it reads into and what it sends from.
//!
//! One read and one write per command: the reader takes what is there, the writer is flushed when
//! no complete command is left or a page is full. Waiting for a slow client happens in
//! [`Wire::flush`], which is what slows a scan down to the client's pace. TLS, where there is some, is a
//! [`Channel`] between the two buffers and the socket; without it there is one look at an `Option`
//! more. So for compression, a [`Squeeze`] between the buffers and the channel.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::channel::Channel;
pub(super) use super::gone::Gone;
use super::source::{Source, Waits, readable, would_block};
use super::squeeze::Squeeze;
use crate::error::Error;
use crate::exec::cancel::CancelToken;
use crate::protocol::capabilities::{Capabilities, Status};
use crate::protocol::compression::Algorithm;
use crate::protocol::packet::{PacketReader, PacketWriter};
use crate::protocol::reply::{self, Outcome, Progress};
use crate::protocol::tracking::Untold;
use crate::session::Tls;

/// Answers to pipelined commands are gathered up to this many bytes before they are sent.
pub(super) const FLUSH_BYTES: usize = 64 * 1024;

/// How long a client may take to accept what is left to say when its connection ends.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);

/// How often it is looked whether a client that waits for its login and has sent more has left.
const LEFT_LOOKED_AT_EVERY: Duration = Duration::from_millis(100);

/// The sending half, and what it must know.
pub(super) struct Wire {
    socket: Arc<TcpStream>,
    cancel: Arc<CancelToken>,
    pub(super) out: PacketWriter,
    /// Bytes of `out` that are sent already.
    sent: usize,
    pub(super) capabilities: Capabilities,
    pub(super) net_write_timeout: Duration,
    /// Changes of the session that the next OK packet tells.
    pub(super) changes: Untold,
    /// How it is to be compressed after the login.
    pub(super) algorithm: Option<Algorithm>,
    /// What compresses it, if anything does.
    squeeze: Option<Box<Squeeze>>,
    /// What encrypts it, if anything does.
    channel: Option<Box<Channel>>,
    /// Whether the client is in the middle of a TLS handshake.
    is_securing: bool,
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
            changes: Untold::default(),
            algorithm: None,
            squeeze: None,
            channel: None,
            is_securing: false,
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
        self.is_securing = true;
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
                self.is_securing = false;
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

    /// From now on packets are compressed as agreed; the client has been told OK.
    pub(super) fn begin_compression(&mut self, reader: &mut PacketReader) {
        if let Some(algorithm) = self.algorithm {
            let received = reader.take_unread();
            reader.ignore_numbers();
            self.squeeze = Some(Box::new(Squeeze::new(algorithm, received)));
        }
    }

    /// What is sent from now on answers a packet with this sequence number, the last received.
    pub(super) fn answer(&mut self, sequence: u8) {
        if self.squeeze.is_some() {
            // What was said before has numbers of its own.
            self.seal();
        }
        if let Some(squeeze) = &mut self.squeeze {
            squeeze.answer();
        }
        self.out.set_sequence(sequence.wrapping_add(1));
    }

    /// What is sent from now on answers nothing.
    fn begin(&mut self) {
        self.seal();
        if let Some(squeeze) = &mut self.squeeze {
            squeeze.begin();
        }
        self.out.set_sequence(0);
    }

    /// Compresses what is gathered.
    fn seal(&mut self) {
        if let Some(squeeze) = &mut self.squeeze
            && !self.out.bytes().is_empty()
        {
            squeeze.pack(self.out.bytes());
            self.out.clear();
        }
    }

    /// Gives memory back; to be called when the connection waits for its client.
    pub(super) fn shrink(&mut self) {
        self.out.shrink();
        if let Some(squeeze) = &mut self.squeeze {
            squeeze.shrink();
        }
    }

    /// Reads what is there, waiting for at least one byte. May be dropped while it waits.
    pub(super) async fn fill(&mut self, reader: &mut PacketReader) -> Result<(), Gone> {
        self.fill_at(reader, Waits::AtRest).await
    }

    /// As [`Wire::fill`], for a statement that runs: a server that drains lets it end.
    pub(super) async fn fill_in_statement(
        &mut self,
        reader: &mut PacketReader,
    ) -> Result<(), Gone> {
        self.fill_at(reader, Waits::InStatement).await
    }

    async fn fill_at(&mut self, reader: &mut PacketReader, waits: Waits) -> Result<(), Gone> {
        let mut source = Source {
            socket: &self.socket,
            cancel: &self.cancel,
            waits,
            channel: self.channel.as_deref_mut(),
        };
        let Some(squeeze) = &mut self.squeeze else {
            return source.fill(reader).await;
        };
        while !squeeze.unpack_to(reader)? {
            source.fill(&mut squeeze.unpacker).await?;
        }
        Ok(())
    }

    /// Waits until the client has left, or is to leave. What it has sent until then is left unread;
    /// beyond some that the socket holds it is not noticed that it has left.
    pub(super) async fn until_gone(&self) -> Gone {
        let left = async {
            loop {
                let ready = match self.socket.ready(Interest::READABLE).await {
                    Ok(ready) => ready,
                    Err(error) => return Gone::Failed(error),
                };
                if ready.is_read_closed() {
                    return Gone::Closed;
                }
                // Something was sent out of turn. Looked at again after a while.
                sleep(LEFT_LOOKED_AT_EVERY).await;
            }
        };
        tokio::select! {
            biased;
            gone = left => gone,
            stop = self.cancel.connection_ended() => Gone::Stopped(stop),
        }
    }

    async fn readable(&self) -> Result<(), Gone> {
        readable(&self.socket, &self.cancel, Waits::AtRest).await
    }

    /// Sends everything. May be dropped while it waits: the next call goes on from there.
    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        self.seal();
        loop {
            match self.send_some() {
                Ok(()) => break,
                Err(error) if would_block(&error) => self.writable().await?,
                Err(error) => return Err(Gone::Failed(error)),
            }
        }
        self.forget_sent();
        Ok(())
    }

    fn forget_sent(&mut self) {
        match &mut self.squeeze {
            None => self.out.clear(),
            Some(squeeze) => squeeze.packed.clear(),
        }
        self.sent = 0;
    }

    /// Sends what the socket takes now. When that is not all, the error is `WouldBlock`.
    fn send_some(&mut self) -> io::Result<()> {
        loop {
            let all = match &self.squeeze {
                None => self.out.bytes(),
                Some(squeeze) => &squeeze.packed,
            };
            let rest = all.get(self.sent..).unwrap_or(&[]);
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
        if self.is_full() {
            self.flush().await?;
        }
        Ok(())
    }

    /// As [`Wire::flush_unless_stopped`], when it is much.
    pub(super) async fn flush_if_full_unless_stopped(&mut self) -> Result<Option<Error>, Gone> {
        if self.is_full() {
            return self.flush_unless_stopped().await;
        }
        Ok(None)
    }

    fn is_full(&self) -> bool {
        let packed = self.squeeze.as_ref().map_or(0, |one| one.packed.len());
        FLUSH_BYTES <= self.out.bytes_count() + packed
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
        self.seal();
        if self.send_some().is_err() {
            return false;
        }
        self.forget_sent();
        true
    }

    /// Appends an OK packet, with the changes that were not told yet.
    pub(super) fn ok(&mut self, outcome: &Outcome<'_>) {
        let outcome = Outcome {
            changes: &self.changes.told(),
            ..*outcome
        };
        self.out.packet(|out| reply::put_ok(out, &outcome));
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

    /// Appends the packet that ends rows. One of newer clients is an OK packet, which tells the
    /// changes that were not told yet; else they wait for the next OK.
    pub(super) fn end_of_rows(&mut self, status: Status, warnings_count: u16) {
        let capabilities = self.capabilities;
        let changes = if capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.changes.told()
        } else {
            Vec::new()
        };
        let outcome = Outcome {
            status,
            warnings_count,
            changes: &changes,
            ..Outcome::default()
        };
        self.out
            .packet(|out| reply::put_end(out, capabilities, &outcome));
    }

    /// Tells the client why its connection ends, where it can be told without waiting. One in the middle of
    /// a TLS handshake would take a packet for a part of that.
    pub(super) fn last_words(&mut self, gone: &Gone) {
        if self.is_securing {
            return;
        }
        if let Some(error) = gone.last_words() {
            self.error(&error);
            self.seal();
            let _ = self.send_some();
        }
    }

    /// As [`Wire::last_words`], for a client that waits for no answer.
    pub(super) fn unasked_last_words(&mut self, gone: &Gone) {
        self.begin();
        self.last_words(gone);
    }
}
