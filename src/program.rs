//! This program, begun anew in its own place: the process, its number and what it is connected to stay.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Begins the program anew (execve(2)), with the same words and the same environment, and with what `more` sets in
/// it. Returns only where that cannot be done: why.
pub fn begin_anew(more: &[(&str, &str)]) -> io::Error {
    let mut program = match file() {
        Ok(file) => Command::new(file),
        Err(error) => return error,
    };
    let mut words = env::args_os();
    if let Some(name) = words.next() {
        program.arg0(name);
    }
    program.args(words).envs(more.iter().copied()).exec()
}

/// The file that this program was begun from; where it has been replaced or removed since, what the system keeps of
/// it (proc(5)).
fn file() -> io::Result<PathBuf> {
    let file = env::current_exe()?;
    Ok(if file.exists() {
        file
    } else {
        PathBuf::from("/proc/self/exe")
    })
}
