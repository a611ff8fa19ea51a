//! The core workloads of YCSB, A to F, by the statements that go-ycsb sends to MySQL. A hot file: nothing
//! may be allocated or locked per statement.
//!
//! Sources: Cooper and others, "Benchmarking Cloud Serving Systems with YCSB", 2010, the workload files of
//! YCSB, and go-ycsb's `db/mysql/db.go` and `pkg/workload/core.go`: by default it names all fields of a row it
//! reads, in small letters, and its reads and scans force the primary key. An update writes one field.

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::rc::Rc;

use crate::Options;
use crate::random::{Random, Zipf, scattered};
use crate::statement::{Prepared, finish, put_integer, put_text};
use crate::traffic::{Plan, Source};

pub(crate) const FIELDS: usize = 10;
pub(crate) const FIELD_BYTES: usize = 100;
/// Rows of the longest scan; all lengths from one on are equally likely.
const SCAN_ROWS_MAX: u64 = 100;

/// Where the statements lie among those prepared; from the last on, an UPDATE for each field.
const READ: usize = 0;
const SCAN: usize = 1;
const INSERT: usize = 2;
const UPDATE: usize = 3;

/// One of the workloads: the percentages of what is done. What is left are reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mix {
    update: u64,
    insert: u64,
    scan: u64,
    /// Read, and then update what was read: one operation.
    modify: u64,
    /// Whether new rows are read the most, and not some rows anywhere.
    is_latest: bool,
}

impl Mix {
    pub(crate) fn named(name: &str) -> Option<Mix> {
        let read = Mix {
            update: 0,
            insert: 0,
            scan: 0,
            modify: 0,
            is_latest: false,
        };
        Some(match name {
            "a" => Mix { update: 50, ..read },
            "b" => Mix { update: 5, ..read },
            "c" => read,
            "d" => Mix {
                insert: 5,
                is_latest: true,
                ..read
            },
            "e" => Mix {
                insert: 5,
                scan: 95,
                ..read
            },
            "f" => Mix { modify: 50, ..read },
            _ => return None,
        })
    }
}

pub(crate) fn plan(options: &Options, mix: Mix) -> Plan {
    let mut statements = vec![
        select_text("YCSB_KEY = ?"),
        select_text("YCSB_KEY >= ? LIMIT ?"),
        insert_text(),
    ];
    statements.extend(
        (0..FIELDS).map(|field| format!("UPDATE usertable SET field{field}= ? WHERE YCSB_KEY = ?")),
    );
    let keys = Rc::new(Keys::new(options.rows.max(2)));
    let source_keys = Rc::clone(&keys);
    Plan {
        statements,
        source: Box::new(move |random| {
            Box::new(Ycsb {
                mix,
                keys: Rc::clone(&source_keys),
                random,
                doing: Doing::Else,
            })
        }),
        items: Box::new(move || keys.known()),
    }
}

fn select_text(condition: &str) -> String {
    let fields = field_names().join(",");
    format!("SELECT {fields} FROM usertable FORCE INDEX(`PRIMARY`) WHERE {condition}")
}

fn insert_text() -> String {
    let fields = field_names().join(" ,");
    let values = " ,?".repeat(FIELDS);
    format!("INSERT IGNORE INTO usertable (YCSB_KEY ,{fields}) VALUES (?{values})")
}

fn field_names() -> Vec<String> {
    (0..FIELDS).map(|field| format!("field{field}")).collect()
}

/// The numbers of the rows; all connections share them.
struct Keys {
    /// Rows when the run began.
    rows: u64,
    /// The number of the next row to insert.
    next: Cell<u64>,
    /// Rows whose INSERT is under way; as many as there are connections at the most.
    inserting: RefCell<Vec<u64>>,
    /// By how long ago a row was inserted.
    latest: RefCell<Zipf>,
    anywhere: Zipf,
}

impl Keys {
    fn new(rows: u64) -> Keys {
        Keys {
            rows,
            next: Cell::new(rows),
            inserting: RefCell::new(Vec::with_capacity(1024)),
            latest: RefCell::new(Zipf::new(rows)),
            anywhere: Zipf::wide(),
        }
    }

