//! Row locks: who may change a row next.
//!
//! Correctness does not rest on them: a commit checks that what it was computed from is unchanged
//! (`kv`). They make writers of one row queue instead of failing each other, give MySQL's 1205 and
//! 1213, and let `SELECT … FOR UPDATE` mean what it says. A lock is exclusive, belongs to one
//! [`Owner`] (a transaction, or an autocommit statement) and ends when its [`Held`] is dropped.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::cancel::CancelToken;
use super::elsewhere;
use super::waits::{Holder, Waits};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::kv::{Key, Space};

/// Independent parts of the lock table; more than any machine has cores.
const SHARDS: usize = 64;

/// Rows one transaction may lock: past it the transaction is too large for memory.
pub const ROW_LOCKS_MAX: usize = 4_000_000;

/// Locks of one owner that memory is asked for at once.
const LOCKS_ASKED_FOR: usize = 1024;

/// About what a lock takes in the table and in the list of its owner, of a short key.
const LOCK_BYTES: usize = 192;

/// A transaction or statement that can hold locks. A connection has one at a time, or two for a moment, so that
/// its `turn` may begin anew after 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Whom others wait for, as SHOW PROCESSLIST numbers it; 0 for none.
    connection_id: u32,
    turn: u32,
}

type RowKey = (Space, Key);

/// One locked row.
#[derive(Debug)]
struct Lock {
    owner: Owner,
    queue: VecDeque<Request>,
}

/// Somebody in the queue of a lock.
#[derive(Debug)]
struct Request {
    owner: Owner,
    grant: oneshot::Sender<()>,
    /// Tells who has the lock.
    holder: Holder,
}

/// The lock table of the server.
#[derive(Debug)]
pub struct Locks {
    shards: Vec<Mutex<HashMap<RowKey, Lock>>>,
    hasher: RandomState,
    /// Whom each waiting owner waits for: the graph in which a cycle is a deadlock.
    waits: Mutex<HashMap<Owner, Owner>>,
    next_turn: AtomicU32,
    locked_count: AtomicUsize,
}

impl Default for Locks {
    fn default() -> Locks {
        Locks {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            waits: Mutex::default(),
            next_turn: AtomicU32::new(0),
            locked_count: AtomicUsize::new(0),
        }
    }
}

/// The locks one owner holds; dropping it gives them up.
#[derive(Debug)]
pub struct Held {
    locks: Arc<Locks>,
    owner: Owner,
    rows: Vec<RowKey>,
}

/// How long a lock is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    /// `innodb_lock_wait_timeout`.
    pub timeout: Duration,
    /// Ends the wait early.
    pub cancel: &'a CancelToken,
}

/// What asking for a lock came to.
enum Asked {
    Granted,
    HeldAlready,
    Queued(oneshot::Receiver<()>, Holder),
}

impl Locks {
    /// A new owner without locks, of a connection.
    pub fn owner(self: &Arc<Locks>, connection_id: u32) -> Held {
        let owner = Owner {
            connection_id,
            turn: self.next_turn.fetch_add(1, Ordering::Relaxed),
        };
        Held {
            locks: Arc::clone(self),
            owner,
            rows: Vec::new(),
        }
    }

    /// Whether any row is locked at all; lets a blind write skip the table.
    pub fn is_idle(&self) -> bool {
        self.locked_count.load(Ordering::Acquire) == 0
    }

    /// Whether someone holds the row; for goldens.
    #[cfg(test)]
    pub(crate) fn is_locked(&self, space: Space, key: &[u8]) -> bool {
        let row = (space, key.to_vec());
        self.shard(&row)
            .is_ok_and(|shard| shard.lock().contains_key(&row))
    }

