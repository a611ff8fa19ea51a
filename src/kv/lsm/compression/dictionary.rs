//! What the values of a space have in common: a dictionary of zstd, a model of their bytes, and their file.
//!
//! ```text
//! "Meseta dictionary 1\n" level:u8 content checksum:u128                          no model
//! "Meseta dictionary 2\n" level:u8 content_bytes:u32 content model checksum:u128
//! ```
//!
//! Little-endian; the checksum is xxh3 of all before it.

#![expect(
    clippy::little_endian_bytes,
    reason = "this file owns the format of a dictionary"
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;
use zstd::dict::DecoderDictionary;

use super::frame::{self, Packer};
use super::model::{Model, Scratch};

const HEAD: &[u8] = b"Meseta dictionary 1\n";
const HEAD_WITH_MODEL: &[u8] = b"Meseta dictionary 2\n";
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

/// A model is worth it if samples become smaller than zstd makes them by one part of so many: it unpacks a symbol
/// after the other.
const MODEL_WORTH: usize = 10;

/// A dictionary.
pub(super) struct Dictionary {
    pub(super) content: Vec<u8>,
    pub(super) level: i32,
    /// What is written in front of a value that is packed by zstd; its complement, where by the model.
    tag: u8,
    decoder: DecoderDictionary<'static>,
    /// How values of at most `model::VALUE_BYTES_MAX` are packed, where there is one.
    pub(super) model: Option<Model>,
}

impl Dictionary {
    fn new(content: &[u8], level: i32, model: Option<Model>) -> Dictionary {
        let mut text = content.to_vec();
        if let Some(model) = &model {
            model.write(&mut text);
        }
        let [tag, ..] = xxh3_128(&text).to_le_bytes();
        Dictionary {
            content: content.to_vec(),
            level,
            tag,
            decoder: DecoderDictionary::copy(content),
            model,
        }
    }

    /// Makes one from samples, which lie one behind the other; `None` when they have too little in common.
    pub(super) fn train(samples: &[u8], sizes: &[usize]) -> Option<Dictionary> {
        let (by_zstd, level, content) = best_content(samples, sizes)?;
        let by_model = model_bytes(samples, sizes);
        let is_better = by_model.is_some_and(|bytes| bytes < by_zstd - by_zstd / MODEL_WORTH);
        let bytes = by_model.filter(|_| is_better).unwrap_or(by_zstd);
        if samples.len() - samples.len() / WORTH <= bytes {
            return None;
        }
        let model = is_better.then(|| Model::train(each(samples, sizes)));
        Some(Dictionary::new(&content, level, model.flatten()))
    }

    /// Reads its file.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::InvalidData`] when it is not what was written.
    pub(super) fn read(path: &Path) -> io::Result<Dictionary> {
        let bytes = fs::read(path)?;
        let parsed = parsed(&bytes);
        parsed.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Writes its file; the name is not yet sure to be there after a power cut.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let level = u8::try_from(self.level).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        if let Some(model) = &self.model {
            let len = u32::try_from(self.content.len()).map_err(io::Error::other)?;
            bytes.extend([HEAD_WITH_MODEL, &[level], &len.to_le_bytes(), &self.content].concat());
            model.write(&mut bytes);
        } else {
            bytes.extend([HEAD, &[level], &self.content].concat());
        }
        bytes.extend(xxh3_128(&bytes).to_le_bytes());
        let new = path.with_extension(super::NEW);
        let mut file = File::create(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    }

    /// What is written in front of a value that is packed by zstd, or by the model.
    pub(super) fn tag(&self, is_by_model: bool) -> u8 {
        if is_by_model { !self.tag } else { self.tag }
    }

    /// Whether a value with this tag was packed with this dictionary.
    pub(super) fn has_tag(&self, tag: u8) -> bool {
        tag == self.tag(false) || self.model.is_some() && tag == self.tag(true)
    }

    /// The value of a packed form with one of its tags; `None` where it is none, or longer than `len_max`.
    pub(super) fn unpack(&self, tag: u8, packed: &[u8], len_max: usize) -> Option<Vec<u8>> {
        match &self.model {
            Some(model) if tag == self.tag(true) => model.unpack(packed),
            Some(_) | None => frame::unpack(packed, &self.decoder, len_max),
        }
    }
}

fn parsed(bytes: &[u8]) -> Option<Dictionary> {
    let (text, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
    if xxh3_128(text) != u128::from_le_bytes(*checksum) {
        return None;
    }
    if let Some(text) = text.strip_prefix(HEAD) {
        let (level, content) = text.split_first()?;
        return Some(Dictionary::new(content, i32::from(*level), None));
    }
    let (level, text) = text.strip_prefix(HEAD_WITH_MODEL)?.split_first()?;
    let (len, text) = text.split_first_chunk()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    let (content, model) = text.split_at_checked(len)?;
    let model = Model::read(model)?;
    Some(Dictionary::new(content, i32::from(*level), Some(model)))
}

/// The content that makes samples smallest, and its level; first their bytes.
fn best_content(samples: &[u8], sizes: &[usize]) -> Option<(usize, i32, Vec<u8>)> {
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
    tried.min_by_key(|(bytes, ..)| *bytes)
}

/// The samples.
fn each<'a>(samples: &'a [u8], sizes: &[usize]) -> impl Iterator<Item = &'a [u8]> {
    sizes.iter().scan(samples, |rest, size| {
        let (sample, others) = rest.split_at_checked(*size)?;
        *rest = others;
        Some(sample)
    })
}

