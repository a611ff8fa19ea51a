//! What the allocator is told.
//!
//! mimalloc keeps what is freed for a second before the system has it back (`purge_delay`, its manual's
//! "Environment Options"). Threads that come and go touch other pieces each time, and what was touched within
//! the second is resident: beside a mix of short and long statements that was twice what they needed.
//!
//! It reads its options from the environment while the program is loaded, before `main`; setting them later is
//! unsafe code, which this crate forbids. So a program that was begun without them begins again with them. Where
//! what watches it must not lose it by that (valgrind, a loader that is called by name), set the option before.

use std::env;
use std::io::{self, Write};

use crate::program;

/// How long freed memory is kept, in milliseconds.
const PURGE_DELAY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "100");

/// Has the program begin again where the allocator was not told. To be called before anything else is done: what
/// was read from a pipe is gone then. Who has set the option keeps it.
pub fn settle() {
    let (name, _) = PURGE_DELAY;
    if env::var_os(name).is_some() {
        return;
    }
    let error = program::begin_anew(&[PURGE_DELAY]);
    // It works as well, and takes more memory.
    let _ = writeln!(
        io::stderr(),
        "meseta: cannot begin again with {name}: {error}"
    );
}