    /// How many wait; for tests.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waits.lock().len()
    }

    fn shard(&self, row: &RowKey) -> Result<&Mutex<HashMap<RowKey, Lock>>> {
        let hash = usize::try_from(self.hasher.hash_one(row) % 64).unwrap_or(0);
        self.shards
            .get(hash % SHARDS)
            .ok_or_else(|| Error::internal("a lock shard is missing"))
    }

    fn ask(&self, owner: Owner, row: &RowKey) -> Result<Asked> {
        let mut shard = self.shard(row)?.lock();
        match shard.entry(row.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Lock {
                    owner,
                    queue: VecDeque::new(),
                });
                self.locked_count.fetch_add(1, Ordering::AcqRel);
                Ok(Asked::Granted)
            }
            Entry::Occupied(occupied) if occupied.get().owner == owner => Ok(Asked::HeldAlready),
            Entry::Occupied(mut occupied) => {
                let lock = occupied.get_mut();
                self.wait_for(owner, lock.owner)?;
                let holder = Holder::new(lock.owner.connection_id);
                let (grant, granted) = oneshot::channel();
                lock.queue.push_back(Request {
                    owner,
                    grant,
                    holder: holder.clone(),
                });
                Ok(Asked::Queued(granted, holder))
            }
        }
    }

    /// Notes that `waiter` waits for `holder`, unless that closes a circle.
    fn wait_for(&self, waiter: Owner, holder: Owner) -> Result<()> {
        let mut waits = self.waits.lock();
        let mut next = Some(holder);
        while let Some(owner) = next {
            if owner == waiter {
                let text = "Deadlock found when trying to get lock; try restarting transaction";
                return Err(Error::new(Code::Deadlock, text));
            }
            next = waits.get(&owner).copied();
        }
        waits.insert(waiter, holder);
        Ok(())
    }

    /// Gives `row` to the first in its queue that still waits.
    fn release(&self, row: &RowKey) {
        let Ok(shard) = self.shard(row) else { return };
        let mut shard = shard.lock();
        let Some(lock) = shard.get_mut(row) else {
            return;
        };
        while let Some(Request {
            owner: next, grant, ..
        }) = lock.queue.pop_front()
        {
            let mut waits = self.waits.lock();
            // Whose wait for this row has ended may wait for another one by now: that edge stays.
            if grant.send(()).is_err() {
                continue;
            }
            waits.remove(&next);
            lock.owner = next;
            let queue = lock.queue.iter();
            for waiting in queue.filter(|request| !request.grant.is_closed()) {
                waits.insert(waiting.owner, next);
                waiting.holder.set(next.connection_id);
            }
            return;
        }
        shard.remove(row);
        self.locked_count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Ends the wait of an owner whose request was given up half-way.
struct Waiting<'a> {
    locks: &'a Locks,
    owner: Owner,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.locks.waits.lock().remove(&self.owner);
    }
}

impl Held {
    /// Locks one row, waiting for who has it.
    ///
    /// # Errors
    /// 1205 after the timeout, 1213 when waiting would close a circle, 1317 when killed, 1041 past
    /// [`ROW_LOCKS_MAX`] or when the process has no memory for more.
    pub async fn lock(&mut self, space: Space, key: &[u8], wait: Wait<'_>) -> Result<()> {
        let row = (space, key.to_vec());
        if self.rows.len() >= ROW_LOCKS_MAX {
            let count = self.rows.len() + 1;
            let text =
                format!("transaction locks {count} rows, the most allowed is {ROW_LOCKS_MAX}");
            return Err(Error::new(Code::OutOfResources, text));
        }
        if self.rows.len() % LOCKS_ASKED_FOR == LOCKS_ASKED_FOR - 1 {
            ceiling::admit("row locks", LOCKS_ASKED_FOR * LOCK_BYTES)?;
        }
        match self.locks.ask(self.owner, &row)? {
            Asked::HeldAlready => return Ok(()),
            Asked::Granted => {}
            Asked::Queued(granted, holder) => self.wait((granted, holder), wait).await?,
        }
        self.rows.push(row);
        Ok(())
    }

