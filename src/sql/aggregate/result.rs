//! The types of aggregates, from the types of their arguments.

use crate::sql::bound::AggregateKind;
use crate::sql::eval::typing::{DIVIDE_SCALE, Numeric, decimal, is_binary};
use crate::sql::expr::Expr;
use crate::types::ColumnType;
use crate::types::column_type::LobSize;

/// Digits that `SUM` adds before the point.
const SUM_DIGITS: u8 = 22;

/// The type of an aggregate.
pub fn aggregate_type(kind: AggregateKind, args: &[Expr]) -> ColumnType {
    let first = args.first();
    let first_ty = first.map_or(ColumnType::Null, |arg| arg.ty.clone());
    let digits = first.and_then(|arg| Numeric::of_expr(arg).digits());
    match (kind, digits) {
        (AggregateKind::Count, _) => ColumnType::BIGINT,
        // The least and the largest label are texts.
        (AggregateKind::Min | AggregateKind::Max, _) if matches!(first_ty, ColumnType::Enum(_)) => {
            ColumnType::VARCHAR
        }
        (AggregateKind::Min | AggregateKind::Max | AggregateKind::AnyValue, _) => first_ty,
        (AggregateKind::GroupConcat, _) if args.iter().any(|arg| is_binary(&arg.ty)) => {
            ColumnType::Blob(LobSize::Long)
        }
        (AggregateKind::GroupConcat, _) => ColumnType::Text(LobSize::Long),
        (AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor, _) => {
            ColumnType::BIGINT_UNSIGNED
        }
        (AggregateKind::JsonArray | AggregateKind::JsonObject, _) => ColumnType::Json,
        (AggregateKind::Sum | AggregateKind::Avg, None)
        | (
            AggregateKind::StddevPop
            | AggregateKind::StddevSamp
            | AggregateKind::VarPop
            | AggregateKind::VarSamp,
            _,
        ) => ColumnType::Double,
        (AggregateKind::Sum, Some((integer, scale))) => {
            decimal(integer.saturating_add(SUM_DIGITS), scale)
        }
        (AggregateKind::Avg, Some((integer, scale))) => decimal(integer, scale + DIVIDE_SCALE),
    }
}
