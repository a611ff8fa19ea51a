//! FORMAT=TREE: one plain sentence, the tree of the whole statement, and why each path of each table
//! was taken or not.

use super::names;
use super::node::Node;
use super::{
    BlockShown, JoinShown, JoinStepShown, MethodShown, QueryShown, RecursiveShown, RowsShown,
    SetShown, SubqueryShown, TableShown, Took, UnitShown, Whole, Written,
};
use crate::plan::explain::steps::Scope;
use crate::plan::explain::tree::{
    access_lines, amount, rows, step_line, verdict_lines, write_line,
};
use crate::plan::explain::{Statement, Step};
use crate::sql::ast::SetOperator;
use crate::sql::bound::Answer;
use crate::sql::expr::Expr;
use crate::types::temporal::Zone;

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: u64 = 1000;

pub(super) fn text(whole: &Whole<'_>) -> String {
    let mut lines = vec![sentence(whole)];
    let mut nodes = query(&whole.query, whole.zone);
    if let Some(written) = &whole.written {
        for target in written.targets.iter().rev() {
            let line = write_line(written.statement, (target.alias, &target.write));
            nodes = vec![Node::new(line, nodes)];
        }
    }
    for node in nodes {
        node.draw(0, &mut lines);
    }
    for table in whole.query.tables() {
        lines.push(format!("Paths of {}:", table.alias));
        verdict_lines(&table.source(), &mut lines);
    }
    if let Some(refusal) = &whole.refusal {
        let errno = refusal.code().errno();
        lines.push(format!("Refused with error {errno}: {}", refusal.message()));
    }
    if let Some(measured) = &whole.measured {
        let time = millis(measured.micros);
        lines.push(format!(
            "Measured: read {} rows, returned {}, took {time} ms",
            measured.rows_read, measured.rows_returned
        ));
    }
    lines.join("\n")
}

fn millis(micros: u64) -> String {
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

/// `Reads about 3 rows by 3 keys of a; joins b, c; sorts by a.x.`
fn sentence(whole: &Whole<'_>) -> String {
    if whole.refusal.is_some() {
        let tables = whole.query.tables();
        let refused = tables.iter().filter(|table| table.is_refused());
        let texts: Vec<String> = refused
            .map(|table| format!("{} of {}", amount(&table.source()), table.alias))
            .collect();
        if texts.is_empty() {
            return "Is refused.".to_owned();
        }
        return format!("Is refused: it would read {}.", texts.join(" and "));
    }
    let mut parts = Vec::new();
    match &whole.query {
        QueryShown::Block(block) => block_sentence(block, whole.zone, &mut parts),
        QueryShown::Set(set) => parts.push(format!(
            "{} the rows of two queries",
            set_verb(set.operator)
        )),
        QueryShown::Json(_) => parts.push("Makes rows of a JSON document".to_owned()),
        QueryShown::Recursive(_) => {
            parts.push("Runs a query round by round until it finds no more rows".to_owned());
        }
    }
    if let Some(written) = &whole.written {
        parts.push(write_text(written));
    }
    format!("{}.", parts.join("; "))
}

/// `updates a and b`
fn write_text(written: &Written<'_>) -> String {
    let verb = match written.statement {
        Statement::Update => "updates",
        Statement::Delete => "deletes from",
        Statement::Insert | Statement::Select => "inserts into",
        Statement::Replace => "replaces into",
        Statement::Upsert => "upserts into",
    };
    let names: Vec<&str> = written.targets.iter().map(|target| target.alias).collect();
    format!("{verb} {}", names.join(" and "))
}

fn set_verb(operator: SetOperator) -> &'static str {
    match operator {
        SetOperator::Union => "Unites",
        SetOperator::Intersect => "Intersects",
        SetOperator::Except => "Subtracts",
    }
}