    /// All rows below are there.
    fn known(&self) -> u64 {
        let inserting = self.inserting.borrow();
        inserting.iter().copied().min().unwrap_or(self.next.get())
    }

    fn drawn(&self, random: &mut Random, is_latest: bool) -> u64 {
        if !is_latest {
            return self.anywhere.scrambled(random, self.rows);
        }
        let known = self.known();
        let mut latest = self.latest.borrow_mut();
        latest.grow(known);
        known - 1 - latest.draw(random).min(known - 1)
    }

    fn begin_insert(&self) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        self.inserting.borrow_mut().push(number);
        number
    }

    fn end_insert(&self, number: u64) {
        self.inserting.borrow_mut().retain(|&other| other != number);
    }
}

/// What must be remembered until the answer.
#[derive(Debug, Clone, Copy)]
enum Doing {
    /// Inserts the row of this number.
    Insert(u64),
    /// Has read the row of this number, to update it.
    Modify(u64),
    Else,
}

struct Ycsb {
    mix: Mix,
    keys: Rc<Keys>,
    random: Random,
    doing: Doing,
}

impl Source for Ycsb {
    fn next(&mut self, statements: &mut [Prepared], packet: &mut Vec<u8>) {
        if let Doing::Modify(number) = self.doing {
            self.doing = Doing::Else;
            return self.update(statements, packet, number);
        }
        let Mix {
            update,
            insert,
            scan,
            modify,
            is_latest,
        } = self.mix;
        let choice = self.random.below(100);
        if choice < insert {
            return self.insert(&mut statements[INSERT], packet);
        }
        let number = self.keys.drawn(&mut self.random, is_latest);
        if choice < insert + update {
            self.update(statements, packet, number);
        } else if choice < insert + update + scan {
            let length = 1 + self.random.below(SCAN_ROWS_MAX);
            statements[SCAN].begin(packet, [true, false].into_iter());
            put_key(packet, number);
            put_integer(packet, i64::try_from(length).unwrap_or(1));
        } else {
            statements[READ].begin(packet, [true].into_iter());
            put_key(packet, number);
            if choice < insert + update + scan + modify {
                self.doing = Doing::Modify(number);
            }
        }
        finish(packet);
    }

    fn answered(&mut self) -> bool {
        match self.doing {
            Doing::Insert(number) => {
                self.keys.end_insert(number);
                self.doing = Doing::Else;
                true
            }
            Doing::Modify(_) => false,
            Doing::Else => true,
        }
    }
}

impl Ycsb {
    fn update(&mut self, statements: &mut [Prepared], packet: &mut Vec<u8>, number: u64) {
        let field = usize::try_from(self.random.below(FIELDS as u64)).unwrap_or(0);
        statements[UPDATE + field].begin(packet, [true, true].into_iter());
        self.put_field(packet);
        put_key(packet, number);
        finish(packet);
    }

    fn insert(&mut self, statement: &mut Prepared, packet: &mut Vec<u8>) {
        let number = self.keys.begin_insert();
        self.doing = Doing::Insert(number);
        statement.begin(packet, [true; 1 + FIELDS].into_iter());
        put_key(packet, number);
        for _ in 0..FIELDS {
            self.put_field(packet);
        }
        finish(packet);
    }

    fn put_field(&mut self, packet: &mut Vec<u8>) {
        let mut text = [0; FIELD_BYTES];
        self.random.letters(&mut text);
        put_text(packet, &text);
    }
}

fn put_key(packet: &mut Vec<u8>, number: u64) {
    let mut text = [0; 24];
    let mut rest = &mut text[..];
    let _ = write!(rest, "user{}", scattered(number));
    let size = 24 - rest.len();
    put_text(packet, &text[..size]);
}

/// The table, for the filling.
pub(crate) fn create_text() -> String {
    let fields: Vec<_> = (0..FIELDS)
        .map(|field| format!("FIELD{field} VARCHAR({FIELD_BYTES})"))
        .collect();
    format!(
        "CREATE TABLE usertable (YCSB_KEY VARCHAR(64) PRIMARY KEY, {})",
        fields.join(", ")
    )
}
