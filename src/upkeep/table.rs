//! `meseta restore --table`: one table out of a backup into the data directory of a stopped server.
//!
//! Rows and entries of indexes are copied as they are stored, into storage of their own; the definition
//! is written last, so that the table is there whole or not at all. What was being built when the backup
//! was taken is `DISABLED`, as after UNDROP. Grants and views are not touched: they go by name.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::interrupt::INTERRUPTED;
use super::progress::Bar;
use super::{Outcome, tell, told};
use crate::catalog::store::SYSTEM_SPACE;
use crate::catalog::{Catalog, Definitions, Fate, IndexState, Table};
use crate::codec::keyspace::SystemKey;
use crate::codec::row::expiry_of;
use crate::error::{self, Code, Result};
use crate::exec::cancel::CancelToken;
use crate::exec::write::space;
use crate::index;
use crate::kv::expiry::Expiry;
use crate::kv::lsm::{self, Backup, Lsm, Still};
use crate::kv::{Engine, Error, KeyRange, Page, Scan, Snapshot, Space, WriteSet};

/// Copies a table.
///
/// # Errors
/// Why it is not there, in one line.
pub(super) async fn restore(
    (backup, data_dir): (&Path, &Path),
    (database, name): &(String, String),
    (cancel, out): (&CancelToken, &mut dyn Write),
) -> std::result::Result<Outcome, String> {
    let read = Backup::read(backup).and_then(|read| read.check_lists(backup).map(|()| read));
    let taken = read.map_err(|error| told(&error))?.taken;
    check_data(data_dir)?;
    let source = Still::open(backup).map_err(|error| told(&error))?;
    let expiry = Arc::new(Expiry::new(expiry_of));
    let options = lsm::Options {
        expiry: Some(Arc::clone(&expiry)),
        // Of a disk that has become full what was copied can be given back.
        vital: Some(SYSTEM_SPACE),
        ..lsm::Options::new(data_dir)
    };
    let target = Lsm::open(&options).map_err(|error| told(&error))?;
    let target: Arc<dyn Engine> = Arc::new(target);
    let copied = copy((&source, &target), (&expiry, cancel), (database, name)).await;
    let closed = target.close().await;
    let rows = copied.map_err(|error| {
        if error.code() == Code::ShuttingDown {
            return INTERRUPTED.to_owned();
        }
        error.message().to_owned()
    })?;
    closed.map_err(|error| error.to_string())?;
    let text = format!("restored {database}.{name}, {rows} rows, from the backup of {taken}\n");
    tell(out, &text)?;
    Ok(Outcome::Fine)
}

/// A table is restored into what is there.
fn check_data(dir: &Path) -> std::result::Result<(), String> {
    if lsm::is_half_restored(dir) {
        let dir = dir.to_path_buf();
        return Err(told(&Error::HalfRestored { dir }));
    }
    if lsm::is_data_dir(dir) {
        return Ok(());
    }
    let why = if dir.is_dir() {
        "it has no file MESETA"
    } else if dir.exists() {
        "it is a file"
    } else {
        "it does not exist"
    };
    let dir = dir.display();
    Err(format!(
        "{dir} is no data directory: {why}; a table is restored into one that is there"
    ))
}

/// The table as the backup has it.
fn wanted<'d>(
    definitions: &'d Definitions,
    (database, name): (&str, &str),
) -> Result<&'d Arc<Table>> {
    definitions.table(database, name).map_err(|cause| {
        let text = if !definitions.has_database(database) {
            format!("the backup has no database {database}")
        } else if cause.code() == Code::WrongObject {
            format!("{database}.{name} is a view in the backup, and only tables are restored")
        } else {
            format!("the backup has no table {database}.{name}")
        };
        error::Error::new(cause.code(), text)
    })
}

/// What the name of a table that is restored must be in the data directory: nobody's.
fn check_free(catalog: &Catalog, (database, name): (&str, &str)) -> Result<()> {
    let current = catalog.current();
    if !current.has(database, name) {
        return Ok(());
    }
    let text = format!(
        "the data directory has a table or view {database}.{name}: start the server, rename it \
         (RENAME TABLE) or drop it, and stop the server again"
    );
    Err(error::Error::new(Code::TableExists, text))
}

async fn copy(
    (source, target): (&Still, &Arc<dyn Engine>),
    (expiry, cancel): (&Expiry, &CancelToken),
    (database, name): (&str, &str),
) -> Result<u64> {
    let definitions = Definitions::read(source).await?;
    let old = wanted(&definitions, (database, name))?;
    let catalog = Catalog::open(Arc::clone(target)).await?;
    check_free(&catalog, (database, name))?;
    let makes_database = !catalog.current().has_database(database);
    if makes_database {
        catalog.create_database(database).await?;
    }
    let put = put((source, target), (expiry, cancel), (old, &catalog)).await;
    if put.is_err() && makes_database {
        // As it was found, where that is possible; what the copy took was given back.
        let _ = catalog.drop_database(database, Fate::Gone).await;
    }
    put
}

