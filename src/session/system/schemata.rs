//! `SCHEMATA`, `TABLES`, `PARTITIONS`, `VIEWS`; and the walk over all tables, which the tables about
//! columns and keys share.

use std::cell::OnceCell;
use std::sync::Arc;

use super::table::{
    BIGINT, Column, DATETIME, Give, INT, LONGTEXT, Made, NAME, NOTHING, TEXT, TIMESTAMP, UBIGINT,
    UINT, Wants, YES_NO, column, count, text, varchar,
};
use super::{INFORMATION_SCHEMA, PERFORMANCE_SCHEMA, Scene, canonical, definitions};
use crate::catalog::Table;
use crate::error::Result;
use crate::exec::write;
use crate::index;
use crate::kv::KeyRange;
use crate::types::Value;

/// What stands in the first column of most tables.
pub(super) const CATALOG: &str = "def";
/// The only character set of texts.
pub(super) const CHARSET: &str = "utf8mb4";
/// The only collation of texts.
pub(super) const COLLATION: &str = "utf8mb4_bin";

/// `information_schema.SCHEMATA`.
pub(super) static SCHEMATA: Made<String> = Made {
    database: INFORMATION_SCHEMA,
    name: "SCHEMATA",
    each: |scene, wants, give| {
        let databases = scene.databases().into_iter();
        databases
            .filter(|name| wants.has("SCHEMA_NAME", name))
            .try_for_each(give)
    },
    columns: &[
        column("CATALOG_NAME", NAME, |_| Value::text(CATALOG)),
        column("SCHEMA_NAME", NAME, |name| text(name.as_str())),
        column("DEFAULT_CHARACTER_SET_NAME", NAME, |_| Value::text(CHARSET)),
        column("DEFAULT_COLLATION_NAME", NAME, |_| Value::text(COLLATION)),
        column("SQL_PATH", NOTHING, |_| Value::Null),
        column("DEFAULT_ENCRYPTION", YES_NO, |_| Value::text("NO")),
    ],
};

/// A table, stored or of the system.
pub(super) struct TableOf {
    pub(super) table: Arc<Table>,
    /// Whether the server makes its rows up.
    pub(super) is_listed: bool,
    scene: Scene,
    sizes: OnceCell<Sizes>,
}

/// About how much there is of a table.
#[derive(Clone, Copy)]
struct Sizes {
    rows: u64,
    bytes: u64,
    index_bytes: u64,
}

impl TableOf {
    fn new(table: Arc<Table>, is_listed: bool, scene: &Scene) -> TableOf {
        TableOf {
            table,
            is_listed,
            scene: scene.clone(),
            sizes: OnceCell::new(),
        }
    }

    /// The table's database.
    pub(super) fn database(&self) -> Value<'static> {
        text(self.table.database.as_str())
    }

    /// The table's name.
    pub(super) fn name(&self) -> Value<'static> {
        text(self.table.name.as_str())
    }

    fn kind(&self) -> &'static str {
        if self.is_listed && self.table.database == INFORMATION_SCHEMA {
            "SYSTEM VIEW"
        } else {
            "BASE TABLE"
        }
    }

    /// A value that only stored tables have.
    fn stored(&self, value: impl FnOnce() -> Value<'static>) -> Value<'static> {
        if self.is_listed { Value::Null } else { value() }
    }

    fn engine(&self) -> Value<'static> {
        match (self.is_listed, self.table.database.as_str()) {
            (false, _) => Value::text("Meseta"),
            (true, PERFORMANCE_SCHEMA) => Value::text("PERFORMANCE_SCHEMA"),
            (true, _) => Value::Null,
        }
    }

    /// Asked of the engine once.
    fn sizes(&self) -> Sizes {
        let estimate = || {
            let engine = &self.scene.shared.engine;
            let all = KeyRange::all();
            let indexes = self.table.indexes.iter();
            let indexes = indexes.map(|one| engine.estimate(index::space(one), &all).bytes);
            let own = engine.estimate(write::space(&self.table), &all);
            Sizes {
                rows: own.rows,
                bytes: own.bytes,
                index_bytes: indexes.sum(),
            }
        };
        *self.sizes.get_or_init(estimate)
    }

    fn rows(&self) -> Value<'static> {
        self.stored(|| Value::UInt(self.sizes().rows))
    }

    fn data_bytes(&self) -> Value<'static> {
        self.stored(|| Value::UInt(self.sizes().bytes))
    }

    fn index_bytes(&self) -> Value<'static> {
        self.stored(|| Value::UInt(self.sizes().index_bytes))
    }

    fn row_bytes(&self) -> Value<'static> {
        self.stored(|| {
            let Sizes { rows, bytes, .. } = self.sizes();
            Value::UInt(bytes.checked_div(rows).unwrap_or(0))
        })
    }

    fn options(&self) -> Value<'static> {
        let options = self.table.options.iter();
        let options = options.map(|(name, value)| format!("{name}={value}"));
        text(options.collect::<Vec<_>>().join(" "))
    }
}

