//! `JSON_TABLE(…)`.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{
    Expr, JsonAction, JsonColumn, JsonTable, JsonValueColumn, Literal, TableFactor,
};

impl Parser<'_> {
    /// At `JSON_TABLE`.
    pub(super) fn json_table(&mut self) -> Result<TableFactor> {
        self.open()?;
        let document = self.expr()?;
        self.expect(Kind::Comma)?;
        let path = self.text()?;
        let columns = self.json_columns()?;
        self.expect(Kind::CloseParen)?;
        Ok(TableFactor::JsonTable(Box::new(JsonTable {
            document,
            path,
            columns,
            alias: self.table_alias()?,
        })))
    }

    /// `COLUMNS (…)`.
    fn json_columns(&mut self) -> Result<Vec<JsonColumn>> {
        self.expect_word(Word::COLUMNS)?;
        self.nested(|parser| parser.paren_list(Parser::json_column))
    }

    fn json_column(&mut self) -> Result<JsonColumn> {
        let is_path_ahead = |parser: &Self, ahead: usize| parser.kind_ahead(ahead) == Kind::Text;
        if self.verb(0) == "NESTED"
            && (is_path_ahead(self, 1) || self.verb(1) == "PATH" && is_path_ahead(self, 2))
        {
            self.bump();
            self.eat_verb("PATH");
            return Ok(JsonColumn::Nested {
                path: self.text()?,
                columns: self.json_columns()?,
            });
        }
        let name = self.name()?;
        if self.eat_word(Word::FOR) {
            return if self.eat_verb("ORDINALITY") {
                Ok(JsonColumn::Ordinality(name))
            } else {
                Err(self.syntax_error())
            };
        }
        let ty = self.column_type(&name)?;
        let exists = self.eat_word(Word::EXISTS);
        if !self.eat_verb("PATH") {
            return Err(self.syntax_error());
        }
        let path = self.text()?;
        let mut actions = [None, None];
        while !exists && !matches!(self.kind(), Kind::Comma | Kind::CloseParen) {
            let (action, is_error) = self.table_action()?;
            let [on_empty, on_error] = &mut actions;
            let slot = if is_error { on_error } else { on_empty };
            if slot.replace(action).is_some() {
                return Err(self.syntax_error());
            }
        }
        let [on_empty, on_error] = actions.map(|action| action.unwrap_or(JsonAction::Null));
        Ok(JsonColumn::Value(Box::new(JsonValueColumn {
            name,
            ty,
            path,
            exists,
            on_empty,
            on_error,
        })))
    }

    /// As `json_action`, with a text behind `DEFAULT`.
    fn table_action(&mut self) -> Result<(JsonAction, bool)> {
        let start = self.token();
        let ((word, default), is_error) = self.json_action()?;
        let action = match (word, default) {
            ("ERROR", _) => JsonAction::Error,
            ("DEFAULT", Expr::Literal(Literal::Text(text))) => JsonAction::Default(text),
            ("DEFAULT", _) => return Err(self.syntax_error_at(start)),
            _ => JsonAction::Null,
        };
        Ok((action, is_error))
    }
}
