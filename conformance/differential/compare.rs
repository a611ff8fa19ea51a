//! Whether two answers are the same.
//!
//! Rows are compared in their order where ORDER BY fixes it, as sets with repetition elsewhere.
//! Floating point numbers may differ in their last digits: sums depend on the order of rows. Types are
//! compared by class: MariaDB has narrower integers for literals and counts, and other lengths.

use std::cmp::Ordering;
use std::fmt;

use crate::ask::Ask;
use crate::wire::{Answer, Answers, Column, Row};

/// Digits after the first in which doubles must agree.
const DOUBLE_DIGITS: usize = 9;

/// What differs in two answers.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    pub(crate) kind: Kind,
    pub(crate) reference: String,
    pub(crate) ours: String,
    /// The two rows that differ, where it is that.
    pub(crate) rows: Option<(Row, Row)>,
}

/// In what respect answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One failed, or both in different ways.
    Error,
    /// The type of a column.
    Type,
    /// A value, or how many rows there are.
    Value,
}

impl Kind {
    /// Its word in `known.txt`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Error => "error",
            Kind::Type => "type",
            Kind::Value => "value",
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            kind,
            reference,
            ours,
            ..
        } = self;
        write!(
            f,
            "  {}: MariaDB {reference}\n  {}: Meseta  {ours}",
            kind.word(),
            kind.word()
        )
    }
}

/// The first difference of two answers to a query.
pub(crate) fn differ(answers: &Answers, query: &Ask) -> Option<Difference> {
    let difference = |kind, reference: String, ours: String| {
        Some(Difference {
            kind,
            reference,
            ours,
            rows: None,
        })
    };
    match (&answers.reference, &answers.ours) {
        (
            Answer::Rows { columns, rows },
            Answer::Rows {
                columns: our_columns,
                rows: our_rows,
            },
        ) => {
            for (theirs, own) in columns.iter().zip(our_columns) {
                let (theirs, own) = (Class::of(theirs), Class::of(own));
                if theirs != own {
                    return difference(Kind::Type, format!("{theirs:?}"), format!("{own:?}"));
                }
            }
            // Doubles that are nearly equal may come in any order.
            let is_double = |column: &Column| matches!(column.type_code, 4 | 5);
            let is_ordered = query.is_ordered() && !columns.iter().any(is_double);
            different_rows(columns, (rows, our_rows), is_ordered)
        }
        (
            Answer::Error { errno, text },
            Answer::Error {
                errno: own,
                text: own_text,
            },
        ) => {
            if errno == own {
                return None;
            }
            difference(
                Kind::Error,
                format!("{errno} {text}"),
                format!("{own} {own_text}"),
            )
        }
        (Answer::Error { errno, text }, Answer::Rows { rows, .. }) => {
            difference(Kind::Error, format!("{errno} {text}"), first(rows))
        }
        (Answer::Rows { rows, .. }, Answer::Error { errno, text }) => {
            difference(Kind::Error, first(rows), format!("{errno} {text}"))
        }
    }
}

fn first(rows: &[Row]) -> String {
    rows.first().map_or("no rows".to_owned(), |row| shown(row))
}

/// What of a column's type must be the same.
#[derive(Debug, PartialEq, Eq)]
enum Class {
    Int { unsigned: bool },
    Decimal { decimals: u8 },
    Float,
    Double,
    Date,
    Time { decimals: u8 },
    Datetime { decimals: u8 },
    Year,
    Text,
    Bytes,
    Null,
    Other(u8),
}

impl Class {
    fn of(column: &Column) -> Class {
        let decimals = column.decimals;
        match column.type_code {
            1 | 2 | 3 | 8 | 9 => Class::Int {
                unsigned: column.is_unsigned,
            },
            0 | 246 => Class::Decimal { decimals },
            4 => Class::Float,
            5 => Class::Double,
            6 => Class::Null,
            7 | 12 => Class::Datetime { decimals },
            10 => Class::Date,
            11 => Class::Time { decimals },
            13 => Class::Year,
            15 | 247..=254 if column.is_binary => Class::Bytes,
            15 | 247..=254 => Class::Text,
            other => Class::Other(other),
        }
    }
}

/// The first rows that differ.
fn different_rows(
    columns: &[Column],
    (theirs, ours): (&[Row], &[Row]),
    is_ordered: bool,
) -> Option<Difference> {
    if theirs.len() != ours.len() {
        let count = |rows: &[Row]| format!("{} rows, first {}", rows.len(), first(rows));
        return Some(Difference {
            kind: Kind::Value,
            reference: count(theirs),
            ours: count(ours),
            rows: None,
        });
    }
    let keyed = |rows: &'_ [Row]| -> Vec<(Vec<String>, usize)> {
        let keys = rows.iter().enumerate();
        let mut keys: Vec<_> = keys.map(|(at, row)| (key(columns, row), at)).collect();
        if !is_ordered {
            keys.sort_by(|(a, at), (b, other_at)| by_size(a, b).then(at.cmp(other_at)));
        }
        keys
    };
    let pairs = keyed(theirs).into_iter().zip(keyed(ours));
    let mut different = pairs.filter(|(a, b)| a.0 != b.0);
    let ((_, a), (_, b)) = different.next()?;
    Some(Difference {
        kind: Kind::Value,
        reference: shown(&theirs[a]),
        ours: shown(&ours[b]),
        rows: Some((theirs[a].clone(), ours[b].clone())),
    })
}

