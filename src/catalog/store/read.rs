//! The stored definitions, read when the catalog is opened.

use std::sync::Arc;

use super::{Database, Definitions, SYSTEM_SPACE, views};
use crate::catalog::TableId;
use crate::catalog::persist;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::{Engine, KeyRange, Page, Scan};

/// All definitions that an engine has.
///
/// # Errors
/// Those of the engine; 1712 for a definition that cannot be read.
pub(super) async fn all(engine: &dyn Engine) -> Result<Definitions> {
    let snapshot = engine.snapshot();
    let mut scan = Scan::new(SYSTEM_SPACE, KeyRange::all());
    let mut page = Page::default();
    let mut definitions = Definitions::default();
    loop {
        snapshot.scan(&scan, &mut page).await?;
        for (key, value) in page.iter() {
            read_one(&mut definitions, key, value)?;
        }
        if !scan.advance(&mut page) {
            return Ok(definitions);
        }
    }
}

/// Databases sort before tables and views, so that those find their database.
fn read_one(definitions: &mut Definitions, key: &[u8], value: &[u8]) -> Result<()> {
    match SystemKey::decode(key)? {
        SystemKey::Database(name) => {
            definitions.databases.insert(name, Database::default());
            Ok(())
        }
        SystemKey::Table(id) => {
            let table = persist::decode(value).map_err(|damage| {
                let text = format!("the definition of table {id} is damaged: {}", damage.0);
                Error::new(Code::StorageCorrupt, text)
            })?;
            let within = definitions.databases.entry(table.database.clone());
            let tables = &mut within.or_default().tables;
            tables.insert(table.name.clone(), Arc::new(table));
            Ok(())
        }
        SystemKey::Trash(id) => {
            let trashed = persist::decode_trashed(value).map_err(|damage| {
                let text = format!("dropped table {id} is damaged: {}", damage.0);
                Error::new(Code::StorageCorrupt, text)
            })?;
            definitions.trash.insert(TableId(id), Arc::new(trashed));
            Ok(())
        }
        SystemKey::View { database, name } => views::read(definitions, (database, name), value),
        SystemKey::Build(_)
        | SystemKey::Account(..)
        | SystemKey::Counter(_)
        | SystemKey::Variable(_) => Ok(()),
    }
}
