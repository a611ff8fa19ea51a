//! SET: system variables, user variables, NAMES, TRANSACTION.
//!
//! All members of a list are evaluated, and tried on a copy of the variables, before the first takes
//! effect, so that a SET that fails changes nothing. A word that would change an answer and that nothing here acts on is refused by
//! the registry ([`super::variables`]).

use std::sync::Arc;

use std::borrow::Cow;

use super::Session;
use super::persist;
use super::settings::{self, Settings};
use super::variables;
use crate::error::{Code, Error, Result};
use crate::kv::WriteSet;
use crate::sql::ast::{
    AccessMode, Expr, IsolationLevel, SetItem, SetScope, SetTransaction, SetValue,
};
use crate::sql::bind::{self, Names, Numbering};
use crate::sql::context::{Parameters, WarningLevel};
use crate::types::Value;

/// One assignment with its value.
enum Assignment {
    Session(String, Option<Value<'static>>),
    Global(String, Option<Value<'static>>),
    /// What is kept for the next start; the global value is set apart from it.
    Kept(String, Option<Value<'static>>),
    User(String, Value<'static>),
    /// Of the next transaction: whether it may not write, or its isolation.
    Next(Value<'static>),
}

impl Session {
    /// Runs SET.
    pub(super) async fn set(&mut self, items: &[SetItem], parameters: &Parameters) -> Result<()> {
        let mut assignments = Vec::new();
        for item in items {
            self.evaluate(item, parameters, &mut assignments).await?;
        }
        let was_autocommit = self.settings.autocommit;
        self.try_slow_log(&assignments).await?;
        if 1 < assignments.len() || matches!(assignments.first(), Some(Assignment::Kept(..))) {
            let kept = self.try_out(&assignments)?;
            self.keep(kept).await?;
        }
        for assignment in assignments {
            self.assign(assignment)?;
        }
        self.settings = Settings::of(&self.state, self.shared.allow_full_scan)?;
        self.track_settings();
        if !was_autocommit && self.settings.autocommit {
            let committed = self.commit_open().await;
            // There was no memory for it: it is open still, and so is the mode that it is open in. Asked
            // again, this commits it.
            if self.transaction.is_some() {
                self.state.set_variable("autocommit", Some(Value::Int(0)))?;
                self.settings = Settings::of(&self.state, self.shared.allow_full_scan)?;
                self.track_settings();
            }
            return committed;
        }
        Ok(())
    }

    /// Does all assignments on a copy of the variables; what is to be kept for the next start.
    ///
    /// # Errors
    /// What one of them does not allow.
    fn try_out(&self, assignments: &[Assignment]) -> Result<WriteSet> {
        let mut variables = self.state.variables_apart();
        let mut users = Vec::new();
        for assignment in assignments {
            match assignment {
                Assignment::Session(name, value) => {
                    for name in aliases(name) {
                        variables.set(name, value.clone())?;
                    }
                }
                Assignment::Global(name, value) => {
                    for name in aliases(name) {
                        variables.globals().set(name, value.clone())?;
                    }
                }
                Assignment::User(name, _) => users.push(name.as_str()),
                Assignment::Kept(..) | Assignment::Next(_) => {}
            }
        }
        self.state.check_user_variables(users)?;
        let kept = assignments
            .iter()
            .filter_map(|assignment| match assignment {
                Assignment::Kept(name, value) => Some((name.as_str(), value.as_ref())),
                Assignment::Session(..)
                | Assignment::Global(..)
                | Assignment::User(..)
                | Assignment::Next(_) => None,
            });
        persist::records(kept, variables.globals())
    }

    async fn evaluate(
        &mut self,
        item: &SetItem,
        parameters: &Parameters,
        out: &mut Vec<Assignment>,
    ) -> Result<()> {
        match item {
            SetItem::Variable { scope, name, value } => {
                let value = self.set_value(value, parameters).await?;
                if name == "time_zone"
                    && let Some(zone) = &value
                {
                    settings::check_time_zone(zone)?;
                }
                let name = name.clone();
                match scope {
                    SetScope::Session => out.push(Assignment::Session(name, value)),
                    SetScope::Next => {
                        let value = variables::find(&name)?.checked(value)?;
                        self.may_say_next()?;
                        out.push(Assignment::Next(value));
                    }
                    SetScope::Global => out.push(Assignment::Global(name, value)),
                    SetScope::Persist => {
                        out.push(Assignment::Global(name.clone(), value.clone()));
                        keep_value(name, value, out);
                    }
                    SetScope::PersistOnly => keep_value(name, value, out),
                }
            }
            SetItem::UserVariable { name, value } => {
                let value = self.value_of(value, parameters).await?;
                out.push(Assignment::User(name.clone(), value));
            }
            SetItem::Names { charset, collation } => {
                set_names(charset.as_deref(), collation.as_deref(), out)?;
            }
            SetItem::CharacterSet(charset) => set_names(charset.as_deref(), None, out)?,
        }
        Ok(())
    }

    async fn set_value(
        &mut self,
        value: &SetValue,
        parameters: &Parameters,
    ) -> Result<Option<Value<'static>>> {
        match value {
            SetValue::Default => Ok(None),
            SetValue::Word(word) => Ok(Some(Value::Text(Cow::Owned(word.clone())))),
            SetValue::Expr(expr) => self.value_of(expr, parameters).await.map(Some),
        }
    }

    /// The value of an expression without columns, whose subqueries are read as those of a SELECT.
    pub(super) async fn value_of(
        &mut self,
        expr: &Expr,
        parameters: &Parameters,
    ) -> Result<Value<'static>> {
        let numbering = Numbering::default();
        let types: Vec<_> = parameters.iter().map(bind::parameter_type).collect();
        let bound = self.with_names(&types, |names| {
            let numbering = &numbering;
            bind::constant(
                expr,
                &Names {
                    numbering,
                    ..*names
                },
            )
        })?;
        if numbering.has_slots() {
            return self.selected(expr, parameters).await;
        }
        let ctx = self.context(Arc::clone(parameters));
        let value = crate::sql::eval::eval(&bound, &crate::sql::expr::NoRow, &ctx)?;
        Ok(value.into_owned())
    }

    /// The value of an expression without columns and subqueries.
    ///
    /// # Errors
    /// 1235 for a subquery that reads rows.
    pub(super) fn constant(&mut self, expr: &Expr) -> Result<Value<'static>> {
        let numbering = Numbering::default();
        let bound = self.with_names(&[], |names| {
            let numbering = &numbering;
            let names = Names {
                numbering,
                ..*names
            };
            bind::constant(expr, &names)
        })?;
        if numbering.has_slots() {
            let what = "Usage of subqueries or stored function calls as part of this statement";
            return Err(Error::unsupported(what));
        }
        let ctx = self.context(Arc::default());
        let value = crate::sql::eval::eval(&bound, &crate::sql::expr::NoRow, &ctx)?;
        Ok(value.into_owned())
    }

    fn assign(&mut self, assignment: Assignment) -> Result<()> {
        match &assignment {
            Assignment::Global(name, Some(value)) | Assignment::Session(name, Some(value)) => {
                let adjusted = variables::find(name)?.adjusted(value);
                if let Some((code, text)) = adjusted {
                    self.warnings.add(WarningLevel::Warning, code, || text);
                }
            }
            Assignment::Global(_, None)
            | Assignment::Session(_, None)
            | Assignment::Kept(..)
            | Assignment::Next(_)
            | Assignment::User(..) => {}
        }
        match assignment {
            Assignment::Next(value) => {
                self.say_next(&value);
                Ok(())
            }
            Assignment::User(name, value) => {
                self.track_state();
                self.state.set_user_variable(&name, value)
            }
            // It is written already.
            Assignment::Kept(..) => Ok(()),
            Assignment::Global(name, value) => {
                for name in aliases(&name) {
                    self.shared.globals.set(name, value.clone())?;
                }
                if gives_up_big_selects(&name, value.as_ref()) {
                    let off = Some(Value::Int(0));
                    self.shared.globals.set("sql_big_selects", off)?;
                }
                Ok(())
            }
            Assignment::Session(name, value) => {
                for name in aliases(&name) {
                    self.state.set_variable(name, value.clone())?;
                    self.track_variable(name);
                }
                if gives_up_big_selects(&name, value.as_ref()) {
                    let off = Some(Value::Int(0));
                    self.state.set_variable("sql_big_selects", off)?;
                    self.track_variable("sql_big_selects");
                }
                Ok(())
            }
        }
    }

    /// Opens the slow query log where it is to be, before anything is set.
    ///
    /// # Errors
    /// 1231 where another file is to be used and cannot be, 1 where it is turned on and its file cannot be used. What
    /// stops the statement while it waits for the disk.
    async fn try_slow_log(&self, assignments: &[Assignment]) -> Result<()> {
        let mut is_on = self.shared.global_number("slow_query_log") == 1;
        let mut name = self.shared.global_text("slow_query_log_file");
        let (mut is_switched, mut is_moved) = (false, false);
        for assignment in assignments {
            let Assignment::Global(variable, value) = assignment else {
                continue;
            };
            let checked = || variables::find(variable)?.checked(value.clone());
            if variable == "slow_query_log" {
                (is_switched, is_on) = (true, checked()?.to_text() == "1");
            } else if variable == "slow_query_log_file" {
                (is_moved, name) = (true, checked()?.to_text().into_owned());
            }
        }
        let slow = &self.shared.monitor.slow;
        if !(is_moved || is_switched && is_on) {
            if is_switched {
                // Who turns it off may take the file away: what comes meanwhile opens it once more, and turning it on
                // opens another.
                let _ = slow.reopen().await;
            }
            return Ok(());
        }
        let opened = tokio::select! {
            opened = slow.open(&name, self.shared.slow_log_server()) => opened,
            error = self.cancel.stopped() => return Err(error),
        };
        if opened.is_ok() && !is_on {
            // It was to be seen whether it can be.
            let _ = slow.reopen().await;
        }
        opened.map_err(|cause| {
            if is_moved {
                let text = format!(
                    "Variable 'slow_query_log_file' can't be set to the value of '{name}' ({cause})"
                );
                return Error::new(Code::VariableValue, text);
            }
            let text = format!("Could not use {name} for logging ({cause}). It stays off");
            Error::new(Code::FileNotCreated, text)
        })
    }

    /// # Errors
    /// 1568 within a transaction.
    fn may_say_next(&self) -> Result<()> {
        if self.transaction.is_none() {
            return Ok(());
        }
        let text =
            "Transaction characteristics can't be changed while a transaction is in progress";
        Err(Error::new(Code::TransactionCharacteristics, text))
    }

    /// A characteristic of the next transaction, as the variable of it is kept.
    fn say_next(&mut self, value: &Value<'_>) {
        let isolations = [
            IsolationLevel::ReadUncommitted,
            IsolationLevel::ReadCommitted,
            IsolationLevel::RepeatableRead,
        ];
        let text = value.to_text();
        match isolations
            .into_iter()
            .find(|level| isolation_name(*level) == text)
        {
            Some(isolation) => self.next.isolation = Some(isolation),
            None if text == "1" => self.next.access = Some(AccessMode::ReadOnly),
            None => self.next.access = Some(AccessMode::ReadWrite),
        }
    }

    /// Runs SET TRANSACTION. Without a scope it is about the next transaction and no variable.
    pub(super) fn set_transaction(&mut self, set: &SetTransaction) -> Result<()> {
        let Some(scope) = set.scope else {
            self.may_say_next()?;
            if let Some(isolation) = set.isolation {
                let name = Value::Text(Cow::Borrowed(isolation_name(isolation)));
                variables::find("transaction_isolation")?.checked(Some(name))?;
                self.next.isolation = Some(isolation);
            }
            self.next.access = set.access.or(self.next.access);
            return Ok(());
        };
        let mut assign = |name: &str, value: Value<'static>| {
            let assignment = match scope {
                SetScope::Global => Assignment::Global(name.to_owned(), Some(value)),
                SetScope::Session | SetScope::Next | SetScope::Persist | SetScope::PersistOnly => {
                    Assignment::Session(name.to_owned(), Some(value))
                }
            };
            self.assign(assignment)
        };
        if let Some(isolation) = set.isolation {
            assign(
                "transaction_isolation",
                Value::Text(Cow::Borrowed(isolation_name(isolation))),
            )?;
        }
        if let Some(access) = set.access {
            let read_only = i64::from(access == AccessMode::ReadOnly);
            assign("transaction_read_only", Value::Int(read_only))?;
        }
        self.settings = Settings::of(&self.state, self.shared.allow_full_scan)?;
        Ok(())
    }
}

/// Whether to set this takes back the permission of `sql_big_selects`: `max_join_size` of anything but DEFAULT does
/// (MySQL manual, "Server System Variables"). `mysql --safe-updates` sets it.
fn gives_up_big_selects(name: &str, value: Option<&Value<'_>>) -> bool {
    name == "max_join_size" && value.is_some()
}

/// What is kept gives up at the next start what it gives up now.
fn keep_value(name: String, value: Option<Value<'static>>, out: &mut Vec<Assignment>) {
    if gives_up_big_selects(&name, value.as_ref()) {
        let off = Some(Value::Int(0));
        out.push(Assignment::Kept("sql_big_selects".to_owned(), off));
    }
    out.push(Assignment::Kept(name, value));
}

/// The name of a variable that is kept under: the first of [`aliases`].
pub(super) fn name_kept(name: &str) -> &str {
    aliases(name).first().copied().unwrap_or(name)
}

/// A variable under all its names.
pub(super) fn aliases(name: &str) -> Vec<&str> {
    match name {
        "transaction_isolation" | "tx_isolation" => vec!["transaction_isolation", "tx_isolation"],
        "transaction_read_only" | "tx_read_only" => vec!["transaction_read_only", "tx_read_only"],
        other => vec![other],
    }
}

pub(super) fn isolation_name(isolation: IsolationLevel) -> &'static str {
    match isolation {
        IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
        IsolationLevel::ReadCommitted => "READ-COMMITTED",
        IsolationLevel::RepeatableRead => "REPEATABLE-READ",
        IsolationLevel::Serializable => "SERIALIZABLE",
    }
}

/// `SET NAMES`: the encoding is utf8mb4 under any of its names.
fn set_names(
    charset: Option<&str>,
    collation: Option<&str>,
    out: &mut Vec<Assignment>,
) -> Result<()> {
    let charset = charset.unwrap_or("utf8mb4");
    // Before the collation: that of another encoding is not known here, and would be told first.
    let spoken = Value::Text(Cow::Owned(charset.to_owned()));
    variables::find("character_set_client")?.checked(Some(spoken))?;
    if let Some(collation) = collation
        && !collation.starts_with("utf8")
        && collation != "binary"
    {
        let text = format!("Unknown collation: '{collation}'");
        return Err(Error::new(Code::UnknownCollation, text));
    }
    for name in [
        "character_set_client",
        "character_set_connection",
        "character_set_results",
    ] {
        let value = Value::Text(Cow::Owned(charset.to_owned()));
        out.push(Assignment::Session(name.to_owned(), Some(value)));
    }
    Ok(())
}
