//! All definitions: an immutable [`Definitions`] that statements share, and the [`Catalog`] that
//! replaces it when DDL commits.
//!
//! A statement takes one version at its start and keeps it to its end; its commit passes a gate and
//! is not done when a table that it writes has another definition by then. DDL statements run one at a
//! time: the change is committed to the system space first, published second, and the storage of a
//! dropped table is given back last, so that a crash at any point leaves at most a space that no
//! table owns; [`Catalog::open`] drops those.

mod adopt;
mod indexes;
mod read;
mod rekey;
mod rename;
mod storage;
mod temporary;
mod trash;
mod views;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use self::storage::{Lasts, compressed_spaces, ending_spaces, spaces};
use super::gate::{Gate, Pass};
use super::persist;
use super::schema::{INDEXES_MAX, Index, IndexId, IndexState, Table, TableId};
use super::size;
use super::trash::{Fate, Trashed};
use super::view::View;
use super::wide;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::{CommitError, Engine, Space, WriteSet};

/// The space that holds the definitions.
pub const SYSTEM_SPACE: Space = Space(0);

/// The database that exists from the start.
pub const DEFAULT_DATABASE: &str = "default";

/// Tables and views of all databases together. Each costs memory for its definition, a table a storage
/// space too.
pub const TABLES_MAX: usize = 100_000;

/// What one database has, by name. No view has the name of a table.
#[derive(Debug, Clone, Default)]
struct Database {
    tables: BTreeMap<String, Arc<Table>>,
    views: BTreeMap<String, Arc<View>>,
}

impl Database {
    fn has(&self, name: &str) -> bool {
        self.tables.contains_key(name) || self.views.contains_key(name)
    }
}

/// One version of all definitions.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    databases: BTreeMap<String, Database>,
    /// Tables that were dropped and can come back; an older one has a lower id, mostly.
    trash: BTreeMap<TableId, Arc<Trashed>>,
}

impl Definitions {
    /// The names of the databases, in order.
    pub fn databases(&self) -> impl Iterator<Item = &str> {
        self.databases.keys().map(String::as_str)
    }

    /// Whether there is a database of that name.
    pub fn has_database(&self, name: &str) -> bool {
        self.databases.contains_key(name)
    }

    /// The tables of a database, in order of name.
    ///
    /// # Errors
    /// 1049 when there is no such database.
    pub fn tables(&self, database: &str) -> Result<impl Iterator<Item = &Arc<Table>>> {
        Ok(self.database(database)?.tables.values())
    }

    /// The table of that name.
    ///
    /// # Errors
    /// 1049 or 1146; 1347 when that is a view.
    pub fn table(&self, database: &str, name: &str) -> Result<&Arc<Table>> {
        let within = self.database(database)?;
        within.tables.get(name).ok_or_else(|| {
            if within.views.contains_key(name) {
                let text = format!("'{database}.{name}' is not BASE TABLE");
                return Error::new(Code::WrongObject, text);
            }
            no_table(database, name)
        })
    }

    /// The views of a database, in order of name.
    ///
    /// # Errors
    /// 1049 when there is no such database.
    pub fn views(&self, database: &str) -> Result<impl Iterator<Item = &Arc<View>>> {
        Ok(self.database(database)?.views.values())
    }

    /// The view of that name, if there is one.
    pub fn view(&self, database: &str, name: &str) -> Option<&Arc<View>> {
        self.databases.get(database)?.views.get(name)
    }

    /// Whether a table or a view has that name.
    pub fn has(&self, database: &str, name: &str) -> bool {
        self.databases
            .get(database)
            .is_some_and(|within| within.has(name))
    }

    fn database(&self, name: &str) -> Result<&Database> {
        self.databases
            .get(name)
            .ok_or_else(|| unknown_database(name))
    }

    /// # Errors
    /// 1041 when there are [`TABLES_MAX`].
    fn check_count(&self) -> Result<()> {
        let counts = self.databases.values();
        let counts = counts.map(|within| within.tables.len() + within.views.len());
        if counts.sum::<usize>() < TABLES_MAX {
            return Ok(());
        }
        let text = format!("there are {TABLES_MAX} tables, the most this server keeps");
        Err(Error::new(Code::OutOfResources, text))
    }
}

