//! A connection's socket as the sweep sees it that looks for lost clients, and KILL.

use std::io;
use std::net::{Shutdown, TcpStream as StdTcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::{self, Poll};

use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::session::processes::Peer;

/// The same socket, for the sweep that looks for lost clients.
pub(super) struct SocketPeer(pub(super) Arc<TcpStream>);

impl Peer for SocketPeer {
    /// Asks the system, because the runtime's threads may all be too busy to notice; and the runtime,
    /// because the system tells of a client that has sent more and then closed (`COM_QUIT`, say)
    /// only when that has been read.
    fn is_gone(&self) -> bool {
        let mut ready = std::pin::pin!(self.0.ready(Interest::READABLE));
        let mut looks = task::Context::from_waker(task::Waker::noop());
        if let Poll::Ready(Ok(ready)) = ready.as_mut().poll(&mut looks)
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

    fn cut(&self) {
        if let Ok(descriptor) = self.0.as_fd().try_clone_to_owned() {
            // Best effort: the connection's own task ends it, too.
            let _ = StdTcpStream::from(descriptor).shutdown(Shutdown::Both);
        }
    }
}
