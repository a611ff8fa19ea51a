//! Prepared statements: what the connection keeps of each, and the commands about them.
//!
//! The session knows the statement; here are its parameters' types, its long data, the encoded
//! definitions of its columns, and its cursor.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::connection::{Talk, named};
use super::cursor::{Cursor, Fetched};
use super::rows;
use super::wire::{Gone, Wire};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::exec::cancel::Stop;
use crate::protocol::column::{self, JsonAs};
use crate::protocol::command::{Execute, LAST_STATEMENT_ID};
use crate::protocol::packet::CopiedPackets;
use crate::protocol::parameters::{Decoded, Layout, Parameters};
use crate::protocol::reply;
use crate::protocol::row::RowEncoder;
use crate::protocol::{Capabilities, Status};
use crate::session::{Prepared, Reply, ResultSet, processes};
use crate::types::{ResultColumn, Value};

/// Open cursors of one connection: each holds a snapshot and up to a page of rows.
const CURSORS_MAX: usize = 32;

/// No statement has this number.
const NO_STATEMENT_ID: u32 = 0;

/// The prepared statements of one connection.
#[derive(Default)]
pub(super) struct Statements {
    by_id: BTreeMap<u32, Statement>,
    last_id: u32,
}

struct Statement {
    /// As much of it as SHOW FULL PROCESSLIST shows.
    text: Box<str>,
    parameters: Parameters,
    shape: Option<Shape>,
    cursor: Option<Cursor>,
}

/// How the statement's rows are sent, kept while its columns stay the same.
struct Shape {
    columns: Arc<[ResultColumn]>,
    json_as: JsonAs,
    definitions: CopiedPackets,
    encoder: RowEncoder,
}

impl Shape {
    fn is_of(&self, columns: &Arc<[ResultColumn]>, json_as: JsonAs) -> bool {
        Arc::ptr_eq(&self.columns, columns) && self.json_as == json_as
    }

    /// Whether there is memory to keep it for the next time; if not, it is made again then.
    fn may_be_kept(&self) -> bool {
        ceiling::drip("the columns of a statement", self.definitions.bytes_count()).is_ok()
    }
}

impl Statements {
    fn resolve(&self, id: u32) -> u32 {
        if id == LAST_STATEMENT_ID {
            self.last_id
        } else {
            id
        }
    }

    fn find(&mut self, id: u32, command: &str) -> Result<&mut Statement> {
        let id = self.resolve(id);
        self.by_id.get_mut(&id).ok_or_else(|| unknown(id, command))
    }

    /// The text of a statement, to be shown to people.
    pub(super) fn text(&self, id: u32) -> &str {
        let statement = self.by_id.get(&self.resolve(id));
        statement.map_or("", |statement| &statement.text)
    }

    /// Appends `data` to a parameter, of at most `bytes_max` in all. Never answered: a statement
    /// that is not there is passed over in silence.
    pub(super) fn append_long_data(&mut self, id: u32, parameter: u16, data: (&[u8], usize)) {
        let (data, bytes_max) = data;
        if let Ok(statement) = self.find(id, "SEND_LONG_DATA") {
            statement
                .parameters
                .append_long_data(parameter, data, bytes_max);
        }
    }

    /// Has the next EXECUTE of a statement fail whose long data cannot be kept. In silence, too.
    pub(super) fn fail_long_data(&mut self, id: u32, error: Error) {
        if let Ok(statement) = self.find(id, "SEND_LONG_DATA") {
            statement.parameters.fail_long_data(error);
        }
    }

    /// A PREPARE was not carried out: what its client calls the last one is none.
    pub(super) fn forget_last(&mut self) {
        self.last_id = NO_STATEMENT_ID;
    }

    fn cursors_count(&self) -> usize {
        self.by_id
            .values()
            .filter(|statement| statement.cursor.is_some())
            .count()
    }
}

fn unknown(id: u32, command: &str) -> Error {
    let text = format!("Unknown prepared statement handler ({id}) given to {command}");
    Error::new(Code::UnknownStatement, text)
}

impl Talk {
    /// `COM_STMT_PREPARE`.
    pub(super) fn prepare(&mut self, text: &[u8]) {
        let prepared = self.try_prepare(text);
        self.refresh();
        match prepared {
            Ok(prepared) => self.send_prepared(&prepared),
            Err(error) => self.wire.error(&error),
        }
    }

