//! What a statement asks of how its rows are read and written, beside what they are.

/// The hints that a statement may carry.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// `_l_allow_filtering_`.
    pub allow_filtering: bool,
    /// `SQL_NO_CACHE`: reading a whole table, and nothing else, is what is meant.
    pub reads_whole: bool,
    /// `MAX_EXECUTION_TIME(ms)` or `_l_operation_timeout_(ms)`.
    pub timeout_ms: Option<u64>,
    /// `FORCE INDEX`, `USE INDEX`, `_l_force_index_`: no other index is read, and the primary key
    /// only when none of these can be; `None` when no hint names one.
    pub indexes_named: Option<Vec<KeyRef>>,
    /// `IGNORE INDEX`, `_l_ignore_index_`.
    pub indexes_ignored: Vec<KeyRef>,
    /// `_l_ttl_(ms)`: when the rows that are written end, counted from now.
    pub ttl_ms: Option<u64>,
    /// `_l_ts_(ms)` of a statement that writes: how what is written is dated.
    pub ts_ms: Option<u64>,
    /// Hints that were not understood, for warnings.
    pub unknown: Vec<String>,
    /// The verb that they stand behind.
    pub purpose: Purpose,
}

/// What the rows are read for: decides the errno of a refusal, and where it says that a hint may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// SELECT: error 1104.
    #[default]
    Select,
    /// UPDATE: error 1175.
    Update,
    /// DELETE: error 1175.
    Delete,
}

/// A key of the statement's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRef {
    /// The primary key.
    Primary,
    /// The index at this position in `Table::indexes`.
    Index(usize),
}

impl Hints {
    /// Whether a hint names a key.
    pub fn name_keys(&self) -> bool {
        self.indexes_named.is_some() || !self.indexes_ignored.is_empty()
    }

    /// Whether a hint may lead away from the primary key where a condition gives all of it: `FORCE INDEX (PRIMARY)`, which
    /// some clients write behind each table, does not.
    pub fn may_leave_primary(&self) -> bool {
        let named = self.indexes_named.as_deref();
        let is_primary = named.is_none_or(|named| named == [KeyRef::Primary]);
        !is_primary || !self.indexes_ignored.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mechanism: go-ycsb names the primary key behind each table, and all of its reads were planned at length.
    #[test]
    fn a_hint_that_names_the_primary_key_leads_nowhere_else() {
        use KeyRef::{Index, Primary};
        for (named, ignored, may_leave) in [
            (None, vec![], false),
            (Some(vec![Primary]), vec![], false),
            (Some(vec![]), vec![], true),
            (Some(vec![Index(0)]), vec![], true),
            (Some(vec![Primary, Index(0)]), vec![], true),
            (None, vec![Primary], true),
            (Some(vec![Primary]), vec![Index(0)], true),
        ] {
            let hints = Hints {
                indexes_named: named,
                indexes_ignored: ignored,
                ..Hints::default()
            };
            assert_eq!(hints.may_leave_primary(), may_leave, "{hints:?}");
        }
    }
}
