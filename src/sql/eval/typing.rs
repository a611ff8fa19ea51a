//! The types of operators and CASE, from the types of their operands.
//!
//! `bind` calls these; the evaluator relies on them: it computes in the type written at the node.
//!
//! ```text
//!   operands                 + - *            /                DIV       %
//!   integer, integer         BIGINT           DECIMAL(4)       BIGINT    BIGINT
//!   DECIMAL, exact           DECIMAL          DECIMAL(s1+4)    BIGINT    DECIMAL
//!   DOUBLE, FLOAT or text    DOUBLE           DOUBLE           BIGINT    DOUBLE
//! ```
//! A date or time counts as an integer, with a fraction as a DECIMAL.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::expr::ExprKind;
use super::super::expr::{BinaryOp, CastType, Expr, IntervalUnit, UnaryOp};
use crate::types::column_type::{IntWidth, LobSize};
use crate::types::{ColumnType, Value};

/// Digits of the widest DECIMAL.
pub const DECIMAL_DIGITS_MAX: u8 = 38;
/// Digits after the point of the finest DECIMAL.
pub const DECIMAL_SCALE_MAX: u8 = 30;
/// Digits that `/` adds after the point: MySQL's `div_precision_increment`.
pub const DIVIDE_SCALE: u8 = 4;

/// How a type takes part in arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numeric {
    /// A 64-bit integer.
    Int {
        /// Whether it has no sign.
        unsigned: bool,
        /// Its most digits.
        digits: u8,
    },
    /// An exact number.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// A double, which texts are read as.
    Double,
}

impl Numeric {
    /// How `ty` takes part in arithmetic.
    pub fn of(ty: &ColumnType) -> Numeric {
        match ty {
            ColumnType::Null => Numeric::int(1),
            ColumnType::Boolean => Numeric::int(3),
            ColumnType::Int { width, unsigned } => Numeric::Int {
                unsigned: *unsigned,
                digits: match width {
                    IntWidth::Tiny => 3,
                    IntWidth::Small => 5,
                    IntWidth::Medium => 8,
                    IntWidth::Int => 10,
                    IntWidth::Big => 19 + u8::from(*unsigned),
                },
            },
            ColumnType::Decimal { precision, scale } => Numeric::Decimal {
                precision: *precision,
                scale: *scale,
            },
            ColumnType::Date => Numeric::int(8),
            ColumnType::Time { fsp } => Numeric::with_fraction(7, *fsp),
            ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp } => {
                Numeric::with_fraction(14, *fsp)
            }
            ColumnType::Year => Numeric::Int {
                unsigned: true,
                digits: 4,
            },
            ColumnType::Float
            | ColumnType::Double
            | ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Binary { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob(_)
            | ColumnType::Json
            | ColumnType::Enum(_) => Numeric::Double,
        }
    }

    /// As [`Numeric::of`]; a literal integer has the digits it is written with.
    pub fn of_expr(expr: &Expr) -> Numeric {
        match &expr.kind {
            ExprKind::Literal(Value::Int(number)) => Numeric::Int {
                unsigned: false,
                digits: digits_of(number.unsigned_abs()),
            },
            ExprKind::Literal(Value::UInt(number)) => Numeric::Int {
                unsigned: true,
                digits: digits_of(*number),
            },
            _ => Numeric::of(&expr.ty),
        }
    }

    fn int(digits: u8) -> Numeric {
        Numeric::Int {
            unsigned: false,
            digits,
        }
    }

    fn with_fraction(digits: u8, fsp: u8) -> Numeric {
        if fsp == 0 {
            return Numeric::int(digits);
        }
        Numeric::Decimal {
            precision: digits + fsp,
            scale: fsp,
        }
    }

    fn is_unsigned(self) -> bool {
        matches!(self, Numeric::Int { unsigned: true, .. })
    }

