//! `DECIMAL`: an exact decimal number of at most 38 digits, with MySQL's rules of scale.
//!
//! Not here: which scale a column asks for (`coerce`), and what an overflow means to a statement:
//! operations answer `None` and the caller makes the error.

mod arithmetic;
mod text;
mod wide;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use wide::Wide;

/// The most digits of a number, before and after the point together. MySQL allows 65; 38 is what
/// fits an `i128`.
pub const DIGITS_MAX: u8 = 38;

/// The most digits after the point, as in MySQL.
pub const SCALE_MAX: u8 = 30;

/// MySQL's `div_precision_increment`: digits that a division adds to the dividend's scale.
pub const DIVISION_SCALE_INCREMENT: u8 = 4;

/// `10^38 - 1`, the largest coefficient.
const COEFFICIENT_MAX: u128 = 10u128.pow(38) - 1;

/// `coefficient × 10^-scale`. Two decimals are equal when their numbers are: `1.0 == 1.00`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Decimal {
    /// At most 38 digits.
    coefficient: i128,
    /// At most [`SCALE_MAX`].
    scale: u8,
}

impl Decimal {
    /// Zero, without digits after the point.
    pub const ZERO: Decimal = Decimal {
        coefficient: 0,
        scale: 0,
    };

    /// `coefficient × 10^-scale`; `None` when it has more digits than [`DIGITS_MAX`] or
    /// [`SCALE_MAX`] allow.
    pub fn new(coefficient: i128, scale: u8) -> Option<Decimal> {
        let fits = coefficient.unsigned_abs() <= COEFFICIENT_MAX && scale <= SCALE_MAX;
        fits.then_some(Decimal { coefficient, scale })
    }

    /// A whole number.
    pub fn from_i64(number: i64) -> Decimal {
        Decimal {
            coefficient: i128::from(number),
            scale: 0,
        }
    }

    /// A whole number.
    pub fn from_u64(number: u64) -> Decimal {
        Decimal {
            coefficient: i128::from(number),
            scale: 0,
        }
    }

    /// The largest number of a column `DECIMAL(precision, scale)`: all digits 9.
    pub fn max_of(precision: u8, scale: u8) -> Decimal {
        let coefficient = power(precision.min(DIGITS_MAX)) - 1;
        Decimal {
            coefficient,
            scale: scale.min(SCALE_MAX),
        }
    }

    /// The digits without their point, signed.
    pub fn coefficient(&self) -> i128 {
        self.coefficient
    }

    /// Digits after the point.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Digits before and after the point, without leading zeros, but at least one and at least
    /// as many as the scale.
    pub fn precision(&self) -> u8 {
        let digits = self
            .coefficient
            .unsigned_abs()
            .checked_ilog10()
            .unwrap_or(0)
            + 1;
        u8::try_from(digits).unwrap_or(DIGITS_MAX).max(self.scale)
    }

    /// Whether the number is zero, of whatever scale.
    pub fn is_zero(&self) -> bool {
        self.coefficient == 0
    }

    /// Whether the number is below zero.
    pub fn is_negative(&self) -> bool {
        self.coefficient < 0
    }

    /// Whether nothing but zeros follows the point.
    pub fn is_integer(&self) -> bool {
        self.coefficient % power(self.scale) == 0
    }

    /// The same number without zeros at the end of its fraction.
    #[must_use]
    pub fn normalized(self) -> Decimal {
        let Decimal {
            mut coefficient,
            mut scale,
        } = self;
        while scale > 0 && coefficient % 10 == 0 {
            coefficient /= 10;
            scale -= 1;
        }
        Decimal { coefficient, scale }
    }

    /// The nearest `f64`.
    pub fn to_f64(&self) -> f64 {
        const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;
        let magnitude = u64::try_from(self.coefficient.unsigned_abs()).unwrap_or(u64::MAX);
        if magnitude <= EXACT_MAX && self.scale <= 22 {
            // Both operands are exact doubles, so that one division rounds correctly.
            #[expect(clippy::cast_precision_loss, reason = "at most 2^53, thus exact")]
            let number = magnitude as f64 / 10f64.powi(i32::from(self.scale));
            return if self.is_negative() { -number } else { number };
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The decimal of as many digits as tell this double from its neighbours, as MySQL converts;
    /// `None` for what is not a number or has more than 38 digits before its point.
    pub fn from_f64(number: f64) -> Option<Decimal> {
        if !number.is_finite() {
            return None;
        }
        Decimal::parse(&format!("{number:e}"))
    }

    /// Rounded to a whole number, half away from zero; `None` beyond `i64`.
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.to_i128()).ok()
    }

    /// Rounded to a whole number, half away from zero; `None` beyond `u64`.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(self.to_i128()).ok()
    }

    /// Rounded to a whole number, half away from zero.
    pub fn to_i128(&self) -> i128 {
        self.round(0).coefficient
    }

    /// The whole part: the fraction is cut off.
    pub fn trunc_to_i128(&self) -> i128 {
        self.coefficient / power(self.scale)
    }

    /// Whole part and fraction in units of `10^-30`: what makes numbers of any two scales
    /// comparable without overflow.
    fn parts(&self) -> (i128, i128) {
        let unit = power(self.scale);
        let fraction = self.coefficient % unit;
        (
            self.coefficient / unit,
            fraction * power(SCALE_MAX - self.scale),
        )
    }
}

/// `10^digits`, for at most 38 digits.
fn power(digits: u8) -> i128 {
    10i128.pow(u32::from(digits.min(DIGITS_MAX)))
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            self.coefficient.cmp(&other.coefficient)
        } else {
            self.parts().cmp(&other.parts())
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let normal = self.normalized();
        (normal.coefficient, normal.scale).hash(state);
    }
}

impl Decimal {
    /// A signed wide number with `scale` digits after the point (which may be over the limit),
    /// rounded until it fits; `None` when the part before the point alone is too long.
    fn from_wide(is_negative: bool, number: Wide, scale: u32) -> Option<Decimal> {
        let mut dropped = scale.saturating_sub(u32::from(SCALE_MAX));
        while dropped <= scale {
            let fits = number
                .scaled_down(dropped)
                .to_u128()
                .filter(|&n| n <= COEFFICIENT_MAX);
            if let Some(magnitude) = fits {
                let magnitude = i128::try_from(magnitude).ok()?;
                let coefficient = if is_negative { -magnitude } else { magnitude };
                return Decimal::new(coefficient, u8::try_from(scale - dropped).ok()?);
            }
            dropped += 1;
        }
        None
    }
}
