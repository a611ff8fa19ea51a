//! A text as statements, one after the other: parsed, bound, planned, explained; and, for the
//! target `evaluate`, what they compute from rows that are made up. Nothing is stored, but for
//! tables: later statements of the text find them.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use meseta::catalog::{Table, describe, persist};
use meseta::error::Result;
use meseta::exec::budget;
use meseta::exec::cancel::CancelToken;
use meseta::exec::ddl;
use meseta::exec::group::{Groups, InOrder, Step as GroupStep};
use meseta::exec::row::{PairRow, ValuesRow};
use meseta::exec::select::{self, Env};
use meseta::exec::write;
use meseta::exec::write::change::Target;
use meseta::exec::write::row as stored;
use meseta::kv::memory::Memory;
use meseta::kv::{Engine, Space};
use meseta::plan::explain::{self, Explained, Format, Source, Step};
use meseta::plan::{self, Estimates, FullScans, Policy, TablePlan};
use meseta::protocol::RowEncoder;
use meseta::session::settings::mode_of;
use meseta::session::state::State;
use meseta::session::variables::Globals;
use meseta::sql::ast::{CreateTable, Statement, TableSource};
use meseta::sql::bind::{self, Names, Numbering};
use meseta::sql::bound::{Delete, From, Insert, InsertValue, Query, Select, Update};
use meseta::sql::context::{EvalContext, Mode, SessionFacts, Warnings};
use meseta::sql::eval::{eval, eval_condition, eval_exact};
use meseta::sql::expr::{NoRow, Row};
use meseta::sql::parse;
use meseta::types::temporal::Zone;
use meseta::types::{ColumnType, Timestamp, Value};

use crate::samples::{self, Sample};
use crate::tables::{DATABASE, Tables};

/// Statements of one text; the rest is left out.
const STATEMENTS_MAX: usize = 16;

/// Values of `?` a statement is given at most: the protocol's 65 535 would take most of the time.
const PARAMETERS_MAX: usize = 64;

/// What a sort, a grouping or a DISTINCT may use.
const MEMORY_BYTES_MAX: usize = 16 << 20;

/// What the statements of one text may take, beyond what cannot be stopped: `SLEEP` and `BENCHMARK` end
/// then, as they do by `max_execution_time`.
const TEXT_TIME_MAX: Duration = Duration::from_millis(50);

/// When every statement runs: 2023-11-14 22:13:20 UTC, in microseconds.
const NOW_MICROS: i64 = 1_700_000_000_000_000;

/// The words of `sql_mode` most clients have.
const USUAL_MODE: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                          ERROR_FOR_DIVISION_BY_ZERO";
/// The other words.
const OTHER_MODE: &str = "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,\
                          NO_UNSIGNED_SUBTRACTION,NO_AUTO_VALUE_ON_ZERO,LINDORM";

/// How far statements are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// To the plan and its texts.
    Plan,
    /// To values, of rows that are made up.
    Evaluate,
}

/// Where the statements of one text run.
pub struct Front {
    tables: Tables,
    state: Arc<State>,
    /// Empty while the values are not known, as when a statement is prepared.
    parameter_types: Vec<ColumnType>,
    /// What statements may look at.
    pub ctx: EvalContext,
}

/// Takes a text as far as `depth` says. One text in four is read under the other `sql_mode`, in
/// another zone.
pub fn run(text: &[u8], depth: Depth) {
    let mut front = Front::new(text);
    front.tables = Tables::fixed();
    let mut rest = text;
    for _ in 0..STATEMENTS_MAX {
        let Ok(parsed) = parse::parse_first(rest, front.ctx.mode) else {
            return;
        };
        assert!(
            parsed.end_offset <= parsed.rest_offset,
            "a statement that ends behind the next"
        );
        assert!(
            parsed.parameters_count <= parse::PARAMETERS_MAX,
            "too many parameters"
        );
        front.give_parameters(parsed.parameters_count, text.len() % 2 == 0);
        // An error is an answer.
        let _told = front.statement(&parsed.statement, depth);
        rest = rest
            .get(parsed.rest_offset..)
            .expect("the next statement begins in the text");
        if rest.is_empty() {
            return;
        }
    }
}

