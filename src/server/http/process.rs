//! What the system knows of this process, under the names that Prometheus' own libraries use. Read from
//! `/proc` (Linux manual, proc(5)); what cannot be read is left out.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, getrlimit};

use super::page::Page;

/// Ticks of a second in `/proc/self/stat`: 100 on every Linux that programs see (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Appends the numbers; `uptime` is how long the process runs.
pub(super) fn tell(page: &mut Page, uptime: Duration) {
    if let Ok(since) = SystemTime::now().duration_since(UNIX_EPOCH) {
        let started = since.saturating_sub(uptime).as_secs();
        let help = "Start time of the process since unix epoch in seconds.";
        page.one("process_start_time_seconds", help, started);
    }
    if let Some(seconds) = cpu_seconds() {
        let help = "Total user and system CPU time spent in seconds.";
        page.one("process_cpu_seconds_total", help, seconds);
    }
    if let Some((all, resident)) = memory_bytes() {
        page.one(
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes.",
            all,
        );
        page.one(
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            resident,
        );
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // The listing has a descriptor itself.
        let count = open.count().saturating_sub(1);
        page.one(
            "process_open_fds",
            "Number of open file descriptors.",
            count,
        );
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        page.one(
            "process_max_fds",
            "Maximum number of open file descriptors.",
            most,
        );
    }
}

/// All memory and what of it is resident.
fn memory_bytes() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let bytes_of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kib << 10)
    };
    Some((bytes_of("VmSize:")?, bytes_of("VmRSS:")?))
}

fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have anything in it.
    let (_, rest) = text.rsplit_once(')')?;
    // utime and stime are the fields 14 and 15; the first behind the name is 3.
    let mut fields = rest.split_whitespace().skip(11).map(str::parse::<u32>);
    let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some((f64::from(user) + f64::from(system)) / TICKS_PER_SECOND)
}
