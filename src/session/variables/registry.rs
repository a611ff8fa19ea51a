//! The table of system variables, in order of name.
//!
//! Values and meanings follow the MySQL 8.0 Reference Manual, "Server System Variables". A
//! variable that is not here is error 1193: a client must not believe that something was set.

use std::borrow::Cow;

use crate::error::{Code, Error, Result};
use crate::types::{Decimal, Value};

/// One system variable.
#[derive(Debug)]
pub struct Variable {
    /// The name, lower case.
    pub name: &'static str,
    /// Who has a value of it.
    pub reach: Reach,
    /// What values it takes.
    pub kind: Kind,
    /// The value a server starts with, in text.
    pub default: &'static str,
    /// One line for the documentation.
    pub doc: &'static str,
}

/// Who has a value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The server and each session.
    Both,
    /// The server and each session, which cannot set its own: it keeps what it began with.
    Inherited,
    /// The server alone.
    GlobalOnly,
    /// The session alone.
    SessionOnly,
}

/// What values a variable takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `ON` or `OFF`, shown as 1 or 0 by `@@x`.
    Bool,
    /// A number within bounds; a value outside is moved to the nearest bound, as MySQL does.
    Int(i64, u64),
    /// Seconds since 1970, with a fraction; 0 stands for the clock.
    Moment,
    /// Seconds from 0 to this many, down to microseconds; one outside is moved to the nearest.
    Seconds(u32),
    /// Any text.
    Text,
    /// The encoding under one of its names, or none: another is error 1115.
    Encoding,
    /// The same, or NULL.
    EncodingOrNull,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A comma-separated set of these words.
    Set(&'static [&'static str]),
    /// A number that cannot be set.
    ReadOnlyInt,
    /// A text that cannot be set.
    ReadOnlyText,
    /// A switch that cannot be set.
    ReadOnlyBool,
    /// A switch of which only one position is true here: setting the other is error 1231, because
    /// nothing here would act on it.
    OnlyBool(bool),
    /// Words of which only the listed ones are true here.
    OnlyWord(&'static [&'static str]),
    /// A number of which only one is true here: another is error 1231.
    OnlyInt(u64),
    /// Whatever it is set to, its value is what is true here, and a warning says so: what clients set
    /// without asking what comes of it. These are the beginnings of the words that are understood.
    Kept(&'static [&'static str]),
    /// `name=on,name=off,…`: those that are not named stay as they are.
    Switches(&'static [(&'static str, bool)]),
}

/// The last second that `timestamp` may be set to: 2038-01-19 03:14:07, the last of a TIMESTAMP.
const MOMENT_SECONDS_MAX: f64 = 2_147_483_647.0;

/// The words of `sql_mode`; `LINDORM` is ours. The combination modes expand.
pub const SQL_MODES: &[&str] = &[
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
    "NO_AUTO_CREATE_USER",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "NO_FIELD_OPTIONS",
    "LINDORM",
];

/// The bits of the first of [`SQL_MODES`], in their order, where `sql_mode` is a number (`sql_mode_names` of MySQL 8.0).
const SQL_MODE_BITS: [u32; 21] = [
    0, 1, 2, 3, 5, 6, 7, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 29, 30, 31, 32,
];

