//! Indexes of test tables, before there is a statement that makes them, and the law that all tests
//! of writes end with: an index holds the entries of the rows that are there, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Index, IndexState, Table};
use crate::exec::ddl::index::define_index;
use crate::exec::row::{Layout, StoredRow};
use crate::index::{self, entry};
use crate::kv::{Engine, Key, KeyRange, Page, Scan, Snapshot, Space};
use crate::plan::testing;
use crate::session::Shared;
use crate::sql::ast::Statement;
use crate::sql::computed;

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

/// An index as CREATE INDEX has it, without `CREATE INDEX` and `ON t`, a state at its end.
fn parse(table: &Table, text: &str) -> Index {
    let unique = text.starts_with("UNIQUE ");
    let text = text.trim_start_matches("UNIQUE ");
    let (name, rest) = text.split_once(' ').unwrap();
    let (rest, last) = rest.rsplit_once(' ').unwrap_or((rest, ""));
    let (rest, state) = match IndexState::of_name(last) {
        Some(state) => (rest.to_owned(), state),
        None => (format!("{rest} {last}"), IndexState::Active),
    };
    let kind = if unique { "UNIQUE " } else { "" };
    let sql = format!("CREATE {kind}INDEX {name} ON t {rest}");
    let Statement::CreateIndex(create) = testing::statement(&sql) else {
        panic!("{sql}")
    };
    let ctx = testing::context("+00:00", Vec::new());
    Index {
        state,
        ..define_index(table, &create.index, &ctx).unwrap()
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
            let image = computed::image(table, index, &values).unwrap();
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
