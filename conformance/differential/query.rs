//! A random SELECT over the tables of a schema, clause by clause.

use std::fmt;

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::expr::{Expr, Kind, Source};
use crate::grammar;
use crate::rows::Rows;
use crate::schema::Schema;
use crate::window;

/// Levels of an expression in the list of outputs, in conditions, under an aggregate.
const OUTPUT_DEPTH: u32 = 3;
const FILTER_DEPTH: u32 = 3;
const GROUP_DEPTH: u32 = 1;

/// A SELECT.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    distinct: bool,
    items: Vec<Expr>,
    /// `WITH …`.
    with: Option<Expr>,
    from: Expr,
    filter: Option<Expr>,
    union: Option<Box<Union>>,
    group: Option<Vec<Expr>>,
    rollup: bool,
    having: Option<Expr>,
    order: Option<Order>,
    limit: Option<Limit>,
}

/// What is united with a query.
#[derive(Debug, Clone)]
struct Union {
    operator: &'static str,
    items: Vec<Expr>,
    from: Expr,
    filter: Option<Expr>,
}

/// An order of rows. The outputs come last, so that it leaves nothing open.
#[derive(Debug, Clone)]
struct Order {
    first: Vec<Expr>,
    descending: bool,
}

#[derive(Debug, Clone, Copy)]
struct Limit {
    rows: u32,
    offset: Option<u32>,
}

/// Expressions over groups.
struct Groups<'a> {
    rows: &'a Rows<'a>,
    keys: &'a [Expr],
}

impl Source for Groups<'_> {
    fn leaf(&self, kind: Kind, rng: &mut StdRng) -> Expr {
        let keys: Vec<&Expr> = self.keys.iter().filter(|key| key.kind == kind).collect();
        match keys.choose(rng) {
            Some(key) if rng.random_bool(0.4) => (*key).clone(),
            _ => {
                let template = grammar::aggregate(kind).choose(rng).expect("there is one");
                Expr::of_template(self.rows, (kind, template), (rng, GROUP_DEPTH)).aggregate()
            }
        }
    }
}

/// Takes a change that makes a query smaller.
type With<'w> = dyn FnMut(&dyn Fn(&mut Query)) + 'w;

impl Query {
    /// A random query over some of the tables.
    pub(crate) fn random(rng: &mut StdRng, schema: &Schema) -> Query {
        let (with, from, rows) = Rows::random(&schema.tables, rng);
        let filter = rng
            .random_bool(0.5)
            .then(|| Expr::random(&rows, Kind::Bool, (rng, FILTER_DEPTH)));
        let mut query = Query {
            distinct: rng.random_ratio(1, 8),
            items: Vec::new(),
            with,
            from,
            filter,
            union: None,
            group: None,
            rollup: false,
            having: None,
            order: None,
            limit: None,
        };
        if rng.random_ratio(1, 3) {
            query.group_by(&rows, rng);
        } else {
            let count = rng.random_range(1..=4);
            let kinds = (0..count).map(|_| *Kind::ALL.choose(rng).expect("there is one"));
            let kinds: Vec<Kind> = kinds.collect();
            query.items = outputs(&rows, &kinds, rng);
            if rng.random_ratio(1, 10) {
                query.unite(&kinds, schema, rng);
            } else if !query.distinct && rng.random_ratio(1, 8) {
                let items = query.items.iter_mut();
                for item in items {
                    *item = window::function(&rows, item.kind, rng);
                }
            }
        }
        query.put_in_order(&rows, rng);
        query
    }

    fn unite(&mut self, kinds: &[Kind], schema: &Schema, rng: &mut StdRng) {
        let (from, rows) = Rows::of_table(&schema.tables, rng);
        let operators = [
            "UNION",
            "UNION ALL",
            "INTERSECT",
            "EXCEPT",
            "INTERSECT ALL",
            "EXCEPT ALL",
        ];
        self.union = Some(Box::new(Union {
            operator: operators.choose(rng).expect("there is one"),
            items: outputs(&rows, kinds, rng),
            from,
            filter: rng
                .random_bool(0.5)
                .then(|| Expr::random(&rows, Kind::Bool, (rng, FILTER_DEPTH))),
        }));
    }

