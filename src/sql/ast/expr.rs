//! Expressions with unresolved names.

use super::{OrderItem, Over, Select};
use crate::sql::expr::{BinaryOp, CastType, CompareOp, IntervalUnit, UnaryOp, VariableScope};

/// An expression.
#[derive(Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// A column, or an alias where one may stand.
    Column(Box<ColumnName>),
    /// The n-th `?`, from 0.
    Parameter(usize),
    /// `@name`, lower case.
    UserVariable(String),
    /// `@name := value`.
    Assign(String, Box<Expr>),
    /// `@@name`, lower case.
    SystemVariable(VariableScope, String),
    /// `-a`, `~a`.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic and bit operators.
    Binary(BinaryOp, Box<(Expr, Expr)>),
    /// Comparison of values or rows.
    Compare(CompareOp, Box<(Expr, Expr)>),
    /// `a AND b AND …`, flattened, at least two.
    And(Vec<Expr>),
    /// `a OR b OR …`, flattened, at least two.
    Or(Vec<Expr>),
    /// `a XOR b`.
    Xor(Box<(Expr, Expr)>),
    /// `NOT a`, `!a`.
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
    /// `a [NOT] IN (b, c, …)`.
    InList {
        /// The operand.
        expr: Box<Expr>,
        /// The members, at least one.
        list: Vec<Expr>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a [NOT] IN (SELECT …)`.
    InSelect {
        /// The operand.
        expr: Box<Expr>,
        /// The subquery.
        select: Box<Select>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a op ANY (SELECT …)`, `a op ALL (SELECT …)`.
    Quantified {
        /// The operand.
        expr: Box<Expr>,
        /// The comparison.
        op: CompareOp,
        /// Whether `ALL` was written.
        all: bool,
        /// The subquery.
        select: Box<Select>,
    },
    /// `a [NOT] BETWEEN low AND high`.
    Between {
        /// The operand.
        expr: Box<Expr>,
        /// The least and the greatest value.
        bounds: Box<(Expr, Expr)>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a [NOT] LIKE pattern [ESCAPE 'c']`.
    Like {
        /// The operand and the pattern.
        operands: Box<(Expr, Expr)>,
        /// What stands after `ESCAPE`; `None` when there is no such clause.
        escape: Option<Box<Expr>>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `a [NOT] REGEXP pattern`.
    Regexp {
        /// The operand and the pattern.
        operands: Box<(Expr, Expr)>,
        /// Whether `NOT` was written.
        negated: bool,
    },
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`.
    Case {
        /// The value each condition is compared with.
        operand: Option<Box<Expr>>,
        /// Condition and result, at least one.
        branches: Vec<(Expr, Expr)>,
        /// The result when no condition holds.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(a AS type)`, `CONVERT(a, type)`, `BINARY a`.
    Cast(Box<Expr>, CastType),
    /// `CONVERT(a USING charset)`.
    ConvertUsing(Box<Expr>, String),
    /// `a COLLATE collation`.
    Collate(Box<Expr>, String),
    /// `date ± INTERVAL amount unit`, `DATE_ADD(…)`, `DATE_SUB(…)`.
    DateShift {
        /// The date and the amount.
        operands: Box<(Expr, Expr)>,
        /// Of what.
        unit: IntervalUnit,
        /// Whether it is subtracted.
        negated: bool,
    },
    /// A function or an aggregate by name.
    Call(Box<Call>),
    /// `(a, b, …)`, at least two.
    Row(Vec<Expr>),
    /// `(SELECT …)`.
    Subquery(Box<Select>),
    /// `EXISTS (SELECT …)`.
    Exists(Box<Select>),
    /// `VALUES(c)` in `ON DUPLICATE KEY UPDATE`.
    Values(Box<ColumnName>),
    /// `DEFAULT(c)`.
    DefaultOf(Box<ColumnName>),
    /// Something that is of the language but not of this server: error 1235.
    Unsupported(String),
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The name as written.
    pub name: String,
    /// The arguments; empty for `COUNT(*)`, see `star`.
    pub args: Vec<Expr>,
    /// Whether `DISTINCT` stands before the arguments.
    pub distinct: bool,
    /// Whether the argument is `*`.
    pub star: bool,
    /// `ORDER BY` inside `GROUP_CONCAT`.
    pub order_by: Vec<OrderItem>,
    /// `SEPARATOR` inside `GROUP_CONCAT`.
    pub separator: Option<String>,
    /// `OVER …`: a window function.
    pub over: Option<Box<Over>>,
}

/// `column`, `table.column`, `database.table.column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// The first of three parts.
    pub database: Option<String>,
    /// The part before the last.
    pub table: Option<String>,
    /// The last part, as written.
    pub column: String,
}

/// A constant as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// `TRUE`, `FALSE`.
    Bool(bool),
    /// A whole number up to 2^64 - 1.
    Int(u64),
    /// A number with a point, or a whole one over 2^64 - 1: its digits, without sign.
    Decimal(String),
    /// A number with an exponent.
    Double(f64),
    /// A character string.
    Text(String),
    /// `x'41'`, `0x41`, `b'01'`, `_binary'a'`.
    Bytes(Vec<u8>),
    /// `DATE '…'`.
    Date(String),
    /// `TIME '…'`.
    Time(String),
    /// `TIMESTAMP '…'`.
    Timestamp(String),
}
