//! What one compaction does with the values of one space.

use std::fs;
use std::fs::File;
use std::io;
use std::sync::Arc;

use super::dictionary::Dictionary;
use super::frame::Packer;
use super::{Compression, Known, PACKED, is_plain};
use crate::kv::{Result, Space};

/// Shorter values stay as they are: what they would save is less than what goes around them.
const VALUE_BYTES_MIN: usize = 32;

/// What is taken of a long value for a sample.
const SAMPLE_BYTES_MAX: usize = 4 << 10;

/// What is done with the values of a space.
pub(in crate::kv::lsm) enum Press {
    /// They stay as they are stored.
    Off,
    /// They are not to be compressed any more.
    Undo(Arc<Compression>),
    /// There is no dictionary yet.
    Gather(Arc<Compression>, Samples),
    /// They are packed.
    Pack(Box<Packer>),
}

/// Values, one behind the other.
#[derive(Default)]
pub(in crate::kv::lsm) struct Samples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Press {
    /// For a space that a compaction comes to.
    ///
    /// # Errors
    ///
    /// Those of reading its dictionary.
    pub(in crate::kv::lsm) fn of(compression: &Arc<Compression>, space: Space) -> Result<Press> {
        let wanted = compression.wanted.read();
        let Some(is_wanted) = wanted.as_ref().map(|wanted| wanted.contains(&space)) else {
            return Ok(Press::Off);
        };
        drop(wanted);
        let known = compression.known.read().get(&space).cloned();
        match known {
            None if is_wanted => {
                let samples = Samples::default();
                Ok(Press::Gather(Arc::clone(compression), samples))
            }
            Some(Known::Stored | Known::Read(_)) if is_wanted => {
                let dictionary = compression.dictionary(space)?;
                Ok(dictionary.map_or(Press::Off, |found| Press::with(&found)))
            }
            Some(Known::Stored | Known::Read(_)) => Ok(Press::Undo(Arc::clone(compression))),
            Some(Known::Useless) | None => Ok(Press::Off),
        }
    }

    fn with(dictionary: &Dictionary) -> Press {
        let packer = Packer::new(&dictionary.content, dictionary.level);
        packer.map_or(Press::Off, |packer| Press::Pack(Box::new(packer)))
    }

    /// What is to be stored instead; `None` for what is.
    ///
    /// # Errors
    ///
    /// As [`Compression::plain`].
    pub(in crate::kv::lsm) fn pass(
        &mut self,
        space: Space,
        stored: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        if let Press::Undo(compression) = self {
            if stored.first() != Some(&PACKED) {
                return Ok(None);
            }
            let plain = compression.plain(space, stored)?;
            return Ok(Some(super::stored(plain.into_owned().into()).to_vec()));
        }
        if stored.len() < VALUE_BYTES_MIN || !is_plain(stored) {
            return Ok(None);
        }
        if let Press::Gather(compression, samples) = self {
            samples.add(stored);
            if samples.bytes.len() < compression.samples_bytes {
                return Ok(None);
            }
            *self = compression.make(space, samples)?;
        }
        Ok(match self {
            Press::Pack(packer) => packed(packer, stored),
            Press::Off | Press::Undo(_) | Press::Gather(..) => None,
        })
    }
}

fn packed(packer: &mut Packer, value: &[u8]) -> Option<Vec<u8>> {
    let mut small = Vec::with_capacity(value.len());
    small.push(PACKED);
    let is_smaller = packer.pack(value, &mut small) && small.len() < value.len();
    is_smaller.then_some(small)
}

impl Samples {
    fn add(&mut self, value: &[u8]) {
        let sample = value.get(..SAMPLE_BYTES_MAX).unwrap_or(value);
        self.bytes.extend_from_slice(sample);
        self.sizes.push(sample.len());
    }
}

impl Compression {
    /// Makes the dictionary of a space, unless another compaction has.
    fn make(&self, space: Space, samples: &Samples) -> Result<Press> {
        let _one_at_a_time = self.making.lock();
        if let Some(made) = self.dictionary(space)? {
            return Ok(Press::with(&made));
        }
        let Some(dictionary) = Dictionary::train(&samples.bytes, &samples.sizes) else {
            tracing::info!(
                %space,
                "values that are to be compressed stay as they are: they have too little in common"
            );
            self.known.write().insert(space, Known::Useless);
            return Ok(Press::Off);
        };
        if let Err(cause) = self.write(space, &dictionary) {
            // The next compaction tries again.
            tracing::warn!(%space, %cause, "no dictionary was written, values stay as they are");
            return Ok(Press::Off);
        }
        tracing::info!(
            %space, bytes = dictionary.content.len(), level = dictionary.level,
            samples = samples.sizes.len(), "made a dictionary"
        );
        let press = Press::with(&dictionary);
        let known = Known::Read(Arc::new(dictionary));
        self.known.write().insert(space, known);
        Ok(press)
    }

    fn write(&self, space: Space, dictionary: &Dictionary) -> io::Result<()> {
        if !self.dir.exists() {
            fs::create_dir_all(&self.dir)?;
            if let Some(engine_dir) = self.dir.parent() {
                File::open(engine_dir)?.sync_all()?;
            }
        }
        dictionary.write(&self.dir.join(space.0.to_string()))
    }
}
