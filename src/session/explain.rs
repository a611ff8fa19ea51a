//! EXPLAIN: the same walk as the statement, stopped after the access path is chosen. `plan` formats.
//!
//! EXPLAIN ANALYZE of a SELECT goes on, throws its rows away and tells what it took; writes are
//! not run.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::compile::{Asked, Compiled};
use super::run::BINDS_MAX;
use super::{Reply, ResultSet, Session};
use crate::error::{Code, Error, Result};
use crate::exec::explain::{self as shown, Order};
use crate::exec::meter::Meter;
use crate::exec::probe;
use crate::exec::query::{self, Body};
use crate::exec::ready::ReadyRows;
use crate::exec::rows::{PageEnd, RowSink, RowStream};
use crate::exec::select::{self, Env};
use crate::exec::transaction::definition_changed;
use crate::exec::write::change::Target;
use crate::exec::write::{Write, blind};
use crate::plan;
use crate::plan::explain::{
    Explained, Explanation, Format, Measured, Source, Statement as Kind, Step, Write as Written,
    whole,
};
use crate::sql::ast::{Explain, ExplainFormat, Statement};
use crate::sql::bound::{Change, From, Insert, InsertKind, InsertSource, Query};
use crate::sql::expr::ExprKind;
use crate::types::temporal::zone::Zone;
use crate::types::{ColumnType, Decimal, Value};

fn format_of(explain: &Explain) -> Format {
    match explain.format {
        ExplainFormat::Traditional if explain.analyze => Format::Tree,
        ExplainFormat::Traditional => Format::Traditional,
        ExplainFormat::Tree => Format::Tree,
        ExplainFormat::Json => Format::Json,
    }
}

/// Whether it is an UPDATE or DELETE of one table that has subqueries.
fn has_subqueries(compiled: &Compiled) -> bool {
    match compiled {
        Compiled::Write(program) => match &program.write {
            Write::Update(update) => !update.subqueries.is_empty(),
            Write::Delete(delete) => !delete.subqueries.is_empty(),
            Write::Insert(_) => false,
        },
        Compiled::Query(..) | Compiled::Change(_) => false,
    }
}

impl Session {
    pub(super) async fn explain(
        &mut self,
        (whole, explain): (&Statement, &Explain),
        parameters: Vec<Value<'static>>,
    ) -> Result<Reply> {
        let format = format_of(explain);
        match self.compile_to_show((whole, &explain.statement))? {
            Compiled::Query(program, asked) => {
                let env = self.limited_env((&program, &asked), parameters);
                let meter = explain.analyze.then(Arc::<Meter>::default);
                let measured = match &meter {
                    Some(meter) => Some(self.measure(&program, &env, meter).await?),
                    None => None,
                };
                match &program.body {
                    Body::Select(select) if !select.is_deep() => {
                        self.explain_select(select, &env, (format, measured)).await
                    }
                    Body::Select(_) | Body::Set(_) | Body::Recursive(_) | Body::Json(_) => {
                        let whole = (env, None);
                        explain_whole(&program, whole, (format, measured, meter)).await
                    }
                }
            }
            Compiled::Write(_) | Compiled::Change(_) if explain.analyze => Err(Error::unsupported(
                "EXPLAIN ANALYZE of a statement that writes",
            )),
            Compiled::Change(program) => {
                let env = self.select_env(Arc::new(parameters), program.query.tables());
                let whole = (env, Some(changed(&program.change)));
                explain_whole(&program.query, whole, (format, None, None)).await
            }
            Compiled::Write(program) => {
                let env = self.write_env(Arc::new(parameters), program.write.target());
                match &program.write {
                    Write::Insert(insert) => match &program.query {
                        None => Ok(explain_insert(insert, &env, format)),
                        Some(query) => {
                            let written = inserted(insert, &env);
                            let parameters = Arc::clone(&env.ctx.parameters);
                            let reading = self.select_env(parameters, query.tables());
                            let whole = (reading, Some(written));
                            explain_whole(query, whole, (format, None, None)).await
                        }
                    },
                    Write::Update(update) => {
                        let target = Target::of_update(update);
                        self.explain_change(target, Kind::Update, (&env, format))
                            .await
                    }
                    Write::Delete(delete) => {
                        let target = Target::of_delete(delete);
                        self.explain_change(target, Kind::Delete, (&env, format))
                            .await
                    }
                }
            }
        }
    }

