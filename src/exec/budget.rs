//! Memory of buffering operators: what each holds, against `query_memory_bytes` of its statement
//! and `--query-memory-total` of the server.
//!
//! ```text
//!   Pool     a number of bytes that many take from: the server's, a statement's
//!   Memory   what a statement may use: both pools, and the disk for what they cannot hold
//!   Budget   what one operator has taken of them
//! ```
//! What is taken from the pools must fit below the [`ceiling`] of the process, too.
//!
//! An operator takes in chunks, so that few rows touch the shared counters. Its first bytes
//! ([`FREE_BYTES`]) are not taken from the pools: a small statement never waits for them, and one
//! that spills goes on, slowly, when others hold everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::spill::Disk;
use crate::ceiling::{self, Shortage};
use crate::error::{Code, Error, Result};

/// Bytes that every operator has beside the pools, unless the statement's limit is less.
pub const FREE_BYTES: usize = 256 * 1024;

/// Bytes taken from the pools at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// Bytes that many take from.
#[derive(Debug)]
pub struct Pool {
    bytes_max: usize,
    taken_bytes: AtomicUsize,
}

impl Pool {
    /// A pool of `bytes_max`.
    pub fn new(bytes_max: usize) -> Arc<Pool> {
        Arc::new(Pool {
            bytes_max,
            taken_bytes: AtomicUsize::new(0),
        })
    }

    /// Bytes that are taken now.
    pub fn taken_bytes(&self) -> usize {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    /// The most that may be taken.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn left_bytes(&self) -> usize {
        self.bytes_max.saturating_sub(self.taken_bytes())
    }

    fn try_take(&self, bytes: usize) -> bool {
        let more = |taken: usize| {
            let sum = taken.checked_add(bytes)?;
            (sum <= self.bytes_max).then_some(sum)
        };
        let order = Ordering::Relaxed;
        self.taken_bytes.fetch_update(order, order, more).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.taken_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What the buffering operators of one statement may use.
#[derive(Debug, Clone)]
pub struct Memory {
    server: Arc<Pool>,
    /// What there is beyond [`FREE_BYTES`].
    statement: Arc<Pool>,
    bytes_max: usize,
    disk: Option<Arc<Disk>>,
}

impl Memory {
    /// `bytes_max` of the server's memory, and the disk if there is one.
    pub fn new(server: &Arc<Pool>, bytes_max: usize, disk: Option<&Arc<Disk>>) -> Memory {
        Memory {
            server: Arc::clone(server),
            statement: Pool::new(bytes_max.saturating_sub(FREE_BYTES)),
            bytes_max,
            disk: disk.cloned(),
        }
    }

    /// The same memory; what is spilled is counted apart.
    #[must_use]
    pub fn counted(&self) -> Memory {
        Memory {
            disk: self.disk.as_ref().map(Disk::counted),
            ..self.clone()
        }
    }

    /// Memory of nobody else, without a disk.
    pub fn alone(bytes_max: usize) -> Memory {
        Memory::new(&Pool::new(usize::MAX), bytes_max, None)
    }

    /// What the operator of that name will have taken.
    pub fn budget(&self, operator: &'static str) -> Budget {
        Budget {
            operator,
            free_bytes: self.bytes_max.min(FREE_BYTES),
            held_bytes: 0,
            used_bytes: 0,
            short: Short::Statement,
            memory: self.clone(),
        }
    }

    /// Where operators may spill, if anywhere.
    pub fn disk(&self) -> Option<&Arc<Disk>> {
        self.disk.as_ref()
    }

    fn try_take(&self, bytes: usize) -> std::result::Result<(), Short> {
        if !self.statement.try_take(bytes) {
            return Err(Short::Statement);
        }
        let taken = self.take_from_server(bytes);
        if taken.is_err() {
            self.statement.give_back(bytes);
        }
        taken
    }

    fn take_from_server(&self, bytes: usize) -> std::result::Result<(), Short> {
        if !self.server.try_take(bytes) {
            return Err(Short::Server);
        }
        ceiling::ask(bytes).map_err(|shortage| {
            self.server.give_back(bytes);
            Short::Process(shortage)
        })
    }

    /// Whether the operators hold more than half of what the statement may have.
    pub fn is_half_full(&self) -> bool {
        self.statement.left_bytes() < self.statement.bytes_max / 2
    }
}

/// What one operator holds. All of it is given back when this is dropped.
#[derive(Debug)]
pub struct Budget {
    operator: &'static str,
    /// What it may use beside the pools.
    free_bytes: usize,
    /// What it has taken from the pools.
    held_bytes: usize,
    used_bytes: usize,
    /// What had too little when something was last refused.
    short: Short,
    memory: Memory,
}

/// Which pool had too little left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Short {
    Statement,
    Server,
    /// What the process may have.
    Process(Shortage),
}

impl Budget {
    /// A budget of `bytes_max` that is shared with nobody.
    pub fn new(operator: &'static str, bytes_max: usize) -> Budget {
        Memory::alone(bytes_max).budget(operator)
    }

