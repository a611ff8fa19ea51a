//! Statements that differ in literals alone, counted together:
//! `performance_schema.events_statements_summary_by_digest`.
//!
//! Their number is bounded ([`DIGESTS_MAX`]); statements of further digests are counted in one row
//! without a digest, as in MySQL. Hot: a statement reads one map and takes one lock, both shared only
//! with statements of like digests.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use xxhash_rust::xxh3::xxh3_64;

use super::counts::Refusal;
use super::duration::Fine;
use super::{Clock, Event};
use crate::sql::parse::{Digest, DigestKey};
use crate::types::Timestamp;

/// Digests that are told apart, of all databases: about 4 KiB each when texts are long, so 20 MiB at most.
/// `performance_schema_digests_size`.
pub const DIGESTS_MAX: usize = 5000;

/// Bytes of a statement that are kept as a sample: `performance_schema_max_sql_text_length`.
pub const SAMPLE_BYTES_MAX: usize = 1024;

/// A sample that is as old gives way to the next statement; a younger one to one that takes longer.
/// `performance_schema_max_digest_sample_age`, in nanoseconds.
const SAMPLE_AGE_NANOS: u64 = 60_000_000_000;

/// MySQL's timers tell picoseconds.
pub const PICOS_PER_NANO: u64 = 1000;

/// Maps, so that few statements wait for one that is new.
const SHARDS: usize = 16;

/// Bits of a hash that choose its map: not those that choose its place there.
const SHARD_SHIFT: u32 = 32;

/// What a digest is found by: the current database, and the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Place {
    schema: u64,
    digest: DigestKey,
}

impl Place {
    /// Where statements of a digest are counted that run in a database.
    pub(in crate::session) fn new(schema: Option<&str>, digest: DigestKey) -> Place {
        Place {
            schema: schema.map_or(0, |name| xxh3_64(name.as_bytes()) | 1),
            digest,
        }
    }

    fn shard(self) -> usize {
        let spread = (self.schema ^ self.digest.half()) >> SHARD_SHIFT;
        usize::try_from(spread).unwrap_or(0) % SHARDS
    }
}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.schema ^ self.digest.half());
    }
}

/// Takes the hash that a [`Place`] is already, with a seed that nobody can foresee.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 ^= hash;
    }
}

type Shard = RwLock<HashMap<Place, Arc<Entry>, BuildHasherDefault<Spread>>>;

/// All digests.
#[derive(Debug)]
pub struct Digests {
    shards: [Shard; SHARDS],
    count: AtomicUsize,
    /// Statements of digests that there was no room for.
    others: Entry,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Entry {
    schema: Option<String>,
    digest: Option<Digest>,
    tally: Mutex<Tally>,
}

/// What was counted of a digest.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Statements.
    pub count: u64,
    /// How long they took.
    pub sum_nanos: u64,
    /// How long the shortest took.
    pub min_nanos: u64,
    /// How long the longest took.
    pub max_nanos: u64,
    /// How long they waited for row locks.
    pub lock_nanos: u64,
    /// Those that failed.
    pub errors: u64,
    /// Those that were refused.
    pub refusals: u64,
    /// Their warnings.
    pub warnings: u64,
    /// Rows that they changed.
    pub rows_affected: u64,
    /// Rows that went to clients.
    pub rows_sent: u64,
    /// Rows that were read for them.
    pub rows_examined: u64,
    /// How many took how long.
    pub durations: Fine,
    /// One of them, cut.
    pub sample: String,
    /// How long that took.
    pub sample_nanos: u64,
    sample_seen: u64,
    first_seen: u64,
    last_seen: u64,
}

/// A digest as it is shown.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The database; `None` when none was current.
    pub schema: Option<String>,
    /// The digest; `None` for the statements of all that there was no room for.
    pub digest: Option<Digest>,
    /// What was counted.
    pub tally: Tally,
    /// When the first of them ended.
    pub first_seen: Timestamp,
    /// When the last did.
    pub last_seen: Timestamp,
    /// When the sample did.
    pub sample_seen: Timestamp,
}

/// Who can tell more of a statement, when it is the first of its digest or a sample.
pub(in crate::session) trait Told {
    /// The current database.
    fn schema(&self) -> Option<String>;
    /// The digest; `None` when it cannot be made.
    fn digest(&self) -> Option<Digest>;
    /// Its text without secrets, cut after so many bytes.
    fn sample(&self, bytes_max: usize) -> String;
}

