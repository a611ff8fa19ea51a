//! The commands that are not about prepared statements.

use super::connection::Talk;
use super::local_file::Wanted;
use super::rows;
use super::wire::Gone;
use crate::error::{Code, Error, Result};
use crate::exec::cancel::Stop;
use crate::exec::pace::Pace;
use crate::protocol::Status;
use crate::protocol::column;
use crate::protocol::reply::Outcome;
use crate::protocol::row::{self, RowEncoder};
use crate::session::monitor::counts;
use crate::session::{Answer, Done, Reply, ResultSet};

impl Talk {
    /// Runs the statements of a query one after the other, until one fails, or wants a file.
    pub(super) async fn query(&mut self, text: &[u8]) -> std::result::Result<Option<Wanted>, Gone> {
        let (mut rest, mut pace) = (text, Pace::default());
        loop {
            let answer = self.session.query(rest);
            let answered = match &mut self.reports {
                None => answer.await,
                Some(reports) => reports.send_until(&mut self.wire, answer).await,
            };
            self.refresh();
            let Answer { reply, rest: next } = match answered {
                Ok(answer) => answer,
                Err(error) => {
                    self.wire.error(&error);
                    return Ok(None);
                }
            };
            let more = next.is_some();
            let next = next.and_then(|at| rest.get(at..));
            let succeeded = match reply {
                Reply::Done(done) => {
                    self.done(&done, more);
                    true
                }
                Reply::Rows(set) => self.text_rows(set, more).await?,
                Reply::File(loading) => {
                    let rest = next.map(<[u8]>::to_vec);
                    return Ok(Some(Wanted { loading, rest }));
                }
            };
            match next {
                Some(after) if succeeded => rest = after,
                Some(_) | None => return Ok(None),
            }
            if !self.goes_on(&mut pace).await? {
                return Ok(None);
            }
        }
    }

    /// Between two statements of a query: sends what is much, and lets others run when these have had
    /// their turn. Whether the next one is to be run; if not, the client is told why.
    pub(super) async fn goes_on(&mut self, pace: &mut Pace) -> std::result::Result<bool, Gone> {
        // The statement before had a time of its own.
        self.registration.cancel().clear_time_limit();
        let mut stopped = self.wire.flush_if_full_unless_stopped().await?;
        if stopped.is_none() {
            pace.keep().await;
            stopped = self.registration.cancel().check().err();
        }
        if stopped.is_none() {
            stopped = match self.registration.cancel().ends_connection() {
                // `COMMIT RELEASE` and its like: what stands behind it is not run, without a word.
                Some(Stop::Released) => return Ok(false),
                // The server drains: only the statement before was let run to its end.
                Some(stop) => Some(stop.error()),
                None => None,
            };
        }
        if let Some(error) = &stopped {
            self.error(error);
        }
        Ok(stopped.is_none())
    }

    /// Tells SHOW PROCESSLIST which database is current.
    pub(super) fn database_may_differ(&self) {
        self.registration.set_database(self.session.database());
    }

    /// An OK with news.
    pub(super) fn done(&mut self, done: &Done, more: bool) {
        self.wire.ok(&Outcome {
            affected_rows: done.affected_rows,
            last_insert_id: done.last_insert_id,
            status: self.state.status.with_if(Status::MORE_RESULTS, more),
            warnings_count: done.warnings_count,
            info: &done.info,
            ..Outcome::default()
        });
    }

    /// Streams a result as text; `false` when it ended with an error.
    async fn text_rows(&mut self, set: ResultSet, more: bool) -> std::result::Result<bool, Gone> {
        let ResultSet {
            columns,
            zone,
            mut rows,
        } = set;
        rows::put_definitions(&mut self.wire.out, &columns, self.state.json_as);
        let status = self.state.status.with_if(Status::MORE_RESULTS, more);
        self.wire.end_of_columns(status);
        let encoder = RowEncoder::text_of(&columns);
        let streamed = rows::stream(&mut self.wire, (&encoder, &zone), rows.as_mut()).await;
        drop(rows);
        let streamed = streamed.map_err(|broken| self.broken(broken))?;
        Ok(self.end_rows(streamed, more))
    }

