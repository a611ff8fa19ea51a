//! Makes a backup: claims the directory, has the committer take a cut, and writes it there.
//!
//! A backup that fails or is given up takes away what it made. One that is cut off by the end of the
//! process leaves [`super::PART_FILE`] and no [`super::BACKUP_FILE`], which is how it is told from a
//! whole one.
//!
//! On the disk of the data it leaves the room that flushes and compactions need: what cannot be linked is
//! copied as long as there is more.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Keyspace};
use tokio::sync::oneshot;

use super::tree::{TableFile, Tree};
use super::{
    BACKUP_FILE, Backup, Cut, ENGINE_DIR, Entry, PART_FILE, Sum, TABLES_DIR, TREES_DIR, copy,
    damaged, empty_dir, new_file, reading, writing,
};
use crate::kv::lsm::directory::if_there;
use crate::kv::lsm::journal::{self, Behind, Until};
use crate::kv::lsm::queue::Request;
use crate::kv::lsm::{Shared, compression, directory, fault, room};
use crate::kv::{Checkpoint, Error, Result};
use crate::leisure;

/// How long the memtables may take to be written to tables before the cut; what is not by then is
/// copied with the journals.
const FLUSH_PATIENCE: Duration = Duration::from_secs(10);

/// How often that is looked at.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);

/// Gives the copy up when nobody waits for it any more.
struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Puts a copy of the newest state into a directory, unless it is over before.
///
/// # Errors
///
/// [`Error::NotEmpty`], [`Error::HalfBackup`], [`Error::HalfRestored`], [`Error::IsFile`]; [`Error::Io`],
/// [`Error::DiskFull`], [`Error::NoRoom`], [`Error::ReadOnly`], [`Error::Closed`].
pub(in crate::kv::lsm) async fn make(
    (shared, is_over): (Arc<Shared>, Arc<AtomicBool>),
    dir: PathBuf,
) -> Result<Checkpoint> {
    let _give_up = GiveUp(Arc::clone(&is_over));
    let work = leisure::long_blocking(move || {
        let making = Making::claim(&dir, &is_over)?;
        match making.run(&shared) {
            Ok(made) => Ok(made),
            Err(cause) => {
                making.discard();
                Err(cause)
            }
        }
    });
    work.await.unwrap_or(Err(Error::Closed))
}

/// A backup in the making.
struct Making<'a> {
    dir: &'a Path,
    /// Whether the directory was not there before.
    is_own: bool,
    is_over: &'a AtomicBool,
}

impl Making<'_> {
    fn claim<'a>(dir: &'a Path, is_over: &'a AtomicBool) -> Result<Making<'a>> {
        let is_own = empty_dir(dir)?;
        let part = dir.join(PART_FILE);
        // Of two that found it empty one has it.
        let made = copy::create(&part);
        made.map_err(|cause| new_file(&part, &cause, writing))?;
        Ok(Making {
            dir,
            is_own,
            is_over,
        })
    }

    /// What makes it a backup goes first, if it has come to that: it is none without the rest.
    fn discard(&self) {
        let removed = if_there(fs::remove_file(self.dir.join(BACKUP_FILE)));
        let removed = removed.and_then(|()| {
            if self.is_own {
                return fs::remove_dir_all(self.dir);
            }
            if_there(fs::remove_dir_all(self.dir.join(ENGINE_DIR)))?;
            if_there(fs::remove_file(self.dir.join(PART_FILE)))
        });
        if let Err(cause) = removed {
            tracing::warn!(dir = %self.dir.display(), %cause, "a failed backup was not taken away");
        }
    }

    /// Whether to go on: asked before each piece, so that short statements come between.
    fn check(&self) -> Result<()> {
        leisure::end_turn();
        if self.is_over.load(Ordering::Relaxed) {
            return Err(Error::Io {
                doing: format!("writing {}", self.dir.display()),
                cause: "the backup was given up".to_owned(),
            });
        }
        Ok(())
    }

    fn run(&self, shared: &Shared) -> Result<Checkpoint> {
        if let Some(cause) = shared.read_only() {
            // Not even a memtable is written to a table any more.
            return Err(cause);
        }
        let base = shared.base.read().clone().ok_or(Error::Closed)?;
        self.flush(shared, base.keyspace())?;
        drop(base);
        let taken = jiff::Timestamp::now();
        let (sender, answer) = oneshot::channel();
        shared.queue.push(Request::Cut(sender))?;
        let cut = answer.blocking_recv();
        let cut = cut.unwrap_or_else(|_| Err(shared.silence()))?;
        let mut copy = Copy {
            making: self,
            left_bytes: left_bytes(shared, (self.dir, &cut.engine_dir)),
            entries: Vec::new(),
        };
        copy.all(&cut)?;
        let backup = Backup {
            format: directory::FORMAT.to_owned(),
            commit: cut.ts,
            taken: taken.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            entries: copy.entries,
        };
        self.seal(&backup)?;
        let (files, bytes) = backup.size();
        Ok(Checkpoint {
            ts: cut.ts,
            files,
            bytes,
        })
    }

    /// Writes the memtables to tables, so that there is less to be copied; for a while, since commits
    /// go on.
    fn flush(&self, shared: &Shared, data: &Keyspace) -> Result<()> {
        match data.rotate_memtable() {
            // Also one that others have had written just now is waited for.
            Ok(true | false) => {}
            // Who is asked for the cut knows why.
            Err(fjall::Error::Poisoned) => return Ok(()),
            Err(cause) => return Err(fault::error("writing a memtable", &cause)),
        }
        let until = Instant::now() + FLUSH_PATIENCE;
        while data.tree.sealed_memtable_count() != 0 && Instant::now() < until {
            self.check()?;
            // A flush that failed is not tried again.
            if let Some(cause) = shared.read_only() {
                return Err(cause);
            }
            thread::sleep(FLUSH_INTERVAL);
        }
        Ok(())
    }

    /// Makes it a backup.
    fn seal(&self, backup: &Backup) -> Result<()> {
        let part = self.dir.join(PART_FILE);
        let written = File::options()
            .write(true)
            .open(&part)
            .and_then(|mut file| {
                file.write_all(backup.encode().as_bytes())?;
                file.sync_all()?;
                fs::rename(&part, self.dir.join(BACKUP_FILE))
            });
        written.map_err(|cause| writing(&part, &cause))?;
        copy::sync_dir(self.dir)?;
        match self.dir.parent().filter(|_| self.is_own) {
            Some(parent) => copy::sync_dir(parent),
            None => Ok(()),
        }
    }
}

