//! From the greeting to the OK that ends a login; and `COM_CHANGE_USER`, which is a login again.
//!
//! A user that does not exist is asked what one that does is asked, and refused as late. What the
//! client's source owes for failures is waited for before its proof is looked at ([`super::throttle`]).
//! After the password come the conditions of the account: only who knows it hears of them.
//!
//! Source: MySQL 8.0 Source Documentation, "Connection Phase".

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::listener::Context;
use super::seats::Seat;
use super::throttle::Turn;
use super::wire::{Gone, Wire};
use crate::accounts::store::ROOT;
use crate::accounts::{
    Account, AccountName, Directory, Privilege, Privileges, Requirement, Rights,
};
use crate::error::{Code, Error};
use crate::protocol::auth::{self, Answer, Crypt, FirstAnswer, Password, Proof};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::compression::Algorithm;
use crate::protocol::handshake::{self, Hello, Login};
use crate::protocol::packet::PacketReader;
use crate::protocol::{Plugin, Salt};

/// The sequence number of a client's first packet: the greeting had 0.
const HELLO_SEQUENCE: u8 = 1;

/// Characters of a user's name that a refusal repeats; no account's has as many.
const USER_CHARS_SHOWN_MAX: usize = 64;

/// The words of `protocol_compression_algorithms` and their flags, in order of preference.
const COMPRESSIONS: [(&str, Capabilities); 2] = [
    ("zlib", Capabilities::COMPRESS),
    ("zstd", Capabilities::ZSTD),
];

/// A client that has not proven who it is.
pub(super) struct Guest<'a> {
    pub(super) context: &'a Context,
    pub(super) wire: &'a mut Wire,
    pub(super) reader: &'a mut PacketReader,
    pub(super) salt: &'a Salt,
    pub(super) address: IpAddr,
}

/// A client that has.
pub(super) struct Entered {
    pub(super) account: AccountName,
    pub(super) expired: bool,
    /// Whether it may come in when all other places are taken.
    pub(super) is_admin: bool,
    pub(super) seat: Seat,
}

