//! SHOW and DESCRIBE: one listing per form, with MySQL's columns.

mod forms;
mod index;
mod schema;
mod server;
mod slow;
mod view;

pub(super) use self::index::key_word;
pub(super) use self::server::{status, variables};
use super::Reply;
use super::Session;
use super::listing::Listing;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{Describe, Limit, Show, ShowFilter, Statement};
use crate::sql::context::WarningLevel;
use crate::types::{ColumnType, Value};

impl Session {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the match it hands on to is exhaustive"
    )]
    pub(super) fn show(&mut self, show: &Show) -> Result<Reply> {
        let listing = match show {
            Show::Warnings(limit) => self.show_warnings(limit.as_ref(), |_| true)?,
            Show::Errors(limit) => {
                self.show_warnings(limit.as_ref(), |level| level == WarningLevel::Error)?
            }
            Show::CountWarnings => self.count_warnings("@@session.warning_count", |_| true),
            Show::CountErrors => self.count_warnings("@@session.error_count", |level| {
                level == WarningLevel::Error
            }),
            Show::Databases(filter) => self.show_databases(filter.as_ref())?,
            Show::Tables {
                full,
                database,
                filter,
            } => self.show_tables(*full, database.as_deref(), filter.as_ref())?,
            Show::Columns {
                full,
                table,
                filter,
            } => self.show_columns(table, (*full, filter.as_ref()))?,
            Show::Index { table, filter } => {
                let listing = if self.named_view(table).is_some() {
                    index::none()
                } else {
                    let table = self.shown_table(table.database.as_deref(), &table.name)?;
                    index::index(&table, &self.shared, &self.settings.zone)
                };
                self.filtered(listing, filter.as_ref())?
            }
            Show::TableStatus { database, filter } => {
                self.show_table_status(database.as_deref(), filter.as_ref())?
            }
            Show::CreateTable(table) => self.show_create_table(table)?,
            Show::CreateDatabase {
                name,
                if_not_exists,
            } => {
                if !self.knows_database(name) {
                    let text = format!("Unknown database '{name}'");
                    return Err(Error::new(Code::UnknownDatabase, text));
                }
                schema::create_database(name, *if_not_exists)
            }
            Show::CreateOther { kind, name } if kind == "VIEW" => self.show_create_view(name)?,
            Show::CreateOther { kind, .. } => {
                return Err(Error::unsupported(format!("SHOW CREATE {kind}")));
            }
            other => self.show_server(other)?,
        };
        Ok(listing.into_reply())
    }

    /// The forms that tell about the server and not about definitions.
    fn show_server(&mut self, show: &Show) -> Result<Listing> {
        match show {
            Show::Variables { scope, filter } => {
                let listing = server::pairs(variables(self.state.variables(*scope)));
                self.filtered_in_any_case(listing, filter.as_ref())
            }
            Show::Status { scope, filter } => {
                let listing = server::pairs(status((&self.shared, &self.state), *scope));
                self.filtered_in_any_case(listing, filter.as_ref())
            }
            Show::Trash(filter) => {
                let listing = self.show_trash()?;
                self.filtered_by(listing, ("Table", filter.as_ref()))
            }
            Show::Processlist { full } => self.show_processlist(*full),
            Show::SlowQueries(limit) => self.show_slow_queries(limit.as_ref()),
            Show::Engines => self.listed(&forms::ENGINES, &[]),
            Show::Charset(filter) => self.filtered_form(&forms::CHARSETS, filter.as_ref()),
            Show::Collation(filter) => self.filtered_form(&forms::COLLATIONS, filter.as_ref()),
            Show::Functions(filter) => {
                self.filtered_in_any_case(server::functions(), filter.as_ref())
            }
            Show::Grants { user, using } => self.show_grants(user.as_ref(), using),
            Show::CreateUser(user) => self.show_create_user(user),
            Show::Plugins => self.listed(&forms::PLUGINS, &[]),
            Show::Privileges => Ok(server::privileges()),
            Show::Triggers(filter) => self.filtered_form(&forms::TRIGGERS, filter.as_ref()),
            Show::Events(filter) => self.filtered_form(&forms::EVENTS, filter.as_ref()),
            Show::ProcedureStatus(filter) | Show::FunctionStatus(filter) => {
                self.filtered_form(&forms::ROUTINES, filter.as_ref())
            }
            Show::OpenTables(filter) => self.filtered(server::open_tables(), filter.as_ref()),
            Show::Profiles => Ok(server::profiles()),
            Show::Replication(what) => server::replication(*what),
            Show::Warnings(_)
            | Show::Errors(_)
            | Show::CountWarnings
            | Show::CountErrors
            | Show::Databases(_)
            | Show::Tables { .. }
            | Show::Columns { .. }
            | Show::DynamicColumns { .. }
            | Show::Index { .. }
            | Show::TableStatus { .. }
            | Show::CreateTable(_)
            | Show::CreateDatabase { .. }
            | Show::CreateOther { .. } => Err(Error::internal("a SHOW form went the wrong way")),
        }
    }

    pub(super) fn describe(&mut self, describe: &Describe) -> Result<Reply> {
        let filter = describe.column.clone().map(ShowFilter::Like);
        let columns = self.show_columns(&describe.table, (false, filter.as_ref()))?;
        Ok(columns.into_reply())
    }

    fn filtered_form(
        &mut self,
        form: &forms::Form,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        let listing = self.listed(form, &[])?;
        self.filtered_in_any_case(listing, filter)
    }

    fn show_warnings(
        &mut self,
        limit: Option<&Limit>,
        shown: impl Fn(WarningLevel) -> bool,
    ) -> Result<Listing> {
        let columns = [
            ("Level", ColumnType::Varchar { chars_max: Some(7) }),
            ("Code", ColumnType::BIGINT_UNSIGNED),
            ("Message", super::listing::TEXT),
        ];
        let mut listing = Listing::new(&columns);
        for warning in self
            .warnings
            .list()
            .into_iter()
            .filter(|warning| shown(warning.level))
        {
            let level = match warning.level {
                WarningLevel::Note => "Note",
                WarningLevel::Warning => "Warning",
                WarningLevel::Error => "Error",
            };
            listing.push(vec![
                Value::text(level),
                Value::UInt(u64::from(warning.code.errno())),
                super::compile::text(Some(warning.message)),
            ]);
        }
        self.limited(listing, limit)
    }

    /// LIMIT.
    fn limited(&mut self, mut listing: Listing, limit: Option<&Limit>) -> Result<Listing> {
        if let Some(limit) = limit {
            let count = self.rows_of(&limit.count)?;
            let offset = limit
                .offset
                .as_ref()
                .map(|offset| self.rows_of(offset))
                .transpose()?;
            listing.limit(offset.unwrap_or(0), count);
        }
        Ok(listing)
    }

    fn rows_of(&mut self, expr: &crate::sql::ast::Expr) -> Result<usize> {
        let text = self.constant(expr)?.to_text().into_owned();
        text.parse().map_err(|_| {
            Error::new(
                Code::WrongArguments,
                format!("LIMIT takes a number of rows, not {text}"),
            )
        })
    }

    fn count_warnings(&self, name: &str, counted: impl Fn(WarningLevel) -> bool) -> Listing {
        let mut listing = Listing::new(&[(name, ColumnType::BIGINT)]);
        let count = self
            .warnings
            .list()
            .iter()
            .filter(|warning| counted(warning.level))
            .count();
        listing.push(vec![Value::Int(i64::try_from(count).unwrap_or(i64::MAX))]);
        listing
    }
}

/// Whether a statement leaves the warnings of the one before in place.
pub(super) fn keeps_warnings(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Show(
            Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors
        )
    )
}
