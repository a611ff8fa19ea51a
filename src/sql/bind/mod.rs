//! From names to positions and types: [`ast`] statements on rows become
//! [`bound`] ones.
//!
//! Errors about names end here (1054, 1052, 1146, 1305, …), as do those about grouping. What the
//! grammar has and this server does not is refused here with error 1235. Types of operators come
//! from [`eval::typing`](super::eval::typing), those of functions from their registry.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule of binding names the kinds it is about; all others get one answer"
)]

mod aggregates;
mod call;
mod caseless;
mod change;
mod cte;
mod derived;
mod determined;
pub mod estimate;
mod expr;
mod frame;
mod from;
mod group;
mod hex;
mod hints;
mod in_order;
mod json_table;
mod json_truth;
mod late;
mod like;
mod literal;
mod load;
pub mod named;
mod numbering;
mod operands;
mod order;
mod outer_aggregate;
mod output;
mod parameters;
mod push;
mod query;
mod recursive;
mod regexp;
pub(crate) mod same;
mod scope;
mod select;
mod size;
mod source;
mod subquery;
#[cfg(test)]
mod tests;
mod through;
mod trace;
mod twice;
mod versions;
mod view;
mod window;
mod windowing;
mod write;
mod zero_dates;

use std::sync::Arc;

use super::ast;
use super::bound;
use super::context::{Mode, SessionFacts};
use super::expr::Expr;
use super::listed::Listed;
use crate::catalog::{Definitions, Table, View};
use crate::error::Result;
use crate::types::{ColumnType, Value};
pub use cte::CteScope;
pub use named::Widening;
pub use numbering::Numbering;
use scope::{Clause, Scope};
use source::Source;
pub use trace::Trace;
pub use view::{VIEWS_MAX, columns_of_view, query_of, too_many_views, view_columns};
pub(crate) use write::key_assigned;

/// Finds definitions by name.
pub trait FindTable {
    /// The table of that name.
    ///
    /// # Errors
    /// 1049 or 1146.
    fn find_table(&self, database: &str, name: &str) -> Result<Arc<Table>>;

    /// The table of that name whose rows the server makes up; `None` when the database has none such.
    ///
    /// # Errors
    /// 1109 or 1146 when the database has such tables, but none of that name.
    fn find_listed(&self, _database: &str, _name: &str) -> Result<Option<Arc<Listed>>> {
        Ok(None)
    }

    /// As [`FindTable::find_listed`], with rows about a stored table alone, and about it whoever asks: that
    /// the statement may read it was seen to before.
    ///
    /// # Errors
    /// As there.
    fn find_listed_about(
        &self,
        _about: &Arc<Table>,
        _listed: (&str, &str),
    ) -> Result<Option<Arc<Listed>>> {
        Ok(None)
    }

    /// The view of that name, if there is one.
    fn find_view(&self, _database: &str, _name: &str) -> Option<Arc<View>> {
        None
    }

    /// What finds definitions for the query of a view, when that is another: no view reads a temporary
    /// table.
    fn inside_views(&self) -> Option<&dyn FindTable> {
        None
    }
}

impl FindTable for Definitions {
    fn find_table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.table(database, name).map(Arc::clone)
    }

    fn find_view(&self, database: &str, name: &str) -> Option<Arc<View>> {
        self.view(database, name).map(Arc::clone)
    }
}

/// What names mean while a statement is bound.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The definitions.
    pub definitions: &'a dyn FindTable,
    /// The current database.
    pub database: Option<&'a str>,
    /// The session's `sql_mode`.
    pub mode: Mode,
    /// The session: types of variables.
    pub facts: &'a dyn SessionFacts,
    /// The types of the values of `?`, see [`parameter_type`]; empty while they are not known.
    /// Bound without them, a parameter takes the type of what it meets, else `VARCHAR`.
    pub parameters: &'a [ColumnType],
    /// The names that `WITH` gave; `None` outside of a query.
    pub ctes: Option<&'a CteScope<'a>>,
    /// Numbers of slots: begins anew with each statement.
    pub numbering: &'a Numbering,
    /// How many views this is within.
    pub depth: usize,
    /// Where is kept what names meant.
    pub trace: Option<&'a Trace>,
    /// Where names without declaration are kept; `None` where nobody binds again for them.
    pub widening: Option<&'a Widening>,
}

