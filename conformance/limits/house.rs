//! A server to be hurt, and what must hold after each blow: it lives, the connection goes on, others are
//! served, and its memory is back near where it was.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client, EndForm, Failure};
use crate::server::{Launch, Server};

/// Memory that a blow may leave behind: caches that are filled, what the allocator has in pieces.
const LEFT_BYTES_MAX: u64 = 128 << 20;
/// So much more for each core: each has threads, and they have stacks, kept patterns and pieces of their own.
const LEFT_BYTES_PER_CORE: u64 = 16 << 20;
/// What the same blow may leave behind beside that when it is struck once more: caches and stacks are what they
/// will be, but pages lie in other pieces.
const LEFT_AGAIN_BYTES_MAX: u64 = 32 << 20;
/// How long memory may take to be given back.
const BACK_TIMEOUT: Duration = Duration::from_mins(1);
/// Nothing more is given back when nothing was for so long: the allocator is told to each second.
const STILL: Duration = Duration::from_millis(1200);
/// How often it is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running server and a connection to it.
pub(crate) struct House {
    pub(crate) server: Server,
    pub(crate) client: Client,
    before_bytes: u64,
    /// The most that it may have after a blow.
    most_bytes: u64,
}

/// What a statement came to.
pub(crate) enum Told {
    Rows(Vec<Vec<Option<String>>>),
    Done,
    Error { errno: u16, text: String },
}

impl House {
    /// Starts a server over `dir` and looks how much memory it has.
    pub(crate) fn open(dir: &Path, options: &[&str]) -> Result<House, String> {
        let launch = Launch {
            binary: Path::new(env!("CARGO_BIN_EXE_meseta")),
            engine: "lsm",
            directory: dir,
            options,
        };
        let small = [("MESETA_TEST_MEMTABLE_BYTES", "4194304")];
        let small = small.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let server = Server::start_with(&launch, &small).map_err(|e| e.to_string())?;
        let client = connect(&server)?;
        let before_bytes = resident(&server, "VmRSS:")?;
        let cores = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let mut house = House {
            server,
            client,
            before_bytes,
            most_bytes: before_bytes + LEFT_BYTES_MAX + cores * LEFT_BYTES_PER_CORE,
        };
        house.run("CREATE DATABASE d")?;
        house.run("USE d")?;
        Ok(house)
    }

    /// Makes it as it was in the beginning, but for the memory of what has been.
    pub(crate) fn renew(&mut self) -> Result<(), String> {
        self.client = connect(&self.server)?;
        self.run("DROP DATABASE d")?;
        self.run("CREATE DATABASE d")?;
        self.run("USE d")?;
        Ok(())
    }

    /// From now on the memory that it has is the measure, once it gives nothing back any more.
    pub(crate) fn measure_again(&mut self) -> Result<(), String> {
        let mut least = self.resident_bytes()?;
        let mut still = Instant::now();
        while still.elapsed() < STILL {
            thread::sleep(LOOK_EVERY);
            let now = self.resident_bytes()?;
            if now < least {
                (least, still) = (now, Instant::now());
            }
        }
        self.before_bytes = least;
        self.most_bytes = least + LEFT_AGAIN_BYTES_MAX;
        Ok(())
    }

    /// Does something, for which the server may take so much memory at most.
    pub(crate) fn grows_by_at_most(
        &mut self,
        most_bytes: u64,
        run: impl FnOnce(&mut House) -> Result<(), String>,
    ) -> Result<(), String> {
        self.forget_peak()?;
        let before = self.resident_bytes()?;
        run(self)?;
        let grown = self.peak_bytes()?.saturating_sub(before);
        println!("limits: took {} of {} MiB", grown >> 20, most_bytes >> 20);
        if grown <= most_bytes {
            return Ok(());
        }
        Err(format!("it took {grown} bytes, the most is {most_bytes}"))
    }

    /// From now on the most is what it has now: proc(5) of `clear_refs`.
    fn forget_peak(&self) -> Result<(), String> {
        let path = format!("/proc/{}/clear_refs", self.server.process_id());
        fs::write(&path, "5").map_err(|e| format!("{path}: {e}"))
    }

    /// Another connection.
    pub(crate) fn another(&self) -> Result<Client, String> {
        let mut client = connect(&self.server)?;
        client.execute("USE d").map_err(|e| e.to_string())?;
        Ok(client)
    }

