//! The short way of a lookup: where its filter is nothing but an equality on each of the first parts of
//! a key.
//!
//! By which key such a lookup goes depends on the shape of the filter alone, as long as each value is one
//! of its column's and certain, and the table has no index of some rows or of expressions. So the first row is planned, and for the rows after it the values are
//! encoded. Hot: runs for each row of a join. Values that are not certain take the long way.

use super::{Setting, shifted, table_of};
use crate::catalog::{Index, KeyPart, Table};
use crate::error::Result;
use crate::kv::KeyRange;
use crate::plan::access::{Access, Entries, IndexAccess, PrefixScan, TablePlan};
use crate::plan::cut::KeyParts;
use crate::plan::point;
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// A lookup by the first parts of a key.
#[derive(Debug)]
pub struct ShortLookup {
    /// Over the columns of the table: as many equalities as parts.
    filter: Expr,
    parts: Vec<KeyPart>,
    way: Way,
}

/// What the values are the first parts of.
#[derive(Debug, Clone, Copy)]
enum Way {
    Row,
    Rows,
    Entry { position: usize, covering: bool },
    Entries { position: usize, covering: bool },
}

impl ShortLookup {
    /// The short way to what a plan reads, if there is one: `filter` is what it was planned for, over the
    /// row of the join, with the slots in `ctx`.
    ///
    /// # Errors
    /// A value that does not fit its key part: an internal error.
    pub fn of(
        (setting, source_idx): (&Setting<'_>, usize),
        (filter, ctx): (&Expr, &EvalContext),
        plan: &TablePlan,
    ) -> Result<Option<ShortLookup>> {
        let Some((source, table)) = table_of(setting.joined, source_idx) else {
            return Ok(None);
        };
        let is_computed =
            |index: &Index| !index.computed.parts.is_empty() || index.computed.filter.is_some();
        if table.indexes.iter().any(is_computed) {
            return Ok(None);
        }
        let is_plain = plan.residual.is_none() && plan.fan_out.is_none() && !plan.reverse;
        if !is_plain || plan.doubt.is_some() || table.wide.reading.is_some() {
            return Ok(None);
        }
        let Some((way, parts)) = way_and_parts(plan, table) else {
            return Ok(None);
        };
        let filter = shifted(filter, source.first_column);
        let key = KeyParts {
            columns: &table.columns,
            parts: &parts,
        };
        let Some(bound) = parts.get(..point::parts_asked_for(&filter, key)) else {
            return Ok(None);
        };
        let short = ShortLookup {
            parts: bound.to_vec(),
            filter,
            way,
        };
        let found = short.access(table, ctx)?;
        let is_same = found.is_some_and(|found| is_same(&found, &plan.access));
        Ok(is_same.then_some(short))
    }

    /// The plan for other values in the slots; `None` when that takes the long way.
    ///
    /// # Errors
    /// A value that does not fit its key part: an internal error.
    pub fn plan(&self, table: &Table, ctx: &EvalContext) -> Result<Option<TablePlan>> {
        let access = self.access(table, ctx)?;
        Ok(access.map(|access| TablePlan::at_once(access, Vec::new())))
    }

    /// What is read for the values in the slots; the spans, which only EXPLAIN shows, are left out.
    fn access(&self, table: &Table, ctx: &EvalContext) -> Result<Option<Access>> {
        let key = KeyParts {
            columns: &table.columns,
            parts: &self.parts,
        };
        let Some(point) = point::point_get(&self.filter, key, ctx)? else {
            return Ok(None);
        };
        let entries_of = |position, covering, entries| {
            Access::Index(IndexAccess {
                position,
                entries,
                spans: Vec::new(),
                covering,
            })
        };
        Ok(Some(match self.way {
            Way::Row => Access::PointGet(point),
            Way::Rows => Access::PrefixScan(PrefixScan {
                ranges: vec![KeyRange::prefix(&point.key)],
                spans: Vec::new(),
            }),
            Way::Entry { position, covering } => {
                entries_of(position, covering, Entries::Keys(vec![point.key]))
            }
            Way::Entries { position, covering } => {
                let ranges = vec![KeyRange::prefix(&point.key)];
                entries_of(position, covering, Entries::Ranges(ranges))
            }
        }))
    }
}

/// The way of a plan, and the parts of the key that it goes by; `None` where values alone do not tell what
/// is read.
fn way_and_parts(plan: &TablePlan, table: &Table) -> Option<(Way, Vec<KeyPart>)> {
    match &plan.access {
        Access::PointGet(_) => Some((Way::Row, table.key.clone())),
        Access::PrefixScan(_) => Some((Way::Rows, table.key.clone())),
        Access::Index(access) => {
            let index = table.indexes.get(access.position)?;
            let (position, covering) = (access.position, access.covering);
            let way = match access.entries {
                Entries::Keys(_) => Way::Entry { position, covering },
                Entries::Ranges(_) => Way::Entries { position, covering },
            };
            let parts = if index.unique {
                index.parts.clone()
            } else {
                index.entry_parts(table)
            };
            Some((way, parts))
        }
        Access::Nothing
        | Access::MultiGet(_)
        | Access::Ends(_)
        | Access::Merge(_)
        | Access::Count(_)
        | Access::FullScan => None,
    }
}

/// Whether two paths read the same place.
fn is_same(found: &Access, planned: &Access) -> bool {
    match (found, planned) {
        (Access::PointGet(one), Access::PointGet(other)) => one.key == other.key,
        (Access::PrefixScan(one), Access::PrefixScan(other)) => one.ranges == other.ranges,
        (Access::Index(one), Access::Index(other)) => match (&one.entries, &other.entries) {
            (Entries::Keys(one), Entries::Keys(other)) => one == other,
            (Entries::Ranges(one), Entries::Ranges(other)) => one == other,
            (Entries::Keys(_) | Entries::Ranges(_), _) => false,
        },
        (_, _) => false,
    }
}
