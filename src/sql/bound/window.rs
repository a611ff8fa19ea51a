//! Window functions: what is computed of a row from the rows around it.
//!
//! ```text
//!   row that HAVING sees --inputs--> windowed row: values of functions, then inputs
//! ```
//! Whatever does not depend on a window function is computed first, as an input; select list and
//! ORDER BY are then over the windowed row.

use super::{Aggregate, OrderBy};
use crate::sql::expr::Expr;
use crate::types::ColumnType;

/// The windows of a query and what they are computed from.
#[derive(Debug, Clone)]
pub struct Windowing {
    /// How many functions there are: their values are the first of the windowed row.
    pub functions_count: usize,
    /// The other columns of the windowed row, over the row that HAVING sees.
    pub inputs: Vec<Expr>,
    /// The windows; all rows go through one after the other.
    pub windows: Vec<Window>,
}

/// Functions over one order of the rows.
#[derive(Debug, Clone)]
pub struct Window {
    /// `PARTITION BY`, over the windowed row.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`, over the windowed row.
    pub order_by: Vec<OrderBy>,
    /// What is computed.
    pub functions: Vec<WindowFunction>,
}

/// One window function.
#[derive(Debug, Clone)]
pub struct WindowFunction {
    /// Where its value goes in the windowed row.
    pub position: usize,
    /// Which.
    pub kind: WindowKind,
    /// Its arguments, over the windowed row; those of an aggregate are with the aggregate.
    pub args: Vec<Expr>,
    /// The rows it is about, for those that have a frame.
    pub frame: Frame,
    /// The type of the result.
    pub ty: ColumnType,
}

/// The window functions.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each is the SQL function of the same name")]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    /// An aggregate over the frame.
    Aggregate(Box<Aggregate>),
}

/// From where to where a function looks.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
}

/// One end of a [`Frame`].
#[derive(Debug, Clone)]
pub enum FrameBound {
    /// The end of the partition on that side.
    Unbounded,
    /// So many rows before.
    RowsBefore(Expr),
    /// The row itself.
    CurrentRow,
    /// The rows that are equal in order.
    Peers,
    /// So many rows behind.
    RowsBehind(Expr),
    /// The rows up to this value of the only `ORDER BY`: a column of the windowed row.
    Value(Expr),
}

impl WindowKind {
    /// The name, as SQL writes it; `None` for an aggregate.
    pub fn name(&self) -> Option<&'static str> {
        Some(match self {
            WindowKind::RowNumber => "ROW_NUMBER",
            WindowKind::Rank => "RANK",
            WindowKind::DenseRank => "DENSE_RANK",
            WindowKind::PercentRank => "PERCENT_RANK",
            WindowKind::CumeDist => "CUME_DIST",
            WindowKind::Ntile => "NTILE",
            WindowKind::Lag => "LAG",
            WindowKind::Lead => "LEAD",
            WindowKind::FirstValue => "FIRST_VALUE",
            WindowKind::LastValue => "LAST_VALUE",
            WindowKind::NthValue => "NTH_VALUE",
            WindowKind::Aggregate(_) => return None,
        })
    }
}
