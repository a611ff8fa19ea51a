//! Queries in `FROM`: derived tables and common table expressions.
//!
//! A query that only filters and computes becomes part of the query around it, so that conditions
//! from outside reach the keys of its tables; any other is run on its own.

use std::sync::Arc;

use super::cte::{self, CteScope};
use super::from::Side;
use super::query::Around;
use super::scope::{AggregateRule, Clause, Scope};
use super::source::{QueryColumn, Source};
use super::twice::twice;
use super::{Names, query, recursive, size};
use crate::error::{Code, Error, Result};
use crate::sql::aggregate::names;
use crate::sql::ast::{self, QueryBody};
use crate::sql::bound::{self, JoinTree, Relation};
use crate::sql::context::for_long;
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::{Attributes, ResultColumn};

impl Scope<'_> {
    /// A common table expression by its name.
    pub(super) fn cte(
        &mut self,
        cte: &CteScope<'_>,
        alias: Option<&str>,
        is_optional: bool,
    ) -> Result<Side> {
        let alias = alias.unwrap_or(&cte.cte.name);
        if let Some((round, columns)) = cte.round()? {
            return Ok(self.opaque(Relation::Round(round), alias, columns));
        }
        if !cte::note(&self.names)? {
            return self.cte_anew(cte, alias, is_optional);
        }
        let facts = self.names.facts;
        for_long(facts, || self.cte_anew(cte, alias, is_optional))
    }

    fn cte_anew(&mut self, cte: &CteScope<'_>, alias: &str, is_optional: bool) -> Result<Side> {
        if let Some(recursive) = recursive::recursive(cte, &self.names)? {
            self.parameters_count = self.parameters_count.max(recursive.parameters_count);
            let columns = recursive.columns.clone();
            let query = bound::Query::Recursive(Box::new(recursive));
            return Ok(self.opaque(Relation::Query(Arc::new(query)), alias, columns));
        }
        let named = (alias, cte.cte.columns.as_slice());
        let inside = cte.without_union();
        let outside = Names {
            ctes: if cte.is_recursive {
                Some(&inside)
            } else {
                cte.outer
            },
            ..self.names
        };
        // It sees what is around the query that it was defined in, and not all that is around this one.
        let mut outer = self.outer.take();
        let around = outer.as_mut().and_then(|outer| outer.outside_of(cte.cte));
        let side = self.derived(
            &cte.cte.select,
            named,
            ((&outside, around), is_optional, true),
        );
        self.outer = outer;
        side
    }

    /// A query in `FROM` that stands there.
    pub(super) fn derived_here(
        &mut self,
        select: &ast::Select,
        goes_by: (&str, &[String]),
        is_optional: bool,
    ) -> Result<Side> {
        let names = self.names;
        let mut outer = self.outer.take();
        let around = (&names, query::reborrow(&mut outer));
        let side = self.derived(select, goes_by, (around, is_optional, true));
        self.outer = outer;
        side
    }

    /// A query in `FROM`, with what names mean outside of it and whether it may be merged. It sees no
    /// source beside it, but the queries that this one stands in: what it reads of them is read by the
    /// subquery that it is a part of, which is run again for other values.
    pub(super) fn derived(
        &mut self,
        select: &ast::Select,
        (alias, renamed): (&str, &[String]),
        ((outside, mut around), is_optional, merges): (Around<'_, '_>, bool, bool),
    ) -> Result<Side> {
        let _level = outside.numbering.deeper()?;
        query::refuse_lock(select)?;
        if merges {
            let around = (outside, query::reborrow(&mut around));
            let side = self.merged(select, (alias, renamed), (around, is_optional))?;
            if let Some(side) = side {
                return Ok(side);
            }
        }
        let query = query::query(select, outside, around)?;
        self.parameters_count = self.parameters_count.max(query.parameters_count());
        let columns: Vec<ResultColumn> = query.columns().into_iter().cloned().collect();
        let columns = query::renamed(columns, renamed)?;
        check_columns(&columns)?;
        Ok(self.opaque(Relation::Query(Arc::new(query)), alias, columns))
    }

    /// A query in `FROM` that sees the sources before it.
    pub(super) fn lateral(
        &mut self,
        select: &ast::Select,
        (alias, renamed): (&str, &[String]),
    ) -> Result<Side> {
        let names = self.names;
        let _level = names.numbering.deeper()?;
        let outside = std::mem::take(&mut self.captures);
        let first_seen = std::mem::take(&mut self.from.first_seen);
        let query = query::query(select, &names, Some(self));
        self.from.first_seen = first_seen;
        let captures = std::mem::replace(&mut self.captures, outside);
        let query = query?;
        self.parameters_count = self.parameters_count.max(query.parameters_count());
        let columns: Vec<ResultColumn> = query.columns().into_iter().cloned().collect();
        let columns = query::renamed(columns, renamed)?;
        check_columns(&columns)?;
        let side = self.opaque(Relation::Query(Arc::new(query)), alias, columns);
        if let Some(relation) = self.from.relations.last_mut() {
            relation.captures = captures;
        }
        Ok(side)
    }

    /// A source whose columns are all that is known of it.
    pub(super) fn opaque(
        &mut self,
        relation: Relation,
        alias: &str,
        columns: Vec<ResultColumn>,
    ) -> Side {
        let first = self.from.columns_count;
        let columns = columns.into_iter().enumerate();
        let columns = columns.map(|(idx, column)| QueryColumn {
            expr: Expr {
                kind: ExprKind::Column(first + idx),
                ty: column.ty.clone(),
                nullable: column.nullable,
            },
            column: ResultColumn {
                table: alias.to_owned(),
                is_field: true,
                attributes: Attributes::default(),
                ..column
            },
        });
        let source = Source::query(alias, columns.collect());
        self.side(
            source,
            (relation, alias.to_owned(), bound::Hints::default()),
        )
    }

    /// A query that becomes part of this one; `None` when it cannot.
    fn merged(
        &mut self,
        select: &ast::Select,
        (alias, renamed): (&str, &[String]),
        ((names, around), is_optional): (Around<'_, '_>, bool),
    ) -> Result<Option<Side>> {
        let Some(block) = plain_block(select).filter(|_| names.numbering.may_merge()) else {
            return Ok(None);
        };
        let mut inner = Scope::new(*names, None, Clause::Where);
        inner.outer = around;
        inner.from.columns_count = self.from.columns_count;
        inner.from.first_relation = self.from.next_relation();
        let tree = match inner.bind_from(&block.from) {
            Ok(Some(tree)) => tree,
            // Too many for the query around it are not too many for one of its own.
            Err(error) if error.code() != Code::TooManyTables => return Err(error),
            Ok(None) | Err(_) => return Ok(None),
        };
        inner.clause = Clause::Where;
        let filter = block.filter.as_ref().map(|filter| inner.condition(filter));
        let filter = filter.transpose()?;
        inner.clause = Clause::FieldList;
        inner.aggregate_rule = AggregateRule::Allowed;
        let outputs = inner.outputs(&block.items)?;
        let fits = !names.numbering.is_assigning()
            && inner.aggregates.is_empty()
            && inner.subqueries.is_empty()
            && inner.windows.is_empty()
            && outputs
                .iter()
                .all(|output| may_stand_in(&output.expr, is_optional, self.from.rolls_up));
        if !fits {
            names.numbering.note_unmerged();
            return Ok(None);
        }
        let (exprs, columns): (Vec<_>, Vec<_>) = outputs
            .into_iter()
            .map(|output| (output.expr, output.column))
            .unzip();
        let columns = query::renamed(columns, renamed)?;
        check_columns(&columns)?;
        let columns = exprs.into_iter().zip(columns);
        let columns = columns.map(|(expr, column)| QueryColumn {
            expr,
            column: ResultColumn {
                table: alias.to_owned(),
                ..column
            },
        });
        let first = self.from.next_relation();
        let source = Source::query(alias, columns.collect());
        let source = source.merged_from(first..inner.from.next_relation());
        self.parameters_count = self.parameters_count.max(inner.parameters_count);
        self.from.columns_count = inner.from.columns_count;
        self.from.relations.append(&mut inner.from.relations);
        self.from.sources.push(source);
        let tree = match filter {
            Some(filter) => JoinTree::Inner {
                members: vec![tree],
                conditions: vec![filter],
            },
            None => tree,
        };
        let shown = self.from.shown(self.from.sources.len() - 1);
        Ok(Some(Side { tree, shown }))
    }
}

