//! Subqueries: runs them and puts their answers into slots.
//!
//! One that reads nothing of the row around it is run once, before that query is planned; any other
//! for each row, or for each set of values that it reads of rows: answers are remembered.

use std::collections::HashMap;
use std::sync::Arc;

use super::budget::Budget;
use super::exact;
use super::meter::{Part, Watch};
use super::nest::Nest;
use super::query;
use super::rows::{BoxFuture, PageEnd, RowCopy, RowSink, RowStream};
use super::select;
use crate::error::{Code, Error, Result};
use crate::plan::explain::whole::Took;
use crate::sql::bound::{Answer, Stage, Subquery};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::eval_exact;
use crate::sql::expr::Row;
use crate::sql::members::Members;
use crate::types::{ColumnType, Value};

/// Answers that are remembered; past it all are forgotten.
const ANSWERS_MAX: usize = 4096;

/// Answers of more bytes are not remembered.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What keeping an answer costs beyond its bytes.
const ANSWER_OVERHEAD_BYTES: usize = 96;

/// An answer, and what it takes of the statement's memory as long as it is held.
pub struct Answered {
    /// What goes into the slot.
    pub value: SlotValue,
    /// To be kept as long as the slot.
    pub held: Budget,
}

/// A subquery that has no answer.
#[derive(Debug)]
pub struct Unanswered {
    /// Its position among those of the statement.
    pub position: usize,
    /// Why.
    pub error: Error,
}

impl From<Unanswered> for Error {
    fn from(unanswered: Unanswered) -> Error {
        unanswered.error
    }
}

/// Fills the slots of the subqueries that read nothing of the row around them. Returns what the
/// answers take of the statement's memory, to be kept as long as they are used.
///
/// # Errors
/// Those of the subqueries.
pub async fn answer_once<'a>(
    subqueries: impl Iterator<Item = (&'a Subquery, &'a Arc<query::Program>)>,
    nest: &Nest,
    ctx: &mut EvalContext,
) -> std::result::Result<Vec<Budget>, Unanswered> {
    let mut held = Vec::new();
    for (position, (subquery, inner)) in subqueries.enumerate() {
        if subquery.captures.is_empty() {
            let answered = answer((subquery, inner), nest, ctx.nested()).await;
            let answered = answered.map_err(|error| Unanswered { position, error })?;
            ctx.fill(subquery.slot, answered.value);
            held.push(answered.held);
        }
    }
    Ok(held)
}

/// Which subqueries are to be answered.
#[derive(Clone, Copy)]
pub enum Needed<'a> {
    /// Those of a stage.
    Stage(Stage),
    /// Those whose answers go into these slots.
    Slots(&'a [usize]),
}

impl Needed<'_> {
    fn has(self, subquery: &Subquery) -> bool {
        match self {
            Needed::Stage(stage) => subquery.stage == stage,
            Needed::Slots(slots) => slots.contains(&subquery.slot),
        }
    }
}

/// Answers the subqueries of a query row by row.
pub struct Asker {
    program: Arc<select::Program>,
    nest: Nest,
    known: HashMap<Question, SlotValue>,
    /// What the known answers take of the statement's memory.
    known_bytes: Budget,
    /// What the answers take that are in the slots now, by the position of the subquery.
    held: HashMap<usize, Budget>,
}

/// The position of a subquery, and the values it reads as [`exact`] writes them: what is merely equal, as
/// the documents `1` and `1.0` are, need not have the same answer.
type Question = (usize, Vec<u8>);

impl Asker {
    /// For the subqueries of a program; `None` when none reads rows.
    pub fn new(program: &Arc<select::Program>, nest: &Nest) -> Option<Asker> {
        let mut subqueries = program.subqueries();
        subqueries
            .any(|(subquery, _)| !subquery.captures.is_empty())
            .then(|| Asker {
                program: Arc::clone(program),
                nest: nest.clone(),
                known: HashMap::new(),
                known_bytes: nest.memory.budget("answers of subqueries"),
                held: HashMap::new(),
            })
    }

    /// Fills the slots that are needed for a row.
    ///
    /// # Errors
    /// Those of the subqueries, but 1242: it is met when the value is asked for.
    pub async fn answer(
        &mut self,
        needed: Needed<'_>,
        row: &(dyn Row + Sync),
        ctx: &mut EvalContext,
    ) -> Result<()> {
        let program = Arc::clone(&self.program);
        for (position, (subquery, inner)) in program.subqueries().enumerate() {
            if !needed.has(subquery) || subquery.captures.is_empty() {
                continue;
            }
            let mut read = Vec::with_capacity(subquery.captures.len());
            let mut key = Vec::new();
            for capture in &subquery.captures {
                let value = eval_exact(&capture.expr, row, ctx)?.into_owned();
                exact::push(&mut key, &value);
                read.push(value);
            }
            for (capture, value) in subquery.captures.iter().zip(read) {
                ctx.fill(capture.slot, SlotValue::Value(Arc::new(value)));
            }
            let question = (position, key);
            if let Some(value) = self.known.get(&question) {
                ctx.fill(subquery.slot, value.clone());
                continue;
            }
            // What is replaced is freed before the next answer needs room.
            ctx.fill(subquery.slot, SlotValue::Unset);
            self.held.remove(&position);
            let answered = answer((subquery, inner), &self.nest, ctx.nested()).await?;
            self.remember(question, &answered.value);
            ctx.fill(subquery.slot, answered.value);
            self.held.insert(position, answered.held);
        }
        Ok(())
    }

