//! A text that a function makes piece by piece, and that asks for its memory as it grows.

use super::{Call, Room};
use crate::error::Result;

/// The text so far.
pub(super) struct Growing<'c, 'a> {
    text: String,
    call: &'c Call<'a>,
    room: Option<Room>,
}

impl<'c, 'a> Growing<'c, 'a> {
    pub(super) fn new(call: &'c Call<'a>) -> Growing<'c, 'a> {
        Growing {
            text: String::new(),
            call,
            room: None,
        }
    }

    /// Appends a part; `false` where the text may not become as long, of which warning 1301 tells.
    ///
    /// # Errors
    /// 1041 when the process has no memory for it.
    pub(super) fn push(&mut self, part: &str) -> Result<bool> {
        let sizes = (
            self.text.capacity(),
            self.text.len().checked_add(part.len()),
        );
        if !self.call.may_grow(&mut self.room, sizes)? {
            return Ok(false);
        }
        self.text.push_str(part);
        Ok(true)
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