/// The block of a query that only reads, filters and computes.
pub(super) fn plain_block(select: &ast::Select) -> Option<&ast::Block> {
    let QueryBody::Block(block) = &select.body else {
        return None;
    };
    let is_plain = select.with.ctes.is_empty()
        && select.order_by.is_empty()
        && select.limit.is_none()
        && select.lock.is_none()
        && select.into.is_none()
        && !block.distinct
        && !block.counts_rows
        && block.hints.is_empty()
        && !block.from.is_empty()
        && block.group_by.is_empty()
        && block.having.is_none()
        && block.windows.is_empty()
        && !block.items.iter().any(is_more_than_a_row);
    is_plain.then_some(block)
}

/// Whether a member of the select list is computed of more than one row: told by its syntax, so that
/// the tables of such a query are not bound in vain.
fn is_more_than_a_row(item: &ast::SelectItem) -> bool {
    let is_such = |expr: &ast::Expr| match expr {
        ast::Expr::Call(call) => call.over.is_some() || names::find(&call.name).is_some(),
        ast::Expr::Subquery(_)
        | ast::Expr::Exists(_)
        | ast::Expr::InSelect { .. }
        | ast::Expr::Quantified { .. } => true,
        _ => false,
    };
    match item {
        ast::SelectItem::Expr { expr, .. } => expr.has(&is_such),
        ast::SelectItem::Star | ast::SelectItem::TableStar(_) => false,
    }
}

/// Whether an output may take the place of its name in the query around: of a table that may be missing only a
/// column of its own, and where groups are rolled up no constant, which could not be told from others of its value.
fn may_stand_in(expr: &Expr, is_optional: bool, rolls_up: bool) -> bool {
    let is_column = matches!(expr.kind, ExprKind::Column(_));
    !is_volatile(expr)
        && size::is_fit(expr)
        && (is_column || !is_optional)
        && !(rolls_up && fold::is_constant(expr))
}

/// Whether computing it twice may give two values.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Call(function, _) => function.stability == fold::Stability::Row,
        ExprKind::UserVariable(_) => true,
        _ => false,
    };
    fold::each_child(expr, &mut |child| found |= is_volatile(child));
    found
}

/// # Errors
/// 1060: two columns of one name.
pub(super) fn check_columns(columns: &[ResultColumn]) -> Result<()> {
    let names = columns.iter().map(|column| column.name.as_str());
    match twice(names) {
        None => Ok(()),
        Some(name) => {
            let text = format!("Duplicate column name '{name}'");
            Err(Error::new(Code::DuplicateColumn, text))
        }
    }
}
