//! Counts of statements, by kind, and of errors.
//!
//! Hot: each statement counts once. Every thread has counters of its own ([`crate::tally`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Event;
use super::duration::{OCTAVES, octave};
use super::verb::Verb;
use crate::error::Code;
use crate::tally::{Apart, PLACES, place};

/// Counts of all statements.
#[derive(Debug)]
pub struct Counts {
    places: Box<[Apart<Place>]>,
    /// By number.
    errors: Mutex<BTreeMap<u16, (Code, u64)>>,
    closed: AtomicU64,
}

/// The counters of a thread.
#[derive(Debug)]
struct Place {
    verbs: [OfVerb; Verb::COUNT],
    /// Statements that had been prepared.
    executions: AtomicU64,
}

#[derive(Debug, Default)]
struct OfVerb {
    errors: AtomicU64,
    nanos: AtomicU64,
    lock_nanos: AtomicU64,
    rows_sent: AtomicU64,
    rows_examined: AtomicU64,
    rows_affected: AtomicU64,
    octaves: [AtomicU64; OCTAVES],
}

/// What was counted of one kind of statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Statements that have ended, well or not.
    pub statements: u64,
    /// Those that failed.
    pub errors: u64,
    /// How long they took.
    pub nanos: u64,
    /// How long they waited for row locks.
    pub lock_nanos: u64,
    /// Rows that went to clients.
    pub rows_sent: u64,
    /// Rows that were read for it.
    pub rows_examined: u64,
    /// Rows that were changed.
    pub rows_affected: u64,
    /// How many took how long: the bucket `n` ends at 2^n microseconds.
    pub octaves: [u64; OCTAVES],
}

impl Default for Counts {
    fn default() -> Counts {
        let place = || Place {
            verbs: std::array::from_fn(|_| OfVerb::default()),
            executions: AtomicU64::new(0),
        };
        Counts {
            places: (0..PLACES).map(|_| Apart(place())).collect(),
            errors: Mutex::default(),
            closed: AtomicU64::new(0),
        }
    }
}

/// What one session has run.
#[derive(Debug)]
pub struct Own {
    statements: [AtomicU64; Verb::COUNT],
    executions: AtomicU64,
    closed: AtomicU64,
}

impl Default for Own {
    fn default() -> Own {
        Own {
            statements: std::array::from_fn(|_| AtomicU64::new(0)),
            executions: AtomicU64::new(0),
            closed: AtomicU64::new(0),
        }
    }
}

