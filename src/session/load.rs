//! LOAD DATA: the lines of a file become rows, piece by piece.
//!
//! All rows are one atomic write if they fit into one piece, or in a transaction; else each piece is
//! one, as with `INSERT … SELECT`, and the statement says so. A file of the client comes through the
//! connection, which is asked for it ([`super::Reply::File`]) once everything else about the statement is
//! known to be right. Source: MySQL 8.0 Reference Manual, "LOAD DATA Statement".

use std::sync::Arc;

use super::{Done, Reply, Session};
use crate::catalog::{Column, ColumnDefault, Table};
use crate::error::{Code, Error, Result};
use crate::exec::budget::Budget;
use crate::exec::pace::Pace;
use crate::exec::row::ValuesRow;
use crate::exec::rows::BoxFuture;
use crate::exec::textfile::read::{Line, Reader, Step};
use crate::exec::transaction::{Transaction, definition_changed};
use crate::exec::write::row::{self, Stored};
use crate::exec::write::{self, Outcome};
use crate::sql::ast::{FileFormat, LoadData};
use crate::sql::bind;
use crate::sql::bound::{InsertKind, InsertValue, Load, LoadTarget};
use crate::sql::context::{EvalContext, WarningLevel};
use crate::sql::eval::eval_exact;
use crate::types::Value;

/// Gives the bytes of a file, in order.
pub trait FileSource: Send {
    /// Appends the next bytes; `false` when there are no more.
    fn more<'a>(&'a mut self, out: &'a mut Vec<u8>) -> BoxFuture<'a, Result<bool>>;
}

/// A LOAD DATA that waits for its file.
pub struct Loading {
    load: Load,
    program: Arc<write::Program>,
    path: String,
    format: FileFormat,
    skipped_lines: u64,
}

impl Loading {
    /// What the client calls the file.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// How far a LOAD DATA is.
#[derive(Debug, Default)]
struct Progress {
    pieces_count: u64,
    rows_count: usize,
    outcome: Outcome,
}

impl Session {
    pub(super) async fn load_data(&mut self, load: &LoadData) -> Result<Reply> {
        if load.local && !self.may_load_local() {
            let text = "Loading local data is disabled; this must be enabled on both the client and \
                        server sides";
            return Err(Error::new(Code::LocalFilesDisabled, text));
        }
        // What an expression makes of a variable depends on its type.
        for target in load.targets.iter().flatten() {
            if let crate::sql::ast::LoadTarget::Variable(name) = target {
                self.state.set_user_variable(name, Value::text(""))?;
            }
        }
        let catalog_version = self.shared.catalog.version();
        self.bound_at = catalog_version;
        let bound = self.bound(&[], |names| bind::load(load, names))?;
        let insert = write::Write::Insert(bound.insert.clone());
        let loading = Loading {
            load: bound,
            program: Arc::new(write::Program::new(insert, catalog_version)),
            path: load.path.clone(),
            format: load.format.clone(),
            skipped_lines: load.skipped_lines,
        };
        if load.local {
            return Ok(Reply::File(Box::new(loading)));
        }
        let mut file = self.shared.files.open(&load.path)?;
        self.load_rows(&loading, &mut file).await.map(Reply::Done)
    }

    /// `local_infile`, and whether the client can send files.
    fn may_load_local(&self) -> bool {
        self.client.local_files && self.shared.global_number("local_infile") == 1
    }

    /// Loads the file that the client was asked for.
    ///
    /// # Errors
    /// What the client is told when it has sent all of it.
    pub async fn load(&mut self, loading: &Loading, source: &mut dyn FileSource) -> Result<Done> {
        let loaded = self.load_rows(loading, source).await;
        match &loaded {
            Ok(done) => self.resume((0, done.affected_rows), None),
            Err(error) => {
                self.resume((0, 0), Some(error.code()));
                self.failed(error);
            }
        }
        loaded
    }

    async fn load_rows(&mut self, loading: &Loading, source: &mut dyn FileSource) -> Result<Done> {
        let begun = self.current_transaction().map(Transaction::mark);
        let is_atomic = begun.is_some();
        let mut progress = Progress::default();
        let loaded = self.load_pieces(loading, source, &mut progress).await;
        let loaded = loaded.map_err(|error| match progress.pieces_count {
            0 => error,
            _ if is_atomic => error,
            _ => kept_rows(&error, progress.rows_count),
        });
        self.undo_failed(begun, loaded)?;
        let Progress {
            pieces_count,
            rows_count,
            mut outcome,
        } = progress;
        if 1 < pieces_count && !is_atomic {
            self.tell_of_pieces(pieces_count);
        }
        let (mut deleted, mut skipped) = (0, 0);
        match loading.load.insert.kind {
            InsertKind::Replace => deleted = outcome.duplicates,
            InsertKind::InsertIgnore => skipped = outcome.duplicates,
            InsertKind::Insert | InsertKind::Upsert => {}
        }
        let warnings = self.warnings.count();
        outcome.info = format!(
            "Records: {rows_count}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}"
        );
        Ok(self.done_writing(outcome))
    }

