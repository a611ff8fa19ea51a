//! INSERT and its kin, UPDATE, DELETE: old rows in, one atomic write set out.
//!
//! A statement gathers its writes in [`StatementWrites`]; [`run`] commits them (autocommit) or
//! makes them part of the open transaction. A blind write (every column is given and nothing old
//! is needed) reads nothing. [`changer`] puts the entries of the table's indexes to the rows.

pub mod blind;
pub mod change;
pub mod changer;
mod counted;
pub mod entries;
pub mod expiry;
pub mod for_update;
pub mod insert;
mod moved;
mod put;
pub mod row;
pub mod several;
mod shadow;
pub mod versions;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use changer::Changer;
use versions::Dating;

use super::budget::Memory;
use super::cancel::CancelToken;
use super::ids::Ids;
use super::named;
use super::query;
use super::row::Layout;
use super::transaction::{BoundTable, Failed, StatementWrites, Transaction, too_large};
use super::uses::Uses;
use crate::catalog::Table;
use crate::codec::keyspace;
use crate::error::{Code, Error, Result};
use crate::index;
use crate::kv::{CommitError, Engine, Key, Space};
use crate::plan::Policy;
use crate::sql::bound::{Delete, Insert, InsertKind, InsertSource, Query, Subquery, Update};
use crate::sql::context::{EvalContext, WarningLevel};
use crate::types::{ColumnType, Value, Zone};

/// How often an autocommit statement starts over when a concurrent one changed its rows.
pub const CONFLICT_ATTEMPTS_MAX: usize = 32;

/// A bound statement that writes.
#[derive(Debug)]
pub enum Write {
    /// INSERT, REPLACE, UPSERT.
    Insert(Insert),
    /// UPDATE.
    Update(Update),
    /// DELETE.
    Delete(Delete),
}

impl Write {
    /// The table that is written.
    pub fn table(&self) -> &Arc<Table> {
        match self {
            Write::Insert(insert) => &insert.table,
            Write::Update(update) => &update.table,
            Write::Delete(delete) => &delete.table,
        }
    }

    /// Whether it says `IGNORE`, or is a `LOAD DATA LOCAL`.
    pub fn ignores(&self) -> bool {
        match self {
            Write::Insert(insert) => insert.kind == InsertKind::InsertIgnore,
            Write::Update(update) => update.ignore,
            Write::Delete(delete) => delete.ignore,
        }
    }

    /// The table, and whether it says `IGNORE`.
    pub fn target(&self) -> (&Arc<Table>, bool) {
        (self.table(), self.ignores())
    }

    /// The query whose rows are inserted.
    fn query(&self) -> Option<&Query> {
        match self {
            Write::Insert(insert) => match &insert.source {
                InsertSource::Query(query) => Some(query),
                InsertSource::Values(_) | InsertSource::Given => None,
            },
            Write::Update(_) | Write::Delete(_) => None,
        }
    }

    /// `_l_ts_(ms)`.
    fn ts_ms(&self) -> Option<u64> {
        match self {
            Write::Insert(insert) => insert.ts_ms,
            Write::Update(update) => update.hints.ts_ms,
            Write::Delete(delete) => delete.hints.ts_ms,
        }
    }

    fn subqueries(&self) -> &[Subquery] {
        match self {
            Write::Insert(insert) => &insert.subqueries,
            Write::Update(update) => &update.subqueries,
            Write::Delete(delete) => &delete.subqueries,
        }
    }
}

/// A bound write with what does not change between executions.
#[derive(Debug)]
pub struct Program {
    /// The statement.
    pub write: Write,
    layout: Layout,
    catalog_version: u64,
    /// What an INSERT takes its rows from, or what finds the rows of a change.
    pub query: Option<Arc<query::Program>>,
    /// The subqueries, and what each runs.
    pub subqueries: Vec<(Subquery, Arc<query::Program>)>,
}

impl Program {
    /// Prepares a bound write for execution. `catalog_version` is that of before it was bound.
    pub fn new(write: Write, catalog_version: u64) -> Program {
        let layout = Layout::of(write.table());
        let program = |query: &Query| Arc::new(query::Program::new(query.clone()));
        let query = write.query().map(program);
        let subqueries = write.subqueries().iter();
        let subqueries = subqueries.map(|one| (one.clone(), program(&one.query)));
        Program {
            query,
            subqueries: subqueries.collect(),
            write,
            layout,
            catalog_version,
        }
    }

    /// The tables that are read by queries, some of them more than once.
    pub fn tables_read(&self) -> Vec<Arc<Table>> {
        let within = self.subqueries.iter().map(|(_, program)| program);
        let all = self.query.iter().chain(within);
        all.flat_map(|program| program.tables().iter().cloned())
            .collect()
    }

    /// Whether its queries read the table that it writes.
    pub fn reads_itself(&self) -> bool {
        if self.query.is_none() && self.subqueries.is_empty() {
            return false;
        }
        let written = self.write.table().id;
        self.tables_read().iter().any(|read| read.id == written)
    }

