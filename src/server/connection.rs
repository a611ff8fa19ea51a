//! One connection, from accept to end: login, then commands in the order they come.
//!
//! Everything of a connection runs in its one task; a point read switches to no other. Hot: the
//! way from [`Connection::serve_commands`] to the session and back must not allocate.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::listener::Context;
use super::local_file::{self, Wanted};
use super::login::{Entered, Guest, host_name, place_name};
use super::long;
use super::peer::{self, SocketPeer};
use super::prepared::Statements;
use super::reports::Reports;
use super::seats::Seat;
use super::wire::{Gone, Wire};
use crate::error::{Code, Error};
use crate::exec::cancel::Stop;
use crate::exec::pace::Pace;
use crate::protocol::auth::FirstAnswer;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::flush_statement;
use crate::protocol::handshake::{HELLO_BYTES_MAX, Login};
use crate::protocol::packet::PacketReader;
use crate::protocol::parameters::Attribute;
use crate::protocol::reply::Outcome;
use crate::protocol::{Command, Salt};
use crate::session::processes::{self, Registration};
use crate::session::{Client, Session, WireState};
use crate::types::Value;

/// The sequence number every command begins with.
const COMMAND_SEQUENCE: u8 = 0;

/// Serves one client until it leaves or is asked to.
pub(super) async fn serve(
    context: Arc<Context>,
    socket: TcpStream,
    (address, full): (SocketAddr, Option<Error>),
) {
    peer::set_options(&socket);
    let socket = Arc::new(socket);
    let peer = Box::new(SocketPeer(Arc::clone(&socket)));
    let registration = context
        .shared
        .processes()
        .register(place_name(address), peer);
    let wire = Wire::new(socket, Arc::clone(registration.cancel()));
    let id = registration.id();
    let arrival = Arrival { address, full };
    let shared = Arc::clone(&context.shared);
    let entered = Connection::enter(context, registration, wire, arrival);
    // In memory of its own: a connection that waits holds no login.
    let gone = match Box::pin(entered).await {
        Ok(mut connection) => {
            let gone = connection.run().await;
            connection.talk.clear_statements();
            connection.talk.session.close().await;
            gone
        }
        Err(gone) => gone,
    };
    let told = if let Gone::Refused(error) = &gone {
        Some(error.clone())
    } else {
        gone.last_words()
    };
    if let Some(error) = told {
        shared.monitor().counts.note_error(error.code());
    }
    if matches!(gone, Gone::Refused(_) | Gone::Desync(_) | Gone::NoMemory(_)) {
        tracing::info!(id, %address, %gone, "connection ended");
    } else {
        tracing::debug!(id, %address, %gone, "connection ended");
    }
}

/// How a client came.
#[derive(Debug)]
struct Arrival {
    address: SocketAddr,
    /// Why there is room for nobody but those who can make some.
    full: Option<Error>,
}

struct Connection {
    /// Its account's: given back when the connection ends.
    seat: Option<Seat>,
    context: Arc<Context>,
    reader: PacketReader,
    salt: Salt,
    address: SocketAddr,
    talk: Talk,
}

/// All that answers a command; apart from the reader, which lends it the command.
pub(super) struct Talk {
    pub(super) wire: Wire,
    /// Set for clients that read them.
    pub(super) reports: Option<Reports>,
    pub(super) session: Session,
    pub(super) statements: Statements,
    pub(super) registration: Registration,
    pub(super) context: Arc<Context>,
    pub(super) state: WireState,
}

/// What comes after a command.
pub(super) enum Next {
    Command,
    Quit,
    ChangeUser(Box<Login>),
    /// The client is to send a file; the command has not ended.
    File(Wanted),
}

