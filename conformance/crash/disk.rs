//! A disk of its own for a data directory: an ext4 filesystem in a file, whose power can be cut.
//!
//! After a cut the filesystem writes nothing any more and does not flush its log; the next mount finds
//! what was synced, and what it happened to write by itself. It is stricter than a real cut in that
//! nothing that was under way arrives, and milder in that blocks are never torn, and that the disk below
//! has no cache of its own that could lose what was synced.
//!
//! Whoever has it shut down must see to it that nobody acts on a sync that was under way: Linux 6.18 answers some
//! of those with success and loses what they were about (twice in 120 trials of a program that does nothing
//! but append and sync).
//!
//! A thin disk ([`Disk::make_thin`]) has its file in memory that is smaller than what the filesystem believes to
//! have: once that is full, blocks are taken from who writes them, and lost. The loop device (Linux 6.18) confirms a
//! write of which it could do a part, so it must be given one page at a time.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use crate::full::fill_with;
use crate::tools::{self, run};

/// The size of the usual disk; the file has holes where nothing is written.
pub(crate) const DISK_BYTES: u64 = 2 << 30;
/// A mount may be held for a moment by a process that is ending.
const UNMOUNT_TRIES: u32 = 100;
const UNMOUNT_PAUSE: Duration = Duration::from_millis(50);

/// The smallest disk that there can be.
const LEAST_BYTES: u64 = 32 << 20;

/// Whether everything that trials need must be here: disks of their own, and libraries. What is missing then is a
/// failure, and else a trial that is skipped.
pub(crate) fn is_must() -> bool {
    std::env::var("MESETA_CRASH_DISK").is_ok_and(|value| value == "must")
}

/// Why there can be no disk here, if that is so and may be: it takes root, loop devices and ext4.
pub(crate) fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    if is_must() {
        return None;
    }
    let missing = MISSING.get_or_init(|| {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string());
        let made = scratch.and_then(|scratch| {
            let disk = Disk::make(scratch.path(), LEAST_BYTES)?;
            disk.unmount()
        });
        let reason = made.err()?;
        Some(format!("no disk of its own can be made here: {reason}"))
    });
    missing.as_deref()
}

/// Of the filesystems, and of the pages of memory.
const BLOCK_BYTES: u64 = 4096;

/// What the memory below a thin disk has beside the disk's own blocks.
const SLACK_BYTES: u64 = 16 << 20;

/// A mounted disk; unmounted when dropped.
pub(crate) struct Disk {
    image: PathBuf,
    /// Where it is mounted.
    pub(crate) mount: PathBuf,
    cut: PathBuf,
    /// What is below a thin one.
    bed: Option<Bed>,
}

/// A filesystem in memory; unmounted when dropped.
struct Bed(PathBuf);

impl Bed {
    fn make(scratch: &Path, bytes: u64) -> Result<Bed, String> {
        let bed = Bed(scratch.join("bed"));
        std::fs::create_dir_all(&bed.0).map_err(|error| error.to_string())?;
        let options = format!("size={bytes}");
        let words = ["-t", "tmpfs", "-o", &options, "tmpfs"];
        let words = words.iter().map(AsRef::as_ref);
        run("mount", words.chain([bed.0.as_os_str()]))?;
        Ok(bed)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = run("umount", [Path::new("-l"), &self.0]);
    }
}

impl Disk {
    /// Makes a disk and mounts it at the data directory of a server.
    pub(crate) fn make(scratch: &Path, bytes: u64) -> Result<Disk, String> {
        let disk = Disk::format((scratch, scratch), bytes, None)?;
        disk.mount()?;
        Ok(disk)
    }

    /// Makes a thin disk. What the filesystem needs for itself has its blocks, so that what is lost is what others
    /// write: a filesystem that loses its own ends at once.
    pub(crate) fn make_thin(scratch: &Path, bytes: u64) -> Result<Disk, String> {
        let bed = Bed::make(scratch, bytes + SLACK_BYTES)?;
        let below = bed.0.clone();
        let disk = Disk::format((scratch, &below), bytes, Some(bed))?;
        let length = bytes.to_string();
        let words = ["--length", &length].map(AsRef::as_ref);
        run(
            "fallocate",
            words.into_iter().chain([disk.image.as_os_str()]),
        )?;
        disk.mount()?;
        Ok(disk)
    }

