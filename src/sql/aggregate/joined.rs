//! `GROUP_CONCAT`: the texts of a group, in order of arrival or sorted, with a separator between.
//!
//! Without `ORDER BY` the text grows as rows arrive; with it the rows wait until the group ends.
//! Source: MySQL manual, "Aggregate Function Descriptions".

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::Code;
use crate::sql::bound::Aggregate;
use crate::sql::context::EvalContext;
use crate::sql::eval::convert;
use crate::sql::expr::VariableScope;
use crate::types::{ColumnType, Value};

/// Bytes of the longest text when `group_concat_max_len` cannot be read.
const BYTES_MAX: usize = 1024;
/// What stands between the values when the statement does not say.
const SEPARATOR: &str = ",";

/// The texts of one group.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    /// That of all groups.
    separator: Option<Arc<str>>,
    /// Whether each key of `ORDER BY` is descending.
    descending: Box<[bool]>,
    bytes_max: usize,
    /// Whether the text is a binary string.
    is_binary: bool,
    /// What was joined so far; `None` before the first row.
    text: Option<Vec<u8>>,
    /// Rows that wait to be sorted.
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
    /// How many rows were joined.
    rows_count: u64,
    is_cut: bool,
}

/// A row's text and what it is sorted by.
#[derive(Debug, Clone)]
struct Waiting {
    keys: Vec<Value<'static>>,
    text: Vec<u8>,
}

impl Joined {
    pub(super) fn new(aggregate: &Aggregate, ctx: &EvalContext) -> Joined {
        let bytes_max = ctx
            .facts
            .system_variable(VariableScope::Any, "group_concat_max_len");
        let bytes_max = match bytes_max {
            Ok(Value::UInt(bytes)) => usize::try_from(bytes).unwrap_or(usize::MAX),
            Ok(_) | Err(_) => BYTES_MAX,
        };
        Joined {
            separator: aggregate.separator.clone(),
            descending: aggregate
                .order_by
                .iter()
                .map(|key| key.descending)
                .collect(),
            bytes_max,
            is_binary: matches!(aggregate.ty, ColumnType::Blob(_)),
            text: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            rows_count: 0,
            is_cut: false,
        }
    }

    /// A row's values: those to join, and those to sort by.
    pub(super) fn split<'v, 'a>(
        &self,
        values: &'v [Value<'a>],
    ) -> (&'v [Value<'a>], &'v [Value<'a>]) {
        let at = values.len().saturating_sub(self.descending.len());
        values.split_at_checked(at).unwrap_or((values, &[]))
    }

    pub(super) fn add(&mut self, values: &[Value<'_>], keys: &[Value<'_>], ctx: &EvalContext) {
        let mut text = Vec::new();
        for value in values {
            text.extend_from_slice(&convert::bytes(value, ctx));
        }
        if self.descending.is_empty() {
            return self.append(&text, ctx);
        }
        let keys: Vec<Value<'static>> = keys.iter().map(|key| key.clone().into_owned()).collect();
        let key_bytes: usize = keys.iter().map(Value::memory_bytes).sum();
        self.waiting_bytes += size_of::<Waiting>() + key_bytes + text.len();
        self.waiting.push(Waiting { keys, text });
    }

    /// Appends one text; what is over the limit is cut off, which is warned about once.
    fn append(&mut self, text: &[u8], ctx: &EvalContext) {
        if self.is_cut {
            return;
        }
        self.rows_count += 1;
        match &mut self.text {
            None => self.text = Some(text.to_vec()),
            Some(out) => {
                let separator = self.separator.as_deref().unwrap_or(SEPARATOR);
                out.extend_from_slice(separator.as_bytes());
                out.extend_from_slice(text);
            }
        }
        let Some(out) = self.text.as_mut().filter(|out| self.bytes_max < out.len()) else {
            return;
        };
        out.truncate(self.bytes_max);
        // Not in the middle of a character.
        if let Err(bad) = std::str::from_utf8(out)
            && bad.error_len().is_none()
        {
            out.truncate(bad.valid_up_to());
        }
        self.is_cut = true;
        let (bytes_max, rows_count) = (self.bytes_max, self.rows_count);
        convert::warn(ctx, Code::CutByGroupConcat, || {
            format!(
                "Row {rows_count} was cut by GROUP_CONCAT(): group_concat_max_len is {bytes_max}"
            )
        });
    }

    /// The joined text; NULL when no row had one.
    pub(super) fn finish(mut self, ctx: &EvalContext) -> Value<'static> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by(|left, right| {
            let keys = left.keys.iter().zip(&right.keys).zip(&self.descending);
            let orders = keys.map(|((left, right), descending)| {
                let order = left.total_cmp(right);
                if *descending { order.reverse() } else { order }
            });
            orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        for row in waiting {
            self.append(&row.text, ctx);
        }
        match self.text {
            None => Value::Null,
            Some(bytes) if self.is_binary => Value::Bytes(Cow::Owned(bytes)),
            Some(bytes) => Value::Text(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())),
        }
    }

    /// About how many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Joined>() + self.waiting_bytes + self.text.as_ref().map_or(0, Vec::len)
    }
}
