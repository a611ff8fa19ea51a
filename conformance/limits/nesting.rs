//! What nests: an error at the limit, never the end of a thread's stack.

use crate::house::House;

/// Levels beyond every limit, and beyond every stack if nothing held them.
const DEEP: usize = 100_000;

/// Levels of parentheses, signs and `CASE` in a SELECT: one hundred less the query's and its expression's.
const SIMPLE_MAX: usize = 98;

/// Levels of calls and subqueries: each has two, its own and that of what is in it.
const DOUBLE_MAX: usize = 49;

/// Operators one behind the other: four hundred less the query and the leaf.
const CHAIN_MAX: usize = 398;

/// Queries that stand within one, of the same text or another.
const QUERIES_MAX: usize = 120;

/// Views within views.
const VIEWS_MAX: usize = 24;

/// Common table expressions of two parts before the recursive one, each of the last: what is bound doubles.
const DOUBLING_MAX: usize = 10;

/// Common table expressions, each of the one before twice.
const TWICE_MAX: usize = 10;

/// Names that `WITH` may give in sight of one place.
const NAMES_MAX: usize = 1000;

/// Rows of more than the pages after which a statement goes on elsewhere.
const LONG_ROWS: usize = 5000;
/// Levels of a statement that reads them, and of each of two views.
const LONG_LEVELS: usize = 44;

/// What opens and closes a level around `1`, and how many there may be.
const EXPRESSIONS: &[(&str, &str, usize)] = &[
    ("(", ")", SIMPLE_MAX),
    ("NOT ", "", SIMPLE_MAX),
    ("- ", "", SIMPLE_MAX),
    ("~", "", SIMPLE_MAX),
    ("ABS(", ")", DOUBLE_MAX),
    ("COALESCE(1, ", ")", DOUBLE_MAX),
    ("(SELECT ", ")", DOUBLE_MAX),
    ("EXISTS (SELECT ", ")", DOUBLE_MAX),
    ("1 IN (SELECT ", ")", DOUBLE_MAX),
    ("CASE WHEN ", " THEN 1 END", SIMPLE_MAX),
    ("CASE 1 WHEN 1 THEN ", " END", SIMPLE_MAX),
    ("IF(1, ", ", 2)", DOUBLE_MAX),
    ("CAST(", " AS SIGNED)", DOUBLE_MAX),
    ("JSON_ARRAY(", ")", DOUBLE_MAX),
    // In a list, because a row is no column.
    ("1 = 1 IN (1, ", ")", DOUBLE_MAX),
    ("@a := ", "", SIMPLE_MAX),
    ("BINARY ", "", SIMPLE_MAX),
    ("1 BETWEEN 0 AND (", ")", DOUBLE_MAX),
];

/// What is said again and again behind `1`.
const CHAINS: &[&str] = &[
    " + 1",
    " * 1",
    " < 1",
    " = 1",
    " IS NULL",
    " XOR 1",
    " COLLATE utf8mb4_bin",
    " UNION SELECT 1",
    " UNION ALL SELECT 1",
];

/// So many levels are answered; one more, and very many, are refused.
fn border(house: &mut House, most: usize, sql: impl Fn(usize) -> String) -> Result<(), String> {
    house.run(&sql(most))?;
    for levels in [most + 1, DEEP] {
        house.refused(&sql(levels), 1436, &["the most"])?;
    }
    Ok(())
}

/// Expressions, queries, joins.
pub(crate) fn all(house: &mut House) -> Result<(), String> {
    for (open, close, most) in EXPRESSIONS {
        let nested = |levels| format!("SELECT {}1{}", open.repeat(levels), close.repeat(levels));
        border(house, *most, nested)?;
    }
    for chain in CHAINS {
        border(house, CHAIN_MAX, |count| {
            format!("SELECT 1{}", chain.repeat(count))
        })?;
    }
    // These are no chains in MySQL's grammar.
    for chain in [" IN (1)", " LIKE 1", " REGEXP 1"] {
        house.refused(&format!("SELECT 1{}", chain.repeat(DEEP)), 1064, &[])?;
    }
    // These are flat.
    for chain in [" AND 1", " OR 0"] {
        let long = format!("SELECT 1{}", chain.repeat(20_000));
        if house.value(&long)? != "1" {
            return Err(format!("{chain} 20000 times is not 1"));
        }
    }
    house.run("CREATE TABLE t (id INT PRIMARY KEY)")?;
    queries(house)?;
    named_queries(house)?;
    many_names(house)?;
    views(house)?;
    deep_and_long(house)
}