impl Scene {
    /// The names of all databases that the session may see, in order.
    pub(super) fn databases(&self) -> Vec<String> {
        let definitions = self.shared.catalog.current();
        let stored = definitions.databases().map(str::to_owned);
        let system = super::LISTED.into_iter().map(str::to_owned);
        let rights = self.state.rights();
        let seen = stored
            .chain(system)
            .filter(|name| rights.sees_database(name));
        let mut all: Vec<String> = seen.collect();
        all.sort();
        all
    }

    /// Gives all tables whose database and name are wanted, in order; `columns` are those that hold
    /// them.
    ///
    /// # Errors
    /// Those of `give`.
    pub(super) fn tables(
        &self,
        wants: &Wants<'_>,
        columns: (&str, &str),
        give: Give<'_, TableOf>,
    ) -> Result<()> {
        let current = self.shared.catalog.current();
        let rights = self.state.rights();
        let databases = self.databases().into_iter();
        for database in databases.filter(|name| wants.has(columns.0, name)) {
            let is_wanted = |table: &Table| wants.has(columns.1, &table.name);
            if canonical(&database).is_some() {
                for table in definitions(&database).filter(is_wanted) {
                    give(TableOf::new(Arc::new(table), true, self))?;
                }
            } else if let Ok(tables) = current.tables(&database) {
                let seen = tables.filter(|table| rights.sees_table(&database, &table.name));
                for table in seen.filter(|table| is_wanted(table)) {
                    give(TableOf::new(Arc::clone(table), false, self))?;
                }
            }
        }
        Ok(())
    }
}

/// All tables whose database and name are wanted by the columns that most tables have of them.
pub(super) fn each_table(scene: &Scene, wants: &Wants<'_>, give: Give<'_, TableOf>) -> Result<()> {
    scene.tables(wants, ("TABLE_SCHEMA", "TABLE_NAME"), give)
}

const fn null(name: &'static str, ty: crate::types::ColumnType) -> Column<TableOf> {
    column(name, ty, |_| Value::Null)
}

