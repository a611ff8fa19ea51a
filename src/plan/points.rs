//! The short way for `k1 IN (…) AND k2 = ? AND …` over the whole key: full keys, nothing else.
//!
//! Hot: runs for each execution of a prepared statement with a list of keys. It encodes each
//! constant once and puts the pieces together; no spans are made, which only EXPLAIN shows. Whatever
//! it does not recognise, too many keys among it, takes the long way through `derive`, with the
//! same keys: `soundness` compares them.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::access::{Access, MultiGet, Request, TablePlan};
use super::cut::KeyParts;
use super::{order, place};
use crate::catalog::{Column, Index, Table};
use crate::codec::key::{Direction, encode_part};
use crate::error::Result;
use crate::kv::Key;
use crate::sql::context::EvalContext;
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::types::Value;

/// The encoded values of one key part, ascending, each once.
type Pieces = Vec<Vec<u8>>;

/// The plan of a filter that is nothing but a list of constants for each key part; with one key
/// or none it leaves the statement to others.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn multi_get(request: &Request<'_>, filter: &Expr) -> Result<Option<TablePlan>> {
    let key = KeyParts::primary(request.table);
    let conjuncts = match &filter.kind {
        ExprKind::And(parts) => parts.as_slice(),
        _ => std::slice::from_ref(filter),
    };
    // The values of a spread key's parts go together.
    if conjuncts.len() != key.count() || request.table.spread().is_some() {
        return Ok(None);
    }
    let mut dimensions = Vec::with_capacity(key.count());
    for part in key.parts {
        let Some(column) = key.columns.get(part.column_idx) else {
            return Ok(None);
        };
        let constants = conjuncts
            .iter()
            .find_map(|conjunct| constants(conjunct, part.column_idx));
        let Some(constants) = constants else {
            return Ok(None);
        };
        match pieces(constants, (column, part.direction), request.ctx)? {
            Some(pieces) => dimensions.push(pieces),
            None => return Ok(None),
        }
    }
    // As many conjuncts as parts, and one for each part: no conjunct is left over.
    let count = dimensions.iter().try_fold(1_u64, |product, pieces| {
        product.checked_mul(u64::try_from(pieces.len()).ok()?)
    });
    let is_few = count.is_some_and(|count| 1 < count && count <= request.policy.multi_get_max_rows);
    Ok(is_few.then(|| plan(request, dimensions)))
}

fn plan(request: &Request<'_>, dimensions: Vec<Pieces>) -> TablePlan {
    let key = KeyParts::primary(request.table);
    let fixed: Vec<usize> = key
        .parts
        .iter()
        .zip(&dimensions)
        .filter(|(_, pieces)| pieces.len() == 1)
        .map(|(part, _)| part.column_idx)
        .collect();
    let order = order::of(request, key, &fixed);
    let wanted = request
        .limit
        .filter(|_| request.grouping.is_none() && order.ordered);
    TablePlan {
        access: Access::MultiGet(MultiGet {
            keys: product(dimensions),
            spans: Vec::new(),
        }),
        reverse: order.reverse,
        order_part: order.part,
        fan_out: None,
        residual: None,
        ordered: order.ordered,
        grouped_in_order: order.grouped,
        rows_wanted: wanted.map(|limit| limit.saturating_add(request.offset)),
        parts_used: key.count(),
        refusal: None,
        doubt: None,
        verdicts: Vec::new(),
    }
}

impl TablePlan {
    /// The rows under keys that were found before, in their order.
    pub fn of_found(keys: Vec<Key>, filter: Option<Expr>, ordered: bool) -> TablePlan {
        let spans = Vec::new();
        TablePlan {
            residual: filter,
            ordered,
            grouped_in_order: false,
            ..TablePlan::at_once(Access::MultiGet(MultiGet { keys, spans }), Vec::new())
        }
    }
}

/// Every combination of the pieces: ascending, as encodings of parts do not run into each other.
fn product(dimensions: Vec<Pieces>) -> Vec<Key> {
    let mut dimensions = dimensions.into_iter();
    let mut keys = dimensions.next().unwrap_or_default();
    for pieces in dimensions {
        let longer = keys.iter().flat_map(|prefix| {
            let longer = pieces.iter();
            longer.map(|piece| [prefix.as_slice(), piece.as_slice()].concat())
        });
        keys = longer.collect();
    }
    keys
}

/// The constants of `column = constant` and `column IN (constants)`.
fn constants(conjunct: &Expr, column_idx: usize) -> Option<&[Expr]> {
    let is_column = |expr: &Expr| matches!(expr.kind, ExprKind::Column(idx) if idx == column_idx);
    match &conjunct.kind {
        ExprKind::InList {
            expr,
            list,
            negated: false,
        } if is_column(expr) => Some(list),
        ExprKind::Compare(CompareOp::Equal, a, b) if is_column(a) => Some(std::slice::from_ref(b)),
        ExprKind::Compare(CompareOp::Equal, a, b) if is_column(b) => Some(std::slice::from_ref(a)),
        _ => None,
    }
}

/// The constants as parts of keys; `None` when one is no plain constant or no value of the column.
fn pieces(
    constants: &[Expr],
    (column, direction): (&Column, Direction),
    ctx: &EvalContext,
) -> Result<Option<Pieces>> {
    let mut pieces = Vec::with_capacity(constants.len());
    for constant in constants {
        let value = constant_value(constant, ctx);
        let value = value.and_then(|value| place::exact_value(value, &column.ty, ctx));
        let Some(value) = value else {
            return Ok(None);
        };
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        encode_part(&mut piece, &value, &column.ty, direction)?;
        pieces.push(piece);
    }
    pieces.sort_unstable();
    pieces.dedup();
    Ok(Some(pieces))
}

/// Room for an encoded number, date or short text without growing.
const PIECE_BYTES: usize = 16;

fn constant_value<'a>(expr: &'a Expr, ctx: &'a EvalContext) -> Option<&'a Value<'static>> {
    match &expr.kind {
        ExprKind::Literal(value) => Some(value),
        ExprKind::Parameter(position) => ctx.parameters.get(*position),
        ExprKind::Slot(slot) => ctx.known(slot),
        _ => None,
    }
}

/// Whether a unique index has columns of the primary key alone: it may find one row where the key
/// finds many.
pub(super) fn has_index_within_key(table: &Table) -> bool {
    let within = |index: &Index| {
        let mut parts = index.parts.iter();
        index.unique
            && index.computed.filter.is_none()
            && parts.all(|part| table.key_position(part.column_idx).is_some())
    };
    table.indexes.iter().any(within)
}
