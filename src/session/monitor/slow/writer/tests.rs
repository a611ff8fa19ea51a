//! The queue before a disk that hangs, fails, and recovers.

use std::sync::mpsc;

use super::super::tests::{SERVER, entry};
use super::super::{LOGGED_BYTES_MAX, Slow};
use super::*;

/// What a file holds, and what holds its disk up.
#[derive(Clone, Default)]
struct Disk {
    written: Arc<Mutex<Vec<u8>>>,
    /// The next write waits until its sender is dropped.
    stall: Arc<Mutex<Option<mpsc::Receiver<()>>>>,
    /// Told when a write waits.
    stalled: Arc<Mutex<Option<mpsc::Sender<()>>>>,
    is_full: Arc<AtomicBool>,
}

impl Disk {
    fn slow(&self) -> Slow {
        let disk = self.clone();
        Slow::with(
            None,
            Arc::new(move |_: &Path| Ok(Box::new(disk.clone()) as Sink)),
        )
    }

    /// Lets a disk hang at its next write; what ends that, and what tells that it has begun.
    fn hang(&self) -> (mpsc::Sender<()>, mpsc::Receiver<()>) {
        let (until, stall) = mpsc::channel();
        let (stalled, begun) = mpsc::channel();
        *self.stall.lock() = Some(stall);
        *self.stalled.lock() = Some(stalled);
        (until, begun)
    }

    fn text(&self) -> String {
        String::from_utf8(self.written.lock().clone()).unwrap()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stall = self.stall.lock().take();
        drop(self.stalled.lock().take());
        if let Some(stall) = stall {
            let _ = stall.recv();
        }
        if self.is_full.load(Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.written.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LOG: Option<(&str, Server)> = Some(("a.log", SERVER));

/// A statement that wrote to its log itself would wait here for ever.
#[tokio::test]
async fn a_disk_that_hangs_holds_no_statement_up_and_takes_bounded_memory() {
    let disk = Disk::default();
    let slow = disk.slow();
    let (until, begun) = disk.hang();
    slow.note(entry("SELECT 'first'", None), LOG);
    // Its sender is dropped when the thread is at the disk.
    let _ = begun.recv();
    for at in 0..WAITING_MAX + 7 {
        slow.note(entry(&format!("SELECT {at}"), None), LOG);
    }
    assert_eq!(slow.failures_count(), 7);
    let all = WAITING_MAX + 8;
    assert_eq!(slow.count(), u64::try_from(all).unwrap());
    assert_eq!(slow.newest()[0].text, format!("SELECT {}", WAITING_MAX + 6));
    drop(until);
    slow.settled().await;
    let text = disk.text();
    assert_eq!(text.matches("SELECT ").count(), WAITING_MAX + 1);
    assert!(text.contains(&format!("SELECT {};", WAITING_MAX - 1)));
    // There is room again.
    slow.note(entry("SELECT 'last'", None), LOG);
    slow.settled().await;
    assert!(disk.text().contains("SELECT 'last'"));
    assert_eq!(slow.failures_count(), 7);
}

#[tokio::test]
async fn long_texts_fill_the_queue_by_their_bytes() {
    let disk = Disk::default();
    let slow = disk.slow();
    let (until, begun) = disk.hang();
    slow.note(entry("SELECT 'first'", None), LOG);
    let _ = begun.recv();
    let long = "x".repeat(LOGGED_BYTES_MAX);
    let fit = WAITING_BYTES_MAX / entry(&long, None).bytes();
    assert!(0 < fit && fit < WAITING_BYTES_MAX / LOGGED_BYTES_MAX);
    for _ in 0..fit + 3 {
        slow.note(entry(&long, None), LOG);
    }
    assert_eq!(slow.failures_count(), 3);
    drop(until);
    slow.settled().await;
    assert_eq!(disk.text().matches(&long).count(), fit);
}

#[tokio::test]
async fn orders_stand_in_line_and_are_bounded() {
    let disk = Disk::default();
    let slow = disk.slow();
    // Nothing is open: nothing to wait for.
    slow.reopen().await.unwrap();
    let (until, begun) = disk.hang();
    slow.note(entry("SELECT 'first'", None), LOG);
    let _ = begun.recv();
    // Who gives up waiting leaves its order there.
    let given: Vec<_> = (0..ORDERS_MAX)
        .map(|_| slow.writer.line_up(Order::Close).unwrap())
        .collect();
    drop(given);
    assert!(slow.reopen().await.is_err());
    // There is always room for statements.
    slow.note(entry("SELECT 'second'", None), LOG);
    assert_eq!(slow.failures_count(), 0);
    drop(until);
    let mut reopened = slow.reopen().await;
    while reopened.is_err() {
        tokio::task::yield_now().await;
        reopened = slow.reopen().await;
    }
    slow.settled().await;
    let text = disk.text();
    assert!(text.contains("SELECT 'second'"));
    assert_eq!(text.matches("started with").count(), 2, "{text}");
}

#[tokio::test]
async fn a_full_disk_is_tried_again_with_each_statement() {
    let disk = Disk::default();
    let slow = disk.slow();
    let is_failing = || slow.writer.queue.is_failing.load(Ordering::Relaxed);
    for (is_full, failures) in [(true, 2), (false, 2), (true, 4)] {
        disk.is_full.store(is_full, Ordering::Relaxed);
        for _ in 0..2 {
            slow.note(entry("SELECT 1", None), LOG);
        }
        slow.settled().await;
        assert_eq!(slow.failures_count(), failures);
        // What tells of it tells of each time that it begins and ends.
        assert_eq!(is_failing(), is_full);
    }
}

/// Mechanism: the header of the log was put behind the file that tells the format of a data directory, and the next
/// start was refused.
#[test]
fn a_link_is_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("MESETA"), dir.path().join("slow.log"));
    fs::write(&file, "kept").unwrap();
    for target in [&file, &dir.path().join("missing")] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let refused = open_file(&link).err().unwrap().to_string();
        assert!(refused.contains("slow.log is a link"), "{refused}");
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    open_file(&link).unwrap();
}
