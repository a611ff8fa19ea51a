//! Whether what an ALTER TABLE drops can wait for the new indexes that it builds.
//!
//! Names in a statement mean the table as it was. Where something new takes the name of something old,
//! or an index to be dropped is to be built again first, the parts of the statement one after the other
//! would come to another table than all of it at once: then nothing waits.

use crate::catalog::Table;
use crate::error::Result;
use crate::exec::ddl::alter::{self, Part, Targets};
use crate::sql::ast::{AlterAction, IndexDef};
use crate::sql::context::EvalContext;

use super::index::define_all;

/// What is left to be dropped and renamed when the new indexes are there; `None` when that cannot
/// wait, or there are none.
pub(super) fn left(
    old: &Table,
    statement: (&[AlterAction], &[&IndexDef]),
    quiet: &EvalContext,
) -> Option<Targets> {
    let (actions, added) = statement;
    if added.is_empty() {
        return None;
    }
    let targets = Targets::of(old, actions)?;
    let whole = changed(old, statement, (Part::All, quiet)).ok()?;
    let mut parts = changed(old, statement, (Part::Before, quiet)).ok()?;
    if !targets.are_in(&parts) {
        return None;
    }
    alter::complete(&mut parts, actions, (&targets, quiet)).ok()?;
    whole.is_like(&parts).then_some(targets)
}

/// The table with a part of the actions done, and the new indexes.
fn changed(
    old: &Table,
    (actions, added): (&[AlterAction], &[&IndexDef]),
    (part, quiet): (Part, &EvalContext),
) -> Result<Table> {
    let mut table = Table::clone(old);
    alter::apply(&mut table, actions, (part, quiet))?;
    define_all(&mut table, added, quiet)?;
    table.check_indexes_count()?;
    alter::settle_ids(&mut table, old, (actions, quiet))?;
    Ok(table)
}
