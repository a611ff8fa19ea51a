//! Goldens of joins: a statement in; out its steps in their order, each with its method, or the
//! refusal. How many rows a source has is given.

use std::sync::Arc;

use super::{
    Conjunct, Facts, JoinPlan, Lookup, Method, Pool, Setting, ShortLookup, Sources, Step, UnitRows,
    Wanted, column_name, local_filter, order, pool, shown_lookup, table_plan,
};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::plan::request::Policy;
use crate::plan::testing::{Facts as NoSession, context, run_goldens, statement, table};
use crate::plan::text::{self, Names};
use crate::plan::{Access, Span, TablePlan};
use crate::sql::bound::{self, From, Joined, Query, Relation};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::expr::Expr;
use crate::sql::parse::tests::DEFAULT_MODE;
use crate::sql::{ast, bind, used};
use crate::types::Value;

/// Rows of a source that no directive names.
const ROWS: u64 = 1000;

#[test]
fn goldens_of_joins() {
    let cases = run_goldens("src/plan/testdata/join", &answer);
    assert!(30 <= cases);
}

/// The tables of the directives.
struct Tables(Vec<Arc<Table>>);

impl bind::FindTable for Tables {
    fn find_table(&self, _: &str, name: &str) -> Result<Arc<Table>> {
        let found = self.0.iter().find(|table| table.name == name);
        found
            .cloned()
            .ok_or_else(|| Error::new(Code::UnknownTable, name))
    }
}

fn answer(directives: &[String], input: &str) -> String {
    let lines = || directives.iter().flat_map(|block| block.lines());
    let created = lines().filter_map(|line| line.strip_prefix("table "));
    let tables = created.map(|rest| Arc::new(table(&format!("CREATE TABLE {rest}"))));
    let tables = Tables(tables.collect());
    let all: Vec<&str> = lines().collect();
    let mut counts = all.iter().filter_map(|line| line.strip_prefix("counted "));
    let counts: Vec<(String, u64)> = counts
        .next_back()
        .into_iter()
        .flat_map(|line| line.split(' '))
        .filter_map(|one| one.split_once('='))
        .map(|(alias, rows)| (alias.to_owned(), rows.parse().unwrap()))
        .collect();
    let select = select(&tables, input);
    let From::Joined(joined) = &select.from else {
        return "no join".to_owned();
    };
    Case {
        joined,
        counts,
        used: used_columns(&select, joined),
        ctx: context("+00:00", Vec::new()),
        policy: Policy::default(),
    }
    .answer(select.filter.as_ref())
}

fn select(tables: &Tables, input: &str) -> bound::Select {
    let ast::Statement::Select(select) = statement(input) else {
        panic!("{input} is no SELECT");
    };
    let names = bind::Names {
        definitions: tables,
        database: Some("shop"),
        parameters: &[],
        ctes: None,
        numbering: &bind::Numbering::new(),
        depth: 0,
        trace: None,
        widening: None,
        mode: DEFAULT_MODE,
        facts: &NoSession,
    };
    let Query::Select(select) = bind::query(&select, &names).unwrap() else {
        panic!("{input} is more than a block");
    };
    *select
}

fn used_columns(select: &bound::Select, joined: &Joined) -> Vec<Vec<usize>> {
    let used = used::columns(select);
    let sources = joined.sources.iter();
    let of = |source: &bound::Source| {
        let columns = source.first_column..source.first_column + source.columns_count();
        let used = used.iter().filter(|idx| columns.contains(*idx));
        used.map(|idx| idx - source.first_column).collect()
    };
    sources.map(of).collect()
}

struct Case<'a> {
    joined: &'a Joined,
    counts: Vec<(String, u64)>,
    used: Vec<Vec<usize>>,
    ctx: EvalContext,
    policy: Policy,
}

