//! A small synchronous MySQL client for tests and benches: text protocol, empty password,
//! both forms of result-set end. Shared by the slt runner, the crash test and the load generator.
//!
//! It is not a driver: no TLS, no passwords, no compression. Source of the packet forms: MySQL
//! 8.0 source documentation, chapter "Client/Server Protocol".

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a read may wait; longer than any statement of a test should take.
const READ_TIMEOUT: Duration = Duration::from_mins(2);
/// A payload of this length is continued in the next packet.
const PACKET_BYTES_MAX: usize = 0xFF_FFFF;

const LONG_PASSWORD: u32 = 0x1;
const LONG_FLAG: u32 = 0x4;
const CONNECT_WITH_DB: u32 = 0x8;
const PROTOCOL_41: u32 = 0x200;
const TRANSACTIONS: u32 = 0x2000;
const SECURE_CONNECTION: u32 = 0x8000;
const PLUGIN_AUTH: u32 = 0x8_0000;
const DEPRECATE_EOF: u32 = 0x100_0000;
/// The collation of the hello packet: `utf8mb4_bin`.
const UTF8MB4_BIN: u8 = 46;

pub(crate) const COM_QUERY: u8 = 0x03;

/// One connection, and the bytes read ahead on it.
pub(crate) struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    input_at: usize,
    output: Vec<u8>,
    deprecate_eof: bool,
    /// The id that `KILL` takes.
    pub(crate) connection_id: u32,
}

/// Whether result sets end in an EOF packet (old) or in an OK packet (new).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndForm {
    Eof,
    Ok,
}

/// The answer to a statement that did not fail.
#[derive(Debug)]
pub(crate) enum Answer {
    Done(Done),
    Rows(Rows),
}

/// What an OK packet says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) affected_rows: u64,
}

/// A result set; cells in row order, `None` for NULL.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) columns_count: usize,
    pub(crate) cells: Vec<Option<Vec<u8>>>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server said no.
    Server {
        errno: u16,
        state: String,
        text: String,
    },
    /// The connection broke; whether the statement took place is unknown.
    Lost(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Server { errno, state, text } => write!(f, "ERROR {errno} ({state}): {text}"),
            Failure::Lost(error) => write!(f, "connection lost: {error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Lost(error)
    }
}

fn broken(what: &str) -> Failure {
    Failure::Lost(io::Error::new(io::ErrorKind::InvalidData, what.to_owned()))
}

