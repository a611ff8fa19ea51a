//! Reading a table by keys that the rows so far give.
//!
//! Columns of the rows so far become slots, which are filled for each row; then the table is planned
//! as for a statement with constants. Whether that leads to keys is tried here with made-up values.

use super::refs::{Sources, source_idx};
use super::units::Conjunct;
use super::{Setting, table_plan};
use crate::error::Result;
use crate::plan::derive::shape;
use crate::plan::{Access, TablePlan};
use crate::sql::bound::{Capture, Joined};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind, Slot};
use crate::types::{ColumnType, Date, Datetime, Decimal, Time, Timestamp, Value};

/// How a table is read for each row so far.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// What its rows must meet: over the row of the join, with slots for columns of other sources.
    pub filter: Option<Expr>,
    /// What goes into the slots, over the rows so far.
    pub captures: Vec<Capture>,
}

/// A lookup and the plan it leads to with made-up values.
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
pub(crate) fn column_name(joined: &Joined, column_idx: usize) -> String {
    let Some(source) = joined.source_of(column_idx) else {
        return format!("column {column_idx}");
    };
    let idx = column_idx - source.first_column;
    let name = match &source.relation {
        crate::sql::bound::Relation::Table(table) => {
            table.columns.get(idx).map(|column| column.name.clone())
        }
        crate::sql::bound::Relation::Query(query) => {
            let columns = query.columns();
            columns.get(idx).map(|column| column.name.clone())
        }
        crate::sql::bound::Relation::Round(_) => None,
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
        let ctx = with_made_up(&lookup, setting.ctx);
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
            (Access::FullScan, _) => false,
            (access, _) if access.is_one_row() => true,
            (_, None) => true,
            (_, Some(alone)) => {
                matches!(alone.access, Access::FullScan)
                    || alone.parts_used < self.plan.parts_used
                    || is_by_index(alone) != is_by_index(&self.plan)
            }
        }
    }
}

fn is_by_index(plan: &TablePlan) -> bool {
    matches!(plan.access, Access::Index(_))
}

/// A context in which the slots of a lookup have values, whichever.
pub(crate) fn with_made_up(lookup: &Lookup, ctx: &EvalContext) -> EvalContext {
    let mut ctx = ctx.nested();
    for capture in &lookup.captures {
        let value = SlotValue::Value(made_up(&capture.expr.ty));
        ctx.fill(capture.slot, value);
    }
    ctx
}

/// A value of a type.
fn made_up(ty: &ColumnType) -> Value<'static> {
    match ty {
        ColumnType::Int { unsigned: true, .. } => Value::UInt(1),
        ColumnType::Boolean | ColumnType::Int { .. } | ColumnType::Year => Value::Int(1),
        ColumnType::Float | ColumnType::Double => Value::Double(1.0),
        ColumnType::Decimal { .. } => Value::Decimal(Decimal::from_i64(1)),
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            Value::Bytes(b"a".into())
        }
        ColumnType::Date => Value::Date(Date::MAX),
        ColumnType::Time { .. } => Value::Time(Time::ZERO),
        ColumnType::Datetime { .. } => Value::Datetime(Datetime::ZERO),
        ColumnType::Timestamp { .. } => Value::Timestamp(Timestamp::ZERO),
        ColumnType::Null
        | ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_)
        | ColumnType::Json
        | ColumnType::Enum(_) => Value::Text("a".into()),
    }
}
