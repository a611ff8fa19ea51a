//! Goldens of values, and properties over random expressions.
//!
//! `testdata/eval/*.txt` holds lines `expression => value : type`, then ` ! errno` for each
//! warning; a failure is `error errno (sqlstate): text`. `UPDATE_GOLDENS=1` writes them anew.

#![expect(
    clippy::too_many_lines,
    clippy::match_same_arms,
    reason = "lists of cases, one per line"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::catalog::Table;
use crate::sql::aggregate::Accumulator;
use crate::sql::ast::Statement;
use crate::sql::bind::{self, FindTable, Names};
use crate::sql::bound;
use crate::sql::context::{SessionFacts, Warnings};
use crate::sql::expr::{BinaryOp, CastType, CompareOp, NoRow, UNITS, UnaryOp, VariableScope};
use crate::sql::functions;
use crate::sql::parse::{parse_first, tests::DEFAULT_MODE};
use crate::types::column_type::IntWidth;
use crate::types::temporal::Zone;
use crate::types::{Datetime, Decimal, Timestamp};

/// A session without anything.
struct Nobody;

impl SessionFacts for Nobody {
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value<'static>> {
        Err(Error::new(Code::UnknownSystemVariable, name))
    }
    fn user_variable(&self, _: &str) -> Option<Arc<Value<'static>>> {
        None
    }
    fn database(&self) -> Option<String> {
        Some("test".to_owned())
    }
    fn user(&self) -> String {
        "root@localhost".to_owned()
    }
    fn connection_id(&self) -> u64 {
        7
    }
    /// Nothing here may take long.
    fn check_stop(&self) -> Result<()> {
        Err(Error::new(Code::QueryInterrupted, "stopped"))
    }

    fn last_insert_id(&self) -> u64 {
        0
    }
    fn row_count(&self) -> i64 {
        -1
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn version(&self) -> &'static str {
        "8.0.0"
    }
}

impl FindTable for Nobody {
    fn find_table(&self, _: &str, name: &str) -> Result<Arc<Table>> {
        Err(Error::new(Code::TableMissing, name))
    }
}

/// 2024-02-29 12:34:56.789012 in UTC.
const NOW: i64 = 1_709_210_096_789_012;

/// A context without anything.
pub(crate) fn context() -> EvalContext {
    EvalContext {
        now: Timestamp::from_clock(NOW, 6),
        zone: Zone::UTC,
        mode: DEFAULT_MODE,
        parameters: Arc::default(),
        slots: Vec::new(),
        facts: Arc::new(Nobody),
        warnings: Arc::new(Warnings::default()),
        strict_write: false,
    }
}

struct Columns(Vec<Value<'static>>);

impl Row for Columns {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        Ok(self.0[column_idx].borrow())
    }
}

fn bound(text: &str) -> Result<bound::Select> {
    let sql = format!("SELECT {text}");
    let parsed = parse_first(sql.as_bytes(), DEFAULT_MODE)?;
    let Statement::Select(select) = parsed.statement else {
        panic!("{sql}: no SELECT");
    };
    let names = Names {
        definitions: &Nobody,
        database: None,
        mode: DEFAULT_MODE,
        facts: &Nobody,
        parameters: &[],
        ctes: None,
        numbering: &bind::Numbering::new(),
        depth: 0,
        trace: None,
        widening: None,
    };
    bind::select(&select, &names)
}

/// The value, its type and the warnings of one expression, aggregates over one row included.
fn answer(text: &str, is_folded: bool) -> String {
    let ctx = context();
    match evaluated(text, is_folded, &ctx) {
        Ok(shown) => {
            let warnings = ctx.warnings.take();
            warnings.iter().fold(shown, |shown, warning| {
                format!("{shown} ! {}", warning.code.errno())
            })
        }
        Err(error) => {
            let (errno, state) = (error.code().errno(), error.code().sqlstate());
            format!("error {errno} ({state}): {}", error.message())
        }
    }
}