    /// Takes `bytes`.
    ///
    /// # Errors
    /// 1038 naming the operator and its bytes when too little is left, 1041 when the process has too
    /// much.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        if self.try_take(bytes) {
            return Ok(());
        }
        Err(self.refusal(self.operator, bytes))
    }

    /// Takes `bytes` if there are so many.
    pub fn try_take(&mut self, bytes: usize) -> bool {
        let fits = self.fits(bytes);
        if fits {
            self.used_bytes += bytes;
        }
        fits
    }

    /// Whether `bytes` more can be taken; they are kept from others then.
    pub fn fits(&mut self, bytes: usize) -> bool {
        self.reserve(bytes).is_ok()
    }

    /// Counts `bytes` that are there already, whether there is room or not.
    pub fn count(&mut self, bytes: usize) {
        if !self.try_take(bytes) {
            self.used_bytes = self.used_bytes.saturating_add(bytes);
        }
    }

    fn reserve(&mut self, bytes: usize) -> std::result::Result<(), Short> {
        let wanted = self.used_bytes.saturating_add(bytes);
        let missing = wanted.saturating_sub(self.free_bytes + self.held_bytes);
        if missing == 0 {
            return Ok(());
        }
        for chunk in [missing.max(CHUNK_BYTES), missing] {
            match self.memory.try_take(chunk) {
                Ok(()) => {
                    self.held_bytes += chunk;
                    return Ok(());
                }
                Err(now) => self.short = now,
            }
            // A little less is no help to the process, and there may be no less.
            if chunk == missing || matches!(self.short, Short::Process(_)) {
                break;
            }
        }
        Err(self.short)
    }

    /// Why `operator` cannot have `bytes` more, which were refused.
    pub fn refusal(&self, operator: &str, bytes: usize) -> Error {
        let needed = self.used_bytes.saturating_add(bytes);
        let text = match self.short {
            // What it has is in what the server holds: only what was asked for comes on top.
            Short::Process(shortage) => {
                let who = format!("{operator}, which has {} bytes,", self.used_bytes);
                return shortage.error(&who);
            }
            Short::Server => format!(
                "{operator} needs {needed} bytes of memory, and all statements together hold the \
                 most query-memory-total allows ({})",
                self.memory.server.bytes_max
            ),
            Short::Statement => format!(
                "{operator} needs more than {needed} bytes of memory, the most query_memory_bytes \
                 allows ({})",
                self.memory.bytes_max
            ),
        };
        Error::new(Code::CapacityExceeded, text)
    }

    /// About how many bytes more there are.
    pub fn left_bytes(&self) -> usize {
        let own = (self.free_bytes + self.held_bytes).saturating_sub(self.used_bytes);
        let pools = [&self.memory.statement, &self.memory.server].map(|pool| pool.left_bytes());
        own.saturating_add(pools.into_iter().min().unwrap_or(0))
    }

    /// Bytes that it holds.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// Gives everything back.
    pub fn reset(&mut self) {
        self.used_bytes = 0;
        self.release(self.held_bytes);
    }

    /// Gives `bytes` back.
    pub fn give_back(&mut self, bytes: usize) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
        let needed = self.used_bytes.saturating_sub(self.free_bytes);
        let spare = self.held_bytes.saturating_sub(needed);
        if 2 * CHUNK_BYTES < spare {
            self.release(spare - CHUNK_BYTES);
        }
    }

    fn release(&mut self, bytes: usize) {
        self.held_bytes -= bytes;
        self.memory.statement.give_back(bytes);
        self.memory.server.give_back(bytes);
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.release(self.held_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_a_statement_and_statements_of_a_server_share() {
        let server = Pool::new(6 * CHUNK_BYTES);
        let memory = Memory::new(&server, FREE_BYTES + 4 * CHUNK_BYTES, None);
        let mut sort = memory.budget("sort");
        sort.take(FREE_BYTES).unwrap();
        assert_eq!(server.taken_bytes(), 0);
        sort.take(3 * CHUNK_BYTES).unwrap();
        assert_eq!(server.taken_bytes(), 3 * CHUNK_BYTES);
        let mut group = memory.budget("group by");
        let error = group.take(FREE_BYTES + 2 * CHUNK_BYTES).unwrap_err();
        assert!(error.message().contains("query_memory_bytes"), "{error}");
        let other = Memory::new(&server, 1 << 40, None);
        let mut join = other.budget("hash join");
        let error = join.take(FREE_BYTES + 4 * CHUNK_BYTES).unwrap_err();
        assert!(error.message().contains("query-memory-total"), "{error}");
        sort.give_back(3 * CHUNK_BYTES);
        join.take(FREE_BYTES + 4 * CHUNK_BYTES).unwrap();
        drop((sort, group, join));
        assert_eq!(server.taken_bytes(), 0);
    }
    /// Mechanism: the text told all that an operator would have had, where what it had was among what the server
    /// held.
    #[test]
    fn what_the_process_refuses_is_told_as_it_was_asked_for() {
        let mut sort = Memory::alone(1 << 30).budget("sort");
        sort.take(3 * CHUNK_BYTES).unwrap();
        let shortage = Shortage::of(CHUNK_BYTES);
        sort.short = Short::Process(shortage);
        let error = sort.refusal("sort", 100);
        assert_eq!(
            error.message(),
            shortage.error("sort, which has 786432 bytes,").message()
        );
        assert_eq!(error.code(), Code::OutOfResources);
    }
}
