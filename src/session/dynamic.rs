//! Columns that nobody declared, as far as only the rows tell which there are: `SELECT *` and
//! `SHOW DYNAMIC COLUMNS`.
//!
//! `SELECT *` of a table with such columns is run twice: its first page tells the names, and then it
//! is bound with them and run. In autocommit the two are of two snapshots; a column that comes in
//! between is not shown. For the names nothing else is computed than what tells which rows there are
//! and in which order, and that leaves no trace ([`super::rehearsal`]).

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compile::{Compiled, text};
use super::listing::{Listing, TEXT};
use super::rehearsal::Rehearsal;
use super::{Reply, Session};
use crate::catalog::describe::quoted;
use crate::catalog::{ColumnPlace, Table, TableId, wide};
use crate::error::{Code, Error, Result};
use crate::exec::query::{self, QueryStream};
use crate::exec::row::others;
use crate::exec::rows::{PageEnd, RowSink, RowStream};
use crate::sql::aggregate::names;
use crate::sql::ast::{self, ColumnName, QueryBody, Select, SelectItem, Statement, TableName};
use crate::sql::bind::named::{self, Star};
use crate::sql::bind::{self, Names, Widening};
use crate::sql::bound::Query;
use crate::sql::context::{Mode, Parameters};
use crate::sql::parse;
use crate::types::{ColumnType, Value};

/// Rows of the first page, which tells the columns that `*` stands for.
const PAGE_ROWS: usize = 256;

/// Columns that `*` shows besides the declared ones: what clients and the packet of a row bear.
const SHOWN_MAX: usize = 1000;

/// Rows that `SHOW DYNAMIC COLUMNS` looks at without `LIMIT`.
const SAMPLE_ROWS: u64 = 1000;

/// Rows that `SHOW DYNAMIC COLUMNS` looks at, at most.
const SAMPLE_ROWS_MAX: u64 = 10_000;

/// The names that rows have, of each table of a probe.
struct Met<'a> {
    stars: &'a [Star],
    rows_count: usize,
    rows_max: usize,
    /// For each table: the names, and what was met under them.
    names: Vec<BTreeMap<String, Sampled>>,
}

/// What was met under one name.
#[derive(Debug, Default)]
struct Sampled {
    rows_count: u64,
    types: BTreeSet<String>,
}

impl RowSink for Met<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.rows_count += 1;
        let mut values = values.iter();
        for (star, names) in self.stars.iter().zip(&mut self.names) {
            let cells = values.next().unwrap_or(&Value::Null);
            for cell in others(cells)? {
                note(names, cell.name, &cell.value);
            }
            for name in &star.named {
                let value = values.next().unwrap_or(&Value::Null);
                if !value.is_null() {
                    note(names, name, value);
                }
            }
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.rows_max <= self.rows_count
    }
}

fn note(names: &mut BTreeMap<String, Sampled>, name: &str, value: &Value<'_>) {
    let sampled = names.entry(name.to_owned()).or_default();
    sampled.rows_count += 1;
    let ty = bind::parameter_type(value).to_string();
    let word = ty
        .find('(')
        .map_or(ty.as_str(), |end| ty.get(..end).unwrap_or_default());
    sampled.types.insert(word.to_owned());
}

