//! Variables whose values are not kept as such: they say what the session has done, or what time it is.

use super::Kept;
use crate::sql::expr::VariableScope;
use crate::types::temporal::{FSP_MAX, MICROS_PER_SECOND};
use crate::types::{Timestamp, Value};

impl Kept {
    /// The value of a variable of the session that is not kept as one.
    pub(super) fn computed(&self, name: &str) -> Option<Value<'static>> {
        match name {
            "warning_count" => Some(Value::Int(i64::from(self.warnings_count))),
            "error_count" => Some(Value::Int(i64::from(self.errors_count))),
            "timestamp" => {
                let set = self.locals.get(VariableScope::Session, name).ok()?;
                moment(&set)
                    .is_none()
                    .then(|| seconds(crate::session::now()))
            }
            id if is_last_insert_id(id) => Some(Value::UInt(self.last_insert_id)),
            _ => None,
        }
    }
}

/// Whether a variable is what `LAST_INSERT_ID()` gives.
pub(super) fn is_last_insert_id(name: &str) -> bool {
    matches!(name, "last_insert_id" | "identity")
}

/// The point that a value of `timestamp` stands for; `None` for 0, the clock.
pub(super) fn moment(seconds: &Value<'_>) -> Option<Timestamp> {
    let Value::Double(seconds) = seconds else {
        return None;
    };
    // Six digits after the point, and then no point, are microseconds.
    let micros: i64 = format!("{seconds:.6}").replace('.', "").parse().ok()?;
    (0 < micros).then(|| Timestamp::from_clock(micros, FSP_MAX))
}

/// A point in seconds since 1970.
fn seconds(at: Timestamp) -> Value<'static> {
    let micros = at.total_micros();
    let (whole, part) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
    Value::Double(format!("{whole}.{part:06}").parse().unwrap_or(0.0))
}
