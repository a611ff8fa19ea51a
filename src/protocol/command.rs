//! A command packet, taken apart.
//!
//! Parameters of EXECUTE are not decoded here, because their number and types belong to the
//! statement: see [`super::parameters`].

use super::capabilities::Capabilities;
use super::parameters::{self, Attribute};
use super::wire::Reader;
use crate::error::{Code, Error, Result};

/// The statement id that stands for the statement prepared last (MariaDB's direct execution).
pub const LAST_STATEMENT_ID: u32 = u32::MAX;

/// What a client asks for.
#[derive(Debug, Clone)]
pub enum Command<'a> {
    /// Ends the connection.
    Quit,
    /// Makes a database current.
    InitDb(&'a [u8]),
    /// One or several statements.
    Query(Query<'a>),
    /// The columns of a table.
    FieldList {
        /// The table.
        table: &'a [u8],
        /// A LIKE pattern for the columns; empty means all.
        wildcard: &'a [u8],
    },
    /// FLUSH of what the bits stand for.
    Refresh(u8),
    /// One line about the server.
    Statistics,
    /// The running connections, as SHOW PROCESSLIST.
    ProcessInfo,
    /// KILL.
    ProcessKill(u32),
    /// Are you there.
    Ping,
    /// Logs in anew on the same connection; the body goes to `Login::parse_change_user`.
    ChangeUser(&'a [u8]),
    /// Forgets the session's state.
    ResetConnection,
    /// Prepares a statement.
    StmtPrepare(&'a [u8]),
    /// Executes a prepared statement.
    StmtExecute(Execute<'a>),
    /// Appends to a parameter; never answered.
    StmtSendLongData {
        /// The statement.
        id: u32,
        /// Which parameter, from 0.
        parameter: u16,
        /// What to append.
        data: &'a [u8],
    },
    /// Forgets a statement; never answered.
    StmtClose(u32),
    /// Drops a statement's long data and cursor.
    StmtReset(u32),
    /// Rows of an open cursor.
    StmtFetch {
        /// The statement.
        id: u32,
        /// At most this many.
        rows_max: u32,
    },
    /// Allows or forbids several statements in one query.
    SetMultiStatements(bool),
}

/// The text of a query, and what came with it.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// The statements.
    pub text: &'a [u8],
    /// Named values, of clients with [`Capabilities::QUERY_ATTRIBUTES`].
    pub attributes: Vec<Attribute<'a>>,
}

/// An EXECUTE, its parameters still encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement.
    pub id: u32,
    /// Whether the client wants to fetch the rows through a cursor.
    pub wants_cursor: bool,
    /// How many there are is said in front of the parameters, even when the statement has none.
    pub is_counted: bool,
    /// NULL bitmap, flag, types and values.
    pub parameters: &'a [u8],
}

/// The cursor flag of a read-only cursor, the only kind.
const CURSOR_READ_ONLY: u8 = 1;

/// The flag `PARAMETER_COUNT_AVAILABLE` of EXECUTE.
const COUNT_AVAILABLE: u8 = 8;

impl<'a> Command<'a> {
    /// Takes a command packet apart.
    ///
    /// # Errors
    /// 1047 when the command is unknown, 1835 when its packet ends early; for a query's attributes as
    /// [`parameters::Parameters::decode`].
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<Command<'a>> {
        let mut reader = Reader::new(payload);
        // An empty packet is a command that does not exist, as in MySQL.
        let code = reader.u8().unwrap_or(0);
        Ok(match code {
            0x01 => Command::Quit,
            0x02 => Command::InitDb(reader.remaining()),
            0x03 => Command::Query(Query::read(&mut reader, capabilities)?),
            0x04 => Command::FieldList {
                table: reader.nul_or_rest(),
                wildcard: reader.remaining(),
            },
            0x07 => Command::Refresh(refreshed(reader.u8()?)?),
            0x09 => Command::Statistics,
            0x0A => Command::ProcessInfo,
            0x0C => Command::ProcessKill(reader.u32()?),
            0x0E => Command::Ping,
            0x11 => Command::ChangeUser(reader.remaining()),
            0x16 => Command::StmtPrepare(statement_text(&mut reader)),
            0x17 => Command::StmtExecute(Execute::read(&mut reader)?),
            0x18 => Command::StmtSendLongData {
                id: reader.u32()?,
                parameter: reader.u16()?,
                data: reader.remaining(),
            },
            0x19 => Command::StmtClose(reader.u32()?),
            0x1A => Command::StmtReset(reader.u32()?),
            0x1B => Command::SetMultiStatements(multi_statements(reader.u16()?)?),
            0x1C => Command::StmtFetch {
                id: reader.u32()?,
                rows_max: reader.u32()?,
            },
            0x1F => Command::ResetConnection,
            other => return Err(unknown_command(other)),
        })
    }

    /// The name that SHOW PROCESSLIST shows.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Quit => "Quit",
            Command::InitDb(_) => "Init DB",
            Command::Query(_) => "Query",
            Command::FieldList { .. } => "Field List",
            Command::Refresh(_) => "Refresh",
            Command::Statistics => "Statistics",
            Command::ProcessInfo => "Processlist",
            Command::ProcessKill(_) => "Kill",
            Command::Ping => "Ping",
            Command::ChangeUser(_) => "Change user",
            Command::ResetConnection => "Reset Connection",
            Command::StmtPrepare(_) => "Prepare",
            Command::StmtExecute(_) => "Execute",
            Command::StmtSendLongData { .. } => "Long Data",
            Command::StmtClose(_) => "Close stmt",
            Command::StmtReset(_) => "Reset stmt",
            Command::StmtFetch { .. } => "Fetch",
            Command::SetMultiStatements(_) => "Set option",
        }
    }
}

