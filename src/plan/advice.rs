//! The index that would make a refused statement keyed, as a `CREATE INDEX` that runs as printed.
//!
//! Columns compared for equality come first; then one with a range (the rule of the leftmost
//! match), or those of ORDER BY when LIMIT ends the reading. The sides of an OR take an index each;
//! then there may be several statements, with ` and ` between them. An index is proposed only when the
//! planner, given it, takes it: no second copy of its rules is kept here.

use std::ops::Bound;

use super::access::{Policy, Request};
use super::candidates::Candidates;
use super::derive::{Alternatives, Branch, Derived};
use super::domain::Domain;
use super::ends;
use super::merge;
use super::text::{self, quote_name};
use crate::catalog::{Computed, Include, Index, IndexId, IndexState, KeyPart, Table};
use crate::codec::key::Direction;
use crate::sql::bound::{KeyRef, OrderBy};
use crate::sql::eval;
use crate::sql::expr::ExprKind;
use crate::types::ColumnType;

/// Characters of an index name.
const NAME_CHARS_MAX: usize = 64;
/// Columns of an index that are compared for equality. More of them seldom narrow what is read.
const EQUAL_COLUMNS_MAX: usize = 3;
/// Indexes that are proposed for the sides of one OR.
const SIDES_MAX: usize = 3;
/// Columns of an index.
const COLUMNS_MAX: usize = 16;

/// The `CREATE INDEX` that makes the statement keyed, or the `ALTER INDEX` if an index is there but not
/// read.
pub(super) fn index(request: &Request<'_>, derived: &Derived<'_>) -> Option<String> {
    if request.table.wide.reading.is_some() {
        // Other versions than the newest are in no index.
        return None;
    }
    if let Some(statement) = activation(request, derived) {
        return Some(statement);
    }
    let table = request.table;
    let bounds = Bounds::of(&derived.conditions, table);
    let order = order_parts(request);
    let with = |rest: Vec<KeyPart>| {
        let mut parts: Vec<KeyPart> = bounds.equal.iter().map(|idx| ascending(*idx)).collect();
        let new = rest
            .into_iter()
            .filter(|part| !bounds.equal.contains(&part.column_idx));
        parts.extend(new.take(COLUMNS_MAX - parts.len()));
        parts
    };
    let ranged = bounds.ranged.first().map(|idx| ascending(*idx));
    let ends = ends::columns(request).into_iter();
    let ends = ends.filter(|column_idx| is_indexable(table, *column_idx));
    let ends = ends.map(|column_idx| with(vec![ascending(column_idx)]));
    let mut ends = ends.filter(|parts| helps(request, derived, parts) == Some(Help::Ends));
    if let Some(parts) = ends.next() {
        return Some(statement(request, &parts));
    }
    let wishes = [
        ranged.map(|part| with(vec![part])),
        order.map(with),
        Some(with(Vec::new())),
    ];
    let mut wishes = wishes.into_iter().flatten();
    match wishes.find(|parts| helps(request, derived, parts).is_some()) {
        Some(parts) => Some(statement(request, &parts)),
        None => for_sides(request, derived),
    }
}

/// The indexes that the sides of an OR lack.
fn for_sides(request: &Request<'_>, derived: &Derived<'_>) -> Option<String> {
    let mut conditions = derived.conditions.iter();
    conditions.find_map(|condition| {
        if condition.branches.len() < 2 {
            return None;
        }
        let mut table = request.table.clone();
        let mut statements = Vec::new();
        for branch in &condition.branches {
            let trial = Request {
                table: &table,
                ..*request
            };
            if merge::has_key(&trial, derived, branch) {
                continue;
            }
            let parts = side_parts(branch, &table).filter(|parts| !is_there(&table, parts))?;
            statements.push(statement(&trial, &parts));
            if SIDES_MAX < statements.len() {
                return None;
            }
            let name = index_name(&table, &parts);
            table.indexes.push(new_index(name, parts));
        }
        let policy = with_indexes(request);
        let trial = Request {
            table: &table,
            policy: &policy,
            ..*request
        };
        let all = Candidates::of(&trial, derived.conjuncts)?;
        let union = merge::of(&trial, (&all, derived.conjuncts)).ok()?;
        let is_new = !statements.is_empty() && union.is_some();
        is_new.then(|| statements.join(" and "))
    })
}

