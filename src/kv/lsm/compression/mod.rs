//! Values that are kept compressed, each for itself, with a dictionary for each space: by zstd, or by a model of
//! the frequencies of their bytes where that makes them smaller ([`model`]).
//!
//! The storage library compresses blocks, by LZ4 alone. What is here makes values smaller before they come
//! into a block: a compaction packs those of the spaces that it was told of, so that writing costs nothing.
//! A point read unpacks one value and not a block of them.
//!
//! What is stored for a value:
//!
//! ```text
//! the value                     its first byte is neither fe nor ff
//! fe tag packed                 packed: `frame` or `model`, with the dictionary of the space that has this tag
//! ff value                      its first byte is fe or ff
//! ```
//!
//! Stored forms are met by whatever reads the library's tree, and by nobody else: [`Compression::plain`]
//! makes the value of one. Batches and memtables have the first and the last form.
//!
//! The first compaction that passes a space gathers the values that it meets, makes a dictionary of them and
//! syncs it to `dictionaries/<space>` before it packs a value with it ([`Press`]). It is the dictionary of
//! the space from then on. When the engine opens, those of spaces that are gone go too. Where a dictionary was
//! lost another may be made, which must not be taken for it: that is what the tag is for, a byte of its checksum.
//!
//! A value stays packed until it is written again, whatever becomes of the wish: a compaction never makes
//! files larger than those it replaces.

mod dictionary;
mod frame;
mod model;
mod press;
mod rans;
mod symbols;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::panic::RefUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fjall::Slice;
use parking_lot::{Mutex, RwLock};

use self::dictionary::Dictionary;
pub(super) use self::press::Press;
use super::{LIMITS, directory, spaces};
use crate::kv::{Error, Result, Space};

const PACKED: u8 = 0xfe;
const ESCAPED: u8 = 0xff;

/// The directory of the dictionaries, in the engine's.
pub(super) const DIR: &str = "dictionaries";

/// What the name of a dictionary ends with that is being written.
const NEW: &str = "new";

/// Bytes of values that a dictionary is made of: these stay as they are until they are met again.
const SAMPLES_BYTES: usize = 1 << 20;

/// … or this part of a memtable, where that is less: tests have small ones.
const SAMPLES_PER_MEMTABLE: u64 = 16;

/// Which spaces have values that are kept compressed, and with what.
pub(super) struct Compression {
    dir: PathBuf,
    samples_bytes: usize,
    /// `None` until somebody tells.
    wanted: RwLock<Option<HashSet<Space>>>,
    /// Of all spaces that have one, or were found to be of no use for one.
    known: RwLock<HashMap<Space, Known>>,
    /// Held while one is made.
    making: Mutex<()>,
}

#[derive(Clone)]
enum Known {
    /// In a file that is to be read.
    OnDisk,
    Read(Arc<Dictionary>),
    /// Its values have too little in common. Looked at again after a restart.
    Useless,
}

/// Nothing panics while a lock is held.
impl RefUnwindSafe for Compression {}

impl std::fmt::Debug for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compression").finish_non_exhaustive()
    }
}

