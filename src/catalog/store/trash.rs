//! Tables that were dropped: kept with their storage for a while, taken out again, or given up.
//!
//! A drop moves a definition from one system key to another in one commit; the storage stays as it
//! is. Giving up deletes the key first and the storage then, as always.

use std::sync::Arc;

use tokio::sync::MutexGuard;

use super::storage::{Lasts, spaces};
use super::{Catalog, Definitions, SYSTEM_SPACE, table_key};
use crate::catalog::persist;
use crate::catalog::schema::{IndexState, Table, TableId};
use crate::catalog::trash::{Fate, TRASH_TABLES_MAX, Trashed};
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::{Engine, Estimate, KeyRange, WriteSet};

fn trash_key(id: TableId) -> Vec<u8> {
    SystemKey::Trash(id.0).encode()
}

impl Definitions {
    /// The dropped tables, the one that was dropped last first.
    pub fn trash(&self) -> Vec<&Arc<Trashed>> {
        let mut trash: Vec<&Arc<Trashed>> = self.trash.values().collect();
        trash.sort_by_key(|trashed| std::cmp::Reverse((trashed.dropped_ms, trashed.table.id)));
        trash
    }

    /// The table of that name that was dropped last.
    ///
    /// # Errors
    /// 1051.
    pub fn trashed(&self, database: &str, name: &str) -> Result<&Arc<Trashed>> {
        let is_it = |trashed: &&Arc<Trashed>| {
            trashed.table.database == database && trashed.table.name == name
        };
        self.trash().into_iter().find(is_it).ok_or_else(|| {
            let text = format!("Unknown table '{database}.{name}' in the trash: see SHOW TRASH");
            Error::new(Code::UnknownTable, text)
        })
    }
}

impl Trashed {
    /// How much it takes, its indexes included; never blocks.
    pub fn estimate(&self, engine: &dyn Engine) -> Estimate {
        let mut spaces = spaces(&self.table);
        let whole = |space| engine.estimate(space, &KeyRange::all());
        let mut sum = spaces.next().map(whole).unwrap_or_default();
        for space in spaces {
            sum.bytes = sum.bytes.saturating_add(whole(space).bytes);
        }
        sum
    }
}

impl Catalog {
    /// Publishes definitions without these tables, which were taken out of them. Other changes do not wait until
    /// the storage is given back.
    pub(super) async fn discard(
        &self,
        (one_at_a_time, mut next, mut writes): (MutexGuard<'_, ()>, Definitions, WriteSet),
        dropped: Vec<Arc<Table>>,
        fate: Fate,
    ) -> Result<()> {
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        for table in dropped {
            writes.delete(SYSTEM_SPACE, table_key(table.id));
            match fate {
                Fate::Gone => gone.push(table),
                Fate::Trash { now_ms } => {
                    let dropped_ms = now_ms;
                    let mut table = table;
                    // A change of the key ends here.
                    gone.extend(Arc::make_mut(&mut table).shadow.take());
                    let trashed = Arc::new(Trashed { table, dropped_ms });
                    let id = trashed.table.id;
                    kept.push(id);
                    next.trash.insert(id, trashed);
                }
            }
        }
        let surplus = next
            .trash()
            .split_off(TRASH_TABLES_MAX.min(next.trash.len()));
        let surplus: Vec<Arc<Trashed>> = surplus.into_iter().map(Arc::clone).collect();
        for trashed in surplus {
            let id = trashed.table.id;
            writes.delete(SYSTEM_SPACE, trash_key(id));
            next.trash.remove(&id);
            gone.push(Arc::clone(&trashed.table));
        }
        // What is dropped now may be of the surplus itself. Of a key that is put and deleted the put counts.
        for trashed in kept.iter().filter_map(|id| next.trash.get(id)) {
            let record = persist::encode_trashed(trashed);
            writes.put(SYSTEM_SPACE, trash_key(trashed.table.id), record);
        }
        self.publish(writes, next).await?;
        drop(one_at_a_time);
        let gone_spaces = gone.iter().flat_map(|table| spaces(table));
        self.give_back(gone_spaces, Lasts::Always).await;
        Ok(())
    }

    /// Takes the table of that name that was dropped last out of the trash, under this name. What
    /// was being built when it was dropped is `DISABLED`.
    ///
    /// # Errors
    /// 1051 when there is none; 1049, 1050; those of the engine.
    pub async fn undrop(
        &self,
        (database, name): (&str, &str),
        to: (String, String),
    ) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let trashed = Arc::clone(next.trashed(database, name)?);
        next.check_free(&to.0, &to.1)?;
        next.check_count()?;
        let mut table = Table::clone(&trashed.table);
        (table.database, table.name) = to;
        let mut lost = Vec::new();
        for index in &mut table.indexes {
            if index.state == IndexState::Building {
                index.state = IndexState::Disabled;
                lost.push(crate::kv::Space(index.id.0));
                index.id = crate::catalog::IndexId(self.new_space(Lasts::Always).await?.0);
            }
        }
        let mut writes = WriteSet::blind();
        writes.delete(SYSTEM_SPACE, trash_key(table.id));
        writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(&table));
        let table = Arc::new(table);
        next.trash.remove(&table.id);
        next.put(&table);
        self.publish_addition(writes, next).await?;
        self.give_back(lost, Lasts::Always).await;
        Ok(table)
    }

    /// Gives up dropped tables; how many.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn purge(&self, is_wanted: impl Fn(&Trashed) -> bool + Send) -> Result<usize> {
        let is_any = self
            .current()
            .trash
            .values()
            .any(|trashed| is_wanted(trashed));
        if !is_any {
            return Ok(0);
        }
        let one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let mut writes = WriteSet::blind();
        let mut gone = Vec::new();
        next.trash.retain(|id, trashed| {
            if !is_wanted(trashed) {
                return true;
            }
            writes.delete(SYSTEM_SPACE, trash_key(*id));
            gone.push(Arc::clone(&trashed.table));
            false
        });
        self.publish_addition(writes, next).await?;
        drop(one_at_a_time);
        let gone_spaces = gone.iter().flat_map(|table| spaces(table));
        self.give_back(gone_spaces, Lasts::Always).await;
        Ok(gone.len())
    }
}
