//! The measured work: a closed loop of prepared statements over many connections, and one long
//! scan. A hot file: nothing may be allocated or locked per statement.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{COM_QUERY, Client, EndForm};
use crate::statement::{AnswerReader, Parameter, Prepared};
use crate::{BATCH_ROWS, DATABASE, Options, Outcome, Work};

/// Time before the measured part: the data is to lie in memory, for both servers.
const WARM_UP: Duration = Duration::from_secs(3);
/// The inserted text of 100 bytes.
const TEXT: &[u8; 100] =
    b"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
/// Read at once; enough for the answer to a multi-get.
const READ_BYTES: usize = 64 << 10;

/// What all connections of a closed loop share; one thread, so no locks.
struct Shared {
    work: Work,
    rows: u64,
    /// Whether answers count.
    measuring: Cell<bool>,
    /// Whether to stop.
    done: Cell<bool>,
    statements: Cell<u64>,
    answered_rows: Cell<u64>,
    /// Latencies of measured statements, in microseconds.
    latencies_us: RefCell<Vec<u32>>,
    /// The next id to insert; unique per run by its start.
    next_id: Cell<i64>,
    /// The time between two statements of one connection, when the rate is held.
    pause: Option<Duration>,
}

/// Runs the work that is one prepared statement over and over.
pub(crate) fn closed_loop(options: &Options) -> Outcome<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, measured_loop(options))
}

async fn measured_loop(options: &Options) -> Outcome<String> {
    let shared = Rc::new(Shared {
        work: options.work,
        rows: options.rows,
        measuring: Cell::new(false),
        done: Cell::new(false),
        statements: Cell::new(0),
        answered_rows: Cell::new(0),
        latencies_us: RefCell::new(Vec::with_capacity(1 << 22)),
        next_id: Cell::new(first_id()),
        pause: options.pause(),
    });
    let mut tasks = Vec::new();
    for connection in 0..options.connections {
        let connected = Connected::new(options, u64::from(connection) + 1)?;
        tasks.push(tokio::task::spawn_local(connected.run(Rc::clone(&shared))));
    }
    tokio::time::sleep(WARM_UP).await;
    let watch = options.watch();
    let own = crate::process::ProcessWatch::new(std::process::id());
    let (cpu_before, own_before, start) = (watch.cpu_seconds(), own.cpu_seconds(), Instant::now());
    shared.measuring.set(true);
    tokio::time::sleep(options.duration).await;
    shared.measuring.set(false);
    let seconds = start.elapsed().as_secs_f64();
    let cpu = watch.cpu_seconds() - cpu_before;
    let own_cpu = own.cpu_seconds() - own_before;
    shared.done.set(true);
    for task in tasks {
        task.await.map_err(|e| e.to_string())??;
    }
    let mut latencies = shared.latencies_us.borrow_mut();
    latencies.sort_unstable();
    let quantile = |percent: usize| {
        let at = latencies.len().saturating_sub(1) * percent / 100;
        latencies.get(at).copied().unwrap_or(0)
    };
    Ok(format!(
        "{{\"statements\": {}, \"rows\": {}, \"seconds\": {seconds:.3}, \"server_cpu\": {cpu:.2}, \
         \"load_cpu\": {own_cpu:.2}, \"p50_us\": {}, \"p99_us\": {}, \"rss_kib\": {}}}",
        shared.statements.get(),
        shared.answered_rows.get(),
        quantile(50),
        quantile(99),
        watch.resident_kib()
    ))
}

impl Options {
    fn pause(&self) -> Option<Duration> {
        (0 < self.rate).then(|| Duration::from_secs(1) * self.connections / self.rate)
    }
}

/// Ids above all filled ones, different in every run on one server.
fn first_id() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(0)
}

/// A connection with its statement.
struct Connected {
    stream: TcpStream,
    statement: Prepared,
    answer: AnswerReader,
    packet: Vec<u8>,
    input: Vec<u8>,
    random: u64,
}

