//! What makes a table a wide one: columns that nobody declared (docs/wide.md).
//!
//! A *named* column is stored under its name, beside the type that its value was written with. It comes
//! from a statement that names it, or from an index that does; a *pattern* gives the names that match
//! it a type. Where no pattern matches, a table `WITH (DYNAMIC_COLUMNS='true')` takes the name with
//! values of any type.
//!
//! Statements are bound with a *widened* definition: the table's own columns, one for all cells under
//! names that the statement does not say, and one for each name that it says. So positions are fixed
//! before a row is read, and a write keeps the cells that it does not name. Not here: the bytes
//! (`codec::row`), and how names are met (`sql::bind`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::schema::{Column, Table};
use super::versions::{Reading, Versions};
use crate::codec::row::ColumnId;
use crate::error::Result;
use crate::types::ColumnType;

/// Bytes of the name of a column that is not declared. Longer than MySQL's 64 characters, as such
/// names often hold data; short enough that the names do not outweigh the values.
pub const NAME_BYTES_MAX: usize = 255;

/// The name of the column for all other names; no identifier can be this.
pub const OTHERS: &str = "\0others";

/// The name of the column that says when rows end; no identifier can be this.
const EXPIRY: &str = "\0expiry";

/// The table option that lets undeclared names in.
pub const DYNAMIC_COLUMNS: &str = "DYNAMIC_COLUMNS";

/// Where the values of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColumnPlace {
    /// In the key, or in the row under the column's id.
    #[default]
    Row,
    /// In the row under the column's name, which is in lower case.
    Named,
    /// All cells under names that no other column has, as a row of nothing else; `NULL` for none.
    /// Only in widened definitions.
    Others,
    /// In the row: when it ends, in milliseconds since 1970; `NULL` for never. Last of the columns that a
    /// table `WITH (TTL=…)` has when it gets that option.
    Expiry,
    /// In the row: its versions, as they are stored; `NULL` for a row that was written before the table
    /// kept any. Of a table that has had `WITH (VERSIONS=…)`.
    Versions,
    /// Nowhere: when the column was written whose name comes before [`super::versions::STAMP_SUFFIX`]. Only
    /// in widened definitions.
    Stamp,
}

/// A pattern of names, and the type of the columns that match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// `*` is any characters, `?` any one; others are themselves in either case.
    pub text: String,
    /// The type.
    pub ty: ColumnType,
}

/// The wide side of a definition.
#[derive(Debug, Clone, Default)]
pub struct Wide {
    /// Wildcard columns; no two of one length match one name.
    pub patterns: Vec<Pattern>,
    /// When rows end; `None` when they never did. The column for it is there when this is.
    pub ttl: Option<Ttl>,
    /// How many versions of each cell are kept; `None` when there never were any. The column for
    /// them is there when this is.
    pub versions: Option<Versions>,
    /// Which versions are read; only of the definition of one SELECT.
    pub reading: Option<Reading>,
    /// Of a widened definition: that of the catalog.
    pub origin: Option<Arc<Table>>,
}

/// When the rows of a table end: at the earliest of what is said here and by the statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ttl {
    /// So many seconds after they were written; 0 for not by themselves.
    pub seconds: Option<u64>,
    /// So long after what a column says.
    pub column: Option<TtlColumn>,
}

/// `TTL = column + INTERVAL amount unit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TtlColumn {
    /// A column of dates or times.
    pub id: ColumnId,
    /// How many units, at least one.
    pub amount: i64,
    /// The unit, as SQL writes it.
    pub unit: String,
}

/// Which columns what is stored under names belongs to.
#[derive(Debug)]
pub struct StoredNames<'t> {
    by_name: HashMap<Cow<'t, str>, usize>,
}

impl StoredNames<'_> {
    /// The position of the column of a name.
    pub fn idx(&self, name: &str) -> Option<usize> {
        self.by_name.get(&folded(name)).copied()
    }
}

/// A name in lower case, as most are already.
fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

impl Pattern {
    /// Whether a name in a list of columns is a pattern.
    pub fn is_one(name: &str) -> bool {
        name.contains(['*', '?'])
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().map(Glyph::folded).collect();
        let name: Vec<Glyph> = name.into_iter().map(Glyph::Char).collect();
        meet(&glyphs(&self.text), &name)
    }

    /// Whether some name matches both, and neither is longer: then it has no type.
    pub fn is_ambiguous_with(&self, other: &Pattern) -> bool {
        let (a, b) = (glyphs(&self.text), glyphs(&other.text));
        a.len() == b.len() && meet(&a, &b)
    }
}

/// One character of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glyph {
    Char(char),
    /// `?`.
    One,
    /// `*`.
    Any,
}

impl Glyph {
    fn folded(letter: char) -> char {
        letter.to_ascii_lowercase()
    }