/// In the order of their numbers, so that rows meet which differ by a little; texts behind them.
fn by_size(a: &[String], b: &[String]) -> Ordering {
    // A double is followed by how many digits it shows.
    let number = |cell: &'_ str| {
        cell.split(' ')
            .next()
            .and_then(|word| word.parse::<f64>().ok())
    };
    let size = |cell: &String| number(cell.trim_matches('"'));
    let sizes = |row: &[String]| row.iter().map(size).collect::<Vec<_>>();
    let both = sizes(a).into_iter().zip(sizes(b));
    let by_number = both.map(|pair| match pair {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    let first = by_number
        .zip(a.iter().zip(b))
        .map(|(order, (a, b))| order.then(a.cmp(b)));
    first.fold(Ordering::Equal, Ordering::then)
}

/// What of a row must be the same.
fn key(columns: &[Column], row: &Row) -> Vec<String> {
    let cells = columns.iter().zip(row);
    let cells = cells.map(|(column, cell)| match cell {
        None => "NULL".to_owned(),
        Some(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            match text.parse::<f64>() {
                Ok(number) if matches!(column.type_code, 4 | 5) => rounded(number, &text),
                Ok(0.0) => format!("{:?}", text.trim_start_matches('-')),
                Ok(_) | Err(_) => format!("{text:?}"),
            }
        }
    });
    cells.collect()
}

/// A double without its last digits, and how many digits it shows after the point where that is
/// fixed.
fn rounded(number: f64, text: &str) -> String {
    // Neither has a sign on zero in common with the other.
    let number = if number == 0.0 { 0.0 } else { number };
    let digits = match text.split_once('.') {
        Some((_, fraction)) if fraction.ends_with('0') => fraction.len(),
        Some(_) | None => 0,
    };
    format!("{number:.DOUBLE_DIGITS$e} {digits}")
}

/// Numbers that differ by no more, of themselves or of one, may differ by where quotients were rounded:
/// four digits after the point are left to the least of them.
const CLOSE: f64 = 1e-3;

/// Digits of the widest DECIMAL here; MySQL has 65.
const DECIMAL_DIGITS_MAX: usize = 38;

fn number(cell: Option<&[u8]>) -> Option<f64> {
    std::str::from_utf8(cell?).ok()?.parse().ok()
}

/// Whether two rows have the same texts, and numbers that are nearly the same.
pub(crate) fn are_close(theirs: &Row, ours: &Row) -> bool {
    theirs.iter().zip(ours).all(|(a, b)| {
        let are_close = |(a, b): (f64, f64)| (a - b).abs() <= CLOSE * a.abs().max(1.0);
        a == b
            || number(a.as_deref())
                .zip(number(b.as_deref()))
                .is_some_and(are_close)
            || texts_are_close(a.as_deref(), b.as_deref(), are_close)
    })
}

/// Whether the numbers of the first row are whole, and those of the second at most a half away.
pub(crate) fn is_rounded(theirs: &Row, ours: &Row) -> bool {
    theirs.iter().zip(ours).all(|(a, b)| {
        let is_rounded = |(a, b): (f64, f64)| a.fract() == 0.0 && (a - b).abs() <= 0.5;
        a == b
            || number(a.as_deref())
                .zip(number(b.as_deref()))
                .is_some_and(is_rounded)
    })
}

/// Whether the texts of the first row are those of the second or begin them.
pub(crate) fn is_cut(theirs: &Row, ours: &Row) -> bool {
    let begins = |(a, b): (&Option<Vec<u8>>, &Option<Vec<u8>>)| match (a, b) {
        (Some(a), Some(b)) => !a.is_empty() && b.starts_with(a),
        _ => a == b,
    };
    theirs.iter().zip(ours).all(begins)
}

/// Whether two texts differ only in numbers within them, which are nearly the same.
fn texts_are_close(a: Option<&[u8]>, b: Option<&[u8]>, close: impl Fn((f64, f64)) -> bool) -> bool {
    let text = |cell: Option<&[u8]>| String::from_utf8(cell?.to_vec()).ok();
    let (Some(a), Some(b)) = (text(a), text(b)) else {
        return false;
    };
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let around = |text: &str| text.replace(is_digit, "");
    let numbers = |text: &str| -> Vec<f64> {
        let parts = text.split(|c: char| !is_digit(c));
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    let (x, y) = (numbers(&a), numbers(&b));
    around(&a) == around(&b) && x.len() == y.len() && x.into_iter().zip(y).all(close)
}

/// Whether a cell is a number with more digits than there are here.
pub(crate) fn is_wide(cell: Option<&[u8]>) -> bool {
    let digits = |cell: &[u8]| cell.iter().filter(|byte| byte.is_ascii_digit()).count();
    number(cell).is_some() && DECIMAL_DIGITS_MAX < cell.map_or(0, digits)
}

/// Characters of a row that are shown.
const SHOWN_CHARS_MAX: usize = 300;

fn shown(row: &[Option<Vec<u8>>]) -> String {
    let cells = row.iter().map(|cell| {
        let Some(bytes) = cell else {
            return "NULL".to_owned();
        };
        if let Ok(text) = std::str::from_utf8(bytes) {
            return format!("{text:?}");
        }
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        format!("0x{}", digits.collect::<Vec<_>>().concat())
    });
    let text = cells.collect::<Vec<_>>().join(", ");
    let some: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    match text.len() - some.len() {
        0 => some,
        more => format!("{some}… and {more} bytes"),
    }
}
