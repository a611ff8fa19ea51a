//! Compressed packets: a layer under [`super::packet`], agreed upon in the hello and begun after the
//! OK of the login.
//!
//! Each has the length of what follows, a sequence number of this layer, the length of what that
//! expands to, or 0 when it is not compressed, and then a piece of the stream of ordinary packets.
//! Where those begin and end in it means nothing. Both numbers have three bytes, so neither side of one
//! holds more than 16 MiB: [`Unpacker`] holds one at a time, and expands it to exactly what it says
//! or not at all.
//!
//! Not here: sockets, and when answers are packed (`server::squeeze`).
//!
//! Source: MySQL Server Doxygen documentation, "Compression", "Compressed Packet".

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::ResetDirective;

use super::packet::{Desync, PART_BYTES_MAX};
use super::wire;

/// Bytes before the payload: its length, sequence number, and what it expands to.
pub const HEADER_BYTES: usize = 7;

/// Payloads shorter than this are sent as they are, as MySQL does.
pub const PLAIN_BYTES_MIN: usize = 50;

/// The most bytes that one packet is made of: as many as MySQL's, since some client libraries can read
/// no ordinary packet that lies in more than two of them.
const PIECE_BYTES_MAX: usize = PART_BYTES_MAX;

/// The level of zlib. Level 6, MySQL's, packs 10 % smaller and takes three to eight times as long;
/// see docs/decisions.md.
const ZLIB_LEVEL: u32 = 1;

/// The most that is done for a client that asks for a high level of zstd.
const ZSTD_LEVEL_MAX: u8 = 9;

/// Level 3, of clients that give none.
const ZSTD_LEVEL_DEFAULT: u8 = 3;

/// Buffers above this are given back when a connection goes idle.
const IDLE_BYTES_MAX: usize = 4 * 1024;

/// A buffer of expanded bytes above this is given back as soon as they were given out.
const PLAIN_BYTES_KEPT: usize = 64 * 1024;

/// The least room offered to one read from the socket.
const SPARE_BYTES_MIN: usize = 4 * 1024;

/// How payloads are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 1950.
    Zlib,
    /// RFC 8878, at a level.
    Zstd(u8),
}

thread_local! {
    // Hundreds of kilobytes each: too much for every connection to have its own. What they hold is
    // forgotten before each use.
    static DEFLATE: RefCell<Option<Compress>> = const { RefCell::new(None) };
    static INFLATE: RefCell<Option<Decompress>> = const { RefCell::new(None) };
    static ZSTD_OUT: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static ZSTD_IN: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

impl Algorithm {
    /// zstd as a client asked for it; 0 when it gave no level.
    pub fn zstd(level: u8) -> Algorithm {
        Algorithm::Zstd(match level {
            0 => ZSTD_LEVEL_DEFAULT,
            level => level.min(ZSTD_LEVEL_MAX),
        })
    }

    /// Its name in `protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd(_) => "zstd",
        }
    }

    /// How hard it tries.
    pub fn level(self) -> u32 {
        match self {
            Algorithm::Zlib => ZLIB_LEVEL,
            Algorithm::Zstd(level) => u32::from(level),
        }
    }

    /// Appends `plain` compressed, if that is shorter.
    fn pack(self, plain: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        // Room for less than what went in: what does not fit is not worth it.
        out.resize(start + plain.len().saturating_sub(1), 0);
        let room = out.get_mut(start..).unwrap_or(&mut []);
        let packed = match self {
            Algorithm::Zlib => deflated(plain, room),
            Algorithm::Zstd(level) => zstd_packed(plain, level, room),
        };
        out.truncate(start + packed.unwrap_or(0));
        packed.is_some()
    }

    /// Expands `packed` to exactly the length of `plain`.
    fn unpack(self, packed: &[u8], plain: &mut [u8]) -> bool {
        match self {
            Algorithm::Zlib => inflated(packed, plain),
            Algorithm::Zstd(_) => zstd_unpacked(packed, plain),
        }
    }
}

