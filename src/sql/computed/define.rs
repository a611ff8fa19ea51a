//! From the expressions of a CREATE INDEX to their stored text, with MySQL's checks.
//!
//! The stored text is the server's own spelling of the bound expression. It is read back at once,
//! and refused should it not mean the same: a definition that is stored can be read.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use std::sync::Arc;

use super::{CONTEXT, bound_text, check};
use crate::catalog::describe::quoted;
use crate::catalog::{ComputedPart, PartSource, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::bind::same::same;
use crate::sql::bind::{self, Names};
use crate::sql::context::EvalContext;
use crate::sql::eval::{self, fold, print};
use crate::sql::expr::{BinaryOp, CastType, Expr, ExprKind};
use crate::types::ColumnType;

/// Digits after the point of a DECIMAL that has as many as there can be: some may be missing.
const SCALE_MAX: u8 = 30;

/// Bytes of one expression of an index, or of its condition, as they are stored.
pub const INDEX_EXPRESSION_BYTES_MAX: usize = 64 << 10;

/// Characters of an expression that a refusal quotes.
const EXPRESSION_CHARS_SHOWN: usize = 200;

/// The computed part that an expression is.
///
/// # Errors
/// 3762 for a bare column, 3758 for what is not the same for every session, 3753 for JSON, 1235 for
/// other types without order, 3761 for one that is too long, those of binding.
pub fn part(
    (table, index_name): (&Arc<Table>, &str),
    expr: &ast::Expr,
    ctx: &EvalContext,
) -> Result<ComputedPart> {
    let expr = bound(table, expr, ctx)?;
    if let ExprKind::Column(_) = expr.kind {
        let text = "Functional index on a column is not supported. Consider using a regular index \
                    instead: write the column without the second pair of parentheses";
        return Err(Error::new(Code::ExpressionIndexOnColumn, text));
    }
    if eval::is_constant(&expr) {
        let text = format!("The expression of index '{index_name}' names no column of the table");
        return Err(Error::new(Code::WrongExpressionIndex, text));
    }
    check_stable(&expr, index_name)?;
    let ty = stored_type(&expr)?;
    let text = text((table, index_name), &expr)?;
    let name = text.clone();
    Ok(ComputedPart::new(
        PartSource::Expression(text),
        (&name, ty, true),
    ))
}

/// The stored text of the condition of a partial index.
///
/// # Errors
/// 3758 for what is not the same for every session, 3761 for one that is too long, those of binding.
pub fn filter(
    (table, index_name): (&Arc<Table>, &str),
    expr: &ast::Expr,
    ctx: &EvalContext,
) -> Result<String> {
    let expr = bound(table, expr, ctx)?;
    check_stable(&expr, index_name)?;
    text((table, index_name), &expr)
}

fn bound(table: &Arc<Table>, expr: &ast::Expr, ctx: &EvalContext) -> Result<Expr> {
    let names = Names {
        mode: ctx.mode,
        facts: ctx.facts.as_ref(),
        ..super::names()
    };
    bind::condition(expr, table, &names)
}

fn check_stable(expr: &Expr, index_name: &str) -> Result<()> {
    match check::obstacle(expr) {
        None => Ok(()),
        Some(obstacle) => {
            let text = format!(
                "Expression of expression index '{index_name}' contains a disallowed function: \
                 {obstacle}. An index may use only what has the same value for every session and \
                 at any time"
            );
            Err(Error::new(Code::ExpressionIndexFunction, text))
        }
    }
}

/// The type that values of the expression are stored with: the length of texts is bounded by the
/// limits of keys alone.
fn stored_type(expr: &Expr) -> Result<ColumnType> {
    let ty = &expr.ty;
    if ty.is_text() {
        return Ok(ColumnType::VARCHAR);
    }
    if ty.is_binary() {
        return Ok(ColumnType::Varbinary { bytes_max: None });
    }
    match ty {
        ColumnType::Json => {
            let text = "Cannot create an expression index on a function that returns a JSON or \
                        GEOMETRY value: use ->> or CAST(… AS CHAR(n))";
            Err(Error::new(Code::ExpressionIndexOnJson, text))
        }
        ColumnType::Decimal { scale, .. } if !is_exact(expr) || SCALE_MAX <= *scale => {
            Err(Error::unsupported(
                "an index on a quotient, which has more digits than its type: CAST it AS DECIMAL",
            ))
        }
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Enum(_)
        | ColumnType::Timestamp { .. } => Err(Error::unsupported(
            "an index on an expression of this type: CAST it",
        )),
        ColumnType::Boolean
        | ColumnType::Int { .. }
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Year => Ok(ty.clone()),
        // Texts and binary strings are above.
        ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_)
        | ColumnType::Binary { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Blob(_) => Ok(ColumnType::VARCHAR),
    }
}

/// Whether the value has no more digits than its type says: no quotient is in it.
fn is_exact(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Cast(_, CastType::Decimal { .. }) => return true,
        ExprKind::Binary(BinaryOp::Divide, ..) => return false,
        _ => {}
    }
    let mut exact = true;
    fold::each_child(expr, &mut |child| exact &= is_exact(child));
    exact
}

/// The text of an expression, which read again is the same.
fn text((table, index_name): (&Arc<Table>, &str), expr: &Expr) -> Result<String> {
    let name = |column_idx: usize| {
        let column = table.columns.get(column_idx);
        column.map_or(String::new(), |column| quoted(&column.name))
    };
    let text = print::text_with(expr, &name);
    if INDEX_EXPRESSION_BYTES_MAX < text.len() {
        let text = format!(
            "Expression of index '{index_name}' is too long: {} bytes (max = \
             {INDEX_EXPRESSION_BYTES_MAX})",
            text.len()
        );
        return Err(Error::new(Code::WrongExpressionIndex, text));
    }
    let folded = |expr: Expr| fold(expr, &CONTEXT);
    match bound_text(&text, table).and_then(folded) {
        Ok(again) if same(&again, &folded(expr.clone())?) && again.ty == expr.ty => Ok(text),
        Ok(_) | Err(_) => {
            let shown: String = text.chars().take(EXPRESSION_CHARS_SHOWN).collect();
            Err(Error::unsupported(format!(
                "an index on {shown}: it reads otherwise under the default sql_mode, or nests too \
                 deep"
            )))
        }
    }
}
