//! Where names are looked up: the table, the select list's aliases, the proposed row of an INSERT.

use std::sync::Arc;

use super::Names;
use super::same::same;
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{ColumnName, RowAlias};
use crate::sql::bound::Aggregate;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ColumnType;

/// A clause, as error texts name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    /// The select list, the values of INSERT, the assignments of UPDATE.
    FieldList,
    /// `WHERE`.
    Where,
    /// `GROUP BY`.
    GroupBy,
    /// `HAVING`.
    Having,
    /// `ORDER BY`.
    OrderBy,
}

impl Clause {
    fn text(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::Where => "where clause",
            Clause::GroupBy => "group statement",
            Clause::Having => "having clause",
            Clause::OrderBy => "order clause",
        }
    }
}

/// A table of the statement and the name it goes by.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) table: Arc<Table>,
    pub(super) alias: String,
    /// Whether `database.table.column` may name its columns.
    has_own_name: bool,
}

impl Source {
    pub(super) fn new(table: Arc<Table>, alias: Option<&str>) -> Source {
        Source {
            alias: alias.unwrap_or(&table.name).to_owned(),
            has_own_name: alias.is_none(),
            table,
        }
    }

    /// Whether a qualifier means this table.
    pub(super) fn is_named(&self, database: Option<&str>, table: Option<&str>) -> bool {
        table.is_none_or(|table| table == self.alias)
            && database.is_none_or(|database| self.has_own_name && database == self.table.database)
    }

    /// The position of a column that statements may name.
    pub(super) fn column_idx(&self, name: &str) -> Option<usize> {
        let idx = self.table.column_idx(name)?;
        self.table
            .columns
            .get(idx)
            .filter(|column| !column.hidden)
            .map(|_| idx)
    }

    /// The column at a position, as an expression over the row that begins at `offset`.
    pub(super) fn column(&self, idx: usize, offset: usize) -> Option<Expr> {
        let column = self.table.columns.get(idx)?;
        Some(Expr {
            kind: ExprKind::Column(offset + idx),
            ty: column.ty.clone(),
            nullable: column.nullable,
        })
    }
}

/// A member of the select list, for those who refer to it.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// What is computed, over the scope's row.
    pub(super) expr: Expr,
    /// The name shown.
    pub(super) name: String,
}

/// Where aggregates may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AggregateRule {
    /// Here: they are collected.
    Allowed,
    /// Not here: error 1111.
    Forbidden,
    /// Not here, as this is the argument of one.
    Inside,
}

/// The proposed row of `ON DUPLICATE KEY UPDATE`.
#[derive(Debug, Clone, Default)]
pub(super) struct Proposed {
    /// Its alias.
    pub(super) alias: Option<String>,
    /// New names for columns and the positions they mean.
    pub(super) columns: Vec<(String, usize)>,
}

impl Proposed {
    /// The row alias of an INSERT whose rows give values for `columns`.
    pub(super) fn new(alias: Option<&RowAlias>, columns: &[usize]) -> Result<Proposed> {
        let Some(alias) = alias else {
            return Ok(Proposed::default());
        };
        if !alias.columns.is_empty() && alias.columns.len() != columns.len() {
            return Err(Error::new(
                Code::ViewColumnCount,
                "In definition of view, derived table or common table expression, SELECT list and \
                 column names list have different column counts",
            ));
        }
        let named = alias.columns.iter().cloned().zip(columns.iter().copied());
        Ok(Proposed {
            alias: Some(alias.name.clone()),
            columns: named.collect(),
        })
    }
}

/// Everything a name may mean in one place of a statement.
///
/// Expressions are bound over one row: the table's columns, behind them the proposed row's, or,
/// while a query is bound, the values of the aggregates collected so far.
pub(super) struct Scope<'a> {
    pub(super) names: Names<'a>,
    pub(super) source: Option<Source>,
    pub(super) clause: Clause,
    pub(super) aggregate_rule: AggregateRule,
    /// The aggregates met so far.
    pub(super) aggregates: Vec<Aggregate>,
    /// The select list, once it is bound.
    pub(super) items: Vec<Item>,
    /// The keys of GROUP BY, once they are bound.
    pub(super) keys: Vec<Expr>,
    /// The proposed row, in `ON DUPLICATE KEY UPDATE`.
    pub(super) proposed: Option<Proposed>,
    /// How many parameters there are, as far as they were met.
    pub(super) parameters_count: usize,
}

