//! What is done to a data directory or a backup that no server has open: `meseta check` and
//! `meseta restore`.
//!
//! - `check`: every file against its checksum, every row, every index against its table;
//! - `table`: one table out of a backup into a data directory;
//! - `progress`: how far it is, for a person at a terminal;
//! - `interrupt`: signals, which a task ends at in order.
//!
//! What the files are is the matter of `kv::lsm`; making a backup is a statement (`session`).

mod check;
mod interrupt;
mod locate;
mod progress;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::exec::cancel::CancelToken;
use crate::kv::{Error, lsm};
use interrupt::INTERRUPTED;
use progress::Bar;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Verify a backup or a data directory.
    Check {
        /// It.
        dir: PathBuf,
    },
    /// Make a data directory from a backup.
    Restore {
        /// The backup.
        backup: PathBuf,
        /// The directory to be made.
        data_dir: PathBuf,
    },
    /// Put one table of a backup into a data directory.
    RestoreTable {
        /// The backup.
        backup: PathBuf,
        /// The data directory of a stopped server.
        data_dir: PathBuf,
        /// Database and name of the table.
        table: (String, String),
    },
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All is well.
    Fine,
    /// Something is damaged, and was told.
    Damaged,
}

/// What a check ends with when it found damage.
const EXIT_DAMAGED: u8 = 1;

/// What a task ends with that could not be done.
const EXIT_FAILED: u8 = 2;

/// Does it. What is found goes to standard output, why it could not be done to standard error.
pub fn run(task: &Task) -> ExitCode {
    let mut out = io::stdout();
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let ended = ended.and_then(|runtime| Ok((runtime, interrupt::watch()?)));
    let ended = ended.map_err(|error| format!("cannot start: {error}"));
    let ended = ended
        .and_then(|(runtime, cancel)| runtime.block_on(done(task, (cancel.as_ref(), &mut out))));
    match ended {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Damaged) => ExitCode::from(EXIT_DAMAGED),
        Err(line) => {
            let _ = writeln!(io::stderr(), "meseta: {line}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

async fn done(
    task: &Task,
    (cancel, out): (&CancelToken, &mut dyn Write),
) -> Result<Outcome, String> {
    match task {
        Task::Check { dir } => check::run(dir, (cancel, out)).await,
        Task::Restore { backup, data_dir } => restore(backup, data_dir, (cancel, out)),
        Task::RestoreTable {
            backup,
            data_dir,
            table,
        } => table::restore((backup, data_dir), table, (cancel, out)).await,
    }
}

/// A data directory in a backup would be part of neither.
fn check_outside(data_dir: &Path, backup: &Path) -> Result<(), String> {
    let absolute = std::path::absolute(data_dir).map_err(|error| error.to_string())?;
    let there = absolute.ancestors().find_map(|dir| dir.canonicalize().ok());
    let backup = backup.canonicalize().ok();
    match (there, backup) {
        (Some(there), Some(backup)) if there.starts_with(&backup) => {
            let (data_dir, backup) = (data_dir.display(), backup.display());
            Err(format!("{data_dir} lies in the backup {backup}"))
        }
        _ => Ok(()),
    }
}

fn restore(
    backup: &Path,
    data_dir: &Path,
    (cancel, out): (&CancelToken, &mut dyn Write),
) -> Result<Outcome, String> {
    check_outside(data_dir, backup)?;
    let bar = Bar::new("restoring");
    let progress = |done, all| {
        bar.show(done, all);
        cancel.reason().is_none()
    };
    let restored = lsm::restore(backup, data_dir, &progress);
    drop(bar);
    let restored = restored.map_err(|error| told(&error))?;
    let (files, bytes) = restored.size();
    let text = format!(
        "restored {files} files, {} from the backup of {}\nstart: meseta --data-dir {}\n",
        progress::size(bytes),
        restored.taken,
        shell_word(data_dir)
    );
    tell(out, &text)?;
    Ok(Outcome::Fine)
}

/// A path as one writes it in a command.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:,@%".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// An error of the storage, for whoever is about to start no server.
fn told(error: &Error) -> String {
    if let Error::InUse { dir } = error {
        let dir = dir.display();
        return format!(
            "data directory {dir} is in use: a server runs on it, which must be stopped first, or another \
             check or restore"
        );
    }
    if *error == Error::Closed {
        // A task's engine is closed for it before its end when it is not to go on.
        return INTERRUPTED.to_owned();
    }
    error.to_string()
}

fn tell(out: &mut dyn Write, text: &str) -> Result<(), String> {
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| format!("cannot write to standard output: {error}"))
}
