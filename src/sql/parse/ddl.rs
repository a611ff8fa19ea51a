//! CREATE, DROP and TRUNCATE of databases and tables.

use super::column_attribute::is_unsigned;
use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{
    AccountKind, ColumnDef, CreateDatabase, CreateQuery, CreateTable, DatabaseOptions, DropIndex,
    DropTable, IndexDef, KeyPart, Statement, TableOptions, TableSource,
};

/// The list between the parentheses of CREATE TABLE.
#[derive(Default)]
pub(super) struct TableList {
    pub(super) columns: Vec<ColumnDef>,
    pub(super) primary_key: Option<Vec<KeyPart>>,
    pub(super) indexes: Vec<IndexDef>,
    pub(super) constraints: Vec<String>,
}

impl TableList {
    pub(super) fn set_primary_key(&mut self, parts: Vec<KeyPart>) -> Result<()> {
        if self.primary_key.replace(parts).is_some() {
            return Err(Error::new(
                Code::MultiplePrimaryKeys,
                "Multiple primary key defined",
            ));
        }
        Ok(())
    }
}

/// What `CREATE` can be followed by in MySQL and is no word of the grammar here.
const RARE_OBJECTS: &[&str] = &["AGGREGATE", "LOGFILE", "RESOURCE"];

/// The table options of MySQL (manual, "CREATE TABLE Statement").
const OPTIONS: &[&str] = &[
    "AUTO_INCREMENT",
    "AUTOEXTEND_SIZE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "COLLATE",
    "COMMENT",
    "COMPRESSION",
    "CONNECTION",
    "DATA",
    "DELAY_KEY_WRITE",
    "ENCRYPTION",
    "ENGINE",
    "ENGINE_ATTRIBUTE",
    "INDEX",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PASSWORD",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TTL",
    "UNION",
];

