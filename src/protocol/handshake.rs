//! The login packets: the server's greeting, the client's hello, `COM_CHANGE_USER`'s body, and the
//! request to use another plug-in.
//!
//! Who may log in is decided elsewhere; whether a password is right, in [`super::auth`].

use super::auth::{Plugin, Salt};
use super::capabilities::{Capabilities, Status};
use super::wire::{self, Reader};
use crate::error::{Code, Error, Result};

/// What the server calls itself. Drivers switch behaviour on the first digits.
pub const SERVER_VERSION: &str = concat!("8.0.40-Meseta-", env!("CARGO_PKG_VERSION"));

/// `utf8mb4_general_ci`: the one every client knows. Comparison is by bytes all the same.
pub const CHARSET_UTF8MB4: u8 = 45;

/// The most bytes of a packet before the client has logged in: a hello with long attributes.
pub const HELLO_BYTES_MAX: usize = 128 * 1024;

/// The most attributes of a client that are kept.
const ATTRIBUTES_MAX: usize = 64;

/// What the client library calls itself that knows [`Capabilities::PROGRESS`].
const MARIADB_CLIENT_NAME: &str = "libmariadb";

/// The protocol version, constant since 1998.
const PROTOCOL_VERSION: u8 = 10;

/// Bytes of the packet that asks for TLS: a hello that ends before the user's name.
const TLS_REQUEST_BYTES: usize = 32;

/// Appends the first packet of a connection. `offered` is what is switched on of
/// [`Capabilities::OFFER`], with [`Capabilities::SSL`] when there is TLS.
pub fn put_greeting(out: &mut Vec<u8>, connection_id: u32, salt: &Salt, offered: Capabilities) {
    let offer = offered.bits();
    let (salt_start, salt_rest) = salt.bytes().split_at(8);
    out.push(PROTOCOL_VERSION);
    wire::put_nul(out, SERVER_VERSION.as_bytes());
    wire::put_u32(out, connection_id);
    wire::put_nul(out, salt_start);
    wire::put_u16(out, u16::try_from(offer & 0xFFFF).unwrap_or(u16::MAX));
    out.push(CHARSET_UTF8MB4);
    wire::put_u16(out, Status::AUTOCOMMIT.bits());
    wire::put_u16(out, u16::try_from(offer >> 16).unwrap_or(u16::MAX));
    // The salt and its terminating zero byte.
    out.push(21);
    out.extend_from_slice(&[0; 10]);
    wire::put_nul(out, salt_rest);
    wire::put_nul(out, Plugin::DEFAULT.name().as_bytes());
}

/// Appends the request to answer the salt with another plug-in.
pub fn put_auth_switch(out: &mut Vec<u8>, plugin: Plugin, salt: &Salt) {
    out.push(0xFE);
    wire::put_nul(out, plugin.name().as_bytes());
    wire::put_nul(out, salt.bytes());
}

/// Appends the word that sha2's fast path has succeeded; an OK packet follows.
pub fn put_fast_auth_success(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x01, 0x03]);
}

/// Appends the request to send the password itself, encrypted one way or the other.
pub fn put_full_auth_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x01, 0x04]);
}

/// What a client sends for the server's key, with which it encrypts the password.
pub const PUBLIC_KEY_REQUEST: &[u8] = &[0x02];

/// Appends the server's key, in PEM.
pub fn put_public_key(out: &mut Vec<u8>, pem: &str) {
    out.push(0x01);
    out.extend_from_slice(pem.as_bytes());
}

/// Whether a client's first packet asks for TLS, behind which the hello comes.
pub fn is_tls_request(payload: &[u8]) -> bool {
    let flags = Reader::new(payload).u32().unwrap_or(0);
    payload.len() == TLS_REQUEST_BYTES && flags & Capabilities::SSL.bits() != 0
}

/// Who a client says it is, in a hello or a `COM_CHANGE_USER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The database to use, if any.
    pub database: Option<String>,
    /// The client's first answer to the salt.
    pub response: Vec<u8>,
    /// The plug-in the answer was made with; `None` when the client named none.
    pub plugin: Option<Vec<u8>>,
    /// `_client_name`, `program_name`, …; pairs as sent.
    pub attributes: Vec<(String, String)>,
}

/// A client's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// What was offered and wanted.
    pub capabilities: Capabilities,
    /// Whether the client reads reports of progress.
    pub reads_progress: bool,
    /// How hard zstd is to try; 0 when the client does not say.
    pub zstd_level: u8,
    /// Who is there.
    pub login: Login,
}

