//! One flipped bit in a file of a data directory, any file, any bit: the server refuses to start and names
//! the file, or a statement that meets it ends in an error that names the file, or nothing that is read
//! depends on it. It is never returned as data.
//!
//! One bit is beyond a journal's checksums: in the batch that was written last before a kill, damage
//! looks like a commit that was under way. After an orderly end there is no such batch, so the server is
//! ended orderly here.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::broken::stop;
use crate::client::{Client, Failure};
use crate::files::walk;
use crate::server::Server;
use crate::tools::run;
use crate::{
    DATABASE, Ending, MEMTABLE_VARIABLE, Rounds, connect, connect_bare, kill, others, trial,
};

/// Flips of the quick profile.
const FLIPS: u64 = 30;
/// Rows of the table; enough for several files.
const ROWS: u64 = 6_000;
const ROWS_PER_INSERT: u64 = 500;
/// Of the memtables: a dictionary is made of a sixteenth, and what it gains by is measured on it. Of a few hundred
/// rows zstd knows some by heart, and whether a model is better is a matter of luck.
const MEMTABLE_BYTES: u64 = 8 << 20;
/// The error of a statement that meets damage.
const CORRUPT: u16 = 1712;
/// What is read, by every way there is.
const READS: [&str; 5] = [
    "SELECT * FROM t WHERE id >= 0",
    "SELECT * FROM digits WHERE id >= 0",
    "SELECT id, u FROM t FORCE INDEX (by_u) WHERE u >= 0",
    "SELECT * FROM t WHERE id IN (1, 77, 2500, 4999)",
    "SELECT COUNT(*) FROM later WHERE id >= 0",
];

/// The file without which a missing newest journal is not missed, and what the log says then.
const RUN: &str = "lsm/run";
const RUN_WARNING: &str = "were the newest journal missing";

/// The kinds of files: a part of the path, and what a flip must come to; `None` where nothing may depend on the
/// bit.
const KINDS: [(&str, Option<Seen>); 10] = [
    ("dictionaries/", Some(Seen::Read)),
    (".jnl", Some(Seen::Refused)),
    ("keyspaces/1/tables/", None),
    ("keyspaces/1/v", Some(Seen::Refused)),
    ("keyspaces/1/current", Some(Seen::Refused)),
    ("keyspaces/0/", Some(Seen::Refused)),
    ("lsm/version", Some(Seen::Refused)),
    (RUN, Some(Seen::Harmless)),
    ("MESETA", Some(Seen::Refused)),
    (".pem", None),
];

/// What became of a flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// The server did not start.
    Refused,
    /// A statement ended in an error.
    Read,
    /// Nothing depends on the bit.
    Harmless,
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "flipped_bit_is_never_data".to_owned();
    vec![trial(name, (Ending::Kill, others(FLIPS)), flip_all)]
}

fn flip_all(rounds: &Rounds) -> Result<String, String> {
    let mut random = rounds.random.borrow_mut();
    let memtables = (MEMTABLE_VARIABLE.to_owned(), MEMTABLE_BYTES.to_string());
    let server = rounds.start_with(&[memtables])?;
    let mut client = connect_bare(&server.address)?;
    make_rows(&mut client, &mut random).map_err(|e| e.to_string())?;
    let expected = read_all(&mut client).map_err(|e| e.to_string())?;
    drop(client);
    stop(&server)?;
    let (data, intact) = (
        rounds.directory().join("data"),
        rounds.directory().join("intact"),
    );
    check_dictionaries(&data).map_err(|text| format!("{text}: {}", rounds.log()))?;
    copy(&data, &intact)?;
    let mut seen = Vec::new();
    for round in 0..rounds.count {
        let (kind, must) = KINDS[usize::try_from(round).unwrap_or(0) % KINDS.len()];
        let (path, bit) = flip(&data, kind, &mut random)?;
        let told = |text: String| format!("bit {bit} of {}: {text}", path.display());
        let is_older = is_of_an_older_format(&path);
        let found = look(rounds, &expected, &path).map_err(told)?;
        if must.is_some_and(|must| must != found) && !is_older {
            return Err(told(format!("{found:?}, not {must:?}: {}", rounds.log())));
        }
        if kind == RUN && !rounds.log().contains(RUN_WARNING) {
            return Err(told(format!("the log says nothing: {}", rounds.log())));
        }
        seen.push((kind, found));
        fs::remove_dir_all(&data).map_err(|error| error.to_string())?;
        copy(&intact, &data)?;
    }
    let count = |which| seen.iter().filter(|one| one.1 == which).count();
    let is_of_rows = |one: &&(&str, Seen)| one.0.contains("/tables/") && one.1 == Seen::Read;
    let of_rows = seen.iter().filter(is_of_rows).count();
    if FLIPS <= rounds.count && of_rows == 0 {
        return Err(format!(
            "no flip in a file of rows was met by a statement: {seen:?}"
        ));
    }
    Ok(format!(
        "of {} flips {} were found at the start, {} by a statement, {of_rows} of them in files of rows, {} were \
         where nothing is read",
        seen.len(),
        count(Seen::Refused),
        count(Seen::Read),
        count(Seen::Harmless)
    ))
}

/// Both kinds of dictionaries are to be flipped: one of words, and one with a model, of digits.
fn check_dictionaries(data: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    walk(&data.join("lsm/dictionaries"), &mut files);
    for head in ["Meseta dictionary 1\n", "Meseta dictionary 2\n"] {
        let has_head =
            |path: &PathBuf| fs::read(path).is_ok_and(|bytes| bytes.starts_with(head.as_bytes()));
        if !files.iter().any(has_head) {
            return Err(format!("no file of {files:?} begins with {head:?}"));
        }
    }
    Ok(())
}

