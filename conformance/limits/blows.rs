//! Single statements that are too much: in bytes, columns, members, patterns, results, rounds, rows.

use crate::OPTIONS;
use crate::house::House;
use crate::long::killed;

/// `max_allowed_packet` of the server.
const PACKET_BYTES_MAX: usize = 16 << 20;
/// `max_value_bytes`.
const VALUE_BYTES_MAX: usize = 2 << 20;
/// Members of a long list.
const MEMBERS: u64 = 1_000_000;
/// Memory that a list of so many keys may take on its way to its refusal: the text, its words, and the trees.
/// Words and commas are 256 bytes each by what is asked for (`TREE_BYTES_PER_TOKEN`), and 12 twice while they
/// are gathered.
const KEYED_LIST_BYTES_MAX: u64 = 2 * MEMBERS * (256 + 24) + 2 * LIST_TEXT_BYTES_MAX;
/// The same of a list that is answered: it has its values beside each other, too, while they are sorted.
const LIST_BYTES_MAX: u64 = KEYED_LIST_BYTES_MAX + 64 * MEMBERS;
/// The same when there is no memory for the trees: the text and its words alone. Both grow by doubling, and
/// what was copied meanwhile is not given back at once: twice the power of two that holds them. And something
/// for a thread that begins.
const REFUSED_LIST_BYTES_MAX: u64 = 2 * 12 * (2 * MEMBERS).next_power_of_two()
    + 2 * LIST_TEXT_BYTES_MAX.next_power_of_two()
    + (8 << 20);
/// Bytes of the list's text: six digits and a comma each.
const LIST_TEXT_BYTES_MAX: u64 = 7 * MEMBERS;

/// Statements of `max_allowed_packet` and of a byte more.
pub(crate) fn packets(house: &mut House) -> Result<(), String> {
    let statement = |bytes: usize| {
        let frame = "SELECT LENGTH('')".len();
        format!("SELECT LENGTH('{}')", "x".repeat(bytes - frame))
    };
    // The byte of the command counts.
    let most = PACKET_BYTES_MAX - 1;
    let length = house.value(&statement(most))?;
    if length != (most - "SELECT LENGTH('')".len()).to_string() {
        return Err(format!("a statement at the limit gives {length}"));
    }
    house.refused(&statement(most + 1), 1153, &["16777216"])?;
    house.refused(&statement(3 * PACKET_BYTES_MAX), 1153, &["16777216"])?;
    house.refused(&format!("SELECT {}", "1,".repeat(100_000)), 1064, &[])?;
    house.refused(&format!("SELECT 1 {}", "/*".repeat(1_000_000)), 1064, &[])?;
    let separator = "a".repeat(1025);
    let load = format!("LOAD DATA LOCAL INFILE 'f' INTO TABLE t LINES STARTING BY '{separator}'");
    house.refused(&load, 1083, &["1025", "1024"])
}

/// Rows of many columns.
pub(crate) fn columns(house: &mut House) -> Result<(), String> {
    let defined = |count: usize| {
        let columns: Vec<String> = (1..count).map(|n| format!(", c{n} INT")).collect();
        columns.concat()
    };
    house.run(&format!(
        "CREATE TABLE w (id INT PRIMARY KEY{})",
        defined(1000)
    ))?;
    let values: Vec<String> = (1..1000).map(|n| format!(", {n}")).collect();
    let values = values.concat();
    let rows: Vec<String> = (0..20).map(|id| format!("({id}{values})")).collect();
    house.run(&format!("INSERT INTO w VALUES {}", rows.join(", ")))?;
    let read = house.run("SELECT * FROM w")?;
    let is_whole = |row: &Vec<Option<String>>| {
        let mut cells = row.iter().skip(1).zip(1..1000);
        row.len() == 1000 && cells.all(|(cell, n)| cell.as_deref() == Some(&*n.to_string()))
    };
    if read.len() != 20 || !read.iter().all(is_whole) {
        return Err("rows of 1000 columns are not read back as they were".to_owned());
    }
    let most = format!("CREATE TABLE most (id INT PRIMARY KEY{})", defined(4096));
    house.run(&most)?;
    let more = format!("CREATE TABLE more (id INT PRIMARY KEY{})", defined(4097));
    house.refused(&more, 1117, &["4097", "4096"])?;
    house.refused(
        "ALTER TABLE most ADD COLUMN more INT",
        1117,
        &["4097", "4096"],
    )?;
    let select = format!("SELECT 1{}", ", 1".repeat(20_000 - 1));
    house.refused(&select, 1117, &["20000", "16384"])?;
    let members: Vec<String> = (0..70_000).map(|n| format!("'m{n}'")).collect();
    let members = members.join(", ");
    house.refused(
        &format!("CREATE TABLE e (id INT PRIMARY KEY, e ENUM({members}))"),
        1074,
        &["65535"],
    )
}

