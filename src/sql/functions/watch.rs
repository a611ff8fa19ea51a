//! Asking now and then whether to go on, where the arguments of a function set how long it takes.

use crate::error::Result;
use crate::sql::context::EvalContext;

/// Steps between two questions: a byte that is searched is one. Some tenths of a millisecond.
const STEPS_BETWEEN_LOOKS: usize = 64 << 10;

/// What has been done since the last question.
#[derive(Debug, Default)]
pub(super) struct Watch {
    steps: usize,
}

impl Watch {
    /// So many steps are about to be done.
    ///
    /// # Errors
    /// When the statement is to stop: 1317 and its like.
    pub(super) fn steps(&mut self, steps: usize, ctx: &EvalContext) -> Result<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps < STEPS_BETWEEN_LOOKS {
            return Ok(());
        }
        self.steps = 0;
        ctx.facts.check_stop()
    }
}
