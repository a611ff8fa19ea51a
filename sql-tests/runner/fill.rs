//! `INSERT INTO t SELECT * FROM u` for a server that refuses full scans: said again with the hint
//! that allows this one. The stock files about indexes fill their tables in this way.

use crate::client::Failure;

/// "The statement would read the whole table".
const REFUSED: u16 = 1104;

/// The statement that copies the table all the same, if that is what was refused.
pub(crate) fn allowed(sql: &str, failure: &Failure) -> Option<String> {
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
