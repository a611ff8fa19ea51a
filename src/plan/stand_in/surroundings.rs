//! What stands around slots in a condition, and the choice of values for them by it.
//!
//! A good value is *free*, so that it is not taken for a constant of the statement when the plan is
//! shown, and *fits*, so that the planner does not take the condition for a contradiction. It is found
//! among a limited number, whatever the length of the statement; computing whether one fits has no
//! effect that anybody could notice.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use std::borrow::Cow;
use std::collections::HashSet;

use super::{is_same, samples};
use crate::error::{Error, Result};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::{self, Stability, fold};
use crate::sql::expr::{CompareOp, Expr, ExprKind, NoRow, Row};
use crate::types::value::GroupKey;
use crate::types::{ColumnType, Value};

/// Constants of a statement beside which values are tried. For each value a condition is computed,
/// which takes as long as the condition is.
const CONSTANTS_TRIED_MAX: usize = 16;

/// A condition around slots.
#[derive(Debug, Default)]
pub struct Surroundings<'e> {
    conjuncts: &'e [Expr],
    constants: Constants<'e>,
}

/// The constants of an expression.
#[derive(Debug, Default)]
struct Constants<'e> {
    list: Vec<&'e Value<'static>>,
    keys: HashSet<GroupKey<'e>>,
    /// As they are shown.
    texts: HashSet<Cow<'e, str>>,
}

impl<'e> Surroundings<'e> {
    /// Those in a condition.
    pub fn of(filter: Option<&'e Expr>, ctx: &'e EvalContext) -> Surroundings<'e> {
        let Some(filter) = filter else {
            return Surroundings::default();
        };
        let mut list = Vec::new();
        add_constants(filter, ctx, &mut list);
        Surroundings {
            conjuncts: match &filter.kind {
                ExprKind::And(conjuncts) => conjuncts.as_slice(),
                _ => std::slice::from_ref(filter),
            },
            constants: Constants {
                keys: list.iter().map(|one| GroupKey(one.borrow())).collect(),
                texts: list.iter().map(|one| one.to_text()).collect(),
                list,
            },
        }
    }

    /// A value for a slot: a free one that fits; if there is none, a free one.
    pub(super) fn choose(
        &self,
        (slot, ty): (usize, &ColumnType),
        ctx: &EvalContext,
    ) -> Value<'static> {
        let mut test = Test::of(self.conjuncts, slot, ctx);
        let mut free = None;
        for value in self.tried(&test, ty, ctx) {
            // Whoever runs the statement sees that, too, and ends it.
            if ctx.facts.check_stop().is_err() {
                break;
            }
            if !self.is_free(&value, ctx) {
                continue;
            }
            if test.fits(&value) {
                return value;
            }
            free.get_or_insert(value);
        }
        free.unwrap_or_else(|| samples::any(ty))
    }

    /// Values of a type that are to be tried: some that a column can have which is to be equal to the
    /// slot, and those beside the constants that it is compared with.
    fn tried<'a>(
        &'a self,
        test: &'a Test<'a>,
        ty: &ColumnType,
        ctx: &'a EvalContext,
    ) -> Vec<Value<'static>> {
        let of = test.equals.first().map_or(ty, |equal| equal.ty);
        let mut near = Vec::new();
        for conjunct in &test.conjuncts {
            add_constants(conjunct, ctx, &mut near);
        }
        let list: &[&Value<'static>] = match near.as_slice() {
            [] => &self.constants.list,
            near => near,
        };
        let step = list.len().div_ceil(CONSTANTS_TRIED_MAX).max(1);
        let constants = list.iter().step_by(step).copied();
        let values =
            samples::some(of).chain(constants.flat_map(|constant| samples::beside(constant, of)));
        let values = values.filter_map(|value| samples::as_stored(value, ty));
        let mut values: Vec<_> = values.collect();
        if values.is_empty() {
            values.extend(samples::some(ty));
        }
        values
    }

    /// The values that are tried for a slot.
    #[cfg(test)]
    pub(super) fn tried_for(
        &self,
        (slot, ty): (usize, &ColumnType),
        ctx: &EvalContext,
    ) -> Vec<Value<'static>> {
        self.tried(&Test::of(self.conjuncts, slot, ctx), ty, ctx)
    }

    /// Whether a value, and those next to it, are nothing else.
    fn is_free(&self, value: &Value<'static>, ctx: &EvalContext) -> bool {
        let mut near = samples::neighbours(value).into_iter().flatten();
        !self.constants.has(value)
            && !near.any(|(value, _)| self.constants.has(&value))
            && !has_stand_in(ctx, value)
    }
}

impl Constants<'_> {
    fn has(&self, value: &Value<'static>) -> bool {
        self.keys.contains(&GroupKey(value.borrow())) || self.texts.contains(&value.to_text())
    }
}