impl Default for Digests {
    fn default() -> Digests {
        Digests {
            shards: std::array::from_fn(|_| RwLock::default()),
            count: AtomicUsize::new(0),
            others: Entry::default(),
            clock: Clock::default(),
        }
    }
}

impl Digests {
    /// Counts a statement that ended at a time.
    pub(in crate::session) fn note(&self, place: Place, ended: (&Event, Instant), told: &dyn Told) {
        let (event, at) = ended;
        let now = self.clock.nanos_until(at);
        let Some(shard) = self.shards.get(place.shard()) else {
            return;
        };
        if let Some(entry) = shard.read().get(&place) {
            entry.tally.lock().note(event, now, told);
            return;
        }
        match self.add(shard, place, told) {
            Some(entry) => entry.tally.lock().note(event, now, told),
            None => self.others.tally.lock().note(event, now, told),
        }
    }

    /// Whether a digest is told apart already: then nobody is asked for it.
    pub(in crate::session) fn knows(&self, place: Place) -> bool {
        let shard = self.shards.get(place.shard());
        shard.is_some_and(|shard| shard.read().contains_key(&place))
    }

    /// The text of a digest that is told apart.
    pub(in crate::session) fn text_of(&self, place: Place) -> Option<String> {
        let shard = self.shards.get(place.shard())?.read();
        let digest = shard.get(&place)?.digest.as_ref()?;
        Some(digest.text.clone())
    }

    /// A new digest; `None` when there is no room.
    fn add(&self, shard: &Shard, place: Place, told: &dyn Told) -> Option<Arc<Entry>> {
        if DIGESTS_MAX <= self.count.load(Ordering::Relaxed) {
            return None;
        }
        let new = Entry {
            schema: told.schema(),
            digest: Some(told.digest()?),
            tally: Mutex::default(),
        };
        let mut shard = shard.write();
        let entry = shard.entry(place).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Relaxed);
            Arc::new(new)
        });
        Some(Arc::clone(entry))
    }

    /// Forgets everything.
    pub fn reset(&self) {
        for shard in &self.shards {
            let mut shard = shard.write();
            self.count.fetch_sub(shard.len(), Ordering::Relaxed);
            shard.clear();
        }
        *self.others.tally.lock() = Tally::default();
    }

    /// How many digests are told apart.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many statements are counted in none of them.
    pub fn others_count(&self) -> u64 {
        self.others.tally.lock().count
    }

    /// Gives every digest; last, where it has counted any, the one of all others.
    ///
    /// # Errors
    /// Those of `give`.
    pub fn each<E>(&self, mut give: impl FnMut(Summary) -> Result<(), E>) -> Result<(), E> {
        for shard in &self.shards {
            let entries: Vec<Arc<Entry>> = shard.read().values().map(Arc::clone).collect();
            for entry in entries {
                give(self.summary(&entry))?;
            }
        }
        if self.others_count() == 0 {
            return Ok(());
        }
        give(self.summary(&self.others))
    }

    fn summary(&self, entry: &Entry) -> Summary {
        let tally = entry.tally.lock().clone();
        let now = self.clock.read();
        Summary {
            schema: entry.schema.clone(),
            digest: entry.digest.clone(),
            first_seen: now.wall(tally.first_seen),
            last_seen: now.wall(tally.last_seen),
            sample_seen: now.wall(tally.sample_seen),
            tally,
        }
    }
}

impl Tally {
    fn note(&mut self, event: &Event, now: u64, told: &dyn Told) {
        if self.count == 0 {
            self.first_seen = now;
            self.min_nanos = event.nanos;
        }
        self.count += 1;
        self.sum_nanos = self.sum_nanos.saturating_add(event.nanos);
        self.min_nanos = self.min_nanos.min(event.nanos);
        self.max_nanos = self.max_nanos.max(event.nanos);
        self.lock_nanos += event.lock_nanos;
        self.errors += u64::from(event.error.is_some());
        self.refusals += u64::from(event.error.and_then(Refusal::of).is_some());
        self.warnings += u64::from(event.warnings);
        self.rows_affected += event.rows_affected;
        self.rows_sent += event.rows_sent;
        self.rows_examined += event.rows_examined;
        self.durations.count(event.nanos);
        self.last_seen = now;
        let is_old = SAMPLE_AGE_NANOS < now.saturating_sub(self.sample_seen);
        if self.count == 1 || is_old || self.sample_nanos < event.nanos {
            self.sample = told.sample(SAMPLE_BYTES_MAX);
            self.sample_nanos = event.nanos;
            self.sample_seen = now;
        }
    }

