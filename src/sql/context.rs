//! What an evaluation may look at besides its row: the clock, the session, the parameters.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::expr::{Slot, VariableScope};
use super::functions::DRIPPED_BYTES_MIN;
use super::functions::lock::NamedLocks;
use super::functions::random::Sequences;
use super::members::Members;
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::types::{Timestamp, Value};

/// The `@name` of a session at one moment.
pub type UserVariables = Arc<HashMap<String, Arc<Value<'static>>>>;

/// What a statement may assign, as it is at one moment.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// The `@name`.
    pub user_variables: UserVariables,
    /// What `LAST_INSERT_ID()` gives.
    pub last_insert_id: u64,
    /// What `LAST_INSERT_ID(expr)` tells the client, if the statement called it.
    pub told_insert_id: Option<u64>,
}

/// Facts and variables of the session that runs a statement. Implemented by `session`.
pub trait SessionFacts: Send + Sync {
    /// The value of a system variable.
    ///
    /// # Errors
    /// 1193 for an unknown name, 1238 for one without a value of that scope.
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value<'static>>;
    /// The value of `@name`, if it was ever set.
    fn user_variable(&self, name: &str) -> Option<Arc<Value<'static>>>;
    /// A copy of it, for a row that may have many; `NULL` when it was never set.
    ///
    /// # Errors
    /// 1041 when the process has no memory for one more.
    fn copied_user_variable(&self, name: &str) -> Result<Value<'static>> {
        let Some(value) = self.user_variable(name) else {
            return Ok(Value::Null);
        };
        let bytes = value.memory_bytes();
        if DRIPPED_BYTES_MIN <= bytes {
            ceiling::drip("a user variable", bytes)?;
        }
        Ok(Value::clone(&value))
    }
    /// `@name := value`. Without a session there is nothing to remember it.
    ///
    /// # Errors
    /// When the session has too many variables.
    fn assign_user_variable(&self, _name: &str, _value: Value<'static>) -> Result<()> {
        Ok(())
    }
    /// What is assigned by now, for [`SessionFacts::go_back`]; in a box, as it is kept while a statement runs.
    fn assigned(&self) -> Option<Box<Assigned>> {
        None
    }
    /// A statement starts over: what it has assigned since is taken back.
    fn go_back(&self, _assigned: Option<&Assigned>) {}
    /// What the client sent by name with the statement; `None` when it did not.
    fn query_attribute(&self, _name: &str) -> Option<Arc<Value<'static>>> {
        None
    }
    /// The current database.
    fn database(&self) -> Option<String>;
    /// `name@host` as the client gave it.
    fn user(&self) -> String;
    /// `name@host` of the account that was matched.
    fn current_user(&self) -> String {
        self.user()
    }
    /// `CURRENT_ROLE()`.
    fn current_role(&self) -> String {
        "NONE".to_owned()
    }
    /// `CONNECTION_ID()`.
    fn connection_id(&self) -> u64;
    /// `LAST_INSERT_ID()`.
    fn last_insert_id(&self) -> u64;
    /// `ROW_COUNT()`.
    fn row_count(&self) -> i64;
    /// `FOUND_ROWS()`.
    fn found_rows(&self) -> u64;
    /// `VERSION()`.
    fn version(&self) -> &'static str;
    /// Waits, without keeping others from running, and tells others what for; whether it was ended early
    /// because the statement is to stop. Without a session nothing is waited for.
    ///
    /// # Errors
    /// When the whole connection is to end: 1927 and its like.
    fn pause(&self, _duration: Duration, _pause: Pause) -> Result<bool> {
        Ok(false)
    }
    /// `LAST_INSERT_ID(n)`: what `LAST_INSERT_ID()` gives from now on.
    fn set_last_insert_id(&self, _id: u64) {}
    /// The locks that clients name.
    fn named_locks(&self) -> Option<&NamedLocks> {
        None
    }
    /// The sequences of `RAND(seed)`, where they are kept from row to row.
    fn sequences(&self) -> Option<&Mutex<Sequences>> {
        None
    }
    /// A file of the server, for `LOAD_FILE`: where statements may read files, and for who may.
    fn load_file(&self, _path: &str, _bytes_max: usize) -> Loaded {
        Loaded::Unreadable
    }
    /// Does `work`, which may take long, without keeping others from running. It asks
    /// [`SessionFacts::check_stop`] now and then.
    fn for_long(&self, work: &mut dyn FnMut()) {
        work();
    }
    /// For an evaluation that takes long: whether to go on with it.
    ///
    /// # Errors
    /// When the statement is to stop: 1317 and its like.
    fn check_stop(&self) -> Result<()> {
        Ok(())
    }
}

/// What an evaluation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// `SLEEP()`.
    Sleep,
    /// `GET_LOCK()`.
    NamedLock,
}

/// What came of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loaded {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// It has more bytes than were asked for.
    TooLarge,
    /// It is not there, not where files may be read, or not for this session.
    Unreadable,
}