impl Front {
    /// A session without tables.
    pub fn new(text: &[u8]) -> Front {
        let is_other = text.len() % 4 == 3;
        let cancel = CancelToken::default();
        cancel.set_time_limit(TEXT_TIME_MAX);
        let state = Arc::new(State::new(
            (
                &Arc::new(Globals::default()),
                &Arc::default(),
                &Default::default(),
            ),
            ("a@b".to_owned(), "a@%".to_owned()),
            1,
            &Arc::new(cancel),
        ));
        state.set_database(Some(DATABASE.to_owned()));
        let zone = if is_other {
            "America/St_Johns"
        } else {
            "+00:00"
        };
        let ctx = EvalContext {
            now: Timestamp::from_micros(NOW_MICROS, 6).expect("is a time"),
            zone: Zone::parse(zone).expect("is a zone"),
            mode: mode_of(if is_other { OTHER_MODE } else { USUAL_MODE }),
            parameters: Arc::default(),
            slots: Vec::new(),
            facts: Arc::clone(&state) as Arc<dyn SessionFacts>,
            warnings: Arc::new(Warnings::default()),
            strict_write: false,
        };
        Front {
            tables: Tables::none(),
            state,
            parameter_types: Vec::new(),
            ctx,
        }
    }

    fn give_parameters(&mut self, parameters_count: usize, types_known: bool) {
        let samples = [Sample::Usual, Sample::Null, Sample::Least, Sample::Greatest];
        let types = samples::TYPES.iter().skip(1).cycle();
        let values = types
            .zip(samples.iter().cycle())
            .map(|(ty, sample)| samples::value(*sample, ty));
        let values = values.take(parameters_count.min(PARAMETERS_MAX)).collect();
        self.ctx.parameters = Arc::new(values);
        let known = self.ctx.parameters.iter().filter(|_| types_known);
        self.parameter_types = known.map(bind::parameter_type).collect();
    }

    fn statement(&mut self, statement: &Statement, depth: Depth) -> Result<()> {
        let state = Arc::clone(&self.state);
        let types = self.parameter_types.clone();
        let names = Names {
            definitions: &self.tables,
            database: Some(DATABASE),
            mode: self.ctx.mode,
            facts: state.as_ref(),
            parameters: &types,
            ctes: None,
            numbering: &Numbering::new(),
            depth: 0,
            trace: None,
            widening: None,
        };
        match statement {
            Statement::Explain(explain) => return self.statement(&explain.statement, depth),
            Statement::Select(select) => {
                let query = bind::query(select, &names)?;
                let Query::Select(select) = query else {
                    return Ok(());
                };
                let is_plain = select.subqueries.is_empty() && select.windowing.is_none();
                // Joins and subqueries are planned by what is read.
                if !is_plain || matches!(select.from, From::Joined(_)) {
                    let _program = select::Program::new(*select);
                    return Ok(());
                }
                match depth {
                    Depth::Plan => self.plan_select(&select)?,
                    Depth::Evaluate => self.evaluate_select(&select)?,
                }
            }
            Statement::Insert(insert) => {
                let insert = bind::insert(insert, &names)?;
                if depth == Depth::Evaluate {
                    self.evaluate_insert(&insert)?;
                }
            }
            Statement::Update(update) => {
                if !bind::is_of_one_table(&update.tables, &names) {
                    let _change = bind::update_by_query(update, &names)?;
                    return Ok(());
                }
                let update = bind::update(update, &names)?;
                match depth {
                    Depth::Plan => self.plan_target(Target::of_update(&update), &update.alias)?,
                    Depth::Evaluate => self.evaluate_update(&update)?,
                }
            }
            Statement::Delete(delete) => {
                if delete.several.is_some() {
                    let _change = bind::delete_by_query(delete, &names)?;
                    return Ok(());
                }
                let delete: Delete = bind::delete(delete, &names)?;
                self.plan_target(Target::of_delete(&delete), &delete.alias)?;
            }
            Statement::Do(exprs) => {
                for expr in exprs {
                    let expr = bind::constant(expr, &names)?;
                    let _value = eval(&expr, &NoRow, &self.ctx)?;
                }
            }
            Statement::CreateTable(create) => self.create_table(create)?,
            _ => {}
        }
        Ok(())
    }

