//! What clippy cannot check: the order of the rooms, the heads and lengths of files, words that
//! must not appear. The rank list here is the one the guide in `lib.rs` explains.

#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms in rank order; rooms of one rank stand in one entry. A file may import from its own
/// room and from entries above it.
const RANKS: &[&[&str]] = &[
    &["error", "leisure", "program", "tally"],
    &["ceiling", "types"],
    &["codec", "kv"],
    &["catalog", "protocol"],
    &["accounts"],
    &["index"],
    &["sql"],
    &["plan"],
    &["exec"],
    &["advisor", "upkeep"],
    &["session"],
    &["server"],
    &["config"],
    &["main"],
];

/// Lines of a file without its tests.
const FILE_LINES_MAX: usize = 500;

/// Files that may be longer, because they are lists and not logic.
const LISTS: &[&str] = &[
    "error.rs",
    "config/options.rs",
    "session/variables/registry.rs",
];

/// Lines of `main.rs`.
const MAIN_LINES_MAX: usize = 80;

/// Words that hide something from the reader.
const FORBIDDEN: &[&str] = &[
    "TODO(#)",
    "FIXME",
    "XXX",
    "todo!(",
    "unimplemented!(",
    "dbg!(",
    "#[ignore",
    "#[should_panic",
];

fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    let named = files.into_iter().map(|path| {
        let name = path
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        (name, fs::read_to_string(&path).unwrap())
    });
    named.collect()
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn is_test_file(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.contains("test")
        || name.contains("/tests/")
        || name.contains("/testing/")
        || file == "tidy.rs"
}

fn room_of(name: &str) -> &str {
    name.split('/')
        .next()
        .unwrap_or(name)
        .trim_end_matches(".rs")
}

fn rank_of(room: &str) -> Option<usize> {
    RANKS.iter().position(|rooms| rooms.contains(&room))
}

/// The text of a file up to its tests module, if that is in the file.
fn without_tests(text: &str) -> &str {
    const HEAD: &str = "#[cfg(test)]\nmod ";
    let has_body = |at: usize| {
        let line = text[at + HEAD.len()..].lines().next();
        line.is_some_and(|line| line.ends_with('{'))
    };
    let mut heads = text.match_indices(HEAD).map(|(at, _)| at);
    let own = heads.find(|at| has_body(*at));
    own.map_or(text, |at| &text[..at])
}

fn report(what: &str, mut found: Vec<String>) {
    found.sort();
    found.dedup();
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

#[test]
fn rooms_import_only_from_lower_ranks() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let room = room_of(&name);
        let Some(own) = rank_of(room) else { continue };
        if is_test_file(&name) {
            continue;
        }
        for part in without_tests(&text).split("crate::").skip(1) {
            let other: String = part
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let Some(rank) = rank_of(&other) else {
                continue;
            };
            if other != room && own <= rank {
                wrong.push(format!("{name} (rank {own}) imports {other} (rank {rank})"));
            }
        }
    }
    report("imports against the order of the rooms", wrong);
}

#[test]
fn every_room_has_a_rank() {
    let unknown = sources()
        .into_iter()
        .map(|(name, _)| room_of(&name).to_owned());
    let unknown = unknown.filter(|room| rank_of(room).is_none() && room != "lib" && room != "tidy");
    report("rooms without rank", unknown.collect());
}

#[test]
fn every_file_opens_with_what_it_is() {
    let bare = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "));
    report(
        "files without a `//!` head",
        bare.map(|(name, _)| name).collect(),
    );
}

#[test]
fn files_fit_a_reading() {
    let mut long = Vec::new();
    for (name, text) in sources() {
        let lines = without_tests(&text).lines().count();
        let max = if name == "main.rs" {
            MAIN_LINES_MAX
        } else {
            FILE_LINES_MAX
        };
        if max < lines && !is_test_file(&name) && !LISTS.contains(&name.as_str()) {
            long.push(format!("{name}: {lines} lines, the most is {max}"));
        }
    }
    report("files that are too long", long);
}

#[test]
fn forbidden_words_do_not_appear() {
    let mut found = Vec::new();
    for (name, text) in sources().into_iter().filter(|(name, _)| name != "tidy.rs") {
        for word in FORBIDDEN.iter().filter(|word| text.contains(**word)) {
            found.push(format!("{name}: {word}"));
        }
    }
    report("forbidden words", found);
}

/// Only the owners of a format may name what it is made of.
#[test]
fn owners_keep_their_secrets() {
    let mut leaks = Vec::new();
    for (name, text) in sources()
        .into_iter()
        .filter(|(name, _)| !is_test_file(name))
    {
        let secrets: [(&str, &str); 3] = [
            ("fjall::", "kv/"),
            ("lsm_tree::", "kv/"),
            ("regex::", "sql/"),
        ];
        for (secret, owner) in secrets {
            if text.contains(secret) && !name.starts_with(owner) {
                leaks.push(format!("{name} names {secret}, which belongs to {owner}"));
            }
        }
    }
    report("secrets outside their rooms", leaks);
}

#[test]
fn every_golden_is_read_by_a_test() {
    let texts: Vec<String> = sources().into_iter().map(|(_, text)| text).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut unread = Vec::new();
    for room in fs::read_dir(&root).unwrap() {
        let testdata = room.unwrap().path().join("testdata");
        let Ok(families) = fs::read_dir(&testdata) else {
            continue;
        };
        for family in families {
            let name = family.unwrap().file_name().to_string_lossy().into_owned();
            if !texts
                .iter()
                .any(|text| text.contains("testdata") && text.contains(&name))
            {
                unread.push(format!("{}/{name}", testdata.display()));
            }
        }
    }
    report("testdata that no test reads", unread);
}