impl Session {
    /// Binds a query again, with the columns that its first page has.
    pub(super) async fn with_met(
        &mut self,
        select: &Select,
        stars: &Arc<[Star]>,
        parameters: &Parameters,
    ) -> Result<Compiled> {
        let mut probed: Vec<Star> = Vec::new();
        for star in stars.iter() {
            if !probed.iter().any(|other| other.alias == star.alias) {
                probed.push(star.clone());
            }
        }
        let (said, met) = self.probe(select, &probed, (parameters, PAGE_ROWS)).await?;
        let mut shown: Vec<(TableId, Vec<String>)> = Vec::new();
        for (star, names) in probed.iter().zip(met.names) {
            let known = shown.iter().position(|(table, _)| *table == star.id);
            let mut all: BTreeSet<String> = names.into_keys().collect();
            all.extend(said.names(star.id));
            if let Some((_, before)) = known.map(|at| shown.swap_remove(at)) {
                all.extend(before);
            }
            if SHOWN_MAX < all.len() {
                let text = format!(
                    "Too many columns: SELECT * met {} undeclared ones in the first page, the most \
                     it shows is {SHOWN_MAX}; name the columns",
                    all.len()
                );
                return Err(Error::new(Code::TooManyColumns, text));
            }
            shown.push((star.id, all.into_iter().collect()));
        }
        let types: Vec<ColumnType> = parameters.iter().map(bind::parameter_type).collect();
        self.compiled_select(select, &types, &shown)
    }

    /// Reads the first page of a query for the names in it.
    async fn probe<'s>(
        &mut self,
        select: &Select,
        stars: &'s [Star],
        (parameters, rows_max): (&Parameters, usize),
    ) -> Result<(Widening, Met<'s>)> {
        let mut select = probe_of(select, stars);
        let types: Vec<ColumnType> = parameters.iter().map(bind::parameter_type).collect();
        let bind = |select: &Select| -> Result<(Query, Widening)> {
            let widening = Widening::default();
            let bind = |names: &Names<'_>| bind::query(select, names);
            let bound = self.with_names(&types, |names| named::rounds(names, &widening, bind));
            Ok((bound?, widening))
        };
        // Also the names in what is not computed are shown.
        let (mut bound, widening) = bind(&select)?;
        if forget_others(&mut select, stars) {
            (bound, _) = bind(&select)?;
        }
        let program = Arc::new(query::Program::new(bound));
        self.check_seen(program.tables())?;
        self.limit_time();
        let mut env = self.select_env(Arc::clone(parameters), program.tables());
        env.ctx.facts = Arc::new(Rehearsal::new(&self.state));
        env.ctx.warnings = Arc::default();
        let mut stream: QueryStream = query::open(&program, env)?.stream().await?;
        let mut met = Met {
            stars,
            rows_count: 0,
            rows_max,
            names: stars.iter().map(|_| BTreeMap::new()).collect(),
        };
        let mut end = PageEnd::More;
        while end == PageEnd::More && !met.is_full() {
            end = stream.next_page(&mut met).await?;
        }
        Ok((widening, met))
    }

    /// `SHOW DYNAMIC COLUMNS FROM t [LIMIT n]`: the names that the first rows have, the types of their
    /// values, and in how many rows they were met.
    pub(super) async fn show_dynamic_columns(
        &mut self,
        (name, limit): (&TableName, Option<u64>),
    ) -> Result<Reply> {
        let table = self.named_table(name)?;
        let rows_max = limit.unwrap_or(SAMPLE_ROWS).min(SAMPLE_ROWS_MAX);
        let columns = [
            ("Field", TEXT),
            ("Types", TEXT),
            ("Rows_met", ColumnType::BIGINT),
            ("Rows_sampled", ColumnType::BIGINT),
        ];
        let mut listing = Listing::new(&columns);
        if !table.takes_names() || rows_max == 0 {
            return Ok(listing.into_reply());
        }
        let stars = [star_of(&table)];
        let select = sample(&table, rows_max, self.settings.mode)?;
        let rows_max = usize::try_from(rows_max).unwrap_or(usize::MAX);
        let read = (&Parameters::default(), rows_max);
        let (_, met) = self.probe(&select, &stars, read).await?;
        let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let sampled_count = u64::try_from(met.rows_count).unwrap_or(u64::MAX);
        for (name, sampled) in met.names.into_iter().flatten() {
            let types: Vec<String> = sampled.types.into_iter().collect();
            listing.push(vec![
                text(Some(name)),
                text(Some(types.join(","))),
                count(sampled.rows_count),
                count(sampled_count),
            ]);
        }
        Ok(listing.into_reply())
    }
}

