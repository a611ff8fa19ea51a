//! The tables of a statement: what names mean in it, and what is read and how it is joined.
//!
//! Queries in `FROM` are bound in `derived`.

use std::sync::Arc;

use super::cte;
use super::expr::equality;
use super::scope::{Clause, Scope};
use super::source::{Place, Source};
use super::{Names, hints, view};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{IndexHint, Join, JoinKind, TableFactor, TableName, TableRef};
use crate::sql::bound::{self, JoinTree, Relation, Stage};
use crate::sql::expr::{Expr, ExprKind};
use crate::sql::listed::Listed;

/// Sources that one query may join, those of queries that are merged into it included: MySQL's 61
/// tables and as many again, and what `plan::join::Sources` can hold.
const SOURCES_MAX: usize = 128;

/// One side of a join while it is bound.
pub(super) struct Side {
    pub(super) tree: JoinTree,
    /// The columns that `*` stands for.
    pub(super) shown: Vec<Place>,
}

impl Scope<'_> {
    /// Binds `FROM`; `None` when there is nothing in it.
    ///
    /// # Errors
    /// 1046, 1049, 1146 for tables; 1248 for a derived table without alias; 1066 for two of one
    /// name; those of `ON` and `USING`.
    pub(super) fn bind_from(&mut self, tables: &[TableRef]) -> Result<Option<JoinTree>> {
        tables.iter().try_for_each(check_aliases)?;
        let side = match tables {
            [] => return Ok(None),
            [only] => self.table_ref(only, false)?,
            several => self.list(several, false)?,
        };
        self.from.first_seen = 0;
        if !self.from.merged.is_empty() {
            self.from.star = Some(side.shown);
        }
        check_names(&self.from.sources)?;
        Ok(Some(side.tree))
    }

    /// Tables between commas.
    fn list(&mut self, tables: &[TableRef], is_optional: bool) -> Result<Side> {
        let mut members = Vec::with_capacity(tables.len());
        let mut shown = Vec::new();
        for table in tables {
            let side = self.table_ref(table, is_optional)?;
            members.push(side.tree);
            shown.extend(side.shown);
        }
        let conditions = Vec::new();
        let tree = JoinTree::Inner {
            members,
            conditions,
        };
        Ok(Side { tree, shown })
    }

    fn table_ref(&mut self, table: &TableRef, is_optional: bool) -> Result<Side> {
        let first = self.from.sources.len();
        let is_outer = |join: &Join| join.kind != JoinKind::Inner;
        let is_optional = is_optional || table.joins.iter().any(is_outer);
        let mut left = self.factor(&table.factor, is_optional)?;
        for join in &table.joins {
            left = self.join(first, left, (join, is_optional))?;
        }
        Ok(left)
    }

    fn join(
        &mut self,
        first: usize,
        left: Side,
        (join, is_optional): (&Join, bool),
    ) -> Result<Side> {
        self.from.keeps_order |= join.straight;
        let middle = self.from.sources.len();
        let right = self.factor(&join.right, is_optional)?;
        let last = self.from.relations.last();
        let is_lateral = last.is_some_and(|last| !last.captures.is_empty());
        if is_lateral && join.kind == JoinKind::Right {
            return Err(Error::unsupported("LATERAL on the right of RIGHT JOIN"));
        }
        let asked_before = self.subqueries.len();
        let mut conditions = Vec::new();
        if let Some(on) = &join.on {
            self.from.first_seen = first;
            self.clause = Clause::On;
            conditions.push(match join.kind {
                JoinKind::Inner => self.condition(on)?,
                JoinKind::Left | JoinKind::Right => self.value(on)?,
            });
        }
        let shown = self.merge_columns((&left, &right), join, &mut conditions)?;
        if join.kind != JoinKind::Inner {
            for asked in self.subqueries.iter_mut().skip(asked_before) {
                asked.stage = Stage::Join;
            }
        }
        let optional = match join.kind {
            JoinKind::Inner => 0..0,
            JoinKind::Left => middle..self.from.sources.len(),
            JoinKind::Right => first..middle,
        };
        for source in self.from.sources.get_mut(optional).unwrap_or_default() {
            source.is_optional = true;
        }
        let tree = joined(join.kind, (left.tree, right.tree), conditions);
        Ok(Side { tree, shown })
    }

    /// `USING`, `NATURAL`: one column of each name stands for both. Returns what `*` stands for.
    fn merge_columns(
        &mut self,
        (left, right): (&Side, &Side),
        join: &Join,
        conditions: &mut Vec<Expr>,
    ) -> Result<Vec<Place>> {
        // Where columns are merged, a RIGHT JOIN shows what the LEFT JOIN of its tables in the other order does.
        let merges = join.natural || !join.using.is_empty();
        let (first, second) = match join.kind {
            JoinKind::Right if merges => (right, left),
            JoinKind::Inner | JoinKind::Left | JoinKind::Right => (left, right),
        };
        let names = if join.natural {
            self.common_names(first, second)
        } else {
            join.using.clone()
        };
        let mut common = Vec::with_capacity(names.len());
        for name in &names {
            let (a, b) = (self.named(left, name)?, self.named(right, name)?);
            let (Some(x), Some(y)) = (self.from.column(a), self.from.column(b)) else {
                return Err(Error::internal("a shown column that is not there"));
            };
            conditions.push(equality(x, y, self.columns_count()));
            let (kept, dropped) = match join.kind {
                JoinKind::Inner | JoinKind::Left => (a, b),
                JoinKind::Right => (b, a),
            };
            self.from.merged.insert(dropped);
            common.push((kept, dropped));
        }
        let is_common = |place: &Place| common.iter().any(|(a, b)| a == place || b == place);
        let rest = first.shown.iter().chain(&second.shown);
        let rest = rest.filter(|place| !is_common(place)).copied();
        let shown = common.iter().map(|(kept, _)| *kept).chain(rest);
        Ok(shown.collect())
    }

    fn common_names(&self, first: &Side, second: &Side) -> Vec<String> {
        let names = |side: &Side| -> Vec<String> {
            let columns = side.shown.iter();
            let columns = columns.filter_map(|place| self.from.result_column(*place));
            columns.map(|column| column.name).collect()
        };
        let others = names(second);
        let is_common = |name: &String| others.iter().any(|other| other.eq_ignore_ascii_case(name));
        names(first).into_iter().filter(is_common).collect()
    }

    /// # Errors
    /// 1054 and 1052.
    fn named(&self, side: &Side, name: &str) -> Result<Place> {
        let is_named = |place: &&Place| {
            let column = self.from.result_column(**place);
            column.is_some_and(|column| column.name.eq_ignore_ascii_case(name))
        };
        let mut found = side.shown.iter().filter(is_named);
        let error = |code, text: String| Err(Error::new(code, text));
        match (found.next(), found.next()) {
            (Some(place), None) => Ok(*place),
            (None, _) => error(
                Code::UnknownColumn,
                format!("Unknown column '{name}' in 'from clause'"),
            ),
            (Some(_), Some(_)) => error(
                Code::AmbiguousColumn,
                format!("Column '{name}' in from clause is ambiguous"),
            ),
        }
    }

    fn factor(&mut self, factor: &TableFactor, is_optional: bool) -> Result<Side> {
        if SOURCES_MAX <= self.from.next_relation() {
            let text =
                format!("Too many tables; the most that one query can join is {SOURCES_MAX}");
            return Err(Error::new(Code::TooManyTables, text));
        }
        match factor {
            TableFactor::Table {
                name,
                alias,
                index_hints,
            } => {
                if let Some(cte) = cte::find(name, self.names.ctes) {
                    return self.cte(cte, alias.as_deref(), is_optional);
                }
                if let Some(listed) = find_listed(name, &self.names)? {
                    self.trace_table(name, &listed.table.database);
                    return self.listed(listed, (&name.name, alias.as_deref()), index_hints);
                }
                if let Some(view) = view::find(name, &self.names) {
                    self.trace_table(name, &view.database);
                    return self.view(&view, alias.as_deref(), is_optional);
                }
                let table = find(name, &self.names)?;
                self.trace_table(name, &table.database);
                self.table(table, alias.as_deref(), index_hints)
            }
            TableFactor::Derived {
                select,
                alias,
                columns,
                lateral,
            } => {
                let alias = alias.as_deref().unwrap_or_default();
                if *lateral {
                    return self.lateral(select, (alias, columns));
                }
                self.derived_here(select, (alias, columns), is_optional)
            }
            TableFactor::JsonTable(table) => self.json_table(table),
            TableFactor::Nested(tables) => self.list(tables, is_optional),
        }
    }

    fn trace_table(&self, name: &TableName, database: &str) {
        if let Some(trace) = self.names.trace {
            trace.table(name, database);
        }
    }

    fn table(
        &mut self,
        table: Arc<Table>,
        alias: Option<&str>,
        index_hints: &[IndexHint],
    ) -> Result<Side> {
        let source = Source::table_at(Arc::clone(&table), alias, self.from.columns_count);
        let hints = hints::hints(&[], index_hints, Some(&source))?;
        let relation = Relation::Table(table);
        let alias = source.alias.clone();
        self.from.only_hints = Some(hints.clone());
        Ok(self.side(source, (relation, alias, hints)))
    }

    /// A table whose rows the server makes up.
    fn listed(
        &mut self,
        listed: Arc<Listed>,
        names: (&str, Option<&str>),
        index_hints: &[IndexHint],
    ) -> Result<Side> {
        let source = Source::listed(Arc::clone(&listed.table), names, self.from.columns_count);
        let hints = hints::hints(&[], index_hints, Some(&source))?;
        let alias = source.alias.clone();
        Ok(self.side(source, (Relation::Listed(listed), alias, hints)))
    }

    /// A source that is read as it is.
    pub(super) fn side(
        &mut self,
        source: Source,
        (relation, alias, hints): (Relation, String, bound::Hints),
    ) -> Side {
        let relation = bound::Source {
            relation,
            alias,
            hints,
            first_column: self.from.columns_count,
            captures: Vec::new(),
        };
        let position = self.from.next_relation();
        self.from.columns_count += relation.columns_count();
        self.from.relations.push(relation);
        self.from.sources.push(source);
        Side {
            tree: JoinTree::Source(position),
            shown: self.from.shown(self.from.sources.len() - 1),
        }
    }
}

