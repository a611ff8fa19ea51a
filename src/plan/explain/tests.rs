//! Goldens of access and EXPLAIN: a statement in, the plan in every rendering out, or the refusal.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the harness takes the statements it knows and fails on others"
)]

use super::{Explained, Format, Source, Statement, Step, Write, explain};
use crate::catalog::Table;
use crate::plan::access::{
    FullScans, Policy, Purpose, Request, RowsKept, TablePlan, explain_table, plan_table,
};
use crate::plan::doubt::{Counted, Crossing, Estimate, Estimates};
use crate::plan::skip::Distinct;
use crate::plan::testing::{self, directive};
use crate::sql::bound::{Hints, OrderBy};
use crate::sql::context::EvalContext;
use crate::sql::expr::{Expr, ExprKind};
use crate::sql::{ast, bind, bound, used};
use crate::types::Value;

#[test]
fn goldens_of_explain() {
    testing::run_goldens("src/plan/testdata/explain", &answer);
}

/// What the harness takes from a statement.
struct Wanted {
    statement: Statement,
    filter: Option<Expr>,
    aggregation: Option<bound::Aggregation>,
    order_by: Vec<OrderBy>,
    limit: Option<u64>,
    offset: u64,
    hints: Hints,
    distinct: bool,
    used_columns: Option<Vec<usize>>,
}

fn answer(directives: &[String], input: &str) -> String {
    let table = directive(directives, "table").expect("a table");
    let table = testing::table(&format!("CREATE TABLE {table}"));
    let zone = directive(directives, "zone").unwrap_or("+00:00");
    let ctx = testing::context(zone, Vec::new());
    let wanted = wanted(&testing::statement(input), &table);
    let policy = Policy {
        full_scans: match directive(directives, "policy") {
            Some("allow_full_scan") => FullScans::All,
            Some("safe_updates") => FullScans::Safe,
            _ => FullScans::Refused,
        },
        use_indexes: directive(directives, "policy") != Some("older_view"),
        ..Policy::default()
    };
    let counted = counted(directives, &table);
    let request = Request {
        rows_kept: RowsKept::NotAsked,
        estimates: match &counted {
            Some(counted) => Estimates::Given(counted),
            None => Estimates::Unknown,
        },
        ..request(&wanted, &table, (&ctx, &policy))
    };
    match explain_table(&request) {
        Ok(plan) => {
            let refusal = plan_table(&request).err();
            if let Some(index) = plan.refusal.as_ref().and_then(|refusal| refusal.index()) {
                for index in index.split(" and ") {
                    assert_index_parses(index, &table);
                }
            }
            let formats = directive(directives, "formats").unwrap_or("traditional tree");
            let text = render(&wanted, formats, (&table, &plan), &ctx);
            let error = refusal.map(|error| error.message().to_owned());
            let shown = plan.refusal.as_ref().map(ToString::to_string);
            assert_eq!(error, shown);
            text
        }
        Err(error) => error.to_string(),
    }
}

fn request<'a>(
    wanted: &'a Wanted,
    table: &'a Table,
    (ctx, policy): (&'a EvalContext, &'a Policy),
) -> Request<'a> {
    Request {
        table,
        purpose: match wanted.statement {
            Statement::Update => Purpose::Update,
            Statement::Delete => Purpose::Delete,
            _ => Purpose::Select,
        },
        joined_as: None,
        filter: wanted.filter.as_ref(),
        grouping: wanted.aggregation.as_ref().map(|one| one.keys.as_slice()),
        aggregates: wanted
            .aggregation
            .as_ref()
            .map_or(&[], |one| one.aggregates.as_slice()),
        order_by: &wanted.order_by,
        limit: wanted.limit.filter(|_| !wanted.distinct),
        offset: wanted.offset,
        wants_all: wanted.distinct,
        used_columns: wanted.used_columns.as_deref(),
        hints: &wanted.hints,
        ctx,
        policy,
        rows_kept: RowsKept::NotAsked,
        estimates: Estimates::Unknown,
    }
}

/// `counted PRIMARY=7 ia=50000`, `ia&ib=7` of rows that both find, and `ib=values:1,2` of the first column.
fn counted(directives: &[String], table: &Table) -> Option<Counted> {
    let mut counted = Counted::default();
    for one in directive(directives, "counted")?.split(' ') {
        let (name, found) = one.split_once('=').unwrap();
        if name == "union" {
            counted.union_rows = Some(found.parse().unwrap());
            continue;
        }
        if let Some((one, two)) = name.split_once('&') {
            let keys = [one, two];
            counted.crossing = Some(Crossing {
                keys: keys.map(|name| bound::KeyRef::Index(table.index_position(name).unwrap())),
                rows: found.parse().unwrap(),
            });
            continue;
        }
        let position = table.index_position(name);
        let key = position.map_or(bound::KeyRef::Primary, bound::KeyRef::Index);
        if let Some(values) = found.strip_prefix("values:") {
            let values = values.split(',').map(|value| match value {
                "NULL" => Value::Null,
                number => Value::Int(number.parse().unwrap()),
            });
            let values = values.collect();
            counted.distinct = Some(Distinct { key, values });
            continue;
        }
        let rows = found.parse().unwrap();
        counted.rows.push(Estimate { key, rows });
    }
    Some(counted)
}

