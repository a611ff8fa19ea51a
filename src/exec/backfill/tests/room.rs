//! Builds on a full disk, and on one that is not read for a while: a statement that waits for one ends, and leaves nothing;
//! one that nobody waits for goes on when there is room, or the disk is read again.

use super::*;
use crate::kv::memory::Memory;
use crate::kv::testing::{Faults, Faulty};

async fn faulty() -> (Arc<Faulty>, Server) {
    let faulty = Arc::new(Faulty::new(Arc::new(Memory::default()), Faults::None));
    let server = Server::on(Arc::clone(&faulty) as _).await;
    (faulty, fill(server, 3000).await)
}

async fn until_waiting(jobs: &[Arc<Job>]) {
    let waits = |job: &Arc<Job>| job.progress.lacks_room.load(Ordering::Relaxed);
    let waiting = async {
        while jobs.is_empty() || !jobs.iter().all(waits) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .unwrap();
}

/// Hurts a disk, or heals it; and the error of statements meanwhile.
type Hurt = (fn(&Faulty, bool), Code);
const FULL: Hurt = (Faulty::fill, Code::DiskFull);
const UNREAD: Hurt = (Faulty::break_scans, Code::StorageFailure);

const STATEMENTS: [&str; 3] = [
    "CREATE INDEX i ON t (b)",
    "ALTER TABLE t ADD INDEX i (b), ADD INDEX j (c)",
    "ALTER TABLE t PRIMARY KEY (b, a)",
];

#[tokio::test]
async fn a_statement_whose_build_fails_of_the_disk_leaves_none() {
    let (disk, server) = faulty().await;
    let each = |hurt| STATEMENTS.map(|sql| (hurt, sql));
    for ((hurt, code), sql) in [FULL, UNREAD].into_iter().flat_map(each) {
        hurt(&disk, true);
        let error = server.run(sql).await.unwrap_err();
        assert_eq!(error.code(), code, "{sql}");
        let table = server.table("t");
        assert!(table.indexes.is_empty() && table.shadow.is_none(), "{sql}");
        assert_eq!(server.backfill().count(), 0, "{sql}");
        hurt(&disk, false);
        server
            .run("UPDATE t SET c = 'd' WHERE a = 1")
            .await
            .unwrap();
    }
    for sql in STATEMENTS {
        server
            .run(sql.replace("INDEX i (b), ADD ", "").as_str())
            .await
            .unwrap();
    }
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// A build that has gone on after a restart is one that nobody waits for, as this one.
#[tokio::test]
async fn a_build_that_nobody_waits_for_goes_on_when_there_is_room() {
    let (disk, server) = faulty().await;
    disk.fill(true);
    server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
    server.run("CREATE INDEX j ON t (c) ASYNC").await.unwrap();
    let jobs = server.backfill().unattended();
    until_waiting(&jobs).await;
    let states = "SELECT STATE FROM information_schema.PROCESSLIST WHERE COMMAND = 'Daemon'";
    let states = server.run(states).await.unwrap();
    let told = states
        .iter()
        .flatten()
        .filter(|state| state.starts_with("waiting for room on the disk: default.t."));
    assert_eq!(told.count(), 2, "{states:?}");
    disk.fill(false);
    let settled = server.backfill().settled();
    tokio::time::timeout(Duration::from_secs(10), settled)
        .await
        .unwrap();
    let table = server.table("t");
    assert!(
        table
            .indexes
            .iter()
            .all(|index| index.state == IndexState::Active)
    );
    assert_eq!(server.check("t").await, ["status OK"]);
}

#[tokio::test]
async fn a_build_that_nobody_waits_for_goes_on_when_the_disk_is_read_again() {
    let (disk, server) = faulty().await;
    disk.break_scans(true);
    server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.table("t").indexes[0].state, IndexState::Building);
    disk.break_scans(false);
    let settled = server.backfill().settled();
    tokio::time::timeout(Duration::from_secs(10), settled)
        .await
        .unwrap();
    assert_eq!(server.table("t").indexes[0].state, IndexState::Active);
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// `KILL` takes it away, and who waits for it from then on is told.
#[tokio::test]
async fn a_build_that_waits_for_room_ends_by_a_kill_and_by_who_waits_for_it() {
    let (disk, server) = faulty().await;
    for is_killed in [true, false] {
        disk.fill(true);
        server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
        let jobs = server.backfill().unattended();
        until_waiting(&jobs).await;
        let job = &jobs[0];
        let audience = (!is_killed).then(|| job.attend());
        if is_killed {
            job.kill();
        }
        let error = job.ended().await.unwrap_err();
        let code = if is_killed {
            Code::QueryInterrupted
        } else {
            Code::DiskFull
        };
        assert_eq!(error.code(), code);
        drop(audience);
        assert!(server.table("t").indexes.is_empty());
        disk.fill(false);
    }
}
