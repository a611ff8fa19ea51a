//! One value as a frame of zstd without what can be put together again.
//!
//! ```text
//! len:varint block      a value of at most 128 KiB: the contents of the one block of its frame
//! len:varint frame      any other: the frame behind its magic number
//! ```
//!
//! `len` is the length of the value, seven bits a byte, the low ones first. A frame is that of RFC 8878, "Zstandard
//! Compression": magic number, a header with "single segment", the length and no number of a dictionary, a
//! compressed block that is the last. Of a row of 200 bytes these are 9 of some 100.

use std::cell::RefCell;

use zstd::bulk::Compressor;
use zstd::dict::DecoderDictionary;
use zstd::zstd_safe::{CParameter, DCtx, compress_bound};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The most that one block holds.
const BLOCK_BYTES_MAX: usize = 128 << 10;

/// Magic number, descriptor, length, header of the block.
const HEAD_BYTES_MAX: usize = 4 + 1 + 4 + 3;

/// Bytes of a length that is written; of more no value is.
pub(super) const LEN_BYTES_MAX: usize = 5;

/// What the frame of a value begins with that is not stored.
struct Head {
    bytes: [u8; HEAD_BYTES_MAX],
    len: usize,
}

impl Head {
    /// Of a value of `len` bytes: of one that a single block holds up to the contents of that block, which have
    /// `block` bytes, of a longer one the magic number.
    #[expect(
        clippy::little_endian_bytes,
        reason = "this file knows the header of a zstd frame"
    )]
    fn of(len: usize, block: usize) -> Option<Head> {
        let mut head = Head {
            bytes: [0; HEAD_BYTES_MAX],
            len: 0,
        };
        head.push(&MAGIC);
        if BLOCK_BYTES_MAX < len {
            return Some(head);
        }
        // The descriptor says how many bytes the length has.
        if let Ok(len) = u8::try_from(len) {
            head.push(&[0x20, len]);
        } else if let Ok(len) = u16::try_from(len.checked_sub(256)?) {
            head.push(&[0x60]);
            head.push(&len.to_le_bytes());
        } else {
            head.push(&[0xa0]);
            head.push(&u32::try_from(len).ok()?.to_le_bytes());
        }
        // The last block, and compressed.
        let block = u32::try_from(block).ok()?.checked_mul(8)?.checked_add(5)?;
        head.push(block.to_le_bytes().get(..3)?);
        Some(head)
    }

    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(slot) = self.bytes.get_mut(self.len) {
                *slot = *byte;
                self.len += 1;
            }
        }
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Compresses values with one dictionary.
pub(in crate::kv::lsm) struct Packer {
    compressor: Compressor<'static>,
    frame: Vec<u8>,
}

impl Packer {
    /// `None` when the library has no memory for it.
    pub(super) fn new(dictionary: &[u8], level: i32) -> Option<Packer> {
        let mut compressor = Compressor::with_dictionary(level, dictionary).ok()?;
        let no_number = CParameter::DictIdFlag(false);
        compressor.set_parameter(no_number).ok()?;
        let frame = Vec::new();
        Some(Packer { compressor, frame })
    }

    /// Appends the packed form of a value; `false`, and nothing, where it has none: what does not become
    /// smaller is no compressed block.
    pub(super) fn pack(&mut self, value: &[u8], out: &mut Vec<u8>) -> bool {
        self.frame.clear();
        self.frame.reserve(compress_bound(value.len()));
        let packed = self.compressor.compress_to_buffer(value, &mut self.frame);
        if packed.is_err() {
            return false;
        }
        let head_bytes = Head::of(value.len(), 0).map_or(0, |head| head.len);
        let block = self.frame.len().saturating_sub(head_bytes);
        let head = Head::of(value.len(), block);
        let Some(rest) = head.and_then(|head| self.frame.strip_prefix(head.as_slice())) else {
            return false;
        };
        put_len(value.len(), out);
        out.extend_from_slice(rest);
        true
    }
}

/// What unpacking needs of each thread.
struct Unpacker {
    context: DCtx<'static>,
    frame: Vec<u8>,
}

thread_local! {
    static UNPACKER: RefCell<Option<Unpacker>> = const { RefCell::new(None) };
}

