//! Framing: a packet is a three-byte length, a sequence number and a payload; a payload of
//! 0xFFFFFF bytes is continued by the next packet, be that empty.
//!
//! Not here: what a payload means, and sockets. The reader is fed through [`PacketReader::spare`]
//! and [`PacketReader::filled`], and gives every complete packet in order before it asks for more,
//! so that pipelined commands are all answered before one write. A packet that the process has no
//! memory for is skipped as one that is too long.

mod copied;

use std::ops::Range;

use super::wire;
use crate::ceiling::{self, GRAIN_BYTES, Shortage};
use crate::error::Error;
pub use copied::CopiedPackets;

/// The payload bytes after which a packet is continued by another.
pub const PART_BYTES_MAX: usize = 0xFF_FFFF;

/// Bytes before the payload: length and sequence number.
pub const HEADER_BYTES: usize = 4;

/// Packets of at most this many bytes are parsed where they were read; longer ones are gathered.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// The least room offered to one read from the socket: most commands are shorter, and a connection
/// that waits holds it.
const SPARE_BYTES_MIN: usize = 1024;

/// The most room that is offered to one read of a packet that is longer than [`INLINE_BYTES_MAX`].
const GATHERED_AT_ONCE: usize = 64 * 1024;

/// Read buffers above this are given back when a connection goes idle.
const IDLE_BYTES_MAX: usize = 4 * 1024;

/// Too large packets are read to their end so that the connection can live on, but only so far.
const SKIP_BYTES_MAX: u64 = 4 << 30;

/// Bytes that are kept of a packet that is skipped: of `SEND_LONG_DATA`, which has no answer, the command,
/// the statement and the parameter.
const HEAD_BYTES: usize = 7;

/// A packet that was received whole; its payload is asked for with [`PacketReader::payload`].
#[derive(Debug)]
pub struct Packet {
    /// The sequence number of its last part.
    pub sequence: u8,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Inline(Range<usize>),
    Gathered,
    Skipped(Skip),
}

/// Why a packet is not gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    /// It is longer than the limit.
    TooLong,
    /// There is no memory for more of it.
    NoMemory(Shortage),
}

/// Why the stream cannot be understood any more; the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Desync {
    /// A sequence number that is not the next.
    OutOfOrder,
    /// A packet so long that even skipping it was given up.
    Endless,
    /// A compressed packet that does not expand to what it says.
    NotCompressed,
}

type Admits = fn(usize) -> Result<(), Shortage>;

/// Cuts a stream of bytes into packets.
#[derive(Debug)]
pub struct PacketReader {
    /// Zeroed to its full length; `start..end` is what was read and not yet given out.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    gathering: Option<Gathering>,
    gathered: Vec<u8>,
    packet_bytes_max: usize,
    /// Whether sequence numbers are looked at.
    is_numbered: bool,
    /// Asks whether the process has memory for so many bytes.
    admits: Admits,
}

/// A packet longer than [`INLINE_BYTES_MAX`] on its way in.
#[derive(Debug)]
struct Gathering {
    /// Only its [`HEAD_BYTES`] of one that is skipped.
    payload: Vec<u8>,
    part_bytes_left: usize,
    more_follows: bool,
    /// Sequence number of the part that is being read.
    sequence: u8,
    bytes_seen: u64,
    skip: Option<Skip>,
    /// Bytes of the payload that were asked for.
    asked_bytes: usize,
}

impl PacketReader {
    /// A reader that gathers packets of at most `packet_bytes_max` and skips longer ones.
    pub fn new(packet_bytes_max: usize) -> PacketReader {
        PacketReader {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            gathering: None,
            gathered: Vec::new(),
            packet_bytes_max,
            is_numbered: true,
            admits: ceiling::ask,
        }
    }

    /// The same, told by another whether there is memory.
    #[cfg(test)]
    pub(crate) fn admitted_by(self, admits: Admits) -> PacketReader {
        PacketReader { admits, ..self }
    }

    /// From now on packets come in compressed ones, whose numbers count: client libraries number
    /// those in them in various ways, and MySQL does not look at them either.
    pub fn ignore_numbers(&mut self) {
        self.is_numbered = false;
    }

    /// Whether what was filled in ends where a packet does.
    pub fn is_between_packets(&self) -> bool {
        self.start == self.end && self.gathering.is_none()
    }

    /// Changes the limit for packets that have not begun to arrive.
    pub fn set_packet_bytes_max(&mut self, packet_bytes_max: usize) {
        self.packet_bytes_max = packet_bytes_max;
    }

    /// The limit on one packet.
    pub fn packet_bytes_max(&self) -> usize {
        self.packet_bytes_max
    }

