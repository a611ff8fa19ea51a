//! Frames of windows: which rows around a row a window function is about.
//!
//! A distance of `RANGE` becomes the value that the rows are compared with. Source: MySQL 8.0
//! manual, "Window Function Frame Specification".

use super::literal;
use super::scope::Scope;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, Distance, FrameUnit};
use crate::sql::bound::{Frame, FrameBound, OrderBy};
use crate::sql::eval::{fold, typing};
use crate::sql::expr::{BinaryOp, CastType, Expr, ExprKind, IntervalUnit};
use crate::types::{ColumnType, Value};

/// Digits of the widest integer.
const INTEGER_DIGITS: u8 = 20;

impl Scope<'_> {
    /// The frame of a window of that name.
    ///
    /// # Errors
    /// 3584 to 3590, 3596.
    pub(super) fn frame(
        &mut self,
        name: &str,
        frame: Option<&ast::Frame>,
        order_by: &[OrderBy],
    ) -> Result<Frame> {
        let Some(frame) = frame else {
            let end = match order_by {
                [] => FrameBound::Unbounded,
                [..] => FrameBound::Peers,
            };
            let start = FrameBound::Unbounded;
            return Ok(Frame { start, end });
        };
        check_ends(name, frame)?;
        let about = (name, frame.unit, order_by);
        Ok(Frame {
            start: self.frame_bound(&frame.start, about)?,
            end: self.frame_bound(&frame.end, about)?,
        })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::FrameBound,
        about: (&str, FrameUnit, &[OrderBy]),
    ) -> Result<FrameBound> {
        let (name, unit, order_by) = about;
        match (bound, unit) {
            (ast::FrameBound::UnboundedPreceding | ast::FrameBound::UnboundedFollowing, _) => {
                Ok(FrameBound::Unbounded)
            }
            (ast::FrameBound::CurrentRow, FrameUnit::Rows) => Ok(FrameBound::CurrentRow),
            (ast::FrameBound::CurrentRow, FrameUnit::Range) => Ok(FrameBound::Peers),
            (ast::FrameBound::Preceding(distance), FrameUnit::Rows) => {
                Ok(FrameBound::RowsBefore(self.rows_distance(name, distance)?))
            }
            (ast::FrameBound::Following(distance), FrameUnit::Rows) => {
                Ok(FrameBound::RowsBehind(self.rows_distance(name, distance)?))
            }
            (ast::FrameBound::Preceding(distance), FrameUnit::Range) => {
                let moved = self.moved(name, distance, (order_by, true))?;
                Ok(FrameBound::Value(moved))
            }
            (ast::FrameBound::Following(distance), FrameUnit::Range) => {
                let moved = self.moved(name, distance, (order_by, false))?;
                Ok(FrameBound::Value(moved))
            }
        }
    }

    /// A number of rows.
    fn rows_distance(&mut self, name: &str, distance: &Distance) -> Result<Expr> {
        if distance.unit.is_some() {
            return Err(Error::new(
                Code::RowsInterval,
                format!("Window '{name}': INTERVAL can only be used with RANGE frames."),
            ));
        }
        match &distance.amount {
            ast::Expr::Parameter(position) => {
                Ok(self.parameter(*position, ColumnType::BIGINT_UNSIGNED))
            }
            ast::Expr::Literal(number @ ast::Literal::Int(_)) => {
                literal::literal(number, self.names.mode)
            }
            _ => Err(illegal(name)),
        }
    }

    /// The value that is so far from the row's own.
    fn moved(
        &mut self,
        name: &str,
        distance: &Distance,
        (order_by, is_before): (&[OrderBy], bool),
    ) -> Result<Expr> {
        let [key] = order_by else {
            return Err(range_order(name));
        };
        let is_less = is_before != key.descending;
        match (&key.expr.ty, distance.unit) {
            (
                ColumnType::Date
                | ColumnType::Datetime { .. }
                | ColumnType::Timestamp { .. }
                | ColumnType::Time { .. },
                Some(unit),
            ) => self.moved_in_time(name, &key.expr, (&distance.amount, unit, is_less)),
            (
                ColumnType::Date
                | ColumnType::Datetime { .. }
                | ColumnType::Timestamp { .. }
                | ColumnType::Time { .. },
                None,
            ) => Err(Error::new(
                Code::RangeTemporal,
                format!(
                    "Window '{name}' with RANGE frame has ORDER BY expression of datetime type. \
                     Only INTERVAL bound value allowed."
                ),
            )),
            (ty, unit) if ty.is_numeric() || *ty == ColumnType::Year => match unit {
                None => self.moved_number(&key.expr, &distance.amount, is_less),
                Some(_) => Err(Error::new(
                    Code::RangeNumeric,
                    format!(
                        "Window '{name}' with RANGE frame has ORDER BY expression of numeric type, \
                         INTERVAL bound value not allowed."
                    ),
                )),
            },
            _ => Err(range_order(name)),
        }
    }

    fn moved_in_time(
        &mut self,
        name: &str,
        key: &Expr,
        (amount, unit, is_less): (&ast::Expr, IntervalUnit, bool),
    ) -> Result<Expr> {
        let amount = self.value(amount)?;
        if !fold::is_statement_constant(&amount) {
            return Err(Error::new(
                Code::RangeNotConstant,
                format!("Window '{name}' has a non-constant frame bound."),
            ));
        }
        let is_no_distance = match &amount.kind {
            ExprKind::Literal(Value::Int(amount)) => *amount < 0,
            ExprKind::Literal(Value::Null) => true,
            _ => false,
        };
        if is_no_distance {
            return Err(illegal(name));
        }
        Ok(Expr {
            ty: typing::date_shift_type(key, &amount, unit),
            nullable: true,
            kind: ExprKind::DateShift {
                date: Box::new(key.clone()),
                amount: Box::new(amount),
                unit,
                negated: is_less,
            },
        })
    }

    /// Whole numbers are counted as DECIMAL, so that none is out of range.
    fn moved_number(&mut self, key: &Expr, amount: &ast::Expr, is_less: bool) -> Result<Expr> {
        let target = CastType::Decimal {
            precision: INTEGER_DIGITS,
            scale: 0,
        };
        let is_whole = key.ty.is_integer() || key.ty == ColumnType::Year;
        let key = if is_whole {
            Expr {
                ty: typing::cast_type(&target),
                nullable: key.nullable,
                kind: ExprKind::Cast(Box::new(key.clone()), target),
            }
        } else {
            key.clone()
        };
        let amount = match amount {
            ast::Expr::Parameter(position) => self.parameter(*position, key.ty.clone()),
            amount => self.value(amount)?,
        };
        let op = if is_less {
            BinaryOp::Subtract
        } else {
            BinaryOp::Add
        };
        Ok(Expr {
            ty: typing::binary_type(op, &key, &amount),
            nullable: key.nullable,
            kind: ExprKind::Binary(op, Box::new(key), Box::new(amount)),
        })
    }
}

