//! Words of the language: interval units, and names that must be quoted.
//!
//! Source: MySQL 8.0 Reference Manual, 9.3 "Keywords and Reserved Words".

use crate::sql::expr::IntervalUnit;

/// A name as it can stand in a statement: in backticks unless it is a plain word.
pub fn quote_name(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && RESERVED
            .binary_search(&name.to_ascii_uppercase().as_str())
            .is_err();
    if is_plain {
        return name.to_owned();
    }
    format!("`{}`", name.replace('`', "``"))
}

/// The word of an interval unit.
pub fn unit_word(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Microsecond => "MICROSECOND",
        IntervalUnit::Second => "SECOND",
        IntervalUnit::Minute => "MINUTE",
        IntervalUnit::Hour => "HOUR",
        IntervalUnit::Day => "DAY",
        IntervalUnit::Week => "WEEK",
        IntervalUnit::Month => "MONTH",
        IntervalUnit::Quarter => "QUARTER",
        IntervalUnit::Year => "YEAR",
        IntervalUnit::SecondMicrosecond => "SECOND_MICROSECOND",
        IntervalUnit::MinuteMicrosecond => "MINUTE_MICROSECOND",
        IntervalUnit::MinuteSecond => "MINUTE_SECOND",
        IntervalUnit::HourMicrosecond => "HOUR_MICROSECOND",
        IntervalUnit::HourSecond => "HOUR_SECOND",
        IntervalUnit::HourMinute => "HOUR_MINUTE",
        IntervalUnit::DayMicrosecond => "DAY_MICROSECOND",
        IntervalUnit::DaySecond => "DAY_SECOND",
        IntervalUnit::DayMinute => "DAY_MINUTE",
        IntervalUnit::DayHour => "DAY_HOUR",
        IntervalUnit::YearMonth => "YEAR_MONTH",
    }
}

/// MySQL's reserved words, in order.
const RESERVED: &[&str] = &[
    "ACCESSIBLE", "ADD", "ALL", "ALTER", "ANALYZE", "AND", "AS", "ASC", "ASENSITIVE", "BEFORE",
    "BETWEEN", "BIGINT", "BINARY", "BLOB", "BOTH", "BY", "CALL", "CASCADE", "CASE", "CHANGE",
    "CHAR", "CHARACTER", "CHECK", "COLLATE", "COLUMN", "CONDITION", "CONSTRAINT", "CONTINUE",
    "CONVERT", "CREATE", "CROSS", "CUBE", "CUME_DIST", "CURRENT_DATE", "CURRENT_TIME",
    "CURRENT_TIMESTAMP", "CURRENT_USER", "CURSOR", "DATABASE", "DATABASES", "DAY_HOUR",
    "DAY_MICROSECOND", "DAY_MINUTE", "DAY_SECOND", "DEC", "DECIMAL", "DECLARE", "DEFAULT",
    "DELAYED", "DELETE", "DENSE_RANK", "DESC", "DESCRIBE", "DETERMINISTIC", "DISTINCT",
    "DISTINCTROW", "DIV", "DOUBLE", "DROP", "DUAL", "EACH", "ELSE", "ELSEIF", "EMPTY", "ENCLOSED",
    "ESCAPED", "EXCEPT", "EXISTS", "EXIT", "EXPLAIN", "FALSE", "FETCH", "FIRST_VALUE", "FLOAT",
    "FLOAT4", "FLOAT8", "FOR", "FORCE", "FOREIGN", "FROM", "FULLTEXT", "FUNCTION", "GENERATED",
    "GET", "GRANT", "GROUP", "GROUPING", "GROUPS", "HAVING", "HIGH_PRIORITY", "HOUR_MICROSECOND",
    "HOUR_MINUTE", "HOUR_SECOND", "IF", "IGNORE", "IN", "INDEX", "INFILE", "INNER", "INOUT",
    "INSENSITIVE", "INSERT", "INT", "INT1", "INT2", "INT3", "INT4", "INT8", "INTEGER",
    "INTERSECT", "INTERVAL", "INTO", "IO_AFTER_GTIDS", "IO_BEFORE_GTIDS", "IS", "ITERATE", "JOIN",
    "JSON_TABLE", "KEY", "KEYS", "KILL", "LAG", "LAST_VALUE", "LATERAL", "LEAD", "LEADING",
    "LEAVE", "LEFT", "LIKE", "LIMIT", "LINEAR", "LINES", "LOAD", "LOCALTIME", "LOCALTIMESTAMP",
    "LOCK", "LONG", "LONGBLOB", "LONGTEXT", "LOOP", "LOW_PRIORITY", "MASTER_BIND",
    "MASTER_SSL_VERIFY_SERVER_CERT", "MATCH", "MAXVALUE", "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT",
    "MIDDLEINT", "MINUTE_MICROSECOND", "MINUTE_SECOND", "MOD", "MODIFIES", "NATURAL", "NOT",
    "NO_WRITE_TO_BINLOG", "NTH_VALUE", "NTILE", "NULL", "NUMERIC", "OF", "ON", "OPTIMIZE",
    "OPTIMIZER_COSTS", "OPTION", "OPTIONALLY", "OR", "ORDER", "OUT", "OUTER", "OUTFILE", "OVER",
    "PARTITION", "PERCENT_RANK", "PRECISION", "PRIMARY", "PROCEDURE", "PURGE", "RANGE", "RANK",
    "READ", "READS", "READ_WRITE", "REAL", "RECURSIVE", "REFERENCES", "REGEXP", "RELEASE",
    "RENAME", "REPEAT", "REPLACE", "REQUIRE", "RESIGNAL", "RESTRICT", "RETURN", "REVOKE", "RIGHT",
    "RLIKE", "ROW", "ROWS", "ROW_NUMBER", "SCHEMA", "SCHEMAS", "SECOND_MICROSECOND", "SELECT",
    "SENSITIVE", "SEPARATOR", "SET", "SHOW", "SIGNAL", "SMALLINT", "SPATIAL", "SPECIFIC", "SQL",
    "SQLEXCEPTION", "SQLSTATE", "SQLWARNING", "SQL_BIG_RESULT", "SQL_CALC_FOUND_ROWS",
    "SQL_SMALL_RESULT", "SSL", "STARTING", "STORED", "STRAIGHT_JOIN", "SYSTEM", "TABLE",
    "TERMINATED", "THEN", "TINYBLOB", "TINYINT", "TINYTEXT", "TO", "TRAILING", "TRIGGER", "TRUE",
    "UNDO", "UNION", "UNIQUE", "UNLOCK", "UNSIGNED", "UPDATE", "UPSERT", "USAGE", "USE", "USING",
    "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "VALUES", "VARBINARY", "VARCHAR", "VARCHARACTER",
    "VARYING", "VIRTUAL", "WHEN", "WHERE", "WHILE", "WINDOW", "WITH", "WRITE", "XOR",
    "YEAR_MONTH", "ZEROFILL",
];

#[cfg(test)]
mod tests {
    use super::{RESERVED, quote_name};

    #[test]
    fn reserved_words_are_in_order() {
        assert!(RESERVED.is_sorted());
    }

    #[test]
    fn names_are_quoted_when_they_need_it() {
        let cases = [
            ("orders", "orders"),
            ("Order_2", "Order_2"),
            ("order", "`order`"),
            ("rank", "`rank`"),
            ("2nd", "`2nd`"),
            ("a b", "`a b`"),
            ("a`b", "`a``b`"),
            ("名", "`名`"),
        ];
        for (name, quoted) in cases {
            assert_eq!(quote_name(name), quoted);
        }
    }
}