    fn try_prepare(&mut self, text: &[u8]) -> Result<Prepared> {
        // What fails is the last one, too: MariaDB's clients run it by this number without waiting for an answer.
        self.statements.forget_last();
        let prepared = self.session.prepare(text)?;
        let statement = Statement {
            text: processes::shown(text).into(),
            parameters: Parameters::new(prepared.parameters_count),
            shape: None,
            cursor: None,
        };
        self.statements.by_id.insert(prepared.id, statement);
        self.statements.last_id = prepared.id;
        Ok(prepared)
    }

    fn send_prepared(&mut self, prepared: &Prepared) {
        let columns = &prepared.columns;
        let columns_count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
        let parameters_count = prepared.parameters_count;
        self.wire.out.packet(|out| {
            reply::put_prepared(out, prepared.id, columns_count, parameters_count);
        });
        if 0 < parameters_count {
            for _ in 0..parameters_count {
                self.wire.out.packet(column::put_parameter);
            }
            self.wire.end_of_columns(self.state.status);
        }
        if 0 < columns_count {
            let json_as = self.state.json_as;
            for result_column in columns.iter() {
                self.wire
                    .out
                    .packet(|out| column::put_column(out, result_column, json_as));
            }
            self.wire.end_of_columns(self.state.status);
        }
    }