    /// Binds a statement, and an UPDATE or DELETE of one table that has subqueries as a change by a query: so
    /// they are shown, and the path that their answers lead to.
    fn compile_to_show(
        &mut self,
        (whole, statement): (&Statement, &Statement),
    ) -> Result<Compiled> {
        for _ in 0..BINDS_MAX {
            let compiled = self.compile_allowed((whole, statement), &[])?;
            if !has_subqueries(&compiled) {
                return Ok(compiled);
            }
            match self.compiled_by_query(statement) {
                // Somebody defined something in between: rights and names are looked at again.
                Err(error) if error.code() == Code::TableDefinitionChanged => {}
                by_query => return Ok(by_query?.unwrap_or(compiled)),
            }
        }
        Err(definition_changed())
    }

    async fn explain_select(
        &mut self,
        program: &select::Program,
        env: &Env,
        (format, measured): (Format, Option<Measured>),
    ) -> Result<Reply> {
        let select = &program.select;
        let limits = select::row_limits(select.limit.as_ref(), select.offset.as_ref(), &env.ctx)?;
        let planned = match select.table() {
            Some(table) => Some((table, select::explain(program, table, env).await?)),
            None => None,
        };
        let rows_estimate = match &planned {
            Some((table, plan)) => {
                let counted = (table.as_ref(), plan, probe::TO_SHOW);
                probe::rows(&self.shared.engine, env.view.clone(), counted).await?
            }
            None => None,
        };
        let source = planned.as_ref().map(|(table, plan)| Source {
            table,
            alias: &select.alias,
            plan,
            rows_estimate,
            names: None,
        });
        let plan = planned.as_ref().map(|(_, plan)| plan);
        let explained = Explained {
            statement: Kind::Select,
            source,
            write: None,
            steps: shown::steps(select, plan.map_or_else(Order::default, Order::of), limits),
            zone: &env.ctx.zone,
            measured,
        };
        Ok(reply(plan::explain(&explained, format)))
    }

    async fn explain_change(
        &mut self,
        target: Target<'_>,
        statement: Kind,
        (env, format): (&crate::exec::write::Env, Format),
    ) -> Result<Reply> {
        let view = self
            .current_transaction()
            .map(crate::exec::transaction::Transaction::view);
        let plan = target.explain(env, view.clone()).await?;
        let rows_estimate = {
            let counted = (target.table.as_ref(), &plan, probe::TO_SHOW);
            probe::rows(&self.shared.engine, view, counted).await?
        };
        let limits = select::row_limits(target.limit, None, &env.ctx)?;
        let mut steps = Vec::new();
        if !target.order_by.is_empty() && !plan.ordered {
            steps.push(Step::Sort {
                keys: target.order_by,
                rows_kept: limits.limit,
            });
        }
        if limits.limit.is_some() {
            steps.push(Step::Limit {
                limit: limits.limit,
                offset: 0,
            });
        }
        let explained = Explained {
            statement,
            source: Some(Source {
                table: target.table,
                alias: &target.table.name,
                plan: &plan,
                rows_estimate,
                names: None,
            }),
            write: Some(Written {
                table: target.table,
                reads_old: true,
                rows_count: None,
            }),
            steps,
            zone: &env.ctx.zone,
            measured: None,
        };
        Ok(reply(plan::explain(&explained, format)))
    }

    /// What a SELECT would run with.
    fn limited_env(
        &mut self,
        (program, asked): (&query::Program, &Asked),
        parameters: Vec<Value<'static>>,
    ) -> Env {
        Env {
            select_limit: self.select_limit(asked),
            ..self.select_env(Arc::new(parameters), program.tables())
        }
    }

    /// Runs a SELECT and throws its rows away.
    async fn measure(
        &mut self,
        program: &Arc<query::Program>,
        env: &Env,
        meter: &Arc<Meter>,
    ) -> Result<Measured> {
        self.check_seen(program.tables())?;
        self.limit_time();
        let mut run = self.select_env(Arc::clone(&env.ctx.parameters), program.tables());
        run.view.clone_from(&env.view);
        run.select_limit = env.select_limit;
        run.meter = Some(Arc::clone(meter));
        run.memory = run.memory.counted();
        let began = Instant::now();
        let mut stream = query::open(program, run)?.stream().await?;
        let mut counted = Counted(0);
        while stream.next_page(&mut counted).await? == PageEnd::More {}
        Ok(Measured {
            rows_read: stream.rows_read(),
            rows_returned: counted.0,
            micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        })
    }
}

