//! Tables about things that this server does not have: they have columns and no rows.

use super::table::{
    Absent, BIGINT, DATETIME, INT, LONGTEXT, MEDIUMTEXT, NAME, NOTHING, TEXT, TIMESTAMP, UBIGINT,
    UINT, YES_NO, varchar,
};
use super::{INFORMATION_SCHEMA, MYSQL, PERFORMANCE_SCHEMA};
use crate::types::ColumnType;

/// `information_schema.CHECK_CONSTRAINTS`.
pub(super) static CHECK_CONSTRAINTS: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "CHECK_CONSTRAINTS",
    columns: &[
        ("CONSTRAINT_CATALOG", NAME),
        ("CONSTRAINT_SCHEMA", NAME),
        ("CONSTRAINT_NAME", NAME),
        ("CHECK_CLAUSE", LONGTEXT),
    ],
};

/// `information_schema.COLUMN_PRIVILEGES`: privileges are of databases and tables.
pub(super) static COLUMN_PRIVILEGES: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "COLUMN_PRIVILEGES",
    columns: &[
        ("GRANTEE", varchar(292)),
        ("TABLE_CATALOG", varchar(512)),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("COLUMN_NAME", NAME),
        ("PRIVILEGE_TYPE", NAME),
        ("IS_GRANTABLE", YES_NO),
    ],
};

/// `information_schema.COLUMN_STATISTICS`: histograms.
pub(super) static COLUMN_STATISTICS: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "COLUMN_STATISTICS",
    columns: &[
        ("SCHEMA_NAME", NAME),
        ("TABLE_NAME", NAME),
        ("COLUMN_NAME", NAME),
        ("HISTOGRAM", ColumnType::Json),
    ],
};

/// `information_schema.EVENTS`.
pub(super) static EVENTS: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "EVENTS",
    columns: &[
        ("EVENT_CATALOG", NAME),
        ("EVENT_SCHEMA", NAME),
        ("EVENT_NAME", NAME),
        ("DEFINER", varchar(288)),
        ("TIME_ZONE", NAME),
        ("EVENT_BODY", varchar(3)),
        ("EVENT_DEFINITION", LONGTEXT),
        ("EVENT_TYPE", varchar(9)),
        ("EXECUTE_AT", DATETIME),
        ("INTERVAL_VALUE", varchar(256)),
        ("INTERVAL_FIELD", varchar(18)),
        ("SQL_MODE", varchar(520)),
        ("STARTS", DATETIME),
        ("ENDS", DATETIME),
        ("STATUS", varchar(21)),
        ("ON_COMPLETION", varchar(12)),
        ("CREATED", TIMESTAMP),
        ("LAST_ALTERED", TIMESTAMP),
        ("LAST_EXECUTED", DATETIME),
        ("EVENT_COMMENT", varchar(2048)),
        ("ORIGINATOR", UINT),
        ("CHARACTER_SET_CLIENT", NAME),
        ("COLLATION_CONNECTION", NAME),
        ("DATABASE_COLLATION", NAME),
    ],
};

