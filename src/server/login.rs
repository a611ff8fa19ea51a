//! From the greeting to the OK that ends a login; and `COM_CHANGE_USER`, which is a login again.

use std::net::IpAddr;

use super::accounts::Accounts;
use super::wire::{Gone, Wire};
use crate::error::{Code, Error};
use crate::protocol::auth::{self, FirstAnswer};
use crate::protocol::handshake::{self, Hello, Login};
use crate::protocol::packet::PacketReader;
use crate::protocol::{Plugin, Salt};

/// The sequence number of a client's first packet: the greeting had 0.
const HELLO_SEQUENCE: u8 = 1;

/// A client that has not proven who it is.
pub(super) struct Guest<'a> {
    pub(super) wire: &'a mut Wire,
    pub(super) reader: &'a mut PacketReader,
    pub(super) salt: &'a Salt,
    pub(super) address: IpAddr,
}

impl Guest<'_> {
    /// Sends the greeting and takes the hello.
    pub(super) async fn hello(&mut self, connection_id: u32) -> Result<Hello, Gone> {
        self.wire.out.set_sequence(0);
        let salt = self.salt;
        self.wire
            .out
            .packet(|out| handshake::put_greeting(out, connection_id, salt));
        self.wire.flush().await?;
        let payload = self.next_packet(HELLO_SEQUENCE).await?;
        match Hello::parse(&payload) {
            Ok(hello) => {
                self.wire.capabilities = hello.capabilities;
                Ok(hello)
            }
            Err(error) => Err(self.wire.refuse(error).await),
        }
    }

    /// Takes the proof of a login, after which an OK is to be sent.
    pub(super) async fn prove(
        &mut self,
        accounts: &Accounts,
        login: &Login,
        first: FirstAnswer,
    ) -> Result<(), Gone> {
        let (plugin, response) = match first {
            FirstAnswer::Verify(plugin) => (plugin, login.response.clone()),
            FirstAnswer::Switch(plugin) => (plugin, self.switch(plugin).await?),
        };
        let password = accounts.password(&login.user, self.address);
        if !password.is_proven(plugin, self.salt, &response) {
            let error = self.access_denied(&login.user, &response);
            return Err(self.wire.refuse(error).await);
        }
        if plugin == Plugin::CachingSha2 && auth::is_given(&response) {
            self.wire.out.packet(handshake::put_fast_auth_success);
        }
        Ok(())
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
                self.wire.out.set_sequence(packet.sequence.wrapping_add(1));
                let payload = self.reader.payload(&packet).map(<[u8]>::to_vec);
                let Some(payload) = payload else {
                    let bytes_max = self.reader.packet_bytes_max();
                    let text = format!("Bad handshake: a packet of more than {bytes_max} bytes");
                    let error = Error::new(Code::HandshakeFailed, text);
                    return Err(self.wire.refuse(error).await);
                };
                return Ok(payload);
            }
            self.wire.fill(self.reader).await?;
        }
    }

    fn access_denied(&self, user: &str, response: &[u8]) -> Error {
        let host = host_name(self.address);
        let given = if auth::is_given(response) {
            "YES"
        } else {
            "NO"
        };
        let text = format!("Access denied for user '{user}'@'{host}' (using password: {given})");
        Error::new(Code::AccessDenied, text)
    }
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
