//! Writes that begin with queries: `INSERT … SELECT`, UPDATE and DELETE of several tables, and
//! subqueries in the values and conditions of any write.
//!
//! An INSERT takes the rows of its query in pieces. All of them are one atomic write if they fit into
//! one piece, or in a transaction; else each piece is one, which a warning says.

use std::sync::Arc;

use super::Session;
use super::load::kept_rows;
use crate::error::{Code, Error, Result};
use crate::exec::ask;
use crate::exec::budget::Budget;
use crate::exec::locks::Held;
use crate::exec::nest::Nest;
use crate::exec::query::{self, QueryStream};
use crate::exec::rows::{PageEnd, RowCopy, RowSink, RowStream};
use crate::exec::select::Env;
use crate::exec::transaction::{Failed, Mark, Transaction, definition_changed};
use crate::exec::view::View;
use crate::exec::write::{self, Outcome, several};
use crate::kv::CommitError;
use crate::sql::bound::InsertKind;
use crate::sql::context::{Parameters, SessionFacts, WarningLevel};
use crate::types::Value;

/// What a piece may take of the bytes that the engine writes at once: rows grow by their index
/// entries.
const PIECE_PART: usize = 8;

/// The rows of a piece.
struct Piece {
    rows: Vec<Vec<Value<'static>>>,
    bytes: usize,
    bytes_max: usize,
}

/// What came of inserting rows.
enum Inserted {
    All(Outcome),
    /// Nothing: a definition has changed since the statement was bound.
    Outdated,
    /// Nothing: another statement has changed what this one replaces.
    Conflicting,
}

impl From<Option<Outcome>> for Inserted {
    fn from(outcome: Option<Outcome>) -> Inserted {
        outcome.map_or(Inserted::Outdated, Inserted::All)
    }
}

/// Whether rows may be written over those that were read: the state must be one then. What only adds rows is not
/// held to the state that its query has read, which may be long ago.
fn replaces(write: &write::Write) -> bool {
    match write {
        write::Write::Insert(insert) => match insert.kind {
            InsertKind::Insert | InsertKind::InsertIgnore => !insert.on_duplicate.is_empty(),
            InsertKind::Replace | InsertKind::Upsert => true,
        },
        write::Write::Update(_) | write::Write::Delete(_) => true,
    }
}

impl RowSink for Piece {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.bytes += values.iter().map(Value::memory_bytes).sum::<usize>();
        self.rows.push(RowCopy::row(values)?);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.bytes_max <= self.bytes
    }
}

impl Session {
    /// Answers the subqueries of a write that read no row of it, from `view` if there is one. Returns what the
    /// answers take of the statement's memory.
    pub(super) async fn answer_for_write(
        &mut self,
        program: &write::Program,
        (env, view): (&mut write::Env, Option<View>),
    ) -> Result<Vec<Budget>> {
        if program.subqueries.is_empty() {
            return Ok(Vec::new());
        }
        let parameters = Arc::clone(&env.ctx.parameters);
        let mut reading = self.select_env(parameters, &program.tables_read());
        reading.view = view.or(reading.view);
        let (nest, _, _) = Nest::of(reading);
        let subqueries = program.subqueries.iter();
        let subqueries = subqueries.map(|(subquery, inner)| (subquery, inner));
        Ok(ask::answer_once(subqueries, &nest, &mut env.ctx).await?)
    }

