//! `SLEEP`. How it waits, and what ends it, is the session's affair (`SessionFacts::pause`).
//!
//! Source: MySQL manual, "Miscellaneous Functions".

use std::time::Duration;

use super::super::eval::convert;
use super::{Call, result};
use crate::error::{Code, Error, Result};
use crate::types::Value;

functions! {
    /// Waiting.
    TABLE:
    "SLEEP" 1..1 result::int, Never, Row, Eager(sleep), "Waits so many seconds: 0 when they are over, 1 when KILL QUERY ended them.";
}

/// Shorter waits are none, as in MySQL.
const PAUSE_SECONDS_MIN: f64 = 0.00001;

fn sleep<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let seconds = convert::double(Call::arg(values, 0), call.ctx)?;
    let Some(seconds) = seconds.filter(|seconds| 0.0 <= *seconds) else {
        let text = "Incorrect arguments to sleep.";
        if call.ctx.mode.strict {
            return Err(Error::new(Code::WrongArguments, text));
        }
        convert::warn(call.ctx, Code::WrongArguments, || text.to_owned());
        return Ok(Value::Int(0));
    };
    if seconds < PAUSE_SECONDS_MIN {
        return Ok(Value::Int(0));
    }
    // More seconds than a duration holds are for ever.
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    Ok(Value::boolean(call.ctx.facts.pause(duration)))
}
