//! Where names are looked up: the sources, the select list's aliases, the proposed row of an INSERT,
//! the enclosing queries.

use std::sync::Arc;

use super::aggregates::Aggregates;
use super::outer_aggregate::AggregateCall;
use super::same::same;
use super::source::{Ambiguous, Bound, Source};
use super::window::WindowCall;
use super::{Names, cte};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{ColumnName, Cte, RowAlias};
use crate::sql::bound::{Capture, Subquery};
use crate::sql::expr::{Expr, ExprKind, Slot};
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
    /// `ON`.
    On,
    /// `PARTITION BY` of a window.
    WindowPartition,
    /// `ORDER BY` of a window.
    WindowOrder,
}

impl Clause {
    fn text(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::Where => "where clause",
            Clause::GroupBy => "group statement",
            Clause::Having => "having clause",
            Clause::OrderBy => "order clause",
            Clause::On => "on clause",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
        }
    }
}

/// A member of the select list, for those who refer to it.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// What is computed, over the scope's row.
    pub(super) expr: Expr,
    /// The name shown.
    pub(super) name: String,
    /// Whether a column is written there, and no expression.
    pub(super) is_column: bool,
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
/// Expressions are bound over one row: the columns of all sources, one behind the other; behind them
/// the proposed row's, or, while a query is bound, the values of the aggregates collected so far.
pub(super) struct Scope<'a> {
    pub(super) names: Names<'a>,
    /// Where names are looked up that are not found here.
    pub(super) outer: Option<&'a mut (dyn Outer + 'a)>,
    /// What `FROM` has bound so far.
    pub(super) from: Bound,
    pub(super) clause: Clause,
    pub(super) aggregate_rule: AggregateRule,
    /// The aggregates met so far.
    pub(super) aggregates: Aggregates,
    /// The window functions met so far.
    pub(super) windows: Vec<WindowCall>,
    /// Whether arguments or the window of a window function are being bound.
    pub(super) is_in_window: bool,
    /// The calls of `GROUPING` met so far: what stands for each, and its arguments.
    pub(super) groupings: Vec<(usize, Vec<Expr>)>,
    /// The select list, once it is bound.
    pub(super) items: Vec<Item>,
    /// The keys of GROUP BY, once they are bound.
    pub(super) keys: Vec<Expr>,
    /// The proposed row, in `ON DUPLICATE KEY UPDATE`.
    pub(super) proposed: Option<Proposed>,
    /// The table that a row is made for, whose columns `DEFAULT(column)` may name.
    pub(super) target: Option<Arc<Table>>,
    /// The subqueries met so far.
    pub(super) subqueries: Vec<Subquery>,
    /// What the subquery that is being bound reads of this row.
    pub(super) captures: Vec<Capture>,
    /// How many parameters there are, as far as they were met.
    pub(super) parameters_count: usize,
}

/// An enclosing query, in which a subquery's names may be found.
pub(super) trait Outer {
    /// The column of that name, as a slot that is filled before the subquery runs.
    ///
    /// # Errors
    /// 1052.
    fn capture(&mut self, name: &ColumnName) -> Result<Option<Expr>>;

    /// As [`Outer::capture`], of a name that no query declares.
    ///
    /// # Errors
    /// As [`Scope::undeclared`].
    fn capture_undeclared(&mut self, name: &ColumnName) -> Result<Option<Expr>>;

    /// The nearest query from here on outwards that a common table expression was not defined outside of:
    /// what it sees.
    fn outside_of(&mut self, cte: &Cte) -> Option<&mut dyn Outer>;

    /// An aggregate of a subquery, as a slot that is filled before the subquery runs: of the nearest query, from
    /// here on outwards, that has one of the columns that it reads. `None` where that one may have no aggregates.
    ///
    /// # Errors
    /// As [`Scope::call`].
    fn aggregate_of(&mut self, it: AggregateCall<'_>) -> Result<Option<Expr>>;

    /// Whether a slot is a column of this query, or of one around it, where that one may have aggregates.
    fn may_aggregate(&self, slot: usize) -> bool;
}

impl Outer for Scope<'_> {
    fn capture(&mut self, name: &ColumnName) -> Result<Option<Expr>> {
        let Some(column) = self.table_column(name)? else {
            return match &mut self.outer {
                Some(outer) => outer.capture(name),
                None => Ok(None),
            };
        };
        self.trace_column(name);
        Ok(Some(self.captured(name.to_string(), column)))
    }

