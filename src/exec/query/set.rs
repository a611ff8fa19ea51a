//! `UNION`, `INTERSECT`, `EXCEPT`: the rows of two queries put together.
//!
//! Rows of the left side come first. `UNION` streams; for the others the right side is taken in
//! first, counted by row. Values are converted to the types of the result before they are compared.
//! Source: MySQL manual, "UNION Clause", "INTERSECT Clause", "EXCEPT Clause".

use std::collections::HashMap;
use std::sync::Arc;

use super::{Program, QueryStream, SetProgram, open};
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::exec::distinct::{LateRows, Met, Seen};
use crate::exec::nest::Nest;
use crate::exec::row::ValuesRow;
use crate::exec::rows::{BoxFuture, PageEnd, RowCopy, RowSink, RowStream, SINK_BYTES_MAX};
use crate::exec::select::{Env, Window, row_limits};
use crate::exec::sort::{Sorted, Sorter};
use crate::exec::tuple;
use crate::sql::ast::SetOperator;
use crate::sql::context::EvalContext;
use crate::sql::eval::fit;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::Value;

/// Rows handed out per page once they were sorted.
const EMIT_PAGE_ROWS: usize = 1024;

/// What a row of the right side costs beyond its bytes.
const ROW_OVERHEAD_BYTES: usize = 64;

/// A running set operation.
pub struct SetStream {
    program: Arc<SetProgram>,
    nest: Nest,
    ctx: EvalContext,
    /// The columns as expressions, for their types.
    exprs: Vec<Expr>,
    source: Source,
    /// Rows already given, when duplicates go.
    seen: Option<Seen>,
    /// How often each row is on the right side: `INTERSECT`, `EXCEPT`.
    counts: Option<HashMap<Box<[u8]>, u64>>,
    counts_bytes: Budget,
    sorted: Option<Sorted>,
    window: Window,
    rows_read: u64,
}

/// The side that is read.
enum Source {
    Left(QueryStream),
    Right(QueryStream),
    Done,
}

/// Rows of a page, converted.
#[derive(Default)]
struct Page {
    rows: Vec<Vec<Value<'static>>>,
    bytes: usize,
}

impl RowSink for Page {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.rows.push(RowCopy::row(values)?);
        self.bytes += values.iter().map(Value::memory_bytes).sum::<usize>();
        Ok(())
    }

    fn is_full(&self) -> bool {
        SINK_BYTES_MAX <= self.bytes
    }
}

impl SetStream {
    pub(super) async fn open(program: Arc<SetProgram>, env: Env) -> Result<SetStream> {
        let (nest, ctx, select_limit) = Nest::of(env);
        let query = &program.query;
        let mut limits = row_limits(query.limit.as_ref(), query.offset.as_ref(), &ctx)?;
        limits.limit = limits.limit.or(select_limit);
        let exprs = query.columns.iter().enumerate().map(|(idx, column)| Expr {
            kind: ExprKind::Column(idx),
            ty: column.ty.clone(),
            nullable: true,
        });
        let left = open(&program.sides.0, nest.env(ctx.nested(), None))?
            .stream()
            .await?;
        let mut stream = SetStream {
            exprs: exprs.collect(),
            source: Source::Left(left),
            seen: (!query.all).then(|| Seen::new(&nest.memory)),
            counts: None,
            counts_bytes: nest.memory.budget("set operation"),
            sorted: None,
            window: Window::new(limits),
            rows_read: 0,
            program: Arc::clone(&program),
            ctx,
            nest,
        };
        if program.query.operator != SetOperator::Union {
            let counts = stream.count_right().await?;
            stream.counts = Some(counts);
        }
        Ok(stream)
    }

    async fn side(&self, program: &Arc<Program>) -> Result<QueryStream> {
        let env = self.nest.env(self.ctx.nested(), None);
        open(program, env)?.stream().await
    }

    /// How often each row is on the right side.
    async fn count_right(&mut self) -> Result<HashMap<Box<[u8]>, u64>> {
        let mut right = self.side(&self.program.sides.1).await?;
        let mut counts: HashMap<Box<[u8]>, u64> = HashMap::new();
        loop {
            self.nest.cancel.check()?;
            let mut page = Page::default();
            let end = right.next_page(&mut page).await?;
            for row in page.rows {
                let bytes = self.encoded(&self.converted(row)?)?;
                if let Some(count) = counts.get_mut(bytes.as_slice()) {
                    *count += 1;
                    continue;
                }
                self.counts_bytes.take(bytes.len() + ROW_OVERHEAD_BYTES)?;
                counts.insert(bytes.into(), 1);
            }
            if end != PageEnd::More {
                self.rows_read += right.rows_read();
                return Ok(counts);
            }
        }
    }

