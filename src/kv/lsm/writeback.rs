//! Has tables written to the disk while they grow.
//!
//! The storage library writes a table through the kernel's cache and syncs it when it is complete: 64 MiB at once. What
//! is synced meanwhile waits behind that, and that is the journal, which every commit waits for: 60 to 130 ms where this
//! was measured, and 10 to 50 where the kernel is told every few MiB to begin. (RocksDB has `bytes_per_sync` for the
//! same.)
//!
//! Which tables grow the kernel tells: inotify(7). Where it does not, nothing else is lost.

#[cfg(target_os = "linux")]
pub(super) use linux::Writeback;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Writeback;

#[cfg(not(target_os = "linux"))]
mod other {
    /// Nothing: see the module.
    pub(in crate::kv::lsm) struct Writeback;

    impl Writeback {
        pub(in crate::kv::lsm) fn start(_tree: &std::path::Path) -> Option<Writeback> {
            None
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::mem::MaybeUninit;
    use std::num::NonZeroU64;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::fs::{Advice, fadvise};
    use rustix::io::{Errno, ioctl_fionread};

    use crate::kv::lsm::directory::TABLES_DIR;

    /// Bytes of a table that are written out at once: a disk takes them in the time of some syncs of a journal.
    const STEP_BYTES: u64 = 4 << 20;

    /// How often it is looked at how much there is of the tables that grow.
    const LOOK_INTERVAL: Duration = Duration::from_millis(10);

    /// Bytes of events that are taken at once: those of some dozens of files.
    const EVENTS_BYTES: usize = 4096;

    /// Tables that are looked after: as many grow at once as there are threads that compact.
    const GROWING_MAX: usize = 64;

    /// The watch over the tables of one engine; it ends when this is dropped.
    pub(in crate::kv::lsm) struct Writeback {
        inotify: Arc<OwnedFd>,
        watch: i32,
    }

    impl Writeback {
        /// Looks after the tables that are made in a tree from now on; `None` where the system does not tell of them,
        /// which is no failure.
        pub(in crate::kv::lsm) fn start(tree: &Path) -> Option<Writeback> {
            let started = Writeback::try_start(&tree.join(TABLES_DIR));
            if let Err(cause) = &started {
                tracing::debug!(%cause, "tables are not written out while they grow");
            }
            started.ok()
        }

        fn try_start(dir: &Path) -> std::io::Result<Writeback> {
            let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
            let wanted = WatchFlags::CREATE | WatchFlags::CLOSE_WRITE | WatchFlags::ONLYDIR;
            let watch = inotify::add_watch(&inotify, dir, wanted)?;
            let growing = Growing::of(dir);
            let named = thread::Builder::new().name("meseta-writeback".to_owned());
            let events = Arc::clone(&inotify);
            named.spawn(move || growing.look_after(&events))?;
            Ok(Writeback { inotify, watch })
        }
    }

    impl Drop for Writeback {
        fn drop(&mut self) {
            // The thread is told that nothing is watched any more, and ends. A directory that is gone was told before.
            let _ = inotify::remove_watch(&self.inotify, self.watch);
        }
    }

    /// The tables that are being written.
    struct Growing {
        dir: PathBuf,
        tables: HashMap<OsString, Table>,
    }

    struct Table {
        file: File,
        /// Up to where the kernel was told to write it.
        told: u64,
    }

    impl Growing {
        fn of(dir: &Path) -> Growing {
            Growing {
                dir: dir.to_path_buf(),
                tables: HashMap::new(),
            }
        }

        fn look_after(mut self, inotify: &OwnedFd) {
            let mut buffer = [const { MaybeUninit::uninit() }; EVENTS_BYTES];
            let mut events = Reader::new(inotify, &mut buffer);
            let ended = loop {
                // Without tables it waits for one.
                let waits = self.tables.is_empty() || !events.is_buffer_empty();
                match ioctl_fionread(inotify) {
                    Ok(0) if !waits => {
                        // What has ended by now was told, and is left alone.
                        self.tell();
                        thread::sleep(LOOK_INTERVAL);
                        continue;
                    }
                    Ok(_) => {}
                    Err(cause) => break Err(cause),
                }
                match events.next() {
                    // The watch is taken away, or the directory is gone.
                    Ok(event) if event.events().contains(ReadFlags::IGNORED) => break Ok(()),
                    // That may be among what was lost, and ends of tables.
                    Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                        break Err(Errno::OVERFLOW);
                    }
                    Ok(event) => self.note(event.events(), event.file_name()),
                    Err(Errno::INTR) => {}
                    Err(cause) => break Err(cause),
                }
            };
            if let Err(cause) = ended {
                tracing::debug!(%cause, "tables are no longer written out while they grow");
            }
        }

        fn note(&mut self, events: ReadFlags, name: Option<&std::ffi::CStr>) {
            let Some(name) = name.map(|name| OsStr::from_bytes(name.to_bytes())) else {
                return;
            };
            if events.contains(ReadFlags::CLOSE_WRITE) {
                self.tables.remove(name);
            } else if events.contains(ReadFlags::CREATE)
                && self.tables.len() < GROWING_MAX
                && let Ok(file) = File::open(self.dir.join(name))
            {
                self.tables.insert(name.to_owned(), Table { file, told: 0 });
            }
        }

        /// Has written what has come to some tables.
        fn tell(&mut self) {
            for table in self.tables.values_mut() {
                let bytes = table.file.metadata().map_or(0, |found| found.len());
                let more = bytes.saturating_sub(table.told);
                if more < STEP_BYTES {
                    continue;
                }
                // "Not needed" has the kernel begin to write it; none of it is let go before it is written.
                let _ = fadvise(
                    &table.file,
                    table.told,
                    NonZeroU64::new(more),
                    Advice::DontNeed,
                );
                table.told = bytes;
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use std::fs;
        use std::io::Write as _;
        use std::sync::Weak;
        use std::time::Instant;

        use super::*;

        fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !is_so() {
                assert!(Instant::now() < deadline, "{what}");
                thread::sleep(Duration::from_millis(2));
            }
        }

        #[test]
        fn what_grows_is_written_once_and_forgotten_at_its_end() {
            let dir = tempfile::tempdir().unwrap();
            let mut growing = Growing::of(dir.path());
            let mut file = File::create(dir.path().join("1")).unwrap();
            growing.note(ReadFlags::CREATE, Some(c"1"));
            let mut told = Vec::new();
            for _ in 0..9 {
                file.write_all(&vec![7; 1 << 20]).unwrap();
                growing.tell();
                told.push(growing.tables[OsStr::new("1")].told >> 20);
            }
            assert_eq!(told, [0, 0, 0, 4, 4, 4, 4, 8, 8]);
            growing.note(ReadFlags::CREATE, Some(c"gone already"));
            assert_eq!(growing.tables.len(), 1);
            growing.note(ReadFlags::CLOSE_WRITE, Some(c"1"));
            assert!(growing.tables.is_empty());
        }

        /// How often this process has a file open.
        fn opened_count(path: &Path) -> usize {
            let all = fs::read_dir("/proc/self/fd").unwrap();
            let links = all.filter_map(|one| fs::read_link(one.ok()?.path()).ok());
            links.filter(|open| open == path).count()
        }

        #[test]
        fn tables_are_met_and_let_go_and_it_ends_whatever_grows() {
            let tree = tempfile::tempdir().unwrap();
            let dir = tree.path().canonicalize().unwrap().join(TABLES_DIR);
            fs::create_dir(&dir).unwrap();
            let writeback = Writeback::start(tree.path()).unwrap();
            let [first, second] = ["1", "2"].map(|name| dir.join(name));
            let file = File::create(&first).unwrap();
            wait_for("a table is not met", || opened_count(&first) == 2);
            drop(file);
            wait_for("a table is not let go", || opened_count(&first) == 0);
            let _file = File::create(&second).unwrap();
            wait_for("another table is not met", || opened_count(&second) == 2);
            let inotify: Weak<OwnedFd> = Arc::downgrade(&writeback.inotify);
            drop(writeback);
            wait_for("the thread does not end", || inotify.strong_count() == 0);
            wait_for("a table is kept", || opened_count(&second) == 1);
        }

        /// Mechanism: with the directory gone nothing comes any more, and a thread would wait for ever.
        #[test]
        fn a_directory_that_goes_ends_it() {
            let tree = tempfile::tempdir().unwrap();
            fs::create_dir(tree.path().join(TABLES_DIR)).unwrap();
            let writeback = Writeback::start(tree.path()).unwrap();
            let inotify = Arc::downgrade(&writeback.inotify);
            tree.close().unwrap();
            wait_for("the thread does not end", || inotify.strong_count() == 1);
            drop(writeback);
            assert_eq!(inotify.strong_count(), 0);
        }

        #[test]
        fn nothing_is_looked_after_where_there_is_no_directory() {
            let tree = tempfile::tempdir().unwrap();
            assert!(Writeback::start(tree.path()).is_none());
        }
    }
}
