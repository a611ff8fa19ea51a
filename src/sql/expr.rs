//! Bound expressions: names are positions, functions are entries of the registry, types are known.

use std::sync::Arc;

use crate::types::{ColumnType, Value};

/// An expression with its type.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The type of its result.
    pub ty: ColumnType,
    /// Whether the result can be `NULL`.
    pub nullable: bool,
}

impl Expr {
    /// Whether it is the column at a position of the input row, and nothing else.
    pub fn is_column(&self, column_idx: usize) -> bool {
        matches!(self.kind, ExprKind::Column(idx) if idx == column_idx)
    }
}

/// What an [`Expr`] computes.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A constant.
    Literal(Value<'static>),
    /// The value at this position of the input row. For a table row: the position in
    /// `Table::columns`. After aggregation: group keys first, aggregates after them. In
    /// `ON DUPLICATE KEY UPDATE`: the existing row's columns, then the proposed row's.
    Column(usize),
    /// The n-th `?` of a prepared statement, from 0.
    Parameter(usize),
    /// A value that is worked out before the row is looked at: a column of an enclosing query, or the
    /// answer of a subquery.
    Slot(Slot),
    /// `@name`.
    UserVariable(String),
    /// `@@name`, `@@session.name`, `@@global.name`.
    SystemVariable {
        /// Which value is asked for.
        scope: VariableScope,
        /// The name, lower case.
        name: String,
    },
    /// `-x`, `~x`.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic and bit operators.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Comparison of two values, or of two rows ([`ExprKind::Row`]) of one length.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `a AND b AND …`, flattened, at least two.
    And(Vec<Expr>),
    /// `a OR b OR …`, flattened, at least two.
    Or(Vec<Expr>),
    /// `a XOR b`.
    Xor(Box<Expr>, Box<Expr>),
    /// `NOT a`.
    Not(Box<Expr>),
    /// `a IS [NOT] NULL`.
    IsNull {
        /// The operand.
        expr: Box<Expr>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a IS [NOT] TRUE`, `FALSE`, `UNKNOWN` (`None`).
    IsTruth {
        /// The operand.
        expr: Box<Expr>,
        /// What it is compared with.
        truth: Option<bool>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a [NOT] IN (b, c, …)`; `a` and the members may be rows.
    InList {
        /// The operand.
        expr: Box<Expr>,
        /// The members, at least one.
        list: Vec<Expr>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a [NOT] IN (SELECT …)`; `a` may be a row.
    InSet {
        /// The operand.
        expr: Box<Expr>,
        /// Where the subquery's rows are.
        set: Slot,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a op ANY (SELECT …)`, `a op ALL (SELECT …)`.
    Quantified {
        /// The operand.
        expr: Box<Expr>,
        /// The comparison.
        op: CompareOp,
        /// Whether it must hold for all rows, not for any.
        all: bool,
        /// Where the subquery's rows are.
        set: Slot,
    },
    /// `a [NOT] BETWEEN low AND high`.
    Between {
        /// The operand.
        expr: Box<Expr>,
        /// The least value.
        low: Box<Expr>,
        /// The greatest value.
        high: Box<Expr>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character; `None` when switched off by `ESCAPE ''`.
        escape: Option<char>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a [NOT] REGEXP pattern`.
    Regexp {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`.
    Case {
        /// The value each condition is compared with; `None` for a searched CASE.
        operand: Option<Box<Expr>>,
        /// Condition and result, at least one.
        branches: Vec<(Expr, Expr)>,
        /// The result when no condition holds; `NULL` when absent.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(a AS type)`, `CONVERT(a, type)`, `BINARY a`.
    Cast(Box<Expr>, CastType),
    /// `date ± INTERVAL amount unit`, `DATE_ADD`, `DATE_SUB`.
    DateShift {
        /// The date.
        date: Box<Expr>,
        /// How much.
        amount: Box<Expr>,
        /// Of what.
        unit: IntervalUnit,
        /// Whether it is subtracted.
        negated: bool,
    },
    /// A function of the registry.
    Call(&'static super::functions::Function, Vec<Expr>),
    /// `(a, b, …)`: only as an operand of [`ExprKind::Compare`] and [`ExprKind::InList`].
    Row(Vec<Expr>),
}

/// A place among the slots of a statement (see [`crate::sql::context::SlotValue`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its number in the statement.
    pub idx: usize,
    /// Whether its value may change from one row of the query to the next; if not, it is known before
    /// the query is planned.
    pub per_row: bool,
    /// What stands for it in EXPLAIN: the outer column's name, or which subquery it is.
    pub text: Arc<str>,
    /// Whether it is a column of a query around this one, as it is stored.
    pub is_column: bool,
    /// The digits after the point of a `DOUBLE`, where the subquery fixes them.
    pub decimals: Option<u8>,
}

/// Which value of a system variable is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableScope {
    /// `@@x`: the session's if it has one, else the server's.
    Any,
    /// `@@session.x`, `@@local.x`.
    Session,
    /// `@@global.x`.
    Global,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-a`.
    Negate,
    /// `~a`.
    BitNot,
}

/// Arithmetic and bit operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `DIV`.
    IntegerDivide,
    /// `%`, `MOD`.
    Modulo,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
}

impl BinaryOp {
    /// The operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::IntegerDivide => "DIV",
            BinaryOp::Modulo => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
        }
    }
}

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`.
    Equal,
    /// `<=>`: never `NULL`.
    NullSafeEqual,
    /// `<>`, `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl CompareOp {
    /// The operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Equal => "=",
            CompareOp::NullSafeEqual => "<=>",
            CompareOp::NotEqual => "<>",
            CompareOp::Less => "<",
            CompareOp::LessOrEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterOrEqual => ">=",
        }
    }
}

/// The target of a `CAST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CastType {
    /// `SIGNED`.
    Signed,
    /// `UNSIGNED`.
    Unsigned,
    /// `CHAR[(n)]`.
    Char(Option<u32>),
    /// `BINARY[(n)]`.
    Binary(Option<u32>),
    /// `DECIMAL(p, s)`.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `FLOAT`.
    Float,
    /// `DOUBLE`, `REAL`.
    Double,
    /// `DATE`.
    Date,
    /// `TIME(fsp)`.
    Time(u8),
    /// `DATETIME(fsp)`.
    Datetime(u8),
    /// `YEAR`.
    Year,
    /// The year that a constant beside a `YEAR` is, two digits being one of 1970 to 2069; what is no
    /// year stays as it is. Written by no statement.
    YearBeside,
    /// The bytes that a text beside a column of bytes gives in hexadecimal digits, with `LINDORM` in
    /// `sql_mode`; what is no text stays as it is. Written by no statement.
    BytesBeside,
    /// What it is: with all the digits that it is computed with, for what a write stores; and as a value of a row,
    /// which the statement does not say itself, for what a query around this one reads. Written by no statement.
    AsIs,
    /// `JSON`.
    Json,
}