    /// Remembers an answer if there is room for it, by forgetting all others if need be.
    fn remember(&mut self, question: Question, value: &SlotValue) {
        let bytes = match value {
            SlotValue::Unset | SlotValue::Failed(_) => 0,
            SlotValue::Value(value) => value.memory_bytes(),
            SlotValue::StandIn(value, _) => value.memory_bytes(),
            SlotValue::Set(members) => members.bytes(),
        };
        if self.nest.memory.is_half_full() {
            // What is remembered is not to take what operators cannot do without.
            self.known.clear();
            self.known_bytes.reset();
            return;
        }
        if ANSWER_BYTES_MAX < bytes {
            return;
        }
        let bytes = bytes + question.1.capacity() + ANSWER_OVERHEAD_BYTES;
        if ANSWERS_MAX <= self.known.len() || !self.known_bytes.fits(bytes) {
            self.known.clear();
            self.known_bytes.reset();
        }
        if self.known_bytes.try_take(bytes) {
            self.known.insert(question, value.clone());
        }
    }
}

/// Runs a subquery.
///
/// # Errors
/// Those of the subquery, but 1242: it is met when the value is asked for.
pub fn answer<'a>(
    (subquery, program): (&'a Subquery, &'a Arc<query::Program>),
    nest: &'a Nest,
    ctx: EvalContext,
) -> BoxFuture<'a, Result<Answered>> {
    Box::pin(async move {
        let watch = Watch::start(nest.meter.as_ref());
        let rows_max = rows_max(subquery.answer);
        let mut stream = query::open(program, nest.env(ctx, rows_max))?
            .stream()
            .await?;
        let columns = program.columns();
        let types = columns.iter().map(|column| column.ty.clone());
        let budget = nest.memory.budget("subquery");
        let mut taker = Taker::new(subquery.answer, types.collect(), budget);
        while stream.next_page(&mut taker).await? == PageEnd::More && !taker.is_done() {}
        watch.stop((program.as_ref(), Part::Query), || Took {
            runs: 1,
            rows_out: taker.rows_count,
            rows_read: stream.rows_read(),
            ..Took::default()
        });
        Ok(taker.finish())
    })
}

/// Rows of a subquery that suffice.
pub fn rows_max(answer: Answer) -> Option<u64> {
    match answer {
        Answer::Value => Some(2),
        Answer::Exists => Some(1),
        Answer::Set => None,
    }
}

/// Takes the rows of a subquery.
struct Taker {
    answer: Answer,
    rows_count: u64,
    value: Value<'static>,
    members: Members,
    budget: Budget,
}

impl Taker {
    fn new(answer: Answer, types: Vec<ColumnType>, budget: Budget) -> Taker {
        Taker {
            answer,
            rows_count: 0,
            value: Value::Null,
            members: Members::new(types),
            budget,
        }
    }

    fn is_done(&self) -> bool {
        match self.answer {
            Answer::Value => 1 < self.rows_count,
            Answer::Exists => 0 < self.rows_count,
            Answer::Set => false,
        }
    }

    fn finish(self) -> Answered {
        let value = match self.answer {
            Answer::Value if 1 < self.rows_count => SlotValue::Failed(Error::new(
                Code::SubqueryRows,
                "Subquery returns more than 1 row",
            )),
            Answer::Value => SlotValue::Value(Arc::new(self.value)),
            Answer::Exists => {
                SlotValue::Value(Arc::new(Value::Int(i64::from(0 < self.rows_count))))
            }
            Answer::Set => SlotValue::Set(Arc::new(self.members)),
        };
        Answered {
            value,
            held: self.budget,
        }
    }
}

impl RowSink for Taker {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.rows_count += 1;
        match self.answer {
            Answer::Exists => {}
            Answer::Value => {
                if let (1, Some(value)) = (self.rows_count, values.first()) {
                    self.value = value.clone().into_owned();
                }
            }
            Answer::Set => {
                let before = self.members.bytes();
                self.members.push(RowCopy::row(values)?);
                self.budget.take(self.members.bytes() - before)?;
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_done()
    }
}
