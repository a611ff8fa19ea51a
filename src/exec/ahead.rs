//! The page of a long scan that is read while the one before is worked on.

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

/// A page that is read, or was.
pub(super) enum Ahead {
    /// An engine goes on with it on a thread of its own. The lock is never waited for: it makes of a
    /// future, which is for one thread, something that any thread may hold.
    Reading(Mutex<BoxFuture<'static, Result<Read>>>),
    /// Nothing had to be waited for.
    There(Result<Read>),
}

/// Reads the next page of a scan. `reuse` is a batch whose memory may be used again.
///
/// # Errors
/// Those of the engine.
pub(super) async fn read(view: &View, mut scan: Scan, reuse: Batch) -> Result<Read> {
    let (batch, more) = view.scan(&mut scan, reuse).await?;
    Ok(Read { batch, scan, more })
}

impl Ahead {
    /// Begins to read the next page of a scan: as far as it goes here without waiting. What is read
    /// elsewhere is then on its way, without a task that would have to wait for this one.
    pub(super) fn begin(view: View, scan: Scan, reuse: Batch) -> Ahead {
        let mut page: BoxFuture<'static, _> =
            Box::pin(async move { read(&view, scan, reuse).await });
        match page.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(page) => Ahead::There(page),
            Poll::Pending => Ahead::Reading(Mutex::new(page)),
        }
    }

    /// The page.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) async fn page(self) -> Result<Read> {
        match self {
            Ahead::Reading(page) => page.into_inner().await,
            Ahead::There(page) => page,
        }
    }
}
