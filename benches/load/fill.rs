//! Makes and fills the tables of the benches.

use std::fmt::Write as _;
use std::time::Instant;

use crate::client::{Answer, Client, EndForm};
use crate::random::{Random, scattered};
use crate::{DATABASE, Options, Outcome, lindorm, ycsb};

/// Odd and no multiple of five: times an id, modulo a power of ten, every value comes once.
const SCATTER: u64 = 7_368_787;
/// Rows of one INSERT while filling.
const FILL_ROWS: u64 = 1000;

/// `points`: an integer key and 100 bytes of text.
pub(crate) fn points(options: &Options) -> Outcome<String> {
    let table =
        "CREATE TABLE points (id BIGINT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL)";
    filled(options, ("points", table), |sql, id| {
        let _ = write!(
            sql,
            "({id},{},'{:0100}')",
            id % 1000,
            id.wrapping_mul(2_654_435_761)
        );
    })
}

/// `scan`: one prefix that holds all rows, 100 bytes of values in each.
pub(crate) fn scan(options: &Options) -> Outcome<String> {
    let table =
        "CREATE TABLE scan (k INT, id BIGINT, payload VARCHAR(120) NOT NULL, PRIMARY KEY (k, id))";
    filled(options, ("scan", table), |sql, id| {
        let _ = write!(sql, "(1,{id},'{:088}')", id.wrapping_mul(2_654_435_761));
    })
}

/// Rows of `facts` under one first key column.
const FACTS_PER_PREFIX: u64 = 1000;
/// Values of the column of `facts` that is grouped by hash.
const FACT_GROUPS: u64 = 1_000_000;

/// `facts`: what is counted, grouped and sorted. `g` has a million values and `v` as many as there
/// are rows, both in no order.
pub(crate) fn facts(options: &Options) -> Outcome<String> {
    let table = "CREATE TABLE facts (k INT, id BIGINT, g INT NOT NULL, v BIGINT NOT NULL, \
                 payload VARCHAR(60) NOT NULL, PRIMARY KEY (k, id))";
    let rows = options.rows.max(1);
    filled(options, ("facts", table), |sql, id| {
        let value = id.wrapping_mul(SCATTER) % rows;
        let (prefix, group) = (id / FACTS_PER_PREFIX, value % FACT_GROUPS);
        let _ = write!(sql, "({prefix},{id},{group},{value},'{value:040}')");
    })
}

/// `writes`: as `points`, empty.
pub(crate) fn nothing(options: &Options) -> Outcome<String> {
    let table =
        "CREATE TABLE writes (id BIGINT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL)";
    let mut client = connect(options)?;
    make(&mut client, "writes", table)?;
    Ok("{}".to_owned())
}

/// `indexed`: as `points`, with a unique and a plain index over columns whose values are the ids in
/// another order.
pub(crate) fn indexed(options: &Options) -> Outcome<String> {
    let table = "CREATE TABLE indexed (id BIGINT PRIMARY KEY, u BIGINT NOT NULL, k BIGINT NOT NULL, \
                 c VARCHAR(120) NOT NULL, UNIQUE KEY by_u (u), KEY by_k (k))";
    let rows = options.rows.max(1);
    filled(options, ("indexed", table), |sql, id| {
        let value = id.wrapping_mul(SCATTER) % rows;
        let _ = write!(
            sql,
            "({id},{value},{value},'{:0100}')",
            id.wrapping_mul(2_654_435_761)
        );
    })
}

/// `indexed_writes`: empty, with the first of three indexes.
pub(crate) fn indexed_nothing(options: &Options) -> Outcome<String> {
    let keys = [", KEY (a)", ", KEY (b)", ", KEY (d)"];
    let keys: String = keys
        .into_iter()
        .zip(0..options.indexes)
        .map(|(key, _)| key)
        .collect();
    let table = format!(
        "CREATE TABLE indexed_writes (id BIGINT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, \
         d BIGINT NOT NULL, c VARCHAR(120) NOT NULL{keys})"
    );
    let mut client = connect(options)?;
    make(&mut client, "indexed_writes", &table)?;
    Ok("{}".to_owned())
}

