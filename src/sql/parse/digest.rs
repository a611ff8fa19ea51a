//! Digests: the text that all statements share which differ in literals, white space and comments
//! alone, and in the lengths of lists of literals.
//!
//! ```text
//!   SELECT a FROM t WHERE b = -1      SELECT `a` FROM `t` WHERE `b` = ?
//!   … IN (1), … IN (1, 2)             … IN (...)
//!   f(1), f(1, 2)                     `f` (?), `f` (...)
//!   VALUES (1), (2)                   VALUES (?) /* , ... */
//!   VALUES (1, 2), (3, 4)             VALUES (...) /* , ... */
//!   MASTER_PASSWORD = "x"             `MASTER_PASSWORD` = ?       where "x" is a name, too
//! ```
//!
//! The pieces are reduced one by one as they come, on a stack, by the rules that MySQL publishes
//! (manual, "Performance Schema Statement Digests and Sampling"); the text is what its
//! `STATEMENT_DIGEST_TEXT` gives but for words that only one of both grammars has. The hash is SHA-256
//! of the text, and so another than MySQL's, which hashes its token numbers.
//!
//! Hot: [`key`] runs for every statement that arrives as text. It allocates nothing in steady state.

use std::cell::RefCell;
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::token::{Kind, Token};
use super::word::Word;
use crate::error::Result;
use crate::sql::context::Mode;

/// Bytes of a digest's text; past it the text ends with `...`, and statements that differ later have
/// one digest. MySQL's default of `max_digest_length`.
pub const DIGEST_BYTES_MAX: usize = 1024;

/// Pieces that are looked at: more than fit into the text, as each takes a byte and a space.
const PIECES_MAX: usize = DIGEST_BYTES_MAX / 2;

/// What stands at the end of a text that is cut.
const CUT: &[u8] = b"...";

/// A password comes behind a word that ends so, or `=` between them.
const PASSWORD: &[u8] = b"PASSWORD";

/// Or few pieces behind this word.
const IDENTIFIED: &[u8] = b"IDENTIFIED";

/// `IDENTIFIED BY`, `IDENTIFIED WITH plugin AS`, `IDENTIFIED BY ? REPLACE`.
const IDENTIFIED_PIECES_MAX: usize = 4;

/// Makes keys that no client can foresee.
static SEED: LazyLock<u64> = LazyLock::new(rand::random);

/// Stands for a digest while this process runs: as good as unique, and as spread as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DigestKey(u128);

impl DigestKey {
    /// Half of it, which is spread as well.
    pub fn half(self) -> u64 {
        u64::try_from(self.0 >> u64::BITS).unwrap_or(0)
    }
}

/// The digest of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// What it has in common with others.
    pub text: String,
    /// SHA-256 of that, in 64 hexadecimal digits.
    pub hash: String,
}

/// A part of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// A word or sign of the language.
    Token(Token),
    /// A name.
    Name(Token),
    /// `/*+ … */`.
    Hint(Token),
    /// `@`.
    At,
    /// `_utf8mb4`.
    Charset,
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    One,
    /// `(?) /* , ... */`
    Ones,
    /// `(...)`
    Row,
    /// `(...) /* , ... */`
    Rows,
    /// `IN (...)`
    InList,
}

/// Memory that is used again for each statement.
#[derive(Default)]
struct Scratch {
    pieces: Vec<Piece>,
    text: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// The key of the statement with these tokens.
pub(super) fn key(sql: &[u8], tokens: &[Token]) -> DigestKey {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.write(sql, tokens);
        DigestKey(xxh3_128_with_seed(&scratch.text, *SEED))
    })
}

/// The digest of the first statement of a text, which need not be of the language.
///
/// # Errors
/// `ParserCapacity` for what passes a limit.
pub fn digest(sql: &[u8], mode: Mode) -> Result<Digest> {
    let lexed = super::lexer::Lexer::new(sql, mode).statement()?;
    let mut scratch = Scratch::default();
    scratch.write(sql, &lexed.tokens);
    let text = String::from_utf8_lossy(&scratch.text).into_owned();
    let hash = Sha256::digest(&scratch.text);
    Ok(Digest {
        hash: format!("{hash:x}"),
        text,
    })
}

