//! The list of stock records that this server does not answer yet, one reason per line.
//!
//! A line is `FILE[:LINE] | PATTERN | REASON`: the end of the file's path (`*` stands for
//! anything at its end), a regular
//! expression that the statement must match (or `*`), and why.

use regex::Regex;

/// The parsed list.
#[derive(Debug, Default)]
pub(crate) struct OutOfScope {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    file: String,
    line: Option<u32>,
    pattern: Option<Regex>,
}

impl OutOfScope {
    /// Reads the list; an error names the line that is not of the form.
    pub(crate) fn parse(text: &str) -> Result<OutOfScope, String> {
        let mut entries = Vec::new();
        for line in text.lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            entries.push(Entry::parse(line).ok_or_else(|| format!("out-of-scope: {line}"))?);
        }
        Ok(OutOfScope { entries })
    }

    /// Whether a record is on the list.
    pub(crate) fn covers(&self, file: &str, line: u32, sql: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.covers(file, line, sql))
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        let mut fields = text.split(" | ").map(str::trim);
        let (place, pattern, reason) = (fields.next()?, fields.next()?, fields.next()?);
        if reason.is_empty() {
            return None;
        }
        let (file, line) = match place.rsplit_once(':') {
            Some((file, line)) => (file, Some(line.parse().ok()?)),
            None => (place, None),
        };
        let pattern = match pattern {
            "*" => None,
            pattern => Some(Regex::new(pattern).ok()?),
        };
        Some(Entry {
            file: file.to_owned(),
            line,
            pattern,
        })
    }

    fn covers(&self, file: &str, line: u32, sql: &str) -> bool {
        names(&self.file, file)
            && self.line.is_none_or(|at| at == line)
            && self.pattern.as_ref().is_none_or(|p| p.is_match(sql))
    }
}

/// Whether a place of the list names a file.
fn names(place: &str, file: &str) -> bool {
    match place.strip_suffix('*') {
        Some(directory) => file.contains(directory),
        None => file.ends_with(place),
    }
}
