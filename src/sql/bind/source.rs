//! The sources of a query: what names of columns are looked up in, and the positions they lead to.
//!
//! A source is what one name in `FROM` stands for. A base table, or a query that is run on its own,
//! has its columns side by side in the row; a query that was merged into this one has expressions
//! over it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::catalog::{Table, View};
use crate::sql::ast::ColumnName;
use crate::sql::bound;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ResultColumn;

/// A source and the name it goes by.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) alias: String,
    columns: Columns,
    /// What kind of name that is.
    naming: Naming,
    /// Whether an outer join may leave it without a row.
    pub(super) is_optional: bool,
    /// The database that its name is looked up in; empty for a query.
    database: String,
    /// Of a query that was merged: the positions of what it reads among the relations.
    pub(super) relations: Range<usize>,
    /// Whether it is a view: a table may be written through it.
    pub(super) is_view: bool,
    /// The view's own name, as clients are told it.
    view_name: Option<String>,
}

/// What kind of name a source goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// An alias.
    Alias,
    /// Its own: `database.table.column` may name its columns.
    Own,
    /// Likewise, and compared without case: that of a table of the system.
    OwnInAnyCase,
}

#[derive(Debug, Clone)]
enum Columns {
    /// Those of a table, beginning at this position of the row.
    Table(Arc<Table>, usize),
    /// Those of a query.
    Query(QueryColumns),
}

/// The columns of a query.
#[derive(Debug, Clone)]
struct QueryColumns {
    all: Vec<QueryColumn>,
    /// By name in small letters: the first of that name, and how many there are. There may be thousands.
    named: HashMap<String, (usize, usize)>,
}

impl QueryColumns {
    fn new(all: Vec<QueryColumn>) -> QueryColumns {
        let mut named = HashMap::with_capacity(all.len());
        for (idx, one) in all.iter().enumerate() {
            let name = one.column.name.to_ascii_lowercase();
            let (_, count) = named.entry(name).or_insert((idx, 0));
            *count += 1;
        }
        QueryColumns { all, named }
    }

    fn named(&self, name: &str) -> Option<(usize, usize)> {
        let found = if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.named.get(&name.to_ascii_lowercase())
        } else {
            self.named.get(name)
        };
        found.copied()
    }
}

/// A column of a query in `FROM`.
#[derive(Debug, Clone)]
pub(super) struct QueryColumn {
    /// What it is, over the row.
    pub(super) expr: Expr,
    /// How a client sees it.
    pub(super) column: ResultColumn,
}

/// A column: which source, and which of its columns.
pub(super) type Place = (usize, usize);

/// More than one column of a name.
#[derive(Debug)]
pub(super) struct Ambiguous;

impl Source {
    /// A table whose columns begin the row.
    pub(super) fn new(table: Arc<Table>, alias: Option<&str>) -> Source {
        Source::table_at(table, alias, 0)
    }

    /// A table whose columns begin at a position of the row.
    pub(super) fn table_at(table: Arc<Table>, alias: Option<&str>, first: usize) -> Source {
        Source {
            alias: alias.unwrap_or(&table.name).to_owned(),
            naming: alias.map_or(Naming::Own, |_| Naming::Alias),
            database: table.database.clone(),
            columns: Columns::Table(table, first),
            is_optional: false,
            relations: 0..0,
            is_view: false,
            view_name: None,
        }
    }

    /// A table of the system, named as given unless it has an alias.
    pub(super) fn listed(
        table: Arc<Table>,
        (name, alias): (&str, Option<&str>),
        first: usize,
    ) -> Source {
        let source = Source::table_at(table, alias, first);
        match alias {
            Some(_) => source,
            None => Source {
                alias: name.to_owned(),
                naming: Naming::OwnInAnyCase,
                ..source
            },
        }
    }

    /// A query of these columns.
    pub(super) fn query(alias: &str, columns: Vec<QueryColumn>) -> Source {
        Source {
            alias: alias.to_owned(),
            naming: Naming::Alias,
            columns: Columns::Query(QueryColumns::new(columns)),
            is_optional: false,
            database: String::new(),
            relations: 0..0,
            is_view: false,
            view_name: None,
        }
    }

    /// The same, merged: it reads these relations.
    pub(super) fn merged_from(self, relations: Range<usize>) -> Source {
        Source { relations, ..self }
    }

    /// Makes it that of a view, which may go by its own name.
    pub(super) fn is_of_view(&mut self, view: &View, has_own_name: bool) {
        self.database.clone_from(&view.database);
        self.view_name = Some(view.name.clone());
        self.naming = if has_own_name {
            Naming::Own
        } else {
            Naming::Alias
        };
        self.is_view = true;
    }

    /// The table, if it is one.
    pub(super) fn table(&self) -> Option<&Arc<Table>> {
        match &self.columns {
            Columns::Table(table, _) => Some(table),
            Columns::Query(_) => None,
        }
    }