impl Case<'_> {
    fn setting(&self) -> Setting<'_> {
        Setting {
            joined: self.joined,
            used_columns: &self.used,
            ctx: &self.ctx,
            policy: &self.policy,
            wanted: Wanted::default(),
        }
    }

    fn answer(&self, filter: Option<&Expr>) -> String {
        let pool = pool(self.joined, filter, &self.ctx).unwrap();
        let mut lines = Vec::new();
        match self.planned(&pool) {
            Ok(plan) => {
                self.steps(&plan, 0, &mut lines);
                lines.extend(plan.late.map(|late| format!("late {}", self.text(&late))));
            }
            Err(error) => lines.push(error.to_string()),
        }
        lines.join("\n")
    }

    fn planned(&self, pool: &Pool) -> Result<JoinPlan> {
        let setting = self.setting();
        let facts = pool.units.iter().map(|unit| {
            let UnitRows::Source(idx) = unit.rows else {
                return Facts {
                    rows: ROWS,
                    alone: None,
                    is_permitted: true,
                };
            };
            let conjuncts: &[Conjunct] = unit.on.as_ref().unwrap_or(&pool.conjuncts);
            let local = local_filter(conjuncts.iter(), Sources::one(idx));
            let alone = table_plan(&setting, idx, (local.as_ref(), &self.ctx), true).ok();
            Facts {
                rows: self.rows(idx),
                is_permitted: alone.as_ref().is_none_or(|plan| plan.refusal.is_none()),
                alone,
            }
        });
        order(pool, &facts.collect::<Vec<_>>(), &setting)
    }

    fn rows(&self, source_idx: usize) -> u64 {
        let alias = &self.joined.sources[source_idx].alias;
        let found = self.counts.iter().find(|(name, _)| name == alias);
        found.map_or(ROWS, |(_, rows)| *rows)
    }

    fn steps(&self, plan: &JoinPlan, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        for step in &plan.steps {
            lines.push(format!("{indent}{}", self.step(step)));
            if let UnitRows::Join(pool) = &step.unit {
                match self.planned(pool) {
                    Ok(inside) => self.steps(&inside, depth + 1, lines),
                    Err(error) => lines.push(format!("{indent}  {error}")),
                }
            }
        }
    }

    fn step(&self, step: &Step) -> String {
        let outer = if step.is_outer { "outer " } else { "" };
        let name = self.unit(&step.unit);
        let (method, filter) = match &step.method {
            Method::Scan { filter } => (format!("scan {name}"), filter.as_ref()),
            Method::Hash { filter, keys } => {
                let pair = |(far, near): &(Expr, Expr)| {
                    format!("{} = {}", self.text(far), self.text(near))
                };
                let keys: Vec<String> = keys.iter().map(pair).collect();
                (
                    format!("hash {name} by [{}]", keys.join(", ")),
                    filter.as_ref(),
                )
            }
            Method::Each => (format!("each {name}"), None),
            Method::Lookup(lookup) => (self.lookup(step, lookup), None),
        };
        let mut parts = vec![format!("{outer}{method}")];
        parts.extend(filter.map(|one| format!("filter {}", self.text(one))));
        parts.extend(
            step.conditions
                .iter()
                .map(|one| format!("on {}", self.text(one))),
        );
        parts.extend(
            step.filter
                .iter()
                .map(|one| format!("then {}", self.text(one))),
        );
        format!("{}: {} rows", parts.join("; "), step.rows_estimate)
    }

    fn lookup(&self, step: &Step, lookup: &Lookup) -> String {
        let name = self.unit(&step.unit);
        let UnitRows::Source(idx) = step.unit else {
            panic!("a lookup in a join");
        };
        let (plan, names) = shown_lookup(&self.setting(), idx, lookup).unwrap();
        let zone = &self.ctx.zone;
        let spans = spans(&plan.access);
        let texts = spans
            .iter()
            .map(|span| span.text_of(&|value| names.text_of(value, zone)));
        let residual = plan.residual.map(|residual| {
            let first = self.joined.sources[idx].first_column;
            let name = |column| column_name(self.joined, first + column);
            let names_in = Names {
                column: &name,
                zone,
            };
            format!(
                " filter {}",
                text::expression(&names.named(&residual), names_in)
            )
        });
        let texts: Vec<String> = texts.collect();
        let short = if self.has_short_way(idx, lookup) {
            " (short way)"
        } else {
            ""
        };
        format!(
            "lookup {name} {}{}{short}",
            texts.join(" "),
            residual.unwrap_or_default()
        )
    }

    /// Whether there is a short way; where it has a plan, that is the one of the long way.
    fn has_short_way(&self, source_idx: usize, lookup: &Lookup) -> bool {
        let setting = self.setting();
        let Some(filter) = &lookup.filter else {
            return false;
        };
        let Relation::Table(table) = &self.joined.sources[source_idx].relation else {
            return false;
        };
        let planned = |values: &[Value<'static>]| {
            let mut ctx = self.ctx.nested();
            for (capture, value) in lookup.captures.iter().zip(values) {
                ctx.fill(capture.slot, SlotValue::Value(Arc::new(value.clone())));
            }
            let plan = table_plan(&setting, source_idx, (Some(filter), &ctx), false);
            (ctx, plan)
        };
        let mut short = None;
        for values in values(lookup.captures.len()) {
            // There are values that lead to every row.
            let (ctx, Ok(plan)) = planned(&values) else {
                continue;
            };
            if short.is_none() && !matches!(plan.access, Access::Nothing) {
                short =
                    Some(ShortLookup::of((&setting, source_idx), (filter, &ctx), &plan).unwrap());
            }
            let quick = short.iter().flatten().next();
            if let Some(quick) = quick.and_then(|short| short.plan(table, &ctx).unwrap()) {
                assert_eq!(place(&quick), place(&plan), "{values:?}");
            }
        }
        short.flatten().is_some()
    }

    fn unit(&self, unit: &UnitRows) -> String {
        match unit {
            UnitRows::Source(idx) => self.joined.sources[*idx].alias.clone(),
            UnitRows::Join(pool) => {
                let units: Vec<String> =
                    pool.units.iter().map(|one| self.unit(&one.rows)).collect();
                format!("({})", units.join(", "))
            }
        }
    }

    fn text(&self, expr: &Expr) -> String {
        let name = |idx| column_name(self.joined, idx);
        let names = Names {
            column: &name,
            zone: &self.ctx.zone,
        };
        text::expression(expr, names)
    }
}

