//! LOAD DATA, and the files of `SELECT … INTO`.

use super::{Assignment, TableName};

/// How rows are laid out in a text file: `FIELDS …` and `LINES …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFormat {
    /// `FIELDS TERMINATED BY`.
    pub fields_end: Vec<u8>,
    /// `ENCLOSED BY`.
    pub enclosed_by: Option<u8>,
    /// `OPTIONALLY`: only texts are enclosed.
    pub optionally: bool,
    /// `ESCAPED BY`.
    pub escaped_by: Option<u8>,
    /// `LINES STARTING BY`.
    pub lines_start: Vec<u8>,
    /// `LINES TERMINATED BY`.
    pub lines_end: Vec<u8>,
}

impl Default for FileFormat {
    fn default() -> FileFormat {
        FileFormat {
            fields_end: b"\t".to_vec(),
            enclosed_by: None,
            optionally: false,
            escaped_by: Some(b'\\'),
            lines_start: Vec::new(),
            lines_end: b"\n".to_vec(),
        }
    }
}

impl FileFormat {
    /// What ends a line: what ends fields, where `LINES TERMINATED BY` is empty.
    pub fn line_end(&self) -> &[u8] {
        if self.lines_end.is_empty() {
            &self.fields_end
        } else {
            &self.lines_end
        }
    }
}

/// `INTO OUTFILE …`, `INTO DUMPFILE …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntoFile {
    /// Where on the server.
    pub path: String,
    /// The layout; `None` for `DUMPFILE`, which has none.
    pub format: Option<FileFormat>,
}

/// `LOAD DATA`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    /// `LOCAL`: the client sends the file.
    pub local: bool,
    /// The file, as the one who has it calls it.
    pub path: String,
    /// What becomes of rows whose key is there.
    pub on_duplicate: LoadDuplicates,
    /// The table.
    pub table: TableName,
    /// `CHARACTER SET`, lower case.
    pub charset: Option<String>,
    /// The layout.
    pub format: FileFormat,
    /// `IGNORE n LINES`.
    pub skipped_lines: u64,
    /// Where the fields of a line go; `None` for all columns of the table.
    pub targets: Option<Vec<LoadTarget>>,
    /// `SET`.
    pub assignments: Vec<Assignment>,
}

/// `REPLACE`, `IGNORE` or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadDuplicates {
    /// The statement fails; with `LOCAL` as [`LoadDuplicates::Ignore`].
    Error,
    /// The new row takes the place of the old.
    Replace,
    /// The old row stays.
    Ignore,
}

/// Where a field goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadTarget {
    /// To a column.
    Column(String),
    /// To a user variable, lower case.
    Variable(String),
}