/// The advice must be of the language, and name the table as it would be found.
fn assert_index_parses(index: &str, table: &Table) {
    let ast::Statement::CreateIndex(create) = testing::statement(index) else {
        panic!("{index} is no CREATE INDEX");
    };
    assert_eq!(create.table.name, table.name);
    let database = create.table.database.unwrap_or_else(|| "shop".to_owned());
    assert_eq!(database, table.database);
}

fn wanted(statement: &ast::Statement, table: &Table) -> Wanted {
    match statement {
        ast::Statement::Select(select) => select_wanted(testing::with_names(table, |names| {
            bind::select(select, names)
        })),
        ast::Statement::Update(update) => update_wanted(testing::with_names(table, |names| {
            bind::update(update, names)
        })),
        ast::Statement::Delete(delete) => Wanted {
            filter: testing::with_names(table, |names| bind::delete(delete, names)).filter,
            ..nothing_wanted(Statement::Delete)
        },
        other => panic!("{other:?}"),
    }
}

fn update_wanted(update: bound::Update) -> Wanted {
    Wanted {
        filter: update.filter,
        order_by: update.order_by,
        limit: number(update.limit),
        hints: update.hints,
        ..nothing_wanted(Statement::Update)
    }
}

fn number(expr: Option<Expr>) -> Option<u64> {
    match expr.map(|expr| expr.kind) {
        Some(ExprKind::Literal(Value::Int(number))) => u64::try_from(number).ok(),
        Some(ExprKind::Literal(Value::UInt(number))) => Some(number),
        _ => None,
    }
}

fn nothing_wanted(statement: Statement) -> Wanted {
    Wanted {
        statement,
        filter: None,
        aggregation: None,
        order_by: Vec::new(),
        limit: None,
        offset: 0,
        hints: Hints::default(),
        distinct: false,
        used_columns: None,
    }
}

fn select_wanted(select: bound::Select) -> Wanted {
    Wanted {
        used_columns: Some(used::columns(&select)),
        filter: select.filter,
        aggregation: select.aggregation,
        order_by: select.order_by,
        limit: number(select.limit),
        offset: number(select.offset).unwrap_or(0),
        hints: select.hints,
        distinct: select.distinct,
        ..nothing_wanted(Statement::Select)
    }
}

fn render(
    wanted: &Wanted,
    formats: &str,
    (table, plan): (&Table, &TablePlan),
    ctx: &EvalContext,
) -> String {
    let explained = Explained {
        statement: wanted.statement,
        source: Some(Source {
            table,
            alias: &table.name,
            plan,
            rows_estimate: Some(1000),
            names: None,
        }),
        write: (wanted.statement != Statement::Select).then_some(Write {
            table,
            reads_old: true,
            rows_count: None,
        }),
        steps: steps(wanted, plan),
        zone: &ctx.zone,
        measured: None,
    };
    let mut text = Vec::new();
    for format in formats.split(' ') {
        let format = match format {
            "traditional" => Format::Traditional,
            "tree" => Format::Tree,
            "json" => Format::Json,
            other => panic!("no format {other}"),
        };
        let explanation = explain(&explained, format);
        for row in explanation.rows {
            let cells = row
                .into_iter()
                .map(|cell| cell.unwrap_or("NULL".to_owned()));
            text.push(cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text.join("\n")
}

fn steps<'a>(wanted: &'a Wanted, plan: &TablePlan) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    if let Some(aggregation) = &wanted.aggregation {
        steps.push(Step::Aggregate {
            rollup: false,
            keys: &aggregation.keys,
            aggregates: &aggregation.aggregates,
            in_order: plan.grouped_in_order,
        });
    }
    if wanted.distinct {
        steps.push(Step::Distinct);
    }
    if !wanted.order_by.is_empty() && !plan.ordered {
        steps.push(Step::Sort {
            keys: &wanted.order_by,
            rows_kept: wanted.limit.map(|limit| limit + wanted.offset),
        });
    }
    if wanted.limit.is_some() || wanted.offset != 0 {
        steps.push(Step::Limit {
            limit: wanted.limit.filter(|_| !wanted.distinct),
            offset: wanted.offset,
        });
    }
    steps
}