    /// Room to read into; report how much was read to [`filled`](Self::filled).
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if let Some(gathering) = &self.gathering {
            let wanted = gathering.part_bytes_left.min(GATHERED_AT_ONCE);
            if self.buffer.len() - self.end < wanted {
                self.buffer.resize(self.end + wanted, 0);
            }
        }
        if self.buffer.len() - self.end < SPARE_BYTES_MIN && 0 < self.start {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < SPARE_BYTES_MIN {
            let bytes = (self.buffer.len() * 2).max(self.end + SPARE_BYTES_MIN);
            self.buffer.resize(bytes, 0);
        }
        self.buffer.get_mut(self.end..).unwrap_or(&mut [])
    }

    /// `count` bytes of [`spare`](Self::spare) hold data now.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// The next complete packet, whose first part must have the sequence number `expected`;
    /// `None` until more bytes are filled in.
    ///
    /// # Errors
    /// [`Desync`] when the stream makes no sense; stop reading it.
    pub fn next(&mut self, expected: u8) -> Result<Option<Packet>, Desync> {
        if self.gathering.is_none() {
            let unread = self.buffer.get(self.start..self.end).unwrap_or(&[]);
            let Some((header, rest)) = unread.split_first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let [a, b, c, sequence] = *header;
            let bytes = part_bytes([a, b, c]);
            if self.is_numbered && sequence != expected {
                return Err(Desync::OutOfOrder);
            }
            if bytes <= INLINE_BYTES_MAX && bytes <= self.packet_bytes_max {
                if rest.len() < bytes {
                    return Ok(None);
                }
                let first = self.start + HEADER_BYTES;
                self.start = first + bytes;
                let place = Place::Inline(first..self.start);
                return Ok(Some(Packet { sequence, place }));
            }
            self.start += HEADER_BYTES;
            self.gathering = Some(Gathering::begin(bytes, sequence, self.packet_bytes_max));
        }
        self.gather()
    }

    fn gather(&mut self) -> Result<Option<Packet>, Desync> {
        let Some(mut gathering) = self.gathering.take() else {
            return Ok(None);
        };
        loop {
            let unread = self.buffer.get(self.start..self.end).unwrap_or(&[]);
            self.start += gathering.take(unread, self.admits);
            if gathering.part_bytes_left != 0 {
                break;
            }
            if !gathering.more_follows {
                self.gathered = gathering.payload;
                let place = match gathering.skip {
                    Some(skip) => Place::Skipped(skip),
                    None => Place::Gathered,
                };
                return Ok(Some(Packet {
                    sequence: gathering.sequence,
                    place,
                }));
            }
            let unread = self.buffer.get(self.start..self.end).unwrap_or(&[]);
            let Some(header) = unread.first_chunk::<HEADER_BYTES>() else {
                break;
            };
            gathering.next_part(*header, (self.packet_bytes_max, self.is_numbered))?;
            self.start += HEADER_BYTES;
        }
        self.gathering = Some(gathering);
        Ok(None)
    }

    /// The payload of a packet that [`next`](Self::next) has just given out; `None` when it was
    /// skipped.
    pub fn payload(&self, packet: &Packet) -> Option<&[u8]> {
        match &packet.place {
            Place::Inline(range) => self.buffer.get(range.clone()),
            Place::Gathered => Some(&self.gathered),
            Place::Skipped(_) => None,
        }
    }

    /// The first bytes of a packet that was skipped, by which it is known what it asked for; none of others.
    pub fn head(&self, packet: &Packet) -> &[u8] {
        match packet.place {
            Place::Skipped(_) => &self.gathered,
            Place::Inline(_) | Place::Gathered => &[],
        }
    }

    /// Why a packet was skipped for want of memory; `None` when it was too long.
    pub fn want_of_memory(&self, packet: &Packet) -> Option<Error> {
        match packet.place {
            Place::Skipped(Skip::NoMemory(shortage)) => {
                Some(shortage.error("a packet from the client"))
            }
            Place::Inline(_) | Place::Gathered | Place::Skipped(Skip::TooLong) => None,
        }
    }

    /// Takes the bytes out that were read and not given out: they are of another protocol.
    pub fn take_unread(&mut self) -> Vec<u8> {
        let unread = self
            .buffer
            .get(self.start..self.end)
            .unwrap_or(&[])
            .to_vec();
        (self.start, self.end) = (0, 0);
        unread
    }

    /// Whether bytes wait that were read and not given out.
    pub fn has_unread(&self) -> bool {
        self.start < self.end
    }

    /// Gives memory back; to be called when the connection waits for its client.
    pub fn shrink(&mut self) {
        self.gathered = Vec::new();
        let is_idle = self.start == self.end && self.gathering.is_none();
        if is_idle && IDLE_BYTES_MAX < self.buffer.len() {
            self.buffer = Vec::new();
            self.start = 0;
            self.end = 0;
        }
    }
}

impl Gathering {
    fn begin(bytes: usize, sequence: u8, packet_bytes_max: usize) -> Gathering {
        Gathering {
            payload: Vec::new(),
            part_bytes_left: bytes,
            more_follows: bytes == PART_BYTES_MAX,
            sequence,
            bytes_seen: length_u64(bytes),
            skip: (packet_bytes_max < bytes).then_some(Skip::TooLong),
            asked_bytes: 0,
        }
    }

