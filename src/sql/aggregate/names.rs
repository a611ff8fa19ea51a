//! The registry of aggregates: one row per name, with its kind and its arguments.

use crate::sql::bound::AggregateKind;

/// One name of an aggregate.
#[derive(Debug)]
pub struct Name {
    /// The name, upper case.
    pub name: &'static str,
    /// What it computes.
    pub kind: AggregateKind,
    /// Whether `DISTINCT` may stand before its arguments.
    pub takes_distinct: bool,
    /// The arguments as the documentation shows them.
    pub arguments: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
}

macro_rules! aggregates {
    ($($name:literal $kind:ident $distinct:literal $args:literal, $doc:literal;)*) => {
        /// Every name of an aggregate, in order.
        pub static ALL: &[Name] = &[$(
            Name {
                name: $name,
                kind: AggregateKind::$kind,
                takes_distinct: $distinct,
                arguments: $args,
                doc: $doc,
            },
        )*];
    };
}

aggregates! {
    "ANY_VALUE" AnyValue false "a", "The argument of any row of the group.";
    "AVG" Avg true "[DISTINCT] x", "The average.";
    "BIT_AND" BitAnd false "n", "The bits that are 1 in all numbers.";
    "BIT_OR" BitOr false "n", "The bits that are 1 in any number.";
    "BIT_XOR" BitXor false "n", "The bits that are 1 in an odd count of numbers.";
    "COUNT" Count true "* | a | DISTINCT a, ...", "How many rows there are, or have no NULL in the arguments.";
    "GROUP_CONCAT" GroupConcat true "[DISTINCT] a, ... [ORDER BY b, ...] [SEPARATOR 'str']", "The texts of all rows, one after the other.";
    "JSON_ARRAYAGG" JsonArray false "a", "A JSON array of the argument of each row.";
    "JSON_OBJECTAGG" JsonObject false "name, value", "A JSON object with a member for each row.";
    "MAX" Max true "[DISTINCT] a", "The largest argument.";
    "MIN" Min true "[DISTINCT] a", "The smallest argument.";
    "STD" StddevPop false "x", "The standard deviation of all there is.";
    "STDDEV" StddevPop false "x", "The standard deviation of all there is.";
    "STDDEV_POP" StddevPop false "x", "The standard deviation of all there is.";
    "STDDEV_SAMP" StddevSamp false "x", "The standard deviation of a sample.";
    "SUM" Sum true "[DISTINCT] x", "The sum.";
    "VARIANCE" VarPop false "x", "The variance of all there is.";
    "VAR_POP" VarPop false "x", "The variance of all there is.";
    "VAR_SAMP" VarSamp false "x", "The variance of a sample.";
}

/// The aggregate of this name, in any case.
pub fn find(name: &str) -> Option<&'static Name> {
    ALL.iter()
        .find(|known| known.name.eq_ignore_ascii_case(name))
}

/// The name of a kind: of several the one that says most, which is the last.
pub fn of(kind: AggregateKind) -> &'static str {
    let named = ALL.iter().rev().find(|known| known.kind == kind);
    named.map_or("", |known| known.name)
}