/// What is deep and reads many rows goes on on another thread, whose stack is as large.
fn deep_and_long(house: &mut House) -> Result<(), String> {
    house.run("CREATE TABLE many (a INT PRIMARY KEY, b INT)")?;
    let rows: Vec<String> = (0..LONG_ROWS).map(|a| format!("({a}, 1)")).collect();
    house.run(&format!("INSERT INTO many VALUES {}", rows.join(", ")))?;
    let within = |levels: usize, inner: &str| {
        (0..levels).fold(inner.to_owned(), |inner, n| {
            format!("SELECT * FROM ({inner}) d{n} LIMIT 1000000")
        })
    };
    let rows = "SELECT a, b FROM many LIMIT 1000000";
    let count = |inner: &str| format!("SELECT COUNT(*) FROM ({inner}) x");
    let one_text = count(&within(LONG_LEVELS, rows));
    house.run(&format!(
        "CREATE VIEW long0 AS {}",
        within(LONG_LEVELS, rows)
    ))?;
    house.run(&format!(
        "CREATE VIEW long1 AS {}",
        within(LONG_LEVELS, "SELECT * FROM long0")
    ))?;
    let is_in = (0..LONG_LEVELS).fold("SELECT a FROM many".to_owned(), |inner, _| {
        format!("SELECT a FROM many WHERE a IN ({inner})")
    });
    for sql in [
        one_text,
        "SELECT COUNT(*) FROM long1".to_owned(),
        count(&is_in),
    ] {
        let found = house.value(&sql)?;
        if found != LONG_ROWS.to_string() {
            return Err(format!("{sql:.60}…: {found}, not {LONG_ROWS}"));
        }
    }
    Ok(())
}

/// As many names as `WITH` may give, and more; names that double what is bound with each.
fn many_names(house: &mut House) -> Result<(), String> {
    let within = |levels: usize, each: usize| {
        (0..levels).fold("SELECT 1".to_owned(), |inner, level| {
            let names = (0..each).map(|n| format!("c{level}_{n} AS (SELECT 1)"));
            let names: Vec<String> = names.collect();
            format!("WITH {} SELECT * FROM ({inner}) x", names.join(", "))
        })
    };
    house.run(&within(1, NAMES_MAX))?;
    house.run(&within(40, NAMES_MAX / 40))?;
    for (levels, each) in [(1, NAMES_MAX + 1), (40, NAMES_MAX / 40 + 1), (40, 1400)] {
        house.refused(&within(levels, each), 1436, &["1000 is the most"])?;
    }
    let twice = |count: usize| {
        let more = (1..count).map(|n| {
            let before = n - 1;
            format!(", c{n} AS (SELECT a FROM c{before} UNION ALL SELECT a FROM c{before})")
        });
        let more: String = more.collect();
        let last = count - 1;
        format!("WITH c0 AS (SELECT 1 a){more} SELECT COUNT(*) FROM c{last}")
    };
    if house.value(&twice(TWICE_MAX))? != "512" {
        return Err(format!("{TWICE_MAX} queries of WITH give another count"));
    }
    for count in [TWICE_MAX + 1, 22, 100] {
        house.refused(&twice(count), 1436, &["2000 times"])?;
    }
    Ok(())
}

fn queries(house: &mut House) -> Result<(), String> {
    border(house, SIMPLE_MAX, |levels| {
        let parens = ("(".repeat(levels), ")".repeat(levels));
        format!("SELECT 1 FROM {}t{}", parens.0, parens.1)
    })?;
    border(house, SIMPLE_MAX, |levels| {
        format!("{}SELECT 1{}", "(".repeat(levels), ")".repeat(levels))
    })?;
    border(house, DOUBLE_MAX, |levels| {
        let (open, close) = ("SELECT * FROM (".repeat(levels), ") x".repeat(levels));
        format!("{open}SELECT 1{close}")
    })?;
    let joined: Vec<String> = (0..1000).map(|n| format!("t t{n}")).collect();
    house.refused(
        &format!("SELECT 1 FROM {}", joined.join(", ")),
        1116,
        &["128"],
    )?;
    let joined = (0..1000).map(|n| format!(" LEFT JOIN t t{n} ON 1"));
    let joined = joined.collect::<Vec<_>>().concat();
    house.survived(&format!("SELECT 1 FROM t{joined}"))?;
    Ok(())
}

