//! Where damage is, in the words of the tables: which rows a file holds, which row cannot be read.

use std::sync::Arc;

use crate::catalog::store::SYSTEM_SPACE;
use crate::catalog::{IndexId, Table, TableId};
use crate::exec::backfill::rows::{Maker, key_text};
use crate::exec::cancel::CancelToken;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::write::space;
use crate::kv::lsm::Extent;
use crate::kv::{Engine, Key, KeyRange, Page, Scan, Space};

/// What a file of the engine holds: `; it holds d.t /1 to d.u /7, and can be read to d.t /3`. The tables are those that
/// there are; none where their definitions cannot be read.
pub(super) fn extent_text(tables: Option<&[Arc<Table>]>, extent: &Extent) -> String {
    let text = |place: &Option<(Space, Key)>| match place {
        Some((space, key)) => place_text(tables, *space, key),
        None => "the engine's own records".to_owned(),
    };
    let readable = match &extent.readable_to {
        Some(place) if *place == extent.last => "all of its rows can be read".to_owned(),
        Some(place) => format!("can be read to {}", text(place)),
        None => "cannot be read".to_owned(),
    };
    let (first, last) = (text(&extent.first), text(&extent.last));
    format!("; it holds {first} to {last}, and {readable}")
}

fn place_text(tables: Option<&[Arc<Table>]>, space: Space, key: &[u8]) -> String {
    if space == SYSTEM_SPACE {
        return format!("the definitions {}", hex(key));
    }
    let Some(tables) = tables else {
        return format!("storage space {} {}", space.0, hex(key));
    };
    let found = tables.iter().find_map(|table| {
        let name = format!("{}.{}", table.database, table.name);
        text_of((table, &name), space, key).or_else(|| {
            let name = format!("{name} under its new primary key");
            text_of((table.shadow.as_deref()?, &name), space, key)
        })
    });
    found.unwrap_or_else(|| format!("a dropped table or index {}", hex(key)))
}

/// A key of a table's own storage.
fn text_of((table, name): (&Table, &str), space: Space, key: &[u8]) -> Option<String> {
    if table.id == TableId(space.0) {
        return Some(format!("{name} {}", key_text(table, key)));
    }
    if table.deletions_space() == Some(space.0) {
        return Some(format!("deletions of {name} {}", key_text(table, key)));
    }
    let mut indexes = table.indexes.iter();
    let index = indexes.find(|index| index.id == IndexId(space.0))?;
    let entry = Maker::new(table, index).map(|maker| maker.entry_text(key));
    let entry = entry.unwrap_or_else(|_| hex(key));
    Some(format!("index {} of {name} {entry}", index.name))
}

/// For keys of which nobody knows what they are made of.
fn hex(key: &[u8]) -> String {
    let digits: Vec<String> = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{}'", digits.concat())
}

/// Which row of a table cannot be read, if one cannot: ` at row /3`, ` behind row /7`. Nothing once it is
/// not to be looked for any more.
pub(super) async fn unreadable(
    engine: &dyn Engine,
    (table, cancel): (&Table, &CancelToken),
) -> String {
    let snapshot = engine.snapshot();
    let layout = Layout::of(table);
    let mut scan = Scan::new(space(table), KeyRange::all());
    // A page that cannot be read is read again row by row.
    let mut last: Option<Key> = None;
    let mut page = Page::default();
    while cancel.reason().is_none() {
        if snapshot.scan(&scan, &mut page).await.is_err() {
            if scan.options.max_rows == 1 {
                return last.map_or_else(
                    || " before its first row".to_owned(),
                    |key| format!(" behind row {}", key_text(table, &key)),
                );
            }
            scan.options.max_rows = 1;
            page = Page::default();
            continue;
        }
        for (key, value) in page.iter() {
            let parsed = StoredRow::parse(table, &layout, key, value);
            if parsed.and_then(|row| row.to_values()).is_err() {
                return format!(" at row {}", key_text(table, key));
            }
            last = Some(key.to_vec());
        }
        if !scan.advance(&mut page) {
            break;
        }
    }
    String::new()
}
