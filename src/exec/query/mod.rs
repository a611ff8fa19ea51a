//! Queries: one block, or several whose rows are put together.

mod json;
mod kept;
mod recursive;
mod set;

use std::sync::Arc;

use self::json::JsonStream;
use self::recursive::RecursiveStream;
use self::set::SetStream;
use super::rows::{BoxFuture, PageEnd, RowSink, RowStream};
use super::select::{self, Env, SelectStream};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::kv::Key;
use crate::sql::bound::{Hints, JsonRows, Query, Recursive, Select, SetQuery};
use crate::types::ResultColumn;

/// A bound query with what does not change between executions.
#[derive(Debug)]
pub struct Program {
    /// What is run.
    pub body: Body,
    columns: Arc<[ResultColumn]>,
    tables: Vec<Arc<Table>>,
}

/// What a [`Program`] runs.
#[derive(Debug)]
pub enum Body {
    /// One block.
    Select(Arc<select::Program>),
    /// Two queries whose rows are put together.
    Set(Arc<SetProgram>),
    /// A recursive query.
    Recursive(Arc<RecursiveProgram>),
    /// `JSON_TABLE`.
    Json(Arc<JsonProgram>),
}

/// `JSON_TABLE`.
#[derive(Debug)]
pub struct JsonProgram {
    /// What it makes rows of.
    pub query: JsonRows,
    /// It has none.
    hints: Hints,
}

/// A set operation: what is done with the rows of two queries.
#[derive(Debug)]
pub struct SetProgram {
    /// The operation; its sides are in `sides`.
    pub query: SetQuery,
    /// Both sides.
    pub sides: (Arc<Program>, Arc<Program>),
}

/// A recursive query.
#[derive(Debug)]
pub struct RecursiveProgram {
    /// The query; its parts are in `first` and `next`.
    pub query: Recursive,
    /// The rows of the first round.
    pub first: Arc<Program>,
    /// The rows of each later round.
    pub next: Arc<Program>,
}

impl Program {
    /// Prepares a bound query for execution.
    pub fn new(query: Query) -> Program {
        let columns = query.columns().into_iter().cloned().collect();
        let body = match query {
            Query::Select(select) => Body::Select(Arc::new(select::Program::new(*select))),
            Query::Set(set) => {
                let side = |query: &Arc<Query>| Arc::new(Program::new(Query::clone(query)));
                let sides = (side(&set.sides.0), side(&set.sides.1));
                Body::Set(Arc::new(SetProgram { query: *set, sides }))
            }
            Query::Recursive(query) => Body::Recursive(Arc::new(RecursiveProgram {
                first: Arc::new(Program::new(query.first.clone())),
                next: Arc::new(Program::new(query.next.clone())),
                query: *query,
            })),
            Query::Json(query) => Body::Json(Arc::new(JsonProgram {
                query: *query,
                hints: Hints::default(),
            })),
        };
        let tables = body.tables();
        Program {
            body,
            columns,
            tables,
        }
    }

    /// How a client sees the columns.
    pub fn columns(&self) -> Arc<[ResultColumn]> {
        Arc::clone(&self.columns)
    }

    /// How many they are.
    pub fn columns_count(&self) -> usize {
        self.columns.len()
    }

    /// The block, when there is one alone.
    pub fn select(&self) -> Option<&Select> {
        match &self.body {
            Body::Select(program) => Some(&program.select),
            Body::Set(_) | Body::Recursive(_) | Body::Json(_) => None,
        }
    }

    /// The hints of the first block.
    pub fn hints(&self) -> &Hints {
        match &self.body {
            Body::Select(program) => &program.select.hints,
            Body::Set(program) => program.sides.0.hints(),
            Body::Recursive(program) => program.first.hints(),
            Body::Json(program) => &program.hints,
        }
    }

    /// All tables that are read, some of them more than once.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }
}

