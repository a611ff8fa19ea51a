//! Where a number, or a text read as one, lies among the values of a numeric column.
//!
//! Exact types are grids: integers are multiples of 1, `DECIMAL(p, s)` multiples of 10^-s. A
//! constant lies on the grid, between two of its lines, or beyond its ends.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the caller sends the types of this file; the last arm takes the rest of them"
)]

use super::super::values;
use super::super::verdict::Obstacle;
use super::{Place, enum_member};
use crate::types::value::number::parse_f64;
use crate::types::value::order::cmp_doubles;
use crate::types::{ColumnType, Decimal, Value};

/// Integers up to this are told apart by doubles; 2^53.
const EXACT_IN_DOUBLE: f64 = 9_007_199_254_740_992.0;
/// Decimals of up to this many digits are told apart by doubles.
const DIGITS_IN_DOUBLE: u8 = 15;

/// A constant as it is compared.
enum Number {
    /// Exactly.
    Exact(Decimal),
    /// As a double; `clean` unless it was read from a text with more than a number in it.
    Double { number: f64, clean: bool },
}

/// The values of an exact type.
struct Grid<'a> {
    /// Digits after the point.
    scale: u8,
    /// The least and the greatest value, in units of the last digit.
    range: (i128, i128),
    /// Whether doubles tell all values apart.
    told_apart: bool,
    /// The value of so many units.
    value: &'a dyn Fn(i128) -> Option<Value<'static>>,
}

pub(super) fn place(constant: &Value<'_>, ty: &ColumnType) -> Place {
    let number = match number_of(constant, values::int_range(ty).is_some()) {
        Ok(number) => number,
        Err(obstacle) => return Place::Unusable(obstacle),
    };
    match ty {
        ColumnType::Float => place_float(&number),
        ColumnType::Double => place_double(&number),
        ColumnType::Year => place_year(&number),
        ColumnType::Decimal { precision, scale } => place_decimal(&number, *precision, *scale),
        _ => place_int(&number, ty),
    }
}

/// Where a number lies among the positions of an ENUM's members.
pub(super) fn place_enum(constant: &Value<'_>, labels: &[Box<str>]) -> Place {
    let number = match number_of(constant, false) {
        Ok(number) => number,
        Err(obstacle) => return Place::Unusable(obstacle),
    };
    let last = i128::try_from(labels.len()).unwrap_or(i128::MAX);
    let member = |units: i128| enum_member(usize::try_from(units).ok()?, labels);
    Grid {
        scale: 0,
        range: (0, last),
        told_apart: true,
        value: &member,
    }
    .place(&number)
}

/// A text of digits is exact beside an integer, and a double beside anything else.
fn number_of(constant: &Value<'_>, digits_are_exact: bool) -> Result<Number, Obstacle> {
    match constant {
        Value::Int(number) => Ok(Number::Exact(Decimal::from_i64(*number))),
        Value::UInt(number) => Ok(Number::Exact(Decimal::from_u64(*number))),
        Value::Year(year) => Ok(Number::Exact(Decimal::from_u64((*year).into()))),
        Value::Decimal(number) => Ok(Number::Exact(*number)),
        Value::Float(number) => Ok(Number::Double {
            number: f64::from(*number),
            clean: true,
        }),
        Value::Double(number) => Ok(Number::Double {
            number: *number,
            clean: true,
        }),
        Value::Text(text) => {
            if let Some(exact) = Decimal::parse_plain(text).filter(|_| digits_are_exact) {
                return Ok(Number::Exact(exact));
            }
            let parsed = parse_f64(text.as_bytes());
            Ok(Number::Double {
                number: parsed.value,
                clean: !parsed.is_truncated,
            })
        }
        Value::Enum(_) | Value::Bytes(_) => Err(Obstacle::ComparesAsNumbers),
        Value::Date(_) | Value::Time(_) | Value::Datetime(_) | Value::Timestamp(_) => {
            Err(Obstacle::ComparesAsTimes)
        }
        Value::Null | Value::Json(_) => Err(Obstacle::Unordered),
    }
}

