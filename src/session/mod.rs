//! A stand-in session: it knows enough statements to test the connection, and no table.

pub mod processes;
pub mod reply;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Code, Error, Result};
use crate::exec::cancel::CancelToken;
use crate::exec::rows::{BoxFuture, PageEnd, RowSink, RowStream};
use crate::protocol::Status;
use crate::types::{ColumnType, ResultColumn, Value};
use processes::{Kill, Processes};
pub use reply::{Answer, Client, Done, Prepared, Reply, ResultSet, WireState};

/// How the server's data is opened; what [`Shared::open`] takes.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Where rows are kept.
    pub storage: Storage,
    /// Whether a commit waits for the disk.
    pub durable: bool,
    /// Whether queries may read whole tables.
    pub allow_full_scan: bool,
    /// The block cache; `None` takes a quarter of the machine's memory.
    pub cache_bytes: Option<u64>,
    /// The port the server listens on, for `@@port`.
    pub port: u16,
    /// `@@max_connections`.
    pub connections_max: u32,
    /// `@@max_allowed_packet`.
    pub packet_bytes_max: u32,
    /// `@@wait_timeout` and `@@interactive_timeout`, seconds.
    pub wait_timeout_s: u32,
    /// `@@net_write_timeout`, seconds.
    pub net_write_timeout_s: u32,
}

/// Where rows are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// In files below this directory.
    Lsm(PathBuf),
    /// In memory.
    Memory,
}

/// What all sessions of a server share.
#[derive(Debug)]
pub struct Shared {
    processes: Arc<Processes>,
    packet_bytes_max: usize,
    wait_timeout: Duration,
    net_write_timeout: Duration,
}

impl Shared {
    /// Opens the server's data.
    ///
    /// # Errors
    /// One line for the operator.
    pub async fn open(options: OpenOptions) -> std::result::Result<Arc<Shared>, String> {
        Ok(Arc::new(Shared {
            processes: Arc::default(),
            packet_bytes_max: usize::try_from(options.packet_bytes_max).unwrap_or(usize::MAX),
            wait_timeout: Duration::from_secs(u64::from(options.wait_timeout_s)),
            net_write_timeout: Duration::from_secs(u64::from(options.net_write_timeout_s)),
        }))
    }

    /// The connections of the server.
    pub fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// Writes out what has to be, when the last connection has ended.
    pub async fn close(&self) {}
}

/// One connection's session.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    client: Client,
    cancel: Arc<CancelToken>,
    database: Option<String>,
    statements: Vec<(u32, String)>,
    next_statement: u32,
}

impl Session {
    /// A session for a client that has logged in.
    pub fn new(shared: &Arc<Shared>, client: Client, cancel: &Arc<CancelToken>) -> Session {
        Session {
            shared: Arc::clone(shared),
            client,
            cancel: Arc::clone(cancel),
            database: None,
            statements: Vec::new(),
            next_statement: 1,
        }
    }

    /// Runs the first statement of `sql`; says where the next begins.
    ///
    /// # Errors
    /// What the client is told; the rest of the text is skipped.
    pub async fn query(&mut self, sql: &str) -> Result<Answer> {
        let sql_bytes = sql.len();
        let (statement, rest) = match sql.split_once(';') {
            Some((statement, rest)) if !rest.trim().is_empty() => {
                if !self.client.multi_statements {
                    return Err(Error::new(
                        Code::Parse,
                        "You have an error in your SQL syntax",
                    ));
                }
                (statement, Some(sql_bytes - rest.len()))
            }
            Some((statement, _)) => (statement, None),
            None => (sql, None),
        };
        let reply = self.run(statement, &[]).await?;
        Ok(Answer { reply, rest })
    }