    /// Defines a table, and holds that its text and its stored form make the same table again.
    fn create_table(&mut self, create: &CreateTable) -> Result<()> {
        if matches!(create.source, TableSource::Like(_)) {
            return Ok(());
        }
        let table = ddl::define(create, DATABASE, &self.ctx)?;
        let read_back = persist::decode(&persist::encode(&table)).expect("a stored table is read");
        assert_eq!(
            format!("{table:?}"),
            format!("{read_back:?}"),
            "a stored table changed"
        );
        self.check_text(&table);
        self.tables.add(table);
        Ok(())
    }

    /// SHOW CREATE TABLE is read by the usual mode, whatever the session's is.
    fn check_text(&self, table: &Table) {
        let text = describe::create_table(table, &self.ctx.zone);
        let mode: Mode = mode_of(USUAL_MODE);
        let parsed = match parse::parse_first(text.as_bytes(), mode) {
            Ok(parsed) => parsed,
            Err(error) => panic!("{error:?} for SHOW CREATE TABLE: {text}"),
        };
        let Statement::CreateTable(again) = parsed.statement else {
            panic!("not a table: {text}")
        };
        let again = match ddl::define(&again, DATABASE, &self.ctx) {
            Ok(again) => again,
            Err(error) => panic!("{error:?} for SHOW CREATE TABLE: {text}"),
        };
        assert_eq!(
            text,
            describe::create_table(&again, &self.ctx.zone),
            "SHOW CREATE TABLE told something else"
        );
    }
}

/// An engine with nothing in the one space that all tables of a text and their indexes have.
fn empty_tables() -> Arc<dyn Engine> {
    let engine = Memory::default();
    at_once(async { engine.create_space(Space(0)).await }).expect("is the first space");
    Arc::new(engine)
}

/// What comes of work on the engine in memory, which never waits.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("the engine in memory made somebody wait"),
    }
}

/// Plans.
impl Front {
    fn env(&self, full_scans: FullScans) -> Env {
        Env {
            engine: empty_tables(),
            view: None,
            ctx: self.ctx.nested(),
            policy: Policy {
                full_scans,
                ..Policy::default()
            },
            uses: Arc::default(),
            cancel: Arc::default(),
            memory: budget::Memory::alone(MEMORY_BYTES_MAX),
            select_limit: None,
            rounds: Vec::new(),
            meter: None,
        }
    }

    fn write_env(&self) -> write::Env {
        let env = self.env(FullScans::Refused);
        write::Env {
            engine: env.engine,
            ctx: env.ctx,
            policy: env.policy,
            uses: env.uses,
            cancel: env.cancel,
            ids: Arc::default(),
            memory: env.memory,
            found_rows: false,
            autocommit: true,
            given_rows: Arc::default(),
            given_before: 0,
        }
    }

