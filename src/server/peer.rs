//! A connection's socket: its options, and what the sweep sees of it that looks for lost clients, and KILL.

use std::io;
use std::net::{Shutdown, TcpStream as StdTcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::{self, Poll};

use rustix::net::sockopt::set_socket_keepalive;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::session::processes::Peer;

/// Sets what every connection needs, as far as the system lets it.
pub(super) fn set_options(socket: &TcpStream) {
    // Without it answers wait for the client's acknowledgements.
    let _ = socket.set_nodelay(true);
    // Without it one that vanished in a transaction keeps its row locks for `wait_timeout`.
    let _ = set_socket_keepalive(socket, true);
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

#[cfg(test)]
mod tests {
    use rustix::net::sockopt::socket_keepalive;
    use tokio::net::TcpListener;

    use super::*;

    /// As MySQL does.
    #[tokio::test]
    async fn clients_that_vanish_are_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (socket, _) = listener.accept().await.unwrap();
        assert!(!socket_keepalive(&socket).unwrap());
        set_options(&socket);
        assert!(socket_keepalive(&socket).unwrap() && socket.nodelay().unwrap());
    }
}
