//! The soundness property: random tables, predicates and rows.
//!
//! If a predicate is true for a row, the row's key lies in the spans; if the spans are tight, every
//! row in them satisfies it; and whatever lies in the spans and passes the residual filter is what
//! the predicate keeps. Keys are compared as the bytes that the codec makes of them. A failure
//! prints the seed of its case.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "lists of values are per family of types"
)]

use std::sync::Arc;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::cut::{self, Cut, KeyParts};
use super::derive::{Keys, derive, shape};
use super::span::Span;
use super::{point, residual, span, testing, text};
use crate::catalog::{Column, ColumnDefault, KeyPart, Table, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Error, Result};
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_condition;
use crate::sql::expr::{CompareOp, Expr, ExprKind, Row};
use crate::types::column_type::IntWidth;
use crate::types::temporal::DateRules;
use crate::types::value::EnumValue;
use crate::types::{ColumnType, Date, Datetime, Decimal, Time, Timestamp, Value};

/// Rows per case.
const ROWS: usize = 40;

fn types() -> Vec<ColumnType> {
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    let labels: Vec<Box<str>> = ["new", "paid", "a"].map(Box::from).into();
    vec![
        int(IntWidth::Tiny, false),
        int(IntWidth::Tiny, true),
        int(IntWidth::Int, false),
        int(IntWidth::Big, false),
        int(IntWidth::Big, true),
        ColumnType::Boolean,
        ColumnType::Decimal {
            precision: 5,
            scale: 2,
        },
        ColumnType::Decimal {
            precision: 30,
            scale: 2,
        },
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Varchar { chars_max: Some(3) },
        ColumnType::Varchar { chars_max: None },
        ColumnType::Char { chars_max: 2 },
        ColumnType::Varbinary { bytes_max: Some(3) },
        ColumnType::Date,
        ColumnType::Datetime { fsp: 0 },
        ColumnType::Datetime { fsp: 3 },
        ColumnType::Timestamp { fsp: 0 },
        ColumnType::Timestamp { fsp: 3 },
        ColumnType::Time { fsp: 0 },
        ColumnType::Year,
        ColumnType::Enum(labels.into()),
    ]
}

fn decimal(text: &str) -> Value<'static> {
    Value::Decimal(Decimal::parse(text).unwrap())
}

fn timestamp(micros: i64, fsp: u8) -> Value<'static> {
    Value::Timestamp(Timestamp::from_micros(micros, fsp).unwrap())
}

fn text_values() -> Vec<Value<'static>> {
    let texts = ["", "a", "ab", "abc", "b", "é", "a%", "5", "5x", "-1", "1.5"];
    texts.map(|text| Value::Text(text.into())).into()
}

/// Values that a column of the type can hold.
#[expect(clippy::too_many_lines, reason = "a list of values")]
fn values_of(ty: &ColumnType) -> Vec<Value<'static>> {
    match ty {
        ColumnType::Boolean | ColumnType::Int { .. } => ints_of(ty),
        ColumnType::Decimal { precision: 5, .. } => {
            ["-999.99", "-1.50", "0.00", "1.50", "1.51", "5.00", "999.99"]
                .map(decimal)
                .into()
        }
        ColumnType::Decimal { .. } => [
            "-1.50",
            "0.00",
            "1.50",
            "9007199254740992.01",
            "9007199254740993.00",
        ]
        .map(decimal)
        .into(),
        ColumnType::Float => [-1.5, 0.0, 0.1, 0.5, 1.0, 5.0, f32::MAX]
            .map(Value::Float)
            .into(),
        ColumnType::Double => [
            -1.5,
            0.0,
            0.1,
            0.5,
            1.0,
            5.0,
            9_007_199_254_740_992.0,
            f64::MAX,
        ]
        .map(Value::Double)
        .into(),
        ColumnType::Varchar { .. } => text_values(),
        ColumnType::Char { .. } => text_values()
            .into_iter()
            .filter(|value| matches!(value, Value::Text(text) if text.chars().count() <= 2))
            .collect(),
        ColumnType::Varbinary { .. } => [&b""[..], b"a", b"ab", b"\x00", b"\xFF", b"5"]
            .map(|bytes| Value::Bytes(bytes.into()))
            .into(),
        ColumnType::Date => dates().into_iter().map(Value::Date).collect(),
        ColumnType::Datetime { fsp } => datetimes()
            .into_iter()
            .map(|at| Value::Datetime(at.truncate(*fsp)))
            .collect(),
        ColumnType::Timestamp { fsp: 0 } => {
            [0, 1_000_000, 1_705_276_800_000_000, 1_705_312_800_000_000]
                .map(|micros| timestamp(micros, 0))
                .into()
        }
        ColumnType::Timestamp { .. } => [1_000_000, 1_705_276_800_000_000, 1_705_312_800_500_000]
            .map(|micros| timestamp(micros, 3))
            .into(),
        ColumnType::Time { .. } => [-36_000_000_000, 0, 1_000_000, 36_000_000_000]
            .map(|micros| Value::Time(Time::from_micros(micros, 0).unwrap()))
            .into(),
        ColumnType::Year => [0, 1901, 1999, 2024, 2155].map(Value::Year).into(),
        ColumnType::Enum(labels) => labels
            .iter()
            .enumerate()
            .map(|(at, label)| {
                Value::Enum(EnumValue {
                    index: u16::try_from(at + 1).unwrap(),
                    label: label.to_string().into(),
                })
            })
            .collect(),
        ColumnType::Null
        | ColumnType::Text(_)
        | ColumnType::Binary { .. }
        | ColumnType::Blob(_)
        | ColumnType::Json => panic!("no values of {ty:?}"),
    }
}

