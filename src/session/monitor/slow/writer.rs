//! The thread that writes the slow query log, and the queue before it.
//!
//! A statement puts its entry into the queue and goes on: a disk that is slow, or hangs, holds this thread
//! and nobody else. The queue is bounded; for what comes when it is full there is no place in the file, and
//! it is counted. What opens and closes the file stands in the same queue, so that it comes between the
//! entries that were before it and those behind.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::{Entry, Server, lines};
use crate::kv::lsm;

/// Entries that wait to be written.
pub(super) const WAITING_MAX: usize = 1024;

/// Bytes of them. Not less than one with the longest text.
pub(super) const WAITING_BYTES_MAX: usize = 4 << 20;

/// Orders that wait: a session gives one at a time, but one that is killed waits for it no more.
const ORDERS_MAX: usize = 64;

/// Who may read the file: it has what is in statements.
const FILE_MODE: u32 = 0o640;

/// What is written to.
pub(super) type Sink = Box<dyn Write + Send>;

/// Opens what is at a path.
pub(super) type Opener = Arc<dyn Fn(&Path) -> io::Result<Sink> + Send + Sync>;

/// Which file, and what its head tells.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) server: Server,
}

/// What is done with the file beside writing.
#[derive(Debug)]
pub(super) enum Order {
    /// Opens it.
    Open(Target),
    /// Closes it: the next entry opens what is at its path then.
    Close,
    /// Nothing: its answer tells that all before it is written.
    Settle,
}

/// Where entries are put in. Dropping it lets the thread end, when it has written what waits.
pub(super) struct Writer {
    queue: Arc<Queue>,
    opener: Opener,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    more: Condvar,
    failures: AtomicU64,
    /// Whether the last entry could not be written.
    is_failing: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    entries_count: usize,
    bytes: usize,
    has_thread: bool,
    is_closed: bool,
    /// Whether entries were left out since nothing waited last.
    is_overfull: bool,
}

#[derive(Debug)]
enum Job {
    Write(Box<Entry>, Target),
    Order(Order, oneshot::Sender<io::Result<()>>),
}

/// The open file.
struct Log {
    path: PathBuf,
    sink: Sink,
    /// Whose database the file's reader is in.
    database: Option<String>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) fn new(opener: Opener) -> Writer {
        Writer {
            queue: Arc::default(),
            opener,
        }
    }

    /// How many entries were not written.
    pub(super) fn failures_count(&self) -> u64 {
        self.queue.failures.load(Ordering::Relaxed)
    }

    /// Puts an entry in line, if there is room.
    pub(super) fn put(&self, entry: Box<Entry>, target: Target) {
        let mut waiting = self.queue.waiting.lock();
        let bytes = waiting.bytes + entry.bytes();
        if WAITING_MAX <= waiting.entries_count || WAITING_BYTES_MAX < bytes {
            let is_first = !std::mem::replace(&mut waiting.is_overfull, true);
            drop(waiting);
            return self.queue.left_out(is_first);
        }
        if let Err(error) = self.start(&mut waiting) {
            drop(waiting);
            return self.queue.ended(&target.path, &Err(error));
        }
        waiting.entries_count += 1;
        waiting.bytes = bytes;
        waiting.jobs.push_back(Job::Write(entry, target));
        drop(waiting);
        self.queue.more.notify_one();
    }

    /// An entry cannot be written, whatever the disk does.
    pub(super) fn refuse(&self, name: &str, error: io::Error) {
        self.queue.ended(Path::new(name), &Err(error));
    }

    /// Gives an order and waits until it is done.
    ///
    /// # Errors
    /// What it failed with, or that too many wait.
    pub(super) async fn order(&self, order: Order) -> io::Result<()> {
        match self.line_up(order)? {
            None => Ok(()),
            Some(done) => done
                .await
                .unwrap_or_else(|_| Err(io::Error::other("its thread has ended"))),
        }
    }

    /// Puts an order in line; `None` when there is nothing to be done.
    fn line_up(&self, order: Order) -> io::Result<Option<oneshot::Receiver<io::Result<()>>>> {
        let mut waiting = self.queue.waiting.lock();
        match &order {
            Order::Open(_) => self.start(&mut waiting)?,
            // No thread, no file.
            Order::Close | Order::Settle if !waiting.has_thread => return Ok(None),
            Order::Close | Order::Settle => {}
        }
        let orders_count = waiting.jobs.len() - waiting.entries_count;
        if ORDERS_MAX <= orders_count {
            let text = format!("{orders_count} wait for its disk, the most is {ORDERS_MAX}");
            return Err(io::Error::other(text));
        }
        let (answer, done) = oneshot::channel();
        waiting.jobs.push_back(Job::Order(order, answer));
        drop(waiting);
        self.queue.more.notify_one();
        Ok(Some(done))
    }

    /// Starts the thread, if there is none yet.
    fn start(&self, waiting: &mut Waiting) -> io::Result<()> {
        if waiting.has_thread {
            return Ok(());
        }
        let (queue, opener) = (Arc::clone(&self.queue), Arc::clone(&self.opener));
        let named = thread::Builder::new().name("meseta-slow-log".to_owned());
        named.spawn(move || run(&queue, &opener))?;
        waiting.has_thread = true;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.more.notify_one();
    }
}

