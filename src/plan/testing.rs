//! What the planner's tests stand on: tables and conditions from SQL text, a session that knows
//! nothing, and golden files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{Column, Index, IndexId, IndexState, KeyPart, Table, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::exec::ddl::index::define_index;
use crate::sql::context::{EvalContext, SessionFacts, Warnings};
use crate::sql::expr::{Expr, VariableScope};
use crate::sql::parse::{parse_first, tests::DEFAULT_MODE};
use crate::sql::{ast, bind};
use crate::types::temporal::Zone;
use crate::types::{ColumnType, Timestamp, Value};

/// A session without variables, in database `shop`.
pub(crate) struct Facts;

impl SessionFacts for Facts {
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value<'static>> {
        Err(Error::new(Code::UnknownSystemVariable, name))
    }
    fn user_variable(&self, _: &str) -> Option<Arc<Value<'static>>> {
        None
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

/// A context in this zone, at 2024-01-20 12:00:00 UTC.
pub(crate) fn context(zone: &str, parameters: Vec<Value<'static>>) -> EvalContext {
    EvalContext {
        now: Timestamp::from_clock(1_705_752_000_000_000, 6),
        zone: Zone::parse(zone).unwrap(),
        mode: DEFAULT_MODE,
        parameters: Arc::new(parameters),
        slots: Vec::new(),
        facts: Arc::new(Facts),
        warnings: Arc::new(Warnings::default()),
        strict_write: false,
    }
}

pub(crate) fn statement(sql: &str) -> ast::Statement {
    match parse_first(sql.as_bytes(), DEFAULT_MODE) {
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
        indexes,
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
    let columns_count = columns.len();
    let mut table = Table {
        id: TableId(1),
        database: create.table.database.unwrap_or_else(|| "shop".to_owned()),
        name: create.table.name,
        columns,
        key,
        shadow: None,
        columns_made: u32::try_from(columns_count - 1).unwrap(),
        indexes: Vec::new(),
        options: Vec::new(),
        comment: String::new(),
        wide: crate::catalog::Wide::default(),
    };
    for (at, def) in indexes.iter().enumerate() {
        let index = index(at, def, &table);
        table.indexes.push(index);
    }
    table
}

/// An index is in the state that its comment names, if it names one.
fn index(at: usize, def: &ast::IndexDef, table: &Table) -> Index {
    let index = define_index(table, def, &context("+00:00", Vec::new())).unwrap();
    Index {
        id: IndexId(100 + u32::try_from(at).unwrap()),
        state: IndexState::of_name(&def.comment).unwrap_or(IndexState::Active),
        comment: String::new(),
        ..index
    }
}

fn column((idx, def): (usize, ast::ColumnDef)) -> Column {
    Column {
        nullable: def.nullable != Some(false),
        ..Column::new(ColumnId(u32::try_from(idx).unwrap()), &def.name, def.ty)
    }
}

fn hidden_column(idx: usize) -> Column {
    Column {
        nullable: false,
        auto_increment: true,
        hidden: true,
        ..Column::new(
            ColumnId(u32::try_from(idx).unwrap()),
            "_rowid",
            ColumnType::BIGINT,
        )
    }
}

fn key_part(part: &ast::KeyPart, columns: &[Column]) -> KeyPart {
    let ast::KeyPartSource::Column(name) = &part.source else {
        panic!("a key part that is no column");
    };
    KeyPart {
        column_idx: columns.iter().position(|one| &one.name == name).unwrap(),
        direction: Direction::of(part.descending),
    }
}

/// Knows one table by any name.
struct OneTable(Arc<Table>);

impl bind::FindTable for OneTable {
    fn find_table(&self, _: &str, _: &str) -> Result<Arc<Table>> {
        Ok(Arc::clone(&self.0))
    }
}

/// Binds something to a table.
pub(crate) fn with_names<T>(table: &Table, bound: impl Fn(&bind::Names<'_>) -> Result<T>) -> T {
    let names = bind::Names {
        definitions: &OneTable(Arc::new(table.clone())),
        database: Some("shop"),
        parameters: &[],
        ctes: None,
        numbering: &bind::Numbering::new(),
        depth: 0,
        trace: None,
        widening: None,
        mode: DEFAULT_MODE,
        facts: &Facts,
    };
    match bound(&names) {
        Ok(bound) => bound,
        Err(error) => panic!("{error}"),
    }
}

/// A condition over a table, from its text.
pub(crate) fn condition(text: &str, table: &Table) -> Expr {
    let ast::Statement::Select(select) = statement(&format!("SELECT 1 FROM t WHERE {text}")) else {
        panic!("{text} is no condition");
    };
    let select = with_names(table, |names| bind::select(&select, names));
    select.filter.expect("a filter")
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
                let answer = answer(&directives, &case.input);
                let mut lines = case.comments;
                lines.extend([case.input, "----".to_owned(), answer.trim_end().to_owned()]);
                out.push(lines.join("\n"));
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
    line.starts_with('#')
        || matches!(
            first,
            "table" | "counted" | "rows" | "zone" | "policy" | "formats"
        )
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