impl Client {
    /// Connects as `root` without a password.
    pub(crate) fn connect(address: &str, database: &str, end: EndForm) -> Result<Client, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let mut client = Client {
            stream,
            input: Vec::with_capacity(1 << 16),
            input_at: 0,
            output: Vec::with_capacity(1 << 12),
            deprecate_eof: false,
            connection_id: 0,
        };
        client.handshake(database, end)?;
        Ok(client)
    }

    fn handshake(&mut self, database: &str, end: EndForm) -> Result<(), Failure> {
        let (sequence, greeting) = self.read_packet()?;
        check_error(&greeting)?;
        let mut greeting = Bytes(&greeting);
        greeting.skip(1)?;
        greeting.until_zero()?;
        self.connection_id = greeting.fixed_u32()?;
        greeting.skip(9)?;
        let offered_low = u32::from(greeting.fixed_u16()?);
        greeting.skip(3)?;
        let offered = offered_low | (u32::from(greeting.fixed_u16()?) << 16);
        greeting.skip(1 + 10 + 13)?;
        let plugin = greeting.until_zero().unwrap_or(b"mysql_native_password");
        let mut flags = LONG_PASSWORD | LONG_FLAG | PROTOCOL_41 | TRANSACTIONS;
        flags |= SECURE_CONNECTION | PLUGIN_AUTH;
        if end == EndForm::Ok {
            flags |= DEPRECATE_EOF & offered;
        }
        if !database.is_empty() {
            flags |= CONNECT_WITH_DB;
        }
        self.deprecate_eof = flags & DEPRECATE_EOF != 0;
        let mut hello = Vec::new();
        hello.extend_from_slice(&flags.to_le_bytes());
        hello.extend_from_slice(&(1_u32 << 30).to_le_bytes());
        hello.push(UTF8MB4_BIN);
        hello.extend_from_slice(&[0; 23]);
        hello.extend_from_slice(b"root\0\0");
        if !database.is_empty() {
            hello.extend_from_slice(database.as_bytes());
            hello.push(0);
        }
        hello.extend_from_slice(plugin);
        hello.push(0);
        self.write_packet(sequence.wrapping_add(1), &hello)?;
        self.finish_authentication()
    }

    /// Answers what the server asks until it is content: an empty password has an empty proof.
    fn finish_authentication(&mut self) -> Result<(), Failure> {
        loop {
            let (sequence, packet) = self.read_packet()?;
            check_error(&packet)?;
            match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xFE) => self.write_packet(sequence.wrapping_add(1), &[])?,
                Some(0x01) => {}
                _ => return Err(broken("unexpected packet while authenticating")),
            }
        }
    }

    /// Runs one statement.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.command(COM_QUERY, sql.as_bytes())?;
        self.read_answer()
    }

    /// Runs a statement that returns no rows.
    pub(crate) fn execute(&mut self, sql: &str) -> Result<Done, Failure> {
        match self.query(sql)? {
            Answer::Done(done) => Ok(done),
            Answer::Rows(_) => Err(broken("rows where none were expected")),
        }
    }

    /// Runs a statement that returns rows, as text.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let Answer::Rows(rows) = self.query(sql)? else {
            return Err(broken("no rows where some were expected"));
        };
        let text = |cell: &Option<Vec<u8>>| {
            cell.as_ref()
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        Ok(rows
            .cells
            .chunks(rows.columns_count.max(1))
            .map(|row| row.iter().map(text).collect())
            .collect())
    }

    /// Sends a command byte and its payload, as a new exchange.
    pub(crate) fn command(&mut self, command: u8, payload: &[u8]) -> Result<(), Failure> {
        let mut body = std::mem::take(&mut self.output);
        body.clear();
        body.push(command);
        body.extend_from_slice(payload);
        let sent = self.write_packet(0, &body);
        self.output = body;
        sent
    }

    /// Reads the answer to a `COM_QUERY`.
    pub(crate) fn read_answer(&mut self) -> Result<Answer, Failure> {
        let (_, first) = self.read_packet()?;
        check_error(&first)?;
        if first.first() == Some(&0) {
            let mut ok = Bytes(&first);
            ok.skip(1)?;
            let affected_rows = ok.length()?;
            return Ok(Answer::Done(Done { affected_rows }));
        }
        let columns_count = usize::try_from(Bytes(&first).length()?).unwrap_or(usize::MAX);
        for _ in 0..columns_count {
            self.read_packet()?;
        }
        if !self.deprecate_eof {
            self.read_packet()?;
        }
        let mut rows = Rows {
            columns_count,
            cells: Vec::new(),
        };
        while self.read_row(&mut rows)? {}
        Ok(Answer::Rows(rows))
    }

    /// Appends one row; false when the result set has ended instead.
    fn read_row(&mut self, rows: &mut Rows) -> Result<bool, Failure> {
        let (_, packet) = self.read_packet()?;
        check_error(&packet)?;
        if is_end(&packet) {
            return Ok(false);
        }
        let mut row = Bytes(&packet);
        for _ in 0..rows.columns_count {
            rows.cells.push(row.text_cell()?);
        }
        Ok(true)
    }

    /// The bare connection, for a caller that goes on in its own way between two exchanges.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Whether rows end in an OK packet rather than in EOF.
    pub(crate) fn deprecates_eof(&self) -> bool {
        self.deprecate_eof
    }

    /// One whole payload, of however many packets, and the last sequence number.
    pub(crate) fn read_packet(&mut self) -> Result<(u8, Vec<u8>), Failure> {
        let mut payload = Vec::new();
        loop {
            self.fill(4)?;
            let header = self.taken(4);
            let size = header[0] as usize | (header[1] as usize) << 8 | (header[2] as usize) << 16;
            let sequence = header[3];
            self.fill(size)?;
            payload.extend_from_slice(self.taken(size));
            if size < PACKET_BYTES_MAX {
                return Ok((sequence, payload));
            }
        }
    }

    /// Reads until `wanted` bytes lie ahead.
    fn fill(&mut self, wanted: usize) -> Result<(), Failure> {
        let ahead = self.input.len() - self.input_at;
        if wanted <= ahead {
            return Ok(());
        }
        self.input.drain(..self.input_at);
        self.input_at = 0;
        let mut have = ahead;
        self.input.resize(wanted.max(1 << 16), 0);
        while have < wanted {
            let read = match self.stream.read(&mut self.input[have..]) {
                // A read that has a timeout is not begun again by the system (signal(7)).
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                self.input.truncate(have);
                return Err(Failure::Lost(io::ErrorKind::UnexpectedEof.into()));
            }
            have += read;
        }
        self.input.truncate(have);
        Ok(())
    }

    fn taken(&mut self, size: usize) -> &[u8] {
        let start = self.input_at;
        self.input_at += size;
        &self.input[start..self.input_at]
    }

    fn write_packet(&mut self, mut sequence: u8, payload: &[u8]) -> Result<(), Failure> {
        let mut framed = Vec::with_capacity(payload.len() + 8);
        let mut rest = payload;
        loop {
            let size = rest.len().min(PACKET_BYTES_MAX);
            let (now, later) = rest.split_at(size);
            let length = u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes();
            framed.extend_from_slice(&length[..3]);
            framed.push(sequence);
            framed.extend_from_slice(now);
            rest = later;
            sequence = sequence.wrapping_add(1);
            if size < PACKET_BYTES_MAX {
                break;
            }
        }
        Ok(self.stream.write_all(&framed)?)
    }
}