fn deflated(plain: &[u8], room: &mut [u8]) -> Option<usize> {
    DEFLATE.with_borrow_mut(|kept| {
        let state = kept.get_or_insert_with(|| Compress::new(Compression::new(ZLIB_LEVEL), true));
        state.reset();
        let status = state.compress(plain, room, FlushCompress::Finish).ok()?;
        let count = usize::try_from(state.total_out()).ok()?;
        (status == Status::StreamEnd).then_some(count)
    })
}

fn inflated(packed: &[u8], plain: &mut [u8]) -> bool {
    INFLATE.with_borrow_mut(|kept| {
        let state = kept.get_or_insert_with(|| Decompress::new(true));
        state.reset(true);
        let status = state.decompress(packed, plain, FlushDecompress::Finish);
        matches!(status, Ok(Status::StreamEnd))
            && u64::try_from(plain.len()).is_ok_and(|count| count == state.total_out())
    })
}

fn zstd_packed(plain: &[u8], level: u8, room: &mut [u8]) -> Option<usize> {
    ZSTD_OUT.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Compressor::new(i32::from(level)).ok();
        }
        let state = kept.as_mut()?;
        // One that did not fit is not over before this.
        let session = ResetDirective::SessionOnly;
        state.context_mut().reset(session).ok()?;
        state.set_compression_level(i32::from(level)).ok()?;
        state.compress_to_buffer(plain, room).ok()
    })
}

fn zstd_unpacked(packed: &[u8], plain: &mut [u8]) -> bool {
    ZSTD_IN.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Decompressor::new().ok();
        }
        let wanted = plain.len();
        let unpacked = kept
            .as_mut()
            .and_then(|state| state.decompress_to_buffer(packed, plain).ok());
        unpacked == Some(wanted)
    })
}

/// Appends `plain` as compressed packets from sequence number `sequence` on; gives the next one.
pub fn put_packed(
    out: &mut Vec<u8>,
    plain: &[u8],
    (algorithm, mut sequence): (Algorithm, u8),
) -> u8 {
    for piece in plain.chunks(PIECE_BYTES_MAX) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        let is_packed = PLAIN_BYTES_MIN <= piece.len() && algorithm.pack(piece, out);
        if !is_packed {
            out.extend_from_slice(piece);
        }
        let payload_bytes = out.len() - start - HEADER_BYTES;
        let plain_bytes = if is_packed { piece.len() } else { 0 };
        let header = u24(payload_bytes).into_iter();
        let header = header.chain([sequence]).chain(u24(plain_bytes));
        let place = out.iter_mut().skip(start);
        place.zip(header).for_each(|(byte, own)| *byte = own);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

fn u24(bytes: usize) -> [u8; 3] {
    wire::u24_bytes(u32::try_from(bytes).unwrap_or(0))
}

/// Which sequence numbers the next packet may have, besides the one after the packet before.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// The one after what was sent last.
    pub after_answer: u8,
    /// 0: a command may begin here.
    pub may_begin: bool,
}

/// Makes a stream of ordinary packets of compressed ones.
#[derive(Debug)]
pub struct Unpacker {
    algorithm: Algorithm,
    /// Zeroed to its full length; `start..end` is what was read and not yet expanded.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// What was expanded, and how much of it was given out.
    plain: Vec<u8>,
    given: usize,
    /// The sequence number of the packet that was expanded last.
    sequence: u8,
}

impl Unpacker {
    /// Begins with what was read already.
    pub fn new(algorithm: Algorithm, received: Vec<u8>) -> Unpacker {
        Unpacker {
            algorithm,
            start: 0,
            end: received.len(),
            buffer: received,
            plain: Vec::new(),
            given: 0,
            sequence: u8::MAX,
        }
    }

    /// The sequence number of the packet that was expanded last.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Room to read into; report how much was read to [`filled`](Self::filled).
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
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

