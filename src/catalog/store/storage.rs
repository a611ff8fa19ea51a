//! The storage of tables and indexes: a space each, whose ids are theirs.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::Catalog;
use crate::catalog::schema::{IndexId, IndexState, Table, TableId};
use crate::error::Result;
use crate::kv::{Error, Space};

/// Spaces that wait to be given back; of more, the others are at the next start.
const OWED_MAX: usize = 100_000;

/// How long storage is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasts {
    /// Its definition is written down.
    Always,
    /// Nobody looks for it after a crash.
    WhileOpen,
}

/// Spaces that no definition has any more, and that the engine did not take back: its disk was full, say.
#[derive(Default)]
pub(super) struct Owed(Mutex<VecDeque<(Space, Lasts)>>);

impl Catalog {
    pub(super) async fn new_space(&self, lasts: Lasts) -> Result<Space> {
        let space = self.engine.spaces().next;
        match lasts {
            Lasts::Always => self.engine.create_space(space).await?,
            Lasts::WhileOpen => self.engine.create_passing_space(space).await?,
        }
        Ok(space)
    }

    /// New storage for a table and its indexes.
    pub(super) async fn give_storage(&self, table: &mut Table, lasts: Lasts) -> Result<()> {
        table.id = TableId(self.new_space(lasts).await?.0);
        for index in &mut table.indexes {
            index.id = IndexId(self.new_space(lasts).await?.0);
            // Of an empty table every index is whole.
            if index.state == IndexState::Building {
                index.state = IndexState::Active;
            }
        }
        if let Some(versions) = &mut table.wide.versions {
            versions.deletions = self.new_space(lasts).await?.0;
        }
        Ok(())
    }

    /// Gives back storage that no published definition has any more. The change has taken place by then,
    /// so that nothing fails here: what cannot be given back now is tried again, and dropped at the next start.
    /// Needs no lock of DDL: who gives back much does it without, since each space waits for the disk.
    pub(super) async fn give_back(&self, spaces: impl IntoIterator<Item = Space>, lasts: Lasts) {
        let given: Vec<_> = spaces.into_iter().map(|space| (space, lasts)).collect();
        self.owe(&given);
        self.pay(given).await;
    }

    /// Tries once more to give back what is owed.
    pub async fn give_back_owed(&self) {
        let owed = self.owed.0.lock().iter().copied().collect();
        self.pay(owed).await;
    }

    fn owe(&self, spaces: &[(Space, Lasts)]) {
        let mut owed = self.owed.0.lock();
        for (space, lasts) in spaces {
            if OWED_MAX <= owed.len() {
                tracing::warn!(%space, "storage that is not given back now is not before the next start");
            } else {
                owed.push_back((*space, *lasts));
            }
        }
    }

    /// Gives back these until that fails: each try may wait for the disk. Nothing of what else is owed: it may be
    /// thousands, and the caller may hold the lock of DDL.
    async fn pay(&self, spaces: Vec<(Space, Lasts)>) {
        for (space, lasts) in spaces {
            let dropped = match lasts {
                Lasts::Always => self.engine.drop_space(space).await,
                Lasts::WhileOpen => self.engine.drop_passing_space(space).await,
            };
            match dropped {
                // Who fails may have done it, or another has who gives back what is owed.
                Ok(()) | Err(Error::NoSuchSpace(_)) => {}
                Err(cause) => {
                    tracing::warn!(%space, %cause, "storage is not given back now, and will be tried again");
                    return;
                }
            }
            let mut owed = self.owed.0.lock();
            owed.retain(|(other, _)| *other != space);
        }
    }
}

/// The storage of a table: its own, that of its indexes and of its deletions, and what its shadow has.
pub(super) fn spaces(table: &Table) -> impl Iterator<Item = Space> {
    with_shadow(table).flat_map(Table::own_spaces)
}

/// Those parts of a table's storage whose values end by themselves.
pub(super) fn ending_spaces(table: &Table) -> impl Iterator<Item = Space> {
    with_shadow(table).flat_map(|table| {
        let deletions = table.deletions_space().map(Space);
        let own = table.own_spaces();
        own.filter(move |space| table.expires() || Some(*space) == deletions)
    })
}

/// The spaces whose values are to be compressed.
pub(super) fn compressed_spaces(table: &Table) -> impl Iterator<Item = Space> {
    let is_compressed = table.is_compressed();
    let tables = with_shadow(table).filter(move |_| is_compressed);
    tables.flat_map(Table::own_spaces)
}

fn with_shadow(table: &Table) -> impl Iterator<Item = &Table> {
    std::iter::once(table).chain(table.shadow.as_deref())
}

impl Table {
    /// Its own storage: that of its rows, of its indexes and of its deletions. Not that of its shadow.
    pub fn own_spaces(&self) -> impl Iterator<Item = Space> {
        let indexes = self.indexes.iter().map(|index| Space(index.id.0));
        let deletions = self.deletions_space().map(Space);
        std::iter::once(Space(self.id.0))
            .chain(indexes)
            .chain(deletions)
    }
}
