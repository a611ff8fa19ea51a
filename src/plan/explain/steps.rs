//! What the steps behind the access are called, and the names that their expressions see.

use super::{Explained, Step};
use crate::plan::text::{self, Names};
use crate::sql::aggregate::names;
use crate::sql::bound::{Aggregate, OrderBy, Window, WindowKind, Windowing};
use crate::sql::expr::Expr;
use crate::types::temporal::Zone;

/// The names of the rows that pass between steps.
pub(super) struct Scope<'a> {
    zone: &'a Zone,
    /// The names in front of the first step.
    column: Box<dyn Fn(usize) -> String + 'a>,
    /// The texts of group keys and aggregates; `None` before the aggregation.
    grouped: Option<Vec<String>>,
}

/// An expression over the rows behind a step, as SQL; `column` names the columns in front of it.
pub fn text_behind(
    step: &Step<'_>,
    expr: &Expr,
    (column, zone): (&dyn Fn(usize) -> String, &Zone),
) -> String {
    let mut scope = Scope::over(zone, column);
    scope.pass(step);
    scope.text(expr)
}

impl<'a> Scope<'a> {
    /// The names in front of the first step.
    pub(super) fn of(explained: &'a Explained<'a>) -> Scope<'a> {
        Scope::over(explained.zone, move |idx| match &explained.source {
            Some(source) => text::column_name(source.table, idx),
            None => format!("column {idx}"),
        })
    }

    /// These names in front of the first step.
    pub(super) fn over(zone: &'a Zone, column: impl Fn(usize) -> String + 'a) -> Scope<'a> {
        Scope {
            zone,
            column: Box::new(column),
            grouped: None,
        }
    }

    /// The names behind a step.
    pub(super) fn pass(&mut self, step: &Step<'_>) {
        if let Step::Aggregate {
            keys,
            aggregates,
            rollup,
            ..
        } = step
        {
            let mut names: Vec<String> = keys.iter().map(|key| self.text(key)).collect();
            if let (true, Some(last)) = (rollup, names.last_mut()) {
                "grouped keys".clone_into(last);
            }
            names.extend(aggregates.iter().map(|one| self.aggregate(one)));
            self.grouped = Some(names);
        } else if let Step::Windows(windowing) = step {
            self.grouped = Some(self.windowed(windowing));
        }
    }

    /// The keys of groups as SQL.
    pub(super) fn groups(&self, keys: &[Expr], rollup: bool) -> String {
        match keys.split_last() {
            Some((_, keys)) if rollup => format!("{} WITH ROLLUP", self.list(keys)),
            Some(_) | None => self.list(keys),
        }
    }

    /// The texts of the columns of windowed rows.
    fn windowed(&self, windowing: &Windowing) -> Vec<String> {
        let mut names = vec![String::new(); windowing.functions_count];
        names.extend(windowing.inputs.iter().map(|input| self.text(input)));
        let mut inner = Scope::over(self.zone, |idx| format!("column {idx}"));
        inner.grouped = Some(names.clone());
        for window in &windowing.windows {
            let over = inner.window(window);
            for function in &window.functions {
                if let Some(name) = names.get_mut(function.position) {
                    *name = if let WindowKind::Aggregate(aggregate) = &function.kind {
                        inner.aggregate(aggregate)
                    } else {
                        let args = inner.list(&function.args);
                        format!("{}({args})", function.kind.name().unwrap_or_default())
                    };
                    name.push_str(&over);
                }
            }
        }
        names
    }

    /// ` OVER (…)`, without the frame.
    fn window(&self, window: &Window) -> String {
        let mut parts = Vec::new();
        if !window.partition_by.is_empty() {
            parts.push(format!("PARTITION BY {}", self.list(&window.partition_by)));
        }
        if !window.order_by.is_empty() {
            parts.push(format!("ORDER BY {}", self.order(&window.order_by)));
        }
        format!(" OVER ({})", parts.join(" "))
    }

    /// The texts of the window functions.
    pub(super) fn windows(&self, windowing: &Windowing) -> String {
        let mut names = self.windowed(windowing);
        names.truncate(windowing.functions_count);
        names.join(", ")
    }

    fn name(&self, idx: usize) -> String {
        match &self.grouped {
            Some(names) => names.get(idx).cloned().unwrap_or_default(),
            None => (self.column)(idx),
        }
    }

    /// An expression as SQL.
    pub(super) fn text(&self, expr: &Expr) -> String {
        let column = |idx| self.name(idx);
        text::expression(
            expr,
            Names {
                column: &column,
                zone: self.zone,
            },
        )
    }

    pub(super) fn list(&self, exprs: &[Expr]) -> String {
        let texts: Vec<String> = exprs.iter().map(|expr| self.text(expr)).collect();
        texts.join(", ")
    }

    /// An ORDER BY list.
    pub(super) fn order(&self, keys: &[OrderBy]) -> String {
        let texts: Vec<String> = keys
            .iter()
            .map(|key| {
                let direction = if key.descending { " DESC" } else { "" };
                self.text(&key.expr) + direction
            })
            .collect();
        texts.join(", ")
    }

    /// An aggregate as it is written.
    pub(super) fn aggregate(&self, aggregate: &Aggregate) -> String {
        let name = names::of(aggregate.kind);
        let distinct = if aggregate.distinct { "DISTINCT " } else { "" };
        let args = if aggregate.args.is_empty() {
            "*".to_owned()
        } else {
            self.list(&aggregate.args)
        };
        let order = match aggregate.order_by.as_slice() {
            [] => String::new(),
            keys => format!(" ORDER BY {}", self.order(keys)),
        };
        format!("{name}({distinct}{args}{order})")
    }
}