    /// Runs `INSERT … SELECT`; `None` when a definition has changed since it was bound. In autocommit rows of the table
    /// that are written over are read from the state that is changed, and again when it starts over.
    pub(super) async fn insert_rows_of(
        &mut self,
        (program, query): (&Arc<write::Program>, &Arc<query::Program>),
        parameters: Parameters,
    ) -> Result<Option<Outcome>> {
        self.heed(query.hints());
        let mut own = None;
        let is_of_one_state = program.reads_itself() && replaces(&program.write);
        if is_of_one_state && self.current_transaction().is_none() {
            own = Some(self.statement_transaction());
        }
        let (assigned, told) = (self.state.assigned(), self.warnings.mark());
        for _ in 0..write::CONFLICT_ATTEMPTS_MAX {
            self.state.go_back(assigned.as_deref());
            self.warnings.back_to(told);
            let mut env = self.select_env(Arc::clone(&parameters), query.tables());
            env.ctx.strict_write = self.settings.mode.strict && !program.write.ignores();
            env.view = own.as_mut().map(Transaction::view).or(env.view);
            let stream = match open_stream(query, env).await {
                Err(error) if self.has_gone(query.tables(), &error) => return Ok(None),
                opened => opened?,
            };
            if !self.are_current(query.tables()) {
                return Ok(None);
            }
            let begun = self.current_transaction().map(Transaction::mark);
            let mut kept_count = 0;
            let with = (Arc::clone(&parameters), &mut kept_count);
            let inserted = self.insert_pieces(program, (stream, &mut own), with).await;
            // What fills a table that goes with its failure, or is in a transaction, is not kept.
            let is_taken_back = begun.is_some() || self.is_unnamed(program.write.table());
            let inserted = inserted.map_err(|error| match kept_count {
                0 => error,
                _ if is_taken_back => error,
                _ => kept_rows(&error, kept_count),
            });
            match self.undo_failed(begun, inserted)? {
                Inserted::All(outcome) => return Ok(Some(outcome)),
                Inserted::Outdated => return Ok(None),
                Inserted::Conflicting => {}
            }
        }
        Err(write::too_many_conflicts())
    }

    /// A statement that was written in pieces has ended: takes back what one that failed has written
    /// into the open transaction.
    pub(super) fn undo_failed<T>(&mut self, begun: Option<Mark>, outcome: Result<T>) -> Result<T> {
        if let (Some(open), Some(mark)) = (&mut self.transaction, begun) {
            open.end_mark(mark, outcome.is_ok());
        }
        outcome
    }

    /// What the rows of one piece may take.
    pub(super) fn piece_bytes_max(&self) -> usize {
        self.shared.engine.limits().write_set_bytes_max / PIECE_PART
    }

    async fn insert_pieces(
        &mut self,
        program: &Arc<write::Program>,
        (stream, own): (QueryStream, &mut Option<Transaction>),
        (parameters, kept_count): (Parameters, &mut usize),
    ) -> Result<Inserted> {
        let mut all = Outcome::default();
        let mut stream = Some(stream);
        let (mut pieces_count, mut rows_count) = (0_u64, 0);
        loop {
            let piece = next_piece(&mut stream, self.piece_bytes_max()).await?;
            if piece.rows.is_empty() && 0 < pieces_count {
                break;
            }
            // Where there are several pieces, each is of a state of its own.
            if stream.is_some() || 0 < pieces_count {
                *own = None;
            }
            let mut env = self.write_env(Arc::clone(&parameters), program.write.target());
            let view = own.as_mut().map(Transaction::view);
            let _held = self.answer_for_write(program, (&mut env, view)).await?;
            env.given_before = rows_count;
            rows_count += piece.rows.len();
            env.given_rows = Arc::new(piece.rows);
            let inserted = match own {
                Some(own) => self.insert_in(program, (&env, own)).await?,
                None => self.run_once(program, env).await?.into(),
            };
            match inserted {
                Inserted::All(outcome) => {
                    all.add(&outcome);
                    *kept_count = rows_count;
                }
                none if pieces_count == 0 => return Ok(none),
                Inserted::Outdated | Inserted::Conflicting => return Err(definition_changed()),
            }
            pieces_count += 1;
            if stream.is_none() {
                break;
            }
        }
        if 1 < pieces_count && self.current_transaction().is_none() {
            self.tell_of_pieces(pieces_count);
        }
        let warnings = self.warnings.count();
        all.info = format!(
            "Records: {rows_count}  Duplicates: {}  Warnings: {warnings}",
            all.duplicates
        );
        Ok(Inserted::All(all))
    }

    /// Inserts rows that were read from the snapshot of a statement's own transaction.
    async fn insert_in(
        &self,
        program: &Arc<write::Program>,
        (env, own): (&write::Env, &mut Transaction),
    ) -> Result<Inserted> {
        let tables = std::slice::from_ref(program.write.table());
        match write::attempt(program, env, own).await {
            Err(error) if self.is_outdated(tables, &error) => Ok(Inserted::Outdated),
            done => Ok(done?.map_or(Inserted::Conflicting, Inserted::All)),
        }
    }

