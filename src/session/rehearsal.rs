//! What a statement may look at while it is run for something else than its result: what it sets, takes
//! or waits for leaves no trace in its session.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::state::State;
use crate::ceiling;
use crate::error::Result;
use crate::sql::context::{Loaded, Pause, SessionFacts};
use crate::sql::expr::VariableScope;
use crate::sql::functions::lock::NamedLocks;
use crate::sql::functions::random::Sequences;
use crate::types::Value;

/// The facts of a session, and what changed of them in a rehearsal.
#[derive(Debug)]
pub(super) struct Rehearsal {
    state: Arc<State>,
    /// The `@name` that were set; a statement names no more than its text has room for.
    variables: Mutex<HashMap<String, Arc<Value<'static>>>>,
    /// What `LAST_INSERT_ID(n)` was told.
    told_insert_id: Mutex<Option<u64>>,
    sequences: Mutex<Sequences>,
    /// Nobody else's: no lock is held, and none is waited for.
    named_locks: NamedLocks,
}

impl Rehearsal {
    /// Of a session as it is now.
    pub(super) fn new(state: &Arc<State>) -> Rehearsal {
        Rehearsal {
            state: Arc::clone(state),
            variables: Mutex::default(),
            told_insert_id: Mutex::default(),
            sequences: Mutex::default(),
            named_locks: NamedLocks::default(),
        }
    }
}

impl SessionFacts for Rehearsal {
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value<'static>> {
        self.state.system_variable(scope, name)
    }

    fn user_variable(&self, name: &str) -> Option<Arc<Value<'static>>> {
        let set = self.variables.lock().get(name).map(Arc::clone);
        set.or_else(|| self.state.user_variable(name))
    }

    fn assign_user_variable(&self, name: &str, value: Value<'static>) -> Result<()> {
        ceiling::drip("a user variable", name.len() + value.memory_bytes())?;
        let mut variables = self.variables.lock();
        variables.insert(name.to_owned(), Arc::new(value));
        Ok(())
    }

    fn query_attribute(&self, name: &str) -> Option<Arc<Value<'static>>> {
        self.state.query_attribute(name)
    }

    fn database(&self) -> Option<String> {
        self.state.database()
    }

    fn user(&self) -> String {
        self.state.user()
    }

    fn current_user(&self) -> String {
        self.state.current_user()
    }

    fn current_role(&self) -> String {
        self.state.current_role()
    }

    fn connection_id(&self) -> u64 {
        self.state.connection_id()
    }

    fn last_insert_id(&self) -> u64 {
        let told = *self.told_insert_id.lock();
        told.unwrap_or_else(|| self.state.last_insert_id())
    }

    fn set_last_insert_id(&self, id: u64) {
        *self.told_insert_id.lock() = Some(id);
    }

    fn row_count(&self) -> i64 {
        self.state.row_count()
    }

    fn found_rows(&self) -> u64 {
        self.state.found_rows()
    }

    fn version(&self) -> &'static str {
        self.state.version()
    }

    fn pause(&self, _: Duration, _: Pause) -> Result<bool> {
        Ok(false)
    }

    fn named_locks(&self) -> Option<&NamedLocks> {
        Some(&self.named_locks)
    }

    fn sequences(&self) -> Option<&Mutex<Sequences>> {
        Some(&self.sequences)
    }

    fn load_file(&self, path: &str, bytes_max: usize) -> Loaded {
        self.state.load_file(path, bytes_max)
    }

    fn for_long(&self, work: &mut dyn FnMut()) {
        self.state.for_long(work);
    }

    fn check_stop(&self) -> Result<()> {
        self.state.check_stop()
    }
}