/// Two sides joined.
fn joined(
    kind: JoinKind,
    (left, right): (JoinTree, JoinTree),
    mut conditions: Vec<Expr>,
) -> JoinTree {
    let (left, right) = match kind {
        JoinKind::Inner => {
            let members = vec![left, right];
            return JoinTree::Inner {
                members,
                conditions,
            };
        }
        JoinKind::Left => (left, right),
        JoinKind::Right => (right, left),
    };
    let on = match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(super::expr::truth(ExprKind::And(conditions), true)),
    };
    JoinTree::Left {
        left: Box::new(left),
        right: Box::new(right),
        on,
    }
}

/// # Errors
/// 1066: two sources of one name.
fn check_names(sources: &[Source]) -> Result<()> {
    for (position, source) in sources.iter().enumerate() {
        let is_same =
            |other: &Source| other.alias == source.alias && other.database() == source.database();
        if sources.iter().take(position).any(is_same) {
            let text = format!("Not unique table/alias: '{}'", source.alias);
            return Err(Error::new(Code::NonUniqueTable, text));
        }
    }
    Ok(())
}

/// # Errors
/// 1248.
fn check_aliases(table: &TableRef) -> Result<()> {
    let joined = table.joins.iter().map(|join| &join.right);
    for factor in std::iter::once(&table.factor).chain(joined) {
        match factor {
            TableFactor::Derived { alias: None, .. } => {
                return Err(Error::new(
                    Code::DerivedAlias,
                    "Every derived table must have its own alias",
                ));
            }
            TableFactor::JsonTable(table) if table.alias.is_none() => {
                let text = "Every table function must have an alias.";
                return Err(Error::new(Code::TableFunctionAlias, text));
            }
            TableFactor::Table { .. } | TableFactor::Derived { .. } | TableFactor::JsonTable(_) => {
            }
            TableFactor::Nested(tables) => tables.iter().try_for_each(check_aliases)?,
        }
    }
    Ok(())
}

