//! Unsigned 256-bit arithmetic: the slow path of [`Decimal`](super::Decimal), taken only when a
//! result in between leaves 127 bits. Not a general big integer.

use std::cmp::Ordering;

/// An unsigned integer below 2^256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wide {
    high: u128,
    low: u128,
}

/// Decimal digits that one division step removes; `10^19` is the largest power in a `u64`.
const DIGITS_PER_STEP: u32 = 19;

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Wide) -> Ordering {
        (self.high, self.low).cmp(&(other.high, other.low))
    }
}

impl Wide {
    pub(super) const ZERO: Wide = Wide { high: 0, low: 0 };

    pub(super) fn new(low: u128) -> Wide {
        Wide { high: 0, low }
    }

    /// The number, when it fits 128 bits.
    pub(super) fn to_u128(self) -> Option<u128> {
        (self.high == 0).then_some(self.low)
    }

    pub(super) fn add(self, other: Wide) -> Option<Wide> {
        let (low, carry) = self.low.overflowing_add(other.low);
        let high = self
            .high
            .checked_add(other.high)?
            .checked_add(u128::from(carry))?;
        Some(Wide { high, low })
    }

    /// `self - other`; the caller has seen that `other <= self`.
    pub(super) fn sub(self, other: Wide) -> Wide {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        let high = self
            .high
            .wrapping_sub(other.high)
            .wrapping_sub(u128::from(borrow));
        Wide { high, low }
    }

    /// The full product of two 128-bit numbers, by halves of 64 bits.
    pub(super) fn product(a: u128, b: u128) -> Wide {
        let (a_high, a_low) = halves(a);
        let (b_high, b_low) = halves(b);
        let low = Wide::new(a_low * b_low);
        let high = Wide {
            high: a_high * b_high,
            low: 0,
        };
        let middle = |x: u128| Wide {
            high: x >> 64,
            low: x << 64,
        };
        // The sum is the product, which is below 2^256: the additions cannot overflow.
        [low, middle(a_high * b_low), middle(a_low * b_high)]
            .into_iter()
            .fold(high, |sum, part| sum.add(part).unwrap_or(sum))
    }

    /// `self × 10^digits`, when it stays below 2^256.
    pub(super) fn scaled_up(self, digits: u32) -> Option<Wide> {
        let factor = 10u128.checked_pow(digits)?;
        let low = Wide::product(self.low, factor);
        let high = Wide::product(self.high, factor).to_u128()?;
        low.add(Wide { high, low: 0 })
    }

    /// `self / 10^digits`, rounded half up: only the first digit that is dropped decides.
    pub(super) fn scaled_down(self, digits: u32) -> Wide {
        let Some(mut left) = digits.checked_sub(1) else {
            return self;
        };
        let mut rest = self;
        while left > 0 {
            let step = left.min(DIGITS_PER_STEP);
            rest = rest.div_rem_small(10u64.pow(step)).0;
            left -= step;
        }
        let (quotient, dropped) = rest.div_rem_small(10);
        let carry = Wide::new(u128::from(dropped >= 5));
        // A tenth of a 256-bit number plus one is a 256-bit number.
        quotient.add(carry).unwrap_or(quotient)
    }

    fn div_rem_small(self, divisor: u64) -> (Wide, u64) {
        let divisor = u128::from(divisor);
        let (l3, l2) = halves(self.high);
        let (l1, l0) = halves(self.low);
        let mut rest = 0u128;
        let mut step = |limb: u128| {
            let part = (rest << 64) | limb;
            rest = part % divisor;
            part / divisor
        };
        let (q3, q2, q1, q0) = (step(l3), step(l2), step(l1), step(l0));
        let quotient = Wide {
            high: (q3 << 64) | q2,
            low: (q1 << 64) | q0,
        };
        (quotient, u64::try_from(rest).unwrap_or(0))
    }

    /// Quotient and remainder by shift and subtract; `None` when `divisor` is zero.
    pub(super) fn div_rem(self, divisor: Wide) -> Option<(Wide, Wide)> {
        if divisor == Wide::ZERO {
            return None;
        }
        if let (Some(a), Some(b)) = (self.to_u128(), divisor.to_u128()) {
            return Some((Wide::new(a / b), Wide::new(a % b)));
        }
        let (mut quotient, mut rest) = (Wide::ZERO, Wide::ZERO);
        for bit in (0..256u32).rev() {
            // A remainder of 2^255 or more loses its top bit here, and the subtraction that must
            // follow brings the same difference modulo 2^256.
            let lost = rest.high >> 127 == 1;
            rest = rest.shifted(self.bit(bit));
            let taken = lost || divisor <= rest;
            if taken {
                rest = rest.sub(divisor);
            }
            quotient = quotient.shifted(taken);
        }
        Some((quotient, rest))
    }

    fn bit(self, bit: u32) -> bool {
        match bit.checked_sub(128) {
            Some(above) => (self.high >> above) & 1 == 1,
            None => (self.low >> bit) & 1 == 1,
        }
    }

    fn shifted(self, bit: bool) -> Wide {
        Wide {
            high: (self.high << 1) | (self.low >> 127),
            low: (self.low << 1) | u128::from(bit),
        }
    }
}

fn halves(number: u128) -> (u128, u128) {
    (number >> 64, number & u128::from(u64::MAX))
}