/// Integers about the ends of the types and where doubles lose them.
fn ints_of(ty: &ColumnType) -> Vec<Value<'static>> {
    let ints = |list: &[i64]| list.iter().map(|number| Value::Int(*number)).collect();
    let uints = |list: &[u64]| list.iter().map(|number| Value::UInt(*number)).collect();
    match ty {
        ColumnType::Boolean => ints(&[0, 1, 5, -128, 127]),
        ColumnType::Int {
            width: IntWidth::Tiny,
            unsigned: false,
        } => ints(&[-128, -1, 0, 1, 2, 3, 4, 5, 126, 127]),
        ColumnType::Int {
            width: IntWidth::Tiny,
            unsigned: true,
        } => uints(&[0, 1, 2, 3, 4, 5, 254, 255]),
        ColumnType::Int { unsigned: true, .. } => uints(&[
            0,
            1,
            2,
            5,
            (1 << 53) - 1,
            1 << 53,
            (1 << 53) + 1,
            u64::MAX - 1,
            u64::MAX,
        ]),
        ColumnType::Int {
            width: IntWidth::Big,
            ..
        } => ints(&[
            i64::MIN,
            -1,
            0,
            1,
            2,
            5,
            (1 << 53) - 1,
            1 << 53,
            (1 << 53) + 1,
            (1 << 53) + 2,
            20_240_115,
            i64::MAX,
        ]),
        _ => ints(&[-2_147_483_648, -1, 0, 1, 2, 5, 2_147_483_647]),
    }
}

fn dates() -> Vec<Date> {
    [
        "0001-01-01",
        "2024-01-14",
        "2024-01-15",
        "2024-01-16",
        "9999-12-31",
    ]
    .map(|text| Date::parse(text, DateRules::STRICT).unwrap().value)
    .into()
}

fn datetimes() -> Vec<Datetime> {
    [
        "1000-01-01 00:00:00",
        "2024-01-15 00:00:00",
        "2024-01-15 10:00:00",
        "2024-01-15 10:00:00.5",
        "2024-01-16 00:00:00",
    ]
    .map(|text| Datetime::parse(text, 3, DateRules::STRICT).unwrap().value)
    .into()
}

/// Constants that conditions compare with.
#[expect(clippy::too_many_lines, reason = "a list of values")]
fn constants() -> Vec<Value<'static>> {
    let mut all = text_values();
    for text in [
        "9007199254740993",
        "1e3",
        " 5 ",
        "2024-01-15",
        "2024-01-15 10:00:00",
        "10:00:00",
        "2024",
        "new",
        "lost",
    ] {
        all.push(Value::Text(text.into()));
    }
    for number in [
        i64::MIN,
        -129,
        -5,
        -1,
        0,
        1,
        2,
        3,
        5,
        126,
        127,
        128,
        255,
        256,
        1999,
        2024,
        20_240_115,
        20_240_115_100_000,
        1_705_276_800_000,
        1_705_312_800_500,
        (1 << 53) + 1,
        i64::MAX,
    ] {
        all.push(Value::Int(number));
    }
    all.extend([1 << 63, u64::MAX].map(Value::UInt));
    all.extend(
        [
            "-1.5",
            "0.5",
            "1.5",
            "1.50",
            "1.505",
            "1000.00",
            "9007199254740993.00",
            "18446744073709551616",
        ]
        .map(decimal),
    );
    all.extend(
        [
            -1e30,
            -1.5,
            0.0,
            0.1,
            0.5,
            1.5,
            5.0,
            9_007_199_254_740_992.0,
            9_007_199_254_740_993e3,
            1e30,
            1e300,
        ]
        .map(Value::Double),
    );
    all.extend([&b"a"[..], b"ab", b"\xFF"].map(|bytes| Value::Bytes(bytes.into())));
    all.extend(dates().into_iter().map(Value::Date));
    all.extend(datetimes().into_iter().map(Value::Datetime));
    all.push(Value::Time(Time::from_micros(36_000_000_000, 0).unwrap()));
    all.push(Value::Null);
    all
}

