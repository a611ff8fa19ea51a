//! How many versions the rows of a table keep, in DDL: `VERSIONS='n'`.
//!
//! A table that has had the option keeps it: its rows have times of writing that would be lost.

use super::options;
use crate::catalog::Table;
use crate::catalog::versions::{VERSIONS, VERSIONS_MAX};
use crate::error::{Code, Error, Result};

/// Puts what the options of a new table say about versions into its definition.
///
/// # Errors
/// As [`set`].
pub(super) fn define(table: &mut Table, options: &[(String, String)]) -> Result<()> {
    for (name, value) in options {
        if name.eq_ignore_ascii_case(VERSIONS) {
            set(table, value)?;
        }
    }
    Ok(())
}

/// Says how many versions are kept from now on. Lowered, it hides what is beyond at once and for good.
///
/// # Errors
/// 1221 for what is no number from 1 to [`VERSIONS_MAX`].
pub(super) fn set(table: &mut Table, value: &str) -> Result<()> {
    let value = value.trim();
    let digits = Some(value).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    let count = digits.and_then(|value| value.parse().ok());
    let Some(count) = count.filter(|count| (1..=VERSIONS_MAX).contains(count)) else {
        let text = format!(
            "Incorrect usage of {VERSIONS} and '{value}': it is a number from 1 to {VERSIONS_MAX}"
        );
        return Err(Error::new(Code::WrongUsage, text));
    };
    options::put(table, VERSIONS, &count.to_string());
    table.set_versions(count)
}
