//! From a syntax tree to a program: names are looked up in the definitions of now.

use std::sync::Arc;

use super::run::BINDS_MAX;
use super::{Session, state, system};
use crate::catalog::{Column, Table, TableId};
use crate::error::{Code, Error, Result};
use crate::exec::transaction::definition_changed;
use crate::exec::{query, write};
use crate::sql::ast::{self, IntoFile, IntoTarget, Statement, TableName};
use crate::sql::bind::named::{self, Star};
use crate::sql::bind::{self, Names, Numbering, Widening};
use crate::sql::bound::{Change, Delete, Query, Subquery, Update};
use crate::sql::context::SessionFacts;
use crate::sql::expr::Expr;
use crate::types::{ColumnType, ResultColumn, Value};

/// A statement on rows, ready to run.
#[derive(Clone)]
pub(super) enum Compiled {
    /// A query, and what is done with its rows.
    Query(Arc<query::Program>, Asked),
    /// A write.
    Write(Arc<write::Program>),
    /// A change of the rows that a query finds.
    Change(Arc<write::several::Program>),
}

/// What a statement does with the rows of its query.
#[derive(Clone)]
pub(super) struct Asked {
    /// Whether types depend on those of the parameters.
    depends_on_parameters: bool,
    /// `INTO`.
    pub(super) into: Option<Destination>,
    /// `SQL_CALC_FOUND_ROWS`: the `LIMIT` and `OFFSET` that the query itself is without.
    pub(super) counted: Option<Arc<Limits>>,
    /// The `*` that stand for columns which only the rows tell.
    pub(super) stars: Arc<[Star]>,
}

/// Where the rows of a query go instead of to the client.
#[derive(Clone)]
pub(super) enum Destination {
    /// The only row goes to these variables.
    Variables(Arc<[String]>),
    /// All go to a file of the server.
    File(Arc<IntoFile>),
}

/// `LIMIT` and `OFFSET`.
pub(super) type Limits = (Option<Expr>, Option<Expr>);

impl Compiled {
    /// Whether its types depend on those of its parameters, so that it is bound again when they
    /// are known.
    pub(super) fn depends_on_parameters(&self) -> bool {
        match self {
            Compiled::Query(_, asked) => asked.depends_on_parameters,
            Compiled::Change(program) => bind::query_depends_on_parameters(&program.change.query),
            Compiled::Write(program) => match &program.write {
                write::Write::Insert(insert) => bind::insert_depends_on_parameters(insert),
                write::Write::Update(update) => bind::update_depends_on_parameters(update),
                write::Write::Delete(delete) => bind::delete_depends_on_parameters(delete),
            },
        }
    }

    /// The `*` that stand for columns which only the rows tell; `None` when there are none.
    pub(super) fn stars(&self) -> Option<Arc<[Star]>> {
        match self {
            Compiled::Query(_, asked) => Some(&asked.stars)
                .filter(|stars| !stars.is_empty())
                .map(Arc::clone),
            Compiled::Write(_) | Compiled::Change(_) => None,
        }
    }

    /// Whether it reads or writes tables.
    pub(super) fn is_on_tables(&self) -> bool {
        match self {
            Compiled::Query(program, _) => !program.tables().is_empty(),
            Compiled::Write(_) | Compiled::Change(_) => true,
        }
    }

    /// About what it takes for the columns of results and tables.
    pub(super) fn columns_bytes(&self) -> usize {
        match self {
            Compiled::Query(program, _) => program.columns_bytes(),
            Compiled::Write(program) => program.columns_bytes(),
            Compiled::Change(program) => program.columns_bytes(),
        }
    }

    /// The columns of its result.
    pub(super) fn columns(&self) -> Arc<[ResultColumn]> {
        match self {
            Compiled::Query(_, asked) if asked.into.is_some() => Arc::new([]),
            Compiled::Query(program, _) => program.columns(),
            Compiled::Write(_) | Compiled::Change(_) => Arc::new([]),
        }
    }
}

impl Session {
    /// Binds a statement on rows.
    pub(super) fn compile(
        &mut self,
        statement: &Statement,
        parameters: &[ColumnType],
    ) -> Result<Compiled> {
        match self.compile_if_rows(statement, parameters)? {
            Some(compiled) => Ok(compiled),
            None => Err(Error::internal("a statement without rows was to be bound")),
        }
    }

    /// Binds a statement on rows, or the one that another is about (`EXPLAIN`), when the session may run
    /// that. Both look at the same definitions: a name that led to one table when the rights were looked
    /// at leads to no other one.
    pub(super) fn compile_allowed(
        &mut self,
        (whole, statement): (&Statement, &Statement),
        parameters: &[ColumnType],
    ) -> Result<Compiled> {
        for _ in 0..BINDS_MAX {
            let catalog_version = self.shared.catalog.version();
            self.guard(whole)?;
            let compiled = self.compile(statement, parameters)?;
            if self.shared.catalog.version() == catalog_version {
                return Ok(compiled);
            }
        }
        Err(definition_changed())
    }

