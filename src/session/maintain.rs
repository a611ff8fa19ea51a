//! CHECK TABLE and REPAIR TABLE, with MySQL's four columns.

use super::compile::text;
use super::listing::{LONG_TEXT, Listing, TEXT};
use super::{Reply, Session};
use crate::error::{Error, Result};
use crate::exec::check::{Checker, Finding};
use crate::sql::ast::TableName;
use crate::types::Value;

impl Session {
    pub(super) async fn maintain(&mut self, tables: &[TableName], repairs: bool) -> Result<Reply> {
        self.commit_open().await?;
        let mut listing = Listing::new(&[
            ("Table", TEXT),
            ("Op", TEXT),
            ("Msg_type", TEXT),
            ("Msg_text", LONG_TEXT),
        ]);
        for name in tables {
            let database = self.database_or_current(name.database.as_deref())?;
            let full_name = format!("{database}.{}", name.name);
            let op = if repairs { "repair" } else { "check" };
            for (kind, message) in self.maintain_one(&database, name, repairs).await? {
                listing.push(vec![
                    text(Some(full_name.as_str())),
                    Value::text(op),
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
        database: &str,
        name: &TableName,
        repairs: bool,
    ) -> Result<Vec<(&'static str, String)>> {
        let table = match self.table(Some(database), &name.name) {
            Ok(table) => table,
            Err(error) => return Ok(vec![told(&error), ("status", "Operation failed".into())]),
        };
        let checker = Checker {
            engine: &self.shared.engine,
            cancel: &self.cancel,
            repairs,
        };
        let state = if repairs {
            "Repairing table"
        } else {
            "Checking table"
        };
        let processes = self.shared.processes();
        processes.set_state(self.client.connection_id, state.to_owned());
        match checker.run(&table).await {
            Ok(findings) => Ok(messages(&findings, repairs)),
            Err(error) => {
                self.cancel.check()?;
                Ok(vec![told(&error), ("error", "Corrupt".into())])
            }
        }
    }
}

fn told(error: &Error) -> (&'static str, String) {
    ("Error", error.message().to_owned())
}

fn messages(findings: &[Finding], repairs: bool) -> Vec<(&'static str, String)> {
    let mut messages = Vec::new();
    for finding in findings {
        let index = &finding.index;
        if let Some(why) = &finding.skipped {
            messages.push(("note", why.clone()));
        }
        let shown = finding.shown.iter();
        messages.extend(shown.map(|what| ("warning", format!("index {index}: {what}"))));
        let count = finding.differences;
        if 0 < count && repairs {
            let text = format!(
                "index {index}: {} of {count} differences mended",
                finding.mended
            );
            messages.push(("info", text));
        } else if 0 < count {
            messages.push(("warning", format!("index {index}: {count} differences")));
        }
    }
    if findings.iter().all(Finding::is_clean) {
        messages.push(("status", "OK".into()));
    } else {
        messages.push(("error", "Corrupt".into()));
    }
    messages
}
