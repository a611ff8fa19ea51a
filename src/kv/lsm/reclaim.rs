//! The thread that gives disk space back: it unlinks the tables of dropped spaces and compacts. It also looks after
//! what was written lately, once nobody writes.
//!
//! Nothing waits for it but callers of `compact`, and nothing is lost when it stops half-way: what
//! it did not get to, later compactions leave out.

mod deleted;
mod dropped;
mod lists;
mod rest;
mod unlink;

use std::collections::VecDeque;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Keyspace};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use self::deleted::Deleted;
use self::dropped::{Debt, settle};
use self::rest::Rest;
use self::unlink::Unlinking;
use super::queue::Request;
use super::snapshot::Base;
use super::thin::{Looked, Suspect};
use super::{Shared, damage, fault, room, thin};
use crate::kv::expiry::Expiry;
use crate::kv::{Census, Error, KeyRange, Result, Space, Ts};

/// The thread's name: compactions of it are passes over all files.
pub(super) const THREAD_NAME: &str = "meseta-reclaim";

/// How often the thread looks for files worth compacting.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Ranges that wait to be looked at; of more, the latest are forgotten: compaction gets to them.
const SUSPECTS_MAX: usize = 32;

/// How long one look takes at most; what is left of a range waits behind the others.
const LOOK_BUDGET: Duration = Duration::from_millis(250);

/// A look is put off while files are being written, so long and so often.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
const TRIES_MAX: u32 = 40;

/// Values that end within so much time are looked for too, so that nobody has to step over them first:
/// longer than until the next check.
const AHEAD: Duration = CHECK_INTERVAL.saturating_mul(3);

/// How long looking for values that have ended takes at most, each time.
const ENDED_BUDGET: Duration = Duration::from_millis(250);

/// Deleted keys in files, and values that have ended, that make compacting worth it, when they are also
/// a quarter of all entries. Stepping over one costs half a microsecond: this many, 25 ms before a
/// scan's first row.
const DEAD_MIN: u64 = 50_000;

/// Files beyond this are not rewritten for their deleted keys without being asked: it would take
/// the disk for longer than a minute. The ordinary compaction gets to them in its own time.
const REWRITTEN_BYTES_MAX: u64 = 2 << 30;

/// Less than this of dropped spaces, or of deleted rows, is left to the compactions that come anyway.
const GIVEN_BYTES_MIN: u64 = 1 << 20;

/// Spaces are dropped one by one, a table with each of its indexes: after the last one it takes so long until what
/// they have left in files is looked for.
const DROPS_PAUSE: Duration = Duration::from_millis(50);

/// fjall 3, `SnapshotTracker::close_raw`.
const SNAPSHOTS_UNTIL_LOOK: u32 = 10_000;

/// How often a flush is looked at that is waited for.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);

/// How long closing waits for the job at hand, and how often it looks.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);
const CLOSE_INTERVAL: Duration = Duration::from_millis(1);

/// Something to reclaim.
pub(super) enum Job {
    /// A space was dropped.
    Dropped(Space),
    /// Ranges wait to be looked at.
    Look,
    /// A caller wants everything rewritten without dead entries.
    Compact(oneshot::Sender<Result<()>>),
}

/// The line to the thread. `None` once the engine is closed.
#[derive(Default)]
pub(super) struct Reclaim {
    line: Mutex<Option<(Sender<Job>, JoinHandle<()>)>>,
    /// Ranges that may be sparse.
    suspects: Mutex<VecDeque<Suspect>>,
    /// Whether a rewrite met damage. What such a one has written stays until the next start, so that none is begun
    /// again that nobody asks for.
    met_damage: AtomicBool,
}

