//! What a program keeps for as long as its statement is prepared, beside what the words of the statement are counted
//! as: a `*` is one word, and stands for all columns of a table.
//!
//! An estimate, from the numbers of columns alone.

use super::{Body, Program};
use crate::exec::join::Kind;
use crate::exec::{select, write};

/// About what a column of a result takes: what computes it, how the client sees it, and that once more beside the
/// program's body.
const RESULT_COLUMN_BYTES: usize = 480;

/// About what a column of a table takes that is read or written: where it is stored.
const TABLE_COLUMN_BYTES: usize = 32;

impl Program {
    /// About what it takes for columns.
    pub fn columns_bytes(&self) -> usize {
        let own = self.columns.len().saturating_mul(RESULT_COLUMN_BYTES);
        own.saturating_add(match &self.body {
            Body::Select(program) => program.columns_bytes(),
            Body::Set(program) => of_both(&program.sides.0, &program.sides.1),
            Body::Recursive(program) => of_both(&program.first, &program.next),
            Body::Json(_) => 0,
        })
    }

    /// What it takes within another program, which keeps the query that it was made of, too.
    fn bytes_within(&self) -> usize {
        self.columns_bytes().saturating_mul(2)
    }
}

impl select::Program {
    fn columns_bytes(&self) -> usize {
        let read = match (self.shape(), self.select.table()) {
            (None, table) => table.map_or(0, |table| of_table(table.columns.len())),
            (Some(shape), _) => sum(shape.kinds.iter().map(|kind| match kind {
                Kind::Table(table, _) => of_table(table.columns.len()),
                Kind::Query(program) => program.bytes_within(),
                Kind::Listed(listed) => of_table(listed.table.columns.len()),
                Kind::Round(_) => 0,
            })),
        };
        let asked = sum(self.subqueries().map(|(_, program)| program.bytes_within()));
        read.saturating_add(asked)
    }
}

impl write::Program {
    /// About what it takes for columns.
    pub fn columns_bytes(&self) -> usize {
        let within = self.subqueries.iter().map(|(_, program)| program);
        let asked = sum(within.chain(&self.query).map(|one| one.bytes_within()));
        of_table(self.write.table().columns.len()).saturating_add(asked)
    }
}

impl write::several::Program {
    /// About what it takes for columns.
    pub fn columns_bytes(&self) -> usize {
        let targets = self.change.targets.iter();
        let written = sum(targets.map(|target| of_table(target.table.columns.len())));
        written.saturating_add(self.query.bytes_within())
    }
}

fn of_both(left: &Program, right: &Program) -> usize {
    left.bytes_within().saturating_add(right.bytes_within())
}

fn of_table(columns_count: usize) -> usize {
    columns_count.saturating_mul(TABLE_COLUMN_BYTES)
}

fn sum(bytes: impl Iterator<Item = usize>) -> usize {
    bytes.fold(0, usize::saturating_add)
}