/// Counts rows and drops them.
struct Counted(u64);

impl RowSink for Counted {
    fn row(&mut self, _values: &[Value<'_>]) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// A statement of several tables or queries.
async fn explain_whole(
    program: &query::Program,
    (env, written): (Env, Option<whole::Written<'_>>),
    (format, measured, meter): (Format, Option<Measured>, Option<Arc<Meter>>),
) -> Result<Reply> {
    let zone = env.ctx.zone.clone();
    let (query, refusal) = shown::shown(program, env, meter).await?;
    let whole = whole::Whole {
        query,
        written,
        refusal,
        zone: &zone,
        measured,
    };
    Ok(reply(whole::explain(&whole, format)))
}

/// What an UPDATE or DELETE by a query writes.
fn changed(change: &Change) -> whole::Written<'_> {
    let mut first_output = 0;
    let targets = change.targets.iter().map(|target| {
        let alias = alias_of(&change.query, first_output).unwrap_or(&target.table.name);
        first_output += target.outputs_count();
        let write = Written {
            table: &target.table,
            reads_old: true,
            rows_count: None,
        };
        whole::WrittenTable { alias, write }
    });
    whole::Written {
        targets: targets.collect(),
        statement: if change.deletes {
            Kind::Delete
        } else {
            Kind::Update
        },
    }
}

/// The alias of the source that has what an output is: a column of a key.
fn alias_of(query: &Query, output: usize) -> Option<&str> {
    let Query::Select(select) = query else {
        return None;
    };
    let ExprKind::Column(idx) = &select.outputs.get(output)?.expr.kind else {
        return None;
    };
    match &select.from {
        From::Joined(joined) => Some(&joined.source_of(*idx)?.alias),
        From::Nothing | From::Table(_) => Some(&select.alias),
    }
}

/// What an INSERT of a query's rows writes.
fn inserted<'a>(insert: &'a Insert, env: &crate::exec::write::Env) -> whole::Written<'a> {
    let write = Written {
        table: &insert.table,
        reads_old: !blind::is_blind(insert, env),
        rows_count: None,
    };
    let alias = insert.table.name.as_str();
    whole::Written {
        statement: verb(insert.kind),
        targets: vec![whole::WrittenTable { alias, write }],
    }
}

fn verb(kind: InsertKind) -> Kind {
    match kind {
        InsertKind::Insert | InsertKind::InsertIgnore => Kind::Insert,
        InsertKind::Replace => Kind::Replace,
        InsertKind::Upsert => Kind::Upsert,
    }
}

fn explain_insert(insert: &Insert, env: &crate::exec::write::Env, format: Format) -> Reply {
    let explained = Explained {
        statement: verb(insert.kind),
        source: None,
        write: Some(Written {
            table: &insert.table,
            reads_old: !blind::is_blind(insert, env),
            rows_count: match &insert.source {
                InsertSource::Values(rows) => u64::try_from(rows.len()).ok(),
                InsertSource::Query(_) | InsertSource::Given => None,
            },
        }),
        steps: Vec::new(),
        zone: &env.ctx.zone,
        measured: None,
    };
    reply(plan::explain(&explained, format))
}

/// A rendered plan as an answer; numbers where the columns are numbers.
fn reply(explanation: Explanation) -> Reply {
    let Explanation { columns, rows } = explanation;
    let rows = rows.into_iter().map(|row| {
        let values = row.into_iter().zip(&columns);
        values
            .map(|(text, column)| value_of(text, &column.ty))
            .collect()
    });
    let rows = rows.collect();
    let rows = Box::new(ReadyRows::new(rows));
    Reply::Rows(ResultSet {
        columns: columns.into(),
        zone: Zone::UTC,
        rows,
    })
}

fn value_of(text: Option<String>, ty: &ColumnType) -> Value<'static> {
    let Some(text) = text else { return Value::Null };
    match text.parse::<i64>() {
        Ok(number) if ty.is_integer() && ty.is_unsigned() => Value::UInt(number.unsigned_abs()),
        Ok(number) if ty.is_integer() => Value::Int(number),
        Ok(_) | Err(_) => match (Decimal::parse(&text), ty) {
            (Some(number), ColumnType::Decimal { .. }) => Value::Decimal(number),
            (Some(_) | None, _) => Value::Text(Cow::Owned(text)),
        },
    }
}
