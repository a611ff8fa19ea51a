//! A random table and its rows, as both servers understand them.

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::expr::Kind;
use crate::grammar;

/// Columns beside the key.
const COLUMNS: std::ops::RangeInclusive<usize> = 7..=12;
/// Rows of a table.
const ROWS: std::ops::RangeInclusive<usize> = 0..=40;

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    ty: &'static Type,
}

/// A type of columns, and values for them.
#[derive(Debug)]
struct Type {
    sql: &'static str,
    kind: Kind,
    values: &'static [&'static str],
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The first one is the primary key.
    pub(crate) columns: Vec<Column>,
    indexes: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The tables of one seed.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) tables: Vec<Table>,
}

const SMALL: &[&str] = &[
    "0", "1", "-1", "2", "3", "7", "10", "-5", "100", "127", "-128",
];
const WHOLE: &[&str] = &[
    "0", "1", "-1", "2", "3", "10", "-5", "100", "1000", "32767", "-32768", "12345",
];
const LARGE: &[&str] = &[
    "0",
    "1",
    "-1",
    "5",
    "10",
    "100",
    "2147483647",
    "-2147483648",
    "1000000",
    "-77",
];
const POSITIVE: &[&str] = &["0", "1", "2", "3", "7", "10", "100", "200", "255"];
const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'b'",
    "'ab'",
    "'A'",
    "'abc'",
    "'10'",
    "'1.5'",
    "'-3'",
    "'a b'",
    "'äö'",
    "'aXb'",
    "' pad '",
    "'ba'",
    "'zz'",
    "'2020-01-02'",
    "'x%y'",
    "'日本'",
    "'0'",
    "'1e3'",
];
const BINARY: &[&str] = &["''", "'a'", "'ab'", "X'00'", "X'ff'", "'AB'", "'10'", "'b'"];
const DATES: &[&str] = &[
    "'2020-02-29'",
    "'1999-12-31'",
    "'2015-06-07'",
    "'2024-01-01'",
    "'2000-01-01'",
    "'1970-01-01'",
    "'2023-07-04'",
];
const MOMENTS: &[&str] = &[
    "'2020-02-29 12:34:56'",
    "'1999-12-31 23:59:59'",
    "'2015-06-07 00:00:00'",
    "'2024-01-01 01:02:03'",
    "'2000-01-01 10:00:00'",
    "'2023-07-04 18:30:00'",
];
const FINE_MOMENTS: &[&str] = &[
    "'2020-02-29 12:34:56.789'",
    "'1999-12-31 23:59:59.999999'",
    "'2015-06-07 00:00:00'",
    "'2024-01-01 01:02:03.5'",
    "'2000-01-01 10:00:00.000001'",
];
const TIMES: &[&str] = &[
    "'00:00:00'",
    "'10:11:12'",
    "'-01:30:00'",
    "'23:59:59'",
    "'100:00:00'",
    "'12:00:00'",
];
const FINE_TIMES: &[&str] = &[
    "'00:00:00'",
    "'10:11:12.25'",
    "'-01:30:00.5'",
    "'23:59:59.999'",
    "'12:00:00.001'",
];

