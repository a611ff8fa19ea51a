//! The outputs of a row: evaluated and handed on. Hot.

use crate::error::Result;
use crate::sql::bound::Output;
use crate::sql::context::EvalContext;
use crate::sql::eval::eval;
use crate::sql::expr::{ExprKind, Row};
use crate::types::{ColumnType, Value};

/// Outputs kept on the stack; wider rows take an allocation each.
const STACK_OUTPUTS: usize = 16;

/// Outputs of a narrow row, whose place on the stack costs less to prepare.
const FEW_OUTPUTS: usize = 4;

/// Evaluates the outputs over `row` and hands them on.
pub(super) fn with_outputs(
    outputs: &[Output],
    row: &dyn Row,
    ctx: &EvalContext,
    take: impl FnOnce(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    if outputs.len() <= FEW_OUTPUTS {
        return with_stack_outputs::<FEW_OUTPUTS>(outputs, row, ctx, take);
    }
    if outputs.len() <= STACK_OUTPUTS {
        return with_stack_outputs::<STACK_OUTPUTS>(outputs, row, ctx, take);
    }
    let mut values = Vec::with_capacity(outputs.len());
    for output in outputs {
        values.push(value(output, row, ctx)?);
    }
    take(&values)
}

fn with_stack_outputs<const MOST: usize>(
    outputs: &[Output],
    row: &dyn Row,
    ctx: &EvalContext,
    take: impl FnOnce(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    let mut values: [Value<'_>; MOST] = [const { Value::Null }; MOST];
    for (slot, output) in values.iter_mut().zip(outputs) {
        *slot = value(output, row, ctx)?;
    }
    take(values.get(..outputs.len()).unwrap_or_default())
}

/// The value of an output. Most are columns, whose values [`eval`] leaves as they are, but for decimals.
#[inline]
fn value<'v>(output: &'v Output, row: &'v dyn Row, ctx: &'v EvalContext) -> Result<Value<'v>> {
    if let ExprKind::Column(idx) = output.expr.kind
        && !matches!(output.expr.ty, ColumnType::Decimal { .. })
    {
        return row.column(idx);
    }
    eval(&output.expr, row, ctx)
}

/// The outputs of a row with their types.
pub(super) fn typed<'a, 'v>(
    outputs: &'a [Output],
    values: &'a [Value<'v>],
) -> impl Iterator<Item = (&'a Value<'v>, &'a ColumnType)> {
    values
        .iter()
        .zip(outputs.iter().map(|output| &output.expr.ty))
}