fn place_int(number: &Number, ty: &ColumnType) -> Place {
    let Some(range) = values::int_range(ty) else {
        return Place::Unusable(Obstacle::Unordered);
    };
    let value = |units: i128| values::int_value(units, ty);
    Grid {
        scale: 0,
        range,
        told_apart: range.1 < 1 << 53,
        value: &value,
    }
    .place(number)
}

fn place_decimal(number: &Number, precision: u8, scale: u8) -> Place {
    let last = Decimal::max_of(precision, scale).coefficient();
    let value = |units: i128| Decimal::new(units, scale).map(Value::Decimal);
    Grid {
        scale,
        range: (-last, last),
        told_apart: precision <= DIGITS_IN_DOUBLE,
        value: &value,
    }
    .place(number)
}

/// Years are 0 and 1901 to 2155.
fn place_year(number: &Number) -> Place {
    let value = |units: i128| {
        let year = u16::try_from(units).ok()?;
        (year == 0 || (1901..=2155).contains(&year)).then_some(Value::Year(year))
    };
    let grid = Grid {
        scale: 0,
        range: (0, 2155),
        told_apart: true,
        value: &value,
    };
    match grid.locate(number) {
        Line::On(units) if 0 < units && units < 1901 => years_gap(),
        Line::Between(floor) if (0..=1900).contains(&floor) => years_gap(),
        Line::Near(..) => Place::Unusable(Obstacle::Inexact),
        line @ (Line::On(_) | Line::Between(_) | Line::Below | Line::Above | Line::Nowhere) => {
            grid.place_line(&line)
        }
    }
}

fn years_gap() -> Place {
    Place::gap(Some(Value::Year(0)), Some(Value::Year(1901)))
}

/// Where a number lies relative to the lines of a grid.
enum Line {
    /// On this line.
    On(i128),
    /// Between this line and the next.
    Between(i128),
    /// Somewhere from this line to that one, and equal to some of them perhaps.
    Near(i128, i128),
    /// Below the least line.
    Below,
    /// Above the greatest line.
    Above,
    /// Not a number.
    Nowhere,
}

