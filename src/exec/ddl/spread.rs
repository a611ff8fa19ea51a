//! The spread part of a PRIMARY KEY: `hash8(c, …)`, `hash32(c, …)`, `hash64(c, …)`, `reverse(c)` and
//! `bucket(c, n)` as its first part.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use crate::catalog::describe::quoted;
use crate::catalog::{BUCKETS_MAX, Column, KeyPart, Spread, SpreadKind, Table};
use crate::codec::key::Direction;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, Expr, KeyPartSource, Literal};
use crate::types::ColumnType;

/// A part as it is declared: what it is, and the names of its columns.
struct Declared {
    kind: SpreadKind,
    inputs: Vec<String>,
}

/// The call that a part is; `None` for a column.
pub(super) fn call(part: &ast::KeyPart) -> Option<&Expr> {
    match &part.source {
        KeyPartSource::Function(call) => Some(call),
        KeyPartSource::Column(_) | KeyPartSource::Prefix(..) | KeyPartSource::Expression(_) => None,
    }
}

/// Puts the part that a call is in front of the key, whose other parts are there.
///
/// # Errors
/// 1235 for another function, 1582 and 1210 for its arguments, 1072 for a column that is not there.
pub(super) fn define(table: &mut Table, part: &ast::KeyPart, call: &Expr) -> Result<()> {
    let declared = declared(call)?;
    if part.descending {
        return Err(Error::unsupported(format!(
            "{} with DESC: what it computes has no direction; the columns behind it may have one",
            declared.kind.name()
        )));
    }
    let mut inputs = Vec::with_capacity(declared.inputs.len());
    for name in &declared.inputs {
        let column_idx = table.column_idx(name).ok_or_else(|| {
            let text = format!("Key column '{name}' doesn't exist in table");
            Error::new(Code::KeyColumnMissing, text)
        })?;
        if inputs.contains(&column_idx) {
            let text = format!("Duplicate column name '{name}'");
            return Err(Error::new(Code::DuplicateColumn, text));
        }
        inputs.push(column_idx);
    }
    let spread = Spread {
        kind: declared.kind,
        inputs,
    };
    check_in_key(table, &spread)?;
    check_type(table, &spread)?;
    let id = table.next_column_id()?;
    let column = Column::of_spread(id, spread, &table.columns);
    table.columns.push(column);
    let part = KeyPart {
        column_idx: table.columns.len() - 1,
        direction: Direction::Asc,
    };
    table.key.insert(0, part);
    Ok(())
}

/// The error for a call that is not the first part.
pub(super) fn misplaced() -> Error {
    Error::unsupported(
        "a computed part of a primary key that is not its first: PRIMARY KEY (hash8(a), a, b)",
    )
}

