//! What a long scan reads, or merges, while the page before is worked on.

use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::rows::BoxFuture;
use super::view::{Batch, View};
use crate::kv::{Result, Scan};

/// A page, where the scan stands behind it, and whether there is more.
pub(super) struct Read {
    /// The rows.
    pub(super) batch: Batch,
    /// What is left to be read.
    pub(super) scan: Scan,
    /// Whether there is more.
    pub(super) more: bool,
}

/// Something that is on its way, or there.
pub(super) enum Ahead<T> {
    /// Another thread is at it. The lock is never waited for: it makes of a future, which is for one
    /// thread, something that any thread may hold.
    Begun(Mutex<BoxFuture<'static, T>>),
    /// Nothing had to be waited for.
    There(T),
}

/// Reads the next page of a scan. `reuse` is a batch whose memory may be used again.
///
/// # Errors
/// Those of the engine.
pub(super) async fn read(view: &View, mut scan: Scan, reuse: Batch) -> Result<Read> {
    let (batch, more) = view.scan(&mut scan, reuse).await?;
    Ok(Read { batch, scan, more })
}

/// The next page of a scan.
pub(super) type PageAhead = Ahead<Result<Read>>;

impl PageAhead {
    /// Begins to read the next page of a scan.
    pub(super) fn page(view: View, scan: Scan, reuse: Batch) -> Self {
        Ahead::begin(async move { read(&view, scan, reuse).await })
    }
}

impl<T: 'static> Ahead<T> {
    /// Begins something: as far as it goes here without waiting. What is done elsewhere is then on its way,
    /// without a task that would have to wait for this one.
    pub(super) fn begin(work: impl Future<Output = T> + Send + 'static) -> Ahead<T> {
        let mut work: BoxFuture<'static, T> = Box::pin(work);
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Ahead::There(done),
            Poll::Pending => Ahead::Begun(Mutex::new(work)),
        }
    }

    /// What came of it.
    pub(super) async fn end(self) -> T {
        match self {
            Ahead::Begun(work) => work.into_inner().await,
            Ahead::There(done) => done,
        }
    }
}
