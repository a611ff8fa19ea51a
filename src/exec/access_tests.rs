//! Every access path gives the same rows: random tables, indexes, rows and queries, read by the
//! whole table, by the primary key and by each index, in a snapshot with own writes over it.
//!
//! Rows and entries are written as `write::entries::changes` says. What is expected is computed from the rows
//! in memory. A failure prints the seed of its case.

mod part_tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use rand::Rng as _;
use rand::seq::SliceRandom as _;

use super::cancel::CancelToken;
use super::row::ValuesRow;
use super::rows::{PageEnd, RowSink, RowStream};
use super::select::{self, Env, Program};
use super::view::{Overlay, View};
use super::{tuple, write};
use crate::catalog::{Column, Table};
use crate::codec::row::ColumnId;
use crate::error::{Code, Result};
use crate::index;
use crate::kv::memory::Memory;
use crate::kv::{Engine, Key, Space, WriteSet};
use crate::plan::soundness::case::{Case, condition};
use crate::plan::{Access, Entries, Policy, testing, text};
use crate::sql::bound::{
    Aggregate, AggregateKind, Aggregation, Hints, KeyRef, OrderBy, Output, Select,
};
use crate::sql::computed::CONTEXT;
use crate::sql::eval::{eval, eval_condition};
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::types::{ColumnType, ResultColumn, Value};

/// Rows that are tried to be written per case.
const ROWS: usize = 40;
/// Of them, those that an open transaction writes.
const OWN_ROWS: usize = 15;
/// Queries per case.
const QUERIES: usize = 12;

type Row = Vec<Value<'static>>;

/// A table with its rows, as they are stored and as they are.
struct World {
    table: Arc<Table>,
    engine: Arc<dyn Engine>,
    overlay: Overlay,
    rows: BTreeMap<Key, Row>,
    /// The entries there are, by the position of their index.
    entries: BTreeSet<(usize, Key)>,
}

/// How often each kind of path was read.
#[derive(Debug, Default)]
struct Tally {
    lookups: usize,
    covering: usize,
    unique: usize,
    whole: usize,
    ordered: usize,
    computed: usize,
    partial: usize,
}

/// Gives a case two more columns, and between one and three indexes.
fn add_indexes(case: &mut Case) {
    for _ in 0..2 {
        let idx = case.table.columns.len();
        let ty = case.table.columns[case.rng.random_range(0..idx)].ty.clone();
        let id = ColumnId(u32::try_from(idx).unwrap());
        let column = Column::new(id, &format!("c{idx}"), ty);
        case.table.columns.push(column);
    }
    let count = case.rng.random_range(1..=3);
    for at in 0..count {
        let index = part_tests::index(case, at);
        case.table.indexes.push(index);
    }
}

impl World {
    async fn new(table: Table) -> World {
        let engine: Arc<dyn Engine> = Arc::new(Memory::default());
        engine.create_space(Space(table.id.0)).await.unwrap();
        for index in &table.indexes {
            engine.create_space(index::space(index)).await.unwrap();
        }
        World {
            table: Arc::new(table),
            engine,
            overlay: Overlay::default(),
            rows: BTreeMap::new(),
            entries: BTreeSet::new(),
        }
    }

    /// What changes when a row is put, or deleted, under a key; nothing if a unique index forbids it.
    fn change(&mut self, key: &Key, new: Option<&Row>) -> Vec<(Space, Key, Option<Vec<u8>>)> {
        let table = Arc::clone(&self.table);
        let old = self.rows.get(key);
        let changes =
            write::entries::changes(&table, old.map(Vec::as_slice), new.map(Vec::as_slice));
        let Ok(changes) = changes else {
            return Vec::new();
        };
        let is_taken = changes.iter().any(|change| {
            let put = change.put.as_ref().filter(|_| change.must_be_absent);
            put.is_some_and(|put| {
                let key = (change.index_position, put.key.clone());
                self.entries.contains(&key)
            })
        });
        if is_taken {
            return Vec::new();
        }
        let value = new.map(|row| write::row::value(&table, row).unwrap());
        let mut writes = vec![(Space(table.id.0), key.clone(), value)];
        for change in changes {
            let space = index::space(&table.indexes[change.index_position]);
            if let Some(gone) = change.delete {
                self.entries.remove(&(change.index_position, gone.clone()));
                writes.push((space, gone, None));
            }
            if let Some(put) = change.put {
                self.entries
                    .insert((change.index_position, put.key.clone()));
                writes.push((space, put.key, Some(put.value)));
            }
        }
        match new {
            Some(row) => drop(self.rows.insert(key.clone(), row.clone())),
            None => drop(self.rows.remove(key)),
        }
        writes
    }