fn block_sentence(block: &BlockShown<'_>, zone: &Zone, parts: &mut Vec<String>) {
    match &block.rows {
        RowsShown::Nothing => parts.push("Reads no table; computes one row".to_owned()),
        RowsShown::Table(table) => {
            parts.push(format!(
                "Reads {} of {}",
                amount(&table.source()),
                table.alias
            ));
        }
        RowsShown::Join(join) => join_sentence(join, parts),
    }
    let (often, once): (Vec<_>, Vec<_>) = block
        .subqueries
        .iter()
        .partition(|subquery| !subquery.reads.is_empty());
    if !once.is_empty() {
        parts.push(format!("runs {} once", subqueries_text(&once)));
    }
    if !often.is_empty() {
        parts.push(format!("runs {} for each row", subqueries_text(&often)));
    }
    let mut scope = names::of_block(block, zone);
    for step in &block.steps {
        match step {
            Step::Aggregate { keys: [], .. } => {
                parts.push("aggregates them into one row".to_owned());
            }
            Step::Aggregate { keys, rollup, .. } => {
                parts.push(format!("groups them by {}", scope.groups(keys, *rollup)));
            }
            Step::Sort { keys, .. } => parts.push(format!("sorts by {}", scope.order(keys))),
            Step::Windows(_) => parts.push("computes window functions".to_owned()),
            Step::Distinct => parts.push("removes duplicates".to_owned()),
            Step::Having(_) | Step::Limit { .. } => {}
        }
        scope.pass(step);
    }
}

