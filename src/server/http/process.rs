//! What the system knows of this process, under the names that Prometheus' own libraries use. Read from
//! `/proc` (Linux manual, proc(5)); what cannot be read is left out.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::page::Page;

/// Ticks of a second in `/proc/self/stat`: 100 on every Linux that programs see (`USER_HZ`).
const TICKS_PER_SECOND: u32 = 100;

/// Appends the numbers; `started_seconds` is [`started_seconds`] as it was found once.
pub(super) fn tell(page: &mut Page, started_seconds: Option<u64>) {
    if let Some(started) = started_seconds {
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

/// When the process started, in seconds since the epoch. To be asked for once: the system tells when it
/// was booted by the clock that there is, so that with the clock this moves, too.
pub(super) fn started_seconds() -> Option<u64> {
    let booted = fs::read_to_string("/proc/stat").ok()?;
    let booted = booted
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?;
    let booted: u64 = booted.trim().parse().ok()?;
    let ticks: u64 = stat(22)?.parse().ok()?;
    Some(booted + ticks / u64::from(TICKS_PER_SECOND))
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
    let (user, system): (u64, u64) = (stat(14)?.parse().ok()?, stat(15)?.parse().ok()?);
    Some(seconds_of(user.saturating_add(system)))
}

/// In 64 bits: 64 busy processors pass 32 bits of ticks in a week.
fn seconds_of(ticks: u64) -> f64 {
    let millis = ticks.saturating_mul(1000 / u64::from(TICKS_PER_SECOND));
    Duration::from_millis(millis).as_secs_f64()
}

/// The field of this number in `/proc/self/stat`; the first behind the program's name is 3.
fn stat(number: usize) -> Option<String> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may have anything in it.
    let (_, rest) = text.rsplit_once(')')?;
    let field = rest.split_whitespace().nth(number.checked_sub(3)?)?;
    Some(field.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn ticks_of_many_processors_are_told() {
        assert_eq!(seconds_of(150).to_bits(), 1.5_f64.to_bits());
        let week = 64 * 7 * 86_400;
        let found = seconds_of(week * u64::from(TICKS_PER_SECOND));
        assert_eq!(
            found.to_bits(),
            f64::from(u32::try_from(week).unwrap()).to_bits()
        );
    }

    #[test]
    fn a_process_has_started_before_now_and_after_the_machine() {
        let started = started_seconds().unwrap();
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        // The two are rounded apart.
        assert!((now - 7200..=now + 2).contains(&started), "{started} {now}");
        assert!(0.0 <= cpu_seconds().unwrap());
        let mut page = Page::default();
        tell(&mut page, Some(7));
        let text = page.into_text();
        assert!(text.contains("\nprocess_start_time_seconds 7\n"), "{text}");
    }
}