/// One random case.
struct Case {
    rng: StdRng,
    table: Table,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut rng = StdRng::seed_from_u64(seed);
        let types = types();
        let key_count = rng.random_range(1..=3);
        let columns_count = key_count + rng.random_range(0..=2);
        let columns: Vec<Column> = (0..columns_count)
            .map(|idx| Column {
                id: ColumnId(u32::try_from(idx).unwrap()),
                name: format!("c{idx}"),
                ty: types.choose(&mut rng).unwrap().clone(),
                nullable: key_count <= idx && rng.random_bool(0.7),
                default: ColumnDefault::None,
                on_update_now: false,
                auto_increment: false,
                hidden: false,
                comment: String::new(),
            })
            .collect();
        let key = (0..key_count)
            .map(|column_idx| KeyPart {
                column_idx,
                direction: if rng.random_bool(0.3) {
                    Direction::Desc
                } else {
                    Direction::Asc
                },
            })
            .collect();
        let table = Table {
            id: TableId(1),
            database: "shop".to_owned(),
            name: "t".to_owned(),
            columns,
            key,
            options: Vec::new(),
            comment: String::new(),
        };
        Case { rng, table }
    }

    fn row(&mut self) -> TestRow {
        let Case { rng, table } = self;
        let values = table.columns.iter().map(|column| {
            if column.nullable && rng.random_bool(0.2) {
                return Value::Null;
            }
            values_of(&column.ty).choose(rng).unwrap().clone()
        });
        TestRow(values.collect())
    }

    fn column(&mut self) -> Expr {
        // The first columns of the key matter most.
        let count = self.table.columns.len();
        let idx = self
            .rng
            .random_range(0..count)
            .min(self.rng.random_range(0..count));
        let column = &self.table.columns[idx];
        Expr {
            kind: ExprKind::Column(idx),
            ty: column.ty.clone(),
            nullable: column.nullable,
        }
    }

    /// A constant that may stand beside the column: often one of its own values.
    fn constant(&mut self, column: &Expr) -> Expr {
        let own = values_of(&column.ty);
        let value = if self.rng.random_bool(0.6) {
            own.choose(&mut self.rng).unwrap().clone()
        } else {
            constants().choose(&mut self.rng).unwrap().clone()
        };
        let value = match (&column.ty, value) {
            (ColumnType::Timestamp { .. }, Value::Int(_)) => Value::Null,
            (_, value) => value,
        };
        literal(value)
    }

    fn op(&mut self) -> CompareOp {
        let ops = [
            CompareOp::Equal,
            CompareOp::Equal,
            CompareOp::NullSafeEqual,
            CompareOp::NotEqual,
            CompareOp::Less,
            CompareOp::LessOrEqual,
            CompareOp::Greater,
            CompareOp::GreaterOrEqual,
        ];
        *ops.choose(&mut self.rng).unwrap()
    }

    fn predicate(&mut self, depth: u32) -> Expr {
        let choice = self.rng.random_range(0..10);
        let kind = match choice {
            0..=3 if 0 < depth => ExprKind::And(self.parts(depth)),
            4..=5 if 0 < depth => ExprKind::Or(self.parts(depth)),
            6 if 0 < depth => ExprKind::Not(Box::new(self.predicate(depth - 1))),
            _ => self.leaf(),
        };
        condition(kind)
    }

    fn parts(&mut self, depth: u32) -> Vec<Expr> {
        let count = self.rng.random_range(2..=3);
        (0..count).map(|_| self.predicate(depth - 1)).collect()
    }

    fn leaf(&mut self) -> ExprKind {
        let column = self.column();
        match self.rng.random_range(0..12) {
            0 => {
                let count = self.rng.random_range(1..=4);
                ExprKind::InList {
                    list: (0..count).map(|_| self.constant(&column)).collect(),
                    expr: Box::new(column),
                    negated: self.rng.random_bool(0.2),
                }
            }
            1 => ExprKind::Between {
                low: Box::new(self.constant(&column)),
                high: Box::new(self.constant(&column)),
                expr: Box::new(column),
                negated: self.rng.random_bool(0.2),
            },
            2 => {
                let patterns = ["a%", "%", "", "a_", "%a", "ab", "a\\%%", "é%", "5%"];
                let pattern = *patterns.choose(&mut self.rng).unwrap();
                ExprKind::Like {
                    expr: Box::new(column),
                    pattern: Box::new(literal(Value::Text(pattern.into()))),
                    escape: Some('\\'),
                    negated: self.rng.random_bool(0.2),
                }
            }
            3 => ExprKind::IsNull {
                expr: Box::new(column),
                negated: self.rng.random_bool(0.5),
            },
            4 => self.row_list(),
            5 => self.row_compare(),
            6 => ExprKind::Compare(
                self.op(),
                Box::new(self.constant(&column)),
                Box::new(column),
            ),
            _ => ExprKind::Compare(
                self.op(),
                Box::new(column.clone()),
                Box::new(self.constant(&column)),
            ),
        }
    }

    fn row_list(&mut self) -> ExprKind {
        let columns = [self.column(), self.column()];
        let count = self.rng.random_range(1..=3);
        let mut member = || {
            let parts = columns.iter().map(|column| self.constant(column));
            condition(ExprKind::Row(parts.collect()))
        };
        let list = (0..count).map(|_| member()).collect();
        ExprKind::InList {
            expr: Box::new(condition(ExprKind::Row(columns.to_vec()))),
            list,
            negated: false,
        }
    }

    fn row_compare(&mut self) -> ExprKind {
        let columns = vec![self.column(), self.column()];
        let constants = columns.iter().map(|column| self.constant(column)).collect();
        ExprKind::Compare(
            self.op(),
            Box::new(condition(ExprKind::Row(columns))),
            Box::new(condition(ExprKind::Row(constants))),
        )
    }
}

