//! Reading a table by keys that the rows so far give.
//!
//! Columns of the rows so far become slots, which are filled for each row; then the table is planned
//! as for a statement with constants. Whether that leads to keys is tried here with values that stand
//! for those to come.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::refs::{Sources, source_idx};
use super::units::Conjunct;
use super::{Setting, table_plan};
use crate::error::Result;
use crate::plan::derive::shape;
use crate::plan::stand_in::{self, Choice, StandIns, Surroundings};
use crate::plan::{Access, Span, TablePlan};
use crate::sql::bound::{Capture, Joined, Relation};
use crate::sql::context::EvalContext;
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind, Slot};

/// How a table is read for each row so far.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// What its rows must meet: over the row of the join, with slots for columns of other sources.
    pub filter: Option<Expr>,
    /// What goes into the slots, over the rows so far.
    pub captures: Vec<Capture>,
}

/// A lookup and the plan it leads to with values that stand for those to come.
#[derive(Debug)]
pub struct Trial {
    /// The lookup.
    pub lookup: Lookup,
    /// The plan.
    pub plan: TablePlan,
}

impl Lookup {
    /// The lookup of a source by the conditions that read nothing but it and the sources before it.
    pub fn of<'c>(
        (joined, source): (&Joined, usize),
        conjuncts: impl Iterator<Item = &'c Conjunct>,
        first_slot: usize,
    ) -> Lookup {
        let mut maker = Maker {
            joined,
            source,
            captures: Vec::new(),
            first_slot,
        };
        let filter = conjuncts.map(|conjunct| {
            let mut expr = conjunct.expr.clone();
            maker.put_slots(&mut expr);
            expr
        });
        let filter = shape::all_of(filter.collect());
        Lookup {
            filter,
            captures: maker.captures,
        }
    }
}

struct Maker<'a> {
    joined: &'a Joined,
    source: usize,
    captures: Vec<Capture>,
    first_slot: usize,
}

impl Maker<'_> {
    fn put_slots(&mut self, expr: &mut Expr) {
        if let ExprKind::Column(idx) = expr.kind {
            if source_idx(self.joined, idx) != Some(self.source) {
                let slot = self.slot_of(idx, expr);
                let text = column_name(self.joined, idx).into();
                let per_row = false;
                expr.kind = ExprKind::Slot(Slot {
                    idx: slot,
                    per_row,
                    text,
                    is_column: false,
                    decimals: None,
                });
            }
            return;
        }
        fold::each_child_mut(expr, &mut |child| self.put_slots(child));
    }

    fn slot_of(&mut self, column_idx: usize, expr: &Expr) -> usize {
        let is_it = |capture: &&Capture| matches!(capture.expr.kind, ExprKind::Column(idx) if idx == column_idx);
        if let Some(known) = self.captures.iter().find(is_it) {
            return known.slot;
        }
        let slot = self.first_slot + self.captures.len();
        self.captures.push(Capture {
            slot,
            expr: expr.clone(),
        });
        slot
    }
}

/// `alias.column`.
pub fn column_name(joined: &Joined, column_idx: usize) -> String {
    let Some(source) = joined.source_of(column_idx) else {
        return format!("column {column_idx}");
    };
    let idx = column_idx - source.first_column;
    let name = match &source.relation {
        Relation::Table(table) => table.columns.get(idx).map(|column| column.name.clone()),
        Relation::Listed(listed) => {
            let column = listed.table.columns.get(idx);
            column.map(|column| column.name.clone())
        }
        Relation::Query(query) => {
            let columns = query.columns();
            columns.get(idx).map(|column| column.name.clone())
        }
        Relation::Round(_) => None,
    };
    let name = name.unwrap_or_else(|| format!("column {idx}"));
    format!("{}.{}", source.alias, crate::plan::text::quote_name(&name))
}

impl Trial {
    /// Tries the lookup of a table. `placed` are the sources before it.
    ///
    /// # Errors
    /// A refusal, when not even the rows so far lead to keys.
    pub fn of(
        setting: &Setting<'_>,
        source: usize,
        (conjuncts, placed): (&[&Conjunct], Sources),
    ) -> Result<Trial> {
        let seen = placed.and(Sources::one(source));
        let usable = conjuncts.iter().copied();
        let usable = usable.filter(|one| one.sources.has(source) && one.sources.are_in(seen));
        let lookup = Lookup::of((setting.joined, source), usable, setting.ctx.slots.len());
        let ctx = with_stand_ins(&lookup, (setting.joined, setting.ctx), Choice::Same);
        let filter = lookup.filter.as_ref();
        let plan = table_plan(setting, source, (filter, &ctx), false)?;
        Ok(Trial { lookup, plan })
    }

    /// Whether the rows so far narrow what is read, beside a plan without them.
    pub fn helps(&self, alone: Option<&TablePlan>) -> bool {
        if self.lookup.captures.is_empty() {
            return false;
        }
        match (&self.plan.access, alone) {
            // What contradicts the rows so far may not contradict others.
            (Access::FullScan | Access::Nothing, _) => false,
            (access, _) if access.is_one_row() => true,
            (_, None) => true,
            (_, Some(alone)) => {
                matches!(alone.access, Access::FullScan)
                    || alone.parts_used < self.plan.parts_used
                    || is_by_index(alone) != is_by_index(&self.plan)
                    || is_at_one_value(&self.plan) && !is_at_one_value(alone)
            }
        }
    }
}

fn is_by_index(plan: &TablePlan) -> bool {
    matches!(plan.access, Access::Index(_))
}

/// Whether all that is read has one value in the columns that bound it.
fn is_at_one_value(plan: &TablePlan) -> bool {
    let spans = match &plan.access {
        Access::PointGet(_) => return true,
        Access::PrefixScan(scan) => &scan.spans,
        Access::Index(index) => &index.spans,
        Access::Nothing
        | Access::MultiGet(_)
        | Access::Ends(_)
        | Access::Merge(_)
        | Access::Count(_)
        | Access::FullScan => return false,
    };
    let is_value = |span: &Span| span.point().is_some_and(|values| !values.is_empty());
    matches!(spans.as_slice(), [span] if is_value(span))
}

/// A context in which values stand for the slots of a lookup.
pub(crate) fn with_stand_ins(
    lookup: &Lookup,
    (joined, ctx): (&Joined, &EvalContext),
    choice: Choice<'_>,
) -> EvalContext {
    let mut ctx = ctx.quiet();
    for capture in &lookup.captures {
        let name = match capture.expr.kind {
            ExprKind::Column(idx) => column_name(joined, idx),
            _ => "?".to_owned(),
        };
        stand_in::fill(&mut ctx, (capture.slot, &capture.expr.ty, &name), choice);
    }
    ctx
}

/// How a lookup reads its table, to be shown; and what the values in the plan stand for.
///
/// # Errors
/// As [`super::table_plan`].
pub fn shown(
    setting: &Setting<'_>,
    source: usize,
    lookup: &Lookup,
) -> Result<(TablePlan, StandIns)> {
    let filter = lookup.filter.as_ref();
    let around = Surroundings::of(filter, setting.ctx);
    let choice = Choice::Distinct(&around);
    let ctx = with_stand_ins(lookup, (setting.joined, setting.ctx), choice);
    let plan = table_plan(setting, source, (filter, &ctx), true)?;
    Ok((plan, StandIns::of(filter, &ctx)))
}
