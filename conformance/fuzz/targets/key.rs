//! A stored key, read as a key of every type, of several parts, and of the system space. What is
//! read has one form only: written again, it is the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meseta::codec::key::{self, Direction};
use meseta::codec::keyspace::{self, SystemKey};
use meseta::types::{ColumnType, Value};
use meseta_fuzz::samples::TYPES;

fuzz_target!(|input: &[u8]| {
    for ty in TYPES.iter() {
        for direction in [Direction::Asc, Direction::Desc] {
            part(input, ty, direction);
        }
    }
    let wide = ColumnType::Decimal {
        precision: 38,
        scale: 2,
    };
    let keys: [&[(&ColumnType, Direction)]; 3] = [
        &[
            (&ColumnType::VARCHAR, Direction::Asc),
            (&ColumnType::BIGINT, Direction::Desc),
        ],
        &[
            (&wide, Direction::Desc),
            (&ColumnType::Date, Direction::Asc),
            (&ColumnType::VARCHAR, Direction::Desc),
        ],
        &[
            (&ColumnType::Double, Direction::Asc),
            (&ColumnType::Year, Direction::Asc),
        ],
    ];
    for parts in keys {
        whole(input, parts);
    }
    if let Ok(system) = SystemKey::decode(input) {
        assert_eq!(
            system.encode(),
            input,
            "a key of the system space has two forms"
        );
    }
    if let Some(successor) = key::prefix_successor(input.to_vec()) {
        assert!(input < &successor[..], "a successor that is not greater");
        assert!(
            !successor.starts_with(input),
            "a successor within the prefix"
        );
    }
});

fn part(input: &[u8], ty: &ColumnType, direction: Direction) {
    let skipped = key::skip_part(input, ty, direction);
    let Ok((value, rest)) = key::decode_part(input, ty, direction) else {
        return;
    };
    assert_eq!(
        skipped.as_ref(),
        Ok(&rest),
        "skipped and decoded differ for {ty}"
    );
    let used = &input[..input.len() - rest.len()];
    let mut again = Vec::new();
    key::encode_part(&mut again, &value, ty, direction).expect("what was read can be written");
    if again != used && matches!(value, Value::Json(_)) {
        // A document that is handed on has another form than one that is compared.
        again.clear();
        key::encode_shown(&mut again, &value, ty).expect("what was read can be written");
        if matches!(direction, Direction::Desc) {
            again.iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
    assert_eq!(again, used, "{value:?} of {ty} has two forms");
    let _text = keyspace::format_part(&value);
}

fn whole(input: &[u8], parts: &[(&ColumnType, Direction)]) {
    let Ok(values) = keyspace::decode_row_key(input, parts.iter().copied()) else {
        return;
    };
    let _text = keyspace::format_key(&values);
    let places = values
        .iter()
        .zip(parts)
        .map(|(value, (ty, direction))| (value, *ty, *direction));
    let again = keyspace::row_key(places).expect("what was read can be written");
    assert_eq!(again, input, "a key has two forms");
}
