//! `DECIMAL`: an exact decimal number of at most 38 digits.

/// `coefficient × 10^-scale`. Two decimals are equal when their numbers are: `1.0 == 1.00`.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    coefficient: i128,
    scale: u8,
}