    fn capture_undeclared(&mut self, name: &ColumnName) -> Result<Option<Expr>> {
        if let Some(column) = self.undeclared(name)? {
            return Ok(Some(self.captured(name.to_string(), column)));
        }
        match &mut self.outer {
            Some(outer) => outer.capture_undeclared(name),
            None => Ok(None),
        }
    }

    fn outside_of(&mut self, cte: &Cte) -> Option<&mut dyn Outer> {
        if !cte::is_among(cte, self.names.ctes) {
            return Some(self);
        }
        match &mut self.outer {
            Some(outer) => outer.outside_of(cte),
            None => None,
        }
    }

    fn aggregate_of(&mut self, it: AggregateCall<'_>) -> Result<Option<Expr>> {
        self.aggregate_around(it)
    }

    fn may_aggregate(&self, slot: usize) -> bool {
        if self.captures.iter().any(|capture| capture.slot == slot) {
            return self.aggregate_rule == AggregateRule::Allowed;
        }
        let outer = self.outer.as_ref();
        outer.is_some_and(|outer| outer.may_aggregate(slot))
    }
}

impl Scope<'_> {
    /// A column of this row, or an aggregate, as a slot that is filled before a subquery runs.
    pub(super) fn captured(&mut self, text: String, column: Expr) -> Expr {
        if let ExprKind::Slot(_) = column.kind {
            return column;
        }
        let known = self
            .captures
            .iter()
            .find(|capture| same(&capture.expr, &column));
        let idx = if let Some(capture) = known {
            capture.slot
        } else {
            let slot = self.names.numbering.next();
            let expr = column.clone();
            self.captures.push(Capture { slot, expr });
            slot
        };
        let text = text.into();
        let per_row = false;
        let columns_count = self.columns_count();
        let is_column = matches!(column.kind, ExprKind::Column(idx) if idx < columns_count);
        Expr {
            kind: ExprKind::Slot(Slot {
                idx,
                per_row,
                text,
                is_column,
                decimals: None,
            }),
            ..column
        }
    }
}