fn add_constants<'e>(
    expr: &'e Expr,
    ctx: &'e EvalContext,
    constants: &mut Vec<&'e Value<'static>>,
) {
    match &expr.kind {
        ExprKind::Literal(value) => constants.push(value),
        ExprKind::Parameter(position) => constants.extend(ctx.parameters.get(*position)),
        _ => fold::each_child(expr, &mut |child| add_constants(child, ctx, constants)),
    }
}

fn has_stand_in(ctx: &EvalContext, value: &Value<'static>) -> bool {
    let mut slots = ctx.slots.iter();
    slots.any(|slot| matches!(slot, SlotValue::StandIn(other, _) if is_same(other, value)))
}

/// Whether a condition can hold when a slot has a value, and columns that which they are to be equal
/// to: one that contradicts the others would be read as if nothing were.
struct Test<'e> {
    /// The conditions of which that can be told.
    conjuncts: Vec<&'e Expr>,
    /// What is to be equal.
    equals: Vec<Equal<'e>>,
    slot: usize,
    ctx: EvalContext,
}

/// A column, and what it is to be equal to.
struct Equal<'e> {
    column_idx: usize,
    ty: &'e ColumnType,
    other: &'e Expr,
}

impl<'e> Test<'e> {
    fn of(conjuncts: &'e [Expr], slot: usize, ctx: &EvalContext) -> Test<'e> {
        let mut test = Test {
            conjuncts: Vec::new(),
            equals: Vec::new(),
            slot,
            ctx: ctx.quiet(),
        };
        for equal in conjuncts.iter().filter_map(Equal::of) {
            if test.reads(equal.other) && test.knows(equal.other) {
                test.equals.push(equal);
            }
        }
        let told = conjuncts.iter();
        let told = told.filter(|one| test.reads(one) && test.knows(one));
        test.conjuncts = told.collect();
        test
    }

    fn has_column(&self, column_idx: usize) -> bool {
        let mut equals = self.equals.iter();
        equals.any(|equal| equal.column_idx == column_idx)
    }

    /// Whether the value says something about what an expression is.
    fn reads(&self, expr: &Expr) -> bool {
        let mut found = match &expr.kind {
            ExprKind::Column(column_idx) => self.has_column(*column_idx),
            ExprKind::Slot(slot) => slot.idx == self.slot,
            _ => false,
        };
        fold::each_child(expr, &mut |child| found = found || self.reads(child));
        found
    }

    /// Whether an expression can be computed from the value alone, again and again: no function that
    /// waits, locks or counts is called, and none that reads a clock or a file.
    fn knows(&self, expr: &Expr) -> bool {
        let mut all = match &expr.kind {
            ExprKind::Column(column_idx) => self.has_column(*column_idx),
            ExprKind::Slot(slot) => slot.idx == self.slot || self.ctx.known(slot).is_some(),
            ExprKind::InSet { set, .. } | ExprKind::Quantified { set, .. } => {
                self.ctx.known_set(set).is_some()
            }
            ExprKind::Call(function, _) => function.stability == Stability::Constant,
            _ => true,
        };
        fold::each_child(expr, &mut |child| all = all && self.knows(child));
        all
    }

    fn fits(&mut self, value: &Value<'static>) -> bool {
        let stand_in = SlotValue::StandIn(value.clone(), "".into());
        self.ctx.fill(self.slot, stand_in);
        let values = self.equals.iter().map(|equal| equal.value(&self.ctx));
        let Some(values) = values.collect::<Option<Vec<_>>>() else {
            return false;
        };
        let row = EqualRow(values);
        self.conjuncts.iter().all(|conjunct| {
            // What fails may hold.
            let truth = eval::eval_condition(conjunct, &row, &self.ctx);
            truth.map_or(true, |truth| truth == Some(true))
        })
    }
}

impl<'e> Equal<'e> {
    fn of(conjunct: &'e Expr) -> Option<Equal<'e>> {
        let ExprKind::Compare(CompareOp::Equal | CompareOp::NullSafeEqual, a, b) = &conjunct.kind
        else {
            return None;
        };
        let (column_idx, column, other) = match (&a.kind, &b.kind) {
            (ExprKind::Column(column_idx), _) => (*column_idx, a, b),
            (_, ExprKind::Column(column_idx)) => (*column_idx, b, a),
            _ => return None,
        };
        fold::is_statement_constant(other).then_some(Equal {
            column_idx,
            ty: &column.ty,
            other,
        })
    }

    /// The value that the column has then, if it can have it.
    fn value(&self, ctx: &EvalContext) -> Option<(usize, Value<'static>)> {
        let value = eval::eval_exact(self.other, &NoRow, ctx).ok()?;
        let value = samples::as_stored(value.into_owned(), self.ty)?;
        Some((self.column_idx, value))
    }
}

/// A row of which some columns are known.
struct EqualRow(Vec<(usize, Value<'static>)>);

impl Row for EqualRow {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        let found = self.0.iter().find(|(idx, _)| *idx == column_idx);
        let found = found.map(|(_, value)| value.borrow());
        found.ok_or_else(|| Error::unsupported("a column of which nothing is known"))
    }
}
