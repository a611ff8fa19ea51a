//! Cuts a stream of bytes into lines, and lines into fields.
//!
//! The reader is fed with pieces of any size ([`Reader::feed`]) and gives a line when it has all of it. A
//! line that is not there whole is read again from its start when twice as much of it is there, so
//! that a long one costs a few passes and not one for each piece. What is before `LINES STARTING BY` is
//! of no line, and is not kept.
//!
//! Hot: runs per byte. Ordinary bytes are copied in runs; nothing is allocated per field.

use crate::error::{Code, Error, Result};
use crate::sql::ast::FileFormat;

/// Bytes of one line. The longest row, if half of its bytes are escaped.
pub const LINE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Lines shorter than this are tried again with each piece.
const SHORT_BYTES: usize = 64 * 1024;

/// The fields of one line.
#[derive(Debug, Default)]
pub struct Line {
    data: Vec<u8>,
    fields: Vec<Field>,
    has_more: bool,
}

#[derive(Debug, Clone, Copy)]
struct Field {
    /// Where it ends in the data; it begins where the one before it ends.
    end: usize,
    is_null: bool,
}

impl Line {
    /// Bytes of memory that it holds.
    pub fn held_bytes(&self) -> usize {
        self.data.len() + self.fields.len() * size_of::<Field>()
    }

    /// The fields; `None` is NULL.
    pub fn fields(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.fields.iter().map(move |field| {
            let bytes = self.data.get(start..field.end).unwrap_or_default();
            start = field.end;
            (!field.is_null).then_some(bytes)
        })
    }

    /// How many fields there are.
    pub fn fields_count(&self) -> usize {
        self.fields.len()
    }

    /// Whether the line has more than the fields that were wanted.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    fn clear(&mut self) {
        self.data.clear();
        self.fields.clear();
        self.has_more = false;
    }
}

/// What [`Reader::next`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A line.
    Line,
    /// Not enough bytes for a line.
    More,
    /// The end.
    End,
}

/// Gives the lines of a file.
#[derive(Debug)]
pub struct Reader {
    format: FileFormat,
    /// Fields that are wanted of a line; the rest of it is skipped.
    fields_max: usize,
    skipped_lines: u64,
    /// What was fed; `start..` is not read yet.
    buffer: Vec<u8>,
    start: usize,
    /// Unread bytes that must be there for another try.
    wanted_bytes: usize,
    ended: bool,
    /// Bytes that mean something, by their number.
    special: [bool; 256],
}

/// What ended a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldEnd {
    Field,
    Line,
    File,
}

/// The rest of the bytes does not tell.
struct Unclear;

type Found<T> = std::result::Result<T, Unclear>;

impl Reader {
    /// A reader of lines of so many fields, the first lines left out.
    pub fn new(format: &FileFormat, fields_max: usize, skipped_lines: u64) -> Reader {
        let mut special = [false; 256];
        let first = |text: &[u8]| text.first().copied();
        let marks = [
            first(&format.fields_end),
            first(&format.lines_end),
            format.enclosed_by,
            format.escaped_by,
        ];
        for mark in marks.into_iter().flatten() {
            if let Some(slot) = special.get_mut(usize::from(mark)) {
                *slot = true;
            }
        }
        Reader {
            format: format.clone(),
            fields_max,
            skipped_lines,
            buffer: Vec::new(),
            start: 0,
            wanted_bytes: 0,
            ended: false,
            special,
        }
    }