    async fn load_pieces(
        &mut self,
        loading: &Loading,
        source: &mut dyn FileSource,
        progress: &mut Progress,
    ) -> Result<()> {
        let targets_count = loading.load.targets.len();
        let memory = self.shared.memory(self.settings.memory_bytes_max);
        let mut lines = Lines {
            reader: Reader::new(&loading.format, targets_count, loading.skipped_lines),
            source,
            line: Line::default(),
            bytes_count: 0,
            budget: memory.budget("LOAD DATA, for a line"),
        };
        let mut rows_budget = memory.budget("LOAD DATA, for rows");
        let mut ctx = self.context(Arc::default());
        ctx.strict_write = self.settings.mode.strict && !loading.program.write.ignores();
        let bytes_max = self.piece_bytes_max();
        let mut pace = Pace::default();
        loop {
            let (mut rows, mut bytes) = (Vec::new(), 0);
            let mut is_over = true;
            while self
                .next_line(&mut lines, progress.rows_count + rows.len())
                .await?
            {
                let row_number = progress.rows_count + rows.len() + 1;
                let row = self.row_of(&lines.line, loading, (&ctx, row_number))?;
                let row_bytes = row.iter().map(Value::memory_bytes).sum::<usize>();
                let row_bytes = row_bytes + size_of::<Vec<Value<'static>>>();
                bytes += row_bytes;
                rows.push(row);
                pace.keep().await;
                // Less memory makes smaller pieces.
                let fits = rows_budget.try_take(row_bytes);
                if !fits && rows.len() == 1 {
                    return Err(rows_budget.refusal("LOAD DATA, for a row", row_bytes));
                }
                if !fits || bytes_max <= bytes {
                    is_over = false;
                    break;
                }
            }
            let rows_count = rows.len();
            if 0 < rows_count || progress.pieces_count == 0 {
                self.check_all_seen(&loading.program)?;
                let mut env = self.write_env(Arc::default(), loading.program.write.target());
                env.given_rows = Arc::new(rows);
                env.given_before = progress.rows_count;
                let ran = self.run_once(&loading.program, env).await?;
                let outcome = ran.ok_or_else(definition_changed)?;
                progress.outcome.add(&outcome);
                progress.pieces_count += 1;
                progress.rows_count += rows_count;
            }
            rows_budget.reset();
            if is_over {
                return Ok(());
            }
        }
    }

    /// Reads the next line; `false` when there is none.
    async fn next_line(&self, lines: &mut Lines<'_>, rows_count: usize) -> Result<bool> {
        self.cancel.check_row(rows_count)?;
        loop {
            match lines.reader.next(&mut lines.line)? {
                Step::Line => return Ok(true),
                Step::End => return Ok(false),
                Step::More => {
                    let buffer = lines.reader.feed();
                    let before = buffer.len();
                    let more = lines.source.more(buffer);
                    let has_more = tokio::select! {
                        biased;
                        stopped = self.cancel.stopped() => return Err(stopped),
                        has_more = more => has_more?,
                    };
                    lines.bytes_count += buffer.len().saturating_sub(before);
                    lines.count_memory()?;
                    if !has_more {
                        lines.reader.end();
                    }
                    self.tell_progress(rows_count, lines.bytes_count);
                }
            }
        }
    }

    /// What SHOW PROCESSLIST shows.
    fn tell_progress(&self, rows_count: usize, bytes_count: usize) {
        let state = format!("reading file: {rows_count} rows, {bytes_count} bytes");
        let processes = self.shared.processes();
        processes.set_state(self.client.connection_id, state);
    }

    /// The values of a line for the columns that are given.
    fn row_of(
        &self,
        line: &Line,
        loading: &Loading,
        (ctx, row_number): (&EvalContext, usize),
    ) -> Result<Vec<Value<'static>>> {
        let load = &loading.load;
        let lenient = load.insert.kind == InsertKind::InsertIgnore || !ctx.mode.strict;
        let at = Stored {
            ctx,
            row_number,
            lenient,
        };
        check_fields_count(line, load.targets.len(), &at)?;
        let mut row = vec![Value::Null; load.insert.columns.len()];
        let mut fields = line.fields();
        for target in &load.targets {
            let field = fields.next();
            match target {
                LoadTarget::Variable(name) => {
                    let value = field.flatten().map_or(Value::Null, text_or_bytes);
                    self.state.set_user_variable(name, value.into_owned())?;
                }
                LoadTarget::Column(place) => {
                    let column = column_at(load, *place)?;
                    let value = match field {
                        Some(field) => field_value(field, column, &at)?,
                        None if has_default(column) => default_of(column, &at)?,
                        None => row::implicit_default(&column.ty),
                    };
                    put(&mut row, *place, value);
                }
            }
        }
        if !load.assignments.is_empty() {
            assign(load, &mut row, &at)?;
        }
        Ok(row)
    }
}

