//! Sorts in memory, on disk and of the first rows only.

use super::*;
use crate::error::Code;
use crate::exec::budget::{FREE_BYTES, Pool};

fn outputs_of(sorter: Sorter) -> Vec<Vec<u8>> {
    let mut in_order = sorter.finish().unwrap();
    let mut outputs = Vec::new();
    while let Some(row) = in_order.next_outputs().unwrap() {
        outputs.push(row.to_vec());
    }
    outputs
}

/// Rows of `rows_count` keys that repeat, and what their order is.
fn rows_and_order(rows_count: u32) -> (Vec<[Vec<u8>; 2]>, Vec<Vec<u8>>) {
    let row = |number: u32| {
        let key = number.wrapping_mul(2_654_435_761) % (rows_count / 7 + 1);
        let long = "x".repeat(usize::try_from(key % 13).unwrap());
        let key = format!("{key:06}{long}").into_bytes();
        [key, format!("{number:06}").into_bytes()]
    };
    let rows: Vec<[Vec<u8>; 2]> = (0..rows_count).map(row).collect();
    let mut sorted = rows.clone();
    sorted.sort_by(|[one, _], [other, _]| one.cmp(other));
    (
        rows,
        sorted.into_iter().map(|[_, outputs]| outputs).collect(),
    )
}

fn filled(mut sorter: Sorter, rows: &[[Vec<u8>; 2]]) -> Sorter {
    for [key, outputs] in rows {
        sorter.push(key, outputs).unwrap();
    }
    sorter
}

#[test]
fn equal_keys_keep_their_order_in_memory_on_disk_and_in_a_top_n() {
    let (rows, wanted) = rows_and_order(20_000);
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into(), 1 << 30);
    let cancel = Arc::default();
    let plenty = Memory::alone(1 << 30);
    let sorter = |rows, memory| Sorter::new(rows, "sort", memory, &cancel);
    assert!(outputs_of(filled(sorter(None, &plenty), &rows)) == wanted);
    // More runs than are merged at once, of more than one level.
    let little = Memory::new(&Pool::new(usize::MAX), 700, Some(&disk));
    let on_disk = filled(sorter(None, &little), &rows);
    assert!(matches!(&on_disk.mode, Mode::All(all) if all.runs[0].level == 2));
    assert!(outputs_of(on_disk) == wanted);
    for memory in [&plenty, &little] {
        let top = outputs_of(filled(sorter(Some(1500), memory), &rows));
        assert!(top[..1500] == wanted[..1500]);
    }
    assert_eq!(disk.used_bytes(), 0);
}

/// One that fills most of the memory needs no room on a disk.
#[test]
fn what_fits_into_memory_is_not_written() {
    let (rows, wanted) = rows_and_order(350_000);
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into(), 1);
    let server = Pool::new(usize::MAX);
    let memory = Memory::new(&server, 32 << 20, Some(&disk));
    let sorter = filled(Sorter::new(None, "sort", &memory, &Arc::default()), &rows);
    assert!(16 << 20 < server.taken_bytes());
    assert!(outputs_of(sorter) == wanted);
}

/// Half of the memory is on its way to the disk while the other half is filled.
#[test]
fn runs_are_written_while_rows_come_in() {
    let (rows, wanted) = rows_and_order(400_000);
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into(), 1 << 30);
    let server = Pool::new(usize::MAX);
    let memory = Memory::new(&server, 8 << 20, Some(&disk));
    let mut sorter = Sorter::new(None, "sort", &memory, &Arc::default());
    let mut beside_count = 0;
    let mut was_writing = false;
    for [key, outputs] in &rows {
        sorter.push(key, outputs).unwrap();
        let is_writing = matches!(&sorter.mode, Mode::All(all) if all.writing.is_some());
        beside_count += u32::from(is_writing && !was_writing);
        was_writing = is_writing;
        assert!(server.taken_bytes() <= 8 << 20);
    }
    assert!(0 < beside_count);
    assert!(outputs_of(sorter) == wanted);
    assert_eq!((server.taken_bytes(), disk.used_bytes()), (0, 0));
    // A run that nobody waits for is given up.
    let sorter = filled(Sorter::new(None, "sort", &memory, &Arc::default()), &rows);
    drop(sorter);
    assert_eq!(server.taken_bytes(), 0);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while 0 < disk.used_bytes() {
        assert!(std::time::Instant::now() < deadline, "its file stays");
        std::thread::yield_now();
    }
    // What fails beside is told.
    let full = Disk::new(dir.path().into(), 1 << 20);
    let memory = Memory::new(&server, 8 << 20, Some(&full));
    let mut sorter = Sorter::new(None, "sort", &memory, &Arc::default());
    let pushed = rows
        .iter()
        .try_for_each(|[key, outputs]| sorter.push(key, outputs));
    assert_eq!(pushed.unwrap_err().code(), Code::TableFull);
}