/// `information_schema.TABLES`.
pub(super) static TABLES: Made<TableOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "TABLES",
    each: each_table,
    columns: &[
        column("TABLE_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("TABLE_SCHEMA", NAME, TableOf::database),
        column("TABLE_NAME", NAME, TableOf::name),
        column("TABLE_TYPE", varchar(11), |t| Value::text(t.kind())),
        column("ENGINE", NAME, TableOf::engine),
        column("VERSION", INT, |_| Value::Int(10)),
        column("ROW_FORMAT", varchar(10), |t| {
            t.stored(|| Value::text("Dynamic"))
        }),
        column("TABLE_ROWS", UBIGINT, TableOf::rows),
        column("AVG_ROW_LENGTH", UBIGINT, TableOf::row_bytes),
        column("DATA_LENGTH", UBIGINT, TableOf::data_bytes),
        column("MAX_DATA_LENGTH", UBIGINT, |t| t.stored(|| Value::UInt(0))),
        column("INDEX_LENGTH", UBIGINT, TableOf::index_bytes),
        column("DATA_FREE", UBIGINT, |t| t.stored(|| Value::UInt(0))),
        null("AUTO_INCREMENT", UBIGINT),
        null("CREATE_TIME", TIMESTAMP),
        null("UPDATE_TIME", DATETIME),
        null("CHECK_TIME", DATETIME),
        column("TABLE_COLLATION", NAME, |t| {
            t.stored(|| Value::text(COLLATION))
        }),
        null("CHECKSUM", BIGINT),
        column("CREATE_OPTIONS", varchar(256), TableOf::options),
        column("TABLE_COMMENT", TEXT, |t| text(t.table.comment.as_str())),
    ],
};

/// `information_schema.PARTITIONS`: each table is one partition without a name.
pub(super) static PARTITIONS: Made<TableOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "PARTITIONS",
    each: each_table,
    columns: &[
        column("TABLE_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("TABLE_SCHEMA", NAME, TableOf::database),
        column("TABLE_NAME", NAME, TableOf::name),
        null("PARTITION_NAME", NAME),
        null("SUBPARTITION_NAME", NAME),
        null("PARTITION_ORDINAL_POSITION", UINT),
        null("SUBPARTITION_ORDINAL_POSITION", UINT),
        null("PARTITION_METHOD", varchar(13)),
        null("SUBPARTITION_METHOD", varchar(13)),
        null("PARTITION_EXPRESSION", varchar(2048)),
        null("SUBPARTITION_EXPRESSION", varchar(2048)),
        null("PARTITION_DESCRIPTION", TEXT),
        column("TABLE_ROWS", UBIGINT, TableOf::rows),
        column("AVG_ROW_LENGTH", UBIGINT, TableOf::row_bytes),
        column("DATA_LENGTH", UBIGINT, TableOf::data_bytes),
        column("MAX_DATA_LENGTH", UBIGINT, |t| t.stored(|| Value::UInt(0))),
        column("INDEX_LENGTH", UBIGINT, TableOf::index_bytes),
        column("DATA_FREE", UBIGINT, |t| t.stored(|| Value::UInt(0))),
        null("CREATE_TIME", TIMESTAMP),
        null("UPDATE_TIME", DATETIME),
        null("CHECK_TIME", DATETIME),
        null("CHECKSUM", BIGINT),
        column("PARTITION_COMMENT", TEXT, |_| Value::text("")),
        null("NODEGROUP", varchar(256)),
        null("TABLESPACE_NAME", varchar(268)),
    ],
};

/// `information_schema.VIEWS`: those of users; the server's own have no text.
pub(super) static VIEWS: Made<TableOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "VIEWS",
    each: |_, _, _| Ok(()),
    columns: &[
        column("TABLE_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("TABLE_SCHEMA", NAME, TableOf::database),
        column("TABLE_NAME", NAME, TableOf::name),
        null("VIEW_DEFINITION", LONGTEXT),
        column("CHECK_OPTION", varchar(8), |_| Value::text("NONE")),
        column("IS_UPDATABLE", YES_NO, |_| Value::text("NO")),
        null("DEFINER", varchar(288)),
        column("SECURITY_TYPE", varchar(7), |_| Value::text("DEFINER")),
        column("CHARACTER_SET_CLIENT", NAME, |_| Value::text(CHARSET)),
        column("COLLATION_CONNECTION", NAME, |_| Value::text(COLLATION)),
    ],
};

/// The position of something, from 1.
pub(super) fn position(idx: usize) -> Value<'static> {
    count(idx + 1)
}
