//! Guessing takes long, a slip of the finger does not: what a source owes for its failed logins is
//! waited for before the proof of the next one is looked at.
//!
//! A guesser who hangs up early saves nothing: it is the look that costs, not the answer. Looks of
//! one source that go on at the same time count as failures until they are over, so guessing on
//! many connections at once is no faster either. A pool that starts with the right password waits for
//! nobody but itself.
//!
//! An account that has logged in from a source lately owes for itself alone: others who guess there do
//! not keep it out, and it does not wait for what they owe. Who guesses its own password there does: the
//! two cannot be told apart before the look. Of the accounts that have not, none takes all places.
//!
//! Not here: who may log in, and what is told of a failure ([`super::login`]).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep_until;

use crate::error::{Code, Error, Result};

/// Sources that are remembered, and places where accounts are known; past it those that failed, or where
/// one logged in, longest ago are forgotten.
const SOURCES_MAX: usize = 10_000;

/// Failures of a source that cost nothing.
const FREE_FAILURES: u32 = 5;

/// What the first failure after those costs; each next one costs twice as much.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// The longest delay: shorter than a login may take, so that the client still hears why.
const DELAY_MAX: Duration = Duration::from_secs(5);

/// A source that has not failed for so long starts anew.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// How long an account is known where it has logged in.
const KNOWN_FOR: Duration = Duration::from_hours(24);

/// A success halves the failures, but not again within this time: who has one password does not
/// guess another one faster.
const HALVED_EVERY: Duration = Duration::from_secs(10);

/// Logins of one source that wait for what it owes; further ones are refused without a look.
const WAITERS_MAX: u32 = 16;

/// Those of them that one account may have: the others find a place.
const WAITERS_OF_ACCOUNT_MAX: u32 = 4;

/// Accounts of one source that owe for themselves; each may be guessed as fast as a source.
const KNOWN_ACCOUNTS_MAX: usize = 16;

/// What each source owes.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    sources: HashMap<Debtor, Source>,
    /// The accounts that have logged in from a place lately, and when.
    known: HashMap<IpAddr, Vec<(String, Instant)>>,
}

/// Who owes: a place, or an account that is known there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Debtor {
    place: IpAddr,
    account: Option<String>,
}

#[derive(Debug)]
struct Source {
    failures: u32,
    /// When it failed last; of one that has not, when it came.
    last: Instant,
    /// No proof is looked at before.
    not_before: Instant,
    halved: Option<Instant>,
    /// Proofs that are being looked at.
    looks: u32,
    /// Logins that wait for `not_before`, by account.
    waiters: HashMap<String, u32>,
    /// Told when a look ends.
    ended: Arc<Notify>,
}

/// When a proof may be looked at.
#[derive(Debug)]
enum When {
    Now,
    /// Not before.
    At(Instant),
    /// When a look of the same source has ended.
    Later,
    /// Too many wait already.
    Never,
}

/// The right to look at one proof. Without an outcome it counts as a failure.
#[derive(Debug)]
pub(super) struct Turn {
    throttle: Arc<Throttle>,
    debtor: Debtor,
    account: String,
    succeeded: bool,
}

/// One of the logins that wait.
struct Waiting<'a> {
    throttle: &'a Throttle,
    debtor: Debtor,
    account: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = self.throttle.all.lock();
        let Some(source) = all.sources.get_mut(&self.debtor) else {
            return;
        };
        let own = source.waiters.remove(self.account).unwrap_or(0);
        if 1 < own {
            source.waiters.insert(self.account.to_owned(), own - 1);
        }
    }
}

impl Throttle {
    /// Waits until a proof of this account from this address may be looked at.
    ///
    /// # Errors
    /// 1129 when too many logins of its source wait already.
    pub(super) async fn turn(
        self: &Arc<Throttle>,
        (address, account): (IpAddr, &str),
    ) -> Result<Turn> {
        let debtor = self.debtor((source_of(address), account), Instant::now());
        let mut waiting = None;
        loop {
            let end = self.end_of_looks(&debtor);
            // Made before the question, so that no end in between is missed.
            let ended = end.notified();
            let now = Instant::now();
            match self.begin((&debtor, account), now, waiting.is_some()) {
                When::Now => break,
                When::At(at) => {
                    waiting.get_or_insert_with(|| Waiting {
                        throttle: self,
                        debtor: debtor.clone(),
                        account,
                    });
                    sleep_until(at.into()).await;
                }
                When::Later => ended.await,
                When::Never => {
                    let text = "Too many logins have failed: wait a minute, then try again";
                    return Err(Error::new(Code::HostBlocked, text));
                }
            }
        }
        drop(waiting);
        Ok(Turn {
            throttle: Arc::clone(self),
            debtor,
            account: account.to_owned(),
            succeeded: false,
        })
    }

