//! Memory of one statement: what its buffering operators hold, against `query_memory_bytes`.

use crate::error::{Code, Error, Result};

/// Counts bytes that an operator holds.
#[derive(Debug, Clone)]
pub struct Budget {
    operator: &'static str,
    used_bytes: usize,
    max_bytes: usize,
}

impl Budget {
    /// A budget of `max_bytes` for the operator of that name.
    pub fn new(operator: &'static str, max_bytes: usize) -> Budget {
        Budget {
            operator,
            used_bytes: 0,
            max_bytes,
        }
    }

    /// Takes `bytes` out of the budget.
    ///
    /// # Errors
    /// 1038 naming the operator and its bytes when too little is left.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        if self.used_bytes <= self.max_bytes {
            return Ok(());
        }
        let text = format!(
            "{} needs more than {} bytes of memory, the most query_memory_bytes allows ({})",
            self.operator, self.used_bytes, self.max_bytes
        );
        Err(Error::new(Code::CapacityExceeded, text))
    }

    /// Whether `bytes` more would fit.
    pub fn fits(&self, bytes: usize) -> bool {
        self.used_bytes.saturating_add(bytes) <= self.max_bytes
    }

    /// Gives everything back.
    pub fn reset(&mut self) {
        self.used_bytes = 0;
    }

    /// Gives `bytes` back.
    pub fn give_back(&mut self, bytes: usize) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
    }
}