/// Error 1146.
pub(crate) fn no_table(database: &str, name: &str) -> Error {
    let text = format!("Table '{database}.{name}' doesn't exist");
    Error::new(Code::TableMissing, text)
}

fn unknown_database(name: &str) -> Error {
    Error::new(Code::UnknownDatabase, format!("Unknown database '{name}'"))
}

/// The definitions as they are now, and the only way to change them.
pub struct Catalog {
    engine: Arc<dyn Engine>,
    current: RwLock<Arc<Definitions>>,
    /// Held by the one DDL statement that runs.
    ddl: tokio::sync::Mutex<()>,
    gate: Gate,
    /// Counts the changes that gave a table another definition, or took it away.
    version: AtomicU64,
    /// Counts all changes, additions too.
    stamp: AtomicU64,
    temporary: temporary::TemporaryTables,
    owed: storage::Owed,
}

impl Catalog {
    /// Reads the definitions of an engine, making the system space and the default database when
    /// they are missing, and gives back storage that belongs to no table.
    ///
    /// # Errors
    /// Those of the engine; 1712 for a definition that cannot be read.
    pub async fn open(engine: Arc<dyn Engine>) -> Result<Catalog> {
        if !engine.spaces().live.contains(&SYSTEM_SPACE) {
            engine.create_space(SYSTEM_SPACE).await?;
        }
        let definitions = read::all(engine.as_ref()).await?;
        let catalog = Catalog {
            engine,
            current: RwLock::new(Arc::new(definitions)),
            ddl: tokio::sync::Mutex::new(()),
            gate: Gate::default(),
            version: AtomicU64::new(0),
            stamp: AtomicU64::new(0),
            temporary: temporary::TemporaryTables::default(),
            owed: storage::Owed::default(),
        };
        catalog.watch(&catalog.current());
        if !catalog.current().has_database(DEFAULT_DATABASE) {
            let made = catalog.create_database(DEFAULT_DATABASE).await;
            // Whoever dropped it has other databases.
            pass_without_writes(
                catalog.engine.as_ref(),
                ("making the default database", made),
            )?;
        }
        catalog.drop_orphans().await;
        Ok(catalog)
    }

    /// The version of now.
    pub fn current(&self) -> Arc<Definitions> {
        Arc::clone(&self.current.read())
    }