impl Guest<'_> {
    /// Sends the greeting and takes the hello, behind TLS if the client asks for it.
    pub(super) async fn hello(&mut self, connection_id: u32) -> Result<Hello, Gone> {
        let algorithms = self
            .context
            .shared
            .global_text("protocol_compression_algorithms");
        let offered = self.offered(&algorithms);
        self.wire.out.set_sequence(0);
        let salt = self.salt;
        self.wire
            .out
            .packet(|out| handshake::put_greeting(out, connection_id, salt, offered));
        self.wire.flush().await?;
        let mut payload = self.next_packet(HELLO_SEQUENCE).await?;
        if let Some(config) = &self.context.tls
            && handshake::is_tls_request(&payload)
        {
            let received = self.reader.take_unread();
            self.wire.secure(config, &received).await?;
            payload = self.next_packet(HELLO_SEQUENCE + 1).await?;
        }
        let hello = match Hello::parse(&payload) {
            Ok(hello) => hello,
            Err(error) => return Err(self.wire.refuse(error).await),
        };
        self.wire.capabilities = hello.capabilities & offered;
        match compression(&algorithms, (self.wire.capabilities, hello.zstd_level)) {
            Ok(algorithm) => self.wire.algorithm = algorithm,
            Err(error) => return Err(self.wire.refuse(error).await),
        }
        let requires_tls = self
            .context
            .shared
            .global_number("require_secure_transport")
            == 1;
        if requires_tls && self.wire.tls().is_none() {
            let text = "Connections using insecure transport are prohibited while \
                        --require_secure_transport=ON.";
            let error = Error::new(Code::InsecureTransport, text);
            return Err(self.wire.refuse(error).await);
        }
        Ok(hello)
    }

    fn offered(&self, algorithms: &str) -> Capabilities {
        let mut offered = Capabilities::OFFER;
        for (name, flag) in COMPRESSIONS {
            if !algorithms.split(',').any(|one| one == name) {
                offered = offered.without(flag);
            }
        }
        if self.context.tls.is_some() {
            offered = offered | Capabilities::SSL;
        }
        offered
    }

    /// Takes the proof of a login, after which an OK is to be sent.
    pub(super) async fn prove(
        &mut self,
        login: &Login,
        first: FirstAnswer,
    ) -> Result<Entered, Gone> {
        let directory = self.context.shared.accounts().current();
        let account = self.find(&directory, &login.user);
        // Made in any case: finding out takes as long.
        let decoy = decoy(&directory, &login.user);
        let password = match &account {
            Some(account) => account.password.clone(),
            None => decoy,
        };
        let (plugin, response) = match first.for_password(&password) {
            FirstAnswer::Verify(plugin) => (plugin, login.response.clone()),
            FirstAnswer::Switch(plugin) => (plugin, self.switch(plugin).await?),
        };
        let name = account.as_ref().map(|account| &account.name);
        let turn = self.turn(&login.user).await?;
        let is_proven = self
            .is_proven((&password, name), (plugin, &response))
            .await?;
        let Some(account) = account.filter(|_| is_proven) else {
            drop(turn);
            let error = self.access_denied(&login.user, &response);
            return Err(self.wire.refuse(error).await);
        };
        turn.succeeded();
        match self.admitted(&directory, &account, &response) {
            Ok(entered) => Ok(entered),
            Err(error) => Err(self.wire.refuse(error).await),
        }
    }

    /// Waits for what the client's source owes, unless the client leaves.
    async fn turn(&mut self, user: &str) -> Result<Turn, Gone> {
        let turn = self.context.throttle.turn((self.address, user));
        let turn = tokio::select! {
            biased;
            turn = turn => turn,
            gone = self.wire.until_gone() => return Err(gone),
        };
        match turn {
            Ok(turn) => Ok(turn),
            Err(error) => Err(self.wire.refuse(error).await),
        }
    }

    /// The account that the client is, if any. Root without password is on this machine alone.
    fn find(&self, directory: &Directory, user: &str) -> Option<Arc<Account>> {
        let found = directory.find(user, self.address).map(Arc::clone)?;
        let is_open = found.name.user == ROOT && found.password.is_empty();
        let is_here = self.address.to_canonical().is_loopback();
        Some(found).filter(|_| is_here || !is_open)
    }

    async fn is_proven(
        &mut self,
        (password, name): (&Password, Option<&AccountName>),
        (plugin, response): (Plugin, &[u8]),
    ) -> Result<bool, Gone> {
        let accounts = self.context.shared.accounts();
        let crypt = match password {
            Password::Set(verifiers) => verifiers.crypt.clone(),
            Password::Empty => None,
        };
        let fast = match (name, &crypt) {
            (Some(name), Some(crypt)) => accounts.fast_digest(name, crypt),
            _ => None,
        };
        let answer = Answer {
            plugin,
            salt: self.salt,
            response,
        };
        match (password.check(answer, fast), crypt) {
            (Proof::Proven, _) => {
                if plugin == Plugin::CachingSha2 && auth::is_given(response) {
                    self.wire.out.packet(handshake::put_fast_auth_success);
                }
                Ok(true)
            }
            (Proof::NeedsPassword, Some(crypt)) => self.is_proven_in_full(crypt, name).await,
            (Proof::Refuted | Proof::NeedsPassword, _) => Ok(false),
        }
    }

    /// Asks for the password itself: over TLS in clear, else encrypted with the server's key.
    async fn is_proven_in_full(
        &mut self,
        crypt: Crypt,
        name: Option<&AccountName>,
    ) -> Result<bool, Gone> {
        self.wire.out.packet(handshake::put_full_auth_request);
        self.wire.flush().await?;
        let mut sent = self.next_packet(self.wire.out.sequence()).await?;
        if self.wire.tls().is_none() {
            if sent == handshake::PUBLIC_KEY_REQUEST {
                let Some(pem) = self.context.keys.public_pem().await else {
                    return Ok(false);
                };
                self.wire
                    .out
                    .packet(|out| handshake::put_public_key(out, &pem));
                self.wire.flush().await?;
                sent = self.next_packet(self.wire.out.sequence()).await?;
            }
            let Some(salted) = self.context.keys.decrypted(sent).await else {
                return Ok(false);
            };
            sent = auth::unsalted(salted, self.salt);
        }
        let Some(clear) = auth::whole_password(&sent).map(<[u8]>::to_vec) else {
            return Ok(false);
        };
        let digest = auth::fast_digest(&clear);
        let check = crypt.clone();
        let is_of = spawn_blocking(move || check.is_of(&clear)).await;
        let is_of = is_of.unwrap_or(false);
        if let Some(name) = name.filter(|_| is_of) {
            let accounts = self.context.shared.accounts();
            accounts.remember_fast(name, &crypt, digest);
        }
        Ok(is_of)
    }

    /// The conditions of the account.
    ///
    /// # Errors
    /// 3118, 1045, 1862, 1226 or 1203.
    fn admitted(
        &self,
        directory: &Directory,
        account: &Account,
        response: &[u8],
    ) -> Result<Entered, Error> {
        let user = &account.name.user;
        if account.locked {
            let host = host_name(self.address);
            let text = format!("Access denied for user '{user}'@'{host}'. Account is locked.");
            return Err(Error::new(Code::AccountLocked, text));
        }
        if account.requirement == Requirement::Ssl && self.wire.tls().is_none() {
            return Err(self.access_denied(user, response));
        }
        let knows_sandbox = self.wire.capabilities.has(Capabilities::EXPIRED_PASSWORDS);
        if account.expired && !knows_sandbox {
            let text = "Your password has expired. To log in you must change it using a client that \
                        supports expired passwords.";
            return Err(Error::new(Code::PasswordExpired, text));
        }
        let rights = Rights::of(directory, &account.name, &account.initial_roles());
        let admins = Privileges::of(&[Privilege::ConnectionAdmin, Privilege::Super]);
        let connections_max = self.context.shared.global_number("max_user_connections");
        Ok(Entered {
            account: account.name.clone(),
            expired: account.expired,
            is_admin: rights.global().has_any(admins),
            seat: self.context.seats.take(account, connections_max)?,
        })
    }

    async fn switch(&mut self, plugin: Plugin) -> Result<Vec<u8>, Gone> {
        let salt = self.salt;
        self.wire
            .out
            .packet(|out| handshake::put_auth_switch(out, plugin, salt));
        self.wire.flush().await?;
        self.next_packet(self.wire.out.sequence()).await
    }

    /// The client's next packet, copied: logins are rare.
    async fn next_packet(&mut self, expected: u8) -> Result<Vec<u8>, Gone> {
        loop {
            if let Some(packet) = self.reader.next(expected)? {
                self.wire.answer(packet.sequence);
                let payload = self.reader.payload(&packet).map(<[u8]>::to_vec);
                let Some(payload) = payload else {
                    let bytes_max = self.reader.packet_bytes_max();
                    let refusal = self.reader.want_of_memory(&packet);
                    let error = refusal.unwrap_or_else(|| {
                        let text =
                            format!("Bad handshake: a packet of more than {bytes_max} bytes");
                        Error::new(Code::HandshakeFailed, text)
                    });
                    return Err(self.wire.refuse(error).await);
                };
                return Ok(payload);
            }
            self.wire.fill(self.reader).await?;
        }
    }

    fn access_denied(&self, user: &str, response: &[u8]) -> Error {
        let host = host_name(self.address);
        let user: String = user.chars().take(USER_CHARS_SHOWN_MAX).collect();
        let given = if auth::is_given(response) {
            "YES"
        } else {
            "NO"
        };
        let text = format!("Access denied for user '{user}'@'{host}' (using password: {given})");
        Error::new(Code::AccessDenied, text)
    }
}

