//! ALTER TABLE, RENAME TABLE and ALTER INDEX.

use super::cursor::Parser;
use super::ddl::TableList;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{
    AlterAction, AlterIndex, AlterTable, ColumnPlace, IndexGoal, RenameTables, Statement,
    TableOptions,
};

impl Parser<'_> {
    /// At `ALTER`.
    pub(super) fn alter(&mut self) -> Result<Statement> {
        match self.word_ahead(1) {
            Some(Word::TABLE) => self.alter_table(1),
            Some(Word::IGNORE) if self.word_ahead(2) == Some(Word::TABLE) => self.alter_table(2),
            Some(Word::INDEX) => self.alter_index(),
            Some(Word::USER) => self.alter_user(),
            _ if self.is_view_ahead() => self.view(),
            Some(_) => Ok(self.unsupported_phrase()),
            None if self.verb(1) == "ONLINE" && self.word_ahead(2) == Some(Word::TABLE) => {
                self.alter_table(2)
            }
            None => {
                self.bump();
                Err(self.syntax_error())
            }
        }
    }

    /// With so many words before `TABLE`.
    fn alter_table(&mut self, words: usize) -> Result<Statement> {
        for _ in 0..=words {
            self.bump();
        }
        let if_exists = self.if_exists()?;
        let table = self.table_name()?;
        let mut actions = Vec::new();
        self.algorithm_and_lock()?;
        self.eat(Kind::Comma);
        while !self.at_end() {
            if !self.is_option() && !self.validation() {
                self.alter_action(&mut actions)?;
            }
            self.algorithm_and_lock()?;
            let goes_on = self.begins_table_option()
                || matches!(self.word(), Some(Word::DEFAULT | Word::CHARACTER));
            if !self.eat(Kind::Comma) && !goes_on {
                break;
            }
        }
        Ok(Statement::AlterTable(Box::new(AlterTable {
            if_exists,
            table,
            actions,
        })))
    }

    fn is_option(&self) -> bool {
        matches!(self.verb(0).as_str(), "ALGORITHM" | "LOCK")
    }

    /// `WITH VALIDATION`, `WITHOUT VALIDATION`: about generated columns, which are not there.
    fn validation(&mut self) -> bool {
        let is_it = matches!(self.verb(0).as_str(), "WITH" | "WITHOUT")
            && self.verb(1).as_str() == "VALIDATION";
        if is_it {
            self.bump();
            self.bump();
        }
        is_it
    }

    fn alter_action(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        match self.word() {
            Some(Word::ADD) => return self.add_action(actions),
            Some(Word::DROP) => {
                let action = self.drop_action()?;
                actions.push(action);
            }
            Some(Word::DISABLE | Word::ENABLE) if self.word_ahead(1) == Some(Word::KEYS) => {
                self.bump();
                self.bump();
                actions.push(AlterAction::Keys);
            }
            Some(Word::RENAME) => {
                let action = self.rename_action()?;
                actions.push(action);
            }
            Some(Word::CHANGE | Word::MODIFY) => return self.change_action(actions),
            Some(Word::ALTER) => {
                let action = self.alter_column()?;
                actions.push(action);
            }
            Some(Word::FORCE) => {
                self.bump();
                actions.push(AlterAction::Force);
            }
            _ if self.verb(0) == "COMPACT" => {
                self.bump();
                actions.push(AlterAction::Compact);
            }
            Some(Word::ORDER) => {
                self.bump();
                self.expect_word(Word::BY)?;
                self.comma_list(|parser| {
                    parser.name()?;
                    parser.eat_any(&[Word::ASC, Word::DESC]);
                    Ok(())
                })?;
                actions.push(AlterAction::OrderBy);
            }
            Some(Word::PRIMARY) => {
                let parts = self.primary_key()?;
                actions.push(AlterAction::SetKey(parts));
            }
            Some(Word::PARTITION) => self.unsupported_action(actions, "PARTITION BY"),
            _ if self.begins_table_option() || self.are_option_words() => {
                let options = self.changed_options()?;
                actions.push(AlterAction::Options(Box::new(options)));
            }
            Some(_) if self.is_refused_verb() => self.unsupported_action(actions, ""),
            _ => return Err(self.syntax_error()),
        }
        Ok(())
    }

    fn is_refused_verb(&self) -> bool {
        const VERBS: &[&str] = &[
            "ANALYZE",
            "CHECK",
            "COALESCE",
            "DISCARD",
            "EXCHANGE",
            "IMPORT",
            "OPTIMIZE",
            "REBUILD",
            "REMOVE",
            "REORGANIZE",
            "REPAIR",
            "SECONDARY_LOAD",
            "SECONDARY_UNLOAD",
            "TRUNCATE",
        ];
        VERBS.contains(&self.verb(0).as_str())
    }

    fn are_option_words(&self) -> bool {
        matches!(
            self.word(),
            Some(Word::SET | Word::WITH | Word::CONVERT | Word::DEFAULT | Word::CHARACTER)
        )
    }

    /// `COMMENT = 'x' ENGINE = y`, `CONVERT TO CHARACTER SET z`, `SET 'NAME' = 'value'`.
    fn changed_options(&mut self) -> Result<TableOptions> {
        let mut options = TableOptions::default();
        match self.word() {
            Some(Word::WITH) => options.with = self.with_options()?,
            Some(Word::SET) => {
                self.bump();
                options.with = self.comma_list(Parser::set_option)?;
            }
            Some(Word::CONVERT) => {
                self.bump();
                self.expect_word(Word::TO)?;
                if !self.eat_charset_words() {
                    return Err(self.syntax_error());
                }
                options.charset = Some(if self.eat_word(Word::DEFAULT) {
                    "utf8mb4".to_owned()
                } else {
                    self.charset_name()?
                });
                if self.eat_word(Word::COLLATE) {
                    options.collation = Some(self.charset_name()?);
                }
            }
            _ => self.table_option(&mut options)?,
        }
        Ok(options)
    }

    /// `'NAME' = 'value'`.
    fn set_option(&mut self) -> Result<(String, String)> {
        let name = if self.is(Kind::Text) {
            self.text()?
        } else {
            self.any_name()?
        };
        self.expect(Kind::Equal)?;
        Ok((name, self.option_value()?))
    }

    /// At `DROP`.
    fn drop_action(&mut self) -> Result<AlterAction> {
        self.bump();
        if self.names_index(0) {
            self.bump();
            let if_exists = self.if_exists()?;
            let name = self.index_name()?;
            return Ok(AlterAction::DropIndex { name, if_exists });
        }
        let what = match self.word() {
            Some(Word::PRIMARY) => {
                self.bump();
                self.expect_word(Word::KEY)?;
                return Ok(AlterAction::DropKey);
            }
            Some(Word::FOREIGN) => {
                self.skip_action();
                "DROP FOREIGN KEY"
            }
            Some(Word::CHECK) => {
                self.skip_action();
                "DROP CHECK"
            }
            Some(Word::CONSTRAINT) => {
                self.bump();
                let if_exists = self.if_exists()?;
                let name = self.index_name()?;
                return Ok(AlterAction::DropIndex { name, if_exists });
            }
            Some(Word::PARTITION) => {
                self.skip_action();
                "DROP PARTITION"
            }
            _ => {
                self.eat_word(Word::COLUMN);
                let if_exists = self.if_exists()?;
                let name = self.name()?;
                self.eat_any(&[Word::RESTRICT, Word::CASCADE]);
                return Ok(AlterAction::DropColumn { name, if_exists });
            }
        };
        Ok(AlterAction::Unsupported(format!("ALTER TABLE {what}")))
    }

    /// At `RENAME`.
    fn rename_action(&mut self) -> Result<AlterAction> {
        self.bump();
        if self.names_index(0) {
            self.bump();
            let from = self.index_name()?;
            self.expect_word(Word::TO)?;
            let to = self.index_name()?;
            return Ok(AlterAction::RenameIndex { from, to });
        }
        if self.eat_word(Word::COLUMN) {
            let from = self.name()?;
            self.expect_word(Word::TO)?;
            let to = self.name()?;
            return Ok(AlterAction::RenameColumn { from, to });
        }
        if self.eat_any(&[Word::TO, Word::AS]).is_none() {
            self.eat(Kind::Equal);
        }
        Ok(AlterAction::Rename(self.table_name()?))
    }

    /// At `ADD`.
    fn add_action(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        self.bump();
        let named = self.eat_word(Word::CONSTRAINT);
        let symbol = if named && self.is_name() {
            Some(self.name()?)
        } else {
            None
        };
        match self.word() {
            Some(Word::INDEX | Word::KEY | Word::UNIQUE | Word::FULLTEXT | Word::SPATIAL) => {
                let mut index = self.table_index()?;
                index.name = index.name.or(symbol);
                actions.push(AlterAction::AddIndex(Box::new(index)));
            }
            Some(Word::PRIMARY) => {
                let parts = self.primary_key()?;
                actions.push(AlterAction::AddKey(parts));
            }
            Some(Word::FOREIGN) => self.unsupported_action(actions, "ADD FOREIGN KEY"),
            Some(Word::CHECK) => self.unsupported_action(actions, "ADD CHECK"),
            Some(Word::PARTITION) => self.unsupported_action(actions, "ADD PARTITION"),
            _ if named => return Err(self.syntax_error()),
            _ => return self.add_columns(actions),
        }
        Ok(())
    }

    /// Behind `ADD`, at `COLUMN` or what follows it.
    fn add_columns(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        self.eat_word(Word::COLUMN);
        let if_not_exists = self.if_not_exists()?;
        let mut list = TableList::default();
        let mut place = None;
        if self.eat(Kind::OpenParen) {
            self.comma_list(|parser| parser.table_member(&mut list))?;
            self.expect(Kind::CloseParen)?;
        } else {
            self.column_def(&mut list)?;
            place = self.column_place()?;
        }
        for index in &mut list.indexes {
            // `c INT UNIQUE`: MariaDB takes it to be written of the index, too.
            index.if_not_exists |= if_not_exists && index.name.is_none();
        }
        actions.push(AlterAction::AddColumns {
            columns: std::mem::take(&mut list.columns),
            place,
            if_not_exists,
        });
        add_rest(list, actions);
        Ok(())
    }

    /// `FIRST`, `AFTER c`.
    fn column_place(&mut self) -> Result<Option<ColumnPlace>> {
        if self.eat_word(Word::FIRST) {
            return Ok(Some(ColumnPlace::First));
        }
        if self.eat_word(Word::AFTER) {
            return Ok(Some(ColumnPlace::After(self.name()?)));
        }
        Ok(None)
    }

    /// At `CHANGE` or `MODIFY`.
    fn change_action(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        let keeps_name = self.is_word(Word::MODIFY);
        self.bump();
        self.eat_word(Word::COLUMN);
        let if_exists = self.if_exists()?;
        let from = if keeps_name { None } else { Some(self.name()?) };
        let mut list = TableList::default();
        self.column_def(&mut list)?;
        let place = self.column_place()?;
        let Some(column) = list.columns.pop() else {
            return Err(self.syntax_error());
        };
        actions.push(AlterAction::ChangeColumn {
            from: from.unwrap_or_else(|| column.name.clone()),
            column: Box::new(column),
            place,
            if_exists,
        });
        add_rest(list, actions);
        Ok(())
    }

    /// `ALTER [COLUMN] c SET DEFAULT x`, `… DROP DEFAULT`, `ALTER INDEX i VISIBLE`.
    fn alter_column(&mut self) -> Result<AlterAction> {
        self.bump();
        if matches!(
            self.word(),
            Some(Word::INDEX | Word::KEY | Word::CHECK | Word::CONSTRAINT)
        ) {
            let what = format!("ALTER TABLE ALTER {}", self.verb(0));
            self.skip_action();
            return Ok(AlterAction::Unsupported(what));
        }
        self.eat_word(Word::COLUMN);
        let if_exists = self.if_exists()?;
        let name = self.name()?;
        let default = if self.eat_words(&[Word::SET, Word::DEFAULT]) {
            Some(self.default_value()?)
        } else {
            self.expect_words(&[Word::DROP, Word::DEFAULT])?;
            None
        };
        Ok(AlterAction::SetDefault {
            name,
            default,
            if_exists,
        })
    }

    fn names_index(&self, ahead: usize) -> bool {
        matches!(self.word_ahead(ahead), Some(Word::INDEX | Word::KEY))
    }

    /// A name, or `PRIMARY`, which no index here has.
    fn index_name(&mut self) -> Result<String> {
        if self.is_word(Word::PRIMARY) {
            return self.any_name();
        }
        self.name()
    }

    /// An action that this server does not have; named by its verb when there is no better name.
    fn unsupported_action(&mut self, actions: &mut Vec<AlterAction>, name: &str) {
        let mut what = name.to_owned();
        if what.is_empty() {
            what = self.verb(0);
            if let Some(word) = self.word_ahead(1).filter(|word| word.is_reserved()) {
                what = format!("{what} {word:?}");
            }
        }
        self.skip_action();
        actions.push(AlterAction::Unsupported(format!("ALTER TABLE {what}")));
    }

    /// Goes behind an action whose grammar is not known.
    fn skip_action(&mut self) {
        while !matches!(self.kind(), Kind::Comma | Kind::End | Kind::Bad) {
            if self.bump().kind == Kind::OpenParen && self.skip_parens().is_err() {
                return;
            }
        }
    }

    /// At `RENAME`, where `TABLE` follows.
    pub(super) fn rename_tables(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_exists = self.if_exists()?;
        let pairs = self.comma_list(|parser| {
            let from = parser.table_name()?;
            parser.expect_word(Word::TO)?;
            Ok((from, parser.table_name()?))
        })?;
        Ok(Statement::RenameTables(RenameTables { if_exists, pairs }))
    }

    /// `UNDROP TABLE t [TO u]`.
    pub(super) fn undrop(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_word(Word::TABLE)?;
        let table = self.table_name()?;
        let to = if self.eat_word(Word::TO) {
            Some(self.table_name()?)
        } else {
            None
        };
        Ok(Statement::Undrop { table, to })
    }

    /// At `PURGE`, where `TABLE` or `TRASH` follows.
    pub(super) fn purge(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_word(Word::TRASH) {
            return Ok(Statement::Purge(None));
        }
        self.bump();
        Ok(Statement::Purge(Some(self.table_name()?)))
    }

    /// `ALTER INDEX i ON t ACTIVE`.
    fn alter_index(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let name = self.index_name()?;
        self.expect_word(Word::ON)?;
        let table = self.table_name()?;
        let goal = match self.verb(0).as_str() {
            "ACTIVE" => IndexGoal::Active,
            "INACTIVE" => IndexGoal::Inactive,
            "DISABLED" => IndexGoal::Disabled,
            "REBUILD" => return Ok(self.unsupported("ALTER INDEX REBUILD")),
            _ => return Err(self.syntax_error()),
        };
        self.bump();
        Ok(Statement::AlterIndex(AlterIndex { name, table, goal }))
    }
}

/// The indexes and constraints that were written with columns.
fn add_rest(list: TableList, actions: &mut Vec<AlterAction>) {
    for index in list.indexes {
        actions.push(AlterAction::AddIndex(Box::new(index)));
    }
    if list.primary_key.is_some() {
        let what =
            "ALTER TABLE … PRIMARY KEY beside other changes: give it in a statement of its own";
        actions.push(AlterAction::Unsupported(what.to_owned()));
    }
    for constraint in list.constraints {
        actions.push(AlterAction::Unsupported(format!(
            "ALTER TABLE ADD {constraint}"
        )));
    }
}
