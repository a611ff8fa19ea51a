//! CREATE, ALTER, DROP and RENAME USER; roles; passwords. GRANT and REVOKE are in `grant`.
//!
//! An option that would guard something and that nothing here acts on is refused, and taken when it
//! is written with the value that means nothing: that is how SHOW CREATE USER prints it.

use super::cursor::Parser;
use super::literal;
use super::token::Kind;
use super::word::Word;
use crate::accounts::name::ANY_HOST;
use crate::accounts::{AccountName, Requirement};
use crate::error::{Code, Error, Result};
use crate::protocol::Plugin;
use crate::sql::ast::{
    AccountKind, AccountOptions, AccountStatement, Clear, Identified, RoleChoice, Statement,
    UserName, UserSpec,
};

impl Parser<'_> {
    // Names.

    /// `user[@host]`, `CURRENT_USER[()]`, `USER()`.
    pub(super) fn user_name(&mut self) -> Result<UserName> {
        let is_current = self.is_word(Word::CURRENT_USER)
            || self.is_word(Word::USER) && self.kind_ahead(1) == Kind::OpenParen;
        if is_current {
            self.bump();
            if self.eat(Kind::OpenParen) {
                self.expect(Kind::CloseParen)?;
            }
            return Ok(UserName::Current);
        }
        self.account_name().map(UserName::Named)
    }

    /// `user[@host]`.
    pub(super) fn account_name(&mut self) -> Result<AccountName> {
        let user = self.name_or_text()?;
        if !self.is(Kind::UserVariable) {
            return Ok(AccountName::new(&user, ANY_HOST));
        }
        let token = self.bump();
        let host = self.bytes(token).get(1..).unwrap_or_default();
        let host = match host.first() {
            Some(b'`') => literal::unquoted_name(host),
            Some(b'\'' | b'"') => literal::unescaped(host, self.mode),
            Some(_) => host.to_vec(),
            None => return Err(self.syntax_error()),
        };
        Ok(AccountName::new(&user, &literal::utf8(host)?))
    }

    /// Whether this word stands here, one of those that the grammar knows only in few places.
    pub(super) fn is_verb(&self, verb: &str) -> bool {
        !self.is(Kind::Quoted) && self.verb(0) == verb
    }

    pub(super) fn expect_verb(&mut self, verb: &str) -> Result<()> {
        if self.eat_verb(verb) {
            return Ok(());
        }
        Err(self.syntax_error())
    }

    fn eat_exists(&mut self, words: &[Word]) -> bool {
        self.eat_words(words)
    }

    // CREATE and ALTER.

    /// At `CREATE USER`.
    pub(super) fn create_user(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_not_exists = self.eat_exists(&[Word::IF, Word::NOT, Word::EXISTS]);
        let users = self.comma_list(Parser::user_spec)?;
        let mut default_roles = Vec::new();
        if self.eat_words(&[Word::DEFAULT, Word::ROLE]) {
            default_roles = self.comma_list(Parser::account_name)?;
        }
        let options = self.account_options()?;
        Ok(account(AccountStatement::CreateUser {
            if_not_exists,
            users,
            default_roles,
            options,
        }))
    }

    /// At `ALTER USER`.
    pub(super) fn alter_user(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_exists = self.eat_exists(&[Word::IF, Word::EXISTS]);
        let mut users = self.comma_list(Parser::user_spec)?;
        if self.eat_words(&[Word::DEFAULT, Word::ROLE]) {
            let choice = self.role_choice()?;
            let users = users.drain(..).map(|user| user.name).collect();
            return Ok(account(AccountStatement::SetDefaultRole { choice, users }));
        }
        let options = self.account_options()?;
        Ok(account(AccountStatement::AlterUser {
            if_exists,
            users,
            options,
        }))
    }

    fn user_spec(&mut self) -> Result<UserSpec> {
        let name = self.user_name()?;
        let identified = if self.eat_verb("IDENTIFIED") {
            Some(self.identified()?)
        } else {
            None
        };
        for unknown in ["REPLACE", "RETAIN", "DISCARD", "AND", "INITIAL"] {
            if self.is_verb(unknown) {
                return Err(not_yet(&format!("{unknown} of CREATE and ALTER USER")));
            }
        }
        Ok(UserSpec { name, identified })
    }

    /// Behind `IDENTIFIED`.
    fn identified(&mut self) -> Result<Identified> {
        if self.eat_word(Word::BY) {
            if self.eat_word(Word::PASSWORD) {
                // How MariaDB, and MySQL before 5.7, write the hash.
                return self
                    .hash()
                    .map(|hash| Identified::WithAs(Plugin::Native, hash));
            }
            return self.clear().map(Identified::By);
        }
        self.expect_word(Word::WITH)?;
        let name = self.name_or_text()?;
        let plugin = Plugin::named(name.to_ascii_lowercase().as_bytes()).ok_or_else(|| {
            Error::new(
                Code::PluginMissing,
                format!("Plugin '{name}' is not loaded"),
            )
        })?;
        if self.eat_word(Word::BY) {
            return Ok(Identified::WithBy(plugin, self.clear()?));
        }
        if self.eat_word(Word::AS) || self.eat_word(Word::USING) {
            return Ok(Identified::WithAs(plugin, self.hash()?));
        }
        Ok(Identified::With(plugin))
    }

    fn clear(&mut self) -> Result<Clear> {
        if self.is_verb("RANDOM") {
            return Err(not_yet("RANDOM PASSWORD"));
        }
        self.text().map(Clear)
    }

    /// A text or hexadecimal digits.
    fn hash(&mut self) -> Result<Vec<u8>> {
        let token = self.token();
        if token.kind == Kind::Hex {
            let digits = self.bytes(token).get(2..).unwrap_or_default();
            let digits = String::from_utf8_lossy(digits).replace('\'', "");
            let bytes = crate::accounts::persist::unhex(&digits);
            let bytes = bytes.ok_or_else(|| self.syntax_error())?;
            self.bump();
            return Ok(bytes);
        }
        let token = self.expect(Kind::Text)?;
        Ok(literal::unescaped(self.bytes(token), self.mode))
    }

    fn account_options(&mut self) -> Result<AccountOptions> {
        let mut options = AccountOptions::default();
        if self.eat_word(Word::REQUIRE) {
            options.requirement = Some(self.requirement()?);
        }
        if self.eat_word(Word::WITH) {
            while !self.at_end() && !self.is_word(Word::PASSWORD) && !self.is_verb("ACCOUNT") {
                self.resource_option(&mut options)?;
            }
        }
        while !self.at_end() {
            if self.eat_word(Word::PASSWORD) {
                self.password_option(&mut options)?;
            } else if self.eat_verb("ACCOUNT") {
                let locks = match self.eat_any(&[Word::LOCK, Word::UNLOCK]) {
                    Some(word) => word == Word::LOCK,
                    None => return Err(self.syntax_error()),
                };
                options.locked = Some(locks);
            } else if self.is_verb("FAILED_LOGIN_ATTEMPTS") || self.is_verb("PASSWORD_LOCK_TIME") {
                self.only_zero()?;
            } else if self.eat_word(Word::COMMENT) || self.eat_verb("ATTRIBUTE") {
                return Err(not_yet("COMMENT and ATTRIBUTE of a user"));
            } else {
                return Err(self.syntax_error());
            }
        }
        Ok(options)
    }

    fn requirement(&mut self) -> Result<Requirement> {
        if self.eat_word(Word::NONE) {
            return Ok(Requirement::None);
        }
        if self.eat_word(Word::SSL) {
            return Ok(Requirement::Ssl);
        }
        let what = self.verb(0);
        if ["X509", "CIPHER", "ISSUER", "SUBJECT"].contains(&what.as_str()) {
            return Err(not_yet(&format!("REQUIRE {what}")));
        }
        Err(self.syntax_error())
    }

    fn resource_option(&mut self, options: &mut AccountOptions) -> Result<()> {
        if self.eat_verb("MAX_USER_CONNECTIONS") {
            options.connections_max = Some(self.whole_number()?);
            return Ok(());
        }
        let known = [
            "MAX_QUERIES_PER_HOUR",
            "MAX_UPDATES_PER_HOUR",
            "MAX_CONNECTIONS_PER_HOUR",
        ];
        if known.contains(&self.verb(0).as_str()) {
            return self.only_zero();
        }
        Err(self.syntax_error())
    }

    /// At an option that takes a number, of which 0 means that there is no bound.
    fn only_zero(&mut self) -> Result<()> {
        let option = self.verb(0);
        self.bump();
        if self.eat_word(Word::DEFAULT) || self.whole_number::<u32>()? == 0 {
            return Ok(());
        }
        Err(not_yet(&option))
    }

    /// Behind `PASSWORD`.
    fn password_option(&mut self, options: &mut AccountOptions) -> Result<()> {
        if self.eat_verb("EXPIRE") {
            if self.is_word(Word::INTERVAL) {
                return Err(not_yet("PASSWORD EXPIRE INTERVAL"));
            }
            let never = self.eat_word(Word::DEFAULT) || self.eat_verb("NEVER");
            options.expired = Some(!never);
            return Ok(());
        }
        if self.is_verb("HISTORY") {
            return self.only_zero();
        }
        if self.eat_verb("REUSE") {
            self.expect_word(Word::INTERVAL)?;
            if self.eat_word(Word::DEFAULT) {
                return Ok(());
            }
            let days: u32 = self.whole_number()?;
            self.expect_word(Word::DAY)?;
            return match days {
                0 => Ok(()),
                _ => Err(not_yet("PASSWORD REUSE INTERVAL")),
            };
        }
        self.expect_word(Word::REQUIRE)?;
        self.expect_word(Word::CURRENT)?;
        if self.eat_word(Word::DEFAULT) || self.eat_verb("OPTIONAL") {
            return Ok(());
        }
        Err(not_yet("PASSWORD REQUIRE CURRENT"))
    }

    // The others.

    /// At `CREATE ROLE`.
    pub(super) fn create_role(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_not_exists = self.eat_exists(&[Word::IF, Word::NOT, Word::EXISTS]);
        let names = self.comma_list(Parser::account_name)?;
        Ok(account(AccountStatement::CreateRole {
            if_not_exists,
            names,
        }))
    }

    /// At `DROP USER` or `DROP ROLE`.
    pub(super) fn drop_account(&mut self, kind: AccountKind) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_exists = self.eat_exists(&[Word::IF, Word::EXISTS]);
        let names = self.comma_list(Parser::user_name)?;
        Ok(account(AccountStatement::Drop {
            kind,
            if_exists,
            names,
        }))
    }

    /// At `RENAME USER`.
    pub(super) fn rename_user(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let pairs = self.comma_list(|parser| {
            let from = parser.user_name()?;
            parser.expect_word(Word::TO)?;
            Ok((from, parser.user_name()?))
        })?;
        Ok(account(AccountStatement::Rename(pairs)))
    }

    /// At the `PASSWORD` of `SET PASSWORD`.
    pub(super) fn set_password(&mut self) -> Result<Statement> {
        self.bump();
        let user = if self.eat_word(Word::FOR) {
            self.user_name()?
        } else {
            UserName::Current
        };
        if self.is_word(Word::TO) {
            return Err(not_yet("RANDOM PASSWORD"));
        }
        if !self.eat(Kind::Assign) {
            self.expect(Kind::Equal)?;
        }
        let password = if self.eat_word(Word::PASSWORD) {
            self.expect(Kind::OpenParen)?;
            let clear = self.clear()?;
            self.expect(Kind::CloseParen)?;
            clear
        } else {
            self.clear()?
        };
        if self.is_verb("REPLACE") || self.is_verb("RETAIN") {
            return Err(not_yet("REPLACE and RETAIN of SET PASSWORD"));
        }
        Ok(account(AccountStatement::SetPassword { user, password }))
    }

    /// At the `ROLE` of `SET ROLE`.
    pub(super) fn set_role(&mut self) -> Result<Statement> {
        self.bump();
        let choice = self.role_choice()?;
        Ok(account(AccountStatement::SetRole(choice)))
    }

    /// At the `DEFAULT` of `SET DEFAULT ROLE`.
    pub(super) fn set_default_role(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_word(Word::ROLE)?;
        let choice = self.role_choice()?;
        self.expect_word(Word::TO)?;
        let users = self.comma_list(Parser::user_name)?;
        Ok(account(AccountStatement::SetDefaultRole { choice, users }))
    }

    fn role_choice(&mut self) -> Result<RoleChoice> {
        if self.eat_word(Word::DEFAULT) {
            return Ok(RoleChoice::Default);
        }
        if self.eat_word(Word::NONE) {
            return Ok(RoleChoice::None);
        }
        if self.eat_word(Word::ALL) {
            let mut except = Vec::new();
            if self.eat_word(Word::EXCEPT) {
                except = self.comma_list(Parser::account_name)?;
            }
            return Ok(RoleChoice::AllExcept(except));
        }
        self.comma_list(Parser::account_name).map(RoleChoice::These)
    }
}

pub(super) fn account(statement: AccountStatement) -> Statement {
    Statement::Account(Box::new(statement))
}

pub(super) fn not_yet(what: &str) -> Error {
    Error::unsupported(what)
}