    /// Takes what belongs to the current part from the front of `unread`; says how much.
    fn take(&mut self, unread: &[u8], admits: Admits) -> usize {
        let count = self.part_bytes_left.min(unread.len());
        let wanted_bytes = self.payload.len() + count;
        if self.skip.is_none() && self.asked_bytes < wanted_bytes {
            self.asked_bytes = wanted_bytes.saturating_add(GRAIN_BYTES);
            if let Err(shortage) = admits(GRAIN_BYTES) {
                self.give_up(Skip::NoMemory(shortage));
            }
        }
        let kept = match self.skip {
            None => count,
            Some(_) => count.min(HEAD_BYTES.saturating_sub(self.payload.len())),
        };
        self.payload
            .extend_from_slice(unread.get(..kept).unwrap_or(&[]));
        self.part_bytes_left -= count;
        count
    }

    fn next_part(
        &mut self,
        header: [u8; 4],
        (packet_bytes_max, is_numbered): (usize, bool),
    ) -> Result<(), Desync> {
        let [a, b, c, sequence] = header;
        let bytes = part_bytes([a, b, c]);
        if is_numbered && sequence != self.sequence.wrapping_add(1) {
            return Err(Desync::OutOfOrder);
        }
        self.sequence = sequence;
        self.part_bytes_left = bytes;
        self.more_follows = bytes == PART_BYTES_MAX;
        self.bytes_seen = self.bytes_seen.saturating_add(length_u64(bytes));
        if SKIP_BYTES_MAX < self.bytes_seen {
            return Err(Desync::Endless);
        }
        if length_u64(packet_bytes_max) < self.bytes_seen {
            self.give_up(Skip::TooLong);
        }
        Ok(())
    }

    fn give_up(&mut self, why: Skip) {
        self.skip = Some(why);
        let head = self.payload.get(..HEAD_BYTES).unwrap_or(&self.payload);
        self.payload = head.to_vec();
    }
}

fn part_bytes(length: [u8; 3]) -> usize {
    usize::try_from(wire::u24(length)).unwrap_or(PART_BYTES_MAX)
}

fn length_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Collects packets to be sent; rows are encoded straight into its buffer.
#[derive(Debug, Default)]
pub struct PacketWriter {
    bytes: Vec<u8>,
    sequence: u8,
}

/// Output buffers above this are given back when a connection goes idle.
const IDLE_OUT_BYTES_MAX: usize = 16 * 1024;

impl PacketWriter {
    /// The next packet gets this sequence number.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The sequence number that the next packet gets.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Appends a packet whose payload is what `fill` appends.
    pub fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.begin();
        fill(&mut self.bytes);
        self.finish(start);
    }

    /// Appends a packet whose payload is what `fill` appends, or nothing when it fails.
    ///
    /// # Errors
    /// Those of `fill`.
    pub fn try_packet<E>(
        &mut self,
        fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.begin();
        match fill(&mut self.bytes) {
            Ok(()) => {
                self.finish(start);
                Ok(())
            }
            Err(error) => {
                self.bytes.truncate(start);
                Err(error)
            }
        }
    }

    /// What is to be sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes are to be sent.
    pub fn bytes_count(&self) -> usize {
        self.bytes.len()
    }

    /// Everything was sent.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Gives memory back; to be called when the connection waits for its client.
    pub fn shrink(&mut self) {
        if IDLE_OUT_BYTES_MAX < self.bytes.capacity() && self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }

    fn begin(&mut self) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        start
    }

    fn finish(&mut self, start: usize) {
        let payload_bytes = self.bytes.len().saturating_sub(start + HEADER_BYTES);
        if PART_BYTES_MAX <= payload_bytes {
            self.finish_long(start);
            return;
        }
        let header = header(payload_bytes, self.sequence);
        if let Some(place) = self.bytes.get_mut(start..start + HEADER_BYTES) {
            place.copy_from_slice(&header);
        }
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Cuts the payload into parts; the last is shorter than a full one, possibly empty.
    fn finish_long(&mut self, start: usize) {
        let payload = self.bytes.split_off(start);
        let mut rest = payload.get(HEADER_BYTES..).unwrap_or(&[]);
        loop {
            let (part, after) = rest.split_at_checked(PART_BYTES_MAX).unwrap_or((rest, &[]));
            self.bytes
                .extend_from_slice(&header(part.len(), self.sequence));
            self.bytes.extend_from_slice(part);
            self.sequence = self.sequence.wrapping_add(1);
            rest = after;
            if part.len() < PART_BYTES_MAX {
                return;
            }
        }
    }
}

fn header(payload_bytes: usize, sequence: u8) -> [u8; HEADER_BYTES] {
    let [a, b, c] = wire::u24_bytes(u32::try_from(payload_bytes).unwrap_or(0));
    [a, b, c, sequence]
}