/// The error for a call among the parts of an index: what it is not, and the parts that would do.
pub(super) fn in_index(call: &Expr, parts: &[ast::KeyPart]) -> Error {
    let Ok(Declared { kind, inputs }) = declared(call) else {
        let text = "an expression in an index stands in parentheses of its own: CREATE INDEX i ON t \
                    ((lower(c))); hash8, bucket and the like are for the primary key";
        return Error::new(Code::Parse, text);
    };
    let plain = parts.iter().filter_map(|part| match &part.source {
        KeyPartSource::Column(name) => Some((name, part.descending)),
        KeyPartSource::Function(_) | KeyPartSource::Prefix(..) | KeyPartSource::Expression(_) => {
            None
        }
    });
    let mut names: Vec<(&String, bool)> = plain.collect();
    let is_named = |name: &String| {
        let mut all = names.iter();
        all.any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    let missing: Vec<&String> = inputs.iter().filter(|name| !is_named(name)).collect();
    names.splice(0..0, missing.into_iter().map(|name| (name, false)));
    let names = names.into_iter().map(|(name, descending)| {
        let direction = if descending { " DESC" } else { "" };
        format!("{}{direction}", quoted(name))
    });
    Error::unsupported(format!(
        "{} in an index: only the rows of a table are spread, by its primary key. Name the columns \
         alone: ({})",
        kind.name(),
        names.collect::<Vec<_>>().join(", ")
    ))
}

fn declared(call: &Expr) -> Result<Declared> {
    let Expr::Call(call) = call else {
        return Err(Error::unsupported("an expression part in a primary key"));
    };
    let is_plain = !call.distinct && !call.star && call.over.is_none() && call.order_by.is_empty();
    let name = call.name.to_ascii_lowercase();
    let args: &[Expr] = &call.args;
    let (kind, inputs) = match (name.as_str(), args) {
        ("hash8", [_, ..]) => (SpreadKind::Hash8, args),
        ("hash32", [_, ..]) => (SpreadKind::Hash32, args),
        ("hash64", [_, ..]) => (SpreadKind::Hash64, args),
        ("reverse", [_]) => (SpreadKind::Reverse, args),
        ("bucket", [column, count]) => (
            SpreadKind::Bucket(buckets(count)?),
            std::slice::from_ref(column),
        ),
        ("hash8" | "hash32" | "hash64" | "reverse" | "bucket", _) => {
            let text = format!("Incorrect parameter count in the call to native function '{name}'");
            return Err(Error::new(Code::WrongParameterCount, text));
        }
        _ => {
            return Err(Error::unsupported(format!(
                "the function {name} in a primary key; hash8, hash32, hash64, reverse and bucket are \
                 there"
            )));
        }
    };
    let inputs = inputs.iter().map(|arg| match arg {
        Expr::Column(column) if column.table.is_none() && is_plain => Ok(column.column.clone()),
        _ => Err(wrong_arguments(&name, "they are columns of the key")),
    });
    Ok(Declared {
        kind,
        inputs: inputs.collect::<Result<_>>()?,
    })
}

/// The number of buckets.
fn buckets(count: &Expr) -> Result<u16> {
    let told = match count {
        Expr::Literal(Literal::Int(count)) => {
            let few = u16::try_from(*count).ok();
            if let Some(few) = few.filter(|few| (1..=BUCKETS_MAX).contains(few)) {
                return Ok(few);
            }
            format!(", not {count}")
        }
        _ => String::new(),
    };
    let what = format!("the number of buckets is one from 1 to {BUCKETS_MAX}{told}");
    Err(wrong_arguments("bucket", &what))
}

fn wrong_arguments(name: &str, what: &str) -> Error {
    let text = format!("Incorrect arguments to {name}: {what}");
    Error::new(Code::WrongArguments, text)
}

/// Two rows with one value of the part and different columns are two rows: so the columns must be in the
/// key as well.
fn check_in_key(table: &Table, spread: &Spread) -> Result<()> {
    let missing: Vec<usize> = spread
        .inputs
        .iter()
        .copied()
        .filter(|idx| table.key_position(*idx).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let keyed = table.key.iter().map(|part| part.column_idx);
    let name = |idx: usize| {
        let column = table.columns.get(idx);
        column.map_or(String::new(), |column| quoted(&column.name))
    };
    let names: Vec<String> = missing.iter().copied().chain(keyed).map(name).collect();
    let what = format!(
        "its columns are columns of the key, too: PRIMARY KEY ({}, {})",
        table.spread_text(spread),
        names.join(", ")
    );
    Err(wrong_arguments(spread.kind.name(), &what))
}

fn check_type(table: &Table, spread: &Spread) -> Result<()> {
    let input = spread
        .inputs
        .first()
        .and_then(|idx| table.columns.get(*idx));
    let Some(column) = input.filter(|_| spread.kind == SpreadKind::Reverse) else {
        return Ok(());
    };
    let ty: &ColumnType = &column.ty;
    if ty.is_text() || ty.is_binary() || ty.is_integer() {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "reverse of column '{}' of type {ty}; of texts, binary strings and whole numbers it is there, and \
         hash8 and bucket of all",
        column.name
    )))
}
