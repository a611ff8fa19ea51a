//! What nests: an error at the limit, never the end of a thread's stack.

use crate::house::House;

/// Levels beyond every limit, and beyond every stack if nothing held them.
const DEEP: usize = 100_000;

/// What opens and closes a level around `1`.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("(", ")"),
    ("NOT ", ""),
    ("- ", ""),
    ("~", ""),
    ("ABS(", ")"),
    ("COALESCE(1, ", ")"),
    ("(SELECT ", ")"),
    ("EXISTS (SELECT ", ")"),
    ("1 IN (SELECT ", ")"),
    ("CASE WHEN ", " THEN 1 END"),
    ("CASE 1 WHEN 1 THEN ", " END"),
    ("IF(1, ", ", 2)"),
    ("CAST(", " AS SIGNED)"),
    ("JSON_ARRAY(", ")"),
    ("(1, ", ")"),
    ("@a := ", ""),
    ("BINARY ", ""),
    ("1 BETWEEN 0 AND (", ")"),
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

/// Expressions, queries, joins.
pub(crate) fn all(house: &mut House) -> Result<(), String> {
    for (open, close) in EXPRESSIONS {
        let nested =
            |levels: usize| format!("SELECT {}1{}", open.repeat(levels), close.repeat(levels));
        house.refused(&nested(DEEP), 1436, &["the most"])?;
        // As deep as is allowed, whatever that is: it is also run.
        for levels in [40, 95, 400] {
            house.survived(&nested(levels))?;
        }
    }
    for chain in CHAINS {
        house.refused(
            &format!("SELECT 1{}", chain.repeat(DEEP)),
            1436,
            &["the most"],
        )?;
        house.survived(&format!("SELECT 1{}", chain.repeat(390)))?;
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
    queries(house)
}

fn queries(house: &mut House) -> Result<(), String> {
    let parens = (repeated("("), repeated(")"));
    house.refused(
        &format!("SELECT 1 FROM {}t{}", parens.0, parens.1),
        1436,
        &["the most"],
    )?;
    house.refused(
        &format!("{}SELECT 1{}", parens.0, parens.1),
        1436,
        &["the most"],
    )?;
    let derived = |levels: usize| {
        let (open, close) = ("SELECT * FROM (".repeat(levels), ") x".repeat(levels));
        format!("{open}SELECT 1{close}")
    };
    house.refused(&derived(DEEP), 1436, &["the most"])?;
    house.survived(&derived(90))?;
    let named = |count: usize| {
        let more = (1..count).map(|n| format!(", c{n} AS (SELECT * FROM c{})", n - 1));
        let more: String = more.collect();
        format!("WITH c0 AS (SELECT 1){more} SELECT * FROM c{}", count - 1)
    };
    house.refused(&named(2000), 1436, &["the most"])?;
    house.survived(&named(100))?;
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
    house.refused(&recursive(2000, ""), 1436, &["the most"])?;
    house.survived(&recursive(100, ""))?;
    // What begins is bound twice, with all that it names.
    house.refused(&recursive(60, " UNION ALL SELECT 2"), 1436, &["the most"])?;
    let joined: Vec<String> = (0..1000).map(|n| format!("t t{n}")).collect();
    house.refused(
        &format!("SELECT 1 FROM {}", joined.join(", ")),
        1116,
        &["128"],
    )?;
    let joined = (0..1000).map(|n| format!(" LEFT JOIN t t{n} ON 1"));
    let joined = joined.collect::<Vec<_>>().concat();
    house.survived(&format!("SELECT 1 FROM t{joined}"))?;
    // A view of a view of a view.
    house.run("CREATE VIEW v0 AS SELECT 1 AS a")?;
    for n in 1..40 {
        let view = format!("CREATE VIEW v{n} AS SELECT a FROM v{}", n - 1);
        if house.survived(&view)? != 0 {
            break;
        }
    }
    Ok(())
}

fn repeated(text: &str) -> String {
    text.repeat(DEEP)
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
            if house.survived(&sql)? == 0 {
                return Err(format!(
                    "{before}…{after} of a document of {DEEP} levels is answered"
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
