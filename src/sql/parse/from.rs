//! The tables of a statement: joins, derived tables, index hints.

use super::NESTING_MAX;
use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Error, Result};
use crate::sql::ast::{IndexHint, IndexHintKind, Join, JoinKind, TableFactor, TableRef};

impl Parser<'_> {
    /// One or more tables between commas.
    pub(super) fn table_refs(&mut self) -> Result<Vec<TableRef>> {
        self.comma_list(Parser::table_ref)
    }

    /// A table and all that is joined to it. As in MySQL's grammar an ON belongs to the nearest join
    /// that has none yet: the right side of a join goes on as long as joins follow.
    fn table_ref(&mut self) -> Result<TableRef> {
        let factor = self.table_factor()?;
        let mut table = TableRef {
            factor,
            joins: Vec::new(),
        };
        loop {
            if self.eat_word(Word::NATURAL) {
                let join = self.natural_join()?;
                table.joins.push(join);
            } else if let Some((kind, straight)) = self.join_operator()? {
                self.join(&mut table, (kind, straight))?;
            } else {
                return Ok(table);
            }
        }
    }

    /// Behind `NATURAL`.
    fn natural_join(&mut self) -> Result<Join> {
        if self.is_word(Word::CROSS) || self.is_word(Word::STRAIGHT_JOIN) {
            return Err(self.syntax_error());
        }
        let Some((kind, straight)) = self.join_operator()? else {
            return Err(self.syntax_error());
        };
        Ok(Join {
            kind,
            natural: true,
            straight,
            right: self.table_factor()?,
            on: None,
            using: Vec::new(),
        })
    }

    /// `JOIN`, `LEFT OUTER JOIN` and so on: its kind and whether it is `STRAIGHT_JOIN`.
    fn join_operator(&mut self) -> Result<Option<(JoinKind, bool)>> {
        let kind = match self.word() {
            Some(Word::LEFT) => JoinKind::Left,
            Some(Word::RIGHT) => JoinKind::Right,
            Some(Word::JOIN | Word::INNER | Word::CROSS | Word::STRAIGHT_JOIN) => JoinKind::Inner,
            _ => return Ok(None),
        };
        if self.eat_word(Word::STRAIGHT_JOIN) {
            return Ok(Some((kind, true)));
        }
        match kind {
            JoinKind::Inner => {
                self.eat_any(&[Word::INNER, Word::CROSS]);
            }
            JoinKind::Left | JoinKind::Right => {
                self.bump();
                self.eat_word(Word::OUTER);
            }
        }
        self.expect_word(Word::JOIN)?;
        Ok(Some((kind, false)))
    }

    /// The right side of a join and its condition.
    fn join(&mut self, left: &mut TableRef, (kind, straight): (JoinKind, bool)) -> Result<()> {
        let right = self.nested(Parser::table_ref)?;
        let on = self.condition(Word::ON)?;
        let using = if on.is_none() && self.eat_word(Word::USING) {
            self.name_list()?
        } else {
            Vec::new()
        };
        let is_bare = on.is_none() && using.is_empty();
        if is_bare && kind != JoinKind::Inner {
            return Err(self.syntax_error());
        }
        // Without condition it took only the first table, and what follows is joined to both.
        let (right, following) = if is_bare || right.joins.is_empty() {
            (right.factor, right.joins)
        } else {
            (TableFactor::Nested(vec![right]), Vec::new())
        };
        left.joins.push(Join {
            kind,
            natural: false,
            straight,
            right,
            on,
            using,
        });
        left.joins.extend(following);
        Ok(())
    }

    fn table_factor(&mut self) -> Result<TableFactor> {
        self.nested(|parser| {
            let lateral = parser.eat_word(Word::LATERAL);
            if !lateral && parser.eat(Kind::OpenBrace) {
                return parser.odbc_joined();
            }
            if parser.eat(Kind::OpenParen) {
                if parser.begins_query() || parser.begins_with_query_in_parens() {
                    return parser.derived_table(lateral);
                }
                if lateral {
                    return Err(parser.syntax_error());
                }
                let tables = parser.table_refs()?;
                parser.expect(Kind::CloseParen)?;
                return Ok(TableFactor::Nested(tables));
            }
            if lateral {
                return Err(parser.syntax_error());
            }
            if parser.is_word(Word::JSON_TABLE) {
                return parser.json_table();
            }
            let name = parser.table_name()?;
            if parser.is_word(Word::PARTITION) {
                return Err(Error::unsupported("PARTITION"));
            }
            let alias = parser.table_alias()?;
            let mut index_hints = Vec::new();
            while let Some(hint) = parser.index_hint()? {
                index_hints.push(hint);
            }
            Ok(TableFactor::Table {
                name,
                alias,
                index_hints,
            })
        })
    }

    /// Behind `{`: `{oj a LEFT OUTER JOIN b ON …}` of ODBC.
    fn odbc_joined(&mut self) -> Result<TableFactor> {
        self.any_name()?;
        let joined = self.table_ref()?;
        self.expect(Kind::CloseBrace)?;
        Ok(TableFactor::Nested(vec![joined]))
    }

    /// Whether what begins with a parenthesis is a query that begins with another one in parentheses,
    /// as `(SELECT 1) UNION …`, and not tables.
    fn begins_with_query_in_parens(&self) -> bool {
        if !self.is(Kind::OpenParen) || !self.parenthesised_query() {
            return false;
        }
        // All that is behind the innermost query must go on with it, up to the outermost parenthesis.
        // What nests deeper than it may is refused later, whatever it is taken for.
        let deepest = usize::try_from(NESTING_MAX).unwrap_or(usize::MAX);
        for ahead in 0..=deepest {
            if !self.goes_on_as_query(self.behind_parens(ahead)) {
                return false;
            }
            if self.kind_ahead(ahead + 1) != Kind::OpenParen {
                break;
            }
        }
        true
    }

    /// How far ahead the token is that stands behind the parenthesis which opens there.
    fn behind_parens(&self, mut ahead: usize) -> usize {
        let mut depth = 0_usize;
        loop {
            match self.kind_ahead(ahead) {
                Kind::OpenParen => depth += 1,
                Kind::CloseParen if depth <= 1 => return ahead + 1,
                Kind::CloseParen => depth -= 1,
                Kind::End | Kind::Bad => return ahead,
                _ => {}
            }
            ahead += 1;
        }
    }

    fn goes_on_as_query(&self, ahead: usize) -> bool {
        matches!(
            self.word_ahead(ahead),
            Some(Word::UNION | Word::EXCEPT | Word::INTERSECT | Word::ORDER | Word::LIMIT)
        ) || self.kind_ahead(ahead) == Kind::CloseParen
    }

    fn derived_table(&mut self, lateral: bool) -> Result<TableFactor> {
        let select = Box::new(self.subquery_rest()?);
        let alias = self.table_alias()?;
        let columns = if alias.is_some() {
            self.optional_name_list()?
        } else {
            Vec::new()
        };
        Ok(TableFactor::Derived {
            select,
            alias,
            columns,
            lateral,
        })
    }

    /// `[AS] alias`.
    pub(super) fn table_alias(&mut self) -> Result<Option<String>> {
        if self.eat_word(Word::AS) || self.is_name() {
            self.name().map(Some)
        } else {
            Ok(None)
        }
    }

    fn index_hint(&mut self) -> Result<Option<IndexHint>> {
        let index = matches!(self.word_ahead(1), Some(Word::INDEX | Word::KEY));
        let kind = match self.word() {
            Some(Word::USE) if index => IndexHintKind::Use,
            Some(Word::FORCE) if index => IndexHintKind::Force,
            Some(Word::IGNORE) if index => IndexHintKind::Ignore,
            _ => return Ok(None),
        };
        self.bump();
        self.bump();
        if self.eat_word(Word::FOR) && !self.eat_word(Word::JOIN) {
            if self.eat_any(&[Word::ORDER, Word::GROUP]).is_none() {
                return Err(self.syntax_error());
            }
            self.expect_word(Word::BY)?;
        }
        self.expect(Kind::OpenParen)?;
        let mut indexes = Vec::new();
        while !self.is(Kind::CloseParen) {
            indexes.push(if self.is_word(Word::PRIMARY) {
                self.any_name()?
            } else {
                self.name()?
            });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::CloseParen)?;
        Ok(Some(IndexHint { kind, indexes }))
    }
}
