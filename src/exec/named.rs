//! Error 1690 quotes the expression that is out of range; where that is evaluated, columns are
//! positions (`$4`). Here, where the row is known, they get their names, as MySQL quotes them.

use crate::catalog::Table;
use crate::catalog::describe::quoted;
use crate::error::{Code, Error};
use crate::sql::aggregate::names;
use crate::sql::bound::{AggregateKind, Aggregation, From, Relation, Select};
use crate::sql::eval::print;
use crate::sql::expr::Expr;

/// The error with names in place of the positions of a block's rows: those of its tables. What is computed
/// over groups has its names already, see [`of_output`].
pub(super) fn of_select(error: Error, select: &Select) -> Error {
    // What is windowed is computed over other rows besides.
    if select.windowing.is_some() {
        return error;
    }
    of(error, |idx| of_source(select, idx))
}

/// The error of what a block makes of a row or a group; of a group it gets the texts of the keys and
/// aggregates in place of their positions.
pub(super) fn of_output(error: Error, select: &Select) -> Error {
    match &select.aggregation {
        Some(aggregation) if select.windowing.is_none() => {
            of(error, |idx| of_group(select, aggregation, idx))
        }
        Some(_) | None => error,
    }
}

fn of_source(select: &Select, idx: usize) -> Option<String> {
    match &select.from {
        From::Nothing => None,
        From::Table(table) => of_column(table, &select.alias, idx),
        From::Joined(joined) => {
            let source = joined.source_of(idx)?;
            let within = idx.checked_sub(source.first_column)?;
            match &source.relation {
                Relation::Table(table) => of_column(table, &source.alias, within),
                Relation::Query(query) => {
                    let columns = query.columns();
                    let name = &columns.get(within)?.name;
                    Some(format!("{}.{}", quoted(&source.alias), quoted(name)))
                }
                Relation::Listed(listed) => of_column(&listed.table, &source.alias, within),
                Relation::Round(_) => None,
            }
        }
    }
}

fn of_group(select: &Select, aggregation: &Aggregation, idx: usize) -> Option<String> {
    let column = |idx| of_source(select, idx).unwrap_or_default();
    let text = |expr: &Expr| print::text_with(expr, &column);
    if let Some(key) = aggregation.keys.get(idx) {
        return Some(text(key));
    }
    let idx = idx.checked_sub(aggregation.keys.len())?;
    let aggregate = aggregation.aggregates.get(idx)?;
    let args: Vec<String> = aggregate.args.iter().map(text).collect();
    // Nobody wrote most of these: they are columns that the keys determine.
    if aggregate.kind == AggregateKind::AnyValue {
        return args.into_iter().next();
    }
    let name = names::of(aggregate.kind).to_ascii_lowercase();
    let distinct = if aggregate.distinct { "distinct " } else { "" };
    // As MySQL prints `COUNT(*)`.
    let args = if args.is_empty() {
        "0".to_owned()
    } else {
        args.join(",")
    };
    Some(format!("{name}({distinct}{args})"))
}

/// The error with names in place of the positions of a table's rows; behind the row there may be
/// another one like it.
pub(super) fn of_table(error: Error, table: &Table) -> Error {
    let count = table.columns.len();
    of(error, |idx| {
        let within = idx.checked_rem(count)?;
        of_column(table, &table.name, within)
    })
}

fn of_column(table: &Table, alias: &str, idx: usize) -> Option<String> {
    let column = table.columns.get(idx)?;
    let (database, alias) = (quoted(&table.database), quoted(alias));
    Some(format!("{database}.{alias}.{}", quoted(&column.name)))
}

fn of(error: Error, name: impl Fn(usize) -> Option<String>) -> Error {
    if error.code() != Code::NumericOverflow || !error.message().contains('$') {
        return error;
    }
    let mut pieces = error.message().split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = piece.split_at(digits);
        let position = number
            .parse()
            .ok()
            .and_then(|number: usize| number.checked_sub(1));
        if let Some(name) = position.and_then(&name) {
            text.push_str(&name);
        } else {
            text.push('$');
            text.push_str(number);
        }
        text.push_str(rest);
    }
    Error::new(error.code(), text)
}
