//! Indexes of test tables, before there is a statement that makes them, and the law that all tests
//! of writes end with: an index holds the entries of the rows that are there, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Computed, Include, Index, IndexId, IndexState, KeyPart, Table};
use crate::codec::key::Direction;
use crate::exec::row::{Layout, StoredRow};
use crate::index::{self, entry};
use crate::kv::{Engine, Key, KeyRange, Page, Scan, Snapshot, Space};
use crate::session::Shared;

/// Gives table `t` of the default database these indexes (see the head of [`super`]).
pub(super) async fn add(shared: &Shared, texts: &str) {
    for text in texts
        .split(';')
        .map(str::trim)
        .filter(|text| *text != "none")
    {
        let table = table(shared);
        let index = parse(&table, text);
        let added = shared.catalog().add_index(("default", "t"), index).await;
        added.unwrap();
    }
}

/// The definition of `t` now.
pub(super) fn table(shared: &Shared) -> Arc<Table> {
    let definitions = shared.catalog().current();
    Arc::clone(definitions.table("default", "t").unwrap())
}

fn parse(table: &Table, text: &str) -> Index {
    let unique = text.starts_with("UNIQUE ");
    let text = text.trim_start_matches("UNIQUE ");
    let (name, rest) = text.split_once(" (").unwrap();
    let (parts, rest) = rest.split_once(')').unwrap();
    let part = |text: &str| {
        let (column, direction) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        KeyPart {
            column_idx: table.column_idx(column).unwrap(),
            direction: Direction::of(direction == "DESC"),
        }
    };
    let rest = rest.trim();
    let (include, state) = if let Some(state) = rest.strip_prefix("INCLUDE ALL") {
        (Include::All, state)
    } else if let Some(rest) = rest.strip_prefix("INCLUDE (") {
        let (columns, state) = rest.split_once(')').unwrap();
        let columns = columns.split(',').map(str::trim);
        let columns = columns.map(|column| table.column_idx(column).unwrap());
        (Include::Columns(columns.collect()), state)
    } else {
        (Include::None, rest)
    };
    Index {
        id: IndexId(0),
        name: name.to_owned(),
        unique,
        parts: parts.split(',').map(part).collect(),
        computed: Computed::default(),
        include,
        state: IndexState::of_name(state.trim()).unwrap_or(IndexState::Active),
        comment: String::new(),
    }
}

/// All that a space holds.
pub(super) async fn scan(snapshot: &dyn Snapshot, space: Space) -> BTreeMap<Key, Vec<u8>> {
    let mut scan = Scan::new(space, KeyRange::all());
    let mut page = Page::default();
    let mut rows = BTreeMap::new();
    loop {
        snapshot.scan(&scan, &mut page).await.unwrap();
        rows.extend(
            page.iter()
                .map(|(key, value)| (key.to_vec(), value.to_vec())),
        );
        if !scan.advance(&mut page) {
            return rows;
        }
    }
}

/// Checks that each index holds exactly the entries of the rows; returns how many rows there are.
pub(super) async fn check(engine: &dyn Engine, table: &Table, hint: &str) -> usize {
    let snapshot = engine.snapshot();
    let layout = Layout::of(table);
    let rows = scan(snapshot.as_ref(), Space(table.id.0)).await;
    for index in &table.indexes {
        let stored = scan(snapshot.as_ref(), index::space(index)).await;
        let mut rebuilt = BTreeMap::new();
        for (key, value) in rows.iter().filter(|_| index.state.is_written()) {
            let row = StoredRow::parse(table, &layout, key, value).unwrap();
            let values = row.to_values().unwrap();
            let image = crate::sql::computed::image(table, index, &values).unwrap();
            let Some(image) = image else { continue };
            let made = entry(table, index, &image).unwrap();
            let lost = rebuilt.insert(made.key.clone(), made.value.clone());
            assert!(
                lost.is_none(),
                "{hint}: two rows in {}: {values:?}",
                index.name
            );
            let owner = index::primary_key(table, index, (&made.key, &made.value));
            assert_eq!(owner.unwrap(), *key, "{hint}: {}", index.name);
        }
        assert!(
            stored == rebuilt,
            "{hint}: index {} differs\nstored  {stored:?}\nrebuilt {rebuilt:?}",
            index.name
        );
    }
    rows.len()
}