fn make_rows(client: &mut Client, random: &mut StdRng) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, u INT, v VARCHAR(200), UNIQUE INDEX by_u (u)) \
         COMPRESSION='zstd'",
    )?;
    client
        .execute("CREATE TABLE digits (id INT PRIMARY KEY, v VARCHAR(200)) COMPRESSION='zstd'")?;
    client.execute("CREATE TABLE later (id INT PRIMARY KEY)")?;
    for start in (0..ROWS).step_by(usize::try_from(ROWS_PER_INSERT).unwrap_or(1)) {
        let row = |id: u64| format!("({id}, {}, REPEAT('row {id}', 20))", ROWS - id);
        let rows: Vec<String> = (start..start + ROWS_PER_INSERT).map(row).collect();
        client.execute(&format!("INSERT INTO t VALUES {}", rows.join(", ")))?;
        let row = |id: u64| format!("({id}, '{}')", digits(random));
        let rows: Vec<String> = (start..start + ROWS_PER_INSERT).map(row).collect();
        client.execute(&format!("INSERT INTO digits VALUES {}", rows.join(", ")))?;
    }
    optimize(client, "t")?;
    optimize(client, "digits")?;
    // These stay in the journal.
    for id in 0..50 {
        client.execute(&format!("INSERT INTO later VALUES ({id})"))?;
    }
    Ok(())
}

/// Six groups of digits that have nothing to do with each other.
fn digits(random: &mut StdRng) -> String {
    let group = || format!("{:015}", random.random_range(0..1_000_000_000_000_000_u64));
    let groups: Vec<String> = std::iter::repeat_with(group).take(6).collect();
    groups.join("-")
}

pub(crate) fn optimize(client: &mut Client, table: &str) -> Result<(), Failure> {
    let answer = client.execute(&format!("OPTIMIZE TABLE {table}"));
    answer.map(drop).or_else(|failure| match failure {
        // It answers with rows.
        Failure::Lost(error) if error.kind() == std::io::ErrorKind::InvalidData => Ok(()),
        other @ (Failure::Server { .. } | Failure::Lost(_)) => Err(other),
    })
}

type Reads = Vec<Vec<Vec<Option<String>>>>;

fn read_all(client: &mut Client) -> Result<Reads, Failure> {
    let mut reads = Vec::new();
    for sql in READS {
        reads.push(client.rows(sql)?);
    }
    Ok(reads)
}

/// Flips a bit where something is written.
fn flip(data: &Path, kind: &str, random: &mut StdRng) -> Result<(PathBuf, usize), String> {
    let mut files = Vec::new();
    walk(data, &mut files);
    files.retain(|path| path.to_string_lossy().contains(kind) && !is_outdated(path));
    files.sort();
    let path = files
        .choose(random)
        .ok_or_else(|| format!("no file {kind}"))?;
    let mut bytes = fs::read(path).map_err(|error| error.to_string())?;
    // The rest of a journal is zeros that nothing was written to yet.
    let written = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    let bit = random.random_range(0..8 * written.max(1));
    bytes[bit / 8] ^= 1 << (bit % 8);
    fs::write(path, bytes).map_err(|error| error.to_string())?;
    Ok((path.clone(), bit))
}

/// Whether a file says now that it is from an older server, whose data can be read: two bits are between the formats.
fn is_of_an_older_format(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    ["\nformat 1\n", "\nformat 2\n"]
        .iter()
        .any(|line| text.ends_with(line))
}

/// Whether a file is a list of files that is not the present one: a start removes it unread.
fn is_outdated(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = name.strip_prefix('v').map(str::parse::<u64>);
    let Some(Ok(id)) = id else {
        return false;
    };
    let current = fs::read(path.with_file_name("current")).unwrap_or_default();
    !current.starts_with(&id.to_le_bytes())
}

fn look(rounds: &Rounds, expected: &Reads, path: &Path) -> Result<Seen, String> {
    let name = name_of(path);
    let server = match rounds.start() {
        Ok(server) => server,
        Err(told) if is_named(&told, &name) => return Ok(Seen::Refused),
        Err(told) => return Err(format!("the refusal does not name the file: {told}")),
    };
    let mut client = connect(&server.address)?;
    let seen = match read_all(&mut client) {
        Ok(found) if found == *expected => Seen::Harmless,
        Ok(_) => return Err(format!("other rows were read; the log: {}", rounds.log())),
        Err(Failure::Server { errno, text, .. }) if errno == CORRUPT => {
            if !is_named(&text, &name) {
                return Err(format!("the error does not name the file: {text}"));
            }
            Seen::Read
        }
        Err(failure) => return Err(format!("{failure}; the log: {}", rounds.log())),
    };
    drop(client);
    end(&server)?;
    Ok(seen)
}

fn end(server: &Server) -> Result<(), String> {
    kill(server)
}

/// What a text that names the file must have: of a file of rows, whose name is a number, also its directory.
fn name_of(path: &Path) -> String {
    let mut parts = path.iter().rev().map(|part| part.to_string_lossy());
    let (name, within) = (parts.next().unwrap_or_default(), parts.next());
    match within {
        Some(within) if name.parse::<u64>().is_ok() => format!("{within}/{name}"),
        Some(_) | None => name.into_owned(),
    }
}

/// Whether a text names a file; a list that is named wrongly is one that is missing.
fn is_named(text: &str, name: &str) -> bool {
    text.contains(name)
        || name == "current" && text.contains("is missing")
        || name == "MESETA" && text.contains("data directory")
}

/// Copies a directory, holes as holes.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let options = ["-a", "--sparse=always"].iter().map(AsRef::as_ref);
    run("cp", options.chain([from.as_os_str(), to.as_os_str()])).map(drop)
}
