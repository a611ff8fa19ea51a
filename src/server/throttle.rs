//! Guessing takes long, a slip of the finger does not: what a source owes for its failed logins is
//! waited for before the proof of the next one is looked at.
//!
//! A guesser who hangs up early saves nothing: it is the look that costs, not the answer. Looks of
//! one source that go on at the same time count as failures until they are over, so guessing on
//! many connections at once is no faster either. A pool that starts with the right password waits for
//! nobody but itself.
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

/// Sources that are remembered; past it those that failed longest ago are forgotten.
const SOURCES_MAX: usize = 10_000;

/// Failures of a source that cost nothing.
const FREE_FAILURES: u32 = 5;

/// What the first failure after those costs; each next one costs twice as much.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// The longest delay: shorter than a login may take, so that the client still hears why.
const DELAY_MAX: Duration = Duration::from_secs(5);

/// A source that has not failed for so long starts anew.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// A success halves the failures, but not again within this time: who has one password does not
/// guess another one faster.
const HALVED_EVERY: Duration = Duration::from_secs(10);

/// Logins of one source that wait for what it owes; further ones are refused without a look.
const WAITERS_MAX: u32 = 16;

/// What each source owes.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    sources: Mutex<HashMap<IpAddr, Source>>,
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
    /// Logins that wait for `not_before`.
    waiters: u32,
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
    source: IpAddr,
    succeeded: bool,
}

/// One of the logins that wait.
struct Waiting<'a> {
    throttle: &'a Throttle,
    source: IpAddr,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(source) = self.throttle.sources.lock().get_mut(&self.source) {
            source.waiters = source.waiters.saturating_sub(1);
        }
    }
}

impl Throttle {
    /// Waits until a proof from this address may be looked at.
    ///
    /// # Errors
    /// 1129 when too many logins of its source wait already.
    pub(super) async fn turn(self: &Arc<Throttle>, address: IpAddr) -> Result<Turn> {
        let source = source_of(address);
        let mut waiting = None;
        loop {
            let end = self.end_of_looks(source);
            // Made before the question, so that no end in between is missed.
            let ended = end.notified();
            match self.begin(source, Instant::now(), waiting.is_some()) {
                When::Now => break,
                When::At(at) => {
                    waiting.get_or_insert_with(|| Waiting {
                        throttle: self,
                        source,
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
            source,
            succeeded: false,
        })
    }

    fn end_of_looks(&self, source: IpAddr) -> Arc<Notify> {
        let mut sources = self.sources.lock();
        Arc::clone(&found(&mut sources, source, Instant::now()).ended)
    }

    /// Begins a look, or says when. One that waits is counted as such already if it `waits`.
    fn begin(&self, source: IpAddr, now: Instant, waits: bool) -> When {
        let mut sources = self.sources.lock();
        let source = found(&mut sources, source, now);
        if now < source.not_before {
            if !waits && WAITERS_MAX <= source.waiters {
                return When::Never;
            }
            source.waiters += u32::from(!waits);
            return When::At(source.not_before);
        }
        let free = FREE_FAILURES.saturating_sub(source.failures);
        if free.max(1) <= source.looks {
            return When::Later;
        }
        source.looks += 1;
        When::Now
    }

    fn end(&self, address: IpAddr, now: Instant, succeeded: bool) {
        let mut sources = self.sources.lock();
        let source = found(&mut sources, address, now);
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
            sources.remove(&address);
        }
    }
}

impl Turn {
    /// The proof was right.
    pub(super) fn succeeded(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.throttle
            .end(self.source, Instant::now(), self.succeeded);
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
            waiters: 0,
            ended: Arc::default(),
        }
    }

    /// Whether nobody holds a part of it.
    fn is_idle(&self) -> bool {
        self.looks == 0 && self.waiters == 0 && Arc::strong_count(&self.ended) == 1
    }
}

/// The source, a new one if need be.
fn found(sources: &mut HashMap<IpAddr, Source>, source: IpAddr, now: Instant) -> &mut Source {
    if SOURCES_MAX <= sources.len() && !sources.contains_key(&source) {
        make_room(sources, now);
    }
    let source = sources.entry(source).or_insert_with(|| Source::new(now));
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
fn make_room(sources: &mut HashMap<IpAddr, Source>, now: Instant) {
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
        look_from(HERE, (throttle, at), succeeds)
    }

    fn look_from(address: IpAddr, (throttle, at): (&Throttle, Instant), succeeds: bool) -> u128 {
        let begun = match throttle.begin(address, at, true) {
            When::Now => at,
            When::At(later) => {
                assert!(matches!(throttle.begin(address, later, true), When::Now));
                later
            }
            When::Later | When::Never => panic!("nobody else is there"),
        };
        throttle.end(address, begun, succeeds);
        (begun - at).as_millis()
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
        assert_eq!(look_from(THERE, (&throttle, start), false), 0);
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
                match throttle.turn(HERE).await {
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
        assert!(throttle.sources.lock()[&HERE].waiters <= WAITERS_MAX);
        for guess in &guesses {
            guess.abort();
        }
        for guess in guesses {
            let _ = guess.await;
        }
        let sources = throttle.sources.lock();
        assert_eq!((sources[&HERE].waiters, sources[&HERE].looks), (0, 0));
    }

    /// 200 connections of a pool with the right password, none of which waits for a delay.
    #[tokio::test]
    async fn a_pool_that_starts_does_not_wait() {
        let throttle = Arc::new(Throttle::default());
        let logins = (0..200).map(|_| {
            let throttle = Arc::clone(&throttle);
            tokio::spawn(async move {
                let turn = throttle.turn(HERE).await.unwrap();
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                turn.succeeded();
            })
        });
        for login in logins.collect::<Vec<_>>() {
            login.await.unwrap();
        }
        assert!(throttle.sources.lock().is_empty());
    }

    #[test]
    fn it_remembers_a_bounded_number_of_sources() {
        let throttle = Throttle::default();
        let start = Instant::now();
        for number in 0..3 * u32::try_from(SOURCES_MAX).unwrap() {
            let now = start + Duration::from_micros(u64::from(number));
            look_from(IpAddr::V4(number.into()), (&throttle, now), false);
            assert!(throttle.sources.lock().len() <= SOURCES_MAX);
        }
        let same_network = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
        assert_eq!(source_of(same_network[0]), source_of(same_network[1]));
    }
}
