//! Expressions as trees of text, so that they can be made and made smaller without knowing what they
//! mean.
//!
//! A template is text with places: `"({i} + {i})"` is a sum of two whole numbers. Places that are no
//! expressions are filled when the tree is made.
//!
//! ```text
//!   {i} {d} {f} {s} {y} {D} {T} {M} {b}   an expression of that kind
//!   {n} {t} {a}                           of any kind of number, of date and datetime, of any kind
//!   {#-3..5}                              a number literal of that range
//!   {p} {r} {u} {U} {F} {j} {P}           LIKE pattern, regular expression, units of days and more or
//!                                         of all, format of dates, document, path: as literals
//! ```

use std::fmt;

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::grammar;

/// What an expression is, as far as the generator cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Int,
    Decimal,
    Double,
    Text,
    Bytes,
    Date,
    Time,
    Datetime,
    Bool,
}

impl Kind {
    pub(crate) const ALL: [Kind; 9] = [
        Kind::Int,
        Kind::Decimal,
        Kind::Double,
        Kind::Text,
        Kind::Bytes,
        Kind::Date,
        Kind::Time,
        Kind::Datetime,
        Kind::Bool,
    ];

    /// The kind that a letter of a template stands for, chosen where there are several.
    fn of_letter(letter: char, rng: &mut StdRng) -> Option<Kind> {
        Some(match letter {
            'i' => Kind::Int,
            'd' => Kind::Decimal,
            'f' => Kind::Double,
            's' => Kind::Text,
            'y' => Kind::Bytes,
            'D' => Kind::Date,
            'T' => Kind::Time,
            'M' => Kind::Datetime,
            'b' => Kind::Bool,
            'n' => *[Kind::Int, Kind::Decimal, Kind::Double].choose(rng)?,
            't' => *[Kind::Date, Kind::Datetime].choose(rng)?,
            'a' => *Kind::ALL.choose(rng)?,
            _ => return None,
        })
    }
}

/// An expression.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    /// What stands around the parts: one more than there are parts.
    texts: Vec<String>,
    parts: Vec<Expr>,
    /// Whether it is over a group and its parts are over the rows.
    is_aggregate: bool,
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, text) in self.texts.iter().enumerate() {
            f.write_str(text)?;
            if let Some(part) = self.parts.get(at) {
                write!(f, "{part}")?;
            }
        }
        Ok(())
    }
}

/// What expressions are made of.
pub(crate) trait Source {
    /// A column or literal.
    fn leaf(&self, kind: Kind, rng: &mut StdRng) -> Expr;

    /// The templates of a kind.
    fn templates(&self, kind: Kind) -> &'static [&'static str] {
        grammar::scalar(kind)
    }
}

impl Expr {
    /// A column or literal.
    pub(crate) fn leaf(kind: Kind, text: String) -> Expr {
        Expr {
            kind,
            texts: vec![text],
            parts: Vec::new(),
            is_aggregate: false,
        }
    }

    /// A tree that is made otherwise: one text more than there are parts.
    pub(crate) fn tree(kind: Kind, texts: &[&str], parts: Vec<Expr>) -> Expr {
        Expr {
            kind,
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            parts,
            is_aggregate: false,
        }
    }

    /// The same, whose parts do not stand for it.
    pub(crate) fn aggregate(self) -> Expr {
        Expr {
            is_aggregate: true,
            ..self
        }
    }

    /// A random expression of at most so many levels.
    pub(crate) fn random(
        source: &dyn Source,
        kind: Kind,
        (rng, depth): (&mut StdRng, u32),
    ) -> Expr {
        if depth == 0 || rng.random_ratio(1, 4) {
            return source.leaf(kind, rng);
        }
        match source.templates(kind).choose(rng) {
            Some(template) => Expr::of_template(source, (kind, template), (rng, depth - 1)),
            None => source.leaf(kind, rng),
        }
    }

    /// A template with random parts.
    pub(crate) fn of_template(
        source: &dyn Source,
        (kind, template): (Kind, &str),
        (rng, depth): (&mut StdRng, u32),
    ) -> Expr {
        let mut texts = vec![String::new()];
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (place, after) = after.split_once('}').expect("a place that ends");
            let text = texts.last_mut().expect("there is one");
            text.push_str(before);
            rest = after;
            if let Some(range) = place.strip_prefix('#') {
                let (least, most) = range.split_once("..").expect("a range");
                let (least, most): (i64, i64) = (least.parse().unwrap(), most.parse().unwrap());
                text.push_str(&rng.random_range(least..=most).to_string());
                continue;
            }
            let letter = place.chars().next().expect("a letter");
            if let Some(word) = grammar::word(letter, rng) {
                text.push_str(&word);
                continue;
            }
            let part = Kind::of_letter(letter, rng).expect("a kind");
            parts.push(Expr::random(source, part, (rng, depth)));
            texts.push(String::new());
        }
        texts.last_mut().expect("there is one").push_str(rest);
        Expr {
            kind,
            texts,
            parts,
            is_aggregate: false,
        }
    }

    /// Expressions that are smaller by one step, the smallest first.
    pub(crate) fn smaller(&self) -> Vec<Expr> {
        let mut all = if self.is_aggregate {
            Vec::new()
        } else {
            self.parts.clone()
        };
        all.extend(self.smaller_within());
        all
    }

    /// With a part replaced by one of its own kind, as the text around it expects.
    pub(crate) fn smaller_within(&self) -> Vec<Expr> {
        let mut all = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let is_open = !part.is_aggregate;
            let same = part
                .parts
                .iter()
                .filter(|one| is_open && one.kind == part.kind)
                .cloned();
            for smaller in same.chain(part.smaller_within()) {
                let mut copy = self.clone();
                copy.parts[at] = smaller;
                all.push(copy);
            }
        }
        all
    }
}