/// Whether it is one table, which is no view, and nothing more.
pub(super) fn is_one_table(tables: &[TableRef], names: &Names<'_>) -> bool {
    match tables {
        [TableRef { factor, joins }] if joins.is_empty() => match factor {
            TableFactor::Table { name, .. } => !super::is_query(name, names),
            TableFactor::Nested(tables) => is_one_table(tables, names),
            TableFactor::Derived { .. } | TableFactor::JsonTable(_) => false,
        },
        _ => false,
    }
}

/// The only table of an UPDATE, with the index hints beside it.
///
/// # Errors
/// 1046, 1049, 1146; 1235 for more than one table.
pub(super) fn only_table<'a>(
    tables: &'a [TableRef],
    names: &Names<'_>,
) -> Result<(Source, &'a [IndexHint])> {
    match tables {
        [TableRef { factor, joins }] if joins.is_empty() => match factor {
            TableFactor::Table {
                name,
                alias,
                index_hints,
            } => {
                let source = Source::new(find(name, names)?, alias.as_deref());
                Ok((source, index_hints))
            }
            TableFactor::Nested(tables) => only_table(tables, names),
            TableFactor::Derived { .. } | TableFactor::JsonTable(_) => {
                Err(Error::unsupported("UPDATE of a derived table"))
            }
        },
        _ => Err(Error::unsupported("UPDATE of several tables")),
    }
}

/// The table of that name in the named or the current database.
///
/// # Errors
/// 1046, 1049, 1146; 1044 for a table whose rows the server makes up: nobody writes them.
pub(super) fn find(name: &TableName, names: &Names<'_>) -> Result<Arc<Table>> {
    let Some(database) = name.database.as_deref().or(names.database) else {
        return Err(Error::new(Code::NoDatabase, "No database selected"));
    };
    if find_listed(name, names)?.is_some() {
        return Err(access_denied(database, names));
    }
    let table = names.definitions.find_table(database, &name.name)?;
    Ok(match names.widening {
        Some(widening) => widening.table(table),
        None => table,
    })
}

/// The table of that name in the named or the current database, if the server makes up its rows.
///
/// # Errors
/// 1109, 1146.
fn find_listed(name: &TableName, names: &Names<'_>) -> Result<Option<Arc<Listed>>> {
    match name.database.as_deref().or(names.database) {
        Some(database) => names.definitions.find_listed(database, &name.name),
        None => Ok(None),
    }
}

/// Error 1044.
pub(super) fn access_denied(database: &str, names: &Names<'_>) -> Error {
    let user = names.facts.user().replacen('@', "'@'", 1);
    let text = format!("Access denied for user '{user}' to database '{database}'");
    Error::new(Code::DbAccessDenied, text)
}
