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
use crate::error::{Error, Result};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::{self, fold};
use crate::sql::expr::{CompareOp, Expr, ExprKind, NoRow, Row, Slot};
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
            let mut tried = (0..TRIES_MAX).map(|n| nth(ty, n)).collect();
            if let Some(expr) = expr {
                add_near(expr, ty, &mut tried);
            }
            let free = |value: &Value<'static>| {
                let mut near = neighbours(value).into_iter().flatten();
                !expr.is_some_and(|expr| {
                    has_literal(expr, value) || near.any(|(value, _)| has_literal(expr, &value))
                }) && !has_stand_in(ctx, value)
            };
            let fits =
                |value: &Value<'static>| expr.is_none_or(|expr| fits((expr, slot), value, ctx));
            let mut best = tried.iter().filter(|value| free(value));
            let fitting = best
                .clone()
                .find(|value| fits(value))
                .or_else(|| best.next());
            fitting.cloned().unwrap_or_else(|| nth(ty, 0))
        }
    };
    ctx.fill(slot, SlotValue::StandIn(value, name.into()));
}

/// Numbers beside those that stand in an expression: between the bounds that it gives, if there is room.
fn add_near(expr: &Expr, ty: &ColumnType, tried: &mut Vec<Value<'static>>) {
    if let ExprKind::Literal(literal) = &expr.kind {
        let number = match literal {
            Value::Int(number) => Some(*number),
            Value::UInt(number) => i64::try_from(*number).ok(),
            Value::Decimal(number) => number.to_i64(),
            _ => None,
        };
        let half = i64::from(STEP / 2);
        let near = number.map(|number| [number.checked_add(half), number.checked_sub(half)]);
        let near = near.into_iter().flatten().flatten();
        tried.extend(near.filter_map(|number| of_number(ty, number)));
        return;
    }
    fold::each_child(expr, &mut |child| add_near(child, ty, tried));
}

/// A row that is known where it equals a value.
struct Equal<'v> {
    columns: Vec<usize>,
    value: &'v Value<'static>,
}

impl Row for Equal<'_> {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        if self.columns.contains(&column_idx) {
            return Ok(self.value.clone());
        }
        Err(Error::unsupported("a column of which nothing is known"))
    }
}

/// Whether a condition can hold when the columns that are to equal a slot have this value: one that
/// contradicts the others would be read as if nothing were.
fn fits((expr, slot): (&Expr, usize), value: &Value<'static>, ctx: &EvalContext) -> bool {
    let conjuncts = match &expr.kind {
        ExprKind::And(conjuncts) => conjuncts.as_slice(),
        _ => std::slice::from_ref(expr),
    };
    let equal = |conjunct: &Expr| match &conjunct.kind {
        ExprKind::Compare(CompareOp::Equal, left, right) => match (&left.kind, &right.kind) {
            (ExprKind::Column(column), ExprKind::Slot(found))
            | (ExprKind::Slot(found), ExprKind::Column(column)) => {
                (found.idx == slot).then_some(*column)
            }
            _ => None,
        },
        _ => None,
    };
    let row = Equal {
        columns: conjuncts.iter().filter_map(equal).collect(),
        value,
    };
    let mut others = conjuncts
        .iter()
        .filter(|conjunct| equal(conjunct).is_none());
    others.all(|conjunct| {
        // What is not known may hold.
        let truth = eval::eval_condition(conjunct, &row, ctx);
        truth.map_or(true, |truth| truth == Some(true))
    })
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

/// A number as a value of a type, if it has numbers, and this one.
fn of_number(ty: &ColumnType, number: i64) -> Option<Value<'static>> {
    match ty {
        ColumnType::Int { unsigned: true, .. } => u64::try_from(number).ok().map(Value::UInt),
        ColumnType::Boolean | ColumnType::Int { .. } | ColumnType::Year => Some(Value::Int(number)),
        ColumnType::Float | ColumnType::Double => {
            let number = i32::try_from(number).ok()?;
            Some(Value::Double(f64::from(number)))
        }
        ColumnType::Decimal { .. } => Some(Value::Decimal(Decimal::from_i64(number))),
        _ => None,
    }
}

/// Some values of a type, apart from each other where there are many.
fn nth(ty: &ColumnType, n: u8) -> Value<'static> {
    let number = i64::from(n) * i64::from(STEP) + 1;
    if let Some(value) = of_number(ty, number) {
        return value;
    }
    let letter = b'a'.saturating_add(n);
    match ty {
        ColumnType::Int { .. } | ColumnType::Boolean | ColumnType::Year => Value::Int(number),
        ColumnType::Float | ColumnType::Double => Value::Double(1.0),
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
