//! Goldens of writes: statements in, what they ask of the storage engine out.
//!
//! Every case starts with a new server in memory that has the `table` and `rows` of the directives
//! before it. A line `2: …` is a statement of a second connection. Keys are shown by their parts,
//! rows by their columns, and `locked` marks a key that a transaction or statement holds at that
//! moment. Ids that the server makes are random: they are shown as `#1`, `#2` in order of
//! appearance; the present is shown as `now`. A line `# indexes …` gives the table indexes, before
//! it has rows: `[UNIQUE] name (column [DESC], …) …` as in CREATE INDEX, and `[STATE]`, with `;` between
//! them, or `none`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "most values are shown as they are"
)]

mod clock;
mod concurrent;
mod indexes;
mod random;
mod spread;
mod told_ids;
mod versions;
mod wide;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::catalog::{Table, persist};
use crate::codec::keyspace::{self, SystemKey};
use crate::codec::row::{Cell, RowView};
use crate::error::Result;
use crate::exec::locks::Locks;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::rows::{PageEnd, RowSink};
use crate::exec::testing::{options, session};
use crate::kv::Space;
use crate::kv::memory::Memory;
use crate::kv::testing::Recorder;
use crate::plan::testing::{self, directive};
use crate::session::{Reply, Session, Shared};
use crate::types::Value;

/// Integers from here on are ids that the server made.
const IDS_START: i64 = 1 << 32;

/// Moments from here on are the present; the goldens themselves name earlier ones.
const PRESENT_START: &str = "2025";

#[test]
fn goldens_of_writes() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let answer = |directives: &[String], input: &str| runtime.block_on(run(directives, input));
    let cases = testing::run_goldens("src/exec/testdata/writes", &answer);
    assert!(50 <= cases, "only {cases} cases");
}

async fn run(directives: &[String], input: &str) -> String {
    let server = Server::start().await;
    let mut sessions = [server.session(1), server.session(2)];
    for (name, start) in [
        ("table", "CREATE TABLE t "),
        ("rows", "INSERT INTO t VALUES "),
    ] {
        if let Some(text) = directive(directives, name).filter(|text| *text != "none") {
            ask(&mut sessions[0], &format!("{start}{text}")).await;
        }
        if name == "table" {
            let indexes = directive(directives, "# indexes").unwrap_or("none");
            indexes::add(&server.shared, indexes).await;
        }
    }
    server.recorder.take();
    server.shown.ids.lock().clear();
    let statements: Vec<&str> = input.lines().collect();
    let mut lines = Vec::new();
    for line in &statements {
        let (session, sql) = match line.strip_prefix("2: ") {
            Some(sql) => (&mut sessions[1], sql),
            None => (&mut sessions[0], *line),
        };
        let outcome = ask(session, sql).await;
        if 1 < statements.len() {
            lines.push(format!("> {line}"));
        }
        lines.extend(server.recorder.take());
        lines.push(outcome);
    }
    lines.join("\n")
}