    /// The client of a result is gone: its statement has failed.
    pub(super) fn broken(&mut self, broken: rows::Broken) -> Gone {
        let error = Stop::ClientLost.error();
        self.session.fail_rows(broken.rows_count, &error);
        broken.gone
    }

    /// Ends a streamed result; `false` when it ended with an error.
    pub(super) fn end_rows(&mut self, streamed: rows::Streamed, more: bool) -> bool {
        match &streamed.end {
            Ok(_) => self.session.end_rows(streamed.rows_count),
            Err(error) => self.session.fail_rows(streamed.rows_count, error),
        }
        self.refresh();
        match streamed.end {
            Ok(warnings_count) => {
                let status = self.state.status.with_if(Status::MORE_RESULTS, more);
                self.wire.end_of_rows(status, warnings_count);
                true
            }
            Err(error) => {
                self.wire.error(&error);
                false
            }
        }
    }

    /// `COM_INIT_DB`.
    pub(super) fn init_db(&mut self, name: &[u8]) {
        let name = match name_text(name) {
            Ok(name) => name,
            Err(error) => return self.error(&error),
        };
        let used = self.session.run_use(name);
        self.refresh();
        match used {
            Ok(()) => self.ok(),
            // It counts as that of a statement.
            Err(error) => self.wire.error(&error),
        }
    }

    /// `COM_FIELD_LIST`: definitions without count and without rows.
    pub(super) fn field_list(&mut self, table: &[u8], wildcard: &[u8]) {
        let listed = match (name_text(table), name_text(wildcard)) {
            (Ok(table), Ok(wildcard)) => self.session.list_fields(table, wildcard),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        self.refresh();
        match listed {
            Ok(columns) => {
                let zone = self.session.zone();
                for field in &columns {
                    let json_as = self.state.json_as;
                    self.wire.out.packet(|out| {
                        column::put_column(out, &field.column, json_as);
                        row::put_text(out, &field.default, &zone);
                    });
                }
                self.wire.end_of_rows(self.state.status, 0);
            }
            Err(error) => self.error(&error),
        }
    }

    /// `COM_STATISTICS`: a bare text.
    pub(super) fn statistics(&mut self) {
        let processes = self.context.shared.processes();
        let seconds = processes.uptime().as_secs();
        let counts = &self.context.shared.monitor().counts;
        let questions = counts::queries(|verb| counts.of(verb).statements).run;
        let threads = processes.count();
        let thousandths = questions.saturating_mul(1000) / seconds.max(1);
        let slow = self.context.shared.monitor().slow.count();
        let (whole, fraction) = (thousandths / 1000, thousandths % 1000);
        let text = format!(
            "Uptime: {seconds}  Threads: {threads}  Questions: {questions}  Slow queries: {slow}  \
             Opens: 0  Flush tables: 0  Open tables: 0  \
             Queries per second avg: {whole}.{fraction:03}"
        );
        self.wire
            .out
            .packet(|out| out.extend_from_slice(text.as_bytes()));
    }

    /// `COM_RESET_CONNECTION`.
    pub(super) async fn reset_connection(&mut self) {
        self.clear_statements();
        let reset = self.session.reset().await;
        self.refresh();
        self.ok_or_error(reset);
    }

    /// `COM_SET_OPTION`.
    pub(super) fn set_multi_statements(&mut self, allowed: bool) {
        self.session.set_multi_statements(allowed);
        self.wire.end_of_rows(self.state.status, 0);
    }

    /// An OK, or the error.
    pub(super) fn ok_or_error(&mut self, result: Result<()>) {
        match result {
            Ok(()) => self.ok(),
            Err(error) => self.error(&error),
        }
    }
}

fn name_text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        let shown = bytes.escape_ascii();
        let text = format!("Invalid utf8mb4 character string: '{shown}'");
        Error::new(Code::InvalidCharacterString, text)
    })
}