impl Scratch {
    fn write(&mut self, sql: &[u8], tokens: &[Token]) {
        self.pieces.clear();
        let mut is_cut = false;
        for token in tokens {
            if matches!(token.kind, Kind::End | Kind::Bad) {
                break;
            }
            if PIECES_MAX <= self.pieces.len() {
                is_cut = true;
                break;
            }
            self.take(sql, *token);
        }
        self.print(sql, is_cut);
    }

    fn take(&mut self, sql: &[u8], token: Token) {
        match token.kind {
            Kind::Int | Kind::Decimal | Kind::Double | Kind::Hex | Kind::Bit => {
                self.drop_signs();
                self.push_value();
            }
            Kind::Text | Kind::NationalText | Kind::Parameter => self.push_value(),
            Kind::Word(Word::NULL) if self.is_literal_next() => self.push_value(),
            Kind::Quoted if self.is_password(sql, token) => self.push_value(),
            Kind::Name | Kind::Quoted => self.pieces.push(Piece::Name(token)),
            Kind::Introducer => self.pieces.push(Piece::Charset),
            Kind::Hint => self.pieces.push(Piece::Hint(token)),
            Kind::AtAt => self.pieces.extend([Piece::At, Piece::At]),
            Kind::UserVariable => self.pieces.extend([Piece::At, Piece::Value]),
            Kind::CloseParen => self.close(token),
            _ => self.pieces.push(Piece::Token(token)),
        }
    }

    /// Takes signs away that belong to the number that follows them: those behind something that
    /// an expression may begin after.
    fn drop_signs(&mut self) {
        while let [.., before, Piece::Token(sign)] = self.pieces.as_slice()
            && matches!(sign.kind, Kind::Minus | Kind::Plus)
            && begins_expression(*before)
        {
            self.pieces.pop();
        }
    }

    /// Whether a NULL here is a value, and not a word of `IS NULL` or of a column's definition.
    fn is_literal_next(&self) -> bool {
        let Some(Piece::Token(last)) = self.pieces.last() else {
            return false;
        };
        last.kind != Kind::Word(Word::NOT) && begins_expression(Piece::Token(*last))
    }

    /// Whether this is a password that `ANSI_QUOTES` makes a name of. A statement that is not supported is skipped unread,
    /// so nobody refuses its password for being a name.
    fn is_password(&self, sql: &[u8], token: Token) -> bool {
        if !bytes_of(token, sql).starts_with(b"\"") {
            return false;
        }
        let before = match self.pieces.as_slice() {
            [before @ .., Piece::Token(equal)] if equal.kind == Kind::Equal => before,
            all => all,
        };
        let last = before.last().map(|piece| word_of(*piece, sql));
        let last_end = last.and_then(|word| word.rchunks(PASSWORD.len()).next());
        let mut latest = self.pieces.iter().rev().take(IDENTIFIED_PIECES_MAX);
        last_end.is_some_and(|end| end.eq_ignore_ascii_case(PASSWORD))
            || latest.any(|piece| word_of(*piece, sql).eq_ignore_ascii_case(IDENTIFIED))
    }

    fn push_value(&mut self) {
        let piece = match self.pieces.as_slice() {
            [.., Piece::Value | Piece::Values, Piece::Token(comma)]
                if comma.kind == Kind::Comma =>
            {
                self.pop_two();
                Piece::Values
            }
            _ => Piece::Value,
        };
        self.pieces.push(piece);
    }

    fn pop_two(&mut self) {
        self.pieces.pop();
        self.pieces.pop();
    }

    /// At `)`.
    fn close(&mut self, token: Token) {
        let (one, several) = match self.pieces.as_slice() {
            [.., Piece::Token(open), Piece::Value] if open.kind == Kind::OpenParen => {
                (Piece::One, Piece::Ones)
            }
            [.., Piece::Token(open), Piece::Values] if open.kind == Kind::OpenParen => {
                (Piece::Row, Piece::Rows)
            }
            _ => {
                self.pieces.push(Piece::Token(token));
                return;
            }
        };
        self.pop_two();
        let piece = match self.pieces.as_slice() {
            [.., before, Piece::Token(comma)]
                if comma.kind == Kind::Comma && (*before == one || *before == several) =>
            {
                self.pop_two();
                several
            }
            [.., Piece::Token(word)] if word.kind == Kind::Word(Word::IN) => {
                self.pieces.pop();
                Piece::InList
            }
            _ => one,
        };
        self.pieces.push(piece);
    }