/// The columns of one side of an OR: those with equality, then one with a range.
fn side_parts(branch: &Branch, table: &Table) -> Option<Vec<KeyPart>> {
    let side = Alternatives {
        branches: vec![branch.clone()],
        blocked: Vec::new(),
    };
    let bounds = Bounds::of(&[side], table);
    let columns = bounds.equal.iter().chain(bounds.ranged.first());
    let parts: Vec<KeyPart> = columns.map(|idx| ascending(*idx)).collect();
    (!parts.is_empty()).then_some(parts)
}

/// Columns that an index could bound.
struct Bounds {
    /// Those that have one value, or a list of them.
    equal: Vec<usize>,
    /// Those with a range.
    ranged: Vec<usize>,
}

impl Bounds {
    fn of(conditions: &[Alternatives<'_>], table: &Table) -> Bounds {
        let (mut equal, mut ranged) = (Vec::new(), Vec::new());
        for condition in conditions {
            let Some((first, rest)) = condition.branches.split_first() else {
                continue;
            };
            for constraint in &first.constraints {
                let column_idx = constraint.column_idx;
                let others = rest.iter().map(|branch| {
                    let mut constraints = branch.constraints.iter();
                    constraints.find(|other| other.column_idx == column_idx)
                });
                let Some(others) = others.collect::<Option<Vec<_>>>() else {
                    continue;
                };
                let mut all = std::iter::once(constraint).chain(others);
                if !is_indexable(table, column_idx) || !all.clone().all(|one| narrows(&one.domain))
                {
                    continue;
                }
                let is_range = all.any(|one| one.domain.counts().1 != 0);
                let list = if is_range { &mut ranged } else { &mut equal };
                if !list.contains(&column_idx) {
                    list.push(column_idx);
                }
            }
        }
        // Columns of few values narrow less.
        equal.sort_by_key(|column_idx| has_few_values(table, *column_idx));
        equal.truncate(EQUAL_COLUMNS_MAX);
        ranged.retain(|column_idx| !equal.contains(column_idx));
        Bounds { equal, ranged }
    }
}

/// Whether a list of values has an end: `c <> 5` and `c IS NOT NULL` leave nearly every row.
fn narrows(domain: &Domain) -> bool {
    let (Some(first), Some(last)) = (domain.intervals().first(), domain.intervals().last()) else {
        return false;
    };
    let begins_at_null = match first.low() {
        Bound::Unbounded => true,
        Bound::Included(value) | Bound::Excluded(value) => value.is_null(),
    };
    let is_point = domain.counts().1 == 0;
    is_point || !begins_at_null || !matches!(last.high(), Bound::Unbounded)
}

/// ORDER BY as parts of an index, when LIMIT ends the reading and every key is a column that can
/// be indexed.
fn order_parts(request: &Request<'_>) -> Option<Vec<KeyPart>> {
    request.limit.filter(|_| request.grouping.is_none())?;
    let mut wanted = request.order_by.iter();
    // An index is read backwards as well.
    let is_turned = wanted.clone().all(|one| one.descending);
    let part = |one: &OrderBy| {
        let ExprKind::Column(column_idx) = one.expr.kind else {
            return None;
        };
        is_indexable(request.table, column_idx).then_some(KeyPart {
            column_idx,
            direction: Direction::of(one.descending && !is_turned),
        })
    };
    let parts = wanted.try_fold(Vec::new(), |mut parts: Vec<KeyPart>, one| {
        if eval::is_statement_constant(&one.expr) {
            return Some(parts);
        }
        let part = part(one)?;
        if !parts
            .iter()
            .any(|known| known.column_idx == part.column_idx)
        {
            parts.push(part);
        }
        Some(parts)
    })?;
    (!parts.is_empty()).then_some(parts)
}

fn ascending(column_idx: usize) -> KeyPart {
    KeyPart {
        column_idx,
        direction: Direction::Asc,
    }
}

/// What an index that is not there is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Help {
    /// `MIN` and `MAX` by seeks.
    Ends,
    /// Bounds, or order with a LIMIT.
    Scan,
}

/// What the planner takes an index of these parts for, if it does.
fn helps(request: &Request<'_>, derived: &Derived<'_>, parts: &[KeyPart]) -> Option<Help> {
    if parts.is_empty() || is_there(request.table, parts) {
        return None;
    }
    let mut table = request.table.clone();
    let position = table.indexes.len();
    table.indexes.push(new_index(String::new(), parts.to_vec()));
    help_of(request, derived, (&table, position))
}

