//! Order-preserving encoding of key parts.

/// The direction in which a key part is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest first.
    Asc,
    /// Greatest first.
    Desc,
}
