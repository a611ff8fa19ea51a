//! What counters give, and what is left of them after a stop or a crash.

mod full;

use super::*;
use crate::kv::memory::Memory;

fn sequence(last: u64) -> Sequence {
    Sequence {
        table: TableId(7),
        column_idx: 0,
        first: 1,
        last,
        unsigned: false,
    }
}

async fn engine() -> Memory {
    let engine = Memory::default();
    engine.create_space(SYSTEM_SPACE).await.unwrap();
    engine.create_space(Space(7)).await.unwrap();
    engine
}

/// What a server sees that starts on what the engine has now.
async fn started(engine: &Memory) -> Counters {
    let counters = Counters::default();
    counters.load(engine).await.unwrap();
    counters
}

async fn take(counters: &Counters, engine: &Memory, wanted: u64) -> Range<u64> {
    let of = sequence(1_000_000);
    counters.take(engine, &of, (wanted, 0)).await.unwrap()
}

#[tokio::test]
async fn no_id_comes_twice_and_an_orderly_stop_leaves_no_gap() {
    let engine = engine().await;
    let counters = started(&engine).await;
    assert_eq!(take(&counters, &engine, 3).await, 1..4);
    assert_eq!(take(&counters, &engine, 1).await, 4..5);
    counters.settle(&engine).await.unwrap();
    let counters = started(&engine).await;
    assert_eq!(take(&counters, &engine, 1).await, 5..6);
    // A crash: nothing was written down.
    let counters = started(&engine).await;
    assert!(6 <= take(&counters, &engine, 1).await.start);
    let counters = started(&engine).await;
    let of = sequence(1_000_000);
    counters.pass(&engine, &of, 50_000).await.unwrap();
    let counters = started(&engine).await;
    assert!(50_001 <= take(&counters, &engine, 1).await.start);
}

#[tokio::test]
async fn the_last_id_of_a_type_is_given_and_none_behind_it() {
    let engine = engine().await;
    let counters = started(&engine).await;
    let of = sequence(127);
    let taken = counters.take(&engine, &of, (126, 0)).await.unwrap();
    assert_eq!(taken, 1..127);
    let counters = started(&engine).await;
    let left = counters.take(&engine, &of, (1, 0)).await.unwrap();
    assert_eq!(left, 127..128);
    let error = counters.take(&engine, &of, (1, 0)).await.unwrap_err();
    assert_eq!(error.code(), Code::AutoIncrementEnd);
    // Giving the last id by hand is no error, and uses all up.
    let counters = Counters::default();
    counters.pass(&engine, &of, 127).await.unwrap();
    assert!(counters.take(&engine, &of, (1, 0)).await.is_err());
}

#[tokio::test]
async fn the_greatest_numbers_do_not_overflow() {
    let engine = engine().await;
    let counters = started(&engine).await;
    let of = sequence(u64::MAX - 1);
    counters.pass(&engine, &of, u64::MAX - 2).await.unwrap();
    let last = counters.take(&engine, &of, (1, 0)).await.unwrap();
    assert_eq!(last.start, u64::MAX - 1);
    assert!(counters.take(&engine, &of, (1, 0)).await.is_err());
    counters.pass(&engine, &of, u64::MAX).await.unwrap();
    assert!(counters.take(&engine, &of, (1, u64::MAX)).await.is_err());
}

#[tokio::test]
async fn a_greater_first_id_is_heeded_later_too() {
    let engine = engine().await;
    let counters = started(&engine).await;
    take(&counters, &engine, 1).await;
    let altered = Sequence {
        first: 400,
        ..sequence(1_000_000)
    };
    let taken = counters.take(&engine, &altered, (1, 0)).await.unwrap();
    assert_eq!(taken, 400..401);
    assert_eq!(take(&counters, &engine, 1).await, 401..402);
}

/// A counter that is made while the others are swept must not be taken for one of a dropped table: its
/// ids would come again.
#[tokio::test]
async fn no_counter_is_added_between_the_look_and_the_sweep() {
    let counters = Counters::default();
    let many = u32::try_from(SWEPT_COUNTERS_MIN).unwrap() + 10;
    for table in 100..100 + many {
        let of = Sequence {
            table: TableId(table),
            ..sequence(1_000)
        };
        counters.counter(&of);
    }
    counters.sweep_all_but(|| {
        assert!(counters.all.is_locked_exclusive());
        vec![Space(100)]
    });
    assert_eq!(counters.all.read().len(), 1);
}

/// What was asked for and could not be given uses nothing up.
#[tokio::test]
async fn a_refused_take_leaves_the_counter_where_it_was() {
    let engine = engine().await;
    let counters = started(&engine).await;
    let of = sequence(127);
    let error = counters.take(&engine, &of, (1, 127)).await.unwrap_err();
    assert_eq!(error.code(), Code::AutoIncrementEnd);
    assert_eq!(counters.take(&engine, &of, (1, 0)).await.unwrap(), 1..2);
    // Far ahead: set aside first, and then taken.
    assert_eq!(
        counters.take(&engine, &of, (2, 99)).await.unwrap(),
        100..102
    );
}

#[tokio::test]
async fn counters_of_dropped_tables_are_swept() {
    let engine = engine().await;
    let counters = started(&engine).await;
    take(&counters, &engine, 1).await;
    assert_eq!(started(&engine).await.next(&sequence(1_000_000)), 1026);
    engine.drop_space(Space(7)).await.unwrap();
    assert_eq!(started(&engine).await.next(&sequence(1_000_000)), 1);
    assert!(
        engine
            .get_newest(SYSTEM_SPACE, &key(TableId(7)))
            .await
            .unwrap()
            .is_none()
    );
}

#[test]
fn other_records_are_damage() {
    assert_eq!(decode(&encode(300)), Ok(300));
    for bytes in [&[][..], &[1], &[2, 0, 0, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(decode(bytes).unwrap_err().code(), Code::StorageCorrupt);
    }
}

/// That of a temporary table costs no commit and leaves nothing behind.
#[tokio::test]
async fn a_counter_in_memory_is_not_written() {
    let engine = engine().await;
    let counters = started(&engine).await;
    let of = sequence(1_000_000);
    counters.keep_in_memory(&of);
    assert_eq!(take(&counters, &engine, 5000).await, 1..5001);
    counters.pass(&engine, &of, 7000).await.unwrap();
    counters.keep_in_memory(&of);
    assert_eq!(take(&counters, &engine, 1).await, 7001..7002);
    counters.settle(&engine).await.unwrap();
    let record = engine.get_newest(SYSTEM_SPACE, &key(TableId(7))).await;
    assert_eq!(record.unwrap(), None);
    counters.forget(&[TableId(7)]);
    assert_eq!(counters.next(&of), 1);
}