impl Parser<'_> {
    /// At `CREATE`.
    pub(super) fn create(&mut self) -> Result<Statement> {
        let index = matches!(
            self.word_ahead(1),
            Some(Word::UNIQUE | Word::FULLTEXT | Word::SPATIAL | Word::INDEX)
        );
        match self.word_ahead(1) {
            Some(Word::DATABASE | Word::SCHEMA) => self.create_database(),
            Some(Word::TABLE) => self.create_table(false),
            Some(Word::USER) => self.create_user(),
            Some(Word::ROLE) => self.create_role(),
            Some(Word::TEMPORARY) => {
                self.bump();
                self.create_table(true)
            }
            Some(_) if index => self.create_index(),
            _ if self.is_view_ahead() => self.view(),
            Some(_) => Ok(self.unsupported_phrase()),
            None if RARE_OBJECTS.contains(&self.verb(1).as_str()) => Ok(self.unsupported_phrase()),
            None => {
                self.bump();
                Err(self.syntax_error())
            }
        }
    }

    fn create_database(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        let mut options = DatabaseOptions::default();
        while !self.at_end() {
            self.eat_word(Word::DEFAULT);
            if self.eat_charset_words() {
                self.eat(Kind::Equal);
                options.charset = Some(self.charset_name()?);
            } else if self.eat_word(Word::COLLATE) {
                self.eat(Kind::Equal);
                options.collation = Some(self.charset_name()?);
            } else if self.eat_word(Word::ENCRYPTION) {
                self.eat(Kind::Equal);
                self.encryption()?;
            } else {
                return Err(self.syntax_error());
            }
        }
        Ok(Statement::CreateDatabase(CreateDatabase {
            name,
            if_not_exists,
            options,
        }))
    }

    pub(super) fn if_not_exists(&mut self) -> Result<bool> {
        let found = self.eat_word(Word::IF);
        if found {
            self.expect_words(&[Word::NOT, Word::EXISTS])?;
        }
        Ok(found)
    }

    pub(super) fn if_exists(&mut self) -> Result<bool> {
        let found = self.eat_word(Word::IF);
        if found {
            self.expect_word(Word::EXISTS)?;
        }
        Ok(found)
    }

    /// `CHARACTER SET` or `CHARSET`.
    pub(super) fn eat_charset_words(&mut self) -> bool {
        self.eat_words(&[Word::CHARACTER, Word::SET])
            || self.eat_words(&[Word::CHAR, Word::SET])
            || self.eat_word(Word::CHARSET)
    }

    /// At the word before `TABLE`.
    fn create_table(&mut self, temporary: bool) -> Result<Statement> {
        self.bump();
        self.expect_word(Word::TABLE)?;
        let if_not_exists = self.if_not_exists()?;
        let table = self.table_name()?;
        let like = self.eat_word(Word::LIKE)
            || (self.is(Kind::OpenParen)
                && self.word_ahead(1) == Some(Word::LIKE)
                && self.eat(Kind::OpenParen)
                && self.eat_word(Word::LIKE));
        let mut options = TableOptions::default();
        let source = if like {
            let original = self.table_name()?;
            self.eat(Kind::CloseParen);
            TableSource::Like(original)
        } else {
            let list = if self.is(Kind::OpenParen) && !self.parenthesised_query() {
                self.table_list()?
            } else {
                TableList::default()
            };
            options = self.table_options()?;
            TableSource::Columns {
                columns: list.columns,
                primary_key: list.primary_key,
                indexes: list.indexes,
                constraints: list.constraints,
            }
        };
        let query = self.create_query()?;
        let is_empty =
            matches!(&source, TableSource::Columns { columns, .. } if columns.is_empty());
        if is_empty && query.is_none() {
            return self.without_columns();
        }
        Ok(Statement::CreateTable(Box::new(CreateTable {
            table,
            if_not_exists,
            temporary,
            source,
            options,
            query,
        })))
    }

    /// `[IGNORE | REPLACE] [AS] SELECT …`, if it is there.
    fn create_query(&mut self) -> Result<Option<CreateQuery>> {
        let ignore = self.eat_word(Word::IGNORE);
        let replace = !ignore && self.eat_word(Word::REPLACE);
        let named = self.eat_word(Word::AS);
        if !(ignore || replace || named || self.is(Kind::OpenParen) || self.begins_query()) {
            return Ok(None);
        }
        Ok(Some(CreateQuery {
            select: Box::new(self.select()?),
            ignore,
            replace,
        }))
    }

    fn table_list(&mut self) -> Result<TableList> {
        let mut list = TableList::default();
        self.expect(Kind::OpenParen)?;
        self.comma_list(|parser| parser.table_member(&mut list))?;
        self.expect(Kind::CloseParen)?;
        Ok(list)
    }

    /// A column, key or constraint.
    pub(super) fn table_member(&mut self, list: &mut TableList) -> Result<()> {
        let named = self.eat_word(Word::CONSTRAINT);
        let symbol = if named && self.is_name() {
            Some(self.name()?)
        } else {
            None
        };
        match self.word() {
            Some(Word::PRIMARY) => {
                let parts = self.primary_key()?;
                list.set_primary_key(parts)
            }
            Some(Word::UNIQUE | Word::FULLTEXT | Word::SPATIAL | Word::INDEX | Word::KEY) => {
                let mut index = self.table_index()?;
                index.name = index.name.or(symbol);
                list.indexes.push(index);
                Ok(())
            }
            Some(Word::CHECK) if self.is_sign_checked(list)? => Ok(()),
            Some(word @ (Word::FOREIGN | Word::CHECK)) => {
                self.skip_member()?;
                let what = if word == Word::CHECK {
                    "CHECK"
                } else {
                    "FOREIGN KEY"
                };
                list.constraints
                    .push(symbol.map_or(what.into(), |name| format!("{what} {name}")));
                Ok(())
            }
            _ if named => Err(self.syntax_error()),
            _ => self.column_def(list),
        }
    }

    /// At `CHECK`: eats one that says what the type of a column before it says.
    fn is_sign_checked(&mut self, list: &mut TableList) -> Result<bool> {
        let mark = self.mark();
        if let Some(name) = self.sign_checked()?
            && let Some(column) = list.columns.iter_mut().find(|one| is_unsigned(one, &name))
        {
            column.checks_sign = true;
            return Ok(true);
        }
        self.reset(mark);
        Ok(false)
    }

    /// Goes to the `,` or `)` that ends a member of the list.
    fn skip_member(&mut self) -> Result<()> {
        while !matches!(self.kind(), Kind::Comma | Kind::CloseParen) {
            if matches!(self.kind(), Kind::End | Kind::Bad) {
                return Err(self.syntax_error());
            }
            if self.bump().kind == Kind::OpenParen {
                self.skip_parens()?;
            }
        }
        Ok(())
    }

    // Options.

    /// Behind a table without columns, where no query follows.
    fn without_columns(&mut self) -> Result<Statement> {
        if !self.at_end() {
            return Err(self.syntax_error());
        }
        Err(Error::new(
            Code::TableMustHaveColumns,
            "A table must have at least 1 column",
        ))
    }

    fn table_options(&mut self) -> Result<TableOptions> {
        let mut options = TableOptions::default();
        loop {
            self.eat(Kind::Comma);
            match self.word() {
                Some(Word::WITH) => options.with.extend(self.with_options()?),
                Some(Word::PARTITION) => {
                    self.skip_rest();
                    options.partitioned = true;
                }
                Some(Word::AS | Word::SELECT | Word::IGNORE | Word::REPLACE) => {
                    return Ok(options);
                }
                _ if self.at_end() || self.is(Kind::OpenParen) => return Ok(options),
                _ => self.table_option(&mut options)?,
            }
        }
    }

    /// Whether a table option is next.
    pub(super) fn begins_table_option(&self) -> bool {
        matches!(self.word(), Some(Word::CHARSET)) || OPTIONS.contains(&self.verb(0).as_str())
    }

    pub(super) fn table_option(&mut self, options: &mut TableOptions) -> Result<()> {
        self.eat_word(Word::DEFAULT);
        if self.eat_charset_words() {
            self.eat(Kind::Equal);
            options.charset = Some(self.charset_name()?);
            return Ok(());
        }
        let word = self.word();
        if !OPTIONS.contains(&self.verb(0).as_str()) {
            return Err(self.syntax_error());
        }
        let name = match word {
            Some(Word::COLLATE | Word::UNION | Word::INDEX) => self.any_name()?,
            _ => self.name()?,
        };
        if word == Some(Word::DATA) || word == Some(Word::INDEX) {
            self.any_name()?;
        }
        self.eat(Kind::Equal);
        if name.eq_ignore_ascii_case("TTL") {
            let value = self.ttl_value()?;
            options.with.push((name, value));
            return Ok(());
        }
        match word {
            Some(Word::COLLATE) => options.collation = Some(self.charset_name()?),
            Some(Word::ENGINE) => options.engine = Some(self.name_or_text()?),
            Some(Word::COMMENT) => options.comment = Some(self.text()?),
            Some(Word::AUTO_INCREMENT) => options.auto_increment = Some(self.whole_number()?),
            Some(Word::ENCRYPTION) => self.encryption()?,
            _ => {
                let value = self.option_value()?;
                options.others.push((name.to_ascii_uppercase(), value));
            }
        }
        Ok(())
    }

    /// `'N'`: whoever asks for more must not believe that there is more.
    fn encryption(&mut self) -> Result<()> {
        if self.text()?.eq_ignore_ascii_case("N") {
            return Ok(());
        }
        Err(Error::unsupported("ENCRYPTION other than 'N'"))
    }

    /// Seconds, or `column + INTERVAL n unit`: the text of it.
    fn ttl_value(&mut self) -> Result<String> {
        if matches!(self.kind(), Kind::Text | Kind::Int) {
            return self.option_value();
        }
        let column = self.name()?.replace('`', "``");
        self.expect(Kind::Plus)?;
        self.expect_word(Word::INTERVAL)?;
        let amount: u32 = self.whole_number()?;
        let unit = self.any_name()?;
        Ok(format!("`{column}` + INTERVAL {amount} {unit}"))
    }

    /// A number, text or word.
    pub(super) fn option_value(&mut self) -> Result<String> {
        let token = self.token();
        match token.kind {
            Kind::Text => self.text(),
            Kind::Int | Kind::Decimal => {
                self.bump();
                Ok(String::from_utf8_lossy(self.bytes(token)).into_owned())
            }
            Kind::OpenParen => {
                self.bump();
                self.skip_parens()?;
                Ok(String::from_utf8_lossy(self.text_since(token.start)).into_owned())
            }
            _ => self.any_name(),
        }
    }

    /// `WITH (NAME = 'value', 'NAME' = 'value', …)`.
    pub(super) fn with_options(&mut self) -> Result<Vec<(String, String)>> {
        self.expect_word(Word::WITH)?;
        self.paren_list(Parser::option_pair)
    }

    /// `NAME = 'value'`, the name in quotes or not.
    pub(super) fn option_pair(&mut self) -> Result<(String, String)> {
        let name = if self.is(Kind::Text) {
            self.text()?
        } else {
            self.any_name()?
        };
        self.expect(Kind::Equal)?;
        Ok((name, self.option_value()?))
    }

    // DROP and TRUNCATE.

    /// At `DROP`.
    pub(super) fn drop(&mut self) -> Result<Statement> {
        match self.word_ahead(1) {
            Some(Word::DATABASE | Word::SCHEMA) => {
                self.bump();
                self.bump();
                let if_exists = self.if_exists()?;
                let name = self.name()?;
                Ok(Statement::DropDatabase { name, if_exists })
            }
            Some(Word::TABLE | Word::TABLES) => self.drop_table(false),
            Some(Word::TEMPORARY) => {
                self.bump();
                self.drop_table(true)
            }
            Some(Word::INDEX) => self.drop_index(),
            Some(Word::USER) => self.drop_account(AccountKind::User),
            Some(Word::ROLE) => self.drop_account(AccountKind::Role),
            Some(Word::VIEW) => self.drop_view(),
            Some(Word::PREPARE) => self.deallocate(),
            Some(_) => Ok(self.unsupported_phrase()),
            None => {
                self.bump();
                Err(self.syntax_error())
            }
        }
    }

    /// At the word before `TABLE`.
    fn drop_table(&mut self, temporary: bool) -> Result<Statement> {
        self.bump();
        if self.eat_any(&[Word::TABLE, Word::TABLES]).is_none() {
            return Err(self.syntax_error());
        }
        let if_exists = self.if_exists()?;
        let tables = self.comma_list(Parser::table_name)?;
        self.eat_any(&[Word::RESTRICT, Word::CASCADE]);
        Ok(Statement::DropTable(DropTable {
            if_exists,
            temporary,
            tables,
        }))
    }

    /// `DROP INDEX [IF EXISTS] i ON t`; Lindorm also writes `i ON t`.
    fn drop_index(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_exists = self.if_exists()?;
        let name = if self.is_word(Word::PRIMARY) {
            self.any_name()?
        } else {
            self.name()?
        };
        self.expect_word(Word::ON)?;
        let table = self.table_name()?;
        self.algorithm_and_lock()?;
        Ok(Statement::DropIndex(DropIndex {
            if_exists,
            name,
            table,
        }))
    }

    /// `ALGORITHM = INPLACE LOCK = NONE`: of no consequence here.
    pub(super) fn algorithm_and_lock(&mut self) -> Result<()> {
        loop {
            let token = self.token();
            let name = self.bytes(token).to_ascii_uppercase();
            if name != b"ALGORITHM" && name != b"LOCK" {
                return Ok(());
            }
            self.bump();
            self.eat(Kind::Equal);
            self.any_name()?;
        }
    }

    /// At `TRUNCATE`.
    pub(super) fn truncate(&mut self) -> Result<Statement> {
        self.bump();
        self.eat_word(Word::TABLE);
        Ok(Statement::Truncate(self.table_name()?))
    }
}
