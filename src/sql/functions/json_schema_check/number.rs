//! What a schema wants of a number.

use serde_json::{Number, Value as Json};

use super::{Case, Checked};
use crate::types::json::compare_json;

pub(super) fn check_number(case: &Case<'_>, number: &Number) -> Checked {
    let bound = |keyword| case.schema.get(keyword).filter(|bound| bound.is_number());
    if let Some(min) = bound("minimum") {
        let order = compare_json(case.value, min);
        if case.is_true("exclusiveMinimum") && order.is_le() {
            return case.fails("exclusiveMinimum");
        }
        if order.is_lt() {
            return case.fails("minimum");
        }
    }
    if let Some(max) = bound("maximum") {
        let order = compare_json(case.value, max);
        if case.is_true("exclusiveMaximum") && order.is_ge() {
            return case.fails("exclusiveMaximum");
        }
        if order.is_gt() {
            return case.fails("maximum");
        }
    }
    match case.schema.get("multipleOf") {
        Some(Json::Number(step)) if !is_multiple(number, step) => case.fails("multipleOf"),
        Some(_) | None => Ok(None),
    }
}

/// Whether a number is a whole multiple of another, which must be above 0: what is not says nothing.
fn is_multiple(number: &Number, step: &Number) -> bool {
    let whole = |number: &Number| {
        let unsigned = number.as_u64().map(i128::from);
        unsigned.or_else(|| number.as_i64().map(i128::from))
    };
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return step <= 0 || number % step == 0;
    }
    let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else {
        return true;
    };
    let quotient = (number / step).abs();
    let nearest = quotient.round();
    // As far off as two roundings bring it: 0.3 is three times 0.1.
    step <= 0.0 || (quotient - nearest).abs() <= (quotient + nearest) * f64::EPSILON
}