/// Values at and over their limit.
pub(crate) fn values(house: &mut House) -> Result<(), String> {
    house.run("CREATE TABLE v (id INT PRIMARY KEY, v LONGTEXT, b LONGBLOB)")?;
    let text = "é".repeat(VALUE_BYTES_MAX / 2);
    house.run(&format!("INSERT INTO v (id, v) VALUES (1, '{text}')"))?;
    if house.value("SELECT v FROM v WHERE id = 1")? != text {
        return Err("a value at the limit is not read back as it was".to_owned());
    }
    let over = (VALUE_BYTES_MAX + 1).to_string();
    let parts = [over.as_str(), "2097152"];
    house.refused(
        &format!("INSERT INTO v (id, v) VALUES (2, '{text}x')"),
        1406,
        &parts,
    )?;
    let blob = format!("INSERT INTO v (id, b) VALUES (2, REPEAT('x', {over}))");
    house.refused(&blob, 1406, &parts)?;
    let updated = format!("UPDATE v SET b = REPEAT('x', {over}) WHERE id = 1");
    house.refused(&updated, 1406, &parts)?;
    if house.value("SELECT COUNT(*) FROM v")? != "1" {
        return Err("a refused value left a row".to_owned());
    }
    Ok(())
}

/// A list of a million members is answered, within bounded memory.
pub(crate) fn in_lists(house: &mut House) -> Result<(), String> {
    let list = listed(house)?;
    let sql = format!("SELECT COUNT(*) FROM t WHERE v IN ({list})");
    house.grows_by_at_most(LIST_BYTES_MAX, |house| {
        let found = house.value(&sql)?;
        let is_right = (found == "2").then_some(());
        is_right.ok_or_else(|| format!("a list of {MEMBERS} finds {found}"))
    })
}

/// A list of a million keys is refused, and nothing is made of it but trees.
pub(crate) fn key_lists(house: &mut House) -> Result<(), String> {
    let list = listed(house)?;
    let by_key = format!("SELECT COUNT(*) FROM t WHERE id IN ({list})");
    let refused = |house: &mut House| house.refused(&by_key, 1104, &["1000000", "2000"]);
    house.grows_by_at_most(KEYED_LIST_BYTES_MAX, refused)
}

/// A list that is answered while memory is free is refused before there are trees where some is taken.
pub(crate) fn lists_without_memory() -> Result<String, String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let limited = [OPTIONS, &["--memory-limit=640MiB"]].concat();
    let mut house = House::open(scratch.path(), &limited)?;
    let list = listed(&mut house)?;
    house.run(&format!("SELECT COUNT(*) FROM t WHERE v IN ({list})"))?;
    for name in ["a", "b", "c"] {
        // What the list has taken is given back by and by.
        house.eventually(&format!("SET @{name} = REPEAT('x', 60000000)"))?;
    }
    let parts = [
        "a statement of 20000",
        "words and signs needs 5120",
        "671088640",
    ];
    for column in ["v", "id"] {
        let sql = format!("SELECT COUNT(*) FROM t WHERE {column} IN ({list})");
        house.grows_by_at_most(REFUSED_LIST_BYTES_MAX, |house| {
            house.refused(&sql, 1041, &parts)
        })?;
    }
    let members: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    house.eventually(&format!(
        "SELECT COUNT(*) FROM t WHERE v IN ({})",
        members.join(",")
    ))?;
    house.client = house.another()?;
    house.is_well()
}

