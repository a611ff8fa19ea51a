//! `OVER …` and `WINDOW …`.
//!
//! Source: MySQL 8.0 manual, "Window Function Concepts and Syntax" and the sections after it.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Error, Result};
use crate::sql::ast::{
    Distance, Expr, Frame, FrameBound, FrameUnit, Literal, NamedWindow, Over, WindowSpec,
};

/// Functions that `RESPECT NULLS` may follow.
const NULL_TREATERS: [&str; 5] = ["FIRST_VALUE", "LAG", "LAST_VALUE", "LEAD", "NTH_VALUE"];

/// Functions that `OVER` must follow.
const WINDOW_ONLY: [&str; 6] = [
    "CUME_DIST",
    "DENSE_RANK",
    "NTILE",
    "PERCENT_RANK",
    "RANK",
    "ROW_NUMBER",
];

fn is_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

impl Parser<'_> {
    /// `OVER …` behind the call of a function of that name.
    pub(super) fn over(&mut self, name: &str) -> Result<Option<Box<Over>>> {
        let treats_nulls = is_of(&NULL_TREATERS, name);
        if treats_nulls {
            self.null_treatment(name)?;
        }
        if !self.is_word(Word::OVER) {
            if treats_nulls || is_of(&WINDOW_ONLY, name) {
                return Err(self.syntax_error());
            }
            return Ok(None);
        }
        self.bump();
        let over = if self.eat(Kind::OpenParen) {
            let height = self.height();
            let spec = self.window_rest()?;
            self.set_height(height.max(self.height()))?;
            Over::Spec(spec)
        } else {
            Over::Name(self.name()?)
        };
        Ok(Some(Box::new(over)))
    }

    /// `FROM FIRST`, `RESPECT NULLS`, and what MySQL parses beside them and does not do.
    fn null_treatment(&mut self, name: &str) -> Result<()> {
        if name.eq_ignore_ascii_case("NTH_VALUE")
            && !self.eat_words(&[Word::FROM, Word::FIRST])
            && self.eat_words(&[Word::FROM, Word::LAST])
        {
            return Err(Error::unsupported("FROM LAST"));
        }
        if !self.eat_words(&[Word::RESPECT, Word::NULLS])
            && self.eat_words(&[Word::IGNORE, Word::NULLS])
        {
            return Err(Error::unsupported("IGNORE NULLS"));
        }
        Ok(())
    }

    /// `WINDOW w AS (…), …`, if it is there.
    pub(super) fn windows(&mut self) -> Result<Vec<NamedWindow>> {
        if !self.eat_word(Word::WINDOW) {
            return Ok(Vec::new());
        }
        self.comma_list(|parser| {
            let name = parser.name()?;
            parser.expect_word(Word::AS)?;
            parser.expect(Kind::OpenParen)?;
            let spec = parser.window_rest()?;
            Ok(NamedWindow { name, spec })
        })
    }

    /// Behind `(`: a window and its `)`.
    fn window_rest(&mut self) -> Result<WindowSpec> {
        let mut height = 0;
        let base = if self.is_name() {
            Some(self.name()?)
        } else {
            None
        };
        let mut partition_by = Vec::new();
        if self.eat_words(&[Word::PARTITION, Word::BY]) {
            partition_by = self.exprs()?;
            height = self.height();
        }
        let order_by = self.order_by()?;
        height = height.max(self.height());
        let frame = self.frame()?;
        self.set_height(height.max(self.height()))?;
        self.expect(Kind::CloseParen)?;
        Ok(WindowSpec {
            base,
            partition_by,
            order_by,
            frame,
        })
    }

    fn frame(&mut self) -> Result<Option<Frame>> {
        let unit = match self.eat_any(&[Word::ROWS, Word::RANGE, Word::GROUPS]) {
            None => return Ok(None),
            Some(Word::ROWS) => FrameUnit::Rows,
            Some(Word::RANGE) => FrameUnit::Range,
            Some(_) => return Err(Error::unsupported("GROUPS")),
        };
        let (start, end) = if self.eat_word(Word::BETWEEN) {
            let start = self.frame_bound()?;
            self.expect_word(Word::AND)?;
            (start, self.frame_bound()?)
        } else {
            (self.frame_bound()?, FrameBound::CurrentRow)
        };
        if self.is_word(Word::EXCLUDE) {
            return Err(Error::unsupported("EXCLUDE"));
        }
        Ok(Some(Frame { unit, start, end }))
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_words(&[Word::CURRENT, Word::ROW]) {
            return Ok(FrameBound::CurrentRow);
        }
        let distance = if self.eat_word(Word::UNBOUNDED) {
            None
        } else {
            Some(self.distance()?)
        };
        let Some(word) = self.eat_any(&[Word::PRECEDING, Word::FOLLOWING]) else {
            return Err(self.syntax_error());
        };
        Ok(match (word, distance) {
            (Word::PRECEDING, None) => FrameBound::UnboundedPreceding,
            (Word::PRECEDING, Some(distance)) => FrameBound::Preceding(distance),
            (_, None) => FrameBound::UnboundedFollowing,
            (_, Some(distance)) => FrameBound::Following(distance),
        })
    }

    /// A number without sign, a parameter, an interval.
    fn distance(&mut self) -> Result<Distance> {
        if self.is_word(Word::INTERVAL) {
            return match self.interval()? {
                Some((amount, unit)) => Ok(Distance {
                    amount,
                    unit: Some(unit),
                }),
                None => Err(self.syntax_error()),
            };
        }
        let start = self.token();
        let amount = match self.kind() {
            Kind::Parameter => Expr::Parameter(self.parameter()?),
            _ => self.primary()?,
        };
        match amount {
            Expr::Parameter(_)
            | Expr::Literal(Literal::Int(_) | Literal::Decimal(_) | Literal::Double(_)) => {
                Ok(Distance { amount, unit: None })
            }
            _ => Err(self.syntax_error_at(start)),
        }
    }
}
