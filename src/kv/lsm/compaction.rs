//! What compaction does with the entries that it passes: it leaves out those of dropped spaces and values
//! that have ended, compresses values, and waits where there is no room for what it writes.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fjall::compaction::filter::{
    CompactionFilter, CompactionFilterResult, Context, Factory, ItemAccessor, Verdict,
};

use super::committer;
use super::compression::{Compression, Press};
use super::fault;
use super::reclaim;
use super::room::pause::{Floor, Pause};
use super::spaces::{self, DeadSpaces};
use crate::kv::expiry::Expiry;
use crate::kv::{Error, Space};

/// How long a compaction that meets values that have ended waits for the time to be written down, and how
/// often it looks: where nobody writes, the committer comes to it four times a second.
const KEEP_PATIENCE: Duration = Duration::from_secs(1);
const KEEP_INTERVAL: Duration = Duration::from_millis(1);

/// What all compactions go by.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) dead: DeadSpaces,
    pub(super) expiry: Option<Arc<Expiry>>,
    pub(super) compression: Arc<Compression>,
    pub(super) floor: Arc<Floor>,
}

impl Factory for Rules {
    fn name(&self) -> &'static str {
        "dropped spaces, ended values, compression"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        let expiry = self.expiry.as_ref();
        Box::new(Filter {
            pause: Pause::new(Arc::clone(&self.floor)),
            is_given_up: given_up(thread::current().name()),
            rules: self.clone(),
            now_ms: expiry.map_or(0, |expiry| expiry.now_ms()),
            kept_ms: expiry.map_or(0, |expiry| expiry.kept_ms()),
            has_asked: false,
            seen: None,
        })
    }
}

/// When a compaction on a thread of this name is given up. The library's threads wait for a pass over all files, and the
/// end of the engine for them: no pass goes on when that is near. What commits wait for goes on until there are none. And
/// what the library began always does: one of its own that fails ends all writing.
fn given_up(name: Option<&str>) -> fn(&Floor) -> bool {
    match name {
        Some(reclaim::THREAD_NAME) => Floor::is_hurried,
        Some(committer::NUDGE_THREAD_NAME) => Floor::is_closing,
        Some(_) | None => |_| false,
    }
}

/// What is done with the keys of a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// They stay.
    Stays,
    /// The space is dropped.
    Dead,
    /// Their values are looked at.
    Ends,
}

/// The space of the key before: keys come in order.
struct Seen {
    space: Space,
    fate: Fate,
    press: Press,
}

struct Filter {
    rules: Rules,
    pause: Pause,
    is_given_up: fn(&Floor) -> bool,
    now_ms: u64,
    /// What has ended by then is removed: a start will know of it, whatever the clock is then.
    kept_ms: u64,
    /// Whether it has asked for a later time.
    has_asked: bool,
    seen: Option<Seen>,
}

impl Filter {
    fn fate(&self, space: Space) -> Fate {
        if self.rules.dead.contains(space) {
            return Fate::Dead;
        }
        let expiry = self.rules.expiry.as_ref();
        if expiry.is_some_and(|expiry| expiry.watches(space)) {
            return Fate::Ends;
        }
        Fate::Stays
    }

    /// What is done with a space.
    fn look(&self, space: Space) -> Seen {
        let fate = self.fate(space);
        let press = match fate {
            Fate::Dead => Press::Off,
            Fate::Stays | Fate::Ends => Press::of(&self.rules.compression, space),
        };
        Seen { space, fate, press }
    }

    /// A tombstone takes its place: an older value below must not come back. A value that cannot be unpacked
    /// stays: who reads it is told.
    fn judge(&mut self, item: &ItemAccessor<'_>, seen: &mut Seen) -> CompactionFilterResult {
        let Some(expiry) = &self.rules.expiry else {
            return self.keep(item, seen);
        };
        let stored = item.value()?;
        let value = self.rules.compression.plain(seen.space, &stored);
        let end_ms = value.ok();
        let end_ms = end_ms.and_then(|value| expiry.end_by(&value, self.now_ms));
        let Some(end_ms) = end_ms else {
            return self.keep(item, seen);
        };
        if self.kept_ms < end_ms && !self.has_asked {
            self.has_asked = true;
            self.kept_ms = kept_for((expiry, self.now_ms));
        }
        if end_ms <= self.kept_ms {
            return Ok(Verdict::Remove);
        }
        self.keep(item, seen)
    }