    /// The table that is written, as it was bound.
    fn bound_table(&self) -> BoundTable {
        BoundTable {
            table: Arc::clone(self.write.table()),
            catalog_version: self.catalog_version,
        }
    }
}

/// What a write runs with.
pub struct Env {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// Clock, session, parameters.
    pub ctx: EvalContext,
    /// What full scans are permitted.
    pub policy: Policy,
    /// Where it is noted that an index is read.
    pub uses: Arc<Uses>,
    /// What may end it early.
    pub cancel: Arc<CancelToken>,
    /// Makes ids.
    pub ids: Arc<Ids>,
    /// What it may hold.
    pub memory: Memory,
    /// Whether affected rows are those found rather than those changed (`CLIENT_FOUND_ROWS`).
    pub found_rows: bool,
    /// Whether each statement commits by itself.
    pub autocommit: bool,
    /// The rows of an INSERT that a query or a file has given.
    pub given_rows: Rows,
    /// How many rows came before them.
    pub given_before: usize,
}

/// Rows of values.
pub type Rows = Arc<Vec<Vec<Value<'static>>>>;

/// What a write did.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Affected rows in MySQL's sense.
    pub affected_rows: u64,
    /// The first id that was made for a row that was inserted, or 0: what `LAST_INSERT_ID()` gives.
    pub last_insert_id: u64,
    /// The id of the last row whose id was given, or which was updated instead, or 0: what the client
    /// is told when none was made.
    pub other_id: u64,
    /// The text after `Query OK`.
    pub info: String,
    /// Rows that an INSERT left out or that replaced others.
    pub duplicates: u64,
}

impl Outcome {
    /// Counts what the next piece of the same statement did.
    pub fn add(&mut self, other: &Outcome) {
        self.affected_rows += other.affected_rows;
        self.duplicates += other.duplicates;
        if other.other_id != 0 {
            self.other_id = other.other_id;
        }
        if self.last_insert_id == 0 {
            self.last_insert_id = other.last_insert_id;
        }
    }
}

/// Runs a write in `transaction`, and commits it when [`Env::autocommit`] says so.
///
/// # Errors
/// Those of evaluation, coercion, refusal, locking and commit. Nothing of a failed statement
/// is kept.
pub async fn run(program: &Program, env: &Env, transaction: &mut Transaction) -> Result<Outcome> {
    let (assigned, told) = (env.ctx.facts.assigned(), env.ctx.warnings.mark());
    for _ in 0..CONFLICT_ATTEMPTS_MAX {
        if let Some(outcome) = attempt(program, env, transaction).await? {
            return Ok(outcome);
        }
        env.ctx.facts.go_back(assigned.as_deref());
        env.ctx.warnings.back_to(told);
    }
    Err(too_many_conflicts())
}