    /// Prepares one statement.
    ///
    /// # Errors
    /// What the client is told.
    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        let id = self.next_statement;
        self.next_statement += 1;
        self.statements.push((id, sql.to_owned()));
        let parameters_count = u16::try_from(sql.matches('?').count()).unwrap_or(0);
        let columns = columns_of(sql);
        Ok(Prepared {
            id,
            parameters_count,
            columns,
        })
    }

    /// Executes a prepared statement.
    ///
    /// # Errors
    /// What the client is told.
    pub async fn execute(&mut self, id: u32, params: &[Value<'_>]) -> Result<Reply> {
        let found = self.statements.iter().find(|(own, _)| *own == id);
        let sql = found.map(|(_, sql)| sql.clone()).ok_or_else(|| {
            Error::new(Code::UnknownStatement, "Unknown prepared statement handler")
        })?;
        self.run(&sql, params).await
    }

    async fn run(&mut self, sql: &str, params: &[Value<'_>]) -> Result<Reply> {
        let sql = sql.trim();
        if let Some(seconds) = sql
            .strip_prefix("SLEEP ")
            .and_then(|text| text.parse().ok())
        {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
                error = self.cancel.stopped() => return Err(error),
            }
            return Ok(Reply::Done(Done::default()));
        }
        if let Some(id) = sql.strip_prefix("KILL ").and_then(|text| text.parse().ok()) {
            self.shared.processes.kill(id, Kill::Connection)?;
            return Ok(Reply::Done(Done::default()));
        }
        if let Some(id) = sql
            .strip_prefix("KILL QUERY ")
            .and_then(|text| text.parse().ok())
        {
            self.shared.processes.kill(id, Kill::Query)?;
            return Ok(Reply::Done(Done::default()));
        }
        if sql.starts_with("SET ") || sql.starts_with("INSERT ") {
            return Ok(Reply::Done(Done {
                affected_rows: 1,
                ..Done::default()
            }));
        }
        let rows_count = sql.strip_prefix("SEQ ").and_then(|text| text.parse().ok());
        if rows_count.is_none() && !sql.to_ascii_lowercase().starts_with("select ") {
            let message = format!("You have an error in your SQL syntax near '{sql}'");
            return Err(Error::new(Code::Parse, message));
        }
        let rows = StandInRows {
            cancel: Arc::clone(&self.cancel),
            next: 0,
            rows_count: rows_count.unwrap_or(1),
            values: match params {
                [] if rows_count.is_none() => vec![Value::Int(1)],
                params => params.iter().map(owned).collect(),
            },
        };
        Ok(Reply::Rows(ResultSet {
            columns: columns_of(sql),
            zone: crate::types::temporal::zone::Zone::UTC,
            rows: Box::new(rows),
        }))
    }

    /// The rows of a reply have ended, whole or not.
    pub fn end_rows(&mut self, _rows_count: u64) {}

    /// Forgets a prepared statement.
    pub fn close_statement(&mut self, id: u32) {
        self.statements.retain(|(own, _)| *own != id);
    }

    /// Makes a database current.
    ///
    /// # Errors
    /// 1049 when there is none of that name.
    pub async fn use_database(&mut self, name: &str) -> Result<()> {
        if name == "nosuch" {
            return Err(Error::new(
                Code::UnknownDatabase,
                format!("Unknown database '{name}'"),
            ));
        }
        self.database = Some(name.to_owned());
        Ok(())
    }

    /// The current database.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The columns of a table whose names are like `wildcard` (empty: all).
    ///
    /// # Errors
    /// 1146 when there is no such table.
    pub async fn list_fields(&mut self, table: &str, _wildcard: &str) -> Result<Vec<ResultColumn>> {
        Err(Error::new(
            Code::TableMissing,
            format!("Table '{table}' doesn't exist"),
        ))
    }

    /// What the connection must know.
    pub fn wire_state(&self) -> WireState {
        WireState {
            status: Status::AUTOCOMMIT,
            json_as: crate::protocol::column::JsonAs::Json,
            wait_timeout: self.shared.wait_timeout,
            net_write_timeout: self.shared.net_write_timeout,
            packet_bytes_max: self.shared.packet_bytes_max,
        }
    }

    /// Allows or forbids several statements in one query.
    pub fn set_multi_statements(&mut self, allowed: bool) {
        self.client.multi_statements = allowed;
    }

    /// Rolls back and forgets everything but the current database.
    pub async fn reset(&mut self) {
        self.statements.clear();
    }

    /// Rolls back; the connection ends.
    pub async fn close(&mut self) {}
}

fn owned(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Int(number) => Value::Int(*number),
        Value::UInt(number) => Value::UInt(*number),
        Value::Text(text) => Value::Text(text.to_string().into()),
        _ => Value::Null,
    }
}

fn columns_of(sql: &str) -> Arc<[ResultColumn]> {
    let count = sql.matches('?').count().max(1);
    let column = |name: &str, ty| ResultColumn {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: name.to_owned(),
        org_name: String::new(),
        ty,
        nullable: true,
        primary_key: false,
        auto_increment: false,
        display_chars: 0,
    };
    match sql.to_ascii_lowercase().split(' ').next() {
        Some("select") if sql.contains('?') => (0..count)
            .map(|_| column("?", ColumnType::Varchar { chars_max: None }))
            .collect(),
        Some("select" | "seq") => [column("1", ColumnType::BIGINT)].into(),
        Some(_) | None => [].into(),
    }
}

struct StandInRows {
    cancel: Arc<CancelToken>,
    next: i64,
    rows_count: i64,
    values: Vec<Value<'static>>,
}

impl RowStream for StandInRows {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        Box::pin(async move {
            self.cancel.check()?;
            for _ in 0..256 {
                if self.next == self.rows_count {
                    return Ok(PageEnd::Last { warnings_count: 0 });
                }
                match self.values.as_slice() {
                    [] => sink.row(&[Value::Int(self.next)])?,
                    values => sink.row(values)?,
                }
                self.next += 1;
            }
            Ok(PageEnd::More)
        })
    }
}