    /// Who owes for the logins of an account from a place.
    fn debtor(&self, (place, account): (IpAddr, &str), now: Instant) -> Debtor {
        let all = self.all.lock();
        let mut known = all.known.get(&place).into_iter().flatten();
        let is_known = known
            .any(|(name, at)| name == account && now.saturating_duration_since(*at) <= KNOWN_FOR);
        Debtor {
            place,
            account: is_known.then(|| account.to_owned()),
        }
    }

    fn end_of_looks(&self, debtor: &Debtor) -> Arc<Notify> {
        let mut all = self.all.lock();
        Arc::clone(&found(&mut all.sources, debtor, Instant::now()).ended)
    }

    /// Begins a look, or says when. One that waits is counted as such already if it `waits`.
    fn begin(&self, (debtor, account): (&Debtor, &str), now: Instant, waits: bool) -> When {
        let mut all = self.all.lock();
        let source = found(&mut all.sources, debtor, now);
        if now < source.not_before {
            if !waits {
                let own_max = match &debtor.account {
                    Some(_) => WAITERS_MAX,
                    None => WAITERS_OF_ACCOUNT_MAX,
                };
                let own = source.waiters.get(account).copied().unwrap_or(0);
                if WAITERS_MAX <= source.waiters.values().sum() || own_max <= own {
                    return When::Never;
                }
                source.waiters.insert(account.to_owned(), own + 1);
            }
            return When::At(source.not_before);
        }
        let free = FREE_FAILURES.saturating_sub(source.failures);
        if free.max(1) <= source.looks {
            return When::Later;
        }
        source.looks += 1;
        When::Now
    }

    fn end(&self, (debtor, account): (&Debtor, &str), now: Instant, succeeded: bool) {
        let mut all = self.all.lock();
        let All { sources, known } = &mut *all;
        if succeeded {
            remember(known, (debtor.place, account), now);
        }
        let source = found(sources, debtor, now);
        source.looks = source.looks.saturating_sub(1);
        source.ended.notify_waiters();
        if !succeeded {
            source.failures = source.failures.saturating_add(1);
            source.last = now;
            source.not_before = source.not_before.max(now + delay(source.failures));
        } else if source
            .halved
            .is_none_or(|at| HALVED_EVERY <= now.saturating_duration_since(at))
        {
            // Rounded up: what is left is forgotten with time alone, or else one success after each
            // failure would leave nothing.
            source.failures = source.failures.div_ceil(2);
            source.halved = Some(now);
        }
        if source.is_idle() && source.failures == 0 {
            sources.remove(debtor);
        }
    }
}

/// An account has logged in from a place.
fn remember(
    known: &mut HashMap<IpAddr, Vec<(String, Instant)>>,
    (place, account): (IpAddr, &str),
    now: Instant,
) {
    if SOURCES_MAX <= known.len() && !known.contains_key(&place) {
        // Half of them go, so that not each login looks at all.
        let last = |accounts: &[(String, Instant)]| accounts.last().map(|(_, at)| *at);
        let mut times: Vec<_> = known.values().map(|accounts| last(accounts)).collect();
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().flatten();
        known.retain(|_, accounts| median < last(accounts));
    }
    let accounts = known.entry(place).or_default();
    accounts.retain(|(name, _)| name != account);
    if KNOWN_ACCOUNTS_MAX <= accounts.len() {
        // They are in the order of their last logins.
        accounts.remove(0);
    }
    accounts.push((account.to_owned(), now));
}

impl Turn {
    /// The proof was right.
    pub(super) fn succeeded(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let who = (&self.debtor, self.account.as_str());
        self.throttle.end(who, Instant::now(), self.succeeded);
    }
}

impl Source {
    fn new(now: Instant) -> Source {
        Source {
            failures: 0,
            last: now,
            not_before: now,
            halved: None,
            looks: 0,
            waiters: HashMap::new(),
            ended: Arc::default(),
        }
    }

    /// Whether nobody holds a part of it.
    fn is_idle(&self) -> bool {
        self.looks == 0 && self.waiters.is_empty() && Arc::strong_count(&self.ended) == 1
    }
}