    /// `COM_STMT_EXECUTE`.
    pub(super) async fn execute(&mut self, execute: Execute<'_>) -> std::result::Result<(), Gone> {
        let id = self.statements.resolve(execute.id);
        let layout = if self.wire.capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
            let is_counted = execute.is_counted;
            Layout::Named { is_counted }
        } else {
            Layout::Plain
        };
        let decoded = match self.statements.find(id, "EXECUTE") {
            Ok(statement) => {
                if let Some(cursor) = statement.cursor.take() {
                    cursor.end(&mut self.session, None);
                }
                statement.parameters.decode(execute.parameters, layout)
            }
            Err(error) => Err(error),
        };
        let Decoded { values, attributes } = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                self.error(&error);
                return Ok(());
            }
        };
        self.session.set_attributes(named(attributes));
        let values = values.into_iter().map(Value::into_owned).collect();
        let reply = self.session.execute(id, values);
        let replied = match &mut self.reports {
            None => reply.await,
            Some(reports) => reports.send_until(&mut self.wire, reply).await,
        };
        self.refresh();
        match replied {
            Ok(Reply::Done(done)) => self.done(&done, false),
            Ok(Reply::Rows(set)) if execute.wants_cursor => self.open_cursor(id, set),
            Ok(Reply::Rows(set)) => self.binary_rows(id, set).await?,
            Ok(Reply::File(_)) => {
                let error = Error::internal("a prepared statement wants a file");
                self.session.fail_rows(0, &error);
                self.wire.error(&error);
            }
            Err(error) => self.wire.error(&error),
        }
        Ok(())
    }

    async fn binary_rows(&mut self, id: u32, set: ResultSet) -> std::result::Result<(), Gone> {
        let ResultSet {
            columns,
            zone,
            mut rows,
        } = set;
        let kept = self
            .statements
            .by_id
            .get_mut(&id)
            .and_then(|kept| kept.shape.take());
        let json_as = self.state.json_as;
        let is_known = kept
            .as_ref()
            .is_some_and(|kept| kept.is_of(&columns, json_as));
        let shape = put_shape(&mut self.wire, columns, (kept, json_as));
        self.wire.end_of_columns(self.state.status);
        let with = (&shape.encoder, &zone);
        let streamed = rows::stream(&mut self.wire, with, rows.as_mut()).await;
        drop(rows);
        let streamed = streamed.map_err(|broken| self.broken(broken))?;
        self.end_rows(streamed, false);
        if let Some(statement) = self.statements.by_id.get_mut(&id)
            && (is_known || shape.may_be_kept())
        {
            statement.shape = Some(shape);
        }
        Ok(())
    }

    /// Answers with the columns; the rows wait to be fetched.
    fn open_cursor(&mut self, id: u32, set: ResultSet) {
        if CURSORS_MAX <= self.statements.cursors_count() {
            let text = format!("too many open cursors: the most is {CURSORS_MAX}");
            let error = Error::new(Code::TooManyStatements, text);
            self.session.fail_rows(0, &error);
            self.wire.error(&error);
            return;
        }
        let fetching = self.session.open_rows();
        rows::put_definitions(&mut self.wire.out, &set.columns, self.state.json_as);
        self.wire
            .end_of_rows(self.state.status.with(Status::CURSOR_EXISTS), 0);
        if let Ok(statement) = self.statements.find(id, "EXECUTE") {
            statement.cursor = Some(Cursor::new(set, fetching));
        }
    }

    /// `COM_STMT_FETCH`.
    pub(super) async fn fetch(&mut self, id: u32, rows_max: u32) -> std::result::Result<(), Gone> {
        let cursor = match self.statements.find(id, "FETCH") {
            Ok(statement) => statement.cursor.as_mut().ok_or_else(|| no_cursor(id)),
            Err(error) => Err(error),
        };
        let fetched = match cursor {
            Ok(cursor) => {
                self.session.begin_fetch(&mut cursor.fetching);
                let fetched = cursor.fetch(&mut self.wire, rows_max).await;
                self.session.end_fetch(&mut cursor.fetching);
                fetched
            }
            Err(error) => {
                self.error(&error);
                return Ok(());
            }
        };
        match fetched {
            Ok(Fetched::More) => {
                let status = self.state.status.with(Status::CURSOR_EXISTS);
                self.wire.end_of_rows(status, 0);
            }
            Ok(Fetched::Last { warnings_count }) => {
                self.close_cursor(id, None);
                let status = self.state.status.with(Status::LAST_ROW_SENT);
                self.wire.end_of_rows(status, warnings_count);
            }
            Ok(Fetched::Failed(error)) => {
                self.close_cursor(id, Some(&error));
                self.wire.error(&error);
            }
            Err(gone) => {
                self.close_cursor(id, Some(&Stop::ClientLost.error()));
                return Err(gone);
            }
        }
        Ok(())
    }

    /// The rows of a cursor have ended, or those that were wanted of them.
    fn close_cursor(&mut self, id: u32, error: Option<&Error>) {
        let statement = self.statements.find(id, "FETCH").ok();
        let cursor = statement.and_then(|statement| statement.cursor.take());
        if let Some(cursor) = cursor {
            let rows_count = cursor.end(&mut self.session, error);
            self.session.returned(rows_count);
            self.refresh();
        }
    }

    /// `COM_STMT_CLOSE`.
    pub(super) fn close_statement(&mut self, id: u32) {
        if let Some(statement) = self.statements.by_id.remove(&id) {
            if let Some(cursor) = statement.cursor {
                cursor.end(&mut self.session, None);
            }
            self.session.close_statement(id);
        }
    }

    /// Forgets all statements.
    pub(super) fn clear_statements(&mut self) {
        let statements = std::mem::take(&mut self.statements);
        for statement in statements.by_id.into_values() {
            if let Some(cursor) = statement.cursor {
                cursor.end(&mut self.session, None);
            }
        }
    }

    /// `COM_STMT_RESET`.
    pub(super) fn reset_statement(&mut self, id: u32) {
        self.close_cursor(id, None);
        let found = self.statements.find(id, "RESET");
        let reset = found.map(|statement| statement.parameters.clear_long_data());
        self.ok_or_error(reset);
    }
}

fn no_cursor(id: u32) -> Error {
    Error::new(
        Code::NoOpenCursor,
        format!("The statement ({id}) has no open cursor."),
    )
}

/// Appends the definitions of the columns, encoded before if they have not changed.
fn put_shape(
    wire: &mut Wire,
    columns: Arc<[ResultColumn]>,
    kept: (Option<Shape>, JsonAs),
) -> Shape {
    let (shape, json_as) = kept;
    if let Some(shape) = shape
        && shape.is_of(&columns, json_as)
        && wire.out.append_packets(&shape.definitions)
    {
        return shape;
    }
    let (start, first_sequence) = (wire.out.bytes_count(), wire.out.sequence());
    rows::put_definitions(&mut wire.out, &columns, json_as);
    Shape {
        definitions: wire.out.copy_since(start, first_sequence),
        encoder: RowEncoder::binary(columns.iter().map(|column| &column.ty)),
        columns,
        json_as,
    }
}
