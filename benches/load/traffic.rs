//! The measured work: a closed loop of prepared statements over many connections. What is sent comes from
//! a [`Source`]. A hot file: nothing may be allocated or locked per statement.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, EndForm};
use crate::random::Random;
use crate::statement::{AnswerReader, Prepared};
use crate::{DATABASE, Options, Outcome};

/// Time before the measured part: the data is to lie in memory, for both servers.
const WARM_UP: Duration = Duration::from_secs(3);
/// Read at once; enough for the answer to a multi-get.
const READ_BYTES: usize = 64 << 10;
/// What the runtime's timers may be late by. Nearer than that, a held rate is waited for awake.
const TIMER_SLACK: Duration = Duration::from_millis(2);
/// Between two looks at the clock of one that waits awake lie at most the answers of the other connections, which
/// take a fraction of this. More, and the system or the host had the processor.
const STOOD_MIN: Duration = Duration::from_micros(500);
/// Below this bit of a seed lie the numbers of connections.
const SEED_SHIFT: u32 = 20;

/// What one kind of work sends.
pub(crate) struct Plan {
    /// What every connection prepares.
    pub(crate) statements: Vec<String>,
    /// Makes the source of one connection.
    pub(crate) source: Box<dyn Fn(Random) -> Box<dyn Source>>,
    /// Rows of the table at the end, where the work adds to them; 0 otherwise.
    pub(crate) items: Box<dyn Fn() -> u64>,
}

/// Where one connection's statements come from.
pub(crate) trait Source {
    /// Writes the next EXECUTE into `packet`.
    fn next(&mut self, statements: &mut [Prepared], packet: &mut Vec<u8>);

    /// The answer to it is there; whether the operation has ended with it.
    fn answered(&mut self) -> bool {
        true
    }
}

/// What all connections of a closed loop share; one thread, so no locks.
struct Shared {
    /// Whether answers count.
    measuring: Cell<bool>,
    /// Whether to stop.
    done: Cell<bool>,
    /// Operations still to begin, when their number is given.
    left: Cell<Option<u64>>,
    statements: Cell<u64>,
    /// Answers that told to try again.
    conflicts: Cell<u64>,
    answered_rows: Cell<u64>,
    /// Latencies of measured operations, in microseconds.
    latencies_us: RefCell<Vec<u32>>,
    /// The time between two operations of one connection, when the rate is held.
    pause: Option<Duration>,
    /// Whether a held rate is held to the microsecond, which takes a core.
    is_exact: bool,
    /// How long this program wanted its processor and did not have it, as far as those that wait awake saw it.
    stood: Cell<Duration>,
    /// What lies before is in `stood`, or was no standing.
    stood_until: Cell<Instant>,
}

/// Runs a plan over and over: for some time, or for a number of operations.
pub(crate) fn closed_loop(options: &Options, plan: &Plan) -> Outcome<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, measured_loop(options, plan))
}

async fn measured_loop(options: &Options, plan: &Plan) -> Outcome<String> {
    let is_counted = 0 < options.count;
    let shared = Rc::new(Shared::new(options));
    let mut connections = Vec::new();
    for connection in 0..options.connections {
        connections.push(Connected::new(options, plan, u64::from(connection))?);
    }
    let watch = options.watch();
    let own = crate::process::ProcessWatch::new(std::process::id());
    let mut tasks = Vec::new();
    let mut begin = (watch.cpu_seconds(), own.cpu_seconds(), Instant::now());
    for connected in connections {
        tasks.push(tokio::task::spawn_local(connected.run(Rc::clone(&shared))));
    }
    if !is_counted {
        tokio::time::sleep(WARM_UP).await;
        begin = (watch.cpu_seconds(), own.cpu_seconds(), Instant::now());
        shared.measuring.set(true);
        tokio::time::sleep(options.duration).await;
        shared.measuring.set(false);
        shared.done.set(true);
    }
    let mut seconds = begin.2.elapsed().as_secs_f64();
    let mut cpu = (watch.cpu_seconds() - begin.0, own.cpu_seconds() - begin.1);
    for task in tasks {
        task.await.map_err(|e| e.to_string())??;
    }
    if is_counted {
        seconds = begin.2.elapsed().as_secs_f64();
        cpu = (watch.cpu_seconds() - begin.0, own.cpu_seconds() - begin.1);
    }
    let mut latencies = shared.latencies_us.borrow_mut();
    latencies.sort_unstable();
    let quantile = |permille: usize| {
        let at = latencies.len().saturating_sub(1) * permille / 1000;
        latencies.get(at).copied().unwrap_or(0)
    };
    Ok(format!(
        "{{\"statements\": {}, \"rows\": {}, \"seconds\": {seconds:.3}, \"server_cpu\": {:.2}, \
         \"load_cpu\": {:.2}, \"p50_us\": {}, \"p99_us\": {}, \"p999_us\": {}, \"conflicts\": {}, \
         \"items\": {}, \"seed\": {}, \"rss_kib\": {}, \"stood_us\": {}}}",
        shared.statements.get(),
        shared.answered_rows.get(),
        cpu.0,
        cpu.1,
        quantile(500),
        quantile(990),
        quantile(999),
        shared.conflicts.get(),
        (plan.items)(),
        options.seed,
        watch.resident_kib(),
        shared.stood.get().as_micros()
    ))
}