    /// Where the next bytes are to be appended.
    pub fn feed(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.start);
        self.start = 0;
        &mut self.buffer
    }

    /// Bytes of memory that it holds.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// There are no more bytes than were fed.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The next line.
    ///
    /// # Errors
    /// 1118 for one that is too long.
    pub fn next(&mut self, line: &mut Line) -> Result<Step> {
        let unread_bytes = self.buffer.len() - self.start;
        if unread_bytes < self.wanted_bytes && !self.ended {
            return Ok(Step::More);
        }
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        let mut cursor = Cursor {
            reader: self,
            rest,
            at: 0,
            begin: 0,
        };
        line.clear();
        let found = cursor.line(line);
        let (at, begin, left) = (cursor.at, cursor.begin, self.skipped_lines);
        match found {
            Ok(Some(skipped)) => {
                self.start += at;
                self.wanted_bytes = 0;
                self.skipped_lines = left - u64::from(skipped);
                if skipped {
                    return self.next_after_skip(line);
                }
                Ok(Step::Line)
            }
            Ok(None) => Ok(Step::End),
            Err(Unclear) => {
                self.start += begin;
                let unread_bytes = unread_bytes - begin;
                if LINE_BYTES_MAX < unread_bytes {
                    let text = format!("a line is longer than {LINE_BYTES_MAX} bytes, the most");
                    return Err(Error::new(Code::RowTooBig, text));
                }
                self.wanted_bytes = if unread_bytes < SHORT_BYTES {
                    0
                } else {
                    2 * unread_bytes
                };
                Ok(Step::More)
            }
        }
    }

    /// Lines are skipped one by one; they are few.
    fn next_after_skip(&mut self, line: &mut Line) -> Result<Step> {
        loop {
            let before = self.skipped_lines;
            if before == 0 {
                return self.next(line);
            }
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            let mut cursor = Cursor {
                reader: self,
                rest,
                at: 0,
                begin: 0,
            };
            match cursor.skip_line() {
                Ok(true) => {
                    let at = cursor.at;
                    self.start += at;
                    self.skipped_lines -= 1;
                }
                Ok(false) => return Ok(Step::End),
                Err(Unclear) => return Ok(Step::More),
            }
        }
    }
}

/// A place in the bytes that are there.
struct Cursor<'a> {
    reader: &'a Reader,
    rest: &'a [u8],
    at: usize,
    /// What is before it belongs to no line.
    begin: usize,
}