fn condition(kind: ExprKind) -> Expr {
    Expr {
        kind,
        ty: ColumnType::BIGINT,
        nullable: true,
    }
}

fn literal(value: Value<'static>) -> Expr {
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
    Expr {
        kind: ExprKind::Literal(value),
        ty,
        nullable: true,
    }
}

/// A row of owned values.
#[derive(Debug)]
struct TestRow(Vec<Value<'static>>);

impl Row for TestRow {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        let value = self.0.get(column_idx).map(Value::borrow);
        value.ok_or_else(|| Error::internal("no such column"))
    }
}

fn is_true(expr: &Expr, row: &TestRow, ctx: &EvalContext) -> Option<bool> {
    // An error, such as a text that is no date, fails the statement whatever is read.
    eval_condition(expr, row, ctx)
        .ok()
        .map(|truth| truth == Some(true))
}

fn check(seed: u64) {
    let mut case = Case::new(seed);
    let zone = ["+00:00", "+08:00"][case.rng.random_range(0..2)];
    let ctx = Arc::new(testing::context(zone, Vec::new()));
    let filter = case.predicate(3);
    let conjuncts = shape::conjuncts(&filter, &ctx).unwrap();
    let key = KeyParts::primary(&case.table);
    let derived = derive(key, &conjuncts, 2000, &ctx);
    let spans = match &derived.keys {
        Keys::Nothing => Vec::new(),
        Keys::Spans(spans) => spans.clone(),
        Keys::TooMany(_) => return,
    };
    assert_eq!(span::normalise(spans.clone(), key).len(), spans.len());
    let ranges: Vec<_> = spans.iter().map(|span| span.encode(key).unwrap()).collect();
    let left = residual::filter(&derived.residual);
    let is_tight = derived.is_tight();
    let (spans, table) = (format!("{spans:?}"), case.table.clone());
    for _ in 0..ROWS {
        let row = case.row();
        let values: Vec<Value<'static>> = table
            .key
            .iter()
            .map(|part| row.0[part.column_idx].clone())
            .collect();
        let bytes = cut::encode_prefix(&values, KeyParts::primary(&table)).unwrap();
        let is_inside = ranges.iter().any(|range| {
            range.start <= bytes && range.until.as_ref().is_none_or(|until| bytes < *until)
        });
        let passes = left
            .as_ref()
            .map_or(Some(true), |left| is_true(left, &row, &ctx));
        let (Some(wanted), Some(passes)) = (is_true(&filter, &row, &ctx), passes) else {
            continue;
        };
        let story = || {
            let filter = text::over_table(&filter, &table, &ctx.zone);
            format!(
                "seed {seed}\n{filter}\n{row:?}\n{spans}\n{:?}\n{:?}",
                table.key, left
            )
        };
        assert!(!wanted || is_inside, "outside though true: {}", story());
        assert!(
            !is_tight || !is_inside || wanted,
            "inside a tight span though false: {}",
            story()
        );
        assert_eq!(wanted, is_inside && passes, "residual: {}", story());
    }
}