    /// Binds a statement if it is one on rows.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are not on rows")]
    pub(super) fn compile_if_rows(
        &mut self,
        statement: &Statement,
        parameters: &[ColumnType],
    ) -> Result<Option<Compiled>> {
        // Read before the names are looked up, so that it is not newer than what they lead to.
        let catalog_version = self.shared.catalog.version();
        self.bound_at = catalog_version;
        let write = match statement {
            Statement::Select(select) => {
                return self.compiled_select(select, parameters, &[]).map(Some);
            }
            Statement::Insert(insert) => {
                write::Write::Insert(self.bound(parameters, |names| bind::insert(insert, names))?)
            }
            Statement::Update(update) => {
                let bound = self.bound(parameters, |names| {
                    bind::after_with(&update.with, names, &mut |names| {
                        bound_update(update, names)
                    })
                })?;
                match bound {
                    Modify::Simple(update) => write::Write::Update(update),
                    Modify::ByQuery(change) => return Ok(Some(by_query(change, catalog_version))),
                }
            }
            Statement::Delete(delete) => {
                let bound = self.bound(parameters, |names| {
                    bind::after_with(&delete.with, names, &mut |names| {
                        bound_delete(delete, names)
                    })
                })?;
                match bound {
                    Modify::Simple(delete) => write::Write::Delete(delete),
                    Modify::ByQuery(change) => return Ok(Some(by_query(change, catalog_version))),
                }
            }
            _ => return Ok(None),
        };
        let program = write::Program::new(write, catalog_version);
        Ok(Some(Compiled::Write(Arc::new(program))))
    }

