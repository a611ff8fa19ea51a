//! A session's statement as it is measured: from its first byte to its last row.
//!
//! [`Watch::start`], then [`Session::ended`] when there is an answer. One with rows waits in [`Pending`]
//! until they have ended, one whose rows are fetched by and by in [`Fetching`]. Hot: what is not needed
//! for each statement is asked for only where it is the first of its digest, slow, or a sample.

use std::time::Instant;

use super::digests::{Place, Told};
use super::slow::{self, Entry, LOGGED_BYTES_MAX, Server};
use super::verb::Verb;
use super::{Event, nanos};
use crate::error::{Code, Error, Result};
use crate::exec::cancel::CancelToken;
use crate::session::secrets;
use crate::session::state::State;
use crate::session::{Reply, Session, VERSION};
use crate::sql::ast::Statement;
use crate::sql::context::{Mode, SessionFacts};
use crate::sql::parse::{self, Digest, DigestKey};
use crate::types::Timestamp;
use crate::types::temporal::MICROS_PER_SECOND;

/// Memory for a text that a connection keeps when it waits.
const TEXT_BYTES_IDLE_MAX: usize = 256;

/// A statement that is measured.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Watch {
    began: Instant,
    rows_before: u64,
    lock_nanos_before: u64,
    /// What it took before that: of one whose rows are fetched by and by.
    spent: Spent,
    verb: Verb,
    /// Whether it was prepared before.
    is_execution: bool,
    /// `None` of what is in no digest.
    read: Option<Read>,
}

/// How a statement's text was read.
#[derive(Debug, Clone, Copy)]
struct Read {
    digest: DigestKey,
    /// The `sql_mode`, which the statement itself may change.
    mode: Mode,
    may_have_secret: bool,
}

/// What a statement took while the server was at it.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    nanos: u64,
    lock_nanos: u64,
    rows: u64,
}

/// A statement whose rows are still to come, or its file.
#[derive(Debug, Default)]
pub(in crate::session) struct Pending {
    watch: Option<Watch>,
    text: Vec<u8>,
    is_whole: bool,
    digest: Option<Digest>,
}

/// A statement whose rows are fetched by and by. Of its time counts what the server was at it, and not how
/// long the client thinks between two fetches.
#[derive(Debug)]
pub struct Fetching(Pending);

/// The text of a statement.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Text<'a> {
    /// All of it, or its first [`LOGGED_BYTES_MAX`] bytes.
    pub(in crate::session) bytes: &'a [u8],
    pub(in crate::session) is_whole: bool,
    /// The digest, if the bytes are not all and it may be asked for.
    pub(in crate::session) digest: Option<&'a Digest>,
}

impl Text<'_> {
    /// A text that is there.
    pub(in crate::session) fn whole(bytes: &[u8]) -> Text<'_> {
        Text {
            bytes,
            is_whole: true,
            digest: None,
        }
    }
}

/// What came of a statement.
#[derive(Debug, Clone, Copy, Default)]
struct Came {
    rows_sent: u64,
    rows_affected: u64,
    error: Option<Code>,
}

impl Watch {
    /// A statement begins.
    pub(in crate::session) fn start(cancel: &CancelToken) -> Watch {
        Watch {
            began: Instant::now(),
            rows_before: cancel.rows_read(),
            lock_nanos_before: cancel.lock_nanos(),
            spent: Spent::default(),
            verb: Verb::Invalid,
            is_execution: false,
            read: None,
        }
    }

    /// What it is known to be now; the mode is the one that its text was read with.
    pub(in crate::session) fn of(
        self,
        statement: &Statement,
        (digest, mode): (DigestKey, Mode),
    ) -> Watch {
        Watch {
            verb: Verb::of(statement),
            read: Some(Read {
                digest,
                mode,
                may_have_secret: secrets::may_have(statement),
            }),
            ..self
        }
    }

    /// A command of the protocol, which has no text: in no digest.
    pub(in crate::session) fn of_command(self, verb: Verb) -> Watch {
        Watch { verb, ..self }
    }

    /// A prepared statement is run.
    pub(in crate::session) fn of_execution(self) -> Watch {
        Watch {
            is_execution: true,
            ..self
        }
    }

    /// What it has taken until a moment.
    fn spent_until(&self, at: Instant, cancel: &CancelToken) -> Spent {
        let lock_nanos = cancel.lock_nanos().wrapping_sub(self.lock_nanos_before);
        let took = nanos(at.saturating_duration_since(self.began));
        Spent {
            nanos: self.spent.nanos.saturating_add(took),
            lock_nanos: self.spent.lock_nanos.saturating_add(lock_nanos),
            rows: self.spent.rows + cancel.rows_read().wrapping_sub(self.rows_before),
        }
    }

    /// The server is not at it for a while.
    fn pause(&mut self, cancel: &CancelToken) {
        self.spent = self.spent_until(Instant::now(), cancel);
    }

