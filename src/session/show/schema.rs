//! SHOW of databases, tables, columns, indexes and their definitions.

use crate::catalog::{Column, ColumnDefault, Table, describe};
use crate::error::Result;
use crate::session::Session;
use crate::session::compile::text;
use crate::session::listing::{LONG_TEXT, Listing, TEXT};
use crate::sql::ast::ShowFilter;
use crate::sql::context::SessionFacts;
use crate::types::{ColumnType, Value};

/// How many columns `SHOW TABLE STATUS` has.
const STATUS_COLUMNS: usize = 18;

impl Session {
    pub(super) fn show_databases(&mut self, filter: Option<&ShowFilter>) -> Result<Listing> {
        let name = match filter {
            Some(ShowFilter::Like(pattern)) => format!("Database ({pattern})"),
            Some(ShowFilter::Where(_)) | None => "Database".to_owned(),
        };
        let mut listing = Listing::of_texts(&[&name]);
        for database in self.shared.catalog.current().databases() {
            listing.push_texts([database]);
        }
        self.filtered(listing, filter)
    }

    pub(super) fn show_tables(
        &mut self,
        full: bool,
        database: Option<&str>,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        let database = self.database_or_current(database)?;
        let mut name = format!("Tables_in_{database}");
        if let Some(ShowFilter::Like(pattern)) = filter {
            name = format!("{name} ({pattern})");
        }
        let names: &[&str] = if full {
            &[&name, "Table_type"]
        } else {
            &[&name]
        };
        let mut listing = Listing::of_texts(names);
        if self.is_virtual(&database) {
            return Ok(listing);
        }
        let current = self.shared.catalog.current();
        let tables = current.tables(&database)?;
        let views = current.views(&database)?;
        let mut rows: Vec<(&str, &str)> = tables
            .map(|table| (table.name.as_str(), "BASE TABLE"))
            .chain(views.map(|view| (view.name.as_str(), "VIEW")))
            .collect();
        rows.sort_unstable();
        for (name, kind) in rows {
            let mut row = vec![text(Some(name))];
            if full {
                row.push(Value::text(kind));
            }
            listing.push(row);
        }
        self.filtered(listing, filter)
    }

    /// Whether a database exists only by name.
    fn is_virtual(&self, database: &str) -> bool {
        self.knows_database(database) && !self.shared.catalog.current().has_database(database)
    }

    pub(super) fn show_table_status(
        &mut self,
        database: Option<&str>,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        let database = match database {
            Some(database) => database.to_owned(),
            None => self
                .state
                .database()
                .map_or_else(|| self.database_or_current(None), Ok)?,
        };
        let number = ColumnType::BIGINT_UNSIGNED;
        let date = ColumnType::Datetime { fsp: 0 };
        let mut listing = Listing::new(&[
            ("Name", TEXT),
            ("Engine", TEXT),
            ("Version", number.clone()),
            ("Row_format", TEXT),
            ("Rows", number.clone()),
            ("Avg_row_length", number.clone()),
            ("Data_length", number.clone()),
            ("Max_data_length", number.clone()),
            ("Index_length", number.clone()),
            ("Data_free", number.clone()),
            ("Auto_increment", number.clone()),
            ("Create_time", date.clone()),
            ("Update_time", date.clone()),
            ("Check_time", date),
            ("Collation", TEXT),
            ("Checksum", number),
            ("Create_options", TEXT),
            ("Comment", TEXT),
        ]);
        if self.is_virtual(&database) {
            return Ok(listing);
        }
        let current = self.shared.catalog.current();
        let tables = current.tables(&database)?;
        let tables = tables.map(|table| (table.name.as_str(), self.status_row(table)));
        let views = current.views(&database)?;
        let views = views.map(|view| (view.name.as_str(), view_status_row(&view.name)));
        let mut rows: Vec<_> = tables.chain(views).collect();
        rows.sort_by_key(|(name, _)| *name);
        for (_, row) in rows {
            listing.push(row);
        }
        self.filtered(listing, filter)
    }