    /// From now on writes are of one block each, which are done or are not.
    fn part_writes(&self) -> Result<(), String> {
        let words = ["--noheadings", "--output", "SOURCE"].map(AsRef::as_ref);
        let device = run("findmnt", words.into_iter().chain([self.mount.as_os_str()]))?;
        let name = device.trim().trim_start_matches("/dev/");
        let path = format!("/sys/block/{name}/queue/max_sectors_kb");
        let block = (BLOCK_BYTES / 1024).to_string();
        std::fs::write(&path, block).map_err(|error| format!("{path}: {error}"))
    }

    /// Leaves so many bytes to a thin disk, whatever its filesystem believes to have; blocks that it does not use
    /// are given back before.
    pub(crate) fn starve(&self, left: u64) -> Result<(), String> {
        self.feed()?;
        run("fstrim", [&self.mount])?;
        fill_with(&self.filler(), left)
    }

    /// Ends that.
    pub(crate) fn feed(&self) -> Result<(), String> {
        match std::fs::remove_file(self.filler()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    /// Whether the filesystem takes writes: one that could not write for itself takes none.
    pub(crate) fn takes_writes(&self) -> bool {
        std::fs::write(self.mount.join("lost+found/probe"), "probe").is_ok()
    }

    fn filler(&self) -> PathBuf {
        self.image.with_file_name("filler")
    }

    fn format(
        (scratch, below): (&Path, &Path),
        bytes: u64,
        bed: Option<Bed>,
    ) -> Result<Disk, String> {
        let disk = Disk {
            image: below.join("disk.ext4"),
            mount: scratch.join("data"),
            cut: tools::cut(scratch)?,
            bed,
        };
        let file = File::create(&disk.image).and_then(|file| file.set_len(bytes));
        file.map_err(|error| format!("{}: {error}", disk.image.display()))?;
        // Without lazy initialisation nothing writes to the disk but the server.
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        let block = BLOCK_BYTES.to_string();
        let options = ["-q", "-F", "-m", "0", "-b", &block, "-E", lazy];
        let arguments = options.iter().map(AsRef::as_ref);
        run("mkfs.ext4", arguments.chain([disk.image.as_os_str()]))?;
        std::fs::create_dir_all(&disk.mount).map_err(|error| error.to_string())?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        let places = [self.image.as_os_str(), self.mount.as_os_str()];
        let options = ["-o", "loop"].iter().map(AsRef::as_ref);
        run("mount", options.chain(places))?;
        match self.bed {
            Some(_) => self.part_writes(),
            None => Ok(()),
        }
    }

    /// From now on nothing reaches the disk.
    pub(crate) fn cut(&self) -> Result<(), String> {
        let program = self.cut.to_string_lossy().into_owned();
        run(&program, [&self.mount]).map(drop)
    }

    /// Gives the power back: the filesystem finds its log as it was when the power went.
    pub(crate) fn restore(&self) -> Result<(), String> {
        self.unmount()?;
        self.mount()
    }

    /// What can still be written to the disk of a file.
    pub(crate) fn free_bytes(path: &Path) -> u64 {
        rustix::fs::statvfs(path).map_or(0, |disk| disk.f_bavail * disk.f_frsize)
    }

    /// Makes everything that was written so far survive.
    pub(crate) fn sync(&self) -> Result<(), String> {
        run("sync", [Path::new("-f"), &self.mount]).map(drop)
    }

    fn unmount(&self) -> Result<(), String> {
        let mut tries = 0;
        loop {
            match run("umount", [&self.mount]) {
                Ok(_) => return Ok(()),
                Err(error) if tries == UNMOUNT_TRIES => return Err(error),
                Err(_) => {}
            }
            tries += 1;
            thread::sleep(UNMOUNT_PAUSE);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run("umount", [Path::new("-l"), &self.mount]);
    }
}
