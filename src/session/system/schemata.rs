//! `SCHEMATA`, `TABLES`, `PARTITIONS`, `VIEWS`; and the walk over all tables, which the tables about
//! columns and keys share.

use std::cell::OnceCell;
use std::sync::Arc;

use super::table::{
    BIGINT, Column, DATETIME, Give, INT, Made, NAME, NOTHING, TEXT, TIMESTAMP, UBIGINT, UINT,
    Wants, YES_NO, column, count, text, varchar, yes_no,
};
use super::{INFORMATION_SCHEMA, PERFORMANCE_SCHEMA, Scene, canonical, definitions};
use crate::catalog::{Definitions, Table, View};
use crate::error::Result;
use crate::exec::counters::Sequence;
use crate::exec::elsewhere;
use crate::exec::view;
use crate::exec::write;
use crate::index;
use crate::kv::{Census, Estimate, KeyRange};
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

/// A table or view.
pub(super) struct TableOf {
    /// Its definition; that of a view has no columns.
    pub(super) table: Arc<Table>,
    pub(super) kind: Kind,
    scene: Scene,
    sizes: OnceCell<Sizes>,
    /// How many rows there are, where that is kept.
    kept_rows: OnceCell<Option<u64>>,
    census: OnceCell<Census>,
}

/// What is behind the name of a table.
pub(super) enum Kind {
    /// Stored rows.
    Stored,
    /// Rows that the server makes up.
    Listed,
    /// Those of a query.
    View(Arc<View>),
}

/// About how much there is of a table, from what its files say of themselves.
#[derive(Clone, Copy)]
struct Sizes {
    rows: u64,
    bytes: u64,
    index_bytes: u64,
}

impl TableOf {
    fn new(table: Arc<Table>, kind: Kind, scene: &Scene) -> TableOf {
        TableOf {
            table,
            kind,
            scene: scene.clone(),
            sizes: OnceCell::new(),
            kept_rows: OnceCell::new(),
            census: OnceCell::new(),
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

    fn type_name(&self) -> &'static str {
        match &self.kind {
            Kind::Listed if self.table.database == INFORMATION_SCHEMA => "SYSTEM VIEW",
            Kind::Stored | Kind::Listed => "BASE TABLE",
            Kind::View(_) => "VIEW",
        }
    }

    /// The view, if it is one.
    pub(super) fn view(&self) -> Option<&Arc<View>> {
        match &self.kind {
            Kind::View(view) => Some(view),
            Kind::Stored | Kind::Listed => None,
        }
    }

    /// A value that only stored tables have.
    fn stored(&self, value: impl FnOnce() -> Value<'static>) -> Value<'static> {
        match &self.kind {
            Kind::Stored => value(),
            Kind::Listed | Kind::View(_) => Value::Null,
        }
    }

    fn engine(&self) -> Value<'static> {
        match &self.kind {
            Kind::Stored => Value::text("Meseta"),
            Kind::Listed if self.table.database == PERFORMANCE_SCHEMA => {
                Value::text("PERFORMANCE_SCHEMA")
            }
            Kind::Listed | Kind::View(_) => Value::Null,
        }
    }

    /// Asked of the engine once.
    fn sizes(&self) -> Sizes {
        let estimate = || {
            let engine = &self.scene.shared.engine;
            let all = KeyRange::all();
            let indexes = self.table.indexes.iter();
            let indexes = indexes.map(|one| engine.estimate(index::space(one), &all).bytes);
            let Estimate { rows, bytes } = engine.estimate(write::space(&self.table), &all);
            Sizes {
                rows,
                bytes,
                index_bytes: indexes.sum(),
            }
        };
        *self.sizes.get_or_init(estimate)
    }

    /// What is kept of the number of rows, else what was counted or sampled.
    fn rows(&self, number: fn(Census) -> u64) -> Value<'static> {
        self.stored(|| Value::UInt(number(self.rows_census())))
    }

    fn rows_census(&self) -> Census {
        let kept = || {
            let engine = &self.scene.shared.engine;
            view::View::newest(&**engine).count(write::space(&self.table))
        };
        match self.kept_rows.get_or_init(kept) {
            Some(rows) => Census::nothing().with_live(*rows),
            None => self.census(),
        }
    }

    /// Reads data, and is asked for nothing but the columns that need it.
    fn census(&self) -> Census {
        let count = || {
            let engine = &self.scene.shared.engine;
            let space = write::space(&self.table);
            let census = elsewhere::for_long(|| engine.census(space, &|_| false));
            // One of a table that was just dropped says nothing.
            census.unwrap_or_else(|_| Census::nothing())
        };
        *self.census.get_or_init(count)
    }

