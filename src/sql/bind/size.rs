//! How large an expression may become when queries are merged: each text is bounded when it is parsed,
//! but what is put into one another is not.

use crate::sql::eval::fold;
use crate::sql::expr::Expr;
use crate::sql::parse::HEIGHT_MAX;

/// Parts of an expression.
const PARTS_MAX: usize = 10_000;

/// Whether an expression is no higher than one text may be, and has no more than [`PARTS_MAX`] parts.
pub(super) fn is_fit(expr: &Expr) -> bool {
    let mut parts_left = PARTS_MAX;
    fits(expr, HEIGHT_MAX, &mut parts_left)
}

fn fits(expr: &Expr, height_left: u32, parts_left: &mut usize) -> bool {
    let (Some(height_left), Some(left)) = (height_left.checked_sub(1), parts_left.checked_sub(1))
    else {
        return false;
    };
    *parts_left = left;
    let mut fit = true;
    fold::each_child(expr, &mut |child| {
        fit = fit && fits(child, height_left, parts_left);
    });
    fit
}
