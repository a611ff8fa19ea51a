//! What both servers are asked: a query, as text or prepared, or a statement that changes a table.

use std::fmt;

use rand::Rng as _;
use rand::rngs::StdRng;

use crate::query::Query;
use crate::schema::Schema;
use crate::write::Write;

/// A statement.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Query(Box<Query>),
    Prepared(Box<Query>),
    Write(Write),
}

impl Ask {
    /// A random one.
    pub(crate) fn random(rng: &mut StdRng, schema: &Schema) -> Ask {
        match rng.random_range(0..20) {
            0 => Ask::Write(Write::random(rng, schema)),
            1 | 2 => Ask::Prepared(Box::new(Query::random(rng, schema))),
            _ => Ask::Query(Box::new(Query::random(rng, schema))),
        }
    }

    /// Whether the order of the rows is fixed.
    pub(crate) fn is_ordered(&self) -> bool {
        match self {
            Ask::Query(query) | Ask::Prepared(query) => query.is_ordered(),
            Ask::Write(_) => true,
        }
    }

    /// What MariaDB is asked instead.
    pub(crate) fn for_reference(&self) -> String {
        match self {
            Ask::Query(query) | Ask::Prepared(query) => query.for_reference(),
            Ask::Write(write) => write.to_string(),
        }
    }

    /// Statements that are smaller by one step, large steps first.
    pub(crate) fn smaller(&self) -> Vec<Ask> {
        match self {
            Ask::Query(query) => {
                let smaller = query.smaller().into_iter();
                smaller.map(|query| Ask::Query(Box::new(query))).collect()
            }
            Ask::Prepared(query) => {
                let smaller = query.smaller().into_iter();
                let smaller = smaller.map(|query| Ask::Prepared(Box::new(query)));
                std::iter::once(Ask::Query(query.clone()))
                    .chain(smaller)
                    .collect()
            }
            Ask::Write(write) => write.smaller().into_iter().map(Ask::Write).collect(),
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ask::Query(query) | Ask::Prepared(query) => write!(f, "{query}"),
            Ask::Write(write) => write!(f, "{write}"),
        }
    }
}