    /// How often a definition was changed or taken away. Read it before [`Catalog::current`]: while
    /// it stays as it is, the definitions of tables that were found then are those of now.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// How often the definitions were changed, additions included. Read it before [`Catalog::current`]:
    /// while it stays as it is, all names lead to where they led then.
    pub fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }

    /// Lets a commit in: no definition changes while it has the pass.
    pub async fn enter(&self) -> Pass<'_> {
        self.gate.enter().await
    }

    /// Whether this is the definition of a table now.
    pub fn is_current(&self, table: &Arc<Table>) -> bool {
        let current = self.current.read();
        let found = current.table(&table.database, &table.name);
        found.is_ok_and(|found| wide::is_same(found, table)) || self.temporary.has(table)
    }

    /// Makes a database.
    ///
    /// # Errors
    /// 1007 when it exists; those of the engine.
    pub async fn create_database(&self, name: &str) -> Result<()> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        if next.has_database(name) {
            let text = format!("Can't create database '{name}'; database exists");
            return Err(Error::new(Code::DbCreateExists, text));
        }
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, database_key(name), vec![persist::FORMAT]);
        next.databases.insert(name.to_owned(), Database::default());
        self.publish_addition(writes, next).await
    }

    /// Drops a database, its tables and views; how many of them there were.
    ///
    /// # Errors
    /// 1008 when it does not exist; those of the engine.
    pub async fn drop_database(&self, name: &str, fate: Fate) -> Result<usize> {
        let one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let Some(Database { tables, views }) = next.databases.remove(name) else {
            let text = format!("Can't drop database '{name}'; database doesn't exist");
            return Err(Error::new(Code::DbDropMissing, text));
        };
        let mut writes = WriteSet::blind();
        writes.delete(SYSTEM_SPACE, database_key(name));
        for view in views.values() {
            writes.delete(SYSTEM_SPACE, views::key(view));
        }
        let count = tables.len() + views.len();
        let change = (one_at_a_time, next, writes);
        self.discard(change, tables.into_values().collect(), fate)
            .await?;
        Ok(count)
    }

    /// Makes a table; its [`Table::id`] is chosen here. `false` when there is one of that name, or a
    /// view.
    ///
    /// # Errors
    /// 1049; 1041 when there is no memory for it; 1235 for a default that cannot be stored; those of the engine.
    pub async fn create_table(&self, mut table: Table) -> Result<bool> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        next.check_count()?;
        let within = next.databases.get_mut(&table.database);
        let within = within.ok_or_else(|| unknown_database(&table.database))?;
        if within.has(&table.name) {
            return Ok(false);
        }
        size::ask(&table)?;
        persist::check_constants(None, &table)?;
        self.give_storage(&mut table, Lasts::Always).await?;
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(&table));
        let table = Arc::new(table);
        within.tables.insert(table.name.clone(), table);
        self.publish_addition(writes, next).await?;
        Ok(true)
    }

    /// Drops the named tables, all or none.
    ///
    /// # Errors
    /// 1051 naming those that do not exist; those of the engine.
    pub async fn drop_tables(&self, names: &[(String, String)], fate: Fate) -> Result<()> {
        let one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let mut dropped = Vec::new();
        let mut missing = Vec::new();
        for (database, name) in names {
            let within = next.databases.get_mut(database);
            match within.and_then(|within| within.tables.remove(name)) {
                Some(table) => dropped.push(table),
                None => missing.push(format!("{database}.{name}")),
            }
        }
        if !missing.is_empty() {
            let text = format!("Unknown table '{}'", missing.join(","));
            return Err(Error::new(Code::UnknownTable, text));
        }
        let change = (one_at_a_time, next, WriteSet::blind());
        self.discard(change, dropped, fate).await
    }

    /// Empties a table by giving it a new storage space.
    ///
    /// # Errors
    /// 1049 or 1146; those of the engine.
    pub async fn truncate(&self, database: &str, name: &str) -> Result<()> {
        let one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        if next.view(database, name).is_some() {
            return Err(no_table(database, name));
        }
        let old = Arc::clone(next.table(database, name)?);
        let mut table = Table::clone(&old);
        table.count_from(1);
        table.forget_past();
        self.give_storage(&mut table, Lasts::Always).await?;
        let mut writes = WriteSet::blind();
        writes.delete(SYSTEM_SPACE, table_key(old.id));
        writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(&table));
        if let Some(within) = next.databases.get_mut(database) {
            within.tables.insert(name.to_owned(), Arc::new(table));
        }
        self.publish(writes, next).await?;
        drop(one_at_a_time);
        self.give_back(spaces(&old), Lasts::Always).await;
        Ok(())
    }

    /// Adds an index, whose [`Index::id`] is chosen here; the definition that has it.
    ///
    /// # Errors
    /// 1049 or 1146; 1061 when the table has an index of that name; 1069 when it has
    /// [`INDEXES_MAX`]; those of the engine.
    pub async fn add_index(
        &self,
        (database, name): (&str, &str),
        mut index: Index,
    ) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut table = Table::clone(self.current().table(database, name)?);
        table.check_settled()?;
        if table.index_position(&index.name).is_some() {
            let text = format!("Duplicate key name '{}'", index.name);
            return Err(Error::new(Code::DuplicateKeyName, text));
        }
        if INDEXES_MAX <= table.indexes.len() {
            let text = format!("Too many keys specified; max {INDEXES_MAX} keys allowed");
            return Err(Error::new(Code::TooManyKeys, text));
        }
        index.id = IndexId(self.new_space(Lasts::Always).await?.0);
        table.indexes.push(index);
        self.replace(table, None).await
    }

    /// Sets the state of the index with this id; nothing happens when it is there no more.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn set_index_state(&self, (id, state): (IndexId, IndexState)) -> Result<()> {
        let _one_at_a_time = self.ddl.lock().await;
        let current = self.current();
        let has_index = |table: &&Arc<Table>| table.indexes.iter().any(|index| index.id == id);
        // Whatever its name is by now.
        let Some(mut table) = current
            .all_tables()
            .find(has_index)
            .map(|table| Table::clone(table))
        else {
            return Ok(());
        };
        let Some(index) = table.indexes.iter_mut().find(|index| index.id == id) else {
            return Ok(());
        };
        index.state = state;
        self.replace(table, None).await.map(drop)
    }

    /// Gives a table's definition a new form; its storage stays. `moved` is the old one when it gets
    /// another name.
    async fn replace(&self, table: Table, moved: Option<&Table>) -> Result<Arc<Table>> {
        let mut next = Definitions::clone(&self.current());
        let table = Arc::new(table);
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(&table));
        if let Some(old) = moved {
            next.take(&old.database, &old.name);
        }
        next.put(&table);
        self.publish(writes, next).await?;
        Ok(table)
    }

    /// Publishes changed definitions, when no commit is under way that was made with the old ones.
    async fn publish(&self, writes: WriteSet, next: Definitions) -> Result<()> {
        let _closed = self.gate.close().await;
        // Before and after: nobody finds the new definitions with the version of the old ones, nor
        // the old ones with the version of the new.
        self.version.fetch_add(1, Ordering::AcqRel);
        let published = self.publish_addition(writes, next).await;
        self.version.fetch_add(1, Ordering::AcqRel);
        published
    }

    /// Publishes definitions that have more than those before and nothing else: no commit minds.
    async fn publish_addition(&self, writes: WriteSet, next: Definitions) -> Result<()> {
        self.engine.commit(writes).await?;
        self.watch(&next);
        self.show(next);
        Ok(())
    }

    /// Makes others the definitions of now.
    fn show(&self, next: Definitions) {
        let mut current = self.current.write();
        // Under the lock: who reads the new stamp waits there for the new definitions, and who has these
        // reads the new stamp.
        self.stamp.fetch_add(1, Ordering::AcqRel);
        *current = Arc::new(next);
    }

    /// Tells the engine which spaces have rows that end, and which are compressed. Those of definitions that
    /// are not there any more are read by nobody but snapshots that know better.
    fn watch(&self, definitions: &Definitions) {
        let temporary = self.temporary.all();
        let tables = || definitions.all_tables().chain(&temporary);
        let compressed = tables().flat_map(|table| compressed_spaces(table));
        self.engine.compress(compressed.collect());
        let Some(expiry) = self.engine.expiry() else {
            return;
        };
        let ending = tables().flat_map(|table| ending_spaces(table));
        expiry.watch(ending.collect());
    }

    /// Gives back what no definition has.
    async fn drop_orphans(&self) {
        let current = self.current();
        let trashed = current.trash.values().map(|trashed| &trashed.table);
        let owned: HashSet<Space> = current
            .all_tables()
            .chain(trashed)
            .flat_map(|table| spaces(table))
            .chain([SYSTEM_SPACE])
            .collect();
        let live = self.engine.spaces().live.into_iter();
        let orphans = live.filter(|space| !owned.contains(space));
        self.give_back(orphans, Lasts::Always).await;
    }
}

/// Of what a start writes to tidy up, for lack of room or where nothing is written any more: it is logged, and the next
/// start tries again. Who has no room must be able to read, and to delete.
///
/// # Errors
/// Other failures.
pub fn pass_without_writes(
    engine: &dyn Engine,
    (doing, written): (&str, Result<()>),
) -> Result<()> {
    let Err(error) = written else { return Ok(()) };
    if error.code() != Code::DiskFull && engine.read_only().is_none() {
        return Err(error);
    }
    tracing::warn!(%error, "{doing} is left to the next start");
    Ok(())
}

fn database_key(name: &str) -> Vec<u8> {
    SystemKey::Database(name.to_owned()).encode()
}

fn table_key(id: TableId) -> Vec<u8> {
    SystemKey::Table(id.0).encode()
}

/// What a failed commit means to the client.
pub fn commit_failed(error: CommitError) -> Error {
    Error::from(error)
}