/// The `*` of a table that goes by its own name.
fn star_of(table: &Table) -> Star {
    let named = table.columns.iter();
    let named = named.filter(|column| column.place == ColumnPlace::Named);
    Star {
        position: 0,
        alias: table.name.clone(),
        table: table.name.as_str().into(),
        id: table.id,
        named: named.map(|column| column.name.clone()).collect(),
    }
}

/// The first rows of a table.
fn sample(table: &Table, rows_max: u64, mode: Mode) -> Result<Select> {
    let (database, name) = (quoted(&table.database), quoted(&table.name));
    let sql = format!("SELECT * FROM {database}.{name} LIMIT {rows_max}");
    let parsed = parse::parse_first(sql.as_bytes(), mode)?;
    let Statement::Select(select) = parsed.statement else {
        return Err(Error::internal("a SELECT that is none"));
    };
    Ok(*select)
}

/// The query, with the cells under all other names in the place of its `*`, before everything else.
fn probe_of(select: &Select, stars: &[Star]) -> Select {
    let mut probe = select.clone();
    probe.into = None;
    probe.lock = None;
    if let QueryBody::Block(block) = &mut probe.body {
        block.distinct = false;
        block.counts_rows = false;
        let is_kept = |item: &SelectItem| matches!(item, SelectItem::Expr { .. });
        let kept: Vec<SelectItem> = block.items.drain(..).filter(is_kept).collect();
        for star in stars {
            block.items.push(column(&star.alias, wide::OTHERS));
            let named = star.named.iter();
            block
                .items
                .extend(named.map(|name| column(&star.alias, name)));
        }
        block.items.extend(kept);
    }
    probe
}

/// Takes what is computed besides the cells out of a probe, if that changes neither which rows there are
/// nor their order; whether it did.
fn forget_others(probe: &mut Select, stars: &[Star]) -> bool {
    let cells_count: usize = stars.iter().map(|star| 1 + star.named.len()).sum();
    let QueryBody::Block(block) = &mut probe.body else {
        return false;
    };
    let Some((_, others)) = block.items.split_at_checked(cells_count) else {
        return false;
    };
    let is_grouped =
        !block.group_by.is_empty() || block.having.is_some() || !block.windows.is_empty();
    let sorts = |expr: &ast::Expr| match expr {
        ast::Expr::Literal(_) => true,
        ast::Expr::Column(name) => others.iter().any(|item| is_named(item, &name.column)),
        _ => false,
    };
    let keys = &mut probe.order_by.iter();
    let matters =
        is_grouped || others.iter().any(is_of_several_rows) || keys.any(|key| key.expr.has(&sorts));
    if matters || others.is_empty() {
        return false;
    }
    block.items.truncate(cells_count);
    true
}

fn is_named(item: &SelectItem, name: &str) -> bool {
    match item {
        SelectItem::Expr { alias, text, .. } => {
            alias.as_ref().unwrap_or(text).eq_ignore_ascii_case(name)
        }
        SelectItem::Star | SelectItem::TableStar(_) => false,
    }
}

/// Whether it has an aggregate or a window function.
fn is_of_several_rows(item: &SelectItem) -> bool {
    let is_such = |expr: &ast::Expr| match expr {
        ast::Expr::Call(call) => call.over.is_some() || names::find(&call.name).is_some(),
        _ => false,
    };
    match item {
        SelectItem::Expr { expr, .. } => expr.has(&is_such),
        SelectItem::Star | SelectItem::TableStar(_) => false,
    }
}

fn column(table: &str, name: &str) -> SelectItem {
    let expr = ast::Expr::Column(Box::new(ColumnName {
        database: None,
        table: Some(table.to_owned()),
        column: name.to_owned(),
    }));
    SelectItem::Expr {
        expr,
        alias: None,
        text: name.to_owned(),
    }
}
