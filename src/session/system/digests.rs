//! `performance_schema.events_statements_summary_by_digest`: MySQL's columns in MySQL's order, then
//! ours. What is not counted here is 0. Who has no PROCESS sees no rows: samples have what others wrote.

use super::table::{LONGTEXT, Made, NAME, UBIGINT, column, maybe, text};
use super::{PERFORMANCE_SCHEMA, Scene};
use crate::accounts::Privilege;
use crate::session::monitor::digests::{PICOS_PER_NANO, Summary};
use crate::types::{ColumnType, Value};

/// The name of the table, which TRUNCATE TABLE resets.
pub(super) const DIGESTS_TABLE: &str = "events_statements_summary_by_digest";

/// `TIMESTAMP(6)`.
const SEEN: ColumnType = ColumnType::Timestamp { fsp: 6 };

fn picos(nanos: u64) -> Value<'static> {
    Value::UInt(nanos.saturating_mul(PICOS_PER_NANO))
}

fn uncounted(_: &Summary) -> Value<'static> {
    Value::UInt(0)
}

/// `performance_schema.events_statements_summary_by_digest`.
pub(super) static DIGESTS: Made<Summary> = Made {
    database: PERFORMANCE_SCHEMA,
    name: DIGESTS_TABLE,
    each: |scene: &Scene, _, give| {
        if !scene.state.rights().global().has(Privilege::Process) {
            return Ok(());
        }
        scene.shared.monitor.digests.each(give)
    },
    columns: &[
        column("SCHEMA_NAME", NAME, |s| maybe(s.schema.as_deref())),
        column("DIGEST", NAME, |s| {
            maybe(s.digest.as_ref().map(|digest| digest.hash.as_str()))
        }),
        column("DIGEST_TEXT", LONGTEXT, |s| {
            maybe(s.digest.as_ref().map(|digest| digest.text.as_str()))
        }),
        column("COUNT_STAR", UBIGINT, |s| Value::UInt(s.tally.count)),
        column("SUM_TIMER_WAIT", UBIGINT, |s| picos(s.tally.sum_nanos)),
        column("MIN_TIMER_WAIT", UBIGINT, |s| picos(s.tally.min_nanos)),
        column("AVG_TIMER_WAIT", UBIGINT, |s| {
            Value::UInt(s.tally.average_picos())
        }),
        column("MAX_TIMER_WAIT", UBIGINT, |s| picos(s.tally.max_nanos)),
        column("SUM_LOCK_TIME", UBIGINT, |s| picos(s.tally.lock_nanos)),
        column("SUM_ERRORS", UBIGINT, |s| Value::UInt(s.tally.errors)),
        column("SUM_WARNINGS", UBIGINT, |s| Value::UInt(s.tally.warnings)),
        column("SUM_ROWS_AFFECTED", UBIGINT, |s| {
            Value::UInt(s.tally.rows_affected)
        }),
        column("SUM_ROWS_SENT", UBIGINT, |s| Value::UInt(s.tally.rows_sent)),
        column("SUM_ROWS_EXAMINED", UBIGINT, |s| {
            Value::UInt(s.tally.rows_examined)
        }),
        column("SUM_CREATED_TMP_DISK_TABLES", UBIGINT, uncounted),
        column("SUM_CREATED_TMP_TABLES", UBIGINT, uncounted),
        column("SUM_SELECT_FULL_JOIN", UBIGINT, uncounted),
        column("SUM_SELECT_FULL_RANGE_JOIN", UBIGINT, uncounted),
        column("SUM_SELECT_RANGE", UBIGINT, uncounted),
        column("SUM_SELECT_RANGE_CHECK", UBIGINT, uncounted),
        column("SUM_SELECT_SCAN", UBIGINT, uncounted),
        column("SUM_SORT_MERGE_PASSES", UBIGINT, uncounted),
        column("SUM_SORT_RANGE", UBIGINT, uncounted),
        column("SUM_SORT_ROWS", UBIGINT, uncounted),
        column("SUM_SORT_SCAN", UBIGINT, uncounted),
        column("SUM_NO_INDEX_USED", UBIGINT, uncounted),
        column("SUM_NO_GOOD_INDEX_USED", UBIGINT, uncounted),
        column("SUM_CPU_TIME", UBIGINT, uncounted),
        column("MAX_CONTROLLED_MEMORY", UBIGINT, uncounted),
        column("MAX_TOTAL_MEMORY", UBIGINT, uncounted),
        column("COUNT_SECONDARY", UBIGINT, uncounted),
        column("FIRST_SEEN", SEEN, |s| Value::Timestamp(s.first_seen)),
        column("LAST_SEEN", SEEN, |s| Value::Timestamp(s.last_seen)),
        column("QUANTILE_95", UBIGINT, |s| {
            picos(s.tally.durations.quantile_nanos(950))
        }),
        column("QUANTILE_99", UBIGINT, |s| {
            picos(s.tally.durations.quantile_nanos(990))
        }),
        column("QUANTILE_999", UBIGINT, |s| {
            picos(s.tally.durations.quantile_nanos(999))
        }),
        column("QUERY_SAMPLE_TEXT", LONGTEXT, |s| {
            text(s.tally.sample.as_str())
        }),
        column("QUERY_SAMPLE_SEEN", SEEN, |s| {
            Value::Timestamp(s.sample_seen)
        }),
        column("QUERY_SAMPLE_TIMER_WAIT", UBIGINT, |s| {
            picos(s.tally.sample_nanos)
        }),
        column("SUM_REFUSALS", UBIGINT, |s| Value::UInt(s.tally.refusals)),
    ],
};