/// The value of a packed form; `None` where it is none, or longer than `len_max`.
pub(super) fn unpack(
    packed: &[u8],
    decoder: &DecoderDictionary<'static>,
    len_max: usize,
) -> Option<Vec<u8>> {
    let (len, rest) = take_len(packed)?;
    let head = Head::of(len, rest.len()).filter(|_| len <= len_max)?;
    UNPACKER.with_borrow_mut(|unpacker| {
        let unpacker = match unpacker {
            Some(unpacker) => unpacker,
            None => unpacker.insert(Unpacker {
                context: DCtx::try_create()?,
                frame: Vec::new(),
            }),
        };
        unpacker.frame.clear();
        unpacker.frame.extend_from_slice(head.as_slice());
        unpacker.frame.extend_from_slice(rest);
        let mut value = Vec::with_capacity(len);
        let decoder = decoder.as_ddict();
        let context = &mut unpacker.context;
        let found = context.decompress_using_ddict(&mut value, &unpacker.frame, decoder);
        if unpacker.frame.capacity() > BLOCK_BYTES_MAX {
            unpacker.frame = Vec::new();
        }
        found.ok().filter(|found| *found == len).map(|_| value)
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is cast has seven bits"
)]
pub(super) fn put_len(mut len: usize, out: &mut Vec<u8>) {
    while 0x7f < len {
        out.push((len & 0x7f) as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}

fn take_len(packed: &[u8]) -> Option<(usize, &[u8])> {
    let mut len = 0;
    for (at, byte) in packed.iter().take(LEN_BYTES_MAX).enumerate() {
        len |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((len, packed.get(at + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::dictionary::Dictionary;
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    fn dictionary() -> Dictionary {
        let samples: Vec<String> = (0..2000)
            .map(|n| format!("{{\"name\":\"user {n}\",\"city\":\"town {}\"}}", n % 7))
            .collect();
        let sizes: Vec<usize> = samples.iter().map(String::len).collect();
        Dictionary::train(samples.concat().as_bytes(), &sizes).unwrap()
    }

    #[test]
    fn values_of_all_lengths_come_back_and_frames_have_no_head() {
        let dictionary = dictionary();
        let mut packer = Packer::new(&dictionary.content, dictionary.level).unwrap();
        let lens = [
            64, 127, 128, 255, 256, 257, 1000, 16_383, 16_384, 65_791, 65_792, 131_072, 131_073,
            2_000_000,
        ];
        for len in lens {
            let value: Vec<u8> = "a row like others, ".bytes().cycle().take(len).collect();
            let mut small = Vec::new();
            assert!(packer.pack(&value, &mut small), "{len}");
            assert!(small.len() < len, "{len}: {}", small.len());
            assert_eq!(
                dictionary.unpack(dictionary.tag(false), &small, len),
                Some(value),
                "{len}"
            );
            assert_eq!(
                dictionary.unpack(dictionary.tag(false), &small, len - 1),
                None,
                "{len}"
            );
        }
    }

    #[test]
    fn what_does_not_become_smaller_is_not_packed() {
        let dictionary = dictionary();
        let mut packer = Packer::new(&dictionary.content, dictionary.level).unwrap();
        let mut random = StdRng::seed_from_u64(1);
        let value: Vec<u8> = (0..300).map(|_| random.random()).collect();
        let mut small = Vec::new();
        assert!(!packer.pack(&value, &mut small));
        assert!(small.is_empty());
    }

    #[test]
    fn any_bytes_are_a_value_or_none() {
        let dictionary = dictionary();
        let seed = rand::rng().random();
        let mut random = StdRng::seed_from_u64(seed);
        let mut packer = Packer::new(&dictionary.content, dictionary.level).unwrap();
        let mut small = Vec::new();
        let value = "{\"name\":\"user 17\",\"city\":\"town 3\"} and more".repeat(3);
        assert!(packer.pack(value.as_bytes(), &mut small));
        for _ in 0..5_000 {
            let mut bytes = small.clone();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random();
            }
            bytes.truncate(random.random_range(0..=bytes.len()));
            let found = dictionary.unpack(dictionary.tag(false), &bytes, 1 << 20);
            assert!(
                found.is_none_or(|value| value.len() <= 1 << 20),
                "seed {seed}"
            );
        }
    }
}