/// The type of a parameter with this value.
pub fn parameter_type(value: &Value<'_>) -> ColumnType {
    operands::type_of(value)
}

/// Whether the types of what a query computes depend on those of its parameters: then it is worth
/// binding it again once their values are known. Comparisons, lists and `LIMIT` do not: a point read
/// by a parameter never is bound twice.
pub fn query_depends_on_parameters(query: &bound::Query) -> bool {
    match query {
        bound::Query::Select(select) => select_depends_on_parameters(select),
        bound::Query::Set(set) => {
            query_depends_on_parameters(&set.sides.0) || query_depends_on_parameters(&set.sides.1)
        }
        bound::Query::Json(_) => false,
        bound::Query::Recursive(recursive) => {
            query_depends_on_parameters(&recursive.first)
                || query_depends_on_parameters(&recursive.next)
        }
    }
}

fn select_depends_on_parameters(select: &bound::Select) -> bool {
    if 0 < select.parameters_count && !is_simple(select) {
        return true;
    }
    let aggregation = select.aggregation.as_ref();
    let keys = aggregation
        .into_iter()
        .flat_map(|aggregation| &aggregation.keys);
    let aggregates = aggregation
        .into_iter()
        .flat_map(|aggregation| &aggregation.aggregates);
    let outputs = select.outputs.iter().map(|output| &output.expr);
    let sorted = select.order_by.iter().map(|key| &key.expr);
    let conditions = select.filter.iter().chain(&select.having);
    outputs
        .chain(keys)
        .chain(aggregates.flat_map(|aggregate| &aggregate.args))
        .chain(sorted)
        .any(parameters::is_typed_by_one)
        || conditions.into_iter().any(parameters::has_typed_operand)
}

/// Whether nothing but the block itself can have parameters.
fn is_simple(select: &bound::Select) -> bool {
    let is_joined = matches!(select.from, bound::From::Joined(_));
    !is_joined && select.subqueries.is_empty()
}

/// As [`query_depends_on_parameters`], of an INSERT.
pub fn insert_depends_on_parameters(insert: &bound::Insert) -> bool {
    let rows = insert.source.values().iter();
    let values = rows.flatten().filter_map(parameters::expr_of);
    let updated = insert.on_duplicate.iter().map(|(_, value)| value);
    values.chain(updated).any(parameters::has_typed_operand)
}

/// As [`query_depends_on_parameters`], of an UPDATE.
pub fn update_depends_on_parameters(update: &bound::Update) -> bool {
    let assigned = update
        .assignments
        .iter()
        .filter_map(|(_, value)| parameters::expr_of(value));
    let sorted = update.order_by.iter().map(|key| &key.expr);
    assigned
        .chain(sorted)
        .chain(&update.filter)
        .any(parameters::has_typed_operand)
}

/// As [`query_depends_on_parameters`], of a DELETE.
pub fn delete_depends_on_parameters(delete: &bound::Delete) -> bool {
    let sorted = delete.order_by.iter().map(|key| &key.expr);
    sorted
        .chain(&delete.filter)
        .any(parameters::has_typed_operand)
}

/// Binds a query that is a statement. `INTO` and `SQL_CALC_FOUND_ROWS` are left to the caller.
///
/// # Errors
/// Unknown names, wrong grouping, what is not offered yet.
pub fn query(query: &ast::Select, names: &Names<'_>) -> Result<bound::Query> {
    if query.assigns {
        names.numbering.begin_assigning();
    }
    query::whole(query, names, None)
}

/// Whether a query that is a statement counts its rows: `SQL_CALC_FOUND_ROWS`.
pub fn counts_rows(query: &ast::Select) -> bool {
    query::counts_rows(query)
}

