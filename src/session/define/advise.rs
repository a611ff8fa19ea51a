//! Lints: as warnings of the DDL that brings them, and by ADVISE TABLE.

use crate::advisor::{self, Advice, evidence};
use crate::catalog::Table;
use crate::error::Result;
use crate::session::compile::text;
use crate::session::listing::{LONG_TEXT, Listing, TEXT};
use crate::session::{Reply, Session};
use crate::sql::ast::TableName;
use crate::sql::context::{SessionFacts as _, WarningLevel};
use crate::sql::expr::VariableScope;
use crate::types::{ColumnType, Value};

impl Session {
    /// Warns of what a table has now and had not before.
    pub(super) fn warn_of_lints(&self, table: &Table, before: Option<&Table>) {
        let is_on = self
            .state
            .system_variable(VariableScope::Any, "schema_lints");
        if !is_on.is_ok_and(|value| value.to_text() == "1") {
            return;
        }
        let uses = &self.shared.uses;
        let all = |table: &Table| {
            let mut all = advisor::of_definition(table);
            all.extend(advisor::of_uses(table, uses));
            all
        };
        let known = before.map(all).unwrap_or_default();
        for advice in all(table) {
            let is_known =
                |other: &Advice| other.lint == advice.lint && other.subject == advice.subject;
            if known.iter().any(is_known) {
                continue;
            }
            self.warnings
                .add(WarningLevel::Warning, advice.lint.code(), || {
                    advice.text(table)
                });
        }
    }

    /// Warns of what a table that was just made or changed has now.
    pub(super) fn warn_of_lints_of(&self, (database, name): (&str, &str), before: Option<&Table>) {
        if let Ok(table) = self.table(Some(database), name) {
            self.warn_of_lints(&table, before);
        }
    }

    /// `ADVISE TABLE t`.
    pub(in crate::session) async fn advise(&mut self, name: &TableName) -> Result<Reply> {
        let table = self.named_table(name)?;
        let uses = &self.shared.uses;
        let was_read = |index: &crate::catalog::Index| uses.last(index.id).is_some();
        let mut found = advisor::of_definition(&table);
        let seen = evidence::of_rows(&self.shared.engine, &table, &was_read).await?;
        for advice in seen {
            // What is seen says more than what the definition lets expect.
            found.retain(|other| other.lint != advice.lint || other.subject != advice.subject);
            found.push(advice);
        }
        found.extend(advisor::of_growth(&table));
        found.extend(advisor::of_uses(&table, uses));
        found.sort_by_key(|advice| advice.lint);
        let mut listing = Listing::new(&[
            ("Code", ColumnType::BIGINT),
            ("Lint", TEXT),
            ("Subject", TEXT),
            ("Evidence", LONG_TEXT),
            ("Advice", LONG_TEXT),
        ]);
        for advice in found {
            listing.push(vec![
                Value::Int(i64::from(advice.lint.code().errno())),
                Value::text(advice.lint.name()),
                text(Some(advice.subject)),
                text(Some(advice.evidence)),
                Value::text(advice.lint.advice()),
            ]);
        }
        Ok(listing.into_reply())
    }
}
