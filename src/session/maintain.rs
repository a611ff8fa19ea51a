//! CHECK, REPAIR, ANALYZE and OPTIMIZE TABLE, with MySQL's four columns.

use std::sync::Arc;

use super::compile::text;
use super::listing::{LONG_TEXT, Listing, TEXT};
use super::{Reply, Session};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::exec::check::{Checker, Finding, count, untold};
use crate::exec::rows::BoxFuture;
use crate::exec::write;
use crate::index;
use crate::kv::Space;
use crate::sql::ast::{Maintain, Maintenance, TableName};
use crate::types::Value;

impl Session {
    /// `FLUSH`: what is kept of accounts for speed, what the session counts, and the files of logs. What is open is committed, as in
    /// MySQL (manual, "Statements That Cause an Implicit Commit").
    ///
    /// # Errors
    /// Those of the commit; 1 when too many wait for the log's disk; what stops the statement while it waits
    /// itself.
    pub(super) async fn flush(&mut self, (logs, status): (bool, bool)) -> Result<()> {
        self.commit_open().await?;
        if status {
            self.state.own().reset();
            self.shared.processes().note_status_flushed();
        }
        if !logs {
            self.shared.accounts.forget_fast();
            return Ok(());
        }
        // Answered when the file is closed: who rotates it may then take it away.
        tokio::select! {
            closed = self.shared.flush_logs() => closed.map_err(|cause| {
                let text = format!("Could not close the slow query log ({cause})");
                Error::new(Code::FileNotCreated, text)
            }),
            error = self.cancel.stopped() => Err(error),
        }
    }

    pub(super) async fn maintain(&mut self, maintain: &Maintain) -> Result<Reply> {
        self.commit_open().await?;
        let mut listing = Listing::new(&[
            ("Table", TEXT),
            ("Op", TEXT),
            ("Msg_type", TEXT),
            ("Msg_text", LONG_TEXT),
        ]);
        let compacted = match maintain.kind {
            Maintenance::Optimize => self.compact_named(&maintain.tables).await,
            Maintenance::Check | Maintenance::Repair | Maintenance::Analyze => Ok(()),
        };
        self.cancel.check()?;
        for name in &maintain.tables {
            let database = self.database_or_current(name.database.as_deref())?;
            let full_name = format!("{database}.{}", name.name);
            let messages = match self.table(Some(&database), &name.name) {
                Ok(table) => {
                    let with = (maintain.kind, &compacted);
                    self.maintain_one(&table, with).await?
                }
                Err(error) => vec![told(&error), ("status", "Operation failed".into())],
            };
            for (kind, message) in messages {
                listing.push(vec![
                    text(Some(full_name.as_str())),
                    Value::text(maintain.kind.name()),
                    Value::text(kind),
                    text(Some(message)),
                ]);
            }
        }
        Ok(listing.into_reply())
    }

    /// The kinds and texts of the messages on one table.
    async fn maintain_one(
        &mut self,
        table: &Table,
        (kind, compacted): (Maintenance, &Result<()>),
    ) -> Result<Messages> {
        let (state, done) = match kind {
            Maintenance::Check => ("Checking table", self.checked(table, false)),
            Maintenance::Repair => ("Repairing table", self.checked(table, true)),
            Maintenance::Analyze => ("Analyzing table", self.analyzed(table)),
            Maintenance::Optimize => ("Optimizing table", self.optimized(table, compacted.clone())),
        };
        let processes = self.shared.processes();
        processes.set_state(self.client.connection_id, state.to_owned());
        match done.await {
            Ok(messages) => Ok(messages),
            Err(error) => {
                self.cancel.check()?;
                Ok(vec![told(&error), end_of(&error)])
            }
        }
    }

    fn checked<'s>(&'s self, table: &'s Table, repairs: bool) -> BoxFuture<'s, Result<Messages>> {
        let checker = Checker {
            engine: &self.shared.engine,
            cancel: &self.cancel,
            repairs,
            progress: &untold,
        };
        Box::pin(async move {
            let findings = checker.run(table).await?;
            Ok(messages(&findings, repairs))
        })
    }

    fn analyzed<'s>(&'s self, table: &'s Table) -> BoxFuture<'s, Result<Messages>> {
        Box::pin(async move {
            let counted = count::recount(&self.shared.engine, table, &self.cancel).await?;
            let mut messages = Messages::new();
            if counted.is_none() {
                let text = "others wrote to the table while its rows were counted: their number is \
                            not known";
                messages.push(("note", text.to_owned()));
            }
            messages.push(("status", "OK".into()));
            Ok(messages)
        })
    }

