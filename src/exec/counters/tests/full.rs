//! Starts on a disk that takes nothing: what they tidy up is left to the next, and they read.
//!
//! Mechanism: a counter of a table that was truncated is deleted at the next start, as is the record of a build that had
//! ended, and the default database is made again where somebody has dropped it. Without room that was an error, and the
//! server ended, although it could have read; and nobody could delete anything to make room.

use std::sync::Arc;

use super::*;
use crate::exec::testing::options;
use crate::kv::Error as KvError;
use crate::kv::memory::Memory;
use crate::kv::testing::{Faults, Faulty};
use crate::session::Shared;

async fn start(engine: Arc<dyn Engine>) -> Result<()> {
    Shared::over(engine, None, &options()).await.map(drop)
}

/// What a start finds to do: a key of the definitions, and its value; none for one that is missing.
fn leftovers() -> [(SystemKey, Option<Vec<u8>>); 3] {
    [
        (SystemKey::Counter(999), Some(encode(7))),
        (SystemKey::Build(999), Some(vec![1, 0])),
        (SystemKey::Database("default".to_owned()), None),
    ]
}

#[tokio::test]
async fn what_a_start_tidies_up_waits_where_nothing_can_be_written() {
    let no_room = KvError::NoRoom {
        dir: "/full".into(),
        free_bytes: 0,
        least_bytes: 1,
    };
    let read_only = KvError::ReadOnly {
        cause: "the disk failed".to_owned(),
    };
    let failed = KvError::Io {
        doing: "writing a commit".to_owned(),
        cause: "input/output error".to_owned(),
    };
    for (key, value) in leftovers() {
        let engine = Arc::new(Memory::default());
        start(Arc::clone(&engine) as _).await.unwrap();
        let is_left = value.is_some();
        let mut writes = WriteSet::blind();
        match value {
            Some(value) => writes.put(SYSTEM_SPACE, key.encode(), value),
            None => writes.delete(SYSTEM_SPACE, key.encode()),
        }
        engine.commit(writes).await.unwrap();
        for (cause, is_passed) in [(&no_room, true), (&read_only, true), (&failed, false)] {
            let refusing = Faulty::new(Arc::clone(&engine) as _, Faults::None);
            refusing.refuse_writes(Some(cause.clone()));
            let started = start(Arc::new(refusing)).await;
            assert_eq!(started.is_ok(), is_passed, "{key:?}: {started:?}");
        }
        let is_there = async || {
            let found = engine.get_newest(SYSTEM_SPACE, &key.encode()).await;
            found.unwrap().is_some()
        };
        assert_eq!(is_there().await, is_left, "{key:?}");
        start(Arc::clone(&engine) as _).await.unwrap();
        assert_eq!(is_there().await, !is_left, "{key:?}");
    }
}
