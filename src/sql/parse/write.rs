//! INSERT, REPLACE, UPSERT, UPDATE, DELETE.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Error, Result};
use crate::sql::ast::{
    Assignment, ColumnName, Delete, Expr, Hint, Insert, InsertRows, InsertValue, InsertVerb,
    OnDuplicate, RowAlias, Several, Statement, TableName, Update, With,
};

/// What stands before the table, but for the verb.
struct Head {
    with: With,
    hints: Vec<Hint>,
    ignore: bool,
}

impl Parser<'_> {
    /// Hints, priorities and IGNORE behind a verb.
    fn write_head(&mut self, with: With) -> Head {
        const PRIORITIES: &[Word] = &[
            Word::LOW_PRIORITY,
            Word::HIGH_PRIORITY,
            Word::DELAYED,
            Word::QUICK,
        ];
        let hints = self.hints();
        while self.eat_any(PRIORITIES).is_some() {}
        Head {
            with,
            hints,
            ignore: self.eat_word(Word::IGNORE),
        }
    }

    /// At `INSERT`, `REPLACE` or `UPSERT`.
    pub(super) fn insert(&mut self) -> Result<Statement> {
        let verb = match self.word() {
            Some(Word::REPLACE) => InsertVerb::Replace,
            Some(Word::UPSERT) => InsertVerb::Upsert,
            _ => InsertVerb::Insert,
        };
        self.bump();
        let head = self.write_head(With::default());
        let replaces = verb == InsertVerb::Replace;
        if verb != InsertVerb::Insert && head.ignore {
            return Err(self.syntax_error());
        }
        self.eat_word(Word::INTO);
        let table = self.table_name()?;
        if self.is_word(Word::PARTITION) {
            return Err(Error::unsupported("PARTITION"));
        }
        let mut insert = Insert {
            verb,
            ignore: head.ignore,
            hints: head.hints,
            table,
            columns: None,
            rows: InsertRows::Values(Vec::new()),
            alias: None,
            on_duplicate: OnDuplicate::Unsaid,
        };
        self.insert_rows(&mut insert)?;
        insert.alias = self.row_alias()?;
        if !replaces {
            insert.on_duplicate = self.on_duplicate(head.ignore)?;
        }
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn insert_rows(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat_word(Word::SET) {
            let assignments = self.comma_list(Parser::assignment)?;
            let (columns, row) = assignments
                .into_iter()
                .map(|each| (each.column, each.value))
                .unzip();
            insert.columns = Some(columns);
            insert.rows = InsertRows::Values(vec![row]);
            return Ok(());
        }
        if self.is(Kind::OpenParen) && !self.parenthesised_query() {
            insert.columns = Some(self.insert_columns()?);
        }
        insert.rows = match self.word() {
            Some(Word::VALUES | Word::VALUE) => {
                self.bump();
                InsertRows::Values(self.comma_list(Parser::insert_row)?)
            }
            _ => InsertRows::Select(Box::new(self.select()?)),
        };
        Ok(())
    }

    /// Whether `(` here opens a query and not a list of columns.
    pub(super) fn parenthesised_query(&self) -> bool {
        let mut ahead = 1;
        while self.kind_ahead(ahead) == Kind::OpenParen {
            ahead += 1;
        }
        matches!(
            self.word_ahead(ahead),
            Some(Word::SELECT | Word::WITH | Word::TABLE)
        )
    }

    /// `(a, b)`, `()`.
    fn insert_columns(&mut self) -> Result<Vec<ColumnName>> {
        if self.kind_ahead(1) == Kind::CloseParen {
            self.bump();
            self.bump();
            return Ok(Vec::new());
        }
        self.paren_list(Parser::column_name)
    }

    /// `(a, b)`, `ROW(a, b)`, `()`.
    fn insert_row(&mut self) -> Result<Vec<InsertValue>> {
        self.eat_word(Word::ROW);
        self.expect(Kind::OpenParen)?;
        if self.eat(Kind::CloseParen) {
            return Ok(Vec::new());
        }
        let row = self.comma_list(Parser::insert_value)?;
        self.expect(Kind::CloseParen)?;
        Ok(row)
    }

    fn insert_value(&mut self) -> Result<InsertValue> {
        match self.kind_ahead(1) {
            // Most values are constants: no need to climb through the operators.
            Kind::Comma | Kind::CloseParen => {
                if self.eat_word(Word::DEFAULT) {
                    return Ok(InsertValue::Default);
                }
                self.primary().map(InsertValue::Expr)
            }
            Kind::End if self.eat_word(Word::DEFAULT) => Ok(InsertValue::Default),
            Kind::Word(Word::WHERE | Word::ORDER | Word::LIMIT | Word::ON)
                if self.eat_word(Word::DEFAULT) =>
            {
                Ok(InsertValue::Default)
            }
            _ => self.expr().map(InsertValue::Expr),
        }
    }

    fn row_alias(&mut self) -> Result<Option<RowAlias>> {
        if !self.eat_word(Word::AS) {
            return Ok(None);
        }
        Ok(Some(RowAlias {
            name: self.name()?,
            columns: self.optional_name_list()?,
        }))
    }

    fn on_duplicate(&mut self, ignores: bool) -> Result<OnDuplicate> {
        if !self.eat_words(&[Word::ON, Word::DUPLICATE, Word::KEY]) {
            return Ok(OnDuplicate::Unsaid);
        }
        match self.word() {
            Some(Word::UPDATE) => {
                self.bump();
                Ok(OnDuplicate::Update(self.comma_list(Parser::assignment)?))
            }
            Some(Word::IGNORE) => {
                self.bump();
                Ok(OnDuplicate::Ignore)
            }
            // IGNORE says the opposite.
            Some(Word::ERROR) if !ignores => {
                self.bump();
                Ok(OnDuplicate::Error)
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// `c = e`, `c := e`, `c = DEFAULT`.
    pub(super) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_name()?;
        if !self.eat(Kind::Assign) {
            self.expect(Kind::Equal)?;
        }
        let value = self.insert_value()?;
        Ok(Assignment { column, value })
    }

    /// At `UPDATE`, behind its `WITH`.
    pub(super) fn update(&mut self, with: With) -> Result<Statement> {
        self.bump();
        let head = self.write_head(with);
        let tables = self.table_refs()?;
        self.expect_word(Word::SET)?;
        let assignments = self.comma_list(Parser::assignment)?;
        Ok(Statement::Update(Box::new(Update {
            with: head.with,
            hints: head.hints,
            ignore: head.ignore,
            tables,
            assignments,
            filter: self.condition(Word::WHERE)?,
            order_by: self.order_by()?,
            limit: self.write_limit()?,
        })))
    }

    /// At `DELETE`, behind its `WITH`.
    pub(super) fn delete(&mut self, with: With) -> Result<Statement> {
        self.bump();
        let head = self.write_head(with);
        if !self.eat_word(Word::FROM) {
            let targets = self.comma_list(Parser::delete_target)?;
            self.expect_word(Word::FROM)?;
            return self.delete_from(head, targets);
        }
        let first = self.delete_target()?;
        if self.is(Kind::Comma) || self.is_word(Word::USING) {
            let mut targets = vec![first];
            while self.eat(Kind::Comma) {
                targets.push(self.delete_target()?);
            }
            self.expect_word(Word::USING)?;
            return self.delete_from(head, targets);
        }
        let alias = self.table_alias()?;
        self.delete_rows(head, (first, alias), None)
    }

    /// `t`, `d.t`, `t.*`.
    fn delete_target(&mut self) -> Result<TableName> {
        let first = self.name()?;
        let mut target = TableName {
            database: None,
            name: first,
        };
        while self.eat(Kind::Dot) {
            if self.eat(Kind::Star) {
                break;
            }
            let name = self.any_name()?;
            target.database = Some(std::mem::replace(&mut target.name, name));
        }
        Ok(target)
    }

    /// Behind the targets: the tables that are read.
    fn delete_from(&mut self, head: Head, targets: Vec<TableName>) -> Result<Statement> {
        let Some(first) = targets.first().cloned() else {
            return Err(self.syntax_error());
        };
        let tables = self.table_refs()?;
        let several = Several { targets, tables };
        self.delete_rows(head, (first, None), Some(several))
    }

    fn delete_rows(
        &mut self,
        head: Head,
        (table, alias): (TableName, Option<String>),
        several: Option<Several>,
    ) -> Result<Statement> {
        Ok(Statement::Delete(Box::new(Delete {
            with: head.with,
            several,
            hints: head.hints,
            ignore: head.ignore,
            table,
            alias,
            filter: self.condition(Word::WHERE)?,
            order_by: self.order_by()?,
            limit: self.write_limit()?,
        })))
    }

    fn write_limit(&mut self) -> Result<Option<Expr>> {
        if self.eat_word(Word::LIMIT) {
            self.limit_value().map(Some)
        } else {
            Ok(None)
        }
    }
}