impl Own {
    /// Counts a statement that has ended.
    pub(super) fn note(&self, event: &Event) {
        if let Some(count) = self.statements.get(event.verb.position()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if event.is_execution {
            self.executions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a prepared statement that the client closed.
    pub fn note_closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements of a kind.
    pub fn of(&self, verb: Verb) -> u64 {
        let count = self.statements.get(verb.position());
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Statements that had been prepared: `Com_stmt_execute`.
    pub fn executions(&self) -> u64 {
        self.executions.load(Ordering::Relaxed)
    }

    /// Prepared statements that the client closed: `Com_stmt_close`.
    pub fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }

    /// Begins again.
    pub fn reset(&self) {
        let others = [&self.executions, &self.closed];
        let counts = self.statements.iter().chain(others);
        counts.for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

/// Statements of all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queries {
    /// MySQL's `Queries`.
    pub all: u64,
    /// But those that were prepared only: MySQL's `Questions`.
    pub run: u64,
}

/// The sums of what `of` says of each kind.
pub fn queries(of: impl Fn(Verb) -> u64) -> Queries {
    let prepared = of(Verb::Prepare);
    let others = Verb::ALL.iter().filter(|verb| **verb != Verb::Prepare);
    let run = others.map(|verb| of(*verb)).sum();
    Queries {
        all: prepared + run,
        run,
    }
}

impl Counts {
    /// Counts a statement that has ended.
    pub(super) fn note(&self, event: &Event) {
        if let Some(code) = event.error {
            self.note_error(code);
        }
        let Some(Apart(place)) = self.places.get(place()) else {
            return;
        };
        if event.is_execution {
            place.executions.fetch_add(1, Ordering::Relaxed);
        }
        let Some(verb) = place.verbs.get(event.verb.position()) else {
            return;
        };
        let add = |counter: &AtomicU64, more: u64| {
            // Most are nothing for most statements.
            if more != 0 {
                counter.fetch_add(more, Ordering::Relaxed);
            }
        };
        add(&verb.errors, u64::from(event.error.is_some()));
        add(&verb.nanos, event.nanos);
        add(&verb.lock_nanos, event.lock_nanos);
        add(&verb.rows_sent, event.rows_sent);
        add(&verb.rows_examined, event.rows_examined);
        add(&verb.rows_affected, event.rows_affected);
        if let Some(bucket) = verb.octaves.get(octave(event.nanos)) {
            add(bucket, 1);
        }
    }

    /// Counts an error that a client was told.
    pub fn note_error(&self, code: Code) {
        let mut errors = self.errors.lock();
        errors.entry(code.errno()).or_insert((code, 0)).1 += 1;
    }

    /// Counts a prepared statement that a client closed.
    pub fn note_closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements that had been prepared.
    pub fn executions(&self) -> u64 {
        let each = self.places.iter();
        each.map(|Apart(place)| place.executions.load(Ordering::Relaxed))
            .sum()
    }

    /// Prepared statements that clients closed.
    pub fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }

    /// What was counted of a kind of statement.
    pub fn of(&self, verb: Verb) -> Sums {
        let mut sums = Sums::default();
        let places = self.places.iter();
        for of in places.filter_map(|Apart(place)| place.verbs.get(verb.position())) {
            let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            sums.errors += get(&of.errors);
            sums.nanos += get(&of.nanos);
            sums.lock_nanos += get(&of.lock_nanos);
            sums.rows_sent += get(&of.rows_sent);
            sums.rows_examined += get(&of.rows_examined);
            sums.rows_affected += get(&of.rows_affected);
            for (sum, bucket) in sums.octaves.iter_mut().zip(&of.octaves) {
                let count = get(bucket);
                *sum += count;
                sums.statements += count;
            }
        }
        sums
    }

    /// How often clients were told each error, in order of number.
    pub fn errors(&self) -> Vec<(Code, u64)> {
        self.errors.lock().values().copied().collect()
    }
}

/// Declares [`Refusal`] from one table: its label, and the errors that it is told by.
macro_rules! refusals {
    ($($name:ident $label:literal $($code:ident)*;)*) => {
        /// Why the server refuses to do what it could do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Refusal { $(#[doc = concat!("`", $label, "`.")] $name,)* }

        impl Refusal {
            /// Every reason.
            pub const ALL: &[Refusal] = &[$(Refusal::$name,)*];

            /// Its name in metrics.
            pub fn label(self) -> &'static str {
                match self { $(Refusal::$name => $label,)* }
            }

            /// Whether an error is such a refusal.
            pub fn is_told_by(self, code: Code) -> bool {
                let codes: &[Code] = match self { $(Refusal::$name => &[$(Code::$code,)*],)* };
                codes.contains(&code)
            }
        }
    };
}

refusals! {
    UnkeyedRead "unkeyed_read" TooBigSelect;
    UnkeyedWrite "unkeyed_write" UnsafeUpdate;
    Memory "memory" CapacityExceeded OutOfResources;
    SpillQuota "spill_quota" TableFull;
    Size "size" PacketTooLarge TransactionTooLarge RowTooBig ParserCapacity TooDeep TooManyColumns
        TooManyTables TooManyStatements RecursionTooDeep;
    Time "time" QueryTimeout RegexpTimeout;
    Connections "connections" TooManyConnections TooManyUserConnections UserLimit;
    Login "login" AccessDenied HostBlocked AccountLocked PasswordExpired InsecureTransport;
    Privilege "privilege" DbAccessDenied NoPermission ColumnDenied AccessNeeded;
    ReadOnly "read_only" EngineReadOnly;
    DiskFull "disk_full" DiskFull;
}

impl Refusal {
    /// Which refusal an error is, if it is one.
    pub fn of(code: Code) -> Option<Refusal> {
        let mut all = Refusal::ALL.iter().copied();
        all.find(|refusal| refusal.is_told_by(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_lists_every_refusal() {
        let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let (_, table) = guide
            .split_once("| `reason` of a refusal | error |")
            .unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        for reason in Refusal::ALL {
            let label = format!("`{}`", reason.label());
            let row = table.lines().find(|row| row.contains(&label)).unwrap();
            let numbers: Vec<u16> = row
                .split(|one: char| !one.is_ascii_digit())
                .filter_map(|part| part.parse().ok())
                .collect();
            let told = Code::ALL.iter().filter(|code| reason.is_told_by(**code));
            for code in told {
                assert!(numbers.contains(&code.errno()), "{label}: {}", code.errno());
            }
        }
    }

    #[test]
    fn statements_and_errors_are_counted() {
        let counts = Counts::default();
        let event = Event {
            nanos: 5_000,
            rows_sent: 2,
            rows_examined: 7,
            ..Event::of(Verb::Select)
        };
        counts.note(&event);
        counts.note(&Event {
            error: Some(Code::TooBigSelect),
            ..event
        });
        counts.note_error(Code::AccessDenied);
        let sums = counts.of(Verb::Select);
        assert_eq!((sums.statements, sums.errors), (2, 1));
        assert_eq!((sums.rows_sent, sums.rows_examined), (4, 14));
        assert_eq!((sums.nanos, sums.octaves[3]), (10_000, 2));
        assert_eq!(counts.of(Verb::Insert), Sums::default());
        assert_eq!(
            counts.errors(),
            [(Code::AccessDenied, 1), (Code::TooBigSelect, 1)]
        );
        assert_eq!(Refusal::of(Code::TooBigSelect), Some(Refusal::UnkeyedRead));
        assert_eq!(Refusal::of(Code::Parse), None);
    }
}