/// Makes a table of three rows; the text of a long list.
fn listed(house: &mut House) -> Result<String, String> {
    house.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")?;
    house.run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3000000)")?;
    let members: Vec<String> = (0..MEMBERS).map(|n| n.to_string()).collect();
    Ok(members.join(","))
}

/// Patterns that other engines run for ever on, or that are large when they are compiled.
pub(crate) fn patterns(house: &mut House) -> Result<(), String> {
    for pattern in [
        "'((a{100}){100}){100}'",
        "'(a{1000}){1000}'",
        "'a{4294967296}'",
        "REPEAT('(', 10000)",
        "CONCAT(REPEAT('(', 10000), 'a', REPEAT(')', 10000))",
        "REPEAT('a|', 100000)",
        "REPEAT('[a-z]', 100000)",
        "'(((((((((\\\\w{9}){9}){9}){9}){9}){9}){9}){9}){9}'",
    ] {
        house.refused(&format!("SELECT 'a' REGEXP {pattern}"), 3685, &[])?;
    }
    for pattern in [
        "(a+)+b$",
        "(a|a)*b",
        "(a*)*b",
        "(.*)(.*)(.*)(.*)b",
        "(a|aa)+b",
    ] {
        let found = house.value(&format!("SELECT REPEAT('a', 20000) REGEXP '{pattern}'"))?;
        if found != "0" {
            return Err(format!("{pattern} is {found}"));
        }
    }
    let long = "SELECT REPEAT('ab', 1000000) REGEXP 'a[ab]{2000}c'";
    house.refused(long, 3699, &["2000000", "1073741824"])?;
    let long = "SELECT REGEXP_REPLACE(REPEAT('ab', 1000000), 'a[ab]{2000}c', '')";
    house.refused(long, 3699, &["2000000", "1073741824"])?;
    let found = house.value("SELECT REPEAT('a', 2000) LIKE CONCAT(REPEAT('%a', 1000), 'b')")?;
    if found != "0" {
        return Err(format!("a LIKE of many % is {found}"));
    }
    Ok(())
}

/// Results that are larger than they may be.
pub(crate) fn results(house: &mut House) -> Result<(), String> {
    for call in [
        "REPEAT('a', 1 << 40)",
        "SPACE(1 << 40)",
        "RPAD('a', 1 << 40, 'ab')",
        "LPAD('é', 70000000, 'é')",
        "CONCAT(REPEAT('a', 60000000), REPEAT('a', 60000000))",
        "CONCAT_WS(',', REPEAT('a', 60000000), REPEAT('a', 60000000))",
        "REPLACE(REPEAT('a', 1000000), 'a', REPEAT('b', 1000))",
        "HEX(REPEAT('a', 60000000))",
        "EXPORT_SET(5, REPEAT('a', 9000000), 'b', 'c', 64)",
        "CAST('a' AS BINARY(100000000))",
        "REPEAT(REPEAT('a', 60000000), 100)",
        "REGEXP_REPLACE(REPEAT('a', 1000000), 'a+', REPEAT('$0', 1000000))",
        "DATE_FORMAT('2020-01-01', REPEAT('%W', 30000000))",
        "JSON_PRETTY(CONCAT(REPEAT('[', 90), REPEAT('1,', 1000000), '1', REPEAT(']', 90)))",
        "JSON_EXTRACT(JSON_ARRAY(REPEAT('a', 30000000)), '$', '$[0]', '$')",
        "JSON_ARRAY(REPEAT('a', 30000000), REPEAT('a', 30000000), REPEAT('a', 30000000))",
        "JSON_OBJECT('a', REPEAT('a', 40000000), 'b', REPEAT('a', 40000000))",
        "JSON_QUOTE(REPEAT('\"', 60000000))",
    ] {
        if house.value(&format!("SELECT {call} IS NULL"))? != "1" {
            return Err(format!("{call} is not NULL"));
        }
        let warned = house.run("SHOW WARNINGS")?;
        let is_told =
            |row: &Vec<Option<String>>| row.get(1).and_then(Option::as_deref) == Some("1301");
        if !warned.iter().any(is_told) {
            return Err(format!("{call}: no warning 1301: {warned:?}"));
        }
    }
    house.run("CREATE TABLE g (id INT PRIMARY KEY, v LONGTEXT)")?;
    house.run("INSERT INTO g VALUES (1, REPEAT('x', 1000000)), (2, REPEAT('y', 1000000))")?;
    let most = house.value("SELECT LENGTH(GROUP_CONCAT(v)) FROM g")?;
    if most != "1024" {
        return Err(format!("GROUP_CONCAT gives {most} bytes"));
    }
    house.run("SET group_concat_max_len = 1 << 40")?;
    let all = "SELECT LENGTH(GROUP_CONCAT(a.v)) FROM g a, g b, g c, g d, g e, g f, g h";
    let told = house.survived(all)?;
    if told != 0 && told != 1038 {
        return Err(format!("{all}: {told}"));
    }
    house.survived("SELECT JSON_LENGTH(JSON_ARRAYAGG(a.v)) FROM g a, g b, g c, g d, g e, g f")?;
    // A row of a hundred megabytes is sent.
    let row = format!("SELECT {}", vec!["REPEAT('a', 2000000)"; 50].join(", "));
    let rows = house.run(&row)?;
    if rows.len() != 1 || rows[0].len() != 50 {
        return Err("a row of 100 MB is not sent".to_owned());
    }
    Ok(())
}