    /// The server is at it again.
    fn go_on(&mut self, cancel: &CancelToken) {
        *self = Watch {
            spent: self.spent,
            verb: self.verb,
            is_execution: self.is_execution,
            read: self.read,
            ..Watch::start(cancel)
        };
    }
}

/// The digest of a text that is too long to be kept whole.
pub(in crate::session) fn digest_if_long(text: &[u8], mode: Mode) -> Option<Digest> {
    let is_long = LOGGED_BYTES_MAX < text.len();
    is_long.then(|| parse::digest(text, mode).ok()).flatten()
}

/// As much of a text as is kept.
pub(in crate::session) fn kept(text: &[u8]) -> &[u8] {
    text.get(..LOGGED_BYTES_MAX).unwrap_or(text)
}

/// Tells more of a statement.
struct Teller<'a> {
    text: Text<'a>,
    state: &'a State,
    read: Read,
}

impl Told for Teller<'_> {
    fn schema(&self) -> Option<String> {
        self.state.database()
    }

    fn digest(&self) -> Option<Digest> {
        let known = self.text.digest.cloned();
        // A part of a text has the digest of another.
        let can_read = self.text.is_whole;
        known.or_else(|| {
            can_read
                .then(|| parse::digest(self.text.bytes, self.read.mode).ok())
                .flatten()
        })
    }

    fn sample(&self, bytes_max: usize) -> String {
        let bytes = self.text.bytes;
        let bytes = bytes.get(..bytes_max).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let mut text = if self.read.may_have_secret {
            secrets::cut(&text)
        } else {
            text.into_owned()
        };
        slow::cut(&mut text, bytes_max);
        text
    }
}

impl Session {
    /// A statement has an answer, or failed.
    ///
    /// # Errors
    /// What it failed with, kept for SHOW WARNINGS.
    pub(in crate::session) fn ended(
        &mut self,
        watch: Watch,
        text: Text<'_>,
        result: Result<Reply>,
    ) -> Result<Reply> {
        let executed = self.executed.take();
        let (watch, text) = match &executed {
            Some(prepared) => prepared.watched(watch),
            None => (watch, text),
        };
        match result {
            Ok(reply) => {
                self.track_reply(&reply);
                match &reply {
                    Reply::Done(done) => {
                        let came = Came {
                            rows_affected: done.affected_rows,
                            ..Came::default()
                        };
                        self.note_end(watch, text, came);
                    }
                    Reply::Rows(_) | Reply::File(_) => self.suspend(watch, text),
                }
                Ok(reply)
            }
            Err(error) => Err(self.ended_by(watch, text, error)),
        }
    }

    /// A statement failed.
    pub(in crate::session) fn ended_by(
        &mut self,
        watch: Watch,
        text: Text<'_>,
        error: Error,
    ) -> Error {
        let came = Came {
            error: Some(error.code()),
            ..Came::default()
        };
        // Before the error is among the warnings: it is counted as what it is.
        self.note_end(watch, text, came);
        self.failed(&error);
        error
    }

    /// A text was no statement.
    pub(in crate::session) fn ended_unread(&mut self, watch: Watch, error: Error) -> Error {
        self.ended_by(watch, Text::whole(b""), error)
    }

    /// A command without a text was carried out, or not.
    ///
    /// # Errors
    /// What it failed with, kept for SHOW WARNINGS.
    pub(in crate::session) fn ended_command<T>(
        &mut self,
        watch: Watch,
        result: Result<T>,
    ) -> Result<T> {
        match result {
            Ok(done) => {
                let event = self.event((watch, Instant::now()), Came::default());
                self.count(&event);
                Ok(done)
            }
            Err(error) => Err(self.ended_unread(watch, error)),
        }
    }

    fn suspend(&mut self, watch: Watch, text: Text<'_>) {
        // Of a text that is cut here; told later only for the first of its digest.
        let long_digest = || {
            let read = watch.read.filter(|_| text.is_whole)?;
            let is_wanted = LOGGED_BYTES_MAX < text.bytes.len()
                && !self.shared.monitor.digests.knows(self.place(read));
            is_wanted
                .then(|| digest_if_long(text.bytes, read.mode))
                .flatten()
        };
        let digest = text.digest.cloned().or_else(long_digest);
        let bytes = kept(text.bytes);
        let pending = &mut self.pending;
        pending.watch = Some(watch);
        pending.text.clear();
        pending.text.extend_from_slice(bytes);
        pending.is_whole = text.is_whole && bytes.len() == text.bytes.len();
        pending.digest = digest;
    }

    /// The rows of the last statement have ended, or its file.
    pub(in crate::session) fn resume(
        &mut self,
        (rows_sent, rows_affected): (u64, u64),
        error: Option<Code>,
    ) {
        let Some(watch) = self.pending.watch.take() else {
            return;
        };
        let mut bytes = std::mem::take(&mut self.pending.text);
        let digest = self.pending.digest.take();
        let text = Text {
            bytes: &bytes,
            is_whole: self.pending.is_whole,
            digest: digest.as_ref(),
        };
        let came = Came {
            rows_sent,
            rows_affected,
            error,
        };
        self.note_end(watch, text, came);
        if bytes.capacity() <= TEXT_BYTES_IDLE_MAX {
            bytes.clear();
            self.pending.text = bytes;
        }
    }

