//! Every statement of the parser's goldens that is a query reads back from its text as it was.

use super::*;
use crate::sql::ast::Statement;
use crate::sql::parse::parse_first;
use crate::sql::parse::tests::DEFAULT_MODE;

struct AsWritten;

impl Spelling for AsWritten {}

fn parsed(sql: &str) -> Option<Select> {
    match parse_first(sql.as_bytes(), DEFAULT_MODE).ok()?.statement {
        Statement::Select(select) => Some(*select),
        _ => None,
    }
}

/// The text, which must be read back as the same text.
fn text(sql: &str) -> String {
    let select = parsed(sql).unwrap_or_else(|| panic!("{sql} is no query"));
    let text = query(&select, &AsWritten).text;
    let again = parsed(&text).unwrap_or_else(|| panic!("{text} is no query"));
    assert_eq!(query(&again, &AsWritten).text, text, "of {sql}");
    text
}

#[test]
fn queries_of_the_goldens_are_read_back() {
    let mut count = 0;
    for file in ["select", "expr", "functions", "window"] {
        let path = format!(
            "{}/src/sql/testdata/parse/{file}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        let Ok(golden) = std::fs::read_to_string(path) else {
            continue;
        };
        for line in golden.lines() {
            let refused = line.contains("INTO") || line.contains("MATCH");
            if !refused && parsed(line).is_some() {
                text(line);
                count += 1;
            }
        }
    }
    assert!(20 < count, "{count} queries");
}

#[test]
fn spelling_is_mysqls() {
    let cases = [
        (
            "SELECT a, b+1 x FROM t WHERE a > 1 AND b IN (1,2)",
            "select `a` AS `a`,(`b` + 1) AS `x` from `t` where ((`a` > 1) and (`b` in (1,2)))",
        ),
        (
            "SELECT 1+2-3*4*5 FROM t JOIN u ON t.a = u.b LEFT JOIN v USING (c)",
            "select (1 + 2 - (3 * 4 * 5)) AS `1+2-3*4*5` from ((`t` join `u` on((`t`.`a` = \
             `u`.`b`))) left join `v` using (`c`))",
        ),
        (
            "SELECT TRIM(LEADING 'x' FROM a), EXTRACT(YEAR FROM b) FROM t",
            "select trim(leading 'x' from `a`) AS `TRIM(LEADING 'x' FROM a)`,extract(year from `b`) \
             AS `EXTRACT(YEAR FROM b)` from `t`",
        ),
        (
            "SELECT 1 UNION ALL (SELECT 2 LIMIT 1) UNION SELECT 3 ORDER BY 1",
            "select 1 AS `1` union all (select 2 AS `2` limit 1) union select 3 AS `3` order by 1",
        ),
        (
            "SELECT RANK() OVER (PARTITION BY a ORDER BY b DESC ROWS 2 PRECEDING) FROM t",
            "select rank() OVER ( partition by `a` order by `b` desc rows between 2 preceding and \
             current row) AS `RANK() OVER (PARTITION BY a ORDER BY b DESC ROWS 2 PRECEDING)` from \
             `t`",
        ),
    ];
    for (sql, expected) in cases {
        // The name of a column without alias is cut from the text as it was written.
        assert_eq!(text(sql), expected);
    }
}

#[test]
fn a_column_without_a_possible_name_gets_one() {
    let long = "1 + ".repeat(30);
    let text = text(&format!("SELECT {long} 1 FROM t"));
    assert!(text.contains("AS `Name_exp_1`"), "{text}");
    let Some(select) = parsed("SELECT ?, 1") else {
        panic!("a query");
    };
    assert!(query(&select, &AsWritten).has_variable);
}
