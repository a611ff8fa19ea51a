//! How many files the process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the connections: the storage engine's, spilled rows, logs.
const FILES_BESIDE: u64 = 4096;

/// Lets the process open as many files as the system permits it, which is mostly more than it is
/// started with; and warns when that is too few for so many connections.
pub fn raise_files_limit(connections_max: u32) {
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
    let wanted = u64::from(connections_max).saturating_add(FILES_BESIDE);
    if let Some(current) = current
        && current < wanted
    {
        tracing::warn!(
            "{current} files may be open, too few for {connections_max} connections and {FILES_BESIDE} \
             files of data: raise the hard limit (ulimit -Hn, LimitNOFILE=) to {wanted}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_permitted_is_used() {
        raise_files_limit(10);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
