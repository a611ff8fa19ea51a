//! Locks that clients name: `GET_LOCK` and its kin. They guard nothing of the server's own; clients
//! use them to run one migration at a time.
//!
//! A connection may take a lock several times and must release it as often. Its locks go when it
//! ends or is reset. Source: MySQL manual, "Locking Functions".

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::super::eval::convert;
use super::pause::WAIT_BYTES;
use super::{Call, result};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::sql::context::Pause;
use crate::types::Value;

functions! {
    /// Named locks.
    TABLE of Locking:
    "GET_LOCK" 2..2 "name, seconds" result::int, Always, Row, Eager(get_lock), "Takes the lock of a name: 1 when it was taken, 0 when the time was over before.";
    "RELEASE_LOCK" 1..1 "name" result::int, Always, Row, Eager(release_lock), "Releases the lock of a name: 1, 0 when another connection has it, NULL when none has.";
    "RELEASE_ALL_LOCKS" 0..0 "" result::unsigned, Never, Row, Eager(release_all_locks), "Releases the locks of this connection, and says how many there were.";
    "IS_FREE_LOCK" 1..1 "name" result::int, Never, Row, Eager(is_free_lock), "1 when no connection has the lock, else 0.";
    "IS_USED_LOCK" 1..1 "name" result::unsigned, Always, Row, Eager(is_used_lock), "The number of the connection that has the lock.";
}

/// Characters of the longest name, as in MySQL.
const NAME_CHARS_MAX: usize = 64;
/// Locks that all connections may hold at a time: some megabytes.
const LOCKS_MAX: usize = 65_536;
/// How often one that waits looks again: short for a person, long for a processor.
const POLL: Duration = Duration::from_millis(10);
/// Seconds of the longest wait; a negative number means it too, as in MySQL.
const WAIT_SECONDS_MAX: i64 = 0x7FFF_FFFF;

/// The named locks of a server.
#[derive(Debug, Default)]
pub struct NamedLocks {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By name in small letters.
    held: HashMap<String, Held>,
    /// What each waiting connection waits for.
    waiting: HashMap<u64, String>,
}

#[derive(Debug)]
struct Held {
    connection_id: u64,
    /// How often it was taken.
    count: u64,
}

impl NamedLocks {
    /// Takes a lock, once more if the connection has it; whether it did.
    ///
    /// # Errors
    /// 1041 when there are too many.
    fn take(&self, name: &str, connection_id: u64) -> Result<bool> {
        let mut kept = self.kept.lock();
        let count = kept.held.len();
        match kept.held.entry(name.to_owned()) {
            Entry::Occupied(mut held) => {
                let held = held.get_mut();
                let is_own = held.connection_id == connection_id;
                held.count += u64::from(is_own);
                Ok(is_own)
            }
            Entry::Vacant(_) if LOCKS_MAX <= count => {
                let text = format!("{LOCKS_MAX} named locks are held, the most allowed");
                Err(Error::new(Code::OutOfResources, text))
            }
            Entry::Vacant(vacant) => {
                vacant.insert(Held {
                    connection_id,
                    count: 1,
                });
                Ok(true)
            }
        }
    }

    /// Says that a connection begins to wait.
    ///
    /// # Errors
    /// 3058 when those it waits for wait for it.
    fn wait_for(&self, name: &str, connection_id: u64) -> Result<()> {
        let mut kept = self.kept.lock();
        let mut next = Some(name);
        // A chain of more steps than there are connections waiting would be a circle without us.
        for _ in 0..=kept.waiting.len() {
            let owner = next.and_then(|name| kept.held.get(name));
            if owner.is_some_and(|owner| owner.connection_id == connection_id) {
                let text = "Deadlock found when trying to get user-level lock; try rolling back \
                            transaction/releasing locks and restarting lock acquisition.";
                return Err(Error::new(Code::NamedLockDeadlock, text));
            }
            let waits_for = owner.and_then(|owner| kept.waiting.get(&owner.connection_id));
            next = waits_for.map(String::as_str);
        }
        kept.waiting.insert(connection_id, name.to_owned());
        Ok(())
    }

    fn end_wait(&self, connection_id: u64) {
        self.kept.lock().waiting.remove(&connection_id);
    }

    /// Releases a lock once; `None` when nobody has it, `Some(false)` when another connection has.
    fn release(&self, name: &str, connection_id: u64) -> Option<bool> {
        let mut kept = self.kept.lock();
        let held = kept.held.get_mut(name)?;
        if held.connection_id != connection_id {
            return Some(false);
        }
        held.count -= 1;
        if held.count == 0 {
            kept.held.remove(name);
        }
        Some(true)
    }

