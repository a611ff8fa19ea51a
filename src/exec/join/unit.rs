//! The rows of one unit of a join: of a table, of a query, or of a join within the join.

use std::ops::Range;
use std::sync::Arc;

use super::listed::ListedRows;
use super::rows::{Frame, JoinRows};
use super::shape::{Batch, JoinedRow, Kind, Piece, Shape, piece_bytes};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::merge::Means;
use crate::exec::nest::RoundRows;
use crate::exec::query::{self, QueryStream};
use crate::exec::read::Reader;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::rows::{PageEnd, RowSink, RowStream, SINK_BYTES_MAX};
use crate::exec::view::Batch as Read;
use crate::plan::TablePlan;
use crate::plan::join::{self, UnitRows};
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_condition;
use crate::sql::expr::Expr;
use crate::types::Value;

/// Rows of a round of a recursive query that are taken together.
const ROUND_BATCH_ROWS: usize = 1024;

/// Rows between two questions whether to go on: a condition on one may take a tenth of a millisecond.
const ROWS_BETWEEN_LOOKS: usize = 64;

/// A unit that is being read.
pub(super) struct UnitReader {
    source: Source,
    /// What its rows must meet, over the row of the join; where the source does not see to it.
    filter: Option<Expr>,
    /// Rows fetched from the engine by what is done.
    pub(super) rows_read: u64,
}

enum Source {
    Table(Box<TableRows>),
    Query(usize, QueryStream),
    Round(usize, Round),
    Listed(usize, ListedRows),
    Join(Box<JoinRows>),
    Done,
}

/// The rows of a table along a path.
pub(super) struct TableRows {
    source_idx: usize,
    reader: Reader,
    residual: Option<Expr>,
}

impl UnitReader {
    /// Begins to read a unit; `filter` is over the row of the join and reads nothing but it.
    pub(super) async fn open(
        rows: &UnitRows,
        filter: Option<&Expr>,
        frame: &Frame<'_>,
    ) -> Result<UnitReader> {
        let shape = frame.shape;
        let mut filter = filter.cloned();
        let source = match rows {
            UnitRows::Join(pool) => {
                let inside = JoinRows::of_pool(pool, frame).await?;
                Source::Join(Box::new(inside))
            }
            UnitRows::Source(idx) => match shape.kinds.get(*idx) {
                Some(Kind::Table(..)) => {
                    let setting = frame.setting();
                    let condition = (filter.as_ref(), frame.ctx);
                    let plan = join::table_plan(&setting, *idx, condition, false)?;
                    filter = None;
                    Source::Table(Box::new(TableRows::open(*idx, plan, frame)?))
                }
                Some(Kind::Query(program)) => {
                    let env = frame.nest.env(frame.ctx.nested(), None);
                    let stream = query::open(program, env)?.stream().await?;
                    Source::Query(*idx, stream)
                }
                Some(Kind::Listed(listed)) => {
                    let rows = ListedRows::open(listed, (*idx, filter.as_ref()), frame)?;
                    Source::Listed(*idx, rows)
                }
                Some(Kind::Round(number)) => Source::Round(*idx, Round::of(*number, frame)?),
                None => return Err(Error::internal("a unit that is no source")),
            },
        };
        Ok(UnitReader {
            source,
            filter,
            rows_read: 0,
        })
    }

    /// Begins to run the query that a source is, with slots that were filled.
    pub(super) async fn of_query(
        source_idx: usize,
        ctx: EvalContext,
        frame: &Frame<'_>,
    ) -> Result<UnitReader> {
        let Some(Kind::Query(program)) = frame.shape.kinds.get(source_idx) else {
            return Err(Error::internal("a lateral source that is no query"));
        };
        let stream = query::open(program, frame.nest.env(ctx, None))?;
        Ok(UnitReader {
            source: Source::Query(source_idx, stream.stream().await?),
            filter: None,
            rows_read: 0,
        })
    }

    /// The next rows; `None` when there are no more. There may be none and more later.
    pub(super) async fn next(&mut self, frame: &Frame<'_>) -> Result<Option<Batch>> {
        frame.nest.cancel.check()?;
        let batch = match &mut self.source {
            Source::Table(table) => {
                let batch = table.next(frame).await?;
                self.rows_read = table.reader.rows_read();
                batch
            }
            Source::Query(idx, stream) => {
                let mut taker = Taker {
                    shape: frame.shape,
                    source_idx: *idx,
                    batch: Vec::new(),
                    bytes: 0,
                };
                let end = stream.next_page(&mut taker).await?;
                self.rows_read = stream.rows_read();
                let batch = taker.batch;
                if end != PageEnd::More {
                    self.source = Source::Done;
                }
                Some(batch)
            }
            Source::Round(idx, round) => round.next(*idx, frame.shape)?,
            Source::Listed(idx, rows) => {
                let batch = rows.next((*idx, frame.shape));
                if batch.is_none() {
                    self.source = Source::Done;
                }
                batch
            }
            Source::Join(inside) => {
                let batch = inside.next().await?;
                self.rows_read = inside.rows_read();
                batch
            }
            Source::Done => None,
        };
        let Some(mut batch) = batch else {
            return Ok(None);
        };
        if let Some(filter) = &self.filter {
            keep(&mut batch, filter, (frame.shape, frame.ctx))?;
        }
        Ok(Some(batch))
    }
}