/// Common table expressions, each of the one before.
fn named_queries(house: &mut House) -> Result<(), String> {
    let named = |count: usize| {
        let more = (1..count).map(|n| format!(", c{n} AS (SELECT * FROM c{})", n - 1));
        let more: String = more.collect();
        format!("WITH c0 AS (SELECT 1){more} SELECT * FROM c{}", count - 1)
    };
    let recursive = |count: usize, begins: &str| {
        let more = (1..count).map(|n| {
            let other = n - 1;
            format!(", c{n} (n) AS (SELECT n FROM c{other}{begins} UNION ALL SELECT n + 1 FROM c{n} WHERE n < 1)")
        });
        let more: String = more.collect();
        format!(
            "WITH RECURSIVE c0 (n) AS (SELECT 1){more} SELECT * FROM c{}",
            count - 1
        )
    };
    // What begins is bound twice, with all that it names.
    let doubling = |count| recursive(count, " UNION ALL SELECT 2");
    house.run(&named(QUERIES_MAX))?;
    house.run(&recursive(QUERIES_MAX, ""))?;
    house.run(&doubling(DOUBLING_MAX))?;
    for count in [QUERIES_MAX + 1, 2000] {
        house.refused(&named(count), 1436, &["the most"])?;
        house.refused(&recursive(count, ""), 1436, &["the most"])?;
    }
    for count in [DOUBLING_MAX + 1, 60] {
        house.refused(&doubling(count), 1436, &["the most"])?;
    }
    Ok(())
}

/// Views of views, and queries within them: one text is no way around the limit of another.
fn views(house: &mut House) -> Result<(), String> {
    house.run("CREATE VIEW v0 AS SELECT 1 AS a")?;
    let view = |n: usize| format!("CREATE VIEW v{n} AS SELECT a FROM v{}", n - 1);
    for n in 1..VIEWS_MAX {
        house.run(&view(n))?;
    }
    let last = VIEWS_MAX - 1;
    if house.value(&format!("SELECT a FROM v{last}"))? != "1" {
        return Err(format!("v{last} is not 1"));
    }
    house.refused(&view(VIEWS_MAX), 1436, &["24 levels, the most"])?;
    let derived = |levels: usize, from: &str| {
        let (open, close) = ("SELECT * FROM (".repeat(levels), ") x".repeat(levels));
        format!("{open}SELECT a FROM {from}{close}")
    };
    for n in 0..4 {
        let from = if n == 0 {
            "v0".to_owned()
        } else {
            format!("w{}", n - 1)
        };
        let sql = format!("CREATE VIEW w{n} AS {}", derived(40, &from));
        match house.survived(&sql)? {
            // Forty of its own, the view's, and those of the ones below.
            0 if n < 2 => {}
            1436 if 2 <= n => return Ok(()),
            errno => return Err(format!("a view of 40 levels, the {n}th: {errno}")),
        }
    }
    Ok(())
}

/// Documents and paths into them.
pub(crate) fn documents(house: &mut House) -> Result<(), String> {
    let arrays = format!("CONCAT(REPEAT('[', {DEEP}), REPEAT(']', {DEEP}))");
    let objects = format!("CONCAT(REPEAT('{{\"a\":', {DEEP}), '1', REPEAT('}}', {DEEP}))");
    for document in [&arrays, &objects] {
        for (before, after) in [
            ("JSON_DEPTH(", ")"),
            ("JSON_EXTRACT(", ", '$')"),
            ("CAST(", " AS JSON)"),
            ("JSON_PRETTY(", ")"),
        ] {
            let sql = format!("SELECT {before}{document}{after}");
            let errno = house.survived(&sql)?;
            if errno != 3157 {
                return Err(format!(
                    "{before}…{after} of a document of {DEEP} levels: {errno}"
                ));
            }
        }
    }
    if house.value(&format!("SELECT JSON_VALID({arrays})"))? != "0" {
        return Err(format!("a document of {DEEP} levels is valid"));
    }
    let steps = format!("SELECT JSON_EXTRACT('[1]', CONCAT('$', REPEAT('[0]', {DEEP})))");
    house.refused(&steps, 3157, &["100000", "1000"])?;
    house.survived("SELECT JSON_EXTRACT('[[1]]', CONCAT('$', REPEAT('**[0]', 100)))")?;
    house.run("CREATE TABLE j (id INT PRIMARY KEY, doc JSON)")?;
    let deep = format!(
        "INSERT INTO j VALUES (1, '{}{}')",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    if house.survived(&deep)? == 0 {
        return Err("a document of 5000 levels is stored".to_owned());
    }
    house.run(&format!(
        "INSERT INTO j VALUES (2, '{}{}')",
        "[".repeat(100),
        "]".repeat(100)
    ))?;
    if house.value("SELECT JSON_DEPTH(doc) FROM j WHERE id = 2")? != "100" {
        return Err("a document of 100 levels is not".to_owned());
    }
    Ok(())
}
