//! System variables: one registry, the server's values and each session's.
//!
//! A variable is listed in [`registry`] when something here acts on it or when ignoring it cannot
//! change an answer. What a variable *does* is decided where it is used; see [`super::settings`].

pub mod registry;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::RwLock;

pub use registry::{Kind, Reach, Variable};

use crate::error::{Code, Error, Result};
use crate::sql::expr::VariableScope;
use crate::types::Value;

/// The values of all variables at one time, in the order of [`registry::ALL`].
type Values = Vec<Value<'static>>;

/// The server's values: what a new session starts with, and what `@@global.x` shows.
#[derive(Debug)]
pub struct Globals {
    /// Shared with the sessions that began with them: a change makes others, and leaves theirs.
    values: RwLock<Arc<Values>>,
}

impl Default for Globals {
    fn default() -> Globals {
        Globals {
            values: RwLock::new(Arc::new(registry::defaults())),
        }
    }
}

impl Globals {
    /// The same values, where a change is seen by nobody.
    fn apart(&self) -> Globals {
        Globals {
            values: RwLock::new(self.now()),
        }
    }

    /// All values of now, which stay as they are.
    fn now(&self) -> Arc<Values> {
        Arc::clone(&self.values.read())
    }

    fn put(&self, idx: usize, value: Value<'static>) {
        if let Some(slot) = Arc::make_mut(&mut self.values.write()).get_mut(idx) {
            *slot = value;
        }
    }

    /// Sets what the server knows at start (`port`, `datadir`, …), also for read-only variables.
    ///
    /// # Errors
    /// 1193 for a name that is not in the registry.
    pub fn install(&self, name: &str, value: Value<'static>) -> Result<()> {
        self.put(position(name)?, value);
        Ok(())
    }

    /// The value of `@@global.name`.
    ///
    /// # Errors
    /// 1193 for an unknown name, 1238 for a variable of the session alone.
    pub fn get(&self, name: &str) -> Result<Value<'static>> {
        let idx = position(name)?;
        let variable = entry(idx)?;
        if variable.reach == Reach::SessionOnly {
            return Err(wrong_scope(variable, "SESSION"));
        }
        at(&self.values.read(), idx)
    }

    /// `SET GLOBAL name = value`. `None` sets the default.
    ///
    /// # Errors
    /// 1193, 1228, 1231, 1232 or 1238 as MySQL gives them.
    pub fn set(&self, name: &str, value: Option<Value<'static>>) -> Result<()> {
        let idx = position(name)?;
        let variable = entry(idx)?;
        if variable.reach == Reach::SessionOnly {
            let text = format!("Variable '{}' is a SESSION variable", variable.name);
            return Err(Error::new(Code::LocalVariable, text));
        }
        let value = match value {
            Some(value) => Some(variable.beside(value, || at(&self.values.read(), idx))?),
            None => None,
        };
        self.put(idx, variable.checked(value)?);
        Ok(())
    }
}

/// One session's values: what the server's were when it began, and what it set since. `SET GLOBAL`
/// is for sessions that begin later.
#[derive(Debug)]
pub struct Locals {
    globals: Arc<Globals>,
    /// What it began with, shared with the server and with all that began since the same change: an
    /// idle session holds next to nothing.
    begun: Arc<Values>,
    /// What it set, by position in the registry.
    changed: Vec<(usize, Value<'static>)>,
}

impl Locals {
    /// The variables of a new session.
    pub fn new(globals: Arc<Globals>) -> Locals {
        Locals {
            begun: globals.now(),
            globals,
            changed: Vec::new(),
        }
    }

    /// The same values, where a change is seen by nobody; those of the server too.
    pub fn apart(&self) -> Locals {
        Locals {
            globals: Arc::new(self.globals.apart()),
            begun: Arc::clone(&self.begun),
            changed: self.changed.clone(),
        }
    }

