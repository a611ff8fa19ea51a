//! The rows of a SELECT that has to take in all of them before it hands one out: grouped, sorted or
//! one after the other. Where they come from and go to is in `stream`.

use super::Program;
use super::stream::{SelectStream, encode_outputs, with_outputs};
use crate::error::{Error, Result};
use crate::exec::group::Groups;
use crate::exec::read::Reader;
use crate::exec::row::{StoredRow, ValuesRow};
use crate::exec::sort::{Sorted, Sorter};
use crate::exec::tuple;
use crate::sql::bound::{Select, Stage};
use crate::sql::eval::eval_condition;
use crate::sql::expr::Row;

/// Takes in all rows: into groups, into the sort, or into one after the other.
pub(super) struct Collector {
    pub(super) groups: Option<Groups>,
    pub(super) sorter: Sorter,
}

impl Collector {
    /// Takes in the rows of a batch from `rows_done` on, or as many as a turn has time for. Returns
    /// how many of the batch are done.
    pub(super) fn add_batch(
        &mut self,
        program: &Program,
        reader: &Reader,
        (stream, rows_done): (&mut SelectStream, usize),
    ) -> Result<usize> {
        let (Some(table), Some(layout)) = (program.select.table(), &program.layout) else {
            return Err(Error::internal("a reader without table"));
        };
        let layout = reader.layout().unwrap_or(layout);
        let batch = reader.batch();
        for row_idx in rows_done..batch.len() {
            let Some((key, value)) = batch.get(row_idx) else {
                break;
            };
            stream.cancel.check_row(row_idx)?;
            let row = StoredRow::parse(table, layout, key, value)?;
            self.add(&program.select, &row, stream)?;
            if stream.pace.is_over() {
                return Ok(row_idx + 1);
            }
        }
        Ok(batch.len())
    }

    pub(super) fn add(
        &mut self,
        select: &Select,
        row: &dyn Row,
        stream: &mut SelectStream,
    ) -> Result<()> {
        if let Some(residual) = &stream.residual
            && eval_condition(residual, row, &stream.ctx)? != Some(true)
        {
            return Ok(());
        }
        self.add_filtered(select, row, stream)
    }

    /// As [`Collector::add`], of a row that has passed the filter.
    pub(super) fn add_filtered(
        &mut self,
        select: &Select,
        row: &dyn Row,
        stream: &mut SelectStream,
    ) -> Result<()> {
        match (&mut self.groups, &select.aggregation) {
            (Some(groups), Some(aggregation)) => groups.add(aggregation, row, &stream.ctx),
            (None, _) | (Some(_), None) => self.add_output(select, row, stream),
        }
    }

    /// Puts one row, grouped or not, into the sort.
    fn add_output(
        &mut self,
        select: &Select,
        row: &dyn Row,
        stream: &mut SelectStream,
    ) -> Result<()> {
        if let Some(having) = &select.having
            && eval_condition(having, row, &stream.ctx)? != Some(true)
        {
            return Ok(());
        }
        let mut outputs = Vec::new();
        with_outputs(&select.outputs, row, &stream.ctx, |values| {
            encode_outputs(&mut outputs, &select.outputs, values)
        })?;
        if let Some(seen) = &mut stream.seen
            && !seen.is_new(&outputs)?
        {
            return Ok(());
        }
        stream.bytes.clear();
        tuple::push_order(&mut stream.bytes, &select.order_by, row, &stream.ctx)?;
        self.sorter.push(&stream.bytes, &outputs)
    }

    pub(super) async fn finish(
        mut self,
        select: &Select,
        stream: &mut SelectStream,
    ) -> Result<Sorted> {
        if let Some(groups) = self.groups.take() {
            for (group_idx, group) in groups.into_groups().enumerate() {
                stream.cancel.check_row(group_idx)?;
                stream.pace.keep().await;
                let row = group.finish(&stream.ctx)?;
                stream.ask(Stage::Group, &ValuesRow(&row)).await?;
                self.add_output(select, &ValuesRow(&row), stream)?;
            }
        }
        self.sorter.finish()
    }
}