    /// Bytes of the buffer for what was received.
    pub fn buffer_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Whether all that was expanded was given out.
    pub fn is_given(&self) -> bool {
        self.given == self.plain.len()
    }

    /// How long the payload is that is expanded next, if it is there as a whole.
    pub fn next_plain_bytes(&self) -> Option<usize> {
        let (header, payload) = self.next_packet()?;
        Some(header.plain_bytes.unwrap_or(payload.len()))
    }

    fn next_packet(&self) -> Option<(Header, &[u8])> {
        let unread = self.buffer.get(self.start..self.end)?;
        let (header, rest) = unread.split_first_chunk::<HEADER_BYTES>()?;
        let header = Header::of(*header);
        Some((header, rest.get(..header.payload_bytes)?))
    }

    fn goes_on_with(&self, sequence: u8, expected: Expected) -> bool {
        sequence == self.sequence.wrapping_add(1)
            || sequence == expected.after_answer
            || sequence == 0 && expected.may_begin
    }

    /// Copies what was expanded to `room`; how many bytes. When all was given out, the next packet is
    /// expanded. None when it is not there yet.
    ///
    /// # Errors
    /// [`Desync`] when the stream makes no sense; stop reading it.
    pub fn give(&mut self, room: &mut [u8], expected: Expected) -> Result<Option<usize>, Desync> {
        while self.given == self.plain.len() {
            let mut plain = std::mem::take(&mut self.plain);
            self.given = 0;
            let Some((header, payload)) = self.next_packet() else {
                return Ok(None);
            };
            if !self.goes_on_with(header.sequence, expected) {
                return Err(Desync::OutOfOrder);
            }
            plain.clear();
            match header.plain_bytes {
                None => plain.extend_from_slice(payload),
                Some(bytes) => {
                    plain.resize(bytes, 0);
                    if !self.algorithm.unpack(payload, &mut plain) {
                        return Err(Desync::NotCompressed);
                    }
                }
            }
            self.start += HEADER_BYTES + header.payload_bytes;
            self.sequence = header.sequence;
            self.plain = plain;
            if header.payload_bytes == 0 {
                // Nothing in nothing: a client that sends more of them is not waited for.
                return Err(Desync::NotCompressed);
            }
        }
        let rest = self.plain.get(self.given..).unwrap_or(&[]);
        let count = rest.len().min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.given += count;
        if self.is_given() && PLAIN_BYTES_KEPT < self.plain.capacity() {
            // The command may take long.
            (self.plain, self.given) = (Vec::new(), 0);
        }
        Ok(Some(count))
    }

