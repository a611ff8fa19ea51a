//! SELECT and what may stand around it.

use super::cursor::Parser;
use super::token::{Kind, Token};
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{
    Block, Cte, Expr, IntoTarget, Limit, Literal, Lock, OrderItem, QueryBody, Select, SelectItem,
    SetOperator, TableName, TableRef, With,
};

/// Bytes of a result column's name that is made from the text of its expression. A client was
/// broken by longer ones; MySQL cuts there too.
const COLUMN_TEXT_BYTES_MAX: usize = 256;

/// What stands between SELECT and its list.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one word that may be written or not"
)]
struct Modifiers {
    distinct: bool,
    straight: bool,
    counts_rows: bool,
    no_cache: bool,
    all: bool,
}

impl Parser<'_> {
    /// Whether a query begins here.
    pub(super) fn begins_query(&self) -> bool {
        match self.word() {
            Some(Word::SELECT | Word::WITH | Word::TABLE) => true,
            Some(Word::VALUES) => self.word_ahead(1) == Some(Word::ROW),
            _ => false,
        }
    }

    /// Behind `(`: a query and its `)`.
    pub(super) fn subquery_rest(&mut self) -> Result<Select> {
        let select = self.select()?;
        self.expect(Kind::CloseParen)?;
        Ok(select)
    }

    /// A query expression.
    pub(super) fn select(&mut self) -> Result<Select> {
        self.scoped(|parser| {
            let with = parser.with()?;
            parser.select_after(with)
        })
    }

    /// `WITH [RECURSIVE] name AS (…), …`, if it is there.
    pub(super) fn with(&mut self) -> Result<With> {
        if !self.eat_word(Word::WITH) {
            return Ok(With::default());
        }
        Ok(With {
            recursive: self.eat_word(Word::RECURSIVE),
            ctes: self.comma_list(Parser::cte)?,
        })
    }

    /// A query expression behind its `WITH`.
    pub(super) fn select_after(&mut self, with: With) -> Result<Select> {
        let mut select = self.set_operation(SetOperator::Union)?;
        if !with.ctes.is_empty() {
            select.with = with;
        }
        self.select_tail(&mut select)?;
        select.assigns = self.assigns;
        Ok(select)
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.name()?;
        let columns = self.optional_name_list()?;
        self.expect_word(Word::AS)?;
        self.expect(Kind::OpenParen)?;
        let select = self.subquery_rest()?;
        Ok(Cte {
            name,
            columns,
            select,
        })
    }

    /// `ORDER BY`, `LIMIT` and locks behind a body.
    fn select_tail(&mut self, select: &mut Select) -> Result<()> {
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        if !order_by.is_empty() {
            // All of the rows that a query has without LIMIT are sorted anew.
            if select.limit.is_some() {
                let text = "ORDER BY around a query with LIMIT; write it as a derived table";
                return Err(Error::unsupported(text));
            }
            select.order_by = order_by;
        }
        if let Some(limit) = limit {
            select.limit = Some(match select.limit.take() {
                Some(inner) => within(&inner, &limit)?,
                None => limit,
            });
        }
        if let Some(lock) = self.lock()? {
            select.lock = Some(lock);
        }
        self.eat_into(&mut select.into)
    }

    /// `a UNION b EXCEPT c`; INTERSECT binds more tightly.
    fn set_operation(&mut self, least: SetOperator) -> Result<Select> {
        let mut left = match least {
            SetOperator::Union | SetOperator::Except => {
                self.set_operation(SetOperator::Intersect)?
            }
            SetOperator::Intersect => self.query_term()?,
        };
        let words: &[Word] = match least {
            SetOperator::Union | SetOperator::Except => &[Word::UNION, Word::EXCEPT],
            SetOperator::Intersect => &[Word::INTERSECT],
        };
        while let Some(word) = self.eat_any(words) {
            let operator = match word {
                Word::UNION => SetOperator::Union,
                Word::EXCEPT => SetOperator::Except,
                _ => SetOperator::Intersect,
            };
            let all = self.eat_word(Word::ALL);
            if !all {
                self.eat_word(Word::DISTINCT);
            }
            let mut right = match operator {
                SetOperator::Intersect => self.query_term()?,
                SetOperator::Union | SetOperator::Except => {
                    self.set_operation(SetOperator::Intersect)?
                }
            };
            self.raise()?;
            // At the end of a union it is about the whole.
            let into = right.into.take();
            left = plain(QueryBody::SetOperation {
                operator,
                all,
                sides: Box::new((left, right)),
            });
            left.into = into;
        }
        Ok(left)
    }

    fn query_term(&mut self) -> Result<Select> {
        if self.eat(Kind::OpenParen) {
            return self.subquery_rest();
        }
        match self.word() {
            Some(Word::SELECT) => self.block(),
            Some(Word::TABLE) => {
                self.bump();
                Ok(plain(QueryBody::Table(self.table_name()?)))
            }
            Some(Word::VALUES) => {
                self.bump();
                let rows = self.comma_list(|parser| {
                    parser.expect_word(Word::ROW)?;
                    parser.paren_list(Parser::expr)
                })?;
                Ok(plain(QueryBody::Values(rows)))
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// At `SELECT`.
    fn block(&mut self) -> Result<Select> {
        self.bump();
        let hints = self.hints();
        let modifiers = self.modifiers()?;
        let items = self.comma_list(Parser::select_item)?;
        let mut into = None;
        self.eat_into(&mut into)?;
        let from = self.from()?;
        let filter = self.condition(Word::WHERE)?;
        let (group_by, rollup) = self.group_by()?;
        let having = self.condition(Word::HAVING)?;
        let windows = self.windows()?;
        self.eat_into(&mut into)?;
        let mut select = plain(QueryBody::Block(Box::new(Block {
            hints,
            distinct: modifiers.distinct,
            straight: modifiers.straight,
            counts_rows: modifiers.counts_rows,
            no_cache: modifiers.no_cache,
            items,
            from,
            filter,
            group_by,
            rollup,
            having,
            windows,
        })));
        select.into = into;
        Ok(select)
    }

    fn modifiers(&mut self) -> Result<Modifiers> {
        let mut modifiers = Modifiers::default();
        loop {
            match self.word() {
                Some(Word::ALL) => modifiers.all = true,
                Some(Word::DISTINCT | Word::DISTINCTROW) => modifiers.distinct = true,
                Some(Word::STRAIGHT_JOIN) => modifiers.straight = true,
                Some(Word::SQL_CALC_FOUND_ROWS) => modifiers.counts_rows = true,
                Some(Word::SQL_NO_CACHE) => modifiers.no_cache = true,
                Some(
                    Word::HIGH_PRIORITY
                    | Word::SQL_SMALL_RESULT
                    | Word::SQL_BIG_RESULT
                    | Word::SQL_BUFFER_RESULT
                    | Word::SQL_CACHE,
                ) => {}
                _ if modifiers.all && modifiers.distinct => {
                    let text = "Incorrect usage of ALL and DISTINCT";
                    return Err(Error::new(Code::WrongUsage, text));
                }
                _ => return Ok(modifiers),
            }
            self.bump();
        }
    }

    /// `FROM …`; empty for none and for `DUAL`.
    fn from(&mut self) -> Result<Vec<TableRef>> {
        if !self.eat_word(Word::FROM) || self.eat_word(Word::DUAL) {
            return Ok(Vec::new());
        }
        self.table_refs()
    }

    /// `WHERE expr`, `HAVING expr`, if it is there.
    pub(super) fn condition(&mut self, word: Word) -> Result<Option<Expr>> {
        if self.eat_word(word) {
            self.expr().map(Some)
        } else {
            Ok(None)
        }
    }

    fn group_by(&mut self) -> Result<(Vec<Expr>, bool)> {
        if !self.eat_words(&[Word::GROUP, Word::BY]) {
            return Ok((Vec::new(), false));
        }
        let keys = self.exprs()?;
        Ok((keys, self.eat_words(&[Word::WITH, Word::ROLLUP])))
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if self.eat(Kind::Star) {
            return Ok(SelectItem::Star);
        }
        if let Some(table) = self.table_star()? {
            return Ok(SelectItem::TableStar(table));
        }
        let (first, second) = (self.token(), self.token_ahead(1));
        let expr = self.expr()?;
        let text = self.column_text((first, second), &expr);
        let alias = if self.eat_word(Word::AS) || self.is_name() || self.is(Kind::Text) {
            Some(self.alias()?)
        } else {
            None
        };
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// `t.*`, `d.t.*`.
    fn table_star(&mut self) -> Result<Option<TableName>> {
        let qualified = self.is_name() && self.kind_ahead(1) == Kind::Dot;
        let stars = qualified
            && (self.kind_ahead(2) == Kind::Star
                || (self.kind_ahead(3) == Kind::Dot && self.kind_ahead(4) == Kind::Star));
        if !stars {
            return Ok(None);
        }
        let first = self.name()?;
        self.bump();
        if self.eat(Kind::Star) {
            let (database, name) = (None, first);
            return Ok(Some(TableName { database, name }));
        }
        let name = self.any_name()?;
        self.bump();
        self.bump();
        let database = Some(first);
        Ok(Some(TableName { database, name }))
    }

    /// The name of a result column without alias, as MySQL makes it: a column's own name, a text's
    /// first piece, else the source from the first token to the last.
    fn column_text(&self, (first, second): (Token, Token), expr: &Expr) -> String {
        let source = self.text_since(first.start);
        let piece = if first.kind == Kind::Introducer {
            second
        } else {
            first
        };
        let is_text = matches!(piece.kind, Kind::Text | Kind::NationalText);
        let text = match expr {
            Expr::Column(name) => return name.column.clone(),
            Expr::Literal(Literal::Text(_) | Literal::Bytes(_)) if is_text => {
                self.text_bytes(piece)
            }
            Expr::Literal(Literal::Null) => b"NULL".to_vec(),
            _ => source.to_vec(),
        };
        let visible = text.iter().position(u8::is_ascii_graphic).unwrap_or(0);
        let leading = text.get(..visible).unwrap_or_default();
        let skipped = if leading.is_ascii() { visible } else { 0 };
        let mut text =
            String::from_utf8_lossy(text.get(skipped..).unwrap_or_default()).into_owned();
        if COLUMN_TEXT_BYTES_MAX < text.len() {
            text.truncate(text.floor_char_boundary(COLUMN_TEXT_BYTES_MAX));
        }
        text
    }

    /// `ORDER BY …`, if it is there.
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        if self.eat_words(&[Word::ORDER, Word::BY]) {
            self.comma_list(Parser::order_item)
        } else {
            Ok(Vec::new())
        }
    }

    fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let descending = self.eat_word(Word::DESC);
        if !descending {
            self.eat_word(Word::ASC);
        }
        Ok(OrderItem { expr, descending })
    }

    /// `LIMIT …`, if it is there.
    pub(super) fn limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat_word(Word::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.eat(Kind::Comma) {
            return Ok(Some(Limit {
                count: self.limit_value()?,
                offset: Some(first),
            }));
        }
        let offset = if self.eat_word(Word::OFFSET) {
            Some(self.limit_value()?)
        } else {
            None
        };
        Ok(Some(Limit {
            count: first,
            offset,
        }))
    }

    /// A whole number or a parameter.
    pub(super) fn limit_value(&mut self) -> Result<Expr> {
        match self.kind() {
            Kind::Parameter => self.parameter().map(Expr::Parameter),
            _ => Ok(Expr::Literal(Literal::Int(self.whole_number()?))),
        }
    }

    fn lock(&mut self) -> Result<Option<Lock>> {
        let lock = if self.eat_words(&[Word::LOCK, Word::IN, Word::SHARE, Word::MODE]) {
            return Ok(Some(Lock::Share));
        } else if self.eat_words(&[Word::FOR, Word::UPDATE]) {
            Lock::Update
        } else if self.eat_words(&[Word::FOR, Word::SHARE]) {
            Lock::Share
        } else {
            return Ok(None);
        };
        if self.eat_word(Word::OF) {
            self.comma_list(Parser::name)?;
        }
        if self.is_word(Word::NOWAIT) || self.are_words(&[Word::SKIP, Word::LOCKED]) {
            return Err(Error::unsupported("NOWAIT and SKIP LOCKED"));
        }
        Ok(Some(lock))
    }

    /// `INTO …`, if it is there; once.
    fn eat_into(&mut self, into: &mut Option<IntoTarget>) -> Result<()> {
        if !self.is_word(Word::INTO) {
            return Ok(());
        }
        if into.is_some() {
            return Err(self.syntax_error());
        }
        self.bump();
        if self.is_word(Word::OUTFILE) || self.verb(0) == "DUMPFILE" {
            *into = Some(IntoTarget::File(Box::new(self.file_behind_into()?)));
            return Ok(());
        }
        *into = Some(IntoTarget::Variables(self.comma_list(|parser| {
            if parser.is_name() {
                let text = format!("Undeclared variable: {}", parser.name()?);
                return Err(Error::new(Code::UndeclaredVariable, text));
            }
            parser.user_variable()
        })?));
        Ok(())
    }
}

/// A query of a body alone.
fn plain(body: QueryBody) -> Select {
    Select {
        with: With::default(),
        body,
        order_by: Vec::new(),
        limit: None,
        lock: None,
        into: None,
        assigns: false,
    }
}

/// The LIMIT that says what one behind another does: `(SELECT … LIMIT 2, 5) LIMIT 1, 10` has the rows 4 to 7.
///
/// # Errors
/// 1235 for parameters: their numbers are not known here.
fn within(inner: &Limit, outer: &Limit) -> Result<Limit> {
    let numbers = |limit: &Limit| match (&limit.count, &limit.offset) {
        (Expr::Literal(Literal::Int(count)), None) => Some((*count, 0)),
        (Expr::Literal(Literal::Int(count)), Some(Expr::Literal(Literal::Int(offset)))) => {
            Some((*count, *offset))
        }
        _ => None,
    };
    let (Some((count, offset)), Some((outer_count, outer_offset))) =
        (numbers(inner), numbers(outer))
    else {
        let text = "LIMIT with parameters around a query with LIMIT; write it as a derived table";
        return Err(Error::unsupported(text));
    };
    let number = |number| Expr::Literal(Literal::Int(number));
    let offset = offset.saturating_add(outer_offset);
    Ok(Limit {
        count: number(count.saturating_sub(outer_offset).min(outer_count)),
        offset: (0 < offset).then(|| number(offset)),
    })
}
