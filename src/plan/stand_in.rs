//! Values that stand for those that are not known yet, while it is tried out how something would be
//! read: the columns of other tables in a lookup, those of the row around a subquery.
//!
//! They go into slots, and the planner takes them for constants. Where its plan is shown, each is shown
//! as what it stands for; so they are chosen apart from each other and from the constants of the
//! statement.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use std::cmp::Ordering;
use std::sync::Arc;

use super::text::{self, Names};
use super::values;
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::{self, fold};
use crate::sql::expr::{Expr, ExprKind, NoRow, Slot};
use crate::types::temporal::Zone;
use crate::types::{ColumnType, Date, Decimal, Time, Timestamp, Value};

/// Values of a type that are tried until one is found that is nothing else.
const TRIES_MAX: u8 = 12;

/// From one whole number to the next, so that bounds of ranges are not taken for another.
const STEP: u8 = 10;

/// How a value is chosen.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'e> {
    /// The same for all slots of a type.
    Same,
    /// One that stands in no other slot and not in this expression.
    Distinct(Option<&'e Expr>),
}

/// What the values in a plan stand for.
#[derive(Debug, Clone, Default)]
pub struct StandIns {
    known: Vec<(Value<'static>, Arc<str>)>,
}

/// Fills a slot with a value of its type that stands for what is named.
pub fn fill(
    ctx: &mut EvalContext,
    (slot, ty, name): (usize, &ColumnType, &str),
    choice: Choice<'_>,
) {
    let value = match choice {
        Choice::Same => nth(ty, 0),
        Choice::Distinct(expr) => {
            let mut tried = (0..TRIES_MAX).map(|n| nth(ty, n));
            let free = |value: &Value<'static>| {
                let mut near = neighbours(value).into_iter().flatten();
                !expr.is_some_and(|expr| {
                    has_literal(expr, value) || near.any(|(value, _)| has_literal(expr, &value))
                }) && !has_stand_in(ctx, value)
            };
            tried.find(free).unwrap_or_else(|| nth(ty, 0))
        }
    };
    ctx.fill(slot, SlotValue::StandIn(value, name.into()));
}

/// A value of a type that stands for one that nobody knows.
pub fn any(ty: &ColumnType) -> Value<'static> {
    nth(ty, 0)
}

fn has_stand_in(ctx: &EvalContext, value: &Value<'static>) -> bool {
    let mut slots = ctx.slots.iter();
    slots.any(|slot| matches!(slot, SlotValue::StandIn(other, _) if is_same(other, value)))
}

fn has_literal(expr: &Expr, value: &Value<'static>) -> bool {
    if let ExprKind::Literal(literal) = &expr.kind {
        return is_same(literal, value);
    }
    let mut found = false;
    fold::each_child(expr, &mut |child| found |= has_literal(child, value));
    found
}

/// Whether two values are the same, or are by the text that is shown of them.
fn is_same(a: &Value<'static>, b: &Value<'static>) -> bool {
    values::compare(a, b) == Ordering::Equal || a.to_text() == b.to_text()
}

/// The values next to one where they can be counted, and how they are written: bounds of ranges are
/// moved to them.
fn neighbours(value: &Value<'static>) -> [Option<(Value<'static>, &'static str)>; 2] {
    let day = |date: &Date, days: i8| {
        let day = date.day().checked_add_signed(days)?;
        Date::new(date.year(), date.month(), day).map(Value::Date)
    };
    let (before, after) = match value {
        Value::Int(number) => (
            number.checked_sub(1).map(Value::Int),
            number.checked_add(1).map(Value::Int),
        ),
        Value::UInt(number) => (
            number.checked_sub(1).map(Value::UInt),
            number.checked_add(1).map(Value::UInt),
        ),
        Value::Date(date) => {
            let texts = [" - INTERVAL 1 DAY", " + INTERVAL 1 DAY"];
            let days = [day(date, -1), day(date, 1)].into_iter().zip(texts);
            let mut days = days.map(|(value, text)| value.map(|value| (value, text)));
            return [days.next().flatten(), days.next().flatten()];
        }
        _ => (None, None),
    };
    [
        before.map(|value| (value, " - 1")),
        after.map(|value| (value, " + 1")),
    ]
}