/// `information_schema.FILES`: those of tablespaces.
pub(super) static FILES: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "FILES",
    columns: &[
        ("FILE_ID", BIGINT),
        ("FILE_NAME", TEXT),
        ("FILE_TYPE", varchar(256)),
        ("TABLESPACE_NAME", varchar(268)),
        ("TABLE_CATALOG", ColumnType::Char { chars_max: 0 }),
        ("TABLE_SCHEMA", NOTHING),
        ("TABLE_NAME", NOTHING),
        ("LOGFILE_GROUP_NAME", varchar(256)),
        ("LOGFILE_GROUP_NUMBER", BIGINT),
        ("ENGINE", NAME),
        ("FULLTEXT_KEYS", NOTHING),
        ("DELETED_ROWS", NOTHING),
        ("UPDATE_COUNT", NOTHING),
        ("FREE_EXTENTS", BIGINT),
        ("TOTAL_EXTENTS", BIGINT),
        ("EXTENT_SIZE", BIGINT),
        ("INITIAL_SIZE", BIGINT),
        ("MAXIMUM_SIZE", BIGINT),
        ("AUTOEXTEND_SIZE", BIGINT),
        ("CREATION_TIME", NOTHING),
        ("LAST_UPDATE_TIME", NOTHING),
        ("LAST_ACCESS_TIME", NOTHING),
        ("RECOVER_TIME", NOTHING),
        ("TRANSACTION_COUNTER", NOTHING),
        ("VERSION", BIGINT),
        ("ROW_FORMAT", varchar(256)),
        ("TABLE_ROWS", NOTHING),
        ("AVG_ROW_LENGTH", NOTHING),
        ("DATA_LENGTH", NOTHING),
        ("MAX_DATA_LENGTH", NOTHING),
        ("INDEX_LENGTH", NOTHING),
        ("DATA_FREE", BIGINT),
        ("CREATE_TIME", NOTHING),
        ("UPDATE_TIME", NOTHING),
        ("CHECK_TIME", NOTHING),
        ("CHECKSUM", NOTHING),
        ("STATUS", varchar(256)),
        ("EXTRA", varchar(256)),
    ],
};

/// `mysql.columns_priv`: privileges are of databases and tables.
pub(super) static COLUMNS_PRIV: Absent = Absent {
    database: MYSQL,
    name: "columns_priv",
    columns: &[
        ("Host", ColumnType::Char { chars_max: 255 }),
        ("Db", ColumnType::Char { chars_max: 64 }),
        ("User", ColumnType::Char { chars_max: 32 }),
        ("Table_name", ColumnType::Char { chars_max: 64 }),
        ("Column_name", ColumnType::Char { chars_max: 64 }),
        ("Timestamp", TIMESTAMP),
        ("Column_priv", varchar(255)),
    ],
};

/// `information_schema.PARAMETERS`: those of stored routines.
pub(super) static PARAMETERS: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "PARAMETERS",
    columns: &[
        ("SPECIFIC_CATALOG", NAME),
        ("SPECIFIC_SCHEMA", NAME),
        ("SPECIFIC_NAME", NAME),
        ("ORDINAL_POSITION", UBIGINT),
        ("PARAMETER_MODE", varchar(5)),
        ("PARAMETER_NAME", NAME),
        ("DATA_TYPE", LONGTEXT),
        ("CHARACTER_MAXIMUM_LENGTH", BIGINT),
        ("CHARACTER_OCTET_LENGTH", BIGINT),
        ("NUMERIC_PRECISION", UINT),
        ("NUMERIC_SCALE", BIGINT),
        ("DATETIME_PRECISION", UINT),
        ("CHARACTER_SET_NAME", NAME),
        ("COLLATION_NAME", NAME),
        ("DTD_IDENTIFIER", MEDIUMTEXT),
        ("ROUTINE_TYPE", varchar(9)),
    ],
};

/// `information_schema.REFERENTIAL_CONSTRAINTS`: foreign keys.
pub(super) static REFERENTIAL_CONSTRAINTS: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "REFERENTIAL_CONSTRAINTS",
    columns: &[
        ("CONSTRAINT_CATALOG", NAME),
        ("CONSTRAINT_SCHEMA", NAME),
        ("CONSTRAINT_NAME", NAME),
        ("UNIQUE_CONSTRAINT_CATALOG", NAME),
        ("UNIQUE_CONSTRAINT_SCHEMA", NAME),
        ("UNIQUE_CONSTRAINT_NAME", NAME),
        ("MATCH_OPTION", varchar(7)),
        ("UPDATE_RULE", varchar(11)),
        ("DELETE_RULE", varchar(11)),
        ("TABLE_NAME", NAME),
        ("REFERENCED_TABLE_NAME", NAME),
    ],
};

