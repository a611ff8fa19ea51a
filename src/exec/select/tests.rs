//! What the taker of rows may rely on, through a session over the engine in memory.

use std::sync::Arc;

use crate::error::Result;
use crate::exec::rows::{PageEnd, RowSink};
use crate::exec::testing;
use crate::kv::memory::Memory;
use crate::session::{Reply, Shared};
use crate::types::Value;

/// Rows of the table.
const ROWS: usize = 300;

/// A sink with room for one row more than `full_after`.
struct SmallSink {
    full_after: usize,
    page_rows: usize,
    numbers: Vec<String>,
}

impl RowSink for SmallSink {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.page_rows += 1;
        self.numbers.push(values[0].to_text().into_owned());
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.full_after <= self.page_rows
    }
}

#[tokio::test]
async fn a_page_ends_when_its_taker_is_full() {
    let shared = Shared::over(Arc::new(Memory::default()), None, &testing::options()).await;
    let mut session = testing::session(&Arc::new(shared.unwrap()), 1);
    let rows: Vec<String> = (0..ROWS).map(|number| format!("({number})")).collect();
    for sql in [
        "CREATE TABLE t (a INT PRIMARY KEY)".to_owned(),
        format!("INSERT INTO t VALUES {}", rows.join(",")),
    ] {
        session.query(sql.as_bytes()).await.unwrap();
    }
    // Streamed, and handed out after a sort.
    for sql in [
        "SELECT a FROM t WHERE a >= 0",
        "SELECT a FROM t WHERE a >= 0 ORDER BY 0 + a",
    ] {
        for full_after in [1, 2, 7, ROWS, 2 * ROWS] {
            let reply = session.query(sql.as_bytes()).await.unwrap().reply;
            let Reply::Rows(mut set) = reply else {
                panic!("no rows")
            };
            let mut sink = SmallSink {
                full_after,
                page_rows: 0,
                numbers: Vec::new(),
            };
            while set.rows.next_page(&mut sink).await.unwrap() == PageEnd::More {
                assert!(sink.page_rows <= full_after, "{sql}");
                sink.page_rows = 0;
            }
            let wanted: Vec<String> = (0..ROWS).map(|number| number.to_string()).collect();
            assert_eq!(sink.numbers, wanted, "{sql}, {full_after} rows a page");
            drop(set);
            session.end_rows(0);
        }
    }
}