    /// How long a statement took on average, in picoseconds.
    pub fn average_picos(&self) -> u64 {
        let picos = u128::from(self.sum_nanos) * u128::from(PICOS_PER_NANO);
        let average = picos.checked_div(u128::from(self.count)).unwrap_or(0);
        u64::try_from(average).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::session::monitor::verb::Verb;
    use crate::sql::parse::tests::DEFAULT_MODE;
    use crate::sql::parse::{digest, parse_first};

    struct Text(String);

    impl Told for Text {
        fn schema(&self) -> Option<String> {
            Some("d".to_owned())
        }

        fn digest(&self) -> Option<Digest> {
            digest(self.0.as_bytes(), DEFAULT_MODE).ok()
        }

        fn sample(&self, bytes_max: usize) -> String {
            self.0.chars().take(bytes_max).collect()
        }
    }

    fn note(digests: &Digests, sql: &str, event: &Event) {
        let key = parse_first(sql.as_bytes(), DEFAULT_MODE).unwrap().digest;
        let place = Place::new(Some("d"), key);
        digests.note(place, (event, Instant::now()), &Text(sql.to_owned()));
    }

    fn all(digests: &Digests) -> Vec<Summary> {
        let mut all = Vec::new();
        let each = digests.each(|summary| {
            all.push(summary);
            Ok::<(), ()>(())
        });
        each.unwrap();
        all
    }

    #[test]
    fn like_statements_are_counted_together() {
        let digests = Digests::default();
        let event = Event {
            nanos: 10_000,
            rows_sent: 1,
            rows_examined: 3,
            ..Event::of(Verb::Select)
        };
        note(&digests, "SELECT a FROM t WHERE b = 1", &event);
        let longer = Event {
            nanos: 30_000,
            error: Some(Code::TooBigSelect),
            ..event
        };
        note(&digests, "select a from t where b=2", &longer);
        note(&digests, "SELECT 1", &event);
        assert_eq!(digests.len(), 2);
        let all = all(&digests);
        let of_text = |text: &str| {
            let mut all = all.iter();
            all.find(|summary| summary.digest.as_ref().unwrap().text == text)
        };
        let summary = of_text("SELECT `a` FROM `t` WHERE `b` = ?").unwrap();
        let tally = &summary.tally;
        assert_eq!(summary.schema.as_deref(), Some("d"));
        assert_eq!((tally.count, tally.errors, tally.refusals), (2, 1, 1));
        assert_eq!((tally.rows_sent, tally.rows_examined), (2, 6));
        let nanos = (tally.min_nanos, tally.max_nanos);
        assert_eq!(nanos, (10_000, 30_000));
        assert_eq!(tally.average_picos(), 20_000_000);
        let year = Tally {
            sum_nanos: 1 << 55,
            count: 1 << 40,
            ..tally.clone()
        };
        assert_eq!(year.average_picos(), 32_768_000);
        assert_eq!(tally.sample, "select a from t where b=2");
        assert!(summary.first_seen <= summary.last_seen);
        digests.reset();
        assert!(digests.is_empty());
    }

    /// By two readings of the clock the same time may come out as two.
    #[test]
    fn one_statement_is_seen_at_one_time() {
        let digests = Digests::default();
        note(&digests, "SELECT 1", &Event::of(Verb::Select));
        for _ in 0..1000 {
            let summary = &all(&digests)[0];
            assert_eq!(summary.first_seen, summary.last_seen);
            assert_eq!(summary.first_seen, summary.sample_seen);
        }
    }

    #[test]
    fn past_the_bound_all_others_are_one() {
        let digests = Digests::default();
        let event = Event::of(Verb::Select);
        for at in 0..DIGESTS_MAX + 10 {
            note(&digests, &format!("SELECT a{at}"), &event);
        }
        note(&digests, "SELECT a1", &event);
        assert_eq!(digests.len(), DIGESTS_MAX);
        assert_eq!(digests.others_count(), 10);
        let all = all(&digests);
        assert_eq!(all.len(), DIGESTS_MAX + 1);
        let last = all.last().unwrap();
        assert!(last.digest.is_none() && last.schema.is_none());
        assert_eq!(last.tally.count, 10);
    }
}