    /// Runs an UPDATE or DELETE of the rows that a query finds; `None` when a definition has changed
    /// since it was bound.
    pub(super) async fn change_rows_of(
        &mut self,
        program: &Arc<several::Program>,
        parameters: Parameters,
    ) -> Result<Option<Outcome>> {
        self.check_seen(program.query.tables())?;
        self.heed(&program.change.hints);
        let ignores = program.change.ignore;
        let (assigned, told) = (self.state.assigned(), self.warnings.mark());
        let mut locks: Option<Held> = None;
        for _ in 0..write::CONFLICT_ATTEMPTS_MAX {
            self.state.go_back(assigned.as_deref());
            self.warnings.back_to(told);
            let in_transaction = self.current_transaction().is_some();
            let mut own = self.statement_transaction();
            if let Some(held) = locks.take() {
                own.go_on_with(held);
            }
            let mut env = self.select_env(Arc::clone(&parameters), program.query.tables());
            env.ctx.strict_write = self.settings.mode.strict && !ignores;
            if !in_transaction {
                env.view = Some(own.view());
            }
            let found = self.found_rows(&program.query, env).await;
            let (rows, _held) = match found {
                Err(error) if self.has_gone(program.query.tables(), &error) => return Ok(None),
                found => found?,
            };
            if !self.are_current(program.query.tables()) {
                return Ok(None);
            }
            let Some(table) = program.change.targets.first().map(|target| &target.table) else {
                return Err(Error::internal("a change of nothing"));
            };
            let env = self.write_env(Arc::clone(&parameters), (table, ignores));
            if let Some(open) = self.current_transaction() {
                let begun = open.mark();
                let outcome = several::run(program, &rows, (&env, open)).await;
                return match self.undo_failed(Some(begun), outcome) {
                    Err(error) if self.has_gone(program.query.tables(), &error) => Ok(None),
                    outcome => outcome.map(Some),
                };
            }
            let outcome = match several::run(program, &rows, (&env, &mut own)).await {
                Err(error) if self.is_outdated(program.query.tables(), &error) => return Ok(None),
                // Its locks go with it, and who waited for them goes on.
                Err(error) if error.code() == Code::Deadlock => continue,
                outcome => outcome?,
            };
            let memory = own.commit_memory()?;
            let held = own.take_locks();
            match own.commit(memory).await {
                Ok(()) => return Ok(Some(outcome)),
                // With them, nobody is in its way the second time.
                Err(Failed::Engine(CommitError::Conflict { .. })) => locks = Some(held),
                Err(Failed::DefinitionChanged) => return Ok(None),
                Err(error @ (Failed::Engine(_) | Failed::Memory(_))) => return Err(error.into()),
            }
        }
        Err(write::too_many_conflicts())
    }

    /// All rows of a query, and what they take of the statement's memory.
    async fn found_rows(
        &self,
        query: &Arc<query::Program>,
        env: Env,
    ) -> Result<(write::Rows, Budget)> {
        let mut budget = env.memory.budget("the rows to change");
        let mut stream = open_stream(query, env).await?;
        let mut all = Piece {
            rows: Vec::new(),
            bytes: 0,
            bytes_max: usize::MAX,
        };
        loop {
            let before = all.bytes;
            let end = stream.next_page(&mut all).await?;
            budget.take(all.bytes - before)?;
            if end != PageEnd::More {
                return Ok((Arc::new(all.rows), budget));
            }
        }
    }

    pub(super) fn tell_of_pieces(&self, pieces_count: u64) {
        let text = || {
            format!(
                "the rows are too many for one atomic write: they were written in {pieces_count} \
                 pieces, each of them atomic; BEGIN … COMMIT holds what fits into a transaction \
                 together"
            )
        };
        self.warnings
            .add(WarningLevel::Note, Code::FeatureIgnored, text);
    }
}

/// The next rows of a query, which is gone behind its last.
async fn next_piece(stream: &mut Option<QueryStream>, bytes_max: usize) -> Result<Piece> {
    let mut piece = Piece {
        rows: Vec::new(),
        bytes: 0,
        bytes_max,
    };
    while let Some(rows) = stream
        && !piece.is_full()
    {
        if rows.next_page(&mut piece).await? != PageEnd::More {
            // It holds what the transaction has written, which is copied while somebody does.
            *stream = None;
        }
    }
    Ok(piece)
}

async fn open_stream(query: &Arc<query::Program>, env: Env) -> Result<QueryStream> {
    query::open(query, env)?.stream().await
}