/// How a connection is compressed: in the first permitted way that its client knows.
///
/// # Errors
/// 3922 when there is none.
fn compression(
    algorithms: &str,
    (capabilities, zstd_level): (Capabilities, u8),
) -> Result<Option<Algorithm>, Error> {
    if capabilities.has(Capabilities::COMPRESS) {
        return Ok(Some(Algorithm::Zlib));
    }
    if capabilities.has(Capabilities::ZSTD) {
        return Ok(Some(Algorithm::zstd(zstd_level)));
    }
    if algorithms.split(',').any(|one| one == "uncompressed") {
        return Ok(None);
    }
    let text =
        format!("Connections must be compressed: protocol_compression_algorithms={algorithms}");
    Err(Error::new(Code::WrongCompression, text))
}

/// What a user that does not exist must prove: the plug-ins it is asked with are those of some
/// account, always the same for one name, so that being asked says nothing.
fn decoy(directory: &Directory, user: &str) -> Password {
    use sha2::Digest;
    let with_password = || directory.iter().filter(|one| !one.password.is_empty());
    let digest = sha2::Sha256::digest(user.as_bytes());
    let number = digest.iter().fold(0_usize, |sum, byte| {
        sum.wrapping_mul(257).wrapping_add(usize::from(*byte))
    });
    let like = with_password().nth(number.checked_rem(with_password().count()).unwrap_or(0));
    match like {
        Some(account) => Password::unknowable_like(&account.password),
        None => Password::unknowable(),
    }
}

/// How the list of processes names where a client is: with its port.
pub(super) fn place_name(address: SocketAddr) -> String {
    format!("{}:{}", host_name(address.ip()), address.port())
}

/// How MySQL names where a client is.
pub(super) fn host_name(address: IpAddr) -> String {
    let address = address.to_canonical();
    if address.is_loopback() {
        "localhost".to_owned()
    } else {
        address.to_string()
    }
}