/// What a backup leaves free of the disk that it is written to: on the disk of the data what the server
/// needs, on another one nothing.
fn left_bytes(shared: &Shared, (dir, engine_dir): (&Path, &Path)) -> Option<u64> {
    let device = |dir: &Path| fs::metadata(dir).map(|found| found.dev()).ok();
    let tree = shared.tree.lock().clone();
    let (db, data) = tree.filter(|_| device(dir) == device(engine_dir))?;
    Some(room::beside_bytes(dir, (&db, &data)))
}

/// Puts the files of a cut into the directory.
struct Copy<'a> {
    making: &'a Making<'a>,
    left_bytes: Option<u64>,
    entries: Vec<Entry>,
}

/// A table that cannot be linked.
struct Unlinked {
    from: PathBuf,
    name: String,
    checksum: u128,
}

impl Copy<'_> {
    fn all(&mut self, cut: &Cut) -> Result<()> {
        let (data_dir, data) = &cut.data;
        let library_dir = cut.library_dir();
        let library = Tree::read(&library_dir);
        let library = library.map_err(|broken| damaged(&broken.path, &broken.what))?;
        let trees = [(data_dir, data), (&library_dir, &library)];
        let mut unlinked = Vec::new();
        for (dir, tree) in trees {
            self.link(dir, tree, &mut unlinked)?;
        }
        self.dictionaries(cut)?;
        self.check_room(bytes_to_copy(&unlinked, cut))?;
        for table in &unlinked {
            self.copy(table)?;
        }
        for (dir, tree) in trees {
            self.lists(dir, tree)?;
        }
        let mut journals = Journals::of(cut);
        for (name, file) in &cut.journals {
            let bytes = journals.bytes_of(name, file)?;
            self.write(&format!("{ENGINE_DIR}/{name}"), &bytes)?;
        }
        journals.end()?;
        let version = cut.engine_dir.join("version");
        let bytes = fs::read(&version).map_err(|cause| reading(&version, &cause))?;
        self.write(&format!("{ENGINE_DIR}/version"), &bytes)?;
        // The storage library locks it, and does not open what has none.
        self.write(&format!("{ENGINE_DIR}/lock"), &[])?;
        let engine_dir = self.making.dir.join(ENGINE_DIR);
        copy::sync_dir(&engine_dir.join(TREES_DIR))?;
        copy::sync_dir(&engine_dir)
    }

    /// Links the tables of a tree; those that cannot be, as to another disk, are left to be copied.
    fn link(&mut self, from: &Path, tree: &Tree, unlinked: &mut Vec<Unlinked>) -> Result<()> {
        let tree_name = tree_name(from);
        copy::make_dirs(&self.making.dir.join(&tree_name).join(TABLES_DIR))?;
        for TableFile { id, checksum } in tree.tables.iter().copied() {
            self.making.check()?;
            let from = from.join(TABLES_DIR).join(id.to_string());
            let name = format!("{tree_name}/{TABLES_DIR}/{id}");
            let to = self.making.dir.join(&name);
            if fs::hard_link(&from, &to).is_ok() {
                let found = fs::metadata(&to).map_err(|cause| reading(&to, &cause))?;
                let bytes = found.len();
                let sum = Sum { bytes, checksum };
                self.entries.push(Entry { name, sum });
            } else {
                unlinked.push(Unlinked {
                    from,
                    name,
                    checksum,
                });
            }
        }
        Ok(())
    }

    fn copy(&mut self, table: &Unlinked) -> Result<()> {
        let to = self.making.dir.join(&table.name);
        let sum = copy::copy(&table.from, &to, &|_| self.check())?;
        if sum.checksum != table.checksum {
            let what = "its checksum is not the one it was written with";
            return Err(damaged(&table.from, what));
        }
        let name = table.name.clone();
        self.entries.push(Entry { name, sum });
        Ok(())
    }

    /// Copies the dictionaries of compressed values: each was there before the tables that need it.
    fn dictionaries(&mut self, cut: &Cut) -> Result<()> {
        let files = compression::files(&cut.engine_dir)?;
        if files.is_empty() {
            return Ok(());
        }
        let name = format!("{ENGINE_DIR}/{}", compression::DIR);
        let dir = self.making.dir.join(&name);
        copy::make_dirs(&dir)?;
        for path in &files {
            compression::check(path)?;
            let bytes = fs::read(path).map_err(|cause| reading(path, &cause))?;
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            self.write(&format!("{name}/{file}"), &bytes)?;
        }
        copy::sync_dir(&dir)
    }

    /// Writes a tree's list of tables, behind all of them.
    fn lists(&mut self, from: &Path, tree: &Tree) -> Result<()> {
        let name = tree_name(from);
        let (version_name, version) = &tree.version;
        self.write(&format!("{name}/{version_name}"), version)?;
        let current_name = Tree::current_name();
        self.write(&format!("{name}/{current_name}"), &tree.current)?;
        let to = self.making.dir.join(&name);
        copy::sync_dir(&to.join(TABLES_DIR))?;
        copy::sync_dir(&to)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let to = self.making.dir.join(name);
        let sum = copy::write(&to, bytes, &|_| self.check())?;
        let name = name.to_owned();
        self.entries.push(Entry { name, sum });
        Ok(())
    }

    /// Between two pieces: whether to go on.
    fn check(&self) -> Result<()> {
        self.making.check()?;
        self.check_room(0)
    }

    fn check_room(&self, bytes: u64) -> Result<()> {
        match self.left_bytes {
            Some(left) => room::check_leaves(self.making.dir, bytes, left),
            None => Ok(()),
        }
    }
}

