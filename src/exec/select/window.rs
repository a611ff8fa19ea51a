//! LIMIT and OFFSET of running queries.

use super::RowLimits;

/// LIMIT and OFFSET while they are counted down.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub(super) skip_rows: u64,
    pub(super) left_rows: Option<u64>,
}

impl Window {
    /// Of these limits, before the first row.
    pub fn new(limits: RowLimits) -> Window {
        Window {
            skip_rows: limits.offset,
            left_rows: limits.limit,
        }
    }

    /// Whether no more rows are returned.
    pub fn is_over(&self) -> bool {
        self.left_rows == Some(0)
    }

    /// How many rows are wanted in all, those that are skipped included.
    pub fn rows_wanted(&self) -> Option<u64> {
        let left = self.left_rows?;
        left.checked_add(self.skip_rows)
    }

    /// Whether the next row is returned; counts it either way.
    pub fn admits(&mut self) -> bool {
        if let Some(skip) = self.skip_rows.checked_sub(1) {
            self.skip_rows = skip;
            return false;
        }
        if let Some(left) = &mut self.left_rows {
            *left = left.saturating_sub(1);
        }
        true
    }
}
