//! The storage of tables and indexes: a space each, whose ids are theirs.

use super::Catalog;
use crate::catalog::schema::{IndexId, IndexState, Table, TableId};
use crate::error::Result;
use crate::kv::Space;

/// How long storage is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasts {
    /// Its definition is written down.
    Always,
    /// Nobody looks for it after a crash.
    WhileOpen,
}

impl Catalog {
    pub(super) async fn new_space(&self, lasts: Lasts) -> Result<Space> {
        let space = self.engine.spaces().next;
        match lasts {
            Lasts::Always => self.engine.create_space(space).await?,
            Lasts::WhileOpen => self.engine.create_passing_space(space).await?,
        }
        Ok(space)
    }

    pub(super) async fn drop_space(&self, space: Space, lasts: Lasts) -> Result<()> {
        match lasts {
            Lasts::Always => self.engine.drop_space(space).await?,
            Lasts::WhileOpen => self.engine.drop_passing_space(space).await?,
        }
        Ok(())
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

    /// Gives back the storage of a temporary table that nobody uses any more.
    pub(super) async fn drop_temporary_storage(&self, table: &Table) -> Result<()> {
        for space in spaces(table) {
            self.drop_space(space, Lasts::WhileOpen).await?;
        }
        Ok(())
    }

    /// Gives back storage that no published definition has any more. The change has taken place by then,
    /// so that nothing fails here: what cannot be given back now is dropped at the next start.
    pub(super) async fn give_back(&self, spaces: Vec<Space>) {
        for space in spaces {
            if let Err(cause) = self.engine.drop_space(space).await {
                tracing::warn!(%space, %cause, "storage is not given back before the next start");
            }
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