impl Connection {
    async fn enter(
        context: Arc<Context>,
        registration: Registration,
        mut wire: Wire,
        arrival: Arrival,
    ) -> Result<Connection, Gone> {
        let address = arrival.address;
        let mut reader = PacketReader::new(HELLO_BYTES_MAX);
        let salt = Salt::random();
        let entering = async {
            let mut guest = Guest {
                context: &context,
                wire: &mut wire,
                reader: &mut reader,
                salt: &salt,
                address: address.ip(),
            };
            let hello = guest.hello(registration.id()).await?;
            let login = hello.login;
            let first = FirstAnswer::of_hello(login.plugin.as_deref(), &login.response);
            let entered = guest.prove(&login, first).await?;
            if let Some(error) = arrival.full.filter(|_| !entered.is_admin) {
                return Err(guest.wire.refuse(error).await);
            }
            Ok((login, entered, hello.reads_progress))
        };
        let entered = timeout(context.connect_timeout(), entering).await;
        let (login, entered, reads_progress) = match entered.unwrap_or_else(|_| Err(timed_out())) {
            Ok(entered) => entered,
            Err(gone) => {
                wire.last_words(&gone);
                return Err(gone);
            }
        };
        let reports = reads_progress.then(Reports::new);
        let client = Client {
            progress: reports.as_ref().map(Reports::sender),
            ..client(&login, &entered, (&wire, &registration), address)
        };
        let cancel = Arc::clone(registration.cancel());
        let session = match Session::new(&context.shared, client, &cancel) {
            Ok(session) => session,
            Err(error) => return Err(wire.refuse(error).await),
        };
        let talk = Talk {
            wire,
            reports,
            state: session.wire_state(),
            session,
            statements: Statements::default(),
            registration,
            context: Arc::clone(&context),
        };
        let mut connection = Connection {
            seat: Some(entered.seat),
            context,
            reader,
            salt,
            address,
            talk,
        };
        connection.begin_session(&login).await?;
        connection.begin_compression().await?;
        Ok(connection)
    }

    /// Compresses from the OK on, if that was agreed upon.
    async fn begin_compression(&mut self) -> Result<(), Gone> {
        if self.talk.wire.algorithm.is_some() {
            self.talk.wire.flush().await?;
            self.talk.wire.begin_compression(&mut self.reader);
        }
        Ok(())
    }

    /// Makes the wanted database current and says OK.
    async fn begin_session(&mut self, login: &Login) -> Result<(), Gone> {
        let talk = &mut self.talk;
        talk.registration.set_user(&login.user);
        if let Some(database) = &login.database
            && let Err(error) = talk.session.use_database(database)
        {
            return Err(talk.wire.refuse(error).await);
        }
        talk.refresh();
        talk.database_may_differ();
        talk.ok();
        talk.end_command();
        self.reader
            .set_packet_bytes_max(talk.state.packet_bytes_max);
        Ok(())
    }

    async fn run(&mut self) -> Gone {
        let gone = loop {
            match self.serve_commands().await {
                // Files were received where they were wanted.
                Ok(Next::Command | Next::File(_)) => {}
                Ok(Next::Quit) => break Gone::Closed,
                Ok(Next::ChangeUser(login)) => {
                    if let Err(gone) = self.change_user(&login).await {
                        break gone;
                    }
                }
                Err(gone) => break gone,
            }
        };
        self.talk.wire.unasked_last_words(&gone);
        gone
    }

    /// Answers all commands that are there, sends the answers, and waits for more.
    async fn serve_commands(&mut self) -> Result<Next, Gone> {
        loop {
            // A client that sends many at once takes turns with others.
            let mut pace = Pace::default();
            while let Some(packet) = self.reader.next(COMMAND_SEQUENCE)? {
                self.talk.wire.answer(packet.sequence);
                let next = if let Some(payload) = self.reader.payload(&packet) {
                    let command = pin!(self.talk.command(payload));
                    long::when_long(command).await?
                } else {
                    let refusal = self.reader.want_of_memory(&packet);
                    let refusal =
                        refusal.unwrap_or_else(|| too_large(self.reader.packet_bytes_max()));
                    self.talk.refuse(self.reader.head(&packet), refusal);
                    Next::Command
                };
                match next {
                    Next::Command => {}
                    Next::File(wanted) => {
                        let (talk, reader) = (&mut self.talk, &mut self.reader);
                        Box::pin(local_file::receive(talk, reader, wanted)).await?;
                    }
                    next @ (Next::Quit | Next::ChangeUser(_)) => return Ok(next),
                }
                self.talk.wire.flush_if_full().await?;
                pace.keep().await;
                self.reader
                    .set_packet_bytes_max(self.talk.state.packet_bytes_max);
                if let Some(stop) = self.talk.registration.cancel().ends_connection() {
                    // Who is killed by another hears nothing: an error would be taken for one of
                    // the statement alone, and the connection for a living one.
                    if stop != Stop::Connection {
                        self.talk.wire.flush().await?;
                    }
                    return Err(Gone::Stopped(stop));
                }
            }
            self.talk.wire.flush().await?;
            self.talk.wire.shrink();
            self.reader.shrink();
            self.talk.wire.fill(&mut self.reader).await?;
        }
    }