#[test]
fn a_sort_goes_on_when_others_hold_the_servers_memory() {
    let (rows, wanted) = rows_and_order(20_000);
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into(), 1 << 30);
    let server = Pool::new(1 << 20);
    let hog = Memory::new(&server, 1 << 30, None);
    let mut held = hog.budget("group by");
    held.take((1 << 20) + FREE_BYTES).unwrap();
    let memory = Memory::new(&server, 1 << 30, Some(&disk));
    let sorter = filled(Sorter::new(None, "sort", &memory, &Arc::default()), &rows);
    assert!(0 < disk.used_bytes());
    assert!(outputs_of(sorter) == wanted);
}

#[tokio::test]
async fn many_rows_are_sorted_in_chunks_that_can_be_stopped() {
    let rows_count = u32::try_from(CHUNK_ROWS).unwrap() * 3 + 5;
    let (rows, wanted) = rows_and_order(200_000);
    let cancel = Arc::<CancelToken>::default();
    let memory = Memory::alone(1 << 30);
    let sorter = Sorter::new(None, "sort", &memory, &cancel);
    assert!(outputs_of(filled(sorter, &rows)) == wanted);
    let mixed = |number: u32| number.wrapping_mul(2_654_435_761) % 1000;
    let mut wanted: Vec<u32> = (0..rows_count).collect();
    wanted.sort_by_key(|number| mixed(*number));
    let keyed = (0..rows_count).map(|number| (format!("{:08}", mixed(number)).into(), number));
    let keyed: Vec<(Vec<u8>, u32)> = keyed.collect();
    let found = sorted_by_key(keyed.clone(), &cancel).await.unwrap();
    assert!(found == wanted);
    cancel.stop(super::super::cancel::Stop::Query);
    let mut sorter = Sorter::new(None, "sort", &memory, &cancel);
    let mut pushed = rows.iter().map(|[key, outputs]| sorter.push(key, outputs));
    assert!(pushed.any(|pushed| pushed.is_err()));
    assert!(sorted_by_key(keyed, &cancel).await.is_err());
}

#[test]
fn without_a_disk_the_budget_is_an_error_that_names_the_operator() {
    let memory = Memory::alone(90);
    let mut sorter = Sorter::new(None, "sort", &memory, &Arc::default());
    sorter.push(b"a", b"a").unwrap();
    let error = sorter.push(b"b", b"b").unwrap_err();
    assert_eq!(error.code(), Code::CapacityExceeded);
    assert!(error.message().starts_with("sort needs"), "{error}");
}

#[test]
fn past_the_quota_the_error_names_the_operator_and_the_bytes() {
    let (rows, _) = rows_and_order(20_000);
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into(), 100_000);
    let memory = Memory::new(&Pool::new(usize::MAX), 10_000, Some(&disk));
    let mut sorter = Sorter::new(None, "sort", &memory, &Arc::default());
    let mut pushed = rows.iter().map(|[key, outputs]| sorter.push(key, outputs));
    let error = pushed.find_map(Result::err).unwrap();
    assert_eq!(error.code(), Code::TableFull);
    assert!(error.message().starts_with("sort needs"), "{error}");
    drop(sorter);
    assert_eq!(disk.used_bytes(), 0);
}
