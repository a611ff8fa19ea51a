//! What SELECT leaves in the session: `INTO @a, @b`, the count of `SQL_CALC_FOUND_ROWS`, the values of
//! SET and DO.

use std::sync::Arc;

use super::compile::Asked;
use super::state::State;
use super::{Done, Reply, Session};
use crate::error::{Code, Error, Result};
use crate::exec::query::{self, Opened};
use crate::exec::rows::{BoxFuture, PageEnd, RowCopy, RowSink, RowStream};
use crate::exec::select::{self, RowLimits};
use crate::sql::ast::{Expr, Select};
use crate::sql::bind;
use crate::sql::context::{Parameters, WarningLevel};
use crate::types::Value;

/// Rows of which a LIMIT lets some pass, and all are counted.
pub(super) struct Counted {
    rows: Box<dyn RowStream>,
    limits: RowLimits,
    seen: u64,
    state: Arc<State>,
}

impl Counted {
    /// Counts rows for `FOUND_ROWS()`.
    pub(super) fn new(rows: Box<dyn RowStream>, limits: RowLimits, state: &Arc<State>) -> Counted {
        Counted {
            rows,
            limits,
            seen: 0,
            state: Arc::clone(state),
        }
    }
}

impl RowStream for Counted {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        Box::pin(async move {
            let mut passing = Passing {
                limits: self.limits,
                seen: &mut self.seen,
                sink,
            };
            let end = self.rows.next_page(&mut passing).await?;
            if end != PageEnd::More {
                self.state.found(self.seen);
            }
            Ok(end)
        })
    }
}

/// Lets the rows of a LIMIT pass.
struct Passing<'a> {
    limits: RowLimits,
    seen: &'a mut u64,
    sink: &'a mut (dyn RowSink + Send),
}

impl RowSink for Passing<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        let at = self.seen.checked_sub(self.limits.offset);
        *self.seen += 1;
        match at {
            Some(at) if self.limits.limit.is_none_or(|limit| at < limit) => self.sink.row(values),
            Some(_) | None => Ok(()),
        }
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}

/// Keeps the first row, and knows whether there are more.
#[derive(Default)]
struct First {
    row: Option<Vec<Value<'static>>>,
    has_more: bool,
}

impl RowSink for First {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        if self.row.is_some() {
            self.has_more = true;
        } else {
            self.row = Some(RowCopy::row(values)?);
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.has_more
    }
}

impl Session {
    /// `sql_select_limit`: only of what goes to the client.
    pub(super) fn select_limit(&self, asked: &Asked) -> Option<u64> {
        let limit = self.settings.select_limit;
        limit.filter(|_| asked.into.is_none())
    }

    /// How many rows of a query are wanted: said to it, or to be cut of the rows that are counted.
    ///
    /// # Errors
    /// As [`select::row_limits`].
    pub(super) fn limit_rows(
        &self,
        asked: &Asked,
        env: &mut select::Env,
    ) -> Result<Option<RowLimits>> {
        let select_limit = self.select_limit(asked);
        let Some((limit, offset)) = asked.counted.as_deref() else {
            env.select_limit = select_limit;
            return Ok(None);
        };
        let own = select::row_limits(limit.as_ref(), offset.as_ref(), &env.ctx)?;
        let limit = own.limit.or(select_limit);
        Ok(Some(RowLimits { limit, ..own }))
    }

    /// The value of `SELECT expr`.
    ///
    /// # Errors
    /// Those of the query.
    pub(super) async fn selected(
        &mut self,
        expr: &Expr,
        parameters: &Parameters,
    ) -> Result<Value<'static>> {
        let select = Select::of_expr(expr.clone());
        let types: Vec<_> = parameters.iter().map(bind::parameter_type).collect();
        let bound = self.with_names(&types, |names| bind::query(&select, names))?;
        let program = Arc::new(query::Program::new(bound));
        self.check_seen(program.tables())?;
        let env = self.select_env(Arc::clone(parameters), program.tables());
        let stream = match query::open(&program, env)? {
            Opened::Ready(stream) => stream,
            later @ Opened::Later(_) => later.stream().await?,
        };
        let mut rows = stream.into_rows();
        let mut first = First::default();
        while !first.has_more && rows.next_page(&mut first).await? == PageEnd::More {}
        let value = first.row.and_then(|row| row.into_iter().next());
        Ok(value.unwrap_or(Value::Null))
    }

    /// Puts the only row into variables.
    ///
    /// # Errors
    /// 1172 when there are more, those of the rows.
    pub(super) async fn put_into(
        &mut self,
        variables: &[String],
        mut rows: Box<dyn RowStream>,
    ) -> Result<Reply> {
        let mut first = First::default();
        while !first.has_more && rows.next_page(&mut first).await? == PageEnd::More {}
        drop(rows);
        let affected_rows = u64::from(first.row.is_some());
        if let Some(row) = first.row {
            for (name, value) in variables.iter().zip(row) {
                self.state.set_user_variable(name, value)?;
            }
        } else {
            let text = "No data - zero rows fetched, selected, or processed";
            self.warnings
                .add(WarningLevel::Warning, Code::NoData, || text.to_owned());
        }
        if first.has_more {
            let text = "Result consisted of more than one row";
            return Err(Error::new(Code::TooManyRows, text));
        }
        self.state.returned(affected_rows);
        self.state.wrote(affected_rows, 0);
        let warnings_count = self.warnings.count();
        self.state.set_warnings_count(warnings_count);
        Ok(Reply::Done(Done {
            affected_rows,
            warnings_count,
            ..Done::default()
        }))
    }
}
