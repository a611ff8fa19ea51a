//! The start of a SELECT with joins or subqueries.
//!
//! All parts of the statement read one state. Subqueries that read nothing of the row around them are
//! answered first: the plan then sees their answers as constants. One that would read whole tables is
//! run for each row instead, where it then finds its rows by keys.

use std::sync::Arc;

use super::joined::Feed;
use super::stream::SelectStream;
use super::{Env, Program, RowLimits, open_flat, row_limits};
use crate::error::Result;
use crate::exec::ask::{self, Asker, Unanswered};
use crate::exec::explain;
use crate::exec::join::{self, JoinRows, Planned, Shape};
use crate::exec::nest::Nest;
use crate::plan::join::Wanted;
use crate::sql::bound::{From, JoinTree, Joined, Relation, Select, Source};
use crate::sql::context::EvalContext;

/// A SELECT with joins or subqueries that was not begun yet.
pub struct Deep {
    pub(super) program: Arc<Program>,
    pub(super) env: Env,
}

/// What joined rows look like; `None` where the rows are those of one table, and no subquery asks
/// about each of them.
pub(super) fn shape(select: &Select, used_columns: &[usize]) -> Option<Arc<Shape>> {
    let mut subqueries = select.subqueries.iter();
    let mut joined = match &select.from {
        From::Joined(joined) => joined.as_ref().clone(),
        From::Table(table) if subqueries.any(|one| !one.captures.is_empty()) => Joined {
            sources: vec![Source {
                relation: Relation::Table(Arc::clone(table)),
                alias: select.alias.clone(),
                hints: select.hints.clone(),
                first_column: 0,
                captures: Vec::new(),
            }],
            tree: JoinTree::Source(0),
            keeps_order: false,
        },
        From::Nothing | From::Table(_) => return None,
    };
    for source in &mut joined.sources {
        source.hints.allow_filtering |= select.hints.allow_filtering;
        source.hints.purpose = select.hints.purpose;
    }
    Some(Arc::new(Shape::new(joined, used_columns)))
}

/// What a SELECT asks of the order and number of the rows that are read, as far as its access paths
/// can see to it.
pub fn wanted(select: &Select, limits: RowLimits) -> Wanted<'_> {
    let takes_all = select.aggregation.is_some()
        || select.rearranges()
        || select.distinct
        || select.having.is_some();
    if takes_all {
        return Wanted::default();
    }
    Wanted {
        order_by: &select.order_by,
        limit: limits.limit,
        offset: limits.offset,
    }
}

impl Deep {
    pub(super) async fn stream(self: Box<Deep>) -> Result<Box<SelectStream>> {
        let Deep { mut program, env } = *self;
        let (nest, mut ctx, select_limit) = Nest::of(env);
        let answers = loop {
            match ask::answer_once(program.subqueries(), &nest, &mut ctx).await {
                Ok(answers) => break answers,
                Err(Unanswered { position, error }) => {
                    let turned = explain::for_each_row(&program, (position, error), (&nest, &ctx));
                    let turned = Arc::clone(Box::pin(turned).await?);
                    program = turned;
                }
            }
        };
        let Some(shape) = &program.shape else {
            let env = nest.env(ctx, select_limit);
            let mut stream = open_flat(program, env)?.stream().await?;
            stream.answers = answers;
            return Ok(stream);
        };
        let select = &program.select;
        let mut limits = row_limits(select.limit.as_ref(), select.offset.as_ref(), &ctx)?;
        limits.limit = limits.limit.or(select_limit);
        let wanted = wanted(select, limits);
        let Planned { mut plan, .. } = plan(&program, shape, (&nest, &ctx, wanted)).await?;
        let (late, ordered) = (plan.late.take(), plan.ordered);
        let place = (&nest, ctx.nested());
        let rows = JoinRows::open((&program, shape), (plan, wanted), place).await?;
        let asker = Asker::new(&program, &nest).map(Box::new);
        let feed = Box::new(Feed {
            shape: Arc::clone(shape),
            rows,
            waiting: Vec::new().into_iter(),
        });
        let env = nest.env(ctx, select_limit);
        let feed = (feed, late, ordered);
        let mut stream = SelectStream::joined(Arc::clone(&program), env, feed, (asker, limits));
        stream.answers = answers;
        Ok(Box::new(stream))
    }
}

/// The plan of the join of a SELECT whose subqueries are answered as far as they can be.
///
/// # Errors
/// Refusals of access paths; those of the engine.
pub(super) async fn plan(
    program: &Program,
    shape: &Shape,
    (nest, ctx, wanted): (&Nest, &EvalContext, Wanted<'_>),
) -> Result<Planned> {
    join::planned(shape, (program.select.filter.as_ref(), wanted), (nest, ctx)).await
}
