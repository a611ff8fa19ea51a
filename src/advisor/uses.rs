//! What the statements show that have been run: in which direction keys are read.

use super::lints::{Advice, Lint, PRIMARY_KEY, subject};
use crate::catalog::{KeyPart, Table};
use crate::codec::key::Direction;
use crate::exec::uses::{Directions, Uses};

/// Statements below which nothing is said.
const STATEMENTS_FEW: u64 = 10;

/// What the statements since the start of the server show of a table.
pub fn of_uses(table: &Table, uses: &Uses) -> Vec<Advice> {
    let mut keys = Vec::new();
    if !table.has_hidden_key() {
        let parts = table.key.as_slice();
        keys.push((PRIMARY_KEY.to_owned(), parts, uses.directions(table.id.0)));
    }
    for index in &table.indexes {
        let parts = index.parts.as_slice();
        keys.push((subject(index), parts, uses.directions(index.id.0)));
    }
    let mut found = Vec::new();
    for (name, parts, seen) in &keys {
        let Some(last) = parts.last().filter(|part| part.direction == Direction::Asc) else {
            continue;
        };
        if is_backwards(*seen) {
            found.push(Advice::new(Lint::LatestFirst, name.as_str(), told(*seen)));
            continue;
        }
        // One that nobody could read yet will be read as its like.
        let ends_alike = |other: &[KeyPart]| {
            other
                .last()
                .is_some_and(|part| part.column_idx == last.column_idx)
        };
        let like = |(_, parts, seen): &&(String, &[KeyPart], Directions)| {
            ends_alike(parts) && is_backwards(*seen)
        };
        let is_unread = *seen == Directions::default();
        if let Some((other, _, seen)) = keys.iter().find(like).filter(|_| is_unread) {
            let evidence = format!("{other} ends with the same column, and {}", told(*seen));
            found.push(Advice::new(Lint::LatestFirst, name.as_str(), evidence));
        }
    }
    found
}

fn is_backwards(seen: Directions) -> bool {
    STATEMENTS_FEW <= seen.backwards && seen.forwards < seen.backwards
}

fn told(seen: Directions) -> String {
    format!(
        "{} statements have read ranges of it backwards by its last column and {} otherwise since the server was started",
        seen.backwards, seen.forwards
    )
}
