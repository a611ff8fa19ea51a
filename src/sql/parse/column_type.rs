//! The type of a column.

use std::sync::Arc;

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::types::ColumnType;
use crate::types::column_type::{IntWidth, LobSize};

/// Most characters of `CHAR(n)`: MySQL's limit.
const CHAR_CHARS_MAX: u32 = 255;

/// Most characters or bytes of `VARCHAR(n)`, `VARBINARY(n)`: MySQL's limit on a row. Without a
/// length the limit is `max_value_bytes`.
const VARCHAR_CHARS_MAX: u32 = 65_535;

/// Most members of an ENUM: MySQL's limit, which keeps an index in 16 bits.
const ENUM_MEMBERS_MAX: usize = 65_535;

impl Parser<'_> {
    pub(super) fn column_type(&mut self, column: &str) -> Result<ColumnType> {
        let Some(word) = self.word() else {
            return Err(self.syntax_error());
        };
        if let Some(width) = int_width(word) {
            return self.int_type(width);
        }
        if let Some(ty) = lob_type(word) {
            self.bump();
            self.length::<u64>()?;
            self.text_attributes();
            return Ok(ty);
        }
        let at = self.token();
        self.bump();
        let ty = match word {
            Word::BOOL | Word::BOOLEAN => ColumnType::Boolean,
            Word::SERIAL => ColumnType::BIGINT_UNSIGNED,
            Word::FLOAT | Word::FLOAT4 => self.float_type()?,
            Word::REAL if self.mode.real_as_float => self.float_type()?,
            Word::DOUBLE | Word::FLOAT8 | Word::REAL => {
                self.eat_word(Word::PRECISION);
                self.digits_and_scale()?;
                self.number_attributes(column)?;
                ColumnType::Double
            }
            Word::DECIMAL | Word::DEC | Word::NUMERIC | Word::FIXED => {
                let (precision, scale) = self.precision_and_scale(column)?;
                self.number_attributes(column)?;
                ColumnType::Decimal { precision, scale }
            }
            Word::CHAR | Word::CHARACTER | Word::NCHAR | Word::NATIONAL => {
                self.char_type(word, column)?
            }
            Word::VARCHAR | Word::VARCHARACTER | Word::NVARCHAR => self.varchar_type(column)?,
            Word::BINARY => ColumnType::Binary {
                bytes: self.bounded_length(column, CHAR_CHARS_MAX)?.unwrap_or(1),
            },
            Word::VARBINARY => ColumnType::Varbinary {
                bytes_max: self.bounded_length(column, VARCHAR_CHARS_MAX)?,
            },
            Word::LONG => self.long_type(),
            Word::DATE => ColumnType::Date,
            Word::TIME => ColumnType::Time {
                fsp: self.fsp(column)?,
            },
            Word::DATETIME => ColumnType::Datetime {
                fsp: self.fsp(column)?,
            },
            Word::TIMESTAMP => ColumnType::Timestamp {
                fsp: self.fsp(column)?,
            },
            Word::YEAR => {
                self.length::<u64>()?;
                ColumnType::Year
            }
            Word::JSON => ColumnType::Json,
            Word::ENUM => self.enum_type(column)?,
            _ => return self.other_type(word, at),
        };
        Ok(ty)
    }

    fn other_type(&mut self, word: Word, at: super::token::Token) -> Result<ColumnType> {
        if word == Word::BIT {
            return self.bit_type();
        }
        let known = matches!(
            word,
            Word::SET
                | Word::GEOMETRY
                | Word::POINT
                | Word::LINESTRING
                | Word::POLYGON
                | Word::MULTIPOINT
                | Word::MULTILINESTRING
                | Word::MULTIPOLYGON
                | Word::GEOMETRYCOLLECTION
        );
        if known {
            Err(Error::unsupported(format!("columns of type {word:?}")))
        } else {
            Err(self.syntax_error_at(at))
        }
    }

    /// `BIT`, `BIT(1)`: what ORMs write for a truth value.
    fn bit_type(&mut self) -> Result<ColumnType> {
        match self.length::<u64>()? {
            None | Some(1) => Ok(ColumnType::Boolean),
            Some(bits) => {
                let what = format!(
                    "columns of type BIT({bits}): BIT(1) is BOOLEAN, for more bits take BIGINT \
                     UNSIGNED or BINARY(n)"
                );
                Err(Error::unsupported(what))
            }
        }
    }

    fn int_type(&mut self, width: IntWidth) -> Result<ColumnType> {
        self.bump();
        let display = self.length::<u64>()?;
        let unsigned = self.sign_attributes();
        // `TINYINT(1)` is how MySQL itself writes BOOLEAN.
        if width == IntWidth::Tiny && display == Some(1) && !unsigned {
            return Ok(ColumnType::Boolean);
        }
        Ok(ColumnType::Int { width, unsigned })
    }

    /// `SIGNED`, `UNSIGNED`, `ZEROFILL` (which implies UNSIGNED).
    fn sign_attributes(&mut self) -> bool {
        let mut unsigned = false;
        while let Some(word) = self.eat_any(&[Word::SIGNED, Word::UNSIGNED, Word::ZEROFILL]) {
            unsigned |= word != Word::SIGNED;
        }
        unsigned
    }

    fn number_attributes(&mut self, column: &str) -> Result<()> {
        if self.sign_attributes() {
            return Err(Error::unsupported(format!(
                "UNSIGNED on column {column}, which is no integer"
            )));
        }
        Ok(())
    }

    fn float_type(&mut self) -> Result<ColumnType> {
        let digits = self.digits_and_scale()?;
        self.number_attributes("of type FLOAT")?;
        Ok(match digits {
            Some((25.., None)) => ColumnType::Double,
            _ => ColumnType::Float,
        })
    }

    /// `(p)`, `(m, d)` of FLOAT and DOUBLE: only which of the two types it is follows from it.
    fn digits_and_scale(&mut self) -> Result<Option<(u64, Option<u64>)>> {
        if !self.eat(Kind::OpenParen) {
            return Ok(None);
        }
        let digits = self.whole_number()?;
        let scale = if self.eat(Kind::Comma) {
            Some(self.whole_number()?)
        } else {
            None
        };
        self.expect(Kind::CloseParen)?;
        Ok(Some((digits, scale)))
    }

    fn char_type(&mut self, word: Word, column: &str) -> Result<ColumnType> {
        if word == Word::NATIONAL {
            if self.eat_word(Word::VARCHAR) {
                return self.varchar_type(column);
            }
            if self.eat_any(&[Word::CHAR, Word::CHARACTER]).is_none() {
                return Err(self.syntax_error());
            }
        }
        if self.eat_word(Word::VARYING) {
            return self.varchar_type(column);
        }
        let chars_max = self.bounded_length(column, CHAR_CHARS_MAX)?.unwrap_or(1);
        self.text_attributes();
        Ok(ColumnType::Char { chars_max })
    }

    fn varchar_type(&mut self, column: &str) -> Result<ColumnType> {
        let chars_max = self.bounded_length(column, VARCHAR_CHARS_MAX)?;
        self.text_attributes();
        Ok(ColumnType::Varchar { chars_max })
    }

    /// `LONG [VARCHAR | VARBINARY]`.
    fn long_type(&mut self) -> ColumnType {
        if self.eat_word(Word::VARBINARY) {
            return ColumnType::Blob(LobSize::Medium);
        }
        self.eat_word(Word::VARCHAR);
        ColumnType::Text(LobSize::Medium)
    }

    /// `(n)` of at most `most`.
    fn bounded_length(&mut self, column: &str, most: u32) -> Result<Option<u32>> {
        let Some(length) = self.length::<u64>()? else {
            return Ok(None);
        };
        match u32::try_from(length).ok().filter(|length| *length <= most) {
            Some(length) => Ok(Some(length)),
            None => Err(Error::new(
                Code::ColumnTooBig,
                format!(
                    "Column length too big for column '{column}' (max = {most}); use BLOB or TEXT \
                     instead"
                ),
            )),
        }
    }

    /// `ASCII`, `UNICODE`, `BINARY` behind a text type: of no consequence, as all is `utf8mb4_bin`.
    fn text_attributes(&mut self) {
        while self
            .eat_any(&[Word::ASCII, Word::UNICODE, Word::BINARY])
            .is_some()
        {}
    }

    fn enum_type(&mut self, column: &str) -> Result<ColumnType> {
        let members = self.paren_list(|parser| {
            // Trailing blanks go, as in MySQL.
            Ok(Box::from(parser.text()?.trim_end_matches(' ')))
        })?;
        self.text_attributes();
        let members: Arc<[Box<str>]> = members.into();
        if ENUM_MEMBERS_MAX < members.len() {
            return Err(Error::new(
                Code::ColumnTooBig,
                format!(
                    "Too many enumeration values for column {column} (max = {ENUM_MEMBERS_MAX})"
                ),
            ));
        }
        let mut sorted: Vec<&str> = members.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|two| two.first() == two.last()) {
            Some(two) => Err(Error::new(
                Code::DuplicateEnumMember,
                format!(
                    "Column '{column}' has duplicated value '{}' in ENUM",
                    two.first().copied().unwrap_or_default()
                ),
            )),
            None => Ok(ColumnType::Enum(members)),
        }
    }
}

