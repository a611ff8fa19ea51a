//! Where values come from, and what is said of wrong ones.

use super::values::parse_bytes;
use super::*;
use crate::catalog::{schema, store};
use crate::exec::ddl;
use crate::exec::locks::ROW_LOCKS_MAX;
use crate::exec::transaction::SAVEPOINTS_MAX;
use crate::exec::write::row;
use crate::kv::lsm::{self, Lsm};
use crate::kv::{Engine, Limits};
use crate::plan::derive;
use crate::session::variables::registry as variables;
use crate::sql::{functions, parse};
use crate::types::decimal::{DIGITS_MAX, SCALE_MAX};

fn load_with(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Request, String> {
    let program = ["meseta"].iter().chain(arguments);
    load_from(&Sources {
        arguments: program.map(OsString::from).collect(),
        variable: &|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        },
    })
}

fn config(arguments: &[&str], variables: &[(&str, &str)]) -> Config {
    match load_with(arguments, variables) {
        Ok(Request::Serve(config)) => *config,
        other => panic!("{other:?}"),
    }
}

fn printed(arguments: &[&str]) -> String {
    match load_with(arguments, &[]) {
        Ok(Request::Print(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_limit_of_memory_holds_its_parts() {
    let limit_of = |arguments: &[&str]| match load_with(arguments, &[]) {
        Ok(Request::Serve(config)) => Ok(config.memory_limit_bytes),
        Err(why) => Err(why),
        Ok(other) => panic!("{other:?}"),
    };
    assert_eq!(limit_of(&["--memory-limit=1GiB"]), Ok(Some(1 << 30)));
    for none in ["--memory-limit=none", "--memory-limit=0"] {
        assert_eq!(limit_of(&[none, "--cache-bytes=1000000GiB"]), Ok(None));
    }
    for too_little in ["--memory-limit=511MiB", "--memory-limit=1"] {
        let why = limit_of(&[too_little]).unwrap_err();
        assert!(why.contains("at least 512MiB, auto or none"), "{why}");
    }
    // Also of what follows from the machine, where its memory is known.
    for limit in ["--memory-limit=1GiB", "--memory-limit=auto"] {
        for part in [
            "--cache-bytes=1000000GiB",
            "--query-memory-total=1000000GiB",
        ] {
            match limit_of(&[limit, part]) {
                Err(why) => assert!(why.contains("(1073741824000000)"), "{why}"),
                Ok(None) if limit.ends_with("auto") => {}
                Ok(found) => panic!("{limit} {part}: {found:?}"),
            }
        }
    }
}

#[test]
fn defaults_are_safe() {
    let config = config(&[], &[]);
    assert_eq!(config.listen.to_string(), "127.0.0.1:3306");
    assert_eq!(config.storage, Storage::Lsm("./meseta-data".into()));
    assert!(config.durable);
    assert!(!config.allow_full_scan);
    assert_eq!(config.cache_bytes, None);
    assert_eq!(config.query_memory_total_bytes, None);
    assert_eq!(config.spill_quota_bytes, Some(64 << 30));
    assert_eq!(config.packet_bytes_max, 64 << 20);
    let welcome = config.welcome((config.listen, None), OPEN);
    assert_eq!(
        welcome.lines().skip(1).collect::<Vec<_>>(),
        [
            "Connect:  mariadb --comments -h 127.0.0.1 -P 3306 -u root",
            "Unsafe:   root has no password: everybody on this machine may do everything",
        ]
    );
}

#[test]
fn the_command_line_wins_over_the_environment_over_the_file_over_the_default() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.toml");
    std::fs::write(
        &path,
        "max-connections = 7\nwait_timeout = 8\nallow-full-scan = true\n",
    )
    .unwrap();
    let path = path.to_str().unwrap();
    let variables = [
        ("MESETA_WAIT_TIMEOUT", "9"),
        ("MESETA_CONNECT_TIMEOUT", "5"),
    ];
    let config = config(&["--config", path, "--connect-timeout", "6"], &variables);
    assert_eq!(config.connections_max, 7);
    assert_eq!(config.wait_timeout_s, 9);
    assert_eq!(config.connect_timeout_s, 6);
    assert_eq!(config.net_write_timeout_s, 60);
    assert!(config.allow_full_scan);
}

const CLOSED: Stored = Stored {
    is_open: false,
    full_scans: false,
    requires_tls: false,
};
const OPEN: Stored = Stored {
    is_open: true,
    ..CLOSED
};

#[test]
fn a_variable_that_is_no_text_is_named_and_not_passed_over() {
    use std::os::unix::ffi::OsStringExt;
    let sources = Sources {
        arguments: vec!["meseta".into()],
        variable: &|name| {
            (name == "MESETA_ROOT_PASSWORD").then(|| OsString::from_vec(b"s3cret\xE9".to_vec()))
        },
    };
    let told = load_from(&sources).unwrap_err();
    assert_eq!(told, "MESETA_ROOT_PASSWORD: it is not UTF-8");
}

/// What is said of wrong arguments, which blanks part.
fn told_in_one_line(arguments: &str, expected: &str) {
    let line = load_with(&arguments.split(' ').collect::<Vec<_>>(), &[]).unwrap_err();
    assert!(line.contains(expected), "{line}");
    assert!(!line.contains('\n'), "{line}");
}

#[test]
fn wrong_values_are_told_in_one_line() {
    let check = told_in_one_line;
    check("--listen x", "--listen: 'x' is not an address");
    check("--listen :4407", "--listen: ':4407' is not an address");
    check("--listen x:70000", "'x:70000' is not an address");
    // An empty label is in no name, so that nobody is asked for this one.
    check(
        "--listen no..invalid:4407",
        "--listen: the name in 'no..invalid:4407' cannot be resolved: ",
    );
    check(
        "--memory-limit lots",
        "'lots' is not a number of bytes from 512MiB on, such as 4GiB, or auto or none",
    );
    check(
        "--data-dir=",
        "--data-dir: '' is not the name of a directory",
    );
    check("--engine tree", "--engine: 'tree' is not lsm or memory");
    check("--bogus", "unexpected argument '--bogus' found; see --help");
    check("--listen", "--listen");
    check(
        "restore",
        "not provided: --data-dir <DIR> <BACKUP>; see --help",
    );
    check(
        "--cache-bytes=1x",
        "--cache-bytes: '1x' is not a number of bytes",
    );
    check(
        "--max-allowed-packet=2G",
        "'2G' is not a number of bytes from 1KiB to 1GiB",
    );
    check("--allow-full-scan=maybe", "'maybe' is not true or false");
    check(
        "--config /nonexistent/m.toml",
        "--config /nonexistent/m.toml: No such file",
    );
    check("--log nonsense", "--log: 'nonsense' is not a level");
    check("--log info,nonsense", "is not a level");
    check("--tls-key k", "--tls-key needs --tls-cert");
    check("--tls-cert c", "--tls-cert needs --tls-key");
    let variables = [("MESETA_MAX_CONNECTIONS", "0")];
    let line = load_with(&[], &variables).unwrap_err();
    assert_eq!(
        line,
        "MESETA_MAX_CONNECTIONS: '0' is not a number from 1 to 100000"
    );
}

#[test]
fn wrong_files_are_told_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = |text: &str| {
        let path = dir.path().join("m.toml");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let check = |text: &str, expected: &str| {
        told_in_one_line(&format!("--config {}", file(text)), expected);
    };
    check("lisen = 1", "unknown option 'lisen'");
    check("\nlisten = ", "line 2");
    check(
        "listen = 127.0.0.1:4407",
        "; a text stands in quotes: listen = \"...\"",
    );
    let line = load_with(&["--config", &file("root-password = s3cret")], &[]).unwrap_err();
    assert!(
        line.contains("stands in quotes") && !line.contains("s3cret"),
        "{line}"
    );
    let line = load_with(&["--config", &file("max-connections = 7 8")], &[]).unwrap_err();
    assert!(!line.contains("quotes"), "{line}");
    check("listen = [1]", "listen must be a string");
    check("engine = \"x\"", "engine in ");
    told_in_one_line(
        &format!("--root-password-file {}", file("\n")),
        "the first line is empty",
    );
}

#[test]
fn with_a_password_the_server_may_be_reached_from_elsewhere() {
    let config = config(
        &["--listen", "0.0.0.0:3306"],
        &[("MESETA_ROOT_PASSWORD", "x")],
    );
    let welcome = config.welcome((config.listen, None), CLOSED);
    assert!(
        welcome.contains("mariadb --comments -h 127.0.0.1 -P 3306 -u root -p"),
        "{welcome}"
    );
    let unencrypted = "Unsafe:   listen: others on the network can read";
    assert_eq!(welcome.matches("Unsafe").count(), 1, "{welcome}");
    assert!(welcome.contains(unencrypted), "{welcome}");
}

#[test]
fn listening_for_other_machines_is_safe_where_logins_are_encrypted() {
    let given = ["--listen", "0.0.0.0:3306", "--require-secure-transport"];
    let encrypted = Stored {
        requires_tls: true,
        ..CLOSED
    };
    for (options, stored, warnings_count) in [
        (&given[..], encrypted, 0),
        (&given[..2], encrypted, 0),
        // OFF is persisted, and wins over the option.
        (&given[..], CLOSED, 1),
    ] {
        let config = config(&[options, &["--memory-limit=1GiB"]].concat(), &[]);
        let told = config.warnings(stored);
        assert_eq!(told.len(), warnings_count, "{options:?}: {told:?}");
        assert!(
            told.iter().all(|text| text.starts_with("listen: ")),
            "{told:?}"
        );
    }
}

/// What is unsafe, and the beginning of what is said of it; in the order in which it is said.
const UNSAFE: &[(&str, &str)] = &[
    ("--engine=memory", "engine=memory: "),
    ("--durability=async", "durability=async: "),
    ("--allow-full-scan=true", "allow-full-scan: "),
    ("--listen=0.0.0.0:3306", "listen: "),
    ("--http-listen=0.0.0.0:9104", "http-listen: "),
    ("--memory-limit=none", "memory-limit: "),
    ("--secure-file-priv=.", "secure-file-priv: "),
    ("--root-password=x", "root-password: "),
];

/// Their likes that are not.
const SAFE: &[&str] = &[
    "--engine=lsm",
    "--durability=sync",
    "--allow-full-scan=false",
    "--listen=127.0.0.2:3306",
    "--listen=[::1]:3306",
    "--http-listen=127.0.0.1:9104",
    "--http-listen=[::1]:9104",
    "--secure-file-priv=src",
    "--root-password=",
    "--require-secure-transport=true",
];

#[test]
fn each_unsafe_option_is_named_and_nothing_else() {
    // Also where the machine's memory cannot be learned.
    let warnings = |arguments: &[&str], variables: &[(&str, &str)], stored| {
        let limit = if arguments.contains(&"--memory-limit=none") {
            None
        } else {
            Some("--memory-limit=1GiB")
        };
        let arguments: Vec<&str> = arguments.iter().copied().chain(limit).collect();
        config(&arguments, variables).warnings(stored)
    };
    for (argument, begin) in UNSAFE {
        let told = warnings(&[argument], &[], CLOSED);
        assert!(
            told.len() == 1 && told[0].starts_with(begin),
            "{argument}: {told:?}"
        );
    }
    let scans = Stored {
        full_scans: true,
        ..CLOSED
    };
    let told = warnings(&[], &[], scans);
    assert!(
        told.len() == 1 && told[0].starts_with("sql_big_selects is persisted: "),
        "{told:?}"
    );
    assert_eq!(warnings(&["--allow-full-scan"], &[], scans).len(), 1);
    for argument in SAFE {
        assert_eq!(warnings(&[argument], &[], CLOSED), [""; 0], "{argument}");
    }
    // Others cannot read the environment of a process.
    let of_environment = [("MESETA_ROOT_PASSWORD", "x")];
    assert_eq!(warnings(&[], &of_environment, CLOSED), [""; 0]);
    // With no engine of files there is no durability to speak of, and no data among files.
    let arguments: Vec<&str> = UNSAFE.iter().map(|(argument, _)| *argument).collect();
    let told = warnings(&arguments, &[], OPEN);
    let begins = UNSAFE.iter().map(|(_, begin)| *begin);
    let of_files = ["durability", "secure-file-priv"];
    let begins = begins.filter(|begin| !of_files.iter().any(|of| begin.starts_with(of)));
    let begins: Vec<&str> = begins.chain(["root has no password: "]).collect();
    assert_eq!(told.len(), begins.len(), "{told:?}");
    for (told, begin) in told.iter().zip(begins) {
        assert!(told.starts_with(begin), "{told}");
    }
}

#[test]
fn a_limit_of_memory_beyond_the_machine_is_named() {
    let warnings = |limit: &str| config(&[limit], &[]).warnings(CLOSED);
    // Where the machine's memory cannot be learned nothing is known of it.
    let expected = usize::from(ceiling::memory_bytes().is_some());
    let told = warnings("--memory-limit=1000000GiB");
    assert_eq!(told.len(), expected, "{told:?}");
    let is_so = |told: &&str| told.starts_with("memory-limit: it is more than the machine has");
    assert!(told.iter().all(is_so), "{told:?}");
    assert_eq!(warnings("--memory-limit=512MiB"), [""; 0]);
}

#[test]
fn files_of_statements_and_of_the_server_lie_apart() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir_all(data.join("lsm")).unwrap();
    std::fs::create_dir(dir.path().join("files")).unwrap();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("files/up")).unwrap();
    let told_of = |files: &str| {
        let files = format!("--secure-file-priv={}/{files}", dir.path().display());
        let data = format!("--data-dir={}", data.display());
        let told = config(&[&files, &data, "--memory-limit=512MiB"], &[]).warnings(CLOSED);
        told.iter()
            .any(|told| told.starts_with("secure-file-priv: "))
    };
    for around in ["", "data", "files/..", "files/up", "files/up/data"] {
        assert!(told_of(around), "{around}");
    }
    // No server starts with the last.
    for apart in ["files", "data2", "data/../files", "data/lsm"] {
        assert!(!told_of(apart), "{apart}");
    }
}

#[test]
fn sizes_have_units() {
    assert_eq!(parse_bytes("4096"), Some(4096));
    assert_eq!(parse_bytes("64M"), Some(64 << 20));
    assert_eq!(parse_bytes("1 GiB"), Some(1 << 30));
    assert_eq!(parse_bytes("99999999999999999999"), None);
    assert_eq!(parse_bytes("18446744073709551615k"), None);
    assert_eq!(parse_bytes("k"), None);
}

#[test]
fn every_option_is_in_every_rendering_and_the_sample_is_a_file() {
    let help = printed(&["--help"]);
    let table = printed(&["--print-options-markdown"]);
    let sample = printed(&["--print-config-sample"]);
    for spec in ALL {
        assert!(help.contains(&format!("--{}", spec.name)), "{}", spec.name);
        assert!(table.contains(&spec.variable()), "{}", spec.name);
    }
    // Uncommented, each line is a valid one.
    let lines = sample.lines().filter(|line| line.contains(" = "));
    let file = lines.map(|line| &line[2..]).collect::<Vec<_>>().join("\n");
    let table: toml::Table = file.parse().unwrap();
    assert_eq!(table.len(), ALL.len() - 1);
}

/// What lies between two marks of the README.
fn readme_section(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (_, rest) = readme.split_once(&format!("<!-- {name} -->\n")).unwrap();
    let (section, _) = rest.split_once(&format!("<!-- /{name} -->")).unwrap();
    section.trim().to_owned()
}

#[test]
fn the_readme_shows_the_options_as_they_are() {
    assert_eq!(readme_section("options"), markdown().trim());
}

/// A row of the README's limits, `| what | most | error |`: what it says is the most.
fn readme_limit(limits: &str, what: &str) -> String {
    let start = format!("| {what} | ");
    let row = limits.lines().find_map(|line| line.strip_prefix(&start));
    let row = row.unwrap_or_else(|| panic!("no row for {what}"));
    row.split(" | ").next().unwrap().to_owned()
}

fn default_of(variable: &str) -> u64 {
    let variable = variables::ALL.iter().find(|one| one.name == variable);
    variable.unwrap().default.parse().unwrap()
}

fn with_unit(bytes: u64) -> String {
    match bytes {
        bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes => format!("{} KiB", bytes >> 10),
    }
}

#[test]
fn the_readme_says_what_async_may_lose() {
    let interval = lsm::Options::new("").async_sync_interval;
    let promise = format!("up to the last {} ms of", interval.as_millis());
    let readme = readme_section("durability");
    assert!(readme.contains(&promise), "{readme}");
}

fn lsm_limits() -> Limits {
    let dir = tempfile::tempdir().unwrap();
    let engine = Lsm::open(&lsm::Options::new(dir.path().join("data"))).unwrap();
    engine.limits()
}

#[test]
#[rustfmt::skip]
fn the_readme_shows_the_limits_as_they_are() {
    let limits = readme_section("limits");
    let bytes = |count: usize| with_unit(u64::try_from(count).unwrap());
    let variable = |name| with_unit(default_of(name));
    for (what, most) in [
        ("Columns of a table", ddl::COLUMNS_MAX.to_string()),
        ("Columns of a primary key", ddl::KEY_COLUMNS_MAX.to_string()),
        ("Indexes of a table", schema::INDEXES_MAX.to_string()),
        ("Columns of an index", ddl::KEY_COLUMNS_MAX.to_string()),
        ("Characters of a name", ddl::IDENTIFIER_CHARS_MAX.to_string()),
        ("Tables of a server", store::TABLES_MAX.to_string()),
        ("One key column, encoded", bytes(row::KEY_COLUMN_BYTES_MAX)),
        ("A whole key, encoded", bytes(row::KEY_BYTES_MAX)),
        ("One value", variable("max_value_bytes")),
        ("One row", bytes(row::ROW_BYTES_MAX)),
        ("Digits of a DECIMAL", DIGITS_MAX.to_string()),
        ("Digits of a DECIMAL after the point", SCALE_MAX.to_string()),
        ("Keys of a multi-get", default_of("multi_get_max_rows").to_string()),
        (
            "Rows of an unfiltered read, by its LIMIT",
            default_of("full_scan_limit_max").to_string(),
        ),
        ("Spans of a prefix scan", derive::SPANS_MAX.to_string()),
        ("Memory of a statement's sorts, groups and joins", variable("query_memory_bytes")),
        ("Rows a transaction may lock", ROW_LOCKS_MAX.to_string()),
        ("Writes of a transaction", bytes(lsm_limits().write_set_bytes_max)),
        ("Savepoints of a transaction", SAVEPOINTS_MAX.to_string()),
        ("Wait for a row lock", format!("{} s", default_of("innodb_lock_wait_timeout"))),
        ("`?` of a statement", parse::PARAMETERS_MAX.to_string()),
        ("Operators from the top of an expression to its leaf", parse::HEIGHT_MAX.to_string()),
        ("Nesting of parentheses and calls", parse::NESTING_MAX.to_string()),
        ("Result of a text function", bytes(functions::RESULT_BYTES_MAX)),
    ] {
        assert_eq!(readme_limit(&limits, what), most, "{what}");
    }
}