/// The parts of `sql_mode` that change an evaluation.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent word of sql_mode"
)]
pub struct Mode {
    /// `STRICT_TRANS_TABLES` or `STRICT_ALL_TABLES`.
    pub strict: bool,
    /// `ERROR_FOR_DIVISION_BY_ZERO`.
    pub error_for_division_by_zero: bool,
    /// `NO_ZERO_DATE`.
    pub no_zero_date: bool,
    /// `NO_ZERO_IN_DATE`.
    pub no_zero_in_date: bool,
    /// `NO_UNSIGNED_SUBTRACTION`.
    pub no_unsigned_subtraction: bool,
    /// `REAL_AS_FLOAT`: the type `REAL` is `FLOAT`.
    pub real_as_float: bool,
    /// `NO_BACKSLASH_ESCAPES`.
    pub no_backslash_escapes: bool,
    /// `PIPES_AS_CONCAT`.
    pub pipes_as_concat: bool,
    /// `ANSI_QUOTES`.
    pub ansi_quotes: bool,
    /// `ONLY_FULL_GROUP_BY`.
    pub only_full_group_by: bool,
    /// `NO_AUTO_VALUE_ON_ZERO`.
    pub no_auto_value_on_zero: bool,
    /// `LINDORM`: `INSERT` means `UPSERT`.
    pub lindorm: bool,
}

/// One line of `SHOW WARNINGS`.
#[derive(Debug, Clone)]
pub struct Warning {
    /// How bad.
    pub level: WarningLevel,
    /// What kind.
    pub code: Code,
    /// The text.
    pub message: String,
}

/// The first column of `SHOW WARNINGS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningLevel {
    /// Nothing was lost.
    Note,
    /// Something was adjusted.
    Warning,
    /// The statement failed.
    Error,
}

/// Warnings one statement keeps; past it they are only counted. MySQL's `max_error_count`.
pub const WARNINGS_MAX: usize = 1024;

/// Whether notes are warnings: `sql_notes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notes {
    /// They are.
    #[default]
    Kept,
    /// They are neither kept nor counted.
    Dropped,
}

/// The warnings of the running statement.
#[derive(Debug, Default)]
pub struct Warnings {
    kept: Mutex<(Vec<Warning>, u64)>,
    notes: Notes,
}

/// How many warnings there were at a moment.
#[derive(Debug, Clone, Copy)]
pub struct WarningsMark {
    kept: usize,
    count: u64,
}

impl Warnings {
    /// None yet.
    pub fn new(notes: Notes) -> Warnings {
        Warnings {
            notes,
            ..Warnings::default()
        }
    }

    /// Adds a warning; the text is made only if it will be kept.
    pub fn add(&self, level: WarningLevel, code: Code, message: impl FnOnce() -> String) {
        if level == WarningLevel::Note && self.notes == Notes::Dropped {
            return;
        }
        let mut kept = self.kept.lock();
        kept.1 += 1;
        if kept.0.len() < WARNINGS_MAX {
            kept.0.push(Warning {
                level,
                code,
                message: message(),
            });
        }
    }

    /// How many there were, kept or not, as the protocol's 16 bits can say.
    pub fn count(&self) -> u16 {
        u16::try_from(self.kept.lock().1).unwrap_or(u16::MAX)
    }

    /// The kept ones, in order.
    pub fn list(&self) -> Vec<Warning> {
        self.kept.lock().0.clone()
    }

    /// Forgets all.
    pub fn clear(&mut self, notes: Notes) {
        let (kept, count) = self.kept.get_mut();
        kept.clear();
        *count = 0;
        self.notes = notes;
    }

    /// How many there are, for [`Warnings::back_to`].
    pub fn mark(&self) -> WarningsMark {
        let kept = self.kept.lock();
        WarningsMark {
            kept: kept.0.len(),
            count: kept.1,
        }
    }

    /// Forgets those that came behind a mark: what they tell of was not done, and is done again.
    pub fn back_to(&self, mark: WarningsMark) {
        let mut kept = self.kept.lock();
        kept.0.truncate(mark.kept);
        kept.1 = mark.count;
    }

    /// Takes the kept ones out.
    pub fn take(&self) -> Vec<Warning> {
        let mut kept = self.kept.lock();
        kept.1 = 0;
        std::mem::take(&mut kept.0)
    }
}

/// The values of `?`, shared by all queries of a statement.
pub type Parameters = Arc<Vec<Value<'static>>>;

/// Everything an evaluation may look at besides its row. Lives as long as the statement.
pub struct EvalContext {
    /// When the statement began: the value of `NOW()` throughout.
    pub now: Timestamp,
    /// The session's `time_zone`.
    pub zone: crate::types::temporal::Zone,
    /// The session's `sql_mode`.
    pub mode: Mode,
    /// The values of `?`.
    pub parameters: Parameters,
    /// What was worked out before the row is looked at, by [`Slot::idx`].
    pub slots: Vec<SlotValue>,
    /// The session.
    pub facts: Arc<dyn SessionFacts>,
    /// Where warnings go.
    pub warnings: Arc<Warnings>,
    /// Whether division by zero and truncation are errors: in a strict INSERT or UPDATE.
    pub strict_write: bool,
}