impl Options {
    fn pause(&self) -> Option<Duration> {
        (0 < self.rate).then(|| Duration::from_secs(1) * self.connections / self.rate)
    }
}

/// A connection with its statements.
struct Connected {
    stream: TcpStream,
    statements: Vec<Prepared>,
    source: Box<dyn Source>,
    answer: AnswerReader,
    packet: Vec<u8>,
    input: Vec<u8>,
    /// How far into the first pause the first operation begins: not all connections at once.
    phase: f64,
}

impl Connected {
    fn new(options: &Options, plan: &Plan, number: u64) -> Outcome<Connected> {
        let mut client =
            Client::connect(&options.address, DATABASE, EndForm::Ok).map_err(|e| e.to_string())?;
        let prepared = plan.statements.iter();
        let statements = prepared
            .map(|sql| Prepared::new(&mut client, sql))
            .collect::<Outcome<_>>()?;
        let answer = AnswerReader::new(client.deprecates_eof());
        let stream = client.into_stream();
        stream.set_nonblocking(true).map_err(|e| e.to_string())?;
        let mut random = Random::new((options.seed << SEED_SHIFT) + number + 1);
        Ok(Connected {
            stream: TcpStream::from_std(stream).map_err(|e| e.to_string())?,
            statements,
            phase: random.unit(),
            source: (plan.source)(random),
            answer,
            packet: Vec::new(),
            input: vec![0; READ_BYTES],
        })
    }

    async fn run(mut self, shared: Rc<Shared>) -> Outcome<()> {
        let mut due = Instant::now() + shared.pause.unwrap_or_default().mul_f64(self.phase);
        while shared.begins() {
            self.source.next(&mut self.statements, &mut self.packet);
            let mut start = Instant::now();
            if let Some(pause) = shared.pause {
                due += pause;
                let is_early = start < due;
                if is_early {
                    shared.wait(due).await;
                }
                // Waiting for the answer before counts too: no coordinated omission. What a timer is late
                // by does not.
                start = if is_early && !shared.is_exact {
                    Instant::now()
                } else {
                    due
                };
            }
            let mut is_refused = false;
            loop {
                self.exchange().await?;
                if self.answer.conflict {
                    is_refused = true;
                    shared.conflicts.set(shared.conflicts.get() + 1);
                }
                if self.source.answered() {
                    break;
                }
                self.source.next(&mut self.statements, &mut self.packet);
            }
            // What met another statement was not done: its time says nothing.
            if shared.measuring.get() && !is_refused {
                let elapsed = u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX);
                shared.latencies_us.borrow_mut().push(elapsed);
                shared.statements.set(shared.statements.get() + 1);
                let rows = shared.answered_rows.get() + self.answer.rows;
                shared.answered_rows.set(rows);
            }
        }
        Ok(())
    }

    async fn exchange(&mut self) -> Outcome<()> {
        self.stream
            .write_all(&self.packet)
            .await
            .map_err(|e| e.to_string())?;
        self.read_answer().await
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
}

impl Shared {
    fn new(options: &Options) -> Shared {
        let is_counted = 0 < options.count;
        Shared {
            measuring: Cell::new(is_counted),
            done: Cell::new(false),
            left: Cell::new(is_counted.then_some(options.count)),
            statements: Cell::new(0),
            conflicts: Cell::new(0),
            answered_rows: Cell::new(0),
            latencies_us: RefCell::new(Vec::with_capacity(1 << 22)),
            pause: options.pause(),
            is_exact: options.is_exact,
            stood: Cell::new(Duration::ZERO),
            stood_until: Cell::new(Instant::now()),
        }
    }

    /// Whether another operation is to begin; it counts as begun.
    fn begins(&self) -> bool {
        if let Some(left) = self.left.get() {
            self.left.set(Some(left.saturating_sub(1)));
            return 0 < left;
        }
        !self.done.get()
    }

    async fn wait(&self, due: Instant) {
        if !self.is_exact {
            return tokio::time::sleep_until(due.into()).await;
        }
        if let Some(early) = due.checked_sub(TIMER_SLACK) {
            tokio::time::sleep_until(early.into()).await;
        }
        let mut looked = Instant::now();
        while looked < due {
            // Who waits for this processor has it: the server's threads would stand behind this one for a time
            // slice of milliseconds.
            std::thread::yield_now();
            tokio::task::yield_now().await;
            let now = Instant::now();
            self.note_standing(looked, now);
            looked = now;
        }
    }

    /// Several may have waited through the same time, which counts once.
    fn note_standing(&self, before: Instant, now: Instant) {
        let stood = now.duration_since(before.max(self.stood_until.get()));
        if self.measuring.get() && STOOD_MIN < stood {
            self.stood.set(self.stood.get() + stood);
        }
        self.stood_until.set(now);
    }
}