/// The words of `sql_mode` that change what statements give and that nothing here would act on: setting one is
/// an error.
const SQL_MODES_MISSING: &[&str] = &[
    "ALLOW_INVALID_DATES",
    "HIGH_NOT_PRECEDENCE",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// The switches of `optimizer_switch` (MySQL manual, "Switchable Optimizations"). `skip_scan` acts here
/// and is off unless it is asked for; the others are understood and change nothing.
pub const OPTIMIZER_SWITCHES: &[(&str, bool)] = &[
    ("index_merge", true),
    ("index_merge_union", true),
    ("index_merge_sort_union", true),
    ("index_merge_intersection", true),
    ("engine_condition_pushdown", true),
    ("index_condition_pushdown", true),
    ("mrr", true),
    ("mrr_cost_based", true),
    ("block_nested_loop", true),
    ("batched_key_access", false),
    ("materialization", true),
    ("semijoin", true),
    ("loosescan", true),
    ("firstmatch", true),
    ("duplicateweedout", true),
    ("subquery_materialization_cost_based", true),
    ("use_index_extensions", true),
    ("condition_fanout_filter", true),
    ("derived_merge", true),
    ("use_invisible_indexes", false),
    ("skip_scan", false),
    ("hash_join", true),
    ("subquery_to_derived", false),
    ("prefer_ordering_index", true),
    ("hypergraph_optimizer", false),
    ("derived_condition_pushdown", true),
];

/// MySQL 8's default mode.
pub const SQL_MODE_DEFAULT: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,\
NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// Collations of the encoding: all stand for the only one there is.
const COLLATIONS: &[&str] = &["utf8mb4_", "utf8mb3_", "utf8_", "binary"];
/// Names of the only encoding, and that of none: bytes are taken and given as they are.
const CHARSETS: &[&str] = &["utf8mb4", "utf8mb3", "utf8", "binary"];
const ISOLATIONS: &[&str] = &["REPEATABLE-READ", "READ-COMMITTED", "READ-UNCOMMITTED"];

macro_rules! variables {
    ($($name:literal $reach:ident $kind:expr, $default:expr, $doc:literal;)*) => {
        /// Every variable, in order of name.
        pub const ALL: &[Variable] = &[$(Variable {
            name: $name, reach: Reach::$reach, kind: $kind, default: $default, doc: $doc,
        },)*];
    };
}

use Kind::{
    Bool, Encoding, EncodingOrNull, Int, Kept, Moment, OnlyBool, OnlyInt, OnlyWord, ReadOnlyBool,
    ReadOnlyInt, ReadOnlyText, Seconds, Set, Switches, Text, Word,
};

variables! {
    "authentication_policy" GlobalOnly ReadOnlyText, "*,,", "How new accounts log in.";
    "auto_increment_increment" Both OnlyInt(1), "1", "Steps of counted AUTO_INCREMENT ids.";
    "auto_increment_mode" Both Word(&["SPREAD", "CONSECUTIVE"]), "SPREAD", "Whether BIGINT AUTO_INCREMENT columns of tables created from now on spread their ids or count them; smaller types count always.";
    "auto_increment_offset" Both OnlyInt(1), "1", "Start of counted AUTO_INCREMENT ids.";
    "autocommit" Both Bool, "ON", "Whether each statement is a transaction of its own.";
    "automatic_sp_privileges" GlobalOnly ReadOnlyBool, "ON", "There are no stored routines.";
    "backup_dir" GlobalOnly ReadOnlyText, "", "Where BACKUP TO may make its copies; NULL for nowhere.";
    "basedir" GlobalOnly ReadOnlyText, "/", "There are no files beside the program.";
    "big_tables" Both Bool, "OFF", "No meaning: memory is bounded by query_memory_bytes.";
    "binlog_format" Both Word(&["ROW", "STATEMENT", "MIXED"]), "ROW", "There is no binary log.";
    "binlog_row_image" Both Word(&["full", "minimal", "noblob"]), "full", "There is no binary log.";
    "block_encryption_mode" Both OnlyWord(&["aes-128-ecb"]), "aes-128-ecb", "How AES_ENCRYPT works.";
    "bulk_insert_buffer_size" Both Int(0, u64::MAX), "8388608", "No meaning: memory is bounded by query_memory_bytes.";
    "character_set_client" Both Encoding, "utf8mb4", "The encoding of statements: always utf8mb4.";
    "character_set_connection" Both Encoding, "utf8mb4", "The encoding of literals: always utf8mb4.";
    "character_set_database" Both Encoding, "utf8mb4", "The encoding of the database: always utf8mb4.";
    "character_set_filesystem" Both Encoding, "binary", "The encoding of file names.";
    "character_set_results" Both EncodingOrNull, "utf8mb4", "The encoding of results: always utf8mb4.";
    "character_set_server" Both Kept(&["utf8mb4", "utf8mb3", "utf8"]), "utf8mb4", "The encoding of the server.";
    "character_set_system" GlobalOnly ReadOnlyText, "utf8mb3", "The encoding of identifiers.";
    "collation_connection" Both Kept(COLLATIONS), "utf8mb4_bin", "The order of literals: always utf8mb4_bin.";
    "collation_database" Both Kept(COLLATIONS), "utf8mb4_bin", "The order of the database.";
    "collation_server" Both Kept(COLLATIONS), "utf8mb4_bin", "The order of the server.";
    "completion_type" Both OnlyWord(&["NO_CHAIN", "0"]), "NO_CHAIN", "What COMMIT does besides.";
    "connect_timeout" GlobalOnly Int(2, 31_536_000), "10", "Seconds a login may take.";
    "cte_max_recursion_depth" Both Int(0, 4_294_967_295), "1000", "The most rounds of a recursive common table expression.";
    "datadir" GlobalOnly ReadOnlyText, "", "The data directory.";
    "debug_ttl_clock" SessionOnly Moment, "0", "What TTL counts from, for tests; 0 is the clock.";
    "default_authentication_plugin" GlobalOnly ReadOnlyText, "caching_sha2_password", "How new accounts log in.";
    "default_collation_for_utf8mb4" Both Kept(COLLATIONS), "utf8mb4_bin", "The only collation.";
    "default_storage_engine" Both Kept(&["Meseta", "InnoDB"]), "Meseta", "The only storage engine.";
    "default_tmp_storage_engine" Both Kept(&["Meseta", "InnoDB"]), "Meseta", "The only storage engine.";
    "default_week_format" Both OnlyInt(0), "0", "The mode of WEEK() when none is given.";
    "div_precision_increment" Both OnlyInt(4), "4", "Digits that division adds.";
    "enforce_gtid_consistency" GlobalOnly ReadOnlyText, "OFF", "There is no binary log.";
    "eq_range_index_dive_limit" Both Int(0, 4_294_967_295), "200", "No meaning: estimates cost nothing here.";
    "error_count" SessionOnly ReadOnlyInt, "0", "Errors of the last statement.";
    "event_scheduler" GlobalOnly ReadOnlyText, "OFF", "There are no events.";
    "explicit_defaults_for_timestamp" Both OnlyBool(true), "ON", "TIMESTAMP columns have no hidden default.";
    "foreign_key_checks" Both Bool, "ON", "There are no foreign keys.";
    "full_scan_limit_max" Both Int(0, u64::MAX), "10000", "The LIMIT within which an unfiltered full scan is allowed.";
    "general_log" GlobalOnly ReadOnlyBool, "OFF", "Statements are not logged.";
    "group_concat_max_len" Both Int(4, u64::MAX), "1024", "The most bytes of GROUP_CONCAT.";
    "gtid_executed" GlobalOnly ReadOnlyText, "", "There is no binary log.";
    "gtid_mode" GlobalOnly ReadOnlyText, "OFF", "There is no binary log.";
    "gtid_purged" GlobalOnly Kept(&[""]), "", "There is no binary log: what dumps of MySQL set is not kept, as nothing follows from it.";
    "have_openssl" GlobalOnly ReadOnlyText, "DISABLED", "Whether TLS is offered.";
    "have_profiling" GlobalOnly ReadOnlyText, "NO", "There are no profiles.";
    "have_query_cache" GlobalOnly ReadOnlyText, "NO", "There is no query cache.";
    "have_ssl" GlobalOnly ReadOnlyText, "DISABLED", "Whether TLS is offered.";
    "histogram_generation_max_mem_size" Both Int(1_000_000, u64::MAX), "20000000", "There are no histograms.";
    "hostname" GlobalOnly ReadOnlyText, "localhost", "The machine.";
    "identity" SessionOnly Int(0, u64::MAX), "0", "LAST_INSERT_ID().";
    "information_schema_stats_expiry" Both Int(0, 31_536_000), "86400", "Sizes and numbers of rows are never kept: they are always of now.";
    "init_connect" GlobalOnly ReadOnlyText, "", "Statements run at login: none.";
    "innodb_lock_wait_timeout" Both Int(1, 1_073_741_824), "50", "Seconds a row lock is waited for.";
    "innodb_stats_auto_recalc" GlobalOnly Bool, "ON", "There are no statistics of InnoDB.";
    "innodb_strict_mode" Both Bool, "ON", "There are no options of InnoDB.";
    "insert_id" SessionOnly ReadOnlyInt, "0", "The next AUTO_INCREMENT value; ids are spread here.";
    "interactive_timeout" Both Int(1, 31_536_000), "28800", "wait_timeout of interactive clients.";
    "join_buffer_size" Both Int(128, u64::MAX), "262144", "No meaning: memory is bounded by query_memory_bytes.";
    "json_as_text" Both Bool, "OFF", "Describe JSON columns as LONGTEXT, for clients that do not know their type (MariaDB's ODBC driver).";
    "last_insert_id" SessionOnly Int(0, u64::MAX), "0", "What LAST_INSERT_ID() returns.";
    "lc_messages" Both OnlyWord(&["en_US"]), "en_US", "The language of errors.";
    "lc_time_names" Both OnlyWord(&["en_US"]), "en_US", "The language of names of months and days.";
    "license" GlobalOnly ReadOnlyText, "Apache-2.0", "The licence.";
    "local_infile" GlobalOnly Bool, "OFF", "Whether LOAD DATA LOCAL may ask clients for files.";
    "lock_wait_timeout" Both Int(1, 31_536_000), "31536000", "No meaning: definitions wait for one another, and not for statements.";
    "log_bin" GlobalOnly ReadOnlyBool, "OFF", "There is no binary log.";
    "log_error_verbosity" GlobalOnly ReadOnlyInt, "2", "What is logged; see --log.";
    "log_output" GlobalOnly OnlyWord(&["FILE"]), "FILE", "Where slow statements are logged.";
    "log_queries_not_using_indexes" GlobalOnly OnlyBool(false), "OFF", "Statements without an index are refused, not logged.";
    "log_slow_admin_statements" GlobalOnly OnlyBool(true), "ON", "Slow statements of every kind are logged.";
    "log_slow_extra" GlobalOnly OnlyBool(false), "OFF", "The slow query log has the fields that all its readers know.";
    "long_query_time" Both Seconds(31_536_000), "10.000000", "Seconds from which a statement is slow.";
    "low_priority_updates" Both Bool, "OFF", "No meaning: writers wait for no readers.";
    "lower_case_file_system" GlobalOnly ReadOnlyBool, "OFF", "File names keep their case.";
    "lower_case_table_names" GlobalOnly ReadOnlyInt, "0", "Table names are compared with case.";
    "max_allowed_packet" Inherited Int(1024, 1_073_741_824), "67108864", "The most bytes of one packet.";
    "max_clock_skew_ms" GlobalOnly Int(0, 31_536_000_000), "300000", "How far ahead of the clock _l_ts_ may date a write.";
    "max_connections" GlobalOnly ReadOnlyInt, "1000", "The most connections.";
    "max_digest_length" GlobalOnly ReadOnlyInt, "1024", "Bytes of a digest's text.";
    "max_error_count" Both OnlyInt(1024), "1024", "Warnings kept of a statement.";
    "max_execution_time" Both Int(0, 4_294_967_295), "0", "Milliseconds a SELECT may take; 0 is no bound.";
    "max_heap_table_size" Both Int(16_384, u64::MAX), "16777216", "No meaning: memory is bounded by query_memory_bytes.";
    "max_join_size" Both Int(1, u64::MAX), "18446744073709551615", "Joins are bounded by query_memory_bytes; any value but DEFAULT turns sql_big_selects off.";
    "max_length_for_sort_data" Both Int(4, 8_388_608), "4096", "No meaning: rows are sorted whole.";
    "max_prepared_stmt_count" GlobalOnly ReadOnlyInt, "16382", "Prepared statements of one connection.";
    "max_seeks_for_key" Both Int(1, u64::MAX), "18446744073709551615", "No meaning: keys are chosen by their spans.";
    "max_user_connections" GlobalOnly Int(0, 4_294_967_295), "0", "The most connections of one account; 0 is no bound.";
    "max_value_bytes" GlobalOnly ReadOnlyInt, "2097152", "The most bytes of one value.";
    "memory_limit" GlobalOnly ReadOnlyInt, "0", "The most bytes of memory that the process may have; 0 is no bound.";
    "min_examined_row_limit" Both Int(0, u64::MAX), "0", "Rows that a statement must have read to be slow.";
    "multi_get_max_rows" Both Int(1, 100_000), "2000", "The most keys of one multi-get.";
    "net_buffer_length" Both Int(1024, 1_048_576), "16384", "Bytes of the first network buffer.";
    "net_read_timeout" Both Int(1, 31_536_000), "30", "Seconds the next part of a file of LOAD DATA LOCAL is waited for; whatever else a client sends, wait_timeout.";
    "net_retry_count" Both Int(1, u64::MAX), "10", "No meaning: reads are not tried again.";
    "net_write_timeout" Both Int(1, 31_536_000), "60", "Seconds a client may take to accept a page.";
    "offline_mode" GlobalOnly ReadOnlyBool, "OFF", "Whether ordinary users are locked out.";
    "old_alter_table" Both Bool, "OFF", "No meaning: ALTER TABLE copies only for another primary key.";
    "optimizer_prune_level" Both Int(0, 1), "1", "No meaning: joins are planned in one way.";
    "optimizer_search_depth" Both Int(0, 62), "62", "No meaning: joins are planned in one way.";
    "optimizer_switch" Both Switches(OPTIMIZER_SWITCHES), "", "`skip_scan=on` lets keys be read whose first column has few values; the rest has no meaning.";
    "performance_schema" GlobalOnly ReadOnlyBool, "OFF", "A few of its tables are there whatever this says, and no instruments.";
    "performance_schema_digests_size" GlobalOnly ReadOnlyInt, "5000", "Digests of statements that are told apart.";
    "performance_schema_max_digest_length" GlobalOnly ReadOnlyInt, "1024", "Bytes of a digest's text.";
    "performance_schema_max_digest_sample_age" GlobalOnly ReadOnlyInt, "60", "Seconds after which the sample of a digest gives way to the next.";
    "performance_schema_max_sql_text_length" GlobalOnly ReadOnlyInt, "1024", "Bytes of the sample of a digest.";
    "pid_file" GlobalOnly ReadOnlyText, "", "There is none.";
    "port" GlobalOnly ReadOnlyInt, "3306", "The port.";
    "preload_buffer_size" Both Int(1024, 1_073_741_824), "32768", "There is nothing to preload.";
    "profiling" Both OnlyBool(false), "OFF", "There are no profiles.";
    "profiling_history_size" Both Int(0, 100), "15", "There are no profiles.";
    "protocol_compression_algorithms" GlobalOnly Set(&["zlib", "zstd", "uncompressed"]), "zlib,zstd,uncompressed", "How connections may be compressed; the first that a client knows is taken.";
    "protocol_version" GlobalOnly ReadOnlyInt, "10", "The protocol.";
    "query_alloc_block_size" Both Int(1024, 4_294_967_295), "8192", "No meaning: memory is bounded by query_memory_bytes.";
    "query_cache_size" GlobalOnly ReadOnlyInt, "0", "There is no query cache.";
    "query_cache_type" Both OnlyWord(&["OFF", "0"]), "OFF", "There is no query cache.";
    "query_memory_bytes" Both Int(1_048_576, 1_099_511_627_776), "268435456", "Memory one statement may hold.";
    "query_prealloc_size" Both Int(8192, u64::MAX), "8192", "No meaning: memory is bounded by query_memory_bytes.";
    "range_optimizer_max_mem_size" Both Int(0, u64::MAX), "8388608", "No meaning: spans are bounded by their number.";
    "read_buffer_size" Both Int(8192, 2_147_479_552), "131072", "No meaning: rows are read by pages.";
    "read_only" GlobalOnly ReadOnlyBool, "OFF", "Whether writes are refused.";
    "read_rnd_buffer_size" Both Int(1, 2_147_483_647), "262144", "No meaning: rows are read by pages.";
    "require_secure_transport" GlobalOnly Bool, "OFF", "Whether logins without TLS are refused.";
    "schema_lints" Both Bool, "ON", "Whether DDL warns of what is worth a change; see ADVISE TABLE.";
    "secure_file_priv" GlobalOnly ReadOnlyText, "", "Where statements may read and write files; NULL for nowhere.";
    "server_id" GlobalOnly ReadOnlyInt, "1", "The server's number.";
    "session_track_gtids" Both OnlyWord(&["OFF"]), "OFF", "There are no GTIDs.";
    "session_track_schema" Both Bool, "ON", "Whether a change of database is told.";
    "session_track_state_change" Both Bool, "OFF", "Whether a change of state is told.";
    "session_track_system_variables" Both Text, "time_zone,autocommit,character_set_client,character_set_results,character_set_connection", "Variables whose change is told.";
    "session_track_transaction_info" Both Word(&["OFF", "STATE", "CHARACTERISTICS"]), "OFF", "What of the transaction is told.";
    "show_create_table_verbosity" Both Bool, "OFF", "No meaning: SHOW CREATE TABLE tells all.";
    "skip_networking" GlobalOnly ReadOnlyBool, "OFF", "Whether only sockets are served.";
    "slow_query_log" GlobalOnly Bool, "OFF", "Whether slow statements are written to slow_query_log_file.";
    "slow_query_log_file" GlobalOnly Text, "meseta-slow.log", "The file of slow statements, in the data directory or absolute; it ends with .log.";
    "socket" GlobalOnly ReadOnlyText, "", "There is none.";
    "sort_buffer_size" Both Int(32_768, u64::MAX), "262144", "No meaning: memory is bounded by query_memory_bytes.";
    "sql_auto_is_null" Both OnlyBool(false), "OFF", "Whether `id IS NULL` finds the last id.";
    "sql_big_selects" Both Bool, "OFF", "Whether full table scans are allowed.";
    "sql_buffer_result" Both Bool, "OFF", "No meaning: readers hold no locks.";
    "sql_generate_invisible_primary_key" Both OnlyBool(false), "OFF", "Tables without a key have a hidden one.";
    "sql_log_bin" SessionOnly Bool, "ON", "There is no binary log.";
    "sql_log_off" Both Bool, "OFF", "Statements are not logged.";
    "sql_mode" Both Set(SQL_MODES), SQL_MODE_DEFAULT, "What is an error, and how SQL is read.";
    "sql_notes" Both Bool, "ON", "Whether notes are kept as warnings.";
    "sql_quote_show_create" Both OnlyBool(true), "ON", "Whether SHOW CREATE TABLE quotes names.";
    "sql_require_primary_key" Both OnlyBool(false), "OFF", "Tables without a key are allowed.";
    "sql_safe_updates" Both Bool, "OFF", "Keyless UPDATE and DELETE without LIMIT are refused, also where full scans are allowed.";
    "sql_select_limit" Both Int(0, u64::MAX), "18446744073709551615", "LIMIT of a SELECT that has none.";
    "sql_warnings" Both Bool, "OFF", "No meaning: the answer always says how many there are.";
    "super_read_only" GlobalOnly ReadOnlyBool, "OFF", "Whether writes are refused.";
    "system_time_zone" GlobalOnly ReadOnlyText, "UTC", "The machine's zone.";
    "thread_stack" GlobalOnly ReadOnlyInt, "16777216", "Bytes of a thread's stack.";
    "time_zone" Both Text, "SYSTEM", "The zone TIMESTAMP is shown in.";
    "timestamp" SessionOnly Moment, "0", "What NOW() tells; 0 is the clock.";
    "tls_version" GlobalOnly ReadOnlyText, "", "The versions of TLS that are offered.";
    "tmp_table_size" Both Int(1024, u64::MAX), "16777216", "No meaning: memory is bounded by query_memory_bytes.";
    "tmpdir" GlobalOnly ReadOnlyText, "", "What is spilled lies in the data directory.";
    "transaction_alloc_block_size" Both Int(1024, 131_072), "8192", "No meaning: memory is bounded by query_memory_bytes.";
    "transaction_isolation" Both Word(ISOLATIONS), "REPEATABLE-READ", "REPEATABLE-READ: a transaction reads one snapshot. The others: each statement reads the newest.";
    "transaction_prealloc_size" Both Int(1024, 131_072), "4096", "No meaning: memory is bounded by query_memory_bytes.";
    "transaction_read_only" Both Bool, "OFF", "Whether transactions may write.";
    "trash_retention" GlobalOnly Int(0, 31_536_000), "86400", "Seconds for which a dropped table can come back; 0 drops at once.";
    "tx_isolation" Both Word(ISOLATIONS), "REPEATABLE-READ", "Old name of transaction_isolation.";
    "tx_read_only" Both Bool, "OFF", "Old name of transaction_read_only.";
    "unique_checks" Both Bool, "ON", "Duplicates are always checked.";
    "updatable_views_with_limit" Both Word(&["YES", "NO"]), "YES", "No meaning: rows are found by whole keys.";
    "version" GlobalOnly ReadOnlyText, super::super::VERSION, "The version.";
    "version_comment" GlobalOnly ReadOnlyText, "Meseta, a SQL wide-table server", "The product.";
    "version_compile_machine" GlobalOnly ReadOnlyText, std::env::consts::ARCH, "The processor.";
    "version_compile_os" GlobalOnly ReadOnlyText, std::env::consts::OS, "The system.";
    "wait_timeout" Both Int(1, 31_536_000), "28800", "Seconds a connection may be idle.";
    "warning_count" SessionOnly ReadOnlyInt, "0", "Warnings of the last statement.";
    "windowing_use_high_precision" Both OnlyBool(true), "ON", "Window functions are exact.";
}

/// The values a server starts with, in the order of [`ALL`].
pub fn defaults() -> Vec<Value<'static>> {
    ALL.iter().map(Variable::parsed_default).collect()
}

