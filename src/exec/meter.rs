//! What the parts of a statement took while it ran, for EXPLAIN ANALYZE. Other statements have no
//! meter, and look at nothing but whether there is one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::plan::explain::whole::Took;
use crate::plan::join::Sources;

/// Takes down what parts of a statement took.
#[derive(Debug, Default)]
pub struct Meter {
    nodes: Mutex<HashMap<Node, Took>>,
}

/// A part of a statement: of the program at this address.
type Node = (usize, Part);

/// A part of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of it.
    Query,
    /// The step of a join that adds these sources.
    Step(Sources),
    /// The condition that waits for subqueries.
    Late,
    /// Grouping.
    Groups,
    /// Sorting.
    Sort,
}

impl Meter {
    /// Adds to what a part took.
    pub fn add<T>(&self, (owner, part): (&T, Part), more: Took) {
        let mut nodes = self.nodes.lock();
        let took = nodes.entry((address(owner), part)).or_default();
        took.runs += more.runs;
        took.rows_in += more.rows_in;
        took.rows_out += more.rows_out;
        took.rows_read += more.rows_read;
        took.batches += more.batches;
        took.spilled_bytes += more.spilled_bytes;
        took.nanos += more.nanos;
    }

    /// What a part took; nothing if it never ran.
    pub fn took<T>(&self, owner: &T, part: Part) -> Took {
        let nodes = self.nodes.lock();
        let took = nodes.get(&(address(owner), part));
        took.copied().unwrap_or_default()
    }
}

fn address<T>(owner: &T) -> usize {
    std::ptr::from_ref(owner).addr()
}

/// A clock that stands still where there is no meter.
#[derive(Debug)]
pub struct Watch(Option<(Arc<Meter>, Instant)>);

impl Watch {
    /// Starts it.
    pub fn start(meter: Option<&Arc<Meter>>) -> Watch {
        Watch(meter.map(|meter| (Arc::clone(meter), Instant::now())))
    }

    /// Takes down the time, and what else was taken.
    pub fn stop<T>(self, node: (&T, Part), took: impl FnOnce() -> Took) {
        if let Watch(Some((meter, began))) = self {
            let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            meter.add(node, Took { nanos, ..took() });
        }
    }
}

/// A number of rows as it is taken down.
pub fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