    /// Digits before and after the point; `None` for a double.
    pub(crate) fn digits(self) -> Option<(u8, u8)> {
        match self {
            Numeric::Int { digits, .. } => Some((digits, 0)),
            Numeric::Decimal { precision, scale } => Some((precision.saturating_sub(scale), scale)),
            Numeric::Double => None,
        }
    }
}

fn digits_of(number: u64) -> u8 {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    u8::try_from(digits).unwrap_or(DECIMAL_DIGITS_MAX)
}

fn bigint(unsigned: bool) -> ColumnType {
    ColumnType::Int {
        width: IntWidth::Big,
        unsigned,
    }
}

/// A DECIMAL of these digits before and after the point, cut to what there is.
pub(crate) fn decimal(integer_digits: u8, scale: u8) -> ColumnType {
    let scale = scale.min(DECIMAL_SCALE_MAX);
    let precision = integer_digits.saturating_add(scale).min(DECIMAL_DIGITS_MAX);
    ColumnType::Decimal {
        precision: precision.max(scale).max(1),
        scale,
    }
}

/// The type of `op a`.
pub fn unary_type(op: UnaryOp, a: &Expr) -> ColumnType {
    match op {
        UnaryOp::BitNot => ColumnType::BIGINT_UNSIGNED,
        UnaryOp::Negate => match (&a.kind, Numeric::of_expr(a)) {
            (ExprKind::Literal(Value::UInt(number)), _) if *number > i64::MIN.unsigned_abs() => {
                decimal(digits_of(*number), 0)
            }
            (_, Numeric::Int { .. }) => ColumnType::BIGINT,
            (_, Numeric::Decimal { precision, scale }) => ColumnType::Decimal { precision, scale },
            (_, Numeric::Double) => ColumnType::Double,
        },
    }
}

/// The type of `a op b`.
pub fn binary_type(op: BinaryOp, a: &Expr, b: &Expr) -> ColumnType {
    let (left, right) = (Numeric::of_expr(a), Numeric::of_expr(b));
    let unsigned = left.is_unsigned() || right.is_unsigned();
    let ints = matches!((left, right), (Numeric::Int { .. }, Numeric::Int { .. }));
    match op {
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => return ColumnType::BIGINT_UNSIGNED,
        BinaryOp::IntegerDivide => return bigint(unsigned),
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply if ints => return bigint(unsigned),
        BinaryOp::Modulo if ints => return bigint(left.is_unsigned()),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => {}
    }
    let (Some((left_digits, left_scale)), Some((right_digits, right_scale))) =
        (left.digits(), right.digits())
    else {
        return ColumnType::Double;
    };
    let scale = left_scale.max(right_scale);
    match op {
        BinaryOp::Multiply => decimal(left_digits + right_digits, left_scale + right_scale),
        BinaryOp::Divide => decimal(left_digits + right_scale, left_scale + DIVIDE_SCALE),
        BinaryOp::Modulo => decimal(left_digits.max(right_digits), scale),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::IntegerDivide
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => decimal(left_digits.max(right_digits) + 1, scale),
    }
}

/// The type of comparisons, logic and predicates.
pub fn condition_type() -> ColumnType {
    ColumnType::BIGINT
}

/// The type of `CAST(a AS target)`.
pub fn cast_type(target: &CastType) -> ColumnType {
    match target {
        CastType::Signed => ColumnType::BIGINT,
        CastType::Unsigned => ColumnType::BIGINT_UNSIGNED,
        CastType::Char(chars_max) => ColumnType::Varchar {
            chars_max: *chars_max,
        },
        CastType::Binary(bytes_max) => ColumnType::Varbinary {
            bytes_max: *bytes_max,
        },
        CastType::Decimal { precision, scale } => ColumnType::Decimal {
            precision: *precision,
            scale: *scale,
        },
        CastType::Float => ColumnType::Float,
        CastType::Double => ColumnType::Double,
        CastType::Date => ColumnType::Date,
        CastType::Time(fsp) => ColumnType::Time { fsp: *fsp },
        CastType::Datetime(fsp) => ColumnType::Datetime { fsp: *fsp },
        CastType::Year => ColumnType::Year,
        CastType::Json => ColumnType::Json,
    }
}

