//! What is short, and very much of it at once: many statements in one text, and many commands that are sent before
//! their answers are read. Others are served meanwhile, it ends when it is killed, and it does not keep the server
//! from ending.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::{COM_QUERY, Client, Failure, check_error};
use crate::house::House;
use crate::long;

const COM_SET_OPTION: u8 = 0x1B;
/// How often a text has its statement: some seconds of them, in a release build too.
const TIMES: usize = 500_000;
/// How long a crowd may go on that is to end.
const END_TIMEOUT: Duration = Duration::from_mins(1);
/// How often it is killed until it ends.
const KILL_EVERY: Duration = Duration::from_millis(100);
/// What the server is given for statements to end when it stops, and how long it may take for that, its
/// second try and what comes after both; a machine that is busy is no fault.
const GRACE: &str = "--shutdown-grace=1";
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Commands that are written at once.
const COMMANDS_AT_ONCE: usize = 4096;

const SHORT: &[&str] = &["SELECT 1;", "DO 1;", "SELECT v FROM p WHERE id = 7;"];

/// A client that reads what comes of its text; ends with the number of the error.
type Reading = JoinHandle<Result<u16, String>>;

/// One more of them than the server has threads for short statements, and they go on. Then all are killed.
pub(crate) fn keeps_nobody_waiting(house: &mut House) -> Result<(), String> {
    house.run("CREATE TABLE p (id INT PRIMARY KEY, v INT)")?;
    house.run("INSERT INTO p VALUES (7, 8)")?;
    for sql in SHORT {
        let prober = house.another()?;
        let crowd = (0..crowd_count()).map(|_| begun(house, sql));
        let crowd = crowd.collect::<Result<Vec<_>, String>>()?;
        let slowest = long::slowest_short(prober)
            .map_err(|text| format!("SELECT 1 beside {} of many {sql}: {text}", crowd.len()))?;
        println!("limits: SELECT 1 beside many {sql}: {slowest:?} at most");
        killed(house, crowd, sql)?;
    }
    Ok(())
}

/// The same with commands of one statement each, more and more of them.
pub(crate) fn commands_keep_nobody_waiting(house: &mut House) -> Result<(), String> {
    let prober = house.another()?;
    let crowd = (0..crowd_count()).map(|_| Piping::begin(house));
    let crowd = crowd.collect::<Result<Vec<_>, String>>()?;
    let slowest = long::slowest_short(prober)
        .map_err(|text| format!("SELECT 1 beside {} that pipe: {text}", crowd.len()))?;
    println!("limits: SELECT 1 beside many commands: {slowest:?} at most");
    crowd.into_iter().try_for_each(Piping::end)
}

/// SIGTERM, and the server has ended before anybody need kill it.
pub(crate) fn ends_with_the_server() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let house = House::open(scratch.path(), &["--allow-full-scan", GRACE])?;
    let crowd = (0..crowd_count()).map(|_| begun(&house, SHORT[0]));
    let crowd = crowd.collect::<Result<Vec<_>, String>>()?;
    let piping = Piping::begin(&house)?;
    let asked = Instant::now();
    terminate(house.server.process_id())?;
    while house.server.ended().map_err(|e| e.to_string())?.is_none() {
        if STOP_TIMEOUT < asked.elapsed() {
            return Err(format!("lives {STOP_TIMEOUT:?} after SIGTERM"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    println!(
        "limits: SIGTERM beside many statements: {:?}",
        asked.elapsed()
    );
    for reading in crowd {
        match joined(reading)? {
            Ok(1053) => {}
            other => return Err(format!("many {}: {other:?}, not 1053", SHORT[0])),
        }
    }
    // Its connection is gone, at whichever command.
    drop(piping.end());
    Ok(())
}

/// One more than the server has threads for short statements.
pub(crate) fn crowd_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from) + 1
}

/// A client that has sent a text of many statements, has an answer and reads on.
fn begun(house: &House, sql: &str) -> Result<(u32, Reading), String> {
    let mut client = house.another()?;
    let text = |error: Failure| error.to_string();
    // Several statements in one text.
    client.command(COM_SET_OPTION, &[0, 0]).map_err(text)?;
    client.read_packet().map_err(text)?;
    client
        .command(COM_QUERY, sql.repeat(TIMES).as_bytes())
        .map_err(text)?;
    client.read_packet().map_err(text)?;
    let id = client.connection_id;
    Ok((id, thread::spawn(move || last_of(&mut client))))
}

/// Reads to the error that ends it all.
fn last_of(client: &mut Client) -> Result<u16, String> {
    loop {
        let (_, packet) = client.read_packet().map_err(|error| error.to_string())?;
        if let Err(Failure::Server { errno, .. }) = check_error(&packet) {
            return Ok(errno);
        }
    }
}

fn joined(reading: (u32, Reading)) -> Result<Result<u16, String>, String> {
    let joined = reading.1.join();
    joined.map_err(|_| "a thread of the test panicked".to_owned())
}

/// Kills statements until all have ended.
fn killed(house: &mut House, crowd: Vec<(u32, Reading)>, sql: &str) -> Result<(), String> {
    let deadline = Instant::now() + END_TIMEOUT;
    while crowd.iter().any(|(_, reading)| !reading.is_finished()) {
        if deadline < Instant::now() {
            return Err(format!("many {sql}: go on after KILL QUERY"));
        }
        for (id, _) in &crowd {
            house.ask(&format!("KILL QUERY {id}"))?;
        }
        thread::sleep(KILL_EVERY);
    }
    for reading in crowd {
        match joined(reading)? {
            Ok(1317) => {}
            other => return Err(format!("many {sql}: {other:?}, not 1317")),
        }
    }
    Ok(())
}

/// A client that sends commands and reads answers as fast as it can, until its connection is shut.
struct Piping {
    stream: TcpStream,
    threads: Vec<JoinHandle<()>>,
}

impl Piping {
    fn begin(house: &House) -> Result<Piping, String> {
        let told = |error: std::io::Error| error.to_string();
        let stream = house.another()?.into_stream();
        let (mut sink, mut source) = (
            stream.try_clone().map_err(told)?,
            stream.try_clone().map_err(told)?,
        );
        let sql = SHORT[0].as_bytes();
        let size = u8::try_from(sql.len() + 1).map_err(|error| error.to_string())?;
        let commands = [&[size, 0, 0, 0, COM_QUERY], sql]
            .concat()
            .repeat(COMMANDS_AT_ONCE);
        // One answer has come: the server is at it.
        sink.write_all(&commands).map_err(told)?;
        source.read_exact(&mut [0; 16]).map_err(told)?;
        let sending = thread::spawn(move || while sink.write_all(&commands).is_ok() {});
        let reading = thread::spawn(move || {
            let mut room = vec![0; 1 << 16];
            while source.read(&mut room).is_ok_and(|count| 0 < count) {}
        });
        Ok(Piping {
            stream,
            threads: vec![sending, reading],
        })
    }

    fn end(self) -> Result<(), String> {
        // It may be shut from the other side.
        let _ = self.stream.shutdown(Shutdown::Both);
        for thread in self.threads {
            thread.join().map_err(|_| "a thread of the test panicked")?;
        }
        Ok(())
    }
}

/// SIGTERM.
fn terminate(process_id: u32) -> Result<(), String> {
    let asked = Command::new("kill").arg(process_id.to_string()).status();
    match asked {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("kill {process_id}: {other:?}")),
    }
}