    /// The rows of the last reply are to be fetched by and by; between two fetches other statements run.
    pub fn open_rows(&mut self) -> Fetching {
        let mut pending = std::mem::take(&mut self.pending);
        if let Some(watch) = &mut pending.watch {
            watch.pause(&self.cancel);
        }
        Fetching(pending)
    }

    /// Some of its rows are asked for, which may take as long as a SELECT.
    pub fn begin_fetch(&self, fetching: &mut Fetching) {
        self.limit_time();
        if let Some(watch) = &mut fetching.0.watch {
            watch.go_on(&self.cancel);
        }
    }

    /// They are sent.
    pub fn end_fetch(&self, fetching: &mut Fetching) {
        if let Some(watch) = &mut fetching.0.watch {
            watch.pause(&self.cancel);
        }
    }

    /// No more are asked for: so many were, and so it ended.
    pub fn leave_rows(&mut self, fetching: Fetching, rows_count: u64, error: Option<&Error>) {
        self.pending = fetching.0;
        if let Some(watch) = &mut self.pending.watch {
            watch.go_on(&self.cancel);
        }
        self.resume((rows_count, 0), error.map(Error::code));
        if let Some(error) = error {
            self.failed(error);
        }
    }

    fn event(&self, (watch, ended_at): (Watch, Instant), came: Came) -> Event {
        let spent = watch.spent_until(ended_at, &self.cancel);
        Event {
            verb: watch.verb,
            is_execution: watch.is_execution,
            nanos: spent.nanos,
            lock_nanos: spent.lock_nanos,
            rows_sent: came.rows_sent,
            rows_examined: spent.rows,
            rows_affected: came.rows_affected,
            warnings: self.warnings.count(),
            error: came.error,
        }
    }

    fn note_end(&self, watch: Watch, text: Text<'_>, came: Came) {
        let ended_at = Instant::now();
        let event = self.event((watch, ended_at), came);
        self.count(&event);
        let Some(read) = watch.read else {
            return;
        };
        let told = Teller {
            text,
            state: &self.state,
            read,
        };
        let place = self.place(read);
        let digests = &self.shared.monitor.digests;
        digests.note(place, (&event, ended_at), &told);
        let settings = &self.settings;
        if settings.slow_nanos <= event.nanos && settings.slow_rows_min <= event.rows_examined {
            self.note_slow(event, place, &told);
        }
    }

    /// Counts a statement among those of the server and of the session.
    fn count(&self, event: &Event) {
        self.shared.monitor.counts.note(event);
        self.state.own().note(event);
    }

    fn place(&self, read: Read) -> Place {
        self.state
            .with_database(|database| Place::new(database, read.digest))
    }

    #[cold]
    fn note_slow(&self, event: Event, place: Place, told: &Teller<'_>) {
        let micros = i64::try_from(event.nanos / super::NANOS_PER_MICRO).unwrap_or(i64::MAX);
        let began = crate::session::now().total_micros().saturating_sub(micros);
        let known = self.shared.monitor.digests.text_of(place);
        let digest = known.or_else(|| told.digest().map(|digest| digest.text));
        let entry = Entry {
            began: Timestamp::from_micros(began, 6).unwrap_or(Timestamp::ZERO),
            user: self.client.user.clone(),
            host: self.client.host.clone(),
            connection_id: self.client.connection_id,
            database: self.state.database(),
            event,
            text: told.sample(LOGGED_BYTES_MAX),
            digest: digest.unwrap_or_default(),
        };
        let is_logged = self.shared.global_number("slow_query_log") == 1;
        let name = self.shared.global_text("slow_query_log_file");
        let server = self.shared.slow_log_server();
        let file = is_logged.then_some((name.as_str(), server));
        self.shared.monitor.slow.note(entry, file);
    }
}

impl crate::session::Shared {
    /// What the slow query log tells of the server.
    pub(in crate::session) fn slow_log_server(&self) -> Server {
        Server {
            version: VERSION,
            port: self.global_number("port"),
        }
    }
}

/// Seconds as `long_query_time` has them, in nanoseconds.
pub(in crate::session) fn seconds_to_nanos(text: &str) -> u64 {
    let micros = micros_of(text).unwrap_or(u64::MAX);
    micros.saturating_mul(super::NANOS_PER_MICRO)
}

fn micros_of(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let per_second = u64::try_from(MICROS_PER_SECOND).ok()?;
    whole.checked_mul(per_second)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_fractions() {
        for (text, nanos) in [
            ("0", 0),
            ("10.000000", 10_000_000_000),
            ("0.000001", 1_000),
            ("1.5", 1_500_000_000),
            ("no", u64::MAX),
        ] {
            assert_eq!(seconds_to_nanos(text), nanos, "{text}");
        }
    }
}