    /// A row in the types of the result.
    fn converted(&self, row: Vec<Value<'static>>) -> Result<Vec<Value<'static>>> {
        let pairs = row.into_iter().zip(&self.exprs);
        let values = pairs.map(|(value, expr)| {
            let value = fit::fit(value, &expr.ty, &self.ctx)?;
            Ok(fit::shown(value, &expr.ty, &self.ctx)?.into_owned())
        });
        values.collect()
    }

    /// What rows are told apart by.
    fn encoded(&self, row: &[Value<'static>]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let types = self.exprs.iter().map(|expr| &expr.ty);
        tuple::encode(&mut bytes, row.iter().zip(types))?;
        Ok(bytes)
    }

    /// The next rows that belong to the result, in no order; `None` after the last.
    async fn next_rows(&mut self) -> Result<Option<Vec<Vec<Value<'static>>>>> {
        self.nest.cancel.check()?;
        let mut page = Page::default();
        let end = match &mut self.source {
            Source::Left(stream) | Source::Right(stream) => stream.next_page(&mut page).await?,
            Source::Done => return Ok(None),
        };
        if end != PageEnd::More {
            self.next_side().await?;
        }
        let mut rows = Vec::with_capacity(page.rows.len());
        for row in page.rows {
            let row = self.converted(row)?;
            if self.belongs(&row)? {
                rows.push(row);
            }
        }
        Ok(Some(rows))
    }

    async fn next_side(&mut self) -> Result<()> {
        let unites = self.program.query.operator == SetOperator::Union;
        let done = std::mem::replace(&mut self.source, Source::Done);
        match done {
            Source::Left(stream) => {
                self.rows_read += stream.rows_read();
                if unites {
                    let right = self.side(&self.program.sides.1).await?;
                    self.source = Source::Right(right);
                }
            }
            Source::Right(stream) => self.rows_read += stream.rows_read(),
            Source::Done => {}
        }
        Ok(())
    }

    /// Whether a row of a side is one of the result.
    fn belongs(&mut self, row: &[Value<'static>]) -> Result<bool> {
        if self.seen.is_none() && self.counts.is_none() {
            return Ok(true);
        }
        let bytes = match self.counts {
            Some(_) => self.encoded(row)?,
            None => Vec::new(),
        };
        if let Some(counts) = &mut self.counts {
            let count = counts.get_mut(bytes.as_slice()).filter(|count| 0 < **count);
            let is_there = count.is_some();
            // With ALL each row of the right side counts once.
            if let (Some(count), true) = (count, self.program.query.all) {
                *count -= 1;
            }
            let wanted = self.program.query.operator == SetOperator::Intersect;
            if is_there != wanted {
                return Ok(false);
            }
        }
        let Some(seen) = &mut self.seen else {
            return Ok(true);
        };
        let types = self.exprs.iter().map(|expr| &expr.ty);
        match seen.meet(row.iter().zip(types))? {
            Met::New => Ok(true),
            Met::Before => Ok(false),
            Met::Unknown => {
                let order_by = &self.program.query.order_by;
                if order_by.is_empty() {
                    seen.put_off_in_order()?;
                } else {
                    let mut key = Vec::new();
                    tuple::push_order(&mut key, order_by, &ValuesRow(row), &self.ctx)?;
                    seen.put_off(&key)?;
                }
                Ok(false)
            }
        }
    }

    /// Rows of which it was not known whether they were met before.
    fn late(&mut self) -> Result<Option<LateRows>> {
        let seen = self.seen.take();
        Ok(seen.map(Seen::into_late).transpose()?.flatten())
    }

    /// Gives late rows to a sorter.
    async fn add_late(&self, mut late: LateRows, sorter: &mut Sorter) -> Result<()> {
        loop {
            self.nest.cancel.check()?;
            if late.begins_part() && self.nest.memory.is_half_full() {
                sorter.spill()?;
            }
            if !late.step(sorter)? {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    }

    async fn page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        if self.window.is_over() {
            return Ok(self.last());
        }
        if self.sorted.is_some() || !self.program.query.order_by.is_empty() {
            return self.sorted_page(sink).await;
        }
        let Some(rows) = self.next_rows().await? else {
            let Some(late) = self.late()? else {
                return Ok(self.last());
            };
            let mut sorter = self.sorter(None, "set operation");
            self.add_late(late, &mut sorter).await?;
            self.sorted = Some(sorter.finish()?);
            return Ok(PageEnd::More);
        };
        for row in rows {
            if self.window.is_over() {
                return Ok(self.last());
            }
            if self.window.admits() {
                sink.row(&row)?;
            }
        }
        Ok(PageEnd::More)
    }

    async fn sorted_page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        if self.sorted.is_none() {
            let sorted = self.sort().await?;
            self.sorted = Some(sorted);
        }
        for _ in 0..EMIT_PAGE_ROWS {
            let Some(sorted) = &mut self.sorted else {
                break;
            };
            if self.window.is_over() {
                return Ok(self.last());
            }
            let Some(outputs) = sorted.next_outputs()? else {
                return Ok(self.last());
            };
            if self.window.admits() {
                sink.row(&tuple::decode(outputs, self.exprs.iter())?)?;
            }
            if sink.is_full() {
                break;
            }
        }
        Ok(PageEnd::More)
    }

    async fn sort(&mut self) -> Result<Sorted> {
        let mut sorter = self.sorter(self.window.rows_wanted(), "sort");
        while let Some(rows) = self.next_rows().await? {
            for row in rows {
                let mut key = Vec::new();
                let order_by = &self.program.query.order_by;
                tuple::push_order(&mut key, order_by, &ValuesRow(&row), &self.ctx)?;
                let mut shown = Vec::new();
                let types = self.exprs.iter().map(|expr| &expr.ty);
                tuple::encode_shown(&mut shown, row.iter().zip(types))?;
                sorter.push(&key, &shown)?;
            }
        }
        if let Some(late) = self.late()? {
            self.add_late(late, &mut sorter).await?;
        }
        sorter.finish()
    }

    fn sorter(&self, rows_wanted: Option<u64>, operator: &'static str) -> Sorter {
        Sorter::new(rows_wanted, operator, &self.nest.memory, &self.nest.cancel)
    }

    fn last(&self) -> PageEnd {
        PageEnd::Last {
            warnings_count: self.ctx.warnings.count(),
        }
    }

    /// Rows fetched from the engine by the sides that are done.
    pub(super) fn rows_read(&self) -> u64 {
        let current = match &self.source {
            Source::Left(stream) | Source::Right(stream) => stream.rows_read(),
            Source::Done => 0,
        };
        self.rows_read + current
    }
}

impl RowStream for SetStream {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        Box::pin(self.page(sink))
    }
}
