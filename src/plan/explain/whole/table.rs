//! FORMAT=TRADITIONAL: a row per table as MySQL has them, those of a block with its number.

use super::{
    BlockShown, JoinShown, JoinStepShown, MethodShown, QueryShown, RecursiveShown, RowsShown,
    SetShown, UnitShown, Whole, Written,
};

use crate::plan::explain::traditional::{access_cells, columns, is_held, table_extra};
use crate::plan::explain::{Source, Step};
use crate::sql::ast::SetOperator;

type Row = Vec<Option<String>>;

/// Where the columns are.
const ID: usize = 0;
const SELECT_TYPE: usize = 1;
const TABLE: usize = 2;
const TYPE: usize = 4;
const ROWS: usize = 9;
const EXTRA: usize = 11;

pub(super) fn rows(whole: &Whole<'_>) -> Vec<Row> {
    let mut table = Rows::default();
    let is_simple = match &whole.query {
        QueryShown::Block(block) => block.subqueries.is_empty() && !reads_query(&block.rows),
        QueryShown::Set(_) | QueryShown::Recursive(_) | QueryShown::Json(_) => false,
    };
    table.query(
        &whole.query,
        if is_simple {
            Place::Simple
        } else {
            Place::Primary
        },
    );
    if let Some(written) = &whole.written {
        tell_writes(&mut table.rows, written);
    }
    table.rows
}

/// What is written: a row of its own for what is inserted into, else the rows of the tables.
fn tell_writes(rows: &mut Vec<Row>, written: &Written<'_>) {
    let word = written.statement.select_type();
    for target in &written.targets {
        if written.is_insert() {
            let mut row = new_row(Some(1), word);
            put(&mut row, TABLE, target.alias);
            put(&mut row, TYPE, "ALL");
            rows.insert(0, row);
            continue;
        }
        let is_in = |row: &&mut Row| {
            let cell = |at: usize| row.get(at).and_then(Option::as_deref);
            cell(ID) == Some("1") && cell(TABLE) == Some(target.alias)
        };
        for row in rows.iter_mut().filter(is_in) {
            put(row, SELECT_TYPE, word);
        }
    }
}

fn reads_query(rows: &RowsShown<'_>) -> bool {
    match rows {
        RowsShown::Nothing | RowsShown::Table(_) => false,
        RowsShown::Join(join) => joins_query(join),
    }
}

fn joins_query(join: &JoinShown<'_>) -> bool {
    join.steps.iter().any(|step| match &step.unit {
        UnitShown::Table(_) | UnitShown::Round(..) | UnitShown::Listed(..) => false,
        UnitShown::Query(..) => true,
        UnitShown::Join(inside, _) => joins_query(inside),
    })
}

/// What a block is in its statement.
#[derive(Clone, Copy)]
enum Place {
    Simple,
    Primary,
    Subquery,
    Dependent,
    Derived,
    /// A query in `FROM` that is run for each row.
    DependentDerived,
    /// The right side of a set operation; whether it reads the row around it.
    Right(SetOperator, bool),
}

impl Place {
    /// MySQL's `select_type`.
    fn word(self) -> &'static str {
        match self {
            Place::Simple => "SIMPLE",
            Place::Primary => "PRIMARY",
            Place::Subquery => "SUBQUERY",
            Place::Dependent => "DEPENDENT SUBQUERY",
            Place::Derived => "DERIVED",
            Place::DependentDerived => "DEPENDENT DERIVED",
            Place::Right(SetOperator::Union, true) => "DEPENDENT UNION",
            Place::Right(SetOperator::Union, false) => "UNION",
            Place::Right(SetOperator::Intersect, true) => "DEPENDENT INTERSECT",
            Place::Right(SetOperator::Intersect, false) => "INTERSECT",
            Place::Right(SetOperator::Except, true) => "DEPENDENT EXCEPT",
            Place::Right(SetOperator::Except, false) => "EXCEPT",
        }
    }

    /// The right side of an operation whose left side is here.
    fn right(self, operator: SetOperator) -> Place {
        let is_dependent = match self {
            Place::Dependent | Place::DependentDerived | Place::Right(_, true) => true,
            Place::Simple
            | Place::Primary
            | Place::Subquery
            | Place::Derived
            | Place::Right(_, false) => false,
        };
        Place::Right(operator, is_dependent)
    }
}

