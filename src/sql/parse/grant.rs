//! GRANT and REVOKE, of privileges and of roles.

use super::account::{account, not_yet};
use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::accounts::{Level, Privilege, Privileges};
use crate::error::Result;
use crate::sql::ast::{AccountStatement, GrantObject, PrivilegeList, Statement, UserName};

impl Parser<'_> {
    /// At `GRANT`.
    pub(super) fn grant(&mut self) -> Result<Statement> {
        if !self.names_object(Word::TO) {
            return self.grant_roles();
        }
        self.bump();
        let (privileges, object) = self.privileges_on()?;
        self.expect_word(Word::TO)?;
        let users = self.comma_list(Parser::user_name)?;
        if self.is_word(Word::AS) {
            return Err(not_yet("GRANT … AS"));
        }
        let with_option = self.eat_words(&[Word::WITH, Word::GRANT, Word::OPTION]);
        let privileges = match privileges {
            PrivilegeList::All(_) => PrivilegeList::All(with_option),
            PrivilegeList::These(these) if with_option => {
                let option = Privileges::of(&[Privilege::GrantOption]);
                PrivilegeList::These(these.with(option))
            }
            these @ PrivilegeList::These(_) => these,
        };
        Ok(account(AccountStatement::Grant {
            privileges,
            object,
            users,
        }))
    }

    /// At `REVOKE`.
    pub(super) fn revoke(&mut self) -> Result<Statement> {
        if self.eat_words(&[Word::REVOKE, Word::IF, Word::EXISTS]) {
            return Err(not_yet("REVOKE IF EXISTS"));
        }
        if self.names_object(Word::FROM) {
            self.bump();
            let (privileges, object) = self.privileges_on()?;
            let users = self.revoked_users()?;
            return Ok(account(AccountStatement::Revoke {
                privileges,
                object,
                users,
            }));
        }
        self.bump();
        if self.is_word(Word::ALL) {
            self.bump();
            self.eat_word(Word::PRIVILEGES);
            self.expect(Kind::Comma)?;
            self.expect_words(&[Word::GRANT, Word::OPTION])?;
            let users = self.revoked_users()?;
            return Ok(account(AccountStatement::RevokeAll(users)));
        }
        let roles = self.comma_list(Parser::account_name)?;
        let users = self.revoked_users()?;
        Ok(account(AccountStatement::RevokeRoles { roles, users }))
    }

    fn revoked_users(&mut self) -> Result<Vec<UserName>> {
        self.expect_word(Word::FROM)?;
        let users = self.comma_list(Parser::user_name)?;
        if self.is_word(Word::IGNORE) {
            return Err(not_yet("REVOKE … IGNORE UNKNOWN USER"));
        }
        Ok(users)
    }

    fn grant_roles(&mut self) -> Result<Statement> {
        self.bump();
        let roles = self.comma_list(Parser::account_name)?;
        self.expect_word(Word::TO)?;
        let users = self.comma_list(Parser::user_name)?;
        let with_admin = self.eat_word(Word::WITH);
        if with_admin {
            self.expect_verb("ADMIN")?;
            self.expect_word(Word::OPTION)?;
        }
        Ok(account(AccountStatement::GrantRoles {
            roles,
            users,
            with_admin,
        }))
    }

    /// Whether `ON` stands before the word in front of the users: then privileges are meant.
    fn names_object(&self, before_users: Word) -> bool {
        let mut ahead = 1;
        loop {
            match self.kind_ahead(ahead) {
                Kind::Word(Word::ON) => return true,
                Kind::Word(word) if word == before_users => return false,
                Kind::End | Kind::Bad => return false,
                _ => ahead += 1,
            }
        }
    }

    /// `privilege, … ON object`.
    fn privileges_on(&mut self) -> Result<(PrivilegeList, GrantObject)> {
        let privileges = self.privilege_list()?;
        self.expect_word(Word::ON)?;
        Ok((privileges, self.grant_object()?))
    }

    fn privilege_list(&mut self) -> Result<PrivilegeList> {
        if self.eat_word(Word::ALL) {
            self.eat_word(Word::PRIVILEGES);
            return Ok(PrivilegeList::All(false));
        }
        if self.eat_word(Word::PROXY) {
            return Err(not_yet("GRANT PROXY"));
        }
        let mut these = Privileges::NONE;
        for privilege in self.comma_list(Parser::privilege)?.into_iter().flatten() {
            these = these.with(Privileges::of(&[privilege]));
        }
        Ok(PrivilegeList::These(these))
    }

    /// One privilege; none for `USAGE`.
    fn privilege(&mut self) -> Result<Option<Privilege>> {
        let first = self.token();
        let mut words = Vec::new();
        while !matches!(
            self.kind(),
            Kind::Comma | Kind::Word(Word::ON) | Kind::OpenParen
        ) {
            let word = self.verb(0);
            if word.is_empty() {
                return Err(self.syntax_error());
            }
            words.push(word);
            self.bump();
        }
        let name = words.join(" ");
        if self.is(Kind::OpenParen) {
            return Err(not_yet(&format!("{name} on columns")));
        }
        if name == "USAGE" {
            return Ok(None);
        }
        match Privilege::named(&name) {
            Some(privilege) => Ok(Some(privilege)),
            // Only MySQL's dynamic privileges are spelled so.
            None if words.len() == 1 && name.contains('_') => {
                Err(not_yet(&format!("the privilege {name}")))
            }
            None => Err(self.syntax_error_at(first)),
        }
    }

    fn grant_object(&mut self) -> Result<GrantObject> {
        self.eat_word(Word::TABLE);
        for kind in [Word::FUNCTION, Word::PROCEDURE] {
            if self.is_word(kind) {
                return Err(not_yet(&format!("GRANT ON {kind:?}")));
            }
        }
        if self.eat(Kind::Star) {
            if !self.eat(Kind::Dot) {
                return Ok(GrantObject::CurrentDatabase);
            }
            self.expect(Kind::Star)?;
            return Ok(GrantObject::Level(Level::Global));
        }
        let name = self.name()?;
        if !self.eat(Kind::Dot) {
            return Ok(GrantObject::CurrentTable(name));
        }
        if self.eat(Kind::Star) {
            return Ok(GrantObject::Level(Level::Database(name)));
        }
        let table = self.any_name()?;
        Ok(GrantObject::Level(Level::Table(name, table)))
    }
}
