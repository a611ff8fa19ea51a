//! CAST and CONVERT, and the lengths that types have in them and in CREATE TABLE.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::sql::ast::Expr;
use crate::sql::expr::CastType;

/// Most digits of a `DECIMAL` (docs/limits.md).
const DECIMAL_PRECISION_MAX: u8 = 38;

/// Most digits behind the point of a `DECIMAL`.
const DECIMAL_SCALE_MAX: u8 = 30;

/// Most digits of a second's fraction.
const FSP_MAX: u8 = 6;

impl Parser<'_> {
    pub(super) fn cast(&mut self) -> Result<Expr> {
        self.open()?;
        let expr = self.expr()?;
        let height = self.height();
        self.expect_word(Word::AS)?;
        let target = self.cast_type()?;
        self.close(height)?;
        Ok(Expr::Cast(Box::new(expr), target))
    }

    pub(super) fn convert(&mut self) -> Result<Expr> {
        self.open()?;
        let expr = Box::new(self.expr()?);
        let height = self.height();
        let converted = if self.eat_word(Word::USING) {
            Expr::ConvertUsing(expr, self.charset_name()?)
        } else {
            self.expect(Kind::Comma)?;
            Expr::Cast(expr, self.cast_type()?)
        };
        self.close(height)?;
        Ok(converted)
    }

    pub(super) fn cast_type(&mut self) -> Result<CastType> {
        let Some(word) = self.word() else {
            return Err(self.syntax_error());
        };
        let at = self.token();
        self.bump();
        let target = match word {
            Word::SIGNED | Word::UNSIGNED => {
                self.eat_any(&[Word::INTEGER, Word::INT]);
                if word == Word::SIGNED {
                    CastType::Signed
                } else {
                    CastType::Unsigned
                }
            }
            Word::CHAR | Word::CHARACTER | Word::NCHAR => {
                let length = self.length()?;
                return self.cast_charset(length);
            }
            Word::BINARY => CastType::Binary(self.length()?),
            Word::DECIMAL | Word::DEC => {
                let (precision, scale) = self.precision_and_scale("CAST")?;
                CastType::Decimal { precision, scale }
            }
            Word::FLOAT => match self.length::<u8>()? {
                Some(25..) => CastType::Double,
                _ => CastType::Float,
            },
            Word::REAL if self.mode.real_as_float => CastType::Float,
            Word::DOUBLE | Word::REAL => {
                self.eat_word(Word::PRECISION);
                CastType::Double
            }
            Word::DATE => CastType::Date,
            Word::TIME => CastType::Time(self.fsp("CAST")?),
            Word::DATETIME => CastType::Datetime(self.fsp("CAST")?),
            Word::YEAR => CastType::Year,
            Word::JSON => CastType::Json,
            _ => return Err(self.syntax_error_at(at)),
        };
        Ok(target)
    }

    /// `CHARACTER SET …` behind `CHAR(n)`.
    fn cast_charset(&mut self, length: Option<u32>) -> Result<CastType> {
        let named = self.eat_words(&[Word::CHARACTER, Word::SET]) || self.eat_word(Word::CHARSET);
        let charset = if named {
            self.charset_name()?
        } else {
            String::new()
        };
        Ok(match charset.as_str() {
            "binary" => CastType::Binary(length),
            _ => CastType::Char(length),
        })
    }

    /// `(n)`, if it is there.
    pub(super) fn length<T: TryFrom<u64>>(&mut self) -> Result<Option<T>> {
        if !self.eat(Kind::OpenParen) {
            return Ok(None);
        }
        let length = self.whole_number()?;
        self.expect(Kind::CloseParen)?;
        Ok(Some(length))
    }

    /// `(f)`: digits of a second's fraction of what is called `of`.
    pub(super) fn fsp(&mut self, of: &str) -> Result<u8> {
        let fsp = self.length::<u64>()?.unwrap_or(0);
        u8::try_from(fsp)
            .ok()
            .filter(|fsp| *fsp <= FSP_MAX)
            .ok_or_else(|| {
                Error::new(
                    Code::TooBigPrecision,
                    format!("Too-big precision {fsp} specified for '{of}'. Maximum is {FSP_MAX}."),
                )
            })
    }

    /// `(p, s)` of a DECIMAL that is called `of`.
    pub(super) fn precision_and_scale(&mut self, of: &str) -> Result<(u8, u8)> {
        let (mut precision, mut scale) = (10_u64, 0_u64);
        if self.eat(Kind::OpenParen) {
            precision = self.whole_number()?;
            if self.eat(Kind::Comma) {
                scale = self.whole_number()?;
            }
            self.expect(Kind::CloseParen)?;
        }
        let (digits_max, scale_max) = (DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX);
        if u64::from(scale_max) < scale {
            return Err(Error::new(
                Code::TooBigFraction,
                format!(
                    "Too big scale {scale} specified for column '{of}'. Maximum is {scale_max}."
                ),
            ));
        }
        if u64::from(digits_max) < precision {
            return Err(Error::new(
                Code::TooBigPrecision,
                format!(
                    "Too-big precision {precision} specified for '{of}'. Maximum is {digits_max}."
                ),
            ));
        }
        if precision == 0 {
            precision = 10;
        }
        if precision < scale {
            return Err(Error::new(
                Code::ScaleOverPrecision,
                "For float(M,D), double(M,D) or decimal(M,D), M must be >= D",
            ));
        }
        let narrow = |number: u64| u8::try_from(number).unwrap_or(DECIMAL_PRECISION_MAX);
        Ok((narrow(precision), narrow(scale)))
    }
}