impl Connected {
    fn new(options: &Options, seed: u64) -> Outcome<Connected> {
        let mut client =
            Client::connect(&options.address, DATABASE, EndForm::Ok).map_err(|e| e.to_string())?;
        let statement = Prepared::new(&mut client, &statement_text(options.work))?;
        let answer = AnswerReader::new(client.deprecates_eof());
        let stream = client.into_stream();
        stream.set_nonblocking(true).map_err(|e| e.to_string())?;
        Ok(Connected {
            stream: TcpStream::from_std(stream).map_err(|e| e.to_string())?,
            statement,
            answer,
            packet: Vec::new(),
            input: vec![0; READ_BYTES],
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        })
    }

    async fn run(mut self, shared: Rc<Shared>) -> Outcome<()> {
        let mut due = Instant::now();
        while !shared.done.get() {
            self.build(&shared);
            let mut start = Instant::now();
            if let Some(pause) = shared.pause {
                due += pause;
                if start < due {
                    tokio::time::sleep_until(due.into()).await;
                    start = Instant::now();
                } else {
                    // Waiting for the answer before counts too: no coordinated omission.
                    start = due;
                }
            }
            self.stream
                .write_all(&self.packet)
                .await
                .map_err(|e| e.to_string())?;
            self.read_answer().await?;
            if shared.measuring.get() {
                let elapsed = u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX);
                shared.latencies_us.borrow_mut().push(elapsed);
                shared.statements.set(shared.statements.get() + 1);
                let rows = shared.answered_rows.get() + self.answer.rows;
                shared.answered_rows.set(rows);
            }
        }
        Ok(())
    }

    /// Writes the next EXECUTE.
    fn build(&mut self, shared: &Shared) {
        let mut parameters: [Parameter<'_>; 3 * BATCH_ROWS as usize] =
            [Parameter::Integer(0); 3 * BATCH_ROWS as usize];
        let count = match shared.work {
            Work::Point | Work::ByUnique | Work::ByIndex => {
                parameters[0] = Parameter::Integer(self.random_id(shared.rows));
                1
            }
            Work::MultiGet => {
                for parameter in &mut parameters[..BATCH_ROWS as usize] {
                    *parameter = Parameter::Integer(self.random_id(shared.rows));
                }
                BATCH_ROWS as usize
            }
            Work::Insert => fill_rows(&mut parameters[..3], shared),
            Work::InsertIndexed => fill_indexed_row(&mut parameters, shared),
            Work::InsertMany => fill_rows(&mut parameters, shared),
            Work::FillPoints
            | Work::FillScan
            | Work::FillFacts
            | Work::FillNothing
            | Work::FillIndexed
            | Work::FillIndexedNothing
            | Work::Sql
            | Work::Query
            | Work::Repeat
            | Work::Scan
            | Work::ScanCovering => 0,
        };
        self.statement
            .execute(&mut self.packet, &parameters[..count]);
    }

    async fn read_answer(&mut self) -> Outcome<()> {
        let mut filled = 0;
        loop {
            if filled == self.input.len() {
                self.input.resize(filled * 2, 0);
            }
            let read = self
                .stream
                .read(&mut self.input[filled..])
                .await
                .map_err(|e| e.to_string())?;
            if read == 0 {
                return Err("the server closed the connection".to_owned());
            }
            filled += read;
            let (used, ended) = self.answer.advance(&self.input[..filled])?;
            if ended {
                return Ok(());
            }
            self.input.copy_within(used..filled, 0);
            filled -= used;
        }
    }

    /// xorshift64*: fast, and good enough to spread keys.
    fn random_id(&mut self, rows: u64) -> i64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let value = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16;
        i64::try_from(value % rows.max(1)).unwrap_or(0)
    }
}

