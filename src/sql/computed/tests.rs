//! What can be in an index and what cannot, how it is spelled, and what it makes of rows.

use std::sync::Arc;

use super::define;
use super::*;
use crate::exec::ddl::index::define_index;
use crate::plan::testing;
use crate::sql::ast::Statement;

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT UNSIGNED, c VARCHAR(20), \
                     x DOUBLE, n DECIMAL(10,2), d DATE, dt DATETIME(3), ts TIMESTAMP, tm TIME, \
                     y YEAR, doc JSON, bin VARBINARY(10), e ENUM('p', 'q'), txt TEXT)";

fn expression(text: &str) -> crate::sql::ast::Expr {
    parse::expression(text.as_bytes(), MODE).unwrap()
}

/// The stored text and type of an expression, or its error.
fn part(table: &Arc<Table>, text: &str) -> String {
    let ctx = testing::context("+08:00", Vec::new());
    match define::part((table, "i"), &expression(text), &ctx) {
        Ok(part) => format!("{} {}", part.column.name, part.column.ty),
        Err(error) => format!("error {}", error.code().errno()),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn expressions_are_spelled_or_refused() {
    let table = Arc::new(testing::table(TABLE));
    let cases = [
        ("LOWER(c)", "lower(`c`) varchar"),
        ("a + 1", "(`a` + 1) bigint"),
        ("-a", "-(`a`) bigint"),
        ("a % 3 = 1", "((`a` % 3) = 1) bigint"),
        ("n * 2", "(`n` * 2) decimal(11,2)"),
        ("a / 2", "error 1235"),
        (
            "CAST(a / 2 AS DECIMAL(10,1))",
            "cast((`a` / 2) as decimal(10,1)) decimal(10,1)",
        ),
        (
            "doc->>'$.a.b'",
            "json_unquote(json_extract(`doc`,'$.a.b')) varchar",
        ),
        ("doc->'$.a'", "error 3753"),
        (
            "CAST(doc->>'$.n' AS SIGNED)",
            "cast(json_unquote(json_extract(`doc`,'$.n')) as signed) bigint",
        ),
        ("SUBSTRING(txt, 1, 3)", "substring(`txt`,1,3) varchar"),
        (
            "CONCAT(c, 'it''s', \"\\\\\")",
            "concat(`c`,'it\\'s','\\\\') varchar",
        ),
        ("c COLLATE utf8mb4_bin", "error 3762"),
        ("c", "error 3762"),
        ("1", "error 3761"),
        (
            "CASE WHEN a > 1 THEN 'x' ELSE c END",
            "(case when (`a` > 1) then 'x' else `c` end) varchar",
        ),
        ("IF(a IS NULL, 0, a)", "if((`a` is null),0,`a`) bigint"),
        (
            "c LIKE 'a%' AND a IN (1, 2)",
            "((`c` like 'a%') and (`a` in (1,2))) bigint",
        ),
        ("YEAR(d)", "year(`d`) bigint"),
        (
            "EXTRACT(YEAR_MONTH FROM dt)",
            "extract(year_month from `dt`) bigint",
        ),
        (
            "TIMESTAMPDIFF(DAY, d, '2024-01-01')",
            "timestampdiff(day,`d`,'2024-01-01') bigint",
        ),
        ("d + INTERVAL 1 DAY", "(`d` + interval 1 day) date"),
        (
            "DATE_FORMAT(dt, '%Y-%m')",
            "date_format(`dt`,'%Y-%m') varchar",
        ),
        ("HOUR(tm)", "hour(`tm`) bigint"),
        // What differs from session to session, or from day to day.
        ("YEAR(c)", "error 3758"),
        ("YEAR(tm)", "error 3758"),
        ("DATE(ts)", "error 3758"),
        ("CAST(ts AS CHAR)", "error 3758"),
        ("CAST(c AS DATE)", "error 3758"),
        ("CAST(tm AS DATETIME)", "error 3758"),
        ("UNIX_TIMESTAMP(dt)", "error 3758"),
        ("FROM_UNIXTIME(a)", "error 3758"),
        ("CONVERT_TZ(dt, 'UTC', 'SYSTEM')", "error 3758"),
        ("c + INTERVAL 1 DAY", "error 3758"),
        ("d = c", "error 3758"),
        ("dt > '2024-01-01 00:00:00+02:00'", "error 3758"),
        ("tm = dt", "error 3758"),
        ("dt > TIME'10:00:00'", "error 3758"),
        ("d IN (TIME'10:00:00', '2024-01-01')", "error 3758"),
        ("tm > TIME'10:00:00'", "(`tm` > TIME'10:00:00') bigint"),
        ("(d, a) = (c, 1)", "error 3758"),
        ("(d, a) IN ((c, 1), ('2024-01-01', 2))", "error 3758"),
        (
            "(d, a) IN (('2024-01-01', 1))",
            "((`d`,`a`) in (('2024-01-01',1))) bigint",
        ),
        ("CASE d WHEN c THEN 1 END", "error 3758"),
        ("CASE WHEN a = 1 THEN dt ELSE tm END", "error 3758"),
        (
            "CASE d WHEN '2024-01-01' THEN 1 END",
            "(case `d` when '2024-01-01' then 1 end) bigint",
        ),
        ("COALESCE(dt, tm)", "error 3758"),
        (
            "COALESCE(d, '2024-01-01')",
            "coalesce(`d`,'2024-01-01') varchar",
        ),
        ("GREATEST(d, c)", "error 3758"),
        ("NULLIF(dt, c)", "error 3758"),
        ("FIELD(dt, c)", "error 3758"),
        ("GREATEST(a, x, 5)", "greatest(`a`,`x`,5) double"),
        ("CONCAT(c, NOW())", "error 3758"),
        ("a + RAND()", "error 3758"),
        ("CONCAT(c, USER())", "error 3758"),
        ("CONCAT(c, DATABASE())", "error 3758"),
        ("a + @@auto_increment_increment", "error 1193"),
        ("a + @x", "error 3758"),
        ("a + ?", "error 3758"),
        ("nosuch + 1", "error 1054"),
        ("COUNT(a)", "error 1111"),
    ];
    let wrong = cases.iter().filter_map(|(text, expected)| {
        let found = part(&table, text);
        (found != *expected).then(|| format!("{text}\n  expected {expected}\n  found    {found}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_condition_may_ask_whether_a_timestamp_is_there() {
    let table = Arc::new(testing::table(TABLE));
    let ctx = testing::context("+08:00", Vec::new());
    let filter = |text: &str| define::filter((&table, "i"), &expression(text), &ctx);
    assert_eq!(filter("ts IS NOT NULL").unwrap(), "(`ts` is not null)");
    assert_eq!(filter("c = 'x'").unwrap(), "(`c` = 'x')");
    let error = filter("ts > '2024-01-01'").unwrap_err();
    assert_eq!(error.code(), Code::ExpressionIndexFunction);
    assert!(error.message().contains("use DATETIME"), "{error}");
}

#[test]
fn texts_of_indexes_have_a_limit() {
    let table = Arc::new(testing::table(TABLE));
    let ctx = testing::context("+00:00", Vec::new());
    for (letters, is_taken) in [(65_000, true), (66_000, false)] {
        let text = format!("CONCAT(c, '{}')", "x".repeat(letters));
        let part = define::part((&table, "i"), &expression(&text), &ctx).map(|_| ());
        let text = format!("c = '{}'", "x".repeat(letters));
        let filter = define::filter((&table, "i"), &expression(&text), &ctx).map(|_| ());
        for defined in [part, filter] {
            assert_eq!(defined.is_ok(), is_taken, "{letters}");
            if let Err(error) = defined {
                assert_eq!(error.code(), Code::WrongExpressionIndex);
                let text = error.message();
                assert!(
                    text.contains("Expression of index 'i' is too long"),
                    "{text}"
                );
                assert!(text.ends_with("(max = 65536)"), "{text}");
            }
        }
    }
}

fn index(table: &Table, text: &str) -> Index {
    let sql = format!("CREATE INDEX i ON t {text}");
    let Statement::CreateIndex(create) = testing::statement(&sql) else {
        panic!("{sql}")
    };
    define_index(
        table,
        &create.index,
        &testing::context("+00:00", Vec::new()),
    )
    .unwrap()
}

/// What an index makes of a row, computed parts only.
fn computed_of(table: &Table, index: &Index, row: &[Value<'static>]) -> String {
    match image(table, index, row) {
        Ok(None) => "none".to_owned(),
        Ok(Some(image)) => {
            let parts = image.iter().skip(table.columns.len());
            let texts: Vec<String> = parts.map(|value| format!("{value:?}")).collect();
            texts.join(" ")
        }
        Err(error) => format!("error {}", error.code().errno()),
    }
}

#[test]
fn rows_are_seen_with_their_computed_parts() {
    let table = testing::table("CREATE TABLE t (id INT PRIMARY KEY, c TEXT, a BIGINT, b BLOB)");
    let row = |c: &'static str, a: i64| {
        vec![
            Value::Int(1),
            Value::Text(c.into()),
            Value::Int(a),
            Value::Bytes(c.as_bytes().into()),
        ]
    };
    let cases = [
        ("(c(2))", row("ééé", 1), "Text(\"éé\")"),
        ("(c(2))", row("é", 1), "Text(\"é\")"),
        ("(b(3))", row("ééé", 1), "Bytes([195, 169, 195])"),
        ("((a * 2), c(1) DESC)", row("xy", 4), "Int(8) Text(\"x\")"),
        ("((a * 2))", row("xy", i64::MAX), "error 1690"),
        ("(a) WHERE a > 3", row("", 3), "none"),
        ("(a) WHERE a > 3", row("", 4), ""),
        ("((LOWER(c))) WHERE a / 0 > 1", row("", 4), "none"),
        ("((a DIV 0))", row("", 4), "Null"),
    ];
    for (text, row, expected) in cases {
        let index = index(&table, text);
        assert_eq!(computed_of(&table, &index, &row), expected, "{text}");
        // Bound once: the second time the same.
        assert_eq!(computed_of(&table, &index, &row), expected, "{text}");
    }
}

#[test]
fn a_definition_that_cannot_be_read_is_damage() {
    let table = testing::table("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    for text in ["nosuch(`a`)", "`a` +", "`b` = 1", ""] {
        let mut index = index(&table, "(a) WHERE a > 1");
        index.computed.filter = Some(text.to_owned());
        let error = image(&table, &index, &[Value::Int(1), Value::Int(2)]).unwrap_err();
        assert_eq!(error.code(), Code::StorageCorrupt, "{text}");
    }
}
