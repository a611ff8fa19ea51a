//! Backups of a server that works: taken under full load, restored, killed in the middle, damaged.
//!
//! The oracle lives in this process ([`load`]): writers log what was acknowledged before a backup began
//! and what was under way when it had ended; what is restored must lie between, as a prefix of every
//! writer, with whole transactions and indexes like their tables. And it must have been the state of some
//! moment: no write is there without those that had been acknowledged before it began.
//!
//! | environment | meaning |
//! |---|---|
//! | `MESETA_BACKUP_ROUNDS=n` | backups, and kills in the middle of one, or of a restored table; 6 and 10 unless told. Of backups on another disk 3, 12 at most |
//! | `MESETA_BACKUP_SEED=n` | the moments of the kills |

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::little_endian_bytes,
    reason = "a test program: it may stop at a surprise"
)]

#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod given_up;
mod interrupted;
mod load;
mod other_disk;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/server.rs"]
mod server;
mod shown;
mod single;
mod wide;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use client::{Client, EndForm};
use load::{Load, Times};
use server::{Launch, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_meseta");
const BACKUP_ROUNDS: u64 = 6;
/// How many times as many backups there are at most, where those met too little.
const MORE_MAX: u64 = 4;
const KILL_ROUNDS: u64 = 10;
/// Rows in memory before they are written to a file.
const MEMTABLE_BYTES: u64 = 256 << 10;
/// Time between two backups, and before the first.
const BETWEEN: Duration = Duration::from_millis(300);
/// How long a backup takes, until one was whole.
const BACKUP_USUAL: Duration = Duration::from_millis(150);
/// A kill comes at any moment of the backup, and somewhat later; in parts of the time that one takes.
const KILL_UNTIL: f64 = 1.2;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = vec![
        trial("under_load_it_is_a_state_that_existed", under_load),
        trial(
            "under_load_on_another_disk_it_is_a_state_that_existed",
            other_disk::under_load,
        ),
        trial("a_disk_that_becomes_full_leaves_nothing", other_disk::full),
        trial(
            "kill_9_leaves_the_server_well_and_half_a_backup_says_so",
            killed,
        ),
        trial("a_flipped_bit_is_named", flipped),
        trial("one_table_comes_back", one_table),
        trial(
            "one_table_of_a_damaged_backup_is_right_or_refused",
            single::damaged,
        ),
        trial(
            "one_table_is_there_whole_or_not_at_all_after_kill_9",
            single::killed,
        ),
        trial("kill_query_leaves_nothing", given_up::all),
        trial("a_terminal_is_shown_how_far_it_is", shown::all),
        trial("what_is_interrupted_leaves_nothing", interrupted::all),
        trial("what_will_not_do_is_refused", refused),
        trial("rows_are_not_for_everybody", private),
        trial("the_guide_is_true", guide),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: &'static str, run: fn(&Path) -> Result<String, String>) -> Trial {
    Trial::test(name, move || {
        let scratch = tempfile::tempdir().map_err(|e| Failed::from(e.to_string()))?;
        let summary = run(scratch.path()).map_err(Failed::from)?;
        println!("backup: {name}: {summary}");
        Ok(())
    })
}

fn rounds(default: u64) -> u64 {
    let given = std::env::var("MESETA_BACKUP_ROUNDS");
    given
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The moments of kills, and the seed that they follow from.
fn seeded() -> (u64, StdRng) {
    let seed = std::env::var("MESETA_BACKUP_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| rand::rng().random());
    (seed, StdRng::seed_from_u64(seed))
}

/// Starts a server over `dir/data` that may make backups in `dir/backups`.
fn start(dir: &Path) -> Result<Server, String> {
    let backups = dir.join("backups");
    fs::create_dir_all(&backups).map_err(|e| e.to_string())?;
    start_with(dir, &backups)
}

/// Starts one that may make them elsewhere.
fn start_with(dir: &Path, backups: &Path) -> Result<Server, String> {
    let launch = Launch {
        binary: Path::new(BINARY),
        engine: "lsm",
        directory: dir,
        options: &["--backup-dir", &backups.display().to_string()],
    };
    // Small, so that backups meet flushes, compactions and several journals.
    let memtable = ("MESETA_TEST_MEMTABLE_BYTES", MEMTABLE_BYTES.to_string());
    let started = Server::start_with(&launch, &[(memtable.0.to_owned(), memtable.1)]);
    started.map_err(|e| e.to_string())
}

fn connect(server: &Server) -> Result<Client, String> {
    Client::connect(&server.address, "", EndForm::Ok).map_err(|e| e.to_string())
}

/// Runs `meseta` with arguments: exit code, and all that it prints.
fn meseta(arguments: &[&str]) -> Result<(i32, String), String> {
    let done = Command::new(BINARY).args(arguments).output();
    let done = done.map_err(|e| e.to_string())?;
    let text = [done.stdout, done.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok((done.status.code().unwrap_or(-1), text))
}

fn expect_exit(arguments: &[&str], expected: i32) -> Result<String, String> {
    let (code, text) = meseta(arguments)?;
    if code == expected {
        return Ok(text);
    }
    Err(format!(
        "meseta {}: exit code {code}, not {expected}: {text}",
        arguments.join(" ")
    ))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Ends a server in order.
fn stop(server: &Server) -> Result<(), String> {
    let id = server.process_id().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status();
    killed.map_err(|e| e.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(30);
    // Its data directory is free when it has ended.
    while Client::connect(&server.address, "", EndForm::Ok).is_ok() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    server.wait().map_err(|e| e.to_string())
}

/// A backup that was made, and what lay around it.
struct Made {
    path: PathBuf,
    /// What was acknowledged before it began.
    before: Vec<u64>,
    /// What had begun when it had ended.
    begun: Vec<u64>,
}

/// The engine's files that come and go: tables, journals.
#[derive(Default)]
struct Files {
    tables: BTreeSet<PathBuf>,
    journals: BTreeSet<PathBuf>,
}

fn files_of(data: &Path) -> Files {
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|end| end == "jnl");
    let journals = files_below(&data.join("lsm"))
        .into_iter()
        .filter(is_journal);
    Files {
        tables: files_below(&data.join("lsm/keyspaces/1/tables"))
            .into_iter()
            .collect(),
        journals: journals.collect(),
    }
}

/// Tells what became of those files while the backups were made, or that too little did: then none of them
/// met a flush, a compaction or another journal.
fn expect_changes(seen: &[Files]) -> Result<String, String> {
    let (mut tables, mut compacted, mut journals) = (0, 0, 0);
    for pair in seen.windows(2) {
        let (old, new) = (&pair[0], &pair[1]);
        tables += new.tables.difference(&old.tables).count();
        // A table goes when another one has its rows.
        compacted += old.tables.difference(&new.tables).count();
        journals += new.journals.difference(&old.journals).count();
    }
    let told =
        format!("{tables} new tables, {compacted} gone into others, {journals} new journals");
    if [tables, compacted, journals].contains(&0) {
        return Err(format!("the backups met too little: {told}"));
    }
    Ok(told)
}

/// Fills the journal so far that the next one is begun while writers are at work: it is behind byte 64,000,000.
fn fill_journal(client: &mut Client) -> Result<(), String> {
    const ROWS: usize = 63;
    const ROW_BYTES: usize = 1_000_000;
    let mut run = |sql: &str| client.execute(sql).map(drop).map_err(|e| e.to_string());
    run("CREATE TABLE long_rows (id INT PRIMARY KEY, v LONGTEXT)")?;
    // Letters by chance: nothing is compressed on the way.
    let mut random = StdRng::seed_from_u64(1);
    for _ in 0..ROWS {
        let letters = (0..ROW_BYTES).map(|_| char::from(random.random_range(b'a'..=b'z')));
        let value: String = letters.collect();
        run(&format!("REPLACE INTO long_rows VALUES (1, '{value}')"))?;
    }
    Ok(())
}

fn under_load(dir: &Path) -> Result<String, String> {
    let backups = dir.join("backups");
    fs::create_dir_all(&backups).map_err(|e| e.to_string())?;
    back_up_under_load((dir, &backups), rounds(BACKUP_ROUNDS))
}

/// Makes so many backups in a directory while writers work, or some more until they met enough, and looks at each when
/// they have ended.
fn back_up_under_load((dir, backups): (&Path, &Path), count: u64) -> Result<String, String> {
    wide::check_cases()?;
    let server = start_with(dir, backups)?;
    let mut client = connect(&server)?;
    Load::make_tables(&mut client)?;
    fill_journal(&mut client)?;
    let load = Load::start(&server.address)?;
    let mut all = Vec::new();
    let mut seen = vec![files_of(&dir.join("data"))];
    let (mut slowest, mut during) = (Duration::ZERO, 0);
    // On a slow machine the writers come to the next journal late.
    for round in 0..MORE_MAX * count {
        if count <= round && expect_changes(&seen).is_ok() {
            break;
        }
        thread::sleep(BETWEEN);
        let path = backups.join(round.to_string());
        let before = load.acknowledged();
        let started = Instant::now();
        let rows = connect(&server)?.rows(&format!("BACKUP TO '{}'", text(&path)));
        slowest = slowest.max(started.elapsed());
        let after: u64 = load.acknowledged().iter().sum();
        during += after - before.iter().sum::<u64>();
        let rows = rows.map_err(|e| e.to_string())?;
        if rows.len() != 1 || rows[0][0].as_deref() != Some(text(&path).as_str()) {
            return Err(format!("BACKUP says {rows:?}"));
        }
        all.push(Made {
            path,
            before,
            begun: load.begun(),
        });
        seen.push(files_of(&dir.join("data")));
    }
    let times = load.stop()?;
    drop(server);
    let count = all.len();
    load::expect_load(&times, count)?;
    if during < count as u64 {
        return Err(format!(
            "{during} writes were acknowledged within {count} backups"
        ));
    }
    let changes = expect_changes(&seen)?;
    for (round, made) in all.iter().enumerate() {
        expect_existed(made, &times, &dir.join(format!("restored-{round}")))
            .map_err(|e| format!("backup {round}: {e}"))?;
    }
    let writes: usize = times.iter().map(Vec::len).sum();
    Ok(format!(
        "{count} backups under {writes} writes, {during} of them acknowledged within one; {changes}; the \
         slowest took {slowest:?}"
    ))
}

/// The backup becomes a server that is in a state that there was.
fn expect_existed(made: &Made, times: &[Vec<Times>], new: &Path) -> Result<(), String> {
    expect_exit(&["check", &text(&made.path)], 0)?;
    fs::create_dir(new).map_err(|e| e.to_string())?;
    let data = text(&new.join("data"));
    expect_exit(&["restore", &text(&made.path), "--data-dir", &data], 0)?;
    let server = start(new)?;
    let found = load::verify(&mut connect(&server)?, &made.before, &made.begun)?;
    load::expect_state(times, &found)?;
    stop(&server)?;
    expect_exit(&["check", &data], 0)?;
    fs::remove_dir_all(new).map_err(|e| e.to_string())
}

fn killed(dir: &Path) -> Result<String, String> {
    let (seed, mut random) = seeded();
    let mut server = start(dir)?;
    Load::make_tables(&mut connect(&server)?)?;
    let (mut none, mut half, mut whole) = (0, 0, 0);
    let mut usual = BACKUP_USUAL;
    for round in 0..rounds(KILL_ROUNDS) {
        let path = dir.join("backups").join(format!("k{round}"));
        let load = Load::start_on(&mut connect(&server)?, &server.address)?;
        thread::sleep(Duration::from_millis(100));
        let mut client = connect(&server)?;
        let before = load.acknowledged();
        let sql = format!("BACKUP TO '{}'", text(&path));
        let started = Instant::now();
        let backup = thread::spawn(move || {
            let told = client.rows(&sql).is_ok();
            (told, started.elapsed())
        });
        thread::sleep(usual.mul_f64(random.random_range(0.0..KILL_UNTIL)));
        server.kill().map_err(|e| e.to_string())?;
        let (was_told, took) = backup.join().map_err(|_| "a thread panicked")?;
        if was_told {
            usual = took;
        }
        let (acknowledged, begun) = load.killed()?;
        server = start(dir)?;
        load::verify(&mut connect(&server)?, &acknowledged, &begun)
            .map_err(|e| format!("round {round}, seed {seed}: {e}"))?;
        let is_whole = path.join("BACKUP").exists();
        if was_told && !is_whole {
            return Err(format!(
                "round {round}, seed {seed}: a backup that was told is not whole"
            ));
        }
        let new_dir = dir.join(format!("new-{round}"));
        let new = text(&new_dir.join("data"));
        if is_whole {
            whole += 1;
            expect_restored(&path, &new_dir, (&before, &begun))
                .map_err(|e| format!("round {round}, seed {seed}, the backup: {e}"))?;
        } else {
            let is_begun = path.exists();
            *(if is_begun { &mut half } else { &mut none }) += 1;
            expect_no_backup(&path, &new)
                .map_err(|e| format!("round {round}, seed {seed}: {e}"))?;
            // And the place can be used once it is empty.
            if is_begun {
                fs::remove_dir_all(&path).map_err(|e| e.to_string())?;
            }
        }
    }
    if half == 0 {
        return Err(format!("seed {seed}: no kill was within a backup"));
    }
    Ok(format!(
        "seed {seed}: killed before {none}, within {half}, behind {whole} backups"
    ))
}

/// What is there of a backup that was not finished says so, and nothing is restored from it.
fn expect_no_backup(path: &Path, new: &str) -> Result<(), String> {
    let told = expect_exit(&["restore", &text(path), "--data-dir", new], 2)?;
    let told = told + &expect_exit(&["check", &text(path)], 2)?;
    if path.join("BACKUP.part").exists() && !told.contains("was not finished") {
        return Err(format!("half of a backup: {told}"));
    }
    if Path::new(new).exists() {
        return Err("restored from half of a backup".to_owned());
    }
    Ok(())
}

/// A whole backup becomes a server that has what was acknowledged before it began, and nothing that had
/// not begun when it ended.
fn expect_restored(
    path: &Path,
    new_dir: &Path,
    (before, begun): (&[u64], &[u64]),
) -> Result<(), String> {
    expect_exit(&["check", &text(path)], 0)?;
    fs::create_dir(new_dir).map_err(|e| e.to_string())?;
    let new = text(&new_dir.join("data"));
    expect_exit(&["restore", &text(path), "--data-dir", &new], 0)?;
    let restored = start(new_dir)?;
    load::verify(&mut connect(&restored)?, before, begun)?;
    stop(&restored)
}

/// Rows of `shop.orders`.
const FILLED_ROWS: u64 = 10_000;
/// Rows of one statement.
const FILLED_AT_ONCE: u64 = 500;

/// Rows enough for several blocks, and a backup of them.
fn filled(dir: &Path) -> Result<(Server, PathBuf), String> {
    let server = start(dir)?;
    let mut client = connect(&server)?;
    let mut run = |sql: &str| client.execute(sql).map_err(|e| format!("{sql}: {e}"));
    run("CREATE DATABASE shop")?;
    run("CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(100), KEY (note))")?;
    run("CREATE TABLE shop.other (id INT PRIMARY KEY)")?;
    run("INSERT INTO shop.other VALUES (1)")?;
    for block in 0..FILLED_ROWS / FILLED_AT_ONCE {
        let rows: Vec<String> = (0..FILLED_AT_ONCE)
            .map(|row| format!("({0}, 'note {0} {0} {0}')", block * FILLED_AT_ONCE + row))
            .collect();
        run(&format!(
            "INSERT INTO shop.orders VALUES {}",
            rows.join(", ")
        ))?;
    }
    let path = dir.join("backups/one");
    let told = connect(&server)?.rows(&format!("BACKUP TO '{}'", text(&path)));
    told.map_err(|e| e.to_string())?;
    Ok((server, path))
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => files_below(&path),
        path => vec![path],
    });
    below.collect()
}

fn flipped(dir: &Path) -> Result<String, String> {
    let (server, path) = filled(dir)?;
    stop(&server)?;
    let files = files_below(&path);
    for file in &files {
        let whole = fs::read(file).map_err(|e| e.to_string())?;
        if whole.is_empty() {
            continue;
        }
        let mut bytes = whole.clone();
        let at = bytes.len() / 2;
        bytes[at] ^= 8;
        // Another file of that name: the old one is the server's, too.
        let put = |bytes: &[u8]| fs::remove_file(file).and_then(|()| fs::write(file, bytes));
        put(&bytes).map_err(|e| e.to_string())?;
        let told = expect_exit(&["check", &text(&path)], 1)?;
        let named = format!("damaged: {}: ", text(file));
        if !told.lines().any(|line| line.starts_with(&named)) {
            return Err(format!("{} is not named: {told}", text(file)));
        }
        let new = dir.join("new");
        let told = expect_exit(&["restore", &text(&path), "--data-dir", &text(&new)], 2)?;
        if !told.contains(&text(file)) {
            return Err(format!("{} is not named: {told}", text(file)));
        }
        if new.exists() {
            return Err(format!("{} is left of a restore that failed", text(&new)));
        }
        put(&whole).map_err(|e| e.to_string())?;
    }
    expect_exit(&["check", &text(&path)], 0)?;
    expect_exit(&["check", &text(&dir.join("data"))], 0)?;
    Ok(format!("one bit in each of {} files", files.len()))
}

fn one_table(dir: &Path) -> Result<String, String> {
    let (server, path) = filled(dir)?;
    let data = text(&dir.join("data"));
    let arguments = [
        "restore",
        &text(&path),
        "--data-dir",
        &data,
        "--table",
        "shop.orders",
    ];
    let told = expect_exit(&arguments, 2)?;
    if !told.contains("is in use") {
        return Err(format!("beside a server: {told}"));
    }
    let wait = connect(&server)?.execute("DROP TABLE shop.orders");
    wait.map_err(|e| e.to_string())?;
    stop(&server)?;
    expect_exit(&arguments, 0)?;
    let told = expect_exit(&arguments, 2)?;
    if !told.contains("has a table or view shop.orders") {
        return Err(format!("twice: {told}"));
    }
    expect_exit(&["check", &data], 0)?;
    let server = start(dir)?;
    let mut client = connect(&server)?;
    let found = client.rows("SELECT id FROM shop.orders WHERE note = 'note 777 777 777'");
    let found = found.map_err(|e| e.to_string())?;
    if found != [[Some("777".to_owned())]] {
        return Err(format!("found {found:?}"));
    }
    let found = client
        .rows("CHECK TABLE shop.orders")
        .map_err(|e| e.to_string())?;
    if found.len() != 1 || found[0][3].as_deref() != Some("OK") {
        return Err(format!("CHECK TABLE says {found:?}"));
    }
    Ok(format!("{FILLED_ROWS} rows and an index"))
}

fn refused(dir: &Path) -> Result<String, String> {
    let (server, path) = filled(dir)?;
    let mut client = connect(&server)?;
    let outside = text(&dir.join("outside"));
    let missing = text(&dir.join("backups/no/such"));
    let file = dir.join("backups/file");
    fs::write(&file, "").map_err(|e| e.to_string())?;
    let cases = [
        ("b", 1210),
        (outside.as_str(), 1290),
        ("/", 1290),
        (missing.as_str(), 1),
        (&text(&path), 1086),
        (&text(&path.join("deep")), 1290),
        (&text(&path.join("lsm/deep")), 1290),
        (&text(&file), 1086),
        (&text(&file.join("x")), 1),
    ];
    for (target, expected) in cases {
        match client.rows(&format!("BACKUP TO '{target}'")) {
            Err(client::Failure::Server { errno, .. }) if errno == expected => {}
            other => return Err(format!("{target}: {other:?}, not {expected}")),
        }
    }
    for arguments in [
        &["check"][..],
        &["check", "/nosuch"],
        &["check", &text(&dir.join("server.log"))],
        &[
            "restore",
            &text(&path),
            "--data-dir",
            &text(&dir.join("server.log")),
        ],
        &["check", &text(&dir.join("data"))],
        &["restore", &text(&path)],
        &["restore", &text(&path), "--data-dir", &text(dir)],
        &[
            "restore",
            &text(&path),
            "--data-dir",
            &text(dir),
            "--table",
            "orders",
        ],
    ] {
        let (code, told) = meseta(arguments)?;
        // 1 would be damage.
        if code != 2 || told.trim().lines().count() != 1 {
            return Err(format!("meseta {}: {code}, {told}", arguments.join(" ")));
        }
    }
    for help in [&["check", "--help"], &["restore", "--help"]] {
        expect_exit(help, 0)?;
    }
    Ok(format!("{} paths", cases.len()))
}

/// Rows are for the server's user and group, though the data directory is everybody's, and the program before this one
/// has made its files for everybody.
fn private(dir: &Path) -> Result<String, String> {
    let open = |path: &Path| {
        let everybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, everybody).map_err(|e| e.to_string())
    };
    let data = dir.join("data");
    fs::create_dir(&data).map_err(|e| e.to_string())?;
    open(&data)?;
    let (server, _) = filled(dir)?;
    stop(&server)?;
    let others = |path: &Path| fs::metadata(path).map_or(7, |of| of.permissions().mode() & 7);
    let files = files_below(&data.join("lsm"));
    let seen = files.iter().find(|path| others(path) != 0);
    if let Some(path) = seen {
        return Err(format!("{} is everybody's", path.display()));
    }
    open(&data.join("lsm"))?;
    let server = start(dir)?;
    if others(&data.join("lsm")) != 0 {
        return Err("a directory of rows stays everybody's".to_owned());
    }
    stop(&server)?;
    Ok(format!("{} files", files.len()))
}

/// Runs the statements and the `meseta` commands of docs/backup.md, in order.
fn guide(dir: &Path) -> Result<String, String> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/backup.md");
    let guide = fs::read_to_string(guide).map_err(|e| e.to_string())?;
    let guide = guide.replace("/var/backups/meseta", &text(&dir.join("backups")));
    let guide = guide.replace("/var/lib/meseta", &text(&dir.join("data")));
    let (server, _) = filled(dir)?;
    let mut running = Some(server);
    let mut count = 0;
    for block in guide.split("```").skip(1).step_by(2) {
        let (language, lines) = block.split_once('\n').unwrap_or_default();
        for line in lines.lines() {
            let command = line.split(" # ").next().unwrap_or_default().trim();
            match (language, command.strip_prefix("meseta ")) {
                ("sql", _) => {
                    let server = match running.take() {
                        Some(server) => server,
                        None => start(dir)?,
                    };
                    let ran = connect(&server)?.query(command.trim_end_matches(';'));
                    ran.map_err(|e| format!("{command}: {e}"))?;
                    running = Some(server);
                }
                // The server itself.
                ("sh", Some(arguments)) if arguments.starts_with("--") => continue,
                ("sh", Some(arguments)) => {
                    if let Some(server) = running.take() {
                        stop(&server)?;
                    }
                    expect_exit(&arguments.split_whitespace().collect::<Vec<_>>(), 0)?;
                }
                _ => continue,
            }
            count += 1;
        }
    }
    Ok(format!("{count} commands"))
}
