//! `SHOW SLOW QUERIES`: the newest statements that took longer than `long_query_time`, the last first.

use crate::error::Result;
use crate::session::Session;
use crate::session::listing::{LONG_TEXT, Listing, TEXT};
use crate::sql::ast::Limit;
use crate::types::{ColumnType, Decimal, Value};

/// Digits behind the point of seconds.
const SECONDS_SCALE: u8 = 6;

const NANOS_PER_MICRO: u64 = 1000;

const SECONDS: ColumnType = ColumnType::Decimal {
    precision: 20,
    scale: SECONDS_SCALE,
};

impl Session {
    /// `SHOW SLOW QUERIES [LIMIT n]`.
    pub(super) fn show_slow_queries(&mut self, limit: Option<&Limit>) -> Result<Listing> {
        let mut listing = Listing::new(&[
            ("Start_time", ColumnType::Datetime { fsp: 6 }),
            ("User_host", TEXT),
            ("Db", TEXT),
            ("Query_time", SECONDS),
            ("Lock_time", SECONDS),
            ("Rows_sent", ColumnType::BIGINT_UNSIGNED),
            ("Rows_examined", ColumnType::BIGINT_UNSIGNED),
            ("Rows_affected", ColumnType::BIGINT_UNSIGNED),
            ("Error", ColumnType::BIGINT_UNSIGNED),
            ("Thread_id", ColumnType::BIGINT_UNSIGNED),
            ("Digest_text", LONG_TEXT),
            ("Sql_text", LONG_TEXT),
        ]);
        for entry in self.shared.monitor.slow.newest() {
            let event = entry.event;
            let errno = event.error.map_or(0, |code| u64::from(code.errno()));
            listing.push(vec![
                Value::Datetime(self.settings.zone.to_datetime(entry.began)),
                text(format!("{}@{}", entry.user, entry.host)),
                entry.database.map_or(Value::Null, text),
                seconds(event.nanos),
                seconds(event.lock_nanos),
                Value::UInt(event.rows_sent),
                Value::UInt(event.rows_examined),
                Value::UInt(event.rows_affected),
                Value::UInt(errno),
                Value::UInt(u64::from(entry.connection_id)),
                text(entry.digest),
                text(entry.text),
            ]);
        }
        self.limited(listing, limit)
    }
}

/// Nanoseconds as seconds with six digits behind the point.
fn seconds(nanos: u64) -> Value<'static> {
    let micros = i128::from(nanos / NANOS_PER_MICRO);
    Decimal::new(micros, SECONDS_SCALE).map_or(Value::Null, Value::Decimal)
}

fn text(text: String) -> Value<'static> {
    Value::Text(text.into())
}
