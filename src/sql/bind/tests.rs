//! The binder's tests: goldens over three tables, and the deepest expressions.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{FindTable, Names};
use crate::catalog::{Column, ColumnDefault, KeyPart, Table, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::sql::ast::Statement;
use crate::sql::bound::{
    FrameBound, From, Hints, Insert, InsertValue, JoinTree, Joined, OrderBy, Query, Relation,
    Select, Subquery, Update, WindowKind, Windowing,
};
use crate::sql::context::SessionFacts;
use crate::sql::eval::print;
use crate::sql::expr::{Expr, VariableScope};
use crate::sql::parse::parse_first;
use crate::sql::parse::tests::{DEFAULT_MODE, goldens};
use crate::types::column_type::IntWidth;
use crate::types::{Attributes, ColumnType, ResultColumn, Value};

struct Facts;

impl SessionFacts for Facts {
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value<'static>> {
        match name {
            "autocommit" => Ok(Value::Int(1)),
            "sql_mode" => Ok(Value::Text("STRICT_TRANS_TABLES".into())),
            _ => Err(Error::new(
                Code::UnknownSystemVariable,
                format!("Unknown system variable '{name}'"),
            )),
        }
    }

    fn user_variable(&self, name: &str) -> Option<Arc<Value<'static>>> {
        (name == "n").then(|| Arc::new(Value::Int(7)))
    }

    fn database(&self) -> Option<String> {
        Some("d".into())
    }

    fn user(&self) -> String {
        "root@localhost".into()
    }

    fn connection_id(&self) -> u64 {
        1
    }

    fn last_insert_id(&self) -> u64 {
        0
    }

    fn row_count(&self) -> i64 {
        0
    }

    fn found_rows(&self) -> u64 {
        0
    }

    fn version(&self) -> &'static str {
        "8.0"
    }
}

struct Tables;

impl FindTable for Tables {
    fn find_table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        match (database, name) {
            ("d", "orders") => Ok(orders()),
            ("d", "t") => Ok(everything()),
            ("d", "h") => Ok(without_key()),
            ("d", _) => Err(Error::new(
                Code::TableMissing,
                format!("Table '{database}.{name}' doesn't exist"),
            )),
            _ => Err(Error::new(
                Code::UnknownDatabase,
                format!("Unknown database '{database}'"),
            )),
        }
    }
}

fn column(position: u32, name: &str, ty: ColumnType) -> Column {
    Column::new(ColumnId(position), name, ty)
}

fn table(name: &str, key: &[usize], mut columns: Vec<Column>) -> Arc<Table> {
    for column_idx in key {
        columns[*column_idx].nullable = false;
    }
    let part = |column_idx: &usize| KeyPart {
        column_idx: *column_idx,
        direction: Direction::Asc,
    };
    Arc::new(Table {
        id: TableId(1),
        database: "d".into(),
        name: name.into(),
        columns,
        key: key.iter().map(part).collect(),
        shadow: None,
        columns_made: 0,
        indexes: Vec::new(),
        options: Vec::new(),
        comment: String::new(),
        wide: crate::catalog::Wide::default(),
    })
}

const INT: ColumnType = ColumnType::Int {
    width: IntWidth::Int,
    unsigned: false,
};

fn orders() -> Arc<Table> {
    let text = ColumnType::Varchar {
        chars_max: Some(32),
    };
    table(
        "orders",
        &[0, 1, 2],
        vec![
            column(0, "channel", text.clone()),
            column(1, "id", text.clone()),
            column(2, "ts", ColumnType::BIGINT),
            column(3, "status", INT),
            column(4, "location", text),
        ],
    )
}

fn everything() -> Arc<Table> {
    let mut id = column(0, "id", ColumnType::BIGINT);
    id.auto_increment = true;
    let mut u = column(
        6,
        "u",
        ColumnType::Int {
            width: IntWidth::Int,
            unsigned: true,
        },
    );
    u.nullable = false;
    u.default = ColumnDefault::Constant(Value::UInt(5));
    let mut b = column(
        2,
        "b",
        ColumnType::Varchar {
            chars_max: Some(20),
        },
    );
    b.nullable = false;
    let decimal = ColumnType::Decimal {
        precision: 10,
        scale: 2,
    };
    table(
        "t",
        &[0],
        vec![
            id,
            column(1, "a", INT),
            b,
            column(3, "c", decimal),
            column(4, "dt", ColumnType::Datetime { fsp: 3 }),
            column(5, "e", ColumnType::Double),
            u,
        ],
    )
}