impl Body {
    fn tables(&self) -> Vec<Arc<Table>> {
        match self {
            Body::Select(program) => program.tables(),
            Body::Set(program) => {
                let (left, right) = &program.sides;
                [left.tables(), right.tables()].concat()
            }
            Body::Recursive(program) => [program.first.tables(), program.next.tables()].concat(),
            Body::Json(_) => Vec::new(),
        }
    }
}

/// A query that was begun.
pub enum Opened {
    /// It runs.
    Ready(QueryStream),
    /// Something is to be done first. Only statements that go on pay for waiting.
    Later(BoxFuture<'static, Result<QueryStream>>),
}

/// A running query.
pub enum QueryStream {
    /// Of one block.
    Select(Box<SelectStream>),
    /// A set operation.
    Set(Box<SetStream>),
    /// A recursive query.
    Recursive(Box<RecursiveStream>),
    /// `JSON_TABLE`.
    Json(Box<JsonStream>),
}

/// Starts a query.
///
/// # Errors
/// Refusals, and errors of constants.
pub fn open(program: &Arc<Program>, env: Env) -> Result<Opened> {
    match &program.body {
        Body::Select(select) => {
            let opened = select::open(Arc::clone(select), env)?;
            Ok(match opened {
                select::Opened::Ready(stream) => Opened::Ready(QueryStream::Select(stream)),
                later @ (select::Opened::InDoubt(_) | select::Opened::Deep(_)) => {
                    Opened::Later(Box::pin(async move {
                        Ok(QueryStream::Select(later.stream().await?))
                    }))
                }
            })
        }
        Body::Set(set) => {
            let set = Arc::clone(set);
            Ok(Opened::Later(Box::pin(async move {
                let stream = SetStream::open(set, env).await?;
                Ok(QueryStream::Set(Box::new(stream)))
            })))
        }
        Body::Json(json) => {
            let stream = JsonStream::open(json, env)?;
            Ok(Opened::Ready(QueryStream::Json(Box::new(stream))))
        }
        Body::Recursive(recursive) => {
            let recursive = Arc::clone(recursive);
            Ok(Opened::Later(Box::pin(async move {
                let stream = RecursiveStream::open(recursive, env).await?;
                Ok(QueryStream::Recursive(Box::new(stream)))
            })))
        }
    }
}

/// As [`open`], of a query of one block that reads the rows under these keys and no others.
///
/// # Errors
/// Errors of constants.
pub fn open_found(program: &Program, env: Env, keys: Vec<Key>) -> Result<Opened> {
    let Body::Select(select) = &program.body else {
        return Err(Error::internal(
            "rows were found for a query of several blocks",
        ));
    };
    let stream = select::open_found(Arc::clone(select), env, keys)?;
    Ok(Opened::Ready(QueryStream::Select(stream)))
}

impl Opened {
    /// The stream, after what is to be done first.
    ///
    /// # Errors
    /// As [`open`], and those of the engine.
    pub async fn stream(self) -> Result<QueryStream> {
        match self {
            Opened::Ready(stream) => Ok(stream),
            Opened::Later(stream) => stream.await,
        }
    }
}

impl QueryStream {
    /// The rows.
    pub fn into_rows(self) -> Box<dyn RowStream> {
        match self {
            QueryStream::Select(stream) => stream,
            QueryStream::Set(stream) => stream,
            QueryStream::Recursive(stream) => stream,
            QueryStream::Json(stream) => stream,
        }
    }

    /// Rows fetched from the engine so far.
    pub fn rows_read(&self) -> u64 {
        match self {
            QueryStream::Select(stream) => stream.rows_read(),
            QueryStream::Set(stream) => stream.rows_read(),
            QueryStream::Recursive(stream) => stream.rows_read(),
            QueryStream::Json(_) => 0,
        }
    }
}

impl RowStream for QueryStream {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        match self {
            QueryStream::Select(stream) => stream.next_page(sink),
            QueryStream::Set(stream) => stream.next_page(sink),
            QueryStream::Recursive(stream) => stream.next_page(sink),
            QueryStream::Json(stream) => stream.next_page(sink),
        }
    }
}
