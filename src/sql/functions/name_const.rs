//! `NAME_CONST`: a constant with a name of its own. That its arguments are constants is checked where it
//! is bound, and there the name becomes that of the column.
//!
//! Source: MySQL manual, "Miscellaneous Functions".
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use super::{Call, result};
use crate::error::Result;
use crate::types::Value;

functions! {
    /// Names.
    TABLE of Miscellaneous:
    "NAME_CONST" 2..2 "name, constant" result::of_second, Always, Constant, Eager(constant), "The constant; as a column it has the name.";
}

fn constant<'a>(values: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    Ok(Call::arg(values, 1).clone())
}
