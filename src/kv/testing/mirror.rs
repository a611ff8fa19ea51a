//! Two engines as one: every call goes to both, and a difference is an error that says which.
//!
//! Commits run one at a time, so that both engines see them in one order; snapshots are pairs taken
//! between two commits.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::kv::{
    Answer, Capabilities, Census, CommitError, Engine, Error, Estimate, IsPast, Key, KeyRange,
    Limits, Page, Result, Scan, Snapshot, Space, Spaces, Stats, Ts, WriteSet,
};

/// The engine `left`, checked against the engine `right`.
pub struct Mirror {
    left: Arc<dyn Engine>,
    right: Arc<dyn Engine>,
    turn: tokio::sync::Mutex<()>,
    /// Odd while a change is being made.
    changes: AtomicU64,
    pair: Mutex<Arc<Pair>>,
    /// The right engine's timestamp for each of the left one's that a snapshot had.
    times: Mutex<BTreeMap<Ts, Ts>>,
}

struct Pair {
    left: Arc<dyn Snapshot>,
    right: Arc<dyn Snapshot>,
}

impl Mirror {
    /// Both engines must hold the same.
    pub fn new(left: Arc<dyn Engine>, right: Arc<dyn Engine>) -> Mirror {
        let pair = Arc::new(Pair::take(&*left, &*right));
        let times = BTreeMap::from([(pair.left.ts(), pair.right.ts())]);
        Mirror {
            left,
            right,
            turn: tokio::sync::Mutex::new(()),
            changes: AtomicU64::new(0),
            pair: Mutex::new(pair),
            times: Mutex::new(times),
        }
    }

