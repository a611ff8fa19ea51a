//! `LOAD_FILE`: a file of the server as a value. Where files may be read, and for whom, is the session's
//! affair (`SessionFacts::load_file`).
//!
//! Source: MySQL manual, "String Functions and Operators".

use std::borrow::Cow;

use super::{Call, RESULT_BYTES_MAX, result};
use crate::error::Result;
use crate::sql::context::Loaded;
use crate::types::Value;

functions! {
    /// Files.
    TABLE of Text:
    "LOAD_FILE" 1..1 "path" result::long_blob, Always, Statement, Strict(load_file), "The bytes of a file below --secure-file-priv; NULL when it cannot be read, or without the privilege FILE.";
}

fn load_file<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let loaded = call
        .ctx
        .facts
        .load_file(&call.text(values, 0), RESULT_BYTES_MAX);
    Ok(match loaded {
        Loaded::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes)),
        Loaded::TooLarge => {
            // Says so, and gives no room.
            let _ = call.fits(None)?;
            Value::Null
        }
        Loaded::Unreadable => Value::Null,
    })
}