    fn group_by(&mut self, rows: &Rows<'_>, rng: &mut StdRng) {
        let count = rng.random_range(0..=2);
        let columns = rows.columns.choose_multiple(rng, count);
        let mut keys: Vec<Expr> = columns
            .map(|(name, kind)| Expr::leaf(*kind, name.clone()))
            .collect();
        if rng.random_ratio(1, 4) {
            let kind = *Kind::ALL.choose(rng).expect("there is one");
            keys.extend(not_a_place(Expr::random(rows, kind, (rng, 1))));
        }
        let groups = Groups { rows, keys: &keys };
        for _ in 0..rng.random_range(1..=3) {
            let kind = *Kind::ALL.choose(rng).expect("there is one");
            self.items
                .push(Expr::random(&groups, kind, (rng, GROUP_DEPTH)));
        }
        if rng.random_bool(0.6) {
            self.items.extend(keys.iter().cloned());
        }
        self.having = rng
            .random_ratio(1, 4)
            .then(|| Expr::random(&groups, Kind::Bool, (rng, GROUP_DEPTH)));
        self.rollup = !self.distinct && self.may_roll_up(&keys) && rng.random_ratio(1, 6);
        self.group = Some(keys);
    }

    /// Whether groups by these keys may be rolled up. MariaDB counts distinct values of rolled up rows
    /// wrongly, and ends when it joins texts of them.
    fn may_roll_up(&self, keys: &[Expr]) -> bool {
        let texts: Vec<String> = keys.iter().map(Expr::to_string).collect();
        let is_plain = |at: usize| {
            let text = &texts[at];
            text.starts_with(char::is_lowercase) && !texts[..at].contains(text)
        };
        let mut outputs = self.items.iter().chain(&self.having).map(Expr::to_string);
        !keys.is_empty()
            && (0..texts.len()).all(is_plain)
            && !outputs.any(|text| text.contains("GROUP_CONCAT") || text.contains("DISTINCT"))
    }

    fn put_in_order(&mut self, rows: &Rows<'_>, rng: &mut StdRng) {
        if self.rollup || rng.random_bool(0.4) {
            return;
        }
        let mut first = Vec::new();
        if self.group.is_none() && !self.distinct && self.union.is_none() {
            for _ in 0..rng.random_range(0..=2) {
                let kind = *Kind::ALL.choose(rng).expect("there is one");
                first.extend(not_a_place(Expr::random(rows, kind, (rng, 1))));
            }
        }
        self.order = Some(Order {
            first,
            descending: rng.random_bool(0.3),
        });
        self.limit = rng.random_bool(0.3).then(|| Limit {
            rows: rng.random_range(0..12),
            offset: rng.random_bool(0.3).then(|| rng.random_range(0..6)),
        });
    }

    /// Whether the order of the rows is fixed.
    pub(crate) fn is_ordered(&self) -> bool {
        self.order.is_some()
    }

    /// Queries that are smaller by one step, large steps first.
    pub(crate) fn smaller(&self) -> Vec<Query> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Query)| {
            let mut copy = self.clone();
            change(&mut copy);
            all.push(copy);
        };
        if self.limit.is_some() {
            with(&|query| query.limit = None);
        }
        if self.order.is_some() {
            with(&|query| (query.order, query.limit) = (None, None));
        }
        if self.having.is_some() {
            with(&|query| query.having = None);
        }
        if self.filter.is_some() {
            with(&|query| query.filter = None);
        }
        if self.distinct {
            with(&|query| query.distinct = false);
        }
        if self.rollup {
            with(&|query| query.rollup = false);
        }
        let are_free = |keys: &Vec<Expr>| self.free_keys().len() == keys.len();
        if self.group.as_ref().is_some_and(are_free) {
            with(&|query| (query.group, query.rollup) = (None, false));
        }
        if self.union.is_some() {
            with(&|query| query.union = None);
        }
        if 1 < self.items.len() {
            for (at, item) in self.items.iter().enumerate() {
                with(&|query| {
                    query.items = vec![item.clone()];
                    if let Some(union) = &mut query.union {
                        union.items = vec![union.items[at].clone()];
                    }
                });
                with(&|query| {
                    query.items.remove(at);
                    if let Some(union) = &mut query.union {
                        union.items.remove(at);
                    }
                });
            }
        }
        self.smaller_parts(&mut with);
        all
    }

    /// The grouping keys that no output and no condition on groups may need.
    fn free_keys(&self) -> Vec<usize> {
        let mut used: Vec<String> = self.items.iter().map(Expr::to_string).collect();
        used.extend(self.having.as_ref().map(Expr::to_string));
        let keys = self.group.iter().flatten().map(Expr::to_string).enumerate();
        let free = keys.filter(|(_, key)| used.iter().all(|text| !text.contains(key)));
        free.map(|(at, _)| at).collect()
    }

    /// With a part replaced by one that is smaller.
    fn smaller_parts(&self, with: &mut With<'_>) {
        for at in self.free_keys() {
            with(&|query| {
                if let Some(keys) = &mut query.group {
                    keys.remove(at);
                }
            });
        }
        for smaller in self.from.smaller_within() {
            with(&|query| query.from = smaller.clone());
        }
        for smaller in self.with.iter().flat_map(Expr::smaller_within) {
            with(&|query| query.with = Some(smaller.clone()));
        }
        for (at, item) in self
            .union
            .iter()
            .flat_map(|union| union.items.iter().enumerate())
        {
            for smaller in item.smaller() {
                with(&|query| {
                    if let Some(union) = &mut query.union {
                        union.items[at] = smaller.clone();
                    }
                });
            }
        }
        if let Some(filter) = &self.filter {
            for smaller in filter.smaller() {
                with(&|query| query.filter = Some(smaller.clone()));
            }
        }
        if let Some(having) = &self.having {
            for smaller in having.smaller() {
                with(&|query| query.having = Some(smaller.clone()));
            }
        }
        for (at, item) in self.items.iter().enumerate() {
            for smaller in item.smaller() {
                with(&|query| query.items[at] = smaller.clone());
            }
        }
        if let Some(order) = &self.order {
            for at in 0..order.first.len() {
                with(&|query| {
                    if let Some(order) = &mut query.order {
                        order.first.remove(at);
                    }
                });
            }
        }
    }
}

