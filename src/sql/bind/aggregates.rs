//! The aggregates of a query, each once: what is written twice is computed once.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::mem::discriminant;

use super::same::{hash, same};
use crate::error::{Code, Error, Result};
use crate::sql::bound::Aggregate;

/// Aggregates of one query: as many as it may have columns. Each has a state for each group.
const AGGREGATES_MAX: usize = 16_384;

/// The aggregates that were met, in that order.
#[derive(Debug, Default)]
pub(super) struct Aggregates {
    all: Vec<Aggregate>,
    /// Their positions by a hash of what they compute.
    places: HashMap<u64, Vec<usize>>,
}

impl Aggregates {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn get(&self, position: usize) -> Option<&Aggregate> {
        self.all.get(position)
    }

    pub(super) fn into_vec(self) -> Vec<Aggregate> {
        self.all
    }

    /// The position of an aggregate that a statement names, which is added unless it is there.
    ///
    /// # Errors
    /// 1117 past [`AGGREGATES_MAX`].
    pub(super) fn named(&mut self, aggregate: Aggregate) -> Result<usize> {
        if self.all.len() < AGGREGATES_MAX {
            return Ok(self.position(aggregate));
        }
        let text =
            format!("Too many aggregates; the most that one query can compute is {AGGREGATES_MAX}");
        Err(Error::new(Code::TooManyColumns, text))
    }

    /// As [`Aggregates::named`], of one that stands for a column.
    pub(super) fn position(&mut self, aggregate: Aggregate) -> usize {
        let position = self.all.len();
        // Those that order what they gather are told apart.
        if aggregate.order_by.is_empty() {
            let key = key(&aggregate, self.places.hasher().build_hasher());
            let alike = self.places.entry(key).or_default();
            let is_it = |at: &&usize| {
                let other = self.all.get(**at);
                other.is_some_and(|other| is_same(other, &aggregate))
            };
            if let Some(known) = alike.iter().find(is_it) {
                return *known;
            }
            alike.push(position);
        }
        self.all.push(aggregate);
        position
    }
}

fn key(aggregate: &Aggregate, mut state: impl Hasher) -> u64 {
    discriminant(&aggregate.kind).hash(&mut state);
    aggregate.distinct.hash(&mut state);
    aggregate.separator.hash(&mut state);
    aggregate.args.iter().for_each(|arg| hash(arg, &mut state));
    state.finish()
}

/// Whether the two compute the same; neither orders what it gathers.
fn is_same(a: &Aggregate, b: &Aggregate) -> bool {
    a.kind == b.kind
        && a.distinct == b.distinct
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(a, b)| same(a, b))
        && a.separator == b.separator
}