/// Some values for each of so many slots, in all combinations.
fn values(slots: usize) -> Vec<Vec<Value<'static>>> {
    let text = |text: &'static str| Value::Text(text.into());
    let some = [
        Value::Int(7),
        Value::Null,
        Value::Int(-1),
        Value::UInt(u64::MAX),
        Value::Double(1.5),
        text("a"),
        text("2024-02-30"),
        text("12x"),
    ];
    (0..slots).fold(vec![Vec::new()], |all, _| {
        let longer = all.iter().flat_map(|values| {
            let with =
                |value: &Value<'static>| [values.as_slice(), std::slice::from_ref(value)].concat();
            some.iter().map(with)
        });
        longer.collect()
    })
}

/// What a plan reads, without what is for people.
fn place(plan: &TablePlan) -> String {
    let mut access = plan.access.clone();
    match &mut access {
        Access::PointGet(get) => get.values.clear(),
        Access::PrefixScan(scan) => scan.spans.clear(),
        Access::Index(index) => index.spans.clear(),
        Access::Nothing
        | Access::MultiGet(_)
        | Access::Count(_)
        | Access::Ends(_)
        | Access::Merge(_)
        | Access::FullScan => {}
    }
    format!("{access:?} {:?}", plan.residual)
}

fn spans(access: &Access) -> Vec<Span> {
    match access {
        Access::PointGet(get) => vec![get.span()],
        Access::MultiGet(gets) => gets.spans.clone(),
        Access::PrefixScan(scan) => scan.spans.clone(),
        Access::Index(index) => index.spans.clone(),
        Access::Nothing
        | Access::Count(_)
        | Access::Ends(_)
        | Access::Merge(_)
        | Access::FullScan => Vec::new(),
    }
}