/// The source, a new one if need be.
fn found<'s>(
    sources: &'s mut HashMap<Debtor, Source>,
    debtor: &Debtor,
    now: Instant,
) -> &'s mut Source {
    if SOURCES_MAX <= sources.len() && !sources.contains_key(debtor) {
        make_room(sources, now);
    }
    let source = sources.entry(debtor.clone());
    let source = source.or_insert_with(|| Source::new(now));
    if FORGOTTEN_AFTER < now.saturating_duration_since(source.last) {
        source.failures = 0;
        source.last = now;
    }
    source
}

fn delay(failures: u32) -> Duration {
    match failures.checked_sub(FREE_FAILURES) {
        None => Duration::ZERO,
        Some(doublings) => {
            let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
            FIRST_DELAY.saturating_mul(factor).min(DELAY_MAX)
        }
    }
}

/// Forgets sources, but none of which a login waits or is looked at: there are no more of those than
/// connections.
fn make_room(sources: &mut HashMap<Debtor, Source>, now: Instant) {
    let is_old = |source: &Source| FORGOTTEN_AFTER < now.saturating_duration_since(source.last);
    sources.retain(|_, source| !source.is_idle() || !is_old(source));
    if SOURCES_MAX <= sources.len() {
        let mut times: Vec<Instant> = sources.values().map(|source| source.last).collect();
        times.sort_unstable();
        if let Some(median) = times.get(times.len() / 2).copied() {
            sources.retain(|_, source| !source.is_idle() || median < source.last);
        }
    }
}

