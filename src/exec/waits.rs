//! What a statement waits for instead of being busy, for SHOW PROCESSLIST.
//!
//! Who waits says so with [`CancelToken::waits`](super::cancel::CancelToken::waits) and holds the
//! [`Told`] that it gets: however the wait ends, nothing is told of it afterwards. What is waited for, and
//! how, is the affair of `locks` and of the session.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

/// Something that is waited for.
#[derive(Debug, Clone)]
pub enum Waits {
    /// A row that another transaction has locked.
    RowLock(Holder),
    /// `SLEEP()`.
    Sleep,
    /// `GET_LOCK()`.
    NamedLock,
}

/// The connection that has what is waited for; another one when it is handed on to who waited longer.
#[derive(Debug, Clone)]
pub struct Holder {
    /// 0 for none.
    connection_id: Arc<AtomicU32>,
}

impl Holder {
    /// A connection, 0 for one that is not known.
    pub fn new(connection_id: u32) -> Holder {
        Holder {
            connection_id: Arc::new(AtomicU32::new(connection_id)),
        }
    }

    /// Now another connection has it.
    pub fn set(&self, connection_id: u32) {
        self.connection_id.store(connection_id, Ordering::Relaxed);
    }
}

impl Waits {
    /// As SHOW PROCESSLIST shows it: in MySQL's words where it has some.
    pub fn state(&self) -> Cow<'static, str> {
        match self {
            Waits::RowLock(holder) => match holder.connection_id.load(Ordering::Relaxed) {
                0 => Cow::Borrowed("Waiting for row lock"),
                id => Cow::Owned(format!("Waiting for row lock held by connection {id}")),
            },
            Waits::Sleep => Cow::Borrowed("User sleep"),
            Waits::NamedLock => Cow::Borrowed("User lock"),
        }
    }
}

/// Where the wait of a connection is told; a connection is at one at a time.
#[derive(Debug, Default)]
pub(super) struct Place(Mutex<Option<Waits>>);

impl Place {
    pub(super) fn tell(&self, waits: Waits) -> Told<'_> {
        *self.0.lock() = Some(waits);
        Told { place: self }
    }

    pub(super) fn told(&self) -> Option<Waits> {
        self.0.lock().clone()
    }
}

/// A wait that others are told of until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Told<'a> {
    place: &'a Place,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        *self.place.0.lock() = None;
    }
}