/// Some values of a type, apart from each other where there are many.
fn nth(ty: &ColumnType, n: u8) -> Value<'static> {
    let number = i64::from(n) * i64::from(STEP) + 1;
    let letter = b'a'.saturating_add(n);
    match ty {
        ColumnType::Int { unsigned: true, .. } => Value::UInt(number.unsigned_abs()),
        ColumnType::Boolean | ColumnType::Int { .. } | ColumnType::Year => Value::Int(number),
        ColumnType::Float | ColumnType::Double => {
            Value::Double(f64::from(n) * f64::from(STEP) + 1.0)
        }
        ColumnType::Decimal { .. } => Value::Decimal(Decimal::from_i64(number)),
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            Value::Bytes(vec![letter].into())
        }
        ColumnType::Date => Value::Date(date(n)),
        ColumnType::Time { .. } => {
            Value::Time(Time::from_micros(number - 1, 6).unwrap_or(Time::ZERO))
        }
        ColumnType::Datetime { .. } => Value::Datetime(date(n).at_midnight()),
        ColumnType::Timestamp { .. } => Value::Timestamp(timestamp(number)),
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_)
        | ColumnType::Json
        | ColumnType::Enum(_) => Value::Text(char::from(letter).to_string().into()),
    }
}

fn date(n: u8) -> Date {
    Date::new(
        Date::MAX.year(),
        12,
        30_u8.saturating_sub(n.saturating_mul(2)),
    )
    .unwrap_or(Date::MAX)
}

fn timestamp(number: i64) -> Timestamp {
    let micros = number.saturating_mul(Timestamp::MICROS_MIN);
    Timestamp::from_micros(micros, 0).unwrap_or(Timestamp::ZERO)
}

impl StandIns {
    /// Those of the slots of a context, and of what an expression computes from them.
    pub fn of(filter: Option<&Expr>, ctx: &EvalContext) -> StandIns {
        let mut known = Vec::new();
        for slot in &ctx.slots {
            if let SlotValue::StandIn(value, name) = slot {
                known.push((value.clone(), Arc::clone(name)));
            }
        }
        let mut all = StandIns { known };
        if let Some(filter) = filter.filter(|_| !all.known.is_empty()) {
            all.add_computed(filter, ctx);
        }
        for (value, name) in all.known.clone() {
            for (value, more) in neighbours(&value).into_iter().flatten() {
                all.known.push((value, format!("{name}{more}").into()));
            }
        }
        all
    }

    /// Adds the outermost parts of an expression that are computed from nothing but these.
    fn add_computed(&mut self, expr: &Expr, ctx: &EvalContext) {
        let is_plain = matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Row(_));
        if !is_plain && reads_stand_in(expr, ctx) && eval::is_statement_constant(expr) {
            if let Ok(value) = eval::eval_exact(expr, &NoRow, ctx) {
                let name = |idx| format!("column {idx}");
                let names = Names {
                    column: &name,
                    zone: &ctx.zone,
                };
                let text = text::expression(expr, names);
                self.known.push((value.into_owned(), text.into()));
            }
            return;
        }
        fold::each_child(expr, &mut |child| self.add_computed(child, ctx));
    }

    /// What a value stands for.
    pub fn name_of(&self, value: &Value<'static>) -> Option<&Arc<str>> {
        let mut known = self.known.iter();
        let found = known.find(|(other, _)| is_same(other, value))?;
        Some(&found.1)
    }

    /// A value as it is shown.
    pub fn text_of(&self, value: &Value<'static>, zone: &Zone) -> String {
        match self.name_of(value) {
            Some(name) => name.to_string(),
            None => values::literal(value, zone),
        }
    }

    /// An expression with the names of what its constants stand for.
    #[must_use]
    pub fn named(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        if !self.known.is_empty() {
            self.put_names(&mut expr);
        }
        expr
    }

    fn put_names(&self, expr: &mut Expr) {
        if let ExprKind::Literal(value) = &expr.kind {
            if let Some(name) = self.name_of(value) {
                let text = Arc::clone(name);
                let (idx, per_row) = (usize::MAX, true);
                expr.kind = ExprKind::Slot(Slot {
                    idx,
                    per_row,
                    text,
                    decimals: None,
                });
            }
            return;
        }
        fold::each_child_mut(expr, &mut |child| self.put_names(child));
    }
}

/// Whether a stand-in is among what an expression reads.
fn reads_stand_in(expr: &Expr, ctx: &EvalContext) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Slot(slot) => {
            matches!(ctx.slots.get(slot.idx), Some(SlotValue::StandIn(..)))
        }
        _ => false,
    };
    fold::each_child(expr, &mut |child| found |= reads_stand_in(child, ctx));
    found
}
