//! Packets that are written once and sent many times.

use super::PacketWriter;

/// Packets ready to be sent again; see [`PacketWriter::copy_since`].
#[derive(Debug)]
pub struct CopiedPackets {
    bytes: Box<[u8]>,
    first_sequence: u8,
    next_sequence: u8,
}

impl CopiedPackets {
    /// How many bytes it keeps.
    pub fn bytes_count(&self) -> usize {
        self.bytes.len()
    }
}

impl PacketWriter {
    /// Appends packets that were written by another writer from sequence number
    /// `first_sequence` on; falls back to `false` when the next number is another.
    pub fn append_packets(&mut self, packets: &CopiedPackets) -> bool {
        if packets.first_sequence != self.sequence {
            return false;
        }
        self.bytes.extend_from_slice(&packets.bytes);
        self.sequence = packets.next_sequence;
        true
    }

    /// A copy of the packets written since the buffer had `start` bytes, to be appended again
    /// where the sequence number is `first_sequence` again.
    pub fn copy_since(&self, start: usize, first_sequence: u8) -> CopiedPackets {
        CopiedPackets {
            bytes: self.bytes.get(start..).unwrap_or(&[]).into(),
            first_sequence,
            next_sequence: self.sequence,
        }
    }
}
