//! What an engine tells of itself, for people and their instruments: numbers with names, so that who
//! shows them knows no engine.

use std::time::Duration;

/// What an engine tells of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Its numbers; those of one name stand together.
    pub numbers: Vec<Number>,
}

/// A number with its name, by the conventions of Prometheus: the unit last, `_total` behind what only
/// grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// The name.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
    /// What it is of, where there are several of one name: a label and its value.
    pub of: Option<(&'static str, String)>,
    /// How much.
    pub amount: Amount,
}

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many, or so many bytes.
    Whole(u64),
    /// So long.
    Seconds(Duration),
}

impl Number {
    /// A number that is alone with its name.
    pub fn new(name: &'static str, help: &'static str, amount: Amount) -> Number {
        Number {
            name,
            help,
            of: None,
            amount,
        }
    }

    /// The same, of one of several.
    #[must_use]
    pub fn of(self, label: &'static str, value: impl Into<String>) -> Number {
        Number {
            of: Some((label, value.into())),
            ..self
        }
    }
}