    fn print(&mut self, sql: &[u8], mut is_cut: bool) {
        let text = &mut self.text;
        text.clear();
        let mut needs_space = false;
        for piece in &self.pieces {
            let before = text.len();
            if needs_space {
                text.push(b' ');
            }
            print_piece(*piece, sql, text);
            if DIGEST_BYTES_MAX - CUT.len() < text.len() {
                text.truncate(before);
                is_cut = true;
                break;
            }
            needs_space = *piece != Piece::At;
        }
        if is_cut {
            text.extend_from_slice(CUT);
        }
    }
}

fn bytes_of(token: Token, sql: &[u8]) -> &[u8] {
    let (start, end) = (usize::try_from(token.start), usize::try_from(token.end));
    let range = start.unwrap_or(usize::MAX)..end.unwrap_or(usize::MAX);
    sql.get(range).unwrap_or_default()
}

/// A word or name as it is written; nothing of other pieces.
fn word_of(piece: Piece, sql: &[u8]) -> &[u8] {
    let (Piece::Token(token) | Piece::Name(token)) = piece else {
        return b"";
    };
    bytes_of(token, sql)
}

fn print_piece(piece: Piece, sql: &[u8], out: &mut Vec<u8>) {
    let text: &[u8] = match piece {
        Piece::Token(Token {
            kind: Kind::NotEqual,
            ..
        }) => b"!=",
        Piece::Token(token) => match token.kind {
            Kind::Word(word) => word.name().as_bytes(),
            _ => bytes_of(token, sql),
        },
        Piece::Name(token) => return print_name(bytes_of(token, sql), token.kind, out),
        Piece::Hint(token) => return print_hint(bytes_of(token, sql), out),
        Piece::At => b"@",
        Piece::Charset => b"(_charset)",
        Piece::Value => b"?",
        Piece::Values => b"?, ...",
        Piece::One => b"(?)",
        Piece::Ones => b"(?) /* , ... */",
        Piece::Row => b"(...)",
        Piece::Rows => b"(...) /* , ... */",
        Piece::InList => b"IN (...)",
    };
    out.extend_from_slice(text);
}

fn print_name(name: &[u8], kind: Kind, out: &mut Vec<u8>) {
    let inner = match name {
        [_, inner @ .., _] if kind == Kind::Quoted => inner,
        whole => whole,
    };
    out.push(b'`');
    // What is longer is cut anyway.
    out.extend_from_slice(inner.get(..DIGEST_BYTES_MAX).unwrap_or(inner));
    out.push(b'`');
}

/// A hint with `?` for its numbers, and one space between its words.
fn print_hint(hint: &[u8], out: &mut Vec<u8>) {
    let mut before = b' ';
    let full = out.len() + DIGEST_BYTES_MAX;
    for byte in hint.iter().copied() {
        if full <= out.len() {
            return;
        }
        let in_name = before.is_ascii_alphanumeric() || before == b'_' || before == b'?';
        if byte.is_ascii_whitespace() {
            if before != b' ' {
                out.push(b' ');
            }
            before = b' ';
            continue;
        }
        if byte.is_ascii_digit() && (!in_name || before == b'?') {
            if before != b'?' {
                out.push(b'?');
            }
            before = b'?';
            continue;
        }
        out.push(byte);
        before = byte;
    }
}