fn int_width(word: Word) -> Option<IntWidth> {
    match word {
        Word::TINYINT | Word::INT1 => Some(IntWidth::Tiny),
        Word::SMALLINT | Word::INT2 => Some(IntWidth::Small),
        Word::MEDIUMINT | Word::MIDDLEINT | Word::INT3 => Some(IntWidth::Medium),
        Word::INT | Word::INTEGER | Word::INT4 => Some(IntWidth::Int),
        Word::BIGINT | Word::INT8 => Some(IntWidth::Big),
        _ => None,
    }
}

fn lob_type(word: Word) -> Option<ColumnType> {
    Some(match word {
        Word::TINYTEXT => ColumnType::Text(LobSize::Tiny),
        Word::TEXT => ColumnType::Text(LobSize::Regular),
        Word::MEDIUMTEXT => ColumnType::Text(LobSize::Medium),
        Word::LONGTEXT => ColumnType::Text(LobSize::Long),
        Word::TINYBLOB => ColumnType::Blob(LobSize::Tiny),
        Word::BLOB => ColumnType::Blob(LobSize::Regular),
        Word::MEDIUMBLOB => ColumnType::Blob(LobSize::Medium),
        Word::LONGBLOB => ColumnType::Blob(LobSize::Long),
        _ => return None,
    })
}