    /// Puts another definition of the same table in the place of its own.
    pub(super) fn set_table(&mut self, other: Arc<Table>) {
        if let Columns::Table(table, _) = &mut self.columns {
            *table = other;
        }
    }

    /// Whether a qualifier means this source.
    pub(super) fn is_named(&self, database: Option<&str>, table: Option<&str>) -> bool {
        let is_same = |own: &str, other: &str| {
            let in_any_case = self.naming == Naming::OwnInAnyCase;
            own == other || in_any_case && own.eq_ignore_ascii_case(other)
        };
        let is_own =
            |database: &str| self.naming != Naming::Alias && is_same(&self.database, database);
        table.is_none_or(|table| is_same(&self.alias, table)) && database.is_none_or(is_own)
    }

    /// The database that its name is looked up in; none for a query.
    pub(super) fn database(&self) -> &str {
        &self.database
    }

    /// A column of it as a view that is made now spells it.
    fn spelled(&self, column: String) -> ColumnName {
        let named = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        ColumnName {
            database: named(&self.database).filter(|_| self.naming != Naming::Alias),
            table: named(&self.alias),
            column,
        }
    }

    /// The position among its columns of one that statements may name.
    pub(super) fn column_idx(&self, name: &str) -> Option<usize> {
        match &self.columns {
            Columns::Table(table, _) => {
                let idx = table.column_idx(name)?;
                let column = table.columns.get(idx);
                column.filter(|column| !column.hidden).map(|_| idx)
            }
            Columns::Query(columns) => columns.named(name).map(|(idx, _)| idx),
        }
    }

    /// How often a query has a column of that name.
    fn count_named(&self, name: &str) -> usize {
        match &self.columns {
            Columns::Table(..) => 1,
            Columns::Query(columns) => columns.named(name).map_or(0, |(_, count)| count),
        }
    }

    /// A column as an expression over the row.
    pub(super) fn column(&self, idx: usize) -> Option<Expr> {
        let mut expr = match &self.columns {
            Columns::Table(table, first) => column_at(table, idx, *first)?,
            Columns::Query(columns) => columns.all.get(idx)?.expr.clone(),
        };
        expr.nullable |= self.is_optional;
        Some(expr)
    }

    fn query_columns(&self) -> &[QueryColumn] {
        match &self.columns {
            Columns::Table(..) => &[],
            Columns::Query(columns) => &columns.all,
        }
    }

    /// The proposed row's column that stands for this one.
    pub(super) fn proposed_column(&self, idx: usize) -> Option<Expr> {
        let table = self.table()?;
        column_at(table, idx, table.columns.len())
    }

    /// How a client sees a column.
    pub(super) fn result_column(&self, idx: usize) -> Option<ResultColumn> {
        let mut column = match &self.columns {
            Columns::Table(table, _) => table_column(table, &self.alias, idx)?,
            Columns::Query(columns) => columns.all.get(idx)?.column.clone(),
        };
        column.nullable |= self.is_optional;
        if let Some(view) = &self.view_name {
            column.database.clone_from(&self.database);
            column.table.clone_from(&self.alias);
            column.org_table.clone_from(view);
            column.org_name.clone_from(&column.name);
        }
        Some(column)
    }

    /// The declared columns that `*` stands for.
    pub(super) fn shown(&self) -> Vec<usize> {
        match &self.columns {
            Columns::Table(table, _) => {
                let columns = table.columns.iter().enumerate();
                let shown = columns.filter(|(_, column)| !column.hidden);
                shown.map(|(idx, _)| idx).collect()
            }
            Columns::Query(columns) => (0..columns.all.len()).collect(),
        }
    }
}

fn column_at(table: &Table, idx: usize, first: usize) -> Option<Expr> {
    let column = table.columns.get(idx)?;
    Some(Expr {
        kind: ExprKind::Column(first + idx),
        ty: column.ty.clone(),
        nullable: column.nullable,
    })
}

fn table_column(table: &Table, alias: &str, idx: usize) -> Option<ResultColumn> {
    let column = table.columns.get(idx)?;
    Some(ResultColumn {
        database: table.database.clone(),
        table: alias.to_owned(),
        org_table: table.name.clone(),
        name: column.name.clone(),
        org_name: column.name.clone(),
        ty: column.ty.clone(),
        nullable: column.nullable,
        is_field: true,
        attributes: table.attributes(idx),
        display_chars: 0,
        decimals: None,
    })
}