/// Units of `INTERVAL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    /// The unit of this name, as `TIMESTAMPADD` and `EXTRACT` take it; `SQL_TSI_` may stand before.
    pub fn of_name(name: &str) -> Option<IntervalUnit> {
        let upper = name.trim().to_ascii_uppercase();
        let plain = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        let known = UNITS.iter().find(|(known, _)| *known == plain);
        known.map(|(_, unit)| *unit)
    }

    /// The unit as SQL writes it.
    pub fn name(self) -> &'static str {
        let known = UNITS.iter().find(|(_, unit)| *unit == self);
        known.map_or("", |(name, _)| name)
    }
}

/// The units of time, as SQL writes them.
pub(super) const UNITS: &[(&str, IntervalUnit)] = &[
    ("MICROSECOND", IntervalUnit::Microsecond),
    ("SECOND", IntervalUnit::Second),
    ("MINUTE", IntervalUnit::Minute),
    ("HOUR", IntervalUnit::Hour),
    ("DAY", IntervalUnit::Day),
    ("WEEK", IntervalUnit::Week),
    ("MONTH", IntervalUnit::Month),
    ("QUARTER", IntervalUnit::Quarter),
    ("YEAR", IntervalUnit::Year),
    ("SECOND_MICROSECOND", IntervalUnit::SecondMicrosecond),
    ("MINUTE_MICROSECOND", IntervalUnit::MinuteMicrosecond),
    ("MINUTE_SECOND", IntervalUnit::MinuteSecond),
    ("HOUR_MICROSECOND", IntervalUnit::HourMicrosecond),
    ("HOUR_SECOND", IntervalUnit::HourSecond),
    ("HOUR_MINUTE", IntervalUnit::HourMinute),
    ("DAY_MICROSECOND", IntervalUnit::DayMicrosecond),
    ("DAY_SECOND", IntervalUnit::DaySecond),
    ("DAY_MINUTE", IntervalUnit::DayMinute),
    ("DAY_HOUR", IntervalUnit::DayHour),
    ("YEAR_MONTH", IntervalUnit::YearMonth),
];

/// The input row of an evaluation.
pub trait Row {
    /// The value at `column_idx`; decoded only when asked for.
    ///
    /// # Errors
    /// Damaged stored bytes, or a position outside the row (an internal error).
    fn column(&self, column_idx: usize) -> crate::error::Result<Value<'_>>;

    /// The value at `column_idx` where it is a signed whole number and quicker to be had than by
    /// [`Row::column`]; `None` says nothing about it. Hot: groups, sums and sorts ask for it once per row and column.
    fn signed(&self, _column_idx: usize) -> Option<i64> {
        None
    }

    /// The key that the row is stored under; empty for a row that is not stored.
    fn key(&self) -> &[u8] {
        &[]
    }

    /// The bytes of the key that hold these columns, in any order, where it begins with them. Rows
    /// whose keys begin with the same of them have the same values there.
    fn key_of(&self, _columns: &[usize]) -> Option<&[u8]> {
        None
    }
}

/// The row of a statement without table.
#[derive(Debug, Clone, Copy)]
pub struct NoRow;

impl Row for NoRow {
    fn column(&self, column_idx: usize) -> crate::error::Result<Value<'_>> {
        Err(crate::error::Error::internal(format!(
            "column {column_idx} of a row without columns"
        )))
    }
}
