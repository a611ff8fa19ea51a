//! What SET PERSIST keeps: it is there after a restart and wins over options, and a variable with two names has one
//! value.

use std::path::Path;

use crate::client::{Client, EndForm, Failure};
use crate::server::{Launch, Server};

/// A variable of two names, by both, one that is an option, and one that gives up another.
const SETS: &[&str] = &[
    "SET PERSIST tx_isolation = 'READ-COMMITTED'",
    "SET PERSIST transaction_isolation = 'READ-UNCOMMITTED'",
    "SET PERSIST time_zone = 'Asia/Shanghai'",
    "SET PERSIST connect_timeout = 7",
    "SET PERSIST sql_big_selects = ON",
    "SET PERSIST max_join_size = 1000",
];
const READ: &str = "SELECT @@global.transaction_isolation, @@global.tx_isolation, @@global.time_zone, \
                    @@global.connect_timeout, @@global.sql_big_selects";
/// Options that say otherwise.
const OPTIONS: &[&str] = &["--connect-timeout=9", "--require-secure-transport=false"];

pub(crate) fn all() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let dir = scratch.path();
    let (server, mut client) = open(dir)?;
    for sql in SETS {
        run(&mut client, sql)?;
    }
    drop((server, client));
    let (server, mut client) = open(dir)?;
    expect(&mut client)?;
    forgotten_by_any_name(&mut client)?;
    run(&mut client, "SET PERSIST require_secure_transport = ON")?;
    drop((server, client));
    match open(dir) {
        Err(refused) if refused.contains("3159") => Ok(()),
        Err(other) => Err(other),
        Ok(_) => Err("a login without TLS was allowed".to_owned()),
    }
}

fn expect(client: &mut Client) -> Result<(), String> {
    let found = client.rows(READ).map_err(|e| e.to_string())?;
    let level = "READ-UNCOMMITTED";
    let expected = [level, level, "Asia/Shanghai", "7", "0"].map(|value| Some(value.to_owned()));
    if found == [expected] {
        return Ok(());
    }
    Err(format!("{READ}: {found:?}"))
}

fn forgotten_by_any_name(client: &mut Client) -> Result<(), String> {
    run(client, "RESET PERSIST tx_isolation")?;
    match client.execute("RESET PERSIST transaction_isolation") {
        Err(Failure::Server { errno: 3615, .. }) => Ok(()),
        other => Err(format!("a second value was kept: {other:?}")),
    }
}

fn run(client: &mut Client, sql: &str) -> Result<(), String> {
    let done = client.execute(sql).map(drop);
    done.map_err(|e| format!("{sql}: {e}"))
}

/// A server on the directory, and a session of root.
fn open(dir: &Path) -> Result<(Server, Client), String> {
    let launch = Launch {
        binary: Path::new(env!("CARGO_BIN_EXE_meseta")),
        engine: "lsm",
        directory: dir,
        options: OPTIONS,
    };
    let server = Server::start(&launch).map_err(|e| e.to_string())?;
    let client = Client::connect(&server.address, "", EndForm::Ok).map_err(|e| e.to_string())?;
    Ok((server, client))
}