    /// A new session for a user who must prove itself; the old one is rolled back.
    async fn change_user(&mut self, login: &Login) -> Result<(), Gone> {
        let talk = &mut self.talk;
        talk.clear_statements();
        talk.session.close().await;
        self.seat = None;
        let mut guest = Guest {
            context: &self.context,
            wire: &mut talk.wire,
            reader: &mut self.reader,
            salt: &self.salt,
            address: self.address.ip(),
        };
        let first = FirstAnswer::of_change_user(login.plugin.as_deref(), &login.response);
        let proving = guest.prove(login, first);
        let proven = timeout(self.context.connect_timeout(), proving).await;
        let entered = proven.unwrap_or_else(|_| Err(timed_out()))?;
        let client = Client {
            progress: talk.reports.as_ref().map(Reports::sender),
            ..client(
                login,
                &entered,
                (&talk.wire, &talk.registration),
                self.address,
            )
        };
        let cancel = Arc::clone(talk.registration.cancel());
        talk.session =
            Session::new(&self.context.shared, client, &cancel).map_err(Gone::Refused)?;
        self.seat = Some(entered.seat);
        self.begin_session(login).await
    }
}

impl Talk {
    /// Answers one command.
    async fn command(&mut self, payload: &[u8]) -> Result<Next, Gone> {
        self.registration.cancel().begin_statement();
        let command = match Command::parse(payload, self.wire.capabilities) {
            Ok(command) => command,
            Err(error) => {
                self.error(&error);
                return Ok(Next::Command);
            }
        };
        self.registration
            .begin(command.name(), &self.text_of(&command));
        let next = self.answer(command).await;
        if !matches!(next, Ok(Next::File(_))) {
            self.end_command();
        }
        next
    }

    /// Answers a command that was not read, of which only the head is there. Long data has no answer: an
    /// error would be taken for that of the next command.
    fn refuse(&mut self, head: &[u8], refusal: Error) {
        match Command::parse(head, self.wire.capabilities) {
            Ok(Command::StmtSendLongData { id, .. }) => {
                self.statements.fail_long_data(id, refusal);
            }
            Ok(Command::StmtPrepare(_)) => {
                self.statements.forget_last();
                self.error(&refusal);
            }
            Ok(_) | Err(_) => self.error(&refusal),
        }
    }

    pub(super) fn end_command(&self) {
        self.registration.end(self.state.wait_timeout);
    }

    fn text_of<'a>(&'a self, command: &Command<'a>) -> Cow<'a, str> {
        match command {
            Command::Query(query) => processes::shown(query.text),
            Command::StmtPrepare(text) => processes::shown(text),
            Command::StmtExecute(execute) => self.statements.text(execute.id).into(),
            Command::StmtFetch { id, .. } => self.statements.text(*id).into(),
            Command::InitDb(_)
            | Command::Quit
            | Command::FieldList { .. }
            | Command::Refresh(_)
            | Command::Statistics
            | Command::ProcessInfo
            | Command::ProcessKill(_)
            | Command::Ping
            | Command::ChangeUser(_)
            | Command::ResetConnection
            | Command::StmtSendLongData { .. }
            | Command::StmtClose(_)
            | Command::StmtReset(_)
            | Command::SetMultiStatements(_) => "".into(),
        }
    }

