//! The flags of the handshake (what client and server can do) and of OK and EOF packets (the
//! state of the session).

use std::ops::{BitAnd, BitOr};

/// A set of capability flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(u32);

impl Capabilities {
    /// Set by MySQL clients and servers; MariaDB's leave it out to say that they are MariaDB.
    pub const LONG_PASSWORD: Capabilities = Capabilities(1);
    /// Affected rows of an UPDATE are those found, not those changed.
    pub const FOUND_ROWS: Capabilities = Capabilities(1 << 1);
    /// Column flags have two bytes.
    pub const LONG_FLAG: Capabilities = Capabilities(1 << 2);
    /// The hello names a database.
    pub const CONNECT_WITH_DB: Capabilities = Capabilities(1 << 3);
    /// Packets may be compressed by zlib.
    pub const COMPRESS: Capabilities = Capabilities(1 << 5);
    /// An ODBC client; means nothing.
    pub const ODBC: Capabilities = Capabilities(1 << 6);
    /// The client sends files when it is asked for them.
    pub const LOCAL_FILES: Capabilities = Capabilities(1 << 7);
    /// Spaces may stand between a function's name and its parenthesis; they always may here.
    pub const IGNORE_SPACE: Capabilities = Capabilities(1 << 8);
    /// The protocol since MySQL 4.1, the only one spoken here.
    pub const PROTOCOL_41: Capabilities = Capabilities(1 << 9);
    /// A person sits at the client: `interactive_timeout` bounds idleness.
    pub const INTERACTIVE: Capabilities = Capabilities(1 << 10);
    /// The connection is to be encrypted. Offered when the server has a certificate.
    pub const SSL: Capabilities = Capabilities(1 << 11);
    /// The client reads the status flags.
    pub const TRANSACTIONS: Capabilities = Capabilities(1 << 13);
    /// Passwords are answered to a 20-byte salt.
    pub const SECURE_CONNECTION: Capabilities = Capabilities(1 << 15);
    /// One query may hold several statements.
    pub const MULTI_STATEMENTS: Capabilities = Capabilities(1 << 16);
    /// One query may be answered by several results.
    pub const MULTI_RESULTS: Capabilities = Capabilities(1 << 17);
    /// One EXECUTE may be answered by several results.
    pub const PS_MULTI_RESULTS: Capabilities = Capabilities(1 << 18);
    /// The hello names an authentication plug-in.
    pub const PLUGIN_AUTH: Capabilities = Capabilities(1 << 19);
    /// The hello carries attributes of the client.
    pub const CONNECT_ATTRS: Capabilities = Capabilities(1 << 20);
    /// The hello's authentication data has a length-encoded length.
    pub const PLUGIN_AUTH_LENENC: Capabilities = Capabilities(1 << 21);
    /// The client knows what to do when its user must change the password first.
    pub const EXPIRED_PASSWORDS: Capabilities = Capabilities(1 << 22);
    /// OK packets tell of changes of the session; see [`super::tracking`].
    pub const SESSION_TRACK: Capabilities = Capabilities(1 << 23);
    /// An OK packet ends a result; no EOF packets.
    pub const DEPRECATE_EOF: Capabilities = Capabilities(1 << 24);

    /// Packets may be compressed by zstd.
    pub const ZSTD: Capabilities = Capabilities(1 << 26);
    /// Statements carry attributes, named values that are no parameters; see [`super::parameters`].
    pub const QUERY_ATTRIBUTES: Capabilities = Capabilities(1 << 27);

    /// The client reads reports of how far a statement is, before its answer: MariaDB's clients set
    /// it when they show them.
    ///
    /// MariaDB has another flag for this too, among 32 more in the hello's reserved bytes. A server
    /// must leave [`Capabilities::LONG_PASSWORD`] out to get those, which is how MariaDB's servers
    /// say that they are no MySQL: drivers conclude more than progress from it. This flag needs
    /// nothing of that. It is not offered either, since its bit is reserved for something else in
    /// MySQL: clients that could take an offer of it wrongly are not tempted.
    pub const PROGRESS: Capabilities = Capabilities(1 << 29);

    /// What this server offers; some of it can be switched off.
    pub const OFFER: Capabilities = Capabilities(
        Capabilities::LONG_PASSWORD.0
            | Capabilities::FOUND_ROWS.0
            | Capabilities::LONG_FLAG.0
            | Capabilities::CONNECT_WITH_DB.0
            | Capabilities::ODBC.0
            | Capabilities::LOCAL_FILES.0
            | Capabilities::IGNORE_SPACE.0
            | Capabilities::PROTOCOL_41.0
            | Capabilities::INTERACTIVE.0
            | Capabilities::TRANSACTIONS.0
            | Capabilities::SECURE_CONNECTION.0
            | Capabilities::MULTI_STATEMENTS.0
            | Capabilities::MULTI_RESULTS.0
            | Capabilities::PS_MULTI_RESULTS.0
            | Capabilities::PLUGIN_AUTH.0
            | Capabilities::CONNECT_ATTRS.0
            | Capabilities::PLUGIN_AUTH_LENENC.0
            | Capabilities::EXPIRED_PASSWORDS.0
            | Capabilities::SESSION_TRACK.0
            | Capabilities::COMPRESS.0
            | Capabilities::ZSTD.0
            | Capabilities::QUERY_ATTRIBUTES.0
            | Capabilities::DEPRECATE_EOF.0,
    );

    /// The flags a client sent, without those that were not offered: clients set some unasked.
    pub fn agreed(sent: u32) -> Capabilities {
        Capabilities(sent & Capabilities::OFFER.0)
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn without(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & !other.0)
    }

    /// Whether all of `other` are set.
    pub fn has(self, other: Capabilities) -> bool {
        self.0 & other.0 == other.0
    }

    /// As the number on the wire.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl BitOr for Capabilities {
    type Output = Capabilities;

    fn bitor(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Capabilities;

    fn bitand(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & other.0)
    }
}

/// The status word of OK and EOF packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status(u16);

impl Status {
    /// A transaction is open.
    pub const IN_TRANSACTION: Status = Status(1);
    /// Each statement is a transaction of its own.
    pub const AUTOCOMMIT: Status = Status(2);
    /// Another result of the same query follows.
    pub const MORE_RESULTS: Status = Status(8);
    /// A cursor is open; its rows are fetched.
    pub const CURSOR_EXISTS: Status = Status(0x40);
    /// FETCH has sent the last row.
    pub const LAST_ROW_SENT: Status = Status(0x80);
    /// A backslash in a string is a character like others.
    pub const NO_BACKSLASH_ESCAPES: Status = Status(0x200);
    /// The transaction that is open writes nothing.
    pub const IN_READ_ONLY_TRANSACTION: Status = Status(0x2000);
    /// Changes of the session follow in the same packet.
    pub const SESSION_STATE_CHANGED: Status = Status(0x4000);

    /// Whether all of `other` are set.
    pub fn has(self, other: Status) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds `other` if `condition`.
    #[must_use]
    pub fn with_if(self, other: Status, condition: bool) -> Status {
        if condition {
            Status(self.0 | other.0)
        } else {
            self
        }
    }

    /// Adds `other`.
    #[must_use]
    pub fn with(self, other: Status) -> Status {
        Status(self.0 | other.0)
    }

    /// As the number on the wire.
    pub fn bits(self) -> u16 {
        self.0
    }
}
