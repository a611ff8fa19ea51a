//! One column of CREATE TABLE: its type and its attributes.

use std::sync::Arc;

use super::cursor::Parser;
use super::ddl::TableList;
use super::index;
use super::token::Kind;
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{ColumnDef, DefaultValue, IndexKind, KeyPart, KeyPartSource, Literal};
use crate::types::ColumnType;
use crate::types::column_type::{IntWidth, LobSize};

/// Most characters of `CHAR(n)`: MySQL's limit.
const CHAR_CHARS_MAX: u32 = 255;

/// Most characters or bytes of `VARCHAR(n)`, `VARBINARY(n)`: MySQL's limit on a row. Without a
/// length the limit is `max_value_bytes`.
const VARCHAR_CHARS_MAX: u32 = 65_535;

/// What MariaDB makes of `JSON`.
const LONGTEXT: ColumnType = ColumnType::Text(LobSize::Long);

/// Most members of an ENUM: MySQL's limit, which keeps an index in 16 bits.
const ENUM_MEMBERS_MAX: usize = 65_535;

impl Parser<'_> {
    /// `name type attributes`.
    pub(super) fn column_def(&mut self, list: &mut TableList) -> Result<()> {
        let name = self.name()?;
        let serial = self.is_word(Word::SERIAL);
        let ty = self.column_type(&name)?;
        let mut column = ColumnDef {
            name,
            ty,
            nullable: serial.then_some(false),
            default: None,
            on_update_now: false,
            auto_increment: serial,
            comment: String::new(),
            charset: None,
            collation: None,
            unsupported: None,
        };
        let mut unique = serial;
        while self.column_attribute(&mut column)? || self.column_key(&column, list, &mut unique)? {}
        if unique {
            let mut unique = index::index(IndexKind::Unique, None);
            unique.parts.push(part(&column.name));
            list.indexes.push(unique);
        }
        list.columns.push(column);
        Ok(())
    }

    /// `PRIMARY KEY`, `KEY`, `UNIQUE [KEY]` behind a column.
    fn column_key(
        &mut self,
        column: &ColumnDef,
        list: &mut TableList,
        unique: &mut bool,
    ) -> Result<bool> {
        match self.word() {
            Some(Word::PRIMARY) => {
                self.bump();
                self.expect_word(Word::KEY)?;
            }
            Some(Word::KEY) => {
                self.bump();
            }
            Some(Word::UNIQUE) => {
                self.bump();
                self.eat_word(Word::KEY);
                *unique = true;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        let mut key = part(&column.name);
        key.descending = self.eat_word(Word::DESC);
        if !key.descending {
            self.eat_word(Word::ASC);
        }
        list.set_primary_key(vec![key])?;
        Ok(true)
    }

    fn column_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        match self.word() {
            Some(Word::NULL) => {
                self.bump();
                column.nullable = Some(true);
            }
            Some(Word::NOT) => {
                self.bump();
                self.expect_word(Word::NULL)?;
                column.nullable = Some(false);
            }
            Some(Word::DEFAULT) => {
                self.bump();
                column.default = Some(self.default_value()?);
            }
            Some(Word::ON) => {
                self.bump();
                self.expect_word(Word::UPDATE)?;
                if self.now()?.is_none() {
                    return Err(self.syntax_error());
                }
                column.on_update_now = true;
            }
            Some(Word::AUTO_INCREMENT) => {
                self.bump();
                column.auto_increment = true;
            }
            Some(Word::COMMENT) => {
                self.bump();
                column.comment = self.text()?;
            }
            Some(Word::COLLATE) => {
                self.bump();
                column.collation = Some(self.charset_name()?);
            }
            Some(Word::CHARACTER | Word::CHARSET) => {
                if !self.eat_charset_words() {
                    return Err(self.syntax_error());
                }
                column.charset = Some(self.charset_name()?);
            }
            _ => return self.rare_attribute(column),
        }
        Ok(true)
    }

    /// Attributes that are refused later, or mean nothing here.
    fn rare_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        match self.word() {
            Some(Word::VISIBLE) => {
                self.bump();
            }
            Some(Word::COLUMN_FORMAT | Word::STORAGE) => {
                self.bump();
                self.any_name()?;
            }
            Some(word @ (Word::GENERATED | Word::AS | Word::REFERENCES | Word::INVISIBLE)) => {
                column.unsupported = Some(format!("{word:?}"));
                self.skip_attributes()?;
            }
            Some(Word::CHECK) if column.ty == LONGTEXT && self.checks_json(&column.name)? => {
                column.ty = ColumnType::Json;
            }
            Some(Word::CHECK | Word::CONSTRAINT) => {
                column.unsupported = Some("CHECK".into());
                self.skip_attributes()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// At `CHECK`: eats `CHECK (json_valid(column))`. MariaDB's dumps spell `JSON` as `LONGTEXT` with
    /// this condition.
    fn checks_json(&mut self, column: &str) -> Result<bool> {
        let mark = self.mark();
        self.bump();
        let is_it = self.eat(Kind::OpenParen)
            && self.verb(0) == "JSON_VALID"
            && self.kind_ahead(1) == Kind::OpenParen;
        if is_it {
            self.bump();
            self.bump();
            let is_own = self.is_name() && self.name()?.eq_ignore_ascii_case(column);
            if is_own && self.eat(Kind::CloseParen) && self.eat(Kind::CloseParen) {
                return Ok(true);
            }
        }
        self.reset(mark);
        Ok(false)
    }

    fn skip_attributes(&mut self) -> Result<()> {
        while !matches!(
            self.kind(),
            Kind::Comma | Kind::CloseParen | Kind::End | Kind::Bad
        ) {
            if self.bump().kind == Kind::OpenParen {
                self.skip_parens()?;
            }
        }
        Ok(())
    }

    pub(super) fn default_value(&mut self) -> Result<DefaultValue> {
        if let Some(fsp) = self.now()? {
            return Ok(DefaultValue::Now { fsp });
        }
        if self.eat(Kind::OpenParen) {
            let expr = self.expr()?;
            self.expect(Kind::CloseParen)?;
            return Ok(DefaultValue::Expression(Box::new(expr)));
        }
        let negative = self.eat(Kind::Minus);
        if !negative {
            self.eat(Kind::Plus);
        }
        let constant = match self.word() {
            Some(Word::NULL) => Some(Literal::Null),
            Some(Word::TRUE) => Some(Literal::Bool(true)),
            Some(Word::FALSE) => Some(Literal::Bool(false)),
            _ => None,
        };
        if let Some(literal) = constant.filter(|_| !negative) {
            self.bump();
            return Ok(DefaultValue::Literal { literal, negative });
        }
        match self.primary()? {
            crate::sql::ast::Expr::Literal(literal) => {
                Ok(DefaultValue::Literal { literal, negative })
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// `CURRENT_TIMESTAMP[(f)]` and its synonyms: the digits of its fraction.
    fn now(&mut self) -> Result<Option<u8>> {
        let words = [
            Word::CURRENT_TIMESTAMP,
            Word::LOCALTIME,
            Word::LOCALTIMESTAMP,
            Word::NOW,
        ];
        if self.eat_any(&words).is_none() {
            return Ok(None);
        }
        if self.is(Kind::OpenParen) && self.kind_ahead(1) == Kind::CloseParen {
            self.bump();
            self.bump();
            return Ok(Some(0));
        }
        self.fsp("now").map(Some)
    }

    // Types.

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

    fn other_type(&self, word: Word, at: super::token::Token) -> Result<ColumnType> {
        let known = matches!(
            word,
            Word::BIT
                | Word::SET
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

/// A key part that is a column, ascending.
fn part(column: &str) -> KeyPart {
    KeyPart {
        source: KeyPartSource::Column(column.to_owned()),
        descending: false,
    }
}