fn fill_rows(parameters: &mut [Parameter<'_>], shared: &Shared) -> usize {
    for row in parameters.chunks_exact_mut(3) {
        let id = shared.next_id.get();
        shared.next_id.set(id + 1);
        row[0] = Parameter::Integer(id);
        row[1] = Parameter::Integer(id % 1000);
        row[2] = Parameter::Text(TEXT);
    }
    parameters.len()
}

fn fill_indexed_row(parameters: &mut [Parameter<'_>], shared: &Shared) -> usize {
    let id = shared.next_id.get();
    shared.next_id.set(id + 1);
    let row = [
        Parameter::Integer(id),
        Parameter::Integer(id % 1000),
        Parameter::Integer(id.wrapping_mul(2_654_435_761).rem_euclid(1_000_000)),
        Parameter::Integer(id / 1000),
        Parameter::Text(TEXT),
    ];
    parameters[..row.len()].copy_from_slice(&row);
    row.len()
}

fn statement_text(work: Work) -> String {
    let repeated = |item: &str| vec![item; BATCH_ROWS as usize].join(", ");
    match work {
        Work::Point => "SELECT c FROM points WHERE id = ?".to_owned(),
        Work::ByUnique => "SELECT c FROM indexed WHERE u = ?".to_owned(),
        Work::ByIndex => "SELECT c FROM indexed WHERE k = ?".to_owned(),
        Work::MultiGet => format!("SELECT id, c FROM points WHERE id IN ({})", repeated("?")),
        Work::Insert => "INSERT INTO writes (id, k, c) VALUES (?, ?, ?)".to_owned(),
        Work::InsertMany => format!(
            "INSERT INTO writes (id, k, c) VALUES {}",
            repeated("(?, ?, ?)")
        ),
        Work::InsertIndexed => {
            "INSERT INTO indexed_writes (id, a, b, d, c) VALUES (?, ?, ?, ?, ?)".to_owned()
        }
        Work::Scan => "SELECT id, payload FROM scan WHERE k = 1".to_owned(),
        Work::ScanCovering => {
            "SELECT id, payload FROM scan FORCE INDEX (covering) WHERE k = 1".to_owned()
        }
        Work::FillPoints
        | Work::FillScan
        | Work::FillFacts
        | Work::FillNothing
        | Work::FillIndexed
        | Work::FillIndexedNothing
        | Work::Sql
        | Work::Query
        | Work::Repeat => String::new(),
    }
}

/// Runs `scan`, `scan-covering` and `query`: all rows of one statement to one client, which only
/// counts them.
pub(crate) fn scan(options: &Options) -> Outcome<String> {
    use std::io::Read as _;
    let mut client =
        Client::connect(&options.address, DATABASE, EndForm::Ok).map_err(|e| e.to_string())?;
    for sql in options.setup.split(';').filter(|sql| !sql.is_empty()) {
        client.execute(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    let text = if options.work == Work::Query {
        options.sql.clone()
    } else {
        statement_text(options.work)
    };
    let watch = options.watch();
    let (before_kib, sampler) = (watch.resident_kib(), watch.sample_memory());
    let (cpu_before, start) = (watch.cpu_seconds(), Instant::now());
    client
        .command(COM_QUERY, text.as_bytes())
        .map_err(|e| e.to_string())?;
    let mut answer = AnswerReader::new(client.deprecates_eof());
    let mut stream = client.into_stream();
    let mut input = vec![0; 1 << 20];
    let mut filled = 0;
    let mut first_row = None;
    loop {
        let read = stream
            .read(&mut input[filled..])
            .map_err(|e| e.to_string())?;
        if read == 0 {
            return Err("the server closed the connection".to_owned());
        }
        filled += read;
        let (used, ended) = answer.advance(&input[..filled])?;
        if first_row.is_none() && 0 < answer.rows {
            first_row = Some(start.elapsed());
        }
        if ended {
            break;
        }
        input.copy_within(used..filled, 0);
        filled -= used;
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = watch.cpu_seconds() - cpu_before;
    Ok(format!(
        "{{\"rows\": {}, \"seconds\": {seconds:.3}, \"server_cpu\": {cpu:.2}, \
         \"first_row_ms\": {:.1}, \"rss_before_kib\": {before_kib}, \"rss_most_kib\": {}}}",
        answer.rows,
        first_row.unwrap_or_default().as_secs_f64() * 1000.0,
        sampler.finish()
    ))
}
