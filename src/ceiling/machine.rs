//! How much memory this process may have at all: the machine's, or less where a control group says so.
//!
//! A service has its own group (systemd's `MemoryMax=`), and so has a container, which may see itself at the root.
//! The kernel holds a process to the limits of its group and of all above it, so the least of them counts
//! (cgroups(7); Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst).

use std::fs;
use std::path::{Path, PathBuf};

/// Where groups are, by their version.
const ROOT: &str = "/sys/fs/cgroup";
const ROOT_V1: &str = "/sys/fs/cgroup/memory";

/// What holds a group's limit.
const LIMIT: &str = "memory.max";
const LIMIT_V1: &str = "memory.limit_in_bytes";

/// Bytes of memory, when it can be learned.
pub fn memory_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok()?;
    // In kB.
    let line = machine.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter();
    let limits = limits.filter_map(|file| limit_of(&fs::read_to_string(file).ok()?));
    limits.chain([kib << 10]).min()
}

/// The files that may hold a limit, of the groups that a process is in and of all above them.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (root, limit) = match controllers {
            "" => (ROOT, LIMIT),
            some if some.split(',').any(|name| name == "memory") => (ROOT_V1, LIMIT_V1),
            _ => continue,
        };
        let group = Path::new(path.trim_start_matches('/'));
        let above = group.ancestors();
        files.extend(above.map(|group| Path::new(root).join(group).join(limit)));
    }
    files
}

/// `max` is none.
fn limit_of(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(groups: &str) -> Vec<String> {
        let files = limit_files(groups).into_iter();
        files.map(|file| file.display().to_string()).collect()
    }

    #[test]
    fn a_service_has_the_limits_of_all_groups_above_it() {
        assert_eq!(
            files("0::/system.slice/meseta.service\n"),
            [
                "/sys/fs/cgroup/system.slice/meseta.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
    }

    #[test]
    fn the_older_kind_of_groups_is_known_and_others_are_not_asked() {
        assert_eq!(
            files("5:cpu,cpuacct:/a\n4:memory:/a\n1:name=systemd:/b\nnonsense\n"),
            [
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            ]
        );
        assert_eq!(files("0::/"), ["/sys/fs/cgroup/memory.max"]);
    }

    #[test]
    fn a_limit_is_a_number_and_none_is_none() {
        assert_eq!(limit_of("1073741824\n"), Some(1 << 30));
        assert_eq!(limit_of("max\n"), None);
    }

    #[test]
    fn this_machine_has_some() {
        assert!((1 << 20) < memory_bytes().unwrap());
    }
}