    async fn commit(&mut self, row: &Row) {
        let key = write::row::key(&self.table, row).unwrap();
        let mut writes = WriteSet::blind();
        for (space, key, value) in self.change(&key, Some(row)) {
            match value {
                Some(value) => writes.put(space, key, value),
                None => writes.delete(space, key),
            }
        }
        if !writes.is_empty() {
            self.engine.commit(writes).await.unwrap();
        }
    }

    /// A write of an open transaction.
    fn write(&mut self, key: &Key, new: Option<&Row>) {
        for (space, key, value) in self.change(key, new) {
            self.overlay.write(space, key, value.map(Bytes::from));
        }
    }

    fn env(&self, zone: &str) -> Env {
        let own = (!self.overlay.is_empty()).then(|| Arc::new(self.overlay.clone()));
        Env {
            engine: Arc::clone(&self.engine),
            view: Some(View::At(self.engine.snapshot(), own)),
            ctx: testing::context(zone, Vec::new()),
            policy: Policy::default(),
            uses: Arc::default(),
            cancel: Arc::new(CancelToken::default()),
            memory_bytes_max: 64 << 20,
            spill_dir: None,
            select_limit: None,
        }
    }
}

/// Rows as texts; the values of one column have one type, so equal texts are equal rows.
#[derive(Default)]
struct Texts(Vec<String>);

impl RowSink for Texts {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.0.push(shown(values));
        Ok(())
    }
}

