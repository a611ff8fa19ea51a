//! How many files the process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the connections, as many as are wanted: the storage engine's, spilled rows, logs.
const FILES_BESIDE: u64 = 4096;

/// Those that it does not work without: the storage engine keeps up to 900 open at a time, and a statement
/// that spills some dozens.
const FILES_BESIDE_LEAST: u64 = 1200;

/// Lets the process open as many files as the system permits it, which is mostly more than it is
/// started with; and warns when that is few for so many connections.
///
/// # Errors
/// One line for the operator, when it is so few that writing would end in the middle of the work.
pub fn raise_files_limit(connections_max: u32) -> Result<(), String> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, "the number of open files cannot be raised");
            limit.current
        }
    };
    check(current.unwrap_or(u64::MAX), u64::from(connections_max))
}

fn check(current: u64, connections_max: u64) -> Result<(), String> {
    let least = connections_max.saturating_add(FILES_BESIDE_LEAST);
    if current < least {
        return Err(format!(
            "{current} files may be open, too few for {connections_max} connections and \
             {FILES_BESIDE_LEAST} files of data: raise the hard limit (ulimit -Hn, LimitNOFILE=) to \
             {least}, or lower --max-connections"
        ));
    }
    let wanted = connections_max.saturating_add(FILES_BESIDE);
    if current < wanted {
        tracing::warn!(
            "{current} files may be open, few for {connections_max} connections and {FILES_BESIDE} \
             files of data: raise the hard limit (ulimit -Hn, LimitNOFILE=) to {wanted}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_permitted_is_used() {
        raise_files_limit(10).unwrap();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }

    #[test]
    fn too_few_are_told_with_the_numbers() {
        assert_eq!(check(2200, 1000), Ok(()));
        let told = check(2199, 1000).unwrap_err();
        assert!(told.starts_with("2199 files may be open"), "{told}");
        assert!(told.contains("to 2200"), "{told}");
    }
}
