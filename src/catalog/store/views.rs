//! Views: made, replaced and dropped under the lock of DDL, as tables are.

use std::sync::Arc;

use super::{Catalog, Definitions, SYSTEM_SPACE, unknown_database};
use crate::catalog::persist;
use crate::catalog::size;
use crate::catalog::view::View;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::WriteSet;

/// Where a view's definition is stored.
pub(super) fn key(view: &View) -> Vec<u8> {
    let (database, name) = (view.database.clone(), view.name.clone());
    SystemKey::View { database, name }.encode()
}

/// Takes a stored view into the definitions.
///
/// # Errors
/// 1712 for a definition that cannot be read, or that is another view's.
pub(super) fn read(
    definitions: &mut Definitions,
    (database, name): (String, String),
    value: &[u8],
) -> Result<()> {
    let damaged = |why: &str| {
        let text = format!("the definition of view {database}.{name} is damaged: {why}");
        Error::new(Code::StorageCorrupt, text)
    };
    let view = persist::decode_view(value).map_err(|damage| damaged(&damage.0))?;
    if view.database != database || view.name != name {
        return Err(damaged("it is that of another view"));
    }
    let within = definitions.databases.entry(database).or_default();
    within.views.insert(name, Arc::new(view));
    Ok(())
}

impl Catalog {
    /// Makes a view, or gives one another definition when it may. `false` when one of that name, or
    /// a table, is in the way.
    ///
    /// # Errors
    /// 1049; those of the engine.
    pub async fn create_view(&self, view: View, replaces: bool) -> Result<bool> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        next.check_count()?;
        let within = next.databases.get_mut(&view.database);
        let within = within.ok_or_else(|| unknown_database(&view.database))?;
        let is_there = within.views.contains_key(&view.name);
        if within.tables.contains_key(&view.name) || is_there && !replaces {
            return Ok(false);
        }
        size::ask_view(&view)?;
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, key(&view), persist::encode_view(&view));
        within.views.insert(view.name.clone(), Arc::new(view));
        if is_there {
            self.publish(writes, next).await?;
        } else {
            self.publish_addition(writes, next).await?;
        }
        Ok(true)
    }

    /// Drops the named views, all or none.
    ///
    /// # Errors
    /// 1347 for a table, 1051 naming those that do not exist; those of the engine.
    pub async fn drop_views(&self, names: &[(String, String)]) -> Result<()> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let mut writes = WriteSet::blind();
        let mut missing = Vec::new();
        for (database, name) in names {
            if next.table(database, name).is_ok() {
                let text = format!("'{database}.{name}' is not VIEW");
                return Err(Error::new(Code::WrongObject, text));
            }
            let within = next.databases.get_mut(database);
            match within.and_then(|within| within.views.remove(name)) {
                Some(view) => writes.delete(SYSTEM_SPACE, key(&view)),
                None => missing.push(format!("{database}.{name}")),
            }
        }
        if !missing.is_empty() {
            let text = format!("Unknown table '{}'", missing.join(","));
            return Err(Error::new(Code::UnknownTable, text));
        }
        self.publish(writes, next).await
    }
}