/// What has no end of its own, or one that nobody sees.
pub(crate) fn endless(house: &mut House) -> Result<(), String> {
    let count = "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT * FROM c";
    house.refused(count, 3636, &["1001"])?;
    house.run("SET cte_max_recursion_depth = 4294967295, query_memory_bytes = 4194304")?;
    let growing = "WITH RECURSIVE c AS (SELECT 1 AS n, CAST('x' AS CHAR(1000000)) AS t UNION ALL \
                   SELECT n + 1, CONCAT(t, t) FROM c WHERE n < 40) SELECT COUNT(*) FROM c";
    let told = house.survived(growing)?;
    if ![0, 1038, 1406].contains(&told) {
        return Err(format!("a CTE whose rows grow: {told}"));
    }
    let doubling = "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c, \
                    (SELECT 1 UNION ALL SELECT 2) t(a)) SELECT COUNT(*) FROM c";
    house.run("SET max_execution_time = 300")?;
    let told = house.survived(doubling)?;
    if ![1038, 3024].contains(&told) {
        return Err(format!("a CTE whose rounds grow: {told}"));
    }
    let digits: Vec<String> = (0..1000).map(|n| format!("({n})")).collect();
    house.run("CREATE TABLE t (id INT PRIMARY KEY)")?;
    house.run(&format!("INSERT INTO t VALUES {}", digits.join(", ")))?;
    for sql in [
        "SELECT COUNT(*) FROM t a, t b, t c, t d, t e",
        "SELECT COUNT(*) FROM t a JOIN t b ON a.id < b.id JOIN t c ON b.id < c.id JOIN t d",
        "SELECT a.id, COUNT(*) FROM t a, t b, t c, t d GROUP BY a.id ORDER BY 2",
        "SELECT COUNT(*) FROM t a WHERE (SELECT COUNT(*) FROM t b, t c WHERE b.id < a.id) < 0",
        "SELECT SUM(a.id) OVER (ORDER BY b.id) FROM t a, t b, t c",
    ] {
        let told = house.survived(sql)?;
        if told != 3024 {
            return Err(format!("{sql}: {told}, not 3024"));
        }
    }
    house.run("SET max_execution_time = 0, query_memory_bytes = DEFAULT")?;
    killed(house, "SELECT COUNT(*) FROM t a, t b, t c, t d, t e")
}
