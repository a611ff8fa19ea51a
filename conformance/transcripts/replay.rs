//! Sends what a client sent, and reads the answers as far as to know whether they are errors.

use crate::client::{self, Bytes, Client, EndForm, Failure};
use crate::transcript::Sent;

const COM_INIT_DB: u8 = 0x02;
const COM_FIELD_LIST: u8 = 0x04;
const COM_STATISTICS: u8 = 0x09;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_SET_OPTION: u8 = 0x1B;
/// The status flag: another result follows.
const MORE_RESULTS: u16 = 8;
/// The type of a parameter that is sent as text.
const VAR_STRING: u8 = 253;

/// The database that the clients used.
const DATABASE: &str = "test";

/// A connection that is made anew when a client made one, and when the server has closed it.
pub(crate) struct Replay {
    address: String,
    client: Option<Client>,
}

/// Errno and text of a refusal.
pub(crate) type Refusal = Option<(u16, String)>;

impl Replay {
    pub(crate) fn new(address: &str) -> Replay {
        Replay {
            address: address.to_owned(),
            client: None,
        }
    }

    /// Sends one command.
    ///
    /// # Errors
    /// When the connection breaks.
    pub(crate) fn send(&mut self, sent: &Sent) -> Result<Refusal, String> {
        if matches!(sent, Sent::Hello) {
            self.client = None;
            return Ok(None);
        }
        if self.client.is_none() {
            let connected = connect(&self.address);
            self.client = Some(connected.map_err(|error| error.to_string())?);
        }
        let client = self.client.as_mut().expect("it was just made");
        match exchange(client, sent) {
            Ok(()) => Ok(None),
            Err(Failure::Server { errno, state, text }) => {
                Ok(Some((errno, format!("ERROR {errno} ({state}): {text}"))))
            }
            // KILL of the own connection ends it.
            Err(Failure::Lost(_)) if sent.shown().starts_with("KILL") => {
                self.client = None;
                Ok(None)
            }
            Err(lost) => Err(format!("{lost}\n    {}", sent.shown())),
        }
    }
}

fn connect(address: &str) -> Result<Client, Failure> {
    let mut client = Client::connect(address, DATABASE, EndForm::Eof)?;
    client.command(COM_SET_OPTION, &[0, 0])?;
    client.read_packet()?;
    Ok(client)
}

fn exchange(client: &mut Client, sent: &Sent) -> Result<(), Failure> {
    match sent {
        Sent::Hello => Ok(()),
        Sent::Query(text) => {
            client.command(client::COM_QUERY, text.as_bytes())?;
            while read_result(client)? {}
            Ok(())
        }
        Sent::Prepare(text) => prepare(client, text),
        Sent::InitDb(name) => {
            client.command(COM_INIT_DB, name.as_bytes())?;
            read_packet(client).map(|_| ())
        }
        Sent::FieldList(table) => {
            client.command(COM_FIELD_LIST, format!("{table}\0").as_bytes())?;
            until_eof(client).map(|_| ())
        }
        Sent::Bare(command) => {
            client.command(*command, &[])?;
            let packet = if *command == COM_STATISTICS {
                client.read_packet()?.1
            } else {
                read_packet(client)?
            };
            assert!(!packet.is_empty(), "an empty answer");
            Ok(())
        }
    }
}

/// Prepares a statement, runs it with the text `1` for each parameter, and closes it.
fn prepare(client: &mut Client, text: &str) -> Result<(), Failure> {
    client.command(COM_STMT_PREPARE, text.as_bytes())?;
    let answer = read_packet(client)?;
    let mut answer = Bytes(&answer);
    answer.skip(1)?;
    let id = answer.fixed_u32()?;
    let columns_count = answer.fixed_u16()?;
    let parameters_count = usize::from(answer.fixed_u16()?);
    if 0 < parameters_count {
        until_eof(client)?;
    }
    if 0 < columns_count {
        until_eof(client)?;
    }
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend_from_slice(&[0, 1, 0, 0, 0]);
    if 0 < parameters_count {
        payload.resize(payload.len() + parameters_count.div_ceil(8), 0);
        payload.push(1);
        for _ in 0..parameters_count {
            payload.extend_from_slice(&[VAR_STRING, 0]);
        }
        for _ in 0..parameters_count {
            payload.extend_from_slice(&[1, b'1']);
        }
    }
    client.command(COM_STMT_EXECUTE, &payload)?;
    let run = read_result(client);
    client.command(COM_STMT_CLOSE, &id.to_le_bytes())?;
    run.map(|_| ())
}

fn read_packet(client: &mut Client) -> Result<Vec<u8>, Failure> {
    let (_, packet) = client.read_packet()?;
    client::check_error(&packet)?;
    Ok(packet)
}

/// Reads packets up to the one that ends them; its status.
fn until_eof(client: &mut Client) -> Result<u16, Failure> {
    loop {
        let packet = read_packet(client)?;
        if client::is_end(&packet) {
            let mut end = Bytes(&packet);
            end.skip(3)?;
            return end.fixed_u16();
        }
    }
}

/// Reads one result; whether another follows.
fn read_result(client: &mut Client) -> Result<bool, Failure> {
    let first = read_packet(client)?;
    let status = if first.first() == Some(&0) {
        let mut done = Bytes(&first);
        done.skip(1)?;
        done.length()?;
        done.length()?;
        done.fixed_u16()?
    } else {
        until_eof(client)?;
        until_eof(client)?
    };
    Ok(status & MORE_RESULTS != 0)
}