    /// Whether some character is both.
    fn shares(self, other: Glyph) -> bool {
        match (self, other) {
            (Glyph::Char(a), Glyph::Char(b)) => a == b,
            (Glyph::Any, _) | (_, Glyph::Any) => false,
            (Glyph::One, _) | (_, Glyph::One) => true,
        }
    }
}

fn glyphs(pattern: &str) -> Vec<Glyph> {
    let glyph = |letter| match letter {
        '*' => Glyph::Any,
        '?' => Glyph::One,
        other => Glyph::Char(Glyph::folded(other)),
    };
    pattern.chars().map(glyph).collect()
}

/// Whether some text matches both patterns. `reached[j]` says that all before the current glyph of `a`
/// and the first j of `b` can match one text.
fn meet(a: &[Glyph], b: &[Glyph]) -> bool {
    let row_after = |before: Option<&[bool]>, glyph: Option<Glyph>| {
        let mut row: Vec<bool> = Vec::with_capacity(b.len() + 1);
        for j in 0..=b.len() {
            let at = |row: Option<&[bool]>, j: usize| {
                row.is_some_and(|row| row.get(j).copied().unwrap_or(false))
            };
            let left = j.checked_sub(1).and_then(|left| b.get(left)).copied();
            let from_left = j.checked_sub(1).is_some_and(|j| at(Some(&row), j));
            let from_both = j.checked_sub(1).is_some_and(|j| at(before, j));
            let begins = before.is_none() && j == 0;
            let own_any = glyph == Some(Glyph::Any);
            let other_any = left == Some(Glyph::Any);
            // `*` takes nothing, or one glyph more of the other side.
            let is_reached = begins
                || own_any && (at(before, j) || from_left)
                || other_any && (from_left || at(before, j))
                || glyph.zip(left).is_some_and(|(a, b)| a.shares(b)) && from_both;
            row.push(is_reached);
        }
        row
    };
    let mut row = row_after(None, None);
    for glyph in a {
        row = row_after(Some(&row), Some(*glyph));
    }
    row.last().copied().unwrap_or(false)
}

impl Table {
    /// Whether any name may be written.
    pub fn is_dynamic(&self) -> bool {
        let mut options = self.options.iter();
        options.any(|(name, value)| name == DYNAMIC_COLUMNS && value.eq_ignore_ascii_case("true"))
    }

    /// Whether rows may end by themselves.
    pub fn expires(&self) -> bool {
        self.wide.ttl.is_some()
    }

    /// Says when rows end. The first time the definition gets the column that says it of each row.
    ///
    /// # Errors
    /// An internal error when all ids of columns are used.
    pub fn set_ttl(&mut self, ttl: Ttl) -> Result<()> {
        if self.wide.ttl.replace(ttl).is_some() {
            return Ok(());
        }
        let id = self.next_column_id()?;
        self.add_columns([Column {
            place: ColumnPlace::Expiry,
            hidden: true,
            ..Column::new(id, EXPIRY, ColumnType::BIGINT_UNSIGNED)
        }]);
        Ok(())
    }

    /// Whether some undeclared names may be written.
    pub fn takes_names(&self) -> bool {
        !self.wide.patterns.is_empty() || self.is_dynamic()
    }

    /// Whether some undeclared names may be read.
    pub fn knows_names(&self) -> bool {
        self.takes_names() || self.wide.versions.is_some()
    }

    /// The type of a column that is not declared; `None` when there is no such column.
    pub fn named_type(&self, name: &str) -> Option<ColumnType> {
        if self.stamped(name).is_some() {
            return Some(ColumnType::BIGINT_UNSIGNED);
        }
        let matching = self.wide.patterns.iter().filter(|one| one.matches(name));
        let longest = matching.max_by_key(|one| one.text.chars().count());
        match longest {
            Some(pattern) => Some(pattern.ty.clone()),
            None => self.is_dynamic().then_some(ColumnType::Dynamic),
        }
    }

