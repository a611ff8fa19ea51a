//! How many connections each account has: `MAX_USER_CONNECTIONS` and `max_user_connections`.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::accounts::{Account, AccountName};
use crate::error::{Code, Error, Result};

/// The connections of each account that has some.
#[derive(Debug, Default)]
pub(super) struct Seats {
    taken: Mutex<HashMap<AccountName, u32>>,
}

/// One connection's seat; given back when dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    account: AccountName,
}

impl Seats {
    /// Takes a seat for an account; `connections_max` is what accounts without a bound of their own
    /// may have, 0 for any number.
    ///
    /// # Errors
    /// 1226 past the account's bound, 1203 past the other.
    pub(super) fn take(self: &Arc<Seats>, account: &Account, connections_max: u64) -> Result<Seat> {
        let mut taken = self.taken.lock();
        let count = taken.entry(account.name.clone()).or_default();
        let user = &account.name.user;
        let own = account.connections_max;
        if 0 < own && own <= *count {
            let text = format!(
                "User '{user}' has exceeded the 'max_user_connections' resource (current value: \
                 {own})"
            );
            return Err(Error::new(Code::UserLimit, text));
        }
        if own == 0 && 0 < connections_max && connections_max <= u64::from(*count) {
            let text = format!(
                "User {user} already has more than 'max_user_connections' active connections"
            );
            return Err(Error::new(Code::TooManyUserConnections, text));
        }
        *count += 1;
        Ok(Seat {
            seats: Arc::clone(self),
            account: account.name.clone(),
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken.lock();
        if let Some(count) = taken.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.account);
            }
        }
    }
}
