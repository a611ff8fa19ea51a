//! A random statement that changes a table. It is run in a transaction that is rolled back, so that
//! the next one finds the same rows.

use std::fmt;

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::expr::{Expr, Kind};
use crate::grammar;
use crate::rows::Rows;
use crate::schema::{Column, Schema, Table};

/// Levels of expressions that are stored, and of conditions.
const DEPTH: u32 = 1;

/// A statement, and the table that it changes.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    statement: Expr,
    pub(crate) table: String,
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.statement)
    }
}

impl Write {
    /// A random one over the tables.
    pub(crate) fn random(rng: &mut StdRng, schema: &Schema) -> Write {
        let (table, other) = match schema.tables.as_slice() {
            [first, second, ..] if rng.random_bool(0.5) => (first, second),
            [first, second, ..] => (second, first),
            _ => unreachable!("a schema has two tables"),
        };
        let parts = Parts {
            table,
            other,
            schema,
        };
        let statement = match rng.random_range(0..7) {
            0 | 1 => parts.update(rng),
            2 => parts.delete(rng),
            3 => parts.joined_update(rng),
            4 => parts.joined_delete(rng),
            5 => parts.insert("INSERT", rng),
            _ => parts.insert("REPLACE", rng),
        };
        Write {
            statement,
            table: table.name.clone(),
        }
    }

    /// Statements that are smaller by one step.
    pub(crate) fn smaller(&self) -> Vec<Write> {
        let smaller = self.statement.smaller_within().into_iter();
        let with = |statement| Write {
            statement,
            table: self.table.clone(),
        };
        smaller.map(with).collect()
    }
}

struct Parts<'a> {
    table: &'a Table,
    other: &'a Table,
    schema: &'a Schema,
}

impl Parts<'_> {
    /// A column beside the key.
    fn column(&self, rng: &mut StdRng) -> &Column {
        let columns = self.table.columns.get(1..).unwrap_or_default();
        columns.choose(rng).expect("there is one")
    }

    fn update(&self, rng: &mut StdRng) -> Expr {
        let rows = Rows::of_one(self.table, &self.schema.tables);
        let column = self.column(rng);
        let value = Expr::random(&rows, column.kind, (rng, DEPTH));
        let filter = Expr::random(&rows, Kind::Bool, (rng, DEPTH));
        let before = format!("UPDATE {} SET {} = ", self.table.name, column.name);
        let limit = if rng.random_ratio(1, 5) {
            " ORDER BY c0 DESC LIMIT 3"
        } else {
            ""
        };
        Expr::tree(
            Kind::Bool,
            &[&before, " WHERE ", limit],
            vec![value, filter],
        )
    }

    fn delete(&self, rng: &mut StdRng) -> Expr {
        let rows = Rows::of_one(self.table, &self.schema.tables);
        let filter = Expr::random(&rows, Kind::Bool, (rng, DEPTH));
        let before = format!("DELETE FROM {} WHERE ", self.table.name);
        Expr::tree(Kind::Bool, &[&before, ""], vec![filter])
    }

    fn joined_update(&self, rng: &mut StdRng) -> Expr {
        let (from, rows) = Rows::of_two((self.table, self.other), &self.schema.tables);
        let column = self.column(rng);
        let value = Expr::random(&rows, column.kind, (rng, DEPTH));
        let filter = Expr::random(&rows, Kind::Bool, (rng, DEPTH));
        let before = format!("UPDATE {from} SET a.{} = ", column.name);
        Expr::tree(Kind::Bool, &[&before, " WHERE ", ""], vec![value, filter])
    }

    fn joined_delete(&self, rng: &mut StdRng) -> Expr {
        let (from, rows) = Rows::of_two((self.table, self.other), &self.schema.tables);
        let filter = Expr::random(&rows, Kind::Bool, (rng, DEPTH));
        let before = format!("DELETE a FROM {from} WHERE ");
        Expr::tree(Kind::Bool, &[&before, ""], vec![filter])
    }

    fn insert(&self, verb: &str, rng: &mut StdRng) -> Expr {
        let rows = Rows::of_one(self.other, &self.schema.tables);
        let (first, second) = (self.column(rng), self.column(rng));
        let value = Expr::random(&rows, first.kind, (rng, DEPTH));
        let filter = Expr::random(&rows, Kind::Bool, (rng, DEPTH));
        let shift = *["", " + 20", " + 100"].choose(rng).expect("there is one");
        let end = match verb {
            "INSERT" if rng.random_bool(0.5) => {
                let literal = grammar::literal(second.kind, rng);
                format!(" ON DUPLICATE KEY UPDATE {} = {literal}", second.name)
            }
            _ => String::new(),
        };
        let before = format!(
            "{verb} INTO {} (c0, {}) SELECT c0{shift}, ",
            self.table.name, first.name
        );
        let from = format!(" FROM {} WHERE ", self.other.name);
        Expr::tree(Kind::Bool, &[&before, &from, &end], vec![value, filter])
    }
}