    /// Gives memory back; to be called when the connection waits for its client.
    pub fn shrink(&mut self) {
        if self.given == self.plain.len() && IDLE_BYTES_MAX < self.plain.capacity() {
            (self.plain, self.given) = (Vec::new(), 0);
        }
        if self.start == self.end && IDLE_BYTES_MAX < self.buffer.len() {
            self.buffer = Vec::new();
            (self.start, self.end) = (0, 0);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Header {
    payload_bytes: usize,
    sequence: u8,
    /// What the payload expands to; `None` when it is not compressed.
    plain_bytes: Option<usize>,
}

impl Header {
    fn of(bytes: [u8; HEADER_BYTES]) -> Header {
        let [low, middle, high, sequence, plain @ ..] = bytes;
        let count = |bytes| usize::try_from(wire::u24(bytes)).unwrap_or(0);
        Header {
            payload_bytes: count([low, middle, high]),
            sequence,
            plain_bytes: Some(count(plain)).filter(|bytes| *bytes != 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd(3)];

    /// Feeds `bytes` in pieces and gives what they expand to.
    fn unpacked(bytes: &[u8], algorithm: Algorithm, piece_bytes: usize) -> Result<Vec<u8>, Desync> {
        let mut unpacker = Unpacker::new(algorithm, Vec::new());
        let (mut plain, mut room) = (Vec::new(), [0; 1000]);
        let expected = Expected {
            after_answer: 0,
            may_begin: false,
        };
        for mut piece in bytes.chunks(piece_bytes) {
            while !piece.is_empty() {
                let spare = unpacker.spare();
                let count = spare.len().min(piece.len());
                spare[..count].copy_from_slice(&piece[..count]);
                unpacker.filled(count);
                piece = &piece[count..];
                while let Some(count) = unpacker.give(&mut room, expected)? {
                    plain.extend_from_slice(&room[..count]);
                }
            }
        }
        Ok(plain)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let long = b"one row like another ".repeat(100_000);
        for algorithm in BOTH {
            for plain in [&b"short"[..], &long[..PLAIN_BYTES_MIN], &long] {
                let mut out = Vec::new();
                let next = put_packed(&mut out, plain, (algorithm, 0));
                assert_eq!(usize::from(next), plain.len().div_ceil(PIECE_BYTES_MAX));
                for piece_bytes in [1, 7, 100_000] {
                    if piece_bytes < 7 && 10_000 < out.len() {
                        continue;
                    }
                    let back = unpacked(&out, algorithm, piece_bytes);
                    assert!(back.as_deref() == Ok(plain));
                }
            }
            let mut out = Vec::new();
            put_packed(&mut out, &long, (algorithm, 0));
            assert!(out.len() < long.len() / 10, "{} bytes", out.len());
        }
    }

    #[test]
    fn short_and_random_payloads_are_sent_as_they_are() {
        let mut out = Vec::new();
        put_packed(&mut out, &[7; PLAIN_BYTES_MIN - 1], (Algorithm::Zlib, 5));
        assert_eq!(out[..HEADER_BYTES], [49, 0, 0, 5, 0, 0, 0]);
        let random: Vec<u8> = std::iter::repeat_with(rand::random).take(1000).collect();
        for algorithm in BOTH {
            let mut out = Vec::new();
            put_packed(&mut out, &random, (algorithm, 255));
            assert_eq!(out[..HEADER_BYTES], [0xE8, 3, 0, 255, 0, 0, 0]);
            assert_eq!(out[HEADER_BYTES..], random);
            // What does not fit leaves nothing behind.
            let mut out = Vec::new();
            put_packed(&mut out, &[7; 1000], (algorithm, 0));
            assert!(out.len() < 100, "{algorithm:?}");
        }
    }

    /// A payload that says less, or more, than it is.
    #[test]
    fn a_payload_is_as_long_as_it_says_or_not_taken() {
        for algorithm in BOTH {
            let mut out = Vec::new();
            put_packed(&mut out, &vec![0; 1 << 20], (algorithm, 0));
            assert!(unpacked(&out, algorithm, 1000).is_ok());
            for bytes in [1, 49, (1 << 20) - 1, (1 << 20) + 1, 0xFF_FFFF] {
                out[4..HEADER_BYTES].copy_from_slice(&u24(bytes));
                let back = unpacked(&out, algorithm, 1000);
                assert_eq!(back, Err(Desync::NotCompressed), "{bytes}");
            }
            let mut lost = vec![0; HEADER_BYTES];
            assert_eq!(unpacked(&lost, algorithm, 7), Err(Desync::NotCompressed));
            lost[3] = 1;
            assert_eq!(unpacked(&lost, algorithm, 7), Err(Desync::OutOfOrder));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            plain_bytes in 0_usize..300,
        ) {
            for algorithm in BOTH {
                let mut packet = Vec::new();
                packet.extend_from_slice(&u24(bytes.len()));
                packet.push(0);
                packet.extend_from_slice(&u24(plain_bytes));
                packet.extend_from_slice(&bytes);
                if let Ok(plain) = unpacked(&packet, algorithm, 64) {
                    let wanted = if plain_bytes == 0 { bytes.len() } else { plain_bytes };
                    prop_assert_eq!(plain.len(), wanted);
                }
            }
        }
    }
}
