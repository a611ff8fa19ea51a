//! Passwords in texts of statements, which others may see: in SHOW PROCESSLIST, in samples of digests, in
//! the slow query log.
//!
//! ```text
//! CREATE USER a IDENTIFIED BY 'x'             CREATE USER a IDENTIFIED <secret>
//! CHANGE MASTER TO MASTER_PASSWORD='x', …     CHANGE MASTER TO MASTER_PASSWORD <secret>
//! SELECT password FROM users                  as it is: rows are read and written by those who may
//! ```
//!
//! Where a statement was parsed its kind tells whether one may be in it ([`may_have`]). A text of which that
//! is not known, or that was cut, is looked at word by word ([`hidden`]): what is not known to hold none may
//! hold one.

use crate::sql::ast::Statement;
use crate::sql::parse;

/// Words that a password comes behind.
const SECRET_WORDS: &[&str] = &["identified", "password"];

/// First words of statements that hold no password.
const HARMLESS: &[&str] = &[
    "advise",
    "analyze",
    "begin",
    "call",
    "check",
    "commit",
    "delete",
    "desc",
    "describe",
    "do",
    "drop",
    "explain",
    "flush",
    "help",
    "insert",
    "kill",
    "load",
    "lock",
    "optimize",
    "purge",
    "release",
    "rename",
    "repair",
    "replace",
    "rollback",
    "savepoint",
    "select",
    "show",
    "table",
    "truncate",
    "undrop",
    "unlock",
    "update",
    "upsert",
    "use",
    "values",
    "with",
];

/// First words of those that hold none when they are about one of [`HARMLESS_OBJECTS`].
const DEFINING: &[&str] = &["alter", "create"];

const HARMLESS_OBJECTS: &[&str] = &["database", "index", "schema", "table", "view"];

/// What stands between both.
const MODIFIERS: &[&str] = &[
    "fulltext",
    "or",
    "replace",
    "spatial",
    "temporary",
    "unique",
];

/// Whether a password may be in the text of a statement.
pub(super) fn may_have(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Account(_)
            | Statement::Set(_)
            | Statement::Prepare(_)
            | Statement::Unsupported { .. }
    )
}

/// The text of a statement that may have one: it ends where it may come.
pub(super) fn cut(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let found = SECRET_WORDS.iter().filter_map(|word| {
        let at = lower.find(word)?;
        Some(at + word.len())
    });
    match found.min().and_then(|end| text.get(..end)) {
        Some(shown) => format!("{shown} <secret>"),
        None => text.to_owned(),
    }
}

/// A text of any statements, as far as others may see it. Whatever stands behind a semicolon may be one.
pub(super) fn hidden(text: &str) -> String {
    let mut begin = 0;
    for part in text.split(';') {
        if !is_harmless(part) {
            break;
        }
        begin += part.len() + 1;
    }
    match (text.get(..begin), text.get(begin..)) {
        (Some(harmless), Some(rest)) => format!("{harmless}{}", cut(rest)),
        // There is no semicolon behind the last.
        _ => text.to_owned(),
    }
}

fn is_harmless(part: &str) -> bool {
    let mut words = Words(part);
    let Some(first) = words.next() else {
        return words.0.is_empty();
    };
    if DEFINING.contains(&first.as_str()) {
        let object = words.find(|word| !MODIFIERS.contains(&word.as_str()));
        return object.is_some_and(|word| HARMLESS_OBJECTS.contains(&word.as_str()));
    }
    HARMLESS.contains(&first.as_str())
}

/// The first words of a text, in small letters, without white space, comments and parentheses; ends at
/// anything else.
struct Words<'a>(&'a str);

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while let Some(rest) = without_filling(self.0) {
            self.0 = rest;
        }
        let is_part = |one: char| one.is_alphanumeric() || one == '_';
        let end = self.0.find(|one| !is_part(one)).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then(|| word.to_ascii_lowercase())
    }
}