    fn optimized<'s>(
        &'s self,
        table: &'s Table,
        compacted: Result<()>,
    ) -> BoxFuture<'s, Result<Messages>> {
        Box::pin(async move {
            compacted?;
            self.analyzed(table).await
        })
    }

    async fn compact_named(&self, names: &[TableName]) -> Result<()> {
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            let database = self.database_or_current(name.database.as_deref())?;
            // One that is not there is told of in its turn.
            tables.extend(self.table(Some(&database), &name.name).ok());
        }
        let processes = self.shared.processes();
        processes.set_state(self.client.connection_id, "Compacting files".to_owned());
        self.compact(&tables).await
    }

    /// Rewrites the files once, without what is dead of these tables. A KILL ends the waiting; the
    /// engine ends what it has begun.
    pub(super) async fn compact(&self, tables: &[Arc<Table>]) -> Result<()> {
        let spaces_of = |table: &Arc<Table>| {
            let indexes = table.indexes.iter().map(index::space);
            std::iter::once(write::space(table))
                .chain(indexes)
                .chain(table.deletions_space().map(Space))
                .collect::<Vec<_>>()
        };
        let spaces: Vec<Space> = tables.iter().flat_map(spaces_of).collect();
        if spaces.is_empty() {
            return Ok(());
        }
        tokio::select! {
            done = self.shared.engine.compact(&spaces) => Ok(done?),
            error = self.cancel.stopped() => Err(error),
        }
    }
}

/// Kinds and texts.
type Messages = Vec<(&'static str, String)>;

fn told(error: &Error) -> (&'static str, String) {
    ("Error", error.message().to_owned())
}

/// What a table is after an error: damaged, or as it was.
fn end_of(error: &Error) -> (&'static str, String) {
    if error.code() == Code::StorageCorrupt {
        ("error", "Corrupt".into())
    } else {
        ("status", "Operation failed".into())
    }
}

fn messages(findings: &[Finding], repairs: bool) -> Messages {
    let mut messages = Vec::new();
    for finding in findings {
        let place = &finding.place;
        if let Some(why) = &finding.skipped {
            messages.push(("note", why.clone()));
        }
        let shown = finding.shown.iter();
        messages.extend(shown.map(|what| ("warning", format!("{place}: {what}"))));
        let count = finding.differences;
        if 0 < count && repairs {
            let text = format!("{place}: {} of {count} differences mended", finding.mended);
            messages.push(("info", text));
        } else if 0 < count {
            messages.push(("warning", format!("{place}: {count} differences")));
        }
    }
    if findings.iter().all(Finding::is_clean) {
        messages.push(("status", "OK".into()));
    } else {
        messages.push(("error", "Corrupt".into()));
    }
    messages
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::exec::testing::Server;
    use crate::kv::memory::Memory;
    use crate::kv::testing::{Faults, Faulty, Recorder};

    /// It was `error | Corrupt`, for a table that nothing is wrong with.
    #[tokio::test]
    async fn a_full_disk_is_no_damage() {
        let disk = Arc::new(Faulty::new(Arc::new(Memory::default()), Faults::None));
        let server = Server::on(Arc::clone(&disk) as _).await;
        server
            .run("CREATE TABLE t (a INT PRIMARY KEY)")
            .await
            .unwrap();
        disk.fill(true);
        let told = server.maintain("OPTIMIZE TABLE t").await;
        let [full, end] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert!(
            full.starts_with("Error") && full.contains("bytes free"),
            "{full}"
        );
        assert_eq!(end, "status Operation failed");
        disk.fill(false);
        assert_eq!(server.maintain("OPTIMIZE TABLE t").await, ["status OK"]);
    }

    /// A pass rewrites the files of all tables; one for each index, and each table, was so many times
    /// the whole directory.
    #[tokio::test]
    async fn files_are_rewritten_once_for_all_that_a_statement_names() {
        let recorder = Arc::new(Recorder::new(Arc::new(Memory::default())));
        let server = Server::on(Arc::clone(&recorder) as _).await;
        for name in ["t", "u"] {
            let define =
                format!("CREATE TABLE {name} (a INT PRIMARY KEY, b INT, KEY (b), KEY (b, a))");
            server.run(&define).await.unwrap();
        }
        let spaces_of = |name: &str| {
            let table = server.table(name);
            let ids = table.indexes.iter().map(|index| index.id.0);
            let ids: Vec<String> = std::iter::once(table.id.0)
                .chain(ids)
                .map(|id| format!("s{id}"))
                .collect();
            ids.join(" ")
        };
        for (sql, expected) in [
            (
                "OPTIMIZE TABLE t, missing, u",
                format!("compact {} {}", spaces_of("t"), spaces_of("u")),
            ),
            (
                "ALTER TABLE u COMPACT",
                format!("compact {}", spaces_of("u")),
            ),
            ("CHECK TABLE t", String::new()),
        ] {
            recorder.take();
            server.run(sql).await.unwrap();
            let lines = recorder.take();
            let passes = lines.iter().filter(|line| line.starts_with("compact"));
            let passes: Vec<&str> = passes.map(String::as_str).collect();
            assert_eq!(passes.join("\n"), expected, "{sql}");
        }
    }
}
