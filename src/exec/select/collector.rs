//! The rows of a SELECT that has to take in all of them before it hands one out: grouped, sorted or
//! one after the other. Where they come from and go to is in `stream`.

use super::output::{typed, with_outputs};
use super::stream::SelectStream;
use super::{Env, Program};
use crate::error::{Error, Result};
use crate::exec::budget::Memory;
use crate::exec::distinct::{LateRows, Met, Seen};
use crate::exec::group::{Groups, InOrder, Step};
use crate::exec::named;
use crate::exec::read::Reader;
use crate::exec::row::{StoredRow, ValuesRow};
use crate::exec::sort::{Sorted, Sorter};
use crate::exec::tuple;
use crate::exec::window::{self, Windowed};
use crate::sql::bound::{Select, Stage, Windowing};
use crate::sql::eval::eval_condition;
use crate::sql::expr::Row;

/// How rows are grouped.
pub(super) enum Grouping {
    /// Not at all.
    None,
    /// They come group by group, or there is one group.
    InOrder(Box<InOrder>),
    /// They come in any order.
    Hash(Box<Groups>),
}

impl Grouping {
    /// The grouping that a statement wants and its plan allows.
    pub(super) fn new(select: &Select, in_order: bool, env: &Env) -> Grouping {
        let Some(aggregation) = &select.aggregation else {
            return Grouping::None;
        };
        let is_in_order = in_order && !aggregation.rollup && !asks_of_groups(select);
        if is_in_order || aggregation.keys.is_empty() {
            let groups = InOrder::new(aggregation, &env.memory, &env.ctx);
            return Grouping::InOrder(Box::new(groups));
        }
        Grouping::Hash(Box::new(Groups::new(aggregation, &env.memory)))
    }
}

/// Whether subqueries are to be answered for each group: then a group waits for its turn.
pub fn asks_of_groups(select: &Select) -> bool {
    let mut subqueries = select.subqueries.iter();
    subqueries.any(|one| one.stage == Stage::Group && !one.captures.is_empty())
}

/// Takes in all rows: into groups, into the sort, or into one after the other.
pub(super) struct Collector {
    grouping: Grouping,
    /// What rows go to first, when there are window functions.
    windowed: Option<Box<Windowed>>,
    sorter: Sorter,
    memory: Memory,
    /// The outputs of a row; used again for the next.
    outputs: Vec<u8>,
}

impl Collector {
    pub(super) fn new(
        grouping: Grouping,
        windowed: Option<Box<Windowed>>,
        (sorter, memory): (Sorter, &Memory),
    ) -> Collector {
        Collector {
            grouping,
            windowed,
            sorter,
            memory: memory.clone(),
            outputs: Vec::new(),
        }
    }

