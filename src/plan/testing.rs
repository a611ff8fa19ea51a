//! What the planner's tests stand on: tables and conditions from SQL text, a session that knows
//! nothing, and golden files.
//!
//! The binding here is small and knows one table; it keeps the planner's goldens independent of
//! `sql::bind`, whose own tests are elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{Column, ColumnDefault, KeyPart, Table, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::bound::{Aggregate, AggregateKind, OrderBy};
use crate::sql::context::{EvalContext, Mode, SessionFacts, Warnings};
use crate::sql::eval::typing;
use crate::sql::expr::{Expr, ExprKind, VariableScope};
use crate::sql::parse::parse_first;
use crate::types::temporal::{DateRules, Zone};
use crate::types::{ColumnType, Date, Datetime, Decimal, Time, Timestamp, Value};

/// A session without variables, in database `shop`.
pub(crate) struct Facts;

impl SessionFacts for Facts {
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value<'static>> {
        Err(Error::new(Code::UnknownSystemVariable, name))
    }
    fn user_variable(&self, _: &str) -> Value<'static> {
        Value::Null
    }
    fn database(&self) -> Option<String> {
        Some("shop".to_owned())
    }
    fn user(&self) -> String {
        "root@localhost".to_owned()
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

/// MySQL's default `sql_mode`.
pub(crate) fn mode() -> Mode {
    Mode {
        strict: true,
        error_for_division_by_zero: true,
        no_zero_date: true,
        no_zero_in_date: true,
        no_unsigned_subtraction: false,
        no_backslash_escapes: false,
        pipes_as_concat: false,
        ansi_quotes: false,
        only_full_group_by: true,
        no_auto_value_on_zero: false,
        lindorm: false,
    }
}

/// A context in this zone, at 2024-01-20 12:00:00 UTC.
pub(crate) fn context(zone: &str, parameters: Vec<Value<'static>>) -> EvalContext {
    EvalContext {
        now: Timestamp::from_clock(1_705_752_000_000_000, 6),
        zone: Zone::parse(zone).unwrap(),
        mode: mode(),
        parameters,
        facts: Arc::new(Facts),
        warnings: Arc::new(Warnings::default()),
        strict_write: false,
    }
}

pub(crate) fn statement(sql: &str) -> ast::Statement {
    match parse_first(sql.as_bytes(), mode()) {
        Ok(parsed) => parsed.statement,
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// The table that a CREATE TABLE makes, in database `shop` unless it names another.
pub(crate) fn table(create: &str) -> Table {
    let ast::Statement::CreateTable(create) = statement(create) else {
        panic!("{create} is no CREATE TABLE");
    };
    let ast::TableSource::Columns {
        columns,
        primary_key,
        ..
    } = create.source
    else {
        panic!("CREATE TABLE without columns");
    };
    let mut columns: Vec<Column> = columns.into_iter().enumerate().map(column).collect();
    let parts = primary_key.unwrap_or_default();
    let mut key: Vec<KeyPart> = parts.iter().map(|part| key_part(part, &columns)).collect();
    if key.is_empty() {
        key = vec![KeyPart {
            column_idx: columns.len(),
            direction: Direction::Asc,
        }];
        columns.push(hidden_column(columns.len()));
    }
    for part in &key {
        columns[part.column_idx].nullable = false;
    }
    Table {
        id: TableId(1),
        database: create.table.database.unwrap_or_else(|| "shop".to_owned()),
        name: create.table.name,
        columns,
        key,
        options: Vec::new(),
        comment: String::new(),
    }
}

fn column((idx, def): (usize, ast::ColumnDef)) -> Column {
    Column {
        id: ColumnId(u32::try_from(idx).unwrap()),
        name: def.name,
        ty: def.ty,
        nullable: def.nullable != Some(false),
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        hidden: false,
        comment: String::new(),
    }
}

fn hidden_column(idx: usize) -> Column {
    Column {
        id: ColumnId(u32::try_from(idx).unwrap()),
        name: "_rowid".to_owned(),
        ty: ColumnType::BIGINT,
        nullable: false,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: true,
        hidden: true,
        comment: String::new(),
    }
}

fn key_part(part: &ast::KeyPart, columns: &[Column]) -> KeyPart {
    let ast::KeyPartSource::Column(name) = &part.source else {
        panic!("a key part that is no column");
    };
    KeyPart {
        column_idx: columns.iter().position(|one| &one.name == name).unwrap(),
        direction: if part.descending {
            Direction::Desc
        } else {
            Direction::Asc
        },
    }
}

/// The one block of a SELECT.
pub(crate) fn block(select: &ast::Select) -> &ast::Block {
    match &select.body {
        ast::QueryBody::Block(block) => block,
        other => panic!("{other:?} is no block"),
    }
}

/// A condition over a table, from its text.
pub(crate) fn condition(text: &str, table: &Table) -> Expr {
    let ast::Statement::Select(select) = statement(&format!("SELECT 1 FROM t WHERE {text}")) else {
        panic!("{text} is no condition");
    };
    bind(block(&select).filter.as_ref().unwrap(), table)
}

fn typed(kind: ExprKind, ty: ColumnType) -> Expr {
    Expr {
        kind,
        ty,
        nullable: true,
    }
}

pub(crate) fn literal(value: Value<'static>) -> Expr {
    let ty = match &value {
        Value::Null => ColumnType::Null,
        Value::Int(_) => ColumnType::BIGINT,
        Value::UInt(_) => ColumnType::BIGINT_UNSIGNED,
        Value::Float(_) => ColumnType::Float,
        Value::Double(_) => ColumnType::Double,
        Value::Decimal(number) => ColumnType::Decimal {
            precision: number.precision(),
            scale: number.scale(),
        },
        Value::Bytes(_) => ColumnType::Varbinary { bytes_max: None },
        Value::Date(_) => ColumnType::Date,
        Value::Time(time) => ColumnType::Time { fsp: time.fsp() },
        Value::Datetime(at) => ColumnType::Datetime { fsp: at.fsp() },
        Value::Timestamp(at) => ColumnType::Timestamp { fsp: at.fsp() },
        Value::Year(_) => ColumnType::Year,
        Value::Json(_) => ColumnType::Json,
        Value::Text(_) | Value::Enum(_) => ColumnType::Varchar { chars_max: None },
    };
    typed(ExprKind::Literal(value), ty)
}

fn value_of(written: &ast::Literal) -> Value<'static> {
    match written {
        ast::Literal::Null => Value::Null,
        ast::Literal::Bool(truth) => Value::boolean(*truth),
        ast::Literal::Int(number) => match i64::try_from(*number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::UInt(*number),
        },
        ast::Literal::Decimal(digits) => Value::Decimal(Decimal::parse(digits).unwrap()),
        ast::Literal::Double(number) => Value::Double(*number),
        ast::Literal::Text(text) => Value::Text(text.clone().into()),
        ast::Literal::Bytes(bytes) => Value::Bytes(bytes.clone().into()),
        ast::Literal::Date(text) => {
            Value::Date(Date::parse(text, DateRules::STRICT).unwrap().value)
        }
        ast::Literal::Time(text) => Value::Time(Time::parse(text, 6).unwrap().value),
        ast::Literal::Timestamp(text) => {
            let parsed = Datetime::parse(text, 6, DateRules::STRICT).unwrap();
            Value::Datetime(parsed.value)
        }
    }
}

fn pair(operands: &(ast::Expr, ast::Expr), table: &Table) -> (Box<Expr>, Box<Expr>) {
    (
        Box::new(bind(&operands.0, table)),
        Box::new(bind(&operands.1, table)),
    )
}

fn list(list: &[ast::Expr], table: &Table) -> Vec<Expr> {
    list.iter().map(|expr| bind(expr, table)).collect()
}

/// An expression over a table.
pub(crate) fn bind(expr: &ast::Expr, table: &Table) -> Expr {
    let kind = match expr {
        ast::Expr::Literal(written) => return literal(value_of(written)),
        ast::Expr::Column(name) => {
            let idx = table.column_idx(&name.column);
            let idx = idx.unwrap_or_else(|| panic!("no column {}", name.column));
            let column = &table.columns[idx];
            return Expr {
                kind: ExprKind::Column(idx),
                ty: column.ty.clone(),
                nullable: column.nullable,
            };
        }
        ast::Expr::Parameter(position) => ExprKind::Parameter(*position),
        ast::Expr::UserVariable(name) => ExprKind::UserVariable(name.clone()),
        ast::Expr::Unary(op, a) => {
            let a = bind(a, table);
            let ty = typing::unary_type(*op, &a);
            return typed(ExprKind::Unary(*op, Box::new(a)), ty);
        }
        ast::Expr::Binary(op, operands) => {
            let (a, b) = pair(operands, table);
            let ty = typing::binary_type(*op, &a, &b);
            return typed(ExprKind::Binary(*op, a, b), ty);
        }
        ast::Expr::Cast(a, target) => {
            let a = Box::new(bind(a, table));
            let ty = typing::cast_type(target);
            return typed(ExprKind::Cast(a, target.clone()), ty);
        }
        ast::Expr::Row(parts) => ExprKind::Row(list(parts, table)),
        other => bind_predicate(other, table),
    };
    typed(kind, ColumnType::BIGINT)
}

fn bind_predicate(expr: &ast::Expr, table: &Table) -> ExprKind {
    match expr {
        ast::Expr::Compare(op, operands) => {
            let (a, b) = pair(operands, table);
            ExprKind::Compare(*op, a, b)
        }
        ast::Expr::And(parts) => ExprKind::And(list(parts, table)),
        ast::Expr::Or(parts) => ExprKind::Or(list(parts, table)),
        ast::Expr::Xor(operands) => {
            let (a, b) = pair(operands, table);
            ExprKind::Xor(a, b)
        }
        ast::Expr::Not(a) => ExprKind::Not(Box::new(bind(a, table))),
        ast::Expr::IsNull { expr, negated } => ExprKind::IsNull {
            expr: Box::new(bind(expr, table)),
            negated: *negated,
        },
        ast::Expr::IsTruth {
            expr,
            truth,
            negated,
        } => ExprKind::IsTruth {
            expr: Box::new(bind(expr, table)),
            truth: *truth,
            negated: *negated,
        },
        ast::Expr::InList {
            expr,
            list: members,
            negated,
        } => ExprKind::InList {
            expr: Box::new(bind(expr, table)),
            list: list(members, table),
            negated: *negated,
        },
        ast::Expr::Between {
            expr,
            bounds,
            negated,
        } => {
            let (low, high) = pair(bounds, table);
            ExprKind::Between {
                expr: Box::new(bind(expr, table)),
                low,
                high,
                negated: *negated,
            }
        }
        ast::Expr::Like {
            operands,
            escape,
            negated,
        } => {
            let (expr, pattern) = pair(operands, table);
            let escape = match escape.as_deref() {
                None => Some('\\'),
                Some(ast::Expr::Literal(ast::Literal::Text(text))) => text.chars().next(),
                Some(other) => panic!("ESCAPE {other:?}"),
            };
            ExprKind::Like {
                expr,
                pattern,
                escape,
                negated: *negated,
            }
        }
        ast::Expr::Regexp { operands, negated } => {
            let (expr, pattern) = pair(operands, table);
            ExprKind::Regexp {
                expr,
                pattern,
                negated: *negated,
            }
        }
        ast::Expr::Case {
            branches,
            otherwise,
            ..
        } => ExprKind::Case {
            operand: None,
            branches: branches
                .iter()
                .map(|(when, then)| (bind(when, table), bind(then, table)))
                .collect(),
            otherwise: otherwise.as_ref().map(|expr| Box::new(bind(expr, table))),
        },
        other => panic!("{other:?} is not bound by the planner's tests"),
    }
}

/// An ORDER BY list over a table.
pub(crate) fn order_by(items: &[ast::OrderItem], table: &Table) -> Vec<OrderBy> {
    items
        .iter()
        .map(|item| OrderBy {
            expr: bind(&item.expr, table),
            descending: item.descending,
        })
        .collect()
}

/// The aggregates of a select list.
pub(crate) fn aggregates(items: &[ast::SelectItem], table: &Table) -> Vec<Aggregate> {
    let mut found = Vec::new();
    for item in items {
        let ast::SelectItem::Expr {
            expr: ast::Expr::Call(call),
            ..
        } = item
        else {
            continue;
        };
        let kind = match call.name.to_ascii_uppercase().as_str() {
            "COUNT" => AggregateKind::Count,
            "SUM" => AggregateKind::Sum,
            "MIN" => AggregateKind::Min,
            "MAX" => AggregateKind::Max,
            other => panic!("{other} is no aggregate of the planner's tests"),
        };
        found.push(Aggregate {
            kind,
            args: list(&call.args, table),
            distinct: call.distinct,
            ty: ColumnType::BIGINT,
        });
    }
    found
}

/// One input of a golden file and what it must give.
pub(crate) struct Case {
    pub(crate) input: String,
    pub(crate) comments: Vec<String>,
}

/// A golden file: directives (`table …`, `zone …`) apply to the cases after them.
pub(crate) enum Block {
    /// Lines without answer: comments and directives.
    Directive(String),
    /// Lines with an answer.
    Case(Case),
}

/// Runs every file of a golden directory. `answer` gets the directives so far and one input.
/// With `UPDATE_GOLDENS=1` the files are rewritten.
pub(crate) fn run_goldens(dir: &str, answer: &dyn Fn(&[String], &str) -> String) -> usize {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut cases = 0;
    for file in &files {
        let old = std::fs::read_to_string(file).unwrap();
        let (new, count) = rerun(&old, answer);
        cases += count;
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(file, new).unwrap();
        } else {
            assert_eq!(old, new, "{}: run with UPDATE_GOLDENS=1", file.display());
        }
    }
    assert!(!files.is_empty());
    cases
}

/// Writes a golden file anew; also counts its cases.
fn rerun(old: &str, answer: &dyn Fn(&[String], &str) -> String) -> (String, usize) {
    let mut directives: Vec<String> = Vec::new();
    let mut out = Vec::new();
    let mut cases = 0;
    for block in blocks(old) {
        match block {
            Block::Directive(text) => {
                directives.push(text.clone());
                out.push(text);
            }
            Block::Case(case) => {
                cases += 1;
                let mut text: String = case.comments.iter().map(|one| format!("{one}\n")).collect();
                text.push_str(&case.input);
                text.push_str("\n----\n");
                text.push_str(answer(&directives, &case.input).trim_end());
                out.push(text);
            }
        }
    }
    (out.join("\n\n") + "\n", cases)
}

/// Blocks end at an empty line; one with `----` is a case.
fn blocks(text: &str) -> Vec<Block> {
    text.split("\n\n")
        .map(|block| block.trim_matches('\n'))
        .filter(|block| !block.is_empty())
        .map(|block| {
            let is_case = block.lines().any(|line| line == "----");
            if !is_case && block.lines().all(is_directive) {
                return Block::Directive(block.to_owned());
            }
            let lines = block.lines().take_while(|line| *line != "----");
            let (comments, input): (Vec<&str>, Vec<&str>) =
                lines.partition(|line| line.starts_with('#'));
            Block::Case(Case {
                input: input.join("\n"),
                comments: comments.into_iter().map(str::to_owned).collect(),
            })
        })
        .collect()
}

fn is_directive(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    line.starts_with('#') || matches!(first, "table" | "zone" | "policy" | "formats")
}

/// The value of the last directive of that name.
pub(crate) fn directive<'d>(directives: &'d [String], name: &str) -> Option<&'d str> {
    let lines = directives.iter().flat_map(|block| block.lines());
    let mut found = None;
    for line in lines {
        if let Some(value) = line
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(' '))
        {
            found = Some(value);
        }
    }
    found
}
