//! The short way of a SELECT of one row by its whole key: the plan is the key, and the stream the row.
//!
//! Hot: runs for each execution of a prepared point SELECT, whose server time is to be little more than
//! that of a constant answer. No reader, no phases, no memory account: one row needs none of them.
//! Whatever is not of this shape takes the long way through `super::open`, with the same answer.

use std::sync::Arc;

use bytes::Bytes;

use super::Program;
use super::output::with_outputs;
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::cancel::CancelToken;
use crate::exec::named;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::rows::{BoxFuture, PageEnd, RowSink, RowStream};
use crate::exec::view::View;
use crate::kv::{Engine, Key, Space};
use crate::plan;
use crate::sql::bound::Select;
use crate::sql::context::EvalContext;

/// The row that a key finds, if any.
pub struct PointRow {
    program: Arc<Program>,
    ctx: EvalContext,
    key: Key,
    value: Option<Bytes>,
}

/// What a row is read from.
pub enum Source<'a> {
    /// What an open transaction sees.
    View(View),
    /// What is committed now: one read needs no snapshot.
    Newest(&'a dyn Engine),
}

/// Whether a statement may be of the shape: one row of a table, filtered by nothing but its key.
pub(super) fn may_be(select: &Select) -> bool {
    let (Some(table), Some(filter)) = (select.table(), &select.filter) else {
        return false;
    };
    let is_plain = select.aggregation.is_none()
        && select.having.is_none()
        && select.windowing.is_none()
        && !select.distinct
        && select.order_by.is_empty()
        && select.limit.is_none()
        && select.offset.is_none();
    // Of several versions a key finds several rows.
    let is_newest = table.wide.reading.is_none();
    is_plain
        && is_newest
        && plan::may_be_point(filter, table)
        && select.subqueries.is_empty()
        && !select.hints.may_leave_primary()
}

impl Program {
    /// Whether it may be of the shape, with some values or others.
    pub fn may_be_point(&self) -> bool {
        self.may_be_point
    }

    /// The key that it asks for; `None` when it is not of the shape, or not with these values.
    ///
    /// # Errors
    /// A value that does not fit its key part: an internal error.
    pub fn point_key(&self, ctx: &EvalContext) -> Result<Option<Key>> {
        let asked = (self.may_be_point, self.select.table(), &self.select.filter);
        let (true, Some(table), Some(filter)) = asked else {
            return Ok(None);
        };
        plan::point_key(filter, table, ctx)
    }

    /// The table, and where its columns are in what is stored.
    fn stored(&self) -> Result<(&Table, &Layout)> {
        let table = self.select.table().map(AsRef::as_ref);
        let stored = table.zip(self.layout.as_ref());
        stored.ok_or_else(|| Error::internal("a point read without a table"))
    }
}

impl PointRow {
    /// Reads the row.
    ///
    /// # Errors
    /// Those of the engine, and what ends the statement.
    pub async fn read(
        program: &Arc<Program>,
        (ctx, cancel): (EvalContext, &CancelToken),
        (source, key): (Source<'_>, Key),
    ) -> Result<PointRow> {
        cancel.check()?;
        let (table, _) = program.stored()?;
        let space = Space(table.id.0);
        let value = match source {
            Source::View(view) => view.get(space, &key).await?,
            Source::Newest(engine) => engine.get_newest(space, &key).await?,
        };
        cancel.count_rows(usize::from(value.is_some()));
        Ok(PointRow {
            program: Arc::clone(program),
            ctx,
            key,
            value,
        })
    }

    fn push(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        if let Some(value) = self.value.take() {
            let (table, layout) = self.program.stored()?;
            let row = StoredRow::parse(table, layout, &self.key, &value)?;
            let outputs = &self.program.select.outputs;
            with_outputs(outputs, &row, &self.ctx, |values| sink.row(values))?;
        }
        Ok(PageEnd::Last {
            warnings_count: self.ctx.warnings.count(),
        })
    }
}

impl RowStream for PointRow {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        let page = self.push(sink);
        let page = page.map_err(|error| named::of_select(error, &self.program.select));
        Box::pin(std::future::ready(page))
    }
}
