//! CPU time and memory of another process, from `/proc`. Zero where there is no `/proc`.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Ticks of `/proc/PID/stat` per second: `USER_HZ`, 100 on every Linux that Debian ships.
const TICKS_PER_SECOND: f64 = 100.0;
/// How often memory is sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// A process that is watched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessWatch {
    pid: u32,
}

impl ProcessWatch {
    pub(crate) fn new(pid: u32) -> ProcessWatch {
        ProcessWatch { pid }
    }

    /// User and system time so far, of all threads.
    pub(crate) fn cpu_seconds(self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // The command's name, in brackets, may hold blanks; the fields behind it do not.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks: f64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<f64>().ok())
            .sum();
        ticks / TICKS_PER_SECOND
    }

    /// Resident memory now, in KiB.
    pub(crate) fn resident_kib(self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    }

    /// Samples memory on a thread of its own until the guard is asked for the greatest value.
    pub(crate) fn sample_memory(self) -> MemorySampler {
        let done = Arc::new(AtomicBool::new(false));
        let most = Arc::new(AtomicU64::new(self.resident_kib()));
        let (thread_done, thread_most) = (Arc::clone(&done), Arc::clone(&most));
        let thread = std::thread::spawn(move || {
            while !thread_done.load(Ordering::Relaxed) {
                thread_most.fetch_max(self.resident_kib(), Ordering::Relaxed);
                std::thread::sleep(SAMPLE_INTERVAL);
            }
        });
        MemorySampler { done, most, thread }
    }
}

/// A running sampler.
pub(crate) struct MemorySampler {
    done: Arc<AtomicBool>,
    most: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl MemorySampler {
    /// Stops, and gives the greatest value in KiB.
    pub(crate) fn finish(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        self.most.load(Ordering::Relaxed)
    }
}
