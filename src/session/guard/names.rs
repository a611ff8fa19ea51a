//! What statements need that give tables other names, or take them out of the trash.

use super::needs::Need;
use crate::accounts::{Privilege, Privileges};
use crate::error::Result;
use crate::session::Session;
use crate::sql::ast::{AlterAction, Statement, TableName};

impl Session {
    /// Another name needs DROP on the old one, and CREATE and INSERT on the new one, as in MySQL; that of
    /// a temporary table what making one there needs.
    pub(super) fn rename_needs(&self, statement: &Statement, out: &mut Vec<Need>) -> Result<()> {
        if let Statement::Undrop { table, to } = statement {
            let privileges = Privileges::of(&[Privilege::Create, Privilege::Insert]);
            out.push(self.on_table(to.as_ref().unwrap_or(table), privileges)?);
        }
        for (from, to) in renames(statement) {
            let renames_own = matches!(statement, Statement::AlterTable(_));
            if renames_own && self.named_temporary(from).is_some() {
                out.push(Need::OnDatabase {
                    database: self.database_or_current(to.database.as_deref())?,
                    privilege: Privilege::CreateTemporaryTables,
                });
                continue;
            }
            out.push(self.on_table(from, Privileges::of(&[Privilege::Drop]))?);
            let privileges = Privileges::of(&[Privilege::Create, Privilege::Insert]);
            out.push(self.on_table(to, privileges)?);
        }
        Ok(())
    }
}

/// The tables that get other names, with those.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other statement renames")]
fn renames(statement: &Statement) -> Vec<(&TableName, &TableName)> {
    match statement {
        Statement::RenameTables(rename) => {
            rename.pairs.iter().map(|(from, to)| (from, to)).collect()
        }
        Statement::AlterTable(alter) => {
            let to = alter.actions.iter().filter_map(|action| match action {
                AlterAction::Rename(to) => Some(to),
                _ => None,
            });
            to.map(|to| (&alter.table, to)).collect()
        }
        _ => Vec::new(),
    }
}