/// Puts the table into its database; or nothing.
async fn put(
    (source, target): (&Still, &Arc<dyn Engine>),
    (expiry, cancel): (&Expiry, &CancelToken),
    (old, catalog): (&Table, &Catalog),
) -> Result<u64> {
    let mut new = Table::clone(old);
    new.shadow = None;
    for index in &mut new.indexes {
        if index.state == IndexState::Building {
            index.state = IndexState::Disabled;
        }
    }
    if new.expires() {
        // What rows that had ended by then have given away stays so, whatever the clock here says.
        expiry.note_sweep(source.swept_ms());
    }
    catalog.house(&mut new).await?;
    let new = Arc::new(new);
    let copied = copy_rows((source, target), (old, &new), cancel).await;
    let adopted = match &copied {
        Ok(_) => catalog.adopt(&new).await,
        Err(cause) => Err(cause.clone()),
    };
    if adopted.is_err() {
        catalog.abandon(&new).await;
    }
    adopted.and(copied)
}

/// Copies all that is stored of a table; how many rows it has.
async fn copy_rows(
    (source, target): (&Still, &Arc<dyn Engine>),
    (old, new): (&Table, &Table),
    cancel: &CancelToken,
) -> Result<u64> {
    let snapshot = source.snapshot();
    let pairs = spaces_to_copy(old, new);
    let keys_of = |(from, _): &(Space, Space)| source.estimate(*from, &KeyRange::all()).rows;
    let mut copier = Copier {
        source: snapshot.as_ref(),
        target: target.as_ref(),
        cancel,
        bar: Bar::new("copying"),
        copied: 0,
        all: pairs.iter().map(keys_of).sum(),
    };
    let mut rows = None;
    for (from, to) in pairs {
        let keys = copier.copy(from, to).await?;
        rows.get_or_insert(keys);
    }
    copier.copy_counter((old, new)).await?;
    Ok(rows.unwrap_or(0))
}

/// Where what is stored of the table lies, and where it is to lie; its rows first.
fn spaces_to_copy(old: &Table, new: &Table) -> Vec<(Space, Space)> {
    let mut pairs = vec![(space(old), space(new))];
    for (from, to) in old.indexes.iter().zip(&new.indexes) {
        if to.state.is_written() {
            pairs.push((index::space(from), index::space(to)));
        }
    }
    if let (Some(from), Some(to)) = (old.deletions_space(), new.deletions_space()) {
        pairs.push((Space(from), Space(to)));
    }
    pairs
}

struct Copier<'a> {
    source: &'a dyn Snapshot,
    target: &'a dyn Engine,
    cancel: &'a CancelToken,
    bar: Bar,
    /// Keys of all spaces together.
    copied: u64,
    /// How many there are, roughly.
    all: u64,
}

impl Copier<'_> {
    /// Copies all keys of a space; how many.
    async fn copy(&mut self, from: Space, to: Space) -> Result<u64> {
        let mut scan = Scan::new(from, KeyRange::all());
        let mut page = Page::default();
        let mut copied = 0;
        loop {
            self.cancel.check()?;
            self.source.scan(&scan, &mut page).await?;
            let count = u64::try_from(page.len()).unwrap_or(u64::MAX);
            if 0 < count {
                let mut writes = WriteSet::blind();
                for (key, value) in page.iter() {
                    writes.put(to, key, value);
                }
                let growth = i64::try_from(count).unwrap_or(i64::MAX);
                writes.growth = BTreeMap::from([(to, growth)]);
                self.target.commit(writes).await?;
            }
            copied += count;
            self.copied += count;
            self.bar.show(self.copied, self.all);
            if !scan.advance(&mut page) {
                return Ok(copied);
            }
        }
    }

    /// The counter of `AUTO_INCREMENT` goes on behind the ids that were set aside.
    async fn copy_counter(&self, (old, new): (&Table, &Table)) -> Result<()> {
        let key = SystemKey::Counter(old.id.0).encode();
        if let Some(record) = self.source.get(SYSTEM_SPACE, &key).await? {
            let mut writes = WriteSet::blind();
            let key = SystemKey::Counter(new.id.0).encode();
            writes.put(SYSTEM_SPACE, key, record.to_vec());
            self.target.commit(writes).await?;
        }
        Ok(())
    }
}