/// The content of a [`Slot`].
#[derive(Debug, Clone, Default)]
pub enum SlotValue {
    /// Nothing yet.
    #[default]
    Unset,
    /// A column of an enclosing query, or the answer of a subquery. Each query within it has the same.
    Value(Arc<Value<'static>>),
    /// A value that stands for one that is not known yet, and what that is: where it is only tried out
    /// how something would be read.
    StandIn(Value<'static>, Arc<str>),
    /// The rows of a subquery behind `IN`, `ANY` or `ALL`.
    Set(Arc<Members>),
    /// The subquery failed, which matters only if its answer is asked for.
    Failed(Error),
}

/// Steps, of a nanosecond or some, from which on work is done where it keeps nobody from running: a millisecond
/// and more.
const LONG_STEPS_MIN: usize = 1 << 20;

/// Does work that may take long without keeping others from running.
///
/// # Errors
/// Those of the work.
pub(crate) fn for_long<T>(facts: &dyn SessionFacts, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let (mut work, mut done) = (Some(work), None);
    facts.for_long(&mut || {
        if let Some(work) = work.take() {
            done = Some(work());
        }
    });
    done.unwrap_or_else(|| Err(Error::internal("what takes long was not done")))
}

impl EvalContext {
    /// Does work of so many steps at most, each of some nanoseconds: where they are many, without keeping others
    /// from running.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) fn at_length<T>(&self, steps: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if steps < LONG_STEPS_MIN {
            return work();
        }
        for_long(self.facts.as_ref(), work)
    }

    /// The value in a slot.
    ///
    /// # Errors
    /// What the subquery failed with.
    pub fn slot(&self, slot: &Slot) -> Result<Value<'_>> {
        match self.slots.get(slot.idx) {
            Some(SlotValue::Value(value)) => Ok(value.as_ref().borrow()),
            Some(SlotValue::StandIn(value, _)) => Ok(value.borrow()),
            Some(SlotValue::Failed(error)) => Err(error.clone()),
            Some(SlotValue::Unset | SlotValue::Set(_)) | None => Err(empty(slot)),
        }
    }

    /// The rows in a slot.
    ///
    /// # Errors
    /// What the subquery failed with.
    pub fn set(&self, slot: &Slot) -> Result<&Members> {
        match self.slots.get(slot.idx) {
            Some(SlotValue::Set(members)) => Ok(members),
            Some(SlotValue::Failed(error)) => Err(error.clone()),
            Some(SlotValue::Unset | SlotValue::Value(_) | SlotValue::StandIn(..)) | None => {
                Err(empty(slot))
            }
        }
    }

    /// The value in a slot that is the same for all rows.
    pub fn known(&self, slot: &Slot) -> Option<&Value<'static>> {
        match self.slots.get(slot.idx).filter(|_| !slot.per_row) {
            Some(SlotValue::Value(value)) => Some(value),
            Some(SlotValue::StandIn(value, _)) => Some(value),
            Some(SlotValue::Unset | SlotValue::Set(_) | SlotValue::Failed(_)) | None => None,
        }
    }

    /// Whether there are values that stand for those to come: nothing that is found out is more than a trial.
    pub fn has_stand_ins(&self) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|slot| matches!(slot, SlotValue::StandIn(..)))
    }

    /// The rows in a slot that are the same for all rows of the query.
    pub fn known_set(&self, slot: &Slot) -> Option<&Members> {
        match self.slots.get(slot.idx).filter(|_| !slot.per_row) {
            Some(SlotValue::Set(members)) => Some(members),
            Some(
                SlotValue::Unset
                | SlotValue::Value(_)
                | SlotValue::StandIn(..)
                | SlotValue::Failed(_),
            )
            | None => None,
        }
    }

    /// Fills a slot.
    pub fn fill(&mut self, idx: usize, value: SlotValue) {
        if self.slots.len() <= idx {
            self.slots.resize(idx + 1, SlotValue::Unset);
        }
        if let Some(slot) = self.slots.get_mut(idx) {
            *slot = value;
        }
    }

    /// The same session, clock and slots, for a query within this one.
    #[must_use]
    pub fn nested(&self) -> EvalContext {
        EvalContext {
            now: self.now,
            zone: self.zone.clone(),
            mode: self.mode,
            parameters: Arc::clone(&self.parameters),
            slots: self.slots.clone(),
            facts: Arc::clone(&self.facts),
            warnings: Arc::clone(&self.warnings),
            strict_write: self.strict_write,
        }
    }

    /// As [`EvalContext::nested`], with warnings that nobody reads: to try something out.
    #[must_use]
    pub fn quiet(&self) -> EvalContext {
        EvalContext {
            warnings: Arc::default(),
            ..self.nested()
        }
    }
}

fn empty(slot: &Slot) -> Error {
    Error::internal(format!("slot {} ({}) is empty", slot.idx, slot.text))
}
