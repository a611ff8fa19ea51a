//! Why a connection ends, for the log and for the client.

use std::fmt;
use std::io;

use crate::error::{Code, Error};
use crate::exec::cancel::Stop;
use crate::protocol::packet::Desync;

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
    /// There is no memory for what it sends.
    NoMemory(Error),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gone::Closed => f.write_str("closed by the client"),
            Gone::Failed(error) => write!(f, "the network failed: {error}"),
            Gone::Desync(desync) => write!(f, "packets that make no sense: {desync:?}"),
            Gone::Stopped(stop) => write!(f, "stopped: {stop:?}"),
            Gone::NoMemory(error) => write!(f, "{error}"),
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

impl Gone {
    /// What the client is told, if anything.
    pub(super) fn last_words(&self) -> Option<Error> {
        match self {
            Gone::Desync(Desync::OutOfOrder) => Some(Error::new(
                Code::NetPacketsOutOfOrder,
                "Got packets out of order",
            )),
            Gone::Desync(Desync::Endless) => Some(Error::new(
                Code::PacketTooLarge,
                "Got a packet bigger than 'max_allowed_packet' bytes",
            )),
            Gone::Desync(Desync::NotCompressed) => Some(Error::new(
                Code::NetUncompress,
                "Couldn't uncompress communication packet",
            )),
            Gone::NoMemory(error) => Some(error.clone()),
            Gone::Stopped(stop @ (Stop::Drain | Stop::IdleTooLong | Stop::ShuttingDown)) => {
                Some(stop.error())
            }
            Gone::Closed
            | Gone::Failed(_)
            | Gone::Refused(_)
            | Gone::Stopped(Stop::ClientLost | Stop::Query | Stop::Released | Stop::Connection) => {
                None
            }
        }
    }
}
