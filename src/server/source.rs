//! What a connection reads from: its socket, or TLS on it.
//!
//! Where it waits for its client it hears when it is to end. What is done with the bytes is up to the
//! [`Room`] that they are read into.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::io::Interest;
use tokio::net::TcpStream;

use super::channel::Channel;
use super::gone::Gone;
use crate::exec::cancel::CancelToken;
use crate::protocol::compression::Unpacker;
use crate::protocol::packet::PacketReader;

/// What is read into.
pub(super) trait Room {
    fn spare(&mut self) -> &mut [u8];
    fn filled(&mut self, count: usize);
}

impl Room for PacketReader {
    fn spare(&mut self) -> &mut [u8] {
        self.spare()
    }

    fn filled(&mut self, count: usize) {
        self.filled(count);
    }
}

impl Room for Unpacker {
    fn spare(&mut self) -> &mut [u8] {
        self.spare()
    }

    fn filled(&mut self, count: usize) {
        self.filled(count);
    }
}

/// At what a connection waits for its client: how soon it ends when it is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// For a command: at once.
    AtRest,
    /// For what a statement needs: a server that drains lets that end.
    InStatement,
}

/// Where is read from.
pub(super) struct Source<'a> {
    pub(super) socket: &'a TcpStream,
    pub(super) cancel: &'a CancelToken,
    pub(super) waits: Waits,
    /// What decrypts it, if anything does.
    pub(super) channel: Option<&'a mut Channel>,
}

impl Source<'_> {
    /// Reads what is there, waiting for at least one byte.
    pub(super) async fn fill(&mut self, room: &mut impl Room) -> Result<(), Gone> {
        loop {
            let read = match &mut self.channel {
                None => {
                    readable(self.socket, self.cancel, self.waits).await?;
                    take(self.socket, room.spare())
                }
                Some(channel) => channel.read(room.spare()),
            };
            match read {
                Ok(0) => return Err(Gone::Closed),
                Ok(count) => {
                    room.filled(count);
                    return Ok(());
                }
                Err(error) if would_block(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(Gone::Closed);
                }
                Err(error) => return Err(Gone::Failed(error)),
            }
            if let Some(channel) = &mut self.channel {
                readable(self.socket, self.cancel, self.waits).await?;
                match channel.receive(self.socket) {
                    Ok(0) => return Err(Gone::Closed),
                    Ok(_) => {}
                    Err(error) if would_block(&error) => {}
                    Err(error) => return Err(Gone::Failed(error)),
                }
            }
        }
    }
}

/// Waits until there is something to read. One task at a time does so.
pub(super) async fn readable(
    socket: &TcpStream,
    cancel: &CancelToken,
    waits: Waits,
) -> Result<(), Gone> {
    poll_fn(|context| match socket.poll_read_ready(context) {
        Poll::Ready(ready) => Poll::Ready(ready.map_err(Gone::Failed)),
        Poll::Pending => {
            let stopped = match waits {
                Waits::AtRest => cancel.poll_connection_ended(context),
                Waits::InStatement => cancel.poll_connection_broken(context),
            };
            stopped.map(|stop| Err(Gone::Stopped(stop)))
        }
    })
    .await
}

/// Reads what is there. Less than there is room for is all there was: the runtime is told that the
/// socket is empty, so that nobody asks the system once more to hear it, once per command. What comes
/// between the read and that is not overlooked: the runtime forgets only the readiness that it knew of
/// when the outer call began.
fn take(socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
    let mut taken = 0;
    let read = socket.try_io(Interest::READABLE, || {
        taken = socket.try_read(room)?;
        let is_empty = 0 < taken && taken < room.len();
        if is_empty {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    });
    match read {
        Err(error) if taken == 0 || !would_block(&error) => Err(error),
        Ok(()) | Err(_) => Ok(taken),
    }
}

/// Whether there is nothing to be had now.
pub(super) fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    /// Reads so many bytes, or to the end; how many there were.
    async fn read(socket: &TcpStream, wanted: usize) -> usize {
        let (cancel, mut room, mut count) = (CancelToken::default(), [0; 64], 0);
        while count < wanted {
            let waiting = timeout(
                Duration::from_secs(30),
                readable(socket, &cancel, Waits::AtRest),
            );
            waiting.await.expect("something to read").unwrap();
            match take(socket, &mut room) {
                Ok(0) => break,
                Ok(some) => count += some,
                Err(error) => assert!(would_block(&error), "{error}"),
            }
        }
        count
    }

    #[tokio::test]
    async fn nothing_is_overlooked_after_a_read_that_left_room() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (mut client, accepted) = (connecting.await.unwrap(), listener.accept().await);
        let (server, _) = accepted.unwrap();
        // Less than there is room for, just as much, and more.
        for bytes_count in [5, 64, 5, 1, 200, 128, 3].into_iter().cycle().take(700) {
            client.write_all(&vec![7; bytes_count]).await.unwrap();
            assert_eq!(read(&server, bytes_count).await, bytes_count);
        }
        client.write_all(&[7; 5]).await.unwrap();
        drop(client);
        assert_eq!(read(&server, usize::MAX).await, 5);
    }
}
