//! What one statement needs, with its names resolved: by the table of [`super::kind`] and, for
//! statements on rows, by what [`super::reads`] finds in them.

use std::cell::Cell;

use super::kind::{Kind, Rule, kind};
use super::reads::Walk;
use crate::accounts::{AccountName, Privilege, Privileges};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::sql::ast::{
    AccountStatement, CreateTable, Maintain, SetItem, SetValue, Show, ShowFilter, Statement,
    TableName, TableSource, UserName,
};

/// What a statement needs: all of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::session) struct Needs {
    pub(super) needs: Vec<Need>,
    /// Whether it may be run before an expired password is changed.
    pub(super) in_sandbox: bool,
}

/// One thing that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// All of these on a table.
    OnTable {
        database: String,
        table: String,
        privileges: Privileges,
        /// The column that is read, when that is why.
        column: Option<String>,
    },
    /// One of these on a table, to lock its rows.
    ToLock {
        database: String,
        table: String,
        any_of: Privileges,
    },
    /// All of these on what a view is made of, whose plan is shown.
    ToExplain {
        database: String,
        table: String,
        privileges: Privileges,
    },
    /// Any on a table, for a statement that tells about it.
    AnyOnTable { database: String, table: String },
    /// This on a database.
    OnDatabase {
        database: String,
        privilege: Privilege,
    },
    /// Any on a database or something in it.
    AnyInDatabase(String),
    /// One of these on everything.
    Global(&'static [Privilege]),
    /// What the query of a view needs, held by whom it was made for.
    ByDefiner {
        definer: AccountName,
        database: String,
        view: String,
        needs: Vec<Need>,
    },
}

impl Needs {
    /// What is needed to make a database current.
    pub(in crate::session) fn to_use(database: &str) -> Needs {
        Needs {
            needs: vec![Need::AnyInDatabase(database.to_owned())],
            in_sandbox: true,
        }
    }
}

impl Session {
    /// What a statement needs, with the names that it leaves out taken from the session as it is now.
    ///
    /// # Errors
    /// 1046 when a table is named without database, and none is current.
    pub(in crate::session) fn needs(&self, statement: &Statement) -> Result<Needs> {
        let mut needs = Needs {
            needs: Vec::new(),
            in_sandbox: is_in_sandbox(statement),
        };
        self.add_needs(statement, &mut needs.needs)?;
        Ok(needs)
    }

    fn add_needs(&self, statement: &Statement, out: &mut Vec<Need>) -> Result<()> {
        match kind(statement).rule() {
            Rule::Table(privilege) => {
                for table in some_named_tables(statement)? {
                    if uses_temporary(statement) && self.named_temporary(table).is_some() {
                        continue;
                    }
                    let privileges = Privileges::of(&[privilege]);
                    out.push(self.on_table(table, privileges)?);
                }
                if let Statement::CreateView(create) = statement {
                    self.create_view_needs(create, out)?;
                }
                self.rename_needs(statement, out)?;
            }
            Rule::AnyOnTable => {
                for name in some_named_tables(statement)? {
                    if self.named_temporary(name).is_some() {
                        continue;
                    }
                    let database = self.database_or_current(name.database.as_deref())?;
                    let table = name.name.clone();
                    if matches!(statement, Statement::Show(Show::CreateTable(_)))
                        && self.view(&database, &table).is_some()
                    {
                        let privileges = Privileges::of(&[Privilege::ShowView]);
                        out.push(self.on_table(name, privileges)?);
                    }
                    out.push(Need::AnyOnTable { database, table });
                }
            }
            Rule::Database(privilege) => {
                let database = self.named_database(statement)?;
                out.push(Need::OnDatabase {
                    database,
                    privilege,
                });
            }
            Rule::AnyInDatabase => out.push(Need::AnyInDatabase(self.named_database(statement)?)),
            Rule::Global(any_of) => out.push(Need::Global(any_of)),
            Rule::GlobalUnlessOwn(any_of) if !self.is_about_itself(statement) => {
                out.push(Need::Global(any_of));
            }
            Rule::GlobalUnlessOwn(_) | Rule::Rows | Rule::Free | Rule::AtRun => {}
        }
        // Whatever the statement, the queries in it read.
        self.row_needs(statement, out)
    }

    pub(super) fn on_table(&self, name: &TableName, privileges: Privileges) -> Result<Need> {
        let database = self.database_or_current(name.database.as_deref())?;
        if privileges.has(Privilege::LockTables) {
            // The one privilege of the table that is held on databases alone.
            return Ok(Need::OnDatabase {
                database,
                privilege: Privilege::LockTables,
            });
        }
        Ok(Need::OnTable {
            database,
            table: name.name.clone(),
            privileges,
            column: None,
        })
    }

