//! What the values of a space have in common: a dictionary of zstd, and its file.
//!
//! ```text
//! "Meseta dictionary 1\n" level:u8 content checksum:u128      little-endian; xxh3 of all before it
//! ```

#![expect(
    clippy::little_endian_bytes,
    reason = "this file owns the format of a dictionary"
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;
use zstd::dict::DecoderDictionary;

use super::frame::Packer;

const HEAD: &[u8] = b"Meseta dictionary 1\n";
const CHECKSUM_BYTES: usize = 16;

/// How long the content may be: that which makes samples smallest is taken. The library's manual advises a hundredth
/// of the samples; rows with much in common gain by more, others lose.
const CONTENT_BYTES: [usize; 2] = [4 << 10, 16 << 10];
/// … and less where there are few samples.
const SAMPLES_PER_CONTENT: usize = 8;

/// The levels that are tried. Higher ones take five times as long for a hundredth, and rows with little in common
/// grow with them.
const LEVELS: [i32; 2] = [1, 3];

/// It is worth the time if samples become smaller by one part of so many.
const WORTH: usize = 8;

/// A dictionary.
pub(super) struct Dictionary {
    pub(super) content: Vec<u8>,
    pub(super) level: i32,
    /// What is written in front of a value that is packed with it.
    pub(super) tag: u8,
    pub(super) decoder: DecoderDictionary<'static>,
}

impl Dictionary {
    fn new(content: &[u8], level: i32) -> Dictionary {
        let [tag, ..] = xxh3_128(content).to_le_bytes();
        Dictionary {
            content: content.to_vec(),
            level,
            tag,
            decoder: DecoderDictionary::copy(content),
        }
    }

    /// Makes one from samples, which lie one behind the other; `None` when they have too little in common.
    pub(super) fn train(samples: &[u8], sizes: &[usize]) -> Option<Dictionary> {
        let contents = CONTENT_BYTES.into_iter().filter_map(|bytes| {
            let bytes = bytes.min(samples.len() / SAMPLES_PER_CONTENT);
            zstd::dict::from_continuous(samples, sizes, bytes).ok()
        });
        let tried = contents.flat_map(|content| {
            LEVELS.map(|level| {
                let bytes = packed_bytes((samples, sizes), &content, level);
                (bytes, level, content.clone())
            })
        });
        let (bytes, level, content) = tried.min_by_key(|(bytes, ..)| *bytes)?;
        let is_worth = bytes < samples.len() - samples.len() / WORTH;
        is_worth.then(|| Dictionary::new(&content, level))
    }

    /// Reads its file.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::InvalidData`] when it is not what was written.
    pub(super) fn read(path: &Path) -> io::Result<Dictionary> {
        let bytes = fs::read(path)?;
        let parsed = parsed(&bytes);
        let (level, content) = parsed.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Dictionary::new(content, level))
    }

    /// Writes its file; the name is not yet sure to be there after a power cut.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let level = u8::try_from(self.level).map_err(io::Error::other)?;
        let mut bytes = [HEAD, &[level], &self.content].concat();
        bytes.extend(xxh3_128(&bytes).to_le_bytes());
        let new = path.with_extension(super::NEW);
        let mut file = File::create(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    }
}

fn parsed(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (text, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
    let (level, content) = text.strip_prefix(HEAD)?.split_first()?;
    let is_whole = xxh3_128(text) == u128::from_le_bytes(*checksum);
    is_whole.then_some((i32::from(*level), content))
}

/// Bytes of all samples when they are packed.
fn packed_bytes((samples, sizes): (&[u8], &[usize]), content: &[u8], level: i32) -> usize {
    let Some(mut packer) = Packer::new(content, level) else {
        return usize::MAX;
    };
    let (mut rest, mut all, mut small) = (samples, 0, Vec::new());
    for size in sizes {
        let Some((sample, others)) = rest.split_at_checked(*size) else {
            break;
        };
        rest = others;
        small.clear();
        let is_packed = packer.pack(sample, &mut small);
        all += if is_packed { small.len() } else { *size };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trained() -> Dictionary {
        let samples: Vec<String> = (0..1000)
            .map(|n| format!("the row of number {n}"))
            .collect();
        let sizes: Vec<usize> = samples.iter().map(String::len).collect();
        Dictionary::train(samples.concat().as_bytes(), &sizes).unwrap()
    }

    #[test]
    fn each_flipped_bit_of_the_file_is_found() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("7");
        let dictionary = trained();
        dictionary.write(&path).unwrap();
        assert_eq!(Dictionary::read(&path).unwrap().content, dictionary.content);
        let bytes = fs::read(&path).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(parsed(&flipped).is_none(), "bit {bit}");
        }
        assert!(parsed(&bytes[..10]).is_none());
    }

    #[test]
    fn samples_that_have_nothing_in_common_make_none() {
        use rand::{Rng, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(1);
        let samples: Vec<u8> = (0..64 << 10).map(|_| random.random()).collect();
        assert!(Dictionary::train(&samples, &[64; 1 << 10]).is_none());
        assert!(Dictionary::train(&[], &[]).is_none());
    }
}
