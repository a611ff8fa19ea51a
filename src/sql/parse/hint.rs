//! Hints: `/*+ … */` behind a verb, in MySQL's and Lindorm's spelling.

use super::cursor::Parser;
use super::token::Kind;
use crate::sql::ast::Hint;

impl Parser<'_> {
    /// The hints of all `/*+ … */` here. What is no hint is left out: hints are never errors.
    pub(super) fn hints(&mut self) -> Vec<Hint> {
        let mut hints = Vec::new();
        while self.is(Kind::Hint) {
            let token = self.bump();
            let text = String::from_utf8_lossy(self.bytes(token)).into_owned();
            let text = text
                .get(3..text.len().saturating_sub(2))
                .unwrap_or_default();
            let mut rest = text.trim_start_matches(is_hint_gap);
            while let Some((hint, behind)) = hint(rest) {
                hints.push(hint);
                rest = behind.trim_start_matches(is_hint_gap);
            }
        }
        hints
    }
}
fn is_hint_gap(c: char) -> bool {
    c.is_whitespace() || c == ','
}

/// The hint at the start of `text`, and what is behind it.
fn hint(text: &str) -> Option<(Hint, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '$' | '`' | '.');
    let length = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(length)?;
    if name.is_empty() {
        let mut chars = text.chars();
        let stray = chars.next()?;
        let (name, args) = (stray.to_string(), Vec::new());
        return Some((Hint { name, args }, chars.as_str()));
    }
    let name = name.to_owned();
    let Some(inside) = rest.trim_start().strip_prefix('(') else {
        let args = Vec::new();
        return Some((Hint { name, args }, rest));
    };
    let (inside, behind) = inside.split_once(')').unwrap_or((inside, ""));
    let args = inside.split(',').map(|arg| {
        arg.trim()
            .trim_matches(|c| matches!(c, '\'' | '"' | '`'))
            .to_owned()
    });
    let args = args.filter(|arg| !arg.is_empty()).collect();
    Some((Hint { name, args }, behind))
}
