//! What a session gives to the connection that asked it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::load::Loading;
use crate::accounts::AccountName;
use crate::exec::rows::RowStream;
use crate::protocol::Status;
use crate::protocol::column::JsonAs;
use crate::protocol::compression::Algorithm;
use crate::protocol::reply::Progress;
use crate::types::ResultColumn;
use crate::types::temporal::zone::Zone;

/// The answer to the first statement of a query.
pub struct Answer {
    /// What the statement gave.
    pub reply: Reply,
    /// Where in the text the next statement begins; `None` after the last.
    pub rest: Option<usize>,
}

/// What a statement gave.
pub enum Reply {
    /// No rows.
    Done(Done),
    /// Rows, to be streamed; [`super::Session::end_rows`] must be called when they end.
    Rows(ResultSet),
    /// The client is to send a file, for [`super::Session::load`].
    File(Box<Loading>),
}

/// The outcome of a statement without rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows changed, or found for clients that asked for that.
    pub affected_rows: u64,
    /// The first `AUTO_INCREMENT` value that the statement made; 0 for none.
    pub last_insert_id: u64,
    /// How many warnings SHOW WARNINGS has.
    pub warnings_count: u16,
    /// A text for people; empty for most statements.
    pub info: String,
}

/// Rows to come.
pub struct ResultSet {
    /// The columns. The same `Arc` for each execution of a prepared statement lets the
    /// connection send their definitions again without encoding them again.
    pub columns: Arc<[ResultColumn]>,
    /// The zone in which TIMESTAMPs are shown.
    pub zone: Zone,
    /// The rows.
    pub rows: Box<dyn RowStream>,
}

/// A prepared statement.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Its number, unique in the session, never 0 nor `u32::MAX`.
    pub id: u32,
    /// How many `?` it has.
    pub parameters_count: u16,
    /// The columns of its result; none for statements without rows.
    pub columns: Arc<[ResultColumn]>,
}

/// What a connection must know of its session's settings; asked for after each statement.
#[derive(Debug, Clone, Copy)]
pub struct WireState {
    /// AUTOCOMMIT, `IN_TRANSACTION`, `IN_READ_ONLY_TRANSACTION` and `NO_BACKSLASH_ESCAPES` as they are now.
    pub status: Status,
    /// How JSON columns are described.
    pub json_as: JsonAs,
    /// How long the connection may be idle; `interactive_timeout` for interactive clients.
    pub wait_timeout: Duration,
    /// How long the client may take to accept a page.
    pub net_write_timeout: Duration,
    /// `net_read_timeout`: how long the next part of a file that a client sends may take.
    pub net_read_timeout: Duration,
    /// The most bytes of one packet from the client.
    pub packet_bytes_max: usize,
}

/// How a connection is encrypted, in OpenSSL's words, which are MySQL's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// `TLSv1.3`.
    pub version: &'static str,
    /// `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}

/// Who is at the other end, known since login.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one fact that the protocol tells by itself"
)]
pub struct Client {
    /// The user's name.
    pub user: String,
    /// Where the client is: `localhost` or an address.
    pub host: String,
    /// The account that the client was matched with.
    pub account: AccountName,
    /// The password has expired: it must be changed before anything else.
    pub expired: bool,
    /// How the connection is encrypted; `None` when it is not.
    pub tls: Option<Tls>,
    /// The connection's number, as in `CONNECTION_ID()`.
    pub connection_id: u32,
    /// Affected rows of an UPDATE are those found.
    pub found_rows: bool,
    /// One query may hold several statements.
    pub multi_statements: bool,
    /// The client sends files when it is asked for them.
    pub local_files: bool,
    /// A person sits at the client.
    pub interactive: bool,
    /// Changes of the session are told.
    pub session_track: bool,
    /// How the connection is compressed; `None` when it is not.
    pub compression: Option<Algorithm>,
    /// Where to tell how far a statement is; none when the client could not be told.
    pub progress: Option<watch::Sender<Progress>>,
}