impl Reclaim {
    /// Starts the thread; `dropped` are the spaces that may still have files, and a memtable takes so many bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when there can be no more threads.
    pub(super) fn start(
        &self,
        (shared, data): (Weak<Shared>, Keyspace),
        (dropped, memtable_bytes): (Vec<Space>, u64),
    ) -> Result<()> {
        let (sender, jobs) = mpsc::channel();
        let named = thread::Builder::new().name(THREAD_NAME.to_owned());
        let thread = named.spawn(move || {
            let _watch = Watch(Weak::clone(&shared));
            let mut unlinking = Unlinking::default();
            for space in dropped {
                unlinking.of((&shared, &data), space);
            }
            let tidying = (Rest::new(memtable_bytes), unlinking);
            work((&shared, &data), &jobs, tidying);
        });
        let thread = thread.map_err(|cause| Error::io("starting a thread", &cause))?;
        *self.line.lock() = Some((sender, thread));
        Ok(())
    }

    /// Whether files may be rewritten that nobody asked to be.
    pub(super) fn may_rewrite(&self) -> bool {
        !self.met_damage.load(Ordering::Relaxed)
    }

    fn note_damage(&self, cause: &Error) {
        if let Error::Corrupt { .. } = cause {
            self.met_damage.store(true, Ordering::Relaxed);
        }
    }

    /// Hands over a job; after closing it is forgotten.
    pub(super) fn send(&self, job: Job) {
        if let Some((sender, _)) = self.line.lock().as_ref() {
            // The thread ends only after the line was closed.
            let _ = sender.send(job);
        }
    }

    /// Has a range looked at, when there is time; or never, when many wait.
    pub(super) fn look(&self, suspect: Suspect) {
        let mut suspects = self.suspects.lock();
        if SUSPECTS_MAX <= suspects.len() {
            tracing::debug!("a range that may be sparse is not looked at: many wait");
            return;
        }
        suspects.push_back(suspect);
        let is_first = suspects.len() == 1;
        drop(suspects);
        if is_first {
            self.send(Job::Look);
        }
    }

    /// How many ranges wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.suspects.lock().len()
    }

    /// Ends the thread after the job it is at; a pass over all files is given up by then
    /// ([`super::room::pause::Floor::hurry`]). Another job that takes long is left to itself: the end of the process may
    /// cut it anywhere.
    pub(super) fn close(&self) {
        let Some((sender, thread)) = self.line.lock().take() else {
            return;
        };
        drop(sender);
        let until = Instant::now() + CLOSE_PATIENCE;
        while !thread.is_finished() && Instant::now() < until {
            thread::sleep(CLOSE_INTERVAL);
        }
    }
}

/// Ends writing when the thread ends by a panic.
struct Watch(Weak<Shared>);

impl Drop for Watch {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        if let Some(shared) = self.0.upgrade() {
            // The library keeps what was being merged hidden: commits would wait for a compaction that none begins.
            shared.give_up(&Error::Io {
                doing: "giving back room".to_owned(),
                cause: "its thread panicked".to_owned(),
            });
        }
    }
}

