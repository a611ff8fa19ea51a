//! LOAD DATA, the files of `SELECT … INTO`, and the layout of rows that both have.

use super::cursor::Parser;
use super::literal;
use super::token::Kind;
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{FileFormat, IntoFile, LoadData, LoadDuplicates, LoadTarget, Statement};

/// The character sets of files: all are read as bytes that should be utf8mb4.
const CHARSETS: [&str; 4] = ["utf8mb4", "utf8mb3", "utf8", "binary"];

/// Bytes of what separates fields or lines: at each byte of a file it is looked whether it begins there.
const SEPARATOR_BYTES_MAX: usize = 1024;

impl Parser<'_> {
    /// At `LOAD`.
    pub(super) fn load(&mut self) -> Result<Statement> {
        if self.word_ahead(1) != Some(Word::DATA) {
            return Ok(self.unsupported_phrase());
        }
        self.bump();
        self.bump();
        if !self.eat_word(Word::LOW_PRIORITY) && self.verb(0) == "CONCURRENT" {
            self.bump();
        }
        let local = self.eat_word(Word::LOCAL);
        self.expect_word(Word::INFILE)?;
        let path = self.text()?;
        let on_duplicate = match self.eat_any(&[Word::REPLACE, Word::IGNORE]) {
            Some(Word::REPLACE) => LoadDuplicates::Replace,
            Some(_) => LoadDuplicates::Ignore,
            None => LoadDuplicates::Error,
        };
        self.expect_words(&[Word::INTO, Word::TABLE])?;
        let table = self.table_name()?;
        if self.is_word(Word::PARTITION) {
            return Err(Error::unsupported("PARTITION"));
        }
        let charset = self.file_charset()?;
        let format = self.file_format()?;
        let skipped_lines = self.skipped_lines()?;
        let targets = self.load_targets()?;
        let assignments = if self.eat_word(Word::SET) {
            self.comma_list(Parser::assignment)?
        } else {
            Vec::new()
        };
        Ok(Statement::Load(Box::new(LoadData {
            local,
            path,
            on_duplicate,
            table,
            charset,
            format,
            skipped_lines,
            targets,
            assignments,
        })))
    }

    /// `IGNORE n LINES`.
    fn skipped_lines(&mut self) -> Result<u64> {
        if !self.eat_word(Word::IGNORE) {
            return Ok(0);
        }
        let lines = self.whole_number()?;
        if self.eat_any(&[Word::LINES, Word::ROWS]).is_none() {
            return Err(self.syntax_error());
        }
        Ok(lines)
    }

    /// `(a, @b, …)`; `()` is as if it were not there.
    fn load_targets(&mut self) -> Result<Option<Vec<LoadTarget>>> {
        if !self.is(Kind::OpenParen) {
            return Ok(None);
        }
        if self.kind_ahead(1) == Kind::CloseParen {
            self.bump();
            self.bump();
            return Ok(None);
        }
        let targets = self.paren_list(|parser| {
            if parser.is(Kind::UserVariable) {
                return Ok(LoadTarget::Variable(parser.user_variable()?));
            }
            Ok(LoadTarget::Column(parser.column_name()?.column))
        })?;
        Ok(Some(targets))
    }

    /// At `OUTFILE` or `DUMPFILE`.
    pub(super) fn file_behind_into(&mut self) -> Result<IntoFile> {
        let has_format = self.is_word(Word::OUTFILE);
        self.bump();
        let path = self.text()?;
        if !has_format {
            return Ok(IntoFile { path, format: None });
        }
        self.file_charset()?;
        let format = Some(self.file_format()?);
        Ok(IntoFile { path, format })
    }

    /// `CHARACTER SET name`.
    fn file_charset(&mut self) -> Result<Option<String>> {
        if !self.eat_charset_words() {
            return Ok(None);
        }
        let name = self.charset_name()?;
        if CHARSETS.contains(&name.as_str()) {
            return Ok(Some(name));
        }
        let text = format!("Unknown character set: '{name}': files are utf8mb4 here");
        Err(Error::new(Code::UnknownCharset, text))
    }

    fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.eat_any(&[Word::FIELDS, Word::COLUMNS]).is_some() {
            self.fields_format(&mut format)?;
        }
        if self.eat_word(Word::LINES) {
            self.lines_format(&mut format)?;
        }
        if format.fields_end.is_empty() && format.enclosed_by.is_none() {
            return Err(Error::unsupported("files whose fields have fixed sizes"));
        }
        Ok(format)
    }

    fn fields_format(&mut self, format: &mut FileFormat) -> Result<()> {
        let mut clauses_count = 0;
        loop {
            match self.word() {
                Some(Word::TERMINATED) => {
                    self.bump();
                    format.fields_end = self.by_text()?;
                }
                Some(Word::OPTIONALLY | Word::ENCLOSED) => {
                    format.optionally = self.eat_word(Word::OPTIONALLY);
                    self.expect_word(Word::ENCLOSED)?;
                    format.enclosed_by = self.by_byte()?;
                }
                Some(Word::ESCAPED) => {
                    self.bump();
                    format.escaped_by = self.by_byte()?;
                }
                _ if 0 < clauses_count => return Ok(()),
                _ => return Err(self.syntax_error()),
            }
            clauses_count += 1;
        }
    }

    fn lines_format(&mut self, format: &mut FileFormat) -> Result<()> {
        let mut clauses_count = 0;
        loop {
            match self.word() {
                Some(Word::STARTING) => {
                    self.bump();
                    format.lines_start = self.by_text()?;
                }
                Some(Word::TERMINATED) => {
                    self.bump();
                    format.lines_end = self.by_text()?;
                }
                _ if 0 < clauses_count => return Ok(()),
                _ => return Err(self.syntax_error()),
            }
            clauses_count += 1;
        }
    }

    /// `BY 'text'`, `BY x'09'`.
    fn by_text(&mut self) -> Result<Vec<u8>> {
        self.expect_word(Word::BY)?;
        let token = self.token();
        let text = if self.eat(Kind::Hex) {
            literal::hex(self.bytes(token))
        } else {
            self.text()?.into_bytes()
        };
        if SEPARATOR_BYTES_MAX < text.len() {
            let text = format!(
                "Field separator argument is not what is expected; it has {} bytes, the most is \
                 {SEPARATOR_BYTES_MAX}",
                text.len()
            );
            return Err(Error::new(Code::WrongFieldTerminators, text));
        }
        Ok(text)
    }

    /// `BY 'c'`: one byte or none.
    fn by_byte(&mut self) -> Result<Option<u8>> {
        match self.by_text()?.as_slice() {
            [] => Ok(None),
            [byte] => Ok(Some(*byte)),
            _ => {
                let text = "Field separator argument is not what is expected; check the manual";
                Err(Error::new(Code::WrongFieldTerminators, text))
            }
        }
    }
}
