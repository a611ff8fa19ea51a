//! Arithmetic and rounding of [`Decimal`].
//!
//! Scales follow MySQL ("Precision Math"): a sum has the larger scale, a product the sum of both,
//! a quotient the scale of the dividend plus [`DIVISION_SCALE_INCREMENT`](super::DIVISION_SCALE_INCREMENT). When a result has more
//! than 38 digits its fraction is rounded shorter; when its whole part does not fit, `None`.

use super::{DIVISION_SCALE_INCREMENT, Decimal, SCALE_MAX, Wide, power};

impl Decimal {
    /// The sum; `None` on overflow.
    pub fn checked_add(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        let quick = (self.coefficient.checked_mul(power(scale - self.scale)))
            .zip(other.coefficient.checked_mul(power(scale - other.scale)))
            .and_then(|(a, b)| a.checked_add(b))
            .and_then(|sum| Decimal::new(sum, scale));
        if quick.is_some() {
            return quick;
        }
        let (a, b) = (self.aligned(scale)?, other.aligned(scale)?);
        let (negative, sum) = if self.is_negative() == other.is_negative() {
            (self.is_negative(), a.add(b)?)
        } else if b <= a {
            (self.is_negative(), a.sub(b))
        } else {
            (other.is_negative(), b.sub(a))
        };
        Decimal::from_wide(negative, sum, u32::from(scale))
    }

    /// The difference; `None` on overflow.
    pub fn checked_sub(self, other: Decimal) -> Option<Decimal> {
        self.checked_add(other.neg())
    }

    /// The product; `None` on overflow.
    pub fn checked_mul(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale + other.scale;
        let quick = (self.coefficient.checked_mul(other.coefficient))
            .and_then(|product| Decimal::new(product, scale));
        if quick.is_some() {
            return quick;
        }
        let (a, b) = (
            self.coefficient.unsigned_abs(),
            other.coefficient.unsigned_abs(),
        );
        let negative = self.is_negative() != other.is_negative();
        Decimal::from_wide(negative, Wide::product(a, b), u32::from(scale))
    }

    /// The quotient with MySQL's scale; `None` when `other` is zero or on overflow.
    pub fn checked_div(self, other: Decimal) -> Option<Decimal> {
        self.div_to_scale(other, self.scale + DIVISION_SCALE_INCREMENT)
    }

    /// The quotient with `scale` digits (at most 30) after the point, rounded half away from zero.
    pub fn div_to_scale(self, other: Decimal, scale: u8) -> Option<Decimal> {
        let scale = scale.min(SCALE_MAX);
        // self / other = c1 / c2 × 10^(s2 - s1); c1 × 10^(scale - s1 + s2) / c2 has `scale` digits.
        let shift = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        let (a, b) = (
            self.coefficient.unsigned_abs(),
            other.coefficient.unsigned_abs(),
        );
        let digits = shift.unsigned_abs();
        let (dividend, divisor) = if shift < 0 {
            (Wide::new(a), Wide::new(b).scaled_up(digits)?)
        } else {
            let divisor = Wide::new(b);
            (scaled_far_up(Wide::new(a), digits)?, divisor)
        };
        let (quotient, rest) = dividend.div_rem(divisor)?;
        let rounds_up = divisor.sub(rest) <= rest;
        let quotient = if rounds_up {
            quotient.add(Wide::new(1))?
        } else {
            quotient
        };
        let negative = self.is_negative() != other.is_negative();
        Decimal::from_wide(negative, quotient, u32::from(scale))
    }

    /// `DIV`: the quotient's whole part; `None` when `other` is zero or on overflow.
    pub fn checked_div_int(self, other: Decimal) -> Option<Decimal> {
        let (a, b) = self.both_aligned(other)?;
        let (quotient, _) = a.div_rem(b)?;
        Decimal::from_wide(self.is_negative() != other.is_negative(), quotient, 0)
    }