fn evaluated(text: &str, is_folded: bool, ctx: &EvalContext) -> Result<String> {
    let select = bound(text)?;
    let row = match &select.aggregation {
        None => Columns(Vec::new()),
        Some(aggregation) => Columns(aggregated(&aggregation.aggregates, ctx)?),
    };
    let mut expr = select.outputs[0].expr.clone();
    if is_folded {
        expr = fold(expr, ctx)?;
    }
    let value = eval(&expr, &row, ctx)?;
    fits(&value, &expr);
    Ok(format!("{} : {}", shown(&value), type_name(&expr.ty)))
}

fn aggregated(aggregates: &[bound::Aggregate], ctx: &EvalContext) -> Result<Vec<Value<'static>>> {
    let mut row = Vec::new();
    for aggregate in aggregates {
        let mut accumulator = Accumulator::new(aggregate, ctx);
        let keys = aggregate.order_by.iter().map(|key| &key.expr);
        let exprs = aggregate.args.iter().chain(keys);
        let values: Result<Vec<_>> = exprs.map(|expr| eval_exact(expr, &NoRow, ctx)).collect();
        accumulator.update(&values?, ctx)?;
        row.push(accumulator.finish(ctx)?);
    }
    Ok(row)
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Bytes(bytes) => bytes.iter().fold("0x".to_owned(), |mut text, byte| {
            write!(text, "{byte:02X}").unwrap();
            text
        }),
        Value::Text(text) => format!("'{}'", text.escape_debug()),
        other => other.to_text().into_owned(),
    }
}

fn type_name(ty: &ColumnType) -> String {
    let fsp = |name: &str, fsp: u8| {
        if fsp == 0 {
            name.into()
        } else {
            format!("{name}({fsp})")
        }
    };
    match ty {
        ColumnType::Int {
            width: IntWidth::Big,
            unsigned,
        } => {
            if *unsigned {
                "BIGINT UNSIGNED".into()
            } else {
                "BIGINT".into()
            }
        }
        ColumnType::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        ColumnType::Varchar { .. } | ColumnType::Char { .. } | ColumnType::Text(_) => "TEXT".into(),
        ColumnType::Varbinary { .. } => "BINARY".into(),
        ColumnType::Time { fsp: digits } => fsp("TIME", *digits),
        ColumnType::Datetime { fsp: digits } => fsp("DATETIME", *digits),
        ColumnType::Timestamp { fsp: digits } => fsp("TIMESTAMP", *digits),
        other => format!("{other:?}").to_uppercase(),
    }
}

/// Panics when the value's variant is not the one that its type is sent as.
fn fits(value: &Value<'_>, expr: &Expr) {
    let fits = match (&expr.ty, value) {
        (_, Value::Null) | (ColumnType::Null, _) => true,
        (ColumnType::Boolean, Value::Int(_)) => true,
        (ColumnType::Int { unsigned, .. }, Value::Int(_)) => !unsigned,
        (ColumnType::Int { unsigned, .. }, Value::UInt(_)) => *unsigned,
        (ColumnType::Float, Value::Float(_)) | (ColumnType::Double, Value::Double(_)) => true,
        (ColumnType::Decimal { .. }, Value::Decimal(_)) => true,
        (ColumnType::Date, Value::Date(_)) | (ColumnType::Time { .. }, Value::Time(_)) => true,
        (ColumnType::Datetime { .. }, Value::Datetime(_)) => true,
        (ColumnType::Timestamp { .. }, Value::Timestamp(_)) => true,
        (ColumnType::Year, Value::Year(_)) | (ColumnType::Json, Value::Json(_)) => true,
        (ty, Value::Text(_) | Value::Enum(_)) => typing::is_text(ty),
        (ty, Value::Bytes(_)) => typing::is_binary(ty),
        _ => false,
    };
    assert!(fits, "{value:?} as {:?} of {}", expr.ty, print::text(expr));
}