/// An expression that is no number: `ORDER BY 3` means the third output, and in MariaDB TRUE is 1.
fn not_a_place(expr: Expr) -> Option<Expr> {
    Some(expr).filter(|expr| {
        let text = expr.to_string();
        let letters = |text: &str| text.replace(['(', ')', '-', ' '], "");
        let text = letters(&text.replace("NOT ", ""));
        text.parse::<f64>().is_err() && !["TRUE", "FALSE"].contains(&text.as_str())
    })
}

/// Random outputs of these kinds.
fn outputs(rows: &Rows<'_>, kinds: &[Kind], rng: &mut StdRng) -> Vec<Expr> {
    let kinds = kinds.iter();
    kinds
        .map(|kind| Expr::random(rows, *kind, (&mut *rng, OUTPUT_DEPTH)))
        .collect()
}

fn list(exprs: &[Expr]) -> String {
    exprs
        .iter()
        .map(Expr::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Query {
    /// What MariaDB is asked instead. It takes groups that give equal outputs for different, and
    /// different for equal, where DISTINCT stands beside GROUP BY; not where it stands around it.
    pub(crate) fn for_reference(&self) -> String {
        let Some(groups) = self.group.as_ref().filter(|_| self.distinct) else {
            return self.to_string();
        };
        let named = self.items.iter().enumerate();
        let named = named.map(|(at, item)| format!("{item} AS y{at}"));
        let inner = Query {
            distinct: false,
            with: None,
            items: named.map(|item| Expr::leaf(Kind::Bool, item)).collect(),
            group: Some(groups.clone()),
            order: None,
            limit: None,
            ..self.clone()
        };
        let with = self
            .with
            .as_ref()
            .map_or(String::new(), |with| format!("{with} "));
        let end = self.end();
        format!("{with}SELECT DISTINCT * FROM ({inner}) AS z{end}")
    }

    /// ORDER BY and LIMIT.
    fn end(&self) -> String {
        let mut end = String::new();
        if let Some(order) = &self.order {
            let direction = if order.descending { " DESC" } else { "" };
            let first = order.first.iter().map(|expr| format!("{expr}{direction}"));
            let outputs = (1..=self.items.len()).map(|at| format!("{at}{direction}"));
            let keys: Vec<String> = first.chain(outputs).collect();
            end = format!(" ORDER BY {}", keys.join(", "));
        }
        if let Some(limit) = &self.limit {
            let offset = limit.offset.map(|offset| format!(" OFFSET {offset}"));
            end = format!("{end} LIMIT {}{}", limit.rows, offset.unwrap_or_default());
        }
        end
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(with) = &self.with {
            write!(f, "{with} ")?;
        }
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        write!(
            f,
            "SELECT {distinct}{} FROM {}",
            list(&self.items),
            self.from
        )?;
        if let Some(filter) = &self.filter {
            write!(f, " WHERE {filter}")?;
        }
        if let Some(keys) = self.group.as_ref().filter(|keys| !keys.is_empty()) {
            let rollup = if self.rollup { " WITH ROLLUP" } else { "" };
            write!(f, " GROUP BY {}{rollup}", list(keys))?;
        }
        if let Some(having) = &self.having {
            write!(f, " HAVING {having}")?;
        }
        if let Some(union) = &self.union {
            let (items, from) = (list(&union.items), &union.from);
            write!(f, " {} SELECT {items} FROM {from}", union.operator)?;
            if let Some(filter) = &union.filter {
                write!(f, " WHERE {filter}")?;
            }
        }
        f.write_str(&self.end())
    }
}
