//! What Lindorm publishes figures of: rows of 20 columns with 20 bytes each, any row as likely as another; one
//! row read, 50 from a key on, one row written, 100 at once. A hot file: nothing may be allocated or
//! locked per statement.
//!
//! Source: Alibaba Cloud, Lindorm, "Benchmark methods" (YCSB with `fieldcount=20`, `fieldlength=20`,
//! `requestdistribution=uniform`). Rows are read and written whole; the table does not grow, so that repeats
//! find it alike.

use std::io::Write as _;

use crate::random::{Random, scattered};
use crate::statement::{Prepared, finish, put_text};
use crate::traffic::{Plan, Source};
use crate::{BATCH_ROWS, Options};

pub(crate) const COLUMNS: usize = 20;
pub(crate) const COLUMN_BYTES: usize = 20;
const RANGE_ROWS: u32 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Get,
    Range,
    Put,
    BatchPut,
}

impl Kind {
    pub(crate) fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "get" => Kind::Get,
            "range" => Kind::Range,
            "put" => Kind::Put,
            "batch-put" => Kind::BatchPut,
            _ => return None,
        })
    }

    /// Rows that one statement writes.
    fn written_rows(self) -> usize {
        match self {
            Kind::Get | Kind::Range => 0,
            Kind::Put => 1,
            Kind::BatchPut => BATCH_ROWS as usize,
        }
    }

    fn statement_text(self, verb: &str) -> String {
        match self {
            Kind::Get => "SELECT * FROM lindorm WHERE id = ?".to_owned(),
            Kind::Range => format!("SELECT * FROM lindorm WHERE id >= ? LIMIT {RANGE_ROWS}"),
            Kind::Put | Kind::BatchPut => {
                let columns: Vec<_> = (0..COLUMNS).map(|column| format!("c{column}")).collect();
                let columns = columns.join(", ");
                let row = format!("(?{})", ", ?".repeat(COLUMNS));
                let rows = vec![row; self.written_rows()].join(", ");
                format!("{verb} INTO lindorm (id, {columns}) VALUES {rows}")
            }
        }
    }
}

pub(crate) fn plan(options: &Options, kind: Kind) -> Plan {
    let rows = options.rows;
    Plan {
        statements: vec![kind.statement_text(&options.put)],
        source: Box::new(move |random| Box::new(Lindorm { kind, rows, random })),
        items: Box::new(|| 0),
    }
}

struct Lindorm {
    kind: Kind,
    rows: u64,
    random: Random,
}

impl Source for Lindorm {
    fn next(&mut self, statements: &mut [Prepared], packet: &mut Vec<u8>) {
        let written = self.kind.written_rows();
        if written == 0 {
            statements[0].begin(packet, [true].into_iter());
            put_key(packet, self.random.below(self.rows));
            return finish(packet);
        }
        statements[0].begin(packet, (0..written * (1 + COLUMNS)).map(|_| true));
        // Rows of neighbouring numbers, whose keys lie anywhere: all batches lock in one order, so that none
        // waits for another in a ring.
        let first = self.random.below(self.rows);
        for number in (first..).take(written) {
            put_key(packet, number % self.rows.max(1));
            for _ in 0..COLUMNS {
                let mut text = [0; COLUMN_BYTES];
                self.random.letters(&mut text);
                put_text(packet, &text);
            }
        }
        finish(packet);
    }
}

fn put_key(packet: &mut Vec<u8>, number: u64) {
    let mut text = [0; 24];
    let mut rest = &mut text[..];
    let _ = write!(rest, "user{:019}", scattered(number));
    let size = 24 - rest.len();
    put_text(packet, &text[..size]);
}

/// The table, for the filling.
pub(crate) fn create_text() -> String {
    let columns: Vec<_> = (0..COLUMNS)
        .map(|column| format!("c{column} VARCHAR({COLUMN_BYTES})"))
        .collect();
    format!(
        "CREATE TABLE lindorm (id VARCHAR(32) PRIMARY KEY, {})",
        columns.join(", ")
    )
}