    /// Releases all locks of a connection; how often they were taken.
    pub fn release_all(&self, connection_id: u64) -> u64 {
        let mut kept = self.kept.lock();
        let mut count = 0;
        kept.held.retain(|_, held| {
            let is_own = held.connection_id == connection_id;
            count += if is_own { held.count } else { 0 };
            !is_own
        });
        count
    }

    /// The connection that has the lock.
    fn owner(&self, name: &str) -> Option<u64> {
        let kept = self.kept.lock();
        kept.held.get(name).map(|held| held.connection_id)
    }
}

/// The name in the first argument, in small letters.
///
/// # Errors
/// 3057 for `NULL`, an empty name and one that is too long.
fn name_of(values: &[Value<'_>], call: &Call<'_>) -> Result<String> {
    let name = call.text(values, 0);
    let fits = (1..=NAME_CHARS_MAX).contains(&name.chars().count());
    if !fits || Call::arg(values, 0).is_null() {
        let shown = if Call::arg(values, 0).is_null() {
            "NULL".into()
        } else {
            convert::shown(&name)
        };
        let text = format!("Incorrect user-level lock name '{shown}'.");
        return Err(Error::new(Code::NamedLockName, text));
    }
    Ok(name.to_lowercase())
}

/// # Errors
/// 1235 where there is no session.
fn locks<'c>(call: &Call<'c>) -> Result<&'c NamedLocks> {
    call.ctx
        .facts
        .named_locks()
        .ok_or_else(|| Error::unsupported("named locks without a session"))
}

fn get_lock<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = name_of(values, call)?;
    let seconds = call.count(values, 1)?;
    let seconds = if (0..=WAIT_SECONDS_MAX).contains(&seconds) {
        seconds
    } else {
        WAIT_SECONDS_MAX
    };
    let wait = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let locks = locks(call)?;
    let connection_id = call.ctx.facts.connection_id();
    if locks.take(&name, connection_id)? {
        return Ok(Value::Int(1));
    }
    if wait.is_zero() {
        return Ok(Value::Int(0));
    }
    let _held = ceiling::hold("a wait for a lock", WAIT_BYTES)?;
    locks.wait_for(&name, connection_id)?;
    let taken = take_within(wait, &name, call);
    locks.end_wait(connection_id);
    taken.map(Value::boolean)
}

/// Looks until the lock is free or the time is over.
///
/// # Errors
/// 1317 and its like when the statement is to stop.
fn take_within(wait: Duration, name: &str, call: &Call<'_>) -> Result<bool> {
    let begun = Instant::now();
    loop {
        let left = wait.saturating_sub(begun.elapsed());
        if call.ctx.facts.pause(left.min(POLL), Pause::NamedLock)? {
            call.ctx.facts.check_stop()?;
        }
        if locks(call)?.take(name, call.ctx.facts.connection_id())? {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

fn release_lock<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = name_of(values, call)?;
    let released = locks(call)?.release(&name, call.ctx.facts.connection_id());
    Ok(released.map_or(Value::Null, Value::boolean))
}

fn release_all_locks<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let count = locks(call)?.release_all(call.ctx.facts.connection_id());
    Ok(Value::UInt(count))
}

fn is_free_lock<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = name_of(values, call)?;
    Ok(Value::boolean(locks(call)?.owner(&name).is_none()))
}

fn is_used_lock<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = name_of(values, call)?;
    Ok(locks(call)?.owner(&name).map_or(Value::Null, Value::UInt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_released_as_often_as_it_was_taken() {
        let locks = NamedLocks::default();
        assert!(locks.take("a", 1).unwrap());
        assert!(locks.take("a", 1).unwrap());
        assert!(!locks.take("a", 2).unwrap());
        assert_eq!(locks.release("a", 2), Some(false));
        assert_eq!(locks.release("a", 1), Some(true));
        assert_eq!(locks.owner("a"), Some(1));
        assert_eq!(locks.release("a", 1), Some(true));
        assert_eq!(locks.release("a", 1), None);
        assert!(locks.take("a", 2).unwrap() && locks.take("b", 2).unwrap());
        assert_eq!(locks.release_all(2), 2);
        assert_eq!(locks.owner("a"), None);
    }

    #[test]
    fn who_would_close_a_circle_is_told() {
        let locks = NamedLocks::default();
        for (name, connection_id) in [("a", 1), ("b", 2), ("c", 3)] {
            assert!(locks.take(name, connection_id).unwrap());
        }
        locks.wait_for("b", 1).unwrap();
        locks.wait_for("c", 2).unwrap();
        let error = locks.wait_for("a", 3).unwrap_err();
        assert_eq!(error.code(), Code::NamedLockDeadlock);
        locks.end_wait(2);
        locks.wait_for("a", 3).unwrap();
    }
}