    /// Binds an UPDATE or DELETE that was bound just now, and permitted, as a change by a query, whether it
    /// needs one or not. `None` when it cannot be one: what assigns a key the value that it has.
    ///
    /// # Errors
    /// Those of binding; as of any statement whose tables were defined anew meanwhile.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others are none of these"
    )]
    pub(super) fn compiled_by_query(&mut self, statement: &Statement) -> Result<Option<Compiled>> {
        let change = match statement {
            Statement::Update(update) => self.bound(&[], |names| {
                let mut bind = |names: &Names<'_>| bind::update_by_query(update, names);
                bind::after_with(&update.with, names, &mut bind)
            }),
            Statement::Delete(delete) => self.bound(&[], |names| {
                let mut bind = |names: &Names<'_>| bind::delete_by_query(delete, names);
                bind::after_with(&delete.with, names, &mut bind)
            }),
            _ => return Ok(None),
        };
        if self.shared.catalog.version() != self.bound_at {
            return Err(definition_changed());
        }
        match change {
            Ok(change) => Ok(Some(by_query(change, self.bound_at))),
            Err(error) if error.code() == Code::NotSupportedYet => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Binds a statement, again for the names without declaration that it says.
    pub(super) fn bound<T>(
        &self,
        parameters: &[ColumnType],
        bound: impl FnMut(&Names<'_>) -> Result<T>,
    ) -> Result<T> {
        let widening = Widening::default();
        self.with_names(parameters, |names| named::rounds(names, &widening, bound))
    }

    /// Binds a query whose `*` stand for these columns too, by table.
    pub(super) fn compiled_select(
        &self,
        select: &ast::Select,
        parameters: &[ColumnType],
        met: &[(TableId, Vec<String>)],
    ) -> Result<Compiled> {
        let widening = Widening::of_query(select);
        for (table, names) in met {
            widening.show(*table, names.clone());
        }
        let bind = |names: &Names<'_>| bind::query(select, names);
        let bound = self.with_names(parameters, |names| named::rounds(names, &widening, bind))?;
        let stars = if met.is_empty() {
            widening.stars()
        } else {
            Vec::new()
        };
        compiled_query(select, bound, stars)
    }

    /// How far ahead of the clock a hint may date what is written to a table.
    pub(super) fn clock_skew_ms_max(&self, table: &Table) -> u64 {
        // Nobody asks for the other tables.
        match &table.wide.versions {
            Some(_) => self.shared.global_number("max_clock_skew_ms"),
            None => 0,
        }
    }

    /// Binds something by the names of now, with parameters of these types. What is long is bound without
    /// keeping others from running.
    pub(super) fn with_names<T>(
        &self,
        parameters: &[ColumnType],
        bound: impl FnOnce(&Names<'_>) -> T,
    ) -> T {
        let stored = self.shared.catalog.current();
        let database = self.state.database();
        let scene = (&self.shared, &self.state);
        let stored = system::Tables {
            definitions: stored.as_ref(),
            scene,
            own: None,
        };
        let definitions = system::Tables {
            own: Some((&self.temporary, &stored)),
            ..stored
        };
        let numbering = Numbering::default();
        let names = Names {
            definitions: &definitions,
            database: database.as_deref(),
            mode: self.settings.mode,
            facts: self.state.as_ref(),
            parameters,
            ctes: None,
            numbering: &numbering,
            depth: 0,
            trace: None,
            widening: None,
        };
        if self.is_long {
            state::blocking(|| bound(&names))
        } else {
            bound(&names)
        }
    }

    /// The table of that name in the given or the current database.
    ///
    /// # Errors
    /// 1046, 1049 or 1146.
    pub(super) fn table(&self, database: Option<&str>, name: &str) -> Result<Arc<Table>> {
        let database = self.database_or_current(database)?;
        if let Some(own) = self.temporary.find(&database, name) {
            return Ok(Arc::clone(own));
        }
        let current = self.shared.catalog.current();
        current.table(&database, name).map(Arc::clone)
    }

    /// The table a statement names.
    ///
    /// # Errors
    /// 1046, 1049 or 1146.
    pub(super) fn named_table(&self, name: &TableName) -> Result<Arc<Table>> {
        self.table(name.database.as_deref(), &name.name)
    }

    /// The given database, or the current one.
    ///
    /// # Errors
    /// 1046 when there is neither.
    pub(super) fn database_or_current(&self, database: Option<&str>) -> Result<String> {
        let found = database
            .map(str::to_owned)
            .or_else(|| self.state.database());
        found.ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))
    }

    /// Whether there is a database of that name.
    pub(super) fn knows_database(&self, name: &str) -> bool {
        self.shared.catalog.current().has_database(name) || system::canonical(name).is_some()
    }
}

/// An UPDATE or DELETE: of one table by its keys, or of what a query finds.
enum Modify<T> {
    Simple(T),
    ByQuery(Change),
}

fn bound_update(update: &ast::Update, names: &Names<'_>) -> Result<Modify<Update>> {
    if bind::is_of_one_table(&update.tables, names) {
        let simple = bind::update(update, names)?;
        if !reads_rows(&simple.subqueries) {
            return Ok(Modify::Simple(simple));
        }
    }
    let numbering = Numbering::default();
    bind::update_by_query(update, &anew(names, &numbering)).map(Modify::ByQuery)
}

fn bound_delete(delete: &ast::Delete, names: &Names<'_>) -> Result<Modify<Delete>> {
    if delete.several.is_none() && !bind::is_query(&delete.table, names) {
        let simple = bind::delete(delete, names)?;
        if !reads_rows(&simple.subqueries) {
            return Ok(Modify::Simple(simple));
        }
    }
    let numbering = Numbering::default();
    bind::delete_by_query(delete, &anew(names, &numbering)).map(Modify::ByQuery)
}

/// For a statement that was bound in vain and is bound once more: slots are numbered from the start.
fn anew<'a>(names: &Names<'a>, numbering: &'a Numbering) -> Names<'a> {
    Names {
        numbering,
        ..*names
    }
}

/// # Errors
/// 1222 when there are more or fewer variables behind `INTO` than columns.
fn compiled_query(select: &ast::Select, mut bound: Query, stars: Vec<Star>) -> Result<Compiled> {
    let depends_on_parameters = bind::query_depends_on_parameters(&bound);
    let into = match &select.into {
        None => None,
        Some(IntoTarget::File(file)) => Some(Destination::File(Arc::new(file.as_ref().clone()))),
        Some(IntoTarget::Variables(names)) if names.len() == bound.columns().len() => {
            Some(Destination::Variables(names.as_slice().into()))
        }
        Some(IntoTarget::Variables(_)) => {
            let text = "The used SELECT statements have a different number of columns";
            return Err(Error::new(Code::SetColumnsCount, text));
        }
    };
    let counts = bind::counts_rows(select);
    let counted = counts.then(|| Arc::new(bound.take_limits()));
    let asked = Asked {
        depends_on_parameters,
        into,
        counted,
        stars: stars.into(),
    };
    Ok(Compiled::Query(Arc::new(query::Program::new(bound)), asked))
}

fn by_query(change: Change, catalog_version: u64) -> Compiled {
    let program = write::several::Program::new(change, catalog_version);
    Compiled::Change(Arc::new(program))
}

/// Whether one of the subqueries reads the rows of the statement it stands in.
fn reads_rows(subqueries: &[Subquery]) -> bool {
    subqueries.iter().any(|one| !one.captures.is_empty())
}

/// How a client sees a column of a table.
pub(super) fn result_column(table: &Table, column_idx: usize, column: &Column) -> ResultColumn {
    ResultColumn {
        database: table.database.clone(),
        table: table.name.clone(),
        org_table: table.name.clone(),
        name: column.name.clone(),
        org_name: column.name.clone(),
        ty: column.ty.clone(),
        nullable: column.nullable,
        is_field: true,
        attributes: table.attributes(column_idx),
        display_chars: 0,
        decimals: None,
    }
}

/// A text value, or NULL.
pub(super) fn text(value: Option<impl Into<String>>) -> Value<'static> {
    match value {
        Some(value) => Value::Text(std::borrow::Cow::Owned(value.into())),
        None => Value::Null,
    }
}
