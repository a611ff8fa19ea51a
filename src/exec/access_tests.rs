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
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::cancel::CancelToken;
use super::row::ValuesRow;
use super::rows::{PageEnd, RowSink, RowStream};
use super::select::{self, Env, Program};
use super::testing::Server;
use super::view::{Overlay, View};
use super::{budget, tuple, write};
use crate::catalog::{Column, KeyPart, Table};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Code, Result};
use crate::index;
use crate::kv::memory::Memory;
use crate::kv::{Engine, Key, Space, WriteSet};
use crate::plan::skip::VALUES_MAX;
use crate::plan::soundness::case::{Case, condition};
use crate::plan::{Access, Entries, MergeKind, Policy, testing, text};
use crate::sql::bound::{
    Aggregate, AggregateKind, Aggregation, From, Hints, KeyRef, OrderBy, Output, Select,
};
use crate::sql::computed::CONTEXT;
use crate::sql::eval::{eval, eval_condition};
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::types::{Attributes, ColumnType, ResultColumn, Value};

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
    ends: usize,
    merged: usize,
    crossed: usize,
    streamed: usize,
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
            view: Some(View {
                snapshot: self.engine.snapshot(),
                own,
            }),
            ctx: testing::context(zone, Vec::new()),
            policy: Policy {
                skip_scan: self.rows.len().is_multiple_of(2),
                ..Policy::default()
            },
            uses: Arc::default(),
            cancel: Arc::new(CancelToken::default()),
            memory: budget::Memory::alone(64 << 20),
            select_limit: None,
            rounds: Vec::new(),
            meter: None,
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
    let mut stream = select::open(Arc::new(Program::new(select.clone())), env)?
        .stream()
        .await?;
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
        is_field: false,
        attributes: Attributes::default(),
        display_chars: 0,
        decimals: None,
    };
    Output { expr, column }
}