/// Whether a packet ends a result set, in either form.
pub(crate) fn is_end(packet: &[u8]) -> bool {
    packet.first() == Some(&0xFE) && packet.len() < PACKET_BYTES_MAX && packet.len() < 9
        || packet.first() == Some(&0xFE) && packet.len() < 0xFFFF && packet.get(1) == Some(&0)
}

/// Turns an ERR packet into the failure it tells.
pub(crate) fn check_error(packet: &[u8]) -> Result<(), Failure> {
    if packet.first() != Some(&0xFF) {
        return Ok(());
    }
    let mut error = Bytes(packet);
    error.skip(1)?;
    let errno = error.fixed_u16()?;
    let rest = error.0;
    let (state, text) = match rest.first() {
        Some(b'#') if 6 <= rest.len() => rest[1..].split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    Err(Failure::Server {
        errno,
        state: String::from_utf8_lossy(state).into_owned(),
        text: String::from_utf8_lossy(text).into_owned(),
    })
}

/// A cursor over a packet.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], Failure> {
        let (taken, rest) = self
            .0
            .split_at_checked(size)
            .ok_or_else(|| broken("packet is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn skip(&mut self, size: usize) -> Result<(), Failure> {
        self.take(size).map(|_| ())
    }

    /// So many bytes.
    pub(crate) fn fixed(&mut self, size: usize) -> Result<&'a [u8], Failure> {
        self.take(size)
    }

    pub(crate) fn fixed_u16(&mut self) -> Result<u16, Failure> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub(crate) fn fixed_u32(&mut self) -> Result<u32, Failure> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn until_zero(&mut self) -> Result<&'a [u8], Failure> {
        let size = self
            .0
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(|| broken("text without its end"))?;
        let text = self.take(size)?;
        self.skip(1)?;
        Ok(text)
    }

    /// A length-encoded integer.
    pub(crate) fn length(&mut self) -> Result<u64, Failure> {
        let first = self.take(1)?[0];
        let size = match first {
            0xFC => 2,
            0xFD => 3,
            0xFE => 8,
            _ => return Ok(u64::from(first)),
        };
        let mut wide = [0_u8; 8];
        wide[..size].copy_from_slice(self.take(size)?);
        Ok(u64::from_le_bytes(wide))
    }

    /// One cell of a text row.
    pub(crate) fn text_cell(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.0.first() == Some(&0xFB) {
            self.skip(1)?;
            return Ok(None);
        }
        let size = usize::try_from(self.length()?).unwrap_or(usize::MAX);
        Ok(Some(self.take(size)?.to_vec()))
    }
}