/// Whether the unit is made of whole days.
pub(crate) fn is_whole_days(unit: IntervalUnit) -> bool {
    match unit {
        IntervalUnit::Day
        | IntervalUnit::Week
        | IntervalUnit::Month
        | IntervalUnit::Quarter
        | IntervalUnit::Year
        | IntervalUnit::YearMonth => true,
        IntervalUnit::Microsecond
        | IntervalUnit::Second
        | IntervalUnit::Minute
        | IntervalUnit::Hour
        | IntervalUnit::SecondMicrosecond
        | IntervalUnit::MinuteMicrosecond
        | IntervalUnit::MinuteSecond
        | IntervalUnit::HourMicrosecond
        | IntervalUnit::HourSecond
        | IntervalUnit::HourMinute
        | IntervalUnit::DayMicrosecond
        | IntervalUnit::DaySecond
        | IntervalUnit::DayMinute
        | IntervalUnit::DayHour => false,
    }
}

/// Whether the unit has microseconds in it.
pub fn has_micros(unit: IntervalUnit) -> bool {
    matches!(
        unit,
        IntervalUnit::Microsecond
            | IntervalUnit::SecondMicrosecond
            | IntervalUnit::MinuteMicrosecond
            | IntervalUnit::HourMicrosecond
            | IntervalUnit::DayMicrosecond
    )
}

/// The type of `date ± INTERVAL amount unit`.
pub fn date_shift_type(date: &Expr, amount: &Expr, unit: IntervalUnit) -> ColumnType {
    let amount_fsp = match (&amount.ty, unit) {
        (_, unit) if has_micros(unit) => 6,
        (ColumnType::Decimal { scale, .. }, IntervalUnit::Second) => (*scale).min(6),
        (ColumnType::Varchar { .. } | ColumnType::Double, IntervalUnit::Second) => 6,
        _ => 0,
    };
    match &date.ty {
        ColumnType::Date if is_whole_days(unit) => ColumnType::Date,
        ColumnType::Date => ColumnType::Datetime { fsp: amount_fsp },
        ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp } => ColumnType::Datetime {
            fsp: amount_fsp.max(*fsp),
        },
        ColumnType::Time { fsp } => ColumnType::Time {
            fsp: amount_fsp.max(*fsp),
        },
        _ => ColumnType::Varchar {
            chars_max: Some(29),
        },
    }
}

/// Whether values of the type are character strings, `ENUM` included.
pub fn is_text(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Enum(_)
    )
}

/// Whether values of the type are binary strings.
pub fn is_binary(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_)
    )
}

fn is_temporal(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Date
            | ColumnType::Time { .. }
            | ColumnType::Datetime { .. }
            | ColumnType::Timestamp { .. }
    )
}

/// The type that holds values of all `types`: of CASE, IF, COALESCE, and UNION columns.
pub fn common_type<'a>(types: impl IntoIterator<Item = &'a ColumnType>) -> ColumnType {
    let mut common = ColumnType::Null;
    for ty in types {
        common = common_type_of_two(common, ty);
    }
    // Only a column is an ENUM: what is chosen among several is a text.
    if matches!(common, ColumnType::Enum(_)) {
        return common_text(&common, &ColumnType::Null);
    }
    common
}

fn common_type_of_two(a: ColumnType, b: &ColumnType) -> ColumnType {
    match (&a, b) {
        (_, ColumnType::Null) => return a,
        (ColumnType::Null, _) => return b.clone(),
        _ if a == *b => return a,
        _ => {}
    }
    if is_binary(&a) || is_binary(b) {
        return ColumnType::Varbinary { bytes_max: None };
    }
    if is_text(&a) || is_text(b) || a == ColumnType::Json || *b == ColumnType::Json {
        return common_text(&a, b);
    }
    if is_temporal(&a) && is_temporal(b) {
        return common_temporal(&a, b);
    }
    if is_temporal(&a) || is_temporal(b) {
        return ColumnType::Varchar {
            chars_max: Some(29),
        };
    }
    common_number(&a, b)
}

