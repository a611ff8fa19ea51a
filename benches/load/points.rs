//! Works that send one statement over and over: gets, multi-gets, INSERTs, UPDATEs. A hot file: nothing
//! may be allocated or locked per statement.

use std::cell::Cell;
use std::rc::Rc;

use crate::random::Random;
use crate::statement::{Parameter, Prepared};
use crate::traffic::{Plan, Source};
use crate::{BATCH_ROWS, Options, Work};

/// The inserted text of 100 bytes.
const TEXT: &[u8; 100] =
    b"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
/// Bytes of the text that [`Work::Update`] writes, as sysbench's column `c`.
const UPDATED_BYTES: usize = 119;

pub(crate) fn plan(options: &Options) -> Plan {
    let (work, rows) = (options.work, options.rows);
    let next_id = Rc::new(Cell::new(first_id()));
    Plan {
        statements: vec![statement_text(work)],
        source: Box::new(move |random| {
            Box::new(Points {
                work,
                rows,
                random,
                next_id: Rc::clone(&next_id),
            })
        }),
        items: Box::new(|| 0),
    }
}

/// Ids above all filled ones, different in every run on one server.
fn first_id() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(0)
}

struct Points {
    work: Work,
    rows: u64,
    random: Random,
    /// The next id to insert; unique per run by its start.
    next_id: Rc<Cell<i64>>,
}

impl Source for Points {
    fn next(&mut self, statements: &mut [Prepared], packet: &mut Vec<u8>) {
        let mut updated = [0; UPDATED_BYTES];
        let mut parameters: [Parameter<'_>; 3 * BATCH_ROWS as usize] =
            [Parameter::Integer(0); 3 * BATCH_ROWS as usize];
        let count = match self.work {
            Work::Point | Work::ByUnique | Work::ByIndex => {
                parameters[0] = Parameter::Integer(self.random_id());
                1
            }
            Work::MultiGet => {
                for parameter in &mut parameters[..BATCH_ROWS as usize] {
                    *parameter = Parameter::Integer(self.random_id());
                }
                BATCH_ROWS as usize
            }
            Work::Update => {
                self.random.digits(&mut updated);
                parameters[0] = Parameter::Text(&updated);
                parameters[1] = Parameter::Integer(self.random_id());
                2
            }
            Work::Insert => self.fill_rows(&mut parameters[..3]),
            Work::InsertIndexed => self.fill_indexed_row(&mut parameters),
            Work::InsertMany => self.fill_rows(&mut parameters),
            Work::FillPoints
            | Work::FillScan
            | Work::FillFacts
            | Work::FillNothing
            | Work::FillIndexed
            | Work::FillIndexedNothing
            | Work::FillSbtest
            | Work::FillYcsb
            | Work::FillLindorm
            | Work::Sql
            | Work::Query
            | Work::Repeat
            | Work::Scan
            | Work::ScanCovering
            | Work::Ycsb(_)
            | Work::Lindorm(_) => 0,
        };
        statements[0].execute(packet, &parameters[..count]);
    }
}

impl Points {
    fn random_id(&mut self) -> i64 {
        i64::try_from(self.random.below(self.rows)).unwrap_or(0)
    }

    fn next_id(&self) -> i64 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        id
    }

    fn fill_rows(&self, parameters: &mut [Parameter<'_>]) -> usize {
        for row in parameters.chunks_exact_mut(3) {
            let id = self.next_id();
            row[0] = Parameter::Integer(id);
            row[1] = Parameter::Integer(id % 1000);
            row[2] = Parameter::Text(TEXT);
        }
        parameters.len()
    }

    fn fill_indexed_row(&self, parameters: &mut [Parameter<'_>]) -> usize {
        let id = self.next_id();
        let row = [
            Parameter::Integer(id),
            Parameter::Integer(id % 1000),
            Parameter::Integer(id.wrapping_mul(2_654_435_761).rem_euclid(1_000_000)),
            Parameter::Integer(id / 1000),
            Parameter::Text(TEXT),
        ];
        parameters[..row.len()].copy_from_slice(&row);
        row.len()
    }
}

/// The text of a work that sends one statement; empty for the others.
pub(crate) fn statement_text(work: Work) -> String {
    let repeated = |item: &str| vec![item; BATCH_ROWS as usize].join(", ");
    match work {
        Work::Point => "SELECT c FROM points WHERE id = ?".to_owned(),
        Work::ByUnique => "SELECT c FROM indexed WHERE u = ?".to_owned(),
        Work::ByIndex => "SELECT c FROM indexed WHERE k = ?".to_owned(),
        Work::MultiGet => format!("SELECT id, c FROM points WHERE id IN ({})", repeated("?")),
        Work::Update => "UPDATE sbtest SET c = ? WHERE id = ?".to_owned(),
        Work::Insert => "INSERT INTO writes (id, k, c) VALUES (?, ?, ?)".to_owned(),
        Work::InsertMany => format!(
            "INSERT INTO writes (id, k, c) VALUES {}",
            repeated("(?, ?, ?)")
        ),
        Work::InsertIndexed => {
            "INSERT INTO indexed_writes (id, a, b, d, c) VALUES (?, ?, ?, ?, ?)".to_owned()
        }
        Work::Scan => "SELECT id, payload FROM scan WHERE k = 1".to_owned(),
        Work::ScanCovering => {
            "SELECT id, payload FROM scan FORCE INDEX (covering) WHERE k = 1".to_owned()
        }
        Work::FillPoints
        | Work::FillScan
        | Work::FillFacts
        | Work::FillNothing
        | Work::FillIndexed
        | Work::FillIndexedNothing
        | Work::FillSbtest
        | Work::FillYcsb
        | Work::FillLindorm
        | Work::Sql
        | Work::Query
        | Work::Repeat
        | Work::Ycsb(_)
        | Work::Lindorm(_) => String::new(),
    }
}