/// The name of a tree's directory in the backup.
fn tree_name(from: &Path) -> String {
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    format!("{ENGINE_DIR}/{TREES_DIR}/{name}")
}

/// About what is not linked. A journal has holes where nothing is written yet.
fn bytes_to_copy(unlinked: &[Unlinked], cut: &Cut) -> u64 {
    let tables = unlinked
        .iter()
        .map(|table| fs::metadata(&table.from).map_or(0, |found| found.len()));
    let journals = cut.journals.iter().map(|(_, file)| {
        file.metadata()
            .map_or(0, |found| found.blocks() * room::STAT_BLOCK_BYTES)
    });
    tables.chain(journals).sum()
}

/// The journals of a cut, read in order.
struct Journals<'a> {
    cut: &'a Cut,
    until: Until,
    /// Whether the last batch of the cut was read.
    is_over: bool,
    /// The last one with a batch of the run that wrote the last batch of the cut.
    of_run: Option<PathBuf>,
    /// One that has more than what belongs to the cut: where nothing follows that does, it was written meanwhile.
    torn: Option<PathBuf>,
}

impl<'a> Journals<'a> {
    fn of(cut: &'a Cut) -> Journals<'a> {
        Journals {
            cut,
            until: Until {
                seqno: cut.ts.0,
                run: cut.run,
                last: cut.last,
            },
            is_over: false,
            of_run: None,
            torn: None,
        }
    }

    /// The batches of a journal that belong to the cut.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where there are batches of the cut behind what is none; [`Error::Io`].
    fn bytes_of(&mut self, name: &str, mut file: &File) -> Result<Vec<u8>> {
        if self.is_over {
            return Ok(Vec::new());
        }
        let path = self.cut.engine_dir.join(name);
        let read = file.seek(SeekFrom::Start(0));
        let read = read.and_then(|_| journal::older_than(&mut file, &self.until));
        let older = read.map_err(|cause| reading(&path, &cause))?;
        let torn = self.torn.as_ref().filter(|_| !older.bytes.is_empty());
        if let Some(torn) = torn.or((older.behind == Behind::Older).then_some(&path)) {
            return Err(damaged(torn, "it is damaged in front of intact commits"));
        }
        if older.has_run {
            self.of_run = Some(path.clone());
        }
        if older.behind != Behind::Nothing && self.torn.is_none() {
            self.torn = Some(path);
        }
        self.is_over = older.has_last;
        Ok(older.bytes)
    }

    /// There are no more. They go one after the other, the oldest first: where one batch of a run is left, the
    /// last of it is.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where that is not.
    fn end(self) -> Result<()> {
        match self.of_run.filter(|_| !self.is_over) {
            Some(path) => Err(damaged(&path, "its last commits are damaged")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