impl<'a> Query<'a> {
    fn read(reader: &mut Reader<'a>, capabilities: Capabilities) -> Result<Query<'a>> {
        let attributes = if capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
            parameters::read_attributes(reader)?
        } else {
            Vec::new()
        };
        Ok(Query {
            text: statement_text(reader),
            attributes,
        })
    }
}

/// What is left, as a statement. Clients written in C may send the NUL byte that ends their string
/// (mysqlslap): it ends the statement in MySQL's lexer, too.
fn statement_text<'a>(reader: &mut Reader<'a>) -> &'a [u8] {
    let text = reader.remaining();
    text.strip_suffix(b"\0").unwrap_or(text)
}

impl<'a> Execute<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Execute<'a>> {
        let id = reader.u32()?;
        let flags = reader.u8()?;
        let _iterations = reader.u32()?;
        Ok(Execute {
            id,
            wants_cursor: flags & CURSOR_READ_ONLY != 0,
            is_counted: flags & COUNT_AVAILABLE != 0,
            parameters: reader.remaining(),
        })
    }
}

fn multi_statements(option: u16) -> Result<bool> {
    match option {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(Error::new(Code::UnknownCommand, "Unknown command")),
    }
}

/// The bits of `COM_REFRESH` for `RESET REPLICA` and `RESET MASTER`.
const REFRESH_REPLICATION: u8 = 0x40 | 0x80;

fn refreshed(bits: u8) -> Result<u8> {
    if bits & REFRESH_REPLICATION == 0 {
        return Ok(bits);
    }
    let text = "Unknown command: this server does not answer COM_REFRESH of replication: there is no \
                binary log";
    Err(Error::new(Code::UnknownCommand, text))
}

/// The statement that a `COM_REFRESH` stands for; nothing is kept of tables, hosts and threads that
/// could be out of date. Source: `include/mysql_com.h` of MySQL, `REFRESH_…`.
pub fn flush_statement(bits: u8) -> String {
    let all = [(0x01, "PRIVILEGES"), (0x02, "LOGS"), (0x10, "STATUS")];
    let asked = all.iter().filter(|(bit, _)| bits & bit != 0);
    let names: Vec<_> = asked.map(|(_, name)| *name).collect();
    if names.is_empty() {
        return "FLUSH TABLES".to_owned();
    }
    format!("FLUSH {}", names.join(", "))
}

/// Commands of MySQL that this server has nothing to answer with, by name and with what does it
/// here.
const REFUSED: &[(u8, &str, &str)] = &[
    (0x00, "COM_SLEEP", "it is of the server alone"),
    (0x05, "COM_CREATE_DB", "use CREATE DATABASE"),
    (0x06, "COM_DROP_DB", "use DROP DATABASE"),
    (0x08, "COM_SHUTDOWN", "send the process SIGTERM"),
    (0x0B, "COM_CONNECT", "it is of the server alone"),
    (0x0D, "COM_DEBUG", "there is no dump of its state"),
    (0x0F, "COM_TIME", "it is of the server alone"),
    (0x10, "COM_DELAYED_INSERT", "it is of the server alone"),
    (0x12, "COM_BINLOG_DUMP", "there is no binary log"),
    (0x13, "COM_TABLE_DUMP", "there is no replication"),
    (0x14, "COM_CONNECT_OUT", "there is no replication"),
    (0x15, "COM_REGISTER_SLAVE", "there is no replication"),
    (0x1D, "COM_DAEMON", "it is of the server alone"),
    (0x1E, "COM_BINLOG_DUMP_GTID", "there is no binary log"),
    (0x20, "COM_CLONE", "there is no clone plug-in"),
    (
        0x21,
        "COM_SUBSCRIBE_GROUP_REPLICATION_STREAM",
        "there is no replication",
    ),
];

fn unknown_command(code: u8) -> Error {
    let known = REFUSED.iter().find(|(refused, ..)| *refused == code);
    let text = match known {
        Some((_, name, why)) => {
            format!("Unknown command: this server does not answer {name}: {why}")
        }
        None => format!("Unknown command: there is no command {code}"),
    };
    Error::new(Code::UnknownCommand, text)
}
