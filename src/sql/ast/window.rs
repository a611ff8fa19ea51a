//! Windows, as they are written.

use super::{Expr, OrderItem};
use crate::sql::expr::IntervalUnit;

/// What stands behind `OVER`.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// `OVER w`.
    Name(String),
    /// `OVER (…)`.
    Spec(WindowSpec),
}

/// `w AS (…)` of `WINDOW`.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    /// Its name.
    pub name: String,
    /// What it is.
    pub spec: WindowSpec,
}

/// `([w] [PARTITION BY …] [ORDER BY …] [frame])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// The window that it goes on from.
    pub base: Option<String>,
    /// `PARTITION BY`.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `ROWS …`, `RANGE …`.
    pub frame: Option<Frame>,
}

/// `ROWS BETWEEN start AND end`.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What distances count.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends; `CURRENT ROW` when there is no `BETWEEN`.
    pub end: FrameBound,
}

/// What the distances of a frame count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// `ROWS`.
    Rows,
    /// `RANGE`: values of `ORDER BY`.
    Range,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(Distance),
    /// `CURRENT ROW`.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(Distance),
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
}

/// `n`, `INTERVAL n unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// How many.
    pub amount: Expr,
    /// Of what, behind `INTERVAL`.
    pub unit: Option<IntervalUnit>,
}
