//! What is counted while one statement is bound: the numbers that it gives out, and what has a limit.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Names;
use crate::error::{Code, Error, Result};

impl Names<'_> {
    /// A name is about to be looked up: now and then, whether the statement goes on.
    ///
    /// # Errors
    /// 1317 and its like when it is to stop.
    pub(super) fn look_up(&self) -> Result<()> {
        let before = self.numbering.looked_up.fetch_add(1, Ordering::Relaxed);
        if before % LOOKUPS_MAX == LOOKUPS_MAX - 1 {
            return self.facts.check_stop();
        }
        Ok(())
    }
}

/// Gives out the numbers of a statement: of slots, of subqueries, of recursive queries.
#[derive(Debug, Default)]
pub struct Numbering {
    next: AtomicUsize,
    subqueries: AtomicUsize,
    /// How often views were named.
    pub(super) views: AtomicUsize,
    /// How often common table expressions were named.
    pub(super) named: AtomicUsize,
    /// How many common table expressions are in sight.
    pub(super) in_sight: AtomicUsize,
    /// How many names of columns were looked up.
    looked_up: AtomicUsize,
    /// How many queries what is being bound is within, those of views included.
    levels: AtomicUsize,
    /// How many queries were bound to become part of others, and could not.
    unmerged: AtomicUsize,
    /// How often parts of common table expressions were bound to be bound again.
    rebound: AtomicUsize,
    /// Whether the statement assigns user variables: then they are read for each row.
    assigns: AtomicBool,
}

impl Numbering {
    /// Whether what was bound reads the answers of subqueries.
    pub fn has_slots(&self) -> bool {
        0 < self.next.load(Ordering::Relaxed)
    }
}

/// Queries that one may be within. Each text has a limit of its own, but the text of a view stands in
/// another, and all are bound, planned and run on one stack.
const LEVELS_MAX: usize = 120;

/// Queries that are bound in vain. Each is bound once more on its own, with all within it: what could
/// double with each level is done for the first ones alone.
const UNMERGED_MAX: usize = 64;

/// Common table expressions whose parts are bound twice, because only then it is known whether they name
/// themselves. Each names others at will, so that what is bound may double with each.
const REBOUND_MAX: usize = 1000;

/// Names of columns between two questions whether to go on: each is compared with those of thousands of columns.
const LOOKUPS_MAX: usize = 256;

/// Being within a query, until it is dropped.
pub(super) struct Level<'a>(&'a Numbering);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.levels.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Numbering {
    /// A numbering that has given out nothing.
    pub const fn new() -> Numbering {
        Numbering {
            next: AtomicUsize::new(0),
            subqueries: AtomicUsize::new(0),
            views: AtomicUsize::new(0),
            named: AtomicUsize::new(0),
            in_sight: AtomicUsize::new(0),
            looked_up: AtomicUsize::new(0),
            levels: AtomicUsize::new(0),
            unmerged: AtomicUsize::new(0),
            rebound: AtomicUsize::new(0),
            assigns: AtomicBool::new(false),
        }
    }

    /// A number that was not given out before.
    pub(super) fn next(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Goes into a query within the one that is being bound.
    ///
    /// # Errors
    /// 1436 past [`LEVELS_MAX`].
    pub(super) fn deeper(&self) -> Result<Level<'_>> {
        let level = Level(self);
        if self.levels.fetch_add(1, Ordering::Relaxed) < LEVELS_MAX {
            return Ok(level);
        }
        let text = format!(
            "queries nest deeper than {LEVELS_MAX} levels, those of views included, the most"
        );
        Err(Error::new(Code::TooDeep, text))
    }

    /// Whether it is still tried to make queries part of others.
    pub(super) fn may_merge(&self) -> bool {
        self.unmerged.load(Ordering::Relaxed) < UNMERGED_MAX
    }

    pub(super) fn note_unmerged(&self) {
        self.unmerged.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that parts of a common table expression are bound again.
    ///
    /// # Errors
    /// 1436 past [`REBOUND_MAX`].
    pub(super) fn note_rebound(&self) -> Result<()> {
        if self.rebound.fetch_add(1, Ordering::Relaxed) < REBOUND_MAX {
            return Ok(());
        }
        let text = format!(
            "WITH RECURSIVE names queries of UNION, directly and by others, more than {REBOUND_MAX} times, \
             the most"
        );
        Err(Error::new(Code::TooDeep, text))
    }

    pub(super) fn is_assigning(&self) -> bool {
        self.assigns.load(Ordering::Relaxed)
    }

    pub(super) fn begin_assigning(&self) {
        self.assigns.store(true, Ordering::Relaxed);
    }

    /// The number of the next subquery, from 2: the statement itself is the first query.
    pub(super) fn next_subquery(&self) -> usize {
        self.subqueries.fetch_add(1, Ordering::Relaxed) + 2
    }
}
