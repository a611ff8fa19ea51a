//! Makes one call of the running server to the system fail, or ends the server at it: the server that is
//! run is the real one, linked to `c/faults.c` at its start.
//!
//! [`POINTS`] are the places where a server is ended on purpose. They are named by what it does there; where
//! a change of definitions or an index build is between two of its commits, it is at one of those of
//! the journal. Where journals begin and go is further than a loop's round comes: see [`crate::journals`].

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rand::Rng;
use rand::rngs::StdRng;

use crate::tools;

/// A call of the system, on files whose path has this part, or ends with it where it ends with `$`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
}

/// A place in the server's work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// What the server does there.
    name: &'static str,
    call: Call,
    /// The last of such calls that is worth waiting for.
    last: u64,
}

const fn point(name: &'static str, (call, path): (&'static str, &'static str), last: u64) -> Point {
    let call = Call { name: call, path };
    Point { name, call, last }
}

/// Where the server is ended, before the call or right after it.
pub(crate) const POINTS: &[Point] = &[
    point(
        "the journal's sync, for a group of commits or a step of a definition",
        ("sync", ".jnl"),
        200,
    ),
    point("writing to the journal", ("write", ".jnl"), 200),
    point(
        "a flush or compaction begins a file",
        ("create", "/tables/"),
        6,
    ),
    point(
        "a flush or compaction writes to a file",
        ("write", "/tables/"),
        60,
    ),
    point(
        "syncing a file of rows, or the directory of them",
        ("sync", "/tables"),
        8,
    ),
    point("writing the list of files", ("write", "/keyspaces/1/v"), 4),
    point("syncing the list of files", ("sync", "/keyspaces/1/v"), 4),
    point(
        "syncing the directory of the lists",
        ("sync", "/keyspaces/1$"),
        6,
    ),
    point(
        "syncing what will name the list of files",
        ("sync", "/keyspaces/1/.tmp"),
        4,
    ),
    point(
        "the list of files has become the present one",
        ("sync", "/current"),
        4,
    ),
    point("a compaction removes a file", ("unlink", "/tables/"), 4),
];

/// What becomes of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// SIGKILL in front of it.
    KillBefore,
    /// SIGKILL when it is done.
    KillAfter,
    /// The process stands still in front of it.
    StopBefore,
    /// It stands still when it is done.
    StopAfter,
    /// The device failed.
    Eio,
    /// The device is full.
    Enospc,
    /// Too many files are open.
    Emfile,
    /// The file has no name any more: its rename fails.
    Lose,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fate::KillBefore => "kill-before",
            Fate::KillAfter => "kill-after",
            Fate::StopBefore => "stop-before",
            Fate::StopAfter => "stop-after",
            Fate::Eio => "EIO",
            Fate::Enospc => "ENOSPC",
            Fate::Emfile => "EMFILE",
            Fate::Lose => "lose",
        })
    }
}

/// What a server is told through a file.
pub(crate) struct Faults {
    library: PathBuf,
    rule: PathBuf,
}

impl Faults {
    /// Builds the library.
    pub(crate) fn make(scratch: &Path) -> Result<Faults, String> {
        Ok(Faults {
            library: tools::faults(scratch)?,
            rule: scratch.join("faults.rule"),
        })
    }

    /// What a server must find in its environment.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        vec![
            ("LD_PRELOAD".to_owned(), text(&self.library)),
            ("MESETA_FAULTS".to_owned(), text(&self.rule)),
        ]
    }

    /// From now on the calls from `first` to `last` have this fate. Once in the life of a server.
    pub(crate) fn arm(
        &self,
        call: Call,
        (first, last): (u64, u64),
        fate: Fate,
    ) -> Result<(), String> {
        let Call { name, path } = call;
        let new = self.rule.with_extension("new");
        let written = fs::write(&new, format!("{name} {path} {first} {last} {fate}\n"));
        let armed = written.and_then(|()| fs::rename(&new, &self.rule));
        armed.map_err(|error| error.to_string())
    }

    /// Ends the server at one of [`POINTS`], whose turn it is; says where. Half of the times it is the first such
    /// call.
    pub(crate) fn arm_at(
        &self,
        turn: usize,
        random: &mut StdRng,
        fates: [Fate; 2],
    ) -> Result<&'static str, String> {
        let point = POINTS.get(turn % POINTS.len());
        let point = point.ok_or("there are no points")?;
        let nth = if random.random_bool(0.5) {
            1
        } else {
            random.random_range(1..=point.last)
        };
        let fate = fates[usize::from(random.random_bool(0.5))];
        self.arm(point.call, (nth, nth), fate)?;
        Ok(point.name)
    }

    /// How many calls were hit.
    pub(crate) fn hits(&self) -> u64 {
        let hits = fs::metadata(self.hits_path());
        hits.map_or(0, |hits| hits.len())
    }

    /// No call is hit any more, in servers that start from now on.
    pub(crate) fn disarm(&self) -> Result<(), String> {
        for path in [self.rule.clone(), self.hits_path()] {
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Ok(())
    }

    fn hits_path(&self) -> PathBuf {
        self.rule.with_extension("rule.hits")
    }
}
