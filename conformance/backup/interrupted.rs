//! `meseta check` and `meseta restore` that a signal interrupts: they say so, end with 2, and nothing is left of
//! what they made on the way.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{BINARY, expect_exit, shown, start, stop, text};

/// How long a task may take to begin, or to end.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often a task is begun: one may end before the signal comes.
const TRIES: usize = 20;

pub(crate) fn all(dir: &Path) -> Result<String, String> {
    let backup = shown::large(dir)?;
    let temporary = dir.join("tmp");
    let target = dir.join("target");
    fs::create_dir(&temporary).map_err(|e| e.to_string())?;
    let anew = || {
        if target.exists() {
            fs::remove_dir_all(&target).map_err(|e| e.to_string())?;
        }
        fs::create_dir(&target).map_err(|e| e.to_string())?;
        stop(&start(&target)?)
    };
    anew()?;
    let (data, new) = (text(&target.join("data")), dir.join("new/data"));
    let check = ["check", &text(&backup)];
    let one = [
        "restore",
        &text(&backup),
        "--data-dir",
        &data,
        "--table",
        "shop.large",
    ];
    for signal in ["INT", "TERM", "HUP"] {
        for arguments in [&check[..], &one[..]] {
            let run = || {
                let child = begin(&temporary, BINARY.as_ref(), arguments)?;
                // Rows are read, or copied, in a place of its own.
                interrupt(child, signal, || !is_empty(&temporary))
            };
            interrupted(run, anew).map_err(|e| format!("{signal}, {arguments:?}: {e}"))?;
            if !is_empty(&temporary) {
                return Err(format!("{signal}, {arguments:?}: something is left"));
            }
        }
        whole_interrupted((&backup, &new), (&temporary, signal))
            .map_err(|e| format!("{signal}, restore: {e}"))?;
    }
    // As `nohup` has it: the terminal goes, and the check goes on.
    let line = format!("trap '' HUP; exec {BINARY} check {}", text(&backup));
    let child = begin(&temporary, "sh".as_ref(), &["-c", &line])?;
    let ended = interrupt(child, "HUP", || !is_empty(&temporary))?;
    if !ended.status.success() {
        return Err(format!("under nohup: {ended:?}"));
    }
    expect_exit(&one, 0)?;
    Ok("by INT, TERM and HUP".to_owned())
}

/// The directory, and the one above it, were not there before and are not afterwards.
fn whole_interrupted(
    (backup, new): (&Path, &Path),
    (temporary, signal): (&Path, &str),
) -> Result<(), String> {
    let above = new.parent().ok_or("no directory above")?;
    let arguments = ["restore", &text(backup), "--data-dir", &text(new)];
    let run = || {
        let child = begin(temporary, BINARY.as_ref(), &arguments)?;
        interrupt(child, signal, || {
            new.join("RESTORING").exists() || new.join("MESETA").exists()
        })
    };
    interrupted(run, || fs::remove_dir_all(above).map_err(|e| e.to_string()))?;
    if above.exists() {
        return Err(format!("{} is left", text(above)));
    }
    Ok(())
}

/// Interrupts what `run` begins. What has ended before the signal came is undone and begun again.
fn interrupted(
    run: impl Fn() -> Result<Output, String>,
    undo: impl Fn() -> Result<(), String>,
) -> Result<(), String> {
    for _ in 0..TRIES {
        let ended = run()?;
        if !ended.status.success() {
            return expect_interrupted(&ended);
        }
        undo()?;
    }
    Err(format!("each of {TRIES} came to its end"))
}

fn begin(temporary: &Path, program: &OsStr, arguments: &[&str]) -> Result<Child, String> {
    // Whoever runs this may ignore signals, which its children would then, too: `nohup` the first, and a shell the
    // second for what it starts with `&`.
    let child = Command::new("env")
        .arg("--default-signal=HUP,INT")
        .arg(program)
        .args(arguments)
        .env("TMPDIR", temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.map_err(|e| e.to_string())
}

/// Sends a signal when it is time, and waits for the end.
fn interrupt(mut child: Child, signal: &str, is_time: impl Fn() -> bool) -> Result<Output, String> {
    let deadline = Instant::now() + PATIENCE;
    while !is_time() && child.try_wait().is_ok_and(|ended| ended.is_none()) {
        if deadline < Instant::now() {
            return Err(format!("it does not begin in {PATIENCE:?}"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    // It may have ended, and then is not waited for yet.
    let sent = Command::new("kill").args(["-s", signal, &id]).status();
    sent.map_err(|e| e.to_string())?;
    child.wait_with_output().map_err(|e| e.to_string())
}

fn expect_interrupted(ended: &Output) -> Result<(), String> {
    let told = String::from_utf8_lossy(&ended.stderr);
    let is_so = ended.status.code() == Some(2)
        && told == "meseta: interrupted\n"
        && ended.stdout.is_empty();
    is_so.then_some(()).ok_or_else(|| format!("{ended:?}"))
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}
