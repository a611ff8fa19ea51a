//! The soundness property: random tables, predicates and rows.
//!
//! If a predicate is true for a row, the row's key lies in the spans; if the spans are tight, every
//! row in them satisfies it; and whatever lies in the spans and passes the residual filter is what
//! the predicate keeps. Keys are compared as the bytes that the codec makes of them. A failure
//! prints the seed of its case.

pub(crate) mod case;
mod values;

use std::sync::Arc;

use proptest::prelude::*;
use rand::Rng as _;

use self::case::{Case, TestRow, condition};
use super::access::{Access, Policy, Purpose, Request, RowsKept, explain_table};
use super::cut::{self, Cut, KeyParts};
use super::derive::{Keys, derive, shape};
use super::doubt::Estimates;
use super::span::Span;
use super::{point, points, residual, span, testing, text};
use crate::sql::bound::{Hints, OrderBy};
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_condition;
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::types::Value;

/// Rows per case.
const ROWS: usize = 40;

fn is_true(expr: &Expr, row: &TestRow, ctx: &EvalContext) -> Option<bool> {
    // An error, such as a text that is no date, fails the statement whatever is read.
    eval_condition(expr, row, ctx)
        .ok()
        .map(|truth| truth == Some(true))
}

fn check(mut case: Case, seed: u64) {
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
fn check_cuts(mut case: Case, seed: u64) {
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

/// ORDER BY of a few parts of the key, in any direction.
fn key_order(case: &mut Case) -> Vec<OrderBy> {
    let parts = 0..case.rng.random_range(0..=case.table.key.len());
    let order_by = parts.map(|idx| {
        let column_idx = case.table.key[idx].column_idx;
        OrderBy {
            expr: Expr {
                kind: ExprKind::Column(column_idx),
                ty: case.table.columns[column_idx].ty.clone(),
                nullable: false,
            },
            descending: case.rng.random_bool(0.3),
        }
    });
    order_by.collect()
}

/// The short way for lists of keys gives the keys and the order that the long way does.
fn check_points(seed: u64) {
    let mut case = Case::new(seed);
    let ctx = testing::context("+08:00", Vec::new());
    let parts: Vec<Expr> = (0..case.table.key.len())
        .map(|idx| {
            let column = Expr {
                kind: ExprKind::Column(idx),
                ty: case.table.columns[idx].ty.clone(),
                nullable: false,
            };
            let list = (0..case.rng.random_range(1..4)).map(|_| case.constant(&column));
            condition(ExprKind::InList {
                list: list.collect(),
                expr: Box::new(column),
                negated: false,
            })
        })
        .collect();
    let filter = shape::all_of(parts).unwrap();
    let order_by = key_order(&mut case);
    let (hints, policy) = (Hints::default(), Policy::default());
    let request = Request {
        table: &case.table,
        purpose: Purpose::Select,
        joined_as: None,
        filter: Some(&filter),
        grouping: None,
        aggregates: &[],
        order_by: &order_by,
        limit: Some(7),
        offset: 1,
        wants_all: false,
        used_columns: None,
        hints: &hints,
        ctx: &ctx,
        policy: &policy,
        rows_kept: RowsKept::NotAsked,
        estimates: Estimates::Unknown,
    };
    let Some(short) = points::multi_get(&request, &filter).unwrap() else {
        return;
    };
    let long = explain_table(&request).unwrap();
    let (Access::MultiGet(quick), Access::MultiGet(slow)) = (&short.access, &long.access) else {
        panic!("seed {seed}: {:?}", long.access);
    };
    assert_eq!(quick.keys, slow.keys, "seed {seed}");
    assert!(long.residual.is_none(), "seed {seed}");
    assert_eq!(
        (short.reverse, short.ordered, short.rows_wanted),
        (long.reverse, long.ordered, long.rows_wanted),
        "seed {seed}: {order_by:?}"
    );
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
        check(Case::new(seed), seed);
    }

    #[test]
    fn rows_with_nulls_in_the_key_are_too(seed in any::<u64>()) {
        check(Case::with_nulls(seed), seed);
        check_cuts(Case::with_nulls(seed), seed);
    }

    #[test]
    fn cuts_are_ordered_as_their_encodings(seed in any::<u64>()) {
        check_cuts(Case::new(seed), seed);
    }

    #[test]
    fn the_short_way_for_points_answers_as_the_long_one(seed in any::<u64>()) {
        check_point(seed);
    }

    #[test]
    fn the_short_way_for_lists_answers_as_the_long_one(seed in any::<u64>()) {
        check_points(seed);
    }
}