impl Compression {
    /// With the dictionaries that there are. Reads the directory alone, and changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(super) fn open(engine_dir: &Path, memtable_bytes: u64) -> Result<Compression> {
        let dir = engine_dir.join(DIR);
        let stored = files(engine_dir)?.into_iter();
        let stored = stored.filter_map(|path| space_of(&path));
        let part = usize::try_from(memtable_bytes / SAMPLES_PER_MEMTABLE).unwrap_or(usize::MAX);
        Ok(Compression {
            dir,
            samples_bytes: SAMPLES_BYTES.min(part),
            wanted: RwLock::default(),
            known: RwLock::new(stored.map(|space| (space, Known::OnDisk)).collect()),
            making: Mutex::default(),
        })
    }

    /// Removes the dictionaries of spaces that are not there any more, and makes sure of the others: a kill may
    /// have come before their names were on the disk.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(super) fn retain(&self, is_live: impl Fn(Space) -> bool) -> Result<()> {
        let is_gone = |path: &&PathBuf| match space_of(path) {
            Some(space) => !is_live(space),
            None => path.extension().is_some_and(|found| found == NEW),
        };
        for path in directory::children(&self.dir)?.iter().filter(is_gone) {
            let removed = fs::remove_file(path);
            removed.map_err(|cause| Error::io(format!("removing {}", path.display()), &cause))?;
        }
        let mut known = self.known.write();
        known.retain(|space, _| is_live(*space));
        if known.is_empty() {
            return Ok(());
        }
        let synced = self.sync_dirs();
        synced.map_err(|cause| Error::io(format!("syncing {}", self.dir.display()), &cause))
    }

    /// Makes the names of dictionaries survive a power cut, and that of their directory.
    fn sync_dirs(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()?;
        match self.dir.parent() {
            Some(engine_dir) => File::open(engine_dir)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Gives back the memory of a dropped space's dictionary. Who still reads the space reads the file again.
    pub(super) fn let_go(&self, space: Space) {
        let mut known = self.known.write();
        if let Some(Known::Read(_)) = known.get(&space) {
            known.insert(space, Known::OnDisk);
        }
    }

    /// From now on the values of these spaces, and of no others, are to be compressed.
    pub(super) fn want(&self, spaces: HashSet<Space>) {
        *self.wanted.write() = Some(spaces);
    }

    /// The value of a stored form, which is borrowed where it has not to be unpacked.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] with the file of the dictionary, where it is missing, or is not the one that the
    /// value was packed with; [`Error::Io`].
    pub(super) fn plain<'a>(&self, space: Space, stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        match stored.split_first() {
            Some((&PACKED, packed)) => self.unpacked(space, packed).map(Cow::Owned),
            Some((&ESCAPED, value)) => Ok(Cow::Borrowed(value)),
            Some(_) | None => Ok(Cow::Borrowed(stored)),
        }
    }

    /// The same, where there is the physical key and most values are stored as they are.
    ///
    /// # Errors
    ///
    /// As [`Compression::plain`].
    #[inline]
    pub(super) fn plain_of<'a>(&self, key: &[u8], stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        if is_plain(stored) {
            return Ok(Cow::Borrowed(stored));
        }
        match spaces::space_of(key) {
            Some(space) => self.plain(space, stored),
            None => Ok(Cow::Borrowed(stored)),
        }
    }

    /// The same, of what the storage library gives out.
    ///
    /// # Errors
    ///
    /// As [`Compression::plain`].
    #[inline]
    pub(super) fn plain_slice(&self, space: Space, stored: Slice) -> Result<Slice> {
        if is_plain(&stored) {
            return Ok(stored);
        }
        self.plain(space, &stored)
            .map(|value| Slice::from(value.into_owned()))
    }

    fn unpacked(&self, space: Space, packed: &[u8]) -> Result<Vec<u8>> {
        let damaged = |what| Error::Corrupt {
            what: format!("file {}{what}", self.path(space).display()),
        };
        let dictionary = self.dictionary(space)?;
        let dictionary = dictionary.ok_or_else(|| damaged(" is missing"))?;
        let (tag, packed) = packed.split_first().ok_or_else(|| damaged(""))?;
        if !dictionary.has_tag(*tag) {
            return Err(damaged(" is not the one that a value was packed with"));
        }
        let value = dictionary.unpack(*tag, packed, LIMITS.value_bytes_max);
        value.ok_or_else(|| damaged(", or what was packed with it"))
    }

    fn path(&self, space: Space) -> PathBuf {
        self.dir.join(space.0.to_string())
    }

    /// The dictionary of a space, if it has one.
    fn dictionary(&self, space: Space) -> Result<Option<Arc<Dictionary>>> {
        let known = self.known.read().get(&space).cloned();
        match known {
            Some(Known::Read(dictionary)) => return Ok(Some(dictionary)),
            Some(Known::Useless) | None => return Ok(None),
            Some(Known::OnDisk) => {}
        }
        let dictionary = read(&self.path(space)).map(Arc::new)?;
        let known = Known::Read(Arc::clone(&dictionary));
        self.known.write().insert(space, known);
        Ok(Some(dictionary))
    }
}

/// The value as it is put into a batch.
pub(super) fn stored(value: Slice) -> Slice {
    if is_plain(&value) {
        return value;
    }
    Slice::from([&[ESCAPED], value.as_ref()].concat())
}

/// Whether a stored form is the value itself.
#[inline]
pub(super) fn is_plain(stored: &[u8]) -> bool {
    !matches!(stored.first(), Some(&(PACKED | ESCAPED)))
}

/// The dictionaries of an engine's directory.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn files(engine_dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = directory::children(&engine_dir.join(DIR))?;
    files.retain(|path| space_of(path).is_some());
    files.sort();
    Ok(files)
}

/// Looks at the checksum of a dictionary's file.
///
/// # Errors
///
/// [`Error::Corrupt`], [`Error::Io`]; both name it.
pub(super) fn check(path: &Path) -> Result<()> {
    read(path).map(drop)
}

fn read(path: &Path) -> Result<Dictionary> {
    Dictionary::read(path).map_err(|cause| {
        if cause.kind() == io::ErrorKind::InvalidData {
            let what = format!("file {}", path.display());
            return Error::Corrupt { what };
        }
        if cause.kind() == io::ErrorKind::NotFound {
            let what = format!("file {} is missing", path.display());
            return Error::Corrupt { what };
        }
        Error::io(format!("reading {}", path.display()), &cause)
    })
}

/// The space of a dictionary, by the name of its file.
fn space_of(path: &Path) -> Option<Space> {
    let name = path.file_name()?.to_str()?;
    name.parse().ok().map(Space)
}

#[cfg(test)]
mod tests;
