//! `INSERT INTO t SELECT * FROM u` where full scans are refused: sent again with the hint that permits
//! one. The stock files about indexes fill their tables in this way.

use crate::client::Failure;

/// The error of a refused SELECT.
const REFUSED: u16 = 1104;

/// The copy of a whole table that a refused statement asks for.
pub(crate) fn permitted(sql: &str, failure: &Failure) -> Option<String> {
    let Failure::Server { errno: REFUSED, .. } = failure else {
        return None;
    };
    let (into, from) = sql
        .strip_prefix("INSERT INTO ")?
        .split_once(" SELECT * FROM ")?;
    Some(format!(
        "INSERT INTO {into} SELECT /*+ _l_allow_filtering_ */ * FROM {from}"
    ))
}
