//! Numbers of keys and rows as parts and multiples of each other, for guesses: what is exact is counted in
//! whole numbers.

/// A count, about.
#[expect(
    clippy::cast_precision_loss,
    reason = "a guess, and nothing has 2^52 keys"
)]
pub fn float(count: u64) -> f64 {
    count as f64
}

/// As [`float`], of what is in memory.
pub fn float_of(count: usize) -> f64 {
    float(u64::try_from(count).unwrap_or(u64::MAX))
}

/// The nearest count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and saturates"
)]
pub fn whole(count: f64) -> u64 {
    count.round() as u64
}