    /// Runs a statement that must succeed.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        match self.ask(sql)? {
            Told::Rows(rows) => Ok(rows),
            Told::Done => Ok(Vec::new()),
            Told::Error { errno, text } => Err(format!("{}: {errno} {text}", shown(sql))),
        }
    }

    /// Runs a statement that may fail, but not lose the connection.
    pub(crate) fn ask(&mut self, sql: &str) -> Result<Told, String> {
        let lost = |error: Failure| format!("{}: {error}", shown(sql));
        told(self.client.query(sql)).map_err(lost)
    }

    /// The first value that a query gives.
    pub(crate) fn value(&mut self, sql: &str) -> Result<String, String> {
        let rows = self.run(sql)?;
        let first = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next());
        Ok(first.flatten().unwrap_or_else(|| "NULL".to_owned()))
    }

    /// Runs a statement that must fail with this number, in a text with all of these parts.
    pub(crate) fn refused(&mut self, sql: &str, errno: u16, parts: &[&str]) -> Result<(), String> {
        let found = match self.ask(sql)? {
            Told::Error { errno, text } => (errno, text),
            Told::Rows(_) | Told::Done => (0, "done".to_owned()),
        };
        if found.0 == errno && parts.iter().all(|part| found.1.contains(part)) {
            return Ok(());
        }
        let (told, text) = found;
        Err(format!(
            "{}: {told} {text}, not {errno} with {parts:?}",
            shown(sql)
        ))
    }

    /// Runs a statement that is answered or refused, either is well; what it came to.
    pub(crate) fn survived(&mut self, sql: &str) -> Result<u16, String> {
        Ok(match self.ask(sql)? {
            Told::Error { errno: 1105, text } => return Err(format!("{}: {text}", shown(sql))),
            Told::Error { errno, .. } => errno,
            Told::Rows(_) | Told::Done => 0,
        })
    }

    /// Runs a statement again and again until there is memory for it.
    pub(crate) fn eventually(&mut self, sql: &str) -> Result<(), String> {
        let deadline = Instant::now() + BACK_TIMEOUT;
        loop {
            match self.survived(sql)? {
                0 => return Ok(()),
                1041 if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
                errno => return Err(format!("{}: {errno}", shown(sql))),
            }
        }
    }

    /// Memory that the server has now.
    pub(crate) fn resident_bytes(&self) -> Result<u64, String> {
        resident(&self.server, "VmRSS:")
    }

    /// The most that it ever had.
    pub(crate) fn peak_bytes(&self) -> Result<u64, String> {
        resident(&self.server, "VmHWM:")
    }

    /// What must hold after a blow. `None` for a connection that was to end.
    pub(crate) fn is_well(&mut self) -> Result<String, String> {
        if self.value("SELECT 1 + 1")? != "2" {
            return Err("the connection does not go on".to_owned());
        }
        let mut other = self.another()?;
        other.rows("SELECT 1").map_err(|e| e.to_string())?;
        if let Some(status) = self.server.ended().map_err(|e| e.to_string())? {
            return Err(format!("the server ended with {status}"));
        }
        self.is_memory_back()
    }

    fn is_memory_back(&self) -> Result<String, String> {
        let most = self.most_bytes;
        let deadline = Instant::now() + BACK_TIMEOUT;
        loop {
            let now = self.resident_bytes()?;
            if now <= most {
                let mib = [self.before_bytes, self.peak_bytes()?, now].map(|bytes| bytes >> 20);
                return Ok(format!(
                    "{} MiB, at most {}, then {}",
                    mib[0], mib[1], mib[2]
                ));
            }
            if deadline < Instant::now() {
                return Err(format!(
                    "{now} bytes of memory are left, the most is {most}"
                ));
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// The answer of the server, or that there was none.
pub(crate) fn told(answer: Result<Answer, Failure>) -> Result<Told, Failure> {
    match answer {
        Ok(Answer::Done(_)) => Ok(Told::Done),
        Ok(Answer::Rows(rows)) => {
            let text = |cell: &Option<Vec<u8>>| {
                let cell = cell.as_deref();
                cell.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            let chunks = rows.cells.chunks(rows.columns_count.max(1));
            Ok(Told::Rows(
                chunks.map(|row| row.iter().map(text).collect()).collect(),
            ))
        }
        Err(Failure::Server { errno, text, .. }) => Ok(Told::Error { errno, text }),
        Err(lost @ Failure::Lost(_)) => Err(lost),
    }
}

fn connect(server: &Server) -> Result<Client, String> {
    Client::connect(&server.address, "", EndForm::Ok).map_err(|e| e.to_string())
}

/// A line of what Linux tells of the process (proc(5)), in bytes.
fn resident(server: &Server, name: &str) -> Result<u64, String> {
    let path = format!("/proc/{}/status", server.process_id());
    let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10)
        .ok_or_else(|| format!("no {name} in {path}"))
}

/// The beginning of a statement.
pub(crate) fn shown(sql: &str) -> String {
    sql.chars().take(100).collect()
}