    /// The groups, when they can be handed out as they come.
    pub(super) fn into_unsorted_groups(
        self,
        select: &Select,
    ) -> std::result::Result<Groups, Box<Collector>> {
        match self.grouping {
            Grouping::Hash(groups)
                if select.order_by.is_empty()
                    && self.windowed.is_none()
                    && !asks_of_groups(select) =>
            {
                Ok(*groups)
            }
            grouping @ (Grouping::None | Grouping::InOrder(_) | Grouping::Hash(_)) => {
                Err(Box::new(Collector { grouping, ..self }))
            }
        }
    }

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
        let ended = match (&mut self.grouping, &select.aggregation) {
            (Grouping::Hash(groups), Some(aggregation)) => {
                stream.note(|tally| tally.groups.rows_in += 1);
                return groups.add(aggregation, row, &stream.ctx);
            }
            (Grouping::InOrder(groups), Some(aggregation)) => {
                stream.note(|tally| tally.groups.rows_in += 1);
                groups.add(aggregation, row, &stream.ctx)?
            }
            (Grouping::None, _) | (_, None) => return self.add_output(select, row, stream),
        };
        match ended {
            Some(ended) => {
                stream.note(|tally| tally.groups.rows_out += 1);
                self.add_output(select, &ValuesRow(&ended), stream)
            }
            None => Ok(()),
        }
    }

    /// Takes in one row, grouped or not: for the window functions, or into the sort.
    fn add_output(
        &mut self,
        select: &Select,
        row: &dyn Row,
        stream: &mut SelectStream,
    ) -> Result<()> {
        let added = self.add_grouped(select, row, stream);
        added.map_err(|error| named::of_output(error, select))
    }

    fn add_grouped(
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
        match (&mut self.windowed, &select.windowing) {
            (Some(windowed), Some(windowing)) => windowed.add(windowing, row, &stream.ctx),
            (None, _) | (_, None) => self.add_last(select, row, stream),
        }
    }

    /// Puts a row into the sort.
    fn add_last(
        &mut self,
        select: &Select,
        row: &dyn Row,
        stream: &mut SelectStream,
    ) -> Result<()> {
        let mut met = Met::New;
        if let Some(seen) = &mut stream.seen {
            with_outputs(&select.outputs, row, &stream.ctx, |values| {
                met = seen.meet(typed(&select.outputs, values))?;
                Ok(())
            })?;
        } else {
            self.outputs.clear();
            tuple::push_shown(&mut self.outputs, &select.outputs, row, &stream.ctx)?;
        }
        if met == Met::Before {
            return Ok(());
        }
        stream.note(|tally| tally.sort.rows_in += 1);
        stream.bytes.clear();
        tuple::push_order(&mut stream.bytes, &select.order_by, row, &stream.ctx)?;
        match &mut stream.seen {
            Some(seen) if met == Met::Unknown => seen.put_off(&stream.bytes),
            Some(seen) => self.sorter.push(&stream.bytes, seen.row().shown()),
            None => self.sorter.push(&stream.bytes, &self.outputs),
        }
    }

    pub(super) async fn finish(
        mut self,
        select: &Select,
        stream: &mut SelectStream,
    ) -> Result<Sorted> {
        let grouping = std::mem::replace(&mut self.grouping, Grouping::None);
        match (grouping, &select.aggregation) {
            (Grouping::Hash(groups), Some(_)) => {
                self.finish_groups(*groups, select, stream).await?;
            }
            (Grouping::InOrder(mut groups), Some(aggregation)) => {
                if let Some(row) = groups.end(aggregation, &stream.ctx)? {
                    stream.note(|tally| tally.groups.rows_out += 1);
                    stream.ask(Stage::Group, &ValuesRow(&row)).await?;
                    self.add_output(select, &ValuesRow(&row), stream)?;
                }
            }
            (Grouping::None, _) | (_, None) => {}
        }
        if let (Some(windowed), Some(windowing)) = (self.windowed.take(), &select.windowing) {
            self.finish_windows((*windowed, windowing), select, stream)
                .await?;
        }
        let late = stream.seen.take().map(Seen::into_late).transpose()?;
        if let Some(late) = late.flatten() {
            let mut late = (late, self.sorter);
            while late_step(&mut late, &self.memory)? {
                stream.cancel.check()?;
                stream.pace.keep().await;
            }
            self.sorter = late.1;
        }
        self.sorter.finish()
    }

    /// Computes the window functions, window by window.
    async fn finish_windows(
        &mut self,
        (mut windowed, windowing): (Windowed, &Windowing),
        select: &Select,
        stream: &mut SelectStream,
    ) -> Result<()> {
        let mut windows = windowing.windows.iter().peekable();
        while let Some(window) = windows.next() {
            let next = windows.peek().copied();
            let mut pass = windowed.finish(window, &self.memory)?;
            windowed = Windowed::new(&self.memory, &stream.cancel);
            loop {
                // A step may go over a whole frame, for each of thousands of functions.
                stream.cancel.check()?;
                stream.pace.keep().await;
                match (pass.step(window, &stream.ctx)?, next) {
                    (window::Step::Row(row), Some(next)) => {
                        windowed.push(next, &row, &stream.ctx)?;
                    }
                    (window::Step::Row(row), None) => {
                        self.add_last(select, &ValuesRow(&row), stream)?;
                    }
                    (window::Step::Working, _) => {}
                    (window::Step::End, _) => break,
                }
            }
        }
        Ok(())
    }

    async fn finish_groups(
        &mut self,
        groups: Groups,
        select: &Select,
        stream: &mut SelectStream,
    ) -> Result<()> {
        let Some(aggregation) = &select.aggregation else {
            return Ok(());
        };
        let mut rows = groups.finish()?;
        for step_idx in 0.. {
            stream.cancel.check_row(step_idx)?;
            stream.pace.keep().await;
            match rows.step(aggregation, &stream.ctx)? {
                Step::Row(row) => {
                    stream.note(|tally| tally.groups.rows_out += 1);
                    stream.ask(Stage::Group, &ValuesRow(&row)).await?;
                    self.add_output(select, &ValuesRow(&row), stream)?;
                }
                Step::Part if self.memory.is_half_full() => self.sorter.spill()?,
                Step::Part | Step::Working => {}
                Step::End => break,
            }
        }
        Ok(())
    }
}

/// Looks through some of the rows that DISTINCT had put off; `false` when all are.
pub(super) fn late_step((late, sorter): &mut (LateRows, Sorter), memory: &Memory) -> Result<bool> {
    if late.begins_part() && memory.is_half_full() {
        sorter.spill()?;
    }
    late.step(sorter)
}