fn work(
    (shared, data): (&Weak<Shared>, &Keyspace),
    jobs: &Receiver<Job>,
    (mut rest, mut unlinking): (Rest, Unlinking),
) {
    // Deleted keys that the last compaction had to leave for an old snapshot.
    let mut left = 0;
    // What was deleted before the start is not known but from the files.
    let mut next_check = Instant::now();
    let mut has_more = false;
    let mut debt = Debt::Owed(0);
    let mut dropped = Instant::now();
    let mut deleted = Deleted::default();
    loop {
        let until_check = next_check.saturating_duration_since(Instant::now());
        let until_check = until_check.min(rest.until_look());
        let patience = match debt {
            _ if has_more => Duration::ZERO,
            Debt::Grown => DROPS_PAUSE
                .saturating_sub(dropped.elapsed())
                .min(until_check),
            Debt::None | Debt::Owed(_) => until_check,
        };
        match jobs.recv_timeout(patience) {
            Ok(Job::Dropped(space)) => {
                let replaced = data.tree.current_version();
                unlinking.of((shared, data), space);
                let_go(shared, data);
                drop(replaced);
                (debt, dropped) = (Debt::Grown, Instant::now());
            }
            Ok(Job::Compact(answer)) => compact_for((shared, data), answer),
            Err(RecvTimeoutError::Timeout)
                if debt == Debt::Grown && DROPS_PAUSE <= dropped.elapsed() =>
            {
                debt = settle((shared, data), debt);
            }
            Ok(Job::Look) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        has_more = shared.upgrade().is_some_and(|shared| shared.look_at_next());
        rest.look((shared, data));
        // Whatever else there is to do: who deletes all the time needs it most.
        if next_check <= Instant::now() {
            let ended = shared.upgrade().map_or(0, |shared| shared.look_for_ended());
            if may_rewrite(shared) && is_worth_compacting(data, (left, ended)) {
                warn(
                    "deleted keys were not removed from the files",
                    compact(shared, data),
                );
                left = data.tree.tombstone_count();
            }
            unlinking.try_again((shared, data));
            debt = settle((shared, data), debt);
            if may_rewrite(shared) {
                let given = deleted.give_back((shared, data));
                warn("the room of deleted rows was not given back", given);
            }
            next_check = Instant::now() + CHECK_INTERVAL;
        }
    }
}

fn may_rewrite(shared: &Weak<Shared>) -> bool {
    let shared = shared.upgrade();
    shared.is_some_and(|shared| shared.reclaim.may_rewrite())
}

/// Logs what was not done; an engine that ends leaves it to the next.
fn warn(what: &str, done: Result<()>) {
    match done {
        Ok(()) | Err(Error::Closed) => {}
        Err(cause) => tracing::warn!(%cause, "{what}"),
    }
}

/// By the deleted keys in files, without those that were left the last time, and by how many values
/// have ended.
fn is_worth_compacting(data: &Keyspace, (left, ended): (u64, u64)) -> bool {
    let dead = data.tree.tombstone_count().saturating_add(ended);
    let entries = u64::try_from(data.approximate_len()).unwrap_or(u64::MAX);
    left + DEAD_MIN <= dead
        && entries <= dead.saturating_mul(4)
        && data.disk_space() <= REWRITTEN_BYTES_MAX
}

/// Spaces with values that end which are looked at each time.
const LOOKED_AT: usize = 16;

impl Shared {
    /// Has the library learn which states nobody reads any more: what was deleted in them compactions leave out. It
    /// looks when a memtable is full, and each time that so many snapshots were closed; never before, in a start.
    fn forget_snapshots(&self) {
        let tree = self.tree.lock().clone();
        if let Some((db, _)) = tree {
            (0..SNAPSHOTS_UNTIL_LOOK).for_each(|_| drop(db.snapshot()));
        }
    }

    /// Has the committer forget files that nobody reads. The oldest state that somebody reads, and whether nothing is put
    /// for lack of room; `None` when the engine is being closed, or has failed.
    fn let_go(&self) -> Option<(Ts, bool)> {
        let (sender, answer) = oneshot::channel();
        self.queue.push(Request::LetGo(sender)).ok()?;
        answer.blocking_recv().ok()?.ok()
    }

    /// Looks at the range that waits longest; says whether more wait.
    fn look_at_next(&self) -> bool {
        let next = self.reclaim.suspects.lock().pop_front();
        let Some(suspect) = next else {
            return false;
        };
        let began = Instant::now();
        match self.thin_one(suspect, LOOK_BUDGET) {
            Ok(Looked::Through) => {}
            Ok(Looked::UpTo(rest)) => self.reclaim.look(rest),
            Ok(Looked::Never(suspect)) => {
                if suspect.tries < TRIES_MAX {
                    thread::sleep(RETRY_INTERVAL);
                    self.reclaim.look(suspect.tried());
                }
            }
            Err(cause) => tracing::debug!(%cause, "a sparse range was not looked at"),
        }
        self.put_off_looks(began.elapsed());
        !self.reclaim.suspects.lock().is_empty()
    }

    /// About how many values have ended in the spaces that are looked at this time; where they are
    /// nearly all, or will be soon, stretches are made.
    pub(super) fn look_for_ended(&self) -> u64 {
        let base = self.base.read().clone();
        let (Some(expiry), Some(base)) = (&self.expiry, base) else {
            return 0;
        };
        let now_ms = expiry.now_ms();
        let is_past = |value: &[u8]| expiry.is_past(value, now_ms);
        let spaces = expiry.watched();
        let turn = self.looks.load(Ordering::Relaxed);
        let turn = turn.checked_rem(spaces.len()).unwrap_or(0);
        let deadline = Instant::now() + ENDED_BUDGET;
        let mut ended = 0_u64;
        let mut looked_at = 0;
        for space in spaces
            .iter()
            .cycle()
            .skip(turn)
            .take(LOOKED_AT.min(spaces.len()))
        {
            if deadline <= Instant::now() {
                break;
            }
            looked_at += 1;
            let Ok(census) = base.census((*space, true), &is_past) else {
                continue;
            };
            ended = ended.saturating_add(census.expired);
            // Where there are stretches, readers tell of what they do not cover.
            if !base.sparse.has(*space)
                && let Some(suspect) = ended_or_soon((*space, &census), &base, (expiry, now_ms))
            {
                self.reclaim.look(suspect);
            }
        }
        self.looks.fetch_add(looked_at, Ordering::Relaxed);
        ended
    }
}

/// A space of which nearly all has ended, or else will have soon: then for readers of that time.
fn ended_or_soon(
    (space, census): (Space, &Census),
    base: &Base,
    (expiry, now_ms): (&Expiry, u64),
) -> Option<Suspect> {
    let is_sparse = |census: &Census| {
        let rows = usize::try_from(census.live).unwrap_or(usize::MAX);
        thin::is_sparse(census.expired, rows)
    };
    let whole = Suspect::of_range(space, &KeyRange::all());
    if is_sparse(census) {
        return Some(whole);
    }
    let ahead_ms = u64::try_from(AHEAD.as_millis()).unwrap_or(0);
    let soon_ms = now_ms.saturating_add(ahead_ms);
    let soon = base.census((space, true), &|value: &[u8]| {
        expiry.is_past(value, soon_ms)
    });
    soon.is_ok_and(|soon| is_sparse(&soon))
        .then(|| whole.looking_ahead(ahead_ms))
}

/// Whether lists of files may still be written: over one of which nobody knows whether it is on the disk, none is.
fn check_writes(shared: &Weak<Shared>) -> Result<()> {
    let cause = shared.upgrade().and_then(|shared| shared.read_only());
    cause.map_or(Ok(()), Err)
}

/// As a caller wants it, and not for one that waits no more: it may have waited for others.
fn compact_for((shared, data): (&Weak<Shared>, &Keyspace), answer: oneshot::Sender<Result<()>>) {
    if answer.is_closed() {
        return;
    }
    let done = compact(shared, data);
    let _ = answer.send(done);
}

fn compact(shared: &Weak<Shared>, data: &Keyspace) -> Result<()> {
    check_writes(shared)?;
    check_fits(shared, data)?;
    flush(shared, data)?;
    rewrite(shared, data)
}

/// Whether the disk takes the files once more. Where it does not, and nothing is put, they may still fit without
/// what was dropped, and without the room that puts need.
fn check_fits(shared: &Weak<Shared>, data: &Keyspace) -> Result<()> {
    let refused = match room::check_fits(data.path(), data.disk_space()) {
        Ok(()) => return Ok(()),
        Err(refused) => refused,
    };
    match shared.upgrade() {
        Some(shared) if shared.check_room(0).is_err() => {
            shared.check_compaction(dropped::kept_bytes(&shared, data)?)
        }
        Some(_) | None => Err(refused),
    }
}

/// Writes what is in memory to a file.
fn flush(shared: &Weak<Shared>, data: &Keyspace) -> Result<()> {
    let failed = |cause: fjall::Error| fault::error("compacting", &cause);
    data.rotate_memtable().map_err(failed)?;
    while 0 < data.tree.sealed_memtable_count() {
        // A flush that failed is not tried again, and one that waits when the engine ends is not done.
        check_writes(shared)?;
        if shared
            .upgrade()
            .is_none_or(|shared| shared.floor.is_hurried())
        {
            return Err(Error::Closed);
        }
        thread::sleep(FLUSH_INTERVAL);
    }
    Ok(())
}

/// Rewrites all files without dead entries; [`Error::Closed`] where the engine is to end.
fn rewrite(shared: &Weak<Shared>, data: &Keyspace) -> Result<()> {
    let failed = |cause: fjall::Error| fault::error("compacting", &cause);
    if let Some(shared) = shared.upgrade() {
        if shared.floor.is_hurried() {
            return Err(Error::Closed);
        }
        shared.forget_snapshots();
    }
    let replaced = data.tree.current_version();
    let compacted = data.major_compact().map_err(failed);
    compacted.map_err(|cause| match shared.upgrade() {
        Some(shared) => after_failure((&shared, data), cause),
        None => cause,
    })?;
    let_go(shared, data);
    // Who holds a file last removes it: not the committer, which others wait for.
    drop(replaced);
    Ok(())
}

/// What a compaction on a thread of this room failed with, when all is done that it asks for.
pub(super) fn after_failure((shared, data): (&Shared, &Keyspace), cause: Error) -> Error {
    lists::end_writing_if_begun((shared, data), &cause);
    shared.reclaim.note_damage(&cause);
    damage::in_compaction(&shared.engine_dir, cause)
}

/// Has the committer forget the files that nobody reads any more, and waits until it has.
fn let_go(shared: &Weak<Shared>, data: &Keyspace) {
    if data.tree.version_free_list_len() == 0 {
        return;
    }
    // Where nobody answers any more the next start removes what is left.
    let _ = shared.upgrade().and_then(|shared| shared.let_go());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use tokio::task::JoinHandle as TaskHandle;

    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine, Page, Scan, WriteSet};

    const T: Space = Space(1);
    const ROWS: u32 = 6000;

    /// A slow pass takes twice as long as this.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// What each row of it takes.
    const STEP: Duration = Duration::from_millis(10);

    static IS_SLOW: AtomicBool = AtomicBool::new(false);
    static PASSED: AtomicUsize = AtomicUsize::new(0);

    /// No value ends. Passes ask for each.
    fn end_of(_: &[u8]) -> Option<u64> {
        if IS_SLOW.load(Ordering::SeqCst) {
            PASSED.fetch_add(1, Ordering::SeqCst);
            thread::sleep(STEP);
        }
        None
    }

    fn all_rows() -> WriteSet {
        let mut writes = WriteSet::blind();
        for row in 0..ROWS {
            let text = format!("{row:06}");
            writes.put(T, text.clone(), text);
        }
        writes
    }

    async fn count(engine: &Lsm) -> usize {
        let snapshot = engine.snapshot();
        let mut scan = Scan::new(T, KeyRange::all());
        let mut page = Page::default();
        let mut rows = 0;
        loop {
            snapshot.scan(&scan, &mut page).await.unwrap();
            rows += page.iter().filter(|(key, value)| key == value).count();
            if !scan.advance(&mut page) {
                return rows;
            }
        }
    }

    /// One whose thread has done what it does at a start: between the two passes.
    async fn opened(options: &Options) -> Arc<Lsm> {
        let engine = Lsm::open(options).unwrap();
        for _ in 0..2 {
            engine.compact(&[]).await.unwrap();
        }
        Arc::new(engine)
    }

    /// A pass that has begun.
    async fn slow_pass(engine: &Arc<Lsm>) -> TaskHandle<Result<()>> {
        PASSED.store(0, Ordering::SeqCst);
        IS_SLOW.store(true, Ordering::SeqCst);
        let engine = Arc::clone(engine);
        let pass = tokio::spawn(async move { engine.compact(&[T]).await });
        let deadline = Instant::now() + PATIENCE;
        while PASSED.load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < deadline, "no pass begins");
            tokio::time::sleep(STEP).await;
        }
        pass
    }

    /// Mechanism: the library's threads waited for the pass, and its end for them. A server that was to stop did so
    /// when the pass had ended, after minutes.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_pass_over_all_files_is_given_up_when_the_engine_is_to_end() {
        let dir = tempfile::tempdir().unwrap();
        let expiry = Arc::new(Expiry::new(end_of));
        let options = Options {
            cache_bytes: 1 << 20,
            expiry: Some(Arc::clone(&expiry)),
            ..Options::new(dir.path())
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(T).await.unwrap();
        engine.commit(all_rows()).await.unwrap();
        engine.close().await.unwrap();
        expiry.watch(HashSet::from([T]));
        for is_told_before in [false, true] {
            let engine = opened(&options).await;
            let pass = slow_pass(&engine).await;
            let began = Instant::now();
            if is_told_before {
                engine.hurry();
                let given_up = pass.await.unwrap();
                assert_eq!(given_up, Err(Error::Closed));
                // It is as it was until it is closed.
                assert_eq!(engine.read_only(), None);
                engine.commit(all_rows()).await.unwrap();
                engine.close().await.unwrap();
            } else {
                engine.close().await.unwrap();
                let given_up = pass.await.unwrap();
                assert_eq!(given_up, Err(Error::Closed));
            }
            assert!(began.elapsed() < PATIENCE, "{is_told_before}");
            IS_SLOW.store(false, Ordering::SeqCst);
            let engine = Lsm::open(&options).unwrap();
            let (_, data) = engine.shared.tree.lock().clone().unwrap();
            let files = fs::read_dir(data.path().join("tables")).unwrap();
            assert_eq!(files.count(), data.tree.table_count());
            drop(data);
            assert_eq!(count(&engine).await, usize::try_from(ROWS).unwrap());
            engine.close().await.unwrap();
        }
    }

    /// Mechanism: what was being merged stayed hidden, and nobody was told until a thread of the library panicked, too, at a
    /// lock that this one had held.
    #[tokio::test]
    async fn a_pass_that_panics_ends_writing() {
        let dir = tempfile::tempdir().unwrap();
        let expiry = Arc::new(Expiry::new(|_: &[u8]| {
            assert_ne!(
                thread::current().name(),
                Some(THREAD_NAME),
                "as a bug might"
            );
            None
        }));
        expiry.watch(HashSet::from([T]));
        let options = Options {
            expiry: Some(expiry),
            ..Options::new(dir.path())
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(T).await.unwrap();
        engine.commit(all_rows()).await.unwrap();
        engine.compact(&[T]).await.unwrap_err();
        let deadline = Instant::now() + PATIENCE;
        while engine.read_only().is_none() {
            assert!(Instant::now() < deadline, "writing goes on");
            tokio::time::sleep(STEP).await;
        }
        let cause = engine.read_only().unwrap();
        assert!(cause.contains("giving back room"), "{cause}");
        engine.commit(all_rows()).await.unwrap_err();
        engine.close().await.unwrap_err();
    }

    #[tokio::test]
    async fn nothing_is_rewritten_for_whoever_waits_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&Options::new(dir.path())).unwrap();
        engine.create_space(T).await.unwrap();
        engine.commit(all_rows()).await.unwrap();
        engine.compact(&[]).await.unwrap();
        let (_, data) = engine.shared.tree.lock().clone().unwrap();
        let shared = Arc::downgrade(&engine.shared);
        let list = || data.tree.current_version().id();
        let before = list();
        for is_there in [false, true] {
            let (sender, answer) = oneshot::channel();
            let answer = is_there.then_some(answer);
            // On a thread that may wait, as that of the engine.
            let compact = || compact_for((&shared, &data), sender);
            thread::scope(|scope| scope.spawn(compact).join().unwrap());
            assert_eq!(list() != before, is_there);
            drop(answer);
        }
        engine.close().await.unwrap();
    }
}
