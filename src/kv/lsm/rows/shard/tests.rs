//! The table beside a map, the limits of its memory, and who has to go.

use std::collections::HashMap;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::kv::Ts;

fn row(text: &str) -> Row {
    Row {
        joined: Bytes::copy_from_slice(text.as_bytes()),
        since: Ts(1),
        key_bytes: 0,
        exists: true,
    }
}

fn text(shard: &Shard, hash: u64) -> Option<String> {
    let row = shard.slot_of(hash)?.want()?;
    Some(String::from_utf8(row.joined.to_vec()).unwrap())
}

#[test]
fn a_slot_is_one_line_of_the_cache() {
    assert_eq!(size_of::<Slot>(), LINE_BYTES);
}

/// Hashes of three kinds: any, those with their homes at the end of the table, and those with few homes.
fn hash(random: &mut StdRng) -> u64 {
    match random.random_range(0..3) {
        0 => random.random_range(0..400),
        1 => u64::from(u32::MAX - random.random_range(0..20)),
        _ => random.random_range(0..40) << 32 | random.random_range(0..3),
    }
}

#[test]
fn with_memory_enough_it_is_a_map() {
    let seed = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..50 {
        let (mut shard, mut map) = (Shard::new(1 << 30), HashMap::new());
        for step in 0..2000 {
            let hash = hash(&mut random);
            if random.random_bool(0.6) {
                let value = format!("{hash} {step}");
                shard.insert(hash, row(&value));
                map.insert(hash, value);
            } else {
                shard.remove(hash);
                map.remove(&hash);
            }
            assert_eq!(text(&shard, hash).as_ref(), map.get(&hash), "seed {seed}");
        }
        for (hash, value) in &map {
            assert_eq!(text(&shard, *hash).as_ref(), Some(value), "seed {seed}");
        }
        assert_eq!(shard.len(), map.len());
        let bytes = map.values().map(|value| row_bytes(&row(value)));
        assert_eq!(shard.row_bytes, bytes.sum::<u64>());
        shard.clear();
        assert_eq!((shard.len(), shard.bytes()), (0, 0));
    }
}

/// Of these, or of thirty thousand others.
fn any_hash(random: &mut StdRng) -> u64 {
    if random.random_bool(0.3) {
        return hash(random);
    }
    random.random_range(0..30_000)
}

#[test]
fn memory_is_never_exceeded_and_nothing_wrong_is_told() {
    let mut random = StdRng::seed_from_u64(7);
    for bytes_max in [0, 1, 2 << 10, 4 << 10, 64 << 10, 1 << 20] {
        let mut shard = Shard::new(bytes_max);
        for _ in 0..20_000 {
            let hash = any_hash(&mut random);
            let long = "long ".repeat(random.random_range(0..60));
            shard.insert(hash, row(&format!("{hash} {long}")));
            assert!(
                shard.bytes() <= bytes_max,
                "{} of {bytes_max}",
                shard.bytes()
            );
            let other = any_hash(&mut random);
            if let Some(found) = text(&shard, other) {
                assert!(found.starts_with(&format!("{other} ")), "{other}: {found}");
            }
        }
        let used = shard.bytes() * 4;
        assert!(
            bytes_max < 8 << 10 || bytes_max < used,
            "{used} of {bytes_max}"
        );
    }
}

#[test]
fn what_is_asked_for_stays() {
    let mut shard = Shard::new(64 << 10);
    for hash in 0..20 {
        shard.insert(hash, row("asked for"));
    }
    for hash in 1000..21_000 {
        shard.insert(hash, row("not asked for"));
        for wanted in 0..20 {
            assert!(text(&shard, wanted).is_some(), "{wanted} at {hash}");
        }
    }
    assert!(text(&shard, 1000).is_none());
}

#[test]
fn what_is_asked_for_goes_too_where_all_of_it_is() {
    let mut shard = Shard::new(64 << 10);
    for hash in 0..5000 {
        shard.insert(hash, row("asked for"));
        assert!(text(&shard, hash).is_some(), "the new one");
    }
    assert!(shard.bytes() <= 64 << 10 && 100 < shard.len());
}

#[test]
fn slots_of_small_rows_leave_half_of_the_memory_for_large_ones() {
    let mut shard = Shard::new(64 << 10);
    for hash in 0..5000 {
        shard.insert(hash, row("small"));
    }
    for hash in 10_000..10_100 {
        shard.insert(hash, row(&"large".repeat(200)));
    }
    let large = (10_000..10_100).filter(|hash| text(&shard, *hash).is_some());
    let large = large.count();
    assert!(28 < large, "{large} rows of a kilobyte");
    shard.insert(1, row(&"too large".repeat(10_000)));
    assert!(28 < shard.len() && text(&shard, 1).is_none());
}