impl<'a> Scope<'a> {
    pub(super) fn new(names: Names<'a>, source: Option<Source>, clause: Clause) -> Scope<'a> {
        Scope {
            names,
            source,
            clause,
            aggregate_rule: AggregateRule::Forbidden,
            aggregates: Vec::new(),
            items: Vec::new(),
            keys: Vec::new(),
            proposed: None,
            parameters_count: 0,
        }
    }

    /// The n-th parameter, of the given type while its value's is not known.
    pub(super) fn parameter(&mut self, position: usize, ty: ColumnType) -> Expr {
        self.parameters_count = self.parameters_count.max(position + 1);
        Expr {
            kind: ExprKind::Parameter(position),
            ty: self.names.parameters.get(position).cloned().unwrap_or(ty),
            nullable: true,
        }
    }

    /// How many columns the table's row has; aggregates come after them.
    pub(super) fn columns_count(&self) -> usize {
        self.source
            .as_ref()
            .map_or(0, |source| source.table.columns.len())
    }

    /// What a name means here.
    ///
    /// # Errors
    /// 1054, 1052.
    pub(super) fn column(&self, name: &ColumnName) -> Result<Expr> {
        let inside = self.aggregate_rule == AggregateRule::Inside;
        let found = match self.clause {
            Clause::Having if !inside => match self.grouped_column(name) {
                Some(expr) => Some(expr),
                None => self.item_named(name)?,
            },
            Clause::OrderBy | Clause::GroupBy => match self.table_column(name)? {
                Some(expr) => Some(expr),
                None => self.item_named(name)?,
            },
            Clause::FieldList | Clause::Where | Clause::Having => self.table_column(name)?,
        };
        found.ok_or_else(|| self.unknown(&name.to_string()))
    }

    /// Error 1054 in this clause.
    pub(super) fn unknown(&self, name: &str) -> Error {
        let clause = self.clause.text();
        Error::new(
            Code::UnknownColumn,
            format!("Unknown column '{name}' in '{clause}'"),
        )
    }

    /// The table's, or the proposed row's, column of that name.
    fn table_column(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let (database, table) = (name.database.as_deref(), name.table.as_deref());
        let own = self.source.as_ref().and_then(|source| {
            let idx = source.column_idx(&name.column)?;
            source
                .is_named(database, table)
                .then(|| source.column(idx, 0))
                .flatten()
        });
        let proposed = self.proposed_column(name);
        match (own, proposed) {
            (Some(_), Some(_)) if table.is_none() => Err(self.ambiguous(name)),
            (Some(column), _) | (None, Some(column)) => Ok(Some(column)),
            (None, None) => Ok(None),
        }
    }

    fn ambiguous(&self, name: &ColumnName) -> Error {
        let clause = self.clause.text();
        Error::new(
            Code::AmbiguousColumn,
            format!("Column '{name}' in {clause} is ambiguous"),
        )
    }

    /// A column of the proposed row by its row alias, or by the name that the alias gave it.
    fn proposed_column(&self, name: &ColumnName) -> Option<Expr> {
        let (source, proposed) = (self.source.as_ref()?, self.proposed.as_ref()?);
        let alias = proposed.alias.as_deref()?;
        if name.database.is_some() || name.table.as_deref().is_some_and(|table| table != alias) {
            return None;
        }
        let renamed = proposed.columns.iter();
        let renamed = renamed.filter(|(new, _)| new.eq_ignore_ascii_case(&name.column));
        let idx = match renamed.map(|(_, idx)| *idx).next() {
            Some(idx) => idx,
            // Without new names the columns keep theirs, and then need the alias in front.
            None if proposed.columns.is_empty() && name.table.is_some() => {
                source.column_idx(&name.column)?
            }
            None => return None,
        };
        source.column(idx, source.table.columns.len())
    }

    /// The grouped column of that name.
    fn grouped_column(&self, name: &ColumnName) -> Option<Expr> {
        let column = self.table_column(name).ok()??;
        self.keys
            .iter()
            .any(|key| same(key, &column))
            .then_some(column)
    }

    /// The member of the select list of that name: an alias, or a column selected.
    pub(super) fn item_named(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let qualified = name.table.is_some();
        let by_alias = |item: &&Item| !qualified && item.name.eq_ignore_ascii_case(&name.column);
        let mut found = self.items.iter().filter(by_alias);
        if let Some(first) = found.next() {
            return match found.find(|other| !same(&other.expr, &first.expr)) {
                Some(_) => Err(self.ambiguous(name)),
                None => Ok(Some(first.expr.clone())),
            };
        }
        let column = self.table_column(name)?;
        let selected = |column: &Expr| self.items.iter().any(|item| same(&item.expr, column));
        Ok(column.filter(selected))
    }
}
