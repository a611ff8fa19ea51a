//! Everything that can be called, as it is shown: to `SHOW FUNCTIONS`, to the page
//! `docs/functions.md`, and to who misspelt a name.
//!
//! Functions and aggregates come from their registries. Only what has a grammar and a node of its
//! own ([`super::super::expr::ExprKind`]) and so no row in a registry is listed here.

use std::fmt::Write as _;
use std::sync::LazyLock;

use super::Category;
use crate::sql::aggregate::names;

/// One line of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The name, upper case.
    pub name: &'static str,
    /// The chapter it belongs to.
    pub category: Category,
    /// What stands between its parentheses.
    pub arguments: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
}

/// Forms of the grammar that look like functions.
const FORMS: &[Entry] = &[
    form(
        "CAST",
        (
            Category::Cast,
            "a AS type",
            "The value as one of another type.",
        ),
    ),
    form(
        "CONVERT",
        (
            Category::Cast,
            "a, type | a USING charset",
            "The value as one of another type, or the text in another character set.",
        ),
    ),
    form(
        "DATE_ADD",
        (
            Category::DateAndTime,
            "date, INTERVAL n unit",
            "The date later by an interval.",
        ),
    ),
    form(
        "DATE_SUB",
        (
            Category::DateAndTime,
            "date, INTERVAL n unit",
            "The date earlier by an interval.",
        ),
    ),
    form(
        "DEFAULT",
        (
            Category::Miscellaneous,
            "column",
            "The default of a column.",
        ),
    ),
    form(
        "MOD",
        (
            Category::Numeric,
            "x, y",
            "The remainder of a division: x % y.",
        ),
    ),
    form(
        "VALUES",
        (
            Category::Miscellaneous,
            "column",
            "In ON DUPLICATE KEY UPDATE: the value that was to be inserted.",
        ),
    ),
];

const fn form(
    name: &'static str,
    (category, arguments, doc): (Category, &'static str, &'static str),
) -> Entry {
    Entry {
        name,
        category,
        arguments,
        doc,
    }
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let functions = super::all().iter().map(|function| Entry {
        name: function.name,
        category: function.category,
        arguments: function.arguments,
        doc: function.doc,
    });
    let aggregates = names::ALL.iter().map(|aggregate| Entry {
        name: aggregate.name,
        category: Category::Aggregate,
        arguments: aggregate.arguments,
        doc: aggregate.doc,
    });
    let mut entries: Vec<Entry> = functions
        .chain(aggregates)
        .chain(FORMS.iter().copied())
        .collect();
    entries.sort_by_key(|entry| entry.name);
    entries
});

/// Everything that can be called, ordered by name.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// What MySQL 8.0 has and this server does not, and why.
const ABSENT: &[(&str, &str)] = &[
    (
        "AES_ENCRYPT, AES_DECRYPT",
        "No block cipher in MySQL's modes is among the libraries of this server.",
    ),
    (
        "ICU_VERSION",
        "There is no ICU here: regular expressions are those of Rust's `regex`, in linear time. A \
         version of a library that is not there would be a lie.",
    ),
    ("EXTRACTVALUE, UPDATEXML", "Nothing here reads XML."),
    (
        "ST_\\*, MBR\\*, POINT, POLYGON and the like",
        "There are no types of shapes.",
    ),
    (
        "GTID_\\*, WAIT_FOR_EXECUTED_GTID_SET, SOURCE_POS_WAIT, MASTER_POS_WAIT",
        "There is no replication by a binary log.",
    ),
    (
        "PS_CURRENT_THREAD_ID, PS_THREAD_ID",
        "A session is no thread here: CONNECTION_ID tells it.",
    ),
    ("ROLES_GRAPHML, VALIDATE_PASSWORD_STRENGTH", "Not offered."),
];

/// The page `docs/functions.md`.
pub fn page() -> String {
    let mut page = "# Functions\n\nMade from the registries in `src/sql/functions` and \
                    `src/sql/aggregate`; `SHOW FUNCTIONS [LIKE 'name%']` tells the\nsame. A test \
                    compares; `UPDATE_GOLDENS=1 cargo test --lib functions` writes this page anew.\n"
        .to_owned();
    for category in Category::ALL {
        // Writing to a String does not fail.
        let _ = write!(
            page,
            "\n## {}\n\n| function | result |\n|---|---|\n",
            category.title()
        );
        for entry in entries().iter().filter(|entry| entry.category == *category) {
            let arguments = entry.arguments.replace('|', "\\|");
            let doc = entry.doc.replace('|', "\\|");
            let _ = writeln!(page, "| `{}({arguments})` | {doc} |", entry.name);
        }
    }
    page.push_str("\n## Not here\n\n| functions of MySQL 8.0 | why not |\n|---|---|\n");
    for (names, why) in ABSENT {
        let _ = writeln!(page, "| {names} | {why} |");
    }
    page
}

/// The name most like `name`, for the text of error 1305; empty when none is much like it.
pub fn nearest(name: &str) -> &'static str {
    /// A slip of the hand is no longer: two letters that changed places.
    const DISTANCE_MAX: usize = 2;
    let wanted = name.to_ascii_uppercase();
    let distances = entries()
        .iter()
        .map(|entry| (edit_distance(entry.name, &wanted), entry.name));
    match distances.min() {
        Some((distance, name)) if distance <= DISTANCE_MAX.min(wanted.len() / 3) => name,
        Some(_) | None => "",
    }
}

/// How many letters must be put in, taken out or changed to make `b` of `a` (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (above, from) in a.chars().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        let mut next = vec![left];
        for (to, up) in b.chars().zip(row.iter().skip(1)) {
            left = (left + 1)
                .min(up + 1)
                .min(diagonal + usize::from(from != to));
            diagonal = *up;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
