//! FORMAT=JSON: the shape of MySQL 8 (`nested_loop`, `attached_subqueries`,
//! `materialized_from_subquery`, `query_specifications`).

use super::names;
use super::tree::conditions;
use super::{
    BlockShown, JoinShown, JoinStepShown, MethodShown, QueryShown, RowsShown, SetShown, TableShown,
    Took, UnitShown, Whole, Written,
};
use crate::plan::explain::json::{Members, access, reasons, verb, wrapped};
use crate::plan::explain::json_text::Json;
use crate::plan::explain::traditional;
use crate::sql::ast::SetOperator;
use crate::types::temporal::Zone;

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: u64 = 1000;

pub(super) fn text(whole: &Whole<'_>) -> String {
    let mut writer = Writer {
        zone: whole.zone,
        blocks: 0,
        written: whole.written.as_ref(),
    };
    let mut members = writer.query(&whole.query);
    if let Some(written) = whole.written.as_ref().filter(|written| written.is_insert()) {
        members = inserting(written, members);
    }
    if let Some(refusal) = &whole.refusal {
        members.push(("refused", Json::text(refusal.message())));
    }
    if let Some(measured) = &whole.measured {
        members.push((
            "measured",
            Json::Object(vec![
                ("rows_read", Json::Number(measured.rows_read)),
                ("rows_returned", Json::Number(measured.rows_returned)),
                ("microseconds", Json::Number(measured.micros)),
            ]),
        ));
    }
    Json::Object(vec![("query_block", Json::Object(members))]).render()
}

/// The table that takes the rows, and the query that they come from.
fn inserting(written: &Written<'_>, query: Members) -> Members {
    let mut members = vec![("select_id", Json::Number(1))];
    for target in &written.targets {
        let mut table = verb(written.statement);
        table.push(("table_name", Json::text(target.alias)));
        table.push(("access_type", Json::text("ALL")));
        table.push(("reads_old", Json::Bool(target.write.reads_old)));
        members.push(("table", Json::Object(table)));
    }
    members.push(("insert_from", Json::Object(query)));
    members
}

struct Writer<'z> {
    zone: &'z Zone,
    blocks: u64,
    /// What is done with the rows.
    written: Option<&'z Written<'z>>,
}