#[test]
fn goldens() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql/testdata/eval");
    let mut differences = String::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let old = std::fs::read_to_string(&path).unwrap();
        let mut new = String::new();
        for line in old.lines() {
            let text = line.split(" => ").next().unwrap().trim_end();
            if text.is_empty() || text.starts_with('#') {
                writeln!(new, "{line}").unwrap();
                continue;
            }
            let given = answer(text, false);
            let new_line = format!("{text} => {given}");
            if new_line != line {
                writeln!(
                    differences,
                    "{}\n  was {line}\n  is  {new_line}",
                    path.display()
                )
                .unwrap();
            }
            writeln!(new, "{new_line}").unwrap();
            let folded = answer(text, true);
            // The text of an error shows what was folded.
            let kind = |answer: &str| match answer.strip_prefix("error") {
                Some(rest) => rest.split(':').next().map(str::to_owned),
                None => Some(answer.to_owned()),
            };
            assert_eq!(kind(&folded), kind(&given), "folding changes {text}");
        }
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(&path, new).unwrap();
        }
    }
    if std::env::var_os("UPDATE_GOLDENS").is_none() {
        assert!(differences.is_empty(), "{differences}");
    }
}

fn expr(kind: ExprKind, ty: ColumnType) -> Expr {
    Expr {
        kind,
        ty,
        nullable: true,
    }
}

fn any_literal() -> impl Strategy<Value = Expr> {
    let text = prop_oneof![
        Just(String::new()),
        Just("2024-02-30".to_owned()),
        Just("2024-02-29 23:59:59.999999".to_owned()),
        Just("-838:59:59".to_owned()),
        Just("[1, {\"a\": \"b\"}]".to_owned()),
        Just("$[0].a".to_owned()),
        Just("%Y-%m-%d %H:%i:%s %j %p %f".to_owned()),
        Just("DAY_MICROSECOND".to_owned()),
        Just("Europe/Berlin".to_owned()),
        "[-+0-9.eE: ]{0,24}",
        "\\PC{0,8}",
        "[%_a\\\\]{0,12}",
    ];
    let decimal = (any::<i128>(), 0u8..31).prop_map(|(coefficient, scale)| {
        let number = Decimal::new(coefficient / 10, scale).unwrap_or(Decimal::max_of(38, scale));
        let ty = ColumnType::Decimal {
            precision: 38,
            scale,
        };
        expr(ExprKind::Literal(Value::Decimal(number)), ty)
    });
    let edge = prop_oneof![
        Just(0i64),
        Just(1),
        Just(-1),
        Just(2),
        Just(10),
        Just(i64::MIN),
        Just(i64::MAX),
        Just(20_240_229),
        Just(999),
        -100i64..100,
        any::<i64>(),
    ];
    let fsp = 0u8..=6;
    prop_oneof![
        Just(expr(ExprKind::Literal(Value::Null), ColumnType::Null)),
        edge.prop_map(|n| expr(ExprKind::Literal(Value::Int(n)), ColumnType::BIGINT)),
        any::<u64>().prop_map(|n| expr(
            ExprKind::Literal(Value::UInt(n)),
            ColumnType::BIGINT_UNSIGNED
        )),
        prop_oneof![
            any::<f64>().prop_filter("finite", |n| n.is_finite()),
            -10.0..10.0
        ]
        .prop_map(|n| expr(ExprKind::Literal(Value::Double(n)), ColumnType::Double)),
        decimal,
        text.prop_map(|text| {
            expr(
                ExprKind::Literal(Value::Text(text.into())),
                ColumnType::VARCHAR,
            )
        }),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| {
            let ty = ColumnType::Varbinary { bytes_max: None };
            expr(ExprKind::Literal(Value::Bytes(bytes.into())), ty)
        }),
        (any::<u32>(), any::<u64>(), fsp.clone()).prop_filter_map("date", |(date, micros, fsp)| {
            let date = crate::types::Date::from_packed(date % (1 << 23))?;
            let at = Datetime::new(date, micros % 86_400_000_000, fsp)?.truncate(fsp);
            Some(expr(
                ExprKind::Literal(Value::Datetime(at)),
                ColumnType::Datetime { fsp },
            ))
        }),
        (-3_020_399_000_000i64..3_020_399_000_000, fsp.clone()).prop_map(|(micros, fsp)| {
            let time = crate::types::Time::clipped(micros, fsp).0.truncate(fsp);
            expr(
                ExprKind::Literal(Value::Time(time)),
                ColumnType::Time { fsp },
            )
        }),
        (1_000_000i64..2_147_483_647_000_000, fsp).prop_map(|(micros, fsp)| {
            let at = Timestamp::from_clock(micros, fsp).truncate(fsp);
            expr(
                ExprKind::Literal(Value::Timestamp(at)),
                ColumnType::Timestamp { fsp },
            )
        }),
    ]
}

