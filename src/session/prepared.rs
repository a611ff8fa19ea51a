//! Prepared statements, of the binary protocol and of PREPARE.
//!
//! A statement is parsed and bound once. An execution puts its parameters in and re-derives only
//! the bounds of its reads; it is bound again when the definitions have changed since.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compile::Compiled;
use super::guard::Needs;
use super::monitor::verb::Verb;
use super::monitor::watch::{self, Text, Watch};
use super::run::BINDS_MAX;
use super::show::keeps_warnings;
use super::temporary::Seen;
use super::{Prepared, Reply, Session};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::exec::transaction::definition_changed;
use crate::sql::ast::{Execute, Prepare, PrepareSource, Statement};
use crate::sql::bind;
use crate::sql::context::{Mode, SessionFacts};
use crate::sql::parse::{self, Digest, DigestKey, Parsed};
use crate::types::{ResultColumn, Value};

/// Prepared statements one session may have, of both kinds; MySQL's default of
/// `max_prepared_stmt_count` for a whole server.
pub(super) const STATEMENTS_MAX: usize = 16_382;

/// About what a prepared statement takes beside its tree and its texts.
const STATEMENT_BYTES: usize = 2048;

/// A parsed statement and, if it is one on rows, its program.
pub(super) struct PreparedStatement {
    statement: Statement,
    /// Its text, or as much of it as is logged.
    text: Arc<[u8]>,
    digest: DigestKey,
    /// The `sql_mode` that it was read with.
    mode: Mode,
    /// The digest, if the text is not all.
    long_digest: Option<Arc<Digest>>,
    parameters_count: usize,
    compiled: Option<Compiled>,
    /// The database that its names were looked up in: what they mean, whatever is current later.
    database: Option<String>,
    /// Whether it is bound again for each execution, with the types of the parameters.
    is_bound_late: bool,
    /// Whether binding it takes long.
    is_long: bool,
    /// What its names led to.
    seen: Seen,
    /// What it needs, with the names of when it was bound.
    needs: Needs,
    /// The session's rights that were found to be enough, by their stamp.
    allowed_at: AtomicU64,
}

impl PreparedStatement {
    /// An execution of it, as it is measured.
    pub(super) fn watched(&self, watch: Watch) -> (Watch, Text<'_>) {
        let text = Text {
            bytes: &self.text,
            is_whole: self.long_digest.is_none(),
            digest: self.long_digest.as_deref(),
        };
        let watch = watch.of(&self.statement, (self.digest, self.mode));
        (watch.of_execution(), text)
    }
}