/// What `FROM` has bound: names on one side, what is read on the other.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// What names are looked up in, in the order of `FROM`.
    pub(super) sources: Vec<Source>,
    /// The first of the sources that names mean now: `ON` sees the operands of its join alone.
    pub(super) first_seen: usize,
    /// Columns that `USING` has made one with another: no name without table means them.
    pub(super) merged: HashSet<Place>,
    /// The columns that `*` stands for, where that is not those of all sources in turn.
    pub(super) star: Option<Vec<Place>>,
    /// What is read.
    pub(super) relations: Vec<bound::Source>,
    /// The position of the first of them in the query that this one becomes part of.
    pub(super) first_relation: usize,
    /// The hints beside the name of the only table.
    pub(super) only_hints: Option<bound::Hints>,
    /// Whether `STRAIGHT_JOIN` was written.
    pub(super) keeps_order: bool,
    /// Whether groups are rolled up.
    pub(super) rolls_up: bool,
    /// Whether all texts are compared without case.
    pub(super) is_caseless: bool,
    /// How many columns the row has.
    pub(super) columns_count: usize,
}

impl Bound {
    /// One table, or nothing.
    pub(super) fn of(source: Option<Source>) -> Bound {
        let columns_count = source
            .as_ref()
            .and_then(Source::table)
            .map_or(0, |table| table.columns.len());
        Bound {
            sources: source.into_iter().collect(),
            columns_count,
            ..Bound::default()
        }
    }

    /// The position that the next relation has in the query that this one becomes part of.
    pub(super) fn next_relation(&self) -> usize {
        self.first_relation + self.relations.len()
    }

    /// The column of that name.
    pub(super) fn find(&self, name: &ColumnName) -> Result<Option<Place>, Ambiguous> {
        let (database, table) = (name.database.as_deref(), name.table.as_deref());
        let mut found = None;
        for (position, source) in self.sources.iter().enumerate().skip(self.first_seen) {
            if !source.is_named(database, table) {
                continue;
            }
            let Some(idx) = source.column_idx(&name.column) else {
                continue;
            };
            if table.is_none() && self.merged.contains(&(position, idx)) {
                continue;
            }
            if found.is_some() || 1 < source.count_named(&name.column) {
                return Err(Ambiguous);
            }
            found = Some((position, idx));
        }
        Ok(found)
    }

    /// A column as an expression over the row.
    pub(super) fn column(&self, (source, idx): Place) -> Option<Expr> {
        self.sources.get(source)?.column(idx)
    }

    /// How a client sees a column.
    pub(super) fn result_column(&self, (source, idx): Place) -> Option<ResultColumn> {
        self.sources.get(source)?.result_column(idx)
    }

    /// The table's column that a column is: which relation, and which of its columns. `None` for what
    /// is computed, or read of a query.
    pub(super) fn base(&self, place: Place) -> Option<(usize, usize)> {
        let ExprKind::Column(at) = self.column(place)?.kind else {
            return None;
        };
        let before = |relation: &bound::Source| relation.first_column <= at;
        let position = self.relations.partition_point(before).checked_sub(1)?;
        let relation = self.relations.get(position)?;
        relation.table()?;
        Some((position, at - relation.first_column))
    }

    /// A column as a view that is made now spells it.
    pub(super) fn spelled(&self, place: Place) -> Option<ColumnName> {
        let column = self.result_column(place)?.name;
        Some(self.sources.get(place.0)?.spelled(column))
    }

    /// Whether a column of the row is declared NOT NULL, or is one of a query's that is: only an outer join may leave
    /// it `NULL`.
    pub(super) fn is_declared_present(&self, column_idx: usize) -> bool {
        let mut sources = self.sources.iter();
        sources.any(|source| match &source.columns {
            Columns::Table(table, first) => {
                let idx = column_idx.checked_sub(*first);
                let column = idx.and_then(|idx| table.columns.get(idx));
                column.is_some_and(|column| !column.nullable)
            }
            Columns::Query(columns) => {
                let mut columns = columns.all.iter();
                columns.any(|one| one.expr.is_column(column_idx) && !one.expr.nullable)
            }
        })
    }

    /// The digits after the point that the values of a DOUBLE of the row have, where a query gives it.
    pub(super) fn decimals(&self, column_idx: usize) -> Option<u8> {
        let mut columns = self.sources.iter().flat_map(Source::query_columns);
        let is_it = |column: &&QueryColumn| matches!(column.expr.kind, ExprKind::Column(idx) if idx == column_idx);
        columns.find(is_it)?.column.decimals
    }

    /// All columns that `*` stands for.
    pub(super) fn all_shown(&self) -> Vec<Place> {
        match &self.star {
            Some(star) => star.clone(),
            None => (0..self.sources.len())
                .flat_map(|source| self.shown(source))
                .collect(),
        }
    }

    /// The columns that `*` of one source stands for.
    pub(super) fn shown(&self, source: usize) -> Vec<Place> {
        let columns = self.sources.get(source).map_or(Vec::new(), Source::shown);
        columns.into_iter().map(|idx| (source, idx)).collect()
    }
}