#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    blocks: usize,
}

/// The rows of the queries in `FROM`, by the position of the row that stands for each.
/// With each is whether it is run row by row.
type Within<'q, 'a> = Vec<(usize, &'q QueryShown<'a>, bool)>;

impl Rows {
    /// Adds the rows of a query; returns the numbers of its blocks that are not within others.
    fn query(&mut self, query: &QueryShown<'_>, place: Place) -> Vec<usize> {
        match query {
            QueryShown::Block(block) => vec![self.block(block, place)],
            QueryShown::Set(set) => self.set(set, place),
            QueryShown::Recursive(recursive) => self.recursive(recursive, place),
            QueryShown::Json(_) => {
                self.blocks += 1;
                let mut row = new_row(Some(self.blocks), place.word());
                put(&mut row, EXTRA, "Table function: json_table");
                self.rows.push(row);
                vec![self.blocks]
            }
        }
    }

    fn set(&mut self, set: &SetShown<'_>, place: Place) -> Vec<usize> {
        let mut blocks = self.query(&set.sides.0, place);
        blocks.extend(self.query(&set.sides.1, place.right(set.operator)));
        let is_kept = !set.all || set.operator != SetOperator::Union || !set.order_by.is_empty();
        if is_kept {
            let (word, name) = match set.operator {
                SetOperator::Union => ("UNION RESULT", "union"),
                SetOperator::Intersect => ("INTERSECT RESULT", "intersect"),
                SetOperator::Except => ("EXCEPT RESULT", "except"),
            };
            let ids: Vec<String> = blocks.iter().map(ToString::to_string).collect();
            let mut extra = vec!["Using temporary"];
            if !set.order_by.is_empty() {
                extra.push("Using filesort");
            }
            let mut row = new_row(None, word);
            put(&mut row, TABLE, format!("<{name}{}>", ids.join(",")));
            put(&mut row, TYPE, "ALL");
            put(&mut row, EXTRA, extra.join("; "));
            self.rows.push(row);
        }
        blocks
    }

    fn recursive(&mut self, recursive: &RecursiveShown<'_>, place: Place) -> Vec<usize> {
        let mut blocks = self.query(&recursive.first, place);
        let next = self.rows.len();
        let right = place.right(SetOperator::Union);
        blocks.extend(self.query(&recursive.next, right));
        if let Some(row) = self.rows.get_mut(next) {
            add_extra(row, "Recursive");
        }
        blocks
    }

    fn block(&mut self, block: &BlockShown<'_>, place: Place) -> usize {
        self.blocks += 1;
        let id = self.blocks;
        let first = self.rows.len();
        let mut within = Within::new();
        match &block.rows {
            RowsShown::Nothing => {
                let mut row = new_row(Some(id), place.word());
                put(&mut row, EXTRA, "No tables used");
                self.rows.push(row);
            }
            RowsShown::Table(table) => {
                let row = new_row(Some(id), place.word());
                self.rows.push(table_row(row, &table.source(), None));
            }
            RowsShown::Join(join) => self.join(join, (id, place), &mut within),
        }
        if block.late.is_some()
            && let Some(last) = self.rows.last_mut()
        {
            add_where(last);
        }
        if let Some(row) = self.rows.get_mut(first) {
            let mut steps = block.steps.iter();
            if steps.clone().any(is_held) {
                add_extra(row, "Using temporary");
            }
            if steps.any(|step| matches!(step, Step::Sort { .. })) {
                add_extra(row, "Using filesort");
            }
        }
        for (at, query, is_lateral) in within {
            let derived = if is_lateral {
                Place::DependentDerived
            } else {
                Place::Derived
            };
            let blocks = self.query(query, derived);
            if let (Some(row), Some(first)) = (self.rows.get_mut(at), blocks.first()) {
                put(row, TABLE, format!("<derived{first}>"));
            }
        }
        for subquery in &block.subqueries {
            let place = if subquery.reads.is_empty() {
                Place::Subquery
            } else {
                Place::Dependent
            };
            self.query(&subquery.query, place);
        }
        id
    }

