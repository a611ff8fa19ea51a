//! Functions that take time: `SLEEP` and `BENCHMARK`. How a statement waits, and what ends it, is
//! the session's affair (`SessionFacts::pause`, `SessionFacts::check_stop`).
//!
//! Source: MySQL manual, "Miscellaneous Functions", "Information Functions".

use std::time::Duration;

use super::super::eval::{convert, fold};
use super::{Call, result};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::sql::context::Pause;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::Value;

functions! {
    /// Time.
    TABLE of Miscellaneous:
    "SLEEP" 1..1 "seconds" result::int, Never, Row, Eager(sleep), "Waits so many seconds: 0 when they are over, 1 when KILL QUERY ended them.";
    "BENCHMARK" 2..2 "n, a" result::int, Always, Row, Lazy(benchmark), "Computes the second argument so many times, and gives 0.";
}

/// Shorter waits are none, as in MySQL.
const PAUSE_SECONDS_MIN: f64 = 0.00001;
/// Evaluations that keep others from running: fewer are done in no time.
const EVALUATIONS_MAX: i64 = 1024;
/// Evaluations between two questions whether to go on. One may take a millisecond; one that is a BENCHMARK
/// itself takes as long as it is told, and each asks.
const LOOK_EVERY: i64 = 64;
/// Bytes that a thread has which waits: its stack, and what the allocator keeps for it. Another one does the
/// work of the runtime meanwhile.
pub(super) const WAIT_BYTES: usize = 3 << 19;

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
    let _held = ceiling::hold("SLEEP", WAIT_BYTES)?;
    let interrupted = call.ctx.facts.pause(duration, Pause::Sleep);
    interrupted.map(Value::boolean)
}

/// A negative number of times is warning 1411 and `NULL`.
fn benchmark<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    let [times, expr] = call.args else {
        return Ok(Value::Null);
    };
    let times = call.scope().value(times)?;
    if times.is_null() {
        return Ok(Value::Null);
    }
    let count = convert::count(&times, call.ctx)?;
    if count < 0 {
        convert::warn(call.ctx, Code::WrongValueForFunction, || {
            format!("Incorrect count value: '{count}' for function benchmark")
        });
        return Ok(Value::Null);
    }
    let is_nested = benchmarks(expr);
    let every = if is_nested { 1 } else { LOOK_EVERY };
    let mut done = Ok(());
    if count < EVALUATIONS_MAX && !is_nested {
        done = evaluate(expr, (count, every), call);
    } else {
        let mut work = || done = evaluate(expr, (count, every), call);
        call.ctx.facts.for_long(&mut work);
    }
    done.map(|()| Value::Int(0))
}

/// Whether what is computed so often computes something so often itself.
fn benchmarks(expr: &Expr) -> bool {
    let mut found =
        matches!(&expr.kind, ExprKind::Call(function, _) if function.name == "BENCHMARK");
    fold::each_child(expr, &mut |child| found = found || benchmarks(child));
    found
}

fn evaluate<'a>(expr: &'a Expr, (count, every): (i64, i64), call: &Call<'a>) -> Result<()> {
    for turn in 1..=count {
        call.scope().value(expr)?;
        if turn % every == 0 {
            call.ctx.facts.check_stop()?;
        }
    }
    Ok(())
}
