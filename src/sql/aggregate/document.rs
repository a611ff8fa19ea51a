//! `JSON_ARRAYAGG` and `JSON_OBJECTAGG`: a document that grows with each row. Of equal names the
//! last one wins, as in MySQL.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::sql::context::EvalContext;
use crate::sql::eval::{convert, fit};
use crate::sql::functions::json;
use crate::types::json::write_string;
use crate::types::{ColumnType, Value};

/// Bytes of a member's entry besides its texts.
const ENTRY_BYTES: usize = 64;

/// The document of one group.
#[derive(Debug, Clone)]
pub(super) enum Document {
    /// The cells, with commas between; `None` before the first row.
    Array(Option<String>),
    /// Names, by length and then by bytes, and values.
    Object {
        members: BTreeMap<(usize, String), String>,
        bytes: usize,
        rows_count: u64,
    },
}

impl Document {
    pub(super) fn object() -> Document {
        Document::Object {
            members: BTreeMap::new(),
            bytes: 0,
            rows_count: 0,
        }
    }

    /// Takes in one row; `ty` is the type of its last value.
    ///
    /// # Errors
    /// 3158 for a member without name, 1041 when the process has no memory for it.
    pub(super) fn add(
        &mut self,
        values: &[Value<'_>],
        (ty, ctx): (&ColumnType, &EvalContext),
    ) -> Result<()> {
        let value = values.last().unwrap_or(&Value::Null);
        let text = json::text_of(&fit::shown(value.borrow(), ty, ctx)?, ctx)?;
        match self {
            Document::Array(None) => *self = Document::Array(Some(text)),
            Document::Array(Some(cells)) => {
                cells.push_str(", ");
                cells.push_str(&text);
            }
            Document::Object {
                members,
                bytes,
                rows_count,
            } => {
                let name = values.first().unwrap_or(&Value::Null);
                if name.is_null() {
                    return Err(json::null_member());
                }
                *rows_count += 1;
                let name = convert::text(name, ctx).into_owned();
                *bytes += name.len() + text.len() + ENTRY_BYTES;
                let key = (name.len(), name);
                if let Some(old) = members.insert(key, text) {
                    *bytes = bytes.saturating_sub(old.len() + ENTRY_BYTES);
                }
            }
        }
        Ok(())
    }

    /// The document's text; `None` when there was no row.
    pub(super) fn finish(self) -> Option<String> {
        match self {
            Document::Array(cells) => cells.map(|cells| format!("[{cells}]")),
            Document::Object { rows_count: 0, .. } => None,
            Document::Object { members, .. } => {
                let mut out = "{".to_owned();
                for ((_, name), value) in members {
                    if out.len() != 1 {
                        out.push_str(", ");
                    }
                    write_string(&name, &mut out);
                    out.push_str(": ");
                    out.push_str(&value);
                }
                out.push('}');
                Some(out)
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Document::Array(cells) => cells.as_ref().map_or(0, String::len),
            Document::Object { bytes, .. } => *bytes,
        }
    }
}
