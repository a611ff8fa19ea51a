//! `INSERT INTO t SELECT * FROM u` for a server that does not have it: the rows are read and sent
//! back as `VALUES`. The stock files about indexes fill their tables in this way.

use crate::client::{Failure, Rows};

/// "This version doesn't yet support".
const UNSUPPORTED: u16 = 1235;

/// A statement that copies a whole table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Copy<'a> {
    into: &'a str,
    from: &'a str,
}

impl<'a> Copy<'a> {
    /// The copy that a refused statement asks for.
    pub(crate) fn of(sql: &'a str, failure: &Failure) -> Option<Copy<'a>> {
        let Failure::Server {
            errno: UNSUPPORTED, ..
        } = failure
        else {
            return None;
        };
        let (into, from) = sql
            .strip_prefix("INSERT INTO ")?
            .split_once(" SELECT * FROM ")?;
        Some(Copy { into, from })
    }

    /// Reads the rows.
    pub(crate) fn select(&self) -> String {
        format!(
            "SELECT /*+ _l_allow_filtering_ */ * FROM {} ORDER BY 1",
            self.from
        )
    }

    /// Writes them; numbers are taken from text as they are.
    pub(crate) fn insert(&self, rows: &Rows) -> String {
        let literal = |cell: &Option<Vec<u8>>| match cell {
            None => "NULL".to_owned(),
            Some(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
            }
        };
        let tuples: Vec<String> = rows
            .cells
            .chunks(rows.columns_count.max(1))
            .map(|row| {
                let values: Vec<String> = row.iter().map(literal).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        format!("INSERT INTO {} VALUES {}", self.into, tuples.join(", "))
    }
}
