//! The select list: what is computed, and how a client sees it.

use super::call;
use super::scope::{Item, Scope};
use super::source::Place;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, SelectItem, TableName};
use crate::sql::bound::Output;
use crate::sql::eval::digits;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::{Attributes, ColumnType, ResultColumn, Value};

/// Characters that `COUNT` takes when shown: MySQL's.
const COUNT_CHARS: u32 = 21;

/// Columns of a query's result. MySQL has 4096; a table here may have as many, and be joined.
const OUTPUTS_MAX: usize = 16_384;

fn check_count(columns_count: usize) -> Result<()> {
    if columns_count <= OUTPUTS_MAX {
        return Ok(());
    }
    let text = format!("Too many columns: {columns_count}, the most of a query is {OUTPUTS_MAX}");
    Err(Error::new(Code::TooManyColumns, text))
}

impl Scope<'_> {
    /// Binds the select list, stars expanded.
    pub(super) fn outputs(&mut self, items: &[SelectItem]) -> Result<Vec<Output>> {
        check_count(items.len())?;
        let mut outputs = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::Star => self.star(item, None, &mut outputs)?,
                SelectItem::TableStar(table) => self.star(item, Some(table), &mut outputs)?,
                SelectItem::Expr { expr, alias, text } => {
                    let own = call::const_name(expr);
                    let name = alias.as_ref().or(own.as_ref()).unwrap_or(text);
                    let output = self.output(expr, name)?;
                    outputs.push(output);
                }
            }
        }
        check_count(outputs.len())?;
        Ok(outputs)
    }

    fn output(&mut self, expr: &ast::Expr, name: &str) -> Result<Output> {
        let own = match expr {
            ast::Expr::Column(column) => self.from.find(column).ok().flatten(),
            _ => None,
        };
        let own = own.and_then(|place| self.from.result_column(place));
        let named = match expr {
            ast::Expr::Column(column) => Some(column),
            _ => None,
        };
        let expr = self.value(expr)?;
        let own = match (own, named) {
            (None, Some(named)) => self.undeclared_column(named, &expr),
            (own, _) => own,
        };
        let mut column = own.unwrap_or_else(|| ResultColumn {
            decimals: digits::of_double(&expr, &|idx| {
                let of_source = |idx| self.from.decimals(idx);
                match idx.checked_sub(self.columns_count()) {
                    Some(idx) => digits::of_aggregate(self.aggregates.get(idx)?, &of_source),
                    None => of_source(idx),
                }
            }),
            ..result_column(&expr)
        });
        name.clone_into(&mut column.name);
        Ok(Output { expr, column })
    }

    /// The columns that `*` stands for, those that the first page of rows has behind the declared ones
    /// of their table.
    fn with_undeclared(&self, item: &SelectItem, places: Vec<Place>) -> Vec<Place> {
        let Some(widening) = self.names.widening else {
            return places;
        };
        let mut all: Vec<Place> = Vec::with_capacity(places.len());
        let mut rest = places.into_iter().peekable();
        let mut done = Vec::new();
        while let Some(place) = rest.next() {
            all.push(place);
            let is_last = rest.peek().is_none_or(|next| next.0 != place.0);
            if !is_last || done.contains(&place.0) {
                continue;
            }
            done.push(place.0);
            let source = self.from.sources.get(place.0);
            let table = source.and_then(|source| Some((source, source.table()?)));
            if let Some((source, table)) = table {
                widening.star(item, (&source.alias, table));
                let shown = widening.shown(table).into_iter();
                all.extend(shown.map(|idx| (place.0, idx)));
            }
        }
        all
    }

    /// How a client sees a column without declaration, if the expression is that.
    fn undeclared_column(&self, name: &ast::ColumnName, expr: &Expr) -> Option<ResultColumn> {
        let ExprKind::Column(idx) = expr.kind else {
            return None;
        };
        let place = self.undeclared_place(name).ok()??;
        let own = self.from.column(place)?;
        let is_it = matches!(own.kind, ExprKind::Column(own) if own == idx);
        self.from.result_column(place).filter(|_| is_it)
    }

    /// `*`, `t.*`.
    fn star(
        &mut self,
        item: &SelectItem,
        table: Option<&TableName>,
        outputs: &mut Vec<Output>,
    ) -> Result<()> {
        let places = match table {
            None if self.from.sources.is_empty() => {
                return Err(Error::new(Code::NoTablesUsed, "No tables used"));
            }
            None => self.from.all_shown(),
            Some(table) => {
                let (database, name) = (table.database.as_deref(), Some(table.name.as_str()));
                let mut sources = self.from.sources.iter();
                let source = sources.position(|source| source.is_named(database, name));
                self.from.shown(source.ok_or_else(|| unknown_table(table))?)
            }
        };
        // Before they are bound: there may be thousands of stars.
        check_count(outputs.len() + places.len())?;
        if let Some(trace) = self.names.trace {
            let meant = places.iter().filter_map(|place| self.from.spelled(*place));
            trace.star(item, meant.collect());
        }
        let places = self.with_undeclared(item, places);
        check_count(outputs.len() + places.len())?;
        for place in places {
            let shown = (self.from.column(place), self.from.result_column(place));
            if let (Some(expr), Some(column)) = shown {
                outputs.push(Output { expr, column });
            }
        }
        Ok(())
    }

    /// The outputs as what HAVING and ORDER BY may refer to.
    pub(super) fn set_items(&mut self, outputs: &[Output]) {
        let item = |output: &Output| Item {
            expr: output.expr.clone(),
            name: output.column.name.clone(),
            is_column: output.column.is_field,
        };
        self.items = outputs.iter().map(item).collect();
    }
}

fn unknown_table(table: &TableName) -> Error {
    let database = table
        .database
        .as_ref()
        .map(|name| format!("{name}."))
        .unwrap_or_default();
    Error::new(
        Code::UnknownTable,
        format!("Unknown table '{database}{}'", table.name),
    )
}

/// How a client sees an expression.
pub(super) fn result_column(expr: &Expr) -> ResultColumn {
    ResultColumn {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: String::new(),
        org_name: String::new(),
        ty: expr.ty.clone(),
        nullable: expr.nullable,
        is_field: false,
        attributes: Attributes::default(),
        display_chars: display_chars(expr),
        decimals: digits::of_double(expr, &|_| None),
    }
}

/// The most characters of a value where the type says too much: conditions are `0` or `1`.
fn display_chars(expr: &Expr) -> u32 {
    match &expr.kind {
        ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSet { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. } => 1,
        ExprKind::Literal(Value::Int(number)) => {
            let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
            digits + u32::from(*number < 0)
        }
        ExprKind::Column(_) if expr.ty == ColumnType::BIGINT => COUNT_CHARS,
        _ => 0,
    }
}
