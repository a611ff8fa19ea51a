//! A range of keys: everything between two cuts.

use super::cut::Cut;

/// A range of keys that is not empty by construction.
#[derive(Debug, Clone)]
pub struct Span {
    start: Cut,
    until: Cut,
}

impl Span {
    /// Where it begins.
    pub fn start(&self) -> &Cut {
        &self.start
    }

    /// Where it ends.
    pub fn until(&self) -> &Cut {
        &self.until
    }
}