/// Whether an expression may begin behind a piece: a sign there is of the number that follows.
fn begins_expression(piece: Piece) -> bool {
    let Piece::Token(token) = piece else {
        return false;
    };
    matches!(
        token.kind,
        Kind::OpenParen
            | Kind::Comma
            | Kind::Equal
            | Kind::NullSafeEqual
            | Kind::NotEqual
            | Kind::Less
            | Kind::LessOrEqual
            | Kind::Greater
            | Kind::GreaterOrEqual
            | Kind::Assign
            | Kind::Plus
            | Kind::Minus
            | Kind::Star
            | Kind::Slash
            | Kind::Percent
            | Kind::Caret
            | Kind::Pipe
            | Kind::PipePipe
            | Kind::Ampersand
            | Kind::AndAnd
            | Kind::ShiftLeft
            | Kind::ShiftRight
            | Kind::Tilde
            | Kind::Bang
            | Kind::Word(
                Word::SELECT
                    | Word::DEFAULT
                    | Word::RETURN
                    | Word::IF
                    | Word::ELSE
                    | Word::ELSEIF
                    | Word::CASE
                    | Word::WHEN
                    | Word::THEN
                    | Word::WHILE
                    | Word::OR
                    | Word::XOR
                    | Word::AND
                    | Word::NOT
                    | Word::BETWEEN
                    | Word::LIKE
                    | Word::REGEXP
                    | Word::RLIKE
                    | Word::INTERVAL
                    | Word::DIV
                    | Word::MOD
                    | Word::LIMIT
                    | Word::OFFSET
                    | Word::VALUES
                    | Word::DO
            )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse::parse_first;
    use crate::sql::parse::tests::DEFAULT_MODE;

    fn text(sql: &str) -> String {
        digest(sql.as_bytes(), DEFAULT_MODE).unwrap().text
    }

    /// Statements and their texts. Those marked so are of MySQL's manual ("Performance Schema Statement
    /// Digests and Sampling", "Encryption and Compression Functions").
    const CASES: &[(&str, &str)] = &[
        // Manual.
        (
            "SELECT * FROM orders WHERE customer_id=10 AND quantity>20",
            "SELECT * FROM `orders` WHERE `customer_id` = ? AND `quantity` > ?",
        ),
        (
            "SELECT * FROM orders WHERE customer_id = 20 AND quantity > 100",
            "SELECT * FROM `orders` WHERE `customer_id` = ? AND `quantity` > ?",
        ),
        (
            "SELECT * FROM mytable WHERE cola = 10 AND colb = 20",
            "SELECT * FROM `mytable` WHERE `cola` = ? AND `colb` = ?",
        ),
        ("select 1", "SELECT ?"),
        ("SELECT 1, 2, 3;", "SELECT ?, ..."),
        ("SELECT 1, a, 2", "SELECT ? , `a` , ?"),
        ("INSERT INTO t VALUES (1)", "INSERT INTO `t` VALUES (?)"),
        (
            "INSERT INTO t VALUES (1), ('b'), (NULL)",
            "INSERT INTO `t` VALUES (?) /* , ... */",
        ),
        (
            "INSERT INTO t VALUES (1, 'a', 0x41)",
            "INSERT INTO `t` VALUES (...)",
        ),
        (
            "INSERT INTO t(a,b) VALUES (1,2),(3,4) ,(5,-6)",
            "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */",
        ),
        ("SELECT a IN (1)", "SELECT `a` IN (...)"),
        ("SELECT a IN (1, 2, 3)", "SELECT `a` IN (...)"),
        ("SELECT a NOT IN (?, ?)", "SELECT `a` NOT IN (...)"),
        ("SELECT a IN (1, b)", "SELECT `a` IN ( ? , `b` )"),
        ("SELECT a = -1, b - 1", "SELECT `a` = ? , `b` - ?"),
        ("SELECT - - 1, -a", "SELECT ? , - `a`"),
        ("SELECT (1), (a-1)", "SELECT (?) , ( `a` - ? )"),
        (
            "SELECT * FROM t WHERE a IS NULL AND b IS NOT NULL AND c <=> NULL",
            "SELECT * FROM `t` WHERE `a` IS NULL AND `b` IS NOT NULL AND `c` <=> ?",
        ),
        (
            "CREATE TABLE t (a INT NOT NULL, b INT NULL DEFAULT NULL, PRIMARY KEY (a))",
            "CREATE TABLE `t` ( `a` INT NOT NULL , `b` INT NULL DEFAULT ? , PRIMARY KEY ( `a` ) )",
        ),
        (
            "SELECT @@version, @@session.x",
            "SELECT @@`version` , @@SESSION . `x`",
        ),
        ("SET @a = 1, @b = 'x'", "SET @? = ? , @? = ?"),
        (
            "SELECT count(*) FROM d.t",
            "SELECT COUNT ( * ) FROM `d` . `t`",
        ),
        ("SELECT concat('a', 'b')", "SELECT `concat` (...)"),
        ("SELECT a <> 1 AND b != 2", "SELECT `a` != ? AND `b` != ?"),
        ("SELECT /* c */ 1 -- d\n + 2 # e", "SELECT ? + ?"),
        (
            "SELECT /*+ MAX_EXECUTION_TIME(1000)  x1 */ a FROM t LIMIT 5, 10",
            "SELECT /*+ MAX_EXECUTION_TIME(?) x1 */ `a` FROM `t` LIMIT ?, ...",
        ),
        ("SELECT `a``b`, 'it''s'", "SELECT `a``b` , ?"),
        ("SELECT _utf8mb4'x', N'y'", "SELECT (_charset) ?, ..."),
        ("SELECT TRUE", "SELECT TRUE"),
        (
            "SELECT a FROM t WHERE b BETWEEN -1 AND +2 ORDER BY c LIMIT 1 OFFSET 2",
            "SELECT `a` FROM `t` WHERE `b` BETWEEN ? AND ? ORDER BY `c` LIMIT ? OFFSET ?",
        ),
        (
            "GRANT SELECT ON *.* TO 'u'@'h'",
            "GRANT SELECT ON * . * TO ? @?",
        ),
        ("", ""),
    ];

    #[test]
    fn statements_are_normalised() {
        for (sql, expected) in CASES {
            assert_eq!(text(sql), *expected, "{sql}");
        }
    }

    /// Mechanism: under `ANSI_QUOTES` a password in `"…"` is a name, which a digest shows, and a statement that is not
    /// supported is not read as far as that. Names stay elsewhere.
    #[test]
    fn a_password_that_is_a_name_is_a_value() {
        let ansi = Mode {
            ansi_quotes: true,
            ..DEFAULT_MODE
        };
        let text = |sql: &str| digest(sql.as_bytes(), ansi).unwrap().text;
        for sql in [
            r#"CHANGE MASTER TO MASTER_USER="u", MASTER_PASSWORD="geheim""#,
            r#"CHANGE REPLICATION SOURCE TO source_user = "u", source_password = "geheim""#,
            r#"START REPLICA USER="u" PASSWORD="geheim""#,
            r#"CREATE SERVER s OPTIONS (USER "u", PASSWORD "geheim")"#,
            r#"CLONE INSTANCE FROM "u"@h IDENTIFIED BY "geheim""#,
            r#"ALTER USER "u" IDENTIFIED BY "geheim" REPLACE "geheim""#,
            r#"ALTER USER "u" IDENTIFIED WITH p AS "geheim""#,
        ] {
            let shown = text(sql);
            let is_so = shown.contains("`u`") && shown.contains('?');
            assert!(is_so && !shown.contains("geheim"), "{shown}");
        }
        assert_eq!(
            text(r#"SELECT "a" FROM "t" WHERE "b" = "c" GROUP BY "d""#),
            "SELECT `a` FROM `t` WHERE `b` = `c` GROUP BY `d`"
        );
        assert_eq!(
            text("SELECT a FROM t WHERE a_password = `b`"),
            "SELECT `a` FROM `t` WHERE `a_password` = `b`"
        );
    }

    #[test]
    fn what_differs_in_literals_alone_has_one_key_and_the_rest_does_not() {
        let key = |sql: &str| parse_first(sql.as_bytes(), DEFAULT_MODE).unwrap().digest;
        let one = key("SELECT a FROM t WHERE b = 1");
        assert_eq!(one, key("select  `a` from t where b='x' -- c"));
        assert_ne!(one, key("SELECT a FROM t WHERE c = 1"));
        assert_ne!(one, key("SELECT A FROM t WHERE b = 1"));
        let hash = digest(b"SELECT 1", DEFAULT_MODE).unwrap().hash;
        assert_eq!(hash, digest(b"select 2;", DEFAULT_MODE).unwrap().hash);
        assert_eq!(hash.len(), 64);
    }

    #[test]
    fn a_long_statement_is_cut_and_says_so() {
        let columns: Vec<String> = (0..2000).map(|at| format!("column_{at}")).collect();
        let cut = text(&format!("SELECT {} FROM t", columns.join(", ")));
        assert!(cut.len() <= DIGEST_BYTES_MAX, "{}", cut.len());
        assert!(cut.ends_with("..."), "{cut}");
        let many = text(&format!("SELECT {}", "- ".repeat(5000)));
        assert!(many.ends_with("..."), "{many}");
        let rows = "(1, 'a'), ".repeat(10_000);
        assert_eq!(
            text(&format!("INSERT INTO t VALUES {rows}(2, 'b')")),
            "INSERT INTO `t` VALUES (...) /* , ... */"
        );
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let digest = digest(b"SELECT `\xff\xfe` + 1", DEFAULT_MODE).unwrap();
        assert_eq!(digest.text, "SELECT `\u{fffd}\u{fffd}` + ?");
    }
}
