//! What a FROM gives: one table, or a join, a query in parentheses, a query by name; and what may stand
//! in expressions over its rows, subqueries among them.

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::expr::{Expr, Kind, Source};
use crate::grammar;
use crate::schema::Table;

/// Levels of expressions in ON, in the query in parentheses, in a subquery.
const INNER_DEPTH: u32 = 1;

/// Subqueries within each other.
const NESTED_MAX: usize = 2;

/// Expressions over the rows of a FROM.
pub(crate) struct Rows<'a> {
    /// The names of the columns and their kinds.
    pub(crate) columns: Vec<(String, Kind)>,
    /// What no two rows have in common; NULL where an outer join has no row.
    pub(crate) key: &'static str,
    /// What subqueries may read.
    tables: &'a [Table],
    /// How many queries are around this one.
    level: usize,
}

impl Source for Rows<'_> {
    fn leaf(&self, kind: Kind, rng: &mut StdRng) -> Expr {
        if self.level < NESTED_MAX && rng.random_ratio(1, 40) {
            return self.subquery(kind, rng);
        }
        let columns = self.columns.iter().filter(|(_, other)| *other == kind);
        let columns: Vec<_> = columns.collect();
        let text = match columns.choose(rng).filter(|_| rng.random_ratio(3, 4)) {
            Some((name, _)) => name.clone(),
            None => grammar::literal(kind, rng),
        };
        Expr::leaf(kind, text)
    }
}

/// The columns of a table under a name.
fn columns_of(table: &Table, alias: &str) -> Vec<(String, Kind)> {
    let prefix = if alias.is_empty() {
        String::new()
    } else {
        format!("{alias}.")
    };
    let columns = table.columns.iter();
    columns
        .map(|column| (format!("{prefix}{}", column.name), column.kind))
        .collect()
}

impl<'a> Rows<'a> {
    fn new((columns, key): (Vec<(String, Kind)>, &'static str), tables: &'a [Table]) -> Rows<'a> {
        Rows {
            columns,
            key,
            tables,
            level: 0,
        }
    }

    /// One table, and its FROM.
    pub(crate) fn of_table(tables: &'a [Table], rng: &mut StdRng) -> (Expr, Rows<'a>) {
        let table = tables.choose(rng).expect("there is one");
        let rows = Rows::new((columns_of(table, ""), "c0"), tables);
        (Expr::leaf(Kind::Bool, table.name.clone()), rows)
    }