    /// The position of the column for all names that the definition does not have; only a widened
    /// one has it.
    pub fn others_idx(&self) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.place == ColumnPlace::Others)
    }

    /// The position of a column without declaration that this definition has.
    pub fn named_idx(&self, name: &str) -> Option<usize> {
        let is_it = |column: &Column| {
            matches!(column.place, ColumnPlace::Named | ColumnPlace::Stamp)
                && column.name.eq_ignore_ascii_case(name)
        };
        self.columns.iter().position(is_it)
    }

    /// Which columns what is stored under names belongs to. A time of writing is stored under none.
    pub fn stored_names(&self) -> StoredNames<'_> {
        let mut by_name = HashMap::with_capacity(self.columns.len());
        for (idx, column) in self.columns.iter().enumerate() {
            if column.place != ColumnPlace::Stamp {
                by_name.entry(folded(&column.name)).or_insert(idx);
            }
        }
        StoredNames { by_name }
    }

    /// Adds columns behind the others, and keeps what indexes compute behind all of them.
    pub fn add_columns(&mut self, columns: impl IntoIterator<Item = Column>) {
        let count = self.columns.len();
        self.columns.extend(columns);
        let added = self.columns.len() - count;
        for part in self.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            if count <= part.column_idx {
                part.column_idx += added;
            }
        }
    }

    /// A named column as a definition has it.
    pub fn named_column(&self, id: ColumnId, name: &str) -> Option<Column> {
        if let Some(stamp) = self.stamp_column(name) {
            return Some(stamp);
        }
        Some(Column {
            place: ColumnPlace::Named,
            hidden: true,
            ..Column::new(id, &name.to_ascii_lowercase(), self.named_type(name)?)
        })
    }
}

/// The definition that a statement is bound with which says these names.
pub fn widened(table: &Arc<Table>, names: &[String]) -> Arc<Table> {
    let mut wide = Table::clone(table);
    wide.wide.origin = Some(Arc::clone(table));
    // Named columns are not stored by their ids.
    let id = ColumnId(0);
    let others = Column {
        place: ColumnPlace::Others,
        hidden: true,
        ..Column::new(id, OTHERS, ColumnType::Varbinary { bytes_max: None })
    };
    let mut added = vec![others];
    for name in names {
        let is_new = |name: &str| {
            let is_it = |column: &Column| column.name.eq_ignore_ascii_case(name);
            table.named_idx(name).is_none() && !added.iter().any(is_it)
        };
        // When a column was written is asked of a column that is there.
        let stamped = table.stamped(name);
        let base = stamped.filter(|base| table.column_idx(base).is_none() && is_new(base));
        let new = Some(name.as_str()).filter(|name| is_new(name));
        let found = base.into_iter().chain(new);
        let found: Vec<Column> = found
            .filter_map(|name| table.named_column(id, name))
            .collect();
        added.extend(found);
    }
    if let Some(shadow) = &mut wide.shadow {
        Arc::make_mut(shadow).add_columns(added.clone());
    }
    wide.add_columns(added);
    Arc::new(wide)
}

/// Whether two definitions are one, widened or not.
pub fn is_same(a: &Arc<Table>, b: &Arc<Table>) -> bool {
    Arc::ptr_eq(origin(a), origin(b))
}

/// The definition of the catalog.
pub fn origin(table: &Arc<Table>) -> &Arc<Table> {
    table.wide.origin.as_ref().unwrap_or(table)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern {
            text: text.to_owned(),
            ty: ColumnType::VARCHAR,
        }
    }

    #[test]
    fn names_match_patterns() {
        let cases = [
            ("*_str", "a_str", true),
            ("*_str", "_STR", true),
            ("*_str", "a_str2", false),
            ("tag_?", "tag_1", true),
            ("tag_?", "tag_12", false),
            ("tag_?", "tag_", false),
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbY", false),
            ("?é*", "xé", true),
        ];
        for (text, name, expected) in cases {
            assert_eq!(pattern(text).matches(name), expected, "{text} {name}");
        }
    }

    #[test]
    fn patterns_of_one_length_that_share_a_name_are_ambiguous() {
        let cases = [
            ("a*", "*b", true),
            ("a*", "b*", false),
            ("a?", "a*", true),
            ("a?", "?b", true),
            ("a*", "A*", true),
            ("a*", "ab*", false),
            ("a*b", "a?b", true),
            ("x*y", "y*x", false),
        ];
        for (a, b, expected) in cases {
            assert_eq!(
                pattern(a).is_ambiguous_with(&pattern(b)),
                expected,
                "{a} {b}"
            );
            assert_eq!(
                pattern(b).is_ambiguous_with(&pattern(a)),
                expected,
                "{b} {a}"
            );
        }
    }

    proptest! {
        /// A text that both match is found wherever there is one of three letters.
        #[test]
        fn a_common_name_is_never_missed(a in "[ab?*]{1,4}", b in "[ab?*]{1,4}") {
            let (one, other) = (glyphs(&a), glyphs(&b));
            let mut texts = vec![String::new()];
            for _ in 0..6 {
                let longer: Vec<String> = texts
                    .iter()
                    .flat_map(|text| ["a", "b"].map(|letter| format!("{text}{letter}")))
                    .collect();
                texts.extend(longer);
                texts.sort();
                texts.dedup();
            }
            let both = texts
                .iter()
                .any(|text| pattern(&a).matches(text) && pattern(&b).matches(text));
            prop_assert_eq!(meet(&one, &other), both, "{} {}", a, b);
        }
    }
}
