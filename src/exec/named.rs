//! Error 1690 quotes the expression that is out of range; where that is evaluated, columns are
//! positions (`$4`). Here, where the row is known, they get their names, as MySQL quotes them.

use crate::catalog::Table;
use crate::catalog::describe::quoted;
use crate::error::{Code, Error};
use crate::sql::bound::{From, Relation, Select};

/// The error with names in place of the positions of a block's rows.
pub(super) fn of_select(error: Error, select: &Select) -> Error {
    // What is grouped or windowed is computed over other rows besides.
    if select.aggregation.is_some() || select.windowing.is_some() {
        return error;
    }
    match &select.from {
        From::Nothing => error,
        From::Table(table) => of(error, |idx| of_column(table, &select.alias, idx)),
        From::Joined(joined) => of(error, |idx| {
            let source = joined.source_of(idx)?;
            let within = idx.checked_sub(source.first_column)?;
            match &source.relation {
                Relation::Table(table) => of_column(table, &source.alias, within),
                Relation::Query(query) => {
                    let columns = query.columns();
                    let name = &columns.get(within)?.name;
                    Some(format!("{}.{}", quoted(&source.alias), quoted(name)))
                }
                Relation::Round(_) => None,
            }
        }),
    }
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