/// Keeps the rows that meet a condition.
pub(super) fn keep(
    batch: &mut Batch,
    filter: &Expr,
    (shape, ctx): (&Shape, &EvalContext),
) -> Result<()> {
    let (mut failed, mut row_idx) = (None, 0_usize);
    batch.retain(|row| {
        if failed.is_some() {
            return false;
        }
        row_idx += 1;
        let may_go_on = if row_idx.is_multiple_of(ROWS_BETWEEN_LOOKS) {
            ctx.facts.check_stop()
        } else {
            Ok(())
        };
        let row = JoinedRow::new(shape, row);
        let truth = may_go_on.and_then(|()| eval_condition(filter, &row, ctx));
        truth.unwrap_or_else(|error| {
            failed = Some(error);
            None
        }) == Some(true)
    });
    failed.map_or(Ok(()), Err)
}

/// The rows of the last round of a recursive query, batch by batch.
struct Round {
    rows: RoundRows,
    given: usize,
}

impl Round {
    fn of(number: usize, frame: &Frame<'_>) -> Result<Round> {
        let Some(rows) = frame.nest.round(number) else {
            return Err(Error::internal("a recursive query without a round"));
        };
        Ok(Round { rows, given: 0 })
    }

    fn next(&mut self, source_idx: usize, shape: &Shape) -> Result<Option<Batch>> {
        let rest = self.rows.get(self.given..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let (mut batch, mut bytes) = (Batch::new(), 0);
        for values in rest.iter().take(ROUND_BATCH_ROWS) {
            let piece = shape.piece_of_values(source_idx, values)?;
            bytes += piece_bytes(&piece);
            batch.push(shape.row_with(source_idx, piece));
            if SINK_BYTES_MAX <= bytes {
                break;
            }
        }
        self.given += batch.len();
        Ok(Some(batch))
    }
}

impl TableRows {
    /// The rows along the path of a plan, which is over the table's own columns.
    pub(super) fn open(
        source_idx: usize,
        mut plan: TablePlan,
        frame: &Frame<'_>,
    ) -> Result<TableRows> {
        let (table, _) = table_of(frame.shape, source_idx)?;
        let nest = frame.nest;
        nest.uses.note(table, &plan, frame.ctx.now);
        let means = Means {
            memory: nest.memory.clone(),
            cancel: &nest.cancel,
        };
        let reader = Reader::new(nest.view.clone(), table, &mut plan, &means)?;
        Ok(TableRows {
            source_idx,
            reader,
            residual: plan.residual,
        })
    }

    /// Rows fetched from the engine so far.
    pub(super) fn rows_read(&self) -> u64 {
        self.reader.rows_read()
    }

    /// The next rows; `None` when there are no more.
    pub(super) async fn next(&mut self, frame: &Frame<'_>) -> Result<Option<Batch>> {
        if !self.reader.advance().await? {
            return Ok(None);
        }
        let read = self.reader.batch();
        let reading = (
            self.source_idx,
            self.reader.layout(),
            self.residual.as_ref(),
        );
        rows_of(read, reading, frame).map(Some)
    }
}

/// How the rows of a source are read: the layout is that of an index's entries, if they are such, and those
/// that do not meet the condition are left out.
pub(super) type Reading<'a> = (usize, Option<&'a Layout>, Option<&'a Expr>);

/// Stored rows that were read of a source, as rows of the join.
fn rows_of(read: &Read, reading: Reading<'_>, frame: &Frame<'_>) -> Result<Batch> {
    let mut pieces = Vec::with_capacity(read.len());
    add_pieces((read, 0..read.len()), reading, (frame, &mut pieces))?;
    let pieces = pieces.into_iter();
    let rows = pieces.map(|piece| frame.shape.row_with(reading.0, piece));
    Ok(rows.collect())
}

/// Adds the pieces that some of the stored rows make which were read of a source.
pub(super) fn add_pieces(
    (read, range): (&Read, Range<usize>),
    (source_idx, layout, residual): Reading<'_>,
    (frame, pieces): (&Frame<'_>, &mut Vec<Piece>),
) -> Result<()> {
    let (table, layout_of_rows) = table_of(frame.shape, source_idx)?;
    let layout = layout.unwrap_or(layout_of_rows);
    for row_idx in range {
        frame.nest.cancel.check_row(row_idx)?;
        let Some((key, value)) = read.get(row_idx) else {
            break;
        };
        let stored = StoredRow::parse(table, layout, key, value)?;
        if let Some(residual) = residual
            && eval_condition(residual, &stored, frame.ctx)? != Some(true)
        {
            continue;
        }
        pieces.push(frame.shape.piece_of_stored(source_idx, &stored)?);
    }
    Ok(())
}

/// The table of a source and where its columns are stored.
pub(super) fn table_of(shape: &Shape, source_idx: usize) -> Result<(&Arc<Table>, &Layout)> {
    match shape.kinds.get(source_idx) {
        Some(Kind::Table(table, layout)) => Ok((table, layout)),
        Some(Kind::Query(_) | Kind::Round(_) | Kind::Listed(_)) | None => {
            Err(Error::internal("a source that is no table"))
        }
    }
}

/// Takes the rows of a query as rows of the join.
struct Taker<'a> {
    shape: &'a Shape,
    source_idx: usize,
    batch: Batch,
    bytes: usize,
}

impl RowSink for Taker<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        let piece = self.shape.piece_of_values(self.source_idx, values)?;
        let row = self.shape.row_with(self.source_idx, piece);
        self.batch.push(row);
        self.bytes += values.iter().map(Value::memory_bytes).sum::<usize>();
        Ok(())
    }

    fn is_full(&self) -> bool {
        SINK_BYTES_MAX <= self.bytes
    }
}