/// As [`run`], once: `None` when it is to start over, since another statement has changed what it read, or since both
/// waited for each other and in autocommit nobody was told of it. It has forgotten its snapshot then, and who has read
/// from that must do so again. The caller takes back what was assigned to variables and warned of.
///
/// # Errors
/// As [`run`].
pub async fn attempt(
    program: &Program,
    env: &Env,
    transaction: &mut Transaction,
) -> Result<Option<Outcome>> {
    transaction.check_may_write(program.write.table())?;
    env.cancel.check()?;
    let mut writes = StatementWrites::of(program.bound_table());
    let gathered = gather(program, env, transaction, &mut writes).await;
    if comes_to_nothing(&gathered, &writes)
        && may_start_over(program, env, transaction)
        && Box::pin(is_of_old_rows(env, transaction, &writes)).await
    {
        if env.autocommit {
            transaction.forget_snapshot();
        } else {
            transaction.renew_snapshot();
        }
        return Ok(None);
    }
    let outcome = match gathered {
        Err(error) if env.autocommit && error.code() == Code::Deadlock => {
            // The other side goes on with what this one gives up, so that they do not meet for ever.
            transaction.begin_again();
            return Ok(None);
        }
        outcome => outcome.map_err(|error| named::of_table(error, program.write.table()))?,
    };
    check_size(env, &writes)?;
    env.cancel.check()?;
    if !env.autocommit {
        transaction.stage(writes)?;
        return Ok(Some(outcome));
    }
    match transaction.commit_statement(writes).await {
        Ok(()) => Ok(Some(outcome)),
        Err(Failed::Engine(CommitError::Conflict { .. })) => {
            transaction.forget_snapshot();
            Ok(None)
        }
        Err(Failed::Engine(CommitError::AlreadyExists { space: at, key })) => {
            let table = program.write.table();
            if table.has_hidden_key() && at == space(table) {
                return Ok(None);
            }
            Err(duplicate_entry(table, at, &key, &env.ctx.zone))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether no commit will tell that a statement went by rows which others have changed.
fn comes_to_nothing(gathered: &Result<Outcome>, writes: &StatementWrites) -> bool {
    match gathered {
        Ok(_) => writes.is_empty(),
        Err(error) => !matches!(error.code(), Code::Deadlock | Code::LockWaitTimeout),
    }
}

/// Whether others had changed rows that a statement went by before it got to lock them. Where that cannot be told, what
/// came of it stands.
async fn is_of_old_rows(env: &Env, transaction: &Transaction, writes: &StatementWrites) -> bool {
    let has_newest = transaction.has_read_newest(writes, &env.cancel).await;
    matches!(has_newest, Ok(false))
}

/// Whether a statement may have locked what had changed, and could read the newest state with the locks that it has: in
/// autocommit, and where the snapshot is its own and nothing else of it was read from that.
fn may_start_over(program: &Program, env: &Env, transaction: &Transaction) -> bool {
    let reads_nothing_else = program.query.is_none() && program.subqueries.is_empty();
    let is_free = env.autocommit || reads_nothing_else && transaction.may_renew_snapshot();
    is_free && transaction.has_locked_late()
}

/// Error 1213: the statement started over too often.
pub fn too_many_conflicts() -> Error {
    let text = format!(
        "concurrent statements changed the same rows {CONFLICT_ATTEMPTS_MAX} times in a row; \
         try restarting transaction"
    );
    Error::new(Code::Deadlock, text)
}

async fn gather(
    program: &Program,
    env: &Env,
    transaction: &mut Transaction,
    writes: &mut StatementWrites,
) -> Result<Outcome> {
    let dating = Dating::checked(env, program.write.ts_ms())?;
    let changer = Changer::new(
        (program.write.table(), &program.layout),
        (env, dating),
        transaction,
        writes,
    );
    match &program.write {
        Write::Insert(insert) => {
            let given = counted::Given::to(&insert.table);
            let inserter = insert::Inserter {
                insert,
                changer,
                given,
            };
            inserter.run().await
        }
        Write::Update(update) => change::update(update, changer).await,
        Write::Delete(delete) => change::delete(delete, changer).await,
    }
}

fn check_size(env: &Env, writes: &StatementWrites) -> Result<()> {
    let bytes_max = env.engine.limits().write_set_bytes_max;
    if writes.bytes() <= bytes_max {
        Ok(())
    } else {
        Err(too_large(writes.bytes(), bytes_max))
    }
}

/// Tells of an error that the statement goes on in spite of.
fn warn_of(error: &Error, env: &Env) {
    let text = error.message().to_owned();
    let warnings = &env.ctx.warnings;
    warnings.add(WarningLevel::Warning, error.code(), || text);
}

/// The storage space of a table.
pub fn space(table: &Table) -> Space {
    Space(table.id.0)
}

/// Error 1062 in MySQL's words: `Duplicate entry 'a-1' for key 't.PRIMARY'`. The key is one of the
/// table or, in the space of a unique index, that of an entry.
pub fn duplicate_entry(table: &Table, at: Space, key: &Key, zone: &Zone) -> Error {
    let table = match &table.shadow {
        Some(shadow) if space(shadow) == at => shadow,
        Some(_) | None => table,
    };
    let index = table.indexes.iter().find(|index| index::space(index) == at);
    let (name, parts) = match index {
        Some(index) => (index.name.as_str(), &index.parts),
        None => ("PRIMARY", &table.key),
    };
    let column = |column_idx| match index {
        Some(index) => index.column(table, column_idx),
        None => table.columns.get(column_idx),
    };
    let parts: Vec<_> = parts
        .iter()
        .filter_map(|part| Some((&column(part.column_idx)?.ty, part.direction)))
        .collect();
    let values = match keyspace::decode_row_key(key, parts.iter().copied()) {
        Ok(values) => values,
        Err(corrupt) => return corrupt.into(),
    };
    let values: Vec<_> = values
        .iter()
        .zip(&parts)
        .skip(usize::from(index.is_none() && table.spread().is_some()))
        .map(|(value, (ty, _))| duplicate_text(value, ty, zone))
        .collect();
    let text = format!(
        "Duplicate entry '{}' for key '{}.{name}'",
        values.join("-"),
        table.name
    );
    Error::new(Code::DuplicateEntry, text)
}

/// One value of a duplicate key as error 1062 shows it: as MySQL, without the zero bytes that fill
/// a `BINARY(n)`, and other bytes that are no text as `\x80`; a `TIMESTAMP` by the given zone.
pub(crate) fn duplicate_text(value: &Value<'_>, ty: &ColumnType, zone: &Zone) -> String {
    if let Value::Timestamp(at) = value {
        return Value::Datetime(zone.to_datetime(*at))
            .to_text()
            .into_owned();
    }
    let Value::Bytes(bytes) = value else {
        return value.to_text().into_owned();
    };
    let mut shown: &[u8] = bytes;
    while let ([rest @ .., 0], ColumnType::Binary { .. }) = (shown, ty) {
        shown = rest;
    }
    let shown = shown.iter().map(|byte| match byte {
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    });
    shown.collect()
}
