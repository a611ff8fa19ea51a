//! SHOW.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::error::Result;
use crate::sql::ast::{Replication, Show, ShowFilter, Statement, TableName};
use crate::sql::expr::VariableScope;

/// What MySQL or Lindorm can show and this server has nothing to say to.
const UNSUPPORTED: &[&str] = &[
    "BINARY",
    "BINLOG",
    "CLUSTER",
    "CREATE",
    "ENGINE",
    "HOSTS",
    "INNODB",
    "MASTER",
    "PARSE_TREE",
    "RELAYLOG",
    "REPLICA",
    "REPLICAS",
    "ROUTINE",
    "SLAVE",
    "USER_STATISTICS",
];

impl Parser<'_> {
    /// At `SHOW`.
    pub(super) fn show(&mut self) -> Result<Statement> {
        let mark = self.mark();
        self.bump();
        let full = self.eat_word(Word::FULL);
        self.eat_word(Word::EXTENDED);
        let full = self.eat_word(Word::FULL) || full;
        let what = self.verb(0);
        if let Some(show) = self.show_replication()? {
            return Ok(Statement::Show(show));
        }
        match self.show_what(full)? {
            Some(show) => Ok(Statement::Show(show)),
            None if UNSUPPORTED.contains(&what.as_str()) => {
                self.reset(mark);
                Ok(self.unsupported_show())
            }
            None => Err(self.syntax_error()),
        }
    }

    /// `SHOW MASTER STATUS` and its kin.
    fn show_replication(&mut self) -> Result<Option<Show>> {
        let words = [0, 1, 2].map(|ahead| self.verb(ahead));
        let words = words.each_ref().map(String::as_str);
        let (words_count, what) = match words {
            ["MASTER", "STATUS", _] => (2, Replication::Source),
            ["BINARY", "LOG", "STATUS"] => (3, Replication::Source),
            ["REPLICA", "STATUS", _] => (2, Replication::Replica),
            ["SLAVE", "STATUS", _] => (2, Replication::Slave),
            ["BINARY" | "MASTER", "LOGS", _] => (2, Replication::Logs),
            _ => return Ok(None),
        };
        (0..words_count).for_each(|_| {
            self.bump();
        });
        let is_of_replica = matches!(what, Replication::Replica | Replication::Slave);
        if is_of_replica && self.eat_word(Word::FOR) {
            self.expect_verb("CHANNEL")?;
            self.text()?;
        }
        Ok(Some(Show::Replication(what)))
    }

    /// `SHOW BINLOG EVENTS` and others that this server has nothing to say to.
    fn unsupported_show(&mut self) -> Statement {
        let mut words = Vec::new();
        while let Kind::Word(_) | Kind::Name = self.kind() {
            let token = self.bump();
            words.push(String::from_utf8_lossy(self.bytes(token)).to_ascii_uppercase());
        }
        self.unsupported(&words.join(" "))
    }

    fn show_what(&mut self, full: bool) -> Result<Option<Show>> {
        let Some(word) = self.word() else {
            match self.verb(0).as_str() {
                "DYNAMIC" => return self.show_dynamic_columns(),
                "SLOW" if self.verb(1) == "QUERIES" => {
                    self.bump();
                    self.bump();
                    return Ok(Some(Show::SlowQueries(self.limit()?)));
                }
                _ => {}
            }
            return self.show_count();
        };
        let show = match word {
            Word::DATABASES | Word::SCHEMAS => {
                self.bump();
                Show::Databases(self.show_filter()?)
            }
            Word::TABLES => {
                self.bump();
                Show::Tables {
                    full,
                    database: self.show_database()?,
                    filter: self.show_filter()?,
                }
            }
            Word::TRASH => {
                self.bump();
                Show::Trash(self.show_filter()?)
            }
            Word::COLUMNS | Word::FIELDS => {
                self.bump();
                Show::Columns {
                    full,
                    table: self.show_table()?,
                    filter: self.show_filter()?,
                }
            }
            Word::INDEX | Word::INDEXES | Word::KEYS => {
                self.bump();
                let table = self.show_table()?;
                let filter = self.condition(Word::WHERE)?.map(ShowFilter::Where);
                Show::Index { table, filter }
            }
            Word::TABLE if self.word_ahead(1) == Some(Word::STATUS) => {
                self.bump();
                self.bump();
                Show::TableStatus {
                    database: self.show_database()?,
                    filter: self.show_filter()?,
                }
            }
            Word::CREATE => return self.show_create(),
            Word::PROCESSLIST => {
                self.bump();
                Show::Processlist { full }
            }
            Word::COUNT => return self.show_count(),
            _ => return self.show_server(word),
        };
        Ok(Some(show))
    }

    /// `SHOW DYNAMIC COLUMNS FROM t [LIMIT n]`.
    fn show_dynamic_columns(&mut self) -> Result<Option<Show>> {
        self.bump();
        if self.eat_any(&[Word::COLUMNS, Word::FIELDS]).is_none() {
            return Ok(None);
        }
        let table = self.show_table()?;
        let limit = self.eat_word(Word::LIMIT);
        let limit = limit.then(|| self.whole_number()).transpose()?;
        Ok(Some(Show::DynamicColumns { table, limit }))
    }

    /// What belongs to the server and not to tables.
    fn show_server(&mut self, word: Word) -> Result<Option<Show>> {
        let show = match word {
            Word::WARNINGS => {
                self.bump();
                Show::Warnings(self.limit()?)
            }
            Word::ERRORS => {
                self.bump();
                Show::Errors(self.limit()?)
            }
            Word::VARIABLES | Word::STATUS => self.show_variables(VariableScope::Any)?,
            Word::GLOBAL | Word::SESSION | Word::LOCAL => {
                if !matches!(self.word_ahead(1), Some(Word::VARIABLES | Word::STATUS)) {
                    return Ok(None);
                }
                self.bump();
                self.show_variables(match word {
                    Word::GLOBAL => VariableScope::Global,
                    _ => VariableScope::Session,
                })?
            }
            Word::STORAGE if self.word_ahead(1) == Some(Word::ENGINES) => {
                self.bump();
                self.bump();
                Show::Engines
            }
            Word::CHARACTER if self.word_ahead(1) == Some(Word::SET) => {
                self.bump();
                self.bump();
                Show::Charset(self.show_filter()?)
            }
            Word::GRANTS => {
                self.bump();
                let mut using = Vec::new();
                let mut user = None;
                if self.eat_word(Word::FOR) {
                    user = Some(self.user_name()?);
                    if self.eat_word(Word::USING) {
                        using = self.comma_list(Parser::account_name)?;
                    }
                }
                Show::Grants { user, using }
            }
            Word::PROFILE | Word::PROFILES => {
                self.skip_rest();
                Show::Profiles
            }
            _ => return self.show_lists(word),
        };
        Ok(Some(show))
    }

    /// Lists of one kind of thing.
    fn show_lists(&mut self, word: Word) -> Result<Option<Show>> {
        let status = self.word_ahead(1) == Some(Word::STATUS);
        let open = self.word_ahead(1) == Some(Word::TABLES);
        let words = match word {
            Word::PROCEDURE | Word::FUNCTION if status => 2,
            Word::OPEN if open => 2,
            Word::ENGINES
            | Word::PLUGINS
            | Word::PRIVILEGES
            | Word::CHARSET
            | Word::COLLATION
            | Word::FUNCTIONS
            | Word::TRIGGERS
            | Word::EVENTS => 1,
            _ => return Ok(None),
        };
        (0..words).for_each(|_| {
            self.bump();
        });
        Ok(Some(match word {
            Word::ENGINES => Show::Engines,
            Word::PLUGINS => Show::Plugins,
            Word::PRIVILEGES => Show::Privileges,
            Word::CHARSET => Show::Charset(self.show_filter()?),
            Word::COLLATION => Show::Collation(self.show_filter()?),
            Word::FUNCTIONS => Show::Functions(self.show_filter()?),
            Word::PROCEDURE => Show::ProcedureStatus(self.show_filter()?),
            Word::FUNCTION => Show::FunctionStatus(self.show_filter()?),
            _ => {
                self.show_database()?;
                let filter = self.show_filter()?;
                match word {
                    Word::TRIGGERS => Show::Triggers(filter),
                    Word::EVENTS => Show::Events(filter),
                    _ => Show::OpenTables(filter),
                }
            }
        }))
    }

    fn show_variables(&mut self, scope: VariableScope) -> Result<Show> {
        let variables = self.is_word(Word::VARIABLES);
        self.bump();
        let filter = self.show_filter()?;
        Ok(if variables {
            Show::Variables { scope, filter }
        } else {
            Show::Status { scope, filter }
        })
    }

    /// `SHOW COUNT(*) WARNINGS`.
    fn show_count(&mut self) -> Result<Option<Show>> {
        if !self.eat_word(Word::COUNT) {
            return Ok(None);
        }
        self.expect(Kind::OpenParen)?;
        self.expect(Kind::Star)?;
        self.expect(Kind::CloseParen)?;
        match self.eat_any(&[Word::WARNINGS, Word::ERRORS]) {
            Some(Word::WARNINGS) => Ok(Some(Show::CountWarnings)),
            Some(_) => Ok(Some(Show::CountErrors)),
            None => Err(self.syntax_error()),
        }
    }

    /// At `CREATE`.
    fn show_create(&mut self) -> Result<Option<Show>> {
        let Some(kind) = self.word_ahead(1) else {
            return Err(self.syntax_error());
        };
        self.bump();
        self.bump();
        let show = match kind {
            Word::TABLE => Show::CreateTable(self.table_name()?),
            Word::USER => Show::CreateUser(self.user_name()?),
            Word::DATABASE | Word::SCHEMA => {
                let if_not_exists = self.eat_words(&[Word::IF, Word::NOT, Word::EXISTS]);
                Show::CreateDatabase {
                    name: self.name()?,
                    if_not_exists,
                }
            }
            Word::VIEW | Word::PROCEDURE | Word::FUNCTION | Word::TRIGGER | Word::EVENT => {
                Show::CreateOther {
                    kind: format!("{kind:?}"),
                    name: self.table_name()?,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(show))
    }

    /// `{FROM | IN} t [{FROM | IN} d]`.
    fn show_table(&mut self) -> Result<TableName> {
        if self.eat_any(&[Word::FROM, Word::IN]).is_none() {
            return Err(self.syntax_error());
        }
        let mut table = self.table_name()?;
        if let Some(database) = self.show_database()? {
            table.database = Some(database);
        }
        Ok(table)
    }

    /// `{FROM | IN} d`, if it is there.
    fn show_database(&mut self) -> Result<Option<String>> {
        match self.eat_any(&[Word::FROM, Word::IN]) {
            Some(_) => self.name().map(Some),
            None => Ok(None),
        }
    }

    /// `LIKE 'pattern'`, `WHERE condition`, if it is there.
    fn show_filter(&mut self) -> Result<Option<ShowFilter>> {
        if self.eat_word(Word::LIKE) {
            return Ok(Some(ShowFilter::Like(self.text()?)));
        }
        Ok(self.condition(Word::WHERE)?.map(ShowFilter::Where))
    }
}