/// Binds a query of one block.
#[cfg(test)]
pub(crate) fn select(query: &ast::Select, names: &Names<'_>) -> Result<bound::Select> {
    match self::query(query, names)? {
        bound::Query::Select(select) => Ok(*select),
        bound::Query::Set(_) | bound::Query::Recursive(_) | bound::Query::Json(_) => Err(
            crate::error::Error::internal("a query of one block was expected"),
        ),
    }
}

/// Binds an INSERT, REPLACE or UPSERT.
///
/// # Errors
/// Unknown names, wrong numbers of values, what is not offered yet.
pub fn insert(insert: &ast::Insert, names: &Names<'_>) -> Result<bound::Insert> {
    write::insert(insert, names)
}

/// Binds a LOAD DATA.
///
/// # Errors
/// Unknown names, what is not offered yet.
pub fn load(load: &ast::LoadData, names: &Names<'_>) -> Result<bound::Load> {
    load::load(load, names)
}

/// Binds an UPDATE.
///
/// # Errors
/// Unknown names, assignments to key columns, what is not offered yet.
pub fn update(update: &ast::Update, names: &Names<'_>) -> Result<bound::Update> {
    write::update(update, names)
}

/// Binds an UPDATE of several tables, or with subqueries that read the row.
///
/// # Errors
/// As [`update`].
pub fn update_by_query(update: &ast::Update, names: &Names<'_>) -> Result<bound::Change> {
    change::update(update, names)
}

/// As [`update_by_query`], of a DELETE.
///
/// # Errors
/// As [`delete`].
pub fn delete_by_query(delete: &ast::Delete, names: &Names<'_>) -> Result<bound::Change> {
    change::delete(delete, names)
}

/// Whether an UPDATE is of one stored table and nothing more.
pub fn is_of_one_table(tables: &[ast::TableRef], names: &Names<'_>) -> bool {
    from::is_one_table(tables, names)
}

/// Whether a query, as far as its form tells, can become part of the one that it stands in.
pub fn may_merge(query: &ast::Select) -> bool {
    derived::plain_block(query).is_some()
}

/// Whether a name means a view or what `WITH` gives it.
pub fn is_query(name: &ast::TableName, names: &Names<'_>) -> bool {
    cte::find(name, names.ctes).is_some() || view::find(name, names).is_some()
}

/// Binds something after the names of a `WITH`.
///
/// # Errors
/// 1066 for a name given twice; those of `bind`.
pub fn after_with<T>(
    with: &ast::With,
    names: &Names<'_>,
    bind: &mut dyn FnMut(&Names<'_>) -> Result<T>,
) -> Result<T> {
    cte::after(with, names, bind)
}

/// Binds a DELETE.
///
/// # Errors
/// Unknown names, what is not offered yet.
pub fn delete(delete: &ast::Delete, names: &Names<'_>) -> Result<bound::Delete> {
    write::delete(delete, names)
}

/// Binds an expression without columns: a value of SET, an argument of DO or KILL.
///
/// # Errors
/// Names of columns, aggregates, what is not offered yet.
pub fn constant(expr: &ast::Expr, names: &Names<'_>) -> Result<Expr> {
    Scope::new(*names, None, Clause::FieldList).value(expr)
}

/// Binds a condition over the columns of one table that goes by its own name: `SHOW … WHERE`.
///
/// # Errors
/// Unknown names, aggregates, what is not offered yet.
pub fn condition(expr: &ast::Expr, table: &Arc<Table>, names: &Names<'_>) -> Result<Expr> {
    let source = Source::new(Arc::clone(table), None);
    Scope::new(*names, Some(source), Clause::Where).value(expr)
}

/// As [`condition`], over texts that are compared without case.
///
/// # Errors
/// As [`condition`].
pub fn caseless_condition(expr: &ast::Expr, table: &Arc<Table>, names: &Names<'_>) -> Result<Expr> {
    let source = Source::new(Arc::clone(table), None);
    let mut scope = Scope::new(*names, Some(source), Clause::Where);
    scope.from.is_caseless = true;
    scope.value(expr)
}
