//! A query as words, each with what it reaches: as much of its meaning as `known.txt` asks for.
//!
//! ```text
//!   a function, a cast           what is in its parentheses
//!   an operator, also IN, DIV    the parentheses around it: the generator writes them always
//!   any other word: WHERE, CASE  what follows, to the end of the parentheses around it
//! ```
//!
//! Besides itself in lower case a word may be asked for as
//!
//! ```text
//!   #null #text #hex #whole #decimal #double #moment   a literal: `#moment` is DATE'…' and the like
//!   #cte                                               the WITH that the query begins with, not that of ROLLUP
//!   column:ty                                          a column whose type begins so
//! ```

/// Words that are all wanted within one reach, each with its alternatives.
pub(crate) struct Step(pub(crate) Vec<Vec<String>>);

/// The words of a query.
pub(crate) struct Words(Vec<Word>);

struct Word {
    text: String,
    literal: Option<&'static str>,
    /// In lower case; empty where it is no column of a table.
    types: Vec<String>,
    /// The first word that it reaches, and the first that it does not reach any more.
    reach: (usize, usize),
}

/// Operators that are words.
const WORD_OPERATORS: &[&str] = &[
    "and", "between", "div", "in", "is", "like", "not", "or", "regexp", "rlike", "xor",
];

/// Words that are no functions, whatever follows them.
const CLAUSES: &[&str] = &[
    "by", "distinct", "else", "from", "having", "on", "over", "select", "then", "when", "where",
];

/// Operators, the longer ones first.
const OPERATORS: &[&str] = &["<=>", "->>", "<=", ">=", "<>", "<<", ">>", "->"];

/// Words before a text that make it something else.
const PREFIXES: &[(&str, &str)] = &[
    ("x", "#hex"),
    ("date", "#moment"),
    ("time", "#moment"),
    ("timestamp", "#moment"),
];

impl Words {
    /// Those of a query over columns of these names and types.
    pub(crate) fn of(sql: &str, columns: &[(String, String)]) -> Words {
        let mut words: Vec<Word> = Vec::new();
        let mut rest = sql.trim_start();
        while !rest.is_empty() {
            let (text, after) = split(rest);
            rest = after.trim_start();
            let before = words.last().map(|word| word.text.as_str());
            let name = text.rsplit('.').next().unwrap_or_default();
            let types = columns.iter().filter(|(column, _)| column == name);
            words.push(Word {
                literal: literal(text, before),
                types: types.map(|(_, ty)| ty.to_lowercase()).collect(),
                text: text.to_lowercase(),
                reach: (0, 0),
            });
        }
        let mut words = Words(words);
        words.measure();
        words
    }

    /// Finds what each word reaches.
    fn measure(&mut self) {
        let mut open = vec![(0, self.0.len())];
        let mut ends = vec![self.0.len(); self.0.len()];
        let mut starts = Vec::new();
        for (at, word) in self.0.iter().enumerate() {
            match word.text.as_str() {
                "(" => starts.push(at),
                ")" => {
                    if let Some(start) = starts.pop() {
                        ends[start] = at;
                    }
                }
                _ => {}
            }
        }
        for at in 0..self.0.len() {
            while open.last().is_some_and(|(_, end)| *end <= at) {
                open.pop();
            }
            if self.0[at].text == "(" {
                open.push((at, ends[at]));
            }
            let around = *open.last().expect("the whole is open");
            let text = self.0[at].text.as_str();
            let is_word =
                text.starts_with(|c: char| c.is_alphabetic()) && !WORD_OPERATORS.contains(&text);
            let is_call =
                !CLAUSES.contains(&text) && self.0.get(at + 1).is_some_and(|next| next.text == "(");
            self.0[at].reach = match (is_word, is_call) {
                (true, true) => (at + 1, ends[at + 1]),
                (true, false) => (at + 1, around.1),
                (false, _) => around,
            };
        }
    }

    /// Whether there are words as in `steps`, each within the reach of the one before.
    pub(crate) fn have(&self, steps: &[Step]) -> bool {
        self.have_within((0, self.0.len()), steps)
    }

    fn have_within(&self, (start, end): (usize, usize), steps: &[Step]) -> bool {
        let Some((step, more)) = steps.split_first() else {
            return true;
        };
        let within = &self.0[start..end.max(start)];
        step.0.iter().all(|alternatives| {
            within.iter().any(|word| {
                alternatives.iter().any(|wanted| word.is(wanted))
                    && self.have_within(word.reach, more)
            })
        })
    }
}

impl Word {
    fn is(&self, wanted: &str) -> bool {
        match wanted.strip_prefix("column:") {
            Some(ty) => self.types.iter().any(|own| own.starts_with(ty)),
            None => self.text == wanted || self.literal == Some(wanted),
        }
    }
}

/// The first word and what follows it.
fn split(text: &str) -> (&str, &str) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut length = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let rest = &text[length..];
    let prefix = text[..length].to_lowercase();
    if rest.starts_with('\'') && (length == 0 || PREFIXES.iter().any(|(word, _)| *word == prefix)) {
        length += rest[1..].find('\'').map_or(rest.len(), |end| end + 2);
    } else if prefix.starts_with(|c: char| c.is_ascii_digit()) && prefix.ends_with('e') {
        // The sign of an exponent.
        let digits = rest[1..].find(|c: char| !c.is_ascii_digit());
        length += digits.map_or(rest.len(), |end| end + 1);
    } else if length == 0 {
        let operator = OPERATORS
            .iter()
            .find(|operator| text.starts_with(**operator));
        length = operator.map_or_else(
            || text.chars().next().map_or(0, char::len_utf8),
            |o| o.len(),
        );
    }
    text.split_at(length)
}

fn literal(text: &str, before: Option<&str>) -> Option<&'static str> {
    if let Some(at) = text.find('\'') {
        let prefix = text[..at].to_lowercase();
        let found = PREFIXES.iter().find(|(word, _)| *word == prefix);
        return Some(found.map_or("#text", |(_, literal)| literal));
    }
    if before.is_none() && text.eq_ignore_ascii_case("with") {
        return Some("#cte");
    }
    if text.eq_ignore_ascii_case("null") && !matches!(before, Some("is" | "not")) {
        return Some("#null");
    }
    text.starts_with(|c: char| c.is_ascii_digit()).then(|| {
        match (text.contains(['e', 'E']), text.contains('.')) {
            (true, _) => "#double",
            (false, true) => "#decimal",
            (false, false) => "#whole",
        }
    })
}