    async fn answer(&mut self, command: Command<'_>) -> Result<Next, Gone> {
        match command {
            Command::Quit => return Ok(Next::Quit),
            Command::ChangeUser(body) => return Ok(self.begin_change_user(body)),
            Command::Query(query) => {
                self.session.set_attributes(named(query.attributes));
                if let Some(wanted) = self.query(query.text).await? {
                    return Ok(Next::File(wanted));
                }
            }
            Command::InitDb(name) => self.init_db(name),
            Command::FieldList { table, wildcard } => self.field_list(table, wildcard),
            Command::Refresh(bits) => drop(self.query(flush_statement(bits).as_bytes()).await?),
            Command::Statistics => self.statistics(),
            Command::ProcessInfo => drop(self.query(b"SHOW PROCESSLIST").await?),
            Command::ProcessKill(id) => drop(self.query(format!("KILL {id}").as_bytes()).await?),
            Command::Ping => self.ok(),
            Command::ResetConnection => self.reset_connection().await,
            Command::SetMultiStatements(allowed) => self.set_multi_statements(allowed),
            Command::StmtPrepare(text) => self.prepare(text),
            Command::StmtExecute(execute) => self.execute(execute).await?,
            Command::StmtSendLongData {
                id,
                parameter,
                data,
            } => {
                let bytes_max = self.state.packet_bytes_max;
                self.statements
                    .append_long_data(id, parameter, (data, bytes_max));
            }
            Command::StmtClose(id) => self.close_statement(id),
            Command::StmtReset(id) => self.reset_statement(id),
            Command::StmtFetch { id, rows_max } => self.fetch(id, rows_max).await?,
        }
        Ok(Next::Command)
    }

    fn begin_change_user(&mut self, body: &[u8]) -> Next {
        match Login::parse_change_user(body, self.wire.capabilities) {
            Ok(login) => Next::ChangeUser(Box::new(login)),
            Err(error) => {
                self.error(&error);
                Next::Command
            }
        }
    }

    /// Asks the session again for what the connection must know.
    pub(super) fn refresh(&mut self) {
        self.state = self.session.wire_state();
        self.wire.net_write_timeout = self.state.net_write_timeout;
        if self.session.take_database_news() {
            self.database_may_differ();
        }
        for change in self.session.take_changes() {
            self.wire.changes.add(change);
        }
    }

    /// An error that no statement has met, which counts those of statements.
    pub(super) fn error(&mut self, error: &Error) {
        let counts = &self.context.shared.monitor().counts;
        counts.note_error(error.code());
        self.wire.error(error);
    }

    /// An OK without news.
    pub(super) fn ok(&mut self) {
        self.wire.ok(&Outcome {
            status: self.state.status,
            ..Outcome::default()
        });
    }
}

/// Attributes with names that are text.
pub(super) fn named(attributes: Vec<Attribute<'_>>) -> Vec<(String, Value<'static>)> {
    let named = attributes.into_iter().map(|attribute| {
        let name = String::from_utf8_lossy(&attribute.name).into_owned();
        (name, attribute.value.into_owned())
    });
    named.collect()
}

fn client(
    login: &Login,
    entered: &Entered,
    (wire, registration): (&Wire, &Registration),
    address: SocketAddr,
) -> Client {
    let capabilities = wire.capabilities;
    Client {
        user: login.user.clone(),
        host: host_name(address.ip()),
        account: entered.account.clone(),
        expired: entered.expired,
        tls: wire.tls(),
        connection_id: registration.id(),
        found_rows: capabilities.has(Capabilities::FOUND_ROWS),
        multi_statements: capabilities.has(Capabilities::MULTI_STATEMENTS),
        local_files: capabilities.has(Capabilities::LOCAL_FILES),
        interactive: capabilities.has(Capabilities::INTERACTIVE),
        session_track: capabilities.has(Capabilities::SESSION_TRACK),
        compression: wire.algorithm,
        progress: None,
    }
}

/// 1040.
pub(super) fn too_many_connections() -> Error {
    Error::new(Code::TooManyConnections, "Too many connections")
}

fn timed_out() -> Gone {
    Gone::Failed(std::io::Error::from(std::io::ErrorKind::TimedOut))
}

pub(super) fn too_large(bytes_max: usize) -> Error {
    let text =
        format!("Got a packet bigger than 'max_allowed_packet' bytes: the most is {bytes_max}");
    Error::new(Code::PacketTooLarge, text)
}