    fn rows_expired(&self) -> Value<'static> {
        self.stored(|| Value::UInt(self.census().expired))
    }

    fn rows_deleted(&self) -> Value<'static> {
        self.stored(|| Value::UInt(self.census().deleted))
    }

    fn rows_exact(&self) -> Value<'static> {
        self.stored(|| yes_no(self.rows_census().is_exact))
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

    /// The next of counted ids.
    fn next_id(&self) -> Value<'static> {
        let counters = &self.scene.shared.ids.counters;
        let sequence = Sequence::of(&self.table);
        sequence.map_or(Value::Null, |one| Value::UInt(counters.next(&one)))
    }

    fn comment(&self) -> Value<'static> {
        match &self.kind {
            Kind::View(_) => Value::text("VIEW"),
            Kind::Stored | Kind::Listed => text(self.table.comment.as_str()),
        }
    }

    fn options(&self) -> Value<'static> {
        if self.view().is_some() {
            return Value::Null;
        }
        let options = self.table.options.iter();
        let options = options.map(|(name, value)| format!("{name}={value}"));
        text(options.collect::<Vec<_>>().join(" "))
    }
}

impl Scene {
    /// The names of all databases, in order.
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
        if let Some(table) = &self.only {
            let kind = match canonical(&table.database) {
                Some(_) => Kind::Listed,
                None => Kind::Stored,
            };
            return give(TableOf::new(Arc::clone(table), kind, self));
        }
        let current = self.shared.catalog.current();
        let rights = self.state.rights();
        let databases = self.databases().into_iter();
        for database in databases.filter(|name| wants.has(columns.0, name)) {
            let is_wanted = |name: &str| wants.has(columns.1, name);
            if canonical(&database).is_some() {
                for table in definitions(&database).filter(|table| is_wanted(&table.name)) {
                    give(TableOf::new(Arc::new(table), Kind::Listed, self))?;
                }
            } else {
                let mut stored = self.stored_and_views(&current, &database);
                stored.retain(|table| {
                    let name = &table.table.name;
                    is_wanted(name) && rights.sees_table(&database, name)
                });
                stored.into_iter().try_for_each(&mut *give)?;
            }
        }
        Ok(())
    }

    /// The tables and views of a database, in order of name.
    fn stored_and_views(&self, current: &Definitions, database: &str) -> Vec<TableOf> {
        let tables = current.tables(database).into_iter().flatten();
        let tables = tables.map(|table| TableOf::new(Arc::clone(table), Kind::Stored, self));
        let views = current.views(database).into_iter().flatten();
        let views = views.map(|view| {
            let table = super::bare(&view.database, &view.name, Vec::new());
            TableOf::new(Arc::new(table), Kind::View(Arc::clone(view)), self)
        });
        let mut all: Vec<TableOf> = tables.chain(views).collect();
        all.sort_by(|a, b| a.table.name.cmp(&b.table.name));
        all
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
        column("TABLE_TYPE", varchar(11), |t| Value::text(t.type_name())),
        column("ENGINE", NAME, TableOf::engine),
        column("VERSION", INT, |t| {
            t.view().map_or(Value::Int(10), |_| Value::Null)
        }),
        column("ROW_FORMAT", varchar(10), |t| {
            let is_compressed = t.table.is_compressed();
            let format = if is_compressed {
                "Compressed"
            } else {
                "Dynamic"
            };
            t.stored(|| Value::text(format))
        }),
        column("TABLE_ROWS", UBIGINT, |t| t.rows(|rows| rows.live)),
        column("AVG_ROW_LENGTH", UBIGINT, TableOf::row_bytes),
        column("DATA_LENGTH", UBIGINT, TableOf::data_bytes),
        column("MAX_DATA_LENGTH", UBIGINT, |t| t.stored(|| Value::UInt(0))),
        column("INDEX_LENGTH", UBIGINT, TableOf::index_bytes),
        column("DATA_FREE", UBIGINT, |t| t.stored(|| Value::UInt(0))),
        column("AUTO_INCREMENT", UBIGINT, TableOf::next_id),
        null("CREATE_TIME", TIMESTAMP),
        null("UPDATE_TIME", DATETIME),
        null("CHECK_TIME", DATETIME),
        column("TABLE_COLLATION", NAME, |t| {
            t.stored(|| Value::text(COLLATION))
        }),
        null("CHECKSUM", BIGINT),
        column("CREATE_OPTIONS", varchar(256), TableOf::options),
        column("TABLE_COMMENT", TEXT, TableOf::comment),
        // Not MySQL's: between what TABLE_ROWS lies, and what is dead and takes room.
        column("ROWS_LOW", UBIGINT, |t| t.rows(|rows| rows.low)),
        column("ROWS_HIGH", UBIGINT, |t| t.rows(|rows| rows.high)),
        column("ROWS_EXPIRED", UBIGINT, TableOf::rows_expired),
        column("ROWS_DELETED", UBIGINT, TableOf::rows_deleted),
        column("ROWS_EXACT", YES_NO, TableOf::rows_exact),
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
        column("TABLE_ROWS", UBIGINT, |t| t.rows(|rows| rows.live)),
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

/// The position of something, from 1.
pub(super) fn position(idx: usize) -> Value<'static> {
    count(idx + 1)
}