const TYPES: &[Type] = &[
    Type {
        sql: "TINYINT",
        kind: Kind::Int,
        values: SMALL,
    },
    Type {
        sql: "TINYINT UNSIGNED",
        kind: Kind::Int,
        values: POSITIVE,
    },
    Type {
        sql: "SMALLINT",
        kind: Kind::Int,
        values: WHOLE,
    },
    Type {
        sql: "MEDIUMINT",
        kind: Kind::Int,
        values: WHOLE,
    },
    Type {
        sql: "INT",
        kind: Kind::Int,
        values: LARGE,
    },
    Type {
        sql: "INT",
        kind: Kind::Int,
        values: SMALL,
    },
    Type {
        sql: "INT UNSIGNED",
        kind: Kind::Int,
        values: POSITIVE,
    },
    Type {
        sql: "BIGINT",
        kind: Kind::Int,
        values: LARGE,
    },
    Type {
        sql: "BIGINT UNSIGNED",
        kind: Kind::Int,
        values: &["0", "1", "2", "10", "18446744073709551615", "100"],
    },
    Type {
        sql: "BOOLEAN",
        kind: Kind::Bool,
        values: &["0", "1"],
    },
    Type {
        sql: "YEAR",
        kind: Kind::Int,
        values: &["2020", "1999", "2024", "1970", "2001"],
    },
    Type {
        sql: "DECIMAL(10,2)",
        kind: Kind::Decimal,
        values: &[
            "0", "1.50", "-2.25", "100.00", "99999.99", "0.01", "-7", "12.34",
        ],
    },
    Type {
        sql: "DECIMAL(6,3)",
        kind: Kind::Decimal,
        values: &["0", "1.5", "-2.125", "100.001", "0.001", "-0.5"],
    },
    Type {
        sql: "DECIMAL(20,0)",
        kind: Kind::Decimal,
        values: &["0", "1", "-5", "12345678901", "7"],
    },
    Type {
        sql: "DECIMAL(18,6)",
        kind: Kind::Decimal,
        values: &["0", "1.000001", "-3.333333", "123456789.5"],
    },
    Type {
        sql: "DOUBLE",
        kind: Kind::Double,
        values: &["0", "1.5", "-2.25", "1e10", "1e-5", "100", "0.1", "-7"],
    },
    Type {
        sql: "FLOAT",
        kind: Kind::Double,
        values: &["0", "1.5", "-2.25", "1000000", "0.125", "-8"],
    },
    Type {
        sql: "VARCHAR(20)",
        kind: Kind::Text,
        values: TEXTS,
    },
    Type {
        sql: "VARCHAR(40)",
        kind: Kind::Text,
        values: TEXTS,
    },
    Type {
        sql: "CHAR(10)",
        kind: Kind::Text,
        values: &["''", "'a'", "'ab'", "'B'", "'10'", "'äö'", "'abc'"],
    },
    Type {
        sql: "TEXT",
        kind: Kind::Text,
        values: TEXTS,
    },
    Type {
        sql: "ENUM('b','a','c')",
        kind: Kind::Text,
        values: &["'a'", "'b'", "'c'"],
    },
    Type {
        sql: "VARBINARY(10)",
        kind: Kind::Bytes,
        values: BINARY,
    },
    Type {
        sql: "BLOB",
        kind: Kind::Bytes,
        values: BINARY,
    },
    Type {
        sql: "BINARY(3)",
        kind: Kind::Bytes,
        values: &["'abc'", "'ab'", "X'000102'", "'a'"],
    },
    Type {
        sql: "DATE",
        kind: Kind::Date,
        values: DATES,
    },
    Type {
        sql: "DATE",
        kind: Kind::Date,
        values: DATES,
    },
    Type {
        sql: "TIME",
        kind: Kind::Time,
        values: TIMES,
    },
    Type {
        sql: "TIME(3)",
        kind: Kind::Time,
        values: FINE_TIMES,
    },
    Type {
        sql: "DATETIME",
        kind: Kind::Datetime,
        values: MOMENTS,
    },
    Type {
        sql: "DATETIME(6)",
        kind: Kind::Datetime,
        values: FINE_MOMENTS,
    },
    Type {
        sql: "TIMESTAMP",
        kind: Kind::Datetime,
        values: MOMENTS,
    },
    Type {
        sql: "TIMESTAMP(3)",
        kind: Kind::Datetime,
        values: MOMENTS,
    },
];

const KEY: Type = Type {
    sql: "INT",
    kind: Kind::Int,
    values: &[],
};

impl Schema {
    /// A schema and its rows.
    pub(crate) fn random(rng: &mut StdRng) -> Schema {
        let tables = (0..2).map(|number| Table::random(rng, number));
        Schema {
            tables: tables.collect(),
        }
    }

    /// What makes it, on either server.
    pub(crate) fn statements(&self) -> Vec<String> {
        self.tables.iter().flat_map(Table::statements).collect()
    }

