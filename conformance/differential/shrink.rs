//! Makes a query that is answered differently small: drops clauses, then replaces expressions by
//! parts of themselves, as long as the answers still differ in the same respect.

use crate::ask::Ask;
use crate::compare::Difference;

/// Queries that may be asked to make one small.
const ATTEMPTS_MAX: usize = 400;

/// The smallest query that was found, and how its answers differ.
pub(crate) fn smallest(
    mut query: Ask,
    mut difference: Difference,
    mut differ: impl FnMut(&Ask) -> Option<Difference>,
) -> (Ask, Difference) {
    let mut attempts = 0;
    'smaller: loop {
        for smaller in query.smaller() {
            attempts += 1;
            if ATTEMPTS_MAX < attempts {
                return (query, difference);
            }
            match differ(&smaller) {
                Some(still) if still.kind == difference.kind => {
                    (query, difference) = (smaller, still);
                    continue 'smaller;
                }
                Some(_) | None => {}
            }
        }
        return (query, difference);
    }
}

/// The query without its literals and names, and the kind of difference: mismatches of one shape are
/// most likely one mismatch.
pub(crate) fn shape(query: &Ask, difference: &Difference) -> String {
    let text = query.to_string();
    let mut shape = String::from(difference.kind.word());
    shape.push(' ');
    let mut chars = text.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            '\'' => {
                shape.push('s');
                while chars.next_if(|c| *c != '\'').is_some() {}
                chars.next();
            }
            '0'..='9' => {
                shape.push('0');
                while chars.next_if(|c| c.is_ascii_digit() || *c == '.').is_some() {}
            }
            // Columns are `c` and a number.
            other => shape.push(other),
        }
    }
    shape
}