const BINARY: [BinaryOp; 11] = [
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::Divide,
    BinaryOp::IntegerDivide,
    BinaryOp::Modulo,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::ShiftLeft,
    BinaryOp::ShiftRight,
];

const COMPARE: [CompareOp; 7] = [
    CompareOp::Equal,
    CompareOp::NullSafeEqual,
    CompareOp::NotEqual,
    CompareOp::Less,
    CompareOp::LessOrEqual,
    CompareOp::Greater,
    CompareOp::GreaterOrEqual,
];

fn any_cast() -> impl Strategy<Value = CastType> {
    prop_oneof![
        Just(CastType::Signed),
        Just(CastType::Unsigned),
        prop::option::of(0u32..40).prop_map(CastType::Char),
        prop::option::of(0u32..40).prop_map(CastType::Binary),
        (1u8..=38, 0u8..=30).prop_map(|(precision, scale)| CastType::Decimal {
            precision: precision.max(scale),
            scale
        }),
        Just(CastType::Float),
        Just(CastType::Double),
        Just(CastType::Date),
        (0u8..=6).prop_map(CastType::Time),
        (0u8..=6).prop_map(CastType::Datetime),
        Just(CastType::Year),
    ]
}

/// Functions and operators over random operands.
fn any_expr() -> impl Strategy<Value = Expr> {
    any_literal().prop_recursive(4, 40, 4, |inner| {
        let pair = (inner.clone(), inner.clone());
        let truth = ColumnType::BIGINT;
        prop_oneof![
            (prop::sample::select(&BINARY[..]), pair.clone()).prop_map(|(op, (a, b))| {
                let ty = typing::binary_type(op, &a, &b);
                expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
            }),
            (any::<bool>(), inner.clone()).prop_map(|(negate, a)| {
                let op = if negate {
                    UnaryOp::Negate
                } else {
                    UnaryOp::BitNot
                };
                let ty = typing::unary_type(op, &a);
                expr(ExprKind::Unary(op, Box::new(a)), ty)
            }),
            (prop::sample::select(&COMPARE[..]), pair.clone()).prop_map({
                let truth = truth.clone();
                move |(op, (a, b))| {
                    expr(
                        ExprKind::Compare(op, Box::new(a), Box::new(b)),
                        truth.clone(),
                    )
                }
            }),
            pair.prop_map(move |(a, b)| {
                let (expr_, pattern) = (Box::new(a), Box::new(b));
                let like = ExprKind::Like {
                    expr: expr_,
                    pattern,
                    escape: Some('\\'),
                    negated: false,
                };
                expr(like, truth.clone())
            }),
            (inner.clone(), any_cast()).prop_map(|(a, target)| {
                let ty = typing::cast_type(&target);
                expr(ExprKind::Cast(Box::new(a), target), ty)
            }),
            (inner.clone(), inner.clone(), 0usize..20, any::<bool>()).prop_map(
                |(date, amount, unit, negated)| {
                    let unit = UNITS[unit].1;
                    let ty = typing::date_shift_type(&date, &amount, unit);
                    let (date, amount) = (Box::new(date), Box::new(amount));
                    expr(
                        ExprKind::DateShift {
                            date,
                            amount,
                            unit,
                            negated,
                        },
                        ty,
                    )
                }
            ),
            (
                any::<prop::sample::Index>(),
                prop::collection::vec(inner, 4)
            )
                .prop_map(|(index, mut args)| {
                    let function = functions::all()[index.index(functions::all().len())];
                    args.truncate(function.args_max.unwrap_or(4).max(function.args_min));
                    let ty = (function.result_type)(&args);
                    expr(ExprKind::Call(function, args), ty)
                }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_expression_has_a_value_of_its_type_or_an_error(expr in any_expr()) {
        let ctx = context();
        let _ = print::text(&expr);
        let _ = eval_condition(&expr, &NoRow, &ctx);
        if let Ok(value) = eval(&expr, &NoRow, &ctx) {
            fits(&value, &expr);
            if stability(&expr) == Stability::Constant {
                let folded = fold(expr.clone(), &ctx).unwrap();
                let again = eval(&folded, &NoRow, &ctx).unwrap();
                prop_assert_eq!(again.to_text(), value.to_text());
            }
        }
    }

    #[test]
    fn like_agrees_with_a_plain_definition(text in "[ab%_]{0,8}", pattern in "[ab%_\\\\]{0,8}") {
        let text: Vec<char> = text.chars().collect();
        let wanted: Vec<char> = pattern.chars().collect();
        let text_again: String = text.iter().collect();
        let is_like = like::is_like(&text_again, &pattern, Some('\\'), || Ok(())).unwrap();
        prop_assert_eq!(is_like, plain_like(&text, &wanted));
        let bytes = like::is_like_bytes(
            text_again.as_bytes(),
            pattern.as_bytes(),
            Some('\\'),
            || Ok(()),
        )
        .unwrap();
        prop_assert_eq!(bytes, is_like);
    }
}

fn plain_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['\\', next, rest @ ..] => text.first() == Some(next) && plain_like(&text[1..], rest),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| plain_like(&text[skipped..], rest)),
        ['_', rest @ ..] => !text.is_empty() && plain_like(&text[1..], rest),
        [next, rest @ ..] => text.first() == Some(next) && plain_like(&text[1..], rest),
    }
}

#[test]
fn like_does_not_blow_up() {
    let text = "a".repeat(5000);
    let pattern = "%a".repeat(500) + "b";
    assert!(!like::is_like(&text, &pattern, Some('\\'), || Ok(())).unwrap());
    let stop = || Err(Error::new(Code::QueryInterrupted, "stop"));
    assert!(like::is_like(&text, &pattern, Some('\\'), stop).is_err());
}

#[test]
fn lazy_branches_are_not_run() {
    let overflow = "9223372036854775807 + 1";
    for text in [
        format!("IF(1, 2, {overflow})"),
        format!("IFNULL(2, {overflow})"),
        format!("COALESCE(NULL, 2, {overflow})"),
        format!("CASE WHEN 1 THEN 2 ELSE {overflow} END"),
    ] {
        assert!(
            answer(&text, true).starts_with("2 :"),
            "{text}: {}",
            answer(&text, true)
        );
    }
    assert!(answer(&format!("0 AND {overflow}"), false).starts_with("0 :"));
    assert!(answer(&format!("1 OR {overflow}"), false).starts_with("1 :"));
}

#[test]
fn a_strict_write_makes_errors_of_losses() {
    let ctx = EvalContext {
        strict_write: true,
        ..context()
    };
    for (text, code) in [
        ("1 / 0", Code::DivisionByZero),
        ("'abc' + 1", Code::IncorrectTypeValue),
        ("DATE '9999-12-31' + INTERVAL 1 DAY", Code::DatetimeOverflow),
    ] {
        assert_eq!(
            evaluated(text, false, &ctx).unwrap_err().code(),
            code,
            "{text}"
        );
    }
}

#[test]
fn timestamps_compare_in_utc() {
    let ctx = EvalContext {
        zone: Zone::parse("+08:00").unwrap(),
        ..context()
    };
    let column = expr(ExprKind::Column(0), ColumnType::Timestamp { fsp: 0 });
    let literal = expr(
        ExprKind::Literal(Value::text("1970-01-02 08:00:00")),
        ColumnType::VARCHAR,
    );
    let compare = ExprKind::Compare(CompareOp::Equal, Box::new(column), Box::new(literal));
    let at = Timestamp::from_micros(86_400_000_000, 0).unwrap();
    let row = Columns(vec![Value::Timestamp(at)]);
    assert_eq!(
        eval_condition(&expr(compare, ColumnType::BIGINT), &row, &ctx),
        Ok(Some(true))
    );
}
