//! TLS over one socket: bytes in clear on one side, records on the other.
//!
//! It waits for nothing: what would wait says `WouldBlock`, and its caller ([`super::wire`]) waits as
//! for a socket without TLS. Whole answers are handed in at once, so records are as long as they can
//! be.

use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

use rustls::{ProtocolVersion, ServerConfig, ServerConnection};
use tokio::net::TcpStream;

use crate::session::Tls;

/// Bytes in clear that are taken in before they have been sent: sixteen of the longest records.
const BUFFER_BYTES_MAX: usize = 256 * 1024;

/// The server's side of an encrypted connection.
pub(super) struct Channel {
    connection: ServerConnection,
}

/// A socket that reads and writes without waiting.
struct Socket<'a>(&'a TcpStream);

impl Read for Socket<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(bytes)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Channel {
    /// A channel whose handshake has not begun; `received` is what the client has sent of it.
    pub(super) fn new(config: &Arc<ServerConfig>, mut received: &[u8]) -> io::Result<Channel> {
        let mut connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        connection.set_buffer_limit(Some(BUFFER_BYTES_MAX));
        let mut channel = Channel { connection };
        while !received.is_empty() {
            channel.connection.read_tls(&mut received)?;
            channel.process()?;
        }
        Ok(channel)
    }

    /// Whether the handshake goes on.
    pub(super) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether there is something to send.
    pub(super) fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Takes records in; 0 when the client has closed its end.
    pub(super) fn receive(&mut self, socket: &TcpStream) -> io::Result<usize> {
        let count = self.connection.read_tls(&mut Socket(socket))?;
        if let Err(error) = self.process() {
            // Tells the client what is wrong with it, if that can be told.
            let _ = self.connection.write_tls(&mut Socket(socket));
            return Err(error);
        }
        Ok(count)
    }

    fn process(&mut self) -> io::Result<()> {
        let processed = self.connection.process_new_packets();
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        processed.map(drop).map_err(invalid)
    }

    /// Gives bytes in clear; 0 when the client has said that there are no more.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.connection.reader().read(bytes)
    }

    /// Takes bytes in clear; how many there was room for.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.writer().write(bytes)
    }

    /// Sends all records that there are.
    pub(super) fn send(&mut self, socket: &TcpStream) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut Socket(socket))? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// What was agreed upon.
    pub(super) fn tls(&self) -> Tls {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            Some(_) | None => "TLSv1.3",
        };
        let suite = self.connection.negotiated_cipher_suite();
        let suite = suite.and_then(|suite| suite.suite().as_str());
        Tls {
            version,
            cipher: openssl_name(suite.unwrap_or("")),
        }
    }
}

/// OpenSSL's name of a cipher suite, from the one of the standard.
///
/// ```text
///  TLS13_AES_256_GCM_SHA384                 TLS_AES_256_GCM_SHA384
///  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384    ECDHE-RSA-AES256-GCM-SHA384
/// ```
fn openssl_name(suite: &str) -> String {
    if let Some(rest) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let rest = suite.strip_prefix("TLS_").unwrap_or(suite);
    let name = rest
        .replace("_WITH_", "-")
        .replace("AES_", "AES")
        .replace('_', "-");
    name.replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")
}
