//! Random indexes with prefixes, expressions and conditions, and conditions that may use them.

use rand::Rng as _;
use rand::seq::IndexedRandom as _;
use rand::seq::SliceRandom as _;

use super::{World, column};
use crate::catalog::{Index, IndexId, Table};
use crate::exec::ddl::index::define_index;
use crate::exec::row::ValuesRow;
use crate::plan::soundness::case::{Case, condition, literal};
use crate::plan::testing;
use crate::sql::ast::Statement;
use crate::sql::computed::{self, CONTEXT, Part};
use crate::sql::eval;
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::types::{ColumnType, Value};

/// A random index. What cannot be indexed is tried again as a plain column.
pub(super) fn index(case: &mut Case, at: u32) -> Index {
    loop {
        let mut columns: Vec<usize> = (0..case.table.columns.len()).collect();
        columns.shuffle(&mut case.rng);
        let parts_count = case.rng.random_range(1..=columns.len().min(3));
        let rest = columns.split_off(parts_count);
        let parts: Vec<String> = columns.into_iter().map(|idx| part(case, idx)).collect();
        let include = match case.rng.random_range(0..4) {
            0 | 1 => String::new(),
            2 => " INCLUDE ALL".to_owned(),
            _ => rest
                .first()
                .map_or(String::new(), |idx| format!(" INCLUDE (c{idx})")),
        };
        let filter = if case.rng.random_bool(0.35) {
            filter(case)
        } else {
            String::new()
        };
        let unique = if case.rng.random_bool(0.4) {
            "UNIQUE "
        } else {
            ""
        };
        let parts = parts.join(", ");
        let sql = format!("CREATE {unique}INDEX i{at} ON t ({parts}){include}{filter}");
        let Statement::CreateIndex(create) = testing::statement(&sql) else {
            panic!("{sql}")
        };
        let ctx = testing::context("+00:00", Vec::new());
        if let Ok(index) = define_index(&case.table, &create.index, &ctx) {
            return Index {
                id: IndexId(10 + at),
                ..index
            };
        }
    }
}

fn part(case: &mut Case, idx: usize) -> String {
    let ty = case.table.columns[idx].ty.clone();
    let mut texts: Vec<&str> = vec!["@", "@", "@", "(@ IS NULL)", "(CONCAT('x', @))", "(@ = 5)"];
    if ty.is_text() || ty.is_binary() {
        texts.extend(["@(1)", "@(1)", "@(2)", "(LEFT(@, 1))", "(LENGTH(@))"]);
    }
    if ty.is_text() {
        texts.extend(["(LOWER(@))", "(@ + 0)", "(@ > 'ab')", "(NULLIF(@, 'a'))"]);
    }
    if ty.is_numeric() {
        texts.extend(["(@ % 3)", "(@ + 0.5)", "(@ > 1)", "(CAST(@ AS CHAR))"]);
    }
    if matches!(ty, ColumnType::Date | ColumnType::Datetime { .. }) {
        texts.extend([
            "(YEAR(@))",
            "(DATE(@))",
            "(@ + INTERVAL 1 DAY)",
            "(LAST_DAY(@))",
        ]);
    }
    if matches!(ty, ColumnType::Time { .. }) {
        texts.extend(["(HOUR(@))", "(@ > '00:00:00')"]);
    }
    let text = texts.choose(&mut case.rng).unwrap();
    let direction = if case.rng.random_bool(0.3) {
        " DESC"
    } else {
        ""
    };
    format!("{}{direction}", text.replace('@', &format!("c{idx}")))
}

/// ` WHERE …` over one or two columns.
fn filter(case: &mut Case) -> String {
    let count = case.rng.random_range(1..=2);
    let conjuncts: Vec<String> = (0..count)
        .map(|_| {
            let idx = case.rng.random_range(0..case.table.columns.len());
            let operand = column(&case.table, idx);
            let ExprKind::Literal(value) = case.constant(&operand).kind else {
                panic!("a constant that is none")
            };
            let value = eval::print::literal(&value);
            let shapes = [
                format!("c{idx} IS NOT NULL"),
                format!("c{idx} = {value}"),
                format!("c{idx} <= {value}"),
                format!("c{idx} > {value}"),
                format!("c{idx} <> {value}"),
                format!("c{idx} IN ({value}, {value})"),
            ];
            shapes.choose(&mut case.rng).unwrap().clone()
        })
        .collect();
    format!(" WHERE {}", conjuncts.join(" AND "))
}

/// What a part of an index is computed from, for conditions: a column or an expression.
pub(super) fn operand(table: &Table, index: &Index, column_idx: usize) -> Expr {
    let Some(at) = column_idx.checked_sub(table.columns.len()) else {
        return column(table, column_idx);
    };
    let bound = computed::of(table, index).unwrap().unwrap();
    match &bound.parts[at] {
        Part::Prefix { column_idx, .. } => column(table, *column_idx),
        Part::Expression(expr) => expr.clone(),
    }
}

/// A constant to compare an operand with: often one of its values in the table.
pub(super) fn constant(case: &mut Case, world: &World, operand: &Expr) -> Expr {
    let rows: Vec<_> = world.rows.values().collect();
    if let ExprKind::Column(_) = operand.kind {
        return case.constant(operand);
    }
    if case.rng.random_bool(0.7)
        && let Some(row) = rows.choose(&mut case.rng)
        && let Ok(value) = eval::eval(operand, &ValuesRow(row), &CONTEXT)
        && !matches!(value, Value::Enum(_))
    {
        return literal(value.into_owned());
    }
    let text = Expr {
        ty: ColumnType::VARCHAR,
        ..operand.clone()
    };
    case.constant(&text)
}

/// Conditions that make a partial index usable, more often than not.
pub(super) fn implying(case: &mut Case, table: &Table, index: &Index) -> Vec<Expr> {
    let Some(bound) = computed::of(table, index).unwrap() else {
        return Vec::new();
    };
    let Some(filter) = &bound.filter else {
        return Vec::new();
    };
    if case.rng.random_bool(0.5) {
        return vec![filter.clone()];
    }
    let mut names = Vec::new();
    columns_of(filter, &mut names);
    let narrower = names.into_iter().map(|idx| {
        let operand = column(table, idx);
        let op = [
            CompareOp::Equal,
            CompareOp::Equal,
            CompareOp::Greater,
            CompareOp::LessOrEqual,
        ];
        let op = *op.choose(&mut case.rng).unwrap();
        let value = case.constant(&operand);
        condition(ExprKind::Compare(op, Box::new(operand), Box::new(value)))
    });
    narrower.collect()
}

fn columns_of(expr: &Expr, columns: &mut Vec<usize>) {
    if let ExprKind::Column(idx) = expr.kind {
        columns.push(idx);
    }
    eval::fold::each_child(expr, &mut |child| columns_of(child, columns));
}
