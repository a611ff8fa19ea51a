//! A connection's compression: answers are packed as they are about to be sent, what comes is unpacked
//! as it is needed.
//!
//! Where packets lie is [`compression`](crate::protocol::compression)'s; here is which sequence
//! numbers are right. The answers to each command are packed by themselves, and their numbers go on
//! from those of the command, also when commands come without waiting for answers.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::gone::Gone;
use crate::ceiling;
use crate::protocol::compression::{self, Algorithm, Expected, Unpacker};
use crate::protocol::packet::PacketReader;

/// Packing or unpacking so much at once takes milliseconds: another thread takes over the other
/// connections meanwhile.
const LONG_BYTES: usize = 256 * 1024;

/// Memory for packets from so many bytes on, packed and expanded, is asked for.
const ASKED_BYTES_MIN: usize = 64 * 1024;

/// Packed bytes above this are given back when a connection goes idle.
const IDLE_BYTES_MAX: usize = 16 * 1024;

/// Both directions of one connection.
pub(super) struct Squeeze {
    algorithm: Algorithm,
    pub(super) unpacker: Unpacker,
    /// What is to be sent.
    pub(super) packed: Vec<u8>,
    /// The number of the next packet that is sent.
    sequence: u8,
    /// Bytes of the unpacker's buffer that were asked for.
    asked_bytes: usize,
}

impl Squeeze {
    /// Begins with what was read already.
    pub(super) fn new(algorithm: Algorithm, received: Vec<u8>) -> Squeeze {
        Squeeze {
            algorithm,
            unpacker: Unpacker::new(algorithm, received),
            packed: Vec::new(),
            sequence: 0,
            asked_bytes: 0,
        }
    }

    /// Packs what is to be sent.
    pub(super) fn pack(&mut self, plain: &[u8]) {
        let (packed, how) = (&mut self.packed, (self.algorithm, self.sequence));
        self.sequence = long(plain.len(), || compression::put_packed(packed, plain, how));
    }

    /// Gives the reader more of what was received; whether there was some.
    ///
    /// # Errors
    /// [`Gone::Desync`]; [`Gone::NoMemory`] when the process has none for the next packet: it cannot be skipped,
    /// as the packets in it are not known.
    pub(super) fn unpack_to(&mut self, reader: &mut PacketReader) -> Result<bool, Gone> {
        self.ask()?;
        let expected = Expected {
            after_answer: self.sequence,
            may_begin: reader.is_between_packets(),
        };
        let unpacker = &mut self.unpacker;
        let bytes = unpacker.next_plain_bytes().unwrap_or(0);
        let given = long(bytes, || unpacker.give(reader.spare(), expected))?;
        reader.filled(given.unwrap_or(0));
        Ok(given.is_some())
    }

    /// Asks for the memory of what was received and is longer than most, and of what it is about to become.
    fn ask(&mut self) -> Result<(), Gone> {
        let what = "a compressed packet from the client";
        let bytes = self.unpacker.buffer_bytes();
        if ASKED_BYTES_MIN <= bytes && self.asked_bytes < bytes {
            ceiling::admit(what, bytes - self.asked_bytes).map_err(Gone::NoMemory)?;
            self.asked_bytes = bytes;
        }
        let plain_bytes = self.unpacker.next_plain_bytes().unwrap_or(0);
        if ASKED_BYTES_MIN <= plain_bytes && self.unpacker.is_given() {
            ceiling::admit(what, plain_bytes).map_err(Gone::NoMemory)?;
        }
        Ok(())
    }

    /// What is sent from now on answers what was received last.
    pub(super) fn answer(&mut self) {
        self.sequence = self.unpacker.sequence().wrapping_add(1);
    }

    /// What is sent from now on answers nothing.
    pub(super) fn begin(&mut self) {
        self.sequence = 0;
    }

    /// Gives memory back; to be called when the connection waits for its client.
    pub(super) fn shrink(&mut self) {
        if self.packed.is_empty() && IDLE_BYTES_MAX < self.packed.capacity() {
            self.packed = Vec::new();
        }
        self.unpacker.shrink();
        self.asked_bytes = self.asked_bytes.min(self.unpacker.buffer_bytes());
    }
}

fn long<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if LONG_BYTES <= bytes && matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        block_in_place(work)
    } else {
        work()
    }
}
