//! A run that is written while further rows come in: half of a sort's memory is written, the other
//! half is filled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::chunk::Chunk;
use super::merge::Source;
use super::{Run, Writer};
use crate::error::Result;
use crate::exec::elsewhere;
use crate::exec::spill::SpillFile;

/// A run on its way to the disk. It is given up when this is dropped.
pub(super) struct Writing {
    thread: Option<JoinHandle<Result<SpillFile>>>,
    /// What its chunks take of the sort's memory until it is written.
    bytes: usize,
    largest_bytes: usize,
    is_given_up: Arc<AtomicBool>,
}

impl Writing {
    /// Begins to write sorted chunks that take so many bytes, no row of them more than `largest_bytes`.
    ///
    /// # Errors
    /// 1135 when the system gives no thread.
    pub(super) fn begin(
        (chunks, bytes): (Vec<Chunk>, usize),
        largest_bytes: usize,
        writer: Writer,
    ) -> Result<Writing> {
        let is_given_up = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_given_up);
        let thread = elsewhere::begin(move || {
            let sources = chunks.into_iter().map(Source::of_chunk).collect();
            writer.write_run(sources, || asked.load(Ordering::Relaxed))
        })?;
        Ok(Writing {
            thread: Some(thread),
            bytes,
            largest_bytes,
            is_given_up,
        })
    }

    /// Whether [`Writing::end`] would not wait.
    pub(super) fn is_over(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_none_or(JoinHandle::is_finished)
    }

    /// Waits until it is written: the run, and the bytes of memory that are free again.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn end(mut self) -> Result<(Run, usize)> {
        let Some(thread) = self.thread.take() else {
            return Err(crate::error::Error::internal(
                "a run that was written twice",
            ));
        };
        let file = elsewhere::for_long(|| elsewhere::end(thread))?;
        let run = Run {
            file,
            level: 0,
            largest_bytes: self.largest_bytes,
        };
        Ok((run, self.bytes))
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }
}
