//! CREATE VIEW, ALTER VIEW, DROP VIEW.

use super::cursor::Parser;
use super::token::Kind;
use super::word::Word;
use crate::catalog::ViewAlgorithm;
use crate::error::Result;
use crate::sql::ast::{CreateView, Definer, DropView, Statement};

/// What stands between the verb and `VIEW`.
struct Head {
    algorithm: Option<ViewAlgorithm>,
    definer: Definer,
    by_invoker: Option<bool>,
}

impl Parser<'_> {
    /// Whether a definition of a view, or of another thing with a definer, begins behind the verb.
    pub(super) fn is_view_ahead(&self) -> bool {
        matches!(
            self.verb(1).as_str(),
            "VIEW" | "OR" | "ALGORITHM" | "DEFINER" | "SQL"
        )
    }

    /// At `CREATE` or `ALTER`.
    pub(super) fn view(&mut self) -> Result<Statement> {
        let alter = self.is_word(Word::ALTER);
        let verb = self.verb(0);
        self.bump();
        let or_replace = !alter && self.eat_words(&[Word::OR, Word::REPLACE]);
        let head = self.view_head()?;
        if !self.eat_word(Word::VIEW) {
            let has_definer = matches!(head.definer, Definer::Account(..));
            return match self.word() {
                Some(word @ (Word::PROCEDURE | Word::FUNCTION | Word::TRIGGER | Word::EVENT))
                    if has_definer =>
                {
                    Ok(self.unsupported(&format!("{verb} {word:?}")))
                }
                _ => Err(self.syntax_error()),
            };
        }
        let if_not_exists = !alter && self.if_not_exists()?;
        let view = self.table_name()?;
        let columns = self.optional_name_list()?;
        self.expect_word(Word::AS)?;
        let select = Box::new(self.select()?);
        Ok(Statement::CreateView(Box::new(CreateView {
            or_replace,
            alter,
            if_not_exists,
            algorithm: head.algorithm,
            definer: head.definer,
            by_invoker: head.by_invoker,
            view,
            columns,
            select,
            checks: self.check_option()?,
        })))
    }

    /// `[ALGORITHM = …] [DEFINER = …] [SQL SECURITY …]`.
    fn view_head(&mut self) -> Result<Head> {
        let mut head = Head {
            algorithm: None,
            definer: Definer::Unsaid,
            by_invoker: None,
        };
        if self.eat_verb("ALGORITHM") {
            self.expect(Kind::Equal)?;
            let Some(algorithm) = ViewAlgorithm::of_name(&self.verb(0)) else {
                return Err(self.syntax_error());
            };
            self.bump();
            head.algorithm = Some(algorithm);
        }
        if self.eat_verb("DEFINER") {
            self.expect(Kind::Equal)?;
            head.definer = self.definer()?;
        }
        if self.eat_words(&[Word::SQL, Word::SECURITY]) {
            let by_invoker = self.eat_verb("INVOKER");
            if !by_invoker && !self.eat_verb("DEFINER") {
                return Err(self.syntax_error());
            }
            head.by_invoker = Some(by_invoker);
        }
        Ok(head)
    }

    /// Eats a word that is spelled so, one of the grammar or not.
    pub(super) fn eat_verb(&mut self, word: &str) -> bool {
        let found = self.verb(0) == word;
        if found {
            self.bump();
        }
        found
    }

    /// `user[@host]`, `CURRENT_USER[()]`.
    fn definer(&mut self) -> Result<Definer> {
        if self.eat_word(Word::CURRENT_USER) {
            if self.eat(Kind::OpenParen) {
                self.expect(Kind::CloseParen)?;
            }
            return Ok(Definer::CurrentUser);
        }
        let user = self.name_or_text()?;
        let host = if self.is(Kind::UserVariable) {
            self.user_variable()?
        } else {
            "%".to_owned()
        };
        Ok(Definer::Account(user, host))
    }

    /// `WITH [CASCADED | LOCAL] CHECK OPTION`, if it is there.
    fn check_option(&mut self) -> Result<bool> {
        if !self.eat_word(Word::WITH) {
            return Ok(false);
        }
        if !self.eat_word(Word::LOCAL) {
            self.eat_verb("CASCADED");
        }
        self.expect_words(&[Word::CHECK, Word::OPTION])?;
        Ok(true)
    }

    /// At `DROP` before `VIEW`.
    pub(super) fn drop_view(&mut self) -> Result<Statement> {
        self.bump();
        self.bump();
        let if_exists = self.if_exists()?;
        let views = self.comma_list(Parser::table_name)?;
        self.eat_any(&[Word::RESTRICT, Word::CASCADE]);
        Ok(Statement::DropView(DropView { if_exists, views }))
    }
}