/// `information_schema.ROUTINES`.
pub(super) static ROUTINES: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "ROUTINES",
    columns: &[
        ("SPECIFIC_NAME", NAME),
        ("ROUTINE_CATALOG", NAME),
        ("ROUTINE_SCHEMA", NAME),
        ("ROUTINE_NAME", NAME),
        ("ROUTINE_TYPE", varchar(9)),
        ("DATA_TYPE", LONGTEXT),
        ("CHARACTER_MAXIMUM_LENGTH", BIGINT),
        ("CHARACTER_OCTET_LENGTH", BIGINT),
        ("NUMERIC_PRECISION", UINT),
        ("NUMERIC_SCALE", UINT),
        ("DATETIME_PRECISION", UINT),
        ("CHARACTER_SET_NAME", NAME),
        ("COLLATION_NAME", NAME),
        ("DTD_IDENTIFIER", LONGTEXT),
        ("ROUTINE_BODY", varchar(8)),
        ("ROUTINE_DEFINITION", LONGTEXT),
        ("EXTERNAL_NAME", NOTHING),
        ("EXTERNAL_LANGUAGE", NAME),
        ("PARAMETER_STYLE", varchar(3)),
        ("IS_DETERMINISTIC", varchar(3)),
        ("SQL_DATA_ACCESS", varchar(17)),
        ("SQL_PATH", NOTHING),
        ("SECURITY_TYPE", varchar(7)),
        ("CREATED", TIMESTAMP),
        ("LAST_ALTERED", TIMESTAMP),
        ("SQL_MODE", varchar(520)),
        ("ROUTINE_COMMENT", TEXT),
        ("DEFINER", varchar(288)),
        ("CHARACTER_SET_CLIENT", NAME),
        ("COLLATION_CONNECTION", NAME),
        ("DATABASE_COLLATION", NAME),
    ],
};

/// `information_schema.TRIGGERS`.
pub(super) static TRIGGERS: Absent = Absent {
    database: INFORMATION_SCHEMA,
    name: "TRIGGERS",
    columns: &[
        ("TRIGGER_CATALOG", NAME),
        ("TRIGGER_SCHEMA", NAME),
        ("TRIGGER_NAME", NAME),
        ("EVENT_MANIPULATION", varchar(6)),
        ("EVENT_OBJECT_CATALOG", NAME),
        ("EVENT_OBJECT_SCHEMA", NAME),
        ("EVENT_OBJECT_TABLE", NAME),
        ("ACTION_ORDER", UINT),
        ("ACTION_CONDITION", NOTHING),
        ("ACTION_STATEMENT", LONGTEXT),
        ("ACTION_ORIENTATION", varchar(3)),
        ("ACTION_TIMING", varchar(6)),
        ("ACTION_REFERENCE_OLD_TABLE", NOTHING),
        ("ACTION_REFERENCE_NEW_TABLE", NOTHING),
        ("ACTION_REFERENCE_OLD_ROW", varchar(3)),
        ("ACTION_REFERENCE_NEW_ROW", varchar(3)),
        ("CREATED", ColumnType::Timestamp { fsp: 2 }),
        ("SQL_MODE", varchar(520)),
        ("DEFINER", varchar(288)),
        ("CHARACTER_SET_CLIENT", NAME),
        ("COLLATION_CONNECTION", NAME),
        ("DATABASE_COLLATION", NAME),
    ],
};

/// `performance_schema.session_connect_attrs`: what clients tell of themselves is not kept.
pub(super) static SESSION_CONNECT_ATTRS: Absent = Absent {
    database: PERFORMANCE_SCHEMA,
    name: "session_connect_attrs",
    columns: &[
        ("PROCESSLIST_ID", UBIGINT),
        ("ATTR_NAME", varchar(32)),
        ("ATTR_VALUE", varchar(1024)),
        ("ORDINAL_POSITION", INT),
    ],
};

/// `mysql.help_topic`: the manual is not in the server.
pub(super) static HELP_TOPIC: Absent = Absent {
    database: MYSQL,
    name: "help_topic",
    columns: &[
        ("help_topic_id", UINT),
        ("name", NAME),
        ("help_category_id", UINT),
        ("description", TEXT),
        ("example", TEXT),
        ("url", TEXT),
    ],
};