/// Runs one statement; the outcome in a line.
async fn ask(session: &mut Session, sql: &str) -> String {
    let outcome = match session.query(sql.as_bytes()).await {
        Ok(answer) => match answer.reply {
            Reply::Done(done) => {
                let warnings = match done.warnings_count {
                    0 => String::new(),
                    count => format!(", warnings {count}"),
                };
                Ok(format!("affected {}{warnings}", done.affected_rows))
            }
            Reply::Rows(mut result) => {
                let mut rows = RowsCount(0);
                let ended = loop {
                    match result.rows.next_page(&mut rows).await {
                        Ok(PageEnd::More) => {}
                        Ok(PageEnd::Last { .. }) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                };
                session.end_rows(rows.0);
                ended.map(|()| format!("rows {}", rows.0))
            }
            Reply::File(wanted) => Ok(format!("wants {}", wanted.path())),
        },
        Err(error) => Err(error),
    };
    outcome.unwrap_or_else(|error| format!("error {}: {}", error.code().errno(), error.message()))
}

struct RowsCount(u64);

impl RowSink for RowsCount {
    fn row(&mut self, _: &[Value<'_>]) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// A server whose engine is watched.
struct Server {
    shared: Arc<Shared>,
    recorder: Arc<Recorder>,
    shown: Arc<Shown>,
}

impl Server {
    async fn start() -> Server {
        let shown = Arc::new(Shown::default());
        let of_keys = Arc::clone(&shown);
        let of_values = Arc::clone(&shown);
        let recorder = Arc::new(Recorder::with_printers(
            Arc::new(Memory::default()),
            move |space, key| of_keys.key(space, key),
            move |space, key, value| of_values.value(space, key, value),
        ));
        let engine = Arc::clone(&recorder) as Arc<dyn crate::kv::Engine>;
        let shared = Arc::new(Shared::over(engine, None, &options()).await.unwrap());
        shown.locks.set(Arc::clone(shared.locks())).unwrap();
        Server {
            shared,
            recorder,
            shown,
        }
    }

    fn session(&self, connection_id: u32) -> Session {
        session(&self.shared, connection_id)
    }
}

/// Whose a space is: a table's, or that of its index at a position.
type Owner = (Arc<Table>, Option<usize>);

/// What is needed to show keys and values: the tables, as their definitions are seen on their way
/// into the system space.
#[derive(Default)]
struct Shown {
    tables: Mutex<HashMap<Space, Owner>>,
    ids: Mutex<Vec<i64>>,
    locks: OnceCell<Arc<Locks>>,
}

impl Shown {
    fn key(&self, space: Space, key: &[u8]) -> String {
        if space == Space(0) {
            return match SystemKey::decode(key) {
                Ok(SystemKey::Database(name)) => format!("database {name}"),
                Ok(SystemKey::Table(id)) => format!("table {id}"),
                Ok(SystemKey::Trash(id)) => format!("trash {id}"),
                Ok(SystemKey::Build(id)) => format!("build {id}"),
                Ok(SystemKey::Account(user, host)) => format!("account {user}@{host}"),
                Ok(SystemKey::View { database, name }) => format!("view {database}.{name}"),
                Ok(SystemKey::Counter(id)) => format!("counter {id}"),
                Ok(SystemKey::Variable(name)) => format!("variable {name}"),
                Err(_) => key.escape_ascii().to_string(),
            };
        }
        let text = self.parts(space, key);
        let is_locked = self
            .locks
            .get()
            .is_some_and(|locks| locks.is_locked(space, key));
        let lock = if is_locked { " locked" } else { "" };
        format!("{text}{lock}")
    }

    /// A whole key or the longest prefix that is one, with what follows it as bytes.
    fn parts(&self, space: Space, key: &[u8]) -> String {
        let Some((table, index_position)) = self.tables.lock().get(&space).cloned() else {
            return key.escape_ascii().to_string();
        };
        let parts = match index_position {
            Some(position) => table.indexes[position].entry_parts(&table),
            None => table.key.clone(),
        };
        let column = |column_idx| match index_position {
            Some(position) => table.indexes[position].column(&table, column_idx),
            None => table.columns.get(column_idx),
        };
        let types: Vec<_> = parts
            .iter()
            .map(|part| (&column(part.column_idx).unwrap().ty, part.direction))
            .collect();
        for rest_bytes in 0..=key.len() {
            let (start, rest) = key.split_at(key.len() - rest_bytes);
            for parts_count in (0..=types.len()).rev() {
                let parts = types.iter().take(parts_count).copied();
                if let Ok(values) = keyspace::decode_row_key(start, parts) {
                    let values: Vec<Value<'_>> =
                        values.into_iter().map(|value| self.known(value)).collect();
                    let text = keyspace::format_key(&values);
                    return match rest {
                        [] => text,
                        rest => format!("{text}+{}", rest.escape_ascii()),
                    };
                }
            }
        }
        key.escape_ascii().to_string()
    }

    /// The value, or what stands for it where it differs from run to run.
    fn known<'v>(&self, value: Value<'v>) -> Value<'v> {
        match value {
            Value::Int(id) if IDS_START <= id => self.id(id),
            Value::Datetime(at) if PRESENT_START <= at.to_string().as_str() => {
                Value::Text("now".into())
            }
            other => other,
        }
    }

    /// A made id by its number.
    fn id(&self, id: i64) -> Value<'static> {
        let mut ids = self.ids.lock();
        let position = ids.iter().position(|known| *known == id);
        let position = position.unwrap_or_else(|| {
            ids.push(id);
            ids.len() - 1
        });
        Value::Text(format!("#{}", position + 1).into())
    }

    fn learn(&self, space: Space, table: &Arc<Table>) {
        let mut tables = self.tables.lock();
        tables.insert(space, (Arc::clone(table), None));
        for (position, index) in table.indexes.iter().enumerate() {
            let known = (Arc::clone(table), Some(position));
            tables.insert(crate::index::space(index), known);
        }
    }

    /// The value of an index entry.
    fn included(&self, table: &Table, value: &[u8]) -> String {
        let row = RowView::parse(value).unwrap();
        let mut shown = Vec::new();
        for column in &table.columns {
            if let Cell::Value(value) = row.get(column.id, &column.ty).unwrap() {
                let text = keyspace::format_part(&self.known(value));
                shown.push(format!("{}: {text}", column.name));
            }
        }
        format!("{{{}}}", shown.join(", "))
    }

    fn value(&self, space: Space, key: &[u8], value: &[u8]) -> String {
        if space == Space(0) {
            return match SystemKey::decode(key) {
                Ok(SystemKey::Table(id)) => {
                    let table = persist::decode(value).unwrap();
                    let text = format!("definition of {}.{}", table.database, table.name);
                    self.learn(Space(id), &Arc::new(table));
                    text
                }
                Ok(SystemKey::Trash(_)) => {
                    let table = persist::decode_trashed(value).unwrap().table;
                    format!("dropped {}.{}", table.database, table.name)
                }
                _ => value.escape_ascii().to_string(),
            };
        }
        let (table, index_position) = self.tables.lock().get(&space).cloned().expect("a table");
        if index_position.is_some() {
            return self.included(&table, value);
        }
        let layout = Layout::of(&table);
        let row = StoredRow::parse(&table, &layout, key, value).unwrap();
        let values = row.to_values().unwrap();
        let columns = table.columns.iter().zip(values).enumerate();
        let shown = columns
            .filter(|(idx, (_, value))| table.key_position(*idx).is_none() && !value.is_null());
        let shown: Vec<String> = shown
            .map(|(_, (column, value))| {
                format!(
                    "{}: {}",
                    column.name,
                    keyspace::format_part(&self.known(value))
                )
            })
            .collect();
        format!("{{{}}}", shown.join(", "))
    }
}
