//! Recursive common table expressions: round after round, until one finds nothing new.
//!
//! Source: MySQL manual, "Recursive Common Table Expressions".

use std::collections::HashSet;
use std::sync::Arc;

use super::{Program, QueryStream, RecursiveProgram, open};
use crate::error::{Code, Error, Result};
use crate::exec::budget::Budget;
use crate::exec::nest::Nest;
use crate::exec::rows::{BoxFuture, PageEnd, RowCopy, RowSink, RowStream};
use crate::exec::select::{Env, Window, row_limits};
use crate::exec::tuple;
use crate::sql::context::EvalContext;
use crate::sql::eval::fit;
use crate::sql::expr::VariableScope;
use crate::types::{ColumnType, Value};

/// Rounds when `cte_max_recursion_depth` cannot be read.
const ROUNDS_MAX: u64 = 1000;

/// What a row costs beyond its bytes, where duplicates go.
const ROW_OVERHEAD_BYTES: usize = 64;

/// A running recursive query.
pub struct RecursiveStream {
    program: Arc<RecursiveProgram>,
    nest: Nest,
    ctx: EvalContext,
    types: Vec<ColumnType>,
    /// The round that runs.
    current: QueryStream,
    rounds_done: u64,
    rounds_max: u64,
    /// Which rows of all rounds are given.
    window: Window,
    /// What it has found so far: the next round reads it.
    found: Vec<Vec<Value<'static>>>,
    found_bytes: Budget,
    /// What the rows of the round before take, which this one reads.
    round_bytes: Budget,
    /// All rows so far, when duplicates go.
    seen: Option<HashSet<Box<[u8]>>>,
    seen_bytes: Budget,
    rows_read: u64,
}

/// Takes the rows of a page that are new, and hands them on.
struct Taker<'a> {
    types: &'a [ColumnType],
    ctx: &'a EvalContext,
    seen: Option<&'a mut HashSet<Box<[u8]>>>,
    seen_bytes: &'a mut Budget,
    found: &'a mut Vec<Vec<Value<'static>>>,
    found_bytes: &'a mut Budget,
    window: &'a mut Window,
    sink: &'a mut (dyn RowSink + Send),
}

impl RowSink for Taker<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        if self.window.is_over() {
            return Ok(());
        }
        let mut row = Vec::with_capacity(values.len());
        let mut copy = RowCopy::default();
        for (value, ty) in values.iter().zip(self.types) {
            row.push(copy.owned(fit::shown(value.borrow(), ty, self.ctx)?)?);
        }
        if let Some(seen) = &mut self.seen {
            let mut bytes = Vec::new();
            tuple::encode(&mut bytes, row.iter().zip(self.types))?;
            if seen.contains(bytes.as_slice()) {
                return Ok(());
            }
            self.seen_bytes.take(bytes.len() + ROW_OVERHEAD_BYTES)?;
            seen.insert(bytes.into());
        }
        let values_bytes: usize = row.iter().map(Value::memory_bytes).sum();
        self.found_bytes
            .take(values_bytes + size_of::<Vec<Value<'static>>>())?;
        if self.window.admits() {
            self.sink.row(&row)?;
        }
        self.found.push(row);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.sink.is_full() || self.window.is_over()
    }
}

impl RecursiveStream {
    pub(super) async fn open(program: Arc<RecursiveProgram>, env: Env) -> Result<RecursiveStream> {
        let (nest, ctx, _) = Nest::of(env);
        let depth = ctx
            .facts
            .system_variable(VariableScope::Any, "cte_max_recursion_depth");
        let rounds_max = match depth {
            Ok(Value::UInt(rounds)) => rounds,
            Ok(_) | Err(_) => ROUNDS_MAX,
        };
        let current = side(&program.first, &nest, &ctx).await?;
        let query = &program.query;
        let limits = row_limits(query.limit.as_ref(), query.offset.as_ref(), &ctx)?;
        let columns = query.columns.iter();
        Ok(RecursiveStream {
            types: columns.map(|column| column.ty.clone()).collect(),
            current,
            rounds_done: 0,
            rounds_max,
            window: Window::new(limits),
            found: Vec::new(),
            found_bytes: budget(&nest),
            round_bytes: budget(&nest),
            seen: (!program.query.all).then(HashSet::new),
            seen_bytes: budget(&nest),
            rows_read: 0,
            program,
            nest,
            ctx,
        })
    }

    async fn page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        self.nest.cancel.check()?;
        if self.window.is_over() {
            return Ok(self.last());
        }
        let mut taker = Taker {
            types: &self.types,
            ctx: &self.ctx,
            seen: self.seen.as_mut(),
            seen_bytes: &mut self.seen_bytes,
            found: &mut self.found,
            found_bytes: &mut self.found_bytes,
            window: &mut self.window,
            sink,
        };
        let end = self.current.next_page(&mut taker).await?;
        if end == PageEnd::More && !self.window.is_over() {
            return Ok(PageEnd::More);
        }
        self.rows_read += self.current.rows_read();
        let found = std::mem::take(&mut self.found);
        if found.is_empty() || self.window.is_over() {
            return Ok(self.last());
        }
        self.rounds_done += 1;
        if self.rounds_max < self.rounds_done {
            return Err(too_deep(self.rounds_done));
        }
        self.round_bytes = std::mem::replace(&mut self.found_bytes, budget(&self.nest));
        let number = self.program.query.number;
        self.nest.rounds.retain(|(other, _)| *other != number);
        self.nest.rounds.push((number, Arc::new(found)));
        self.current = side(&self.program.next, &self.nest, &self.ctx).await?;
        Ok(PageEnd::More)
    }

    fn last(&self) -> PageEnd {
        let warnings_count = self.ctx.warnings.count();
        PageEnd::Last { warnings_count }
    }

    /// Rows fetched from the engine by the rounds that are done.
    pub(super) fn rows_read(&self) -> u64 {
        self.rows_read
    }
}

fn budget(nest: &Nest) -> Budget {
    nest.memory.budget("recursive query")
}

async fn side(program: &Arc<Program>, nest: &Nest, ctx: &EvalContext) -> Result<QueryStream> {
    open(program, nest.env(ctx.nested(), None))?.stream().await
}

fn too_deep(rounds: u64) -> Error {
    let text = format!(
        "Recursive query aborted after {rounds} iterations. Try increasing \
         @@cte_max_recursion_depth to a larger value."
    );
    Error::new(Code::RecursionTooDeep, text)
}

impl RowStream for RecursiveStream {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        Box::pin(self.page(sink))
    }
}
