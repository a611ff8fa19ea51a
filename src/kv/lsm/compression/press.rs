//! What one compaction does with the values of one space.

use std::fs;
use std::io;
use std::sync::Arc;

use super::dictionary::Dictionary;
use super::frame::Packer;
use super::model::{self, Scratch};
use super::{Compression, Known, PACKED, is_plain};
use crate::kv::Space;

/// Shorter values stay as they are: what they would save is less than what goes around them.
const VALUE_BYTES_MIN: usize = 32;

/// What is taken of a long value for a sample.
const SAMPLE_BYTES_MAX: usize = model::VALUE_BYTES_MAX;

/// What is done with the values of a space.
pub(in crate::kv::lsm) enum Press {
    /// They stay as they are stored.
    Off,
    /// There is no dictionary yet.
    Gather(Arc<Compression>, Samples),
    /// They are packed.
    Pack(Box<Packing>),
}

/// What it takes to pack values.
pub(in crate::kv::lsm) struct Packing {
    dictionary: Arc<Dictionary>,
    zstd: Packer,
    scratch: Scratch,
}

/// Values, one behind the other.
#[derive(Default)]
pub(in crate::kv::lsm) struct Samples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Press {
    /// For a space that a compaction comes to.
    pub(in crate::kv::lsm) fn of(compression: &Arc<Compression>, space: Space) -> Press {
        let wanted = compression.wanted.read();
        if !wanted.as_ref().is_some_and(|all| all.contains(&space)) {
            return Press::Off;
        }
        drop(wanted);
        let gather = || Press::Gather(Arc::clone(compression), Samples::default());
        compression.decided(space).unwrap_or_else(gather)
    }

    fn with(dictionary: Arc<Dictionary>) -> Press {
        let zstd = Packer::new(&dictionary.content, dictionary.level);
        let packing = zstd.map(|zstd| Packing {
            dictionary,
            zstd,
            scratch: Scratch::default(),
        });
        packing.map_or(Press::Off, |packing| Press::Pack(Box::new(packing)))
    }

    /// What is to be stored instead, which is smaller; `None` for what is.
    pub(in crate::kv::lsm) fn pass(&mut self, space: Space, stored: &[u8]) -> Option<Vec<u8>> {
        if let Press::Gather(..) = self
            && stored.first() == Some(&PACKED)
        {
            // The dictionary was lost: who reads the value is told.
            *self = Press::Off;
        }
        if stored.len() < VALUE_BYTES_MIN || !is_plain(stored) {
            return None;
        }
        if let Press::Gather(compression, samples) = self {
            samples.add(stored);
            if samples.bytes.len() < compression.samples_bytes {
                return None;
            }
            *self = compression.make(space, samples);
        }
        match self {
            Press::Pack(packing) => packing.packed(stored),
            Press::Off | Press::Gather(..) => None,
        }
    }
}

impl Packing {
    /// The stored form of a value, packed; `None` where it would not be smaller.
    fn packed(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        let model = self.dictionary.model.as_ref();
        let model = model.filter(|_| value.len() <= model::VALUE_BYTES_MAX);
        let mut small = Vec::with_capacity(value.len());
        small.extend([PACKED, self.dictionary.tag(model.is_some())]);
        let is_packed = match model {
            Some(model) => model.pack(value, &mut self.scratch, &mut small),
            None => self.zstd.pack(value, &mut small),
        };
        (is_packed && small.len() < value.len()).then_some(small)
    }
}

impl Samples {
    fn add(&mut self, value: &[u8]) {
        let sample = value.get(..SAMPLE_BYTES_MAX).unwrap_or(value);
        self.bytes.extend_from_slice(sample);
        self.sizes.push(sample.len());
    }
}

impl Compression {
    /// What is done with the values of a space; `None` as long as nobody has looked whether a dictionary is of use.
    fn decided(&self, space: Space) -> Option<Press> {
        let known = self.known.read().get(&space).cloned();
        Some(match known? {
            Known::Read(dictionary) => Press::with(dictionary),
            Known::Useless => Press::Off,
            Known::OnDisk => match self.dictionary(space) {
                Ok(found) => found.map_or(Press::Off, Press::with),
                Err(cause) => {
                    tracing::error!(%space, %cause, "values are not compressed");
                    Press::Off
                }
            },
        })
    }

    /// Makes the dictionary of a space, unless another compaction has. One that is there is never replaced: values may
    /// have been packed with it, also where the space was dropped since, and who began before reads them.
    fn make(&self, space: Space, samples: &Samples) -> Press {
        let _one_at_a_time = self.making.lock();
        if let Some(press) = self.decided(space) {
            return press;
        }
        let Some(dictionary) = Dictionary::train(&samples.bytes, &samples.sizes) else {
            tracing::info!(
                %space,
                "values that are to be compressed stay as they are: they have too little in common"
            );
            self.known.write().insert(space, Known::Useless);
            return Press::Off;
        };
        if let Err(cause) = self.write(space, &dictionary) {
            // The next compaction tries again.
            tracing::warn!(%space, %cause, "no dictionary was written, values stay as they are");
            return Press::Off;
        }
        tracing::info!(
            %space, bytes = dictionary.content.len(), level = dictionary.level,
            has_model = dictionary.model.is_some(),
            samples = samples.sizes.len(), "made a dictionary"
        );
        let dictionary = Arc::new(dictionary);
        let known = Known::Read(Arc::clone(&dictionary));
        self.known.write().insert(space, known);
        Press::with(dictionary)
    }

    /// When it is written, it is there for good.
    fn write(&self, space: Space, dictionary: &Dictionary) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        dictionary.write(&self.path(space))?;
        self.sync_dirs()
    }
}