    fn join<'q, 'a>(
        &mut self,
        join: &'q JoinShown<'a>,
        (id, place): (usize, Place),
        within: &mut Within<'q, 'a>,
    ) {
        for step in &join.steps {
            let row = new_row(Some(id), place.word());
            match &step.unit {
                UnitShown::Table(table) => {
                    let row = table_row(row, &table.source(), Some(step));
                    self.rows.push(row);
                }
                UnitShown::Query(_, query, filter) => {
                    let is_lateral = matches!(step.method, MethodShown::Each);
                    within.push((self.rows.len(), query, is_lateral));
                    self.rows
                        .push(kept_row(row, "<derived>", (step, filter.is_some())));
                }
                UnitShown::Round(alias, filter) | UnitShown::Listed(alias, filter) => {
                    self.rows
                        .push(kept_row(row, alias, (step, filter.is_some())));
                }
                UnitShown::Join(inside, filter) => {
                    self.join(inside, (id, place), within);
                    let is_checked = filter.is_some() || step.conditions.is_some();
                    if let Some(last) = self.rows.last_mut().filter(|_| is_checked) {
                        add_where(last);
                    }
                }
            }
        }
    }
}

fn new_row(id: Option<usize>, select_type: &str) -> Row {
    let mut row = vec![None; columns().len()];
    if let (Some(cell), Some(id)) = (row.get_mut(ID), id) {
        *cell = Some(id.to_string());
    }
    put(&mut row, SELECT_TYPE, select_type);
    row
}

/// The row of a table, and of the step that joins it if there is one.
fn table_row(mut row: Row, source: &Source<'_>, step: Option<&JoinStepShown<'_>>) -> Row {
    let is_lookup = step.is_some_and(|step| matches!(step.method, MethodShown::Lookup));
    let access_type = match source.access_type() {
        Some("const") if is_lookup => Some("eq_ref"),
        other => other,
    };
    if let Some(access_type) = access_type {
        access_cells(source, access_type, &mut row);
    }
    for extra in table_extra(source) {
        add_extra(&mut row, &extra);
    }
    if let Some(step) = step {
        step_extra(step, &mut row);
    }
    row
}

/// The row of a source that is no table.
fn kept_row(mut row: Row, name: &str, (step, is_filtered): (&JoinStepShown<'_>, bool)) -> Row {
    put(&mut row, TABLE, name);
    put(&mut row, TYPE, "ALL");
    put(&mut row, ROWS, step.rows_estimate.to_string());
    if is_filtered {
        add_where(&mut row);
    }
    step_extra(step, &mut row);
    row
}

fn step_extra(step: &JoinStepShown<'_>, row: &mut Row) {
    let is_checked = match &step.method {
        MethodShown::Scan => false,
        MethodShown::Lookup | MethodShown::Each | MethodShown::Hash(_) => step.conditions.is_some(),
    };
    if is_checked || step.filter.is_some() {
        add_where(row);
    }
    match &step.method {
        MethodShown::Scan | MethodShown::Lookup | MethodShown::Each => {}
        MethodShown::Hash(_) => add_extra(row, "Using join buffer (hash join)"),
    }
}

fn put(row: &mut Row, at: usize, text: impl Into<String>) {
    if let Some(cell) = row.get_mut(at) {
        *cell = Some(text.into());
    }
}

fn add_where(row: &mut Row) {
    let extra = row
        .get(EXTRA)
        .and_then(Option::as_deref)
        .unwrap_or_default();
    if !extra.split("; ").any(|part| part == "Using where") {
        add_extra(row, "Using where");
    }
}

fn add_extra(row: &mut Row, text: &str) {
    if let Some(cell) = row.get_mut(EXTRA) {
        *cell = Some(match cell.take() {
            Some(before) => format!("{before}; {text}"),
            None => text.to_owned(),
        });
    }
}