    async fn change<'a, T, L, R>(&'a self, left: L, right: R) -> (T, T)
    where
        L: FnOnce(&'a dyn Engine) -> Answer<'a, T>,
        R: FnOnce(&'a dyn Engine) -> Answer<'a, T>,
    {
        let _turn = self.turn.lock().await;
        self.changes.fetch_add(1, Ordering::SeqCst);
        let answers = (left(&*self.left).await, right(&*self.right).await);
        let pair = Arc::new(Pair::take(&*self.left, &*self.right));
        self.times.lock().insert(pair.left.ts(), pair.right.ts());
        *self.pair.lock() = pair;
        self.changes.fetch_add(1, Ordering::SeqCst);
        answers
    }

    /// The same request in the right engine's time.
    fn to_right(&self, writes: &WriteSet) -> WriteSet {
        let times = self.times.lock();
        let start_ts = writes.start_ts.and_then(|ts| times.get(&ts).copied());
        WriteSet {
            start_ts,
            ..writes.clone()
        }
    }
}

impl Pair {
    fn take(left: &dyn Engine, right: &dyn Engine) -> Pair {
        Pair {
            left: left.snapshot(),
            right: right.snapshot(),
        }
    }
}

fn same<T: PartialEq + Debug>(what: &str, left: Result<T>, right: &Result<T>) -> Result<T> {
    if left == *right {
        return left;
    }
    Err(Error::Corrupt {
        what: format!("engines differ at {what}: {left:?} and {right:?}"),
    })
}

fn rows_of(page: &Page) -> Vec<(&[u8], &[u8])> {
    page.iter().collect()
}

impl Engine for Mirror {
    fn name(&self) -> &'static str {
        "mirror"
    }

    fn limits(&self) -> Limits {
        self.left.limits()
    }

    fn capabilities(&self) -> Capabilities {
        self.left.capabilities()
    }

    fn stats(&self) -> Stats {
        self.left.stats()
    }

    fn read_only(&self) -> Option<String> {
        self.left.read_only()
    }

    fn would_write_again(&self) -> bool {
        self.left.would_write_again()
    }

    fn check_room(&self, bytes: u64) -> Result<()> {
        self.left.check_room(bytes)
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let pair = Arc::clone(&self.pair.lock());
        Arc::new(Mirrored(pair))
    }

    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        Answer::later(async move {
            let before = self.changes.load(Ordering::SeqCst);
            let left = self.left.get_newest(space, key).await;
            let right = self.right.get_newest(space, key).await;
            let is_quiet = before.is_multiple_of(2);
            if is_quiet && before == self.changes.load(Ordering::SeqCst) {
                return same("get newest", left, &right);
            }
            left
        })
    }

    fn commit(&self, writes: WriteSet) -> Answer<'_, std::result::Result<Ts, CommitError>> {
        Answer::later(async move {
            let other = self.to_right(&writes);
            let (left, right) = self
                .change(
                    |engine| engine.commit(writes),
                    |engine| engine.commit(other),
                )
                .await;
            let comparable = |outcome: &std::result::Result<Ts, CommitError>| match outcome {
                Ok(_) => Ok(()),
                Err(refused) => Err(refused.clone()),
            };
            if comparable(&left) == comparable(&right) {
                return left;
            }
            Err(CommitError::Failed(Error::Corrupt {
                what: format!("engines differ at commit: {left:?} and {right:?}"),
            }))
        })
    }

    fn create_space(&self, space: Space) -> Answer<'_, Result<()>> {
        Answer::later(async move {
            let (left, right) = self
                .change(
                    |engine| engine.create_space(space),
                    |engine| engine.create_space(space),
                )
                .await;
            same("create space", left, &right)
        })
    }

    fn drop_space(&self, space: Space) -> Answer<'_, Result<()>> {
        Answer::later(async move {
            let (left, right) = self
                .change(
                    |engine| engine.drop_space(space),
                    |engine| engine.drop_space(space),
                )
                .await;
            same("drop space", left, &right)
        })
    }

    fn spaces(&self) -> Spaces {
        self.left.spaces()
    }

    fn estimate(&self, space: Space, range: &KeyRange) -> Estimate {
        self.left.estimate(space, range)
    }

    fn census(&self, space: Space, is_past: IsPast<'_>) -> Result<Census> {
        self.left.census(space, is_past)
    }

    fn compact<'a>(&'a self, spaces: &'a [Space]) -> Answer<'a, Result<()>> {
        Answer::later(async move {
            let left = self.left.compact(spaces).await;
            same("compact", left, &self.right.compact(spaces).await)
        })
    }

    fn sync(&self) -> Answer<'_, Result<()>> {
        Answer::later(async move {
            let left = self.left.sync().await;
            same("sync", left, &self.right.sync().await)
        })
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        Answer::later(async move {
            let left = self.left.close().await;
            same("close", left, &self.right.close().await)
        })
    }
}

struct Mirrored(Arc<Pair>);

impl Snapshot for Mirrored {
    fn ts(&self) -> Ts {
        self.0.left.ts()
    }

    fn judged_ms(&self) -> Option<u64> {
        self.0.left.judged_ms()
    }

    fn has_ended(&self, space: Space, value: &[u8]) -> bool {
        self.0.left.has_ended(space, value)
    }

    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        Answer::later(async move {
            let left = self.0.left.get(space, key).await;
            same("get", left, &self.0.right.get(space, key).await)
        })
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        Answer::later(async move {
            let mut left = self.0.left.multi_get(space, keys).await;
            let mut right = self.0.right.multi_get(space, keys).await;
            if let (Ok(left), Ok(right)) = (&mut left, &mut right) {
                // Where answers are large, each engine ends its own somewhere.
                let both = left.len().min(right.len());
                left.truncate(both);
                right.truncate(both);
            }
            same("multi-get", left, &right)
        })
    }

    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        Answer::later(async move {
            let mut other = Page::default();
            let left = self.0.left.scan(scan, page).await;
            same("scan", left, &self.0.right.scan(scan, &mut other).await)?;
            same("rows of a scan", Ok(rows_of(page)), &Ok(rows_of(&other)))?;
            same("rest of a scan", Ok(page.rest()), &Ok(other.rest()))?;
            Ok(())
        })
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        Answer::later(async move {
            let left = self.0.left.count(space).await;
            same("count", left, &self.0.right.count(space).await)
        })
    }
}