    async fn wait(
        &self,
        (mut granted, holder): (oneshot::Receiver<()>, Holder),
        wait: Wait<'_>,
    ) -> Result<()> {
        let _told = wait.cancel.waits(Waits::RowLock(holder));
        let _waiting = Waiting {
            locks: &self.locks,
            owner: self.owner,
        };
        let began = Instant::now();
        let failed = tokio::select! {
            biased;
            Ok(()) = &mut granted => {
                wait.cancel.count_lock_wait(began.elapsed());
                return Ok(());
            }
            stopped = wait.cancel.stopped() => stopped,
            () = tokio::time::sleep(wait.timeout) => {
                let text = "Lock wait timeout exceeded; try restarting transaction";
                Error::new(Code::LockWaitTimeout, text)
            }
        };
        wait.cancel.count_lock_wait(began.elapsed());
        // The grant may have come between the end of the wait and here: then the lock is ours.
        granted.close();
        if granted.try_recv().is_ok() {
            Ok(())
        } else {
            Err(failed)
        }
    }

    /// A new owner in the same table, of the same connection, without locks.
    pub fn another(&self) -> Held {
        self.locks.owner(self.owner.connection_id)
    }

    /// Whether nobody holds any lock.
    pub fn is_table_idle(&self) -> bool {
        self.locks.is_idle()
    }

    /// How many rows are locked; for savepoints and tests.
    pub fn count(&self) -> usize {
        self.rows.len()
    }
}

impl Drop for Held {
    /// Many locks are given up a moment later: whoever wants one waits for it as for any other.
    fn drop(&mut self) {
        let (locks, rows) = (Arc::clone(&self.locks), std::mem::take(&mut self.rows));
        let is_large = elsewhere::PIECES_HERE_MAX < rows.len();
        let release = move || rows.iter().for_each(|row| locks.release(row));
        if is_large {
            elsewhere::run(release);
        } else {
            release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::cancel::Stop;

    const T: Space = Space(1);

    fn wait(millis: u64) -> Wait<'static> {
        static CANCEL: std::sync::LazyLock<CancelToken> =
            std::sync::LazyLock::new(CancelToken::default);
        Wait {
            timeout: Duration::from_millis(millis),
            cancel: &CANCEL,
        }
    }

    fn locks() -> Arc<Locks> {
        Arc::new(Locks::default())
    }

    #[tokio::test]
    async fn a_held_row_times_out_and_a_free_one_does_not() {
        let locks = locks();
        let [mut one, mut two] = [1, 2].map(|id| locks.owner(id));
        one.lock(T, b"a", wait(20)).await.unwrap();
        one.lock(T, b"a", wait(20)).await.unwrap();
        two.lock(T, b"b", wait(20)).await.unwrap();
        assert_eq!(
            two.lock(T, b"a", wait(20)).await.unwrap_err().code(),
            Code::LockWaitTimeout
        );
        drop(one);
        two.lock(T, b"a", wait(20)).await.unwrap();
        drop(two);
        assert!(locks.is_idle());
    }

    #[tokio::test]
    async fn a_circle_of_waits_is_a_deadlock_and_the_other_side_goes_on() {
        let locks = locks();
        let [mut one, mut two] = [1, 2].map(|id| locks.owner(id));
        one.lock(T, b"a", wait(20_000)).await.unwrap();
        two.lock(T, b"b", wait(20_000)).await.unwrap();
        let waiter =
            tokio::spawn(async move { one.lock(T, b"b", wait(20_000)).await.map(|()| one) });
        while locks.waits.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            two.lock(T, b"a", wait(20_000)).await.unwrap_err().code(),
            Code::Deadlock
        );
        drop(two);
        assert_eq!(waiter.await.unwrap().unwrap().count(), 2);
        assert!(locks.is_idle());
    }

