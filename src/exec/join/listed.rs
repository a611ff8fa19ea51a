//! The rows of a table that the server makes up (`information_schema` and its like).
//!
//! They are made when the source is opened, as far as the conditions on it want them: a text that a
//! column must equal is known before, and whoever makes the rows leaves the others out.

use super::rows::Frame;
use super::shape::{Batch, Piece, Shape, piece_bytes};
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::plan::derive::shape::conjuncts;
use crate::sql::context::EvalContext;
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::sql::listed::{Asked, Listed};
use crate::types::Value;

/// Rows that are handed on at once.
const BATCH_ROWS: usize = 1024;

/// The rows, made and not yet handed on.
pub(super) struct ListedRows {
    waiting: std::vec::IntoIter<Piece>,
    /// What they take of the statement's memory.
    _held: Budget,
}

impl ListedRows {
    /// Makes the rows of a source. `filter` is over the row of the join and reads nothing but it.
    ///
    /// # Errors
    /// 1038 when they do not fit; 1317 and its like.
    pub(super) fn open(
        listed: &Listed,
        (source_idx, filter): (usize, Option<&Expr>),
        frame: &Frame<'_>,
    ) -> Result<ListedRows> {
        let source = frame.shape.joined.sources.get(source_idx);
        let first_column = source.map_or(0, |source| source.first_column);
        let only = match filter {
            Some(filter) => wanted_texts(filter, first_column, frame.ctx)?,
            None => Vec::new(),
        };
        let used = frame.shape.used_columns.get(source_idx);
        let asked = Asked {
            columns: used.map_or(&[], Vec::as_slice),
            only: &only,
        };
        let mut held = frame.nest.memory.budget("rows of a system table");
        let mut pieces: Vec<Piece> = Vec::new();
        listed.rows.list(&asked, &mut |values| {
            // A row may be dear: of one that counts rows, data is read.
            frame.nest.cancel.check()?;
            let piece: Piece = values.into();
            held.take(piece_bytes(&piece))?;
            pieces.push(piece);
            Ok(())
        })?;
        Ok(ListedRows {
            waiting: pieces.into_iter(),
            _held: held,
        })
    }

    /// The next rows; `None` when there are no more.
    pub(super) fn next(&mut self, (source_idx, shape): (usize, &Shape)) -> Option<Batch> {
        let pieces = self.waiting.by_ref().take(BATCH_ROWS);
        let batch: Batch = pieces
            .map(|piece| shape.row_with(source_idx, piece))
            .collect();
        (!batch.is_empty()).then_some(batch)
    }
}

/// The texts that columns must equal: `a = 'x'`, `a IN ('x', 'y')`.
fn wanted_texts(
    filter: &Expr,
    first_column: usize,
    ctx: &EvalContext,
) -> Result<Vec<(usize, Vec<String>)>> {
    let mut wanted = Vec::new();
    for conjunct in conjuncts(filter, ctx)? {
        wanted.extend(texts_of(&conjunct, first_column));
    }
    Ok(wanted)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other shape of condition names texts"
)]
fn texts_of(condition: &Expr, first_column: usize) -> Option<(usize, Vec<String>)> {
    let (column, texts) = match &condition.kind {
        ExprKind::Compare(CompareOp::Equal, left, right) => match (text(left), text(right)) {
            (None, Some(text)) => (left, vec![text]),
            (Some(text), None) => (right, vec![text]),
            _ => return None,
        },
        ExprKind::InList {
            expr,
            list,
            negated: false,
        } => (expr, list.iter().map(text).collect::<Option<Vec<_>>>()?),
        _ => return None,
    };
    match column.kind {
        ExprKind::Column(idx) if column.ty.is_text() => {
            Some((idx.checked_sub(first_column)?, texts))
        }
        _ => None,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a comparison with anything else may be no comparison of texts"
)]
fn text(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Literal(Value::Text(text)) => Some(text.clone().into_owned()),
        _ => None,
    }
}
