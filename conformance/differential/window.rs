//! Random window functions. Their windows order rows by a key, so that the answer is one.

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::expr::{Expr, Kind};
use crate::grammar;
use crate::rows::Rows;

/// Levels of expressions in a window and its function.
const DEPTH: u32 = 1;

/// Frames, for functions that look at one.
const FRAMES: &[&str] = &[
    "",
    "",
    " ROWS UNBOUNDED PRECEDING",
    " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " RANGE UNBOUNDED PRECEDING",
];

/// A function of that kind over a window.
pub(crate) fn function(rows: &Rows<'_>, kind: Kind, rng: &mut StdRng) -> Expr {
    let (template, frame) = if rng.random_bool(0.5) {
        let ranked = ranking(kind).choose(rng);
        (ranked.map(|one| (*one).to_owned()), "")
    } else {
        let frame = *FRAMES.choose(rng).expect("there is one");
        (framed(kind, rng), frame)
    };
    let Some(template) = template else {
        return Expr::random(rows, kind, (rng, DEPTH));
    };
    let partition = *[
        "",
        "",
        "PARTITION BY COALESCE({i}, 0) ",
        "PARTITION BY {s} ",
        "PARTITION BY {t} ",
    ]
    .choose(rng)
    .expect("there is one");
    let first = *["", "", "ABS({i}), ", "{s} DESC, ", "{D}, "]
        .choose(rng)
        .expect("there is one");
    let direction = *["", " DESC"].choose(rng).expect("there is one");
    let key = rows.key;
    let template = format!("{template} OVER ({partition}ORDER BY {first}{key}{direction}{frame})");
    Expr::of_template(rows, (kind, &template), (rng, DEPTH)).aggregate()
}

/// Functions of places in the window.
fn ranking(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Int => &[
            "ROW_NUMBER()",
            "RANK()",
            "DENSE_RANK()",
            "NTILE({#1..5})",
            "LAG({i})",
            "LAG({i}, {#0..3})",
            "LEAD({i}, 1)",
        ],
        Kind::Double => &["PERCENT_RANK()", "CUME_DIST()", "LEAD({f})"],
        Kind::Decimal => &["LAG({d}, 2)", "LEAD({d})"],
        Kind::Text => &["LAG({s})", "LEAD({s}, 2)"],
        Kind::Date => &["LAG({D})", "LEAD({D})"],
        Kind::Datetime => &["LAG({M})", "LEAD({M}, 3)"],
        Kind::Time => &["LEAD({T})"],
        Kind::Bytes => &["LAG({y})"],
        Kind::Bool => &[],
    }
}

/// Functions of the rows of a frame: values of it, or an aggregate.
fn framed(kind: Kind, rng: &mut StdRng) -> Option<String> {
    let values: &[&str] = match kind {
        Kind::Int => &["FIRST_VALUE({i})", "LAST_VALUE({i})", "NTH_VALUE({i}, 2)"],
        Kind::Decimal => &["FIRST_VALUE({d})", "NTH_VALUE({d}, {#1..3})"],
        Kind::Double => &["LAST_VALUE({f})"],
        Kind::Text => &["FIRST_VALUE({s})", "LAST_VALUE({s})"],
        Kind::Date => &["FIRST_VALUE({D})"],
        Kind::Datetime => &["LAST_VALUE({M})"],
        Kind::Time => &["NTH_VALUE({T}, 1)"],
        Kind::Bytes | Kind::Bool => return None,
    };
    let is_offered = |text: &&&str| {
        let is_out = ["DISTINCT", "GROUP_CONCAT"]
            .iter()
            .any(|word| text.contains(word));
        !is_out && !text.starts_with('(')
    };
    let aggregates: Vec<&&str> = grammar::aggregate(kind).iter().filter(is_offered).collect();
    if rng.random_bool(0.4) || aggregates.is_empty() {
        return values.choose(rng).map(|one| (*one).to_owned());
    }
    aggregates.choose(rng).map(|one| (**one).to_owned())
}
