//! A session's statement as it is measured: from its first byte to its last row.
//!
//! [`Watch::start`], then [`Session::ended`] when there is an answer. One with rows waits in [`Pending`]
//! until they have ended. Hot: what is not needed for each statement is asked for only where it is the
//! first of its digest, slow, or a sample.

use std::time::Instant;

use super::digests::{Place, Told};
use super::slow::{self, Entry, LOGGED_BYTES_MAX, Server};
use super::verb::Verb;
use super::{Event, nanos};
use crate::error::{Code, Error, Result};
use crate::exec::cancel::CancelToken;
use crate::session::processes::without_passwords;
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
    verb: Verb,
    /// `None` of what is in no digest.
    digest: Option<DigestKey>,
}

/// A statement whose rows are still to come, or its file.
#[derive(Debug, Default)]
pub(in crate::session) struct Pending {
    watch: Option<Watch>,
    text: Vec<u8>,
    digest: Option<Digest>,
}

/// The text of a statement.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Text<'a> {
    /// All of it, or its first [`LOGGED_BYTES_MAX`] bytes.
    pub(in crate::session) bytes: &'a [u8],
    /// The digest, if the bytes are not all.
    pub(in crate::session) digest: Option<&'a Digest>,
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
            verb: Verb::Invalid,
            digest: None,
        }
    }

    /// What it is known to be now.
    pub(in crate::session) fn of(self, statement: &Statement, digest: DigestKey) -> Watch {
        Watch {
            verb: Verb::of(statement),
            digest: Some(digest),
            ..self
        }
    }

    /// A statement is prepared, and not run.
    pub(in crate::session) fn of_prepare(self) -> Watch {
        Watch {
            verb: Verb::Prepare,
            ..self
        }
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
    mode: Mode,
}

impl Told for Teller<'_> {
    fn schema(&self) -> Option<String> {
        self.state.database()
    }

    fn digest(&self) -> Option<Digest> {
        let known = self.text.digest.cloned();
        known.or_else(|| parse::digest(self.text.bytes, self.mode).ok())
    }

    fn sample(&self, bytes_max: usize) -> String {
        let bytes = self.text.bytes;
        let bytes = bytes.get(..bytes_max).unwrap_or(bytes);
        let mut text = without_passwords(&String::from_utf8_lossy(bytes));
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
        let error = self.failed(error);
        let came = Came {
            error: Some(error.code()),
            ..Came::default()
        };
        self.note_end(watch, text, came);
        error
    }

    /// A text was no statement.
    pub(in crate::session) fn ended_unread(&mut self, watch: Watch, error: Error) -> Error {
        let nothing = Text {
            bytes: b"",
            digest: None,
        };
        self.ended_by(watch, nothing, error)
    }

    /// A statement was prepared, or not.
    ///
    /// # Errors
    /// What that failed with.
    pub(in crate::session) fn ended_preparing<T>(
        &mut self,
        watch: Watch,
        result: Result<T>,
    ) -> Result<T> {
        match result {
            Ok(prepared) => {
                let ended = (watch.of_prepare(), Instant::now());
                let event = self.event(ended, Came::default());
                self.shared.monitor.counts.note(&event);
                Ok(prepared)
            }
            Err(error) => Err(self.ended_unread(watch.of_prepare(), error)),
        }
    }

    fn suspend(&mut self, watch: Watch, text: Text<'_>) {
        let pending = &mut self.pending;
        pending.watch = Some(watch);
        pending.text.clear();
        pending.text.extend_from_slice(kept(text.bytes));
        pending.digest = text
            .digest
            .cloned()
            .or_else(|| digest_if_long(text.bytes, self.settings.mode));
    }

    /// The rows of the last statement have ended, or its file; `None` for rows of a cursor, whose
    /// statement ended when it was opened.
    pub(in crate::session) fn resume(
        &mut self,
        (rows_sent, rows_affected): (u64, u64),
        error: Option<Code>,
    ) {
        let Some(watch) = self.pending.watch.take() else {
            self.shared.monitor.counts.note_rows_sent(rows_sent);
            return;
        };
        let mut bytes = std::mem::take(&mut self.pending.text);
        let digest = self.pending.digest.take();
        let text = Text {
            bytes: &bytes,
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

    fn event(&self, (watch, ended_at): (Watch, Instant), came: Came) -> Event {
        Event {
            verb: watch.verb,
            nanos: nanos(ended_at.saturating_duration_since(watch.began)),
            lock_nanos: self
                .cancel
                .lock_nanos()
                .wrapping_sub(watch.lock_nanos_before),
            rows_sent: came.rows_sent,
            rows_examined: self.cancel.rows_read().wrapping_sub(watch.rows_before),
            rows_affected: came.rows_affected,
            warnings: self.warnings.count(),
            error: came.error,
        }
    }

    fn note_end(&self, watch: Watch, text: Text<'_>, came: Came) {
        let ended_at = Instant::now();
        let event = self.event((watch, ended_at), came);
        let monitor = &self.shared.monitor;
        monitor.counts.note(&event);
        let Some(digest) = watch.digest else {
            return;
        };
        let told = Teller {
            text,
            state: &self.state,
            mode: self.settings.mode,
        };
        let place = self
            .state
            .with_database(|database| Place::new(database, digest));
        monitor.digests.note(place, (&event, ended_at), &told);
        let settings = &self.settings;
        if settings.slow_nanos <= event.nanos && settings.slow_rows_min <= event.rows_examined {
            self.note_slow(event, &told);
        }
    }

    #[cold]
    fn note_slow(&self, event: Event, told: &Teller<'_>) {
        let micros = i64::try_from(event.nanos / super::NANOS_PER_MICRO).unwrap_or(i64::MAX);
        let began = crate::session::now().total_micros().saturating_sub(micros);
        let entry = Entry {
            began: Timestamp::from_micros(began, 6).unwrap_or(Timestamp::ZERO),
            user: self.client.user.clone(),
            host: self.client.host.clone(),
            connection_id: self.client.connection_id,
            database: self.state.database(),
            event,
            text: told.sample(LOGGED_BYTES_MAX),
            digest: told.digest().map(|digest| digest.text).unwrap_or_default(),
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
    pub(in crate::session) fn slow_log_server(&self) -> Server<'static> {
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