impl Session {
    /// Prepares one statement.
    ///
    /// # Errors
    /// What the client is told.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<Prepared> {
        let before = Arc::clone(&self.warnings);
        self.forget_warnings();
        let watch = Watch::start(&self.cancel).of_command(Verb::Prepare);
        let prepared = self.prepare_text(sql);
        let statement = self.ended_command(watch, prepared)?;
        if keeps_warnings(&statement.statement) {
            self.warnings = before;
        }
        let columns = match &statement.compiled {
            Some(compiled) => compiled.columns(),
            None => self.told_columns(&statement.statement),
        };
        let parameters_count = u16::try_from(statement.parameters_count).unwrap_or(u16::MAX);
        let id = self.new_statement_id();
        self.statements.insert(id, Arc::new(statement));
        self.track_state();
        Ok(Prepared {
            id,
            parameters_count,
            columns,
        })
    }

    /// The columns of a statement that is bound when it is run. SHOW makes its rows to know; EXPLAIN
    /// tells its columns when it is run.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others have no rows")]
    fn told_columns(&mut self, statement: &Statement) -> Arc<[ResultColumn]> {
        let reply = match statement {
            Statement::Show(show) if self.guard(statement).is_ok() => self.show(show),
            Statement::Describe(describe) if self.guard(statement).is_ok() => {
                self.describe(describe)
            }
            _ => return Arc::new([]),
        };
        match reply {
            Ok(Reply::Rows(rows)) => rows.columns,
            Ok(Reply::Done(_) | Reply::File(_)) | Err(_) => Arc::new([]),
        }
    }

    fn new_statement_id(&mut self) -> u32 {
        loop {
            let id = self.next_statement;
            self.next_statement = if id < u32::MAX - 1 { id + 1 } else { 1 };
            if !self.statements.contains_key(&id) {
                return id;
            }
        }
    }

    fn prepare_text(&mut self, sql: &[u8]) -> Result<PreparedStatement> {
        if STATEMENTS_MAX <= self.statements.len() + self.named.len() {
            let text = format!(
                "Can't create more than max_prepared_stmt_count statements (current value: \
                 {STATEMENTS_MAX})"
            );
            return Err(Error::new(Code::TooManyStatements, text));
        }
        let parsed = parse::parse_first(sql, self.settings.mode)?;
        self.is_long = parsed.held.is_some();
        if parsed.rest_offset < sql.len() {
            let rest = sql.get(parsed.rest_offset..).unwrap_or_default();
            return Err(parse::syntax_error(&String::from_utf8_lossy(rest), 1));
        }
        check_preparable(&parsed)?;
        let trees_bytes = parsed
            .tokens_count
            .saturating_mul(parse::TREE_BYTES_PER_TOKEN);
        let bytes = STATEMENT_BYTES + sql.len().saturating_add(trees_bytes);
        ceiling::drip("a prepared statement", bytes)?;
        let seen = self.seen();
        self.renew_rights();
        // The others are looked at when they are run.
        let mut needs = Needs::default();
        if is_on_rows(&parsed.statement) {
            needs = self.needs(&parsed.statement)?;
            self.allow(&needs)?;
        }
        let compiled = self.compile_if_rows(&parsed.statement, &[])?;
        // A `*` is one word and may be thousands of columns.
        let columns_bytes = compiled.as_ref().map_or(0, Compiled::columns_bytes);
        let bytes = columns_bytes.saturating_add(needs.bytes());
        ceiling::drip("the columns of a prepared statement", bytes)?;
        let is_bound_late = compiled
            .as_ref()
            .is_some_and(Compiled::depends_on_parameters);
        Ok(PreparedStatement {
            statement: parsed.statement,
            text: watch::kept(sql).into(),
            digest: parsed.digest,
            mode: self.settings.mode,
            long_digest: watch::digest_if_long(sql, self.settings.mode).map(Arc::new),
            parameters_count: parsed.parameters_count,
            compiled,
            database: self.state.database(),
            is_bound_late,
            is_long: self.is_long,
            seen,
            needs,
            allowed_at: AtomicU64::new(self.identity.stamp),
        })
    }

    /// Executes a prepared statement.
    ///
    /// # Errors
    /// What the client is told.
    pub async fn execute(&mut self, id: u32, parameters: Vec<Value<'static>>) -> Result<Reply> {
        let Some(statement) = self.statements.get(&id).map(Arc::clone) else {
            let text = format!("Unknown prepared statement handler ({id}) given to EXECUTE");
            let error = Error::new(Code::UnknownStatement, text);
            self.forget_warnings();
            return Err(self.ended_unread(Watch::start(&self.cancel), error));
        };
        let (watch, text) = statement.watched(Watch::start(&self.cancel));
        let result = self.run_prepared(&statement, parameters, Some(id)).await;
        self.ended(watch, text, result)
    }

    async fn run_prepared(
        &mut self,
        prepared: &Arc<PreparedStatement>,
        parameters: Vec<Value<'static>>,
        id: Option<u32>,
    ) -> Result<Reply> {
        if parameters.len() != prepared.parameters_count {
            let text = format!(
                "Incorrect arguments to EXECUTE: {} given, {} expected",
                parameters.len(),
                prepared.parameters_count
            );
            return Err(Error::new(Code::WrongArguments, text));
        }
        self.is_long = prepared.is_long;
        let prepared_in = prepared.database.as_deref();
        let is_there = self.state.with_database(|current| current == prepared_in);
        if is_there || is_about_databases(&prepared.statement) {
            return self.run_here(prepared, parameters, id).await;
        }
        let current = self.state.database();
        self.state.set_database(prepared.database.clone());
        let ran = self.run_here(prepared, parameters, id).await;
        self.state.set_database(current);
        ran
    }

    /// Executes a statement in the current database.
    async fn run_here(
        &mut self,
        prepared: &Arc<PreparedStatement>,
        parameters: Vec<Value<'static>>,
        id: Option<u32>,
    ) -> Result<Reply> {
        match &prepared.compiled {
            Some(compiled) => self.run_bound((prepared, compiled), parameters, id).await,
            None => Box::pin(self.run(&prepared.statement, parameters)).await,
        }
    }

    /// Executes a statement on rows.
    async fn run_bound(
        &mut self,
        (prepared, compiled): (&Arc<PreparedStatement>, &Compiled),
        parameters: Vec<Value<'static>>,
        id: Option<u32>,
    ) -> Result<Reply> {
        self.forget_warnings();
        self.allow_prepared(prepared)?;
        if prepared.is_bound_late {
            let types: Vec<_> = parameters.iter().map(bind::parameter_type).collect();
            let statement = &prepared.statement;
            let compiled = self.compile_allowed((statement, statement), &types)?;
            let bound = (&prepared.statement, compiled);
            return self.run_compiled(bound, parameters).await;
        }
        self.bound_at = self.shared.catalog.version();
        if self.seen() == prepared.seen {
            let bound = (&prepared.statement, compiled.clone());
            return self.run_compiled(bound, parameters).await;
        }
        let (seen, needs, compiled) = self.bound_again(&prepared.statement)?;
        if let Some(id) = id {
            let again = PreparedStatement {
                statement: prepared.statement.clone(),
                text: Arc::clone(&prepared.text),
                digest: prepared.digest,
                mode: prepared.mode,
                long_digest: prepared.long_digest.clone(),
                parameters_count: prepared.parameters_count,
                compiled: Some(compiled.clone()),
                database: prepared.database.clone(),
                is_bound_late: false,
                is_long: prepared.is_long,
                seen,
                needs,
                allowed_at: AtomicU64::new(self.identity.stamp),
            };
            self.statements.insert(id, Arc::new(again));
        }
        let bound = (&prepared.statement, compiled);
        self.run_compiled(bound, parameters).await
    }

    /// Binds a statement, with the definitions that its rights were looked at with.
    fn bound_again(&mut self, statement: &Statement) -> Result<(Seen, Needs, Compiled)> {
        for _ in 0..BINDS_MAX {
            let seen = self.seen();
            let needs = self.needs(statement)?;
            self.allow(&needs)?;
            let compiled = self.compile(statement, &[])?;
            if self.seen() == seen {
                return Ok((seen, needs, compiled));
            }
        }
        Err(definition_changed())
    }

    /// Whether a statement may be run again: looked at anew only when the session's rights have been
    /// worked out anew.
    fn allow_prepared(&mut self, prepared: &PreparedStatement) -> Result<()> {
        self.renew_rights();
        let stamp = self.identity.stamp;
        if prepared.allowed_at.load(Ordering::Relaxed) != stamp {
            self.allow(&prepared.needs)?;
            prepared.allowed_at.store(stamp, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether there is a statement of that number.
    pub fn has_statement(&self, id: u32) -> bool {
        self.statements.contains_key(&id)
    }

    /// Forgets a prepared statement.
    pub fn close_statement(&mut self, id: u32) {
        if self.statements.remove(&id).is_some() {
            self.note_closed();
        }
    }

    fn note_closed(&self) {
        self.state.own().note_closed();
        self.shared.monitor.counts.note_closed();
    }

    pub(super) fn prepare_named(&mut self, prepare: &Prepare) -> Result<()> {
        self.named.remove(&prepare.name);
        let text = match &prepare.source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::UserVariable(name) => {
                let value = self.state.copied_user_variable(name)?;
                value.to_text().into_owned()
            }
        };
        let statement = self.prepare_text(text.as_bytes())?;
        self.named.insert(prepare.name.clone(), Arc::new(statement));
        self.track_state();
        Ok(())
    }

    pub(super) async fn execute_named(&mut self, execute: &Execute) -> Result<Reply> {
        let Some(statement) = self.named.get(&execute.name).map(Arc::clone) else {
            return Err(unknown_name(&execute.name, "EXECUTE"));
        };
        let values = execute
            .using
            .iter()
            .map(|name| self.state.copied_user_variable(name));
        let values: Vec<Value<'static>> = values.collect::<Result<_>>()?;
        self.executed = Some(Arc::clone(&statement));
        self.run_prepared(&statement, values, None).await
    }

    pub(super) fn deallocate(&mut self, name: &str) -> Result<()> {
        match self.named.remove(name) {
            Some(_) => {
                self.note_closed();
                Ok(())
            }
            None => Err(unknown_name(name, "DEALLOCATE PREPARE")),
        }
    }
}

/// # Errors
/// 1295 for what MySQL does not prepare, 1351 for a view of a query with parameters.
fn check_preparable(parsed: &Parsed) -> Result<()> {
    let is_refused = matches!(
        parsed.statement,
        Statement::Load(_)
            | Statement::Prepare(_)
            | Statement::Execute(_)
            | Statement::Deallocate(_)
    );
    if is_refused {
        let text = "This command is not supported in the prepared statement protocol yet";
        return Err(Error::new(Code::NotPreparable, text));
    }
    if matches!(parsed.statement, Statement::CreateView(_)) && 0 < parsed.parameters_count {
        let text = "View's SELECT contains a variable or parameter";
        return Err(Error::new(Code::ViewSelectVariable, text));
    }
    Ok(())
}

/// Whether a statement is bound when it is prepared.
pub(super) fn is_on_rows(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Select(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
    )
}

/// Whether it names the databases that it is about, and may make another one the current one, or none.
fn is_about_databases(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Use(_) | Statement::DropDatabase { .. }
    )
}

fn unknown_name(name: &str, verb: &str) -> Error {
    let text = format!("Unknown prepared statement handler ({name}) given to {verb}");
    Error::new(Code::UnknownStatement, text)
}
