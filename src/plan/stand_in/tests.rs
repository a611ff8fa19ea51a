//! What values are chosen: of their type, free, and none that contradicts the condition when one that
//! does not is free.

use super::{Choice, Surroundings, any, fill, samples};
use crate::catalog::Table;
use crate::plan::testing::{condition, context, table};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind, Slot};
use crate::types::{ColumnType, Value};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, y YEAR, \
    e ENUM('x', 'y', 'z'), d DATE, s VARCHAR(10))";

/// In conditions, what is read of another table.
const OPEN: i64 = 777_777;

#[test]
fn each_type_has_its_values() {
    let types = "INT, TINYINT UNSIGNED, BOOLEAN, BIGINT, FLOAT, DOUBLE, DECIMAL(10,2), DECIMAL(1,0), \
        DECIMAL(2,2), CHAR(1), VARCHAR(5), TEXT, BINARY(4), VARBINARY(4), BLOB, DATE, TIME, TIME(3), \
        DATETIME, DATETIME(6), TIMESTAMP, TIMESTAMP(3), YEAR, JSON, ENUM('x', 'y'), ENUM('', 'y')";
    for name in split(types) {
        let table = table(&format!("CREATE TABLE t (id INT PRIMARY KEY, c {name})"));
        let ty = &table.columns[1].ty;
        let value = any(ty);
        let stored = samples::as_stored(value.clone(), ty);
        let stored = stored.unwrap_or_else(|| panic!("{name} has no {value:?}"));
        assert_eq!(stored.to_text(), value.to_text(), "{name}");
    }
}

/// At commas outside of brackets.
fn split(types: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut depth = 0;
    for letter in types.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if letter == ',' && depth == 0 {
            names.push(String::new());
        } else if let Some(name) = names.last_mut() {
            name.push(letter);
        }
    }
    names
}

/// A condition in which a slot of a type stands for what is open.
fn open(text: &str, table: &Table, ty: &ColumnType) -> Expr {
    let mut expr = condition(&text.replace('?', &OPEN.to_string()), table);
    put_slot(&mut expr, ty);
    expr
}

fn put_slot(expr: &mut Expr, ty: &ColumnType) {
    if matches!(expr.kind, ExprKind::Literal(Value::Int(OPEN))) {
        expr.ty = ty.clone();
        expr.kind = ExprKind::Slot(Slot {
            idx: 0,
            per_row: false,
            text: "x.a".into(),
            is_column: false,
            decimals: None,
        });
        return;
    }
    fold::each_child_mut(expr, &mut |child| put_slot(child, ty));
}

fn chosen(expr: &Expr, ty: &ColumnType, ctx: &mut EvalContext) -> String {
    let around = ctx.nested();
    let around = Surroundings::of(Some(expr), &around);
    fill(ctx, (0, ty, "x.a"), Choice::Distinct(&around));
    let SlotValue::StandIn(value, _) = &ctx.slots[0] else {
        panic!("nothing stands in");
    };
    value.to_text().into_owned()
}

#[test]
fn what_fits_is_chosen() {
    let cases = [
        // Free, and next to nothing.
        ("b = ?", "b", "1"),
        ("b = ? AND a = 1", "b", "11"),
        ("b = ? AND a = 2", "b", "11"),
        // Within bounds.
        ("b = ? AND b > 200", "b", "205"),
        ("b = ? AND b BETWEEN 2000 AND 2010", "b", "2005"),
        // What fits is not free.
        ("b = ? AND b = 30", "b", "1"),
        ("b = ? AND b IN (3, 30)", "b", "1"),
        ("b = ? AND ? IN (1, 30)", "b", "11"),
        // Of the column's type.
        ("e = ?", "e", "x"),
        ("e = ? AND a = 1 AND e <> 'x'", "e", "y"),
        ("e = ? AND e = 'x'", "e", "y"),
        ("e = ?", "s", "x"),
        ("y = ?", "y", "1901"),
        ("y = ?", "a", "1901"),
        ("y = ? AND y IN (2020, 2021)", "y", "1901"),
        ("y = ? AND y > 2019", "y", "2024"),
        ("y = ? + 1", "a", "1901"),
        ("y = ? + 1 AND y = 2024", "a", "1901"),
        ("d = ? AND d > '2024-02-03'", "d", "9999-12-30"),
        ("s = ? AND s > 'b'", "s", "c"),
        // What cannot be told.
        ("b = ? AND a > 100", "b", "1"),
        ("b = ? AND b > 100 * RAND()", "b", "1"),
        ("b = ? AND SLEEP(1) = b", "b", "11"),
    ];
    let table = table(TABLE);
    for (text, column, value) in cases {
        let mut columns = table.columns.iter();
        let ty = &columns.find(|one| one.name == column).unwrap().ty;
        let expr = open(text, &table, ty);
        let mut ctx = context("+00:00", Vec::new());
        assert_eq!(chosen(&expr, ty, &mut ctx), value, "{text}");
    }
}

#[test]
fn parameters_are_constants() {
    let table = table(TABLE);
    let ty = &table.columns[2].ty;
    let mut expr = open("b = ? AND b IN (888888)", &table, ty);
    put_parameter(&mut expr);
    let mut ctx = context("+00:00", vec![Value::Int(1)]);
    assert_eq!(chosen(&expr, ty, &mut ctx), "11");
}

fn put_parameter(expr: &mut Expr) {
    if matches!(expr.kind, ExprKind::Literal(Value::Int(888_888))) {
        expr.kind = ExprKind::Parameter(0);
    }
    fold::each_child_mut(expr, &mut put_parameter);
}

#[test]
fn nobody_is_warned() {
    let table = table(TABLE);
    let ty = &table.columns[6].ty;
    let expr = open("s = ? AND s + 0 > 3", &table, ty);
    let mut ctx = context("+00:00", Vec::new());
    let _ = chosen(&expr, ty, &mut ctx);
    assert_eq!(ctx.warnings.count(), 0);
}

/// Each value that is tried costs a look at the whole condition.
#[test]
fn few_values_are_tried_whatever_the_length_of_the_statement() {
    let table = table(TABLE);
    let ty = &table.columns[2].ty;
    let list: Vec<String> = (0..20_000).map(|n| (n * 20).to_string()).collect();
    let expr = open(&format!("b = ? AND b IN ({})", list.join(",")), &table, ty);
    let ctx = context("+00:00", Vec::new());
    let around = Surroundings::of(Some(&expr), &ctx);
    let tried = around.tried_for((0, ty), &ctx);
    assert!(tried.len() <= 64, "{}", tried.len());
    // From the beginning to the end.
    let numbers = tried.iter().map(|value| value.to_text().parse::<i64>());
    assert!(numbers.flatten().any(|number| 300_000 < number));
}
