//! The registry of lints, and those that a definition alone shows.
//!
//! A lint has a number, for programs, a name, for people, and one sentence. `CREATE TABLE`,
//! `CREATE INDEX` and `ALTER TABLE` tell those that are new with them as warnings; `ADVISE TABLE` tells
//! all, with what was seen.

use crate::catalog::{Index, KeyPart, Table};
use crate::error::Code;
use crate::exec::counters::Sequence;
use crate::types::ColumnType;

/// Columns of a primary key; each secondary index carries them all.
pub const KEY_COLUMNS_FEW: usize = 3;

/// Characters or bytes of a key column: a key is repeated in each entry of each index.
pub const KEY_CHARS_FEW: u32 = 255;

/// Indexes of a table: each write of a row may write as many entries.
pub const INDEXES_FEW: usize = 8;

macro_rules! lints {
    ($($variant:ident $code:ident $name:literal $advice:literal;)*) => {
        /// What may be worth a change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each is told by its sentence in the table")]
        pub enum Lint { $($variant,)* }

        impl Lint {
            /// All of them.
            pub const ALL: &'static [Lint] = &[$(Lint::$variant,)*];

            /// The number of its warning.
            pub fn code(self) -> Code {
                match self { $(Lint::$variant => Code::$code,)* }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Lint::$variant => $name,)* }
            }

            /// What it advises.
            pub fn advice(self) -> &'static str {
                match self { $(Lint::$variant => $advice,)* }
            }
        }
    };
}

lints! {
    RisingKey LintRisingKey "rising-key"
        "new rows all go to one end of the table: put a column with many values before it, or, in a primary key, bucket(c, 16) of it";
    FewValuesKey LintFewValuesKey "few-values-key"
        "the first key column has few values, so that a value alone finds a large part of the table: put one with many values first";
    WideKey LintWideKey "wide-key"
        "each entry of each index repeats the primary key: make it of fewer columns";
    LongKey LintLongKey "long-key"
        "each entry of each index repeats the primary key: use a shorter one, or a hash of it";
    CommonPrefixKey LintCommonPrefixKey "common-prefix-key"
        "all keys begin alike: leave the common part out, or put it behind";
    RedundantIndex LintRedundantIndex "redundant-index"
        "another key begins with the same columns and finds the same rows: DROP INDEX";
    ManyIndexes LintManyIndexes "many-indexes"
        "each write of a row writes an entry of each: drop those that are not read";
    NearConstantIndex LintNearConstantIndex "near-constant-index"
        "a value finds a large part of the table: put a column with many values first, or make it a partial index of the rare values";
    NearUniqueIndex LintNearUniqueIndex "near-unique-index"
        "nearly every row has a value of its own: a UNIQUE index would find it by one key";
    UnusedIndex LintUnusedIndex "unused-index"
        "no statement has read it since the server was started: ALTER INDEX … INACTIVE, and DROP INDEX if nobody misses it";
    LatestFirst LintLatestFirst "latest-first"
        "latest first is how it is read: declare its last column DESC, and that is a forward scan";
}

/// One lint about one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// Which.
    pub lint: Lint,
    /// What of the table, as `PRIMARY KEY` or `INDEX i`.
    pub subject: String,
    /// What was seen.
    pub evidence: String,
}

impl Advice {
    /// An advice.
    pub fn new(lint: Lint, subject: impl Into<String>, evidence: impl Into<String>) -> Advice {
        Advice {
            lint,
            subject: subject.into(),
            evidence: evidence.into(),
        }
    }

    /// The text of its warning.
    pub fn text(&self, table: &Table) -> String {
        format!(
            "{}: {} of table '{}': {}; {}",
            self.lint.name(),
            self.subject,
            table.name,
            self.evidence,
            self.lint.advice()
        )
    }
}

/// How advice names the primary key.
pub(super) const PRIMARY_KEY: &str = "PRIMARY KEY";

/// How advice names an index.
pub(super) fn subject(index: &Index) -> String {
    format!("INDEX {}", index.name)
}

/// What a definition alone shows.
pub fn of_definition(table: &Table) -> Vec<Advice> {
    let mut found = Vec::new();
    if !table.has_hidden_key() {
        of_key(table, &mut found);
    }
    for index in &table.indexes {
        of_index(table, index, &mut found);
    }
    if INDEXES_FEW < table.indexes.len() {
        let evidence = format!(
            "it has {} indexes, {INDEXES_FEW} are many",
            table.indexes.len()
        );
        found.push(Advice::new(Lint::ManyIndexes, "TABLE", evidence));
    }
    found
}

