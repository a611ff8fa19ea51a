//! The rows of `JSON_TABLE`: made when it is opened, and held until they are handed on.

use std::sync::Arc;

use super::JsonProgram;
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::exec::rows::{BoxFuture, PageEnd, RowSink, RowStream};
use crate::exec::select::Env;
use crate::sql::bound::JsonRows;
use crate::sql::context::EvalContext;
use crate::sql::eval::eval;
use crate::sql::expr::NoRow;
use crate::types::Value;

/// Rows handed on at once.
const PAGE_ROWS: usize = 1024;

/// What a row costs beyond its values.
const ROW_OVERHEAD_BYTES: usize = 24;

/// The rows of a document.
pub struct JsonStream {
    rows: std::vec::IntoIter<Vec<Value<'static>>>,
    ctx: EvalContext,
    /// What the rows take of the statement's memory.
    _held: Budget,
}

impl JsonStream {
    /// Makes the rows.
    ///
    /// # Errors
    /// Those of the document and its columns; 1038 when the rows do not fit, 1041 when it is the process that has
    /// too much.
    pub(super) fn open(program: &Arc<JsonProgram>, env: Env) -> Result<JsonStream> {
        let mut held = env.memory.budget("JSON_TABLE");
        let rows = rows_of(&program.query, &env.ctx, &mut held)?;
        Ok(JsonStream {
            rows: rows.into_iter(),
            ctx: env.ctx,
            _held: held,
        })
    }

    fn page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        for row in self.rows.by_ref().take(PAGE_ROWS) {
            sink.row(&row)?;
            if sink.is_full() {
                break;
            }
        }
        Ok(if self.rows.len() == 0 {
            PageEnd::Last {
                warnings_count: self.ctx.warnings.count(),
            }
        } else {
            PageEnd::More
        })
    }
}

/// The rows, each asked for before it is copied.
fn rows_of(
    query: &JsonRows,
    ctx: &EvalContext,
    held: &mut Budget,
) -> Result<Vec<Vec<Value<'static>>>> {
    let document = eval(&query.document, &NoRow, ctx)?;
    ctx.at_length(query.table.steps(&document), || {
        let mut rows = Vec::new();
        query
            .table
            .rows(&document, ctx, &mut |row: &[Value<'static>]| {
                let bytes: usize = row.iter().map(Value::memory_bytes).sum();
                held.take(bytes + ROW_OVERHEAD_BYTES)?;
                rows.push(row.to_vec());
                Ok(())
            })?;
        Ok(rows)
    })
}

impl RowStream for JsonStream {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        Box::pin(async move { self.page(sink) })
    }
}