    fn plan_select(&self, select: &Select) -> Result<()> {
        let env = self.env(FullScans::Refused);
        let limits = select::row_limits(select.limit.as_ref(), select.offset.as_ref(), &env.ctx)?;
        let Some(table) = select.table() else {
            self.explain(None, Vec::new());
            return Ok(());
        };
        let program = select::Program::new(select.clone());
        let _refusal = select::plan(&program, table, &env);
        let plan = at_once(select::explain(&program, table, &env))?;
        let _wide = select::plan(&program, table, &self.env(FullScans::All));
        let mut steps = vec![Step::Limit {
            limit: limits.limit,
            offset: limits.offset,
        }];
        if let Some(aggregation) = &select.aggregation {
            steps.push(Step::Aggregate {
                keys: &aggregation.keys,
                aggregates: &aggregation.aggregates,
                in_order: false,
                rollup: aggregation.rollup,
            });
        }
        steps.extend(select.having.as_ref().map(Step::Having));
        if !select.order_by.is_empty() {
            steps.push(Step::Sort {
                keys: &select.order_by,
                rows_kept: None,
            });
        }
        self.explain(Some((table, &select.alias, &plan)), steps);
        Ok(())
    }

    fn plan_target(&self, target: Target<'_>, alias: &str) -> Result<()> {
        let env = self.write_env();
        let _refusal = target.plan(&env, Estimates::Offered);
        let plan = at_once(target.explain(&env, None))?;
        self.explain(Some((target.table, alias, &plan)), Vec::new());
        Ok(())
    }

    fn explain(&self, source: Option<(&Table, &str, &TablePlan)>, steps: Vec<Step<'_>>) {
        let source = source.map(|(table, alias, plan)| Source {
            table,
            alias,
            plan,
            rows_estimate: Some(1),
            names: None,
        });
        let explained = Explained {
            statement: explain::Statement::Select,
            source,
            write: None,
            steps,
            zone: &self.ctx.zone,
            measured: None,
        };
        for format in [Format::Traditional, Format::Tree, Format::Json] {
            let explanation = plan::explain(&explained, format);
            for row in &explanation.rows {
                assert_eq!(
                    row.len(),
                    explanation.columns.len(),
                    "a row of EXPLAIN is too short"
                );
            }
        }
    }
}

/// Values.
impl Front {
    fn evaluate_select(&self, select: &Select) -> Result<()> {
        let Some(table) = select.table() else {
            return self.evaluate_row(select, &NoRow);
        };
        for sample in [Sample::Usual, Sample::Least, Sample::Greatest, Sample::Null] {
            let values = row_of(table, sample);
            self.evaluate_row(select, &ValuesRow(&values))?;
        }
        Ok(())
    }

    /// All a SELECT computes from one row: filter, groups, outputs, sort keys, and both encodings.
    fn evaluate_row(&self, select: &Select, row: &dyn Row) -> Result<()> {
        if let Some(filter) = &select.filter {
            // Goes on whatever the answer: the outputs are wanted.
            let _truth = eval_condition(filter, row, &self.ctx)?;
        }
        let Some(aggregation) = &select.aggregation else {
            return self.output(select, row);
        };
        let memory = budget::Memory::alone(MEMORY_BYTES_MAX);
        if aggregation.keys.is_empty() {
            let mut groups = InOrder::new(aggregation, &memory, &self.ctx);
            for _ in 0..2 {
                let _none = groups.add(aggregation, row, &self.ctx)?;
            }
            let group = groups.end(aggregation, &self.ctx)?;
            return group.map_or(Ok(()), |group| self.output(select, &ValuesRow(&group)));
        }
        let mut groups = Groups::new(aggregation, &memory);
        for _ in 0..2 {
            groups.add(aggregation, row, &self.ctx)?;
        }
        let mut groups = groups.finish()?;
        loop {
            match groups.step(aggregation, &self.ctx)? {
                GroupStep::Row(group) => self.output(select, &ValuesRow(&group))?,
                GroupStep::Working | GroupStep::Part => {}
                GroupStep::End => return Ok(()),
            }
        }
    }