    /// What the queries of a statement need, and its writes of rows.
    fn row_needs(&self, statement: &Statement, out: &mut Vec<Need>) -> Result<()> {
        let mut walk = Walk::default();
        self.walk(statement, &mut walk);
        if walk.names_file {
            out.push(Need::Global(&[Privilege::File]));
        }
        let explains = kind(statement) == Kind::Explain;
        let (views_count, explained_count) = (Cell::new(0), Cell::new(0));
        let mut explained = Vec::new();
        let sees_temporary = !matches!(statement, Statement::CreateView(_));
        for touch in walk.touched {
            if sees_temporary && self.named_temporary(&touch.table).is_some() {
                continue;
            }
            let database = self.database_or_current(touch.table.database.as_deref())?;
            let mut privileges = touch.privileges;
            if let Some(view) = self.view(&database, &touch.table.name) {
                self.view_needs(&view, (privileges, 0, &views_count), out)?;
                if explains {
                    privileges = privileges.with(Privileges::of(&[Privilege::ShowView]));
                    self.explained_view_needs(&view, (0, &explained_count), &mut explained)?;
                }
            }
            out.push(Need::OnTable {
                database: database.clone(),
                table: touch.table.name.clone(),
                privileges,
                column: touch.column,
            });
            if !touch.any_of.is_empty() {
                out.push(Need::ToLock {
                    database,
                    table: touch.table.name,
                    any_of: touch.any_of,
                });
            }
        }
        out.append(&mut explained);
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the table of kinds is what leaves none out; the others have no queries"
    )]
    fn walk(&self, statement: &Statement, walk: &mut Walk) {
        match statement {
            Statement::Select(select) => walk.select(select),
            Statement::Insert(insert) => walk.insert(insert, self.settings.mode.lindorm),
            Statement::Update(update) => {
                walk.update(update, &|table, column| self.has_column(table, column));
            }
            Statement::Delete(delete) => walk.delete(delete),
            Statement::Load(load) => walk.load(load, self.settings.mode.lindorm),
            Statement::Explain(explain) => self.walk(&explain.statement, walk),
            Statement::Do(exprs) => walk.exprs(exprs),
            Statement::Kill(kill) => walk.expr(&kill.id),
            Statement::Set(items) => {
                for item in items {
                    walk_item(item, walk);
                }
            }
            Statement::CreateTable(create) => walk_create(create, walk),
            Statement::CreateView(create) => walk.select(&create.select),
            Statement::ExplainRow(row) => walk.explained_row(row),
            Statement::Show(Show::DynamicColumns { table, .. }) => walk.reads(table),
            Statement::Show(Show::CreateOther { kind, name }) if kind == "VIEW" => walk.reads(name),
            Statement::Show(show) => {
                if let Some(ShowFilter::Where(condition)) = show.filter() {
                    walk.expr(condition);
                }
            }
            Statement::LockTables(tables) | Statement::Maintain(Maintain { tables, .. }) => {
                for name in tables {
                    walk.reads(name);
                }
            }
            _ => {}
        }
    }

    fn has_column(&self, table: &TableName, column: &str) -> bool {
        if let Some(view) = self.named_view(table) {
            let columns = self.view_columns(&view);
            return columns.map_or(true, |columns| {
                let mut columns = columns.iter();
                columns.any(|one| one.name.eq_ignore_ascii_case(column))
            });
        }
        self.named_table(table).is_ok_and(|table| {
            let mut columns = table.columns.iter();
            columns.any(|one| one.name.eq_ignore_ascii_case(column))
        })
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the table of kinds is what leaves none out"
    )]
    fn named_database(&self, statement: &Statement) -> Result<String> {
        match statement {
            Statement::CreateDatabase(create) => Ok(create.name.clone()),
            Statement::CreateTable(create) => {
                self.database_or_current(create.table.database.as_deref())
            }
            Statement::DropDatabase { name, .. }
            | Statement::Use(name)
            | Statement::Show(Show::CreateDatabase { name, .. }) => Ok(name.clone()),
            Statement::Show(Show::Tables { database, .. } | Show::TableStatus { database, .. }) => {
                self.database_or_current(database.as_deref())
            }
            _ => Err(Error::internal("a statement on a database names none")),
        }
    }

    /// Whether a statement is about the session's own account, and changes no more of it than its
    /// owner may.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others are about others"
    )]
    fn is_about_itself(&self, statement: &Statement) -> bool {
        let Statement::Account(statement) = statement else {
            return false;
        };
        match statement.as_ref() {
            AccountStatement::AlterUser { users, options, .. } => {
                *options == crate::sql::ast::AccountOptions::default()
                    && users.iter().all(|user| self.is_self(&user.name))
            }
            AccountStatement::SetPassword { user, .. } => self.is_self(user),
            AccountStatement::SetDefaultRole { users, .. } => {
                users.iter().all(|user| self.is_self(user))
            }
            _ => false,
        }
    }

    /// Whether this names the session's own account.
    pub(in crate::session) fn is_self(&self, name: &UserName) -> bool {
        match name {
            UserName::Current => true,
            UserName::Named(name) => *name == self.identity.account,
        }
    }

    /// What is needed to learn the columns of a table.
    pub(in crate::session) fn needs_to_list(&self, table: &TableName) -> Result<Needs> {
        if self.named_temporary(table).is_some() {
            return Ok(Needs::default());
        }
        let database = self.database_or_current(table.database.as_deref())?;
        let table = table.name.clone();
        Ok(Needs {
            needs: vec![Need::AnyOnTable { database, table }],
            in_sandbox: false,
        })
    }
}

