//! What a query within a query runs with: all of its [`Env`] but the clock and the slots.

use std::sync::Arc;

use super::budget::Memory;
use super::cancel::CancelToken;
use super::meter::Meter;
use super::select::Env;
use super::uses::Uses;
use super::view::View;
use crate::kv::Engine;
use crate::plan::Policy;
use crate::sql::context::EvalContext;
use crate::types::Value;

/// The rows of the last round of a recursive query.
pub type RoundRows = Arc<Vec<Vec<Value<'static>>>>;

/// What the queries of one statement share.
#[derive(Clone)]
pub struct Nest {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// The one state that all of them read.
    pub view: View,
    /// What full scans are permitted.
    pub policy: Policy,
    /// Where it is noted that an index is read.
    pub uses: Arc<Uses>,
    /// What may end the statement early.
    pub cancel: Arc<CancelToken>,
    /// What the operators of all of them may hold together, and where they may spill.
    pub memory: Memory,
    /// By the numbers of recursive queries: the rows of their last rounds.
    pub rounds: Vec<(usize, RoundRows)>,
    /// Where it is taken down what parts take.
    pub meter: Option<Arc<Meter>>,
}

impl Nest {
    /// Takes an environment apart. From here on every query of the statement reads one state.
    pub fn of(env: Env) -> (Nest, EvalContext, Option<u64>) {
        let view = super::select::view_of(&env);
        let nest = Nest {
            view,
            engine: env.engine,
            policy: env.policy,
            uses: env.uses,
            cancel: env.cancel,
            memory: env.memory,
            rounds: env.rounds,
            meter: env.meter,
        };
        (nest, env.ctx, env.select_limit)
    }

    /// The environment of a query of which so many rows are wanted at most.
    pub fn env(&self, ctx: EvalContext, rows_max: Option<u64>) -> Env {
        Env {
            engine: Arc::clone(&self.engine),
            view: Some(self.view.clone()),
            ctx,
            policy: self.policy,
            uses: Arc::clone(&self.uses),
            cancel: Arc::clone(&self.cancel),
            memory: self.memory.clone(),
            select_limit: rows_max,
            rounds: self.rounds.clone(),
            meter: self.meter.clone(),
        }
    }

    /// The rows of the last round of a recursive query.
    pub fn round(&self, number: usize) -> Option<RoundRows> {
        let mut rounds = self.rounds.iter();
        let found = rounds.find(|(other, _)| *other == number);
        found.map(|(_, rows)| Arc::clone(rows))
    }
}