/// One who has an IPv6 address mostly has the 2^64 of its network.
fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::MAX << 64;
            IpAddr::V6((address.to_bits() & network).into())
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    /// Looks at one proof; what is waited for first, in milliseconds.
    fn look(throttle: &Throttle, at: Instant, succeeds: bool) -> u128 {
        look_from((HERE, "a"), (throttle, at), succeeds)
    }

    fn look_from(
        (place, account): (IpAddr, &str),
        (throttle, at): (&Throttle, Instant),
        succeeds: bool,
    ) -> u128 {
        let debtor = throttle.debtor((place, account), at);
        let who = (&debtor, account);
        let begun = match throttle.begin(who, at, true) {
            When::Now => at,
            When::At(later) => {
                assert!(matches!(throttle.begin(who, later, true), When::Now));
                later
            }
            When::Later | When::Never => panic!("nobody else is there"),
        };
        throttle.end(who, begun, succeeds);
        (begun - at).as_millis()
    }

    fn waiters(throttle: &Throttle) -> u32 {
        let all = throttle.all.lock();
        all.sources
            .values()
            .map(|source| source.waiters.values().sum::<u32>())
            .sum()
    }

    /// Twenty who guess, and the application beside them on the same machine.
    #[tokio::test]
    async fn who_guesses_keeps_no_other_account_out() {
        let throttle = Arc::new(Throttle::default());
        let now = Instant::now();
        look_from((HERE, "app"), (&throttle, now), true);
        for _ in 0..12 {
            let debtor = throttle.debtor((HERE, "root"), now);
            throttle.end((&debtor, "root"), now, false);
        }
        let guesses = (0..20).map(|_| {
            let throttle = Arc::clone(&throttle);
            tokio::spawn(async move { throttle.turn((HERE, "root")).await.map(drop) })
        });
        let guesses: Vec<_> = guesses.collect();
        while waiters(&throttle) < WAITERS_OF_ACCOUNT_MAX {
            tokio::task::yield_now().await;
        }
        let began = Instant::now();
        for _ in 0..50 {
            throttle.turn((HERE, "app")).await.unwrap().succeeded();
        }
        assert!(began.elapsed() < Duration::from_secs(1));
        // One that is not known here finds a place to wait.
        let throttled = Arc::clone(&throttle);
        let other = tokio::spawn(async move { throttled.turn((HERE, "other")).await.map(drop) });
        while waiters(&throttle) <= WAITERS_OF_ACCOUNT_MAX && !other.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(!other.is_finished());
        // Its own password is guessed no faster than others.
        for _ in 0..FREE_FAILURES {
            assert_eq!(look_from((HERE, "app"), (&throttle, now), false), 0);
        }
        assert!(matches!(
            throttle.begin((&throttle.debtor((HERE, "app"), now), "app"), now, false),
            When::At(_)
        ));
        other.abort();
        guesses.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[test]
    fn the_delay_grows_and_is_forgotten() {
        let throttle = Throttle::default();
        let start = Instant::now();
        let mut at = start;
        let mut fail = || {
            let waited = look(&throttle, at, false);
            at += Duration::from_millis(u64::try_from(waited).unwrap());
            waited
        };
        let delays: Vec<u128> = (0..13).map(|_| fail()).collect();
        let wanted = [0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000];
        assert_eq!(delays, wanted);
        assert_eq!(look_from((THERE, "a"), (&throttle, start), false), 0);
        let later = at + FORGOTTEN_AFTER + Duration::from_secs(6);
        assert_eq!(look(&throttle, later, false), 0);
        assert_eq!(look(&throttle, later, false), 0);
    }

    /// One password that is known is of little use for guessing another.
    #[test]
    fn a_success_halves_the_failures_and_not_often() {
        let throttle = Throttle::default();
        let mut at = Instant::now();
        let start = at;
        let mut guesses = 0;
        while at - start < Duration::from_mins(1) {
            at += Duration::from_millis(1);
            for succeeds in [true, false] {
                let waited = look(&throttle, at, succeeds);
                at += Duration::from_millis(u64::try_from(waited).unwrap());
            }
            guesses += 1;
        }
        assert!(guesses < 60, "{guesses} guesses in a minute");
        // The debt is paid by the one who waits for it; who comes next with the right word does not.
        look(&throttle, at, true);
        assert_eq!(look(&throttle, at + DELAY_MAX, true), 0);
    }

    #[tokio::test]
    async fn many_at_once_and_hanging_up_are_no_faster() {
        let throttle = Arc::new(Throttle::default());
        let looks = Arc::new(AtomicU32::new(0));
        let refused = Arc::new(AtomicU32::new(0));
        let start = Instant::now();
        let guesses = (0..300).map(|number| {
            let (throttle, looks) = (Arc::clone(&throttle), Arc::clone(&looks));
            let refused = Arc::clone(&refused);
            tokio::spawn(async move {
                match throttle.turn((HERE, "a")).await {
                    Ok(turn) => {
                        looks.fetch_add(1, Ordering::Relaxed);
                        if number % 2 == 0 {
                            tokio::task::yield_now().await;
                        }
                        drop(turn);
                    }
                    Err(error) => {
                        assert_eq!(error.code(), Code::HostBlocked);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        });
        let guesses: Vec<_> = guesses.collect();
        // Half of them hang up.
        for guess in guesses.iter().skip(1).step_by(2) {
            tokio::task::yield_now().await;
            guess.abort();
        }
        tokio::time::sleep(Duration::from_millis(1200)).await;
        let most = FREE_FAILURES + 4;
        let count = looks.load(Ordering::Relaxed);
        assert!((FREE_FAILURES..=most).contains(&count), "{count} looks");
        assert!(start.elapsed() < DELAY_MAX, "this machine is too slow");
        assert!(0 < refused.load(Ordering::Relaxed));
        assert!(waiters(&throttle) <= WAITERS_MAX);
        for guess in &guesses {
            guess.abort();
        }
        for guess in guesses {
            let _ = guess.await;
        }
        assert_eq!(waiters(&throttle), 0);
        let all = throttle.all.lock();
        assert!(all.sources.values().all(|source| source.looks == 0));
    }

    /// 200 connections of a pool with the right password, none of which waits for a delay.
    #[tokio::test]
    async fn a_pool_that_starts_does_not_wait() {
        let throttle = Arc::new(Throttle::default());
        let logins = (0..200).map(|_| {
            let throttle = Arc::clone(&throttle);
            tokio::spawn(async move {
                let turn = throttle.turn((HERE, "a")).await.unwrap();
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                turn.succeeded();
            })
        });
        for login in logins.collect::<Vec<_>>() {
            login.await.unwrap();
        }
        assert!(throttle.all.lock().sources.is_empty());
    }

    #[test]
    fn it_remembers_a_bounded_number_of_sources() {
        let throttle = Throttle::default();
        let start = Instant::now();
        for number in 0..3 * u32::try_from(SOURCES_MAX).unwrap() {
            let now = start + Duration::from_micros(u64::from(number));
            let place = IpAddr::V4(number.into());
            look_from((place, "a"), (&throttle, now), false);
            look_from((place, "b"), (&throttle, now), true);
            let all = throttle.all.lock();
            assert!(all.sources.len() <= SOURCES_MAX && all.known.len() <= SOURCES_MAX);
        }
        let same_network = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
        assert_eq!(source_of(same_network[0]), source_of(same_network[1]));
    }
}
