//! System variables: one registry, the server's values and each session's.
//!
//! A variable is listed in [`registry`] when something here acts on it or when ignoring it cannot
//! change an answer. What a variable *does* is decided where it is used; see [`super::settings`].

pub mod registry;

use std::sync::Arc;

use parking_lot::RwLock;

pub use registry::{Kind, Reach, Variable};

use crate::error::{Code, Error, Result};
use crate::sql::expr::VariableScope;
use crate::types::Value;

/// The server's values: what a new session starts with, and what `@@global.x` shows.
#[derive(Debug)]
pub struct Globals {
    values: RwLock<Vec<Value<'static>>>,
}

impl Default for Globals {
    fn default() -> Globals {
        Globals {
            values: RwLock::new(registry::defaults()),
        }
    }
}

impl Globals {
    /// The same values, where a change is seen by nobody.
    fn apart(&self) -> Globals {
        Globals {
            values: RwLock::new(self.values.read().clone()),
        }
    }

    /// Sets what the server knows at start (`port`, `datadir`, …), also for read-only variables.
    ///
    /// # Errors
    /// 1193 for a name that is not in the registry.
    pub fn install(&self, name: &str, value: Value<'static>) -> Result<()> {
        let idx = position(name)?;
        if let Some(slot) = self.values.write().get_mut(idx) {
            *slot = value;
        }
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
        let value = variable.checked(value)?;
        if let Some(slot) = self.values.write().get_mut(idx) {
            *slot = value;
        }
        Ok(())
    }
}

/// One session's values; starts as a copy of the server's.
#[derive(Debug)]
pub struct Locals {
    globals: Arc<Globals>,
    /// Changed values only, by position in the registry: an idle session holds next to nothing.
    changed: Vec<(usize, Value<'static>)>,
}

impl Locals {
    /// The variables of a new session.
    pub fn new(globals: Arc<Globals>) -> Locals {
        Locals {
            globals,
            changed: Vec::new(),
        }
    }

    /// The same values, where a change is seen by nobody; those of the server too.
    pub fn apart(&self) -> Locals {
        Locals {
            globals: Arc::new(self.globals.apart()),
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

    /// `SET [SESSION] name = value`. `None` sets the server's value.
    ///
    /// # Errors
    /// 1193, 1229, 1231, 1232 or 1238 as MySQL gives them.
    pub fn set(&mut self, name: &str, value: Option<Value<'static>>) -> Result<()> {
        let idx = position(name)?;
        let variable = entry(idx)?;
        if variable.is_read_only() {
            return Err(variable.read_only());
        }
        if variable.reach == Reach::GlobalOnly {
            let text = format!(
                "Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL",
                variable.name
            );
            return Err(Error::new(Code::GlobalVariable, text));
        }
        let value = match value {
            Some(value) => {
                let value = variable.beside(value, || self.current(idx))?;
                Some(variable.checked(Some(value))?)
            }
            None => None,
        };
        self.changed.retain(|(changed_idx, _)| *changed_idx != idx);
        if let Some(value) = value {
            self.changed.push((idx, value));
        }
        Ok(())
    }

    fn current(&self, idx: usize) -> Result<Value<'static>> {
        match self
            .changed
            .iter()
            .find(|(changed_idx, _)| *changed_idx == idx)
        {
            Some((_, value)) => Ok(value.clone()),
            None => at(&self.globals.values.read(), idx),
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

    /// Forgets what the session changed: `COM_RESET_CONNECTION`. Gives the names of that.
    pub fn reset(&mut self) -> Vec<&'static str> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed
            .filter_map(|(idx, _)| entry(idx).ok().map(|variable| variable.name))
            .collect()
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