impl Variable {
    /// Whether it cannot be set.
    pub fn is_read_only(&self) -> bool {
        matches!(self.kind, ReadOnlyInt | ReadOnlyText | ReadOnlyBool)
    }

    /// Whether it can be set to DEFAULT: what the last INSERT did has none.
    pub fn has_default(&self) -> bool {
        !matches!(self.name, "identity" | "last_insert_id")
    }

    /// Error 1230.
    pub fn no_default(&self) -> Error {
        let text = format!("Variable '{}' doesn't have a default value", self.name);
        Error::new(Code::NoVariableDefault, text)
    }

    fn parsed_default(&self) -> Value<'static> {
        match self.kind {
            Bool | ReadOnlyBool | OnlyBool(_) => Value::Int(i64::from(self.default == "ON")),
            Moment => Value::Double(0.0),
            Int(..) | ReadOnlyInt | OnlyInt(_) => Value::UInt(self.default.parse().unwrap_or(0)),
            Seconds(max) => seconds(self.default.parse().unwrap_or(0.0), f64::from(max)),
            Switches(switches) => switches_text(switches.iter().copied()),
            Text | Encoding | EncodingOrNull | Word(_) | Set(_) | ReadOnlyText | OnlyWord(_)
            | Kept(_) => Value::Text(Cow::Borrowed(self.default)),
        }
    }

    /// The value in the form it is kept in; `None` is the default.
    ///
    /// # Errors
    /// 1231 for a value it cannot take, 1232 for one of another type, 1238 when it is read-only.
    pub fn checked(&self, value: Option<Value<'static>>) -> Result<Value<'static>> {
        if self.is_read_only() {
            return Err(self.read_only());
        }
        let Some(value) = value else {
            return Ok(self.parsed_default());
        };
        match self.kind {
            Bool => self.switch(&value),
            OnlyBool(only) => {
                let kept = self.switch(&value)?;
                let same = matches!(kept, Value::Int(bit) if (bit == 1) == only);
                if same {
                    Ok(kept)
                } else {
                    Err(self.wrong_value(&value))
                }
            }
            Int(low, high) => self.number(&value, low, high),
            OnlyInt(only) => {
                let kept = self.number(&value, 0, u64::MAX)?;
                if matches!(kept, Value::UInt(number) if number == only) {
                    Ok(kept)
                } else {
                    Err(self.wrong_value(&value))
                }
            }
            Kept(words) => self.kept(&value, words),
            Switches(switches) => self.switched(&value, switches),
            Moment => self.moment(&value),
            Seconds(max) => self.seconds(&value, f64::from(max)),
            EncodingOrNull if value.is_null() => Ok(Value::Null),
            Encoding | EncodingOrNull => self.encoding(&value),
            Text => self.text(&value).map(|text| Value::Text(Cow::Owned(text))),
            Word(words) | OnlyWord(words) => self.word(&value, words),
            Set(words) => self.set(&value, words),
            ReadOnlyInt | ReadOnlyText | ReadOnlyBool => Err(self.read_only()),
        }
    }

    /// A new value beside the current one, where setting it leaves some of that in place.
    ///
    /// # Errors
    /// Those of `current`.
    pub fn beside(
        &self,
        value: Value<'static>,
        current: impl FnOnce() -> Result<Value<'static>>,
    ) -> Result<Value<'static>> {
        if !matches!(self.kind, Switches(_)) || value.is_null() {
            return Ok(value);
        }
        let text = format!("{},{}", current()?.to_text(), value.to_text());
        Ok(Value::Text(Cow::Owned(text)))
    }

    /// What a warning says when a value was taken and is not the one that was given: a number
    /// was moved to the nearest bound, or something else is true here.
    pub fn adjusted(&self, given: &Value<'_>) -> Option<(Code, String)> {
        let kept = self.checked(Some(given.clone().into_owned())).ok()?;
        let (kept, given) = (kept.to_text(), given.to_text());
        let is_moved = if let Seconds(max) = self.kind {
            let bounds = 0.0..=f64::from(max);
            given
                .parse()
                .is_ok_and(|given: f64| !bounds.contains(&given))
        } else {
            matches!(self.kind, Int(..)) && kept != given
        };
        if is_moved {
            let text = format!("Truncated incorrect {} value: '{given}'", self.name);
            return Some((Code::IncorrectTypeValue, text));
        }
        if matches!(self.kind, Kept(_)) && !kept.eq_ignore_ascii_case(&given) {
            let text = format!("Variable '{}' keeps its value '{kept}'", self.name);
            return Some((Code::FeatureIgnored, text));
        }
        None
    }

    /// Checks that a session may set its own value.
    ///
    /// # Errors
    /// 1238 for what nobody sets; 1229 and 1621 for what is the server's to say.
    pub fn check_session(&self) -> Result<()> {
        if self.is_read_only() {
            return Err(self.read_only());
        }
        match self.reach {
            Reach::Both | Reach::SessionOnly => Ok(()),
            Reach::GlobalOnly => {
                let text = format!(
                    "Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL",
                    self.name
                );
                Err(Error::new(Code::GlobalVariable, text))
            }
            Reach::Inherited => {
                let text = format!(
                    "SESSION variable '{}' is read-only. Use SET GLOBAL to assign the value",
                    self.name
                );
                Err(Error::new(Code::SessionReadOnly, text))
            }
        }
    }

    /// Error 1238.
    pub fn read_only(&self) -> Error {
        let text = format!("Variable '{}' is a read only variable", self.name);
        Error::new(Code::VariableReadOnly, text)
    }

    fn wrong_value(&self, value: &Value<'_>) -> Error {
        let shown = if value.is_null() {
            "NULL".into()
        } else {
            value.to_text()
        };
        let text = format!(
            "Variable '{}' can't be set to the value of '{shown}'",
            self.name
        );
        Error::new(Code::VariableValue, text)
    }

    fn wrong_type(&self) -> Error {
        let text = format!("Incorrect argument type to variable '{}'", self.name);
        Error::new(Code::VariableType, text)
    }

    fn switch(&self, value: &Value<'_>) -> Result<Value<'static>> {
        let text = if value.is_null() {
            Cow::Borrowed("")
        } else {
            value.to_text()
        };
        match text.to_ascii_uppercase().as_str() {
            "1" | "ON" | "TRUE" => Ok(Value::Int(1)),
            "0" | "OFF" | "FALSE" => Ok(Value::Int(0)),
            _ => Err(self.wrong_value(value)),
        }
    }

    fn number(&self, value: &Value<'_>, low: i64, high: u64) -> Result<Value<'static>> {
        let low = u64::try_from(low).unwrap_or(0);
        match value {
            Value::Int(number) => Ok(Value::UInt(
                u64::try_from(*number).unwrap_or(0).clamp(low, high),
            )),
            Value::UInt(number) => Ok(Value::UInt((*number).clamp(low, high))),
            Value::Null
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Text(_)
            | Value::Bytes(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::Datetime(_)
            | Value::Timestamp(_)
            | Value::Year(_)
            | Value::Json(_)
            | Value::Enum(_) => Err(self.wrong_type()),
        }
    }

    fn moment(&self, value: &Value<'_>) -> Result<Value<'static>> {
        if matches!(value, Value::Null | Value::Text(_) | Value::Bytes(_)) {
            return Err(self.wrong_type());
        }
        match value.to_text().parse::<f64>() {
            Ok(seconds) if (0.0..=MOMENT_SECONDS_MAX).contains(&seconds) => {
                Ok(Value::Double(seconds))
            }
            Ok(_) => Err(self.wrong_value(value)),
            Err(_) => Err(self.wrong_type()),
        }
    }

    /// A text of digits is one, too: what was persisted is a text.
    fn seconds(&self, value: &Value<'_>, max: f64) -> Result<Value<'static>> {
        if value.is_null() {
            return Err(self.wrong_value(value));
        }
        match value.to_text().parse::<f64>() {
            Ok(given) if given.is_finite() => Ok(seconds(given, max)),
            Ok(_) | Err(_) => Err(self.wrong_type()),
        }
    }

    fn text(&self, value: &Value<'_>) -> Result<String> {
        if value.is_null() {
            Err(self.wrong_value(value))
        } else {
            Ok(value.to_text().into_owned())
        }
    }

    /// What is true here, when the value is understood.
    fn kept(&self, value: &Value<'_>, words: &[&str]) -> Result<Value<'static>> {
        let text = self.text(value)?.to_ascii_lowercase();
        let is_known = |word: &&str| text.starts_with(&word.to_ascii_lowercase());
        if words.iter().any(is_known) {
            Ok(self.parsed_default())
        } else {
            Err(self.wrong_value(value))
        }
    }

    /// All switches, after those that `value` names: the last word about each.
    fn switched(
        &self,
        value: &Value<'_>,
        switches: &[(&'static str, bool)],
    ) -> Result<Value<'static>> {
        let text = self.text(value)?.to_ascii_lowercase();
        let mut kept = switches.to_vec();
        for part in text.split(',').map(str::trim) {
            let wrong = || self.wrong_value(&Value::Text(Cow::Owned(part.to_owned())));
            if part == "default" {
                kept = switches.to_vec();
            } else if !part.is_empty() {
                let (name, position) = part.split_once('=').ok_or_else(wrong)?;
                let idx = switches.iter().position(|(own, _)| *own == name.trim());
                let default = idx.and_then(|idx| switches.get(idx));
                let is_on = match (position.trim(), default) {
                    ("on", _) => true,
                    ("off", _) => false,
                    ("default", Some((_, is_on))) => *is_on,
                    _ => return Err(wrong()),
                };
                let slot = idx.and_then(|idx| kept.get_mut(idx)).ok_or_else(wrong)?;
                slot.1 = is_on;
            }
        }
        Ok(switches_text(kept.into_iter()))
    }

    fn word(&self, value: &Value<'_>, words: &[&'static str]) -> Result<Value<'static>> {
        let text = self.text(value)?;
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(&text));
        found
            .map(|word| Value::Text(Cow::Borrowed(word)))
            .ok_or_else(|| self.wrong_value(value))
    }

    fn encoding(&self, value: &Value<'_>) -> Result<Value<'static>> {
        let text = self.text(value)?;
        self.word(value, CHARSETS).map_err(|_| {
            let text = format!("Unknown character set: '{text}': this server speaks utf8mb4 only");
            Error::new(Code::UnknownCharset, text)
        })
    }

    /// The words of a set as a text. A number is those of `sql_mode` that its bits stand for.
    fn set_text(&self, value: &Value<'_>) -> Result<String> {
        let is_number = matches!(value, Value::Int(_) | Value::UInt(_));
        if self.name != "sql_mode" || !is_number {
            return self.text(value);
        }
        let bits = value.to_text().parse().ok();
        let words = bits.and_then(sql_modes_of);
        words.ok_or_else(|| self.wrong_value(value))
    }

    fn set(&self, value: &Value<'_>, words: &'static [&'static str]) -> Result<Value<'static>> {
        let text = self.set_text(value)?;
        let mut kept: Vec<&str> = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(part)) else {
                return Err(self.wrong_value(&Value::Text(Cow::Owned(part.to_owned()))));
            };
            if SQL_MODES_MISSING.contains(word) {
                return Err(Error::unsupported(format!("{word} in {}", self.name)));
            }
            for word in expanded(word) {
                if !kept.contains(word) {
                    kept.push(word);
                }
            }
        }
        // Of sql_mode nothing is something.
        if kept.is_empty() && self.name != "sql_mode" {
            return Err(self.wrong_value(value));
        }
        kept.sort_by_key(|word| words.iter().position(|known| known == word));
        Ok(Value::Text(Cow::Owned(kept.join(","))))
    }
}

/// Seconds of at most so many, as they are kept: with six digits behind the point.
fn seconds(given: f64, max: f64) -> Value<'static> {
    let text = format!("{:.6}", given.clamp(0.0, max));
    Decimal::parse(&text).map_or(Value::Null, Value::Decimal)
}

/// Switches with their positions.
fn switches_text(switches: impl Iterator<Item = (&'static str, bool)>) -> Value<'static> {
    let parts = switches.map(|(name, is_on)| {
        let position = if is_on { "on" } else { "off" };
        format!("{name}={position}")
    });
    Value::Text(Cow::Owned(parts.collect::<Vec<_>>().join(",")))
}

/// The words of `sql_mode` that a number stands for; `None` where one of its bits means nothing.
fn sql_modes_of(bits: u64) -> Option<String> {
    let meant = SQL_MODE_BITS.iter().fold(0, |all, bit| all | 1_u64 << bit);
    if bits & !meant != 0 {
        return None;
    }
    let words = SQL_MODES.iter().zip(SQL_MODE_BITS);
    let words = words.filter(|(_, bit)| (bits >> bit) & 1 == 1);
    let words: Vec<&str> = words.map(|(word, _)| *word).collect();
    Some(words.join(","))
}

/// A word and what it stands for: combination modes for several (MySQL manual, "Combination SQL Modes").
fn expanded(word: &'static &'static str) -> &'static [&'static str] {
    const ANSI: &[&str] = &[
        "REAL_AS_FLOAT",
        "PIPES_AS_CONCAT",
        "ANSI_QUOTES",
        "IGNORE_SPACE",
        "ONLY_FULL_GROUP_BY",
        "ANSI",
    ];
    const TRADITIONAL: &[&str] = &[
        "STRICT_TRANS_TABLES",
        "STRICT_ALL_TABLES",
        "NO_ZERO_IN_DATE",
        "NO_ZERO_DATE",
        "ERROR_FOR_DIVISION_BY_ZERO",
        "TRADITIONAL",
        "NO_ENGINE_SUBSTITUTION",
    ];
    match *word {
        "ANSI" => ANSI,
        "TRADITIONAL" => TRADITIONAL,
        _ => std::slice::from_ref(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Variable {
        ALL.iter().find(|variable| variable.name == name).unwrap()
    }

    fn text(text: &'static str) -> Value<'static> {
        Value::Text(Cow::Borrowed(text))
    }

    #[test]
    fn switches_keep_what_is_not_named() {
        let switch = named("optimizer_switch");
        let kept = switch.checked(Some(text("mrr=off, skip_scan=on"))).unwrap();
        assert!(kept.to_text().contains(",mrr=off,"));
        assert!(kept.to_text().contains(",skip_scan=on,"));
        assert!(kept.to_text().starts_with("index_merge=on,"));
        let reset = switch.checked(Some(text("mrr=off,default"))).unwrap();
        assert_eq!(reset.to_text(), switch.parsed_default().to_text());
        for wrong in ["nosuch=on", "mrr", "mrr=maybe"] {
            let error = switch.checked(Some(text(wrong))).unwrap_err();
            assert_eq!(error.code(), Code::VariableValue, "{wrong}");
        }
    }

    #[test]
    fn what_is_true_stays_true() {
        let collation = named("collation_server");
        let kept = collation.checked(Some(text("utf8mb4_unicode_ci"))).unwrap();
        assert_eq!(kept.to_text(), "utf8mb4_bin");
        assert!(collation.checked(Some(text("latin1_swedish_ci"))).is_err());
        let step = named("auto_increment_increment");
        assert!(step.checked(Some(Value::Int(1))).is_ok());
        let error = step.checked(Some(Value::Int(2))).unwrap_err();
        assert_eq!(error.code(), Code::VariableValue);
    }

    #[test]
    fn names_are_sorted_so_that_they_can_be_searched() {
        assert!(ALL.is_sorted_by(|left, right| left.name < right.name));
    }

    #[test]
    fn every_default_is_a_value_of_its_variable() {
        for variable in ALL.iter().filter(|variable| !variable.is_read_only()) {
            let default = variable.parsed_default();
            variable
                .checked(Some(default))
                .unwrap_or_else(|error| panic!("{}: {error}", variable.name));
        }
    }

    #[test]
    fn a_mode_is_a_set_in_declared_order() {
        let mode = ALL
            .iter()
            .find(|variable| variable.name == "sql_mode")
            .unwrap();
        let set = |text: &'static str| mode.checked(Some(Value::Text(Cow::Borrowed(text))));
        assert_eq!(
            set("no_zero_date,ANSI_QUOTES, no_zero_date")
                .unwrap()
                .to_text(),
            "ANSI_QUOTES,NO_ZERO_DATE"
        );
        assert_eq!(set("").unwrap().to_text(), "");
        for (number, words) in [
            (0, ""),
            (4, "ANSI_QUOTES"),
            (
                (1 << 30) | (1 << 21),
                "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
            ),
        ] {
            let kept = mode.checked(Some(Value::Int(number))).unwrap();
            assert_eq!(kept.to_text(), words);
        }
        for (number, code) in [
            (-1, Code::VariableValue),
            (16, Code::VariableValue),
            (1 << 33, Code::VariableValue),
            (1 << 32, Code::NotSupportedYet),
        ] {
            let error = mode.checked(Some(Value::Int(number))).unwrap_err();
            assert_eq!(error.code(), code, "{number}");
        }
        assert_eq!(set("NO_SUCH").unwrap_err().code(), Code::VariableValue);
    }
}
