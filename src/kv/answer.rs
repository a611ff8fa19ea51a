//! An answer that is there already or comes later; either way a future.
//!
//! A point read that is answered from memory costs no allocation and no thread hop, and an engine
//! that must wait can. Not a general-purpose future: it exists for the calls of this room.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The result of a call on an engine: `Now`, or `Later` from a boxed future.
pub enum Answer<'a, T> {
    /// The answer itself.
    Now(T),
    /// The answer will come from this future.
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
    /// The answer was given to the caller by an earlier poll.
    Given,
}

/// Sound because `T` is only ever moved out and never pinned, and a pinned box is `Unpin`.
impl<T> Unpin for Answer<'_, T> {}

impl<'a, T> Answer<'a, T> {
    /// An answer that comes from `future`.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Answer<'a, T> {
        Answer::Later(Box::pin(future))
    }

    /// The answer if it is there, else the answer itself back, to be awaited.
    ///
    /// # Errors
    ///
    /// The unfinished answer.
    pub fn try_now(self) -> Result<T, Answer<'a, T>> {
        match self {
            Answer::Now(value) => Ok(value),
            Answer::Later(future) => Err(Answer::Later(future)),
            Answer::Given => Err(Answer::Given),
        }
    }

    /// Applies `f` to the answer when it is there.
    pub fn map<U>(self, f: impl FnOnce(T) -> U + Send + 'a) -> Answer<'a, U>
    where
        T: 'a,
    {
        match self {
            Answer::Now(value) => Answer::Now(f(value)),
            Answer::Later(future) => Answer::later(async move { f(future.await) }),
            Answer::Given => Answer::Given,
        }
    }
}

impl<T> Future for Answer<'_, T> {
    type Output = T;

    #[expect(
        clippy::panic,
        reason = "a future polled after its end is a bug of the executor; std's futures panic too"
    )]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        if let Answer::Later(future) = this {
            return future.as_mut().poll(cx);
        }
        match mem::replace(this, Answer::Given) {
            Answer::Now(value) => Poll::Ready(value),
            Answer::Later(_) | Answer::Given => panic!("an answer was polled after it was given"),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Now(value) => f.debug_tuple("Now").field(value).finish(),
            Answer::Later(_) => f.write_str("Later"),
            Answer::Given => f.write_str("Given"),
        }
    }
}