/// `sbtest`: rows as sysbench makes them, with its index. The table's options are what the command line
/// says.
pub(crate) fn sbtest(options: &Options) -> Outcome<String> {
    let table = format!(
        "CREATE TABLE sbtest (id INT NOT NULL, k INT NOT NULL DEFAULT '0', c CHAR(120) NOT NULL DEFAULT '', \
         pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_1 (k)) {}",
        options.suffix
    );
    let mut random = Random::new(options.rows);
    filled(options, ("sbtest", &table), |sql, id| {
        let (mut c, mut pad) = ([0; 119], [0; 59]);
        random.digits(&mut c);
        random.digits(&mut pad);
        let _ = write!(sql, "({id},{},'", random.below(options.rows));
        sql.extend(c.map(char::from));
        sql.push_str("','");
        sql.extend(pad.map(char::from));
        sql.push_str("')");
    })
}

/// `usertable`, as YCSB makes it.
pub(crate) fn ycsb(options: &Options) -> Outcome<String> {
    let mut random = Random::new(options.rows);
    filled(options, ("usertable", &ycsb::create_text()), |sql, id| {
        let _ = write!(sql, "('user{}'", scattered(id));
        put_letters::<{ ycsb::FIELD_BYTES }>(sql, &mut random, ycsb::FIELDS);
    })
}

/// `lindorm`: rows of many short columns.
pub(crate) fn lindorm(options: &Options) -> Outcome<String> {
    let mut random = Random::new(options.rows);
    filled(options, ("lindorm", &lindorm::create_text()), |sql, id| {
        let _ = write!(sql, "('user{:019}'", scattered(id));
        put_letters::<{ lindorm::COLUMN_BYTES }>(sql, &mut random, lindorm::COLUMNS);
    })
}

fn put_letters<const BYTES: usize>(sql: &mut String, random: &mut Random, count: usize) {
    for _ in 0..count {
        let mut text = [0; BYTES];
        random.letters(&mut text);
        sql.push_str(",'");
        sql.extend(text.map(char::from));
        sql.push('\'');
    }
    sql.push(')');
}

/// One statement; how long it took.
pub(crate) fn sql(options: &Options) -> Outcome<String> {
    let mut client = connect(options)?;
    let watch = options.watch();
    let (cpu_before, start) = (watch.cpu_seconds(), Instant::now());
    perform(&mut client, &options.sql)?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu = watch.cpu_seconds() - cpu_before;
    Ok(format!(
        "{{\"seconds\": {seconds:.3}, \"server_cpu\": {cpu:.2}}}"
    ))
}

/// Runs a statement that returns no rows, or those that tell how an OPTIMIZE went.
pub(crate) fn perform(client: &mut Client, sql: &str) -> Outcome<()> {
    let answer = client.query(sql).map_err(|e| format!("{sql}: {e}"))?;
    let is_error = |cell: &Option<Vec<u8>>| cell.as_deref().is_some_and(|text| text == b"error");
    match answer {
        Answer::Rows(rows) if rows.cells.iter().any(is_error) => {
            Err(format!("{sql}: refused in its rows"))
        }
        Answer::Rows(_) | Answer::Done(_) => Ok(()),
    }
}

fn connect(options: &Options) -> Outcome<Client> {
    let mut client =
        Client::connect(&options.address, "", EndForm::Ok).map_err(|e| e.to_string())?;
    for sql in [
        format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"),
        format!("USE {DATABASE}"),
    ] {
        client.execute(&sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(client)
}

fn make(client: &mut Client, name: &str, create: &str) -> Outcome<()> {
    for sql in [&format!("DROP TABLE IF EXISTS {name}"), create] {
        client.execute(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(())
}

fn filled(
    options: &Options,
    table: (&str, &str),
    mut row: impl FnMut(&mut String, u64),
) -> Outcome<String> {
    let (name, create) = table;
    let mut client = connect(options)?;
    make(&mut client, name, create)?;
    let watch = options.watch();
    let (cpu_before, start) = (watch.cpu_seconds(), Instant::now());
    let mut sql = String::new();
    let mut id = 0;
    while id < options.rows {
        sql.clear();
        let _ = write!(sql, "INSERT INTO {name} VALUES ");
        let until = options.rows.min(id + FILL_ROWS);
        for at in id..until {
            if id < at {
                sql.push(',');
            }
            row(&mut sql, at);
        }
        client
            .execute(&sql)
            .map_err(|e| format!("filling {name}: {e}"))?;
        id = until;
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = watch.cpu_seconds() - cpu_before;
    Ok(format!(
        "{{\"rows\": {}, \"seconds\": {seconds:.3}, \"server_cpu\": {cpu:.2}}}",
        options.rows
    ))
}
