//! What ALTER TABLE asks of writers while it looks at the rows that are there: values must fit the
//! column as it is to be.
//!
//! A pledge stands as long as the statement that made it is at work, and no longer, however that
//! ends: nobody has to find the table again, under whatever name it is by then, to take it back.

use std::sync::{Arc, Weak};

use super::schema::{Column, Table};

/// Held by one statement; when it is dropped, its pledges are void.
#[derive(Debug, Default)]
pub struct Pledger(Arc<Mark>);

/// What tells one [`Pledger`] from another.
#[derive(Debug, Default)]
struct Mark;

/// The column as a statement is about to make it.
#[derive(Debug, Clone)]
pub struct Pledge {
    by: Weak<Mark>,
    column: Box<Column>,
}

impl Pledger {
    /// A pledge for a column that is to be like this.
    pub fn pledge(&self, column: Column) -> Pledge {
        Pledge {
            by: Arc::downgrade(&self.0),
            column: Box::new(column),
        }
    }

    /// Whether a column has a pledge of this statement.
    pub fn has_pledged(&self, column: &Column) -> bool {
        let pledge = column.pledge.as_ref();
        pledge.is_some_and(|pledge| std::ptr::eq(pledge.by.as_ptr(), Arc::as_ptr(&self.0)))
    }

    /// Takes the pledges of this statement out of a definition, and those that are void.
    pub fn withdraw(&self, table: &mut Table) {
        for column in &mut table.columns {
            if self.has_pledged(column) || column.pledged().is_none() {
                column.pledge = None;
            }
        }
    }
}

impl Column {
    /// The column as a statement that is at work is about to make it.
    pub fn pledged(&self) -> Option<&Column> {
        let pledge = self.pledge.as_ref()?;
        (0 < pledge.by.strong_count()).then_some(&*pledge.column)
    }
}

impl Table {
    /// Whether a statement looks at the rows.
    pub fn is_pledged(&self) -> bool {
        self.columns.iter().any(|column| column.pledged().is_some())
    }
}