    fn keep(&mut self, item: &ItemAccessor<'_>, seen: &mut Seen) -> CompactionFilterResult {
        let stored = item.value()?;
        self.pause.before(item.key().len() + stored.len());
        Ok(match seen.press.pass(seen.space, &stored) {
            Some(smaller) => Verdict::ReplaceValue(smaller.into()),
            None => Verdict::Keep,
        })
    }

    fn pass(&mut self, item: &ItemAccessor<'_>, seen: &mut Seen) -> CompactionFilterResult {
        match seen.fate {
            Fate::Stays => self.keep(item, seen),
            Fate::Dead => Ok(Verdict::Destroy),
            Fate::Ends => self.judge(item, seen),
        }
    }
}

/// Has the time written down, and waits a while for it; the time that then is. An earlier one when commits wait
/// for compactions: less is removed this time.
fn kept_for((expiry, now_ms): (&Expiry, u64)) -> u64 {
    let until = Instant::now() + KEEP_PATIENCE;
    expiry.want_kept(now_ms);
    while expiry.kept_ms() < now_ms && expiry.is_wanted() && Instant::now() < until {
        thread::sleep(KEEP_INTERVAL);
    }
    expiry.kept_ms()
}

impl CompactionFilter for Filter {
    fn filter_item(&mut self, item: ItemAccessor<'_>, _: &Context) -> CompactionFilterResult {
        if self.rules.floor.has_failed() {
            // A list of files that was half written must not be written over: nobody knows what the disk has.
            let cause = "the storage engine writes no more".to_owned();
            return Err(fault::carried(Error::ReadOnly { cause }));
        }
        if (self.is_given_up)(&self.rules.floor) {
            return Err(fault::carried(Error::Closed));
        }
        let Some(space) = spaces::space_of(item.key()) else {
            return Ok(Verdict::Keep);
        };
        let mut seen = match self.seen.take() {
            Some(seen) if seen.space == space => seen,
            Some(_) | None => self.look(space),
        };
        let verdict = self.pass(&item, &mut seen);
        self.seen = Some(seen);
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fjall::{AbstractTree, Database, Keyspace};

    use super::super::{Options, tree};
    use super::*;

    fn two_files(dir: &Path) -> ((Database, Keyspace), Arc<Floor>) {
        let options = Options::new(dir);
        let floor = Arc::new(Floor::new(dir, 0));
        let rules = Rules {
            dead: DeadSpaces::default(),
            expiry: None,
            compression: Arc::new(Compression::open(dir, options.memtable_bytes).unwrap()),
            floor: Arc::clone(&floor),
        };
        let (db, data) = tree::open(dir, &options, rules).unwrap();
        for value in ["1", "2"] {
            for key in ["a", "b"] {
                data.insert(key, value).unwrap();
            }
            data.rotate_memtable_and_wait().unwrap();
        }
        assert_eq!(data.tree.table_count(), 2);
        ((db, data), floor)
    }

    /// The lists of files that are on the disk then are those that a start finds.
    #[test]
    fn nothing_is_compacted_once_the_engine_has_failed() {
        let dir = tempfile::tempdir().unwrap();
        let ((_db, data), floor) = two_files(dir.path());
        floor.fail();
        let cause = data.major_compact().unwrap_err();
        assert!(fault::is_carried(&cause), "{cause}");
        assert_eq!(data.tree.table_count(), 2);
        assert_eq!(data.get("a").unwrap().unwrap(), "2");
    }

    /// The library takes one of its own that fails for the end of all writing.
    #[test]
    fn compactions_of_this_room_are_given_up_when_nobody_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let ((_db, data), floor) = two_files(dir.path());
        let compact_as = |name: &str| {
            let data = data.clone();
            let named = thread::Builder::new().name(name.to_owned());
            let compacting = named.spawn(move || data.major_compact()).unwrap();
            compacting.join().unwrap()
        };
        let is_given_up = |name| {
            let cause = compact_as(name).unwrap_err();
            fault::error("compacting", &cause) == Error::Closed
        };
        floor.hurry();
        assert!(is_given_up(reclaim::THREAD_NAME));
        assert_eq!(data.tree.table_count(), 2);
        compact_as(committer::NUDGE_THREAD_NAME).unwrap();
        assert_eq!(data.tree.table_count(), 1);
        floor.close();
        assert!(is_given_up(committer::NUDGE_THREAD_NAME));
        compact_as("another").unwrap();
        assert_eq!(data.get("a").unwrap().unwrap(), "2");
    }
}