impl Writer<'_> {
    /// The members of a `query_block`.
    fn query(&mut self, query: &QueryShown<'_>) -> Members {
        match query {
            QueryShown::Block(block) => self.block(block),
            QueryShown::Set(set) => self.set(set),
            QueryShown::Json(path) => {
                self.blocks += 1;
                vec![
                    ("select_id", Json::Number(self.blocks)),
                    ("table_function", Json::text("json_table")),
                    ("path", Json::text(*path)),
                ]
            }
            QueryShown::Recursive(recursive) => {
                let sides = [&recursive.first, &recursive.next];
                let sides = sides.map(|side| self.specification(side, false));
                let mut result = vec![
                    ("using_temporary_table", Json::Bool(true)),
                    ("recursive", Json::Bool(true)),
                    ("query_specifications", Json::List(sides.into())),
                ];
                result.extend(
                    recursive
                        .limits
                        .0
                        .map(|limit| ("limit", Json::Number(limit))),
                );
                vec![("union_result", Json::Object(result))]
            }
        }
    }

    fn set(&mut self, set: &SetShown<'_>) -> Members {
        let name = match set.operator {
            SetOperator::Union => "union_result",
            SetOperator::Intersect => "intersect_result",
            SetOperator::Except => "except_result",
        };
        let is_kept = !set.all || set.operator != SetOperator::Union;
        let sides = [&set.sides.0, &set.sides.1];
        let sides = sides.map(|side| self.specification(side, false));
        let mut result = vec![("using_temporary_table", Json::Bool(is_kept))];
        if !set.order_by.is_empty() {
            result.push(("using_filesort", Json::Bool(true)));
        }
        result.extend(set.limits.0.map(|limit| ("limit", Json::Number(limit))));
        result.push(("query_specifications", Json::List(sides.into())));
        vec![(name, Json::Object(result))]
    }

    /// A query as a part of another one.
    fn specification(&mut self, query: &QueryShown<'_>, is_dependent: bool) -> Json {
        Json::Object(self.part(query, is_dependent))
    }

    fn part(&mut self, query: &QueryShown<'_>, is_dependent: bool) -> Members {
        let block = self.query(query);
        vec![
            ("dependent", Json::Bool(is_dependent)),
            ("cacheable", Json::Bool(!is_dependent)),
            ("query_block", Json::Object(block)),
        ]
    }

    fn block(&mut self, block: &BlockShown<'_>) -> Members {
        self.blocks += 1;
        let mut members = vec![("select_id", Json::Number(self.blocks))];
        let mut inner = match &block.rows {
            RowsShown::Nothing => vec![("message", Json::text("No tables used"))],
            RowsShown::Table(table) => {
                let table = self.table(table, None);
                vec![("table", Json::Object(table))]
            }
            RowsShown::Join(join) => self.join(join),
        };
        let mut scope = names::of_block(block, self.zone);
        if let Some(late) = &block.late {
            inner.push(("attached_condition", Json::text(scope.text(late))));
            inner.extend(took("condition_measured", block.took_late.as_ref()));
        }
        for step in &block.steps {
            inner = wrapped(step, &scope, inner);
            scope.pass(step);
        }
        members.extend(inner);
        members.extend(took("grouping_measured", block.took_groups.as_ref()));
        members.extend(took("ordering_measured", block.took_sort.as_ref()));
        let mut attached = Vec::new();
        for subquery in &block.subqueries {
            let mut part = vec![("name", Json::text(subquery.name))];
            if !subquery.reads.is_empty() {
                let reads = subquery.reads.iter().map(Json::text);
                part.push(("reads", Json::List(reads.collect())));
            }
            part.extend(self.part(&subquery.query, !subquery.reads.is_empty()));
            part.extend(took("measured", subquery.took.as_ref()));
            attached.push(Json::Object(part));
        }
        if !attached.is_empty() {
            members.push(("attached_subqueries", Json::List(attached)));
        }
        members
    }

    fn join(&mut self, join: &JoinShown<'_>) -> Members {
        let steps = join.steps.iter();
        let mut tables: Vec<Json> = steps.map(|step| self.step(step, join)).collect();
        match tables.pop() {
            Some(Json::Object(only)) if tables.is_empty() => only,
            last => {
                tables.extend(last);
                vec![("nested_loop", Json::List(tables))]
            }
        }
    }

    fn step(&mut self, step: &JoinStepShown<'_>, join: &JoinShown<'_>) -> Json {
        let mut filter = None;
        let mut members = match &step.unit {
            UnitShown::Table(table) => self.table(table, Some(step)),
            UnitShown::Query(alias, query, condition) => {
                filter = condition.as_ref();
                let mut part = vec![("using_temporary_table", Json::Bool(true))];
                part.extend(self.part(query, matches!(step.method, MethodShown::Each)));
                vec![
                    ("table_name", Json::text(*alias)),
                    ("access_type", Json::text("ALL")),
                    ("materialized_from_subquery", Json::Object(part)),
                ]
            }
            UnitShown::Round(alias, condition) | UnitShown::Listed(alias, condition) => {
                filter = condition.as_ref();
                let is_round = matches!(step.unit, UnitShown::Round(..));
                let recursive = is_round.then_some(("recursive", Json::Bool(true)));
                let names = [("table_name", *alias), ("access_type", "ALL")];
                let members = names.map(|(name, text)| (name, Json::text(text)));
                members.into_iter().chain(recursive).collect()
            }
            UnitShown::Join(inside, condition) => {
                filter = condition.as_ref();
                self.join(inside)
            }
        };
        let scope = names::of_join(join, self.zone);
        if let Some(filter) = filter {
            members.push(("attached_condition", Json::text(scope.text(filter))));
        }
        if let MethodShown::Hash(_) = step.method {
            members.push(("using_join_buffer", Json::text("hash join")));
        }
        let on = conditions(step, &scope);
        if !on.is_empty() {
            members.push(("join_condition", Json::text(on.join(" AND "))));
        }
        if let MethodShown::Hash(keys) = &step.method
            && !keys.is_empty()
        {
            let keys = keys.iter().map(|(far, near)| {
                Json::Text(format!("{} = {}", scope.text(far), scope.text(near)))
            });
            members.push(("hash_keys", Json::List(keys.collect())));
        }
        if step.is_outer {
            members.push(("outer_join", Json::Bool(true)));
        }
        if let Some(filter) = &step.filter {
            members.push(("having_joined", Json::text(scope.text(filter))));
        }
        members.push(("rows_produced_per_join", Json::Number(step.rows_estimate)));
        members.extend(took("measured", step.took.as_ref()));
        Json::Object(vec![("table", Json::Object(members))])
    }

    fn table(&mut self, table: &TableShown<'_>, step: Option<&JoinStepShown<'_>>) -> Members {
        let source = table.source();
        if let Some(message) = traditional::empty_message(&source) {
            return vec![
                ("table_name", Json::text(table.alias)),
                ("message", Json::text(message)),
            ];
        }
        let mut members = self.verb_of(table);
        members.push(("table_name", Json::text(table.alias)));
        let is_lookup = step.is_some_and(|step| matches!(step.method, MethodShown::Lookup));
        let access_type = match source.access_type() {
            Some("const") if is_lookup => Some("eq_ref"),
            other => other,
        };
        members.extend(access_type.map(|word| ("access_type", Json::text(word))));
        access(&source, self.zone, &mut members);
        let residual = names::residual(table, self.zone);
        members.extend(residual.map(|text| ("attached_condition", Json::Text(text))));
        reasons(&source, &mut members);
        members
    }

    /// What is done with a table of the statement's own query.
    fn verb_of(&self, table: &TableShown<'_>) -> Members {
        let is_target = |written: &&Written<'_>| {
            let mut targets = written.targets.iter();
            self.blocks == 1
                && !written.is_insert()
                && targets.any(|target| target.alias == table.alias)
        };
        let written = self.written.filter(is_target);
        written.map_or(Vec::new(), |written| verb(written.statement))
    }
}

/// What a part took, as a member.
fn took(name: &'static str, took: Option<&Took>) -> Option<(&'static str, Json)> {
    let took = took?;
    let numbers = vec![
        ("runs", Json::Number(took.runs)),
        ("rows_in", Json::Number(took.rows_in)),
        ("rows_out", Json::Number(took.rows_out)),
        ("rows_read", Json::Number(took.rows_read)),
        ("batches", Json::Number(took.batches)),
        ("spilled_bytes", Json::Number(took.spilled_bytes)),
        ("microseconds", Json::Number(took.nanos / NANOS_PER_MICRO)),
    ];
    Some((name, Json::Object(numbers)))
}