fn shown(values: &[Value<'_>]) -> String {
    let owned: Vec<Value<'static>> = values.iter().map(|one| one.clone().into_owned()).collect();
    format!("{owned:?}")
}

async fn run(select: &Select, env: Env) -> Result<(Vec<String>, u64)> {
    let mut stream = select::open(Arc::new(Program::new(select.clone())), env)?;
    let mut texts = Texts::default();
    while stream.next_page(&mut texts).await? == PageEnd::More {}
    Ok((texts.0, stream.rows_read()))
}

fn column(table: &Table, idx: usize) -> Expr {
    Expr {
        kind: ExprKind::Column(idx),
        ty: table.columns[idx].ty.clone(),
        nullable: table.columns[idx].nullable,
    }
}

fn output(expr: Expr) -> Output {
    let column = ResultColumn {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: "x".to_owned(),
        org_name: String::new(),
        ty: expr.ty.clone(),
        nullable: true,
        primary_key: false,
        auto_increment: false,
        display_chars: 0,
    };
    Output { expr, column }
}

fn select(table: &Arc<Table>, filter: Option<Expr>, outputs: &[usize]) -> Select {
    let outputs = outputs.iter().map(|idx| output(column(table, *idx)));
    Select {
        table: Some(Arc::clone(table)),
        alias: table.name.clone(),
        hints: Hints::default(),
        filter,
        aggregation: None,
        having: None,
        outputs: outputs.collect(),
        distinct: false,
        order_by: Vec::new(),
        limit: None,
        offset: None,
        for_update: false,
        parameters_count: 0,
    }
}

fn number(rows: usize) -> Expr {
    Expr {
        kind: ExprKind::Literal(Value::Int(i64::try_from(rows).unwrap())),
        ty: ColumnType::BIGINT,
        nullable: false,
    }
}

fn random_select(case: &mut Case, world: &World) -> Select {
    let table = &world.table;
    let filter = match case.rng.random_range(0..10) {
        0..=3 => Some(case.predicate(2)),
        4..=8 => Some(on_index(case, world)),
        _ => None,
    };
    let mut columns: Vec<usize> = (0..table.columns.len()).collect();
    columns.shuffle(&mut case.rng);
    let outputs_count = case.rng.random_range(1..=columns.len());
    let mut made = select(table, filter, &columns[..outputs_count]);
    if case.rng.random_bool(0.15) {
        let group = if case.rng.random_bool(0.4) {
            first_operand(case, table)
        } else {
            column(table, columns[0])
        };
        count_groups(&mut made, group);
        return made;
    }
    if case.rng.random_bool(0.6) {
        let order_count = case.rng.random_range(0..=2_usize);
        let shared = case.rng.random_bool(0.3);
        let key = table.key.iter().map(|part| part.column_idx);
        let all: Vec<usize> = columns
            .iter()
            .copied()
            .take(order_count)
            .chain(key)
            .collect();
        let mut all: Vec<Expr> = all.into_iter().map(|idx| column(table, idx)).collect();
        if case.rng.random_bool(0.3) {
            all.insert(0, first_operand(case, table));
        }
        made.order_by = all
            .into_iter()
            .map(|expr| OrderBy {
                expr,
                descending: shared || case.rng.random_bool(0.3),
            })
            .collect();
    }
    if case.rng.random_bool(0.4) {
        made.limit = Some(number(case.rng.random_range(1..8)));
        let offset = case.rng.random_bool(0.3);
        made.offset = offset.then(|| number(case.rng.random_range(0..4)));
    }
    made
}

/// A condition that some index can use, and now and then another.
fn on_index(case: &mut Case, world: &World) -> Expr {
    let table = &world.table;
    let index = &table.indexes[case.rng.random_range(0..table.indexes.len())];
    let parts_count = case.rng.random_range(1..=index.parts.len());
    let mut all = part_tests::implying(case, table, index);
    for part in index.parts.iter().take(parts_count) {
        let operand = part_tests::operand(table, index, part.column_idx);
        let value = part_tests::constant(case, world, &operand);
        let other = part_tests::constant(case, world, &operand);
        let operand = Box::new(operand);
        all.push(condition(match case.rng.random_range(0..8) {
            0 => ExprKind::IsNull {
                expr: operand,
                negated: false,
            },
            1 => ExprKind::Compare(CompareOp::LessOrEqual, operand, Box::new(value)),
            2 => ExprKind::Compare(CompareOp::Greater, operand, Box::new(value)),
            3 => ExprKind::InList {
                list: vec![value, other],
                expr: operand,
                negated: false,
            },
            4 => ExprKind::Between {
                expr: operand,
                low: Box::new(value),
                high: Box::new(other),
                negated: false,
            },
            _ => ExprKind::Compare(CompareOp::Equal, operand, Box::new(value)),
        }));
    }
    if case.rng.random_bool(0.3) {
        all.push(case.predicate(1));
    }
    if let [_] = all.as_slice() {
        return all.remove(0);
    }
    condition(ExprKind::And(all))
}

/// What an index is ordered by first.
fn first_operand(case: &mut Case, table: &Table) -> Expr {
    let index = &table.indexes[case.rng.random_range(0..table.indexes.len())];
    part_tests::operand(table, index, index.parts[0].column_idx)
}

/// `SELECT group, COUNT(*) … GROUP BY group`.
fn count_groups(made: &mut Select, group: Expr) {
    let count = Expr {
        kind: ExprKind::Column(1),
        ty: ColumnType::BIGINT,
        nullable: false,
    };
    let first = Expr {
        kind: ExprKind::Column(0),
        ..group.clone()
    };
    made.outputs = vec![output(first), output(count)];
    made.aggregation = Some(Aggregation {
        keys: vec![group],
        aggregates: vec![Aggregate {
            kind: AggregateKind::Count,
            args: Vec::new(),
            distinct: false,
            order_by: Vec::new(),
            separator: None,
            ty: ColumnType::BIGINT,
        }],
    });
}

/// The rows that the filter keeps, in the order of ORDER BY; `None` when it fails on one.
fn kept(world: &World, made: &Select, env: &Env) -> Option<Vec<Row>> {
    let mut kept = Vec::new();
    for row in world.rows.values() {
        let passes = match &made.filter {
            Some(filter) => eval_condition(filter, &ValuesRow(row), &env.ctx).ok()? == Some(true),
            None => true,
        };
        if passes {
            let mut key = Vec::new();
            tuple::push_order(&mut key, &made.order_by, &ValuesRow(row), &env.ctx).ok()?;
            kept.push((key, row.clone()));
        }
    }
    kept.sort_by(|a, b| a.0.cmp(&b.0));
    Some(kept.into_iter().map(|(_, row)| row).collect())
}

/// All results that the query may have as whole: in order, without LIMIT.
fn expected(made: &Select, kept: &[Row]) -> Vec<String> {
    if let Some(aggregation) = &made.aggregation {
        let key = &aggregation.keys[0];
        let mut counts: BTreeMap<String, (Value<'static>, i64)> = BTreeMap::new();
        for row in kept {
            let value = eval(key, &ValuesRow(row), &CONTEXT).unwrap().into_owned();
            let count = counts.entry(shown(std::slice::from_ref(&value)));
            count.or_insert((value, 0)).1 += 1;
        }
        let groups = counts.into_values();
        return groups
            .map(|(value, count)| shown(&[value, Value::Int(count)]))
            .collect();
    }
    let outputs = kept.iter().map(|row| {
        let values = made.outputs.iter().map(|output| {
            let ExprKind::Column(idx) = output.expr.kind else {
                panic!("an output that is no column")
            };
            row[idx].clone()
        });
        shown(&values.collect::<Vec<_>>())
    });
    outputs.collect()
}

fn rows_of(expr: Option<&Expr>) -> Option<usize> {
    let ExprKind::Literal(Value::Int(rows)) = expr?.kind else {
        return None;
    };
    usize::try_from(rows).ok()
}

fn assert_rows(made: &Select, whole: &[String], mut got: Vec<String>, story: &str) {
    let offset = rows_of(made.offset.as_ref()).unwrap_or(0);
    let limit = rows_of(made.limit.as_ref()).unwrap_or(usize::MAX);
    let part: Vec<String> = whole.iter().skip(offset).take(limit).cloned().collect();
    if !made.order_by.is_empty() {
        assert_eq!(got, part, "{story}");
        return;
    }
    assert_eq!(got.len(), part.len(), "{story}");
    let mut rest = whole.to_vec();
    if made.limit.is_none() {
        rest.sort();
        got.sort();
        assert_eq!(got, rest, "{story}");
        return;
    }
    for row in got {
        let at = rest.iter().position(|one| *one == row);
        rest.swap_remove(at.unwrap_or_else(|| panic!("a row that is none: {row}\n{story}")));
    }
}

/// Ways to choose a path: as the planner does, by the whole table, and by each key.
fn ways(table: &Table) -> Vec<Hints> {
    let keys = std::iter::once(KeyRef::Primary).chain((0..table.indexes.len()).map(KeyRef::Index));
    let keys: Vec<KeyRef> = keys.collect();
    let permitted = || Hints {
        allow_filtering: true,
        ..Hints::default()
    };
    let mut ways = vec![
        permitted(),
        Hints {
            indexes_ignored: keys.clone(),
            ..permitted()
        },
        Hints {
            indexes_ignored: vec![KeyRef::Primary],
            ..permitted()
        },
    ];
    ways.extend(keys.into_iter().map(|key| Hints {
        indexes_named: Some(vec![key]),
        ..permitted()
    }));
    ways
}

async fn check(seed: u64, tally: &mut Tally) {
    let mut case = Case::new(seed);
    add_indexes(&mut case);
    let mut world = World::new(case.table.clone()).await;
    for _ in 0..ROWS - OWN_ROWS {
        world.commit(&case.row().0).await;
    }
    if case.rng.random_bool(0.5) {
        for _ in 0..OWN_ROWS {
            let row = case.row().0;
            let key = write::row::key(&world.table, &row).unwrap();
            let goes = world.rows.keys().next().cloned();
            match goes.filter(|_| case.rng.random_bool(0.3)) {
                Some(goes) => world.write(&goes, None),
                None => world.write(&key, Some(&row)),
            }
        }
    }
    let zone = ["+00:00", "+08:00"][case.rng.random_range(0..2)];
    for _ in 0..QUERIES {
        let table = Arc::clone(&world.table);
        let mut made = random_select(&mut case, &world);
        let env = world.env(zone);
        let Some(kept) = kept(&world, &made, &env) else {
            continue;
        };
        let whole = expected(&made, &kept);
        for hints in ways(&table) {
            made.hints = hints;
            compare(&world, &made, (&whole, zone, seed), tally).await;
        }
    }
}

async fn compare(
    world: &World,
    made: &Select,
    (whole, zone, seed): (&[String], &str, u64),
    tally: &mut Tally,
) {
    let env = world.env(zone);
    let program = Program::new(made.clone());
    let filter = made.filter.as_ref();
    let plan = match select::explain(&program, &world.table, &env) {
        Ok(plan) => plan,
        Err(error) if error.code() == Code::TooBigSelect => return,
        Err(error) => panic!("seed {seed}: {error}"),
    };
    note(
        (&world.table, &plan.access),
        plan.ordered && !made.order_by.is_empty(),
        tally,
    );
    let story = format!(
        "seed {seed}\n{}\n{:?}\n{:?}\n{:?}\n{:?}",
        filter.map_or(String::new(), |one| text::over_table(
            one,
            &world.table,
            &env.ctx.zone
        )),
        plan.access,
        made.order_by,
        made.limit,
        world.table.indexes,
    );
    match run(made, env).await {
        Ok((got, _)) => assert_rows(made, whole, got, &story),
        Err(error) => panic!("{error}\n{story}"),
    }
}

fn note((table, access): (&Table, &Access), ordered: bool, tally: &mut Tally) {
    match access {
        Access::Index(index) => {
            let computed = &table.indexes[index.position].computed;
            tally.computed += usize::from(!computed.parts.is_empty());
            tally.partial += usize::from(computed.filter.is_some());
            tally.covering += usize::from(index.covering);
            tally.lookups += usize::from(!index.covering);
            tally.unique += usize::from(matches!(index.entries, Entries::Keys(_)));
            tally.ordered += usize::from(ordered);
        }
        Access::FullScan => tally.whole += 1,
        Access::Nothing | Access::PointGet(_) | Access::MultiGet(_) | Access::PrefixScan(_) => {}
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_path_gives_the_same_rows(seed in any::<u64>()) {
        block_on(check(seed, &mut Tally::default()));
    }
}

#[test]
fn the_cases_read_every_kind_of_path() {
    let mut tally = Tally::default();
    for seed in 0..60 {
        block_on(check(seed, &mut tally));
    }
    let kinds = [
        tally.lookups,
        tally.covering,
        tally.unique,
        tally.whole,
        tally.ordered,
        tally.computed,
        tally.partial,
    ];
    assert!(kinds.iter().all(|count| 20 < *count), "{tally:?}");
}

/// `(k, a, b)` with an index on `a`, and `k` from 0, `a` from the greatest down.
async fn numbered(rows: i64) -> World {
    let table =
        testing::table("CREATE TABLE t (k INT, a INT, b INT, PRIMARY KEY (k), INDEX ia (a))");
    let mut world = World::new(table).await;
    for k in 0..rows {
        world
            .commit(&vec![
                Value::Int(k),
                Value::Int(rows - k),
                Value::Int(k % 7),
            ])
            .await;
    }
    world
}

fn by_a(world: &World, limit: Option<usize>) -> Select {
    let mut made = select(&world.table, None, &[0, 1, 2]);
    made.order_by = vec![OrderBy {
        expr: column(&world.table, 1),
        descending: true,
    }];
    made.limit = limit.map(number);
    made.hints.indexes_named = Some(vec![KeyRef::Index(0)]);
    made
}

#[test]
fn limit_ends_the_reading_of_an_index_and_of_the_rows() {
    block_on(async {
        let world = numbered(2000).await;
        let made = by_a(&world, Some(3));
        let (rows, rows_read) = run(&made, world.env("+00:00")).await.unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows_read, 3);
        let made = by_a(&world, Some(1500));
        let (rows, _) = run(&made, world.env("+00:00")).await.unwrap();
        let kept = kept(&world, &made, &world.env("+00:00")).unwrap();
        assert_eq!(rows, expected(&made, &kept)[..1500]);
    });
}

#[test]
fn an_entry_without_its_row_is_damage() {
    block_on(async {
        let world = numbered(10).await;
        let key = world.rows.keys().next().unwrap().clone();
        let mut writes = WriteSet::blind();
        writes.delete(Space(world.table.id.0), key);
        world.engine.commit(writes).await.unwrap();
        let error = run(&by_a(&world, Some(10)), world.env("+00:00"))
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::StorageCorrupt);
        assert_eq!(
            error.message(),
            "index ia of table t has an entry without a row"
        );
    });
}
