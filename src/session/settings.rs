//! The session's variables in the form the server works with, read again after each SET.

use std::time::Duration;

use super::monitor::watch::seconds_to_nanos;
use super::state::State;
use crate::error::{Code, Error, Result};
use crate::plan::{CLOCK_SKEW_MS_MAX, FullScans, Policy};
use crate::protocol::column::JsonAs;
use crate::sql::context::{Mode, Notes, SessionFacts};
use crate::sql::expr::VariableScope;
use crate::types::Value;
use crate::types::temporal::{Timestamp, Zone};

/// What the variables of a session mean.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `autocommit`.
    pub autocommit: bool,
    /// `sql_mode`.
    pub mode: Mode,
    /// `time_zone`.
    pub zone: Zone,
    /// `timestamp`, when it holds the clock.
    pub clock: Option<Timestamp>,
    /// `max_execution_time`; `None` for 0.
    pub time_limit: Option<Duration>,
    /// `sql_select_limit`; `None` when it is the greatest number.
    pub select_limit: Option<u64>,
    /// `query_memory_bytes`.
    pub memory_bytes_max: usize,
    /// What full scans are permitted.
    pub policy: Policy,
    /// `innodb_lock_wait_timeout`.
    pub lock_timeout: Duration,
    /// `wait_timeout`.
    pub wait_timeout: Duration,
    /// `net_read_timeout`.
    pub net_read_timeout: Duration,
    /// `net_write_timeout`.
    pub net_write_timeout: Duration,
    /// `max_allowed_packet`.
    pub packet_bytes_max: usize,
    /// `transaction_read_only`.
    pub read_only: bool,
    /// `transaction_isolation`: whether each statement of a transaction reads the newest state.
    pub reads_anew: bool,
    /// `long_query_time`, in nanoseconds.
    pub slow_nanos: u64,
    /// `min_examined_row_limit`.
    pub slow_rows_min: u64,
    /// `json_as_text`: how JSON columns are described.
    pub json_as: JsonAs,
    /// `sql_notes`.
    pub notes: Notes,
}

impl Settings {
    /// Reads the variables of a session.
    ///
    /// # Errors
    /// 1298 for a time zone that does not exist.
    pub fn of(state: &State, allow_full_scan: bool) -> Result<Settings> {
        let read = Read { state };
        Ok(Settings {
            autocommit: read.switch("autocommit")?,
            mode: mode_of(&read.text("sql_mode")?),
            zone: Zone::parse(&read.text("time_zone")?)?,
            clock: state.held_clock(),
            time_limit: Some(read.number("max_execution_time")?)
                .filter(|millis| 0 < *millis)
                .map(Duration::from_millis),
            select_limit: Some(read.number("sql_select_limit")?).filter(|rows| *rows < u64::MAX),
            memory_bytes_max: read.size("query_memory_bytes")?,
            policy: Policy {
                full_scans: match allow_full_scan || read.switch("sql_big_selects")? {
                    false => FullScans::Refused,
                    true if read.switch("sql_safe_updates")? => FullScans::Safe,
                    true => FullScans::All,
                },
                full_scan_limit_max: read.number("full_scan_limit_max")?,
                multi_get_max_rows: read.number("multi_get_max_rows")?,
                max_clock_skew_ms: CLOCK_SKEW_MS_MAX,
                ttl_from_ms: state.held_ttl_clock_ms(),
                use_indexes: true,
                skip_scan: has_switch(&read.text("optimizer_switch")?, "skip_scan"),
            },
            lock_timeout: Duration::from_secs(read.number("innodb_lock_wait_timeout")?),
            wait_timeout: Duration::from_secs(read.number("wait_timeout")?),
            net_read_timeout: Duration::from_secs(read.number("net_read_timeout")?),
            net_write_timeout: Duration::from_secs(read.number("net_write_timeout")?),
            packet_bytes_max: read.size("max_allowed_packet")?,
            read_only: read.switch("transaction_read_only")?,
            reads_anew: read.text("transaction_isolation")? != "REPEATABLE-READ",
            slow_nanos: seconds_to_nanos(&read.text("long_query_time")?),
            slow_rows_min: read.number("min_examined_row_limit")?,
            json_as: if read.switch("json_as_text")? {
                JsonAs::LongText
            } else {
                JsonAs::Json
            },
            notes: if read.switch("sql_notes")? {
                Notes::Kept
            } else {
                Notes::Dropped
            },
        })
    }
}

/// Reads variables by name and form.
struct Read<'a> {
    state: &'a State,
}

impl Read<'_> {
    fn value(&self, name: &str) -> Result<Value<'static>> {
        self.state.system_variable(VariableScope::Any, name)
    }

    fn text(&self, name: &str) -> Result<String> {
        Ok(self.value(name)?.to_text().into_owned())
    }

    fn number(&self, name: &str) -> Result<u64> {
        let text = self.text(name)?;
        text.parse()
            .map_err(|_| Error::internal(format!("variable {name} is {text}")))
    }

    fn size(&self, name: &str) -> Result<usize> {
        Ok(usize::try_from(self.number(name)?).unwrap_or(usize::MAX))
    }

    fn switch(&self, name: &str) -> Result<bool> {
        Ok(self.number(name)? == 1)
    }
}

/// Whether the last word about a switch is `on`.
fn has_switch(words: &str, name: &str) -> bool {
    let words = words.split(',').filter_map(|word| word.split_once('='));
    let mut about = words.filter(|(word, _)| word.trim().eq_ignore_ascii_case(name));
    let last = about.next_back();
    last.is_some_and(|(_, value)| value.trim().eq_ignore_ascii_case("on"))
}

/// The words of `sql_mode` that act.
pub fn mode_of(words: &str) -> Mode {
    let has = |word: &str| words.split(',').any(|own| own == word);
    Mode {
        strict: has("STRICT_TRANS_TABLES") || has("STRICT_ALL_TABLES"),
        error_for_division_by_zero: has("ERROR_FOR_DIVISION_BY_ZERO"),
        no_zero_date: has("NO_ZERO_DATE"),
        no_zero_in_date: has("NO_ZERO_IN_DATE"),
        no_unsigned_subtraction: has("NO_UNSIGNED_SUBTRACTION"),
        real_as_float: has("REAL_AS_FLOAT"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        pipes_as_concat: has("PIPES_AS_CONCAT"),
        ansi_quotes: has("ANSI_QUOTES"),
        only_full_group_by: has("ONLY_FULL_GROUP_BY"),
        no_auto_value_on_zero: has("NO_AUTO_VALUE_ON_ZERO"),
        lindorm: has("LINDORM"),
    }
}

/// Checks a value of `time_zone` before it is set.
///
/// # Errors
/// 1298.
pub fn check_time_zone(value: &Value<'_>) -> Result<()> {
    if value.is_null() {
        return Err(Error::new(
            Code::UnknownTimeZone,
            "Unknown or incorrect time zone: 'NULL'",
        ));
    }
    Zone::parse(&value.to_text()).map(|_| ())
}