    fn output(&self, select: &Select, row: &dyn Row) -> Result<()> {
        if let Some(having) = &select.having {
            let _truth = eval_condition(having, row, &self.ctx)?;
        }
        for order in &select.order_by {
            let _value = eval(&order.expr, row, &self.ctx)?;
        }
        let exprs = select.outputs.iter().map(|output| &output.expr);
        let values: Result<Vec<Value<'_>>> = exprs.map(|expr| eval(expr, row, &self.ctx)).collect();
        let values = values?;
        let types: Vec<ColumnType> = select
            .outputs
            .iter()
            .map(|output| output.column.ty.clone())
            .collect();
        let mut out = Vec::new();
        RowEncoder::text(values.len()).encode(&values, &self.ctx.zone, &mut out)?;
        RowEncoder::binary(types.iter()).encode(&values, &self.ctx.zone, &mut out)
    }

    fn evaluate_insert(&self, insert: &Insert) -> Result<()> {
        for given in insert.source.values() {
            for lenient in [true, false] {
                let mut values = self.defaults(&insert.table, lenient);
                for (column_idx, value) in insert.columns.iter().zip(given) {
                    let stored =
                        self.stored(&insert.table, *column_idx, (value, &NoRow, lenient))?;
                    values[*column_idx] = stored;
                }
                self.encode(&insert.table, &values)?;
                let old = row_of(&insert.table, Sample::Greatest);
                let pair = PairRow {
                    old: &old,
                    new: &values,
                };
                for (column_idx, expr) in &insert.on_duplicate {
                    let value = eval_exact(expr, &pair, &self.ctx)?;
                    let _stored = self.coerced(&insert.table, *column_idx, (value, lenient));
                }
            }
        }
        Ok(())
    }

    fn evaluate_update(&self, update: &Update) -> Result<()> {
        for sample in [Sample::Usual, Sample::Least, Sample::Greatest, Sample::Null] {
            let mut values = row_of(&update.table, sample);
            if let Some(filter) = &update.filter {
                let _truth = eval_condition(filter, &ValuesRow(&values), &self.ctx)?;
            }
            for (column_idx, value) in &update.assignments {
                let row = values.clone();
                let given = (value, &ValuesRow(&row) as &dyn Row, update.ignore);
                values[*column_idx] = self.stored(&update.table, *column_idx, given)?;
            }
            self.encode(&update.table, &values)?;
        }
        Ok(())
    }

    fn defaults(&self, table: &Table, lenient: bool) -> Vec<Value<'static>> {
        let place = stored::Stored {
            ctx: &self.ctx,
            row_number: 1,
            lenient,
        };
        let columns = table.columns.iter();
        columns
            .map(|column| {
                let value = place.default_of(column);
                value.unwrap_or_else(|_| samples::value(Sample::Usual, &column.ty))
            })
            .collect()
    }

    fn stored(
        &self,
        table: &Table,
        column_idx: usize,
        (value, row, lenient): (&InsertValue, &dyn Row, bool),
    ) -> Result<Value<'static>> {
        let InsertValue::Expr(expr) = value else {
            let place = stored::Stored {
                ctx: &self.ctx,
                row_number: 1,
                lenient,
            };
            return place.default_of(&table.columns[column_idx]);
        };
        let value = eval_exact(expr, row, &self.ctx)?;
        self.coerced(table, column_idx, (value, lenient))
    }

    fn coerced(
        &self,
        table: &Table,
        column_idx: usize,
        (value, lenient): (Value<'_>, bool),
    ) -> Result<Value<'static>> {
        let place = stored::Stored {
            ctx: &self.ctx,
            row_number: 1,
            lenient,
        };
        place.coerce(value, &table.columns[column_idx])
    }

    /// A row that was made fit its columns can be stored, or is too long.
    fn encode(&self, table: &Table, values: &[Value<'_>]) -> Result<()> {
        let _key = stored::key(table, values)?;
        let _row = stored::value(table, values)?;
        Ok(())
    }
}

fn row_of(table: &Table, sample: Sample) -> Vec<Value<'static>> {
    table
        .columns
        .iter()
        .map(|column| samples::value(sample, &column.ty))
        .collect()
}