/// Forgets what waits when the thread ends: nobody does it, and who waits for it hears so.
struct End<'a>(&'a Queue);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.lock();
        let is_closed = waiting.is_closed;
        *waiting = Waiting {
            is_closed,
            ..Waiting::default()
        };
    }
}

/// The thread.
fn run(queue: &Queue, opener: &Opener) {
    let _end = End(queue);
    let mut file = None;
    while let Some(job) = queue.next() {
        match job {
            Job::Write(entry, target) => {
                let written = write(&mut file, (&entry, &target), opener);
                queue.ended(&target.path, &written);
            }
            Job::Order(order, answer) => {
                let done = match order {
                    Order::Open(target) => {
                        // The one of now may have been moved, or removed.
                        file = None;
                        opened(&mut file, &target, opener).map(|_| ())
                    }
                    Order::Close => {
                        file = None;
                        Ok(())
                    }
                    Order::Settle => Ok(()),
                };
                // Who gave it may not wait any more.
                let _ = answer.send(done);
            }
        }
    }
}

fn write(
    file: &mut Option<Log>,
    (entry, target): (&Entry, &Target),
    opener: &Opener,
) -> io::Result<()> {
    let log = opened(file, target, opener)?;
    let text = lines(entry, log.database.as_deref());
    // One call, so that a line of another process does not come in between.
    let written = log.sink.write_all(text.as_bytes());
    log.database.clone_from(&entry.database);
    if written.is_err() {
        *file = None;
    }
    written
}

fn opened<'a>(
    file: &'a mut Option<Log>,
    target: &Target,
    opener: &Opener,
) -> io::Result<&'a mut Log> {
    let log = match file.take() {
        Some(log) if log.path == target.path => log,
        Some(_) | None => Log::open(target, opener)?,
    };
    Ok(file.insert(log))
}

impl Log {
    fn open(target: &Target, opener: &Opener) -> io::Result<Log> {
        let mut sink = opener(&target.path)?;
        let Server { version, port } = target.server;
        // As mysqldumpslow knows it: a path first, and a word for the socket.
        let head = format!(
            "/meseta, Version: {version} (Meseta). started with:\n\
             Tcp port: {port}  Unix socket: (none)\n\
             Time                 Id Command    Argument\n"
        );
        sink.write_all(head.as_bytes())?;
        Ok(Log {
            path: target.path.clone(),
            sink,
            database: None,
        })
    }
}

/// Opens a file to append to.
pub(super) fn open_file(path: &Path) -> io::Result<Sink> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(FILE_MODE);
    // A pipe that nobody reads would take nothing for ever.
    if path.exists() && !path.is_file() {
        let text = format!("{} is no file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    // A link may lead to any of the server's own files, with what end of its name it likes.
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        let text = format!(
            "{} is a link: give the name of the file itself",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    // What the engine finds among its files it takes for one of them.
    if let Some(owner) = lsm::owner_of(path) {
        let (path, owner) = (path.display(), owner.display());
        let text = format!("{path} would lie among the data's files in {owner}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(Box::new(options.open(path)?))
}

impl Queue {
    /// Waits for the next; `None` when there will be none.
    fn next(&self) -> Option<Job> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                if let Job::Write(entry, _) = &job {
                    waiting.entries_count -= 1;
                    waiting.bytes -= entry.bytes();
                }
                return Some(job);
            }
            waiting.is_overfull = false;
            if waiting.is_closed {
                return None;
            }
            self.more.wait(&mut waiting);
        }
    }

    /// An entry was written, or not. Told once for as long as it goes on.
    fn ended(&self, path: &Path, written: &io::Result<()>) {
        let file = path.display();
        match written {
            Ok(()) => {
                if self.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::info!(%file, "the slow query log is written again");
                }
            }
            Err(error) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(%file, %error, "the slow query log cannot be written");
                }
            }
        }
    }

    /// There was no room for an entry: the first since nothing waited, or one more.
    fn left_out(&self, is_first: bool) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if is_first {
            tracing::warn!(
                "the disk of the slow query log does not keep up: statements are left out of it"
            );
        }
    }
}

#[cfg(test)]
mod tests;