impl Cursor<'_> {
    /// The next line, or that one was skipped; `None` at the end.
    fn line(&mut self, line: &mut Line) -> Found<Option<bool>> {
        if 0 < self.reader.skipped_lines {
            return Ok(self.skip_line()?.then_some(true));
        }
        if !self.find_start()? || self.peek()?.is_none() {
            return Ok(None);
        }
        loop {
            if self.field(line)? != FieldEnd::Field {
                return Ok(Some(false));
            }
            if line.fields.len() < self.reader.fields_max {
                // What a separator at the end of the file begins is no field.
                if self.peek()?.is_none() {
                    return Ok(Some(false));
                }
                continue;
            }
            // Where nothing ends lines, they end here.
            if !self.reader.format.lines_end.is_empty() {
                line.has_more = self.rest_of_line()?;
            }
            return Ok(Some(false));
        }
    }

    /// Goes behind the end of a line; `false` when there is none.
    fn skip_line(&mut self) -> Found<bool> {
        if self.peek()?.is_none() {
            return Ok(false);
        }
        self.rest_of_line()?;
        Ok(true)
    }

    /// Goes behind the end of the line, which no quotes hide, but an escape; whether anything is before it.
    fn rest_of_line(&mut self) -> Found<bool> {
        let start = self.at;
        while let Some(byte) = self.peek()? {
            let end = self.at;
            if self.reader.format.escaped_by == Some(byte) {
                self.at += 1;
                if self.peek()?.is_none() {
                    break;
                }
            } else if self.eat(self.reader.format.line_end())? {
                return Ok(start < end);
            }
            self.at += 1;
        }
        Ok(start < self.rest.len())
    }

    /// Goes behind `LINES STARTING BY`; `false` when it does not come any more.
    fn find_start(&mut self) -> Found<bool> {
        let reader = self.reader;
        let start = &reader.format.lines_start;
        if start.is_empty() {
            return Ok(true);
        }
        while self.peek()?.is_some() {
            if self.eat(start)? {
                return Ok(true);
            }
            self.at += 1;
            self.begin = self.at;
        }
        Ok(false)
    }

    fn field(&mut self, line: &mut Line) -> Found<FieldEnd> {
        let start = line.data.len();
        let quote = self.reader.format.enclosed_by;
        let first = self.peek()?;
        let is_quoted = quote.is_some() && first == quote;
        let mut saw_null = false;
        let end = if is_quoted {
            self.at += 1;
            self.quoted(line, &mut saw_null)?
        } else {
            self.plain(line, &mut saw_null)?
        };
        let data = line.data.get(start..).unwrap_or_default();
        let is_word = quote.is_some() && !is_quoted && data == b"NULL";
        line.fields.push(Field {
            is_null: is_word || saw_null && data.len() == 1,
            end: line.data.len(),
        });
        Ok(end)
    }

    /// A field up to what ends it.
    fn plain(&mut self, line: &mut Line, saw_null: &mut bool) -> Found<FieldEnd> {
        loop {
            self.copy_run(line);
            let Some(byte) = self.peek()? else {
                return Ok(FieldEnd::File);
            };
            if self.is_escape(byte) {
                self.escaped(line, saw_null)?;
            } else if self.is_doubled_escape(byte)? {
                line.data.push(byte);
                self.at += 2;
            } else if let Some(end) = self.end()? {
                return Ok(end);
            } else {
                line.data.push(byte);
                self.at += 1;
            }
        }
    }

    /// A field behind its opening quote, which is a part of it when the file ends before another.
    fn quoted(&mut self, line: &mut Line, saw_null: &mut bool) -> Found<FieldEnd> {
        let quote = self.reader.format.enclosed_by;
        let start = line.data.len();
        loop {
            self.copy_run(line);
            let Some(byte) = self.peek()? else {
                line.data.splice(start..start, quote);
                return Ok(FieldEnd::File);
            };
            if self.is_escape(byte) {
                self.escaped(line, saw_null)?;
                continue;
            }
            self.at += 1;
            if Some(byte) != quote {
                line.data.push(byte);
                continue;
            }
            if self.peek()? == quote {
                self.at += 1;
            } else if self.peek()?.is_none() {
                return Ok(FieldEnd::File);
            } else if let Some(end) = self.end()? {
                return Ok(end);
            }
            // Twice it stands for itself, and it does where nothing ends behind it.
            line.data.push(byte);
        }
    }

    /// Whether a byte escapes the next. What encloses, too, does so by being doubled alone.
    fn is_escape(&self, byte: u8) -> bool {
        let format = &self.reader.format;
        format.escaped_by == Some(byte) && format.escaped_by != format.enclosed_by
    }

    /// Whether two of what both escapes and encloses are here.
    fn is_doubled_escape(&self, byte: u8) -> Found<bool> {
        let format = &self.reader.format;
        if format.escaped_by != Some(byte) {
            return Ok(false);
        }
        match self.rest.get(self.at + 1) {
            None if !self.reader.ended => Err(Unclear),
            next => Ok(next == Some(&byte)),
        }
    }

    /// At the escape.
    fn escaped(&mut self, line: &mut Line, saw_null: &mut bool) -> Found<()> {
        self.at += 1;
        let Some(byte) = self.peek()? else {
            line.data.extend(self.reader.format.escaped_by);
            return Ok(());
        };
        self.at += 1;
        *saw_null |= byte == b'N';
        line.data.push(match byte {
            b'0' => 0,
            b'b' => 0x08,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 0x1A,
            other => other,
        });
        Ok(())
    }

    /// Goes behind what ends a field or a line, if that is here.
    fn end(&mut self) -> Found<Option<FieldEnd>> {
        let format = &self.reader.format;
        if self.eat(&format.lines_end)? {
            return Ok(Some(FieldEnd::Line));
        }
        if self.eat(&format.fields_end)? {
            return Ok(Some(FieldEnd::Field));
        }
        Ok(None)
    }

    /// Copies the bytes up to the next that means something.
    fn copy_run(&mut self, line: &mut Line) {
        let rest = self.rest.get(self.at..).unwrap_or_default();
        let special = &self.reader.special;
        let means = |byte: &u8| special.get(usize::from(*byte)).copied().unwrap_or(false);
        let length = rest.iter().position(means).unwrap_or(rest.len());
        line.data
            .extend_from_slice(rest.get(..length).unwrap_or_default());
        self.at += length;
    }

    /// Goes behind `text` if it is here; an empty one never is.
    fn eat(&mut self, text: &[u8]) -> Found<bool> {
        let rest = self.rest.get(self.at..).unwrap_or_default();
        if !text.is_empty() && rest.starts_with(text) {
            self.at += text.len();
            return Ok(true);
        }
        let is_begun = rest.len() < text.len() && text.starts_with(rest);
        if is_begun && !self.reader.ended {
            return Err(Unclear);
        }
        Ok(false)
    }

    /// The byte here; `None` at the end of the file.
    fn peek(&self) -> Found<Option<u8>> {
        match self.rest.get(self.at) {
            None if !self.reader.ended => Err(Unclear),
            byte => Ok(byte.copied()),
        }
    }
}