    /// The rows of a table.
    pub(crate) fn of_one(table: &Table, tables: &'a [Table]) -> Rows<'a> {
        Rows::new((columns_of(table, ""), "c0"), tables)
    }

    /// The rows of two tables that have the same key: the text of FROM, and the rows.
    pub(crate) fn of_two(
        (left, right): (&Table, &Table),
        tables: &'a [Table],
    ) -> (String, Rows<'a>) {
        let mut columns = columns_of(left, "a");
        columns.extend(columns_of(right, "b"));
        let from = format!("{} AS a JOIN {} AS b ON a.c0 = b.c0", left.name, right.name);
        (from, Rows::new((columns, "a.c0, b.c0"), tables))
    }

    /// `WITH`, if there is one, FROM, and the rows.
    pub(crate) fn random(tables: &'a [Table], rng: &mut StdRng) -> (Option<Expr>, Expr, Rows<'a>) {
        match rng.random_range(0..11) {
            10 => Rows::recursive(tables, rng),
            0 | 1 => {
                let (from, rows) = Rows::joined(tables, rng);
                (None, from, rows)
            }
            2 => {
                let (query, columns) = derived(tables, rng);
                let from = Expr::tree(Kind::Bool, &["(", ") AS d"], vec![query]);
                (None, from, Rows::new((columns, "d.x0"), tables))
            }
            3 => {
                let (query, mut columns) = derived(tables, rng);
                let with = Expr::tree(Kind::Bool, &["WITH w AS (", ")"], vec![query]);
                if rng.random_bool(0.5) {
                    let from = Expr::leaf(Kind::Bool, "w AS d".to_owned());
                    return (Some(with), from, Rows::new((columns, "d.x0"), tables));
                }
                let table = tables.choose(rng).expect("there is one");
                columns.extend(columns_of(table, "a"));
                let rows = Rows::new((columns, "d.x0, a.c0"), tables);
                let on = Expr::random(&rows, Kind::Bool, (rng, INNER_DEPTH));
                let before = format!("w AS d LEFT JOIN {} AS a ON ", table.name);
                (
                    Some(with),
                    Expr::tree(Kind::Bool, &[&before, ""], vec![on]),
                    rows,
                )
            }
            _ => {
                let (from, rows) = Rows::of_table(tables, rng);
                (None, from, rows)
            }
        }
    }

    /// A recursive query, or that with a table.
    fn recursive(tables: &'a [Table], rng: &mut StdRng) -> (Option<Expr>, Expr, Rows<'a>) {
        let most = rng.random_range(1..9);
        let with = match rng.random_range(0..3) {
            0 => format!("SELECT 1, 'a' UNION ALL SELECT n + 1, s FROM r WHERE n < {most}"),
            1 => format!(
                "SELECT 0, CAST('' AS CHAR(20)) UNION ALL \
                 SELECT n + 2, CONCAT(s, 'b') FROM r WHERE n < {most}"
            ),
            _ => format!(
                "SELECT c0, CAST(c0 AS CHAR(20)) FROM {} WHERE c0 < {most} UNION \
                 SELECT n + 100, s FROM r WHERE n < 300",
                tables.choose(rng).expect("there is one").name
            ),
        };
        let with = Expr::leaf(Kind::Bool, format!("WITH RECURSIVE r (n, s) AS ({with})"));
        let mut columns = vec![
            ("d.n".to_owned(), Kind::Int),
            ("d.s".to_owned(), Kind::Text),
        ];
        if rng.random_bool(0.5) {
            let rows = Rows::new((columns, "d.n"), tables);
            return (
                Some(with),
                Expr::leaf(Kind::Bool, "r AS d".to_owned()),
                rows,
            );
        }
        let table = tables.choose(rng).expect("there is one");
        columns.extend(columns_of(table, "a"));
        let rows = Rows::new((columns, "d.n, a.c0"), tables);
        let join = *["JOIN", "LEFT JOIN"].choose(rng).expect("there is one");
        let from = format!("r AS d {join} {} AS a ON d.n = a.c0", table.name);
        (Some(with), Expr::leaf(Kind::Bool, from), rows)
    }

    /// Two tables, or one with itself.
    fn joined(tables: &'a [Table], rng: &mut StdRng) -> (Expr, Rows<'a>) {
        let mut choose = || tables.choose(rng).expect("there is one");
        let (left, right) = (choose(), choose());
        let mut columns = columns_of(left, "a");
        columns.extend(columns_of(right, "b"));
        let rows = Rows::new((columns, "a.c0, b.c0"), tables);
        let joins = [
            "JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "INNER JOIN",
            "STRAIGHT_JOIN",
            "CROSS JOIN",
        ];
        let join = *joins.choose(rng).expect("there is one");
        let before = format!("{} AS a {join} {} AS b", left.name, right.name);
        if rng.random_ratio(1, 6) {
            return (Expr::leaf(Kind::Bool, format!("{before} USING (c0)")), rows);
        }
        if join == "CROSS JOIN" {
            return (Expr::leaf(Kind::Bool, before), rows);
        }
        // Mostly by columns, as people do.
        let pair = |kind: Kind| {
            let side = |alias: char| {
                let mut columns = rows.columns.iter();
                columns.find(|(name, other)| name.starts_with(alias) && *other == kind)
            };
            Some(format!("{} = {}", side('a')?.0, side('b')?.0))
        };
        let pairs: Vec<String> = Kind::ALL.into_iter().filter_map(pair).collect();
        let equal = pairs.choose(rng).filter(|_| rng.random_ratio(3, 4));
        let on = match equal {
            Some(pair) if rng.random_bool(0.6) => Expr::leaf(Kind::Bool, pair.clone()),
            Some(pair) => {
                let more = Expr::random(&rows, Kind::Bool, (rng, INNER_DEPTH));
                Expr::tree(Kind::Bool, &[&format!("{pair} AND "), ""], vec![more])
            }
            None => Expr::random(&rows, Kind::Bool, (rng, INNER_DEPTH)),
        };
        let from = Expr::tree(Kind::Bool, &[&format!("{before} ON "), ""], vec![on]);
        (from, rows)
    }

    /// A subquery that gives one value, or none; it may look at the row around it.
    fn subquery(&self, kind: Kind, rng: &mut StdRng) -> Expr {
        let table = self.tables.choose(rng).expect("there is one");
        let alias = format!("s{}", self.level);
        let inner = Rows {
            columns: columns_of(table, &alias),
            key: "",
            tables: self.tables,
            level: self.level + 1,
        };
        let mut both = Rows {
            columns: inner.columns.clone(),
            ..inner
        };
        if rng.random_bool(0.5) {
            both.columns.extend(self.columns.iter().cloned());
        }
        let filter = Expr::random(&both, Kind::Bool, (rng, INNER_DEPTH));
        let from = format!(" FROM {} AS {alias} WHERE ", table.name);
        if kind == Kind::Bool {
            let (kind, members) = (
                Kind::Int,
                Expr::random(&inner, Kind::Int, (rng, INNER_DEPTH)),
            );
            if rng.random_bool(0.5) {
                let before = ["EXISTS (SELECT 1", "NOT EXISTS (SELECT 1"];
                let before = format!("{}{from}", before.choose(rng).expect("there is one"));
                return Expr::tree(Kind::Bool, &[&before, ")"], vec![filter]).aggregate();
            }
            let operators = [
                " IN (SELECT ",
                " NOT IN (SELECT ",
                " = ANY (SELECT ",
                " < ALL (SELECT ",
            ];
            let operator = *operators.choose(rng).expect("there is one");
            let wanted = Expr::random(self, kind, (rng, INNER_DEPTH));
            let texts = ["(", operator, from.as_str(), "))"];
            return Expr::tree(Kind::Bool, &texts, vec![wanted, members, filter]).aggregate();
        }
        let value = Expr::random(&inner, kind, (rng, INNER_DEPTH));
        let function = *["MIN(", "MAX("].choose(rng).expect("there is one");
        let texts = [&format!("(SELECT {function}"), &format!("){from}"), ")"];
        Expr::tree(kind, &texts.map(AsRef::as_ref), vec![value, filter]).aggregate()
    }
}

/// A query in parentheses, and the columns of `d` that it gives.
fn derived(tables: &[Table], rng: &mut StdRng) -> (Expr, Vec<(String, Kind)>) {
    let (from, rows) = Rows::of_table(tables, rng);
    let mut texts = vec!["SELECT c0 AS x0, ".to_owned()];
    let (mut parts, mut columns) = (Vec::new(), vec![("d.x0".to_owned(), Kind::Int)]);
    for at in 1..=rng.random_range(2..=4) {
        let kind = *Kind::ALL.choose(rng).expect("there is one");
        parts.push(Expr::random(&rows, kind, (rng, INNER_DEPTH)));
        columns.push((format!("d.x{at}"), kind));
        texts.push(format!(" AS x{at}, "));
    }
    if let Some(last) = texts.last_mut() {
        *last = format!("{} FROM {from}", last.trim_end_matches(", "));
    }
    if rng.random_bool(0.5) {
        if let Some(last) = texts.last_mut() {
            last.push_str(" WHERE ");
        }
        parts.push(Expr::random(&rows, Kind::Bool, (rng, INNER_DEPTH)));
        texts.push(String::new());
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    (Expr::tree(Kind::Bool, &texts, parts), columns)
}