/// The lines of a file on their way in.
struct Lines<'a> {
    reader: Reader,
    source: &'a mut dyn FileSource,
    line: Line,
    bytes_count: usize,
    budget: Budget,
}

impl Lines<'_> {
    /// # Errors
    /// 1038 when what is read of a line is more than the statement may hold.
    fn count_memory(&mut self) -> Result<()> {
        let held_bytes = self.reader.held_bytes() + self.line.held_bytes();
        let counted_bytes = self.budget.used_bytes();
        if held_bytes < counted_bytes {
            self.budget.give_back(counted_bytes - held_bytes);
        }
        self.budget.take(held_bytes.saturating_sub(counted_bytes))
    }
}

fn column_at(load: &Load, place: usize) -> Result<&Column> {
    let table: &Table = &load.insert.table;
    let column_idx = load.insert.columns.get(place);
    let column = column_idx.and_then(|column_idx| table.columns.get(*column_idx));
    column.ok_or_else(|| Error::internal("a field goes to no column"))
}

fn put(row: &mut [Value<'static>], place: usize, value: Value<'static>) {
    if let Some(slot) = row.get_mut(place) {
        *slot = value;
    }
}

fn text_or_bytes(field: &[u8]) -> Value<'_> {
    match std::str::from_utf8(field) {
        Ok(text) => Value::Text(text.into()),
        Err(_) => Value::Bytes(field.into()),
    }
}

fn field_value(field: Option<&[u8]>, column: &Column, at: &Stored<'_>) -> Result<Value<'static>> {
    if let Some(bytes) = field {
        return at.coerce(text_or_bytes(bytes), column);
    }
    if column.nullable || column.auto_increment {
        return Ok(Value::Null);
    }
    let text = format!(
        "Column set to default value; NULL supplied to NOT NULL column '{}' at row {}",
        column.name, at.row_number
    );
    report(Code::NullToNotNull, text, at)?;
    Ok(row::implicit_default(&column.ty))
}

/// Whether there is something to be stored for a column that no field is for.
fn has_default(column: &Column) -> bool {
    column.nullable || column.auto_increment || !matches!(column.default, ColumnDefault::None)
}

/// What a column gets that the line has no field for, or `SET c = DEFAULT`.
fn default_of(column: &Column, at: &Stored<'_>) -> Result<Value<'static>> {
    if column.auto_increment {
        return Ok(Value::Null);
    }
    at.default_of(column)
}

/// # Errors
/// 1261, 1262 where they are errors.
fn check_fields_count(line: &Line, targets_count: usize, at: &Stored<'_>) -> Result<()> {
    let row_number = at.row_number;
    if line.fields_count() < targets_count {
        let text = format!("Row {row_number} doesn't contain data for all columns");
        return report(Code::TooFewFields, text, at);
    }
    if line.has_more() {
        let text = format!(
            "Row {row_number} was truncated; it contained more data than there were input columns"
        );
        return report(Code::TooManyFields, text, at);
    }
    Ok(())
}

/// Fails, or warns where that is enough.
fn report(code: Code, text: String, at: &Stored<'_>) -> Result<()> {
    if !at.lenient {
        return Err(Error::new(code, text));
    }
    at.ctx.warnings.add(WarningLevel::Warning, code, || text);
    Ok(())
}

/// `SET`: in the order of the list, each seeing those before it.
fn assign(load: &Load, row: &mut [Value<'static>], at: &Stored<'_>) -> Result<()> {
    let mut seen = vec![Value::Null; load.insert.table.columns.len()];
    for (column_idx, value) in load.insert.columns.iter().zip(row.iter()) {
        put(&mut seen, *column_idx, value.clone());
    }
    for (place, value) in &load.assignments {
        let column = column_at(load, *place)?;
        let value = match value {
            InsertValue::Default => default_of(column, at)?,
            InsertValue::Expr(expr) => {
                let row = ValuesRow(&seen);
                let value = eval_exact(expr, &row, at.ctx)?;
                if value.is_null() && column.auto_increment {
                    Value::Null
                } else {
                    at.coerce(value, column)?
                }
            }
        };
        if let Some(column_idx) = load.insert.columns.get(*place) {
            put(&mut seen, *column_idx, value.clone());
        }
        put(row, *place, value);
    }
    Ok(())
}

/// An error behind which something was written already.
pub(super) fn kept_rows(error: &Error, rows_count: usize) -> Error {
    let text = format!(
        "{}; the first {rows_count} rows are kept: they were too many for one atomic write",
        error.message()
    );
    Error::new(error.code(), text)
}

#[cfg(test)]
mod tests;
