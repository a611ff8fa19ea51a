//! The table of system variables, in order of name.
//!
//! Values and meanings follow the MySQL 8.0 Reference Manual, "Server System Variables". A
//! variable that is not here is error 1193: a client must not believe that something was set.

use std::borrow::Cow;

use crate::error::{Code, Error, Result};
use crate::types::Value;

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
    /// Any text.
    Text,
    /// Any text, or NULL.
    NullableText,
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
}

/// The last second that `timestamp` may be set to: 2038-01-19 03:14:07, the last of a TIMESTAMP.
const MOMENT_SECONDS_MAX: f64 = 2_147_483_647.0;

/// The words of `sql_mode`; `LINDORM` is ours (dialect §4). The combination modes expand.
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
    "LINDORM",
];

/// MySQL 8's default mode.
pub const SQL_MODE_DEFAULT: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,\
NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

const CHARSETS: &[&str] = &["utf8mb4", "utf8mb3", "utf8", "binary", "latin1", "ascii"];
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
    Bool, Int, Moment, NullableText, OnlyBool, OnlyWord, ReadOnlyBool, ReadOnlyInt, ReadOnlyText,
    Set, Text, Word,
};

variables! {
    "auto_increment_increment" Both Int(1, 1), "1", "Steps of AUTO_INCREMENT; ids are spread here.";
    "auto_increment_offset" Both Int(1, 1), "1", "Start of AUTO_INCREMENT; ids are spread here.";
    "autocommit" Both Bool, "ON", "Whether each statement is a transaction of its own.";
    "big_tables" Both Bool, "OFF", "No meaning: memory is bounded by query_memory_bytes.";
    "character_set_client" Both Word(CHARSETS), "utf8mb4", "The encoding of statements: always utf8mb4.";
    "character_set_connection" Both Word(CHARSETS), "utf8mb4", "The encoding of literals: always utf8mb4.";
    "character_set_database" Both OnlyWord(&["utf8mb4"]), "utf8mb4", "The encoding of the database.";
    "character_set_filesystem" Both Word(CHARSETS), "binary", "The encoding of file names.";
    "character_set_results" Both NullableText, "utf8mb4", "The encoding of results: always utf8mb4.";
    "character_set_server" Both OnlyWord(&["utf8mb4"]), "utf8mb4", "The encoding of the server.";
    "character_set_system" GlobalOnly ReadOnlyText, "utf8mb3", "The encoding of identifiers.";
    "collation_connection" Both Text, "utf8mb4_bin", "The order of literals: always utf8mb4_bin.";
    "collation_database" Both OnlyWord(&["utf8mb4_bin"]), "utf8mb4_bin", "The order of the database.";
    "collation_server" Both OnlyWord(&["utf8mb4_bin"]), "utf8mb4_bin", "The order of the server.";
    "completion_type" Both OnlyWord(&["NO_CHAIN", "0"]), "NO_CHAIN", "What COMMIT does besides.";
    "connect_timeout" GlobalOnly Int(2, 31_536_000), "10", "Seconds a login may take.";
    "cte_max_recursion_depth" Both Int(0, 4_294_967_295), "1000", "The most rounds of a recursive common table expression.";
    "datadir" GlobalOnly ReadOnlyText, "", "The data directory.";
    "default_collation_for_utf8mb4" Both OnlyWord(&["utf8mb4_bin"]), "utf8mb4_bin", "The only collation.";
    "default_storage_engine" Both ReadOnlyText, "Meseta", "The only storage engine.";
    "default_tmp_storage_engine" Both ReadOnlyText, "Meseta", "The only storage engine.";
    "div_precision_increment" Both OnlyWord(&["4"]), "4", "Digits that division adds.";
    "error_count" SessionOnly ReadOnlyInt, "0", "Errors of the last statement.";
    "event_scheduler" GlobalOnly ReadOnlyText, "OFF", "There are no events.";
    "explicit_defaults_for_timestamp" Both OnlyBool(true), "ON", "TIMESTAMP columns have no hidden default.";
    "foreign_key_checks" Both Bool, "ON", "There are no foreign keys.";
    "full_scan_limit_max" Both Int(0, u64::MAX), "10000", "The LIMIT within which an unfiltered full scan is allowed.";
    "group_concat_max_len" Both Int(4, u64::MAX), "1024", "The most bytes of GROUP_CONCAT.";
    "gtid_mode" GlobalOnly ReadOnlyText, "OFF", "There is no binary log.";
    "have_openssl" GlobalOnly ReadOnlyText, "DISABLED", "Whether TLS is offered.";
    "have_query_cache" GlobalOnly ReadOnlyText, "NO", "There is no query cache.";
    "have_ssl" GlobalOnly ReadOnlyText, "DISABLED", "Whether TLS is offered.";
    "hostname" GlobalOnly ReadOnlyText, "localhost", "The machine.";
    "identity" SessionOnly ReadOnlyInt, "0", "LAST_INSERT_ID().";
    "init_connect" GlobalOnly ReadOnlyText, "", "Statements run at login: none.";
    "innodb_lock_wait_timeout" Both Int(1, 1_073_741_824), "50", "Seconds a row lock is waited for.";
    "insert_id" SessionOnly ReadOnlyInt, "0", "The next AUTO_INCREMENT value; ids are spread here.";
    "interactive_timeout" Both Int(1, 31_536_000), "28800", "wait_timeout of interactive clients.";
    "last_insert_id" SessionOnly ReadOnlyInt, "0", "LAST_INSERT_ID().";
    "license" GlobalOnly ReadOnlyText, "Apache-2.0", "The licence.";
    "local_infile" GlobalOnly ReadOnlyBool, "OFF", "LOAD DATA LOCAL is not offered.";
    "lock_wait_timeout" Both Int(1, 31_536_000), "31536000", "Seconds DDL waits.";
    "log_bin" GlobalOnly ReadOnlyBool, "OFF", "There is no binary log.";
    "long_query_time" Both Text, "10.000000", "Seconds from which a statement is slow.";
    "lower_case_file_system" GlobalOnly ReadOnlyBool, "OFF", "File names keep their case.";
    "lower_case_table_names" GlobalOnly ReadOnlyInt, "0", "Table names are compared with case.";
    "max_allowed_packet" Both Int(1024, 1_073_741_824), "67108864", "The most bytes of one packet.";
    "max_connections" GlobalOnly ReadOnlyInt, "1000", "The most connections.";
    "max_error_count" Both OnlyWord(&["1024"]), "1024", "Warnings kept of a statement.";
    "max_execution_time" Both Int(0, 4_294_967_295), "0", "Milliseconds a SELECT may take; 0 is no bound.";
    "max_join_size" Both Int(1, u64::MAX), "18446744073709551615", "Joins are bounded by query_memory_bytes.";
    "max_user_connections" GlobalOnly Int(0, 4_294_967_295), "0", "The most connections of one account; 0 is no bound.";
    "max_value_bytes" GlobalOnly ReadOnlyInt, "2097152", "The most bytes of one value.";
    "multi_get_max_rows" Both Int(1, 100_000), "2000", "The most keys of one multi-get.";
    "net_buffer_length" Both Int(1024, 1_048_576), "16384", "Bytes of the first network buffer.";
    "net_read_timeout" Both Int(1, 31_536_000), "30", "Seconds the rest of a packet is waited for.";
    "net_write_timeout" Both Int(1, 31_536_000), "60", "Seconds a client may take to accept a page.";
    "offline_mode" GlobalOnly ReadOnlyBool, "OFF", "Whether ordinary users are locked out.";
    "optimizer_switch" Both Text, "", "`skip_scan=on` lets keys be read whose first column has few values; the rest has no meaning.";
    "performance_schema" GlobalOnly ReadOnlyBool, "OFF", "There is none.";
    "pid_file" GlobalOnly ReadOnlyText, "", "There is none.";
    "port" GlobalOnly ReadOnlyInt, "3306", "The port.";
    "protocol_version" GlobalOnly ReadOnlyInt, "10", "The protocol.";
    "query_cache_size" GlobalOnly ReadOnlyInt, "0", "There is no query cache.";
    "query_cache_type" Both OnlyWord(&["OFF", "0"]), "OFF", "There is no query cache.";
    "query_memory_bytes" Both Int(1_048_576, 1_099_511_627_776), "268435456", "Memory one statement may hold.";
    "read_only" GlobalOnly ReadOnlyBool, "OFF", "Whether writes are refused.";
    "require_secure_transport" GlobalOnly Bool, "OFF", "Whether logins without TLS are refused.";
    "server_id" GlobalOnly ReadOnlyInt, "1", "The server's number.";
    "session_track_gtids" Both OnlyWord(&["OFF"]), "OFF", "Not offered.";
    "session_track_schema" Both Bool, "ON", "Whether a change of database is told.";
    "session_track_state_change" Both Bool, "OFF", "Whether a change of state is told.";
    "session_track_system_variables" Both Text, "time_zone,autocommit,character_set_client,character_set_results,character_set_connection", "Variables whose change is told.";
    "skip_networking" GlobalOnly ReadOnlyBool, "OFF", "Whether only sockets are served.";
    "socket" GlobalOnly ReadOnlyText, "", "There is none.";
    "sql_auto_is_null" Both OnlyBool(false), "OFF", "Whether `id IS NULL` finds the last id.";
    "sql_big_selects" Both Bool, "OFF", "Whether full table scans are allowed.";
    "sql_mode" Both Set(SQL_MODES), SQL_MODE_DEFAULT, "What is an error, and how SQL is read.";
    "sql_notes" Both Bool, "ON", "Whether notes are kept.";
    "sql_quote_show_create" Both OnlyBool(true), "ON", "Whether SHOW CREATE TABLE quotes names.";
    "sql_safe_updates" Both Bool, "OFF", "Keyless UPDATE and DELETE are always refused here.";
    "sql_select_limit" Both Int(0, u64::MAX), "18446744073709551615", "LIMIT of a SELECT that has none.";
    "sql_warnings" Both Bool, "OFF", "Whether INSERT tells its warnings.";
    "super_read_only" GlobalOnly ReadOnlyBool, "OFF", "Whether writes are refused.";
    "system_time_zone" GlobalOnly ReadOnlyText, "UTC", "The machine's zone.";
    "thread_stack" GlobalOnly ReadOnlyInt, "2097152", "Bytes of a thread's stack.";
    "time_zone" Both Text, "SYSTEM", "The zone TIMESTAMP is shown in.";
    "timestamp" SessionOnly Moment, "0", "What NOW() tells; 0 is the clock.";
    "tls_version" GlobalOnly ReadOnlyText, "", "The versions of TLS that are offered.";
    "transaction_isolation" Both Word(ISOLATIONS), "REPEATABLE-READ", "Every transaction reads one snapshot.";
    "transaction_read_only" Both Bool, "OFF", "Whether transactions may write.";
    "tx_isolation" Both Word(ISOLATIONS), "REPEATABLE-READ", "Old name of transaction_isolation.";
    "tx_read_only" Both Bool, "OFF", "Old name of transaction_read_only.";
    "unique_checks" Both Bool, "ON", "Duplicates are always checked.";
    "version" GlobalOnly ReadOnlyText, super::super::VERSION, "The version.";
    "version_comment" GlobalOnly ReadOnlyText, "Meseta, a SQL wide-table server", "The product.";
    "version_compile_machine" GlobalOnly ReadOnlyText, std::env::consts::ARCH, "The processor.";
    "version_compile_os" GlobalOnly ReadOnlyText, std::env::consts::OS, "The system.";
    "wait_timeout" Both Int(1, 31_536_000), "28800", "Seconds a connection may be idle.";
    "warning_count" SessionOnly ReadOnlyInt, "0", "Warnings of the last statement.";
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

    fn parsed_default(&self) -> Value<'static> {
        match self.kind {
            Bool | ReadOnlyBool | OnlyBool(_) => Value::Int(i64::from(self.default == "ON")),
            Moment => Value::Double(0.0),
            Int(..) | ReadOnlyInt => Value::UInt(self.default.parse().unwrap_or(0)),
            Text | NullableText | Word(_) | Set(_) | ReadOnlyText | OnlyWord(_) => {
                Value::Text(Cow::Borrowed(self.default))
            }
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
            Moment => self.moment(&value),
            NullableText if value.is_null() => Ok(Value::Null),
            Text | NullableText => self.text(&value).map(|text| Value::Text(Cow::Owned(text))),
            Word(words) | OnlyWord(words) => self.word(&value, words),
            Set(words) => self.set(&value, words),
            ReadOnlyInt | ReadOnlyText | ReadOnlyBool => Err(self.read_only()),
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

    fn text(&self, value: &Value<'_>) -> Result<String> {
        if value.is_null() {
            Err(self.wrong_value(value))
        } else {
            Ok(value.to_text().into_owned())
        }
    }

    fn word(&self, value: &Value<'_>, words: &[&'static str]) -> Result<Value<'static>> {
        let text = self.text(value)?;
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(&text));
        found
            .map(|word| Value::Text(Cow::Borrowed(word)))
            .ok_or_else(|| self.wrong_value(value))
    }

    fn set(&self, value: &Value<'_>, words: &[&'static str]) -> Result<Value<'static>> {
        let text = self.text(value)?;
        let mut kept: Vec<&str> = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(part)) else {
                return Err(self.wrong_value(&Value::Text(Cow::Owned(part.to_owned()))));
            };
            for word in expanded(word) {
                if !kept.contains(word) {
                    kept.push(word);
                }
            }
        }
        kept.sort_by_key(|word| words.iter().position(|known| known == word));
        Ok(Value::Text(Cow::Owned(kept.join(","))))
    }
}

/// A combination mode and what it stands for (MySQL manual, "Combination SQL Modes").
fn expanded(word: &&'static str) -> &'static [&'static str] {
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
        other => SQL_MODES
            .iter()
            .position(|mode| *mode == other)
            .and_then(|idx| SQL_MODES.get(idx..=idx))
            .unwrap_or(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(set("NO_SUCH").unwrap_err().code(), Code::VariableValue);
    }
}