    fn status_row(&self, table: &Table) -> Vec<Value<'static>> {
        let space = crate::exec::write::space(table);
        let estimate = self
            .shared
            .engine
            .estimate(space, &crate::kv::KeyRange::all());
        let average = estimate.bytes.checked_div(estimate.rows).unwrap_or(0);
        let options = table
            .options
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        vec![
            text(Some(table.name.clone())),
            Value::text("Meseta"),
            Value::UInt(10),
            Value::text("Dynamic"),
            Value::UInt(estimate.rows),
            Value::UInt(average),
            Value::UInt(estimate.bytes),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::text("utf8mb4_bin"),
            Value::Null,
            text(Some(options.collect::<Vec<_>>().join(" "))),
            text(Some(table.comment.clone())),
        ]
    }
}

/// The row of a view in `SHOW TABLE STATUS`: a name, and a comment that says what it is.
fn view_status_row(name: &str) -> Vec<Value<'static>> {
    let mut row = vec![Value::Null; STATUS_COLUMNS];
    if let [first, .., last] = row.as_mut_slice() {
        *first = text(Some(name));
        *last = Value::text("VIEW");
    }
    row
}

/// The columns of `SHOW [FULL] COLUMNS`.
pub(super) fn column_headings(full: bool) -> &'static [&'static str] {
    if full {
        &[
            "Field",
            "Type",
            "Collation",
            "Null",
            "Key",
            "Default",
            "Extra",
            "Privileges",
            "Comment",
        ]
    } else {
        &["Field", "Type", "Null", "Key", "Default", "Extra"]
    }
}

/// `SHOW [FULL] COLUMNS`, `DESCRIBE`.
pub(super) fn columns(table: &Table, full: bool) -> Listing {
    let mut listing = Listing::of_texts(column_headings(full));
    for (column_idx, column) in table.columns.iter().enumerate().filter(|(_, c)| !c.hidden) {
        let key = super::index::key_word(table, column_idx);
        let mut row = vec![
            text(Some(column.name.clone())),
            text(Some(column.ty.to_string())),
        ];
        if full {
            row.push(text(is_text(&column.ty).then_some("utf8mb4_bin")));
        }
        row.push(Value::text(if column.nullable { "YES" } else { "NO" }));
        row.push(Value::text(key));
        row.push(text(default(column)));
        row.push(text(Some(extra(column))));
        if full {
            row.push(Value::text("select,insert,update,references"));
            row.push(text(Some(column.comment.clone())));
        }
        listing.push(row);
    }
    listing
}

pub(super) fn is_text(ty: &ColumnType) -> bool {
    ty.is_text() || matches!(ty, ColumnType::Enum(_))
}

pub(super) fn default(column: &Column) -> Option<String> {
    match &column.default {
        ColumnDefault::None => None,
        ColumnDefault::Now => Some(describe::now_text(&column.ty)),
        ColumnDefault::Constant(value) if value.is_null() => None,
        ColumnDefault::Constant(value) => Some(value.to_text().into_owned()),
    }
}

fn extra(column: &Column) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if matches!(column.default, ColumnDefault::Now) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        words.push(format!("on update {}", describe::now_text(&column.ty)));
    }
    words.join(" ")
}

/// `SHOW CREATE TABLE`.
pub(super) fn create_table(table: &Table) -> Listing {
    let mut listing = Listing::new(&[("Table", TEXT), ("Create Table", LONG_TEXT)]);
    let definition = describe::create_table(table);
    listing.push(vec![text(Some(table.name.clone())), text(Some(definition))]);
    listing
}

/// `SHOW CREATE DATABASE`.
pub(super) fn create_database(name: &str, if_not_exists: bool) -> Listing {
    let mut listing = Listing::new(&[("Database", TEXT), ("Create Database", LONG_TEXT)]);
    let guard = if if_not_exists {
        "/*!32312 IF NOT EXISTS*/ "
    } else {
        ""
    };
    let definition = format!(
        "CREATE DATABASE {guard}{} /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */",
        describe::quoted(name)
    );
    listing.push(vec![text(Some(name)), text(Some(definition))]);
    listing
}