fn without_key() -> Arc<Table> {
    let mut rowid = column(1, "_rowid", ColumnType::BIGINT_UNSIGNED);
    rowid.hidden = true;
    table("h", &[1], vec![column(0, "a", INT), rowid])
}

fn names(file: &str) -> Names<'static> {
    let mut mode = DEFAULT_MODE;
    mode.only_full_group_by = file != "loose";
    mode.lindorm = file == "lindorm";
    Names {
        definitions: &Tables,
        database: (file != "nowhere").then_some("d"),
        mode,
        facts: &Facts,
        parameters: &[],
        ctes: None,
        numbering: Box::leak(Box::default()),
        depth: 0,
        trace: None,
        widening: None,
    }
}

#[test]
fn statements_bind_as_in_the_goldens() {
    goldens("bind", |file, sql| {
        bound(sql, names(file)).unwrap_or_else(|error| error.to_string())
    });
}

fn bound(sql: &str, names: Names<'_>) -> Result<String> {
    let parsed = parse_first(sql.as_bytes(), names.mode)?;
    let mut text = String::new();
    let parameters_count = match &parsed.statement {
        Statement::Select(select) => {
            let query = super::query(select, &names)?;
            show_query(&query, &mut text);
            query.parameters_count()
        }
        Statement::Insert(insert) => {
            let insert = super::insert(insert, &names)?;
            show_insert(&insert, &mut text);
            insert.parameters_count
        }
        Statement::Update(update) => {
            let update = super::update(update, &names)?;
            show_update(&update, &mut text);
            update.parameters_count
        }
        Statement::Delete(delete) => {
            let delete = super::delete(delete, &names)?;
            writeln!(text, "delete {} as {}", delete.table.name, delete.alias).unwrap();
            show_hints(&delete.hints, &mut text);
            line("filter", delete.filter.as_ref(), &mut text);
            show_order(&delete.order_by, &mut text);
            line("limit", delete.limit.as_ref(), &mut text);
            delete.parameters_count
        }
        Statement::Do(exprs) => {
            for expr in exprs {
                line("constant", Some(&super::constant(expr, &names)?), &mut text);
            }
            parsed.parameters_count
        }
        other => format!("{other:?}").len(),
    };
    assert_eq!(parameters_count, parsed.parameters_count);
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// An expression with its type.
fn typed(expr: &Expr) -> String {
    let null = if expr.nullable { "" } else { " not null" };
    format!("{}  [{}{null}]", print::text(expr), expr.ty)
}

fn line(what: &str, expr: Option<&Expr>, text: &mut String) {
    if let Some(expr) = expr {
        writeln!(text, "{what}: {}", typed(expr)).unwrap();
    }
}

fn show_order(order_by: &[OrderBy], text: &mut String) {
    for key in order_by {
        let direction = if key.descending { "desc" } else { "asc" };
        writeln!(text, "order {direction}: {}", typed(&key.expr)).unwrap();
    }
}

fn ordered(order_by: &[OrderBy]) -> String {
    let keys: Vec<String> = order_by.iter().map(|key| print::text(&key.expr)).collect();
    match keys.as_slice() {
        [] => String::new(),
        keys => format!(" ordered by {}", keys.join(", ")),
    }
}

fn show_hints(hints: &Hints, text: &mut String) {
    if hints.allow_filtering || hints.timeout_ms.is_some() || !hints.unknown.is_empty() {
        writeln!(text, "{hints:?}").unwrap();
    }
}

fn show_query(query: &Query, text: &mut String) {
    match query {
        Query::Select(select) => show_select(select, text),
        Query::Set(set) => {
            let all = if set.all { " all" } else { "" };
            writeln!(text, "{:?}{all}", set.operator).unwrap();
            show_within("left", &set.sides.0, text);
            show_within("right", &set.sides.1, text);
            for column in &set.columns {
                show_column(column, text);
            }
            show_order(&set.order_by, text);
            line("limit", set.limit.as_ref(), text);
        }
        Query::Json(_) => write!(text, "json").unwrap(),
        Query::Recursive(recursive) => {
            let all = if recursive.all { " all" } else { "" };
            writeln!(text, "recursive {}{all}", recursive.number).unwrap();
            show_within("first", &recursive.first, text);
            show_within("next", &recursive.next, text);
            for column in &recursive.columns {
                show_column(column, text);
            }
            line("limit", recursive.limit.as_ref(), text);
            line("offset", recursive.offset.as_ref(), text);
        }
    }
}

/// A query within another, further to the right.
fn show_within(what: &str, query: &Query, text: &mut String) {
    let mut inner = String::new();
    show_query(query, &mut inner);
    writeln!(text, "{what}").unwrap();
    for line in inner.lines() {
        writeln!(text, "  {line}").unwrap();
    }
}

fn show_column(column: &ResultColumn, text: &mut String) {
    let null = if column.nullable { "" } else { " not null" };
    writeln!(text, "column `{}`: {:?}{null}", column.name, column.ty).unwrap();
}

fn show_from(joined: &Joined, text: &mut String) {
    for (position, source) in joined.sources.iter().enumerate() {
        let (alias, first) = (&source.alias, source.first_column);
        match &source.relation {
            Relation::Table(table) => {
                writeln!(
                    text,
                    "source {position} at ${first}: {} as {alias}",
                    table.name
                )
                .unwrap();
                show_hints(&source.hints, text);
            }
            Relation::Query(query) => {
                show_within(
                    &format!("source {position} at ${first}: {alias}"),
                    query,
                    text,
                );
            }
            Relation::Listed(listed) => {
                let name = &listed.table.name;
                writeln!(text, "source {position} at ${first}: listed {name}").unwrap();
            }
            Relation::Round(round) => {
                let number = round.number;
                writeln!(text, "source {position} at ${first}: round of {number}").unwrap();
            }
        }
    }
    writeln!(text, "joined {}", tree(&joined.tree)).unwrap();
}

fn tree(joined: &JoinTree) -> String {
    let all = |exprs: &[Expr]| -> String {
        let texts: Vec<String> = exprs
            .iter()
            .map(|expr| format!(" if {}", typed(expr)))
            .collect();
        texts.concat()
    };
    match joined {
        JoinTree::Source(position) => position.to_string(),
        JoinTree::Inner {
            members,
            conditions,
        } => {
            let members: Vec<String> = members.iter().map(tree).collect();
            format!("({}{})", members.join(" x "), all(conditions))
        }
        JoinTree::Left { left, right, on } => {
            let on = on.iter().cloned().collect::<Vec<_>>();
            format!("({} left {}{})", tree(left), tree(right), all(&on))
        }
    }
}

fn show_subqueries(subqueries: &[Subquery], text: &mut String) {
    for subquery in subqueries {
        let (slot, answer, stage) = (subquery.slot, subquery.answer, subquery.stage);
        let mut captures = String::new();
        for capture in &subquery.captures {
            write!(captures, " [{}] = {}", capture.slot, typed(&capture.expr)).unwrap();
        }
        let what = format!("subquery to [{slot}], {answer:?}, {stage:?}{captures}");
        show_within(&what, &subquery.query, text);
    }
}

fn show_select(select: &Select, text: &mut String) {
    let table = match &select.from {
        From::Nothing => "nothing",
        From::Table(table) => table.name.as_str(),
        From::Joined(_) => "a join",
    };
    let distinct = if select.distinct { " distinct" } else { "" };
    let locks = if select.for_update { " for update" } else { "" };
    writeln!(
        text,
        "select{distinct} from {table} as {:?}{locks}",
        select.alias
    )
    .unwrap();
    show_hints(&select.hints, text);
    if let From::Joined(joined) = &select.from {
        show_from(joined, text);
    }
    show_clauses(select, text);
}

fn show_clauses(select: &Select, text: &mut String) {
    show_subqueries(&select.subqueries, text);
    line("filter", select.filter.as_ref(), text);
    if let Some(aggregation) = &select.aggregation {
        if aggregation.rollup {
            writeln!(text, "rollup, the last key says how many others are kept").unwrap();
        }
        for key in &aggregation.keys {
            line("key", Some(key), text);
        }
        for aggregate in &aggregation.aggregates {
            let args: Vec<String> = aggregate.args.iter().map(print::text).collect();
            let distinct = if aggregate.distinct { "distinct " } else { "" };
            let order = ordered(&aggregate.order_by);
            writeln!(
                text,
                "aggregate: {:?}({distinct}{}{order})  [{}]",
                aggregate.kind,
                args.join(", "),
                aggregate.ty
            )
            .unwrap();
        }
    }
    line("having", select.having.as_ref(), text);
    if let Some(windowing) = &select.windowing {
        show_windows(windowing, text);
    }
    for output in &select.outputs {
        let column = &output.column;
        let origin = match column.org_name.as_str() {
            "" => String::new(),
            name => format!(
                " = {}.{}({}).{name}",
                column.database, column.table, column.org_table
            ),
        };
        let chars = match column.display_chars {
            0 => String::new(),
            chars => format!(" {chars} chars"),
        };
        let key = if column.attributes.has(Attributes::PRIMARY_KEY) {
            " key"
        } else {
            ""
        };
        writeln!(
            text,
            "output `{}`{origin}{key}{chars}: {}",
            column.name,
            typed(&output.expr)
        )
        .unwrap();
    }
    show_order(&select.order_by, text);
    line("limit", select.limit.as_ref(), text);
    line("offset", select.offset.as_ref(), text);
}

fn show_windows(windowing: &Windowing, text: &mut String) {
    let exprs = |exprs: &[Expr]| {
        let texts: Vec<String> = exprs.iter().map(print::text).collect();
        texts.join(", ")
    };
    for input in &windowing.inputs {
        line("input", Some(input), text);
    }
    for window in &windowing.windows {
        let parts = exprs(&window.partition_by);
        let order = ordered(&window.order_by);
        writeln!(text, "window: by ({parts}){order}").unwrap();
        for function in &window.functions {
            let (name, args) = match &function.kind {
                WindowKind::Aggregate(aggregate) => {
                    (format!("{:?}", aggregate.kind), exprs(&aggregate.args))
                }
                kind => (kind.name().unwrap().to_owned(), exprs(&function.args)),
            };
            let frame = [&function.frame.start, &function.frame.end].map(|bound| match bound {
                FrameBound::Unbounded => "unbounded".to_owned(),
                FrameBound::CurrentRow => "current row".to_owned(),
                FrameBound::Peers => "peers".to_owned(),
                FrameBound::RowsBefore(rows) => format!("{} before", print::text(rows)),
                FrameBound::RowsBehind(rows) => format!("{} behind", print::text(rows)),
                FrameBound::Value(value) => format!("value {}", print::text(value)),
            });
            let [start, end] = frame;
            let (position, ty) = (function.position + 1, &function.ty);
            writeln!(
                text,
                "  ${position} = {name}({args}) from {start} to {end}  [{ty}]"
            )
            .unwrap();
        }
    }
}

fn value_text(value: &InsertValue) -> String {
    match value {
        InsertValue::Default => "DEFAULT".into(),
        InsertValue::Expr(expr) => print::text(expr),
    }
}

fn show_insert(insert: &Insert, text: &mut String) {
    writeln!(
        text,
        "{:?} {} {:?}",
        insert.kind, insert.table.name, insert.columns
    )
    .unwrap();
    for row in insert.source.values() {
        let values: Vec<String> = row.iter().map(value_text).collect();
        writeln!(text, "row: {}", values.join(", ")).unwrap();
    }
    for (column_idx, value) in &insert.on_duplicate {
        writeln!(
            text,
            "on duplicate ${}: {}",
            column_idx + 1,
            print::text(value)
        )
        .unwrap();
    }
}

fn show_update(update: &Update, text: &mut String) {
    let ignore = if update.ignore { " ignore" } else { "" };
    writeln!(
        text,
        "update{ignore} {} as {}",
        update.table.name, update.alias
    )
    .unwrap();
    show_hints(&update.hints, text);
    for (column_idx, value) in &update.assignments {
        writeln!(text, "set ${}: {}", column_idx + 1, value_text(value)).unwrap();
    }
    line("filter", update.filter.as_ref(), text);
    show_order(&update.order_by, text);
    line("limit", update.limit.as_ref(), text);
}

#[test]
fn the_deepest_expressions_bind_within_a_small_stack() {
    let parens = 45;
    let nested = format!("SELECT {}1{}", "(1 + ".repeat(parens), ")".repeat(parens));
    let chain = format!("SELECT 1{}", " + 1".repeat(395));
    let grouped = format!("SELECT a{} FROM t GROUP BY a", " + 1".repeat(395));
    for sql in [nested, chain, grouped] {
        bound(&sql, names("")).unwrap();
    }
}

#[test]
fn known_types_of_parameters_decide_types() {
    let decimal = ColumnType::Decimal {
        precision: 3,
        scale: 2,
    };
    let types = [decimal, ColumnType::BIGINT];
    let known = Names {
        parameters: &types,
        ..names("")
    };
    let text = bound("SELECT id + ?, ? FROM t WHERE a = 1", known).unwrap();
    assert!(text.contains("($1 + ?)  [decimal(22,2)]"), "{text}");
    assert!(text.contains("output `?`: ?  [bigint]"), "{text}");
}

#[test]
fn only_computed_types_depend_on_parameters() {
    let depends = |sql: &str| {
        let names = names("");
        let statement = parse_first(sql.as_bytes(), names.mode).unwrap().statement;
        match statement {
            Statement::Select(select) => {
                super::query_depends_on_parameters(&super::query(&select, &names).unwrap())
            }
            Statement::Insert(insert) => {
                super::insert_depends_on_parameters(&super::insert(&insert, &names).unwrap())
            }
            Statement::Update(update) => {
                super::update_depends_on_parameters(&super::update(&update, &names).unwrap())
            }
            Statement::Delete(delete) => {
                super::delete_depends_on_parameters(&super::delete(&delete, &names).unwrap())
            }
            other => panic!("{other:?}"),
        }
    };
    for sql in [
        "SELECT a FROM t WHERE id = ? AND b IN (?, ?) AND c BETWEEN ? AND ? LIMIT ?",
        "SELECT CAST(? AS SIGNED)",
        "INSERT INTO t (a, b) VALUES (?, ?)",
        "UPDATE t SET a = ? WHERE id = ?",
        "DELETE FROM t WHERE id = ? LIMIT ?",
    ] {
        assert!(!depends(sql), "{sql}");
    }
    for sql in [
        "SELECT ?",
        "SELECT @a",
        "SELECT a + ? FROM t",
        "SELECT a + @a FROM t",
        "SELECT a FROM t WHERE a = ? + 1",
        "INSERT INTO t (a) VALUES (? * 2)",
        "UPDATE t SET a = a + ?",
        "DELETE FROM t WHERE a = ABS(?)",
    ] {
        assert!(depends(sql), "{sql}");
    }
}

/// Joins say which sources a condition reads by a bit each.
#[test]
fn no_query_has_more_sources_than_a_set_of_them_can_hold() {
    let aliases = |letter: char, count: usize| -> String {
        let tables: Vec<String> = (0..count).map(|idx| format!("t {letter}{idx}")).collect();
        tables.join(", ")
    };
    let (a, b) = (aliases('a', 100), aliases('b', 100));
    let merged = format!("SELECT x.id FROM (SELECT a0.id FROM {a}) x, (SELECT b0.id FROM {b}) y");
    let parsed = parse_first(merged.as_bytes(), DEFAULT_MODE).unwrap();
    let Statement::Select(select) = parsed.statement else {
        panic!("not a SELECT");
    };
    let From::Joined(joined) = super::select(&select, &names("")).unwrap().from else {
        panic!("no join");
    };
    // The second is run on its own.
    assert_eq!(joined.sources.len(), 101);
    let plain = format!("SELECT 1 FROM {}", aliases('c', 129));
    let error = bound(&plain, names("")).unwrap_err();
    assert_eq!(error.code(), Code::TooManyTables);
}

/// Mechanism: there was no limit, and of keys that are rolled up each row evaluates as many for each of them.
#[test]
fn a_query_is_grouped_by_so_many_keys() {
    let grouped = |count: usize, behind: &str| {
        let keys: Vec<String> = (0..count).map(|number| format!("a + {number}")).collect();
        let keys = keys.join(", ");
        let sql = format!("SELECT COUNT(*) FROM t GROUP BY {keys}{behind}");
        bound(&sql, names(""))
    };
    for (most, behind, told) in [
        (4096, "", "GROUP BY has 4097 keys, the most is 4096"),
        (
            64,
            " WITH ROLLUP",
            "GROUP BY WITH ROLLUP has 65 keys, the most is 64",
        ),
    ] {
        grouped(most, behind).unwrap();
        let error = grouped(most + 1, behind).unwrap_err();
        assert_eq!(error.code(), Code::TooManyColumns);
        assert_eq!(error.message(), told);
    }
}