    /// The server's values.
    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    /// The value of `@@name` in the given scope.
    ///
    /// # Errors
    /// 1193 for an unknown name, 1238 for a value the scope does not have.
    pub fn get(&self, scope: VariableScope, name: &str) -> Result<Value<'static>> {
        let idx = position(name)?;
        let variable = entry(idx)?;
        match scope {
            VariableScope::Global => self.globals.get(name),
            VariableScope::Session if variable.reach == Reach::GlobalOnly => {
                Err(wrong_scope(variable, "GLOBAL"))
            }
            VariableScope::Session | VariableScope::Any => self.current(idx),
        }
    }

    /// `SET [SESSION] name = value`. `None` sets the server's value of now.
    ///
    /// # Errors
    /// 1193, 1229, 1230, 1231, 1232, 1238 or 1621 as MySQL gives them.
    pub fn set(&mut self, name: &str, value: Option<Value<'static>>) -> Result<()> {
        let idx = position(name)?;
        let variable = entry(idx)?;
        variable.check_session()?;
        let value = match value {
            Some(value) => {
                let value = variable.beside(value, || self.current(idx))?;
                variable.checked(Some(value))?
            }
            None if !variable.has_default() => return Err(variable.no_default()),
            None => at(&self.globals.now(), idx)?,
        };
        self.changed.retain(|(changed_idx, _)| *changed_idx != idx);
        self.changed.push((idx, value));
        Ok(())
    }

    fn current(&self, idx: usize) -> Result<Value<'static>> {
        if entry(idx)?.reach == Reach::GlobalOnly {
            return at(&self.globals.values.read(), idx);
        }
        let mut changed = self.changed.iter();
        match changed.find(|(changed_idx, _)| *changed_idx == idx) {
            Some((_, value)) => Ok(value.clone()),
            None => at(&self.begun, idx),
        }
    }

    /// Every variable with its value in the given scope, by name: `SHOW VARIABLES`.
    pub fn all(&self, scope: VariableScope) -> Vec<(&'static str, Value<'static>)> {
        let mut rows = Vec::new();
        for (idx, variable) in registry::ALL.iter().enumerate() {
            let value = match scope {
                VariableScope::Global if variable.reach == Reach::SessionOnly => continue,
                VariableScope::Global => at(&self.globals.values.read(), idx),
                VariableScope::Session | VariableScope::Any => self.current(idx),
            };
            rows.extend(value.ok().map(|value| (variable.name, value)));
        }
        rows
    }

    /// Begins again, with the server's values of now: `COM_RESET_CONNECTION`. Gives the names of what
    /// the session had set, and of what the server has set since it began.
    pub fn reset(&mut self) -> Vec<&'static str> {
        let begun = std::mem::replace(&mut self.begun, self.globals.now());
        let changed = std::mem::take(&mut self.changed).into_iter();
        let mut reset: Vec<usize> = changed.map(|(idx, _)| idx).collect();
        for (idx, (old, new)) in begun.iter().zip(self.begun.iter()).enumerate() {
            if !reset.contains(&idx) && old.total_cmp(new).is_ne() {
                reset.push(idx);
            }
        }
        let variables = reset.into_iter().filter_map(|idx| entry(idx).ok());
        variables.map(|variable| variable.name).collect()
    }
}

/// The variable of that name.
///
/// # Errors
/// 1193 for an unknown name.
pub fn find(name: &str) -> Result<&'static Variable> {
    entry(position(name)?)
}

fn position(name: &str) -> Result<usize> {
    let found = registry::ALL.binary_search_by(|variable| {
        variable
            .name
            .bytes()
            .cmp(name.bytes().map(|byte| byte.to_ascii_lowercase()))
    });
    found.map_err(|_| {
        Error::new(
            Code::UnknownSystemVariable,
            format!("Unknown system variable '{name}'"),
        )
    })
}

fn entry(idx: usize) -> Result<&'static Variable> {
    registry::ALL
        .get(idx)
        .ok_or_else(|| Error::internal(format!("variable {idx}")))
}

fn at(values: &[Value<'static>], idx: usize) -> Result<Value<'static>> {
    values
        .get(idx)
        .cloned()
        .ok_or_else(|| Error::internal(format!("value of variable {idx}")))
}

fn wrong_scope(variable: &Variable, scope: &str) -> Error {
    let text = format!("Variable '{}' is a {scope} variable", variable.name);
    Error::new(Code::VariableReadOnly, text)
}
