//! The types of operators and CASE, from the types of their operands.
//!
//! `bind` calls these; the evaluator relies on them: it computes in the type written at the node.
//!
//! ```text
//!   operands                 + - *            /                DIV       %
//!   integer, integer         BIGINT           DECIMAL(4)       BIGINT    BIGINT
//!   DECIMAL, exact           DECIMAL          DECIMAL(s1+4)    BIGINT    DECIMAL
//!   DOUBLE, FLOAT or text    DOUBLE           DOUBLE           BIGINT    DOUBLE
//!   dynamic, anything        dynamic          dynamic          BIGINT    dynamic
//! ```
//! What is dynamic is typed again for each row, by the values there: see `dynamic`. A date or time
//! counts as an integer, with a fraction as a DECIMAL.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::expr::ExprKind;
use super::super::expr::{BinaryOp, CastType, Expr, IntervalUnit, UnaryOp};
pub use super::common::{chars_of, common_of, common_type};
use super::magnitude;
use crate::sql::context::Mode;
use crate::types::column_type::IntWidth;
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
            // `NULL` counts as a text, and a text as a double.
            ColumnType::Null
            | ColumnType::Dynamic
            | ColumnType::Float
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

    /// As [`Numeric::of`]; a literal integer has the digits it is written with, a computed one those
    /// that it can have.
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
            _ => match Numeric::of(&expr.ty) {
                Numeric::Int { unsigned, digits } => Numeric::Int {
                    unsigned,
                    digits: magnitude::digits(expr).map_or(digits, |known| known.min(digits)),
                },
                other => other,
            },
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

pub(super) fn bigint(unsigned: bool) -> ColumnType {
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

/// Whether a number computed from others has no sign because none of them has one.
pub fn has_no_sign(expr: &Expr) -> bool {
    match (&expr.kind, Numeric::of(&expr.ty)) {
        (_, Numeric::Int { unsigned, .. }) => unsigned,
        (ExprKind::Binary(_, a, b), Numeric::Decimal { .. }) => has_no_sign(a) && has_no_sign(b),
        (ExprKind::Call(function, args), Numeric::Decimal { .. }) => match function.name {
            "NULLIF" | "ROUND" | "TRUNCATE" => args.first().is_some_and(has_no_sign),
            "IFNULL" | "COALESCE" | "GREATEST" | "LEAST" => args.iter().all(has_no_sign),
            _ => false,
        },
        _ => false,
    }
}

/// The type of `op a`.
pub fn unary_type(op: UnaryOp, a: &Expr) -> ColumnType {
    match op {
        UnaryOp::BitNot if is_bytes(a) => bytes_type(),
        UnaryOp::BitNot => ColumnType::BIGINT_UNSIGNED,
        UnaryOp::Negate => match (&a.kind, Numeric::of_expr(a)) {
            (ExprKind::Literal(Value::UInt(number)), _) if *number > i64::MIN.unsigned_abs() => {
                decimal(digits_of(*number), 0)
            }
            _ if a.ty == ColumnType::Dynamic => ColumnType::Dynamic,
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
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if are_bytes(a, b) => {
            return bytes_type();
        }
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight if is_bytes(a) => return bytes_type(),
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => return ColumnType::BIGINT_UNSIGNED,
        BinaryOp::IntegerDivide => return bigint(unsigned || has_no_sign(a) || has_no_sign(b)),
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply if ints => return bigint(unsigned),
        BinaryOp::Modulo if ints => return bigint(left.is_unsigned()),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => {}
    }
    if a.ty == ColumnType::Dynamic || b.ty == ColumnType::Dynamic {
        return ColumnType::Dynamic;
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
        // As many digits in all as the longer one has, before and after the point.
        BinaryOp::Modulo => {
            let most = (left_digits + left_scale).max(right_digits + right_scale);
            decimal(most.saturating_sub(scale), scale)
        }
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

/// As [`binary_type`], under a mode: with `NO_UNSIGNED_SUBTRACTION` a difference of whole numbers has a sign.
pub fn binary_type_in(mode: Mode, op: BinaryOp, (a, b): (&Expr, &Expr)) -> ColumnType {
    let ty = binary_type(op, a, b);
    let has_sign = mode.no_unsigned_subtraction && op == BinaryOp::Subtract;
    if has_sign && ty == ColumnType::BIGINT_UNSIGNED {
        return ColumnType::BIGINT;
    }
    ty
}

/// Whether a bit operator takes the operand as bytes and not as a number: a binary string that is no
/// literal.
fn is_bytes(a: &Expr) -> bool {
    is_binary(&a.ty) && !matches!(a.kind, ExprKind::Literal(_))
}

/// Whether a bit operator joins bytes with bytes: both are binary strings, and one is no literal.
pub fn are_bytes(a: &Expr, b: &Expr) -> bool {
    is_binary(&a.ty) && is_binary(&b.ty) && (is_bytes(a) || is_bytes(b))
}

fn bytes_type() -> ColumnType {
    ColumnType::Varbinary { bytes_max: None }
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
        CastType::BytesBeside => ColumnType::Varbinary { bytes_max: None },
        CastType::Decimal { precision, scale } => ColumnType::Decimal {
            precision: *precision,
            scale: *scale,
        },
        CastType::Float => ColumnType::Float,
        CastType::Double => ColumnType::Double,
        CastType::Date => ColumnType::Date,
        CastType::Time(fsp) => ColumnType::Time { fsp: *fsp },
        CastType::Datetime(fsp) => ColumnType::Datetime { fsp: *fsp },
        CastType::Year | CastType::YearBeside => ColumnType::Year,
        CastType::AsIs => ColumnType::Dynamic,
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
        (ty, IntervalUnit::Second) if may_have_any_fraction(ty) => 6,
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

/// Whether a number of this type may have digits after the point, nobody knows how many.
fn may_have_any_fraction(ty: &ColumnType) -> bool {
    let is_approximate = matches!(ty, ColumnType::Float | ColumnType::Double);
    let is_any = matches!(ty, ColumnType::Json | ColumnType::Dynamic);
    is_approximate || is_any || is_text(ty) || is_binary(ty)
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