    /// The names and types of the columns of all tables that a query names.
    pub(crate) fn types_in(&self, sql: &str) -> Vec<(String, String)> {
        let is_named = |table: &&Table| {
            let mut words = sql.split(|c: char| !c.is_alphanumeric());
            words.any(|word| word == table.name)
        };
        let columns = self.tables.iter().filter(is_named);
        let columns = columns.flat_map(|table| &table.columns);
        let columns = columns.map(|column| (column.name.clone(), column.ty.sql.to_owned()));
        columns.collect()
    }

    /// The columns that a query names, for people.
    pub(crate) fn columns_in(&self, sql: &str) -> String {
        let is_named = |name: &str| {
            let mut words = sql.split(|c: char| !c.is_alphanumeric());
            words.any(|word| word == name)
        };
        let tables = self.tables.iter().filter(|table| is_named(&table.name));
        let tables = tables.map(|table| {
            let columns = table.columns.iter().filter(|column| is_named(&column.name));
            let columns = columns.map(|column| format!("{} {}", column.name, column.ty.sql));
            let columns = columns.collect::<Vec<_>>().join(", ");
            format!("{} ({columns})", table.name)
        });
        tables.collect::<Vec<_>>().join(", ")
    }
}

impl Table {
    fn random(rng: &mut StdRng, number: usize) -> Table {
        let mut columns = vec![Column {
            name: "c0".to_owned(),
            kind: Kind::Int,
            ty: &KEY,
        }];
        for at in 1..=rng.random_range(COLUMNS) {
            let ty = TYPES.choose(rng).expect("there is one");
            columns.push(Column {
                name: format!("c{at}"),
                kind: ty.kind,
                ty,
            });
        }
        let has_index_type = |column: &&Column| !["TEXT", "BLOB"].contains(&column.ty.sql);
        let fit: Vec<&Column> = columns.iter().skip(1).filter(has_index_type).collect();
        let mut indexes = Vec::new();
        for at in 0..rng.random_range(0..=3) {
            let count = rng.random_range(1..=2);
            let parts = fit
                .choose_multiple(rng, count)
                .map(|column| column.name.as_str());
            let parts: Vec<&str> = parts.collect();
            if !parts.is_empty() {
                indexes.push(format!("INDEX i{at} ({})", parts.join(", ")));
            }
        }
        let rows = (0..rng.random_range(ROWS)).map(|key| {
            let mut row = vec![key.to_string()];
            row.extend(columns.iter().skip(1).map(|column| column.value(rng)));
            row
        });
        let rows = rows.collect();
        Table {
            name: format!("t{number}"),
            columns,
            indexes,
            rows,
        }
    }

    fn create(&self) -> String {
        let columns = self
            .columns
            .iter()
            .map(|column| format!("{} {}", column.name, column.sql()));
        let mut parts: Vec<String> = columns.collect();
        parts.push("PRIMARY KEY (c0)".to_owned());
        parts.extend(self.indexes.iter().cloned());
        format!("CREATE TABLE {} ({})", self.name, parts.join(", "))
    }

    fn statements(&self) -> Vec<String> {
        let mut statements = vec![format!("DROP TABLE IF EXISTS {}", self.name), self.create()];
        let rows = self.rows.iter().map(|row| format!("({})", row.join(", ")));
        let rows: Vec<String> = rows.collect();
        if !rows.is_empty() {
            statements.push(format!(
                "INSERT INTO {} VALUES {}",
                self.name,
                rows.join(", ")
            ));
        }
        statements
    }
}

impl Column {
    /// NULL is said, as MariaDB's first TIMESTAMP is NOT NULL otherwise.
    fn sql(&self) -> String {
        match self.ty.values {
            [] => format!("{} NOT NULL", self.ty.sql),
            _ => format!("{} NULL", self.ty.sql),
        }
    }

    fn value(&self, rng: &mut StdRng) -> String {
        if rng.random_ratio(1, 6) {
            return "NULL".to_owned();
        }
        grammar::pick(rng, self.ty.values)
    }
}
