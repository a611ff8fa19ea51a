//! A stored row: whatever the bytes, every question about it has an answer or is `Corrupt`; and a
//! row without damage is the same when it is written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meseta::codec::row::{Cell, CellName, ColumnId, RowBuilder, RowView};
use meseta_fuzz::samples::TYPES;

/// Ids that are asked for.
const IDS: [u32; 8] = [0, 1, 2, 3, 17, 255, 300, u32::MAX];

fuzz_target!(|input: &[u8]| {
    let Ok(row) = RowView::parse(input) else {
        return;
    };
    for id in IDS {
        for ty in TYPES.iter() {
            if let Ok(Cell::Value(value)) = row.get(ColumnId(id), ty) {
                let _shown = value.to_text();
            }
        }
        let _ms = newest(&row, CellName::Id(ColumnId(id)));
    }
    for name in ["", "a", "bb", "\u{7f}"] {
        let _value = row.dynamic(name);
        let _ms = newest(&row, CellName::Name(name));
    }
    for column in row.dynamic_columns().into_iter().flatten().flatten() {
        let _shown = column.value.to_text();
    }
    let _told = row.expiry_ms();
    if let Ok(Some(versions)) = row.versions() {
        let _sound = versions.verify();
        for cell in versions.cells().flatten() {
            cell.older().for_each(drop);
        }
    }
    assert!(
        row.columns().count() <= row.columns_count(),
        "more columns than the row has"
    );
    if row.verify().is_ok() {
        rewrite(&row);
    }
});

/// Writes the columns into a new row, which must have the same ones.
fn rewrite(row: &RowView<'_>) {
    let mut builder = RowBuilder::new();
    let columns: Vec<_> = row
        .columns()
        .map(|column| column.expect("was verified"))
        .collect();
    assert_eq!(
        columns.len(),
        row.columns_count(),
        "columns that are counted and not told"
    );
    for (id, stored) in &columns {
        builder.set_stored(*id, *stored);
    }
    let bytes = builder
        .finish()
        .expect("a row that was read can be written");
    let again = RowView::parse(&bytes).expect("a row that was written can be read");
    let columns_again: Vec<_> = again
        .columns()
        .map(|column| column.expect("was written"))
        .collect();
    assert_eq!(columns, columns_again);
}

/// When a cell was written last, as far as the row tells.
fn newest(row: &RowView<'_>, name: CellName<'_>) -> Option<u64> {
    let versions = row.versions().ok().flatten()?;
    versions.newest_ms(name).ok().flatten()
}