impl Grid<'_> {
    fn place(&self, number: &Number) -> Place {
        self.place_line(&self.locate(number))
    }

    fn place_line(&self, line: &Line) -> Place {
        let (first, last) = self.range;
        let value = |units: i128| (self.value)(units);
        match line {
            Line::On(units) => value(*units).map_or(unplaced(), Place::exact),
            Line::Between(floor) => Place::gap(value(*floor), value(floor + 1)),
            Line::Below => Place::gap(None, value(first)),
            Line::Above => Place::gap(value(last), None),
            Line::Near(low, high) => match (value(*low.max(&first)), value(*high.min(&last))) {
                (Some(low), Some(high)) => Place::Equal {
                    low,
                    high,
                    tight: false,
                },
                (Some(_) | None, _) => unplaced(),
            },
            Line::Nowhere => unplaced(),
        }
    }

    fn locate(&self, number: &Number) -> Line {
        let line = match number {
            Number::Exact(number) => self.locate_exact(*number),
            Number::Double { number, clean } => match (self.locate_double(*number), clean) {
                (Line::On(units), false) => Line::Near(units, units),
                (line, _) => line,
            },
        };
        let (first, last) = self.range;
        match line {
            Line::On(units) if units < first => Line::Below,
            Line::On(units) if last < units => Line::Above,
            Line::Between(floor) if floor < first => Line::Below,
            Line::Between(floor) if last <= floor => Line::Above,
            Line::Near(_, high) if high < first => Line::Below,
            Line::Near(low, _) if last < low => Line::Above,
            line => line,
        }
    }

    fn locate_exact(&self, number: Decimal) -> Line {
        let coefficient = number.coefficient();
        if number.scale() <= self.scale {
            let lines = power_of_ten(self.scale - number.scale());
            return match lines.and_then(|lines| coefficient.checked_mul(lines)) {
                Some(units) => Line::On(units),
                None if coefficient < 0 => Line::Below,
                None => Line::Above,
            };
        }
        let Some(divisor) = power_of_ten(number.scale() - self.scale) else {
            return Line::Nowhere;
        };
        let floor = coefficient.div_euclid(divisor);
        if coefficient.rem_euclid(divisor) == 0 {
            Line::On(floor)
        } else {
            Line::Between(floor)
        }
    }

    fn locate_double(&self, number: f64) -> Line {
        if number.is_nan() {
            return Line::Nowhere;
        }
        let exact = Decimal::from_f64(number).filter(|exact| exact.to_f64().eq(&number));
        match exact {
            Some(exact) if self.told_apart || is_small_integer_grid(self.scale, number) => {
                self.locate_exact(exact)
            }
            Some(_) | None => self.locate_near(number),
        }
    }

    /// The lines that a double may equal: those between its neighbours.
    fn locate_near(&self, number: f64) -> Line {
        let end = |number: f64| {
            Decimal::from_f64(number).map(|number| match self.locate_exact(number) {
                Line::On(units) => (units, units),
                Line::Between(floor) => (floor, floor.saturating_add(1)),
                Line::Below => (i128::MIN, i128::MIN),
                Line::Above => (i128::MAX, i128::MAX),
                Line::Near(low, high) => (low, high),
                Line::Nowhere => (0, 0),
            })
        };
        match (end(number.next_down()), end(number.next_up())) {
            (None, None) if number < 0.0 => Line::Below,
            (None, None) => Line::Above,
            // The last of many digits may be equal to a double that lies behind them.
            (low, high) => Line::Near(
                low.map_or(i128::MIN, |(low, _)| low.saturating_sub(1)),
                high.map_or(i128::MAX, |(_, high)| high.saturating_add(1)),
            ),
        }
    }
}

fn is_small_integer_grid(scale: u8, number: f64) -> bool {
    scale == 0 && number.abs() < EXACT_IN_DOUBLE
}

fn unplaced() -> Place {
    Place::Unusable(Obstacle::Inexact)
}

fn power_of_ten(exponent: u8) -> Option<i128> {
    10_i128.checked_pow(exponent.into())
}

fn as_double(number: &Number) -> (f64, bool) {
    match number {
        Number::Exact(number) => (number.to_f64(), true),
        Number::Double { number, clean } => (*number, *clean),
    }
}

fn place_double(number: &Number) -> Place {
    let (number, tight) = as_double(number);
    if !number.is_finite() {
        return unplaced();
    }
    Place::Equal {
        low: Value::Double(number),
        high: Value::Double(number),
        tight,
    }
}

/// A FLOAT is compared as the double it is: `0.1` lies between two of them.
fn place_float(number: &Number) -> Place {
    let (number, tight) = as_double(number);
    if !number.is_finite() {
        return unplaced();
    }
    if f64::from(f32::MAX) < number {
        return Place::gap(Some(Value::Float(f32::MAX)), None);
    }
    if number < f64::from(f32::MIN) {
        return Place::gap(None, Some(Value::Float(f32::MIN)));
    }
    let near = nearest_float(number);
    match cmp_doubles(near.into(), number) {
        std::cmp::Ordering::Equal => Place::Equal {
            low: Value::Float(near),
            high: Value::Float(near),
            tight,
        },
        std::cmp::Ordering::Less => float_gap(near, near.next_up()),
        std::cmp::Ordering::Greater => float_gap(near.next_down(), near),
    }
}

fn float_gap(below: f32, above: f32) -> Place {
    Place::gap(Some(Value::Float(below)), Some(Value::Float(above)))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the nearest FLOAT is what is asked for; the caller compares the result"
)]
fn nearest_float(number: f64) -> f32 {
    number as f32
}