    /// `%`: what [`Decimal::checked_div_int`] leaves, with the sign of `self`; `None` when `other`
    /// is zero.
    pub fn checked_rem(self, other: Decimal) -> Option<Decimal> {
        let (a, b) = self.both_aligned(other)?;
        let (_, rest) = a.div_rem(b)?;
        let scale = self.scale.max(other.scale);
        Decimal::from_wide(self.is_negative(), rest, u32::from(scale))
    }

    /// The number with its sign changed.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "stands beside the checked operations"
    )]
    pub fn neg(self) -> Decimal {
        Decimal {
            coefficient: -self.coefficient,
            ..self
        }
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(self) -> Decimal {
        Decimal {
            coefficient: self.coefficient.abs(),
            ..self
        }
    }

    /// Rounded half away from zero to `digits` after the point; to tens, hundreds… when negative.
    /// A number with fewer digits stays as it is.
    #[must_use]
    pub fn round(self, digits: i32) -> Decimal {
        self.cut(digits, |quotient, rest, unit| {
            let half = unit / 2 <= rest.abs();
            if half {
                quotient + rest.signum()
            } else {
                quotient
            }
        })
    }

    /// Cut off after `digits` after the point; before it when negative.
    #[must_use]
    pub fn trunc(self, digits: i32) -> Decimal {
        self.cut(digits, |quotient, _, _| quotient)
    }

    /// The least whole number that is not below this one.
    #[must_use]
    pub fn ceil(self) -> Decimal {
        self.cut(0, |quotient, rest, _| quotient + i128::from(0 < rest))
    }

    /// The greatest whole number that is not above this one.
    #[must_use]
    pub fn floor(self) -> Decimal {
        self.cut(0, |quotient, rest, _| quotient - i128::from(rest < 0))
    }

    /// The number as a column `DECIMAL(precision, scale)` holds it: rounded or filled up to
    /// exactly `scale` digits; `None` when it then has more than `precision` digits.
    pub fn rescale(self, precision: u8, scale: u8) -> Option<Decimal> {
        let rounded = self.round(i32::from(scale));
        let missing = scale.checked_sub(rounded.scale)?;
        let coefficient = rounded.coefficient.checked_mul(power(missing))?;
        let fits = coefficient.abs() < power(precision);
        Decimal::new(coefficient, scale).filter(|_| fits)
    }

    /// Drops digits after the position `digits`; `rule` sees quotient, remainder and the unit.
    fn cut(self, digits: i32, rule: impl Fn(i128, i128, i128) -> i128) -> Decimal {
        let dropped = i32::from(self.scale) - digits;
        if dropped <= 0 {
            return self;
        }
        let scale = u8::try_from(digits.max(0)).unwrap_or(0);
        let Some(unit) = u32::try_from(dropped)
            .ok()
            .and_then(|d| 10i128.checked_pow(d))
        else {
            return Decimal {
                coefficient: 0,
                scale: 0,
            };
        };
        let kept = rule(self.coefficient / unit, self.coefficient % unit, unit);
        let zeros = u8::try_from((-digits).max(0)).unwrap_or(0);
        // `unit` fits an i128, so that `zeros` does not pass 38; 10^38 itself cannot be held.
        let coefficient = kept.saturating_mul(power(zeros));
        Decimal::new(coefficient, scale).unwrap_or(Decimal::max_of(38, 0))
    }

    /// The magnitude in units of `10^-scale`.
    fn aligned(self, scale: u8) -> Option<Wide> {
        Wide::new(self.coefficient.unsigned_abs()).scaled_up(u32::from(scale - self.scale))
    }

    fn both_aligned(self, other: Decimal) -> Option<(Wide, Wide)> {
        let scale = self.scale.max(other.scale);
        self.aligned(scale).zip(other.aligned(scale))
    }
}

/// Times `10^digits` where `digits` may pass what one step can do.
fn scaled_far_up(number: Wide, digits: u32) -> Option<Wide> {
    let first = digits.min(30);
    number.scaled_up(first)?.scaled_up(digits - first)
}
