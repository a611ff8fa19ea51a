//! Entries for fuzzing: any bytes in, an answer or an error out, never a panic.

use super::auth::{Password, Plugin, Salt};
use super::capabilities::Capabilities;
use super::command::Command;
use super::compression::{Algorithm, Expected, Unpacker};
use super::handshake::{Hello, Login};
use super::packet::PacketReader;
use super::parameters::{Layout, Parameters};

/// The limit under which [`packets`] reads.
const PACKET_BYTES_MAX: usize = 1 << 20;

/// Cuts `bytes` into packets, fed in pieces of `piece_bytes`, and returns the payloads' lengths.
pub fn packets(bytes: &[u8], piece_bytes: usize) -> Vec<usize> {
    let mut reader = PacketReader::new(PACKET_BYTES_MAX);
    let mut lengths = Vec::new();
    for piece in bytes.chunks(piece_bytes.max(1)) {
        let mut rest = piece;
        while !rest.is_empty() {
            let spare = reader.spare();
            let count = spare.len().min(rest.len());
            let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            if let Some(place) = spare.get_mut(..count) {
                place.copy_from_slice(now);
            }
            reader.filled(count);
            rest = later;
            loop {
                match reader.next(0) {
                    Ok(Some(packet)) => {
                        let payload = reader.payload(&packet);
                        lengths.push(payload.map_or(usize::MAX, <[u8]>::len));
                    }
                    Ok(None) => break,
                    Err(_) => return lengths,
                }
            }
        }
    }
    lengths
}

/// Expands `bytes` as compressed packets, fed in pieces of `piece_bytes`, by each algorithm; returns how
/// many bytes came out and whether the stream made sense until its end.
pub fn compressed(bytes: &[u8], piece_bytes: usize) -> [(usize, bool); 2] {
    [Algorithm::Zlib, Algorithm::Zstd(3)].map(|algorithm| {
        let mut unpacker = Unpacker::new(algorithm, Vec::new());
        let expected = Expected {
            after_answer: 0,
            may_begin: true,
        };
        let (mut room, mut bytes_count) = ([0; 512], 0);
        for piece in bytes.chunks(piece_bytes.max(1)) {
            let mut rest = piece;
            while !rest.is_empty() {
                let spare = unpacker.spare();
                let count = spare.len().min(rest.len());
                let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
                if let Some(place) = spare.get_mut(..count) {
                    place.copy_from_slice(now);
                }
                unpacker.filled(count);
                rest = later;
                loop {
                    match unpacker.give(&mut room, expected) {
                        Ok(Some(count)) => bytes_count += count,
                        Ok(None) => break,
                        Err(_) => return (bytes_count, false),
                    }
                }
            }
        }
        (bytes_count, true)
    })
}

/// Decodes a command packet, and an EXECUTE's parameters for a few counts of them.
pub fn command(payload: &[u8]) {
    for capabilities in [Capabilities::default(), Capabilities::OFFER] {
        if let Ok(Command::StmtExecute(execute)) = Command::parse(payload, capabilities) {
            for count in [0, 1, 2, 8, 9, 300] {
                execute_parameters(execute.parameters, count);
            }
        }
    }
}

/// Decodes an EXECUTE's parameters, twice, so that kept types are used too.
pub fn execute_parameters(body: &[u8], count: u16) {
    for layout in [
        Layout::Plain,
        Layout::Named { is_counted: false },
        Layout::Named { is_counted: true },
    ] {
        let mut parameters = Parameters::new(count);
        let _first = parameters.decode(body, layout);
        let _second = parameters.decode(body, layout);
    }
}

/// Decodes a hello and a `COM_CHANGE_USER`, and checks a password with what they hold.
pub fn login(payload: &[u8]) {
    let salt = Salt::fixed([7; 20]);
    let password = Password::fast("secret");
    let change = Login::parse_change_user(payload, Capabilities::OFFER);
    let hello = Hello::parse(payload).map(|hello| hello.login);
    for login in [change, hello].into_iter().flatten() {
        let plugin = login.plugin.as_deref().and_then(Plugin::named);
        let plugin = plugin.unwrap_or(Plugin::DEFAULT);
        let _proven = password.is_proven(plugin, &salt, &login.response);
    }
}