fn common_text(a: &ColumnType, b: &ColumnType) -> ColumnType {
    match (a, b) {
        (ColumnType::Text(x), ColumnType::Text(y)) => ColumnType::Text(*x.max(y)),
        (ColumnType::Text(_), _) | (_, ColumnType::Text(_)) => ColumnType::Text(LobSize::Long),
        _ => ColumnType::Varchar {
            chars_max: chars_of(a).zip(chars_of(b)).map(|(x, y)| x.max(y)),
        },
    }
}

/// The most characters that values of the type take as text, where that is known.
pub fn chars_of(ty: &ColumnType) -> Option<u32> {
    match ty {
        ColumnType::Null => Some(0),
        ColumnType::Boolean | ColumnType::Year => Some(4),
        ColumnType::Int { .. } => match Numeric::of(ty) {
            Numeric::Int { digits, unsigned } => Some(u32::from(digits) + u32::from(!unsigned)),
            Numeric::Decimal { .. } | Numeric::Double => None,
        },
        ColumnType::Float => Some(12),
        ColumnType::Double => Some(22),
        ColumnType::Decimal { precision, .. } => Some(u32::from(*precision) + 2),
        ColumnType::Char { chars_max } => Some(*chars_max),
        ColumnType::Varchar { chars_max } => *chars_max,
        ColumnType::Binary { bytes } => Some(*bytes),
        ColumnType::Varbinary { bytes_max } => *bytes_max,
        ColumnType::Date => Some(10),
        ColumnType::Time { fsp } => Some(10 + fraction_chars(*fsp)),
        ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp } => {
            Some(19 + fraction_chars(*fsp))
        }
        ColumnType::Enum(labels) => labels
            .iter()
            .map(|label| u32::try_from(label.chars().count()).unwrap_or(u32::MAX))
            .max(),
        ColumnType::Text(_) | ColumnType::Blob(_) | ColumnType::Json => None,
    }
}

fn fraction_chars(fsp: u8) -> u32 {
    u32::from(fsp) + u32::from(fsp > 0)
}

fn fsp_of(ty: &ColumnType) -> u8 {
    match ty {
        ColumnType::Time { fsp } | ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp } => {
            *fsp
        }
        _ => 0,
    }
}

fn common_temporal(a: &ColumnType, b: &ColumnType) -> ColumnType {
    let fsp = fsp_of(a).max(fsp_of(b));
    match (a, b) {
        (ColumnType::Time { .. }, ColumnType::Time { .. }) => ColumnType::Time { fsp },
        (ColumnType::Timestamp { .. }, ColumnType::Timestamp { .. }) => {
            ColumnType::Timestamp { fsp }
        }
        _ => ColumnType::Datetime { fsp },
    }
}

fn common_number(a: &ColumnType, b: &ColumnType) -> ColumnType {
    match (a, b) {
        (
            ColumnType::Int { width, unsigned },
            ColumnType::Int {
                width: other_width,
                unsigned: other_unsigned,
            },
        ) if unsigned == other_unsigned => {
            return ColumnType::Int {
                width: *width.max(other_width),
                unsigned: *unsigned,
            };
        }
        _ => {}
    }
    let (left, right) = (Numeric::of(a), Numeric::of(b));
    match (left, right) {
        (
            Numeric::Int {
                unsigned: x,
                digits: dx,
            },
            Numeric::Int {
                unsigned: y,
                digits: dy,
            },
        ) => {
            if x == y || dx.max(dy) < 19 {
                bigint(x && y)
            } else {
                decimal(20, 0)
            }
        }
        _ => match (left.digits(), right.digits()) {
            (Some((x, xs)), Some((y, ys))) => decimal(x.max(y), xs.max(ys)),
            _ if *a == ColumnType::Float && *b == ColumnType::Float => ColumnType::Float,
            _ => ColumnType::Double,
        },
    }
}
