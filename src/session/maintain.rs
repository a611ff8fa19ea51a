//! CHECK, REPAIR, ANALYZE and OPTIMIZE TABLE, with MySQL's four columns.

use super::compile::text;
use super::listing::{LONG_TEXT, Listing, TEXT};
use super::{Reply, Session};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::check::{Checker, Finding, count};
use crate::exec::rows::BoxFuture;
use crate::exec::write;
use crate::index;
use crate::sql::ast::{Maintain, Maintenance};
use crate::types::Value;

impl Session {
    pub(super) async fn maintain(&mut self, maintain: &Maintain) -> Result<Reply> {
        self.commit_open().await?;
        let mut listing = Listing::new(&[
            ("Table", TEXT),
            ("Op", TEXT),
            ("Msg_type", TEXT),
            ("Msg_text", LONG_TEXT),
        ]);
        for name in &maintain.tables {
            let database = self.database_or_current(name.database.as_deref())?;
            let full_name = format!("{database}.{}", name.name);
            let messages = match self.table(Some(&database), &name.name) {
                Ok(table) => self.maintain_one(&table, maintain.kind).await?,
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
    async fn maintain_one(&mut self, table: &Table, kind: Maintenance) -> Result<Messages> {
        let (state, done) = match kind {
            Maintenance::Check => ("Checking table", self.checked(table, false)),
            Maintenance::Repair => ("Repairing table", self.checked(table, true)),
            Maintenance::Analyze => ("Analyzing table", self.analyzed(table)),
            Maintenance::Optimize => ("Optimizing table", self.optimized(table)),
        };
        let processes = self.shared.processes();
        processes.set_state(self.client.connection_id, state.to_owned());
        match done.await {
            Ok(messages) => Ok(messages),
            Err(error) => {
                self.cancel.check()?;
                Ok(vec![told(&error), ("error", "Corrupt".into())])
            }
        }
    }

    fn checked<'s>(&'s self, table: &'s Table, repairs: bool) -> BoxFuture<'s, Result<Messages>> {
        let checker = Checker {
            engine: &self.shared.engine,
            cancel: &self.cancel,
            repairs,
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

    fn optimized<'s>(&'s self, table: &'s Table) -> BoxFuture<'s, Result<Messages>> {
        Box::pin(async move {
            let indexes = table.indexes.iter().map(index::space);
            for space in std::iter::once(write::space(table)).chain(indexes) {
                self.shared.engine.compact(space).await?;
                self.cancel.check()?;
            }
            self.analyzed(table).await
        })
    }
}

/// Kinds and texts.
type Messages = Vec<(&'static str, String)>;

fn told(error: &Error) -> (&'static str, String) {
    ("Error", error.message().to_owned())
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