/// The tables that a statement must name: none would mean that anybody may run it.
fn some_named_tables(statement: &Statement) -> Result<Vec<&TableName>> {
    let tables = named_tables(statement);
    if tables.is_empty() {
        return Err(Error::internal("a statement on tables names none"));
    }
    Ok(tables)
}

/// Whether the tables that a statement names may be temporary ones, on which a session may do all.
fn uses_temporary(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::DropTable(_)
            | Statement::Truncate(_)
            | Statement::CreateIndex(_)
            | Statement::DropIndex(_)
            | Statement::AlterTable(_)
            | Statement::Maintain(_)
            | Statement::LockTables(_)
    )
}

/// The tables that a statement names outside queries.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the table of kinds is what leaves none out"
)]
fn named_tables(statement: &Statement) -> Vec<&TableName> {
    match statement {
        Statement::CreateTable(create) => vec![&create.table],
        Statement::DropTable(drop) => drop.tables.iter().collect(),
        Statement::CreateView(create) => vec![&create.view],
        Statement::DropView(drop) => drop.views.iter().collect(),
        Statement::CreateIndex(create) => vec![&create.table],
        Statement::DropIndex(drop) => vec![&drop.table],
        Statement::AlterTable(alter) => vec![&alter.table],
        Statement::AlterIndex(alter) => vec![&alter.table],
        Statement::RenameTables(rename) => rename.pairs.iter().map(|(from, _)| from).collect(),
        Statement::Maintain(Maintain { tables, .. }) | Statement::LockTables(tables) => {
            tables.iter().collect()
        }
        Statement::Describe(describe) => vec![&describe.table],
        Statement::ExplainRow(row) => vec![&row.table],
        Statement::Truncate(table)
        | Statement::Undrop { table, .. }
        | Statement::Purge(Some(table))
        | Statement::Advise(table)
        | Statement::Show(
            Show::Columns { table, .. }
            | Show::DynamicColumns { table, .. }
            | Show::Index { table, .. }
            | Show::CreateTable(table)
            | Show::CreateOther { name: table, .. },
        ) => vec![table],
        _ => Vec::new(),
    }
}

fn walk_item(item: &SetItem, walk: &mut Walk) {
    match item {
        SetItem::Variable { value, .. } => match value {
            SetValue::Expr(expr) => walk.expr(expr),
            SetValue::Default | SetValue::Word(_) => {}
        },
        SetItem::UserVariable { value, .. } => walk.expr(value),
        SetItem::Names { .. } | SetItem::CharacterSet(_) => {}
    }
}

/// The table is filled by a query, or made like another.
fn walk_create(create: &CreateTable, walk: &mut Walk) {
    if let TableSource::Like(model) = &create.source {
        walk.reads(model);
    }
    if let Some(query) = &create.query {
        walk.select(&query.select);
        if !create.temporary {
            walk.inserts(&create.table);
        }
    }
}

/// What somebody may do whose password has expired: change it, and what clients do unasked.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others wait")]
fn is_in_sandbox(statement: &Statement) -> bool {
    let is_set = matches!(statement, Statement::Set(_)) && kind(statement) == Kind::Set;
    let changes_password = match statement {
        Statement::Account(statement) => match statement.as_ref() {
            AccountStatement::SetPassword { .. } => true,
            AccountStatement::AlterUser { users, .. } => {
                users.iter().all(|user| user.identified.is_some())
            }
            _ => false,
        },
        _ => false,
    };
    is_set || changes_password
}