/// What stands behind white space, a comment or a parenthesis; `None` when nothing of it comes first.
fn without_filling(text: &str) -> Option<&str> {
    let trimmed = text.trim_start();
    if trimmed.len() < text.len() {
        return Some(trimmed);
    }
    // The inside of `/*! … */` is run; that of `/*!99999 … */` is not, and what is then is not looked for.
    if let Some(rest) = text.strip_prefix("/*!") {
        let inside = rest.trim_start_matches(|one: char| one.is_ascii_digit());
        let version = rest.strip_suffix(inside).unwrap_or_default();
        let is_run = version
            .parse()
            .map_or(version.is_empty(), |version: u32| version <= parse::VERSION);
        return is_run.then_some(inside);
    }
    if let Some(rest) = text.strip_prefix("/*") {
        return rest.split_once("*/").map(|(_, rest)| rest);
    }
    if text.starts_with("--") || text.starts_with('#') {
        return text.split_once('\n').map(|(_, rest)| rest);
    }
    text.strip_prefix("*/").or_else(|| text.strip_prefix('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts, and what others see of them.
    const WITH: &[(&str, &str)] = &[
        (
            "CREATE USER a IDENTIFIED BY 'x'",
            "CREATE USER a IDENTIFIED <secret>",
        ),
        (
            "alter user a identified with p as 'x'",
            "alter user a identified <secret>",
        ),
        ("SET PASSWORD = 'x'", "SET PASSWORD <secret>"),
        (
            "/* c */ SET PASSWORD = 'x'",
            "/* c */ SET PASSWORD <secret>",
        ),
        (
            "/*!50000 CREATE */ /* c */ USER a IDENTIFIED BY 'x'",
            "/*!50000 CREATE */ /* c */ USER a IDENTIFIED <secret>",
        ),
        (
            "/*!99999 SELECT */ SET PASSWORD = 'x'",
            "/*!99999 SELECT */ SET PASSWORD <secret>",
        ),
        (
            "CREATE /*!99999 TABLE */ USER a IDENTIFIED BY 'x'",
            "CREATE /*!99999 TABLE */ USER a IDENTIFIED <secret>",
        ),
        (
            "/* a;b */ SET PASSWORD = 'x'",
            "/* a;b */ SET PASSWORD <secret>",
        ),
        (
            "-- a;b\nSET PASSWORD = 'x'",
            "-- a;b\nSET PASSWORD <secret>",
        ),
        (
            "DO 1; CREATE USER `a;b` IDENTIFIED BY 'x'",
            "DO 1; CREATE USER `a;b` IDENTIFIED <secret>",
        ),
        (
            "CHANGE MASTER TO MASTER_USER='u', MASTER_PASSWORD='x'",
            "CHANGE MASTER TO MASTER_USER='u', MASTER_PASSWORD <secret>",
        ),
        (
            "START REPLICA USER='u' PASSWORD='x'",
            "START REPLICA USER='u' PASSWORD <secret>",
        ),
        (
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'x')",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD <secret>",
        ),
        (
            "GRANT USAGE ON *.* TO u IDENTIFIED BY 'x'",
            "GRANT USAGE ON *.* TO u IDENTIFIED <secret>",
        ),
        (
            "PREPARE s FROM 'SET PASSWORD = ''x'''",
            "PREPARE s FROM 'SET PASSWORD <secret>",
        ),
        (
            "SELECT password; SELECT 1;\nSET PASSWORD = 'x'",
            "SELECT password; SELECT 1;\nSET PASSWORD <secret>",
        ),
    ];

    const WITHOUT: &[&str] = &[
        "",
        ";",
        "SELECT password FROM t",
        "SELECT password FROM t;",
        "/* c */ SELECT password_hash FROM t",
        "-- c\nSELECT password_hash FROM t",
        "# c\n(SELECT password_hash FROM t) UNION SELECT 1",
        "CREATE TABLE users (a INT PRIMARY KEY, password TEXT)",
        "CREATE TEMPORARY TABLE users (password TEXT)",
        "CREATE OR REPLACE VIEW v AS SELECT password FROM users",
        "ALTER TABLE users ADD password TEXT",
        "CREATE UNIQUE INDEX password ON users (password)",
        "UPDATE users SET password = 'y'",
        "SET NAMES utf8mb4",
    ];

    #[test]
    fn passwords_are_hidden_and_nothing_else() {
        for (text, shown) in WITH {
            assert_eq!(hidden(text), *shown);
            assert!(!shown.contains("'x"), "{text}");
        }
        for text in WITHOUT {
            assert_eq!(hidden(text), *text);
        }
    }
}