/// What a definition shows that is too common to be warned of: keys that grow at one end.
pub fn of_growth(table: &Table) -> Vec<Advice> {
    let mut found = Vec::new();
    let first = table.key.first().filter(|_| !table.has_hidden_key());
    let first = first.and_then(|part| table.columns.get(part.column_idx));
    if let Some(column) = first.filter(|_| Sequence::of(table).is_some())
        && column.auto_increment
    {
        let evidence = format!("its first column {} is counted up", column.name);
        found.push(Advice::new(Lint::RisingKey, PRIMARY_KEY, evidence));
    }
    for index in &table.indexes {
        let first = index.parts.first();
        let first = first.and_then(|part| index.column(table, part.column_idx));
        if let Some(column) = first.filter(|column| is_moment(&column.ty)) {
            let evidence = format!("its first column {} is of type {}", column.name, column.ty);
            found.push(Advice::new(Lint::RisingKey, subject(index), evidence));
        }
    }
    found
}

fn of_key(table: &Table, found: &mut Vec<Advice>) {
    let key = table.declared_key();
    let columns = key.iter();
    let columns = columns.filter_map(|part| table.columns.get(part.column_idx));
    // A spread part is there for such columns.
    let is_bare = table.spread().is_none();
    for (position, column) in columns.enumerate() {
        let leads = is_bare && position == 0;
        if leads && is_moment(&column.ty) {
            let evidence = format!("its first column {} is of type {}", column.name, column.ty);
            found.push(Advice::new(Lint::RisingKey, PRIMARY_KEY, evidence));
        }
        if leads && has_few_values(&column.ty) && 1 < key.len() {
            let evidence = format!("its first column {} is of type {}", column.name, column.ty);
            found.push(Advice::new(Lint::FewValuesKey, PRIMARY_KEY, evidence));
        }
        if let Some(length) = length(&column.ty).filter(|length| KEY_CHARS_FEW < *length) {
            let evidence = format!(
                "column {} may be {length} long, {KEY_CHARS_FEW} are many",
                column.name
            );
            found.push(Advice::new(Lint::LongKey, PRIMARY_KEY, evidence));
        }
    }
    if KEY_COLUMNS_FEW < key.len() {
        let evidence = format!(
            "it has {} columns, more than {KEY_COLUMNS_FEW} are many",
            key.len()
        );
        found.push(Advice::new(Lint::WideKey, PRIMARY_KEY, evidence));
    }
}

fn of_index(table: &Table, index: &Index, found: &mut Vec<Advice>) {
    if let Some(other) = covering(table, index) {
        let evidence = format!("its columns are the first of {other}");
        found.push(Advice::new(Lint::RedundantIndex, subject(index), evidence));
    }
    let first = index.parts.first();
    let first = first.and_then(|part| index.column(table, part.column_idx));
    if let Some(column) = first.filter(|column| has_few_values(&column.ty))
        && index.parts.len() == 1
        && index.computed.filter.is_none()
    {
        let evidence = format!("its only column {} is of type {}", column.name, column.ty);
        found.push(Advice::new(
            Lint::NearConstantIndex,
            subject(index),
            evidence,
        ));
    }
}

/// The key that finds what an index finds, if there is one.
fn covering(table: &Table, index: &Index) -> Option<String> {
    let is_plain = !index.unique && index.computed.is_empty();
    let is_bare = index.included(table).is_empty();
    if !is_plain || !is_bare {
        return None;
    }
    let begins = |parts: &[KeyPart]| parts.starts_with(&index.parts);
    if begins(&table.key) {
        return Some("the primary key".to_owned());
    }
    let others = table.indexes.iter().enumerate();
    let position = table
        .indexes
        .iter()
        .position(|other| other.id == index.id && other.name == index.name);
    let mut others = others.filter(|(at, other)| {
        let is_longer = index.parts.len() < other.parts.len();
        // Of two that are alike the later one is too many.
        let is_earlier = position.is_some_and(|position| *at < position);
        other.name != index.name
            && other.state.is_read()
            && other.computed.is_empty()
            && begins(&other.parts)
            && (is_longer || is_earlier || other.unique)
    });
    others
        .next()
        .map(|(_, other)| format!("index {}", other.name))
}

/// Whether new values are mostly greater than all others.
fn is_moment(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Date
            | ColumnType::Datetime { .. }
            | ColumnType::Timestamp { .. }
            | ColumnType::Year
    )
}

fn has_few_values(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Boolean | ColumnType::Enum(_))
}

/// The declared length of a string.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others have none")]
fn length(ty: &ColumnType) -> Option<u32> {
    match ty {
        ColumnType::Char { chars_max } => Some(*chars_max),
        ColumnType::Varchar { chars_max } => *chars_max,
        ColumnType::Binary { bytes } => Some(*bytes),
        ColumnType::Varbinary { bytes_max } => *bytes_max,
        _ => None,
    }
}