/// # Errors
/// 3584 to 3586.
fn check_ends(name: &str, frame: &ast::Frame) -> Result<()> {
    if frame.start == ast::FrameBound::UnboundedFollowing {
        return Err(Error::new(
            Code::FrameStart,
            format!("Window '{name}': frame start cannot be UNBOUNDED FOLLOWING."),
        ));
    }
    if frame.end == ast::FrameBound::UnboundedPreceding {
        return Err(Error::new(
            Code::FrameEnd,
            format!("Window '{name}': frame end cannot be UNBOUNDED PRECEDING."),
        ));
    }
    if place(&frame.end) < place(&frame.start) {
        return Err(illegal(name));
    }
    Ok(())
}

/// Which of two ends comes first, as far as their words tell.
fn place(bound: &ast::FrameBound) -> u8 {
    match bound {
        ast::FrameBound::UnboundedPreceding => 0,
        ast::FrameBound::Preceding(_) => 1,
        ast::FrameBound::CurrentRow => 2,
        ast::FrameBound::Following(_) => 3,
        ast::FrameBound::UnboundedFollowing => 4,
    }
}

fn illegal(name: &str) -> Error {
    Error::new(
        Code::FrameBounds,
        format!("Window '{name}': frame start or end is negative, NULL or of non-integral type"),
    )
}

fn range_order(name: &str) -> Error {
    Error::new(
        Code::RangeOrder,
        format!(
            "Window '{name}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY \
             expression, of numeric or temporal type"
        ),
    )
}