/// Bytes of all samples when they are packed by zstd.
fn packed_bytes((samples, sizes): (&[u8], &[usize]), content: &[u8], level: i32) -> usize {
    let Some(mut packer) = Packer::new(content, level) else {
        return usize::MAX;
    };
    let mut small = Vec::new();
    let bytes = each(samples, sizes).map(|sample| {
        small.clear();
        let is_packed = packer.pack(sample, &mut small);
        if is_packed { small.len() } else { sample.len() }
    });
    bytes.sum()
}

/// Bytes of all samples when they are packed by a model, going by every other one: it is made of the rest.
fn model_bytes(samples: &[u8], sizes: &[usize]) -> Option<usize> {
    let model = Model::train(each(samples, sizes).step_by(2))?;
    let (mut scratch, mut small) = (Scratch::default(), Vec::new());
    let mut plain_bytes = 0;
    for sample in each(samples, sizes).skip(1).step_by(2) {
        if !model.pack(sample, &mut scratch, &mut small) {
            return None;
        }
        plain_bytes += sample.len();
    }
    (samples.len() * small.len()).checked_div(plain_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trained(row: impl Fn(u64) -> String) -> Dictionary {
        let samples: Vec<String> = (0..3000).map(row).collect();
        let sizes: Vec<usize> = samples.iter().map(String::len).collect();
        Dictionary::train(samples.concat().as_bytes(), &sizes).unwrap()
    }

    /// Words, which zstd finds again, and digits that have nothing to do with each other.
    fn both() -> [Dictionary; 2] {
        let words = |n| format!("in the town of number {} there lives a user: {n}", n % 17);
        let digits = |n: u64| {
            let random = |n: u64| xxh3_128(&n.to_le_bytes()) % 1_000_000_000_000_000;
            let groups = (0..6).map(|group| format!("{:015}", random(n * 6 + group)));
            groups.collect::<Vec<_>>().join("-")
        };
        [trained(words), trained(digits)]
    }

    #[test]
    fn a_model_is_there_where_zstd_has_nothing_to_refer_to() {
        assert_eq!(both().map(|made| made.model.is_some()), [false, true]);
    }

    #[test]
    fn a_flipped_bit_of_the_file_is_found() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("7");
        for dictionary in both() {
            dictionary.write(&path).unwrap();
            let read = Dictionary::read(&path).unwrap();
            assert_eq!(read.content, dictionary.content);
            assert_eq!(read.tag(true), dictionary.tag(true));
            assert_eq!(read.model.is_some(), dictionary.model.is_some());
            let bytes = fs::read(&path).unwrap();
            // A prime, so that all bits of a byte come by.
            for bit in (0..bytes.len() * 8).step_by(13) {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(parsed(&flipped).is_none(), "bit {bit}");
            }
            assert!(parsed(&bytes[..10]).is_none());
        }
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
