//! The tables that statements find without making them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use meseta::catalog::Table;
use meseta::error::{Code, Error, Result};
use meseta::exec::ddl;
use meseta::sql::ast::Statement;
use meseta::sql::bind::FindTable;
use meseta::sql::parse;

use crate::front::Front;

/// The current database.
pub const DATABASE: &str = "test";

/// Keys and indexes of one and of many parts, in both directions, and every type of column.
const DEFINITIONS: [&str; 4] = [
    "CREATE TABLE orders (channel VARCHAR(20), id VARCHAR(20), ts BIGINT, status VARCHAR(10), \
     location VARCHAR(20), PRIMARY KEY (channel, id, ts))",
    "CREATE TABLE t (a INT, b INT UNSIGNED, c VARCHAR(10), d DATETIME(3), x INT, y TEXT, \
     z DECIMAL(10,2), PRIMARY KEY (a, b DESC, c, d DESC), KEY tx (x, c DESC), UNIQUE KEY tz (z, a) \
     INCLUDE (y), KEY ty (y(3) DESC, x), KEY te ((a + b), (LOWER(c))), KEY tp (x) WHERE c = 'a' AND \
     x > 3)",
    "CREATE TABLE u (id BIGINT AUTO_INCREMENT PRIMARY KEY, bo BOOLEAN, ti TINYINT UNSIGNED, \
     f FLOAT, g DOUBLE, n DECIMAL(38,30), ch CHAR(4) NOT NULL DEFAULT 'x', bi BINARY(4), \
     vb VARBINARY(8), bl BLOB, da DATE, tm TIME(6), dt DATETIME DEFAULT CURRENT_TIMESTAMP ON \
     UPDATE CURRENT_TIMESTAMP, ts TIMESTAMP(6) NULL, ye YEAR, js JSON, en ENUM('red','green'), \
     UNIQUE KEY (ch, ts), KEY (dt DESC) INCLUDE ALL)",
    "CREATE TABLE v (n DECIMAL(5,1), f DOUBLE, ts TIMESTAMP, tm TIME, da DATE, ye YEAR, \
     vb VARBINARY(8), en ENUM('a','b'), w INT, PRIMARY KEY (n DESC, f, ts, tm DESC, da, ye, vb, en))",
];

static FIXED: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables::none();
    let front = Front::new(b"");
    for text in DEFINITIONS {
        let parsed = parse::parse_first(text.as_bytes(), front.ctx.mode);
        let Statement::CreateTable(create) = parsed.expect("is SQL").statement else {
            panic!("is a CREATE TABLE")
        };
        tables.add(ddl::define(&create, DATABASE, &front.ctx).expect("is a table"));
    }
    tables
});

/// Tables by name, of one database.
#[derive(Debug, Clone)]
pub struct Tables(BTreeMap<String, Arc<Table>>);

impl Tables {
    /// None at all.
    pub fn none() -> Tables {
        Tables(BTreeMap::new())
    }

    /// The fixed ones.
    pub fn fixed() -> Tables {
        FIXED.clone()
    }

    /// Adds a table, or replaces the one of that name.
    pub fn add(&mut self, table: Table) {
        self.0.insert(table.name.clone(), Arc::new(table));
    }
}

impl FindTable for Tables {
    fn find_table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        let found = self.0.get(name).filter(|_| database == DATABASE);
        let missing = || Error::new(Code::TableMissing, format!("no table {database}.{name}"));
        found.map(Arc::clone).ok_or_else(missing)
    }
}
