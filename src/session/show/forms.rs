//! SHOW forms that list rows of `information_schema` under other names.

use crate::error::Result;
use crate::session::Session;
use crate::session::listing::Listing;
use crate::session::system::Scene;
use crate::types::Value;

/// A form: the table it lists, and which columns under which names.
pub(super) struct Form {
    table: &'static str,
    columns: &'static [(&'static str, &'static str)],
}

/// `SHOW DATABASES`.
pub(super) const DATABASES: Form = Form {
    table: "SCHEMATA",
    columns: &[("Database", "SCHEMA_NAME")],
};

/// `SHOW FULL TABLES`; without FULL the last column is left out.
pub(super) const TABLES: Form = Form {
    table: "TABLES",
    columns: &[("Tables_in", "TABLE_NAME"), ("Table_type", "TABLE_TYPE")],
};

/// `SHOW TABLE STATUS`.
pub(super) const TABLE_STATUS: Form = Form {
    table: "TABLES",
    columns: &[
        ("Name", "TABLE_NAME"),
        ("Engine", "ENGINE"),
        ("Version", "VERSION"),
        ("Row_format", "ROW_FORMAT"),
        ("Rows", "TABLE_ROWS"),
        ("Avg_row_length", "AVG_ROW_LENGTH"),
        ("Data_length", "DATA_LENGTH"),
        ("Max_data_length", "MAX_DATA_LENGTH"),
        ("Index_length", "INDEX_LENGTH"),
        ("Data_free", "DATA_FREE"),
        ("Auto_increment", "AUTO_INCREMENT"),
        ("Create_time", "CREATE_TIME"),
        ("Update_time", "UPDATE_TIME"),
        ("Check_time", "CHECK_TIME"),
        ("Collation", "TABLE_COLLATION"),
        ("Checksum", "CHECKSUM"),
        ("Create_options", "CREATE_OPTIONS"),
        ("Comment", "TABLE_COMMENT"),
        // Behind MySQL's.
        ("Rows_low", "ROWS_LOW"),
        ("Rows_high", "ROWS_HIGH"),
        ("Rows_expired", "ROWS_EXPIRED"),
        ("Rows_deleted", "ROWS_DELETED"),
        ("Rows_exact", "ROWS_EXACT"),
    ],
};

/// `SHOW COLUMNS`, `DESCRIBE`.
pub(super) const COLUMNS: Form = Form {
    table: "COLUMNS",
    columns: &[
        ("Field", "COLUMN_NAME"),
        ("Type", "COLUMN_TYPE"),
        ("Null", "IS_NULLABLE"),
        ("Key", "COLUMN_KEY"),
        ("Default", "COLUMN_DEFAULT"),
        ("Extra", "EXTRA"),
    ],
};

/// `SHOW FULL COLUMNS`.
pub(super) const FULL_COLUMNS: Form = Form {
    table: "COLUMNS",
    columns: &[
        ("Field", "COLUMN_NAME"),
        ("Type", "COLUMN_TYPE"),
        ("Collation", "COLLATION_NAME"),
        ("Null", "IS_NULLABLE"),
        ("Key", "COLUMN_KEY"),
        ("Default", "COLUMN_DEFAULT"),
        ("Extra", "EXTRA"),
        ("Privileges", "PRIVILEGES"),
        ("Comment", "COLUMN_COMMENT"),
    ],
};

/// `SHOW CHARACTER SET`.
pub(super) const CHARSETS: Form = Form {
    table: "CHARACTER_SETS",
    columns: &[
        ("Charset", "CHARACTER_SET_NAME"),
        ("Description", "DESCRIPTION"),
        ("Default collation", "DEFAULT_COLLATE_NAME"),
        ("Maxlen", "MAXLEN"),
    ],
};

/// `SHOW COLLATION`.
pub(super) const COLLATIONS: Form = Form {
    table: "COLLATIONS",
    columns: &[
        ("Collation", "COLLATION_NAME"),
        ("Charset", "CHARACTER_SET_NAME"),
        ("Id", "ID"),
        ("Default", "IS_DEFAULT"),
        ("Compiled", "IS_COMPILED"),
        ("Sortlen", "SORTLEN"),
        ("Pad_attribute", "PAD_ATTRIBUTE"),
    ],
};

/// `SHOW ENGINES`.
pub(super) const ENGINES: Form = Form {
    table: "ENGINES",
    columns: &[
        ("Engine", "ENGINE"),
        ("Support", "SUPPORT"),
        ("Comment", "COMMENT"),
        ("Transactions", "TRANSACTIONS"),
        ("XA", "XA"),
        ("Savepoints", "SAVEPOINTS"),
    ],
};

