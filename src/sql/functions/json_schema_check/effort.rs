//! What applying a schema costs, and the patterns of one application: compiled once each.
//!
//! Everything whose amount a schema or a document sets is counted, so that the statement can be stopped
//! soon wherever it spends its time. What turns out to take long is begun again where it keeps nobody
//! from running.

use std::collections::HashMap;

use crate::error::Error;
use crate::sql::context::EvalContext;
use crate::sql::eval::regexp::{self, Pattern};

/// Steps between two questions whether to go on: some schemas of a few kilobytes take as long as one likes.
const STEPS_MAX: usize = 1024;

/// Bytes that are read or written in about the time of a step.
const STEP_BYTES: usize = 64;

/// What compiling a pattern counts: one may take some milliseconds.
const COMPILE_STEPS: usize = STEPS_MAX / 4;

/// Patterns that one application keeps compiled, each of up to some megabytes. Those past it are compiled
/// whenever they are met.
const PATTERNS_KEPT_MAX: usize = 64;

/// Why no answer was found.
#[derive(Debug)]
pub(super) enum Halt {
    /// It takes long, and was not begun as what may.
    Long,
    /// It cannot be told, or is not to be found out any more.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Halt {
        Halt::Failed(error)
    }
}

/// The effort of one application.
pub(super) struct Effort<'j> {
    ctx: &'j EvalContext,
    may_take_long: bool,
    steps: usize,
    patterns: HashMap<String, Option<Pattern>>,
}

impl<'j> Effort<'j> {
    /// One that ends as [`Halt::Long`] soon.
    pub(super) fn short(ctx: &'j EvalContext) -> Effort<'j> {
        Effort {
            ctx,
            may_take_long: false,
            steps: 0,
            patterns: HashMap::new(),
        }
    }

    /// One that goes on until it is stopped.
    pub(super) fn long(ctx: &'j EvalContext) -> Effort<'j> {
        Effort {
            may_take_long: true,
            ..Effort::short(ctx)
        }
    }

    /// Counts steps that are about to be done.
    ///
    /// # Errors
    /// [`Halt::Long`]; 1317 and its like when the statement is to stop.
    pub(super) fn steps(&mut self, steps: usize) -> Result<(), Halt> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps < STEPS_MAX {
            return Ok(());
        }
        if !self.may_take_long {
            return Err(Halt::Long);
        }
        self.steps = 0;
        Ok(self.ctx.facts.check_stop()?)
    }

    /// Counts bytes that are read or written.
    ///
    /// # Errors
    /// As [`Effort::steps`].
    pub(super) fn bytes(&mut self, bytes: usize) -> Result<(), Halt> {
        self.steps(bytes / STEP_BYTES)
    }

    /// Whether a pattern is found in a text; `None` for what is no pattern, which says nothing.
    ///
    /// # Errors
    /// As [`Effort::steps`]; 3685 for what is a pattern in MySQL and none here: it is not to be met by
    /// everything; 3699 for a pattern and a text that may take too long.
    pub(super) fn matches(&mut self, text: &str, pattern: &str) -> Result<Option<bool>, Halt> {
        self.steps(1 + text.len() / STEP_BYTES)?;
        if pattern.is_empty() {
            // It is in every text; for REGEXP it is no pattern.
            return Ok(Some(true));
        }
        let is_match = |known: &Option<Pattern>| {
            let found = known.as_ref().map(|known| known.is_match(text));
            found.transpose()
        };
        if let Some(known) = self.patterns.get(pattern) {
            return Ok(is_match(known)?);
        }
        if !regexp::is_kept(pattern) {
            self.steps(COMPILE_STEPS)?;
        }
        let regex = regexp::compiled_if_pattern(pattern)?;
        let found = is_match(&regex)?;
        if self.patterns.len() < PATTERNS_KEPT_MAX {
            self.patterns.insert(pattern.to_owned(), regex);
        }
        Ok(found)
    }
}