/// What the planner takes one of the indexes for, if the table were this.
fn help_of(
    request: &Request<'_>,
    derived: &Derived<'_>,
    (table, position): (&Table, usize),
) -> Option<Help> {
    let policy = with_indexes(request);
    let trial = Request {
        table,
        policy: &policy,
        ..*request
    };
    let all = Candidates::of(&trial, derived.conjuncts)?;
    let new = KeyRef::Index(position);
    let ends = ends::of(&trial, (&all, derived.conjuncts)).ok()?;
    if ends.is_some_and(|ends| ends.seeks.iter().any(|seek| seek.key == new)) {
        return Some(Help::Ends);
    }
    (all.best(&trial).key == new).then_some(Help::Scan)
}

/// Whether an index begins with these columns. It is no advice: it cannot be read now.
fn is_there(table: &Table, parts: &[KeyPart]) -> bool {
    let mut whole = table
        .indexes
        .iter()
        .filter(|index| index.computed.filter.is_none());
    whole.any(|index| {
        let columns = index.parts.iter().map(|part| part.column_idx);
        columns
            .take(parts.len())
            .eq(parts.iter().map(|part| part.column_idx))
    })
}

/// CREATE INDEX ends a transaction, and with it the view that is too old.
fn with_indexes(request: &Request<'_>) -> Policy {
    Policy {
        use_indexes: true,
        ..*request.policy
    }
}

fn new_index(name: String, parts: Vec<KeyPart>) -> Index {
    Index {
        id: IndexId::NEW,
        name,
        unique: false,
        parts,
        include: Include::None,
        state: IndexState::Active,
        comment: String::new(),
        computed: Computed::default(),
    }
}

/// The name, cut to its length, with a number behind it when an index has it.
fn free_name(table: &Table, name: &str) -> String {
    let cut = |end: &str| {
        let kept = NAME_CHARS_MAX.saturating_sub(end.chars().count());
        name.chars()
            .take(kept)
            .chain(end.chars())
            .collect::<String>()
    };
    let numbered = (2..).map(|number: u32| cut(&format!("_{number}")));
    let mut names = std::iter::once(cut("")).chain(numbered);
    let free = names.find(|name| table.index_position(name).is_none());
    free.unwrap_or_default()
}

fn is_indexable(table: &Table, column_idx: usize) -> bool {
    let column = table.columns.get(column_idx);
    column.is_some_and(|column| {
        let is_large = matches!(
            column.ty,
            ColumnType::Json | ColumnType::Text(_) | ColumnType::Blob(_)
        );
        !column.hidden && !is_large
    })
}

fn has_few_values(table: &Table, column_idx: usize) -> bool {
    let column = table.columns.get(column_idx);
    column.is_some_and(|column| matches!(column.ty, ColumnType::Boolean | ColumnType::Enum(_)))
}

/// `idx_table_column_column`
fn index_name(table: &Table, parts: &[KeyPart]) -> String {
    let plain = |part: &KeyPart| {
        let column = table.columns.get(part.column_idx);
        column.map_or(String::new(), |column| column.name.clone())
    };
    let words: Vec<String> = parts.iter().map(plain).collect();
    free_name(table, &format!("idx_{}_{}", table.name, words.join("_")))
}

fn statement(request: &Request<'_>, parts: &[KeyPart]) -> String {
    let table = request.table;
    let name = index_name(table, parts);
    let quoted = parts.iter().map(|part| {
        let name = text::column_name(table, part.column_idx);
        match part.direction {
            Direction::Asc => name,
            Direction::Desc => name + " DESC",
        }
    });
    let quoted: Vec<String> = quoted.collect();
    format!(
        "CREATE INDEX {} ON {} ({})",
        quote_name(&name),
        table_name(request),
        quoted.join(", ")
    )
}

/// The table's name as the session must write it.
fn table_name(request: &Request<'_>) -> String {
    let table = request.table;
    let name = quote_name(&table.name);
    if request.ctx.facts.database().as_deref() == Some(table.database.as_str()) {
        return name;
    }
    format!("{}.{name}", quote_name(&table.database))
}

/// The `ALTER INDEX` that lets the planner take an index that it must not read now.
fn activation(request: &Request<'_>, derived: &Derived<'_>) -> Option<String> {
    let indexes = request.table.indexes.iter().enumerate();
    let mut idle = indexes.filter(|(_, index)| match index.state {
        IndexState::Inactive | IndexState::Disabled => true,
        IndexState::Active | IndexState::Building => false,
    });
    let (_, index) = idle.find(|(position, _)| {
        let mut table = request.table.clone();
        if let Some(index) = table.indexes.get_mut(*position) {
            index.state = IndexState::Active;
        }
        help_of(request, derived, (&table, *position)).is_some()
    })?;
    let name = quote_name(&index.name);
    Some(format!(
        "ALTER INDEX {name} ON {} ACTIVE",
        table_name(request)
    ))
}