/// `SHOW PLUGINS`.
pub(super) const PLUGINS: Form = Form {
    table: "PLUGINS",
    columns: &[
        ("Name", "PLUGIN_NAME"),
        ("Status", "PLUGIN_STATUS"),
        ("Type", "PLUGIN_TYPE"),
        ("Library", "PLUGIN_LIBRARY"),
        ("License", "PLUGIN_LICENSE"),
    ],
};

/// `SHOW FULL PROCESSLIST`.
pub(super) const PROCESSES: Form = Form {
    table: "PROCESSLIST",
    columns: &[
        ("Id", "ID"),
        ("User", "USER"),
        ("Host", "HOST"),
        ("db", "DB"),
        ("Command", "COMMAND"),
        ("Time", "TIME"),
        ("State", "STATE"),
        ("Info", "INFO"),
    ],
};

/// `SHOW TRIGGERS`.
pub(super) const TRIGGERS: Form = Form {
    table: "TRIGGERS",
    columns: &[
        ("Trigger", "TRIGGER_NAME"),
        ("Event", "EVENT_MANIPULATION"),
        ("Table", "EVENT_OBJECT_TABLE"),
        ("Statement", "ACTION_STATEMENT"),
        ("Timing", "ACTION_TIMING"),
        ("Created", "CREATED"),
        ("sql_mode", "SQL_MODE"),
        ("Definer", "DEFINER"),
        ("character_set_client", "CHARACTER_SET_CLIENT"),
        ("collation_connection", "COLLATION_CONNECTION"),
        ("Database Collation", "DATABASE_COLLATION"),
    ],
};

/// `SHOW EVENTS`.
pub(super) const EVENTS: Form = Form {
    table: "EVENTS",
    columns: &[
        ("Db", "EVENT_SCHEMA"),
        ("Name", "EVENT_NAME"),
        ("Definer", "DEFINER"),
        ("Time zone", "TIME_ZONE"),
        ("Type", "EVENT_TYPE"),
        ("Execute at", "EXECUTE_AT"),
        ("Interval value", "INTERVAL_VALUE"),
        ("Interval field", "INTERVAL_FIELD"),
        ("Starts", "STARTS"),
        ("Ends", "ENDS"),
        ("Status", "STATUS"),
        ("Originator", "ORIGINATOR"),
        ("character_set_client", "CHARACTER_SET_CLIENT"),
        ("collation_connection", "COLLATION_CONNECTION"),
        ("Database Collation", "DATABASE_COLLATION"),
    ],
};

/// `SHOW PROCEDURE STATUS`, `SHOW FUNCTION STATUS`.
pub(super) const ROUTINES: Form = Form {
    table: "ROUTINES",
    columns: &[
        ("Db", "ROUTINE_SCHEMA"),
        ("Name", "ROUTINE_NAME"),
        ("Type", "ROUTINE_TYPE"),
        ("Definer", "DEFINER"),
        ("Modified", "LAST_ALTERED"),
        ("Created", "CREATED"),
        ("Security_type", "SECURITY_TYPE"),
        ("Comment", "ROUTINE_COMMENT"),
        ("character_set_client", "CHARACTER_SET_CLIENT"),
        ("collation_connection", "COLLATION_CONNECTION"),
        ("Database Collation", "DATABASE_COLLATION"),
    ],
};

impl Session {
    /// The rows of a form of which columns have these texts.
    pub(super) fn listed(&self, form: &Form, only: &[(&str, &str)]) -> Result<Listing> {
        listed_in(&Scene::new(&self.shared, &self.state), (form, only))
    }
}

/// As [`Session::listed`], in a scene.
pub(super) fn listed_in(scene: &Scene, (form, only): (&Form, &[(&str, &str)])) -> Result<Listing> {
    let names: Vec<&str> = form.columns.iter().map(|(_, column)| *column).collect();
    let columns = form.columns.iter();
    let columns = columns.map(|(name, column)| (*name, Scene::type_of(form.table, column)));
    let mut listing = Listing::new(&columns.collect::<Vec<_>>());
    let mut rows = scene.rows(form.table, &names, only)?;
    if only.is_empty() {
        rows.sort_by_key(|row| first_text(row));
    }
    for row in rows {
        listing.push(row);
    }
    Ok(listing)
}

fn first_text(row: &[Value<'static>]) -> Option<String> {
    match row.first() {
        Some(Value::Text(text)) => Some(text.clone().into_owned()),
        Some(_) | None => None,
    }
}
