//! What a SELECT takes, for EXPLAIN ANALYZE. A statement that is not analyzed has no [`Tally`].

use std::sync::Arc;
use std::time::Instant;

use super::stream::SelectStream;
use crate::error::Result;
use crate::exec::meter::{Meter, Part, Watch};
use crate::exec::rows::{PageEnd, RowSink};
use crate::plan::explain::whole::Took;
use crate::types::Value;

/// What is counted until the page is full.
pub(super) struct Tally {
    meter: Arc<Meter>,
    has_begun: bool,
    /// The condition that waits for subqueries.
    pub(super) late: Took,
    pub(super) groups: Took,
    pub(super) sort: Took,
}

impl Tally {
    /// For a statement that is analyzed.
    pub(super) fn of(meter: Option<&Arc<Meter>>) -> Option<Box<Tally>> {
        meter.map(|meter| {
            Box::new(Tally {
                meter: Arc::clone(meter),
                has_begun: false,
                late: Took::default(),
                groups: Took::default(),
                sort: Took::default(),
            })
        })
    }
}

/// Time and spilled bytes when something began.
pub(super) struct Lap {
    began: Instant,
    spilled_bytes: u64,
}

/// Counts the rows that it hands on.
struct Counted<'s> {
    sink: &'s mut (dyn RowSink + Send),
    rows: u64,
}

impl RowSink for Counted<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.rows += 1;
        self.sink.row(values)
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}

impl SelectStream {
    /// A page of a statement that is analyzed.
    pub(super) async fn tallied_page(
        &mut self,
        sink: &mut (dyn RowSink + Send),
    ) -> Result<PageEnd> {
        let Some(tally) = &mut self.tally else {
            return self.page(sink).await;
        };
        let runs = u64::from(!std::mem::replace(&mut tally.has_begun, true));
        let watch = Watch::start(Some(&tally.meter));
        let read_before = self.rows_read;
        let mut sink = Counted { sink, rows: 0 };
        let end = self.page(&mut sink).await;
        let program = Arc::clone(&self.program);
        watch.stop((program.as_ref(), Part::Query), || Took {
            runs,
            batches: 1,
            rows_out: sink.rows,
            rows_read: self.rows_read - read_before,
            ..Took::default()
        });
        if let Some(tally) = &mut self.tally {
            let parts = [
                (Part::Late, &mut tally.late),
                (Part::Groups, &mut tally.groups),
                (Part::Sort, &mut tally.sort),
            ];
            for (part, took) in parts {
                tally
                    .meter
                    .add((program.as_ref(), part), std::mem::take(took));
            }
        }
        end
    }

    /// Begins to take the time and the bytes that are spilled, if the statement is analyzed.
    pub(super) fn lap(&self) -> Option<Lap> {
        self.tally.as_ref().map(|_| Lap {
            began: Instant::now(),
            spilled_bytes: self.spilled_bytes(),
        })
    }

    fn spilled_bytes(&self) -> u64 {
        self.memory.disk().map_or(0, |disk| disk.written_bytes())
    }

    /// Adds what was taken since to a part.
    pub(super) fn note_lap(
        &mut self,
        lap: Option<Lap>,
        part: impl FnOnce(&mut Tally) -> Option<&mut Took>,
    ) {
        let spilled_bytes = self.spilled_bytes();
        let Some(lap) = lap else { return };
        if let Some(took) = self.tally.as_deref_mut().and_then(part) {
            took.nanos += u64::try_from(lap.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            took.spilled_bytes += spilled_bytes - lap.spilled_bytes;
        }
    }

    /// Counts something, if the statement is analyzed.
    pub(super) fn note(&mut self, count: impl FnOnce(&mut Tally)) {
        if let Some(tally) = &mut self.tally {
            count(tally);
        }
    }
}