    /// Mechanism: the request of a wait that had ended stayed in the queue, and when the row was given up the edge of
    /// its owner went, which by then was about another row.
    #[tokio::test]
    async fn who_waits_for_another_row_by_now_is_still_in_the_graph() {
        let locks = locks();
        let [mut one, mut two, mut three] = [1, 2, 3].map(|id| locks.owner(id));
        one.lock(T, b"a", wait(20_000)).await.unwrap();
        two.lock(T, b"b", wait(20_000)).await.unwrap();
        three.lock(T, b"c", wait(20_000)).await.unwrap();
        assert!(two.lock(T, b"a", wait(20)).await.is_err());
        let waiter =
            tokio::spawn(async move { two.lock(T, b"c", wait(20_000)).await.map(|()| two) });
        while locks.waits.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        drop(one);
        assert_eq!(
            three.lock(T, b"b", wait(20)).await.unwrap_err().code(),
            Code::Deadlock
        );
        drop(three);
        drop(waiter.await.unwrap().unwrap());
        assert!(locks.is_idle());
    }

    #[tokio::test]
    async fn a_waiter_that_went_away_is_passed_over() {
        let locks = locks();
        let [mut one, mut two, mut three] = [1, 2, 3].map(|id| locks.owner(id));
        one.lock(T, b"a", wait(20_000)).await.unwrap();
        assert!(two.lock(T, b"a", wait(20)).await.is_err());
        let waiter =
            tokio::spawn(async move { three.lock(T, b"a", wait(20_000)).await.map(|()| three) });
        while locks.waits.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        drop(one);
        drop(waiter.await.unwrap().unwrap());
        assert!(locks.is_idle());
    }

    fn leaked() -> &'static CancelToken {
        Box::leak(Box::default())
    }

    /// Waits until `cancel` tells `state`.
    async fn tells(cancel: &CancelToken, state: &str) {
        while cancel.waiting_state().as_deref() != Some(state) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn who_waits_tells_for_whom_until_the_wait_ends() {
        let timeout = Duration::from_secs(20);
        let locks = locks();
        let [mut one, two, three, unknown] = [7, 8, 9, 0].map(|id| locks.owner(id));
        one.lock(T, b"a", wait(20)).await.unwrap();
        let mut waiters = Vec::new();
        for mut held in [two, three, unknown] {
            let cancel = leaked();
            let wait = Wait { timeout, cancel };
            let waiter = async move { held.lock(T, b"a", wait).await.map(|()| held) };
            waiters.push((cancel, tokio::spawn(waiter)));
            tells(cancel, "Waiting for row lock held by connection 7").await;
        }
        let [second, third, last] = <[_; 3]>::try_from(waiters).unwrap();
        drop(one);
        let second_held = second.1.await.unwrap().unwrap();
        assert_eq!(second.0.waiting_state(), None);
        for (cancel, _) in [&third, &last] {
            let state = cancel.waiting_state();
            assert_eq!(
                state.as_deref(),
                Some("Waiting for row lock held by connection 8")
            );
        }
        third.0.stop(Stop::Query);
        third.1.await.unwrap().unwrap_err();
        assert_eq!(third.0.waiting_state(), None);
        drop(second_held);
        let mut last_held = last.1.await.unwrap().unwrap();
        assert_eq!(last.0.waiting_state(), None);

        // A timeout, of one that waits for nobody it knows; then a circle.
        let mut two = locks.owner(8);
        two.lock(T, b"b", wait(20)).await.unwrap();
        let (cancel, timeout) = (leaked(), Duration::from_secs(1));
        let timed = tokio::spawn(async move {
            let failed = two.lock(T, b"a", Wait { timeout, cancel }).await;
            (two, failed.unwrap_err().code())
        });
        tells(cancel, "Waiting for row lock").await;
        let circle = leaked();
        let wait = Wait {
            timeout,
            cancel: circle,
        };
        let failed = last_held.lock(T, b"b", wait).await.unwrap_err();
        assert_eq!(failed.code(), Code::Deadlock);
        assert_eq!(circle.waiting_state(), None);
        assert_eq!(timed.await.unwrap().1, Code::LockWaitTimeout);
        assert_eq!(cancel.waiting_state(), None);
    }
}