impl Hello {
    /// Takes a hello packet apart.
    ///
    /// # Errors
    /// 1043 when it cannot be understood.
    pub fn parse(payload: &[u8]) -> Result<Hello> {
        let mut reader = Reader::new(payload);
        Hello::read(&mut reader).map_err(|error| {
            if error.code() == Code::MalformedPacket {
                bad_handshake("the packet ends early")
            } else {
                error
            }
        })
    }

    fn read(reader: &mut Reader<'_>) -> Result<Hello> {
        let sent = reader.u32()?;
        let capabilities = Capabilities::agreed(sent);
        if !capabilities.has(Capabilities::PROTOCOL_41) {
            return Err(bad_handshake(
                "the protocol before MySQL 4.1 is not spoken here",
            ));
        }
        let _packet_bytes_max = reader.u32()?;
        let _charset = reader.u8()?;
        reader.bytes(23)?;
        if reader.is_empty() && sent & Capabilities::SSL.bits() != 0 {
            return Err(bad_handshake("this server does not offer TLS"));
        }
        let user = text(reader.nul_or_rest(), "user name")?;
        let response = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            reader.lenenc_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let bytes = reader.u8()?;
            reader.bytes(usize::from(bytes))?
        } else {
            reader.nul_or_rest()
        };
        let with_database = capabilities.has(Capabilities::CONNECT_WITH_DB);
        let database = if with_database {
            reader.nul_or_rest()
        } else {
            &[]
        };
        let with_plugin = capabilities.has(Capabilities::PLUGIN_AUTH);
        let login = Login {
            user,
            database: database_name(database)?,
            response: response.to_vec(),
            plugin: with_plugin.then(|| reader.nul_or_rest().to_vec()),
            attributes: read_attributes(reader, capabilities),
        };
        let is_leveled = capabilities.has(Capabilities::ZSTD) && !reader.is_empty();
        let zstd_level = if is_leveled { reader.u8()? } else { 0 };
        // Reserved by MySQL: whoever sets all flags there are does not mean this.
        let is_mariadb = login.attribute("_client_name") == Some(MARIADB_CLIENT_NAME);
        Ok(Hello {
            capabilities,
            reads_progress: is_mariadb && sent & Capabilities::PROGRESS.bits() != 0,
            zstd_level,
            login,
        })
    }
}

impl Login {
    /// Takes the body of a `COM_CHANGE_USER` apart.
    ///
    /// # Errors
    /// 1835 when it ends early, 1300 when a name is not UTF-8.
    pub fn parse_change_user(body: &[u8], capabilities: Capabilities) -> Result<Login> {
        let mut reader = Reader::new(body);
        let user = text(reader.nul_or_rest(), "user name")?;
        let response_bytes = if reader.is_empty() { 0 } else { reader.u8()? };
        let response = reader.bytes(usize::from(response_bytes))?.to_vec();
        let database = database_name(reader.nul_or_rest())?;
        if 2 <= reader.bytes_left() {
            let _charset = reader.u16()?;
        }
        let with_plugin = capabilities.has(Capabilities::PLUGIN_AUTH) && !reader.is_empty();
        Ok(Login {
            user,
            database,
            response,
            plugin: with_plugin.then(|| reader.nul_or_rest().to_vec()),
            attributes: read_attributes(&mut reader, capabilities),
        })
    }

    /// An attribute of the client.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Attributes are a courtesy: what cannot be read of them is left out.
fn read_attributes(reader: &mut Reader<'_>, capabilities: Capabilities) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    if !capabilities.has(Capabilities::CONNECT_ATTRS) || reader.is_empty() {
        return attributes;
    }
    let Ok(block) = reader.lenenc_bytes() else {
        return attributes;
    };
    let mut pairs = Reader::new(block);
    while attributes.len() < ATTRIBUTES_MAX {
        let (Ok(key), Ok(value)) = (pairs.lenenc_bytes(), pairs.lenenc_bytes()) else {
            break;
        };
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        attributes.push((lossy(key), lossy(value)));
    }
    attributes
}

fn database_name(bytes: &[u8]) -> Result<Option<String>> {
    let name = text(bytes, "database name")?;
    Ok((!name.is_empty()).then_some(name))
}

fn text(bytes: &[u8], what: &str) -> Result<String> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| {
        let message = format!("Invalid utf8mb4 character string: the {what}");
        Error::new(Code::InvalidCharacterString, message)
    })
}

fn bad_handshake(why: &str) -> Error {
    Error::new(Code::HandshakeFailed, format!("Bad handshake: {why}"))
}
