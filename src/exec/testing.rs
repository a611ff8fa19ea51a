//! For tests: a server on an engine in memory, with one session that runs statements.

#![cfg(test)]

use std::sync::Arc;

use tokio::sync::Mutex;

use super::backfill::Backfill;
use super::cancel::CancelToken;
use super::rows::{PageEnd, RowSink};
use crate::accounts::AccountName;
use crate::catalog::{Catalog, Table};
use crate::error::Result;
use crate::kv::memory::Memory;
use crate::kv::{Engine, Key, KeyRange, Page, Scan, Space};
use crate::session::{Client, OpenOptions, Reply, Session, Shared, Storage};
use crate::types::Value;

/// What a server in memory is opened with: full scans are refused.
pub(crate) fn options() -> OpenOptions {
    OpenOptions {
        storage: Storage::Memory,
        durable: true,
        allow_full_scan: false,
        memory_limit_bytes: None,
        cache_bytes: None,
        query_memory_total_bytes: None,
        spill_quota_bytes: None,
        secure_file_priv: None,
        backup_dir: None,
        port: 0,
        connections_max: 2,
        packet_bytes_max: 1 << 20,
        wait_timeout_s: 60,
        net_write_timeout_s: 60,
        connect_timeout_s: 10,
        requires_tls: false,
    }
}

/// A session of root in the default database.
pub(crate) fn session(shared: &Arc<Shared>, connection_id: u32) -> Session {
    let client = Client {
        user: "root".to_owned(),
        host: "localhost".to_owned(),
        account: AccountName::new("root", "%"),
        expired: false,
        tls: None,
        connection_id,
        found_rows: false,
        multi_statements: false,
        local_files: true,
        interactive: false,
        session_track: false,
        compression: None,
        progress: None,
    };
    let mut session = Session::new(shared, client, &Arc::new(CancelToken::default())).unwrap();
    session.use_database("default").unwrap();
    session
}

/// A server with one session.
pub(crate) struct Server {
    engine: Arc<dyn Engine>,
    shared: Arc<Shared>,
    session: Mutex<Session>,
}

/// Rows as texts.
struct Texts(Vec<Vec<String>>);

impl RowSink for Texts {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        let texts = row.iter().map(|value| value.to_text().into_owned());
        self.0.push(texts.collect());
        Ok(())
    }
}

impl Server {
    /// An empty one.
    pub(crate) async fn start() -> Server {
        Server::over(Arc::new(Memory::default()), true).await
    }

    /// One on this engine.
    pub(crate) async fn on(engine: Arc<dyn Engine>) -> Server {
        Server::over(engine, true).await
    }

    /// An empty one that refuses full scans.
    pub(crate) async fn refusing() -> Server {
        Server::over(Arc::new(Memory::default()), false).await
    }

    /// Another one over the same data, as after a crash.
    pub(crate) async fn restart(self) -> Server {
        Server::over(self.engine, true).await
    }

    pub(crate) async fn over(engine: Arc<dyn Engine>, allow_full_scan: bool) -> Server {
        let options = OpenOptions {
            allow_full_scan,
            ..options()
        };
        let shared = Shared::over(Arc::clone(&engine), None, &options).await;
        Server::with(engine, Arc::new(shared.unwrap()))
    }

    /// One over an engine that may fail while it is opened.
    pub(crate) async fn over_or_none(engine: Arc<dyn Engine>) -> Option<Server> {
        let options = OpenOptions {
            allow_full_scan: true,
            ..options()
        };
        let shared = Shared::over(Arc::clone(&engine), None, &options)
            .await
            .ok()?;
        Some(Server::with(engine, Arc::new(shared)))
    }

    /// An empty one that may spill so many bytes into a directory, of which all statements may hold
    /// little more than `query_memory_bytes` of one.
    pub(crate) async fn spilling(dir: &std::path::Path, quota_bytes: u64) -> Server {
        let engine: Arc<dyn Engine> = Arc::new(Memory::default());
        let options = OpenOptions {
            allow_full_scan: true,
            query_memory_total_bytes: Some(2 << 20),
            spill_quota_bytes: Some(quota_bytes),
            ..options()
        };
        let shared = Shared::over(Arc::clone(&engine), Some(dir.into()), &options).await;
        Server::with(engine, Arc::new(shared.unwrap()))
    }

    /// What the statements hold in memory and on disk.
    pub(crate) fn held_bytes(&self) -> (usize, u64) {
        self.shared.held_bytes()
    }

    /// Another session of the same server.
    pub(crate) fn another(&self) -> Server {
        Server::with(Arc::clone(&self.engine), Arc::clone(&self.shared))
    }

    fn with(engine: Arc<dyn Engine>, shared: Arc<Shared>) -> Server {
        let session = Mutex::new(session(&shared, 1));
        Server {
            engine,
            shared,
            session,
        }
    }

    /// Runs one statement; its rows as texts.
    pub(crate) async fn run(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        let mut session = self.session.lock().await;
        let answer = session.query(sql.as_bytes()).await?;
        let Reply::Rows(mut set) = answer.reply else {
            return Ok(Vec::new());
        };
        let mut texts = Texts(Vec::new());
        while let PageEnd::More = set.rows.next_page(&mut texts).await? {}
        session.returned(u64::try_from(texts.0.len()).unwrap());
        Ok(texts.0)
    }

    /// The id in the OK packet of a statement; 0 when it has rows.
    pub(crate) async fn insert_id(&self, sql: &str) -> u64 {
        let mut session = self.session.lock().await;
        let answer = session.query(sql.as_bytes()).await.unwrap();
        match answer.reply {
            Reply::Done(done) => done.last_insert_id,
            Reply::Rows(_) | Reply::File(_) => 0,
        }
    }

    /// Resets the connection: `COM_RESET_CONNECTION`.
    pub(crate) async fn reset(&self) {
        self.session.lock().await.reset().await.unwrap();
    }

    /// The kinds and texts of CHECK TABLE.
    pub(crate) async fn check(&self, table: &str) -> Vec<String> {
        self.maintain(&format!("CHECK TABLE {table}")).await
    }

    /// The kinds and texts of CHECK TABLE or REPAIR TABLE.
    pub(crate) async fn maintain(&self, sql: &str) -> Vec<String> {
        let rows = self.run(sql).await.unwrap();
        let told = rows.iter().map(|row| format!("{} {}", row[2], row[3]));
        told.collect()
    }

    /// A definition of now.
    pub(crate) fn table(&self, name: &str) -> Arc<Table> {
        let definitions = self.catalog().current();
        Arc::clone(definitions.table("default", name).unwrap())
    }

    /// Everything in a space.
    pub(crate) async fn rows_of(&self, space: Space) -> Vec<(Key, Vec<u8>)> {
        let mut page = Page::default();
        let mut scan = Scan::new(space, KeyRange::all());
        scan.options.max_rows = usize::MAX;
        scan.options.max_bytes = usize::MAX;
        self.engine.snapshot().scan(&scan, &mut page).await.unwrap();
        page.iter()
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        self.shared.catalog()
    }

    pub(crate) fn backfill(&self) -> &Arc<Backfill> {
        self.shared.backfill()
    }

    /// Waits until nothing is being built.
    pub(crate) async fn builds_ended(&self) {
        self.backfill().settled().await;
    }
}