/// Cuts of a random key; prefixes of random length.
fn random_cut(case: &mut Case) -> Cut {
    let row = case.row();
    let count = case.rng.random_range(0..=case.table.key.len());
    let parts = case.table.key.iter().take(count);
    let values = parts.map(|part| row.0[part.column_idx].clone()).collect();
    if case.rng.random_bool(0.5) {
        Cut::Before(values)
    } else {
        Cut::After(values)
    }
}

/// Cuts are ordered as their encodings; only neighbours may share one.
fn check_cuts(seed: u64) {
    let mut case = Case::new(seed);
    for _ in 0..ROWS {
        let (a, b) = (random_cut(&mut case), random_cut(&mut case));
        let key = KeyParts::primary(&case.table);
        let bytes = |cut: &Cut| cut.encode(key).unwrap();
        let end = vec![0xFF; 64];
        let (x, y) = (bytes(&a).unwrap_or(end.clone()), bytes(&b).unwrap_or(end));
        let order = a.compare(&b, key);
        assert_eq!(
            order,
            b.compare(&a, key).reverse(),
            "seed {seed}: {a:?} {b:?}"
        );
        assert!(x.cmp(&y) == order || x == y, "seed {seed}: {a:?} {b:?}");
        // A span that is not empty holds every key that lies between its cuts, and no other.
        if let Some(span) = Span::between(a, b, key) {
            let middle = random_cut(&mut case);
            let key = KeyParts::primary(&case.table);
            let rest = Span::between(middle.clone(), span.until().clone(), key);
            let both = rest.as_ref().and_then(|rest| span.intersect(rest, key));
            assert_eq!(
                both.is_some(),
                rest.is_some(),
                "seed {seed}: {span:?} {middle:?}"
            );
        }
    }
}

/// The short way for point predicates answers what the long way does.
fn check_point(seed: u64) {
    let mut case = Case::new(seed);
    let ctx = testing::context("+08:00", Vec::new());
    let columns: Vec<Expr> = (0..case.table.key.len())
        .map(|idx| Expr {
            kind: ExprKind::Column(idx),
            ty: case.table.columns[idx].ty.clone(),
            nullable: false,
        })
        .collect();
    let parts: Vec<Expr> = columns
        .into_iter()
        .map(|column| {
            let constant = Box::new(case.constant(&column));
            condition(ExprKind::Compare(
                CompareOp::Equal,
                Box::new(column),
                constant,
            ))
        })
        .collect();
    let filter = shape::all_of(parts).unwrap();
    let key = KeyParts::primary(&case.table);
    let Some(short) = point::point_get(&filter, key, &ctx).unwrap() else {
        return;
    };
    let conjuncts = shape::conjuncts(&filter, &ctx).unwrap();
    let long = derive(key, &conjuncts, 2000, &ctx);
    let Keys::Spans(spans) = &long.keys else {
        panic!("seed {seed}: no spans");
    };
    assert!(long.is_tight(), "seed {seed}");
    assert_eq!(spans.len(), 1, "seed {seed}");
    let range = spans[0].encode(key).unwrap();
    assert_eq!(range.start, short.key, "seed {seed}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]

    #[test]
    fn rows_that_satisfy_a_predicate_are_in_its_spans(seed in any::<u64>()) {
        check(seed);
    }

    #[test]
    fn cuts_are_ordered_as_their_encodings(seed in any::<u64>()) {
        check_cuts(seed);
    }

    #[test]
    fn the_short_way_for_points_answers_as_the_long_one(seed in any::<u64>()) {
        check_point(seed);
    }
}
