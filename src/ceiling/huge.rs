//! Huge pages, as long as there is room for them.
//!
//! The allocator asks for them (`MADV_HUGEPAGE`, madvise(2)), and they are worth it: what is read needs fewer
//! translations of addresses. But one of 2 MiB is resident as soon as one byte of it is written, and again when
//! the system gathers it from pages of which most were given back (khugepaged; Linux,
//! Documentation/admin-guide/mm/transhuge.rst). Under many small pieces that come and go what is resident grew
//! until it was the whole limit, and everybody was refused. So from a quarter of the limit on there are no new
//! ones.

use parking_lot::Mutex;

/// Whether this process forbids them to itself. Where they were forbidden before it began, they stay so.
static IS_FORBIDDEN: Mutex<bool> = Mutex::new(false);

/// Whether they are to be forbidden: from a quarter of the limit on, and until there is a quarter less than
/// that, so that it does not change with every statement.
fn is_to_be_forbidden(is_forbidden: bool, (resident_bytes, bytes_max): (u64, u64)) -> bool {
    let most = if is_forbidden {
        bytes_max / 16 * 3
    } else {
        bytes_max / 4
    };
    bytes_max != 0 && most < resident_bytes
}

/// Allows or forbids them, by what is resident and the limit (0 for none).
pub(super) fn heed(resident_bytes: u64, bytes_max: u64) {
    let mut is_forbidden = IS_FORBIDDEN.lock();
    let shall = is_to_be_forbidden(*is_forbidden, (resident_bytes, bytes_max));
    if shall != *is_forbidden && are_forbidden() == Some(*is_forbidden) && set(shall) {
        *is_forbidden = shall;
    }
}

/// Allows them again, if this process forbade them: what it becomes by execve(2) would begin without.
pub fn allow() {
    heed(0, 0);
}

/// What the system says; `None` where it knows nothing of them.
fn are_forbidden() -> Option<bool> {
    #[cfg(target_os = "linux")]
    return rustix::thread::transparent_huge_pages_are_disabled().ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Whether it could be done. It holds for all threads (`PR_SET_THP_DISABLE`, prctl(2)).
fn set(forbids: bool) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::thread::disable_transparent_huge_pages(forbids).is_ok();
    #[cfg(not(target_os = "linux"))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_forbidden_from_a_quarter_of_the_limit_on_until_there_is_a_quarter_less() {
        let mut is_forbidden = false;
        let told = [200, 250, 251, 200, 187, 186, 250, 251].map(|resident| {
            is_forbidden = is_to_be_forbidden(is_forbidden, (resident, 1000));
            is_forbidden
        });
        assert_eq!(told, [false, false, true, true, true, false, false, true]);
        assert!(!is_to_be_forbidden(true, (u64::MAX, 0)));
    }

    /// Where the system has them.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_is_told() {
        if are_forbidden() != Some(false) {
            return;
        }
        heed(300, 1000);
        assert_eq!(are_forbidden(), Some(true));
        allow();
        assert_eq!(are_forbidden(), Some(false));
    }
}