fn subqueries_text(subqueries: &[&SubqueryShown<'_>]) -> String {
    match subqueries {
        [_] => "a subquery".to_owned(),
        several => format!("{} subqueries", several.len()),
    }
}

fn join_sentence(join: &JoinShown<'_>, parts: &mut Vec<String>) {
    for step in &join.steps {
        let name = unit_name(&step.unit);
        parts.push(match (&step.method, &step.unit) {
            (MethodShown::Scan, UnitShown::Table(table)) => {
                format!("Reads {} of {name}", amount(&table.source()))
            }
            (MethodShown::Scan, _) => format!("Reads {name}"),
            (MethodShown::Lookup, _) => format!("looks up {name} for each row"),
            (MethodShown::Each, _) => format!("runs {name} for each row"),
            (MethodShown::Hash(keys), _) if keys.is_empty() => {
                format!("combines with all of {name}")
            }
            (MethodShown::Hash(_), _) => format!("joins {name} by hash"),
        });
    }
}

/// The alias of a unit, or those of the sources in it.
fn unit_name(unit: &UnitShown<'_>) -> String {
    match unit {
        UnitShown::Table(table) => table.alias.to_owned(),
        UnitShown::Query(alias, ..) | UnitShown::Round(alias, _) | UnitShown::Listed(alias, _) => {
            (*alias).to_owned()
        }
        UnitShown::Join(join, _) => {
            let names: Vec<String> = join
                .steps
                .iter()
                .map(|step| unit_name(&step.unit))
                .collect();
            format!("({})", names.join(", "))
        }
    }
}

/// A query: its rows, and then its subqueries.
fn query(query: &QueryShown<'_>, zone: &Zone) -> Vec<Node> {
    match query {
        QueryShown::Block(block) => self::block(block, zone),
        QueryShown::Set(set) => vec![self::set(set, zone)],
        QueryShown::Json(path) => {
            let line = format!("What {path} finds in a JSON document");
            vec![Node::new(line, Vec::new())]
        }
        QueryShown::Recursive(recursive) => vec![self::recursive(recursive, zone)],
    }
}

fn recursive(recursive: &RecursiveShown<'_>, zone: &Zone) -> Node {
    let kept = if recursive.all {
        ""
    } else {
        ", duplicates removed"
    };
    let mut first = Node::new("First round", query(&recursive.first, zone));
    first.note(&took(recursive.first.took()));
    let rounds = "Each later round, until it finds no row";
    let mut next = Node::new(rounds, query(&recursive.next, zone));
    next.note(&took(recursive.next.took()));
    let node = Node::new(format!("Recursive query{kept}"), vec![first, next]);
    limited(
        node,
        recursive.limits,
        &Scope::over(zone, |idx| format!("column {idx}")),
    )
}

/// The node of a whole query, below its `LIMIT` if there is one.
fn limited(node: Node, (limit, offset): (Option<u64>, u64), scope: &Scope<'_>) -> Node {
    if limit.is_none() && offset == 0 {
        return node;
    }
    Node::over(step_line(&Step::Limit { limit, offset }, scope), node)
}

fn set(set: &SetShown<'_>, zone: &Zone) -> Node {
    let word = match set.operator {
        SetOperator::Union => "Union",
        SetOperator::Intersect => "Intersect",
        SetOperator::Except => "Except",
    };
    let all = if set.all {
        " all"
    } else {
        ", duplicates removed"
    };
    let kept = match set.operator {
        SetOperator::Union => "",
        SetOperator::Intersect | SetOperator::Except => ", right side kept in memory",
    };
    let sides = [&set.sides.0, &set.sides.1].into_iter();
    let sides = sides.map(|side| {
        let mut node = Node::new("Side", query(side, zone));
        node.note(&took(side.took()));
        node
    });
    let mut node = Node::new(format!("{word}{all}{kept}"), sides.collect());
    let scope = Scope::over(zone, |idx| match set.columns.get(idx) {
        Some(column) => column.name.clone(),
        None => format!("column {idx}"),
    });
    let (limit, offset) = set.limits;
    if !set.order_by.is_empty() {
        let sort = Step::Sort {
            keys: set.order_by,
            rows_kept: limit.map(|limit| limit.saturating_add(offset)),
        };
        node = Node::over(step_line(&sort, &scope), node);
    }
    limited(node, set.limits, &scope)
}

fn block(block: &BlockShown<'_>, zone: &Zone) -> Vec<Node> {
    let mut node = match &block.rows {
        RowsShown::Nothing => Node::new("One row", Vec::new()),
        RowsShown::Table(table) => {
            let mut node = self::table(table, zone);
            node.note(&took(block.took_reading().as_ref()));
            node
        }
        RowsShown::Join(join) => self::join(join, zone),
    };
    let mut scope = names::of_block(block, zone);
    if let Some(late) = &block.late {
        let mut filter = Node::over(format!("Filter: {}", scope.text(late)), node);
        filter.note(&took(block.took_late.as_ref()));
        node = filter;
    }
    for step in &block.steps {
        node = Node::over(step_line(step, &scope), node);
        match step {
            Step::Aggregate { .. } => node.note(&took(block.took_groups.as_ref())),
            Step::Sort { .. } => node.note(&took(block.took_sort.as_ref())),
            Step::Having(_) | Step::Windows(_) | Step::Distinct | Step::Limit { .. } => {}
        }
        scope.pass(step);
    }
    let mut nodes = vec![node];
    nodes.extend(block.subqueries.iter().map(|one| subquery(one, zone)));
    nodes
}

fn subquery(subquery: &SubqueryShown<'_>, zone: &Zone) -> Node {
    let how = match subquery.answer {
        Answer::Value => "its value",
        Answer::Exists => "whether it has a row",
        Answer::Set => "its rows",
    };
    let when = if subquery.reads.is_empty() {
        "run once".to_owned()
    } else {
        format!("run for each row, with {}", subquery.reads.join(", "))
    };
    let line = format!("{} is {how}, {when}", subquery.name);
    let mut node = Node::new(line, query(&subquery.query, zone));
    node.note(&took(subquery.took.as_ref()));
    node
}

/// How a table is read.
fn table(table: &TableShown<'_>, zone: &Zone) -> Node {
    let mut steps = Vec::new();
    access_lines(&table.source(), zone, &mut steps);
    steps.extend(names::residual(table, zone).map(|text| vec![format!("Filter: {text}")]));
    Node::chain(steps).unwrap_or_else(|| Node::new("Nothing", Vec::new()))
}

fn join(join: &JoinShown<'_>, zone: &Zone) -> Node {
    if !join.is_possible {
        let units = join.steps.iter();
        let units = units.map(|step| unit(&step.unit, join, zone)).collect();
        let mut node = Node::new("Join in no order that is permitted", units);
        let scope = names::of_join(join, zone);
        let on = join.open.iter().map(|expr| scope.text(expr));
        let on: Vec<String> = on.collect();
        if !on.is_empty() {
            node.lines.push(format!("on {}", on.join(" AND ")));
        }
        return node;
    }
    let mut so_far: Option<Node> = None;
    for step in &join.steps {
        let unit = unit(&step.unit, join, zone);
        let mut node = match so_far.take() {
            None => unit,
            Some(before) => step_node(step, (join, zone), vec![before, unit]),
        };
        if step.took.is_some() {
            node.note(&took(step.took.as_ref()));
        } else if !matches!(step.method, MethodShown::Scan) {
            node.note(&format!(" (about {})", rows(step.rows_estimate)));
        }
        if let Some(filter) = &step.filter {
            let text = names::of_join(join, zone).text(filter);
            node = Node::over(format!("Filter: {text}"), node);
        }
        so_far = Some(node);
    }
    so_far.unwrap_or_else(|| Node::new("Nothing", Vec::new()))
}

/// How a unit is joined to the rows so far.
fn step_node(
    step: &JoinStepShown<'_>,
    (join, zone): (&JoinShown<'_>, &Zone),
    feeds: Vec<Node>,
) -> Node {
    let name = unit_name(&step.unit);
    let scope = names::of_join(join, zone);
    let keys = equations(&step.method, &scope);
    let (inner, outer, rest) = match &step.method {
        MethodShown::Scan => ("Scan of", "Scan of", String::new()),
        MethodShown::Lookup => (
            "Lookup join with",
            "Outer lookup join with",
            ", for each row".to_owned(),
        ),
        MethodShown::Each => (
            "Lateral join with",
            "Outer lateral join with",
            ", for each row".to_owned(),
        ),
        MethodShown::Hash(_) if keys.is_empty() => (
            "Nested loop join with",
            "Outer nested loop join with",
            ", kept in memory".to_owned(),
        ),
        MethodShown::Hash(_) => (
            "Hash join with",
            "Outer hash join with",
            format!(": {}", keys.join(" AND ")),
        ),
    };
    let word = if step.is_outer { outer } else { inner };
    let line = format!("{word} {name}{rest}");
    let mut node = Node::new(line, feeds);
    let rest = conditions(step, &scope);
    if !rest.is_empty() {
        node.lines.push(format!("on {}", rest.join(" AND ")));
    }
    node
}

/// The keys of a hash join.
fn equations(method: &MethodShown, scope: &Scope<'_>) -> Vec<String> {
    match method {
        MethodShown::Scan | MethodShown::Lookup | MethodShown::Each => Vec::new(),
        MethodShown::Hash(keys) => keys
            .iter()
            .map(|(far, near)| format!("{} = {}", scope.text(far), scope.text(near)))
            .collect(),
    }
}

/// What makes a match besides the keys.
pub(super) fn conditions(step: &JoinStepShown<'_>, scope: &Scope<'_>) -> Vec<String> {
    let mut keys = equations(&step.method, scope);
    if let MethodShown::Hash(pairs) = &step.method {
        let turned =
            |(far, near): &(Expr, Expr)| format!("{} = {}", scope.text(near), scope.text(far));
        keys.extend(pairs.iter().map(turned));
    }
    let all = names::conjuncts(step.conditions.as_ref());
    let texts = all.into_iter().map(|expr| scope.text(expr));
    texts.filter(|text| !keys.contains(text)).collect()
}

fn unit(unit: &UnitShown<'_>, join: &JoinShown<'_>, zone: &Zone) -> Node {
    let (node, filter) = match unit {
        UnitShown::Table(table) => return self::table(table, zone),
        UnitShown::Query(alias, query, filter) => {
            let node = Node::new(format!("Rows of {alias}"), self::query(query, zone));
            (node, filter)
        }
        UnitShown::Round(alias, filter) => {
            let line = format!("Rows of the last round of {alias}");
            (Node::new(line, Vec::new()), filter)
        }
        UnitShown::Listed(alias, filter) => {
            let line = format!("Rows of {alias}, which the server makes up");
            (Node::new(line, Vec::new()), filter)
        }
        UnitShown::Join(inside, filter) => (self::join(inside, zone), filter),
    };
    match filter {
        Some(filter) => {
            let text = names::of_join(join, zone).text(filter);
            Node::over(format!("Filter: {text}"), node)
        }
        None => node,
    }
}

/// ` (3 rows in, 2 out, 12 read in 1 page, 0.012 ms)`
fn took(took: Option<&Took>) -> String {
    let Some(took) = took else {
        return String::new();
    };
    let mut parts = Vec::new();
    if 1 < took.runs {
        parts.push(format!("{} runs", took.runs));
    }
    if 0 < took.rows_in {
        parts.push(format!("{} in", rows(took.rows_in)));
    }
    parts.push(format!("{} out", rows(took.rows_out)));
    if 0 < took.rows_read {
        parts.push(format!("{} read", took.rows_read));
    }
    if 0 < took.batches {
        let plural = if took.batches == 1 { "" } else { "es" };
        parts.push(format!("{} batch{plural}", took.batches));
    }
    if 0 < took.spilled_bytes {
        parts.push(format!("{} bytes spilled", took.spilled_bytes));
    }
    if 0 < took.nanos {
        parts.push(format!("{} ms", millis(took.nanos / NANOS_PER_MICRO)));
    }
    format!(" ({})", parts.join(", "))
}
