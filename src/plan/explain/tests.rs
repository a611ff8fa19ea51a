//! Goldens of access and EXPLAIN: a statement in, the plan in every rendering out, or the refusal.

use super::{Explained, Format, Source, Statement, Step, Write, explain};
use crate::plan::access::{Policy, Purpose, Request, TablePlan, explain_table, plan_table};
use crate::plan::testing::{self, directive};
use crate::catalog::Table;
use crate::sql::ast;
use crate::sql::bound::{Aggregate, Hints, OrderBy};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

#[test]
fn goldens_of_explain() {
    testing::run_goldens("src/plan/testdata/explain", &answer);
}

/// What the harness takes from a statement.
struct Wanted {
    statement: Statement,
    filter: Option<Expr>,
    grouping: Option<Vec<Expr>>,
    aggregates: Vec<Aggregate>,
    order_by: Vec<OrderBy>,
    limit: Option<u64>,
    offset: u64,
    hints: Hints,
    distinct: bool,
}

fn answer(directives: &[String], input: &str) -> String {
    let table = directive(directives, "table").expect("a table");
    let table = testing::table(&format!("CREATE TABLE {table}"));
    let zone = directive(directives, "zone").unwrap_or("+00:00");
    let ctx = testing::context(zone, Vec::new());
    let wanted = wanted(&testing::statement(input), &table);
    let policy = Policy {
        allow_full_scan: directive(directives, "policy") == Some("allow_full_scan"),
        ..Policy::default()
    };
    let request = request(&wanted, &table, (&ctx, &policy));
    match explain_table(&request) {
        Ok(plan) => {
            let refusal = plan_table(&request).err();
            if let Some(index) = plan.refusal.as_ref().and_then(|refusal| refusal.index()) {
                assert_index_parses(index, &table);
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
        filter: wanted.filter.as_ref(),
        grouping: wanted.grouping.as_deref(),
        order_by: &wanted.order_by,
        limit: wanted.limit,
        offset: wanted.offset,
        hints: &wanted.hints,
        ctx,
        policy,
    }
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
        ast::Statement::Select(select) => select_wanted(select, table),
        ast::Statement::Update(update) => Wanted {
            filter: update.filter.as_ref().map(|expr| testing::bind(expr, table)),
            ..nothing_wanted(Statement::Update)
        },
        ast::Statement::Delete(delete) => Wanted {
            filter: delete.filter.as_ref().map(|expr| testing::bind(expr, table)),
            ..nothing_wanted(Statement::Delete)
        },
        other => panic!("{other:?}"),
    }
}

fn nothing_wanted(statement: Statement) -> Wanted {
    Wanted {
        statement,
        filter: None,
        grouping: None,
        aggregates: Vec::new(),
        order_by: Vec::new(),
        limit: None,
        offset: 0,
        hints: Hints::default(),
        distinct: false,
    }
}

fn select_wanted(select: &ast::Select, table: &Table) -> Wanted {
    let block = testing::block(select);
    let aggregates = testing::aggregates(&block.items, table);
    let is_grouped = !aggregates.is_empty() || !block.group_by.is_empty();
    let keys: Vec<Expr> = block
        .group_by
        .iter()
        .map(|key| testing::bind(key, table))
        .collect();
    let mut order_by = testing::order_by(&select.order_by, table);
    if is_grouped {
        for key in &mut order_by {
            over_groups(&mut key.expr, &keys);
        }
    }
    let number = |expr: Option<&ast::Expr>| match expr {
        Some(ast::Expr::Literal(ast::Literal::Int(number))) => Some(*number),
        _ => None,
    };
    let limit = select.limit.as_ref();
    Wanted {
        filter: block.filter.as_ref().map(|expr| testing::bind(expr, table)),
        grouping: is_grouped.then_some(keys),
        aggregates,
        order_by,
        limit: limit.and_then(|limit| number(Some(&limit.count))),
        offset: limit
            .and_then(|limit| number(limit.offset.as_ref()))
            .unwrap_or(0),
        hints: Hints {
            allow_filtering: block
                .hints
                .iter()
                .any(|hint| hint.name == "_l_allow_filtering_"),
            ..Hints::default()
        },
        distinct: block.distinct,
        ..nothing_wanted(Statement::Select)
    }
}

/// ORDER BY over the grouped row: positions of group keys.
fn over_groups(expr: &mut Expr, keys: &[Expr]) {
    use crate::sql::expr::ExprKind;
    if let ExprKind::Column(idx) = expr.kind {
        let at = keys
            .iter()
            .position(|key| matches!(key.kind, ExprKind::Column(column) if column == idx));
        expr.kind = ExprKind::Column(at.expect("ORDER BY a group key"));
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
            let cells = row.into_iter().map(|cell| cell.unwrap_or("NULL".to_owned()));
            text.push(cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text.join("\n")
}

fn steps<'a>(wanted: &'a Wanted, plan: &TablePlan) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    if let Some(keys) = &wanted.grouping {
        steps.push(Step::Aggregate {
            keys,
            aggregates: &wanted.aggregates,
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
            limit: wanted.limit,
            offset: wanted.offset,
        });
    }
    steps
}
