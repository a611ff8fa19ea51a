//! Makes a backup: claims the directory, has the committer take a cut, and writes it there.
//!
//! A backup that fails or is given up takes away what it made. One that is cut off by the end of the
//! process leaves [`super::PART_FILE`] and no [`super::BACKUP_FILE`], which is how it is told from a
//! whole one.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
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
    damaged, empty_dir, reading, writing,
};
use crate::kv::lsm::queue::Request;
use crate::kv::lsm::{Shared, directory, fault, journal};
use crate::kv::{Checkpoint, Error, Result};

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

/// Puts a copy of the newest state into a directory.
///
/// # Errors
///
/// [`Error::NotEmpty`], [`Error::Io`], [`Error::DiskFull`], [`Error::ReadOnly`], [`Error::Closed`].
pub(in crate::kv::lsm) async fn make(shared: Arc<Shared>, dir: PathBuf) -> Result<Checkpoint> {
    let is_over = Arc::new(AtomicBool::new(false));
    let _give_up = GiveUp(Arc::clone(&is_over));
    let work = tokio::task::spawn_blocking(move || {
        let making = Making::claim(&dir, &is_over)?;
        match making.run(&shared) {
            Ok(made) => Ok(made),
            Err(cause) => {
                making.discard();
                Err(cause)
            }
        }
    });
    work.await.map_err(|_| Error::Closed)?
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
        File::create_new(&part).map_err(|cause| writing(&part, &cause))?;
        Ok(Making {
            dir,
            is_own,
            is_over,
        })
    }

    fn discard(&self) {
        let removed = if self.is_own {
            fs::remove_dir_all(self.dir)
        } else {
            let engine_dir = self.dir.join(ENGINE_DIR);
            let engine = if engine_dir.exists() {
                fs::remove_dir_all(engine_dir)
            } else {
                Ok(())
            };
            engine.and_then(|()| fs::remove_file(self.dir.join(PART_FILE)))
        };
        if let Err(cause) = removed {
            tracing::warn!(dir = %self.dir.display(), %cause, "a failed backup was not taken away");
        }
    }

    fn check(&self) -> Result<()> {
        if self.is_over.load(Ordering::Relaxed) {
            return Err(Error::Io {
                doing: format!("writing {}", self.dir.display()),
                cause: "the backup was given up".to_owned(),
            });
        }
        Ok(())
    }

    fn run(&self, shared: &Shared) -> Result<Checkpoint> {
        let base = shared.base.read().clone().ok_or(Error::Closed)?;
        self.flush(base.keyspace())?;
        drop(base);
        let taken = jiff::Timestamp::now();
        let (sender, answer) = oneshot::channel();
        shared.queue.push(Request::Cut(sender))?;
        let cut = answer.blocking_recv();
        let cut = cut.unwrap_or_else(|_| Err(shared.silence()))?;
        let mut copy = Copy {
            making: self,
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
    fn flush(&self, data: &Keyspace) -> Result<()> {
        let failed = |cause: fjall::Error| fault::error("writing a memtable", &cause);
        if !data.rotate_memtable().map_err(failed)? {
            return Ok(());
        }
        let until = Instant::now() + FLUSH_PATIENCE;
        while data.tree.sealed_memtable_count() != 0 && Instant::now() < until {
            self.check()?;
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

/// Puts the files of a cut into the directory.
struct Copy<'a> {
    making: &'a Making<'a>,
    entries: Vec<Entry>,
}

impl Copy<'_> {
    fn all(&mut self, cut: &Cut) -> Result<()> {
        let (data_dir, data) = &cut.data;
        self.tree(data_dir, data)?;
        let library_dir = cut.library_dir();
        let library = Tree::read(&library_dir);
        let library = library.map_err(|broken| damaged(&broken.path, &broken.what))?;
        self.tree(&library_dir, &library)?;
        for (name, file) in &cut.journals {
            let bytes = journal_bytes(name, file, cut)?;
            self.write(&format!("{ENGINE_DIR}/{name}"), &bytes)?;
        }
        let version = cut.engine_dir.join("version");
        let bytes = fs::read(&version).map_err(|cause| reading(&version, &cause))?;
        self.write(&format!("{ENGINE_DIR}/version"), &bytes)?;
        // The storage library locks it, and does not open what has none.
        self.write(&format!("{ENGINE_DIR}/lock"), &[])?;
        let engine_dir = self.making.dir.join(ENGINE_DIR);
        copy::sync_dir(&engine_dir.join(TREES_DIR))?;
        copy::sync_dir(&engine_dir)
    }

    fn tree(&mut self, from: &Path, tree: &Tree) -> Result<()> {
        let tree_name = from.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{ENGINE_DIR}/{TREES_DIR}/{tree_name}");
        let to = self.making.dir.join(&name);
        copy::make_dirs(&to.join(TABLES_DIR))?;
        for table in &tree.tables {
            self.table(&from.join(TABLES_DIR), (&name, *table))?;
        }
        let (version_name, version) = &tree.version;
        self.write(&format!("{name}/{version_name}"), version)?;
        let current_name = Tree::current_name();
        self.write(&format!("{name}/{current_name}"), &tree.current)?;
        copy::sync_dir(&to.join(TABLES_DIR))?;
        copy::sync_dir(&to)
    }

    /// Links a table; copies it where that cannot be, as to another disk.
    fn table(&mut self, from: &Path, (tree_name, table): (&str, TableFile)) -> Result<()> {
        self.making.check()?;
        let from = from.join(table.id.to_string());
        let name = format!("{tree_name}/{TABLES_DIR}/{}", table.id);
        let to = self.making.dir.join(&name);
        let sum = if fs::hard_link(&from, &to).is_ok() {
            let found = fs::metadata(&to).map_err(|cause| reading(&to, &cause))?;
            let (bytes, checksum) = (found.len(), table.checksum);
            Sum { bytes, checksum }
        } else {
            let sum = copy::copy(&from, &to, &|_| self.making.check())?;
            if sum.checksum != table.checksum {
                let what = "its checksum is not the one it was written with";
                return Err(damaged(&from, what));
            }
            sum
        };
        self.entries.push(Entry { name, sum });
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.making.check()?;
        let sum = copy::write(&self.making.dir.join(name), bytes)?;
        let name = name.to_owned();
        self.entries.push(Entry { name, sum });
        Ok(())
    }
}

/// The batches of a journal that belong to a cut.
fn journal_bytes(name: &str, mut file: &File, cut: &Cut) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0));
    let read = read.and_then(|_| file.read_to_end(&mut bytes));
    read.map_err(|cause| reading(&cut.engine_dir.join(name), &cause))?;
    bytes.truncate(journal::end_before(&bytes, cut.ts.0));
    Ok(bytes)
}