impl<'a> Scope<'a> {
    pub(super) fn new(names: Names<'a>, source: Option<Source>, clause: Clause) -> Scope<'a> {
        Scope {
            names,
            outer: None,
            from: Bound::of(source),
            target: None,
            clause,
            aggregate_rule: AggregateRule::Forbidden,
            aggregates: Aggregates::default(),
            windows: Vec::new(),
            is_in_window: false,
            groupings: Vec::new(),
            items: Vec::new(),
            keys: Vec::new(),
            proposed: None,
            subqueries: Vec::new(),
            captures: Vec::new(),
            parameters_count: 0,
        }
    }

    /// The only table of a statement that has one.
    pub(super) fn source(&self) -> Option<&Source> {
        self.from.sources.first()
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

    /// How many columns the row of all sources has; aggregates come after them.
    pub(super) fn columns_count(&self) -> usize {
        self.from.columns_count
    }

    /// What a name means here.
    ///
    /// # Errors
    /// 1054, 1052; 1317 and its like when the statement is to stop: it may say millions of names, each of one
    /// of thousands of columns.
    pub(super) fn column(&mut self, name: &ColumnName) -> Result<Expr> {
        self.names.look_up()?;
        let inside = self.aggregate_rule == AggregateRule::Inside;
        let found = match self.clause {
            Clause::Having if !inside => match self.grouped_column(name) {
                Some(expr) => Some(self.traced(name, expr)),
                None => self.item_named(name)?,
            },
            Clause::OrderBy | Clause::GroupBy | Clause::WindowPartition | Clause::WindowOrder => {
                match self.table_column(name)? {
                    Some(expr) => Some(self.traced(name, expr)),
                    None => self.item_named(name)?,
                }
            }
            Clause::FieldList | Clause::Where | Clause::Having | Clause::On => {
                let own = self.table_column(name)?;
                own.map(|expr| self.traced(name, expr))
            }
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let outer = self.outer.as_mut();
        let outer = outer.map_or(Ok(None), |outer| outer.capture(name))?;
        if let Some(outer) = outer {
            return Ok(outer);
        }
        if let Some(undeclared) = self.undeclared(name)? {
            return Ok(undeclared);
        }
        let outer = self.outer.as_mut();
        let outer = outer.map_or(Ok(None), |outer| outer.capture_undeclared(name))?;
        outer.ok_or_else(|| self.unknown(&name.to_string()))
    }

    /// Keeps that the name means a column of a source.
    fn traced(&self, name: &ColumnName, expr: Expr) -> Expr {
        self.trace_column(name);
        expr
    }

    fn trace_column(&self, name: &ColumnName) {
        if let Some(trace) = self.names.trace
            && let Ok(Some(place)) = self.from.find(name)
            && let Some(meant) = self.from.spelled(place)
        {
            trace.column(name, meant);
        }
    }

    /// Error 1054 in this clause.
    pub(super) fn unknown(&self, name: &str) -> Error {
        let clause = self.clause.text();
        Error::new(
            Code::UnknownColumn,
            format!("Unknown column '{name}' in '{clause}'"),
        )
    }

    /// The column of that name of a source, or of the proposed row.
    pub(super) fn table_column(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let own = self
            .from
            .find(name)
            .map_err(|Ambiguous| self.ambiguous(name))?;
        let own = own.and_then(|place| self.from.column(place));
        let proposed = self.proposed_column(name);
        match (own, proposed) {
            (Some(_), Some(_)) if name.table.is_none() => Err(self.ambiguous(name)),
            (Some(column), _) | (None, Some(column)) => Ok(Some(column)),
            (None, None) => Ok(None),
        }
    }

    pub(super) fn ambiguous(&self, name: &ColumnName) -> Error {
        let clause = self.clause.text();
        Error::new(
            Code::AmbiguousColumn,
            format!("Column '{name}' in {clause} is ambiguous"),
        )
    }

    /// A column of the proposed row by its row alias, or by the name that the alias gave it.
    fn proposed_column(&self, name: &ColumnName) -> Option<Expr> {
        let (source, proposed) = (self.source()?, self.proposed.as_ref()?);
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
                let named = || source.table()?.named_idx(&name.column);
                source.column_idx(&name.column).or_else(named)?
            }
            None => return None,
        };
        source.proposed_column(idx)
    }

    /// Whether a member of the select list is not known yet in this clause.
    fn is_window_misplaced(&self, expr: &Expr) -> bool {
        match self.clause {
            Clause::OrderBy | Clause::FieldList => false,
            Clause::Where
            | Clause::GroupBy
            | Clause::Having
            | Clause::On
            | Clause::WindowPartition
            | Clause::WindowOrder => self.has_window(expr),
        }
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
        if let Some(found) = self.only(self.items.iter().filter(by_alias), name)? {
            if self.is_window_misplaced(&found.expr) {
                let text = format!(
                    "You cannot use the alias '{}' of an expression containing a window function \
                     in this context.'",
                    found.name
                );
                return Err(Error::new(Code::WindowAliasMisplaced, text));
            }
            return Ok(Some(found.expr.clone()));
        }
        let column = self.table_column(name)?;
        let selected = |column: &Expr| self.items.iter().any(|item| same(&item.expr, column));
        Ok(column.filter(selected))
    }

    /// The member that a name means among those of that name. As in MySQL the first expression is it
    /// whatever else there is, and only columns before it may be two (`find_item_in_list`, `sql_base.cc`).
    fn only<'i>(
        &self,
        named: impl Iterator<Item = &'i Item>,
        name: &ColumnName,
    ) -> Result<Option<&'i Item>> {
        let mut found: Option<&Item> = None;
        for item in named {
            if !item.is_column {
                return Ok(Some(item));
            }
            if found.is_some_and(|other| !same(&other.expr, &item.expr)) {
                return Err(self.ambiguous(name));
            }
            found = Some(item);
        }
        Ok(found)
    }
}
