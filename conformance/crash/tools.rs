//! What is written in C because it cannot be said in safe Rust: built when it is needed, with the C
//! compiler that building the server needs too.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the distributions put what makes syncs do nothing.
const EATMYDATA: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/libeatmydata.so",
    "/usr/lib/aarch64-linux-gnu/libeatmydata.so",
    "/usr/lib/libeatmydata.so",
    "/usr/lib64/libeatmydata.so",
];

/// Builds the program that cuts the power of a filesystem.
pub(crate) fn cut(directory: &Path) -> Result<PathBuf, String> {
    built(directory, "cut", &[])
}

/// Builds the library that makes calls of the system fail, or ends the server at one of them.
pub(crate) fn faults(directory: &Path) -> Result<PathBuf, String> {
    built(directory, "faults", &["-shared", "-fPIC", "-ldl"])
}

/// The library that makes syncs do nothing (Debian: `libeatmydata1`).
pub(crate) fn eatmydata() -> Option<PathBuf> {
    let mut paths = EATMYDATA.iter().map(PathBuf::from);
    paths.find(|path| path.exists())
}

fn built(directory: &Path, name: &str, options: &[&str]) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("conformance/crash/c")
        .join(name)
        .with_extension("c");
    let built = directory.join(name);
    let output = [OsStr::new("-O1"), OsStr::new("-o"), built.as_os_str()];
    let arguments = output.iter().copied().chain([source.as_os_str()]);
    run(
        "cc",
        arguments.chain(options.iter().map(|option| OsStr::new(*option))),
    )?;
    Ok(built)
}

/// Runs a program to its end.
pub(crate) fn run(
    program: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{program}: {}: {told}", output.status))
}