fn select(table: &Arc<Table>, filter: Option<Expr>, outputs: &[usize]) -> Select {
    let outputs = outputs.iter().map(|idx| output(column(table, *idx)));
    Select {
        from: From::Table(Arc::clone(table)),
        subqueries: Vec::new(),
        alias: table.name.clone(),
        hints: Hints::default(),
        filter,
        aggregation: None,
        having: None,
        windowing: None,
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
        4..=6 => Some(on_index(case, world)),
        7..=8 => Some(on_either(case, world)),
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
    if case.rng.random_bool(0.2) {
        least_and_greatest(&mut made, case, table);
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

/// An OR of conditions that some key can use, and now and then another.
fn on_either(case: &mut Case, world: &World) -> Expr {
    let sides = (0..case.rng.random_range(2..=3)).map(|_| {
        if case.rng.random_bool(0.7) {
            on_whole_index(case, world)
        } else {
            on_index(case, world)
        }
    });
    let either = condition(ExprKind::Or(sides.collect()));
    if case.rng.random_bool(0.3) {
        return condition(ExprKind::And(vec![either, case.predicate(1)]));
    }
    either
}

/// A value for each part of some key that is made of columns.
fn on_whole_index(case: &mut Case, world: &World) -> Expr {
    let table = &world.table;
    let indexes = table.indexes.iter();
    let mut keys: Vec<&[KeyPart]> = indexes
        .filter(|index| index.computed.is_empty())
        .map(|index| index.parts.as_slice())
        .collect();
    keys.push(&table.key);
    let parts = keys[case.rng.random_range(0..keys.len())].iter();
    let parts = parts.map(|part| {
        let column = column(table, part.column_idx);
        let value = case.constant(&column);
        let op = CompareOp::Equal;
        condition(ExprKind::Compare(op, Box::new(column), Box::new(value)))
    });
    condition(ExprKind::And(parts.collect()))
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
        rollup: false,
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

/// `SELECT MIN(c), MAX(c)` of a column of a key; the values before it are often given.
fn least_and_greatest(made: &mut Select, case: &mut Case, table: &Table) {
    let at = case.rng.random_range(0..=table.indexes.len());
    let parts = match table.indexes.get(at) {
        Some(index) => index.parts.clone(),
        None => table.key.clone(),
    };
    let is_column = |part: &&KeyPart| part.column_idx < table.columns.len();
    let parts: Vec<KeyPart> = parts.iter().take_while(is_column).copied().collect();
    if parts.is_empty() {
        return;
    }
    let at = case.rng.random_range(0..parts.len());
    let wanted = column(table, parts[at].column_idx);
    if matches!(wanted.ty, ColumnType::Enum(_)) {
        return;
    }
    if case.rng.random_bool(0.8) {
        let equal = parts[..at].iter().map(|part| {
            let column = column(table, part.column_idx);
            let value = case.constant(&column);
            condition(ExprKind::Compare(
                CompareOp::Equal,
                Box::new(column),
                Box::new(value),
            ))
        });
        let equal: Vec<Expr> = equal.collect();
        made.filter = (!equal.is_empty()).then(|| condition(ExprKind::And(equal)));
    }
    let aggregate = |kind| Aggregate {
        kind,
        args: vec![wanted.clone()],
        distinct: false,
        order_by: Vec::new(),
        separator: None,
        ty: wanted.ty.clone(),
    };
    let outputs = (0..2).map(|idx| {
        output(Expr {
            kind: ExprKind::Column(idx),
            ..wanted.clone()
        })
    });
    made.outputs = outputs.collect();
    made.aggregation = Some(Aggregation {
        rollup: false,
        keys: Vec::new(),
        aggregates: vec![aggregate(AggregateKind::Min), aggregate(AggregateKind::Max)],
    });
}

/// What the least and the greatest value are, in the order of keys.
fn ends_of(aggregation: &Aggregation, kept: &[Row]) -> String {
    let column = &aggregation.aggregates[0].args[0];
    let ExprKind::Column(idx) = column.kind else {
        panic!("the end of no column");
    };
    let values = kept.iter().map(|row| row[idx].clone());
    let values = values.filter(|value| !value.is_null()).map(|value| {
        let mut bytes = Vec::new();
        tuple::push(&mut bytes, &value, &column.ty, Direction::Asc).unwrap();
        (bytes, value)
    });
    let values: BTreeMap<Vec<u8>, Value<'static>> = values.collect();
    let of = |end: Option<&Value<'static>>| end.cloned().unwrap_or(Value::Null);
    shown(&[of(values.values().next()), of(values.values().next_back())])
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
        let Some(key) = aggregation.keys.first() else {
            return vec![ends_of(aggregation, kept)];
        };
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
    let plan = match select::explain(&program, &world.table, &env).await {
        Ok(plan) => plan,
        Err(error) if error.code() == Code::TooBigSelect => return,
        // A text that is no date is told of before any row is read; no row had met it.
        Err(error) if error.code() == Code::DurationOverflow => return,
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
        Access::Ends(_) => tally.ends += 1,
        Access::Merge(merge) => {
            tally.merged += 1;
            tally.crossed += usize::from(merge.kind == MergeKind::Intersection);
            let is_sorted = merge.branches.iter().all(|branch| branch.in_key_order);
            tally.streamed += usize::from(is_sorted);
        }
        Access::FullScan => tally.whole += 1,
        Access::Nothing
        | Access::Count(_)
        | Access::PointGet(_)
        | Access::MultiGet(_)
        | Access::PrefixScan(_) => {}
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
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

/// Two conditions on two indexes that are in a quarter of the rows each, read in all ways.
async fn check_crossing(seed: u64, tally: &mut Tally) {
    let mut rng = StdRng::seed_from_u64(seed);
    let create = "CREATE TABLE t (p INT, k INT, a INT, b INT, c INT, \
                  PRIMARY KEY (p, k DESC), INDEX ia (a), INDEX ib (b, p))";
    let mut world = World::new(testing::table(create)).await;
    let mut random_row = || -> Vec<Value<'static>> {
        let untils = [3, 300, 4, 5, 10];
        let mut row = untils.map(|until| Value::Int(rng.random_range(0..until)));
        if matches!(row[3], Value::Int(4)) {
            row[3] = Value::Null;
        }
        row.to_vec()
    };
    for _ in 0..200 {
        world.commit(&random_row()).await;
    }
    for number in 0..30 {
        let row = random_row();
        let key = write::row::key(&world.table, &row).unwrap();
        let goes = world.rows.keys().nth(number).cloned();
        match goes.filter(|_| number % 3 == 0) {
            Some(goes) => world.write(&goes, None),
            None => world.write(&key, Some(&row)),
        }
    }
    for number in 0..8_i64 {
        let equal = |idx: usize, value| compared(&world, (idx, CompareOp::Equal, value));
        let mut sides = vec![equal(2, number % 4), equal(3, (number + 1) % 4)];
        if number % 2 == 0 {
            sides.push(compared(&world, (4, CompareOp::Less, 6)));
        }
        let filter = condition(ExprKind::And(sides));
        let mut made = select(&world.table, Some(filter), &[0, 1, 2, 3, 4]);
        made.order_by = [(0, number < 4), (1, 4 <= number)]
            .map(|(idx, descending)| OrderBy {
                expr: column(&world.table, idx),
                descending,
            })
            .to_vec();
        made.limit = (number % 3 == 0).then(|| self::number(5));
        let kept = kept(&world, &made, &world.env("+00:00")).unwrap();
        let whole = expected(&made, &kept);
        for hints in ways(&world.table) {
            made.hints = hints;
            compare(&world, &made, (&whole, "+00:00", seed), tally).await;
        }
    }
}

#[test]
fn intersections_give_the_same_rows() {
    let mut tally = Tally::default();
    let first: u64 = rand::random();
    println!("seeds from {first}");
    for round in 0..20 {
        block_on(check_crossing(first.wrapping_add(round), &mut tally));
    }
    assert!(20 < tally.crossed, "{tally:?}");
}

#[test]
fn the_cases_read_every_kind_of_path() {
    let mut tally = Tally::default();
    for seed in 0..150 {
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
        tally.ends,
        tally.merged,
    ];
    assert!(5 < tally.streamed, "{tally:?}");
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

/// Rows of a table of two indexes: `a` has one value, `b` has many.
const UNEVEN_ROWS: usize = 1500;

async fn uneven() -> Server {
    let server = Server::refusing().await;
    let create = "CREATE TABLE t (p INT, k INT, a INT, b INT, c INT, PRIMARY KEY (p, k), \
                  INDEX ia (a), INDEX ib (b))";
    server.run(create).await.unwrap();
    let rows = (0..UNEVEN_ROWS).map(|k| format!("(1, {k}, 5, {}, {k})", k / 3));
    let rows: Vec<String> = rows.collect();
    let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
    server.run(&insert).await.unwrap();
    server
}

/// What EXPLAIN ANALYZE tells.
async fn told(server: &Server, query: &str) -> String {
    let told = server.run(&format!("EXPLAIN ANALYZE {query}")).await;
    told.unwrap()[0][0].clone()
}

#[test]
fn the_index_of_fewer_rows_is_read() {
    block_on(async {
        let server = uneven().await;
        let text = told(&server, "SELECT * FROM t WHERE a = 5 AND b = 7").await;
        assert!(text.contains("Measured: read 3 rows, returned 3"), "{text}");
        assert!(
            text.contains(
                "- index \"ia\" (a): would do, but index \"ib\" (b) reads about 3 rows against 1"
            ),
            "{text}"
        );
        let text = told(&server, "SELECT * FROM t WHERE p = 1 AND b = 7").await;
        assert!(text.contains("Measured: read 3 rows, returned 3"), "{text}");
        // One row is few enough: nobody counts on.
        let text = told(&server, "SELECT * FROM t WHERE a = 6 AND b = 7").await;
        assert!(text.contains("Measured: read 0 rows"), "{text}");
        assert!(text.contains("reads about 1 row, few enough"), "{text}");
    });
}

#[test]
fn a_union_is_read_where_it_finds_fewer_rows() {
    block_on(async {
        let server = uneven().await;
        server.run("CREATE INDEX ic ON t (c)").await.unwrap();
        let text = told(&server, "SELECT * FROM t WHERE a = 5 AND (b = 7 OR c = 9)").await;
        assert!(text.contains("IndexMerge of t: union of 2 scans"), "{text}");
        assert!(text.contains("Measured: read 4 rows, returned 4"), "{text}");
        assert!(
            text.contains("index \"ia\" (a): would do, but the union reads about 4 rows against 1"),
            "{text}"
        );
        let text = told(&server, "SELECT * FROM t WHERE a = 6 AND (b = 7 OR c = 9)").await;
        assert!(text.contains("Measured: read 0 rows"), "{text}");
    });
}

#[test]
fn an_intersection_is_read_where_few_rows_are_in_both() {
    block_on(async {
        let server = Server::refusing().await;
        let create = "CREATE TABLE t (k INT PRIMARY KEY, a INT, b INT, c INT, d INT, \
                      INDEX ia (a), INDEX ib (b), INDEX ic (c), INDEX id (d, b))";
        server.run(create).await.unwrap();
        let row = |k: usize| format!("({k}, {}, {}, {}, 7)", k % 4, k % 40 / 10, k % 4);
        let rows: Vec<String> = (0..3000).map(row).collect();
        let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
        server.run(&insert).await.unwrap();
        let query = "SELECT * FROM t WHERE a = 1 AND b = 3 AND c < 3";
        let text = told(&server, query).await;
        assert!(
            text.contains("IndexMerge of t: intersection of 2 scans"),
            "{text}"
        );
        assert!(
            text.contains("Measured: read 150 rows, returned 150"),
            "{text}"
        );
        assert!(
            text.contains("would do, but the intersection reads about"),
            "{text}"
        );
        // In a transaction that has changed a row; and backwards.
        server.run("BEGIN").await.unwrap();
        server.run("UPDATE t SET a = 2 WHERE k = 73").await.unwrap();
        let query = "SELECT k FROM t WHERE a = 1 AND b = 3 ORDER BY k DESC LIMIT 2";
        let text = told(&server, query).await;
        assert!(
            text.contains("intersection of 2 scans, backwards"),
            "{text}"
        );
        let expected = server
            .run("SELECT k FROM t IGNORE INDEX (ia, ib, id) WHERE k > 0 AND a = 1 AND b = 3 ORDER BY k DESC LIMIT 2")
            .await;
        assert_eq!(server.run(query).await.unwrap(), expected.unwrap());
        server
            .run("DELETE FROM t WHERE a = 1 AND b = 3")
            .await
            .unwrap();
        let left = server.run("SELECT COUNT(*) FROM t WHERE k > -1").await;
        assert_eq!(left.unwrap()[0][0], "2851");
        server.run("ROLLBACK").await.unwrap();
        // Both find the same rows: one of them will do.
        let text = told(&server, "SELECT * FROM t WHERE a = 1 AND c = 1").await;
        assert!(!text.contains("IndexMerge"), "{text}");
    });
}

#[test]
fn writes_find_their_rows_by_the_index_of_fewer_too() {
    block_on(async {
        let server = uneven().await;
        server.run("BEGIN").await.unwrap();
        server
            .run("UPDATE t SET b = -1 WHERE k < 2 AND p = 1")
            .await
            .unwrap();
        let text = server
            .run("EXPLAIN FORMAT=TREE DELETE FROM t WHERE a = 5 AND b = -1")
            .await;
        let text = &text.unwrap()[0][0];
        assert!(text.contains("+ index \"ib\" (b)"), "{text}");
        server
            .run("DELETE FROM t WHERE a = 5 AND b = -1")
            .await
            .unwrap();
        server.run("COMMIT").await.unwrap();
        let left = server
            .run("SELECT COUNT(*) FROM t WHERE p = 1")
            .await
            .unwrap();
        assert_eq!(left[0][0], (UNEVEN_ROWS - 2).to_string());
    });
}

/// A column against a number.
fn compared(world: &World, (idx, op, value): (usize, CompareOp, i64)) -> Expr {
    let literal = Expr {
        kind: ExprKind::Literal(Value::Int(value)),
        ty: ColumnType::BIGINT,
        nullable: false,
    };
    let column = Box::new(column(&world.table, idx));
    condition(ExprKind::Compare(op, column, Box::new(literal)))
}

/// `a = 1 OR b = 2` over many pages of both.
fn either(world: &World, descending: bool) -> Select {
    let equal = |idx: usize, value: i64| compared(world, (idx, CompareOp::Equal, value));
    let filter = condition(ExprKind::Or(vec![equal(1, 1), equal(2, 2)]));
    let mut made = select(&world.table, Some(filter), &[0, 1, 2]);
    made.order_by = vec![OrderBy {
        expr: column(&world.table, 0),
        descending,
    }];
    made
}

/// `(k, a, b)` with an index on `a` and one on `b`; in the second shape entries of one value of `b`
/// do not come in the order of the primary key.
async fn two_indexes(rows: i64, second: &str) -> World {
    let create = format!(
        "CREATE TABLE t (k INT, a INT, b INT, c INT, PRIMARY KEY (k), INDEX ia (a), INDEX ib ({second}))"
    );
    let mut world = World::new(testing::table(&create)).await;
    for k in 0..rows {
        let row = vec![
            Value::Int(k),
            Value::Int(k % 2),
            Value::Int(k % 3),
            Value::Int(rows - k),
        ];
        world.commit(&row).await;
    }
    world
}

#[test]
fn a_union_reads_each_row_once_in_key_order_and_stops_at_limit() {
    block_on(async {
        for second in ["b", "b, c"] {
            let world = two_indexes(3000, second).await;
            for descending in [false, true] {
                let mut made = either(&world, descending);
                let kept = kept(&world, &made, &world.env("+00:00")).unwrap();
                let (rows, rows_read) = run(&made, world.env("+00:00")).await.unwrap();
                assert_eq!(rows, expected(&made, &kept));
                assert_eq!(rows_read, u64::try_from(kept.len()).unwrap());
                made.limit = Some(number(5));
                let (rows, rows_read) = run(&made, world.env("+00:00")).await.unwrap();
                assert_eq!(rows, expected(&made, &kept)[..5]);
                assert_eq!(rows_read, 5);
            }
        }
    });
}

#[test]
fn keys_that_must_be_sorted_are_held_to_the_memory_of_a_statement() {
    block_on(async {
        let world = two_indexes(3000, "b, c").await;
        let mut env = world.env("+00:00");
        env.memory = budget::Memory::alone(10_000);
        let error = run(&either(&world, false), env).await.unwrap_err();
        assert_eq!(error.code(), Code::CapacityExceeded);
        assert!(error.message().starts_with("index merge needs"), "{error}");
        // Those in order are not held.
        let world = two_indexes(3000, "b").await;
        let mut env = world.env("+00:00");
        env.memory = budget::Memory::alone(10_000);
        run(&either(&world, false), env).await.unwrap();
    });
}

#[test]
fn a_transaction_reads_indexes_that_its_snapshot_has() {
    block_on(async {
        let one = Server::refusing().await;
        for sql in [
            "CREATE TABLE t (k INT PRIMARY KEY, a INT, b INT, INDEX ia (a))",
            "CREATE TABLE other (k INT PRIMARY KEY, a INT)",
            "INSERT INTO t VALUES (1, 5, 6), (2, 5, 7)",
            "BEGIN",
        ] {
            one.run(sql).await.unwrap();
        }
        let query = "SELECT k FROM t WHERE a = 5";
        assert_eq!(one.run(query).await.unwrap().len(), 2);
        let two = one.another();
        two.run("CREATE INDEX i ON other (a)").await.unwrap();
        assert_eq!(one.run(query).await.unwrap().len(), 2);
        two.run("DELETE FROM t WHERE k = 1").await.unwrap();
        two.run("CREATE INDEX ib ON t (b)").await.unwrap();
        // The new index has no entry of the row that this transaction still sees.
        let error = one.run("SELECT k FROM t WHERE b = 6").await.unwrap_err();
        assert!(
            error.message().contains("older than the definitions"),
            "{error}"
        );
        let seen = "SELECT /*+ _l_allow_filtering_ */ k FROM t WHERE b = 6";
        assert_eq!(one.run(seen).await.unwrap().len(), 1);
        one.run("COMMIT").await.unwrap();
        assert!(
            one.run("SELECT k FROM t WHERE b = 6")
                .await
                .unwrap()
                .is_empty()
        );
    });
}

/// A table whose first key columns have few values, of which NULL is one.
async fn few_first(server: &Server) {
    let create = "CREATE TABLE t (p INT, k INT, a INT, b INT, PRIMARY KEY (p, k), \
                  INDEX iab (a DESC, b))";
    server.run(create).await.unwrap();
    let rows = (0..1200).map(|k| {
        let a = match k % 4 {
            0 => "NULL".to_owned(),
            rest => rest.to_string(),
        };
        format!("({}, {k}, {a}, {})", k % 3, k / 4)
    });
    let rows: Vec<String> = rows.collect();
    let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
    server.run(&insert).await.unwrap();
}

#[test]
fn a_key_of_few_first_values_is_skipped_through_when_that_is_on() {
    block_on(async {
        let server = Server::refusing().await;
        few_first(&server).await;
        let (by_key, by_index) = (
            "SELECT k FROM t WHERE k = 700",
            "SELECT k FROM t WHERE b = 7",
        );
        for query in [by_key, by_index] {
            let error = server.run(query).await.unwrap_err();
            assert_eq!(error.code(), Code::TooBigSelect);
        }
        server
            .run("SET optimizer_switch = 'skip_scan=on'")
            .await
            .unwrap();
        let text = told(&server, by_key).await;
        assert!(text.contains("Measured: read 1 rows, returned 1"), "{text}");
        assert!(
            text.contains("skips through 3 values of p; bounded by k"),
            "{text}"
        );
        let text = told(&server, by_index).await;
        assert!(text.contains("Measured: read 4 rows, returned 4"), "{text}");
        assert!(
            text.contains("skips through 4 values of a; bounded by b"),
            "{text}"
        );
        // The values are those of the transaction's own view.
        server.run("BEGIN").await.unwrap();
        server
            .run("INSERT INTO t VALUES (9, 5000, 99, 7)")
            .await
            .unwrap();
        assert_eq!(server.run(by_index).await.unwrap().len(), 5);
        server.run("DELETE FROM t WHERE b = 7").await.unwrap();
        assert!(server.run(by_index).await.unwrap().is_empty());
        server.run("ROLLBACK").await.unwrap();
        assert_eq!(server.run(by_index).await.unwrap().len(), 4);
        server
            .run("SET optimizer_switch = 'skip_scan=off'")
            .await
            .unwrap();
        assert!(server.run(by_key).await.is_err());
    });
}

#[test]
fn a_key_of_many_first_values_is_not_skipped_through() {
    block_on(async {
        let server = Server::refusing().await;
        let create = "CREATE TABLE t (p INT, k INT, PRIMARY KEY (p, k))";
        server.run(create).await.unwrap();
        server
            .run("SET optimizer_switch = 'semijoin=off,skip_scan=on'")
            .await
            .unwrap();
        let query = "SELECT p FROM t WHERE k = 5";
        assert!(server.run(query).await.unwrap().is_empty());
        for (from, until, is_taken) in [(0, VALUES_MAX, true), (VALUES_MAX, VALUES_MAX + 1, false)]
        {
            let rows: Vec<String> = (from..until).map(|p| format!("({p}, 5)")).collect();
            let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
            server.run(&insert).await.unwrap();
            match server.run(query).await {
                Ok(rows) => assert!(is_taken && rows.len() == VALUES_MAX),
                Err(error) => assert!(!is_taken && error.code() == Code::TooBigSelect),
            }
        }
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
