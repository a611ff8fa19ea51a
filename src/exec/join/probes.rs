//! Rows that lead to one key or to one range of keys each: what they lead to is read together.
//!
//! Keys are a multi-get, ranges are gathered ([`gather`]); what becomes of that is in `probed`.

use bytes::Bytes;

use super::probed::Probed;
use super::rows::{BATCH_ROWS, Frame};
use super::shape::Row;
use super::unit::table_of;
use crate::error::Result;
use crate::exec::gather::{ENTRIES_MAX, Part, Reach, gather};
use crate::exec::sample::space_of;
use crate::exec::view::Batch;
use crate::kv::{Key, KeyRange};
use crate::plan::{Access, Entries, TablePlan};
use crate::sql::bound::KeyRef;
use crate::sql::expr::Expr;

/// Rows that are read together to begin with, and at least; at most [`BATCH_ROWS`].
const ROWS_FIRST: usize = 128;
const ROWS_MIN: usize = 16;

/// How much is read together.
pub(super) struct Extent {
    /// So many rows of the join: as many as lead to what may be held.
    rows_max: usize,
    reach: Reach,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent {
            rows_max: ROWS_FIRST,
            reach: Reach::default(),
        }
    }
}

impl Extent {
    pub(super) fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// After a batch that led to so much, some of which was not held.
    fn adapt(&mut self, entries: usize, has_rest: bool) {
        if has_rest {
            self.rows_max = (self.rows_max / 2).max(ROWS_MIN);
        } else if 2 * entries <= ENTRIES_MAX {
            self.rows_max = (2 * self.rows_max).min(BATCH_ROWS);
        }
    }
}

/// Along which key the matches of a batch are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) key: KeyRef,
    /// Whether what is found there has all that is used: rows do, entries of an index may.
    pub(super) is_covering: bool,
}

impl Path {
    /// The primary key.
    fn rows() -> Path {
        Path {
            key: KeyRef::Primary,
            is_covering: true,
        }
    }
}

/// What is read for a batch of rows.
enum Places {
    Keys(Vec<Key>),
    Ranges(Vec<KeyRange>),
}

/// A row, and where its matches are.
pub(super) struct Probe {
    pub(super) row: Row,
    /// The place, and what the rows there must meet; `None` when there can be no match.
    pub(super) place: Option<(usize, Option<Expr>)>,
}

/// Rows that lead to one place each along the same path, or to none.
pub(super) struct Probes {
    /// Whether a place may have more rows than are stored: the versions of one.
    multiplies: bool,
    rows: Vec<Probe>,
    at: Option<(Path, Places)>,
}

impl Probes {
    /// None yet, of a table whose stored rows may be read as several.
    pub(super) fn new(multiplies: bool) -> Probes {
        Probes {
            multiplies,
            rows: Vec::new(),
            at: None,
        }
    }

    /// Adds a row by its plan; gives both back when that leads elsewhere, or to more than one place.
    pub(super) fn add(&mut self, row: Row, mut plan: TablePlan) -> Option<Box<(Row, TablePlan)>> {
        if matches!(plan.access, Access::Nothing) {
            self.rows.push(Probe { row, place: None });
            return None;
        }
        let Some(place_idx) = self.add_place(&mut plan) else {
            return Some(Box::new((row, plan)));
        };
        let place = Some((place_idx, plan.residual));
        self.rows.push(Probe { row, place });
        None
    }

    /// Takes the place out of a plan, if it is one of these.
    fn add_place(&mut self, plan: &mut TablePlan) -> Option<usize> {
        if self.multiplies || plan.reverse || plan.fan_out.is_some() {
            return None;
        }
        match &mut plan.access {
            Access::PointGet(get) => self.add_key(Path::rows(), std::slice::from_mut(&mut get.key)),
            Access::PrefixScan(scan) => self.add_range(Path::rows(), &mut scan.ranges),
            Access::Index(access) => {
                let path = Path {
                    key: KeyRef::Index(access.position),
                    is_covering: access.covering,
                };
                match &mut access.entries {
                    Entries::Keys(keys) => self.add_key(path, keys),
                    Entries::Ranges(ranges) => self.add_range(path, ranges),
                }
            }
            Access::Nothing
            | Access::MultiGet(_)
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::Count(_)
            | Access::FullScan => None,
        }
    }

    fn add_key(&mut self, path: Path, keys: &mut [Key]) -> Option<usize> {
        let [key] = keys else {
            return None;
        };
        let (of, places) = self
            .at
            .get_or_insert_with(|| (path, Places::Keys(Vec::new())));
        match places {
            Places::Keys(keys) if *of == path => {
                keys.push(std::mem::take(key));
                Some(keys.len() - 1)
            }
            Places::Keys(_) | Places::Ranges(_) => None,
        }
    }

    fn add_range(&mut self, path: Path, ranges: &mut [KeyRange]) -> Option<usize> {
        let [range] = ranges else {
            return None;
        };
        let (of, places) = self
            .at
            .get_or_insert_with(|| (path, Places::Ranges(Vec::new())));
        match places {
            Places::Ranges(ranges) if *of == path => {
                ranges.push(std::mem::take(range));
                Some(ranges.len() - 1)
            }
            Places::Keys(_) | Places::Ranges(_) => None,
        }
    }

    /// Reads what is at all places.
    pub(super) async fn read(
        self,
        (source_idx, extent): (usize, &mut Extent),
        frame: &Frame<'_>,
    ) -> Result<Probed> {
        let path = self.at.as_ref().map_or(Path::rows(), |(path, _)| *path);
        let view = &frame.nest.view;
        let (table, _) = table_of(frame.shape, source_idx)?;
        let space = space_of(table, path.key);
        let (found, parts) = match self.at {
            None => (Batch::Rows(Vec::new()), Vec::new()),
            Some((_, Places::Keys(keys))) => {
                let values = view.rows(space, &keys, &frame.nest.cancel).await?;
                rows_and_parts(keys, values)
            }
            Some((_, Places::Ranges(ranges))) => {
                let found = gather(
                    view,
                    (space, &ranges),
                    (&mut extent.reach, &frame.nest.cancel),
                )
                .await?;
                (Batch::Page(found.entries), found.parts)
            }
        };
        extent.adapt(found.len(), parts.iter().any(|part| part.rest.is_some()));
        Probed::new((source_idx, path), (self.rows, found, parts), frame)
    }
}

/// The rows that are there of some keys, and which of them is under which key.
fn rows_and_parts(keys: Vec<Key>, values: Vec<Option<Bytes>>) -> (Batch, Vec<Part>) {
    let mut rows = Vec::with_capacity(keys.len());
    let mut parts = Vec::with_capacity(keys.len());
    for (key, value) in keys.into_iter().zip(values) {
        let first = rows.len();
        rows.extend(value.map(|value| (key, value)));
        parts.push(Part {
            entries: first..rows.len(),
            rest: None,
        });
    }
    (Batch::Rows(rows), parts)
}
